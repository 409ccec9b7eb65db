"""`squall.Random`, with every method of `random.Random`, and `squall.install`: the standard library draws from it."""

import copyreg as _copyreg
import operator as _operator
import os as _os
import random as _random
import secrets as _secrets
import sys as _sys
import threading as _threading
from importlib import import_module as _import_module

from squall_startup import call_after_import as _call_after_import

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

# Guards the next two. A signal handler may install too, so a thread may take it twice.
_lock = _threading.RLock()
_os.register_at_fork(after_in_child=lambda: _free_abandoned(_lock))
_installations = set()
_originals = {}


def _wanted_replacements():
    """Return what installations want: for each place, an object and the name of its attribute, the new value."""
    keywords = {keyword for each in _installations for keyword in each._keywords}
    parts = [_REPLACEMENTS] if _installations else []
    if "random" in keywords:
        from . import _random_defaults

        parts.append(_random_defaults.REPLACEMENTS)
    if "numpy" in keywords and hasattr(_sys.modules.get("numpy.random"), "set_bit_generator"):
        from . import _numpy_defaults

        parts.append(_numpy_defaults.REPLACEMENTS)
    return parts


def _replace():
    """Replace what installations want, and put back what none of them wants any more.

    An attribute that something else has replaced since stays. A module that is being imported is left out.
    """
    parts = _wanted_replacements()
    for part in parts:
        for place, ours in part.items():
            if (found := getattr(*place, ours)) is not ours:
                _originals[place] = found, ours
                setattr(*place, ours)
    for place, (original, ours) in list(_originals.items()):
        if not any(place in part for part in parts):
            if getattr(*place) is ours:
                setattr(*place, original)
            del _originals[place]


def _replace_after_import():
    with _lock:
        _replace()


class Installation:
    """What `install` has replaced. ``uninstall``, or the end of a ``with`` block, puts the original back."""

    def __init__(self, *keywords):
        self._keywords = keywords
        if "numpy" in keywords:
            if "numpy.random" in _sys.modules:
                # Wait for another thread that is importing it, and takes the lock when the import ends.
                _import_module("numpy.random")
            _call_after_import(_replace_after_import, "numpy.random", "secrets")
        with _lock:
            try:
                _installations.add(self)
                _replace()
            except BaseException:
                self.uninstall()
                raise

    def uninstall(self):
        """Put the original back, unless another installation is left, or something else has replaced it since.

        Installations may end in any order. To end one twice is no error.
        """
        with _lock:
            _installations.discard(self)
            _replace()
            if not _installations:
                _call_after_import(None, "numpy.random", "secrets")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.uninstall()


def install(*, random=False, numpy=False):
    """Have os.urandom, secrets, uuid.uuid4 and random.SystemRandom draw from squall, and more by keyword.

    Parameters
    ----------
    random : bool
        The functions of `random` too. After ``random.seed(5)`` or ``setstate`` they give CPython's numbers, and after
        ``seed()`` squall's again.
    numpy : bool
        The functions of ``numpy.random`` too, in the same way, and ``numpy.random.default_rng()`` without a seed.
        NumPy may be imported before or later.

    Returns
    -------
    Installation
        A context manager whose ``uninstall`` puts the original back. `install` may be called several times, also with
        other keywords: then the last ``uninstall`` does so.

    Notes
    -----
    This holds for the whole process and all its threads. Forked child processes inherit it; those that
    `multiprocessing` starts by ``spawn`` or ``forkserver`` do not, and have to call it again. ``python -m squall
    enable`` does it in every Python of this environment, ``squall run --python`` in one program and what it starts.

    A program that reads the state (``getstate``, ``get_state``, a copy of a generator of NumPy) may want to draw the
    same numbers again. So from then on the stock generator is used, with a random seed, and clones repeat its numbers.

    Not reached: names that were imported before, as in ``from os import urandom``, which keep the kernel's, and ``from
    random import random, getrandbits``, which are the Mersenne Twister's own; objects that a program makes itself, such
    as ``random.Random()``, ``numpy.random.RandomState()`` and ``PCG64()``; OpenSSL (`ssl`, `cryptography`) and other
    libraries that are not Python. ``squall run python …`` replaces getrandom for those.
    """
    return Installation(*(["random"] if random else []), *(["numpy"] if numpy else []))
