import random as _random
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Protocol, SupportsIndex, TypeVar, final
from uuid import UUID

from typing_extensions import Buffer, Self

from . import cuda as cuda
from . import dask as dask
from . import random as random

_Function = TypeVar("_Function", bound=Callable[[], object])

class _Tensor(Protocol):
    def numpy(self) -> Any: ...

# Arrays of NumPy have a type of buffers from Python 3.12 on only.
class _Array(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

class Random(_random.SystemRandom): ...

class Installation:
    def uninstall(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

class CloneWatch:
    def fileno(self) -> int: ...
    def take_change(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def __aiter__(self) -> AsyncIterator[int]: ...

def clone_generation() -> int | None: ...
def clone_signal() -> str | None: ...
def fill(buffer: Buffer | _Array | _Tensor, /) -> None: ...
def off_clone(function: Callable[[], object]) -> None: ...
def on_clone(function: _Function) -> _Function: ...
def install(*, random: bool = False, numpy: bool = False) -> Installation: ...
def status() -> dict[str, Any]: ...
def token_hex(nbytes: int | None = None) -> str: ...
def token_urlsafe(nbytes: int | None = None) -> str: ...
def uuid4() -> UUID: ...

def token_bytes(nbytes: int | None = None, /) -> bytes:
    """Return `nbytes` random bytes (default: 32) for keys, nonces and tokens."""

def fresh_bytes(nbytes: int | None = None, /) -> bytes:
    """Return `nbytes` random bytes (default: 32) from a new seed of the kernel: for keys that live for years."""

def randbelow(n: SupportsIndex, /) -> int:
    """Return an integer from 0 to below `n`, each as likely as another."""

@final
class Stream:
    """A key of 32 bytes, or 64 hexadecimal digits, as 2**64 reproducible bytes, which are read like a file."""

    def __new__(cls, key: bytes | str, /) -> Stream: ...
    def read(self, nbytes: int, /) -> bytes:
        """Return the next `nbytes` bytes, always all of them."""

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a contiguous writable buffer with the next bytes, and return its length in bytes."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move to the byte `offset`, from the start, or from where the stream is if `whence` is 1."""

    def tell(self) -> int:
        """Return the number of the next byte, from 0 to 2**64, which is the end."""
