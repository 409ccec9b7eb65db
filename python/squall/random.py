"""NumPy's random numbers from squall.

``default_rng()`` is a ``numpy.random.Generator`` whose numbers are unpredictable and not reproducible;
``default_rng(seed)`` gives reproducible ones, by AES-256 in counter mode. Both have every method of NumPy's
generators.

For worker processes with a seed, give each a generator of its own: ``default_rng(seed).spawn(n)``. Without a seed
each forked worker gets other numbers anyway.

Needs NumPy 1.26 or newer: ``pip install numpy``.
"""

import functools
import math
import operator
import os
import sys
import weakref

# First, because it says what is missing without NumPy.
from . import _forks, _seeds, _squall
from ._seeds import SeedSequence

import numpy as np  # isort: skip

__all__ = ["AES256", "Generator", "SeedSequence", "Squall", "default_rng"]

# Dask's `Generator.permutation` takes the package of its bit generator for an array library.
sys.modules[__package__].arange = np.arange

_PERIOD = 1 << 128
_JUMP = 1 << 64

_squalls = weakref.WeakSet()


def _after_fork():
    """Free the locks of threads that this child process does not have, and forget what they left behind."""
    for squall in _squalls:
        if _forks.free_abandoned(squall.lock):
            squall._words.begin_anew()


os.register_at_fork(after_in_child=_after_fork)


def _must_be_new(bit_generator):
    """Complain of a second ``__init__``, in any thread: generators would go on drawing from the words of the first."""
    this = object()
    if vars(bit_generator).setdefault("_initialised_by", this) is not this:
        raise TypeError("a bit generator cannot be initialised twice: make a new one")


class Squall(np.random.BitGenerator):
    """A bit generator without a seed: unpredictable, and not reproducible.

    It has no state that can be read. Pickled, copied or spawned, it becomes a new generator.

    Raises
    ------
    TypeError
        A seed is given.

    Notes
    -----
    The numbers wait in a page of guarded memory and are erased as they are served. The page is kept out of core
    dumps, and out of swap where the machine allows that (``memory`` of ``python -m squall``). Methods that draw have
    no way to raise an error: where the machine has no source of randomness, they end the process.

    Forks and clones: a forked child process gets other numbers, with any start method of `multiprocessing`. So does
    a clone of a virtual machine; where the kernel is notified of clones late or never (``clone guard`` of ``python
    -m squall`` is ``vmgenid`` or ``no-signal``), two clones may have the next 3584 bytes in common. For keys and
    tokens use `squall.token_bytes`, which repeats nothing there either.

    What draws from it may keep numbers itself, and repeat those: ``numpy.random.RandomState(Squall())`` keeps every
    second number of ``randn``, ``normal`` and others of the normal distribution for the next call, and a child
    process returns the one that was kept at the fork.
    """

    def __new__(cls, seed=None):
        # Dask makes generators of its array's parts so, which must be the same when a part is made again.
        if isinstance(seed, SeedSequence):
            return AES256(seed)
        return super().__new__(cls)

    def __init__(self, seed=None):
        if seed is not None:
            raise TypeError("Squall has no seed: for reproducible numbers use AES256(seed)")
        _must_be_new(self)
        super().__init__(_seeds.FreshSeedSequence())
        self._words = _squall.UnrepeatableWords(self.capsule)
        _squalls.add(self)

    # What `random` and `integers` of NumPy's generator return, in less time.

    def _uniforms(self, size):
        out = np.empty(size)
        (_squall.fill_one_time_uniforms if _is_large(size) else _squall.fill_uniforms)(out)
        return out

    def _integers(self, size, low, width):
        out = np.empty(size, np.int64)
        (_squall.fill_one_time_integers if _is_large(size) else _squall.fill_integers)(out, low, width)
        return out

    def spawn(self, n_children):
        """Return `n_children` new generators."""
        return [type(self)() for _ in range(_seeds.count(n_children))]

    @property
    def state(self):
        raise NotImplementedError("Squall is not reproducible: it has no state that can be read")

    @state.setter
    def state(self, value):
        raise NotImplementedError("Squall is not reproducible: it has no state that can be set")

    def __reduce__(self):
        return _new_bit_generator, ((type(self),),), None

    def __getstate__(self):
        return None


