"""Notifications of clones, by the event of the kernel's vmgenid driver, which a privileged process can have it send."""

import os

import pytest

import squall
from helpers import run_python

CLONED = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0NEW_VMGENID=1\0"
SYNTHETIC = b"change@/devices/x\0ACTION=change\0SYNTH_ARG_NEW_VMGENID=1\0"

# In a network namespace of its own, so that nobody else gets the event.
PREPARED = f"""
import ctypes, os, socket, struct, squall, threading
assert ctypes.CDLL(None).unshare(0x40000000) == 0

def send(message):
    packet = struct.pack("=IHHII", 16 + len(message), 16, 1, 0, 0) + message
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15) as kernel:
        kernel.sendto(packet, (0, 0))

CLONED, SYNTHETIC = {CLONED!r}, {SYNTHETIC!r}
"""

needs_event = pytest.mark.skipif(
    squall.clone_signal() != "vmgenid-event" or os.geteuid() != 0,
    reason="needs root, and a VM with vmgenid as its only signal and Linux 6.10",
)


def test_what_is_known_is_said_together():
    assert (squall.clone_generation() is None) == (squall.clone_signal() is None)
    if squall.clone_signal() is None:
        with pytest.raises(OSError, match="nothing on this machine shows"):
            squall.CloneWatch()


@needs_event
@pytest.mark.parametrize(("message", "is_clone"), [("CLONED", True), ("SYNTHETIC", False)])
def test_a_watch_wakes_up(message, is_clone):
    code = f"""
watch = squall.CloneWatch()
before = squall.clone_generation()
assert not watch.wait(0)
send({message})
assert watch.wait(60 if {is_clone} else 0.2) == {is_clone}
assert (squall.clone_generation() != before) == {is_clone}
"""
    assert run_python(PREPARED + code) == ""


@needs_event
def test_async_iteration_yields_generations():
    code = """
import asyncio

async def main():
    seen = [squall.clone_generation()]
    async for generation in watch():
        seen.append(generation)
        if len(seen) == 3:
            assert len(set(seen)) == 3, seen
            return
        send(CLONED)

def watch():
    made = squall.CloneWatch()
    send(CLONED)
    return made

asyncio.run(main())
"""
    assert run_python(PREPARED + code) == ""


@needs_event
def test_functions_are_called_also_after_an_exception_and_in_children():
    code = """
import sys
read, write = os.pipe()
threading.excepthook = lambda arguments: os.write(write, arguments.exc_type.__name__.encode() + b" ")
squall.on_clone(lambda: 1 / 0)
ended = squall.on_clone(lambda: os.write(write, b"ended "))
squall.off_clone(ended)

@squall.on_clone
def told():
    os.write(write, b"told\\n")

def lines():
    with os.fdopen(os.dup(read)) as pipe:
        return pipe.readline()

send(CLONED)
assert lines() == "ZeroDivisionError told\\n"
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
else:
    # Functions of the parent write to the other pipe.
    read, write = os.pipe()
    send(CLONED)
    assert lines() == "ZeroDivisionError told\\n"
    os._exit(0)
"""
    assert run_python(PREPARED + code) == ""
