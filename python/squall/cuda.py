"""Random numbers made on an NVIDIA GPU, where they are needed.

=====================================================  ==============================================
for                                                    use
=====================================================  ==============================================
an existing tensor or array on a GPU                   fill(x)
unpredictable numbers, as arrays of PyTorch, CuPy …    default_rng(framework="torch")
exact noise for differential privacy                   its discrete_gaussian and discrete_laplace
reproducible numbers                                   default_rng(seed, framework="torch")
bytes that a CPU can verify, two parties' masks        Stream(key).readinto(x)
=====================================================  ==============================================

Without a seed, each call takes a new key of `squall.token_bytes` on the CPU and makes the array by ChaCha20 (RFC 8439,
with a counter of 64 bits); the GPU erases the key when it has read it. So forked processes, clones of a virtual machine
and reseeds are taken care of as by `squall.token_bytes`: a machine that is cloned in the middle of a call has the same
array in every clone. With a key or a seed the numbers are AES-256 in counter mode (FIPS 197; NIST SP 800-38A section
6.5), but exact noise is ChaCha20 with a seed too.

Work is queued on the stream of the array: PyTorch's current one, the one that ``__cuda_array_interface__`` names, or
the default stream. Calls do not wait for the GPU, except for JAX and for arrays that have DLPack alone, which does not
say whose stream reads them next. A stream that is being captured is refused: a CUDA graph would repeat the numbers. A
forked child process cannot use the GPU if its parent did.

It needs a GPU of compute capability 7.0 or later (2017), its driver for CUDA 12 or later, and NVRTC, which PyTorch
brings along and ``pip install nvidia-cuda-nvrtc-cu12`` installs. The kernels are compiled at the first use, which takes
some seconds, and kept in ~/.cache/squall (or below XDG_CACHE_HOME).

Errors: CudaError, a RuntimeError, if there is no driver, GPU or compiler, or if they refuse; TypeError and ValueError
for arrays that cannot be filled: on the CPU, not contiguous, read-only, or of another type. Lengths are in elements of
the array unless it says otherwise.
"""

from __future__ import annotations

import ctypes
import math
import numbers
import operator
import sys
import threading
from fractions import Fraction

from . import _cuda_driver, _squall
from ._cuda_driver import CudaError

__all__ = ["CudaError", "Generator", "Stream", "default_rng", "fill"]


def fill(x, /, *, stream=None):
    """Fill an array on a GPU with random bytes, in place.

    Parameters
    ----------
    x : torch.Tensor, cupy.ndarray, array of Numba, or an object with ``__cuda_array_interface__`` or ``__dlpack__``
        It must be contiguous. Every byte becomes random, whatever the type of the elements: floats get any bit
        pattern, NaN too.
    stream : int, optional
        The address of a CUDA stream. The default is the array's own. The caller orders another one with the streams
        that use the array before and after.

    Raises
    ------
    CudaError, TypeError, ValueError, OSError
        As the module says; OSError as `squall.token_bytes`.

    Notes
    -----
    Forks and clones: as `squall.token_bytes`, but a virtual machine that is cloned in the middle of the call has the
    same bytes in every clone. PyTorch's autograd does not notice that a tensor has changed.

    Examples
    --------
    >>> import squall.cuda, torch  # doctest: +SKIP
    >>> squall.cuda.fill(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))  # doctest: +SKIP
    """
    array = _Array(x, stream)
    # The bytes that a store takes at once begin at a multiple of 16.
    _make(array, "bytes", b"", array.address % 16, array.count * array.size, size=1)


