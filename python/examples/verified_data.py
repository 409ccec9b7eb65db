"""Test data on a cluster, verified by its seed.

    python verified_data.py DIRECTORY --size 1GiB
    python verified_data.py DIRECTORY --size 1GiB --verify
    python verified_data.py /shared/data --size 1TiB --scheduler tcp://head:8786

writes random bytes as a stack of .npy files, from all workers at once, or compares them later: nothing but the seed
has to be kept. DIRECTORY must be the same for all workers.
"""

import argparse

import dask.array as da
import numpy as np
from dask.utils import parse_bytes
from distributed import Client, LocalCluster

import squall.dask

CHUNK = 1 << 26


def data(size: int, seed: str) -> da.Array:
    """Return `size` random bytes, a multiple of 8, as words of 8 bytes."""
    return squall.dask.words(size // 8, CHUNK // 8, seed=seed)


def differences(directory: str, size: int, seed: str) -> list[tuple[int, int]]:
    """Return the files that differ from what the seed gives, each with the number of words that do."""
    found = da.from_npy_stack(directory)
    wrong = (found != data(size, seed)).map_blocks(_count, chunks=(1,), dtype=np.int64).compute()
    return [(file, int(words)) for file, words in enumerate(wrong) if words]


def words_of_8_bytes(text: str) -> int:
    """Return the size that the command line has, in bytes."""
    size = parse_bytes(text)
    if size <= 0 or size % 8:
        raise argparse.ArgumentTypeError(f"{text} is {size} bytes: it must be a positive multiple of 8")
    return size


def _count(block: np.ndarray) -> np.ndarray:
    return np.array([np.count_nonzero(block)])


def main() -> None:
    parser = argparse.ArgumentParser(description="random test data, verified by its seed")
    parser.add_argument("directory")
    parser.add_argument("--size", type=words_of_8_bytes, required=True, help="a multiple of 8 bytes, such as 1GiB")
    parser.add_argument("--seed", default="test data")
    parser.add_argument("--scheduler", help="address of a cluster, instead of this machine's CPUs")
    parser.add_argument("--verify", action="store_true")
    options = parser.parse_args()
    target = options.scheduler or LocalCluster(dashboard_address=None)
    with Client(target):
        if not options.verify:
            da.to_npy_stack(options.directory, data(options.size, options.seed))
            return
        wrong = differences(options.directory, options.size, options.seed)
        for file, words in wrong:
            print(f"{file}.npy: words that differ: {words}")
        if wrong:
            raise SystemExit(1)
        print("nothing differs")


if __name__ == "__main__":
    main()
