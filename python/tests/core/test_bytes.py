"""Random bytes as new objects, and in buffers."""

import array
import base64
import ctypes
import mmap
import re
import threading

import pytest

import squall
from helpers import need, repeated, run_python

# Around what is served from the thread's buffer (256 bytes), and without the GIL (64 KiB).
LENGTHS = [0, 1, 2, 15, 16, 17, 32, 255, 256, 257, 3584, 65535, 65536, 65537, 1 << 20, (1 << 24) + 1]


@pytest.mark.parametrize("draw", [squall.token_bytes, squall.fresh_bytes])
@pytest.mark.parametrize("length", LENGTHS)
def test_length(draw, length):
    data = draw(length)
    assert type(data) is bytes and len(data) == length
    assert looks_random(data)


def looks_random(data):
    """Whether no 16 aligned bytes of `data` repeat, and, if there are many bytes, each value is there."""
    blocks = [data[at : at + 16] for at in range(0, len(data) - 15, 16)]
    # The probability that a given value is not among 2**14 bytes is below 2**-92.
    return not repeated(blocks) and (len(data) < 1 << 14 or len(set(data)) == 256)


def test_zeros_do_not_look_random():
    assert not looks_random(bytes(32))
    assert not looks_random(bytes(range(128)) * 2**7)


@pytest.mark.parametrize("draw", [squall.token_bytes, squall.fresh_bytes])
def test_default_is_32_bytes(draw):
    assert len(draw()) == len(draw(None)) == 32


def test_text():
    assert re.fullmatch("[0-9a-f]{64}", squall.token_hex())
    assert re.fullmatch("[0-9a-f]{34}", squall.token_hex(17))
    assert squall.token_hex(0) == squall.token_urlsafe(0) == ""
    for length in range(50):
        text = squall.token_urlsafe(length)
        assert re.fullmatch("[A-Za-z0-9_-]*", text)
        assert len(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) == length
    assert len(squall.token_urlsafe()) == 43


@pytest.mark.parametrize(
    "draw", [squall.token_bytes, squall.fresh_bytes, squall.token_hex, squall.token_urlsafe]
)
@pytest.mark.parametrize(
    ("length", "error"),
    [
        (-1, ValueError),
        (-(2**62), ValueError),
        (1.0, TypeError),
        ("1", TypeError),
        (b"1", TypeError),
        ([], TypeError),
        (2**62, MemoryError),
        (2**63 - 1, OverflowError),
        (2**64, OverflowError),
        (-(2**64), OverflowError),
    ],
)
def test_invalid_lengths(draw, length, error):
    with pytest.raises(error) as raised:
        draw(length)
    assert "\n" not in str(raised.value)


def test_lengths_of_other_types():
    class Four:
        def __index__(self):
            return 4

    assert len(squall.token_bytes(Four())) == 4
    assert len(squall.token_bytes(True)) == 1


def test_no_length_by_name():
    with pytest.raises(TypeError):
        squall.token_bytes(nbytes=4)


def test_an_error_in_index_is_passed_on():
    class Broken:
        def __index__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        squall.token_bytes(Broken())


BUFFERS = {
    "bytearray": bytearray(4096),
    "memoryview": memoryview(bytearray(4096)),
    "part of a memoryview": memoryview(bytearray(5000))[100:4196],
    "memoryview of doubles": memoryview(bytearray(4096)).cast("d"),
    "memoryview of two dimensions": memoryview(bytearray(4096)).cast("B", (64, 64)),
    "array of doubles": array.array("d", bytes(4096)),
    "array of short integers": array.array("h", bytes(4096)),
    "mmap": mmap.mmap(-1, 4096),
    "array of ctypes": (ctypes.c_uint32 * 1024)(),
    "large": bytearray(1 << 20),
}


@pytest.mark.parametrize("buffer", list(BUFFERS.values()), ids=list(BUFFERS))
def test_fill(buffer):
    assert squall.fill(buffer) is None
    first = bytes(memoryview(buffer))
    assert looks_random(first)
    squall.fill(buffer)
    assert bytes(memoryview(buffer)) != first


@pytest.mark.parametrize("length", LENGTHS)
def test_fill_writes_all_and_nothing_else(length):
    around = bytearray(b"\xaa" * (length + 64))
    squall.fill(memoryview(around)[32 : 32 + length])
    assert around[:32] == around[-32:] == b"\xaa" * 32
    assert looks_random(bytes(around[32 : 32 + length]))


def test_fill_of_a_single_number():
    """Of a buffer without a dimension."""
    for number in [ctypes.c_uint64(0), ctypes.c_double(0)]:
        squall.fill(number)
        assert any(bytes(number))


