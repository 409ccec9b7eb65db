"""Arrays that say they are on a GPU, and are on the CPU: for tests of squall.cuda."""

import array
import ctypes
import math


class OnCpu:
    """An array that says it is on a GPU: `count` elements of `typestr`, `shift` bytes after a multiple of 64."""

    def __init__(self, typestr, count, shift=0, **interface):
        self.size, self.count = int(typestr[2:]), count
        self._memory = ctypes.create_string_buffer(b"\xa5" * (count * self.size + 256))
        start = ctypes.addressof(self._memory)
        self.address = start + -start % 64 + 64 + shift
        shape = interface.pop("shape", (count,))
        self.__cuda_array_interface__ = {
            "data": (self.address, False), "typestr": typestr, "shape": shape, "version": 3
        } | interface  # fmt: skip

    def bytes(self):
        return ctypes.string_at(self.address, self.count * self.size)

    def numbers(self):
        kind = {"f4": "f", "f8": "d"}.get(self.__cuda_array_interface__["typestr"][1:])
        sizes = {1: "b", 2: "h", 4: "i", 8: "q"}
        code = kind or sizes[self.size]
        if self.__cuda_array_interface__["typestr"][1] == "u":
            code = code.upper()
        return array.array(code, self.bytes()).tolist()

    def around(self):
        """Return the bytes before and after, which must stay 0xa5."""
        after = self.address + self.count * self.size
        return ctypes.string_at(self.address - 64, 64) + ctypes.string_at(after, 64)


TYPESTRS = {"float32": "<f4", "float64": "<f8"} | {
    f"{sign}int{bits}": f"<{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def empty(shape, dtype, device):
    """Make an array of the framework "on_cpu"."""
    return OnCpu(TYPESTRS[dtype], math.prod(shape), shape=shape)
