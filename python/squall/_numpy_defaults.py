"""NumPy's default generators while ``squall.install(numpy=True)`` holds: squall's words until the program seeds.

They are bit generators of NumPy's own classes. Whoever reads the state or the seed sequence, or copies one, wants to
draw the same again: that seeds it too, with a fresh seed.
"""

import functools
import sys
import threading

from . import _squall

# At the end of its import, the package `numpy` does not have it as an attribute yet.
numpys = sys.modules["numpy.random"]

# What `RandomState.seed` takes to do no more than forget the normally distributed number that it keeps.
_FORGET = object()


def _until_seeded(stock, forget=None):
    """Return the class `stock`, with squall's words until an object is seeded."""

    class UntilSeeded(stock):
        def __new__(cls, seed=None):
            return super().__new__(cls) if seed is None else stock(seed)

        def __init__(self, seed=None):
            super().__init__()
            self._sequence = super().seed_seq
            # NumPy's own, which is not for the same thread twice before 2.4, is only taken with this one held.
            self._words = _squall.WordsUntilSeeded(self.capsule, threading.RLock(), forget)

        @property
        def lock(self):
            return self._words

        def _seed(self):
            """Seed it, if nobody has, and return its seed sequence."""
            with self.lock:
                if not self._words.stock:
                    self._sequence = numpys.SeedSequence(_squall.getrandbits(128))
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
                self._words.stock = True

        seed_seq = _seed_seq = property(_seed)

        def _legacy_seeding(self, seed):
            if seed is not _FORGET:
                with self.lock:
                    if seed is not None:
                        super()._legacy_seeding(seed)
                        self._sequence = None
                    self._words.stock = seed is not None

        def random_raw(self, *arguments, **named):
            with self.lock:
                return super().random_raw(*arguments, **named)

        def spawn(self, n_children):
            from ._seeds import count

            with self.lock:
                if self._words.stock:
                    return [stock(seed) for seed in self._sequence.spawn(n_children)]
            return [type(self)() for _ in range(count(n_children))]

        def __reduce__(self):
            copy = stock(self._seed())
            copy.state = self.state
            return copy.__reduce__()

    for name in ["__module__", "__name__", "__qualname__"]:
        setattr(UntilSeeded, name, getattr(stock, name))
    return UntilSeeded


class _Global:
    """The global `RandomState`; one to which the program has given a bit generator of another class stays."""

    _state = numpys.mtrand._rand

    @property
    def bit_generator(self):
        return numpys.get_bit_generator()

    @bit_generator.setter
    def bit_generator(self, other):
        ours, before = _bit_generator._words, self._state.get_state
        if other is not _bit_generator:
            state = before(legacy=False) if ours.stock else self._before
            numpys.set_bit_generator(other)
            self._state.set_state(state)
        elif isinstance(self.bit_generator, numpys.MT19937):
            self._before = before(legacy=False)
            with ours:
                ours.stock = False
            numpys.set_bit_generator(other)


_bit_generator = _until_seeded(numpys.MT19937, functools.partial(_Global._state.seed, _FORGET))()
REPLACEMENTS = {
    (_Global(), "bit_generator"): _bit_generator,
    # `default_rng` finds it there, also one that was imported before.
    (numpys._generator, "PCG64"): _until_seeded(numpys.PCG64),
}
