"""`squall.install`: the standard library, `random` and NumPy draw from squall. The table of what it replaces."""

import operator
import os
import sys
from _thread import RLock

from squall_startup import OsFunctions, call_after_import, warn

from . import _squall
from ._forks import free_abandoned
from ._random import Random, _random as pythons_random


class _OsFunctionsOfSquall(OsFunctions):
    def urandom(self, size, /):
        """Return `size` random bytes, from squall."""
        return _squall.token_bytes(operator.index(size))


def _randbits(k):
    """Return an integer of `k` random bits, from squall."""
    return _rng.getrandbits(k)


_rng = Random()
_urandom = _OsFunctionsOfSquall().urandom
_REPLACEMENTS = {(os, "urandom"): _urandom, (pythons_random, "_urandom"): _urandom}
_REPLACEMENTS_OF_SECRETS = {"_sysrand": _rng, "randbits": _randbits, "choice": _rng.choice}

# Guards the next two. A signal handler may install too, so a thread may take it twice.
_lock = RLock()
os.register_at_fork(after_in_child=lambda: free_abandoned(_lock))
_installations = set()
_originals = {}


def _imported(name, last):
    """Return the module `name`, or None before its import has ended. `last` is what it defines last."""
    module = sys.modules.get(name)
    return module if hasattr(module, last) else None


def _defaults_of_numpy():
    """Return the module for NumPy's default generators, or None, after a warning, if squall cannot replace them."""
    global _can_replace_numpys
    if _can_replace_numpys:
        try:
            from . import _numpy_defaults

            return _numpy_defaults
        except Exception as error:
            _can_replace_numpys = False
            warn(f"NumPy's random numbers are not squall's: {error}")
    return None


_can_replace_numpys = True


def _defaults(keywords):
    """Return the modules for the default generators that these keywords name, if they have been imported."""
    modules = []
    if "random" in keywords:
        from . import _random_defaults

        modules.append(_random_defaults)
    if "numpy" in keywords and _imported("numpy.random", "zipf") and (module := _defaults_of_numpy()):
        modules.append(module)
    return modules


def _wanted_replacements():
    """Return what installations want: for each place, an object and the name of its attribute, the new value."""
    if not _installations:
        return []
    parts = [_REPLACEMENTS]
    if secrets := _imported("secrets", "token_urlsafe"):
        parts.append({(secrets, name): ours for name, ours in _REPLACEMENTS_OF_SECRETS.items()})
    keywords = {keyword for each in _installations for keyword in each._keywords}
    return [*parts, *(module.REPLACEMENTS for module in _defaults(keywords))]


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
        names = ["secrets", *(["numpy.random"] if "numpy" in keywords else [])]
        call_after_import(_replace_after_import, *names)
        for name in names:
            if name in sys.modules:
                # Wait for another thread that is importing it, and takes the lock when the import ends.
                __import__(name)
        with _lock:
            try:
                _installations.add(self)
                _replace()
                for module in _defaults(keywords):
                    module.end_seed()
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
                call_after_import(None, "numpy.random", "secrets")

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
        NumPy may be imported before or later. If it is older than 1.24, its numbers stay its own (RuntimeWarning).

    Returns
    -------
    Installation
        A context manager whose ``uninstall`` puts the original back. `install` may be called several times, also with
        other keywords: then the last ``uninstall`` does so. Each call with a keyword ends the effect of an earlier seed.

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
