"""Dask arrays whose random numbers depend on the seed and on the position of each element alone.

So they are the same whatever the chunks, the scheduler and the number of machines, after a worker was lost, and
for a part of the array computed by itself. Element ``i`` in C order is made of word ``i`` of AES-256 in counter mode
under a key that the seed and the function give; without a seed, nobody can repeat the key.

Needs Dask: ``pip install squall[dask]``. ``dask.array.random.default_rng(squall.random.default_rng(seed))`` works
too, with every distribution of NumPy; those numbers depend on the chunks.
"""

import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks

from . import _elements

__all__ = ["integers", "normal", "permutation", "random", "words"]


def random(shape, chunks="auto", *, seed=None):
    """Return uniform numbers from 0 to below 1, multiples of 2**-53.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the array, of at most 2**64 elements.
    chunks : optional
        The chunks, as for ``dask.array.ones``. The numbers do not depend on them.
    seed : None, int, bytes, str, or sequence of them, optional
        Seeds of any length. None: an array that nobody can make again, but whose parts agree with each other.
    """
    return _array("uniform", np.float64, shape, chunks, seed)


def normal(loc=0.0, scale=1.0, shape=(), chunks="auto", *, seed=None):
    """Return numbers of the normal distribution with mean `loc` and standard deviation `scale`.

    One uniform number each, through the distribution's quantile function (Wichura's algorithm AS 241): so the
    greatest distance from the mean is 8.3 standard deviations. The other parameters are those of `random`.
    """
    standard = _array("normal", np.float64, shape, chunks, seed)
    return loc + scale * standard


def integers(low, high=None, shape=(), chunks="auto", *, endpoint=False, seed=None):
    """Return integers from `low` to below `high`, or from 0 to below `low` if `high` is not given.

    With `endpoint`, `high` is included. Each is the upper half of a product with 64 random bits, so an
    integer's probability differs from the others' by at most 2**-64. The other parameters are those of `random`.
    """
    low, span = _elements.span(low, high, endpoint)
    return _array("integer", np.int64, shape, chunks, seed, low=low, span=span)


def words(shape, chunks="auto", *, seed=None):
    """Return unsigned integers of 64 random bits. The parameters are those of `random`.

    ``words(…).view("u1")`` are random bytes.
    """
    return _array("word", np.uint64, shape, chunks, seed)


def permutation(n, chunks="auto", *, seed=None):
    """Return the numbers below `n` in random order, without keeping them all in memory anywhere.

    A Feistel network with AES-256, walked until the number is below `n`: one of 2**256 permutations, in which no
    pattern can be seen without the seed. The other parameters are those of `random`.
    """
    chunks = normalize_chunks(chunks, (n,), dtype=np.int64)
    key = _elements.key("permutation", seed)

    def part(block_info=None):
        ((first, end),) = block_info[None]["array-location"]
        return _elements.permuted(key, n, first, end - first).view(np.int64)

    return da.map_blocks(part, chunks=chunks, dtype=np.int64, meta=np.empty(0, np.int64))


def _array(kind, dtype, shape, chunks, seed, **parameters):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    chunks = normalize_chunks(chunks, shape, dtype=dtype)
    key = _elements.key(kind, seed)

    def part(block_info=None):
        location = block_info[None]["array-location"]
        start = [first for first, _ in location]
        size = [end - first for first, end in location]
        return _elements.block(kind, key, dtype, shape, start, size, **parameters)

    meta = np.empty((0,) * len(shape), dtype)
    return da.map_blocks(part, chunks=chunks, dtype=dtype, meta=meta)
