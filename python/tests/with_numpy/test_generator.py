"""squall.random.Generator has every method of numpy.random.Generator, for few numbers and for many."""

import inspect
import types

import pytest

from helpers import SIZED, need, repeated
from squall import _squall

np = need("numpy")
sq = need("squall.random")

KEY = bytes(range(32))
MANY = 10_000
OTHERS = ["bytes", "permutation", "permuted", "shuffle", "spawn"]
WITH_OUT = ["random", "standard_exponential", "standard_gamma", "standard_normal"]
OVER_SQUALL = {"squall's": sq.Generator, "NumPy's": lambda: np.random.Generator(sq.Squall())}
RNG = sq.Generator()


@pytest.fixture
def keys(monkeypatch):
    """The one-time keys are all the same known one; returns a list of those that were used."""
    used = []

    def words():
        used.append(KEY)
        return sq.AES256(key=KEY)

    monkeypatch.setattr(sq, "_OneTimeWords", words)
    monkeypatch.setattr(_squall, "fill_one_time_uniforms", lambda out: words()._words.uniforms(out))
    monkeypatch.setattr(_squall, "fill_one_time_integers", lambda *arguments: words()._words.integers(*arguments))
    return used


def expected(name, *arguments, **named):
    """The numbers of NumPy's generator under the known key."""
    return getattr(np.random.Generator(sq.AES256(key=KEY)), name)(*arguments, **named)


def test_all_methods_are_known():
    methods = {
        name for name in dir(np.random.Generator) if not name.startswith("_") and callable(getattr(sq.Generator, name))
    }
    assert methods == {*SIZED, *OTHERS}


def test_the_sizes_place_is_numpys():
    try:
        inspect.signature(np.random.Generator.normal)
    except ValueError:
        pytest.skip("the methods of this NumPy have no signatures")
    # The table has what is before it.
    places = {name: place for place, names in enumerate(sq._BEFORE_SIZE) for name in names.split()}
    for name in [*SIZED, *OTHERS]:
        parameters = list(inspect.signature(getattr(np.random.Generator, name)).parameters)
        assert ("size" in parameters) == (name in SIZED)
        if name in SIZED:
            assert list(inspect.signature(getattr(sq.Generator, name)).parameters) == parameters
        if name in {*SIZED} - {"random", "integers"}:
            assert places[name] == parameters.index("size") - 1


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("make", OVER_SQUALL)
def test_few_numbers(name, make):
    """No array of one generator is as one of another, nor as its own last one."""
    results = []
    for rng in [OVER_SQUALL[make](), OVER_SQUALL[make]()]:
        method = getattr(rng, name)
        results += [np.asarray(method(*SIZED[name], size=300)).tobytes() for _ in range(5)]
        one = method(*SIZED[name])
        assert np.shape(method(*SIZED[name], size=(3, 2)))[:2] == (3, 2)
        assert np.shape(one) == np.shape(method(*SIZED[name], size=1))[1:]
    assert not repeated(results)


