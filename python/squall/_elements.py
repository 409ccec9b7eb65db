"""Blocks of arrays whose elements depend on the seed and their position alone."""

import operator

import numpy as np

from . import _seeds
from ._squall import fill_elements, permute


def block(kind, key, whole, start, shape, dtype=np.uint64, low=0, span=0):
    """Return the block of `shape` that begins at `start` in an array of shape `whole`.

    The elements have eight bytes, which a `dtype` of eight bytes takes as they are and a smaller one cuts.
    """
    if not whole:
        return block(kind, key, (1,), (0,), (1,), dtype, low, span).reshape(())
    out = np.empty(shape, np.uint64)
    fill_elements(out, key, kind, list(whole), list(start), list(shape), low, span)
    return out.view(dtype) if np.dtype(dtype).itemsize == 8 else out.astype(dtype)


# A Feistel network of few bits is not like a random permutation: of 16 numbers it gives even permutations only.
_MANY = 1 << 16


def permuted(key, count, first, length):
    """Return `length` numbers, from number `first` on, of the numbers below `count` in random order."""
    if count <= _MANY:
        words = block("word", key, (count,), (0,), (count,))
        return np.argsort(words, kind="stable")[first : first + length].astype(np.int64)
    out = np.empty(length, np.uint64)
    permute(out, key, count, first)
    return out.view(np.int64)


def key(kind, seed):
    """Return the key of an array; arrays of different kinds with one seed are independent."""
    return _seeds.key(f"elements {kind}", seed)


def span(low, high, endpoint, dtype):
    """Return the lowest of the integers from `low` to below `high` and their number, both modulo 2**64."""
    low, high = (0, low) if high is None else (low, high)
    low, last = operator.index(low), operator.index(high) - (not endpoint)
    if last < low:
        comparison = "at most" if endpoint else "less than"
        raise ValueError(f"there is no such integer: low must be {comparison} high")
    limits = np.iinfo(dtype)
    if low < limits.min or last > limits.max:
        raise ValueError(f"the integers from {low} to {last} do not fit into {limits.dtype}")
    return low % (1 << 64), (last - low + 1) % (1 << 64)
