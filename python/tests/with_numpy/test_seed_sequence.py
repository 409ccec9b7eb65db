"""squall.random.SeedSequence: seeds of any length, by SHAKE-256."""

import time

import pytest

from answers import of_sequence
from helpers import COPIES, in_threads, need, repeated, run_python

np = need("numpy")
sq = need("squall.random")


@pytest.mark.parametrize("seed", [0, 1, 2**64, 3**2000, b"bytes", "text", [1, "two", b"three", [4]]])
def test_known_answers(seed):
    """Of an implementation that shares no code with squall. All bits count; of NumPy's own sequences, 128."""
    state = sq.SeedSequence(seed).generate_state(4, np.uint64)
    assert state.astype("<u8").tobytes() == of_sequence("SeedSequence", seed)
    assert sq.AES256(seed).state["state"]["key"] == of_sequence("AES256", seed)


DIFFERENT = [
    *(0, 1, 255, 256, 2**64, 2**512, 2**512 + 1),
    *(b"", b"\0", b"\1", b"0", b"ab", b"a" * 1000, b"a" * 1001),
    *("", "0", "1", "a", "ab", "é"),
    *([], [0], [1], [0, 0], [[0], 0], [[0, 0]], [[]], [[], []], ["a", "b"], ["ab"], ["", "ab"], [b"ab"], [1, "a"]),
]


def test_different_seeds_give_different_words():
    sequences = [sq.SeedSequence(seed) for seed in DIFFERENT]
    sequences += [sq.SeedSequence(5, spawn_key=path) for path in [(), (0,), (1,), (0, 0), (5,), (2**70,)]]
    # A path is not a part of the seed.
    sequences += [sq.SeedSequence([5, (0,)]), sq.SeedSequence([5, 0]), sq.SeedSequence([5])]
    assert not repeated(sequence.generate_state(4).tobytes() for sequence in sequences)


def test_control_numpys_own_has_equal_words_for_different_seeds():
    one, other = np.random.SeedSequence(0), np.random.SeedSequence([0])
    assert one.generate_state(4).tobytes() == other.generate_state(4).tobytes()


def test_without_a_seed():
    one, other = sq.SeedSequence(), sq.SeedSequence(None)
    assert one.entropy != other.entropy
    # 256 bits, of which the topmost 60 are zeros with a probability of 2**-60.
    assert 196 < one.entropy.bit_length() <= 256
    assert sq.SeedSequence(one.entropy).generate_state(4).tobytes() == one.generate_state(4).tobytes()


def test_words():
    sequence = sq.SeedSequence(5)
    long = sequence.generate_state(1001)
    assert long.dtype == np.uint32 and long.shape == (1001,) and long.flags.writeable
    assert np.array_equal(sequence.generate_state(7), long[:7])
    assert np.array_equal(sequence.generate_state(500, np.uint64).astype("<u8").view("<u4"), long[:1000])
    assert sequence.generate_state(np.int8(3), "uint64").dtype == np.uint64
    assert sequence.generate_state(0).shape == (0,)


def test_invalid_arguments():
    sequence = sq.SeedSequence(5)
    for arguments in [(-1,), (1, np.uint8), (1, np.int32), (1, float)]:
        with pytest.raises(ValueError):
            sequence.generate_state(*arguments)
    with pytest.raises(ValueError):
        sequence.spawn(-1)
    with pytest.raises(ValueError):
        sq.SeedSequence(5, spawn_key=(-1,))
    for wrong in [1.5, "1", None]:
        with pytest.raises(TypeError):
            sequence.generate_state(wrong)
        with pytest.raises(TypeError):
            sequence.spawn(wrong)
        with pytest.raises(TypeError):
            sq.SeedSequence(5, spawn_key=(wrong,))
    # What fails spawns nothing.
    assert sequence.n_children_spawned == 0


def tree(sequence, depth):
    yield sequence
    if depth:
        for child in sequence.spawn(4):
            yield from tree(child, depth - 1)


