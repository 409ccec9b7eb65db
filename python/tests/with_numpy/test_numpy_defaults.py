"""squall.install(numpy=True): NumPy's global generator and default_rng() draw from squall until a program seeds."""

import copy
import os
import pickle
import sys
import threading

import pytest

import squall
from helpers import (
    SIZED, clone_process, fork_unnoticed, held_by_another_thread, in_children, in_threads, repeated, run_python, wait_for,
)  # fmt: skip

# Methods that the global generator does not have.
NOT_GLOBAL = ["integers", "multivariate_hypergeometric"]
CALLS = [f"{name}(*{before!r}, size=3)" for name, before in SIZED.items() if name not in NOT_GLOBAL]
CALLS += "rand() randn() randn(3) rand(2) ranf() sample() randint(10**9) randint(7,size=5) bytes(5)".split()
CALLS += "random_sample() standard_normal() permutation(9) get_state()[1].tolist() get_state()[2:]".split()
DRAWN = f"[np.asarray(eval('np.random.' + call)).tolist() for call in {CALLS!r}]"
SEEDS = ["42", "0", "[1, 2, 3]", "np.arange(5)", "2**32 - 1"]


@pytest.fixture
def installed(np):
    with squall.install(numpy=True) as installation:
        yield installation


def drawn(np):
    return repr(eval(DRAWN, {"np": np}))


def test_seeded_numbers_are_the_stock_ones(np, installed):
    """By np.random.seed, and by one that was imported before."""
    code = "import numpy as np\nfor seed in [{}]: np.random.seed(seed); print({})"
    results = run_python(code.format(", ".join(SEEDS), DRAWN)).splitlines()
    for text, expected in zip(SEEDS, results, strict=True):
        np.random.seed(eval(text, {"np": np}))
        assert drawn(np) == expected
    np.random.seed()
    assert drawn(np) != drawn(np)


@pytest.mark.parametrize("legacy", [True, False])
def test_states_are_interchangeable(np, installed, legacy):
    stock = np.random.RandomState(5)
    stock.standard_normal()
    np.random.set_state(stock.get_state(legacy=legacy))
    assert (np.random.randn(5) == stock.randn(5)).all()
    # The state of an unseeded generator replays what follows. It has no normal number from before.
    np.random.seed()
    np.random.randn()
    stock.set_state(np.random.get_state(legacy=legacy))
    assert (np.random.randn(5) == stock.randn(5)).all()
    for copied in [pickle.loads(pickle.dumps(np.random.mtrand._rand)), copy.deepcopy(np.random.mtrand._rand)]:
        assert not hasattr(copied._bit_generator, "_words")
        assert (copied.randn(3) == stock.randn(3)).all()
        stock.set_state(np.random.get_state())


UNSEEDED = {
    "random": "np.random.random()",
    "one of many": "np.random.random(1000)[-1]",
    "randn": "np.random.randn()",
    "randint": "np.random.randint(2**62)",
    "gamma": "np.random.gamma(3.5)",
    "default_rng": "np.random.default_rng().random()",
    "a generator": "rng.standard_normal(600)[-1]",
    "an integer": "rng.integers(2**62)",
    "raw": "rng.bit_generator.random_raw()",
    "spawned": "rng.spawn(1)[0].random()",
    "without the lock": "rng.bit_generator.ctypes.next_double(rng.bit_generator.ctypes.state)",
}


@pytest.mark.parametrize("name", UNSEEDED)
def test_children_do_not_repeat(name, np, installed):
    names = {"np": np, "rng": np.random.default_rng()}

    def draw():
        return repr(eval(UNSEEDED[name], names)).encode()

    draw()
    assert not repeated(in_children(20, draw) + in_children(20, draw, fork_unnoticed) + [draw()])


# `default_rng` itself asks the kernel.
@pytest.mark.parametrize("name", [name for name in UNSEEDED if name != "default_rng"])
def test_control_children_repeat(name, np):
    """Without install."""
    names = {"np": np, "rng": np.random.default_rng()}

    def draw():
        return repr(eval(UNSEEDED[name], names)).encode()

    draw()
    assert repeated(in_children(20, draw, fork_unnoticed)) == 19


