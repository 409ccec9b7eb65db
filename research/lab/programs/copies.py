"""Draws what each line of its input asks for: `copies.c` in Python. The argument names the generator."""

import os
import random
import sys

DRAW = {"urandom": os.urandom, "random": random.randbytes}[sys.argv[1]]


def answer(lengths):
    print(*(DRAW(int(length)).hex() for length in lengths), flush=True)


for line in sys.stdin:
    order, *lengths = line.split()
    if order == "fork":
        child = os.fork()
        if child == 0:
            answer(lengths)
            os._exit(0)
        os.waitpid(child, 0)
    answer(lengths)
