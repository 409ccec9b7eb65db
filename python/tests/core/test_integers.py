"""Integers below a bound, and of some number of bits."""

import sys

import pytest

import squall
from helpers import need

BOUNDS = [
    *range(1, 70),
    *(2**bits + more for bits in [8, 31, 32, 33, 53, 63, 64, 65, 127, 128, 200, 4096] for more in [-1, 0, 1]),
]


@pytest.mark.parametrize("bound", BOUNDS)
def test_randbelow_is_in_range(bound):
    numbers = [squall.randbelow(bound) for _ in range(200)]
    assert all(type(number) is int and 0 <= number < bound for number in numbers)
    # One half, or a parity, is missed with a probability of at most 2**-100.
    if bound > 2**50:
        assert min(numbers) < bound // 2 <= max(numbers)
        assert {number % 2 for number in numbers} == {0, 1}


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 7, 100])
def test_randbelow_reaches_all_numbers(bound):
    # The probability that one is missing is below 100 * 0.99**6000 < 1e-24.
    assert {squall.randbelow(bound) for _ in range(6000)} == set(range(bound))


def test_randbelow_has_no_bias():
    """For 3 * 2**62, the upper half of a product alone would give each third number twice as often as others.

    Of 2**64 words, 2**62 must be rejected. Without it, numbers divisible by 3 come with a probability of 1/2
    instead of 1/3. Chernoff: among 20,000 numbers more than 8,300 come with a probability below 1e-80; and
    without the rejection fewer than 8,300 come as rarely.
    """
    bound, draws, limit = 3 * 2**62, 20_000, 8_300

    def without_rejection():
        return (squall.randbelow(2**64) * bound) >> 64

    def divisible_by_three(draw):
        return sum(draw() % 3 == 0 for _ in range(draws))

    assert divisible_by_three(lambda: squall.randbelow(bound)) < limit
    assert divisible_by_three(without_rejection) > limit


class Index:
    def __init__(self, value):
        self.value, self.calls = value, 0

    def __index__(self):
        self.calls += 1
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    ("bound", "error", "words"),
    [
        *((bound, ValueError, "must be positive") for bound in [0, -1, -(2**63), -(2**64), False, Index(-5)]),
        *((bound, TypeError, "integer") for bound in [1.0, "5", None, [5]]),
        (Index(KeyError("mine")), KeyError, "mine"),
    ],
)
def test_bounds_that_are_none(bound, error, words):
    with pytest.raises(error, match=words):
        squall.randbelow(bound)


def test_other_integers():
    assert squall.randbelow(True) == 0
    assert squall.randbelow(Index(1)) == 0
    assert 0 <= squall.randbelow(index := Index(2**100)) < 2**100
    assert index.calls == 1


def test_integers_of_numpy():
    numpy = need("numpy")
    for kind in (numpy.int8, numpy.uint64):
        assert type(squall.randbelow(kind(100))) is int
    assert 0 <= squall.randbelow(numpy.uint64(2**64 - 1)) < 2**64
    assert squall.randbelow(numpy.array(1)) == 0
    for bound, error in [
        (numpy.int8(-1), ValueError),
        (numpy.array([1, 2]), TypeError),
        (numpy.float64(3), TypeError),
    ]:
        with pytest.raises(error):
            squall.randbelow(bound)


@pytest.mark.parametrize("bits", [0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 100_003])
def test_getrandbits(bits):
    draw = squall.Random().getrandbits
    numbers = [draw(bits) for _ in range(100)]
    assert all(type(number) is int and 0 <= number < 2**bits for number in numbers)
    # Each bit is set in some number and not in another, but with a probability of 2**-99.
    ones, zeros = 0, 2**bits - 1
    for number in numbers:
        ones |= number
        zeros &= number
    assert bits > 1000 or (ones, zeros) == (2**bits - 1, 0)


@pytest.mark.parametrize(
    ("bits", "error"), [(-1, ValueError), (1.0, TypeError), ("1", TypeError), (sys.maxsize + 1, OverflowError)]
)
def test_invalid_numbers_of_bits(bits, error):
    with pytest.raises(error):
        squall.Random().getrandbits(bits)
