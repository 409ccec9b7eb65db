"""Forked child processes: what was made before the fork gives other numbers in each of them.

The controls are generators that were made before the fork too, and give each child the same.
"""

import os
import random
import signal
import threading

import pytest

import squall
from helpers import another_thread_that, end_child, held_by_another_thread, in_children, need, repeated

CHILDREN = 200


def of_bytes(length):
    return lambda: squall.token_bytes(length)


def of_buffer(length):
    buffer = bytearray(length)

    def draw():
        squall.fill(buffer)
        return bytes(buffer)

    return draw


rng = squall.Random()
UNREPEATABLE = {
    "token_bytes of 16": of_bytes(16),
    # Past the buffer, and without the GIL.
    "token_bytes of 300": lambda: squall.token_bytes(300)[:16],
    "token_bytes of 100,000": lambda: squall.token_bytes(100_000)[-16:],
    "fill": of_buffer(16),
    "fresh_bytes": lambda: squall.fresh_bytes(16),
    "uuid4": lambda: squall.uuid4().bytes,
    "randbelow": lambda: squall.randbelow(2**64).to_bytes(16),
    "Random.random": lambda: repr(rng.random()).encode(),
    "Random.gauss": lambda: repr(rng.gauss()).encode(),
    "Random.getrandbits": lambda: rng.getrandbits(128).to_bytes(16),
    "Random.shuffle": lambda: shuffled(rng),
}
control = random.Random(5)
system = random.SystemRandom()
REPEATABLE = {
    "random.Random": lambda: repr(control.random()).encode(),
    "a shuffle of random.Random": lambda: shuffled(control),
    # Every second number is kept.
    "random.SystemRandom.gauss": lambda: repr(system.gauss()).encode(),
    "Stream": (lambda stream: lambda: stream.read(16))(squall.Stream(bytes(32))),
}


def shuffled(rng):
    items = list(range(64))
    rng.shuffle(items)
    return bytes(items)


