"""Blocks of arrays whose elements depend on the seed and their position alone."""

import numpy as np

from . import _seeds
from ._squall import fill_elements, permute


def block(kind, key, dtype, whole, start, shape, low=0, span=0):
    """Return the block of `shape` that begins at `start` in an array of shape `whole`."""
    if not whole:
        return block(kind, key, dtype, (1,), (0,), (1,), low, span).reshape(())
    out = np.empty(shape, dtype)
    fill_elements(out, key, kind, list(whole), list(start), list(shape), low, span)
    return out


def permuted(key, count, first, length):
    """Return the images of `length` numbers from `first` on, of a permutation of `count` numbers."""
    out = np.empty(length, np.uint64)
    permute(out, key, count, first)
    return out


def key(kind, seed):
    """Return the key of an array; arrays of different kinds with one seed are independent."""
    return _seeds.key(f"elements {kind}", seed)


def span(low, high, endpoint):
    """Return how many integers there are from `low` to below `high`, as `fill_elements` takes it."""
    if high is None:
        low, high = 0, low
    count = high - low + bool(endpoint)
    if count <= 0:
        raise ValueError(f"there is no integer from {low} to {high}: low must be less than high")
    if low < -(1 << 63) or high - (not endpoint) >= 1 << 63:
        raise ValueError("the integers must be within 64 bits with a sign")
    return low % (1 << 64), count % (1 << 64)
