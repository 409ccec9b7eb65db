"""Installs squall when Python starts: `squall run --python` puts the folder of this file into PYTHONPATH.

This file hides Python's own sitecustomize, so it imports that afterwards, if there is one. A launcher that replaces
itself by another Python must not hide this file: `execve` puts the folder to the front again, or says that it cannot.
"""

import os
import sys

FOLDER = os.path.dirname(__file__)
kernels_execve = os.execve


def execv(path, argv, /):
    """Execute an executable path with arguments, replacing the current process."""
    os.execve(path, argv, os.environ)


def execve(path, argv, env):
    """Execute an executable path with arguments, replacing the current process."""
    folders = env.get("PYTHONPATH", "").split(os.pathsep)
    if FOLDER in folders:
        others = [folder for folder in folders if folder != FOLDER]
        env = {**env, "PYTHONPATH": os.pathsep.join([FOLDER, *others])}
        if flag := ignoring_flag(list(map(os.fsdecode, argv))):
            sys.stderr.write(f"squall: {sys.argv[0]} starts Python with {flag}, which ignores squall run --python\n")
            sys.stderr.flush()
    kernels_execve(path, argv, env)


def ignoring_flag(arguments):
    """Return the option by which a Python ignores PYTHONPATH, if it has one before what it runs."""
    if arguments and os.path.basename(arguments[0]).startswith("python"):
        for argument in arguments[1:]:
            if not argument.startswith("-") or argument[:2] in ("--", "-c", "-m"):
                break
            if argument[1:2] not in "WX" and {"I", "E"} & set(argument):
                return argument
    return None


try:
    import squall_startup
except ImportError:
    error = "squall: %s does not have the Python package squall: install it there, or run without --python\n"
    sys.stderr.write(error % sys.executable)
    sys.stderr.flush()
    os._exit(2)
squall_startup.install()
os.execv, os.execve = execv, execve

sys.path.remove(FOLDER)
this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = this
