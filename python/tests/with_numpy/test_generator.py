"""squall.random.Generator has every method of numpy.random.Generator, for few numbers and for many."""

import inspect
import types

import pytest

import squall
from helpers import need, repeated

np = need("numpy")
sq = need("squall.random")

KEY = bytes(range(32))
MANY = 10_000

# The parameters before the size, of every method that takes one.
SIZED = {
    "beta": (1.5, 2.5),
    "binomial": (100, 0.3),
    "chisquare": (3.0,),
    "choice": (1000,),
    "dirichlet": ([1.0, 2.0, 3.0],),
    "exponential": (2.0,),
    "f": (2.0, 3.0),
    "gamma": (2.0, 3.0),
    "geometric": (0.3,),
    "gumbel": (1.0, 2.0),
    "hypergeometric": (20, 30, 10),
    "integers": (5, 1000),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.0, 1.0),
    "logseries": (0.5,),
    "multinomial": (20, [0.2, 0.3, 0.5]),
    "multivariate_hypergeometric": ([10, 20, 30], 12),
    "multivariate_normal": ([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]]),
    "negative_binomial": (5, 0.3),
    "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (2.0, 3.0, 1.0),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "poisson": (4.0,),
    "power": (3.0,),
    "random": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.0,),
    "standard_normal": (),
    "standard_t": (3.0,),
    "triangular": (1.0, 2.0, 4.0),
    "uniform": (2.0, 3.0),
    "vonmises": (0.0, 4.0),
    "wald": (1.0, 2.0),
    "weibull": (1.5,),
    "zipf": (3.0,),
}
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
    monkeypatch.setattr(sq, "_one_time_uniforms", lambda size: words()._uniforms(size))
    monkeypatch.setattr(sq, "_one_time_integers", lambda *arguments: words()._integers(*arguments))
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
    for name in dir(np.random.Generator):
        method = getattr(np.random.Generator, name)
        if not name.startswith("_") and callable(method):
            parameters = list(inspect.signature(method).parameters)
            assert ("size" in parameters) == (name in SIZED)
            if name in SIZED:
                assert list(inspect.signature(getattr(sq.Generator, name)).parameters) == parameters
    # The table has what is before it.
    places = {name: place for place, names in enumerate(sq._BEFORE_SIZE) for name in names.split()}
    for name in {*SIZED} - {"random", "integers"}:
        parameters = list(inspect.signature(getattr(np.random.Generator, name)).parameters)
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
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(MANY,), (100, 100), (100, 100, 2)])
def test_many_numbers_into_an_array(name, dtype, shape, keys):
    out = np.empty(shape, dtype)
    method = getattr(RNG, name)
    drawn = method(*SIZED[name], dtype=dtype, out=out)
    assert drawn is out
    assert np.array_equal(out, expected(name, *SIZED[name], size=shape, dtype=dtype))
    method(*SIZED[name], size=shape, out=out, dtype=dtype)
    assert np.array_equal(out, expected(name, *SIZED[name], size=shape, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, "f4", float])
def test_types_of_floats(dtype, keys):
    for name in WITH_OUT:
        drawn = getattr(RNG, name)(*SIZED[name], size=MANY, dtype=dtype)
        assert np.array_equal(drawn, expected(name, *SIZED[name], size=MANY, dtype=dtype))
        assert drawn.dtype == dtype


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", bool])
def test_types_of_integers(dtype, keys):
    high = 2 if dtype is bool else 100
    drawn = RNG.integers(high, size=MANY, dtype=dtype)
    assert drawn.dtype == dtype
    assert np.array_equal(drawn, expected("integers", high, size=MANY, dtype=dtype))
    drawn = RNG.integers(0, high - 1, MANY, dtype, True)
    assert np.array_equal(drawn, expected("integers", high, size=MANY, dtype=dtype))


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
def test_many_integers_are_numpys(low, high):
    """The numbers, and the words and halves of words that they take."""
    ours, theirs = sq.Generator(sq.AES256(key=KEY)), np.random.Generator(sq.AES256(key=KEY))
    for rng in (ours, theirs):
        rng.integers(10)
    for size in (MANY, (3, MANY)):
        assert np.array_equal(ours.integers(low, high, size), theirs.integers(low, high, size))
        assert ours.bit_generator.state == theirs.bit_generator.state
    assert np.array_equal(
        ours.integers(low, high - 1, MANY, endpoint=True), theirs.integers(low, high - 1, MANY, endpoint=True)
    )


