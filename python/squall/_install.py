"""`squall.install`: the standard library draws from squall."""

import operator as _operator
import os as _os
import random as _random
import secrets as _secrets

from ._random import Random
from ._squall import token_bytes


class Installation:
    """What `install` has replaced; ``uninstall``, or the end of a ``with`` block, puts it back."""

    def __init__(self):
        def urandom(size, /):
            """Return `size` random bytes, from squall."""
            return token_bytes(_operator.index(size))

        def randbits(k):
            """Return an integer of `k` random bits, from squall."""
            return rng.getrandbits(k)

        rng = Random()
        self._replaced = [
            (module, name, getattr(module, name), value)
            for module, name, value in [
                (_os, "urandom", urandom),
                (_random, "_urandom", urandom),
                (_secrets, "_sysrand", rng),
                (_secrets, "randbits", randbits),
                (_secrets, "choice", rng.choice),
            ]
        ]
        for module, name, _, value in self._replaced:
            setattr(module, name, value)
        _installations.append(self)

    def uninstall(self):
        """Put back what was there, unless something else has replaced it since.

        Installations may end in any order.
        """
        for module, name, before, value in self._replaced:
            if getattr(module, name) is value:
                setattr(module, name, before)
            for other in _installations:
                other._forget(value, before)
        if self in _installations:
            _installations.remove(self)
        self._replaced = []

    def _forget(self, value, before):
        """Put back `before` in place of `value`, whose installation has ended."""
        self._replaced = [
            (module, name, before if found is value else found, own)
            for module, name, found, own in self._replaced
        ]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.uninstall()


_installations = []


def install():
    """Have os.urandom, secrets, uuid.uuid4 and random.SystemRandom draw from squall.

    Returns
    -------
    Installation
        A context manager whose ``uninstall`` puts the standard library's own functions back.

    Notes
    -----
    What has imported a function by name before, as in ``from os import urandom``, keeps the kernel's. Other
    languages in the same process are not reached: ``squall run python …`` replaces getrandom for them.
    """
    return Installation()