@pytest.mark.parametrize("name", SIZED)
def test_many_numbers(name, keys):
    """They are NumPy's under a key of their own, however the size is given."""
    arguments = SIZED[name]
    method = getattr(RNG, name)
    whole = expected(name, *arguments, size=MANY)
    for drawn in [
        method(*arguments, MANY),
        method(*arguments, size=MANY),
        method(*arguments, size=np.int64(MANY)),
        method(*arguments, (MANY,)),
    ]:
        assert drawn.dtype == whole.dtype and np.array_equal(drawn, whole)
    assert np.array_equal(method(*arguments, size=(4, MANY // 4)), whole.reshape(4, MANY // 4, *whole.shape[1:]))
    assert np.array_equal(method(*arguments, size=[2, MANY]), expected(name, *arguments, size=(2, MANY)))
    assert keys == [KEY] * 6


@pytest.mark.parametrize("name", SIZED)
def test_control_few_numbers_have_no_key(name, keys):
    method = getattr(RNG, name)
    # Whose numbers are two standard_normal each.
    count = MANY // 2 - 1 if name == "multivariate_normal" else MANY - 1
    few = method(*SIZED[name], size=count)
    method(*SIZED[name], (3, 2))
    method(*SIZED[name])
    assert not keys
    assert not np.array_equal(few, expected(name, *SIZED[name], size=count))


@pytest.mark.parametrize("name", WITH_OUT)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, "f4", float])
@pytest.mark.parametrize("shape", [(MANY,), (100, 100, 2)])
def test_types_of_floats_and_arrays_to_fill(name, dtype, shape, keys):
    method, out = getattr(RNG, name), np.empty(shape, dtype)
    whole = expected(name, *SIZED[name], size=shape, dtype=dtype)
    drawn = method(*SIZED[name], size=shape, dtype=dtype)
    assert drawn.dtype == dtype and np.array_equal(drawn, whole)
    for size in [{}, {"size": shape}]:
        out.fill(2)
        assert method(*SIZED[name], dtype=dtype, out=out, **size) is out
        assert np.array_equal(out, whole)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", bool])
def test_types_of_integers(dtype, keys):
    high = 2 if dtype is bool else 100
    for drawn in [RNG.integers(high, size=MANY, dtype=dtype), RNG.integers(0, high - 1, MANY, dtype, True)]:
        assert drawn.dtype == dtype
        assert np.array_equal(drawn, expected("integers", high, size=MANY, dtype=dtype))


def test_parameters_that_are_arrays(keys):
    lows = np.arange(MANY)
    assert np.array_equal(
        RNG.integers(lows, lows + 7, size=(2, MANY)), expected("integers", lows, lows + 7, size=(2, MANY))
    )
    # The size follows from the arguments: Squall itself.
    keys.clear()
    drawn = RNG.normal(lows, 0.001)
    assert not keys and drawn.shape == (MANY,) and abs(drawn - lows).max() < 0.1


def test_choice(keys):
    weights = np.arange(1, 1001) / 500_500
    items = np.arange(60_000).reshape(20_000, 3)
    for first, named in [
        (1000, {"p": weights}),
        (1000, {"shuffle": False}),
        (items, {"replace": False, "axis": 0}),
    ]:
        assert np.array_equal(RNG.choice(first, MANY, **named), expected("choice", first, size=MANY, **named))


ERRORS = [
    ("random", (), {"size": -MANY}, ValueError),
    ("random", (), {"size": (-1, -MANY)}, ValueError),
    ("random", (), {"size": 1e5}, TypeError),
    ("random", (), {"size": "many"}, TypeError),
    ("random", (), {"size": MANY, "dtype": "i4"}, TypeError),
    ("random", (), {"size": MANY, "out": np.empty(3)}, ValueError),
    ("random", (), {"out": [0.0] * MANY}, (TypeError, ValueError)),
    ("normal", (0, -1, MANY), {}, ValueError),
    ("normal", (0, 1, MANY), {"size": MANY}, TypeError),
    ("integers", (5, 5, MANY), {}, ValueError),
    ("integers", (2, 1, MANY), {}, ValueError),
    ("integers", (0, 2**63 + 1, MANY), {}, ValueError),
    ("integers", (-(2**63) - 1, 0, MANY), {}, ValueError),
    ("integers", (), {"size": MANY}, TypeError),
    ("standard_normal", (MANY,), {"colour": "red"}, TypeError),
    ("choice", ([], MANY), {}, ValueError),
]


@pytest.mark.parametrize(("name", "arguments", "named", "error"), ERRORS)
def test_errors_are_numpys(name, arguments, named, error):
    for rng in [np.random.default_rng(), sq.default_rng(), sq.default_rng(5)]:
        with pytest.raises(error):
            getattr(rng, name)(*arguments, **named)


# One-time keys.


def test_one_time_words_are_aes256_under_their_key():
    bit_generators = [sq._OneTimeWords() for _ in range(20)]
    keys = [bit_generator._words.get()[0] for bit_generator in bit_generators]
    assert not repeated([*keys, bytes(32)])
    for bit_generator, key in zip(bit_generators, keys):
        assert np.array_equal(bit_generator.random_raw(2000), sq.AES256(key=key).random_raw(2000))


def first_of_arrays():
    draws = ["random", "standard_normal", "standard_exponential", "uniform"]
    return [getattr(RNG, name)(size=MANY)[:4].tobytes() for name in draws for _ in range(20)]


def test_keys_are_not_used_again():
    assert not repeated(first_of_arrays())


def test_control_with_one_key_arrays_repeat(keys):
    assert repeated(first_of_arrays()) >= 4 * 19


@pytest.fixture
def filled(monkeypatch):
    """Few numbers of `random` and `integers` are filled at once: NumPy would call a function for each."""
    counts = []
    for name in ["fill_uniforms", "fill_integers"]:
        fill = getattr(_squall, name)
        monkeypatch.setattr(_squall, name, lambda out, *bounds, fill=fill: (counts.append(out.size), fill(out, *bounds)))
    return counts


def test_uniforms_without_a_seed(filled):
    """All multiples of 2**-53 below 1 whose bits vary, and no two arrays are the same."""
    for size in [0, 1, (), (3, 0), (4, 5), [2, 3], np.int64(7), MANY - 1, MANY, (100, 101), 30_000]:
        one, other = RNG.random(size), RNG.random(size)
        assert one.shape == np.empty(size).shape and one.dtype == np.float64
        assert not repeated([*one.ravel()[:20], *other.ravel()[:20]])
        assert filled[-1] == one.size or one.size >= MANY
        if one.size >= MANY - 1:
            words = (one * 2.0**53).astype(np.uint64)
            assert np.array_equal(words * 2.0**-53, one) and 0 <= one.min() and one.max() < 1
            assert np.bitwise_or.reduce(words, None) == 2**53 - 1 and np.bitwise_and.reduce(words, None) == 0


@pytest.mark.parametrize("low", [-(2**63), -3, 0, 5])
@pytest.mark.parametrize("width", [1, 2, 6, 2**32 - 1, 2**32, 2**32 + 1, 3 * 2**61, 2**63 - 6])
def test_integers_without_a_seed(low, width, filled):
    drawn = RNG.integers(low, low + width, 3000)
    assert filled == [3000] and drawn.dtype == np.int64
    # The probability that a tenth at either end is missing is below 1e-130.
    distances = [int(number) - low for number in drawn]
    assert min(distances) >= 0 and max(distances) < width
    assert min(distances) <= width // 10 and max(distances) >= width - 1 - width // 10
    if width < 10:
        assert len(set(distances)) == width


def test_all_integers_without_a_seed(filled):
    drawn = RNG.integers(-(2**63), 2**63 - 1, 300, endpoint=True)
    assert filled and not repeated(drawn) and drawn.min() < 0 < drawn.max()
    assert np.bitwise_or.reduce(drawn) == -1 and np.bitwise_and.reduce(drawn) == 0


# Over AES256: NumPy's numbers, and the bit generator is then where NumPy's would leave it.


def check_it_is_numpys(draws, before=0, half=False):
    ours, theirs = sq.default_rng(5), np.random.Generator(sq.AES256(5))
    for rng in (ours, theirs):
        rng.bit_generator.random_raw(before)
        if half:
            rng.integers(2**32, dtype=np.uint32)
    for draw in draws:
        one, other = draw(ours), draw(theirs)
        assert one == other if isinstance(one, bytes) else np.array_equal(one, other)
        assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("name", SIZED)
def test_over_aes256_all_methods_are_numpys(name):
    sizes = [None, 3, MANY + 1, (100, 101), 5]
    check_it_is_numpys([lambda rng, size=size: getattr(rng, name)(*SIZED[name], size=size) for size in sizes])


DRAWS = {
    "random": lambda rng, count: rng.random(count),
    "integers": lambda rng, count: rng.integers(10**12, size=count),
    "bytes": lambda rng, count: rng.bytes(count),
    "bytes of words": lambda rng, count: rng.bytes(8 * count),
    "halves": lambda rng, count: rng.integers(2**32, size=count, dtype=np.uint32),
}


@pytest.mark.parametrize("before", [0, 1, 2, 510, 511, 512, 513])
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", DRAWS)
def test_over_aes256_at_all_places(name, before, half):
    """At every half of a word, at the ends of the buffer, and at the number from which it is passed."""
    for count in [0, 1, 2, 3, 4, 5, 7, 9, 17, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, MANY, 70_001]:
        draws = [lambda rng: DRAWS[name](rng, count)] * 3 + [lambda rng: rng.integers(2**32, size=3, dtype=np.uint32)]
        check_it_is_numpys(draws, before, half)


@pytest.mark.parametrize(
    "low, high",
    [
        (0, 1),
        (5, 7),
        (-3, 3),
        (0, 1000),
        (0, 2**31 + 1),
        (7, 2**32 + 6),
        (0, 2**32),
        (0, 2**32 + 1),
        (-5, 3 * 2**61),
        (-(2**63), 2**63),
    ],
)
def test_over_aes256_integers_of_all_ranges(low, high):
    draws = [lambda rng, size=size: rng.integers(low, high, size) for size in (MANY, (3, MANY))]
    draws.append(lambda rng: rng.integers(low, high - 1, MANY, endpoint=True))
    check_it_is_numpys(draws, half=True)


def test_bytes():
    rng = sq.default_rng()
    for length in [0, 1, 5, 16, 70_000]:
        assert len(rng.bytes(length)) == length
    assert not repeated(rng.bytes(16) for _ in range(1000))
    assert sq.default_rng(np.random.PCG64(5)).bytes(7) == np.random.default_rng(5).bytes(7)
    for length, error in [(-1, ValueError), (None, TypeError), (1.5, TypeError), ("1", TypeError)]:
        for each in [rng, sq.default_rng(5)]:
            with pytest.raises(error):
                each.bytes(length)


def test_default_rng():
    for rng in [sq.default_rng(), sq.Generator()]:
        assert type(rng.bit_generator) is sq.Squall and str(rng) == "Generator(Squall)"
        assert sq.default_rng(rng) is rng
    for seed in [0, 5, 2**300, b"seed", "seed", [1, "a"], sq.SeedSequence(5), np.random.SeedSequence(5)]:
        rng = sq.default_rng(seed)
        assert type(rng) is sq.Generator and type(rng.bit_generator) is sq.AES256
        assert rng.random() == sq.default_rng(seed).random()
    for seed in [1.5, np.array(1.5), [1, np.float32(2)], {"a": 1}, types.MappingProxyType({}), list, object()]:
        with pytest.raises(TypeError, match="a seed is an integer, bytes, a str, or a sequence of them, not "):
            sq.default_rng(seed)
    bit_generator = np.random.PCG64(5)
    assert sq.default_rng(bit_generator).bit_generator is bit_generator
    assert sq.default_rng(rng := np.random.default_rng(5)) is rng
    assert sq.default_rng(bit_generator).random(MANY).tolist() == rng.random(MANY).tolist()
    assert np.random.default_rng(sq.Squall()).random() < 1
