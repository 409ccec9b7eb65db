"""Numbers that wait in a buffer are not in the memory of a child of fork.

The parent forks, then draws the numbers that were waiting, and looks for them in the child's memory.
"""

import os
import re

import squall
from helpers import end_child, need

# Fewer than wait in a buffer.
WORDS = 20


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


def found_in_a_child(draw, count):
    """Return how many of the next `count` words of `draw`, bytes each, are in a child's memory."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there)
        # Waits until the parent closes the pipe.
        end_child(lambda: os.read(here, 1))
    os.close(here)
    found = memory(child)
    words = [draw() for _ in range(count)]
    os.close(there)
    assert os.waitpid(child, 0)[1] == 0
    return sum(word in found for word in words)


def test_squalls_are_not_there():
    assert not found_in_a_child(lambda: squall.token_bytes(8), WORDS)
    assert not found_in_a_child(lambda: squall.randbelow(2**64).to_bytes(8, "little"), WORDS)


def test_those_of_numpy_are_not_there():
    sq = need("squall.random")
    words = sq.Squall()
    words.random_raw()
    assert not found_in_a_child(lambda: words.random_raw().to_bytes(8, "little"), WORDS)


def test_control_those_of_a_seeded_generator_are():
    """Its buffer is on the heap: a child may have the same numbers."""
    sq = need("squall.random")
    words = sq.AES256(5)
    words.random_raw()
    assert found_in_a_child(lambda: words.random_raw().to_bytes(8, "little"), WORDS) == WORDS


def test_the_words_are_erased_as_they_are_served():
    sq = need("squall.random")
    words = sq.Squall()
    words.random_raw()
    # In another form than they were in the buffer.
    drawn = [words.random_raw() ^ 0xFFFF for _ in range(WORDS)]
    found = memory(os.getpid())
    assert sum((word ^ 0xFFFF).to_bytes(8, "little") in found for word in drawn) == 0
