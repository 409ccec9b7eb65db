import random as _random
from types import TracebackType
from typing import Any, Protocol
from uuid import UUID

from typing_extensions import Buffer, Self

from . import dask as dask
from . import random as random
from ._squall import Stream as Stream
from ._squall import fresh_bytes as fresh_bytes
from ._squall import randbelow as randbelow
from ._squall import token_bytes as token_bytes

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

def fill(buffer: Buffer | _Array | _Tensor, /) -> None: ...
def install() -> Installation: ...
def status() -> dict[str, Any]: ...
def token_hex(nbytes: int | None = None) -> str: ...
def token_urlsafe(nbytes: int | None = None) -> str: ...
def uuid4() -> UUID: ...
