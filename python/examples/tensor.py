"""A tensor of PyTorch on the CPU, filled with unpredictable random numbers.

The same works for everything with a writable buffer, or whose method ``numpy()`` returns an array over the same
memory.
"""

import torch

import squall
import squall.random


def uniform_(tensor: torch.Tensor) -> torch.Tensor:
    """Fill a contiguous tensor of float32 or float64 on the CPU with numbers from 0 to below 1, in place."""
    array = tensor.numpy()
    squall.random.default_rng().random(dtype=array.dtype, out=array)
    return tensor


if __name__ == "__main__":
    mask = torch.empty(1 << 20, dtype=torch.uint8)
    squall.fill(mask)
    print(mask)
    print(uniform_(torch.empty(2, 3)))