class Stream:
    """A key as 2**64 reproducible bytes: those of `squall.Stream` and ``squall stream --seed``, made on a GPU.

    Parameters
    ----------
    key : bytes of length 32, or str of 64 hexadecimal digits
        Whoever knows the key knows all the bytes. ``squall.token_bytes(32)`` makes one.

    Raises
    ------
    TypeError, ValueError
        The key is neither.

    Notes
    -----
    AES-256 in counter mode from counter 0. It is fastest if the offset and the array's address are equal modulo 16.
    Threads may share a stream: each call gets the bytes after those of the call before it.

    Forks and clones: a forked child process and a clone of a virtual machine go on with the same bytes. The expanded
    key is wiped when the object is freed. It is also a parameter of each kernel: see docs/SECURITY.md.
    """

    def __init__(self, key, /):
        self._keys = _squall.RoundKeys(key)
        self._lock = threading.Lock()
        self._position = 0

    def readinto(self, x, /, *, stream=None):
        """Fill an array, as `fill` takes it, with the next bytes, and return its length in bytes.

        Raises
        ------
        EOFError
            There are fewer bytes before the end; the stream stays where it is, and nothing is written.
        CudaError, TypeError, ValueError
            As `fill`. After a CudaError the stream may have moved on.
        """
        array = _Array(x, stream)
        length = array.count * array.size
        with self._lock:
            first = self._position
            if first + length > 1 << 64:
                raise EOFError("the stream ends after 2**64 bytes")
            self._position += length
        _make(array, "bytes", self._keys, first, length, size=1)
        return length

    def seek(self, offset, whence=0, /):
        """Move to the byte `offset`, counted in bytes from the start, or from where the stream is if `whence` is 1.

        Return the number of that byte. Raise ValueError if it is not from 0 to below 2**64, or `whence` is another.
        """
        if whence not in (0, 1):
            raise ValueError("whence must be 0, the start, or 1, where the stream is")
        with self._lock:
            target = operator.index(offset) + (self._position if whence else 0)
            if not 0 <= target < 1 << 64:
                raise ValueError("the offset is outside of the stream's 2**64 bytes")
            self._position = target
        return target

    def tell(self):
        """Return the number of the next byte, from 0 to 2**64, which is the end."""
        return self._position

    def __repr__(self):
        return f"<squall.cuda.Stream at byte {self._position}>"


def default_rng(seed=None, *, framework, device=None):
    """Return a `Generator` that makes arrays of `framework`.

    Parameters
    ----------
    seed : None, int, bytes, str, or sequence of them, optional
        None: unpredictable numbers, not reproducible. A seed, of any length, needs NumPy.
    framework : {"torch", "cupy", "numba", "jax"}
        What makes the arrays. It is imported for the first one.
    device : int, optional
        The number of the GPU. The default is the framework's current one.

    Raises
    ------
    TypeError, ValueError, ModuleNotFoundError
        The seed cannot be one, there is no such framework, or NumPy is not installed.

    Examples
    --------
    >>> import squall.cuda  # doctest: +SKIP
    >>> rng = squall.cuda.default_rng(framework="torch")  # doctest: +SKIP
    >>> noise = rng.standard_normal((1000, 1000))  # doctest: +SKIP
    """
    return Generator(seed, framework=framework, device=device)


