"""Child processes: what was made before a fork gives other numbers in each of them, and so does what is sent to
processes of multiprocessing, with every start method.

The controls are generators that were made or sent likewise, and give each child the same.
"""

import multiprocessing
import random
import signal

import pytest

import squall
from helpers import (
    another_thread_that,
    draw_from,
    draw_in_a_process,
    draw_random,
    held_by_another_thread,
    in_children,
    in_threads,
    need,
    repeated,
)

CHILDREN = 40


def shuffled(rng):
    items = list(range(64))
    rng.shuffle(items)
    return bytes(items)


def filled():
    squall.fill(buffer := bytearray(16))
    return bytes(buffer)


rng = squall.Random()
UNREPEATABLE = {
    "token_bytes of 16": lambda: squall.token_bytes(16),
    # Past the buffer, and without the GIL.
    "token_bytes of 300": lambda: squall.token_bytes(300)[:16],
    "token_bytes of 100,000": lambda: squall.token_bytes(100_000)[-16:],
    "fill": filled,
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


def test_forks_of_other_threads():
    """Threads fork while others draw. Each child has its thread's generator."""
    mine = []

    def draw():
        mine.extend([squall.token_bytes(16), squall.token_bytes(70_000)[:16]])

    def fork(_):
        return [
            result
            for _ in range(10)
            for result in in_children(1, lambda: squall.token_bytes(16) + squall.Random().randbytes(16))
        ]

    with another_thread_that(draw), another_thread_that(draw):
        results = in_threads(fork, 4)
    assert len(results) == 40
    assert not repeated([*mine, *(result[:16] for result in results), *(result[16:] for result in results)])


def spawned(sequence):
    return sequence.spawn(1)[0].generate_state(4, "u8").tobytes()


def test_generators_of_numpy(np, sq):
    """Draws of 32 bytes: those that must not repeat, and those that do."""
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
def test_a_fork_while_another_thread_draws(wrap, np, sq):
    """The generator's lock is free in the child, and its numbers are others."""
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


def test_a_fork_of_the_thread_that_has_the_lock(sq):
    """In a handler, say: it has the lock in the child too, and gives it back."""
    bit_generator = sq.Squall()

    def draw():
        bit_generator.lock.release()
        return bit_generator.random_raw(2).tobytes()

    with bit_generator.lock:
        assert not repeated(in_children(20, draw))


def test_a_fork_while_another_thread_spawns(sq):
    from squall import _seeds

    expected = sq.SeedSequence(5).spawn(1)[0].generate_state(4).tobytes()

    def spawn():
        signal.alarm(600)
        return sq.SeedSequence(5).spawn(1)[0].generate_state(4).tobytes()

    with held_by_another_thread(_seeds.spawning):
        assert in_children(1, spawn) == [expected]


def test_arrays_of_dask_that_are_made_in_children(sq):
    """Dask seeds its chunks by the generator's seed sequence; with NumPy's, all children make the same array."""
    need("dask.array")
    import dask.array as da
    import numpy as np


    def make(rng):
        array = da.random.default_rng(rng).random(40, chunks=10)
        return array.compute(scheduler="synchronous").tobytes()

    # What Dask imports as it computes, it imports here and not in each child.
    make(np.random.default_rng())
    for rng in [sq.default_rng(), np.random.Generator(sq.Squall())]:
        assert not repeated(in_children(10, lambda: make(rng)))
    numpys = np.random.default_rng()
    assert repeated(in_children(10, lambda: make(numpys))) == 9


# Processes of multiprocessing.

TASKS, TASKS_OF_A_PROCESS = 60, 10


@pytest.fixture(params=["fork", "spawn", "forkserver"])
def pool(request):
    draw_in_a_process(0)
    context = multiprocessing.get_context(request.param)
    with context.Pool(3, maxtasksperchild=TASKS_OF_A_PROCESS) as pool:
        yield pool


def test_no_process_repeats_another(pool):
    results = pool.map(draw_in_a_process, range(TASKS), chunksize=1)
    assert len({process for process, _, _ in results}) >= TASKS // TASKS_OF_A_PROCESS
    for field in range(3):
        assert not repeated(data[16 * field : 16 * field + 16] for _, data, _ in results)
    # The control: every process that is new begins with the same number.
    assert repeated(number for _, _, number in results) >= TASKS - TASKS_OF_A_PROCESS


def test_a_random_that_is_sent(pool):
    """A copy in each task, and none repeats; of random.Random they all do."""
    assert not repeated(pool.map(draw_random, [squall.Random()] * TASKS, chunksize=1))
    assert repeated(pool.map(draw_random, [random.Random(5)] * TASKS, chunksize=1)) == TASKS - 1


def test_a_generator_of_numpy_that_is_sent(pool, np, sq):
    for ours in [sq.default_rng(), np.random.Generator(sq.Squall())]:
        theirs = np.random.Generator(np.random.PCG64(5))
        results = pool.map(draw_from, [(ours, theirs)] * TASKS, chunksize=1)
        assert not repeated(data for data, _ in results)
        assert repeated(number for _, number in results) == TASKS - 1
    seeded = sq.default_rng(5)
    seeded.random(3, dtype="f4")
    results = pool.map(draw_from, [(seeded, seeded)] * 5, chunksize=1)
    assert {data for data, _ in results} == {seeded.random(2).tobytes()}
