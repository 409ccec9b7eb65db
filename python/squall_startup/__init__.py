"""Installs squall when Python starts, for programs that do not know of it, and tells when modules are imported.

Python imports this at its start (``python -m squall enable``, ``squall run --python``). So it is small, and squall
itself is imported only when a program first imports `random`, NumPy or squall, or calls `os.urandom`.
"""

import os
import sys

_after_import = {}


class _Finder:
    """Finds modules as the other finders do; those of `_after_import` call their function once they are executed."""

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
    """Have each module of these names call `act` once it is imported, or nothing if `act` is None."""
    for name in names:
        _after_import[name] = act
        if act is None:
            del _after_import[name]
    if _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)
    if _after_import:
        sys.meta_path.insert(0, _Finder)


def install():
    """Have everything that `squall.install` reaches draw from squall, from its first use on."""
    kernels, is_done = os.urandom, False

    def start():
        nonlocal is_done
        if is_done:
            return
        try:
            import squall

            # Otherwise it is being imported, and calls this again at the end.
            if hasattr(squall, "install") and not is_done:
                is_done = True
                os.urandom = kernels
                squall.install(random=True, numpy=True)
        except ImportError as error:
            is_done = True
            os.urandom = kernels
            import warnings

            warnings.warn(f"random numbers are not squall's: {error}", RuntimeWarning, stacklevel=2)

    def urandom(size, /):
        """Return `size` random bytes: from squall, which the first call imports."""
        start()
        return (kernels if os.urandom is urandom else os.urandom)(size)

    os.urandom = urandom
    names = ["random", "secrets", "numpy.random", "squall"]
    call_after_import(start, *names)
    if not sys.modules.keys().isdisjoint(names):
        start()
