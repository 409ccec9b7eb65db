"""Threads: no number is served twice, and none is torn."""

import random
import sysconfig

import pytest

import squall
from helpers import in_threads, repeated, run_python

THREADS = 8
shared = squall.Random()
DRAWS = {
    "token_bytes": lambda: squall.token_bytes(16),
    "token_bytes of 70,000": lambda: squall.token_bytes(70_000)[-16:],
    "fresh_bytes": lambda: squall.fresh_bytes(16),
    "uuid4": squall.uuid4,
    "randbelow": lambda: squall.randbelow(2**128),
    "a shared Random": lambda: (shared.random(), shared.random()),
    "a Random of its own": lambda: ((own := squall.Random()).random(), own.random()),
}


@pytest.mark.parametrize("name", DRAWS)
def test_no_thread_repeats_another(name):
    draw = DRAWS[name]
    assert not repeated(in_threads(lambda _: [draw() for _ in range(200)]))


def test_control_threads_with_copies_repeat():
    state = random.Random(5).getstate()

    def draw(_):
        rng = random.Random()
        rng.setstate(state)
        return [rng.random() for _ in range(200)]

    assert repeated(in_threads(draw)) == 200 * (THREADS - 1)


def test_many_threads():
    """Each has a page of its own, which is given back when it ends."""
    results = []
    for _ in range(20):
        results += in_threads(lambda _: [squall.token_bytes(16) for _ in range(3)], 30)
    assert not repeated(results)


def test_threads_fill_parts_of_one_buffer():
    buffer = bytearray(THREADS << 17)
    in_threads(lambda number: squall.fill(memoryview(buffer)[number << 17 : (number + 1) << 17]))
    assert not repeated(bytes(buffer[at : at + 16]) for at in range(0, len(buffer), 16))


def test_threads_share_a_generator_of_numpy(np, sq):
    for rng in [sq.default_rng(), np.random.Generator(sq.Squall())]:
        # In pairs: two of so many doubles may be the same by chance.
        assert not repeated(in_threads(lambda _: [pair.tobytes() for pair in rng.random((1_000, 2))]))
        assert not repeated(in_threads(lambda _: [pair.tobytes() for pair in rng.random((10_000, 2))]))
        assert not repeated(in_threads(lambda _: [(rng.random(), rng.random()) for _ in range(150)]))


def test_threads_share_a_generator_with_a_seed(sq):
    """Together they get each word once."""
    rng = sq.default_rng(5)

    def draw(_):
        some = [rng.bit_generator.random_raw() for _ in range(100)]
        return some + rng.bit_generator.random_raw(2_000).tolist()

    drawn = in_threads(draw)
    assert sorted(drawn) == sorted(sq.AES256(5).random_raw(len(drawn)).tolist())


def test_generators_that_end_in_other_threads(sq):
    made = [sq.default_rng() for _ in range(THREADS)]
    for rng in made:
        rng.random()

    assert not repeated(in_threads(lambda _: made.pop().random(16).tolist()))
    assert not made


def need_no_gil():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python is not free-threaded")


def test_without_the_gil():
    """The module says that it does not need the GIL, so a free-threaded Python leaves it off."""
    need_no_gil()
    # In an interpreter where nothing else can have switched it on.
    assert run_python("import squall, sys; print(sys._is_gil_enabled())") == "False\n"
    assert not repeated(in_threads(lambda _: [squall.token_bytes(16) for _ in range(2_000)]))


def shuffled_in_threads(rng):
    """Return the items that a list of 500 still has after threads have shuffled it."""
    items = list(range(500))

    def shuffle(_):
        for _ in range(200):
            rng.shuffle(items)

    in_threads(shuffle)
    return set(items)


def test_threads_shuffle_one_list():
    assert len(shuffled_in_threads(squall.Random())) == 500


def test_control_pythons_shuffle_loses_items():
    """It swaps them one by one, which the GIL makes safe and nothing else."""
    need_no_gil()
    assert len(shuffled_in_threads(random.SystemRandom())) < 500


def bytes_in_threads(draw):
    # Long ones, which take much longer than the way to them.
    return in_threads(lambda _: [draw(60_000)[:16] for _ in range(500)])


def test_the_lock_keeps_words_apart(sq):
    assert not repeated(bytes_in_threads(sq.default_rng(5).bytes))


def test_control_words_without_the_lock_repeat(sq):
    need_no_gil()
    words = sq.AES256(5)
    assert repeated(bytes_in_threads(words._words.bytes))


def test_only_one_thread_initialises_a_bit_generator(sq):
    for kind in [sq.Squall, sq.AES256]:
        for _ in range(50):
            words = kind.__new__(kind)

            def initialise(_, words=words):
                try:
                    words.__init__()
                except TypeError:
                    return []
                return [1]

            assert in_threads(initialise) == [1]
            words.random_raw(10)
