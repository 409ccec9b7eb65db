"""Python's `random` under ``squall.install(random=True)``: squall's numbers until the program seeds."""

import _random
import random

from . import _squall

_generator = random._inst
# Programs import its functions. After `uninstall` these draw from the stock generator.
until_seeded = _squall.FunctionsUntilSeeded(_generator.random, _generator.getrandbits)


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
        # Seed the twister with None too, because a program may have imported the twister's own methods.
        super().seed(a)
        until_seeded.uses_stock = a is not None

    def setstate(self, state):
        super().setstate(state)
        until_seeded.uses_stock = True

    def getstate(self):
        if not until_seeded.uses_stock:
            random.Random.seed(self, _squall.getrandbits(32 * 624))
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
        """Pickle a `squall.Random`, or a stock generator if this one is seeded: for methods sent to other processes."""
        if until_seeded.uses_stock:
            return random.Random, (), self.getstate()
        from ._random import Random

        return Random, ()


class _GeneratorClass:
    """The class of `random`'s generator, as an attribute that `install` can replace."""

    @property
    def current(self):
        return type(_generator)

    @current.setter
    def current(self, new_class):
        if new_class is _RandomUntilSeeded:
            self._gauss_next = vars(_generator).get("gauss_next")
        elif not until_seeded.uses_stock:
            vars(_generator)["gauss_next"] = self._gauss_next
        _generator.__class__ = new_class
        until_seeded.uses_stock = new_class is not _RandomUntilSeeded


REPLACEMENTS = {
    (_GeneratorClass(), "current"): _RandomUntilSeeded,
    (random, "random"): until_seeded.random,
    (random, "getrandbits"): until_seeded.getrandbits,
}