class AES256(np.random.BitGenerator):
    """A reproducible, seekable bit generator: AES-256 in counter mode (FIPS 197; NIST SP 800-38A section 6.5).

    Parameters
    ----------
    seed : None, int, bytes, str, sequence of them, or SeedSequence, optional
        Seeds of any length; all bits count. None: 256 random bits. NumPy's own ``numpy.random.SeedSequence`` is taken
        too, and limits the strength to its 128 bits.
    key : bytes of length 32, optional
        The AES key itself, instead of a seed: word ``i``, for ``i`` below 2**61, is then bytes ``8 * i`` to ``8 * i +
        7`` of ``squall.Stream(key)``, little-endian.

    Raises
    ------
    TypeError, ValueError
        The seed or the key cannot be one, or both are given.

    Notes
    -----
    The numbers are the same on every machine, and as secret as the seed: ``squall.token_bytes(32)`` makes one that
    nobody can guess. The period is 2**128 words of 64 bits.

    Key and buffered numbers are on the heap, neither locked nor kept out of core dumps, and wiped when the object is
    freed. ``state`` and pickles have the key.

    Forks and clones: a forked child process and a VM clone continue the same numbers. Give each process a generator
    of ``spawn`` or ``jumped``. A fork while another thread draws leaves the generator locked in the child process, as
    with NumPy's.
    """

    def __init__(self, seed=None, *, key=None):
        _must_be_new(self)
        if key is not None:
            if seed is not None:
                raise TypeError("a seed and a key cannot both be given")
            # Of an integer, `bytes` would make that many zeros.
            key = memoryview(key).tobytes()
            if len(key) != 32:
                raise ValueError(f"the key has {len(key)} bytes: AES-256 takes 32")
            # Independent of the children of a generator that has these bytes as its seed.
            super().__init__(SeedSequence(_seeds.derive("AES256 key", key, 32)))
        else:
            if not isinstance(seed, np.random.bit_generator.ISeedSequence):
                seed = SeedSequence(seed)
            super().__init__(seed)
            key = _key(seed)
        self._words = _squall.SeededWords(self.capsule, key)

    @property
    def state(self):
        """The state, a dict: key (bytes), position (in words of 64 bits), and the half of a word that is left.

        Setting it continues from there.
        """
        with self.lock:
            key, position, half = self._words.get()
        return {
            "bit_generator": type(self).__name__,
            "state": {"key": key, "position": position},
            "has_uint32": int(half is not None),
            "uinteger": half or 0,
        }

    @state.setter
    def state(self, value):
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != type(self).__name__:
            raise ValueError(f"the state is not one of a {type(self).__name__}")
        half = value["uinteger"] if value["has_uint32"] else None
        inner = value["state"]
        with self.lock:
            self._words.set(inner["key"], inner["position"] % _PERIOD, half)

    def advance(self, delta):
        """Move `delta` words of 64 bits forward, or back if it is negative, and return the generator.

        An unused half of a word is discarded.
        """
        with self.lock:
            _, position, _ = self._words.get()
            self._words.seek((position + operator.index(delta)) % _PERIOD)
        return self

    def _uniforms(self, size):
        """Return what ``random`` of NumPy's generator returns, in less time."""
        out = np.empty(size)
        with self.lock:
            self._words.uniforms(out)
        return out

    def _integers(self, size, low, width):
        """Return what ``integers`` of NumPy's generator returns, in less time."""
        out = np.empty(size, np.int64)
        with self.lock:
            self._words.integers(out, low, width)
        return out

    def _bytes(self, length):
        """Return what ``bytes`` of NumPy's generator returns, in less time."""
        with self.lock:
            return self._words.bytes(length)

    def jumped(self, jumps=1):
        """Return a new generator, `jumps` times 2**64 words further on.

        So 2**64 generators draw 2**64 words each without an overlap.
        """
        other = type(self)(self._seed_seq)
        other.state = self.state
        return other.advance(operator.index(jumps) * _JUMP)

    def __reduce__(self):
        return _new_bit_generator, ((type(self), self._seed_seq),), self.state

    def __getstate__(self):
        return self.state

    def __setstate__(self, state):
        self.state = state


def _new_bit_generator(parts):
    """Make a bit generator of its class and the seed sequence, if there is one.

    numpy.random.Generator of NumPy 1.26 is pickled with the first argument of this function, and without others.
    """
    cls, *seed_sequence = parts
    return cls(*seed_sequence)


def _key(sequence):
    """Return the key that a seed sequence gives, which is none of the words that it gives others as their state."""
    if isinstance(sequence, SeedSequence):
        return sequence._derive("AES256", 32)
    state = sequence.generate_state(4, np.uint64).astype("<u8").tobytes()
    return _seeds.derive("AES256 of another sequence", state, 32)


class _OneTimeWords(np.random.BitGenerator):
    """AES-256 in counter mode under a random key, which Python never sees and which is wiped when this is freed."""

    def __init__(self):
        super().__init__(_seeds.FreshSeedSequence())
        self._words = _squall.SeededWords(self.capsule)


