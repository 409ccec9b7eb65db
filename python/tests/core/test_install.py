"""squall.install: the standard library draws from squall, and from the kernel again."""

import copy
import inspect
import itertools
import os
import pickle
import random
import secrets
import signal
import uuid

import pytest

import squall
from helpers import held_by_another_thread, in_children, in_threads, run_python
from squall import _install

NAMES = [(os, "urandom"), (random, "_urandom"), (secrets, "_sysrand"), (secrets, "randbits"), (secrets, "choice")]


def installed():
    return [getattr(module, name) for module, name in NAMES]


def same(some, others):
    return all(one is other for one, other in zip(some, others))


@pytest.fixture(autouse=True)
def as_before():
    """A test that leaves something installed has failed."""
    before = installed()
    yield
    after = installed()
    for (module, name), value in zip(NAMES, before):
        setattr(module, name, value)
    assert same(before, after)


DRAWS = {
    "os.urandom": lambda: os.urandom(16),
    "uuid.uuid4": lambda: uuid.uuid4(),
    "secrets.token_bytes": lambda: secrets.token_bytes(),
    "secrets.token_hex": lambda: secrets.token_hex(5),
    "secrets.token_urlsafe": lambda: secrets.token_urlsafe(),
    "secrets.randbelow": lambda: secrets.randbelow(100),
    "secrets.randbits": lambda: secrets.randbits(70),
    "secrets.choice": lambda: secrets.choice("abc"),
    "secrets.SystemRandom": lambda: secrets.SystemRandom().random(),
    "random.SystemRandom.random": lambda: random.SystemRandom().random(),
    "random.SystemRandom.getrandbits": lambda: random.SystemRandom().getrandbits(100),
    "random.SystemRandom.randbytes": lambda: random.SystemRandom().randbytes(100),
    "random.SystemRandom.shuffle": lambda: random.SystemRandom().shuffle([1, 2, 3]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_squalls(name, monkeypatch):
    """While installed, the kernel's os.urandom is not called; without, it is."""
    calls = []
    kernels = os.urandom

    def counted(size):
        calls.append(size)
        return kernels(size)

    monkeypatch.setattr(os, "urandom", counted)
    monkeypatch.setattr(random, "_urandom", counted)
    DRAWS[name]()
    assert calls
    calls.clear()
    with squall.install():
        DRAWS[name]()
    assert not calls
    DRAWS[name]()
    assert calls


def test_bytes_are_squalls(monkeypatch):
    monkeypatch.setattr(_install._squall, "token_bytes", lambda size: b"s" * size)
    with squall.install():
        assert os.urandom(3) == b"sss"
        assert uuid.uuid4().bytes[:6] == b"ssssss"
        assert random.SystemRandom().randbytes(4) == b"ssss"
        assert random.SystemRandom().getrandbits(8) == ord("s")
        assert type(secrets._sysrand) is squall.Random
        assert len(secrets.token_bytes(7)) == 7
    assert os.urandom(16) != b"s" * 16
    assert type(secrets._sysrand) is random.SystemRandom


def test_lengths_of_os_urandom():
    with squall.install():
        for size in [0, 1, 16, 100_000, True]:
            data = os.urandom(size)
            assert type(data) is bytes and len(data) == size
        with pytest.raises(TypeError):
            os.urandom(size=5)
    for size in [-1, None, 1.5, "1", b"1", 2**62, 2**64]:
        with pytest.raises(Exception) as kernels:
            os.urandom(size)
        with squall.install(), pytest.raises(kernels.type):
            os.urandom(size)


def test_os_urandom_is_pickled_by_name():
    """Also after `uninstall`; a Python without squall unpickles it too."""
    kernels = os.urandom
    with squall.install():
        pickles = [pickle.dumps(ours := os.urandom, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        assert all(pickle.loads(each) is ours for each in pickles) and copy.deepcopy(ours) is not kernels
        assert len(copy.deepcopy([ours])[0](3)) == 3 and inspect.signature(ours) == inspect.signature(kernels)
    assert pickle.loads(pickle.dumps(ours)) is kernels
    code = "import os, pickle, sys; sys.modules['squall'] = None; print(pickle.loads(eval(sys.argv[1])) is os.urandom)"
    assert [run_python(code, repr(each)) for each in pickles] == len(pickles) * ["True\n"]


@pytest.mark.parametrize("before", ["", "import secrets"])
def test_secrets_is_imported_before_or_after(before):
    code = f"""
{before}
import sys, squall
assert ("secrets" in sys.modules) == {bool(before)}
finders = list(sys.meta_path)
with squall.install():
    import secrets
    from secrets import choice, randbits
    print(type(secrets._sysrand).__module__, choice.__self__ is secrets._sysrand, randbits.__module__)
print(type(secrets._sysrand).__module__, secrets.randbits.__self__ is secrets._sysrand, sys.meta_path == finders)
"""
    assert run_python(code) == "squall._random True squall._install\nrandom True True\n"


def test_squall_imports_little_in_programs_that_do_not_know_of_it():
    code = """
import sys, squall_startup
squall_startup.install()
import random
print("squall" in sys.modules, {"uuid", "secrets", "threading"} & set(sys.modules))
import squall
print(squall.uuid4().version)"""
    assert run_python(code) == "True set()\n4\n"


def test_a_program_may_have_a_file_random_py(tmp_path):
    """squall neither runs it nor takes it for Python's."""
    (tmp_path / "random.py").write_text("print('run')")
    code = """
import os, sys
sys.path.insert(0, sys.argv[1])
import squall
squall.install(random=True)
print(len(os.urandom(3)), len(squall.token_hex(2)), squall.Random().randrange(5, 6), flush=True)
import random
print(random.__file__ == sys.argv[1] + "/random.py")
"""
    assert run_python(code, str(tmp_path)) == "3 4 5\nrun\nTrue\n"


def test_it_ends_with_an_exception():
    with pytest.raises(KeyError):
        with squall.install():
            raise KeyError


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_installations_end_in_any_order(order):
    """Twice each."""
    kernels = installed()
    installations = [squall.install() for _ in range(3)]
    for number, which in enumerate(order):
        assert not any(one is other for one, other in zip(installed(), kernels)), number
        installations[which].uninstall()
        installations[which].uninstall()
    assert same(installed(), kernels)


def test_what_others_replaced_meanwhile_stays(monkeypatch):
    def others(size):
        return b"o" * size

    monkeypatch.setattr(os, "urandom", os.urandom)
    with squall.install():
        os.urandom = others
    assert os.urandom is others
    with squall.install():
        squalls, os.urandom = os.urandom, others
        # The second one installs what is missing.
        with squall.install():
            assert os.urandom is squalls
        assert os.urandom is squalls
    assert os.urandom is others


def test_threads_install_at_once():
    kernels = installed()

    def install(_):
        for _ in range(300):
            with squall.install(), squall.install():
                assert not any(one is other for one, other in zip(installed(), kernels))

    in_threads(install)
    assert same(installed(), kernels)


def test_an_installation_that_is_interrupted_leaves_nothing(monkeypatch):
    class Interrupting(dict):
        def items(self):
            yield from list(super().items())[:2]
            raise KeyboardInterrupt

    kernels = installed()
    monkeypatch.setattr(_install, "_REPLACEMENTS", Interrupting(_install._REPLACEMENTS))
    with pytest.raises(KeyboardInterrupt):
        squall.install()
    assert same(installed(), kernels)


def test_a_fork_while_another_thread_installs():
    """The child finds the lock free."""
    def draw():
        signal.alarm(600)
        with squall.install():
            return os.urandom(16)

    with held_by_another_thread(_install._lock):
        assert len(in_children(1, draw)[0]) == 16
