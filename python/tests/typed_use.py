"""Uses everything public, for `mypy --strict` and to be run."""

import random
import secrets
import uuid
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

import squall
import squall.cuda
import squall.dask
import squall.random

token: bytes = squall.token_bytes()
token = squall.token_bytes(16) + squall.fresh_bytes(32)
text: str = squall.token_hex(16) + squall.token_urlsafe()
number: int = squall.randbelow(10**30)
identifier: uuid.UUID = squall.uuid4()
squall.fill(bytearray(10))
squall.fill(memoryview(bytearray(10)))
squall.fill(np.empty(3))
facts: dict[str, Any] = squall.status()

stream: squall.Stream = squall.Stream(token[:32])
squall.Stream("00" * 32)
length: int = stream.readinto(bytearray(8)) + stream.seek(5) + stream.seek(-1, 1) + stream.tell()
token = stream.read(length)

rng: random.Random = squall.Random()
card: str = rng.choice(["ace", "king"])
real: float = rng.gauss() + rng.random()
rng.shuffle([1, 2, 3])
with squall.install(random=True, numpy=True) as installation:
    token = secrets.token_bytes()
installation.uninstall()

generator: squall.random.Generator = squall.random.default_rng()
generator = squall.random.default_rng(["experiment", 1])
reals: NDArray[np.float64] = generator.random(10)
integers: NDArray[np.int64] = generator.integers(10, size=3)
token = generator.bytes(3)
children: list[np.random.Generator] = generator.spawn(2)
words = squall.random.AES256(b"seed")
words = squall.random.AES256(key=bytes(32)).advance(5).jumped(2)
words.state = words.state
more = np.random.Generator(squall.random.Squall())
sequences: list[squall.random.SeedSequence] = squall.random.SeedSequence(1).spawn(2)
numpys: np.random.Generator = squall.random.default_rng(np.random.default_rng(1))

array: da.Array = squall.dask.random((3, 4), (1, 2), seed=1)
array = squall.dask.normal(0, 1, [3, 4], seed="a")
array = squall.dask.integers(0, 6, 10, endpoint=True, dtype="u1", seed=b"a")
array = squall.dask.words(10, seed=None)
array = squall.dask.permutation(10, 3, seed=[1, "two"])

keystream: squall.cuda.Stream = squall.cuda.Stream("00" * 32)
place: int = keystream.seek(5) + keystream.seek(1, 1) + keystream.tell()
on_gpu: squall.cuda.Generator = squall.cuda.default_rng(framework="torch")
on_gpu = squall.cuda.default_rng(["experiment", 1], framework="jax", device=0)
