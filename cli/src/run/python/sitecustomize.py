"""Installs squall when Python starts: `squall run --python` puts the folder of this file into PYTHONPATH.

This file hides Python's own sitecustomize, so it imports that afterwards, if there is one. A launcher that replaces
itself by another Python must not hide this file: `execve` puts the folder to the front again, or says that it cannot.
"""

import os
import sys

FOLDER = os.path.dirname(__file__)
kernels_execv, kernels_execve = os.execv, os.execve
has_warned = False


def execv(path, argv, /):
    """Execute an executable path with arguments, replacing the current process."""
    env = corrected(os.environ, argv)
    if env is not os.environ:
        os.environ["PYTHONPATH"] = env["PYTHONPATH"]
    kernels_execv(path, argv)


def execve(path, argv, env):
    """Execute an executable path with arguments, replacing the current process."""
    kernels_execve(path, argv, corrected(env, argv))


def corrected(env, argv):
    """Return the environment with FOLDER at the front of PYTHONPATH if it is there, and warn if Python ignores that."""
    result = env
    try:
        for name, value in env.items():
            folders = os.fsdecode(value).split(os.pathsep) if os.fsencode(name) == b"PYTHONPATH" else []
            if FOLDER in folders[1:]:
                others = [folder for folder in folders if folder != FOLDER]
                result = {**result, name: os.pathsep.join([FOLDER, *others])}
            if FOLDER in folders:
                warn_of_flag(list(map(os.fsdecode, argv)))
    except Exception:
        # The kernel's function says what is wrong with the arguments. Without a standard error there is no warning.
        pass
    return result


def warn_of_flag(arguments):
    global has_warned
    if not has_warned and (flag := ignoring_flag(arguments)):
        has_warned = True
        program = sys.argv[0] if sys.argv else "this program"
        sys.stderr.write(f"squall: {program} starts Python with {flag}, which ignores squall run --python\n")
        sys.stderr.flush()


def ignoring_flag(arguments):
    """Return the option by which a Python ignores PYTHONPATH, if it has one before what it runs."""
    options = iter(arguments[1:] if os.path.basename(arguments[0]).startswith("python") else [])
    for option in options:
        if option[:2] in ("-", "--") or option[:1] != "-":
            return None
        for after, letter in enumerate(option[1:], 2):
            if letter in "IE":
                return option
            if letter in "cm":
                return None
            if letter in "WX":
                # Its argument is the rest, or else the next one.
                option[after:] or next(options, None)
                break
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
if kernels_execve in os.supports_fd:
    os.supports_fd.add(execve)

sys.path.remove(FOLDER)
this = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = this
