"""squall.dask: every array equals a reference that is written here and draws from answers.py, whatever the chunks."""

import hashlib
import itertools
import math
import statistics

import pytest

np = pytest.importorskip("numpy")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import squall.dask  # noqa: E402
import squall.random  # noqa: E402
from answers import derived, words  # noqa: E402
from helpers import KINDS, array  # noqa: E402
from squall import _squall  # noqa: E402

SEEDS = [0, 2026, 1 << 300, b"bytes", "text", [1, "two", b"three", [4]]]
NORMAL = statistics.NormalDist()


def reference_integers(low, span, seed, count):
    """Of one word each, or, of more than 2**32 integers whose number is no power of two, of two words."""
    if span <= 1 << 32 or span & (span - 1) == 0:
        return [low + (word * span >> 64) for word in words(derived("elements integer", seed), count)]
    drawn = words(derived("elements wide integer", seed), 2 * count)
    return [low + ((lower + (upper << 64)) * span >> 128) for lower, upper in zip(drawn[::2], drawn[1::2])]


def reference(kind, seed, count):
    match kind:
        case "integer":
            return reference_integers(-50, 1050, seed, count)
        case "wide integer":
            return reference_integers(-50, 10**12 + 50, seed, count)
    drawn = words(derived(f"elements {kind}", seed), count)
    match kind:
        case "uniform":
            return [(word >> 11) / 2**53 for word in drawn]
        case "normal":
            return [NORMAL.inv_cdf(((word >> 12) + 0.5) / 2**52) for word in drawn]
    return drawn


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_the_elements_are_the_reference(kind, seed):
    shape = (7, 11, 15)
    expected = np.array(reference(kind, seed, math.prod(shape))).reshape(shape)
    result = array(kind, shape, seed=seed).compute()
    if kind == "normal":
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=0)
    else:
        np.testing.assert_array_equal(result, expected)


