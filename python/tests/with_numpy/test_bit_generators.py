"""Squall, which nobody can repeat, and AES256, which continues exactly."""

import gc
import sys

import pytest

import squall
from helpers import COPIES, need, repeated
from squall import _squall

np = need("numpy")
sq = need("squall.random")

KEY = bytes(range(32))
PERIOD = 2**128


def words_of_stream(first, count):
    stream = squall.Stream(KEY)
    stream.seek(8 * first)
    return np.frombuffer(stream.read(8 * count), "<u8")


class TestSquall:
    def test_words_differ(self):
        one, other = sq.Squall(), sq.Squall()
        words = np.concatenate([one.random_raw(2_000), other.random_raw(2_000)])
        # The probability of a repeat among 5,000 words is 2**-40.
        assert not repeated([*words.tolist(), *(one.random_raw() for _ in range(1000))])
        assert np.bitwise_or.reduce(words) == 2**64 - 1
        assert np.bitwise_and.reduce(words) == 0

    @pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
    def test_copies_are_new(self, duplicate):
        bit_generator = sq.Squall()
        bit_generator.random_raw()
        other = duplicate(bit_generator)
        assert type(other) is sq.Squall and other is not bit_generator
        assert not repeated([*bit_generator.random_raw(100).tolist(), *other.random_raw(100).tolist()])
        # The control.
        theirs = np.random.PCG64(5)
        assert duplicate(theirs).random_raw() == theirs.random_raw()

    def test_spawn(self):
        children = sq.Squall().spawn(50)
        assert sq.Squall().spawn(0) == []
        for rng in [np.random.Generator(sq.Squall()), sq.default_rng()]:
            children += [child.bit_generator for child in rng.spawn(3)]
        assert {type(child) for child in children} == {sq.Squall}
        assert not repeated(child.random_raw() for child in children)

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


