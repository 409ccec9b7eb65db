"""Helpers: needs of tests, and generators in other processes."""

import importlib
import os
import subprocess
import sys

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


def repeated(values):
    """Return how many of `values` were there before."""
    values = list(values)
    return len(values) - len(set(values))
