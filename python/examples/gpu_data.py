"""Test data of any size, made on a GPU and verified by its key on any machine, with a GPU or without.

    python gpu_data.py write FILE 1000000000000 KEY     # 64 hexadecimal digits: squall.token_hex(32)
    python gpu_data.py verify FILE 1000000000000 KEY

The file is what ``squall stream --seed`` writes for the key.
"""

import sys

import squall
from squall import cuda

CHUNK = 1 << 28


def chunks(key, size):
    """Yield the data in parts, made on a GPU if there is one."""
    try:
        import torch

        stream, part = cuda.Stream(key), torch.empty(CHUNK, dtype=torch.uint8, device="cuda")
    except (ImportError, RuntimeError, AssertionError):
        stream, part = squall.Stream(key), None
    for first in range(0, size, CHUNK):
        length = min(CHUNK, size - first)
        if part is None:
            yield stream.read(length)
        else:
            stream.readinto(part[:length])
            yield part[:length].cpu().numpy().data


def write(path, size, key):
    with open(path, "wb") as file:
        file.writelines(chunks(key, size))


def differences(path, size, key):
    """Return the offsets, in bytes, of the parts that differ."""
    wrong, first = [], 0
    with open(path, "rb") as file:
        for part in chunks(key, size):
            if file.read(len(part)) != part:
                wrong.append(first)
            first += len(part)
        if file.read(1):
            wrong.append(first)
    return wrong


def main(command, path, size, key):
    if command == "write":
        write(path, int(size), key)
    elif wrong := differences(path, int(size), key):
        sys.exit(f"{path} differs in the parts of {CHUNK} bytes at {wrong}")
    else:
        print("nothing differs")


if __name__ == "__main__":
    main(*sys.argv[1:])
