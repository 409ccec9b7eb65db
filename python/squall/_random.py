"""`squall.Random`, with every method of `random.Random`."""

import operator as _operator
import os as _os
import sys as _sys
from importlib.machinery import PathFinder as _PathFinder

from . import _squall


def _import_random():
    """Return Python's own `random`, also beside a file random.py of the program, which stays as it is."""
    own = _PathFinder.find_spec("random", [_os.path.dirname(_os.__file__)])
    found = getattr(_sys.modules.get("random"), "__spec__", None) or _PathFinder.find_spec("random")
    places = {_os.path.realpath(spec.origin) for spec in (own, found) if spec and spec.has_location}
    if not own or len(places) < 2:
        return __import__("random")
    from importlib.util import module_from_spec

    module = module_from_spec(own)
    own.loader.exec_module(module)
    return module


_random = _import_random()


class Random(_random.SystemRandom):
    """A ``random.Random`` that draws from squall: unpredictable, and not reproducible.

    Every method works as in `random`. As in ``random.SystemRandom``, a seed is ignored: ``Random(5)`` and ``seed(5)``
    do nothing with the 5, and ``getstate`` and ``setstate`` raise NotImplementedError. For reproducible numbers use
    ``squall.random.default_rng(5)``.

    A copy and an unpickled object are new generators with the same attributes. ``random`` gives multiples of 2**-53
    from 0 to below 1; ``randrange``, ``choice``, ``shuffle`` and ``sample`` have no bias. Methods raise OSError as
    `squall.token_bytes` does.

    Forks and clones: forked child processes and clones of a virtual machine get other numbers, as from `token_bytes`.
    """

    # Functions in C are not bound to the object, which saves a call.
    random = staticmethod(_squall.random)
    getrandbits = staticmethod(_squall.getrandbits)
    # `random.Random` takes this one for `randrange`, `choice` and `sample`.
    _randbelow = staticmethod(_squall.randbelow)

    def randbytes(self, n):
        """Return `n` random bytes."""
        return _squall.token_bytes(_operator.index(n))

    def shuffle(self, x):
        """Shuffle the sequence `x` in place.

        A list in C, unless a subclass has its own ``random`` or ``getrandbits``: an exception of a signal handler
        leaves it as it was, and threads that shuffle one list lose no item.
        """
        if type(x) is list and self._randbelow is _squall.randbelow:
            _squall.shuffle(x)
        else:
            super().shuffle(x)

    def gauss(self, mu=0.0, sigma=1.0):
        """Return a number of the normal distribution with mean `mu` and standard deviation `sigma`.

        `random.Random` keeps every second number for the next call. A forked child process would return it too, so
        this is ``normalvariate``.
        """
        return self.normalvariate(mu, sigma)

    def __reduce__(self):
        from copyreg import __newobj__

        return __newobj__, (type(self),), self.__getstate__()

    def __getstate__(self):
        return vars(self).copy()

    def __setstate__(self, state):
        vars(self).update(state)
