"""Processes of multiprocessing and concurrent.futures, with every start method."""

import concurrent.futures
import multiprocessing
import random

import pytest

import squall
import workers
from helpers import need, repeated

METHODS = ["fork", "spawn", "forkserver"]
TASKS, TASKS_OF_A_PROCESS = 60, 10


@pytest.fixture(params=METHODS)
def pool(request):
    workers.draw(0)
    context = multiprocessing.get_context(request.param)
    with context.Pool(3, maxtasksperchild=TASKS_OF_A_PROCESS) as pool:
        yield pool


def test_no_process_repeats_another(pool):
    results = pool.map(workers.draw, range(TASKS), chunksize=1)
    assert len({process for process, _, _ in results}) >= TASKS // TASKS_OF_A_PROCESS
    for field in range(3):
        assert not repeated(data[16 * field : 16 * field + 16] for _, data, _ in results)
    # The control: every process that is new begins with the same number.
    assert repeated(number for _, _, number in results) >= TASKS - TASKS_OF_A_PROCESS


def test_a_random_that_is_sent(pool):
    """A copy in each task, and none repeats; of random.Random they all do."""
    assert not repeated(pool.map(workers.draw_random, [squall.Random()] * TASKS, chunksize=1))
    controls = pool.map(workers.draw_random, [random.Random(5)] * TASKS, chunksize=1)
    assert repeated(controls) == TASKS - 1


def test_a_generator_of_numpy_that_is_sent(pool):
    np = need("numpy")
    sq = need("squall.random")
    for ours in [sq.default_rng(), np.random.Generator(sq.Squall())]:
        theirs = np.random.Generator(np.random.PCG64(5))
        results = pool.map(workers.draw_from, [(ours, theirs)] * TASKS, chunksize=1)
        assert not repeated(data for _, data, _ in results)
        assert repeated(number for _, _, number in results) == TASKS - 1


def test_a_generator_with_a_seed_that_is_sent_continues(pool):
    sq = need("squall.random")
    rng = sq.default_rng(5)
    rng.random(3, dtype="f4")
    results = pool.map(workers.draw_from, [(rng, rng)] * 5, chunksize=1)
    assert {data for _, data, _ in results} == {rng.random(2).tobytes()}


@pytest.mark.parametrize("method", METHODS)
def test_executor(method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as executor:
        results = list(executor.map(workers.draw, range(TASKS)))
    assert not repeated(data for _, data, _ in results)
