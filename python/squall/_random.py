"""`squall.Random`, with every method of `random.Random`, and `squall.install`: the standard library draws from it."""

import copyreg as _copyreg
import operator as _operator
import os as _os
import random as _random
import secrets as _secrets
import threading as _threading

from . import _squall
from ._forks import free_abandoned as _free_abandoned


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
        return _copyreg.__newobj__, (type(self),), self.__getstate__()

    def __getstate__(self):
        return vars(self).copy()

    def __setstate__(self, state):
        vars(self).update(state)


def _urandom(size, /):
    """Return `size` random bytes, from squall."""
    return _squall.token_bytes(_operator.index(size))


def _randbits(k):
    """Return an integer of `k` random bits, from squall."""
    return _rng.getrandbits(k)


_rng = Random()
_REPLACEMENTS = {
    (_os, "urandom"): _urandom,
    (_random, "_urandom"): _urandom,
    (_secrets, "_sysrand"): _rng,
    (_secrets, "randbits"): _randbits,
    (_secrets, "choice"): _rng.choice,
}

# Guards the following. A handler of a signal may install too, so a thread may take it twice.
_lock = _threading.RLock()
_os.register_at_fork(after_in_child=lambda: _free_abandoned(_lock))
_installations = set()
_originals = {}


def _replace():
    """Put squall's functions where others are."""
    for (module, name), ours in _REPLACEMENTS.items():
        if (found := getattr(module, name)) is not ours:
            _originals[module, name] = found
            setattr(module, name, ours)


def _restore():
    """Put back what was there, unless something else has replaced it since."""
    for (module, name), original in list(_originals.items()):
        if getattr(module, name) is _REPLACEMENTS[module, name]:
            setattr(module, name, original)
        del _originals[module, name]


class Installation:
    """What `install` has replaced; ``uninstall``, or the end of a ``with`` block, puts it back."""

    def __init__(self):
        with _lock:
            try:
                _installations.add(self)
                _replace()
            except BaseException:
                self.uninstall()
                raise

    def uninstall(self):
        """Put back what was there, unless another installation is left, or something else has replaced it since.

        Installations may end in any order, and twice.
        """
        with _lock:
            _installations.discard(self)
            if not _installations:
                _restore()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.uninstall()


def install():
    """Have os.urandom, secrets, uuid.uuid4 and random.SystemRandom draw from squall.

    Returns
    -------
    Installation
        A context manager whose ``uninstall`` puts the standard library's own functions back. May be called again:
        the last ``uninstall`` puts them back.

    Notes
    -----
    This holds for the whole process and all its threads. Forked child processes inherit it; those that
    `multiprocessing` starts by ``spawn`` or ``forkserver`` do not, and have to call it again.

    Not reached: names that were imported before, as in ``from os import urandom``, which keep the kernel's;
    ``random.random()`` and the other functions of `random`, and ``numpy.random``, which never draw from the kernel
    but once; OpenSSL (`ssl`, `cryptography`) and other libraries that are not Python. ``squall run python …``
    replaces getrandom for those.
    """
    return Installation()