def cuts(length, parts):
    """Return at most `parts` chunks of unequal lengths."""
    ends = sorted({length * (part + 1) ** 2 // parts**2 for part in range(parts)} - {0})
    return tuple(end - start for start, end in zip([0, *ends], ends))


@pytest.mark.parametrize("shape", [(1,), (1021,), (37, 29), (1, 64), (13, 8, 9), (5, 1, 513)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_chunks_do_not_matter(kind, shape):
    whole = array(kind, shape, -1, 7).compute()
    assert whole.shape == shape
    for parts in [2, 7]:
        even = tuple(-(-length // parts) for length in shape)
        odd = tuple(cuts(length, parts) for length in shape)
        for chunks in [even, odd]:
            parted = array(kind, shape, chunks, 7)
            assert parted.dtype == whole.dtype
            np.testing.assert_array_equal(parted.compute(scheduler="threads"), whole)


@pytest.mark.parametrize("kind", [*KINDS, "permutation"])
def test_a_part_alone_is_the_part_of_the_whole(kind):
    shape = (1000,) if kind == "permutation" else (100, 30)
    x = array(kind, shape, 17, 3)
    whole = x.compute()
    for part in [np.s_[5], np.s_[16:35:3], np.s_[-1:], np.s_[::-1]]:
        np.testing.assert_array_equal(x[part].compute(), whole[part])


def test_only_the_chunks_that_are_needed_are_made(monkeypatch):
    made = []
    fill = _squall.fill_elements
    monkeypatch.setattr(_squall, "fill_elements", lambda *all: made.append(all) or fill(*all))
    x = squall.dask.random((100, 30), (10, 10), seed=1)
    x[5:9, 12:27].compute(scheduler="synchronous")
    assert len(made) == 2
    x.compute(scheduler="synchronous")
    assert len(made) == 2 + 30


def test_chunks_that_begin_far_out():
    shape = (3, 1 << 62)
    position = 2 * shape[1] + (1 << 61) + 5
    part = squall.dask._generate_block("word", bytes(32), shape, (2, (1 << 61) + 5), (1, 3))
    words = squall.random.AES256(key=bytes(32)).advance(position)
    np.testing.assert_array_equal(part, [words.random_raw(3)])


def test_shapes_of_all_sorts():
    for shape in [(), 0, 5, (0, 3), np.int64(4), [2, 3], (np.int32(2), 3)]:
        assert squall.dask.random(shape, seed=1).compute().shape == np.empty(shape).shape
    assert squall.dask.normal(seed=1).compute() == squall.dask.normal(shape=1, seed=1).compute()[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda chunks: squall.dask.random((10, 6), chunks),
        lambda chunks: squall.dask.normal(shape=(10, 6), chunks=chunks),
        lambda chunks: squall.dask.integers(6, shape=(10, 6), chunks=chunks),
        lambda chunks: squall.dask.words((10, 6), chunks),
        lambda chunks: squall.dask.random((0, 6), chunks),
        lambda chunks: squall.dask.permutation(10, chunks),
    ],
)
def test_invalid_chunks(make):
    axes = make(-1).ndim
    for length in [0, -2, -5, 1 << 100, math.nan, 1.5, "elements", object(), (5, -5, 10), (5, "x"), (5, math.nan)]:
        for chunks in [length, (3, length)[-axes:], (1, 2, 3)]:
            with pytest.raises(ValueError):
                make(chunks)
    with pytest.raises(ValueError, match="the chunks are 0: each must have at least one element"):
        make(0)


@pytest.mark.parametrize(
    ("function", "arguments", "named", "error"),
    [
        ("random", (-1,), {}, ValueError),
        ("random", ((2, -1),), {}, ValueError),
        ("random", ((1 << 32, 1 << 32),), {}, ValueError),
        ("random", (1.5,), {}, TypeError),
        ("random", ("12",), {}, TypeError),
        ("random", (3,), {"seed": -1}, ValueError),
        ("random", (3,), {"seed": 1.5}, TypeError),
        ("normal", ((1000, 1000), 1, 3), {}, TypeError),
        ("normal", (0, -1, 3), {}, ValueError),
        ("normal", (0, math.nan, 3), {}, ValueError),
        ("normal", ("a", 1, 3), {}, ValueError),
        ("integers", (0, None, 3), {}, ValueError),
        ("integers", (5, 4, 3), {"endpoint": True}, ValueError),
        ("integers", (0, 1 << 64, 3), {}, ValueError),
        ("integers", (-(1 << 63) - 1, 0, 3), {}, ValueError),
        ("integers", (0, 257, 3), {"dtype": "uint8"}, ValueError),
        ("integers", (-1, 5, 3), {"dtype": "uint64"}, ValueError),
        ("integers", (0, 2, 3), {"dtype": "float64"}, ValueError),
        ("integers", (0, 1.5, 3), {}, TypeError),
        ("integers", ((3, 3), None, 3), {}, TypeError),
        ("permutation", (-1,), {}, ValueError),
        ("permutation", (1 << 63,), {}, ValueError),
        ("permutation", (2.0,), {}, TypeError),
    ],
)
def test_invalid_arguments(function, arguments, named, error):
    with pytest.raises(error):
        getattr(squall.dask, function)(*arguments, **named)


# Normally distributed numbers.


def words_of_all_sizes():
    yield from (0, (1 << 64) - 1, 1 << 63, (1 << 63) - 1)
    for bit, odd in itertools.product(range(12, 64), [1, 3, 5, 0x5555]):
        word = odd << bit & (1 << 64) - 1
        yield from (word, (1 << 64) - 1 - word)


def test_the_quantile_function_to_its_tails():
    for word in words_of_all_sizes():
        p = ((word >> 12) + 0.5) / 2**52
        x = _squall.normal_of_word(word)
        assert x == pytest.approx(NORMAL.inv_cdf(p), rel=1e-14, abs=1e-16)
        # The probability of being further out, by the C library's error function.
        assert math.erfc(abs(x) / math.sqrt(2)) / 2 == pytest.approx(min(p, 1 - p), rel=1e-13)
        assert _squall.normal_of_word((1 << 64) - 1 - word) == -x
    assert 8.2 < _squall.normal_of_word((1 << 64) - 1) < 8.21


def test_mean_and_deviation():
    standard = squall.dask.normal(shape=1000, seed=1).compute()
    for loc, scale in [(0, 2), (5, 1), (-1e3, 1e-3), (np.float32(2), 0)]:
        x = squall.dask.normal(loc, scale, 1000, 300, seed=1).compute()
        np.testing.assert_array_equal(x, standard * float(scale) + float(loc))


# Integers.


@pytest.mark.parametrize(
    "low, high, endpoint, dtype",
    [
        (0, 1, False, "int64"),
        (7, 7, True, "int8"),
        (-128, 127, True, "int8"),
        (0, 256, False, "uint8"),
        (-(1 << 63), 1 << 63, False, "int64"),
        (-(1 << 63), (1 << 63) - 1, True, "int64"),
        (0, 1 << 64, False, "uint64"),
        ((1 << 63) - 1, 1 << 63, False, "int64"),
        (np.int8(-128), np.int8(127), False, "int64"),
        (0, 1 << 32, False, "int64"),
        (0, (1 << 32) + 1, False, "int64"),
        (-5, (1 << 33) - 5, False, "int64"),
        (0, 3 << 62, False, "uint64"),
        (-(10**15), 10**15, True, "int64"),
    ],
)
def test_integers_to_the_edges(low, high, endpoint, dtype):
    x = squall.dask.integers(low, high, 500, 130, dtype=dtype, endpoint=endpoint, seed=1)
    result = x.compute()
    assert result.dtype == x.dtype == dtype
    span = int(high) - int(low) + endpoint
    assert result.tolist() == reference_integers(int(low), span, 1, 500)


@pytest.mark.parametrize("kind", ["i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("bits", [7, 15, 31, 40, 63])
def test_integers_of_both_byte_orders(kind, bits):
    high = min((1 << bits) - 3, np.iinfo(kind).max)
    arrays = [squall.dask.integers(high, shape=300, dtype=order + kind, seed=1) for order in "<>"]
    little, big = dask.compute(*arrays)
    assert (little.dtype, big.dtype) == (np.dtype("<" + kind), np.dtype(">" + kind))
    assert little.tolist() == big.tolist() == reference_integers(0, int(high), 1, 300)


def test_integers_of_large_spans_have_no_bias():
    """Of 64 bits, each third of 3 * 2**62 integers would come twice as often as others.

    Integers divisible by 3 would come with a probability of 1/2 instead of 1/3; the limit is far from both.
    """
    span, count = 3 << 62, 20_000
    divisible = (squall.dask.integers(0, span, count, dtype="u8", seed=1).compute() % 3 == 0).sum()
    of_one_word = [word * span >> 64 for word in words(bytes(32), count)]
    assert divisible < 8_300 < sum(integer % 3 == 0 for integer in of_one_word)


def test_integers_below():
    x = squall.dask.integers(6, shape=1000, seed=1).compute()
    assert set(x.tolist()) == {0, 1, 2, 3, 4, 5}
    np.testing.assert_array_equal(x, squall.dask.integers(0, 6, 1000, seed=1).compute())


# Permutations.


@pytest.mark.parametrize("n", [0, 1, 2, 3, 255, 256, 257, 65_536, 65_537, 10**5, 1 << 18])
def test_a_permutation_is_one(n):
    x = squall.dask.permutation(n, max(1, n // 3), seed=1)
    result = x.compute()
    assert result.dtype == np.int64
    np.testing.assert_array_equal(np.sort(result), np.arange(n))
    np.testing.assert_array_equal(squall.dask.permutation(n, seed=1).compute(), result)
    if n > 20:
        other = squall.dask.permutation(n, seed=2).compute()
        # Two random permutations agree in one place on average.
        assert (other == result).sum() < 30
        assert (result == np.arange(n)).sum() < 30
        differences = np.diff(result)
        assert np.unique(differences).size > differences.size / 3


@pytest.mark.parametrize("n", [1000, 65_535, 65_536, 65_537, 10**5])
def test_permutations_of_n_and_of_one_more_are_independent(n):
    """Two random permutations agree in one place on average, and in 30 with a probability below 1e-32."""
    one, other = (squall.dask.permutation(length, seed=1).compute() for length in (n, n + 1))
    assert (one == other[:n]).sum() < 30
    # After a shift by one, and where each number is.
    assert (one == other[1:]).sum() < 30
    assert (np.argsort(one) == np.argsort(other)[:n]).sum() < 30


def test_permutations_of_one_key_depend_on_n():
    one, other = (squall.dask._generate_permutation(bytes(32), n, 0, 1000) for n in (10**5, 10**5 + 1))
    assert (one == other).sum() < 30


def test_all_orders_of_a_few_numbers_come():
    for n in [2, 3, 4]:
        orders = {tuple(squall.dask.permutation(n, seed=seed).compute()) for seed in range(400)}
        assert len(orders) == math.factorial(n)


def is_odd(order):
    """Whether a permutation is: the numbers that it has, less its cycles."""
    order, cycles = list(order), 0
    for start in range(len(order)):
        cycles += order[start] is not None
        while order[start] is not None:
            order[start], start = None, order[start]
    return (len(order) - cycles) % 2 == 1


@pytest.mark.parametrize("n", [16, 1 << 16, 1 << 17, 1 << 18])
def test_permutations_are_of_both_parities(n):
    """Also where a power of four leaves the network nothing to walk over."""
    orders = (squall.dask.permutation(n, seed=seed).compute().tolist() for seed in range(8))
    assert {is_odd(order) for order in orders} == {False, True}


def test_control_a_network_alone_is_even():
    def network(key, half):
        for number in range(1 << 2 * half):
            left, right = number >> half, number % (1 << half)
            for part in range(10):
                digest = hashlib.sha256(f"{key} {part} {right}".encode()).digest()
                left, right = right, left ^ int.from_bytes(digest) % (1 << half)
            yield left << half | right

    orders = [list(network(key, 4)) for key in range(20)]
    assert all(sorted(order) == list(range(256)) for order in orders)
    assert {is_odd(order) for order in orders} == {False}


def test_a_permutation_of_more_than_memory_holds():
    n = (1 << 63) - 1
    part = squall.dask._generate_permutation(bytes(32), n, n - 1000, 1000)
    assert len(set(part.tolist())) == 1000 and part.min() >= 0
    assert part.max() > 1 << 61


# Without a seed.


@pytest.mark.parametrize("kind", [*KINDS, "permutation"])
def test_without_a_seed_parts_agree_and_arrays_differ(kind):
    shape = (500,)
    one, other = array(kind, shape, 99), array(kind, shape, 99)
    assert one.name != other.name
    first = one.compute()
    np.testing.assert_array_equal(one.compute(), first)
    np.testing.assert_array_equal(one[123:345].compute(), first[123:345])
    assert (first != other.compute()).any()


def test_names_say_what_an_array_is():
    one, same = array("uniform", (9,), 2, 1), array("uniform", (9,), 2, 1)
    assert one.name == same.name
    names = {array(kind, (9,), 2, seed).name for kind in KINDS for seed in [1, 2, "1", [1]]}
    assert len(names) == 4 * len(KINDS)
    assert one.name.startswith("squall_array-")
