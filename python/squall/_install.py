"""`squall.install`: the standard library draws from squall."""

import os as _os
import random as _random
import secrets as _secrets

from ._random import Random
from ._squall import token_bytes


class Installation:
    """What `install` has replaced; ``uninstall``, or the end of a ``with`` block, puts it back."""

    def __init__(self):
        rng = Random()
        self._replaced = [
            (module, name, getattr(module, name), value)
            for module, name, value in [
                (_os, "urandom", _urandom),
                (_random, "_urandom", _urandom),
                (_secrets, "_sysrand", rng),
                (_secrets, "randbits", rng.getrandbits),
                (_secrets, "choice", rng.choice),
            ]
        ]
        for module, name, _, value in self._replaced:
            setattr(module, name, value)

    def uninstall(self):
        """Put back what was there, unless something else has replaced it since."""
        for module, name, before, value in self._replaced:
            if getattr(module, name) is value:
                setattr(module, name, before)
        self._replaced = []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.uninstall()


def _urandom(size, /):
    """Return `size` random bytes, from squall."""
    return token_bytes(size)


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