def test_fill_of_nothing():
    squall.fill(bytearray())
    squall.fill(array.array("d"))


class Unwritable:
    def numpy(self):
        return b"read-only"


class Copied:
    """As tensors that are not on the CPU."""

    memory = bytearray(64)

    def numpy(self):
        return bytearray(self.memory)


class WithPointer(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("text", ctypes.c_wchar_p)]


class WithObject(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("object", ctypes.py_object)]


@pytest.mark.parametrize(
    ("buffer", "error", "words"),
    [
        (b"abc", BufferError, "read-only"),
        (memoryview(bytearray(8)).toreadonly(), BufferError, "read-only"),
        (mmap.mmap(-1, 4096, access=mmap.ACCESS_READ), BufferError, "read-only"),
        (memoryview(bytearray(9))[::2], BufferError, "not contiguous"),
        (memoryview(bytearray(9))[::-1], BufferError, "not contiguous"),
        ((ctypes.py_object * 4)(), BufferError, "Python objects"),
        (ctypes.py_object("text"), BufferError, "Python objects"),
        (WithObject(), BufferError, "Python objects"),
        (ctypes.pointer(ctypes.c_int(5)), BufferError, "pointers"),
        (ctypes.c_char_p(b"text"), BufferError, "pointers"),
        (ctypes.c_wchar_p("text"), BufferError, "pointers"),
        (ctypes.c_void_p(0), BufferError, "pointers"),
        (ctypes.CFUNCTYPE(None)(), BufferError, "pointers"),
        ((WithPointer * 2)(), BufferError, "pointers"),
        (memoryview(bytearray(16)).cast("P"), BufferError, "pointers"),
        (Copied(), BufferError, "copy"),
        ("text", TypeError, "bytes-like"),
        (5, TypeError, "bytes-like"),
        (None, TypeError, "bytes-like"),
        ([1, 2], TypeError, "bytes-like"),
        (Unwritable(), BufferError, "read-only"),
    ],
)
def test_fill_refuses_other_buffers(buffer, error, words):
    with pytest.raises(error, match=words) as raised:
        squall.fill(buffer)
    assert "\n" not in str(raised.value)


def test_a_buffer_is_free_again():
    buffer = bytearray(1 << 17)
    squall.fill(buffer)
    # A buffer that is still borrowed cannot grow.
    buffer.extend(b"more")
    with pytest.raises(BufferError):
        squall.fill(memoryview(buffer)[::2])
    buffer.extend(b"more")


def test_an_object_with_numpy():
    class Tensor:
        def __init__(self):
            self.memory = bytearray(4096)

        def numpy(self):
            return self.memory

    tensor = Tensor()
    squall.fill(tensor)
    assert looks_random(bytes(tensor.memory))


def test_numpy_is_not_imported():
    need("numpy")
    code = "import sys, squall; squall.token_bytes(); squall.uuid4(); print('numpy' in sys.modules)"
    assert run_python(code) == "False\n"
    assert run_python("import squall.random, sys; print('numpy' in sys.modules)") == "True\n"


@pytest.mark.parametrize(
    ("module", "missing", "message"),
    [
        ("random", "numpy", "NumPy is not installed: run pip install numpy"),
        ("dask", "numpy", "NumPy is not installed: run pip install numpy"),
        ("dask", "dask", "Dask is not installed: run pip install 'dask[array]'"),
    ],
)
def test_a_missing_package_is_named(module, missing, message):
    code = f"""
import sys
sys.modules["{missing}"] = None
try:
    import squall.{module}
except ModuleNotFoundError as error:
    print(error)
"""
    assert run_python(code) == message + "\n"


def test_status():
    status = squall.status()
    assert status["engine"] in status["engines_available"]
    # The kernel's generation is None where it does not show it.
    assert {type(value) for value in status.values()} - {type(None)} == {str, list, int, bool}
    # The generator of each thread is seeded when it draws first.
    for _ in range(3):
        thread = threading.Thread(target=squall.token_bytes)
        thread.start()
        thread.join()
    assert squall.status()["reseeds"] >= status["reseeds"] + 3


def run_command(*arguments):
    code = "import runpy, sys; runpy.run_module('squall', run_name='__main__')"
    return run_python(code, *arguments)


def test_the_command_says_how_it_is_used():
    for option in ["-h", "--help"]:
        assert run_command(option).startswith("usage: python -m squall ")
    assert run_command("--version") == f"squall {squall.status()['version']}\n"


def test_the_command_prints_the_status():
    printed = run_command()
    lines = printed.splitlines()
    assert len(lines) == len(squall.status())
    assert lines[0].split() == ["version", squall.status()["version"]]
