"""Blocks of arrays whose elements depend on the seed and their position alone."""

import operator

import numpy as np

from . import _seeds
from ._squall import fill_elements, permute


def generate_block(kind, key, whole, start, shape, dtype=np.uint64, low=0, span=0):
    """Return the block of `shape` that begins at `start` in an array of shape `whole`.

    The elements have eight bytes, which a `dtype` of eight bytes takes as they are and a smaller one cuts.
    """
    if not whole:
        return generate_block(kind, key, (1,), (0,), (1,), dtype, low, span).reshape(())
    out = np.empty(shape, np.uint64)
    fill_elements(out, key, kind, list(whole), list(start), list(shape), low, span)
    dtype = np.dtype(dtype)
    if dtype.itemsize == 8:
        out = out.view(dtype.newbyteorder("="))
    return out.astype(dtype, copy=False)


# A Feistel network of few bits is not like a random permutation: of 16 numbers it gives even permutations only.
_SORTED_UP_TO = 1 << 16


def generate_permutation(key, count, first, length):
    """Return `length` numbers, from number `first` on, of the numbers below `count` in random order."""
    if count <= _SORTED_UP_TO:
        words = generate_block("word", key, (count,), (0,), (count,))
        return np.argsort(words, kind="stable")[first : first + length].astype(np.int64)
    out = np.empty(length, np.uint64)
    permute(out, key, count, first)
    return out.view(np.int64)


def key(kind, seed):
    """Return the key of an array; arrays of different kinds with one seed are independent."""
    return _seeds.key(f"elements {kind}", seed)


def integer_range(low, high, endpoint, dtype):
    """Return the kind of element that integers from `low` to below `high` are, the lowest one and their number.

    Both are modulo 2**64.
    """
    low, high = (0, low) if high is None else (low, high)
    low, last = operator.index(low), operator.index(high) - (not endpoint)
    if last < low:
        comparison = "at most" if endpoint else "less than"
        raise ValueError(f"there is no such integer: low must be {comparison} high")
    limits = np.iinfo(dtype)
    if low < limits.min or last > limits.max:
        raise ValueError(f"the integers from {low} to {last} do not fit into {limits.dtype}")
    span = last - low + 1
    kind = "wide integer" if span > 1 << 32 and span.bit_count() > 1 else "integer"
    return kind, low % (1 << 64), span % (1 << 64)
