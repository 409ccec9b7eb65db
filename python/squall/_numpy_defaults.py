"""NumPy's default generators under ``squall.install(numpy=True)``: squall's words until the program seeds.

They are bit generators of subclasses of NumPy's. A program that reads the state or the seed sequence of one, or copies
it, may want to draw the same numbers again. So that seeds it too, with a random seed.
"""

import functools
import sys
import threading

from . import _squall

# Not `numpy.random`: when its import ends, the package `numpy` does not have this attribute yet.
numpy_random = sys.modules["numpy.random"]
if not hasattr(numpy_random, "set_bit_generator"):
    from numpy.version import version

    raise ImportError(f"NumPy {version} is too old: squall needs 1.24 or later")

# `_legacy_seeding` ignores this seed. So `RandomState.seed(_FORGET)` only clears the normally distributed number that a
# `RandomState` keeps.
_FORGET = object()


def _class_until_seeded(stock, forget=None):
    """Return a subclass of `stock` whose objects draw squall's words until they are seeded."""

    class UntilSeeded(stock):
        def __new__(cls, seed=None):
            return super().__new__(cls) if seed is None else stock(seed)

        def __init__(self, seed=None):
            super().__init__()
            self._sequence = super()._seed_seq
            # NumPy's own lock, which before 2.4 a thread cannot take twice, is only taken while this one is held.
            self._words = _squall.WordsUntilSeeded(self.capsule, threading.RLock(), forget)
            # The state in which NumPy's own generator goes on after `uninstall`, or None: in this one's.
            self.before = None

        @property
        def lock(self):
            return self._words

        def _seed(self):
            """Seed it, unless it is seeded, and return its seed sequence."""
            with self.lock:
                if not self._words.uses_stock:
                    self._sequence = numpy_random.SeedSequence(_squall.getrandbits(128))
                    stock.state.__set__(self, stock(self._sequence).state)
                    self._words.uses_stock = True
                return self._sequence

        @property
        def state(self):
            self._seed()
            return super().state

        @state.setter
        def state(self, state):
            with self.lock:
                stock.state.__set__(self, state)
                self.before, self._words.uses_stock = None, True

        seed_seq = _seed_seq = property(_seed)

        def _legacy_seeding(self, seed):
            if seed is not _FORGET:
                with self.lock:
                    if seed is not None:
                        super()._legacy_seeding(seed)
                        self._sequence = None
                    self.before, self._words.uses_stock = None, seed is not None

        def random_raw(self, *arguments, **named):
            with self.lock:
                return super().random_raw(*arguments, **named)

        def spawn(self, n_children):
            from ._seeds import count

            with self.lock:
                if self._words.uses_stock:
                    return [stock(seed) for seed in self._sequence.spawn(n_children)]
            return [type(self)() for _ in range(count(n_children))]

        def __reduce__(self):
            copy = stock(self._seed())
            copy.state = self.state
            return copy.__reduce__()

    for name in ["__module__", "__name__", "__qualname__"]:
        setattr(UntilSeeded, name, getattr(stock, name))
    return UntilSeeded


_random_state = numpy_random.mtrand._rand
_forget = functools.partial(_random_state.seed, _FORGET)
_bit_generator = _class_until_seeded(numpy_random.MT19937, _forget)()


def end_seed():
    """Have the global generator draw from squall, also after a seed, whose numbers go on after `uninstall`."""
    words = _bit_generator.lock
    with words:
        if numpy_random.get_bit_generator() is _bit_generator and words.uses_stock:
            _bit_generator.before = _bit_generator.before or _random_state.get_state(legacy=False)
            words.uses_stock = False
            _forget()


class _GlobalGenerator:
    """The bit generator of the global `RandomState`, as an attribute that `install` can replace.

    It is not replaced if the program has set one of another class.
    """

    @property
    def bit_generator(self):
        return numpy_random.get_bit_generator()

    @bit_generator.setter
    def bit_generator(self, other):
        words = _bit_generator.lock
        if other is not _bit_generator:
            state = _bit_generator.before or _random_state.get_state(legacy=False)
            numpy_random.set_bit_generator(other)
            _random_state.set_state(state)
        elif isinstance(self.bit_generator, numpy_random.MT19937):
            before = _random_state.get_state(legacy=False)
            with words:
                _bit_generator.before, words.uses_stock = before, False
            numpy_random.set_bit_generator(other)


REPLACEMENTS = {
    (_GlobalGenerator(), "bit_generator"): _bit_generator,
    # Every `default_rng` looks for the class there, also one that was imported before.
    (numpy_random._generator, "PCG64"): _class_until_seeded(numpy_random.PCG64),
}
