"""Dask arrays whose random numbers depend on the seed and on the position of each element alone.

So they are the same whatever the chunks, the scheduler and the number of machines, after a worker was lost, and
for a part of the array computed by itself. Element ``i`` in C order is made of word ``i`` of AES-256 in counter mode
under a key that the seed and the function give; without a seed the key is random.

==============================================  ==============================================================
for                                             use
==============================================  ==============================================================
uniform numbers, 0 <= x < 1                     random(shape, chunks, seed=seed)
normally distributed numbers                    normal(mean, deviation, shape, chunks, seed=seed)
integers of any type                            integers(low, high, shape, chunks, seed=seed)
random bytes                                    words(shape, chunks, seed=seed).view("u1")
the numbers below n in random order             permutation(n, chunks, seed=seed)
other distributions; depends on the chunks      dask.array.random.default_rng(squall.random.default_rng(seed))
==============================================  ==============================================================

The key of an array is in its task graph: who can read the graph, as the scheduler and the workers do, can compute
the whole array. Functions have names and parameters as in ``dask.array.random``, with these differences: `shape` and
`chunks` are those of ``dask.array.ones``, each function has its own `seed`, and `loc`, `scale`, `low` and `high` are
single numbers. The numbers themselves differ from Dask's.

Forks and clones: the key is part of the array, so a forked child process and a VM clone compute the same numbers of an
array that was made before, with a seed or without. An array without a seed that is made afterwards is another one.
Without a seed, making an array raises OSError as `squall.token_bytes` does.

Needs Dask, ``pip install 'dask[array]'``, and squall on every worker.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

# First, because it says what is missing without NumPy.
from . import _seeds, _squall

import numpy as np  # isort: skip

try:
    import dask.array as da
except ModuleNotFoundError as error:
    if error.name not in ("dask", "dask.array"):
        raise
    raise ModuleNotFoundError("Dask is not installed: run pip install 'dask[array]'", name="dask") from None
from dask.array.core import normalize_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from .random import Seed

    Shape = int | Sequence[int]

__all__ = ["integers", "normal", "permutation", "random", "words"]


def random(shape: Shape, chunks: Any = "auto", *, seed: Seed = None) -> da.Array:
    """Return uniform numbers from 0 to below 1, multiples of 2**-53, as float64.

    Parameters
    ----------
    shape : int or tuple of int
        The shape of the array, of fewer than 2**64 elements.
    chunks : optional
        The chunks, as for ``dask.array.ones``, in elements. The numbers do not depend on them.
    seed : None, int, bytes, str, or sequence of them, optional
        Seeds of any length; integers must not be negative. None: an array of its own, not reproducible, whose parts
        agree with each other.

    Raises
    ------
    TypeError, ValueError
        The shape, the chunks or the seed cannot be one.

    Examples
    --------
    >>> import squall.dask
    >>> x = squall.dask.random((10**6, 1000), seed=2026)
    >>> row = x[123_456].compute()  # computes one chunk
    """
    return _array("uniform", np.float64, shape, chunks, seed)


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: Shape = (),
    chunks: Any = "auto",
    *,
    seed: Seed = None,
) -> da.Array:
    """Return numbers of the normal distribution with mean `loc` and standard deviation `scale`, as float64.

    One uniform number each, through the distribution's quantile function (Wichura's algorithm AS 241, 1988): so
    the greatest distance from the mean is 8.2 standard deviations. The other parameters are those of `random`.

    Raises
    ------
    TypeError, ValueError
        `loc` or `scale` is not one number, or `scale` is negative; and as `random`.
    """
    for name, value in [("loc", loc), ("scale", scale)]:
        if np.ndim(value):
            raise TypeError(f"{name} must be one number: shape is the third argument")
    loc, scale = float(loc), float(scale)
    if not scale >= 0:
        raise ValueError(f"scale is {scale}: it must not be negative")
    return _array("normal", np.float64, shape, chunks, seed, loc=loc, scale=scale)


def integers(
    low: int,
    high: int | None = None,
    shape: Shape = (),
    chunks: Any = "auto",
    *,
    dtype: DTypeLike = np.int64,
    endpoint: bool = False,
    seed: Seed = None,
) -> da.Array:
    """Return integers from `low` to below `high`, or from 0 to below `low` if `high` is None.

    With `endpoint`, `high` is included. The integers do not depend on `dtype`, which is any type of integers in any
    byte order. The other parameters are those of `random`.

    Each is the upper half of a product of their number and 64 random bits, or, for more than 2**32 integers, whose
    number is no power of two, 128 bits. So no integer is more or less likely than it should be by more than one part
    in 2**32, or in 2**64 for more than 2**32 integers.

    Raises
    ------
    TypeError, ValueError
        There is no such integer, or not all of them fit into `dtype`; and as `random`.
    """
    dtype = np.dtype(dtype)
    kind, low, span = _integer_range(low, high, endpoint, dtype)
    return _array(kind, dtype, shape, chunks, seed, low=low, span=span)


def words(shape: Shape, chunks: Any = "auto", *, seed: Seed = None) -> da.Array:
    """Return unsigned integers of 64 random bits, as uint64. The parameters are those of `random`.

    ``words(…).view("u1")`` are random bytes.
    """
    return _array("word", np.uint64, shape, chunks, seed)


def permutation(n: int, chunks: Any = "auto", *, seed: Seed = None) -> da.Array:
    """Return the numbers below `n` in random order, as int64, without keeping them all in memory anywhere.

    For more than 65,536 numbers this is a Feistel network of ten rounds with AES-256 as its round function, walked
    until the number is below `n` (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002); fewer are sorted
    by random words, all of them for each chunk. Even and odd permutations come. Permutations of different `n` with one
    seed are independent. The other parameters are those of `random`.

    Raises
    ------
    TypeError, ValueError
        `n` is not an integer from 0 to below 2**63; and as `random`.
    """
    n = operator.index(n)
    if not 0 <= n < 1 << 63:
        raise ValueError(f"n is {n}: it must be from 0 to below 2**63")
    chunks = _lengths(chunks, (n,))
    key = _seeds.key(f"elements permutation of {n}", seed)
    return _map(squall_permutation, chunks, np.int64, key=key)


def _array(
    kind: str, dtype: DTypeLike, shape: Shape, chunks: Any, seed: Seed, **parameters: Any
) -> da.Array:
    axes: Any = [shape] if np.ndim(shape) == 0 else shape
    lengths = tuple(operator.index(length) for length in axes)
    if any(length < 0 for length in lengths):
        raise ValueError(f"the shape is {lengths}: no axis may be negative")
    if math.prod(lengths) >= 1 << 64:
        raise ValueError(f"the shape is {lengths}: it must be of fewer than 2**64 elements")
    chunks = _lengths(chunks, lengths)
    key = _seeds.key(f"elements {kind}", seed)
    return _map(squall_array, chunks, dtype, kind=kind, key=key, **parameters)


def _lengths(chunks: Any, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the lengths of the chunks on each axis. Dask takes some that are wrong, and divides by others."""
    reason: Exception | None = None
    try:
        # A block has eight bytes an element while it is made.
        axes: tuple[tuple[int, ...], ...] = normalize_chunks(chunks, shape, dtype=np.dtype(np.uint64))
        if all(length >= 0 for axis in axes for length in axis):
            return axes
    except (ArithmeticError, TypeError) as error:
        reason = error
    raise ValueError(
        f"the chunks are {chunks!r}: each must have at least one element, and together the shape {shape}"
    ) from reason


