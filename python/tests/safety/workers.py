"""What processes of multiprocessing run; they import this module by its name."""

import os
import random

import squall

control = random.Random(5)


def draw(_):
    """Return this process, what must not repeat, and what repeats in every process that is new."""
    rng = squall.Random()
    return os.getpid(), squall.token_bytes(16) + squall.uuid4().bytes + rng.randbytes(16), control.random()


def draw_from(arguments):
    """Return numbers of the generators that were sent to this process: squall's, and one that can be repeated."""
    ours, theirs = arguments
    return os.getpid(), ours.random(2).tobytes(), theirs.random()


def draw_random(rng):
    return rng.random()