def test_integers_out_of_bounds():
    for rng in (RNG, sq.default_rng(1)):
        for bounds in [(1, 1), (2, 1), (0, 2**63 + 1), (-(2**63) - 1, 0)]:
            with pytest.raises(ValueError):
                rng.integers(*bounds, size=MANY)


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
    for named in [{"p": weights}, {"shuffle": False}, {"replace": True}]:
        assert np.array_equal(
            RNG.choice(1000, MANY, **named), expected("choice", 1000, size=MANY, **named)
        )
    items = np.arange(60_000).reshape(20_000, 3)
    assert np.array_equal(
        RNG.choice(items, MANY, replace=False, axis=0),
        expected("choice", items, size=MANY, replace=False, axis=0),
    )


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
    ("integers", (), {"size": MANY}, TypeError),
    ("standard_normal", (MANY,), {"colour": "red"}, TypeError),
    ("choice", ([], MANY), {}, ValueError),
]


@pytest.mark.parametrize(("name", "arguments", "named", "error"), ERRORS)
def test_errors_are_numpys(name, arguments, named, error):
    for rng in [np.random.default_rng(), sq.default_rng(), sq.default_rng(5)]:
        with pytest.raises(error):
            getattr(rng, name)(*arguments, **named)


def test_one_time_words_are_aes256_under_their_key():
    bit_generators = [sq._OneTimeWords() for _ in range(20)]
    keys = [bit_generator._words.get()[0] for bit_generator in bit_generators]
    assert not repeated([*keys, bytes(32)])
    for bit_generator, key in zip(bit_generators, keys):
        assert np.array_equal(bit_generator.random_raw(2000), sq.AES256(key=key).random_raw(2000))


def test_one_time_uniforms():
    """All multiples of 2**-53 below 1 whose bits vary, and no two arrays are the same."""
    for size in [MANY, (100, 101), 30_000]:
        one, other = sq._one_time_uniforms(size), sq._one_time_uniforms(size)
        assert one.shape == np.empty(size).shape and one.dtype == np.float64
        assert not repeated([*one.ravel()[:20], *other.ravel()[:20]])
        words = (one.ravel() * 2.0**53).astype(np.uint64)
        assert np.array_equal(words * 2.0**-53, one.ravel()) and 0 <= one.min() and one.max() < 1
        assert np.bitwise_or.reduce(words) == 2**53 - 1 and np.bitwise_and.reduce(words) == 0


def test_keys_are_not_used_again():
    rng = sq.Generator()
    results = []
    for name in ["random", "standard_normal", "standard_exponential", "uniform"]:
        results += [getattr(rng, name)(size=MANY)[:4].tobytes() for _ in range(20)]
    assert not repeated(results)


@pytest.mark.parametrize("name", SIZED)
def test_over_aes256_all_methods_are_numpys(name):
    """For few numbers and for many, and the bit generator is then where NumPy's would leave it."""
    ours, theirs = sq.default_rng(5), np.random.Generator(sq.AES256(5))
    for size in [None, 3, MANY + 1, (100, 101), 5]:
        one, other = (getattr(rng, name)(*SIZED[name], size=size) for rng in (ours, theirs))
        assert np.array_equal(one, other)
        assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("before", [0, 1, 2, 3, 1022, 1023, 1024, 1025])
