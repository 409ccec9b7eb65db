"""Python's `random` under ``squall.install(random=True)``: squall's numbers until the program seeds."""

import _random

from . import _squall
from ._random import _random as random

_generator = random._inst
# Programs import its functions. After `uninstall` these draw from the stock generator.
until_seeded = _squall.FunctionsUntilSeeded(_generator.random, _generator.getrandbits)

# The state in which the stock generator goes on after `uninstall`, or None: in the one that it has, by a seed since.
_before = None


class _TwisterUntilSeeded(_random.Random):
    """The Mersenne Twister, with squall's numbers until it is seeded.

    It is between `random.Random` and the twister in the method resolution order. So methods that a program imported
    before, as in ``from random import randint, seed``, draw from it too. The twister's own ``random`` and
    ``getrandbits`` do not.
    """

    __slots__ = ()
    random = until_seeded.random
    getrandbits = until_seeded.getrandbits

    def seed(self, a=None):
        global _before
        # Seed the twister with None too, because a program may have imported the twister's own methods.
        super().seed(a)
        _before, until_seeded.uses_stock = None, a is not None

    def setstate(self, state):
        global _before
        super().setstate(state)
        _before, until_seeded.uses_stock = None, True

    def getstate(self):
        if not until_seeded.uses_stock:
            super().seed(_squall.getrandbits(32 * 624))
            self.gauss_next, until_seeded.uses_stock = None, True
        return super().getstate()

    @property
    def gauss_next(self):
        """The number that ``gauss`` has kept of a pair.

        Until a seed it is a new number each time. So ``gauss`` makes no pair, and keeps none of squall's numbers, which
        a clone would return too.
        """
        return vars(self)["gauss_next"] if until_seeded.uses_stock else self.normalvariate()

    @gauss_next.setter
    def gauss_next(self, number):
        vars(self)["gauss_next"] = number


class _RandomUntilSeeded(random.Random, _TwisterUntilSeeded):
    """The class of `random`'s generator while squall is installed."""

    __slots__ = ()

    def __reduce__(self):
        """Pickle a stock generator: in this one's state if it is seeded, as always, and else with a seed of its own."""
        if until_seeded.uses_stock:
            return random.Random, (), self.getstate()
        return random.Random, ()


def end_seed():
    """Draw from squall, also after a seed, whose numbers go on after `uninstall`."""
    global _before
    if until_seeded.uses_stock:
        _before = _before or _generator.getstate()
        until_seeded.uses_stock = False


class _GeneratorClass:
    """The class of `random`'s generator, as an attribute that `install` can replace."""

    @property
    def current(self):
        return type(_generator)

    @current.setter
    def current(self, new_class):
        global _before
        if new_class is _RandomUntilSeeded:
            end_seed()
            _generator.__class__ = new_class
            return
        _generator.__class__ = new_class
        until_seeded.uses_stock = True
        if _before:
            _generator.setstate(_before)
            _before = None


REPLACEMENTS = {
    (_GeneratorClass(), "current"): _RandomUntilSeeded,
    (random, "random"): until_seeded.random,
    (random, "getrandbits"): until_seeded.getrandbits,
}
