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
        "import os; assert len(os.urandom(3)) == 3; assert os.urandom.__module__ == 'squall._install'",
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


SECOND_START = "import squall_startup; squall_startup.install()"


def test_squall_is_installed_once(environment):
    """Python runs the lines of a .pth file twice in a virtual environment."""
    environment.command("enable").check_returncode()
    code = f"""
import os, posix
{SECOND_START}
from os import urandom
import random, squall
{SECOND_START}
installations = list(squall._install._installations)
for each in installations:
    each.uninstall()
print(len(installations), os.urandom is random._urandom is posix.urandom, len(urandom(3)), os.urandom is posix.urandom)"""
    assert environment.run(code) == "1 True 3 True\n"


def test_bench_measures_the_kernels_function(started):
    """Also where something else has replaced it."""
    code = """
import os, posix, sys
os.urandom = lambda size: b"x" * size
import squall.__main__ as main
def print_row(name, timers):
    sys.exit(0 if os.urandom is main.random._urandom is posix.urandom else 1)
main._print_row = print_row
main.bench([])"""
    assert started.run(code).count("os.urandom") == 0


def test_bench_refuses_a_kernel_that_is_squall(environment, tmp_path):
    """A mapped file stands for the library of `squall run`."""
    (tmp_path / "libsquall-preload.so").write_bytes(bytes(9))
    code = f"""
import mmap
with open({str(tmp_path / "libsquall-preload.so")!r}, "rb") as file:
    library = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
import squall.__main__ as main
main.bench([])"""
    done = subprocess.run([environment.python, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and "run bench without it" in done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_os_urandom_may_be_sent_to_processes(started, method, tmp_path):
    """Also one that was imported before everything else."""
    program = tmp_path / "program.py"
    program.write_text(
        "from os import urandom\nimport multiprocessing\nif __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        print(len(set(pool.map(urandom, [9] * 5))))\n"
    )
    assert started.run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')") == "5\n"


def test_old_finders_and_loaders_stay_as_they_are(started):
    """A finder without `find_spec`, which Python skips, and a loader without `exec_module`, which 3.15 refuses."""
    code = f"""
import sys, warnings
warnings.simplefilter("ignore", ImportWarning)
class Old:
    def find_module(self, name, path=None):
        return None
sys.meta_path.insert(0, Old())
sys.meta_path.insert(2, Old())
{PRINT_CLASSES}
del sys.meta_path[0]
class OldLoader:
    def __init__(self, loader):
        self.create_module, self.load = loader.create_module, loader.exec_module
    def load_module(self, name):
        sys.modules[name] = module = type(sys)(name)
        self.load(module)
        return module
class Finder:
    def find_spec(self, name, path=None, target=None):
        spec = sys.meta_path[-1].find_spec(name, path, target)
        if name == "secrets" and sys.version_info < (3, 15):
            spec.loader = OldLoader(spec.loader)
        return spec
sys.meta_path.insert(1, Finder())
import secrets
print(len(secrets.token_bytes(3)))"""
    assert started.run(code) == f"{OF_SQUALL}\n3\n"


def test_finders_that_a_program_has_put_around_others(started):
    code = f"""
import sys
class Around:
    def __init__(self, finder):
        self.find_spec = finder.find_spec
sys.meta_path[:] = map(Around, sys.meta_path)
{PRINT_CLASSES}"""
    assert started.run(code) == f"{OF_SQUALL}\n"


def test_a_finder_that_another_thread_has_removed(started):
    """While Python asks it."""
    code = """
import sys
from squall_startup import _Finder
sys.meta_path.remove(_Finder)
print(_Finder.find_spec("random").name)"""
    assert started.run(code) == "random\n"


def test_packages_that_are_off_the_path(started):
    """As in pip's isolated builds."""
    code = f"""
import os, sys
library = os.path.dirname(os.__file__)
sys.path[:] = [each for each in sys.path if each.startswith(library) and "packages" not in each]
before = list(sys.path)
{PRINT_CLASSES}
print(os.urandom.__module__, sys.path == before)"""
    assert started.run(code) == f"{OF_SQUALL}\nsquall._install True\n"


@pytest.mark.parametrize("use", ["import random", "import os; os.urandom(3)"])
def test_a_program_with_a_file_random_py(started, use, tmp_path):
    """Nothing runs it but the program."""
    (tmp_path / "random.py").write_text("print('run')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{use}\nimport os; print(os.urandom.__module__)"
    assert started.run(code) == "run\n" * use.startswith("import random") + "squall._install\n"


# What opentelemetry-instrument does: its own sitecustomize imports no other.
LAUNCHER = """
import os, sys
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.argv[1], os.environ.get("PYTHONPATH")]))
os.environ["PATH"] = os.pathsep.join([sys.argv[1], os.path.dirname(sys.executable)])
os.execlp("python", "python", *sys.argv[2:])
"""


def test_a_launcher_with_a_sitecustomize_of_its_own(started, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('own', flush=True)")
    code = f"{PRINT_CLASSES}; import os; print(os.environ['PYTHONPATH'].count('run/python'))"
    shown = started.run(LAUNCHER, str(tmp_path), "-P", "-c", code)
    assert shown == f"own\n{OF_SQUALL}\n{os.environ.get('PYTHONPATH', '').count('run/python')}\n"


@pytest.mark.parametrize("flags", ["-I", "-sE", "-X dev -I", "-sWignore -E", "-W ignore -E", "-Wd", "-W E", "-XI"])
def test_a_launcher_that_has_python_ignore_its_environment(environment, flags, tmp_path, monkeypatch):
    """As a pex does: squall says once that it is left out."""
    monkeypatch.setenv("PYTHONPATH", str(SITECUSTOMIZE))
    command = [environment.python, "-P", "-c", LAUNCHER, tmp_path, *flags.split(), "-P", "-c", PRINT_CLASSES]
    done = subprocess.run(command, capture_output=True, text=True)
    if flags in ["-Wd", "-W E", "-XI"]:
        assert (done.stdout, "squall" in done.stderr) == (OF_SQUALL + "\n", False)
    else:
        said = f"squall: -c starts Python with {flags.split()[-1]}, which ignores squall run --python\n"
        assert (done.stdout, done.stderr) == (OF_CPYTHON + "\n", said)


REACHED = [
    "os.execve(*command, os.environb)",
    "os.execve(*command, {b'PYTHONPATH': os.environb[b'PYTHONPATH']})",
    "os.execve(*command, {'PYTHONPATH': os.environb[b'PYTHONPATH']})",
    "os.execve(*command, {pathlib.Path('PYTHONPATH'): pathlib.Path(os.environ['PYTHONPATH'])})",
    "os.execve(os.open(command[0], os.O_RDONLY), command[1], os.environ)",
    "sys.argv.clear(); os.execv(*command)",
]
NOT_REACHED = [
    "os.execve(*command, {'PYTHONPATH': b'/nowhere'})",
    "sys.argv.clear(); command[1].insert(1, '-I'); os.execve(*command, os.environb)",
    "sys.stderr = None; command[1].insert(1, '-I'); os.execv(*command)",
]


@pytest.mark.parametrize("call", REACHED + NOT_REACHED)
def test_a_launcher_may_execute_in_every_way(environment, call, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SITECUSTOMIZE), str(tmp_path)]))
    (tmp_path / "sitecustomize.py").write_text("")
    code = f"""
import os, pathlib, sys
os.environ["PYTHONPATH"] = os.pathsep.join([{str(tmp_path)!r}, os.environ["PYTHONPATH"]])
command = [sys.executable, [sys.executable, "-P", "-c", {PRINT_CLASSES!r}]]
{call}"""
    done = subprocess.run([environment.python, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == (OF_SQUALL if call in REACHED else OF_CPYTHON) + "\n", done.stderr


def test_execve_supports_file_descriptors_as_always(started):
    assert started.run("import os; print(os.execve in os.supports_fd)") == "True\n"


def test_execv_keeps_the_environment_of_putenv(started):
    command = "sys.executable, [sys.executable, '-P', '-c', 'import os; print(os.environ[\"ADDED\"])']"
    assert started.run(f"import os, sys; os.putenv('ADDED', '1'); os.execv({command})") == "1\n"


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
