"""Keys and numbers by other means than squall's: seeds are encoded here, SHAKE-256 is of Python's hashlib, and AES-256
in counter mode and ChaCha20 are of the command `openssl` or of the package `cryptography`."""

import hashlib
import shutil
import struct
import subprocess

from helpers import need


def encoded(seed):
    match seed:
        case bytes():
            kind, content = b"b", seed
        case str():
            kind, content = b"s", seed.encode()
        case int():
            kind, content = b"i", seed.to_bytes(-(-seed.bit_length() // 8), "little")
        case _:
            kind, content = b"l", b"".join(map(encoded, seed))
    return kind + struct.pack("<Q", len(content)) + content


def derived(purpose, seed):
    """Return 32 bytes of a seed for a purpose."""
    return hashlib.shake_256(encoded(["squall", purpose, seed])).digest(32)


def of_sequence(purpose, seed):
    """Return 32 bytes for a purpose of the sequence of a seed, without a spawn key."""
    return derived(purpose, encoded([seed, []]))


def keystream(key, length):
    if shutil.which("openssl"):
        command = ["openssl", "enc", "-aes-256-ctr", "-nosalt", "-K", key.hex(), "-iv", "0" * 32]
        return subprocess.run(command, input=bytes(length), stdout=subprocess.PIPE, check=True).stdout
    ciphers = need("cryptography.hazmat.primitives.ciphers")
    cipher = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CTR(bytes(16)))
    return cipher.encryptor().update(bytes(length))


def chacha20(key, counter, nonce, length):
    """Return the keystream of ChaCha20 with a counter and a nonce of 64 bits each."""
    start = struct.pack("<QQ", counter, nonce)
    if shutil.which("openssl"):
        command = ["openssl", "enc", "-chacha20", "-K", key.hex(), "-iv", start.hex()]
        return subprocess.run(command, input=bytes(length), stdout=subprocess.PIPE, check=True).stdout
    ciphers = need("cryptography.hazmat.primitives.ciphers")
    cipher = ciphers.Cipher(ciphers.algorithms.ChaCha20(key, start), mode=None)
    return cipher.encryptor().update(bytes(length))


def words(key, count):
    return [word for (word,) in struct.iter_unpack("<Q", keystream(key, 8 * count))]