class Generator:
    """Random numbers as arrays on a GPU. `default_rng` describes the parameters.

    A `size` is an integer or a sequence of them, or () for an array without axes. If `out` is given, an array as `fill`
    takes it, it is filled and returned, and `size` and `dtype` are not looked at. The `dtype` is a name, or a type of
    the framework.

    With a seed, each method has numbers of its own, and a call goes on where the call before ended. `bytes`,
    `integers`, and `random` and `standard_normal` of float64 are, to the bit, the elements of ``words``, ``integers``,
    ``random`` and ``normal`` of `squall.dask` with that seed; those of float32 have no counterpart there.

    Forks and clones: without a seed as `fill`; with one, every process and clone goes on with the same numbers.
    """

    def __init__(self, seed=None, *, framework, device=None):
        if framework not in _FRAMEWORKS:
            known = ", ".join(map(repr, _FRAMEWORKS))
            raise ValueError(f"the framework is {framework!r}: it must be one of {known}")
        self._empty = _FRAMEWORKS[framework]
        self._device = None if device is None else operator.index(device)
        self._seed = seed
        self._lock = threading.Lock()
        self._keys, self._positions = {}, {}
        if seed is not None:
            from . import _seeds

            self._seed = _seeds.frozen(seed)

    def bytes(self, length):
        """Return `length` random bytes, as uint8. With a seed they are those of ``squall.dask.words``."""
        return self._array("bytes", "elements word", (operator.index(length),), "uint8", None, ["uint8"])

    def random(self, size=(), dtype="float32", *, out=None):
        """Return numbers from 0 to below 1: multiples of 2**-24 for float32, of 2**-53 for float64."""
        return self._array("uniform{bits}", "elements uniform", size, dtype, out, _FLOATS)

    def standard_normal(self, size=(), dtype="float32", *, out=None):
        """Return numbers of the normal distribution with mean 0 and standard deviation 1, as float32 or float64.

        Each is the distribution's quantile at one uniform number: of 52 bits by Wichura's algorithm AS 241 (1988) for
        float64, up to 8.2 deviations from the mean, and of 32 bits for float32, to four parts in 10**7 and up to 6.3.
        Noise of floating-point numbers does not keep what differential privacy promises: use `discrete_gaussian`.
        """
        return self._array("normal{bits}", "elements normal", size, dtype, out, _FLOATS)

    def integers(self, low, high=None, size=(), dtype="int64", *, endpoint=False, out=None):
        """Return integers from `low` to below `high`, or from 0 to below `low` if `high` is None.

        With `endpoint`, `high` is included. Without a seed each is as likely as another (Lemire, "Fast Random Integer
        Generation in an Interval", 2019). With one they are those of `squall.dask.integers`, whose probabilities are
        off by at most one part in 2**32, or in 2**64 for more than 2**32 integers.

        Raises
        ------
        ValueError
            There is no such integer, or not all of them fit into the type.
        """
        low, high = (0, low) if high is None else (low, high)
        low, last = operator.index(low), operator.index(high) - (not endpoint)
        if last < low:
            raise ValueError("there is no such integer: low must be less than high")

        def check(name):
            bits = int(name.lstrip("uint"))
            least = 0 if name.startswith("u") else -1 << bits - 1
            if low < least or last >= least + (1 << bits):
                raise ValueError(f"the integers from {low} to {last} do not fit into {name}")

        span = last - low + 1
        kind = "integers"
        if self._seed is not None and span > 1 << 32 and span.bit_count() > 1:
            kind = "wide_integers"
        purpose = f"elements {kind[:-1].replace('_', ' ')}"
        limits = {"low": low % (1 << 64), "span": span % (1 << 64)}
        return self._array(kind, purpose, size, dtype, out, _INTEGERS, check, **limits)

    def discrete_laplace(self, scale, size=(), *, out=None):
        """Return integers y, as int64, with probabilities proportional to exp(-abs(y) / scale), exactly.

        `scale` is an int, a Fraction or a str such as "1/3", positive, of a numerator and denominator below 2**32.
        The sampler is algorithm 2 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy"
        (2020), with integers alone. How long it takes depends on what it draws: do not let an attacker measure it.
        """
        scale = _fraction("scale", scale, 32)
        return self._noise("laplace", size, out, low=scale.numerator, span=scale.denominator)

    def discrete_gaussian(self, variance, size=(), *, out=None):
        """Return integers y, as int64, with probabilities proportional to exp(-y**2 / (2 * variance)), exactly.

        `variance` is an int, a Fraction or a str, positive, of a numerator and denominator below 2**40: so the standard
        deviation is below 2**20. Algorithm 3 of the same article; see `discrete_laplace`.
        """
        variance = _fraction("variance", variance, 40)
        root = math.isqrt(math.floor(variance)) + 1
        parameters = {"low": variance.numerator, "span": variance.denominator, "root": root}
        return self._noise("gaussian", size, out, **parameters)

    def _noise(self, name, size, out, **parameters):
        return self._array(name, f"discrete {name}", size, "int64", out, ["int64"], **parameters)

    def _array(self, kernel, purpose, size, dtype, out, types, check=None, **parameters):
        if out is None:
            dtype = _name(dtype)
            self._check_type(dtype, types, check)
            # Raises CudaError, where each framework has an error of its own.
            _cuda_driver.driver()
            result = self._empty(_shape(size), dtype, self._device)
            array = _Array(result, None, is_new=True)
        else:
            result, array = out, _Array(out, None)
            self._check_type(array.dtype, types, check)
        kernel = kernel.format(bits=8 * array.size)
        noise = kernel in ("laplace", "gaussian")
        if self._seed is None:
            key, first = b"", 0
        else:
            if kernel in ("uniform32", "normal32"):
                purpose += " of 32 bits"
            key, first = self._take(purpose, array.count, expanded=not noise)
        _make(array, kernel, key, first, array.count, size=array.size, **parameters)
        return result

    @staticmethod
    def _check_type(dtype, types, check):
        if dtype not in types:
            raise TypeError(f"the type is {dtype}: it must be {' or '.join(types)}")
        if check:
            check(dtype)

    def _take(self, purpose, count, expanded):
        """Return the key for a purpose, and the number of the first of the next `count` elements."""
        from . import _seeds

        with self._lock:
            if purpose not in self._keys:
                key = _seeds.key(purpose, self._seed)
                self._keys[purpose] = _squall.RoundKeys(key) if expanded else key
            first = self._positions.get(purpose, 0)
            self._positions[purpose] = first + count
        return self._keys[purpose], first


