"""The end of the interpreter, and interpreters within a process."""

import pytest

from helpers import need, repeated, run_python

FUNCTIONS = """
import squall
rng = squall.Random()
stream = squall.Stream(bytes(32))
buffer = bytearray(1 << 20)

def draw():
    squall.fill(buffer)
    rng.shuffle(list(range(10)))
    return [squall.token_bytes(), squall.fresh_bytes(), bytes(buffer[:16]), rng.random(), squall.uuid4(),
            stream.read(70_000)[:16], squall.token_bytes(70_000)[:16]]
"""

NUMPY = """
import numpy as np, squall.random
from threading import Lock
ours, theirs = squall.random.default_rng(), np.random.Generator(squall.random.Squall())
seeded = squall.random.default_rng(5)

def draw_arrays():
    return [ours.random(), ours.random(20_000)[0], theirs.random(), seeded.random(), seeded.bytes(100_000)[:16]]
"""


def drawn(code):
    """Run `code`, which prints what it drew, one a line."""
    lines = run_python(code).splitlines()
    assert not repeated(lines)
    return len(lines)


def test_atexit():
    assert drawn(FUNCTIONS + "import atexit; atexit.register(lambda: print(*draw(), sep='\\n'))") == 7


def test_atexit_of_numpy():
    need("numpy")
    assert drawn(NUMPY + "import atexit; atexit.register(lambda: print(*draw_arrays(), sep='\\n'))") == 5


DEL = """
class AtTheEnd:
    def __init__(self):
        self.draw = {draw}
    def __del__(self):
        print(*self.draw(), sep="\\n")
"""


@pytest.mark.parametrize("keep", ["kept = AtTheEnd()", "cycle = AtTheEnd(); cycle.itself = cycle"])
def test_del(keep):
    """The names of modules may be gone by then, so the functions are kept."""
    draw = "lambda token=squall.token_bytes, rng=rng, uuid4=squall.uuid4: [token(), rng.random(), uuid4()]"
    assert drawn(FUNCTIONS + DEL.format(draw=draw) + keep) == 3


def test_del_of_numpy():
    need("numpy")
    draw = "lambda ours=ours, theirs=theirs, seeded=seeded: [ours.random(), theirs.random(), seeded.random()]"
    assert drawn(NUMPY + DEL.format(draw=draw) + "kept = AtTheEnd()") == 3


def test_threads_that_outlive_the_main_thread():
    code = """
import threading
def later():
    threading.main_thread().join()
    print(*draw(), sep="\\n")
threading.Thread(target=later).start()
"""
    assert drawn(FUNCTIONS + code) == 7


def test_daemon_threads():
    """They are in the middle of draws, long ones without the GIL among them, when the interpreter ends."""
    code = """
import threading
begun = threading.Semaphore(0)
def forever(draw):
    while True:
        draw()
        begun.release()
for draw in [lambda: squall.token_bytes(1 << 22), lambda: squall.fill(bytearray(1 << 22)),
             lambda: squall.token_bytes(3), lambda: stream.read(1 << 20), draw]:
    threading.Thread(target=forever, args=(draw,), daemon=True).start()
for _ in range(20):
    begun.acquire()
"""
    for _ in range(5):
        assert run_python(FUNCTIONS + code) == ""


def test_daemon_threads_of_numpy():
    need("numpy")
    code = """
import threading
begun = threading.Semaphore(0)
def forever(draw):
    while True:
        draw()
        begun.release()
for draw in [lambda: ours.random(1 << 20), lambda: ours.standard_normal(1 << 20), lambda: theirs.random(1 << 20),
             lambda: seeded.bytes(1 << 22), draw_arrays]:
    threading.Thread(target=forever, args=(draw,), daemon=True).start()
for _ in range(20):
    begun.acquire()
"""
    for _ in range(3):
        assert run_python(NUMPY + code) == ""


def test_os_exit_and_a_child_that_exits():
    code = """
import os
for _ in range(5):
    child = os.fork()
    if child == 0:
        draw()
        raise SystemExit
    assert os.waitpid(child, 0)[1] == 0
print(*draw(), sep="\\n")
"""
    assert drawn(FUNCTIONS + code) == 7


INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

def run(code):
    '''Run `code` in another interpreter and return what it complains of, if it does.'''
    other = interpreters.create()
    try:
        error = interpreters.run_string(other, code)
    except Exception as raised:
        error = raised
    interpreters.destroy(other)
    return error
"""


def test_other_interpreters_in_the_process():
    """They work (Python 3.11), or are refused with an ImportError, and the first one goes on."""
    if run_python(INTERPRETER + "print(interpreters is None)") == "True\n":
        pytest.skip("this Python has no module for interpreters within a process")
    code = """
import squall
error = run('import squall; assert len(squall.token_bytes() + squall.Stream(bytes(32)).read(3)) == 35')
if error is not None:
    assert "ImportError" in str(error) and "interpreters" in str(error), error
print(*draw(), sep="\\n")
"""
    assert drawn(FUNCTIONS + INTERPRETER + code) == 7
