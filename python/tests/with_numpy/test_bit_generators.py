"""Squall, which nobody can repeat, and AES256, which continues exactly."""

import copy
import gc
import pickle
import sys

import pytest

import squall
from helpers import need, repeated

np = need("numpy")
sq = need("squall.random")

KEY = bytes(range(32))
PERIOD = 2**128


def words_of_stream(first, count):
    stream = squall.Stream(KEY)
    stream.seek(8 * first)
    return np.frombuffer(stream.read(8 * count), "<u8")


def duplicates(bit_generator):
    yield "pickle", pickle.loads(pickle.dumps(bit_generator))
    yield "old pickle", pickle.loads(pickle.dumps(bit_generator, 2))
    yield "copy", copy.copy(bit_generator)
    yield "deepcopy", copy.deepcopy(bit_generator)


class TestSquall:
    def test_words_differ(self):
        one, other = sq.Squall(), sq.Squall()
        drawn = one.random_raw(2_000).tolist() + other.random_raw(2_000).tolist()
        drawn += [one.random_raw() for _ in range(1000)]
        # The probability of a repeat among 5,000 words is 2**-40.
        assert not repeated(drawn)

    def test_all_bits_vary(self):
        words = sq.Squall().random_raw(1000)
        assert np.bitwise_or.reduce(words) == 2**64 - 1
        assert np.bitwise_and.reduce(words) == 0

    def test_copies_are_new(self):
        bit_generator = sq.Squall()
        bit_generator.random_raw()
        drawn = bit_generator.random_raw(100).tolist()
        for name, other in [*duplicates(bit_generator), ("spawn", bit_generator.spawn(1)[0])]:
            assert type(other) is sq.Squall and other is not bit_generator, name
            drawn += other.random_raw(100).tolist()
        assert not repeated(drawn)

    def test_control_copies_of_pcg64_repeat(self):
        bit_generator = np.random.PCG64(5)
        for name, other in duplicates(bit_generator):
            assert other.random_raw() == copy.deepcopy(bit_generator).random_raw(), name

    def test_spawn(self):
        children = sq.Squall().spawn(50)
        assert {type(child) for child in children} == {sq.Squall}
        assert not repeated(child.random_raw() for child in children)
        assert sq.Squall().spawn(0) == []
        generators = np.random.Generator(sq.Squall()).spawn(3) + sq.default_rng().spawn(3)
        assert {type(each.bit_generator) for each in generators} == {sq.Squall}
        assert not repeated(each.random() for each in generators)

    def test_it_has_no_seed(self):
        for seed in [0, 5, b"", "seed", [], np.random.SeedSequence(5)]:
            with pytest.raises(TypeError, match="AES256"):
                sq.Squall(seed)
        assert sq.Squall(None).random_raw() != sq.Squall(seed=None).random_raw()

    def test_it_has_no_state(self):
        bit_generator = sq.Squall()
        with pytest.raises(NotImplementedError, match="state"):
            bit_generator.state
        with pytest.raises(NotImplementedError, match="state"):
            bit_generator.state = {}
        assert bit_generator.random_raw() != bit_generator.random_raw()

    def test_many_and_short_lived(self):
        """Each has a page of guarded memory, which is given back."""
        drawn = []
        for _ in range(100):
            drawn += [np.random.Generator(sq.Squall()).random(2).tobytes() for _ in range(50)]
        assert not repeated(drawn)
        kept = [sq.Squall() for _ in range(2000)]
        assert not repeated(each.random_raw() for each in kept)


