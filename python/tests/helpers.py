"""Helpers: needs of tests, and generators in other processes."""

import contextlib
import importlib
import os
import subprocess
import sys
import threading

import pytest


def need(name):
    """Import the module `name`, which can be installed; skip the test without it, or fail if CI is set."""
    try:
        return importlib.import_module(name)
    except ImportError:
        message = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message, allow_module_level=True)


def run_python(code, *arguments):
    """Run `code` in a new interpreter and return what it printed; it must end well and complain of nothing."""
    # -P: the folder of the tests must not hide what is installed.
    command = [sys.executable, "-P", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_children(count, draw):
    """Fork `count` children and return what `draw` returned in each, as bytes."""
    pipes = []
    for _ in range(count):
        here, there = os.pipe()
        if os.fork() == 0:
            end_child(lambda: os.write(there, draw()))
        os.close(there)
        pipes.append(here)
    results = []
    for here in pipes:
        with open(here, "rb") as pipe:
            results.append(pipe.read())
    for _ in range(count):
        _, status = os.wait()
        assert status == 0
    return results


def end_child(act):
    """End this child of fork, without a way back into the tests, after `act`."""
    status = 1
    try:
        act()
        status = 0
    finally:
        os._exit(status)


@contextlib.contextmanager
def held_by_another_thread(lock):
    """Another thread has `lock` meanwhile."""
    held, stop = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            stop.wait()

    with _thread(hold, held, stop):
        yield


@contextlib.contextmanager
def another_thread_that(act):
    """Another thread calls `act` again and again meanwhile; it has done so once before the beginning."""
    begun, stop = threading.Event(), threading.Event()

    def act_on():
        while not stop.is_set():
            act()
            begun.set()

    with _thread(act_on, begun, stop):
        yield


@contextlib.contextmanager
def _thread(target, begun, stop):
    thread = threading.Thread(target=target)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run_in_threads(count, act):
    """Call `act` in `count` threads that begin together and take turns as often as possible."""
    together = threading.Barrier(count)

    def begin():
        together.wait()
        act()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=begin) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)


def repeated(values):
    """Return how many of `values` were there before."""
    values = list(values)
    return len(values) - len(set(values))
