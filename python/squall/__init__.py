"""Cryptographic random numbers: fast, and safe across forks and VM clones.

Which should I use?

==========================================================  ==============================================
for                                                         use
==========================================================  ==============================================
keys, nonces, tokens, session identifiers                   token_bytes, token_hex, token_urlsafe, uuid4
keys that live for years                                    fresh_bytes
an integer below n                                          randbelow
memory that is there already, such as an array              fill
everything that random.Random has                           Random
NumPy: unpredictable numbers                                squall.random.default_rng()
NumPy: reproducible numbers                                 squall.random.default_rng(seed)
Dask: reproducible numbers whatever the chunks              squall.dask.random(shape, chunks, seed=seed)
reproducible bytes, from any offset                         Stream
arrays on a GPU, for PyTorch, CuPy, Numba and JAX           squall.cuda: fill, default_rng, Stream
code that calls os.urandom, secrets or uuid                 install()
code that calls random or numpy.random                      install(random=True, numpy=True)
noticing that the machine or the process was copied         clone_generation, on_clone, CloneWatch
what protects this process                                  status, or `python -m squall`
==========================================================  ==============================================

Functions of this module never repeat: not in a forked child process, in another thread, or in a clone of a virtual
machine, as far as the machine lets squall notice clones or prevent repeats. (A `Stream` repeats by design.) They never
block once the system has booted, and may be called from signal handlers and at interpreter shutdown.

They raise OSError if the machine has no source of randomness at all, as in some sandboxes.

Lengths are in bytes unless it says otherwise.
"""

from binascii import b2a_base64 as _b2a_base64

from squall_startup import is_starting as _is_starting

try:
    from . import _squall
except ImportError as error:
    if "partially initialized module" in str(error):
        raise ImportError(
            f"squall in {__path__[0]} has no extension module for this Python: if that is a source folder, start Python"
            " in another one; if not, install squall with pip",
            name=error.name,
        ) from None
    if "subinterpreters" not in str(error):
        raise
    raise ImportError(
        "squall cannot be imported in an interpreter with a GIL of its own, such as those of concurrent.interpreters:"
        " import it in the main interpreter, or use processes",
        name=error.name,
    ) from None
from ._clones import CloneWatch, off_clone, on_clone
from ._install import Installation, install
from ._random import Random
from ._squall import Stream, clone_generation, clone_signal, fresh_bytes, randbelow, token_bytes

__all__ = [
    "CloneWatch",
    "Installation",
    "Random",
    "Stream",
    "clone_generation",
    "clone_signal",
    "fill",
    "fresh_bytes",
    "install",
    "off_clone",
    "on_clone",
    "randbelow",
    "status",
    "token_bytes",
    "token_hex",
    "token_urlsafe",
    "uuid4",
]


class _LazyModule(type(_squall)):
    """A submodule that is imported at its first use; the import then puts the module itself in this one's place.

    A function ``__getattr__`` of the package (PEP 562) would do, but makes each ``squall.NAME`` slower, because CPython
    before 3.15 does not specialize attributes of such a module.
    """

    # Not this class's.
    __doc__ = property(lambda self: self.__getattr__("__doc__"))

    def __getattr__(self, name):
        from importlib import import_module

        return getattr(import_module(self.__name__), name)

    def __dir__(self):
        return self.__getattr__("__dir__")()


cuda = _LazyModule(f"{__name__}.cuda")
dask = _LazyModule(f"{__name__}.dask")
random = _LazyModule(f"{__name__}.random")


def fill(buffer, /):
    """Fill a writable buffer with random bytes, in place.

    Parameters
    ----------
    buffer : bytearray, memoryview, array.array, mmap, numpy.ndarray, or a tensor of PyTorch on the CPU
        Any object with a contiguous writable buffer, or whose method ``numpy()`` returns one over the same memory.
        Every byte becomes random, whatever the type of the elements: floats get any bit pattern, NaN too. For numbers
        from 0 to below 1 use ``squall.random.default_rng().random(out=array)``.

    Raises
    ------
    BufferError
        The buffer is read-only, not contiguous, or one of Python objects or pointers; or ``numpy()`` returns a copy.
    TypeError
        The object has no buffer.
    OSError
        Same as `token_bytes`.

    Notes
    -----
    Buffers of 64 KiB and more are filled without the GIL, at the speed of the CPU's AES units. Forks and clones: same
    as `token_bytes`, but a VM that is cloned in the middle of the call has what was written so far in every clone.
    """
    try:
        _squall.fill(buffer)
    except ValueError as error:
        raise BufferError(f"{error}: pass a view of bytes, such as array.view('u1')") from None
    except TypeError:
        if not hasattr(buffer, "numpy"):
            raise
        # A copy is at another place each time, as long as both are there.
        _squall.fill(buffer.numpy(), buffer.numpy())


def token_hex(nbytes=None):
    """Return `nbytes` random bytes (default: 32) as a str of twice as many hexadecimal digits.

    Errors, forks and clones: same as `token_bytes`.
    """
    return token_bytes(nbytes).hex()


def token_urlsafe(nbytes=None):
    """Return `nbytes` random bytes (default: 32) as a str for URLs, in Base64 without padding (RFC 4648 section 5).

    The text has about 1.3 characters a byte. Errors, forks and clones: same as `token_bytes`.
    """
    text = _b2a_base64(token_bytes(nbytes), newline=False)
    return text.rstrip(b"=").translate(_URL_SAFE).decode("ascii")


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_new_object = object.__new__
_UUID = None


def _import_uuid():
    """Import `uuid` for `uuid4`, which takes as long as all of squall."""
    global _UUID, _UNKNOWN, _set_int, _set_is_safe
    from uuid import UUID, SafeUUID

    _set_int, _set_is_safe, _UNKNOWN = UUID.int.__set__, UUID.is_safe.__set__, SafeUUID.unknown
    _UUID = UUID


# At its first call, if the program may not know of squall; else now, because that call may come at interpreter shutdown.
if not _is_starting:
    _import_uuid()


def uuid4():
    """Return a random uuid.UUID, version 4 of RFC 9562: 122 random bits.

    Errors, forks and clones: same as `token_bytes`.
    """
    if _UUID is None:
        _import_uuid()
    uuid = _new_object(_UUID)
    _set_int(uuid, int.from_bytes(_squall.uuid4_bytes()))
    _set_is_safe(uuid, _UNKNOWN)
    return uuid


def status():
    """Return the protections of this process and the work of its generator, as a dict.

    Draws a few bytes first. The keys are those of ``squall status --json``: sizes are in bytes, counts are of this
    process; a forked child process goes on counting from those of its parent.

    Raises
    ------
    OSError
        The machine has no source of randomness.
    """
    from json import loads

    return loads(_squall.status())
