"""Programs that do not know of squall, after `python -m squall enable` and under `squall run --python`.

Each test has its own environment, in which a file tests.pth adds the packages of this one.
"""

import os
import pathlib
import subprocess
import sys
import venv

import pytest

import squall
from helpers import need, run_python
from safety.test_interpreters import CREATE

SITECUSTOMIZE = pathlib.Path(__file__).parents[3] / "cli/src/run/python"
DEFINE_CLASSES = """
import random
from random import random as early
def classes():
    return str(type(random._inst)), type(early.__self__).__name__
"""
OF_SQUALL = str(("<class 'squall._random_defaults._RandomUntilSeeded'>", "FunctionsUntilSeeded"))
OF_CPYTHON = str(("<class 'random.Random'>", "Random"))
PRINT_CLASSES = f"{DEFINE_CLASSES}\nprint(classes())"


class Environment:
    def __init__(self, folder):
        venv.create(folder, symlinks=True)
        self.python = folder / "bin/python"
        self.packages = pathlib.Path(self.run("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        self.link = self.packages / "tests.pth"
        self.link.write_text(str(pathlib.Path(squall.__file__).parents[1]))

    def run(self, code, *arguments, **environment):
        return run_python(code, *arguments, python=self.python, **environment)

    def command(self, name):
        command = [self.python, "-P", "-m", "squall", name]
        return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "environment")


@pytest.fixture(params=["enable", "run --python"])
def started(request, environment, monkeypatch):
    """An environment whose Python installs squall at its start."""
    if request.param == "enable":
        environment.command("enable").check_returncode()
    else:
        monkeypatch.setenv("PYTHONPATH", str(SITECUSTOMIZE))
    return environment


def test_enable_and_disable(environment):
    file = environment.packages / "squall.pth"
    for _ in range(2):
        assert environment.run(PRINT_CLASSES) == OF_CPYTHON + "\n"
        assert environment.command("status").stdout.startswith(f"not enabled: python -m squall enable writes {file}\n")
        for _ in range(2):
            assert str(file) in environment.command("enable").stdout
        assert environment.run(PRINT_CLASSES) == OF_SQUALL + "\n"
        shown = environment.command("status").stdout
        assert shown.startswith("enabled: ") and shown.endswith("at its start: yes\n") and str(file) in shown
        for done in [f"removed {file}", f"nothing to remove: there is no {file}"]:
            assert environment.command("disable").stdout.startswith(f"{done}\nnot enabled: ")
    # Without squall, the file squall.pth does nothing, and is no error.
    environment.command("enable")
    environment.link.unlink()
    assert environment.run(PRINT_CLASSES) == OF_CPYTHON + "\n"


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_a_file_that_cannot_be_changed_is_an_error(environment, command):
    (environment.packages / "squall.pth").mkdir()
    done = environment.command(command)
    assert done.returncode == 1 and done.stderr.startswith("squall: ") and "squall.pth cannot be" in done.stderr


def test_python_starts_without_importing_squall(started):
    assert started.run("import sys; print({'squall', 'random'} & set(sys.modules))") == "set()\n"


@pytest.mark.parametrize(
    "use",
    [
        "import secrets; assert type(secrets._sysrand) is squall().Random",
        "import os; assert len(os.urandom(3)) == 3; assert os.urandom.__module__ == 'squall._random'",
        "from os import urandom; assert urandom(9) != urandom(9); squall()",
        "import uuid; assert uuid.uuid4() != uuid.uuid4(); squall()",
        "import tempfile, random; assert random.random.__self__.uses_stock is False; squall()",
        "import squall, random; assert random.random.__self__.uses_stock is False",
        "import random; random.seed(5); assert random.random() == random.Random(5).random()",
    ],
)
def test_the_first_use_imports_squall(started, use):
    assert started.run(f"import sys\nsquall = lambda: sys.modules['squall']\n{use}") == ""


def test_numpy_draws_from_squall(started):
    need("numpy")
    use = "from numpy.random import default_rng, get_bit_generator; print(hasattr(get_bit_generator(), '_words'))"
    assert started.run(f"{use}; print(hasattr(default_rng().bit_generator, '_words'))") == "True\n" * 2


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_child_processes_draw_from_squall(started, method, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        f"{DEFINE_CLASSES}\nimport multiprocessing\nif __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n        print(pool.apply(classes))\n"
    )
    assert started.run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')") == OF_SQUALL + "\n"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-P', '-c', {PRINT_CLASSES!r}], check=True)"
    assert started.run(code) == OF_SQUALL + "\n"


def test_an_interpreter_with_a_gil_of_its_own_warns(started):
    """It draws from the kernel and the stock generators, and warns."""
    code = f"""
import warnings
with warnings.catch_warnings(record=True) as caught:
    import os, random
    os.urandom(3)
{DEFINE_CLASSES}
print(classes(), len(caught), flush=True)"""
    own = sys.version_info >= (3, 12)
    expected = f"{OF_CPYTHON} 1\n" if own else f"{OF_SQUALL} 0\n"
    one = f"\none = create({own})\ninterpreters.run_string(one, {code!r})\ninterpreters.destroy(one)\n{PRINT_CLASSES}"
    assert started.run(CREATE + one) == f"{expected}{OF_SQUALL}\n"


def test_python_ends_without_the_package(environment):
    environment.link.unlink()
    command = [environment.python, "-P", "-c", "print(1)"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(SITECUSTOMIZE)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not have the Python package squall" in done.stderr and done.stderr.count("\n") == 1
