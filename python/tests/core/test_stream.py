"""squall.Stream: AES-256 in counter mode (NIST SP 800-38A section 6.5), from counter zero."""

import os
import pickle
import signal

import pytest

import squall
from answers import keystream
from helpers import another_thread_that, in_children, in_threads

KEY = bytes(range(32))
END = 2**64

# The counters 0 and 1 under the key of zeros: McGrew and Viega, "The Galois/Counter Mode of Operation", H of
# test case 13, and its tag.
ZERO_KEY_START = bytes.fromhex("dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738b")


def test_known_answer():
    assert squall.Stream(bytes(32)).read(32) == ZERO_KEY_START


@pytest.mark.parametrize("length", [1, 16, 17, 4096, 65536, (1 << 20) + 5])
def test_it_is_aes_in_counter_mode(length):
    assert squall.Stream(KEY).read(length) == keystream(KEY, length)


def read_into_a_buffer(stream, length):
    buffer = bytearray(length)
    assert stream.readinto(buffer) == length
    return bytes(buffer)


@pytest.mark.parametrize("read", [squall.Stream.read, read_into_a_buffer])
def test_read_in_pieces(read):
    whole = squall.Stream(KEY).read(200_000)
    stream = squall.Stream(KEY)
    lengths = [0, 1, 15, 16, 17, 31, 1, 0, 100, 4095, 65535, 65536, 3]
    pieces = [read(stream, length) for length in lengths]
    assert b"".join(pieces) == whole[: sum(lengths)]
    assert stream.tell() == sum(lengths)


def test_reads_that_fail_move_nothing():
    stream = squall.Stream(KEY)
    for length, error in [(-1, ValueError), (None, TypeError), (1.5, TypeError), (2**62, MemoryError)]:
        with pytest.raises(error):
            stream.read(length)
    for buffer, error in [(b"read-only", BufferError), (5, TypeError)]:
        with pytest.raises(error):
            stream.readinto(buffer)
    assert stream.tell() == 0


def test_seek():
    whole = squall.Stream(KEY).read(10_000)
    stream = squall.Stream(KEY)
    for offset in [5000, 0, 1, 15, 16, 17, 9999]:
        assert stream.seek(offset) == stream.tell() == offset
        assert stream.read(1) == whole[offset : offset + 1]
    assert stream.seek(-10, 1) == 9990
    assert stream.read(10) == whole[9990:]
    assert stream.seek(0, 1) == 10_000
    assert stream.seek(3, os.SEEK_SET) == 3
    assert stream.seek(2, os.SEEK_CUR) == 5


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-1,), ValueError),
        ((END,), ValueError),
        ((2**130,), OverflowError),
        ((-101, 1), ValueError),
        ((END - 100, 1), ValueError),
        ((2**127 - 100, 1), ValueError),
        ((-(2**127), 1), ValueError),
        ((0, 2), ValueError),
        ((1.0,), TypeError),
        ((None,), TypeError),
    ],
)
def test_a_seek_that_fails_moves_nothing(arguments, error):
    stream = squall.Stream(KEY)
    stream.seek(100)
    with pytest.raises(error):
        stream.seek(*arguments)
    assert stream.tell() == 100


def test_the_end():
    stream = squall.Stream(KEY)
    stream.seek(END - 5)
    last = stream.read(5)
    assert stream.tell() == END
    assert stream.read(0) == b""
    with pytest.raises(EOFError, match="2\\*\\*64"):
        stream.read(1)
    assert stream.seek(-5, 1) == END - 5
    # A read beyond the end reads nothing.
    buffer = bytearray(b"as before")
    with pytest.raises(EOFError):
        stream.readinto(buffer)
    assert buffer == b"as before" and stream.tell() == END - 5
    with pytest.raises(EOFError):
        stream.read(1 << 20)
    assert stream.read(5) == last
    assert repr(stream) == f"<squall.Stream at byte {END}>"


@pytest.mark.parametrize(
    "key",
    [KEY, bytearray(KEY), memoryview(KEY), KEY.hex(), KEY.hex().upper(), f" {KEY.hex()}\r\n"],
)
def test_keys(key):
    assert squall.Stream(key).read(100) == squall.Stream(KEY).read(100)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (b"", ValueError),
        (KEY[1:], ValueError),
        (KEY + b"\0", ValueError),
        (KEY.hex().encode(), ValueError),
        (KEY.hex()[1:], ValueError),
        ("g" * 64, ValueError),
        ("é" * 64, ValueError),
        (None, TypeError),
        ([300] * 32, TypeError),
    ],
)
def test_wrong_keys(key, error):
    with pytest.raises(error, match="32 bytes, or a str of 64 hexadecimal digits") as raised:
        squall.Stream(key)
    # The message must not show a key.
    assert "\n" not in str(raised.value) and KEY.hex()[1:60] not in str(raised.value)


def test_it_is_not_pickled():
    """That would write the key somewhere."""
    with pytest.raises(TypeError):
        pickle.dumps(squall.Stream(KEY))


def test_threads_share_a_stream():
    """Each byte is read once, whoever reads it."""
    stream = squall.Stream(KEY)
    pieces = in_threads(lambda _: [stream.read(length) for length in [16, 48, 70_000, 16] * 5], 4)
    whole = squall.Stream(KEY).read(stream.tell())
    assert sum(map(len, pieces)) == len(whole) == 4 * 5 * 70_080
    # Lengths are multiples of a block, and no block of a keystream comes twice.
    starts = sorted(whole.index(piece) for piece in pieces)
    assert len(set(starts)) == len(pieces) and starts[0] == 0


def test_a_fork_during_a_read_of_another_thread():
    """Children go on where the stream is: the read has taken its bytes, and holds nothing that they need."""
    stream, buffer = squall.Stream(KEY), bytearray(1 << 22)

    def read_here():
        # A child that waits for a lock for ever is ended by the alarm, and fails.
        signal.alarm(600)
        return stream.tell().to_bytes(9, "little") + stream.read(16)

    with another_thread_that(lambda: stream.readinto(buffer)):
        for _ in range(20):
            (result,) = in_children(1, read_here)
            position, data = int.from_bytes(result[:9], "little"), result[9:]
            assert position % len(buffer) == 0
            expected = squall.Stream(KEY)
            expected.seek(position)
            assert expected.read(16) == data
