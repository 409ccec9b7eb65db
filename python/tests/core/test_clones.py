"""Notifications of clones, of which a forked child is a stand-in: it may have missed one, so its generation changes with
the kernel's next reseed."""

import os

import pytest

import squall
from helpers import run_python

# `in_child` runs the rest in a child. There `reseed` makes the kernel reseed, and `log` wakes up what waits for its log.
PREPARED = """
import fcntl, os, sys, threading, squall
squall.clone_generation()

def in_child():
    if child := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code)

def reseed():
    with open("/dev/urandom") as kernel:
        fcntl.ioctl(kernel, 0x5207)

def log():
    with open("/dev/kmsg", "w") as kernel:
        kernel.write("squall is tested")
"""

needs_log = pytest.mark.skipif(
    squall.clone_signal() != "kernel-log" or os.geteuid() != 0,
    reason="needs root, and a VM with vmgenid as its only signal, whose kernel's log can be read",
)


def test_what_is_known_is_said_together():
    assert (squall.clone_generation() is None) == (squall.clone_signal() is None)
    if squall.clone_signal() is None:
        with pytest.raises(OSError, match="nothing shows this process"):
            squall.CloneWatch()


@needs_log
@pytest.mark.parametrize("is_clone", [True, False])
def test_a_watch_wakes_up(is_clone):
    code = f"""
in_child()
watch = squall.CloneWatch()
before = squall.clone_generation()
assert not watch.wait(0)
if {is_clone}:
    reseed()
log()
assert watch.wait(60 if {is_clone} else 0.2) == {is_clone}
assert (squall.clone_generation() != before) == {is_clone}
"""
    assert run_python(PREPARED + code) == ""


@needs_log
def test_async_iteration_yields_generations():
    code = """
import asyncio

async def main():
    watch, before = squall.CloneWatch(), squall.clone_generation()
    asyncio.get_running_loop().call_soon(lambda: (reseed(), log()))
    async for generation in watch:
        assert generation == squall.clone_generation() != before
        return

in_child()
asyncio.run(main())
"""
    assert run_python(PREPARED + code) == ""


@needs_log
def test_functions_are_called_in_children_also_after_an_exception():
    code = """
read, write = os.pipe()
threading.excepthook = lambda arguments: os.write(write, arguments.exc_type.__name__.encode() + b" ")
squall.on_clone(lambda: 1 / 0)
ended = squall.on_clone(lambda: os.write(write, b"ended "))
squall.off_clone(ended)

@squall.on_clone
def notice():
    os.write(write, b"noticed\\n")

in_child()
reseed()
log()
with open(read) as pipe:
    assert pipe.readline() == "ZeroDivisionError noticed\\n"
"""
    assert run_python(PREPARED + code) == ""