def test_generators_are_of_numpys_classes(np, installed):
    """Also with a seed, and after the program has read the seed or the state."""
    rng = np.random.default_rng()
    assert type(rng) is np.random.Generator and isinstance(rng.bit_generator, np.random.PCG64)
    assert np.random.default_rng(5).random() == np.random.Generator(np.random.PCG64(5)).random()
    assert type(np.random.default_rng(5).bit_generator) is np.random.PCG64
    for replay in [
        lambda rng: np.random.default_rng(rng.bit_generator.seed_seq.entropy),
        lambda rng: np.random.Generator(np.random.PCG64(rng.bit_generator._seed_seq)),
        copy.deepcopy,
        lambda rng: pickle.loads(pickle.dumps(rng)),
    ]:
        rng = np.random.default_rng()
        rng.random(5)
        other = replay(rng)
        assert type(other.bit_generator) is np.random.PCG64
        assert (rng.standard_normal(50) == other.standard_normal(50)).all()
    state = rng.bit_generator.state
    first = rng.random(3)
    rng.bit_generator.state = state
    assert (rng.random(3) == first).all() and state["bit_generator"] == "PCG64"
    twin = np.random.default_rng(np.random.SeedSequence(rng.bit_generator.seed_seq.entropy))
    assert [each.random() for each in rng.spawn(2)] == [each.random() for each in twin.spawn(2)]
    assert rng.bit_generator.jumped().state != state


def test_numbers_are_uniform(np, installed):
    rng = np.random.default_rng()
    for numbers in [np.random.random(10**5), rng.random(10**5), [np.random.random() for _ in range(10**4)]]:
        assert abs(np.mean(numbers) - 0.5) < 0.01 and abs(np.var(numbers) - 1 / 12) < 0.005
        assert 0 <= np.min(numbers) and np.max(numbers) < 1 and not repeated(numbers)
    assert abs(np.mean(np.random.standard_normal(10**5))) < 0.03


def test_uninstall_restores(np):
    np.random.seed(5)
    np.random.randn()
    before, bit_generator, pcg = np.random.get_state(), np.random.get_bit_generator(), np.random._generator.PCG64
    finders = list(sys.meta_path)
    for seeded in [False, True]:
        with squall.install(numpy=True), squall.install(), squall.install(random=True, numpy=True):
            assert np.random.get_bit_generator() is not bit_generator
            np.random.randn(3)
            if seeded:
                np.random.seed(6)
                np.random.randn()
        assert np.random.get_bit_generator() is bit_generator and np.random._generator.PCG64 is pcg
        assert sys.meta_path == finders
        after = np.random.get_state()
        if seeded:
            stock = np.random.RandomState(6)
            stock.randn()
            before = stock.get_state()
        assert repr(after) == repr(before) and (after[1] == before[1]).all()


def test_a_stream_goes_on_after_uninstall(np):
    """One that was seeded before `install`, also if the state was read meanwhile."""
    np.random.seed(5)
    np.random.randn()
    with squall.install(numpy=True):
        np.random.get_state()
        np.random.randn()
        with squall.install(numpy=True):
            pickle.dumps(np.random.mtrand._rand)
    (expected := np.random.RandomState(5)).randn()
    assert (np.random.randn(3) == expected.randn(3)).all()


@pytest.mark.parametrize("reads", [True, False])
def test_a_stream_is_not_repeated_after_seed(np, reads):
    """`seed()` makes a new one, which `uninstall` does not replace by that from before `install`."""
    np.random.seed(5)
    with squall.install(numpy=True):
        np.random.seed()
        if reads:
            (expected := np.random.RandomState()).set_state(np.random.get_state())
    drawn = np.random.rand()
    assert drawn != np.random.RandomState(5).rand() and (not reads or drawn == expected.rand())


def test_a_second_installation_ends_a_seed(np):
    """One with this keyword. The last `uninstall` goes on with the seed."""
    expected = np.random.RandomState(5)
    with squall.install(numpy=True):
        np.random.seed(5)
        np.random.randn(), expected.randn()
        with squall.install(random=True):
            assert np.random.rand() == expected.rand()
        with squall.install(numpy=True):
            drawn = [np.random.randn(), np.random.rand()]
        assert not np.random.get_bit_generator().lock.uses_stock
    numbers = [expected.randn(), expected.rand()]
    assert [np.random.randn(), np.random.rand()] == numbers and not set(drawn) & set(numbers)