class TestAES256:
    def test_a_key_gives_the_words_of_a_stream(self):
        assert np.array_equal(sq.AES256(key=KEY).random_raw(5000), words_of_stream(0, 5000))
        bit_generator = sq.AES256(key=KEY)
        drawn = [bit_generator.random_raw() for _ in range(1500)]
        assert drawn == words_of_stream(0, 1500).tolist()
        for first in [1, 2, 511, 512, 513, 2**60 - 1]:
            assert sq.AES256(key=KEY).advance(first).random_raw() == words_of_stream(first, 1)[0]

    @pytest.mark.parametrize("key", [bytearray(KEY), memoryview(KEY), np.frombuffer(KEY, np.uint8)])
    def test_keys_of_other_types(self, key):
        assert sq.AES256(key=key).random_raw() == sq.AES256(key=KEY).random_raw()

    @pytest.mark.parametrize(
        ("key", "error", "words"),
        [
            (b"", ValueError, "0 bytes"),
            (KEY[1:], ValueError, "31 bytes"),
            (KEY + b"\0", ValueError, "33 bytes"),
            # An integer does not make 32 zeros.
            (32, TypeError, "int"),
            (KEY.hex(), TypeError, "str"),
            ([1] * 32, TypeError, "list"),
        ],
    )
    def test_wrong_keys(self, key, error, words):
        with pytest.raises(error, match=words):
            sq.AES256(key=key)

    def test_a_seed_and_a_key(self):
        with pytest.raises(TypeError, match="both"):
            sq.AES256(5, key=KEY)

    def test_seeds(self):
        seeds = [0, 1, 2**32, 2**64, 2**1000, b"", b"\0", b"a", "a", "", [], [0], [[0]], (0, 1), [1, 0], "0", range(3)]
        seeds += [np.random.SeedSequence(5), sq.SeedSequence(5), np.arange(5), ["a", 5, b"c", [1, [2]]]]
        assert not repeated(sq.AES256(seed).random_raw() for seed in seeds)
        for seed in seeds:
            assert sq.AES256(seed).random_raw(3).tolist() == sq.AES256(seed).random_raw(3).tolist()
        assert sq.AES256().random_raw() != sq.AES256(None).random_raw()
        for same in [(5, np.int8(5)), ([1, 2], np.array([1, 2])), ((1, 2), range(1, 3)), (b"a", bytearray(b"a"))]:
            assert sq.AES256(same[0]).random_raw() == sq.AES256(same[1]).random_raw()

    @pytest.mark.parametrize("seed", [1.5, -0.5, None.__class__, object(), [None], [1.5], {1, 2}, {1: 2}, iter([1])])
    def test_invalid_seeds(self, seed):
        with pytest.raises(TypeError, match="a seed is"):
            sq.AES256(seed)

    @pytest.mark.parametrize("seed", [-1, [-1], [1, [-(2**70)]], np.array([-1])])
    def test_negative_seeds(self, seed):
        with pytest.raises(ValueError, match="negative"):
            sq.AES256(seed)

    def test_halves_of_words(self):
        """The lower half of a word, then the upper half; words of 64 bits in between leave a half where it is."""
        words = words_of_stream(0, 3000)
        rng = np.random.Generator(sq.AES256(key=KEY))
        halves = rng.integers(2**32, size=2001, dtype=np.uint32)
        assert np.array_equal(halves, words.astype("<u8").view("<u4")[:2001])
        assert rng.bit_generator.random_raw() == words[1001]
        assert rng.integers(2**32, dtype=np.uint32) == words[1000] >> np.uint64(32)

    def test_doubles(self):
        drawn = np.random.Generator(sq.AES256(key=KEY)).random(2000)
        assert np.array_equal(drawn, (words_of_stream(0, 2000) >> np.uint64(11)) * 2.0**-53)

    @pytest.mark.parametrize("words", [0, 1, 2, 511, 512, 513, 1024, 5000])
    @pytest.mark.parametrize("half", [False, True])
    def test_copies_continue(self, words, half):
        """At every place of the buffer, and in the middle of a word."""
        bit_generator = sq.AES256(["a", 5])
        rng = np.random.Generator(bit_generator)
        bit_generator.random_raw(words, output=False)
        if half:
            rng.integers(2**32, dtype=np.uint32)
        state = bit_generator.state
        assert state == {
            "bit_generator": "AES256",
            "state": {"key": state["state"]["key"], "position": words + half},
            "has_uint32": int(half),
            "uinteger": state["uinteger"],
        }
        others = list(duplicates(bit_generator))
        fresh = sq.AES256()
        fresh.state = state
        draw = lambda each: np.random.Generator(each).integers(2**32, size=3001, dtype=np.uint32).tolist()  # noqa: E731
        expected = draw(bit_generator)
        for name, other in [*others, ("state", fresh)]:
            assert type(other) is sq.AES256
            assert draw(other) == expected, name
        assert bit_generator.state == fresh.state

    @pytest.mark.parametrize("wrap", [lambda each: np.random.Generator(each), sq.Generator])
    def test_generators_are_pickled(self, wrap):
        drawn = [other.random() for _, other in duplicates(wrap(sq.Squall()))]
        assert len(drawn) == 4 and not repeated(drawn)
        rng = wrap(sq.AES256(5))
        rng.standard_normal(5)
        rng.integers(2**32, dtype=np.uint32)
        others = [other for _, other in duplicates(rng) if other.bit_generator is not rng.bit_generator]
        assert len(others) >= 3
        expected = rng.integers(2**32, size=10, dtype=np.uint32).tolist()
        for other in others:
            assert type(other) is type(rng)
            assert other.integers(2**32, size=10, dtype=np.uint32).tolist() == expected

    def test_a_pickled_generator_spawns_the_same_children(self):
        bit_generator = sq.AES256(5)
        bit_generator.spawn(2)
        other = pickle.loads(pickle.dumps(bit_generator))
        assert other.spawn(1)[0].random_raw() == bit_generator.spawn(1)[0].random_raw()

    def test_a_subclass_is_pickled(self):
        other = pickle.loads(pickle.dumps(Subclass(5).advance(3)))
        assert type(other) is Subclass and other.state == Subclass(5).advance(3).state
        with pytest.raises(ValueError, match="Subclass"):
            other.state = sq.AES256(5).state

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"bit_generator": "PCG64"}, ValueError),
            ({"state": {}}, KeyError),
            ({"state": {"key": KEY}}, KeyError),
            ({"state": {"key": KEY[1:], "position": 0}}, ValueError),
            ({"state": {"key": KEY.hex(), "position": 0}}, TypeError),
            ({"state": {"key": 5, "position": 0}}, TypeError),
            ({"state": {"key": KEY, "position": 1.5}}, TypeError),
            ({"state": {"key": KEY, "position": "1"}}, TypeError),
            ({"has_uint32": 1, "uinteger": 2**32}, OverflowError),
            ({"has_uint32": 1, "uinteger": -1}, OverflowError),
        ],
    )
    def test_invalid_states_change_nothing(self, change, error):
        bit_generator = sq.AES256(key=KEY).advance(5)
        before = bit_generator.state
        with pytest.raises(error):
            bit_generator.state = {**before, **change}
        assert bit_generator.state == before
        assert bit_generator.random_raw() == words_of_stream(5, 1)[0]

    @pytest.mark.parametrize("state", [None, 5, "state", [], ()])
    def test_states_of_invalid_types(self, state):
        with pytest.raises(TypeError, match="dict"):
            sq.AES256(5).state = state

    def test_advance(self):
        for steps in [0, 1, 2, 3, 511, 512, 513, 10_001]:
            assert sq.AES256(key=KEY).advance(steps).random_raw() == words_of_stream(steps, 1)[0]
        bit_generator = sq.AES256(key=KEY)
        assert bit_generator.advance(1000) is bit_generator
        assert bit_generator.advance(np.int64(-400)).random_raw() == words_of_stream(600, 1)[0]
        assert bit_generator.state["state"]["position"] == 601

    def test_advance_discards_half_a_word(self):
        rng = np.random.Generator(sq.AES256(key=KEY))
        rng.integers(2**32, dtype=np.uint32)
        assert rng.bit_generator.state["has_uint32"] == 1
        assert rng.bit_generator.advance(0).state["has_uint32"] == 0

    @pytest.mark.parametrize("steps", [1.5, "1", None])
    def test_steps_that_are_no_integers(self, steps):
        with pytest.raises(TypeError):
            sq.AES256(5).advance(steps)
        with pytest.raises(TypeError):
            sq.AES256(5).jumped(steps)

    @pytest.mark.parametrize("draw", ["random_raw", "one by one", "random", "bytes"])
    @pytest.mark.parametrize("before", [1, 2, 3, 512, 700])
    def test_after_the_last_word_comes_the_first(self, draw, before):
        bit_generator = sq.AES256(key=KEY).advance(-before)
        assert bit_generator.state["state"]["position"] == PERIOD - before
        last = sq.AES256(key=KEY).advance(PERIOD - before)
        end = [last.random_raw() for _ in range(before)]
        expected = np.array(end + words_of_stream(0, 20_000 - before).tolist(), np.uint64)
        if draw == "random_raw":
            assert np.array_equal(bit_generator.random_raw(20_000), expected)
        elif draw == "one by one":
            assert [bit_generator.random_raw() for _ in range(before + 10)] == expected[: before + 10].tolist()
            bit_generator.advance(20_000 - before - 10)
        elif draw == "random":
            assert np.array_equal(sq.Generator(bit_generator).random(20_000), (expected >> np.uint64(11)) * 2.0**-53)
        else:
            assert sq.Generator(bit_generator).bytes(160_000) == expected.astype("<u8").tobytes()
        assert bit_generator.state["state"]["position"] == 20_000 - before
        # The end of the period is not its beginning.
        assert end[-1] != words_of_stream(0, 1)[0]
        assert sq.AES256(key=KEY).advance(PERIOD).random_raw() == words_of_stream(0, 1)[0]
        assert sq.AES256(key=KEY).advance(-5 * PERIOD + 3).random_raw() == words_of_stream(3, 1)[0]

    def test_jumped(self):
        bit_generator = sq.AES256(key=KEY).advance(5)
        bit_generator.spawn(1)
        for jumps in [0, 1, 3, -1, np.int8(2)]:
            other = bit_generator.jumped(jumps)
            assert type(other) is sq.AES256
            assert other.state["state"] == {"key": KEY, "position": (5 + int(jumps) * 2**64) % PERIOD}
        assert bit_generator.state["state"]["position"] == 5
        assert not repeated(bit_generator.jumped(jumps).random_raw() for jumps in range(50))
        assert bit_generator.jumped().random_raw() == bit_generator.jumped(1).random_raw()

    def test_spawn(self):
        children = sq.AES256(5).spawn(3) + sq.AES256(6).spawn(3) + sq.AES256(key=KEY).spawn(3)
        assert {type(child) for child in children} == {sq.AES256}
        assert not repeated(child.random_raw() for child in children)
        again = sq.AES256(5)
        assert [child.random_raw() for child in [*again.spawn(1), *again.spawn(2)]] == [
            child.random_raw() for child in sq.AES256(5).spawn(3)
        ]
        assert len(np.random.Generator(sq.AES256(5)).spawn(2)) == len(sq.default_rng(5).spawn(2)) == 2

    def test_children_of_a_seed_and_of_a_key_differ(self):
        one, other = sq.AES256(KEY), sq.AES256(key=KEY)
        assert one.random_raw() != other.random_raw()
        assert not repeated(child.random_raw() for child in one.spawn(3) + other.spawn(3))
        (child,) = sq.AES256(key=KEY).spawn(1)
        assert child.random_raw() == sq.AES256(key=KEY).spawn(1)[0].random_raw()


