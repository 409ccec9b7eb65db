"""Seeds of any length: keys from them by a cryptographic hash, and seed sequences of NumPy's interface."""

import hashlib
import operator
import os
import threading
from collections.abc import Mapping

try:
    import numpy as np
except ModuleNotFoundError as error:
    if error.name != "numpy":
        raise
    raise ModuleNotFoundError("NumPy is not installed: run pip install numpy", name="numpy") from None

from squall_startup import warn

from . import _forks
from ._squall import token_bytes

if not hasattr(np.random.BitGenerator, "spawn"):
    warn(f"NumPy {np.__version__} is too old for squall.random, squall.dask and seeds of squall.cuda: use 1.26 or later")


def frozen(value):
    """Return a seed as int, bytes, str, or tuple of them: what is changed later, as a list, does not change it."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return str(value)
    if (number := _integer(value)) is not None:
        if number < 0:
            raise ValueError(f"the seed has {number}: it must not be negative")
        return number
    if (items := _items(value)) is not None:
        return tuple(map(frozen, items))
    raise TypeError(
        f"a seed is an integer, bytes, a str, or a sequence of them, not {type(value).__name__}"
    )


def _integer(value):
    """Return the integer that `value` is, or None. Arrays of NumPy have ``__index__`` and are none."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def _items(value):
    """Return an iterator over the sequence that `value` is, or None. Numbers of NumPy have ``__getitem__`` too."""
    if isinstance(value, (Mapping, type)) or not hasattr(value, "__getitem__"):
        return None
    try:
        return iter(value)
    except TypeError:
        return None


def encode(seed):
    """Return bytes that differ for different seeds, which are frozen."""
    match seed:
        case bytes():
            kind, content = b"b", seed
        case str():
            kind, content = b"s", seed.encode()
        case int():
            kind, content = b"i", seed.to_bytes((seed.bit_length() + 7) // 8, "little")
        case tuple():
            kind, content = b"l", b"".join(map(encode, seed))
    return kind + len(content).to_bytes(8, "little") + content


def derive(purpose, seed, length):
    """Return `length` bytes that depend on all of `seed`, by SHAKE-256 (FIPS 202).

    Different purposes give independent bytes.
    """
    return hashlib.shake_256(encode(("squall", purpose, frozen(seed)))).digest(length)


def key(purpose, seed):
    """Return an AES-256 key of 32 bytes for `purpose`; without a seed, a random one."""
    return token_bytes(32) if seed is None else derive(purpose, seed, 32)


# Guards `n_children_spawned` of all sequences.
spawning = threading.RLock()
os.register_at_fork(after_in_child=lambda: _forks.free_abandoned(spawning))


class SeedSequence(np.random.bit_generator.ISpawnableSeedSequence):
    """A seed of any length, as ``numpy.random.SeedSequence`` but by a cryptographic hash.

    Parameters
    ----------
    entropy : None, int, bytes, str, or sequence of them, optional
        The seed, of which a copy is kept; every bit of it counts. None: 256 random bits.
    spawn_key : sequence of int, optional
        The path of ``spawn`` that leads to this sequence.
    n_children_spawned : int, optional
        How many children were spawned before.

    Raises
    ------
    TypeError, ValueError
        The entropy cannot be a seed, or has a negative integer.

    Notes
    -----
    NumPy's own has a state of 128 bits and is no cryptographic hash. This one is SHAKE-256 (FIPS 202) of an
    unambiguous encoding of the entropy and the spawn key.

    Forks and clones: a forked child process and a VM clone have the same sequence, and spawn the same children.
    """

    def __init__(self, entropy=None, *, spawn_key=(), n_children_spawned=0):
        if entropy is None:
            entropy = int.from_bytes(token_bytes(32), "little")
        self.entropy = frozen(entropy)
        self.spawn_key = tuple(map(operator.index, spawn_key))
        self.n_children_spawned = n_children_spawned
        self._encoded = encode((self.entropy, frozen(self.spawn_key)))

    def __repr__(self):
        path = f", spawn_key={self.spawn_key}" if self.spawn_key else ""
        return f"{type(self).__name__}({self.entropy!r}{path})"

    def generate_state(self, n_words, dtype=np.uint32):
        """Return `n_words` words of `dtype`, numpy.uint32 or numpy.uint64: always the same ones.

        Raises
        ------
        TypeError, ValueError
            There is no such number of words, or no such type.
        """
        return _make_words(lambda length: self._derive("SeedSequence", length), n_words, dtype)

    def _derive(self, purpose, length):
        return derive(purpose, self._encoded, length)

    def spawn(self, n_children):
        """Return `n_children` sequences that are independent of this one and of each other.

        No child is returned twice, by another thread either.
        """
        n_children = count(n_children)
        with spawning:
            first = self.n_children_spawned
            self.n_children_spawned = first + n_children
        return [
            type(self)(self.entropy, spawn_key=(*self.spawn_key, child))
            for child in range(first, first + n_children)
        ]


# Where it is documented, and found by pickle.
SeedSequence.__module__ = "squall.random"


class FreshSeedSequence(np.random.bit_generator.ISpawnableSeedSequence):
    """The seed sequence of a bit generator without a seed: has no state, and never gives the same twice."""

    def generate_state(self, n_words, dtype=np.uint32):
        """Return `n_words` random words of `dtype`, numpy.uint32 or numpy.uint64."""
        return _make_words(token_bytes, n_words, dtype)

    def spawn(self, n_children):
        """Return `n_children` sequences, each of 256 random bits."""
        return [SeedSequence() for _ in range(count(n_children))]


def _make_words(make, n_words, dtype):
    """Return words of `dtype` from the bytes that `make` makes."""
    dtype = np.dtype(dtype)
    if dtype not in (np.uint32, np.uint64):
        raise ValueError("dtype must be numpy.uint32 or numpy.uint64")
    n_words = operator.index(n_words)
    if n_words < 0:
        raise ValueError(f"the number of words is {n_words}: it must not be negative")
    return np.frombuffer(make(n_words * dtype.itemsize), dtype.newbyteorder("<")).astype(dtype)


def count(n_children):
    """Return the number of children, if it can be one."""
    n_children = operator.index(n_children)
    if n_children < 0:
        raise ValueError(f"the number of children is {n_children}: it must not be negative")
    return n_children
