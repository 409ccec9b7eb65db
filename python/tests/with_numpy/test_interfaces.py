"""The ways to draw from a bit generator without NumPy's generators: ctypes, cffi, Numba, and C."""

import ctypes
import threading
import time

import pytest

from helpers import need, repeated

np = need("numpy")
sq = need("squall.random")

KEY = bytes(range(32))
HALF = 2.0**-53


@pytest.mark.parametrize("interface", ["ctypes", "cffi"])
class TestForeign:
    @pytest.fixture
    def of(self, interface):
        if interface == "cffi":
            need("cffi")
        return lambda bit_generator: getattr(bit_generator, interface)

    def test_words_of_aes256(self, of):
        bit_generator = sq.AES256(key=KEY)
        words = sq.AES256(key=KEY).random_raw(4).tolist()
        functions = of(bit_generator)
        assert functions.next_uint64(functions.state) == words[0]
        assert functions.next_double(functions.state) == (words[1] >> 11) * HALF
        assert functions.next_uint32(functions.state) == words[2] & 0xFFFFFFFF
        assert functions.next_uint32(functions.state) == words[2] >> 32
        assert bit_generator.random_raw() == words[3]
        assert bit_generator.state["state"]["position"] == 4

    def test_words_of_squall(self, of):
        bit_generator = sq.Squall()
        functions = of(bit_generator)
        drawn = [functions.next_uint64(functions.state) for _ in range(1000)]
        drawn += [bit_generator.random_raw() for _ in range(1000)]
        assert not repeated(drawn)
        assert all(0 <= functions.next_double(functions.state) < 1 for _ in range(1000))
        small = [functions.next_uint32(functions.state) for _ in range(1000)]
        assert all(0 <= word < 2**32 for word in small) and len(set(small)) > 900

    def test_the_state_is_one_place(self, of):
        bit_generator = sq.Squall()
        assert of(bit_generator) is of(bit_generator)
        before = bit_generator.ctypes.state_address
        bit_generator.random_raw(10_000)
        assert bit_generator.ctypes.state_address == before != sq.Squall().ctypes.state_address


def test_the_capsule():
    """What Cython and C take: a structure of the state and four functions."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

    class Interface(ctypes.Structure):
        _fields_ = [
            ("state", ctypes.c_void_p),
            ("next_uint64", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
            ("next_uint32", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)),
            ("next_double", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)),
            ("next_raw", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
        ]

    bit_generator = sq.AES256(key=KEY)
    interface = Interface.from_address(get(bit_generator.capsule, b"BitGenerator"))
    words = sq.AES256(key=KEY).random_raw(3).tolist()
    assert interface.next_raw(interface.state) == words[0]
    assert interface.next_uint64(interface.state) == words[1]
    assert interface.next_double(interface.state) == (words[2] >> 11) * HALF


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


@pytest.mark.parametrize("make", [sq.Squall, lambda: sq.AES256(key=KEY)])
def test_numba(make):
    numba = need("numba")
    bit_generator = make()
    next_double, state = bit_generator.ctypes.next_double, bit_generator.ctypes.state_address

    @numba.njit
    def draw(count, state):
        out = np.empty(count)
        for at in range(count):
            out[at] = next_double(state)
        return out

    drawn = draw(2000, state)
    if isinstance(bit_generator, sq.AES256):
        assert np.array_equal(drawn, np.random.Generator(sq.AES256(key=KEY)).random(2000))
    else:
        assert not repeated(pair.tobytes() for pair in drawn.reshape(-1, 2)) and 0 <= drawn.min() < drawn.max() < 1


def test_numba_takes_generators():
    """Numba compiles the methods of numpy.random.Generator itself, over the bit generator's functions."""
    numba = need("numba")

    @numba.njit
    def draw(rng):
        return rng.random(1000)

    for make in [np.random.Generator, sq.Generator]:
        drawn = draw(make(sq.AES256(key=KEY)))
        assert np.array_equal(drawn, np.random.Generator(sq.AES256(key=KEY)).random(1000))
