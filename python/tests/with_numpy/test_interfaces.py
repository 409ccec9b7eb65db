"""The ways to draw without NumPy's generators: ctypes, cffi, Numba, C, and `squall.fill` of arrays."""

import ctypes
import threading
import time

import pytest

import squall
from helpers import need, repeated

np = need("numpy")
sq = need("squall.random")

KEY = bytes(range(32))
HALF = 2.0**-53


class Capsule(ctypes.Structure):
    """What Cython and C take: a structure of the state and four functions."""

    _fields_ = [
        ("state", ctypes.c_void_p),
        ("next_uint64", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
        ("next_uint32", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)),
        ("next_double", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)),
        ("next_raw", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
    ]


@pytest.fixture(params=["ctypes", "cffi", "capsule"])
def functions_of(request):
    if request.param == "capsule":
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return lambda bit_generator: Capsule.from_address(get(bit_generator.capsule, b"BitGenerator"))
    need(request.param)
    return lambda bit_generator: getattr(bit_generator, request.param)


def test_words_of_aes256(functions_of):
    bit_generator = sq.AES256(key=KEY)
    words = sq.AES256(key=KEY).random_raw(5).tolist()
    functions = functions_of(bit_generator)
    assert functions.next_uint64(functions.state) == words[0]
    assert functions.next_double(functions.state) == (words[1] >> 11) * HALF
    assert functions.next_uint32(functions.state) == words[2] & 0xFFFFFFFF
    assert functions.next_uint32(functions.state) == words[2] >> 32
    assert bit_generator.random_raw() == words[3]
    assert bit_generator.state["state"]["position"] == 4
    if isinstance(functions, Capsule):
        assert functions.next_raw(functions.state) == words[4]


def test_words_of_squall(functions_of):
    bit_generator = sq.Squall()
    functions = functions_of(bit_generator)
    drawn = [functions.next_uint64(functions.state) for _ in range(1000)]
    drawn += [bit_generator.random_raw() for _ in range(1000)]
    assert not repeated(drawn)
    assert all(0 <= functions.next_double(functions.state) < 1 for _ in range(1000))
    small = [functions.next_uint32(functions.state) for _ in range(1000)]
    assert all(0 <= word < 2**32 for word in small) and len(set(small)) > 900


@pytest.mark.parametrize("make", [sq.Squall, lambda: sq.AES256(5)])
def test_the_lock_is_held_by_draws(make):
    """While another thread has it, nobody draws: each asks for the lock, and has drawn nothing then."""
    bit_generator = make()
    rng = sq.Generator(bit_generator)
    draws = [rng.random, lambda: rng.standard_normal(5), bit_generator.random_raw]
    if isinstance(bit_generator, sq.AES256):
        draws += [lambda: rng.bytes(50), lambda: rng.random(20_000), lambda: bit_generator.state]
        draws += [lambda: bit_generator.advance(1), lambda: rng.bytes(100_000), bit_generator.jumped]
    for draw in draws:
        done, begun = [], threading.Event()

        def run():
            begun.set()
            done.append(draw())

        thread = threading.Thread(target=run)
        with bit_generator.lock:
            thread.start()
            begun.wait()
            wait_until_it_sleeps(thread, done)
            assert not done
        thread.join()
        assert len(done) == 1


def wait_until_it_sleeps(thread, done):
    """Wait until the thread was off the CPU in a system call for a while in which it had the chance to run, or is done.

    A thread that waits for the lock sleeps in futex(2) with an address that stays; one that waits for the GIL gets it.
    """
    seen = 0
    while seen < 20 and not done:
        with open(f"/proc/self/task/{thread.native_id}/stat") as file:
            state = file.read().rpartition(")")[2].split()[0]
        seen = seen + 1 if state == "S" else 0
        # Gives the GIL to whoever wants it.
        time.sleep(0.001)


def test_numba():
    """It calls the bit generator's functions, and compiles the methods of numpy.random.Generator itself over them."""
    numba = need("numba")
    bit_generator = sq.AES256(key=KEY)
    next_double, state = bit_generator.ctypes.next_double, bit_generator.ctypes.state_address

    @numba.njit
    def draw(count, state):
        out = np.empty(count)
        for at in range(count):
            out[at] = next_double(state)
        return out

    @numba.njit
    def draw_from(rng):
        return rng.random(1000)

    expected = np.random.Generator(sq.AES256(key=KEY)).random(1000)
    assert np.array_equal(draw(1000, state), expected)
    for make in [np.random.Generator, sq.Generator]:
        assert np.array_equal(draw_from(make(sq.AES256(key=KEY))), expected)


@pytest.mark.parametrize("shape", [(25, 12), (), (0, 5)])
@pytest.mark.parametrize(
    "dtype",
    ["b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "g", "F", "D", "S7", "U3", "V5", "?", ">i4", ">f8",
     "i4,f8,(2,3)u1", [("O", "i4"), ("an O", "f8")]],
)  # fmt: skip
def test_fill_of_all_types(dtype, shape):
    array = np.zeros(shape, dtype)
    drawn = []
    for _ in range(2):
        squall.fill(array)
        drawn += [row.tobytes() for row in array.view("u1").reshape(25, -1)] if shape else [array.tobytes()]
    # Two truth values may be the same.
    assert not array.size or not repeated(drawn) or array.nbytes == 1


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((30, 40), order="F"),
        np.zeros((30, 40, 5), order="F").T,
        np.zeros((100, 40))[10:40],
        np.zeros((1, 1200))[:, :],
        np.zeros(1200).reshape(2, 3, 200),
    ],
)
def test_fill_of_contiguous_arrays(array):
    squall.fill(array)
    assert np.count_nonzero(array) == array.size


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((10, 10))[:, :5], "not contiguous"),
        (np.zeros((10, 10))[::2], "not contiguous"),
        (np.zeros(10)[::-1], "not contiguous"),
        (np.lib.stride_tricks.as_strided(np.zeros(1), (10,), (0,)), "not contiguous"),
        (np.zeros((4, 5, 6)).transpose(1, 0, 2), "not contiguous"),
        (np.broadcast_to(np.zeros(3), (3,)), "read-only"),
        (np.frombuffer(b"12345678"), "read-only"),
        *(
            (np.zeros(shape, dtype), "Python objects")
            for shape in [5, (), (2, 3)]
            for dtype in ["O", "f8,O", [("O", [("a", "i4"), ("b", "O")])], [("x", "O", 3)]]
        ),
        (np.zeros(5, "M8[s]"), "view"),
        (np.zeros(5, "m8[ns]"), "view"),
    ],
)
def test_fill_refuses_other_arrays(array, words):
    before = repr(array)
    with pytest.raises(BufferError, match=words):
        squall.fill(array)
    assert repr(array) == before
