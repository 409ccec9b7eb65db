"""The package: what its import brings, what it says of itself, and what `python -m squall` prints."""

import shlex
import shutil
import subprocess
import sys
import threading

import pytest

import squall
from helpers import need, run_python


@pytest.mark.parametrize(
    "use",
    [
        "squall.random.default_rng(5).random()",
        "squall.dask.random(5, seed=5)",
        "dir(squall.random).index('AES256')",
        "squall.random.__doc__.index('NumPy')",
        "__import__('pickle').loads(__import__('pickle').dumps(squall.random.SeedSequence(5)))",
        "from squall import random; import squall.random as module; assert squall.random is module is not random;"
        " assert random.Squall is module.Squall",
    ],
)
def test_the_first_use_of_a_submodule_imports_it(use):
    for needed in ["numpy", "dask.array"]:
        need(needed)
    before = "import sys, squall; squall.uuid4(); assert 'numpy' not in sys.modules"
    assert run_python(f"{before}; {use}; assert 'numpy' in sys.modules") == ""


@pytest.mark.parametrize("missing", ["numpy", "dask"])
@pytest.mark.parametrize(
    "use", ["squall.random.default_rng()", "squall.dask.random(5)", "import squall.random", "import squall.dask"]
)
def test_a_missing_package_is_named(use, missing):
    need("numpy")
    code = f"""
import sys, squall
sys.modules["{missing}"] = None
try:
    {use}
except ModuleNotFoundError as error:
    print(error.name, error, sep=": ")
"""
    message = {
        "numpy": "numpy: NumPy is not installed: run pip install numpy\n",
        "dask": "dask: Dask is not installed: run pip install 'dask[array]'\n" if "dask" in use else "",
    }
    assert run_python(code) == message[missing]


def test_the_functions_are_as_fast_as_before():
    """A module with a function `__getattr__` has slower attributes in CPython before 3.15."""
    assert run_python("import squall; print('__getattr__' in vars(squall))") == "False\n"


def test_status():
    status = squall.status()
    assert status["engine"] in status["engines_available"]
    # The kernel's generation is None where it does not show it.
    assert {type(value) for value in status.values()} - {type(None)} == {str, list, int, bool}
    # The generator of each thread is seeded when it draws first.
    for _ in range(3):
        thread = threading.Thread(target=squall.token_bytes)
        thread.start()
        thread.join()
    assert squall.status()["reseeds"] >= status["reseeds"] + 3


def run_command(*arguments):
    return run_python("import runpy, sys; runpy.run_module('squall', run_name='__main__')", *arguments)


def test_the_command():
    for option in ["-h", "--help"]:
        assert run_command(option).startswith("usage: python -m squall ")
    assert run_command("--version") == f"squall {squall.status()['version']}\n"
    lines = run_command().splitlines()
    assert len(lines) == len(squall.status())
    assert lines[0].split() == ["version", squall.status()["version"]]


@pytest.mark.parametrize(
    ("arguments", "end", "code", "message"),
    [
        ("enabel", "", 2, "no command 'enabel': use one of enable, disable, status, bench, or --help"),
        ("--dask", "", 2, "no command '--dask': use one of enable, disable, status, bench, or --help"),
        ("status now", "", 2, "status takes no arguments"),
        ("", ">&-", 1, "standard output is closed: redirect it to a file or a pipe"),
        ("", "> /dev/full", 1, "standard output: No space left on device"),
        ("status", "> /dev/full", 1, "standard output: No space left on device"),
    ],
)
def test_what_the_command_refuses(arguments, end, code, message):
    command = f"exec {shlex.quote(sys.executable)} -P -m squall {arguments} {end}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"squall: {message}\n")


def test_a_source_folder_says_what_it_is(tmp_path):
    shutil.copytree(squall.__path__[0], tmp_path / "squall", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    done = subprocess.run([sys.executable, "-c", "import squall"], cwd=tmp_path, capture_output=True, text=True)
    message = f"ImportError: squall in {tmp_path}/squall has no extension module for this Python: "
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(message)