_FLOATS = ["float32", "float64"]
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def _fraction(name, value, bits):
    if not isinstance(value, (numbers.Rational, str)):
        raise TypeError(f"{name} must be exact: an int, a Fraction, or a str such as '1/3'")
    try:
        fraction = Fraction(value)
    except ZeroDivisionError:
        raise ValueError(f"{name} is {value}: its denominator must not be 0") from None
    if fraction <= 0:
        raise ValueError(f"{name} is {value}: it must be positive")
    if max(fraction.as_integer_ratio()) >= 1 << bits:
        raise ValueError(f"{name} is {value}: its numerator and denominator must be below 2**{bits}")
    return fraction


def _shape(size):
    try:
        shape = (operator.index(size),)
    except TypeError:
        shape = tuple(map(operator.index, size))
    if any(length < 0 for length in shape):
        raise ValueError(f"the size is {size}: it must not be negative")
    return shape


def _name(dtype):
    """Return the name of a type, which is a str or a type of a framework."""
    if isinstance(dtype, type):
        return dtype.__name__
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


# Kernels.

_CHACHA20_THREADS = 256
_AES_THREADS = 512


def _make(array, kernel, key, first, count, **parameters):
    """Have the kernel fill an array with elements from number `first` on; `key` is as `Device.launch` takes it."""
    if count == 0:
        return
    device = _cuda_driver.driver().device(array.device)
    job = _cuda_driver.pack_job(array.address, first, count, **parameters)
    length = _bytes_of_key(kernel, first, count)
    if isinstance(key, _squall.RoundKeys):
        blocks = -(-(length // 16 + 1) // _AES_THREADS)
        device.launch(f"aes256_{kernel}", job, blocks, _AES_THREADS, array.stream, key)
    else:
        # A thread has a block of 64 bytes, or an element of noise.
        threads = count if kernel in ("laplace", "gaussian") else length // 64 + 1
        blocks = -(-threads // _CHACHA20_THREADS)
        device.launch(f"chacha20_{kernel}", job, blocks, _CHACHA20_THREADS, array.stream, key)
    if array.waits:
        device.wait(array.stream)


def _bytes_of_key(kernel, first, count):
    """Return about how many bytes of the keystream `count` elements take."""
    if kernel == "bytes":
        return first % 64 + count
    return count * (4 if kernel.endswith("32") else 16 if kernel == "wide_integers" else 8)


# Arrays.


class _Array:
    """Where an array is: its address, number and size of elements, type, GPU and stream."""

    def __init__(self, x, stream, is_new=False):
        stream = None if stream is None else operator.index(stream)
        # Whether the result is waited for, because the stream that reads it is not known.
        self.waits = False
        torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
        if torch is not None and isinstance(x, torch.Tensor):
            self._take_tensor(x, torch)
        else:
            is_jax = jax is not None and isinstance(x, jax.Array)
            if is_jax and not is_new:
                raise TypeError("an array of JAX cannot be changed: use default_rng(framework='jax')")
            if hasattr(x, "__cuda_array_interface__"):
                # JAX says that it is read-only.
                self._take_interface(x.__cuda_array_interface__, may_be_read_only=is_new)
            elif hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
                self._take_dlpack(x, stream)
            else:
                raise TypeError(
                    f"{type(x).__name__} is no array on a GPU: it has neither __dlpack__ nor __cuda_array_interface__"
                )
            self.waits = self.waits or is_jax
        if stream is not None:
            self.stream, self.waits = stream, False
        if self.count and self.address % self.size:
            raise ValueError("the array is not aligned to its elements")

    def _take_tensor(self, x, torch):
        if not x.is_cuda:
            raise ValueError(f"the tensor is on {x.device}: squall.fill takes tensors on the CPU")
        if x.layout != torch.strided or not x.is_contiguous():
            raise ValueError(_NOT_CONTIGUOUS)
        if x.requires_grad:
            raise ValueError("the tensor requires grad: pass x.detach()")
        self.address, self.count, self.size = x.data_ptr(), x.numel(), x.element_size()
        self.dtype, self.device = _name(x.dtype), x.device.index
        self.stream = torch.cuda.current_stream(self.device).cuda_stream

    def _take_interface(self, interface, may_be_read_only):
        """See the CUDA Array Interface, version 3, in the documentation of Numba."""
        self.address, is_read_only = interface["data"]
        if is_read_only and not may_be_read_only:
            raise ValueError("the array is read-only")
        kind, self.size = interface["typestr"][1], int(interface["typestr"][2:])
        name = {"i": "int", "u": "uint", "f": "float"}.get(kind, "another of kind " + kind)
        self.dtype = f"{name}{8 * self.size}"
        self._take_shape(interface["shape"], interface.get("strides"), self.size)
        self.stream = interface.get("stream") or 0
        self.device = _cuda_driver.driver().device_of(self.address) if self.count else 0

    def _take_dlpack(self, x, stream):
        kind, _ = x.__dlpack_device__()
        if kind not in _ON_A_GPU:
            raise ValueError("the array is not on an NVIDIA GPU: squall.fill takes arrays on the CPU")
        # The array is then ready on this stream; 1 is the default one.
        self.stream, self.waits = stream or 1, True
        capsule = x.__dlpack__(stream=self.stream)
        tensor = _TENSOR_OF_CAPSULE(capsule, b"dltensor").contents
        self.size = tensor.bits * tensor.lanes // 8
        name = {(0, 1): "int", (1, 1): "uint", (2, 1): "float"}.get((tensor.code, tensor.lanes), "another of ")
        self.dtype = f"{name}{tensor.bits}"
        axes = tensor.axes
        self._take_shape(tensor.shape[:axes], tensor.strides[:axes] if tensor.strides else None, 1)
        self.address, self.device = (tensor.data or 0) + tensor.offset, tensor.device
        self._capsule = capsule

    def _take_shape(self, shape, strides, step):
        """Take the number of elements. `step` is the stride of those that are neighbours."""
        self.count = math.prod(shape)
        for length, stride in reversed(list(zip(shape, strides or ()))):
            if self.count and length > 1 and stride != step:
                raise ValueError(_NOT_CONTIGUOUS)
            step *= length


_NOT_CONTIGUOUS = "the array is not contiguous: fill a new one and copy it"


class _DlTensor(ctypes.Structure):
    """A DLTensor of DLPack's dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


_ON_A_GPU = (2, 13)  # kDLCUDA, kDLCUDAManaged
_TENSOR_OF_CAPSULE = ctypes.PYFUNCTYPE(ctypes.POINTER(_DlTensor), ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _empty_of_torch(shape, dtype, device):
    import torch

    place = "cuda" if device is None else f"cuda:{device}"
    return torch.empty(shape, dtype=getattr(torch, dtype), device=place)


def _empty_of_cupy(shape, dtype, device):
    import cupy

    with cupy.cuda.Device(device):
        return cupy.empty(shape, dtype)


def _empty_of_numba(shape, dtype, device):
    import numba.cuda

    with numba.cuda.gpus[numba.cuda.get_current_device().id if device is None else device]:
        return numba.cuda.device_array(shape, dtype)


def _empty_of_jax(shape, dtype, device):
    """Return an array that nobody else has seen yet, and which may therefore be changed."""
    import jax

    place = None if device is None else jax.devices("cuda")[device]
    array = jax.numpy.empty(shape, dtype, device=place).block_until_ready()
    if array.dtype.name != dtype:
        raise ValueError(f"JAX has no {dtype} now: set jax_enable_x64")
    if array.device.platform not in ("gpu", "cuda"):
        raise CudaError("JAX has no GPU: install jax[cuda12]")
    return array


_FRAMEWORKS = {
    "torch": _empty_of_torch,
    "cupy": _empty_of_cupy,
    "numba": _empty_of_numba,
    "jax": _empty_of_jax,
}