@pytest.mark.parametrize(
    ("seed", "change"),
    [
        (bytearray(b"seed"), lambda seed: seed.extend(b"more")),
        ([1, "a"], lambda seed: seed.append(2)),
        ([[1], 2], lambda seed: seed[0].append(2)),
        (memoryview(bytearray(b"seed")), lambda seed: seed.__setitem__(0, 0)),
        (np.arange(5), lambda seed: seed.fill(0)),
        (np.array(5), lambda seed: seed.fill(0)),
    ],
    ids=["bytearray", "list", "list of lists", "memoryview", "array", "array of no dimension"],
)
def test_a_seed_that_is_changed_later(seed, change):
    """Neither the sequence, nor its children, nor a generator of it change, and they are pickled as they are."""

    def words(sequence):
        (child,) = sequence.spawn(1)
        return [each.generate_state(4).tolist() for each in (sequence, child)]

    sequences = [sq.SeedSequence(seed) for _ in range(3)]
    rng = COPIES["pickle"](sq.default_rng(seed))
    expected = words(sequences[0])
    change(seed)
    assert words(sequences[1]) == expected
    assert words(COPIES["pickle"](sequences[2])) == expected
    assert words(rng.bit_generator.seed_seq) == expected
    assert words(sq.SeedSequence(seed)) != expected


def test_the_key_of_aes256_is_no_state_of_other_generators():
    for make in [sq.SeedSequence, np.random.SeedSequence]:
        state = make(5).generate_state(4, np.uint64).astype("<u8").tobytes()
        assert sq.AES256(make(5)).state["state"]["key"] != state


class Switching(sq.SeedSequence):
    """Other threads run whenever the number of children was read, as they may without the GIL."""

    @property
    def n_children_spawned(self):
        spawned = self.spawned
        time.sleep(0)
        return spawned

    @n_children_spawned.setter
    def n_children_spawned(self, spawned):
        self.spawned = spawned


def test_threads_spawn_no_child_twice():
    sequence = Switching(5)
    paths = in_threads(lambda _: [child.spawn_key for _ in range(200) for child in sequence.spawn(3)])
    assert sorted(paths) == [(child,) for child in range(8 * 200 * 3)]


def test_the_tree_of_spawn():
    sequences = list(tree(sq.SeedSequence(5), 4))
    assert len(sequences) == 1 + 4 + 16 + 64 + 256
    assert not repeated(sequence.spawn_key for sequence in sequences)
    assert not repeated(sequence.generate_state(4).tobytes() for sequence in sequences)
    for sequence in sequences:
        same = sq.SeedSequence(sequence.entropy, spawn_key=sequence.spawn_key)
        assert same.generate_state(4).tobytes() == sequence.generate_state(4).tobytes()


def test_spawn():
    sequence = sq.SeedSequence("seed")
    first = sequence.spawn(2) + sequence.spawn(np.int8(1))
    assert [child.spawn_key for child in first] == [(0,), (1,), (2,)]
    assert sequence.n_children_spawned == 3
    later = sq.SeedSequence("seed", n_children_spawned=3)
    assert later.spawn(1)[0].spawn_key == sequence.spawn(1)[0].spawn_key == (3,)
    assert sequence.spawn(0) == [] and sequence.n_children_spawned == 4


class Subclass(sq.SeedSequence):
    pass


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_copies(duplicate):
    sequence = Subclass(["seed", 5], spawn_key=(1,))
    sequence.spawn(2)
    assert repr(sequence) == "Subclass(('seed', 5), spawn_key=(1,))"
    other = duplicate(sequence)
    assert type(other) is Subclass
    assert other.generate_state(4).tobytes() == sequence.generate_state(4).tobytes()
    assert other.spawn(1)[0].spawn_key == (1, 2)
    assert type(other.spawn(1)[0]) is Subclass


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_numpys_bit_generators_take_it(name):
    make = getattr(np.random, name)
    drawn = [make(sq.SeedSequence(seed)).random_raw(2).tolist() for seed in ["a", b"a", "a"]]
    assert drawn[0] == drawn[2] != drawn[1]
    children = np.random.Generator(make(sq.SeedSequence("a"))).spawn(2)
    assert type(children[0].bit_generator.seed_seq) is sq.SeedSequence


def test_an_old_numpy_is_named():
    """`object` stands for a class of NumPy 1.24, without `spawn`."""
    code = """
import warnings, numpy
numpy.random.BitGenerator = object
with warnings.catch_warnings(record=True) as caught:
    import squall._seeds
print(*(str(each.message) for each in caught))"""
    shown = run_python(code)
    assert shown.startswith("NumPy ") and shown.endswith(": use 1.26 or later\n")