def test_bytes_over_aes256(before):
    """At every half of a word, and at the ends of the buffer."""
    for length in [0, 1, 3, 4, 5, 7, 8, 9, 16, 17, 4095, 4096, 4097, 70_001]:
        ours, theirs = sq.default_rng(5), np.random.Generator(sq.AES256(5))
        for rng in (ours, theirs):
            rng.integers(2**32, size=before, dtype=np.uint32)
        assert ours.bytes(length) == theirs.bytes(length)
        assert ours.bit_generator.state == theirs.bit_generator.state
        assert ours.integers(2**32, size=3, dtype=np.uint32).tolist() == (
            theirs.integers(2**32, size=3, dtype=np.uint32).tolist()
        )


@pytest.mark.parametrize("size", [1, 2, 3, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049])
def test_few_numbers_over_aes256(size):
    """At the ends of the buffer, and at the number from which it is passed."""
    for before in [0, 1, 511, 512]:
        ours, theirs = sq.default_rng(5), np.random.Generator(sq.AES256(5))
        for rng in (ours, theirs):
            rng.bit_generator.random_raw(before)
        for _ in range(3):
            assert np.array_equal(ours.random(size), theirs.random(size))
            assert np.array_equal(ours.integers(10**12, size=size), theirs.integers(10**12, size=size))
            assert ours.bytes(size) == theirs.bytes(size)
            assert ours.bit_generator.state == theirs.bit_generator.state


class TestFewNumbersWithoutASeed:
    """They are filled at once: NumPy would call a function for each."""

    @pytest.fixture(autouse=True)
    def filled(self, monkeypatch):
        counts = []
        for name in ["_fill_uniforms", "_fill_integers"]:
            fill = getattr(sq, name)
            monkeypatch.setattr(sq, name, lambda out, *bounds, fill=fill: (counts.append(out.size), fill(out, *bounds)))
        yield counts
        assert counts

    def test_uniforms(self, filled):
        for size in [0, 1, (), (3, 0), (4, 5), [2, 3], np.int64(7), MANY - 1]:
            drawn = RNG.random(size)
            assert drawn.shape == np.empty(size).shape and drawn.dtype == np.float64
            assert not repeated(drawn.ravel()) and not repeated([*drawn.ravel(), *RNG.random(size).ravel()])
            assert filled[-1] == drawn.size
        words = (drawn * 2.0**53).astype(np.uint64)
        assert np.array_equal(words * 2.0**-53, drawn) and 0 <= drawn.min() and drawn.max() < 1
        assert np.bitwise_or.reduce(words) == 2**53 - 1 and np.bitwise_and.reduce(words) == 0

    @pytest.mark.parametrize("low", [-(2**63), -3, 0, 5])
    @pytest.mark.parametrize("width", [1, 2, 6, 2**32 - 1, 2**32, 2**32 + 1, 3 * 2**61, 2**63 - 6])
    def test_integers(self, low, width, filled):
        drawn = RNG.integers(low, low + width, 3000)
        assert filled == [3000] and drawn.dtype == np.int64
        # The probability that a tenth at either end is missing is below 1e-130.
        distances = [int(number) - low for number in drawn]
        assert min(distances) >= 0 and max(distances) < width
        assert min(distances) <= width // 10 and max(distances) >= width - 1 - width // 10
        if width < 10:
            assert len(set(distances)) == width

    def test_all_integers(self, filled):
        drawn = RNG.integers(-(2**63), 2**63 - 1, 300, endpoint=True)
        assert not repeated(drawn) and drawn.min() < 0 < drawn.max()
        assert np.bitwise_or.reduce(drawn) == -1 and np.bitwise_and.reduce(drawn) == 0


