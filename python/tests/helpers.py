"""Helpers: needs of tests, tables, generators in other processes and threads, and what spawned processes import."""

import contextlib
import copy
import ctypes
import importlib
import os
import pickle
import random
import signal
import subprocess
import sys
import threading

import pytest

import squall

COPIES = {
    "pickle": lambda each: pickle.loads(pickle.dumps(each)),
    "old pickle": lambda each: pickle.loads(pickle.dumps(each, 2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}

# The parameters before the size, of every method of NumPy's generators that takes one.
SIZED = {
    "beta": (1.5, 2.5),
    "binomial": (100, 0.3),
    "chisquare": (3.0,),
    "choice": (1000,),
    "dirichlet": ([1.0, 2.0, 3.0],),
    "exponential": (2.0,),
    "f": (2.0, 3.0),
    "gamma": (2.0, 3.0),
    "geometric": (0.3,),
    "gumbel": (1.0, 2.0),
    "hypergeometric": (20, 30, 10),
    "integers": (5, 1000),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.0, 1.0),
    "logseries": (0.5,),
    "multinomial": (20, [0.2, 0.3, 0.5]),
    "multivariate_hypergeometric": ([10, 20, 30], 12),
    "multivariate_normal": ([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]]),
    "negative_binomial": (5, 0.3),
    "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (2.0, 3.0, 1.0),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "poisson": (4.0,),
    "power": (3.0,),
    "random": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.0,),
    "standard_normal": (),
    "standard_t": (3.0,),
    "triangular": (1.0, 2.0, 4.0),
    "uniform": (2.0, 3.0),
    "vonmises": (0.0, 4.0),
    "wald": (1.0, 2.0),
    "weibull": (1.5,),
    "zipf": (3.0,),
}

KINDS = ["uniform", "normal", "integer", "wide integer", "word"]


def array(kind, shape, chunks="auto", seed=None):
    """Return an array of `squall.dask`, of one of these kinds or a permutation."""
    match kind:
        case "uniform":
            return squall.dask.random(shape, chunks, seed=seed)
        case "normal":
            return squall.dask.normal(0, 1, shape, chunks, seed=seed)
        case "integer":
            return squall.dask.integers(-50, 1000, shape, chunks, seed=seed)
        case "wide integer":
            return squall.dask.integers(-50, 10**12, shape, chunks, seed=seed)
        case "permutation":
            return squall.dask.permutation(shape[0], chunks, seed=seed)
    return squall.dask.words(shape, chunks, seed=seed)


def need(name):
    """Import the module `name`, which can be installed; skip the test without it, or fail if CI is set."""
    try:
        return importlib.import_module(name)
    except ImportError:
        message = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message, allow_module_level=True)


def repeated(values):
    """Return how many of `values` were there before."""
    values = list(values)
    return len(values) - len(set(values))


def run_python(code, *arguments, python=sys.executable, **environment):
    """Run `code` in a new interpreter and return what it printed; it must end well and complain of nothing."""
    # -P: the folder of the tests must not hide what is installed.
    command = [python, "-P", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# Child processes.


def fork_unnoticed():
    """Fork without calling the functions that Python and its modules have registered for forks, like a clone."""
    return ctypes.PyDLL(None).fork()


def clone_process():
    """Fork by clone(2) itself. Neither Python nor functions of pthread_atfork notice it, as no process notices that its
    machine is cloned."""
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    return ctypes.PyDLL(None).syscall(*map(ctypes.c_long, [number, signal.SIGCHLD, 0, 0, 0, 0]))


def fork(act, fork=os.fork):
    """Fork a child that ends after `act`, without a way back into the tests; return its number."""
    child = fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return child


def wait_for(child):
    assert os.waitpid(child, 0)[1] == 0


def in_children(count, draw, how=os.fork):
    """Fork `count` children and return what `draw` returned in each, as bytes."""
    children = []
    for _ in range(count):
        here, there = os.pipe()
        children.append((fork(lambda: os.write(there, draw()), how), here))
        os.close(there)
    results = []
    for child, here in children:
        with open(here, "rb") as pipe:
            results.append(pipe.read())
        wait_for(child)
    return results


control = random.Random(5)


def draw_in_a_process(_):
    """Return this process, what must not repeat, and what repeats in every process that is new."""
    ours = squall.token_bytes(16) + squall.uuid4().bytes + squall.Random().randbytes(16)
    return os.getpid(), ours, control.random()


def draw_from(arguments):
    """Return numbers of the generators of NumPy that were sent to this process: squall's, and one that repeats."""
    ours, theirs = arguments
    return ours.random(2).tobytes(), theirs.random()


def draw_random(rng):
    return rng.random()


# Threads.


def in_threads(draw, count=8):
    """Return what `draw(number)` returned, a list or None, in each of `count` threads.

    They begin together, and take turns as often as possible.
    """
    together, results, errors = threading.Barrier(count), [None] * count, []

    def run(number):
        together.wait()
        try:
            results[number] = draw(number)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
    return [item for result in results for item in result or ()]


@contextlib.contextmanager
def held_by_another_thread(lock):
    """Another thread has `lock` meanwhile."""
    stop = threading.Event()

    def hold():
        with lock:
            yield
            stop.wait()

    with _thread(hold, stop):
        yield


@contextlib.contextmanager
def another_thread_that(act):
    """Another thread calls `act` again and again meanwhile; it has done so once before the beginning."""
    stop = threading.Event()

    def act_on():
        while not stop.is_set():
            act()
            yield

    with _thread(act_on, stop):
        yield


@contextlib.contextmanager
def _thread(steps, stop):
    """Another thread takes these steps; it has taken the first one before the beginning, and ends after `stop`."""
    begun = threading.Event()

    def run():
        for _ in steps():
            begun.set()

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()