class TestAES256:
    def test_a_key_gives_the_words_of_a_stream(self):
        assert np.array_equal(sq.AES256(key=KEY).random_raw(5000), words_of_stream(0, 5000))
        bit_generator = sq.AES256(key=KEY)
        drawn = [bit_generator.random_raw() for _ in range(1500)]
        assert drawn == words_of_stream(0, 1500).tolist()
        for first in [0, 1, 2, 3, 511, 512, 513, 10_001, 2**60 - 1]:
            assert sq.AES256(key=KEY).advance(first).random_raw() == words_of_stream(first, 1)[0]
        for key in [bytearray(KEY), memoryview(KEY), np.frombuffer(KEY, np.uint8)]:
            assert sq.AES256(key=key).random_raw() == drawn[0]

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
        with pytest.raises(TypeError, match="both"):
            sq.AES256(5, key=KEY)

    def test_seeds(self):
        """That all bits of a seed count is tested of SeedSequence."""
        for seed in [np.random.SeedSequence(5), sq.SeedSequence(5), ["a", 5, b"c", [1, [2]]], 2**1000]:
            assert sq.AES256(seed).random_raw() == sq.AES256(seed).random_raw()
        assert sq.AES256().random_raw() != sq.AES256(None).random_raw()
        for one, other in [(5, np.int8(5)), ([1, 2], np.array([1, 2])), ((1, 2), range(1, 3)), (b"a", bytearray(b"a"))]:
            assert sq.AES256(one).random_raw() == sq.AES256(other).random_raw()

    def test_invalid_seeds(self):
        for seed in [1.5, -0.5, None.__class__, object(), [None], [1.5], {1, 2}, {1: 2}, iter([1])]:
            with pytest.raises(TypeError, match="a seed is"):
                sq.AES256(seed)
        for seed in [-1, [-1], [1, [-(2**70)]], np.array([-1])]:
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
        others = [sq.AES256(), *(duplicate(bit_generator) for duplicate in COPIES.values())]
        others[0].state = state
        expected = rng.integers(2**32, size=3001, dtype=np.uint32).tolist()
        for other in others:
            assert type(other) is sq.AES256
            assert np.random.Generator(other).integers(2**32, size=3001, dtype=np.uint32).tolist() == expected
            assert other.state == bit_generator.state

    @pytest.mark.parametrize("wrap", [np.random.Generator, sq.Generator])
    @pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
    def test_generators_are_pickled(self, wrap, duplicate):
        rng = wrap(sq.Squall())
        assert duplicate(rng).random() != rng.random()
        rng = wrap(sq.AES256(5))
        rng.standard_normal(5)
        rng.integers(2**32, dtype=np.uint32)
        rng.spawn(2)
        other = duplicate(rng)
        assert type(other) is type(rng)
        assert other.bit_generator.state == rng.bit_generator.state
        # A copy may share the seed sequence, whose next child is another.
        if other.bit_generator.seed_seq is not rng.bit_generator.seed_seq:
            assert other.spawn(1)[0].random() == rng.spawn(1)[0].random()

    def test_a_subclass_is_pickled(self):
        other = COPIES["pickle"](Subclass(5).advance(3))
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
        with pytest.raises(TypeError, match="dict"):
            bit_generator.state = list(before.items())
        assert bit_generator.state == before
        assert bit_generator.random_raw() == words_of_stream(5, 1)[0]

    def test_advance(self):
        bit_generator = sq.AES256(key=KEY)
        assert bit_generator.advance(1000) is bit_generator
        assert bit_generator.advance(np.int64(-400)).random_raw() == words_of_stream(600, 1)[0]
        assert bit_generator.state["state"]["position"] == 601
        # Half a word is discarded.
        np.random.Generator(bit_generator).integers(2**32, dtype=np.uint32)
        assert bit_generator.state["has_uint32"] == 1
        assert bit_generator.advance(0).state["has_uint32"] == 0
        for method in [bit_generator.advance, bit_generator.jumped]:
            for steps in [1.5, "1", None]:
                with pytest.raises(TypeError):
                    method(steps)

    @pytest.mark.parametrize("draw", ["random_raw", "random", "bytes"])
    @pytest.mark.parametrize("before", [1, 2, 3, 512, 700])
    def test_after_the_last_word_comes_the_first(self, draw, before):
        bit_generator = sq.AES256(key=KEY).advance(-before)
        assert bit_generator.state["state"]["position"] == PERIOD - before
        last = sq.AES256(key=KEY).advance(PERIOD - before)
        end = [last.random_raw() for _ in range(before)]
        expected = np.array(end + words_of_stream(0, 20_000 - before).tolist(), np.uint64)
        if draw == "random_raw":
            assert np.array_equal(bit_generator.random_raw(20_000), expected)
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
        parents = [sq.AES256(5), sq.AES256(6), sq.AES256(KEY), sq.AES256(key=KEY)]
        assert not repeated(parent.random_raw() for parent in parents)
        children = [child for parent in parents for child in parent.spawn(3)]
        assert {type(child) for child in children} == {sq.AES256}
        assert not repeated(child.random_raw() for child in children)
        for make in [lambda: sq.AES256(5), lambda: sq.AES256(key=KEY)]:
            again = make()
            one, other = [*again.spawn(1), *again.spawn(2)], make().spawn(3)
            assert [child.random_raw() for child in one] == [child.random_raw() for child in other]


class Subclass(sq.AES256):
    pass


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
    with pytest.raises(TypeError, match="twice"):
        bit_generator.__init__()
    rng, words = np.random.Generator(bit_generator), bit_generator._words
    rng.random(10)
    del rng, bit_generator
    gc.collect()
    # This variable and the argument, which Python 3.14 and later may not count.
    assert sys.getrefcount(words) <= 2


def test_a_bit_generator_has_words_once():
    bit_generator = sq.AES256(key=KEY)
    for again in [lambda capsule: _squall.SeededWords(capsule, KEY), _squall.UnrepeatableWords]:
        with pytest.raises(TypeError, match="already"):
            again(bit_generator.capsule)
    assert bit_generator.random_raw() == words_of_stream(0, 1)[0]
