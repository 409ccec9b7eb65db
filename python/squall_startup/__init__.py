"""Installs squall in programs that do not know of it.

Python imports this package when it starts (``python -m squall enable``, ``squall run --python``). So it is small. It
imports squall itself only when a program first imports `random`, NumPy or squall, or calls `os.urandom`.
"""

import os
import sys

from . import after_import
from .after_import import OsFunctions, call_after_import, warn

_MODULES = ["random", "secrets", "numpy.random", "squall"]


class _FirstUse(OsFunctions):
    """Calls `squall.install` with all its keywords when a program first uses what it replaces."""

    def __init__(self):
        self._is_done, self._kernels, self._own = False, os.urandom, self.urandom
        os.urandom = self._own
        call_after_import(self._install, *_MODULES)
        if not sys.modules.keys().isdisjoint(_MODULES):
            self._install()

    def urandom(self, size, /):
        """Return `size` random bytes: from squall, which the first call imports."""
        self._install()
        return (self._kernels if os.urandom is self._own else os.urandom)(size)

    def _install(self):
        if self._is_done:
            return
        try:
            squall = _import_squall()
            # Without it, squall is being imported, and this function is called again when that ends.
            if hasattr(squall, "install") and not self._is_done:
                self._end()
                squall.install(random=True, numpy=True)
        except ImportError as error:
            self._end()
            warn(f"random numbers are not squall's: {error}")

    def _end(self):
        self._is_done = True
        call_after_import(None, *_MODULES)
        for module, name in [(os, "urandom"), (sys.modules.get("random"), "_urandom")]:
            if getattr(module, name, None) is self._own:
                setattr(module, name, self._kernels)


def _import_squall():
    before, after_import.is_starting = after_import.is_starting, True
    try:
        return _import_from_packages()
    finally:
        after_import.is_starting = before


def _import_from_packages():
    try:
        import squall
    except ModuleNotFoundError as error:
        if error.name != "squall":
            raise
        # The program has taken the packages off its path, as pip does for builds.
        packages = os.path.dirname(os.path.dirname(__file__))
        sys.path.append(packages)
        try:
            import squall
        finally:
            sys.path.remove(packages)
    return squall


_first_use = None


def install():
    """Call `squall.install` with all its keywords when a program first uses what it replaces.

    A second call does nothing: Python runs the lines of a .pth file twice in a virtual environment.
    """
    global _first_use
    if _first_use is None:
        _first_use = _FirstUse()