class Subclass(sq.AES256):
    pass


@pytest.mark.parametrize("make", [sq.Squall, lambda: sq.AES256(5)])
def test_it_cannot_be_initialised_twice(make):
    """The generators that draw from it would draw from memory that is free."""
    bit_generator = make()
    rng = np.random.Generator(bit_generator)
    with pytest.raises(TypeError, match="twice"):
        bit_generator.__init__()
    rng.random(1000)


def test_the_words_live_as_long_as_the_bit_generator():
    """Whatever is deleted; the generators that draw from it would draw from memory that is free."""
    bit_generator = sq.AES256(key=KEY)
    rng = np.random.Generator(bit_generator)
    del bit_generator._words
    others = [sq.AES256(5) for _ in range(100)]
    assert np.array_equal(rng.integers(2**64, size=5000, dtype=np.uint64), words_of_stream(0, 5000))
    assert len(others) == 100
    with pytest.raises(TypeError, match="twice"):
        bit_generator.__init__(5)


@pytest.mark.parametrize("make", [sq.Squall, lambda: sq.AES256(5)])
def test_the_words_are_freed_with_the_bit_generator(make):
    bit_generator = make()
    rng, words = np.random.Generator(bit_generator), bit_generator._words
    rng.random(10)
    del rng, bit_generator
    gc.collect()
    # This variable and the argument, which Python 3.14 and later may not count.
    assert sys.getrefcount(words) <= 2


def test_a_bit_generator_has_words_once():
    bit_generator = sq.AES256(key=KEY)
    for again in [lambda: sq._SeededWords(bit_generator.capsule, KEY), lambda: sq._UnrepeatableWords(bit_generator.capsule)]:
        with pytest.raises(TypeError, match="already"):
            again()
    assert bit_generator.random_raw() == words_of_stream(0, 1)[0]


@pytest.mark.parametrize(("make", "repeats"), [(sq.Squall, 0), (lambda: sq.AES256(5), 49)])
def test_a_generator_keeps_its_bit_generator(make, repeats):
    drawn = []
    for _ in range(50):
        rng = np.random.Generator(make())
        rng.bit_generator.spawn(5)
        drawn.append(rng.random())
    kept = np.random.Generator(make())
    assert kept.random(2000).min() >= 0
    assert repeated(drawn) == repeats
