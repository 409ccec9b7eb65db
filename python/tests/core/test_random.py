"""squall.Random has every method of random.Random."""

import _thread
import collections
import functools
import math
import operator
import random
import signal
import sys

import pytest

import squall
from helpers import COPIES, repeated
from squall import _squall

# Those that squall has, and some that are made of them. The rest is random.SystemRandom's.
CALLS = {
    "choice": (["a", "b"],),
    "gauss": (),
    "getrandbits": (70,),
    "normalvariate": (),
    "randbytes": (20,),
    "randrange": (5, 50, 5),
    "random": (),
    "sample": (range(10**12), 3),
    "seed": (5,),
    "shuffle": ([3, 4],),
    "uniform": (2.0, 3.0),
}


@pytest.mark.parametrize("method", CALLS)
def test_methods(method):
    """The same type as from random.Random, and numbers that differ."""
    call = CALLS[method]
    result = getattr(squall.Random(), method)(*call)
    assert type(result) is type(getattr(random.Random(), method)(*call))
    if method in ("random", "gauss", "uniform", "randbytes", "getrandbits", "normalvariate"):
        assert not repeated(getattr(squall.Random(), method)(*call) for _ in range(3))


def test_it_has_no_state():
    with pytest.raises(NotImplementedError):
        squall.Random().getstate()
    with pytest.raises(NotImplementedError):
        squall.Random().setstate(())


def test_random():
    draw = squall.Random().random
    numbers = [draw() for _ in range(5000)]
    assert all(0 <= number < 1 and (number * 2**53).is_integer() for number in numbers)
    assert {math.floor(16 * number) for number in numbers} == set(range(16))
    # The last bit varies.
    assert {int(number * 2**53) % 2 for number in numbers} == {0, 1}


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("randrange", (0,), ValueError),
        ("choice", ([],), IndexError),
        ("randbytes", (-1,), ValueError),
        ("randbytes", ("1",), TypeError),
        ("getrandbits", (-1,), ValueError),
        ("shuffle", ((1, 2),), TypeError),
    ],
)
def test_errors_are_those_of_the_standard_library(method, arguments, error):
    for rng in (random.SystemRandom(), squall.Random()):
        with pytest.raises(error):
            getattr(rng, method)(*arguments)


class SubclassOfList(list):
    """Has methods of its own, which `shuffle` has to call."""

    changes = 0

    def __setitem__(self, at, item):
        self.changes += 1
        super().__setitem__(at, item)


@pytest.mark.parametrize("kind", [list, collections.UserList, bytearray, SubclassOfList])
def test_shuffle(kind):
    rng = squall.Random()
    shuffled = kind(range(200))
    assert rng.shuffle(shuffled) is None
    # The same order has a probability of 1 / 200!.
    assert list(shuffled) != list(range(200))
    assert sorted(shuffled) == list(range(200))
    if kind is SubclassOfList:
        assert shuffled.changes >= 199
    for small in ([], [1]):
        rng.shuffle(same := kind(small))
        assert list(same) == small


def test_shuffle_reaches_every_order():
    def order():
        items = [0, 1, 2, 3]
        squall.Random().shuffle(items)
        return tuple(items)

    # The probability that one of 24 is missing is below 24 * (23/24)**3000 < 1e-53.
    assert len({order() for _ in range(3000)}) == 24


def test_shuffle_keeps_references():
    items = [object() for _ in range(100)]
    counts = [sys.getrefcount(item) for item in items]
    shuffled = list(items)
    for _ in range(100):
        squall.Random().shuffle(shuffled)
    del shuffled
    assert [sys.getrefcount(item) for item in items] == counts


def test_gauss_keeps_nothing():
    """random.Random keeps every second number; a fork would repeat it."""

    def kept(rng):
        rng.gauss()
        return rng.gauss_next

    assert kept(squall.Random()) is None
    assert kept(random.SystemRandom()) is not None


def test_it_is_a_random():
    rng = squall.Random(5)
    assert isinstance(rng, random.SystemRandom)
    rng.seed(5)
    one = rng.random()
    rng.seed(5)
    assert rng.random() != one
    assert squall.Random(5).random() != squall.Random(5).random()


class Named(squall.Random):
    def __init__(self, name):
        super().__init__()
        self.name = name


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_copies_are_new_and_have_the_attributes(duplicate):
    for rng in [squall.Random(), Named("mine")]:
        other = duplicate(rng)
        assert type(other) is type(rng) and vars(other) == vars(rng)
        other.name = "another"
        assert "another" not in vars(rng).values()
        assert not repeated(each.random() for each in [rng, other] * 10)
    control = random.Random(5)
    assert repeated(each.random() for each in [control, duplicate(control)]) == 1


class Lowest(squall.Random):
    """Its numbers are 0."""

    def random(self):
        return 0.0


class OfRandom(random.Random):
    random = Lowest.random


def test_what_a_subclass_overrides_is_used_by_the_other_methods():
    """As in random.Random."""

    class Loaded(squall.Random):
        def getrandbits(self, k):
            return 1

    def order(rng):
        rng.shuffle(items := list(range(100)))
        return items

    assert Loaded().randrange(2**40) == 1
    assert Lowest().uniform(3, 4) == 3
    assert order(Lowest()) == order(OfRandom())
    # What an instance has.
    rng = squall.Random()
    rng._randbelow = lambda n: 0
    assert order(rng) == order(Lowest())


def test_a_signal_interrupts_a_long_shuffle():
    """It is pending when the shuffle begins, because nothing between is run by the interpreter."""

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    items = list(range(1 << 20))
    calls = [
        functools.partial(_thread.interrupt_main, signal.SIGUSR1),
        functools.partial(_squall.shuffle, items),
    ]
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(Interrupted):
            collections.deque(map(operator.call, calls), maxlen=0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert sum(at == item for at, item in enumerate(items)) > len(items) // 2
    assert sorted(items) == list(range(1 << 20))