@pytest.mark.parametrize("before", [0, 1, 511, 512, 513])
@pytest.mark.parametrize("half", [False, True])
def test_random_over_aes256(before, half):
    """A half of a word that is left stays, whichever way numbers are drawn."""
    ours, theirs = sq.default_rng(5), np.random.Generator(sq.AES256(5))
    for size in [MANY, MANY + 1, (101, 100), 3]:
        for rng in (ours, theirs):
            rng.bit_generator.random_raw(before)
            if half:
                rng.integers(2**32, dtype=np.uint32)
        assert np.array_equal(ours.random(size), theirs.random(size))
        assert ours.bit_generator.state == theirs.bit_generator.state


def test_bytes():
    rng = sq.default_rng()
    for length in [0, 1, 5, 16, 70_000]:
        assert len(rng.bytes(length)) == length
    assert not repeated(rng.bytes(16) for _ in range(1000))
    assert len(sq.Generator(np.random.PCG64(5)).bytes(7)) == 7
    for each in [sq.default_rng(), sq.default_rng(5)]:
        with pytest.raises(ValueError):
            each.bytes(-1)
        for length in [None, 1.5, "1"]:
            with pytest.raises(TypeError):
                each.bytes(length)


def test_shuffle_permutation_permuted():
    for rng in [sq.default_rng(), sq.default_rng(5), np.random.Generator(sq.Squall())]:
        items = np.arange(20_000)
        rng.shuffle(items)
        assert not np.array_equal(items, np.arange(20_000))
        for result in [items, rng.permutation(20_000), rng.permuted(np.arange(20_000))]:
            assert np.array_equal(np.sort(result), np.arange(20_000))
        rng.shuffle(listed := list(range(100)))
        assert sorted(listed) == list(range(100)) and listed != list(range(100))
        out = np.empty(20_000, int)
        assert rng.permuted(np.arange(20_000), out=out) is out


def test_default_rng():
    assert type(sq.default_rng().bit_generator) is sq.Squall
    assert type(sq.Generator().bit_generator) is sq.Squall
    for seed in [0, 5, 2**300, b"seed", "seed", [1, "a"], sq.SeedSequence(5), np.random.SeedSequence(5)]:
        rng = sq.default_rng(seed)
        assert type(rng) is sq.Generator and type(rng.bit_generator) is sq.AES256
        assert rng.random() == sq.default_rng(seed).random()
    for seed in [np.float64(1), np.array(1.5), [1, np.float32(2)], {"a": 1}, types.MappingProxyType({}), list]:
        with pytest.raises(TypeError, match="a seed is an integer, bytes, a str, or a sequence of them, not "):
            sq.default_rng(seed)
    bit_generator = np.random.PCG64(5)
    assert sq.default_rng(bit_generator).bit_generator is bit_generator
    for rng in [sq.Generator(), np.random.default_rng(5)]:
        assert sq.default_rng(rng) is rng
    for seed in [1.5, object(), np.random.RandomState(5)]:
        with pytest.raises(TypeError):
            sq.default_rng(seed)
    assert sq.default_rng(np.random.PCG64(5)).random(MANY).tolist() == np.random.default_rng(5).random(MANY).tolist()
    assert isinstance(sq.default_rng(), np.random.Generator)
    assert str(sq.default_rng()) == "Generator(Squall)"
    assert np.random.default_rng(sq.Squall()).random() < 1


def test_a_global_generator_is_never_repeated(keys):
    """The control of `keys`: with one key for all, arrays repeat."""
    assert sq.default_rng().random(MANY).tolist() == sq.default_rng().random(MANY).tolist()
    assert squall.token_bytes() != squall.token_bytes()


LEGACY = {
    name: SIZED[name]
    for name in SIZED
    if name not in ("integers", "random", "multivariate_hypergeometric") and hasattr(np.random.RandomState, name)
}


@pytest.mark.parametrize("name", LEGACY)
def test_random_state(name):
    """NumPy's older generator over both."""
    results = []
    for rng in [np.random.RandomState(sq.Squall()), np.random.RandomState(sq.Squall())]:
        results += [np.asarray(getattr(rng, name)(*LEGACY[name], size=300)).tobytes() for _ in range(3)]
    assert not repeated(results)
    one, other = (getattr(np.random.RandomState(sq.AES256(5)), name)(*LEGACY[name], size=300) for _ in range(2))
    assert np.array_equal(one, other)


