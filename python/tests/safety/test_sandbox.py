"""A sandbox without a source of randomness: functions raise OSError, and the interpreter goes on."""

import platform

import pytest

from helpers import need, run_python

# getrandom, openat, and open where there is one.
FORBIDDEN = {"x86_64": (318, 257, 2), "aarch64": (278, 56)}

# In an interpreter of its own, because a filter of system calls stays for ever.
SANDBOX = """
import ctypes, json, squall, struct, sys

LOAD_WORD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
SET_SECCOMP, FILTER, NO_NEW_PRIVILEGES = 22, 2, 38

def forbid(numbers):
    steps = [(LOAD_WORD, 0, 0, 0)]
    for number in numbers:
        steps += [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    steps.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    if libc.prctl(SET_SECCOMP, FILTER, program) != 0:
        raise SystemExit("no seccomp")

def complains(draw):
    try:
        draw()
    except OSError as error:
        return "no source of randomness" in str(error)

"""

DRAWS = {
    "token_bytes": "squall.token_bytes()",
    "token_urlsafe": "squall.token_urlsafe()",
    "fresh_bytes": "squall.fresh_bytes()",
    "uuid4": "squall.uuid4()",
    "randbelow": "squall.randbelow(10)",
    "fill": "squall.fill(bytearray(5))",
    "Random": "squall.Random().shuffle([1, 2])",
    "status": "squall.status()",
    "default_rng": "squall.random.default_rng().random(20_000)",
    "one-time key": "squall.random.default_rng().normal(size=20_000)",
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_raise_an_error(name):
    numbers = FORBIDDEN.get(platform.machine())
    if numbers is None:
        pytest.skip("the numbers of this machine's system calls are not in the test")
    imports = ""
    if "squall.random" in DRAWS[name]:
        need("numpy")
        imports = "import squall.random; squall.random.np.random.default_rng()\n"
    draw = f"print(complains(lambda: {DRAWS[name]}))\n"
    # The control: without the filter, it draws.
    code = f"{SANDBOX}{imports}if sys.argv[1] == 'sandbox': forbid({numbers})\n{draw}"
    assert run_python(code, "outside") == "None\n"
    assert run_python(code, "sandbox") == "True\n"
