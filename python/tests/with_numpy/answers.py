"""The numbers of AES256 by other means than squall's.

The encoding of seeds is here, SHAKE-256 is of Python's hashlib, and AES of the command `openssl`.
"""

import hashlib
import subprocess


def tagged(kind, content):
    return kind + len(content).to_bytes(8, "little") + content


def integer(value):
    return tagged(b"i", value.to_bytes((value.bit_length() + 7) // 8, "little"))


def derived(purpose, seed):
    """32 bytes for a purpose, of a seed without a spawn key."""
    entropy = tagged(b"l", integer(seed) + tagged(b"l", b""))
    parts = tagged(b"s", b"squall") + tagged(b"s", purpose) + tagged(b"b", entropy)
    return hashlib.shake_256(tagged(b"l", parts)).digest(32)


def words(seed, count):
    """The first 64-bit numbers of AES256 with this seed."""
    key = derived(b"AES256", seed).hex()
    command = ["openssl", "enc", "-aes-256-ctr", "-nosalt", "-K", key, "-iv", "0" * 32]
    data = subprocess.run(command, input=bytes(8 * count), stdout=subprocess.PIPE, check=True).stdout
    return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(count)]