class TestFill:
    """squall.fill of arrays."""

    @pytest.mark.parametrize(
        "dtype",
        ["b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "g", "F", "D", "S7", "U3", "V5", "?", ">i4", ">f8",
         "i4,f8,(2,3)u1", [("O", "i4"), ("an O", "f8")]],
    )  # fmt: skip
    def test_types(self, dtype):
        array = np.zeros(300, dtype)
        squall.fill(array)
        assert len({row.tobytes() for row in array.view("u1").reshape(25, -1)}) == 25

    @pytest.mark.parametrize(
        "array",
        [
            np.zeros((30, 40), order="F"),
            np.zeros((30, 40)),
            np.zeros((30, 40, 5), order="F").T,
            np.zeros((100, 40))[10:40],
            np.zeros((1, 1200))[:, :],
            np.zeros(1200).reshape(2, 3, 200),
        ],
    )
    def test_orders(self, array):
        squall.fill(array)
        assert np.count_nonzero(array) == array.size

    def test_a_single_number(self):
        array = np.zeros((), "u8")
        squall.fill(array)
        first = int(array)
        squall.fill(array)
        assert array.shape == () and int(array) != first
        for dtype in ["f8", "S7", "i4,f8"]:
            squall.fill(array := np.zeros((), dtype))
            assert any(array.tobytes())

    @pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 2)])
    def test_nothing(self, shape):
        squall.fill(np.zeros(shape))

    @pytest.mark.parametrize(
        "array",
        [
            np.zeros((10, 10))[:, :5],
            np.zeros((10, 10))[::2],
            np.zeros(10)[::-1],
            np.lib.stride_tricks.as_strided(np.zeros(1), (10,), (0,)),
            np.zeros((4, 5, 6)).transpose(1, 0, 2),
        ],
    )
    def test_not_contiguous(self, array):
        with pytest.raises(BufferError, match="not contiguous"):
            squall.fill(array)
        assert not array.any()

    def test_read_only(self):
        array = np.zeros(10)
        array.flags.writeable = False
        for each in [array, np.broadcast_to(np.zeros(3), (3,)), np.frombuffer(b"12345678")]:
            with pytest.raises(BufferError, match="read-only"):
                squall.fill(each)

    @pytest.mark.parametrize(
        "dtype", ["O", [("number", "f8"), ("object", "O")], [("O", [("a", "i4"), ("b", "O")])], [("x", "O", 3)]]
    )
    @pytest.mark.parametrize("shape", [5, (), (2, 3)])
    def test_python_objects_are_not_overwritten(self, dtype, shape):
        array = np.zeros(shape, dtype)
        before = repr(array)
        with pytest.raises(BufferError, match="Python objects"):
            squall.fill(array)
        assert repr(array) == before

    @pytest.mark.parametrize("dtype", ["M8[s]", "m8[ns]"])
    def test_times(self, dtype):
        array = np.zeros(5, dtype)
        with pytest.raises(BufferError, match="view"):
            squall.fill(array)
        squall.fill(array.view("u1"))
        assert array.view("i8").all()

    def test_a_tensor(self):
        """As of PyTorch: an object without a buffer, whose numpy() has the same memory."""

        class Tensor:
            memory = np.zeros(100)

            def numpy(self):
                return self.memory

        squall.fill(tensor := Tensor())
        assert tensor.memory.all()

    def test_a_tensor_whose_numpy_is_a_copy(self):
        """As of a tensor elsewhere, which `fill` would leave as it is."""

        class Tensor:
            memory = np.zeros(100)

            def numpy(self):
                return self.memory.copy()

        with pytest.raises(BufferError, match="copy"):
            squall.fill(tensor := Tensor())
        assert not tensor.memory.any()
