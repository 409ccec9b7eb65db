"""The part of wheels-test.sh that runs where a wheel is installed: whether it works there.

    python wheels-test-inside.py VERSION ANSWERS

VERSION is squall's, ANSWERS the file of known answers of streams. With NumPy installed, bit generators are tried
too. What each function promises is tested in python/tests.
"""

import importlib.metadata
import importlib.util
import json
import os
import random
import subprocess
import sys

import squall

CHILDREN = 10


def known_answers(path):
    with open(path) as file:
        answers = json.load(file)
    assert len(answers) > 10
    for answer in answers:
        stream = squall.Stream(answer["seed"])
        stream.seek(int(answer["offset"]))
        expected = bytes.fromhex(answer["bytes"])
        assert stream.read(len(expected)) == expected, f"not the known answer: {answer}"


def tokens():
    drawn = {squall.token_bytes(16) for _ in range(1000)}
    assert len(drawn) == 1000 and {len(token) for token in drawn} == {16}
    assert len(squall.token_hex(16)) == 32
    assert squall.uuid4() != squall.uuid4()
    assert {squall.randbelow(4) for _ in range(1000)} == {0, 1, 2, 3}
    page = bytearray(1 << 20)
    squall.fill(page)
    # Of a million random bytes, all 256 values are there, but for one time in 10**1700.
    assert len(set(page)) == 256


def in_children(draw):
    """Return what `draw` returns in this process, in children that it forks, and in this process once more."""
    drawn, children = [draw()], []
    for _ in range(CHILDREN):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, draw())
            os._exit(0)
        os.close(writer)
        children.append((child, reader))
    for child, reader in children:
        with open(reader, "rb") as pipe:
            drawn.append(pipe.read())
        assert os.waitpid(child, 0)[1] == 0, "a child failed"
    return [*drawn, draw()]


def assert_forks_differ(draw, control):
    """Check that children do not repeat what `draw` returns, and that they repeat the control, which has no guard."""
    assert len(set(in_children(draw))) == CHILDREN + 2, "children of fork repeat"
    assert len(set(in_children(control))) == 2, "the control does not repeat, so this proves nothing"


def forks():
    control = random.Random()
    assert_forks_differ(lambda: squall.token_bytes(32), lambda: control.randbytes(32))


def status():
    ran = subprocess.run([sys.executable, "-m", "squall"], capture_output=True, text=True, check=True)
    assert "fork guard" in ran.stdout, ran.stdout


def numpy():
    import numpy

    import squall.random

    rng, control = squall.random.default_rng(), numpy.random.default_rng()
    assert len(set(rng.integers(1 << 63, size=2_000).tolist())) == 2_000
    assert_forks_differ(lambda: rng.bytes(32), lambda: control.bytes(32))
    assert_forks_differ(lambda: rng.random(4).tobytes(), lambda: control.random(4).tobytes())
    seeded, again = squall.random.default_rng("a seed"), squall.random.default_rng("a seed")
    assert numpy.array_equal(seeded.random(1000), again.random(1000))
    return f"NumPy {numpy.__version__}"


def main(version, answers):
    assert importlib.metadata.version("squall") == version
    known_answers(answers)
    tokens()
    forks()
    status()
    with_numpy = numpy() if importlib.util.find_spec("numpy") else "without NumPy"
    print(f"wheels: works in Python {sys.version.split()[0]} on {os.uname().machine}, {with_numpy}")


main(*sys.argv[1:])