def _map(function: Any, chunks: Any, dtype: DTypeLike, **parameters: Any) -> da.Array:
    meta = np.empty((0,) * len(chunks), dtype)
    return da.map_blocks(function, chunks=chunks, dtype=meta.dtype, meta=meta, **parameters)


# Functions of the module, which are pickled by name. Dask's tasks are called as they are.


def squall_array(kind, key, loc=0.0, scale=1.0, block_info=None, **parameters):
    block = block_info[None]
    start = [first for first, _ in block["array-location"]]
    out = _generate_block(
        kind, key, block["shape"], start, block["chunk-shape"], block["dtype"], **parameters
    )
    if (loc, scale) != (0.0, 1.0):
        out *= scale
        out += loc
    return out


def squall_permutation(key, block_info=None):
    block = block_info[None]
    ((first, end),) = block["array-location"]
    return _generate_permutation(key, *block["shape"], first, end - first)


# Blocks of arrays whose elements depend on the key and their position alone.


def _generate_block(kind, key, whole, start, shape, dtype=np.uint64, low=0, span=0):
    """Return the block of `shape` that begins at `start` in an array of shape `whole`.

    The elements have eight bytes, which a `dtype` of eight bytes takes as they are and a smaller one cuts.
    """
    if not whole:
        return _generate_block(kind, key, (1,), (0,), (1,), dtype, low, span).reshape(())
    out = np.empty(shape, np.uint64)
    _squall.fill_elements(out, key, kind, list(whole), list(start), list(shape), low, span)
    dtype = np.dtype(dtype)
    if dtype.itemsize == 8:
        out = out.view(dtype.newbyteorder("="))
    return out.astype(dtype, copy=False)


# A Feistel network of few bits is not like a random permutation: of 16 numbers it gives even permutations only.
_SORTED_UP_TO = 1 << 16


def _generate_permutation(key, count, first, length):
    """Return `length` numbers, from number `first` on, of the numbers below `count` in random order."""
    if count <= _SORTED_UP_TO:
        words = _generate_block("word", key, (count,), (0,), (count,))
        return np.argsort(words, kind="stable")[first : first + length].astype(np.int64)
    out = np.empty(length, np.uint64)
    _squall.permute(out, key, count, first)
    return out.view(np.int64)


def _integer_range(low, high, endpoint, dtype):
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
