"""Python's `random` while ``squall.install(random=True)`` holds: squall's numbers until the program seeds."""

import _random
import random

from . import _squall

_default = random._inst
# Programs import its functions: after `uninstall` they go on with the stock generator.
until_seeded = _squall.UntilSeeded(_default.random, _default.getrandbits)


class _Twister(_random.Random):
    """Stands between `random.Random` and the Mersenne Twister, where all methods of the former draw and seed.

    So also names that a program imported before, as in ``from random import randint, seed``, come here. The
    twister's own ``random`` and ``getrandbits`` do not.
    """

    __slots__ = ()
    random = until_seeded.random
    getrandbits = until_seeded.getrandbits

    def seed(self, a=None):
        # None too: the twister's own methods go on with it, and must not repeat in a forked child either.
        super().seed(a)
        until_seeded.stock = a is not None

    def setstate(self, state):
        super().setstate(state)
        until_seeded.stock = True

    def getstate(self):
        if not until_seeded.stock:
            random.Random.seed(self, _squall.getrandbits(32 * 624))
        return super().getstate()

    @property
    def gauss_next(self):
        """The number that ``gauss`` has kept of a pair: none of squall's, which a clone would return too."""
        return vars(self)["gauss_next"] if until_seeded.stock else None

    @gauss_next.setter
    def gauss_next(self, number):
        vars(self)["gauss_next"] = number


class _Default(random.Random, _Twister):
    """The class of the default generator meanwhile."""

    __slots__ = ()

    def __reduce__(self):
        """Copy it, with a method that is sent to another process: as squall's, or as a stock one if it is seeded."""
        if until_seeded.stock:
            return random.Random, (), self.getstate()
        from ._random import Random

        return Random, ()


class _Module:
    """What the module has besides its functions."""

    @property
    def generator(self):
        return type(_default)

    @generator.setter
    def generator(self, other):
        if other is _Default:
            self._kept = vars(_default).get("gauss_next")
        elif not until_seeded.stock:
            vars(_default)["gauss_next"] = self._kept
        _default.__class__ = other
        until_seeded.stock = other is not _Default


REPLACEMENTS = {
    (_Module(), "generator"): _Default,
    (random, "random"): until_seeded.random,
    (random, "getrandbits"): until_seeded.getrandbits,
}