def test_pickles_need_no_squall(np, installed):
    """Until a seed they have a random state, which the generator goes on with too."""
    code = "import numpy, pickle, sys; sys.modules['squall'] = None; print(pickle.loads(eval(sys.argv[1]))(3).tolist())"
    for seed in [5, None]:
        np.random.seed(seed)
        for function in [np.random.randn, np.random.default_rng().random]:
            pickled = pickle.dumps(function)
            assert b"squall" not in pickled
            assert eval(run_python(code, repr(pickled))) == function(3).tolist()


def test_a_lock_is_left_as_often_as_it_was_entered(np, installed):
    """Not once more, and not by another thread."""
    bit_generator = np.random.default_rng().bit_generator
    for lock in [bit_generator.lock, np.random.get_bit_generator().lock]:
        with pytest.raises(RuntimeError, match="has not entered"):
            lock.__exit__(None, None, None)
        with lock, lock:
            assert in_threads(lambda _: [type(error_of(lock.__exit__))], 2) == 2 * [RuntimeError]
        with pytest.raises(RuntimeError, match="has not entered"):
            lock.__exit__()
        with held_by_another_thread(lock), pytest.raises(RuntimeError, match="has not entered"):
            lock.__exit__()
    # Calls still end one by one.
    next_words(bit_generator, 30)
    assert not repeated(in_children(20, lambda: repr(next_words(bit_generator, 3)).encode(), clone_process))


def error_of(function):
    try:
        function()
    except Exception as error:
        return error


# A package numpy with the last name that numpy.random defines, and with these others.
@pytest.mark.parametrize("names, reason", [("", "NumPy 1.23.5 is too old"), ("set_bit_generator = None", "mtrand")])
@pytest.mark.parametrize("use", ["import numpy.random; install()", "install(); import numpy.random"])
@pytest.mark.parametrize("is_error", [True, False])
def test_a_numpy_that_squall_cannot_replace(names, reason, use, is_error, tmp_path):
    """One warning; the import succeeds, also where warnings are errors."""
    files = {"__init__": "", "version": "version = '1.23.5'", "random/__init__": f"zipf = None\n{names}"}
    (tmp_path / "numpy/random").mkdir(parents=True)
    for name, content in files.items():
        (tmp_path / "numpy" / f"{name}.py").write_text(content)
    code = f"""
import sys, warnings
sys.path.insert(0, sys.argv[1])
import squall
sys.stderr = sys.stdout
warnings.simplefilter({"error" if is_error else "always"!r})
def install():
    return squall.install(random=True, numpy=True), squall.install(numpy=True)
{use}
import random
print(hasattr(numpy.random, "zipf"), random.random.__self__.uses_stock)"""
    shown = run_python(code, str(tmp_path))
    assert shown.count("NumPy's random numbers are not squall's: ") == 1 and reason in shown
    assert shown.endswith("\nTrue False\n") and "Traceback" not in shown


def test_a_bit_generator_that_the_program_set_stays(np):
    bit_generator = np.random.get_bit_generator()
    np.random.set_bit_generator(own := np.random.PCG64(5))
    try:
        with squall.install(numpy=True):
            assert np.random.get_bit_generator() is own
        assert np.random.get_bit_generator() is own
    finally:
        np.random.set_bit_generator(bit_generator)


@pytest.mark.parametrize("before", ["", "import numpy", "import numpy.random"])
def test_numpy_is_imported_before_or_after(before):
    code = f"""
{before}
import sys, squall
with squall.install(numpy=True):
    assert ("numpy" in sys.modules) == {bool(before)}
    from numpy.random import default_rng, get_bit_generator, rand
    assert len({{rand(), rand()}}) == 2
    print(type(get_bit_generator()).__init__.__module__, type(default_rng().bit_generator).__init__.__module__)
print(hasattr(get_bit_generator(), "_words"), hasattr(default_rng().bit_generator, "_words"))
"""
    assert run_python(code) == "squall._numpy_defaults squall._numpy_defaults\nFalse False\n"


def test_threads_do_not_repeat(np, installed):
    rng = np.random.default_rng()

    def draw(_):
        return [*np.random.random(5000), *rng.random(5000), np.random.randn(), rng.random()]

    assert not repeated(in_threads(draw))


def next_words(bit_generator, count):
    """Draw as Numba does, without a call of NumPy."""
    interface = bit_generator.ctypes
    return [interface.next_uint64(interface.state) for _ in range(count)]


