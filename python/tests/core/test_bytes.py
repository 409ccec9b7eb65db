"""Random bytes as new objects, in text and UUIDs, and in buffers."""

import array
import base64
import ctypes
import mmap
import pickle
import re
import uuid

import pytest

import squall
from helpers import repeated

# Around what is served from the thread's buffer (256 bytes), and without the GIL (64 KiB).
LENGTHS = [0, 1, 2, 15, 16, 17, 32, 255, 256, 257, 3584, 65535, 65536, 65537, 1 << 20, (1 << 24) + 1]


def filled(length):
    """Fill a part of a buffer, and check that the rest stays."""
    around = bytearray(b"\xaa" * (length + 64))
    squall.fill(memoryview(around)[32 : 32 + length])
    assert around[:32] == around[-32:] == b"\xaa" * 32
    return bytes(around[32 : 32 + length])


@pytest.mark.parametrize("draw", [squall.token_bytes, squall.fresh_bytes, filled])
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


def test_text():
    assert len(squall.token_bytes()) == len(squall.fresh_bytes(None)) == 32
    assert re.fullmatch("[0-9a-f]{64}", squall.token_hex())
    assert re.fullmatch("[0-9a-f]{34}", squall.token_hex(17))
    assert squall.token_hex(0) == squall.token_urlsafe(0) == ""
    for length in range(50):
        text = squall.token_urlsafe(length)
        assert re.fullmatch("[A-Za-z0-9_-]*", text)
        assert len(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) == length
    assert len(squall.token_urlsafe()) == 43


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    "draw", [squall.token_bytes, squall.fresh_bytes, squall.token_hex, squall.token_urlsafe]
)
@pytest.mark.parametrize(
    ("length", "error"),
    [
        (-1, ValueError),
        (1.0, TypeError),
        ("1", TypeError),
        (2**62, MemoryError),
        (2**64, OverflowError),
        (-(2**64), OverflowError),
        (Index(KeyError("mine")), KeyError),
    ],
)
def test_lengths_that_are_none(draw, length, error):
    with pytest.raises(error) as raised:
        draw(length)
    assert "\n" not in str(raised.value)


def test_lengths_of_other_types():
    assert len(squall.token_bytes(Index(4))) == 4
    assert len(squall.token_bytes(True)) == 1
    with pytest.raises(TypeError):
        squall.token_bytes(nbytes=4)


# UUIDs of version 4 (RFC 9562 section 5.4).


def test_the_bits_of_uuids():
    ones, zeros = 0, 2**128 - 1
    for _ in range(200):
        ones |= squall.uuid4().int
        zeros &= squall.uuid4().int
    fixed = 0xF << 76 | 0x3 << 62
    assert ones == (2**128 - 1) & ~fixed | 0x4 << 76 | 0x2 << 62
    assert zeros == 0x4 << 76 | 0x2 << 62
    assert not repeated(squall.uuid4() for _ in range(50_000))


def test_a_uuid_is_as_one_of_the_module_uuid():
    one = squall.uuid4()
    same = uuid.UUID(str(one))
    assert type(one) is uuid.UUID
    assert one == same and hash(one) == hash(same) and repr(one) == repr(same)
    assert one.version == 4 and one.variant == uuid.RFC_4122 and one.is_safe is uuid.SafeUUID.unknown
    assert pickle.loads(pickle.dumps(one)) == one


# Buffers.

BUFFERS = {
    "bytearray": bytearray(4096),
    "part of a memoryview": memoryview(bytearray(5000))[100:4196],
    "memoryview of doubles": memoryview(bytearray(4096)).cast("d"),
    "memoryview of two dimensions": memoryview(bytearray(4096)).cast("B", (64, 64)),
    "array of short integers": array.array("h", bytes(4096)),
    "mmap": mmap.mmap(-1, 4096),
    "array of ctypes": (ctypes.c_uint32 * 1024)(),
    "without a dimension": ctypes.c_double(0),
    "large": bytearray(1 << 20),
}


@pytest.mark.parametrize("buffer", list(BUFFERS.values()), ids=list(BUFFERS))
def test_fill(buffer):
    assert squall.fill(buffer) is None
    first = bytes(memoryview(buffer))
    assert looks_random(first)
    squall.fill(buffer)
    assert bytes(memoryview(buffer)) != first


class Tensor:
    """Has no buffer, but a method `numpy` that gives one."""

    def __init__(self, give):
        self.memory, self.numpy = bytearray(4096), lambda: give(self.memory)


class WithPointer(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("text", ctypes.c_wchar_p)]


class WithObject(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("object", ctypes.py_object)]


@pytest.mark.parametrize(
    ("buffer", "error", "words"),
    [
        (b"abc", BufferError, "read-only"),
        (mmap.mmap(-1, 4096, access=mmap.ACCESS_READ), BufferError, "read-only"),
        (memoryview(bytearray(9))[::2], BufferError, "not contiguous"),
        (memoryview(bytearray(9))[::-1], BufferError, "not contiguous"),
        ((ctypes.py_object * 4)(), BufferError, "Python objects"),
        (WithObject(), BufferError, "Python objects"),
        (ctypes.pointer(ctypes.c_int(5)), BufferError, "pointers"),
        (ctypes.c_char_p(b"text"), BufferError, "pointers"),
        (ctypes.c_wchar_p("text"), BufferError, "pointers"),
        (ctypes.c_void_p(0), BufferError, "pointers"),
        (ctypes.CFUNCTYPE(None)(), BufferError, "pointers"),
        ((WithPointer * 2)(), BufferError, "pointers"),
        # As tensors that are not on the CPU.
        (Tensor(bytearray), BufferError, "copy"),
        (Tensor(bytes), BufferError, "read-only"),
        ("text", TypeError, "bytes-like"),
        (None, TypeError, "bytes-like"),
        ([1, 2], TypeError, "bytes-like"),
    ],
)
def test_fill_refuses_other_buffers(buffer, error, words):
    with pytest.raises(error, match=words) as raised:
        squall.fill(buffer)
    assert "\n" not in str(raised.value)


def test_an_object_with_numpy():
    squall.fill(tensor := Tensor(lambda memory: memory))
    assert looks_random(bytes(tensor.memory)) and any(tensor.memory)


def test_a_buffer_is_free_again():
    buffer = bytearray(1 << 17)
    squall.fill(buffer)
    # A buffer that is still borrowed cannot grow.
    buffer.extend(b"more")
    with pytest.raises(BufferError):
        squall.fill(memoryview(buffer)[::2])
    buffer.extend(b"more")
