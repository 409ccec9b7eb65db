"""Seed sequences of NumPy's interface: one of a seed of any length, and one without a seed."""

import operator
import os
import threading

try:
    import numpy as np
except ModuleNotFoundError as error:
    if error.name != "numpy":
        raise
    raise ModuleNotFoundError("NumPy is not installed: run pip install numpy", name="numpy") from None

from . import _forks, _seeds
from ._squall import token_bytes as _token_bytes

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
            entropy = int.from_bytes(_token_bytes(32), "little")
        self.entropy = _seeds.frozen(entropy)
        self.spawn_key = tuple(map(operator.index, spawn_key))
        self.n_children_spawned = n_children_spawned
        self._encoded = _seeds.encode((self.entropy, _seeds.frozen(self.spawn_key)))

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
        return _seeds.derive(purpose, self._encoded, length)

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
        return _make_words(_token_bytes, n_words, dtype)

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
