"""`squall.Random`, with every method of `random.Random`."""

import random as _random

from . import _squall


class Random(_random.SystemRandom):
    """A ``random.Random`` that draws from squall.

    Every method works as in `random`, but the numbers cannot be repeated: ``seed`` does nothing, and ``getstate``
    and ``setstate`` raise NotImplementedError, as in ``random.SystemRandom``. A copy and an unpickled object
    are new generators. ``random`` gives multiples of 2**-53 from 0 to below 1; ``randrange``, ``choice``,
    ``shuffle`` and ``sample`` have no bias.

    Forks and clones: children of fork and clones of a virtual machine get other numbers, as from `token_bytes`.
    """

    # Functions in C are not bound to the object, which saves a call.
    random = staticmethod(_squall.random)
    getrandbits = staticmethod(_squall.getrandbits)
    # `random.Random` takes this one for `randrange`, `choice` and `sample`.
    _randbelow = staticmethod(_squall.randbelow)

    def randbytes(self, n):
        """Return `n` random bytes."""
        return _squall.token_bytes(n)

    def shuffle(self, x):
        """Shuffle the sequence `x` in place."""
        if type(x) is list:
            _squall.shuffle(x)
        else:
            super().shuffle(x)

    def gauss(self, mu=0.0, sigma=1.0):
        """Return a number of the normal distribution.

        `random.Random` keeps every second number for the next call. A child of fork would return it too, so this
        is ``normalvariate``.
        """
        return self.normalvariate(mu, sigma)

    def __reduce__(self):
        return type(self), ()
