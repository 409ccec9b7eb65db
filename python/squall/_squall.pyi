"""Types of the extension module. `squall` and `help(squall)` say what its functions do."""

from typing import SupportsIndex, TypeVar, final

from typing_extensions import Buffer

_T = TypeVar("_T")

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

def fill(buffer: Buffer, same: Buffer | None = None, /) -> None: ...
def fill_elements(
    buffer: Buffer,
    key: bytes,
    kind: str,
    whole: list[int],
    start: list[int],
    shape: list[int],
    low: int = 0,
    span: int = 0,
) -> None: ...
def fill_one_time_uniforms(buffer: Buffer) -> None: ...
def getrandbits(k: int, /) -> int: ...
def normal_of_word(word: int) -> float: ...
def permute(buffer: Buffer, key: bytes, count: int, first: int) -> None: ...
def random() -> float: ...
def shuffle(list: list[_T], /) -> None: ...
def status() -> str: ...
def uuid4_bytes() -> bytes: ...

@final
class SeededWords:
    def __new__(cls, capsule: object, key: bytes | None = None) -> SeededWords: ...
    def get(self) -> tuple[bytes, int, int | None]: ...
    def seek(self, position: int) -> None: ...
    def set(self, key: bytes, position: int, half: int | None) -> None: ...
    def uniforms(self, buffer: Buffer) -> None: ...
    def bytes(self, length: int) -> bytes: ...

@final
class UnrepeatableWords:
    def __new__(cls, capsule: object) -> UnrepeatableWords: ...
    def begin_anew(self) -> None: ...
