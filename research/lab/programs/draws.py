"""Writes 64 random bytes for each letter that it reads, until its input ends. It is Python in the scenario `sandbox`.

r  the module `random`
n  NumPy's global generator
d  an object of NumPy's default_rng()
u  four of uuid.uuid4()
o  OpenSSL's generator
g  not random: eight times the clone generation of squall, or 0 if it is unknown

With the argument `squall`, it installs squall. At the start, and with squall at each `g`, it fails unless seeded
generators return the numbers that they return without squall.
"""

import os
import random
import ssl
import sys
import uuid

import numpy


def check_seeds():
    """Fail unless seeded generators return the numbers that they return without squall; then forget the seed."""
    random.seed(42)
    numpy.random.seed(42)
    drawn = random.random(), random.getrandbits(64), numpy.random.random(), numpy.random.default_rng(42).random()
    assert drawn == (0.6394267984578837, 13679192365072849617, 0.3745401188473625, 0.7739560485559633), drawn
    random.seed()
    numpy.random.seed()


def generation():
    check_seeds()
    return (squall.clone_generation() or 0).to_bytes(8, "little") * 8


if sys.argv[1:] == ["squall"]:
    import squall

    squall.install(random=True, numpy=True)
check_seeds()
rng = numpy.random.default_rng()
ANSWERS = {
    b"r": lambda: random.getrandbits(512).to_bytes(64, "little"),
    b"n": lambda: numpy.random.bytes(64),
    b"d": lambda: rng.bytes(64),
    b"u": lambda: b"".join(uuid.uuid4().bytes for _ in range(4)),
    b"o": lambda: ssl.RAND_bytes(64),
    b"g": generation,
}
while letter := os.read(0, 1):
    os.write(1, ANSWERS[letter]())
