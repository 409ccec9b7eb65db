"""Calls functions after modules have been imported, without squall, which uses this too."""

import sys
from _thread import _local

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
