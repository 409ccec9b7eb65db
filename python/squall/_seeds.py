"""Keys from seeds of any length, by a cryptographic hash."""

import hashlib
import operator
from collections.abc import Mapping

from ._squall import token_bytes


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
