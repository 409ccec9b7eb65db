"""Installs squall in programs that do not know of it.

Python imports this package when it starts (``python -m squall enable``, ``squall run --python``). So it is small, and one
file. It imports squall itself only when a program first imports `random`, NumPy or squall, or calls `os.urandom`.
"""

import os
import sys
from _thread import _local

_MODULES = ["random", "secrets", "numpy.random", "squall"]

# Whether squall is being imported for a program that may not know of it.
is_starting = False

_after_import = {}
# Its attributes are the names that this thread looks for.
_wanted = _local()


class _Finder:
    """Finds modules by the finders after it, and gives those in `_after_import` a loader that calls their function."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        # A finder that a program has put around this one asks it again.
        if name not in _after_import or name in vars(_wanted):
            return None
        vars(_wanted)[name] = True
        try:
            spec = _Finder._spec_of_others(name, path, target)
        finally:
            del vars(_wanted)[name]
        if spec and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec

    @staticmethod
    def _spec_of_others(*arguments):
        finders = list(sys.meta_path)
        # It is not there if a program has put another around it, or another thread has removed it.
        after = finders.index(_Finder) + 1 if _Finder in finders else 0
        # Python itself skips old finders that lack it.
        functions = [find for finder in finders[after:] if (find := getattr(finder, "find_spec", None))]
        return next(filter(None, (find(*arguments) for find in functions)), None)


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
    wanted = [_Finder] if _after_import else []
    if sys.meta_path[:1] != wanted:
        # At once, because other threads import meanwhile.
        sys.meta_path[:] = [*wanted, *(finder for finder in sys.meta_path if finder is not _Finder)]


def warn(message):
    """Warn, but raise nothing where warnings are errors: the program may not know of squall."""
    import warnings

    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        if sys.stderr:
            print("squall:", message, file=sys.stderr)


class OsFunctions:
    """What has functions in the place of those of `os`. A pickle names them there, as one of Python's own does."""

    def __reduce__(self):
        return __import__, ("os",)

    def __deepcopy__(self, memo):
        return self


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
    global is_starting
    before, is_starting = is_starting, True
    try:
        return _import_from_packages()
    finally:
        is_starting = before


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
