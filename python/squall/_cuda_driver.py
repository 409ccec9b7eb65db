"""What `squall.cuda` needs of NVIDIA's driver and of NVRTC, without anything of CUDA to build or to install.

It compiles ``_cuda_kernels.cu`` for the GPU at hand, keeps the result in the user's cache, and launches kernels by
``python/src/cuda.rs``. A kernel of ChaCha20 reads its key from a slot of memory of the CPU that the GPU can read, and
erases it there.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import hashlib
import os
import struct
import sys
import tempfile
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

from . import _squall

LIBRARY = "libcuda.so.1"
SOURCE = Path(__file__).with_name("_cuda_kernels.cu")

# Without contraction the CPU and the GPU compute the same numbers.
OPTIONS = ["--std=c++17", "--fmad=false", "--device-int128"]


def pack_job(out, first, count, size, low=0, span=0, root=0):
    """Return the parameter of a kernel, as bytes: see ``_cuda_kernels.cu``. The slot is put in later."""
    return _JOB.pack(out, first, count, low, span, root, 0, 0, size)


_JOB = struct.Struct("<7Q2I")

SLOT_BYTES = 64
SLOTS = 1024

FUNCTIONS = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": [POINTER(c_int), c_void_p, c_int, c_size_t],
    "cuMemHostAlloc": [POINTER(c_void_p), c_size_t, c_uint],
    "cuPointerGetAttribute": [c_void_p, c_int, c_uint64],
    "cuStreamSynchronize": [c_void_p],
}
# Those that the extension calls, in its order.
LAUNCHING = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxSynchronize",
    "cuStreamIsCapturing",
    "cuLaunchKernel",
]

# Of cuda.h.
NOT_INITIALIZED, NO_DEVICE = 3, 100
MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76
PORTABLE_AND_MAPPED = 3
DEVICE_ORDINAL = 9
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

# Of the tables of AES: see ``_cuda_kernels.cu``.
AES_SHARED = 1 << 16


FORKED = "a forked child process cannot use the GPU: start it with the method 'spawn'"


class CudaError(RuntimeError):
    """The driver or the compiler of CUDA refused, or is not there."""

    __module__ = "squall.cuda"


class Driver:
    """The driver, of which there is one in a process."""

    def __init__(self):
        try:
            library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise CudaError(
                f"there is no NVIDIA driver ({LIBRARY}): install it, or pass the GPU to the container (--gpus all)"
            ) from None
        self._library = library
        try:
            for name, types in FUNCTIONS.items():
                function = getattr(library, name)
                function.argtypes = types
                setattr(self, name, self._checked(function))
            self.launching = [ctypes.cast(library[name], c_void_p).value for name in LAUNCHING]
        except AttributeError:
            raise CudaError(f"the NVIDIA driver is too old: {LIBRARY} lacks a function") from None
        self.cuInit(0)
        if self.version < (12, 0):
            raise CudaError("the NVIDIA driver is too old: it supports CUDA {}.{}, not 12.0".format(*self.version))
        count = c_int()
        self.cuDeviceGetCount(byref(count))
        if count.value == 0:
            self.fail("cuDeviceGetCount", NO_DEVICE)
        self._devices, self._is_child = {}, False
        os.register_at_fork(after_in_child=self._refuse)
        self._lock = threading.Lock()
        self._count = count.value

    def _checked(self, function):
        def call(*arguments):
            if status := function(*arguments):
                self.fail(function.__name__, status)

        return call

    def fail(self, name, status):
        """Raise the error that a function has returned."""
        if status == NO_DEVICE:
            raise CudaError("there is no GPU: the NVIDIA driver names none (nvidia-smi, CUDA_VISIBLE_DEVICES)")
        if status == NOT_INITIALIZED:
            # In a child process of one that has used the GPU.
            raise CudaError(FORKED)
        text = c_char_p()
        self._library.cuGetErrorString(status, byref(text))
        raise CudaError(f"{name}: {(text.value or b'an unknown error').decode()} ({status})")

    def device(self, number):
        """Return the GPU with this number."""
        device = self._devices.get(number)
        if device is not None:
            return device
        if self._is_child:
            raise CudaError(FORKED)
        with self._lock:
            if number not in self._devices:
                if not 0 <= number < self._count:
                    raise ValueError(f"there is no GPU {number}: the driver names {self._count}")
                self._devices[number] = Device(self, number)
            return self._devices[number]

    def _refuse(self):
        self._devices, self._is_child = {}, True

    def device_of(self, address):
        """Return the number of the GPU that an address belongs to."""
        number = c_int()
        self.cuPointerGetAttribute(ctypes.addressof(number), DEVICE_ORDINAL, address)
        return number.value

    @functools.cached_property
    def version(self):
        """The newest CUDA that the driver supports, as (12, 9)."""
        version = c_int()
        self.cuDriverGetVersion(byref(version))
        return version.value // 1000, version.value % 1000 // 10


@functools.cache
def driver():
    return Driver()


class Device:
    """A GPU: its kernels, compiled, and slots for keys."""

    def __init__(self, driver, number):
        self._driver = driver
        handle, self._context = c_int(), c_void_p()
        driver.cuDeviceGet(byref(handle), number)
        self.processors, major, minor = (
            self._attribute(handle, attribute) for attribute in (MULTIPROCESSORS, MAJOR, MINOR)
        )
        # The context of PyTorch, CuPy, Numba and JAX too.
        driver.cuDevicePrimaryCtxRetain(byref(self._context), handle)
        self._module, memory = c_void_p(), c_void_p()
        binary = compiled(major, minor, driver.version)
        with self:
            driver.cuModuleLoadData(byref(self._module), binary)
            driver.cuMemHostAlloc(byref(memory), SLOTS * SLOT_BYTES, PORTABLE_AND_MAPPED)
        length, self._address = SLOTS * SLOT_BYTES, memory.value
        ctypes.memset(self._address, 0, length)
        self._launcher = _squall.Launcher(driver.launching, self._context.value, self._address, SLOTS)
        self._functions = {}

    def _attribute(self, handle, attribute):
        value = c_int()
        self._driver.cuDeviceGetAttribute(byref(value), attribute, handle)
        return value.value

    def __enter__(self):
        self._driver.cuCtxPushCurrent_v2(self._context)

    def __exit__(self, *_):
        self._driver.cuCtxPopCurrent_v2(byref(c_void_p()))

    def launch(self, name, job, blocks, threads, stream, key):
        """Launch the kernel `name` on `stream`, an address, with at most `blocks` blocks of `threads` threads.

        `job` is its parameter, as bytes. `key` is a `RoundKeys` for AES, 32 bytes, or empty for a new random key.
        """
        function, most, shared = self._functions.get(name) or self._find(name, threads)
        grid = min(most, blocks)
        try:
            status = self._launcher.launch(function, grid, threads, shared, stream, job, key)
        except RuntimeError as error:
            raise CudaError(str(error)) from None
        if status:
            self._driver.fail("cuLaunchKernel", status)

    def _find(self, name, threads):
        """Return a kernel, how many blocks of it the GPU runs at once, and the bytes of shared memory for a block."""
        function, most = c_void_p(), c_int()
        shared = AES_SHARED if name.startswith("aes256") else 0
        self._driver.cuModuleGetFunction(byref(function), self._module, name.encode())
        if shared:
            self._driver.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        occupancy = self._driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
        occupancy(byref(most), function, threads, shared)
        self._functions[name] = function.value, most.value * self.processors, shared
        return self._functions[name]

    def wait(self, stream):
        """Wait until all on the stream is done."""
        with self:
            self._driver.cuStreamSynchronize(stream)


# The compiler.


def compiled(major, minor, version):
    """Return the kernels for a GPU of compute capability `major`.`minor`, from the cache if they are there."""
    source = SOURCE.read_bytes()
    nvrtc = Nvrtc(version)
    options = [*OPTIONS, nvrtc.architecture(10 * major + minor)]
    name = hashlib.sha256(repr((source, options, nvrtc.version)).encode()).hexdigest()
    file = cache() / f"cuda-{name[:32]}"
    try:
        return file.read_bytes()
    except OSError:
        binary = nvrtc.compile(source, options)
    try:
        # Not readable by others, and whole or not at all.
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(binary)
        os.replace(new.name, file)
    except OSError:
        pass
    return binary


def cache():
    """Return the folder of the user's cache, or one that cannot be made for a user without a home directory."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "squall"
    except RuntimeError:
        return Path(os.devnull) / "squall"