class Generator(np.random.Generator):
    """A ``numpy.random.Generator`` over `Squall`, or over the bit generator that is given.

    Over `Squall`, arrays of at least 10,000 numbers are drawn from AES-256 in counter mode under a key of their own,
    which is drawn for the call and erased at its end. Smaller ones of `random` and `integers`, of 64 bits a number, are
    made of bytes as of `squall.token_bytes`. All others, also those whose size only follows from other arguments, are
    drawn by `Squall` itself.

    Forks and clones: as the bit generator. A virtual machine that is cloned in the middle of a call has the rest
    of that array in every clone; so has a child process that a signal handler forks in the middle of a call, if it
    returns to it.
    """

    def __init__(self, bit_generator=None):
        super().__init__(Squall() if bit_generator is None else bit_generator)

    def bytes(self, length):
        """Return `length` random bytes, an integer that is not negative; without a seed, as `squall.token_bytes`."""
        if isinstance(self.bit_generator, Squall):
            return _squall.token_bytes(operator.index(length))
        if isinstance(self.bit_generator, AES256):
            return self.bit_generator._bytes(length)
        return super().bytes(length)

    def random(self, size=None, dtype=np.float64, out=None):
        """Return numbers from 0 to below 1: see ``numpy.random.Generator.random``."""
        if out is None:
            if size is None:
                return _one_random(self, None, dtype)
            words = self.bit_generator
            if dtype is np.float64 and isinstance(words, (AES256, Squall)):
                return words._uniforms(size)
        return _random(self, size, dtype=dtype, out=out)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Return integers from `low` to below `high`: see ``numpy.random.Generator.integers``."""
        if size is not None and dtype is np.int64:
            first, last = (0, low) if high is None else (low, high)
            words = self.bit_generator
            if isinstance(first, int) and isinstance(last, int) and isinstance(words, (AES256, Squall)):
                last -= not endpoint
                if -(1 << 63) <= first <= last < 1 << 63:
                    return words._integers(size, first, last - first)
        return _integers(self, low, high, size, dtype, endpoint)

    def __reduce__(self):
        return type(self), (self.bit_generator,)


_ONE_TIME_KEY_FROM = 10_000


def _use_one_time_key_if_large(method, place):
    """Return `method` of numpy.random.Generator, which takes the size at `place`, as `Generator` has it."""

    @functools.wraps(method)
    def draw(self, *arguments, **named):
        if not arguments and not named:
            return method(self)
        size = arguments[place] if place < len(arguments) else named.get("size")
        if size is None and "out" in named:
            size = getattr(named["out"], "size", None)
        if size is None or not _is_large(size) or not isinstance(self.bit_generator, Squall):
            return method(self, *arguments, **named)
        return method(np.random.Generator(_OneTimeWords()), *arguments, **named)

    return draw


def _is_large(size):
    if type(size) is int:
        return size >= _ONE_TIME_KEY_FROM
    try:
        return (size if isinstance(size, np.integer) else math.prod(size)) >= _ONE_TIME_KEY_FROM
    except TypeError:
        return False


_one_random = np.random.Generator.random
_random = _use_one_time_key_if_large(_one_random, 0)
_integers = _use_one_time_key_if_large(np.random.Generator.integers, 2)

# The other methods of numpy.random.Generator that take a size, by the number of parameters before it.
_BEFORE_SIZE = [
    "standard_cauchy standard_exponential standard_normal",
    "chisquare choice dirichlet exponential geometric logseries pareto poisson power rayleigh standard_gamma"
    " standard_t weibull zipf",
    "beta binomial f gamma gumbel laplace logistic lognormal multinomial multivariate_hypergeometric"
    " multivariate_normal negative_binomial noncentral_chisquare normal uniform vonmises wald",
    "hypergeometric noncentral_f triangular",
]

for _place, _names in enumerate(_BEFORE_SIZE):
    for _name in _names.split():
        _method = getattr(np.random.Generator, _name)
        setattr(Generator, _name, _use_one_time_key_if_large(_method, _place))


def default_rng(seed=None):
    """Return a `Generator`, which has every method of NumPy's.

    Parameters
    ----------
    seed : None, int, bytes, str, sequence of them, SeedSequence, BitGenerator or Generator, optional
        None: unpredictable numbers, not reproducible, from `Squall`. A seed, of any length: reproducible ones, from
        `AES256`; one of another type or form, as ``[1]`` and ``1``, is another seed. A bit generator is wrapped, a
        generator returned.

    Raises
    ------
    TypeError, ValueError
        The seed cannot be one, or has a negative integer.

    Notes
    -----
    Forks and clones: without a seed, forked child processes and VM clones get other numbers, as `Squall` says. With
    one they continue the same numbers: give each process one of ``default_rng(seed).spawn(n)``.

    Examples
    --------
    >>> import squall.random
    >>> rng = squall.random.default_rng(2026)
    >>> rng.integers(100, size=3).shape
    (3,)
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.BitGenerator):
        return Generator(seed)
    if seed is None:
        return Generator()
    return Generator(AES256(seed))