@pytest.mark.parametrize("name", UNREPEATABLE)
def test_no_child_repeats_another(name):
    draw = UNREPEATABLE[name]
    draw()
    results = in_children(CHILDREN, lambda: draw() + draw())
    halves = [half for result in results for half in (result[: len(result) // 2], result[len(result) // 2 :])]
    assert not repeated(results) and len(results) == CHILDREN
    assert name.startswith("Random") or not repeated([*halves, draw()])


@pytest.mark.parametrize("name", REPEATABLE)
def test_control_every_child_repeats_the_others(name):
    draw = REPEATABLE[name]
    draw()
    assert repeated(in_children(20, draw)) == 19


def test_forks_at_every_place_of_the_buffer():
    """A forked child process, its own child, and the parent, after each of many draws."""
    results = []
    for _ in range(100):
        results.append(squall.token_bytes(40))

        def draw():
            return squall.token_bytes(40) + b"".join(in_children(1, lambda: squall.token_bytes(40)))

        (pair,) = in_children(1, draw)
        assert len(pair) == 80
        results += [pair[:40], pair[40:]]
    assert not repeated(results)


def test_forks_of_other_threads():
    """Threads fork while others draw. Each child has its thread's generator."""
    stop = threading.Event()
    results, mine = [], []

    def draw_on():
        while not stop.is_set():
            mine.append(squall.token_bytes(16))
            mine.append(squall.token_bytes(70_000)[:16])

    def fork():
        for _ in range(10):
            here, there = os.pipe()
            child = os.fork()
            if child == 0:
                end_child(lambda: os.write(there, squall.token_bytes(16) + squall.Random().randbytes(16)))
            os.close(there)
            with open(here, "rb") as pipe:
                results.append(pipe.read())
            assert os.waitpid(child, 0)[1] == 0

    drawing = [threading.Thread(target=draw_on) for _ in range(2)]
    forking = [threading.Thread(target=fork) for _ in range(4)]
    for thread in drawing + forking:
        thread.start()
    for thread in forking:
        thread.join()
    stop.set()
    for thread in drawing:
        thread.join()
    assert len(results) == 40
    assert not repeated([*mine, *(result[:16] for result in results), *(result[16:] for result in results)])


def test_a_server_that_forks_workers():
    """As gunicorn does: the application is loaded, then workers are forked, which end after some requests and
    are replaced."""
    import socket

    session, application, repeats = squall.Random(), {}, random.Random(5)
    application["first"] = squall.token_bytes(16)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def work():
        for _ in range(5):
            connection, _ = listener.accept()
            with connection:
                answer = squall.token_bytes(16) + squall.uuid4().bytes + session.randbytes(16)
                connection.sendall(answer + repeats.randbytes(16))

    def fork():
        child = os.fork()
        if child == 0:
            end_child(work)
        return child

    workers = {fork() for _ in range(4)}
    answers = []
    for request in range(60):
        with socket.create_connection(listener.getsockname()) as connection, connection.makefile("rb") as file:
            answers.append(file.read())
        if request % 5 == 4 and request < 40:
            # Every fifth answer is some worker's last, or later ones are.
            workers.add(fork())
    for worker in workers:
        assert os.waitpid(worker, 0)[1] == 0
    listener.close()
    assert len(workers) == 12 and {len(answer) for answer in answers} == {64}
    for field in range(3):
        assert not repeated(answer[16 * field : 16 * field + 16] for answer in answers)
    # The control: each worker began with the same state.
    assert repeated(answer[48:] for answer in answers) == 55


def test_a_fork_in_a_signal_handler():
    """The handler comes in the middle of a shuffle in Python, between draws: test_signals.py has those within draws."""
    results = []

    def handler(*_):
        results.extend(in_children(1, lambda: squall.token_bytes(16)))

    before = signal.signal(signal.SIGUSR1, handler)
    try:

        class Raising(list):
            def __setitem__(self, at, item):
                signal.raise_signal(signal.SIGUSR1)
                super().__setitem__(at, item)

        squall.Random().shuffle(items := Raising(range(20)))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert sorted(items) == list(range(20))
    assert len(results) >= 19 and not repeated(results)


@pytest.fixture(scope="module")
def of_numpy():
    """Draws of 32 bytes: those that must not repeat, and those that do."""
    np = need("numpy")
    sq = need("squall.random")
    ours, theirs, words = sq.default_rng(), np.random.Generator(sq.Squall()), sq.Squall()
    legacy = np.random.RandomState(sq.Squall())
    unrepeatable = {
        "random": lambda: ours.random(4).tobytes(),
        "random of many": lambda: ours.random(20_000)[-4:].tobytes(),
        "standard_normal of many": lambda: ours.standard_normal(20_000)[-4:].tobytes(),
        "integers": lambda: ours.integers(2**63, size=4).tobytes(),
        "bytes": lambda: ours.bytes(32),
        "numpy.random.Generator": lambda: theirs.random(4).tobytes(),
        "random_raw": lambda: words.random_raw(4).tobytes(),
        "RandomState": lambda: legacy.random_sample(4).tobytes(),
        "words of the seed sequence": lambda: words.seed_seq.generate_state(4, "u8").tobytes(),
        "children of the seed sequence": lambda: spawned(ours.bit_generator.seed_seq),
        "children of a generator": lambda: ours.spawn(1)[0].random(4).tobytes(),
        "children of numpy.random.Generator": lambda: theirs.spawn(1)[0].random(4).tobytes(),
    }
    # It keeps every second number.
    gauss = np.random.RandomState(sq.Squall())
    gauss.standard_normal()
    sequence = sq.SeedSequence(5)
    pcg, aes = np.random.Generator(np.random.PCG64(5)), sq.default_rng(5)
    repeatable = {
        "PCG64": lambda: pcg.random(4).tobytes(),
        "AES256": lambda: aes.random(4).tobytes(),
        "a number that RandomState keeps": lambda: 4 * gauss.standard_normal(1).tobytes(),
        "children of a seed sequence with a seed": lambda: spawned(sequence),
    }
    return unrepeatable, repeatable


def spawned(sequence):
    return sequence.spawn(1)[0].generate_state(4, "u8").tobytes()


def test_generators_of_numpy(of_numpy):
    unrepeatable, repeatable = of_numpy

    def draw():
        return b"".join(draw() for draw in [*unrepeatable.values(), *repeatable.values()])

    # The controls: in every child the same.
    results = in_children(20, draw)
    for number in range(len(unrepeatable), len(unrepeatable) + len(repeatable)):
        assert repeated(result[32 * number : 32 * number + 32] for result in results) == 19
    # Children of forks at different places of the generators' buffers.
    results.append(draw())
    for _ in range(9):
        results += in_children(20, draw)
    assert {len(result) for result in results} == {32 * (len(unrepeatable) + len(repeatable))}
    for number, name in enumerate(unrepeatable):
        drawn = [result[32 * number : 32 * number + 32] for result in results]
        assert not repeated(drawn), name


@pytest.mark.parametrize("wrap", ["NumPy's", "squall's"])
def test_a_fork_while_another_thread_draws(wrap):
    """The generator's lock is free in the child, and its numbers are others."""
    np = need("numpy")
    sq = need("squall.random")
    rng = {"NumPy's": np.random.Generator, "squall's": sq.Generator}[wrap](sq.Squall())
    means = np.zeros(1 << 18)

    def draw():
        # A child that waits for the lock for ever is ended by the alarm, and fails.
        signal.alarm(600)
        with rng.bit_generator.lock:
            return rng.random(4).tobytes() + rng.bit_generator.random_raw(4).tobytes()

    # Of a size that follows from an argument, and so with the bit generator's own words.
    with another_thread_that(lambda: rng.normal(means)):
        results = [in_children(1, draw)[0] for _ in range(50)]
    assert {len(result) for result in results} == {64} and not repeated(results)


def test_a_fork_of_the_thread_that_has_the_lock():
    """In a handler, say: it has the lock in the child too, and gives it back."""
    sq = need("squall.random")
    bit_generator = sq.Squall()

    def draw():
        bit_generator.lock.release()
        return bit_generator.random_raw(2).tobytes()

    with bit_generator.lock:
        assert not repeated(in_children(20, draw))


def test_a_fork_while_another_thread_spawns():
    sq = need("squall.random")
    from squall import _seed_sequences

    expected = sq.SeedSequence(5).spawn(1)[0].generate_state(4).tobytes()

    def spawn():
        signal.alarm(600)
        return sq.SeedSequence(5).spawn(1)[0].generate_state(4).tobytes()

    with held_by_another_thread(_seed_sequences.spawning):
        assert in_children(1, spawn) == [expected]


def test_arrays_of_dask_that_are_made_in_children():
    """Dask seeds its chunks by the generator's seed sequence; with NumPy's, all children make the same array."""
    need("dask.array")
    import dask.array as da
    import numpy as np

    sq = need("squall.random")

    def make(rng):
        array = da.random.default_rng(rng).random(40, chunks=10)
        return array.compute(scheduler="synchronous").tobytes()

    # What Dask imports as it computes, it imports here and not in each child.
    make(np.random.default_rng())
    for rng in [sq.default_rng(), np.random.Generator(sq.Squall())]:
        assert not repeated(in_children(10, lambda: make(rng)))
    numpys = np.random.default_rng()
    assert repeated(in_children(10, lambda: make(numpys))) == 9
