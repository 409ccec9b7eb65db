"""Keys from seeds of any length, by a cryptographic hash."""

import hashlib
import operator

from ._squall import token_bytes


def encode(value):
    """Return bytes that differ for different seeds: integers, bytes, str, and sequences of them."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        kind, content = b"b", bytes(value)
    elif isinstance(value, str):
        kind, content = b"s", value.encode()
    elif (number := _integer(value)) is not None:
        if number < 0:
            raise ValueError(f"the seed has {number}: it must not be negative")
        kind, content = b"i", number.to_bytes((number.bit_length() + 7) // 8, "little")
    elif hasattr(value, "__getitem__") and not isinstance(value, dict):
        kind, content = b"l", b"".join(encode(part) for part in value)
    else:
        raise TypeError(
            f"a seed is an integer, bytes, a str, or a sequence of them, not {type(value).__name__}"
        )
    return kind + len(content).to_bytes(8, "little") + content


def _integer(value):
    """Return the integer that `value` is, or None. Arrays of NumPy have ``__index__`` and are none."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def derive(purpose, seed, length):
    """Return `length` bytes that depend on all of `seed`, by SHAKE-256 (FIPS 202).

    Different purposes give independent bytes.
    """
    return hashlib.shake_256(encode(["squall", purpose, seed])).digest(length)


def key(purpose, seed):
    """Return an AES-256 key for `purpose`; without a seed, one that nobody can repeat."""
    return token_bytes(32) if seed is None else derive(purpose, seed, 32)
