"""Numbers that wait in a buffer are not in the memory of a forked child process, and one-time keys in none.

The parent forks, then draws the numbers that were waiting, and looks for them in the child's memory.
"""

import ctypes
import os
import re
import signal

import pytest

import squall
from helpers import fork, wait_for

# Fewer than wait in a buffer. One of them may be somewhere by chance.
WORDS = 10


@pytest.fixture(scope="module", autouse=True)
def readable_children():
    child = fork(signal.pause)
    try:
        open(f"/proc/{child}/mem", "rb").close()
    except PermissionError:
        pytest.skip("the kernel does not let this process read its children's memory (ptrace(2))")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def memory(process):
    """Return all memory that `process` can write."""
    parts = []
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as file:
        for line in maps:
            first, last, access = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
            if not access.startswith("rw"):
                continue
            first, last = int(first, 16), int(last, 16)
            file.seek(first)
            try:
                while first < last and (part := file.read(min(last - first, 1 << 24))):
                    parts.append(part)
                    first += len(part)
            except OSError:
                # A device.
                pass
    return b"\n".join(parts)


def found_at_a_fork(draw, count):
    """Return how many of the next `count` words of `draw`, bytes each, are in the memory of parent and child."""
    here, there = os.pipe()

    def wait():
        os.close(there)
        # Until the parent closes the pipe.
        os.read(here, 1)

    child = fork(wait)
    os.close(here)
    memories = memory(os.getpid()), memory(child)
    words = [draw() for _ in range(count)]
    os.close(there)
    wait_for(child)
    return [sum(word in found for word in words) for found in memories]


def not_at_a_fork(draw):
    """Check that no next word of `draw` is in a child's memory, and return how many are in the parent's."""
    here, there = found_at_a_fork(draw, WORDS)
    if there:
        # By chance once in 2**33 runs, but not twice.
        here, there = found_at_a_fork(draw, WORDS)
    assert there == 0
    return here


@pytest.mark.parametrize(
    "draw", [lambda: squall.token_bytes(8), lambda: squall.randbelow(2**64).to_bytes(8, "little")]
)
def test_squalls_are_not_there(draw):
    draw()
    if not_at_a_fork(draw) < WORDS // 2:
        pytest.skip("each request is made different in each clone here, so no number waits as it is served")


def test_those_of_numpy_are_not_there(sq):
    words = sq.Squall()
    words.random_raw()
    if not_at_a_fork(lambda: words.random_raw().to_bytes(8, "little")) < WORDS // 2:
        pytest.skip("numbers do not wait in a buffer here")


def test_control_those_of_a_seeded_generator_are(sq):
    """Its buffer is on the heap: a child may have the same numbers."""
    words = sq.AES256(5)
    words.random_raw()
    assert found_at_a_fork(lambda: words.random_raw().to_bytes(8, "little"), WORDS) == [WORDS, WORDS]


def test_the_words_are_erased_as_they_are_served(sq):
    words = sq.Squall()
    words.random_raw()

    def left():
        # In another form than they were in the buffer.
        drawn = [words.random_raw() ^ 0xFFFF for _ in range(WORDS)]
        found = memory(os.getpid())
        return sum((word ^ 0xFFFF).to_bytes(8, "little") in found for word in drawn)

    # By chance one is there once in 2**33 runs, but not twice.
    assert left() == 0 or left() == 0


MASK = 0x55


def key_of(bit_generator):
    """Return the key, which is where the state begins, in another form: no copy of it is made."""
    address = bit_generator.ctypes.state_address
    return bytes(ctypes.c_uint8.from_address(address + at).value ^ MASK for at in range(32))


def times_in_a_process(act):
    """Run `act`, a generator of masked bytes, in a forked child process; return how often it has them at each.

    The child waits after each, until the parent has looked.
    """
    results, answers = os.pipe(), os.pipe()

    def run():
        for masked in act():
            os.write(results[1], masked)
            os.read(answers[0], 1)

    child = fork(run)
    os.close(results[1])
    counts = []
    while masked := os.read(results[0], 32):
        found = memory(child)
        counts.append(found.count(bytes(byte ^ MASK for byte in masked)))
        del found
        os.write(answers[1], b"x")
    for end in (results[0], *answers):
        os.close(end)
    wait_for(child)
    return counts


def test_a_one_time_key_is_nowhere_after_the_call(np, sq):
    def act():
        words = sq._OneTimeWords()
        masked = key_of(words)
        yield masked
        np.random.Generator(words).standard_normal(20_000)
        yield masked
        del words
        yield masked

    # The key, and the expanded key, which begins with it.
    before, used, after = times_in_a_process(act)
    assert before <= 2 and used <= 2 and after == 0 and before > 0


def test_control_a_key_that_python_had_is_left(sq):
    """Python's objects are not erased, and the search finds them."""

    def act():
        key = squall.token_bytes(32)
        words = sq.AES256(key=key)
        masked = key_of(words)
        yield masked
        del words
        yield masked

    before, after = times_in_a_process(act)
    assert before > after > 0
