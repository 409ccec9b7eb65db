"""Notifications of clones. Where a clone is needed, squall has lost its descriptor of the kernel's log: it may have missed
a message, and counts that as a clone."""

import os
from types import SimpleNamespace

import pytest

import squall
from helpers import run_python

# `in_child` runs the rest in a child process, `reseed` makes the kernel reseed and writes to its log, `clone` also has
# squall lose its descriptor of that log: in a child with a watch, the last that it opened, which `log` returns. The
# alarm ends a test that hangs.
FUNCTIONS = """
import fcntl, os, signal, threading, squall

squall.clone_generation()

def in_child():
    if child := os.fork():
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    signal.alarm(600)

def reseed():
    with open("/dev/urandom") as kernel:
        fcntl.ioctl(kernel, 0x5207)
    squall.clone_generation()
    with open("/dev/kmsg", "w") as kernel:
        kernel.write("squall is tested\\n")

def log():
    names = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return max(int(os.path.basename(name)) for name in names if os.path.realpath(name) == "/dev/kmsg")

def clone(descriptor=None):
    os.close(descriptor or log())
    reseed()
"""

needs_log = pytest.mark.skipif(
    squall.clone_signal() != "kernel-log" or os.geteuid() != 0,
    reason="needs root, and a VM with vmgenid as its only signal, whose kernel's log can be read",
)


def test_the_generation_is_known_if_there_is_a_signal():
    assert (squall.clone_generation() is None) == (squall.clone_signal() is None)
    if squall.clone_signal() is None:
        with pytest.raises(OSError, match="this process cannot notice clones"):
            squall.CloneWatch()


@needs_log
@pytest.mark.parametrize("is_clone", [True, False])
def test_a_watch_wakes_up(is_clone):
    code = f"""
in_child()
watch = squall.CloneWatch()
before = squall.clone_generation()
assert not watch.wait(0)
{"clone" if is_clone else "reseed"}()
assert watch.wait(60 if {is_clone} else 0.2) == {is_clone}
assert (squall.clone_generation() != before) == {is_clone}
"""
    assert run_python(FUNCTIONS + code) == ""


@pytest.mark.parametrize("timeout", [2**31, 1e10, float("inf"), None])
def test_a_wait_may_be_long(timeout):
    """The descriptor becomes readable twice, and the second time there was a clone."""
    answers = [False, False, True]
    with open("/dev/zero") as readable:
        watch = SimpleNamespace(fileno=readable.fileno, take_change=lambda: answers.pop(0))
        assert squall.CloneWatch.wait(watch, timeout)
    assert not answers


@needs_log
def test_async_iteration_yields_generations():
    code = """
import asyncio

async def main():
    watch, before = squall.CloneWatch(), squall.clone_generation()
    asyncio.get_running_loop().call_soon(clone, log())
    async for generation in watch:
        assert generation == squall.clone_generation() != before
        return

in_child()
asyncio.run(main())
"""
    assert run_python(FUNCTIONS + code) == ""


@needs_log
def test_children_call_functions_also_after_an_exception():
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
clone()
with open(read) as pipe:
    assert pipe.readline() == "ZeroDivisionError noticed\\n"
"""
    assert run_python(FUNCTIONS + code, PYTHONWARNINGS="ignore") == ""


# `clone` stands for a clone of the machine. The alarm ends a test that hangs.
STAND_IN = """
import os, queue, signal, sys, threading, squall
from squall import _clones

signal.alarm(600)
events, called = queue.SimpleQueue(), queue.SimpleQueue()

class Watch:
    def wait(self):
        event = events.get()
        if event is not None:
            raise event
        return True

def clone():
    events.put(None)

_clones.CloneWatch = Watch
"""


def test_tasks_over_one_watch_are_told_alike():
    """Also after one of them was cancelled."""
    code = """
import asyncio

made, clone = [], threading.Event()

class Readable(Watch):
    def __init__(self):
        self.pipe, self.seen = os.pipe(), False
        made.append(self)

    def fileno(self):
        return self.pipe[0]

    def take_change(self):
        changed, self.seen = clone.is_set() and not self.seen, clone.is_set()
        return changed

async def told(watch):
    async for _ in squall.CloneWatch.__aiter__(watch):
        return True

async def main():
    watch = Readable()
    tasks = [asyncio.create_task(told(watch)) for _ in range(3)]
    while len(made) < 4:
        await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.wait(tasks[:1])
    clone.set()
    for each in made:
        os.write(each.pipe[1], b"x")
    assert await asyncio.gather(*tasks[1:]) == [True, True]

_clones.CloneWatch = Readable
asyncio.run(main())
"""
    assert run_python(STAND_IN + code) == ""


@pytest.mark.parametrize("function", [5, None, "name"])
def test_what_cannot_be_called_is_refused(function):
    code = f"""
try:
    squall.on_clone({function!r})
except TypeError as error:
    print(error)
assert _clones._thread is None and not _clones._functions
"""
    assert run_python(STAND_IN + code) == f"on_clone takes a function, not {function!r}\n"


def test_functions_are_called_after_any_exception():
    """Also one that is no Exception, and one of the hook that reports it."""
    code = """
def hook(arguments):
    called.put((arguments.exc_type.__name__, str(arguments.exc_value.__cause__)))
    if arguments.exc_type is KeyboardInterrupt:
        raise GeneratorExit

def last_hook(kind, *_):
    called.put(kind.__name__)
    raise OSError

def interrupt():
    raise KeyboardInterrupt

threading.excepthook, sys.excepthook = hook, last_hook
squall.on_clone(lambda: sys.exit("start me anew"))
squall.on_clone(interrupt)
squall.on_clone(lambda: called.put("last"))
for _ in range(2):
    clone()
    assert called.get() == ("RuntimeError", "start me anew")
    assert called.get() == ("KeyboardInterrupt", "None")
    assert [called.get(), called.get()] == ["GeneratorExit", "last"]
"""
    assert run_python(STAND_IN + code) == ""


def test_a_thread_that_has_ended_is_started_again():
    code = """
threading.excepthook = lambda arguments: called.put(arguments.exc_type.__name__)
squall.on_clone(lambda: called.put("first"))
thread = _clones._thread
events.put(OSError())
assert called.get() == "OSError"
thread.join()
assert _clones._thread is None
squall.on_clone(lambda: called.put("second"))
clone()
assert [called.get(), called.get()] == ["first", "second"]
"""
    assert run_python(STAND_IN + code) == ""


def test_a_child_whose_thread_cannot_begin():
    """The error is told, and `on_clone` does not take the parent's thread for the child's."""
    code = """
squall.on_clone(lambda: called.put("first"))

class Failing(Watch):
    def __init__(self):
        raise OSError("no signal")

def second():
    called.put("second")

_clones.CloneWatch = Failing
sys.unraisablehook = lambda arguments: print(arguments.exc_value, flush=True)
if child := os.fork():
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert _clones._thread is None
try:
    squall.on_clone(second)
except OSError as error:
    print("again:", error)
_clones.CloneWatch = Watch
squall.on_clone(second)
clone()
assert [called.get(), called.get()] == ["first", "second"]
"""
    assert run_python(STAND_IN + code, PYTHONWARNINGS="ignore") == "no signal\nagain: no signal\n"