class Nvrtc:
    """NVIDIA's compiler at run time: of PyTorch, of a package of PyPI, or of CUDA's toolkit."""

    def __init__(self, newest):
        for file in self._files(newest):
            try:
                self._library = ctypes.CDLL(file)
                break
            except OSError:
                continue
        else:
            raise CudaError("NVRTC is not installed: run pip install nvidia-cuda-nvrtc-cu12")
        major, minor = c_int(), c_int()
        self._call("nvrtcVersion", byref(major), byref(minor))
        self.version = major.value, minor.value

    @staticmethod
    def _files(newest):
        """Return what may be NVRTC of a version that the driver understands, the newest first."""
        majors = [major for major in (13, 12) if (major, 0) <= newest]
        for major in majors:
            for folder in sys.path:
                for place in (f"cu{major}", "cuda_nvrtc"):
                    yield from glob.glob(f"{glob.escape(folder)}/nvidia/{place}/lib/libnvrtc.so.{major}")
            yield f"libnvrtc.so.{major}"
            yield f"/usr/local/cuda-{major}/lib64/libnvrtc.so.{major}"
        yield from (f"/usr/local/cuda/lib64/libnvrtc.so.{major}" for major in majors)

    def _call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status:
            raise CudaError(f"{name} fails ({status})")

    def architecture(self, capability):
        """Return the option for a GPU, or for an older one, whose code the driver translates, if NVRTC is older."""
        count = c_int()
        self._call("nvrtcGetNumSupportedArchs", byref(count))
        known = (c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", known)
        if capability in known:
            return f"--gpu-architecture=sm_{capability}"
        older = [each for each in known if each < capability]
        if not older:
            raise CudaError(f"this GPU is too old for NVRTC {self.version[0]}.{self.version[1]}")
        return f"--gpu-architecture=compute_{max(older)}"

    def compile(self, source, options):
        """Return the binary, or PTX for a virtual architecture."""
        program = c_void_p()
        self._call("nvrtcCreateProgram", byref(program), source, b"_cuda_kernels.cu", 0, None, None)
        try:
            list_of_options = (c_char_p * len(options))(*(option.encode() for option in options))
            try:
                self._call("nvrtcCompileProgram", program, len(options), list_of_options)
            except CudaError:
                log = self._get(program, "nvrtcGetProgramLog").rstrip(b"\0").decode()
                raise CudaError(f"the kernels cannot be compiled: {log}") from None
            return self._get(program, "nvrtcGetPTX" if "compute_" in options[-1] else "nvrtcGetCUBIN")
        finally:
            self._call("nvrtcDestroyProgram", byref(program))

    def _get(self, program, name):
        length = c_size_t()
        self._call(f"{name}Size", program, byref(length))
        content = ctypes.create_string_buffer(length.value)
        self._call(name, program, content)
        return content.raw