IN_THE_MIDDLE = {
    "a generator": ("rng.bit_generator", "rng.random(30)", "rng.random(3)"),
    "random": ("np.random.get_bit_generator()", "np.random.rand(30)", "np.random.rand(3)"),
    "randn": ("np.random.get_bit_generator()", "np.random.randn()", "np.random.randn()"),
    "words": ("rng.bit_generator", "next_words(rng.bit_generator, 30)", "next_words(rng.bit_generator, 3)"),
}


@pytest.mark.parametrize("how", [os.fork, fork_unnoticed])
@pytest.mark.parametrize("name", IN_THE_MIDDLE)
def test_a_fork_while_the_lock_is_held(name, how, np, installed):
    """Parent and child draw other numbers, whichever draws first."""
    names = {"np": np, "rng": np.random.default_rng(), "next_words": next_words}
    bit_generator, before, numbers = (eval(f"lambda: {code}", names) for code in IN_THE_MIDDLE[name])

    def draw():
        return repr(numbers()).encode()

    def draw_in_children():
        return b"\n".join(in_children(20, draw, how))

    with bit_generator().lock:
        before()
        results = [*in_children(20, draw, how), draw()]
        # A child's children, in the middle of a call of the child.
        results += in_children(1, draw_in_children, how)[0].split(b"\n")
    results += in_children(20, draw, how)
    assert len(results) == 61 and not repeated(results)


@pytest.mark.parametrize("name", [name for name in IN_THE_MIDDLE if name != "words"])
def test_a_held_lock_keeps_nothing_between_calls(name, np, installed):
    names = {"np": np, "rng": np.random.default_rng()}
    bit_generator, before, draw = (eval(f"lambda: {code}", names) for code in IN_THE_MIDDLE[name])
    with bit_generator().lock:
        before()
        assert not repeated(in_children(20, lambda: repr(draw()).encode(), clone_process))


def test_control_a_clone_in_the_middle_of_a_call(np, installed):
    """The words of a long call are there until it ends; then they are erased."""
    bit_generator = np.random.default_rng().bit_generator
    with bit_generator.lock:
        next_words(bit_generator, 30)
        assert repeated(in_children(20, lambda: repr(next_words(bit_generator, 3)).encode(), clone_process)) == 19
    assert not repeated(in_children(20, lambda: repr(next_words(bit_generator, 3)).encode(), clone_process))


@pytest.mark.parametrize("how", [os.fork, fork_unnoticed])
@pytest.mark.parametrize("shuffle", ["np.random.shuffle", "np.random.default_rng().shuffle"])
def test_a_fork_in_the_middle_of_a_shuffle(shuffle, how, np, installed):
    class Forking(list):
        steps, pipe = 0, None

        def __setitem__(self, at, item):
            super().__setitem__(at, item)
            self.steps += 1
            if self.steps == 60:
                self.pipe = os.pipe()
                self.child = how()

    eval(shuffle, {"np": np})(items := Forking(range(60)))
    if items.child == 0:
        os.write(items.pipe[1], bytes(items))
        os._exit(0)
    os.close(items.pipe[1])
    with open(items.pipe[0], "rb") as pipe:
        theirs = pipe.read()
    wait_for(items.child)
    assert sorted(theirs) == sorted(items) == list(range(60)) and theirs != bytes(items)


def test_a_fork_while_another_thread_draws(np, installed):
    """Children draw without the lock, which the other thread has, and the thread goes on with its call."""
    bit_generator, drawn = np.random.default_rng().bit_generator, []
    begun, stop = threading.Event(), threading.Event()

    def draw():
        with bit_generator.lock:
            drawn.extend(next_words(bit_generator, 30))
            begun.set()
            stop.wait()
            drawn.extend(next_words(bit_generator, 30))

    thread = threading.Thread(target=draw)
    thread.start()
    begun.wait()
    results = in_children(20, lambda: repr(next_words(bit_generator, 3)).encode())
    stop.set()
    thread.join()
    assert not repeated([*drawn, *(word for result in results for word in eval(result))])


def test_control_a_random_state_of_the_programs_own(np, installed):
    """It keeps every second number of the normal distribution, and nobody clears that one."""
    for bit_generator in [np.random.default_rng().bit_generator, np.random.get_bit_generator()]:
        own = np.random.RandomState(bit_generator)
        own.randn()
        results = in_children(20, lambda: repr([own.randn(), own.randn()]).encode())
        assert repeated(eval(result)[0] for result in results) == 19
        assert not repeated(eval(result)[1] for result in results)
