"""Interpreters: at their end, and beside the main one, as mod_wsgi has (one GIL for all) and concurrent.interpreters (a
GIL each)."""

import sys

import pytest

from helpers import need, repeated, run_python

# Each has `draw`, the number of what it returns, and draws for threads. The names of modules may be gone at the end, so
# the functions are kept.
DRAWS = {
    "functions": """
import squall
rng = squall.Random()
stream = squall.Stream(bytes(32))
buffer = bytearray(1 << 20)
count = 7

def draw(token=squall.token_bytes, fresh=squall.fresh_bytes, fill=squall.fill, uuid4=squall.uuid4, rng=rng):
    fill(buffer)
    rng.shuffle(list(range(10)))
    return [token(), fresh(), bytes(buffer[:16]), rng.random(), uuid4(), stream.read(70_000)[:16], token(70_000)[:16]]

draws = [lambda: squall.token_bytes(1 << 22), lambda: squall.fill(bytearray(1 << 22)), lambda: squall.token_bytes(3),
         lambda: stream.read(1 << 20), draw]
""",
    "NumPy": """
import numpy as np, squall.random
ours, theirs = squall.random.default_rng(), np.random.Generator(squall.random.Squall())
seeded = squall.random.default_rng(5)
count = 5

def draw(ours=ours, theirs=theirs, seeded=seeded):
    return [ours.random(), ours.random(20_000)[0], theirs.random(), seeded.random(), seeded.bytes(100_000)[:16]]

draws = [lambda: ours.random(1 << 20), lambda: ours.standard_normal(1 << 20), lambda: theirs.random(1 << 20),
         lambda: seeded.bytes(1 << 22), draw]
""",
}

AT_THE_END = """
class AtTheEnd:
    def __init__(self):
        self.draw = draw
    def __del__(self):
        print(*self.draw(), sep="\\n")
"""

ENDS = {
    "atexit": "import atexit; atexit.register(lambda: print(*draw(), sep='\\n'))",
    "__del__": AT_THE_END + "kept = AtTheEnd()",
    "__del__ of a cycle": AT_THE_END + "cycle = AtTheEnd(); cycle.itself = cycle",
    "a thread that outlives the main thread": """
import threading
def later():
    threading.main_thread().join()
    print(*draw(), sep="\\n")
threading.Thread(target=later).start()
""",
    "children that exit": """
import os
for _ in range(5):
    child = os.fork()
    if child == 0:
        draw()
        raise SystemExit
    assert os.waitpid(child, 0)[1] == 0
print(*draw(), sep="\\n")
""",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("draws", DRAWS)
def test_draws_at_the_end(draws, end):
    if draws == "NumPy":
        need("numpy")
    count, *drawn = run_python(f"{DRAWS[draws]}\nprint(count, flush=True)\n{ENDS[end]}").splitlines()
    assert not repeated(drawn) and len(drawn) == int(count)


@pytest.mark.parametrize("draws", DRAWS)
def test_daemon_threads(draws):
    """They are in the middle of draws, long ones without the GIL among them, when the interpreter ends."""
    if draws == "NumPy":
        need("numpy")
    code = """
import threading
begun = threading.Semaphore(0)
def forever(draw):
    while True:
        draw()
        begun.release()
for draw in draws:
    threading.Thread(target=forever, args=(draw,), daemon=True).start()
for _ in range(20):
    begun.acquire()
"""
    for _ in range(4):
        assert run_python(DRAWS[draws] + code) == ""


DRAW = """
import squall
try:
    assert len(squall.token_bytes()) == 32
    squall.Stream(bytes(32)).read(16)
    print("drawn")
except OSError as error:
    print(error)
"""

# The module's name and its functions are not public before Python 3.14.
CREATE = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def create(own_gil):
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if own_gil else "legacy")
    return interpreters.create(isolated=own_gil)
"""


def in_an_interpreter(code, own_gil):
    return run_python(
        CREATE
        + f"""
for _ in range(3):
    one = create({own_gil})
    # Output of the interpreter itself would be lost with its buffer.
    interpreters.run_string(one, {code!r} + "\\nsys.stdout.flush()")
    interpreters.destroy(one)
{DRAW}
"""
    )


def test_one_gil_for_all():
    assert in_an_interpreter(f"import sys\n{DRAW}", own_gil=False) == "drawn\n" * 4


def test_a_gil_of_its_own():
    if sys.version_info < (3, 12):
        pytest.skip("interpreters of this Python share one GIL")
    code = """
import sys
try:
    import squall
except ImportError as error:
    print(error)
"""
    *refused, last = in_an_interpreter(code, own_gil=True).splitlines()
    assert len(refused) == 3 and last == "drawn"
    assert all("in an interpreter with a GIL of its own" in line for line in refused)
