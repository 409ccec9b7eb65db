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
            self._sequence = super().seed_seq
            # NumPy's own lock, which before 2.4 a thread cannot take twice, is only taken while this one is held.
            self._words = _squall.WordsUntilSeeded(self.capsule, threading.RLock(), forget)

        @property
        def lock(self):
            return self._words

        def _seed(self):
            """Seed it, unless it is seeded, and return its seed sequence."""
            with self.lock:
                if not self._words.uses_stock:
                    self._sequence = numpy_random.SeedSequence(_squall.getrandbits(128))
                    self.state = stock(self._sequence).state
                return self._sequence

        @property
        def state(self):
            self._seed()
            return super().state

        @state.setter
        def state(self, state):
            with self.lock:
                stock.state.__set__(self, state)
                self._words.uses_stock = True

        seed_seq = _seed_seq = property(_seed)

        def _legacy_seeding(self, seed):
            if seed is not _FORGET:
                with self.lock:
                    if seed is not None:
                        super()._legacy_seeding(seed)
                        self._sequence = None
                    self._words.uses_stock = seed is not None

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


class _GlobalGenerator:
    """The bit generator of the global `RandomState`, as an attribute that `install` can replace.

    It is not replaced if the program has set one of another class.
    """

    _state = numpy_random.mtrand._rand

    @property
    def bit_generator(self):
        return numpy_random.get_bit_generator()

    @bit_generator.setter
    def bit_generator(self, other):
        words, get_state = _bit_generator._words, self._state.get_state
        if other is not _bit_generator:
            state = get_state(legacy=False) if words.uses_stock else self._before
            numpy_random.set_bit_generator(other)
            self._state.set_state(state)
        elif isinstance(self.bit_generator, numpy_random.MT19937):
            self._before = get_state(legacy=False)
            with words:
                words.uses_stock = False
            numpy_random.set_bit_generator(other)


_bit_generator = _class_until_seeded(numpy_random.MT19937, functools.partial(_GlobalGenerator._state.seed, _FORGET))()
REPLACEMENTS = {
    (_GlobalGenerator(), "bit_generator"): _bit_generator,
    # Every `default_rng` looks for the class there, also one that was imported before.
    (numpy_random._generator, "PCG64"): _class_until_seeded(numpy_random.PCG64),
}
