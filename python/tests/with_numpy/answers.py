#!/usr/bin/env python3
"""Writes the known answers of AES256: ``python answers.py N > data/aes256-testset-N.csv``.

It shares no code with squall: the encoding of seeds and SHAKE-256 are here and in Python's hashlib, and AES is
OpenSSL's, of the command `openssl`. The format is that of numpy/random/tests/data.
"""

import hashlib
import subprocess
import sys

SEEDS = {"1": 0xDEADBEAF, "2": 0x1234567890ABCDEF1234567890ABCDEF1234567890ABCDEF1234567890ABCDEF}
WORDS = 1000


def tagged(kind, content):
    return kind + len(content).to_bytes(8, "little") + content


def integer(value):
    return tagged(b"i", value.to_bytes((value.bit_length() + 7) // 8, "little"))


def derived(purpose, seed):
    """32 bytes for a purpose, of a seed without a spawn key."""
    entropy = tagged(b"l", integer(seed) + tagged(b"l", b""))
    parts = tagged(b"s", b"squall") + tagged(b"s", purpose) + tagged(b"b", entropy)
    return hashlib.shake_256(tagged(b"l", parts)).digest(32)


def words(key):
    command = ["openssl", "enc", "-aes-256-ctr", "-nosalt", "-K", key.hex(), "-iv", "0" * 32]
    data = subprocess.run(command, input=bytes(8 * WORDS), stdout=subprocess.PIPE, check=True).stdout
    return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(WORDS)]


if __name__ == "__main__":
    seed = SEEDS[sys.argv[1]]
    print(f"seed, {seed:#x}")
    for number, word in enumerate(words(derived(b"AES256", seed))):
        print(f"{number}, {word:#x}")
