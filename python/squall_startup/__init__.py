"""Installs squall in programs that do not know of it, and calls functions after modules have been imported.

Python imports this package when it starts (``python -m squall enable``, ``squall run --python``). So it is small. It
imports squall itself only when a program first imports `random`, NumPy or squall, or calls `os.urandom`.
"""

import os
import sys

_after_import = {}


class _Finder:
    """Finds modules by the other finders, and gives those in `_after_import` a loader that calls their function."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in _after_import:
            for finder in sys.meta_path:
                if finder is not _Finder and (spec := finder.find_spec(name, path, target)):
                    spec.loader = spec.loader and _Loader(spec.loader)
                    return spec
        return None


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        if act := _after_import.get(module.__name__):
            act()


def call_after_import(act, *names):
    """Call `act` when a module of these names has been imported; if it is None, call nothing any more."""
    for name in names:
        _after_import[name] = act
        if act is None:
            del _after_import[name]
    if _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)
    if _after_import:
        sys.meta_path.insert(0, _Finder)


def install():
    """Call `squall.install` with all its keywords when a program first uses what it replaces."""
    kernel_urandom, is_done = os.urandom, False

    def install_now():
        nonlocal is_done
        if is_done:
            return
        try:
            import squall

            # Without it, squall is being imported, and this function is called again when that ends.
            if hasattr(squall, "install") and not is_done:
                is_done = True
                os.urandom = kernel_urandom
                squall.install(random=True, numpy=True)
        except ImportError as error:
            is_done = True
            os.urandom = kernel_urandom
            import warnings

            warnings.warn(f"random numbers are not squall's: {error}", RuntimeWarning, stacklevel=2)

    def urandom(size, /):
        """Return `size` random bytes: from squall, which the first call imports."""
        install_now()
        return (kernel_urandom if os.urandom is urandom else os.urandom)(size)

    os.urandom = urandom
    names = ["random", "secrets", "numpy.random", "squall"]
    call_after_import(install_now, *names)
    if not sys.modules.keys().isdisjoint(names):
        install_now()
