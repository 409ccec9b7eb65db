"""`squall.install`: the standard library draws from squall."""

import operator as _operator
import os as _os
import random as _random
import secrets as _secrets
import threading as _threading

from ._forks import free_abandoned as _free_abandoned
from ._random import Random
from ._squall import token_bytes


def _urandom(size, /):
    """Return `size` random bytes, from squall."""
    return token_bytes(_operator.index(size))


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
