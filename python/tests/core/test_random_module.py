"""squall.install(random=True): `random` draws from squall until a program seeds, and then from its own generator.

Forks that Python does not notice stand for clones of a machine. In other forked children, Python itself seeds `random`.
"""

import copy
import inspect
import os
import pickle
import random
import signal
import statistics
from random import betavariate, gauss, getrandbits as twister_getrandbits, getstate, randint, seed, setstate
from random import random as twister_random

import pytest

import squall
from helpers import COPIES, fork_unnoticed, in_children, in_threads, repeated, run_python
from squall import _install

# Every function of the module, twice, because some keep a number.
DRAWS = """
import random

def drawn():
    items = list(range(40))
    random.shuffle(items)
    calls = [
        "random()", "getrandbits(70)", "getrandbits(5)", "randbytes(11)", "randint(1, 10**30)", "randrange(0, 100, 7)",
        "choice('abcdef')", "choices(range(50), k=9)", "sample(range(1000), 20)", "uniform(2, 3)",
        "triangular(1, 4, 2)", "betavariate(2, 3)", "expovariate(1.5)", "gammavariate(2, 3)", "gauss(1, 2)",
        "lognormvariate(0, 1)", "normalvariate(1, 2)", "vonmisesvariate(1, 2)", "paretovariate(3)",
        "weibullvariate(1, 2)", *(["binomialvariate(50, 0.3)"] if hasattr(random, "binomialvariate") else []),
    ]
    return items + [eval("random." + call) for call in 2 * calls]
"""
exec(DRAWS)
WRONG = ["random(1)", *(f"getrandbits({k})" for k in ["", "-1", "1.5", "'a'", "2**63", "2**64", "2**80", "-2**80"])]
SEEDS = ["42", "-7", "0", "2**5000", "'a seed'", "b'bytes'", "bytearray(3)", "1.5", "'old', 1", "b'old', 1"]
UNSEEDED = {"early": lambda: gauss(), "late": lambda: random.gauss(), "a function": lambda: random.getrandbits(64)}


@pytest.fixture
def installed():
    with squall.install(random=True) as installation:
        yield installation


def stock(code):
    return eval(run_python(f"{DRAWS}\n{code}"))


def test_every_function_is_there():
    functions = {name for name in random.__all__ if name[0].islower()} - {"seed", "getstate", "setstate"}
    assert all(f"{name}(" in DRAWS for name in functions)


def test_seeded_numbers_are_the_stock_ones(installed):
    """Also with `seed`, `gauss` and `randint` that were imported before."""
    results = stock(f"print([(random.seed({'), drawn()), (random.seed('.join(SEEDS)}), drawn())])")
    for text, (_, expected) in zip(SEEDS, results, strict=True):
        for function in [random.seed, seed]:
            eval(f"function({text})", {"function": function})
            assert drawn() == expected, text
    random.seed(42)
    expected = stock("random.seed(42); print([random.gauss(), random.gauss(), random.randint(1, 10**9)])")
    assert [gauss(), random.gauss(), randint(1, 10**9)] == expected
    random.seed()
    assert drawn() != drawn()


def test_states_are_interchangeable(installed):
    """`setstate` takes a stock generator's state, also unpickled. `getstate`, also while unseeded, returns one."""
    theirs = stock("random.seed(5); random.gauss(); print((random.getstate(), drawn()))")
    for state, set_state in [(theirs[0], setstate), (pickle.loads(pickle.dumps(theirs[0])), random.setstate)]:
        set_state(state)
        assert random.getstate() == getstate() == state
        assert drawn() == theirs[1]
    for get_state in [random.getstate, getstate]:
        random.seed()
        gauss()
        state = get_state()
        assert state[2] is None
        generator = random.Random()
        generator.setstate(state)
        assert [random.random(), gauss()] == [generator.random(), generator.gauss()]
    random.seed()
    assert random.getstate() != state
    with pytest.raises(TypeError):
        random.seed([])
    with pytest.raises(ValueError):
        random.setstate((9, (), None))


def test_gauss_keeps_no_number(installed):
    """Until a seed. Then it keeps every second one, as always."""
    generator = random._inst
    for draw in [random.gauss, gauss]:
        random.seed()
        for _ in range(5):
            draw()
            assert vars(generator)["gauss_next"] is None
    random.seed(5)
    gauss()
    assert vars(generator)["gauss_next"] == generator.gauss_next is not None
    random.seed()
    numbers = [gauss(3, 2) for _ in range(10**4)]
    assert abs(statistics.fmean(numbers) - 3) < 0.2 and abs(statistics.pstdev(numbers) - 2) < 0.2
    assert not repeated(numbers)


def test_wrong_arguments_are_refused_as_always(installed):
    for seeded in [None, 5]:
        random.seed(seeded)
        for wrong in WRONG:
            error = stock(f"\ntry: random.{wrong}\nexcept Exception as error: print(repr(type(error).__name__))")
            with pytest.raises(Exception) as raised:
                eval(f"random.{wrong}")
            assert raised.type.__name__ == error


@pytest.mark.parametrize("call", ["getrandbits(2**31)", "randbytes(2**28)"])
def test_a_size_that_the_stock_function_refuses(call, installed):
    """CPython 3.14 and later take such sizes."""
    try:
        run_python(f"import random; random.{call}")
    except AssertionError:
        with pytest.raises(OverflowError):
            eval(f"random.{call}")
    else:
        eval(f"random.{call}")


@pytest.mark.parametrize("how", [os.fork, fork_unnoticed])
@pytest.mark.parametrize("name", UNSEEDED)
def test_children_do_not_repeat(name, how, installed):
    draw = UNSEEDED[name]
    draw()
    assert not repeated(in_children(20, lambda: repr(draw()).encode(), how))


@pytest.mark.parametrize("name", UNSEEDED)
def test_control_children_repeat(name):
    """Without install, with the twister's own function, and with a seed."""
    draw = UNSEEDED[name]
    draw()
    assert repeated(in_children(20, lambda: repr(draw()).encode(), fork_unnoticed)) == 19
    with squall.install(random=True):
        assert repeated(in_children(20, lambda: repr(twister_random()).encode(), fork_unnoticed)) == 19
        random.seed(5)
        draw()
        assert repeated(in_children(20, lambda: repr(draw()).encode(), fork_unnoticed)) == 19


def test_a_forked_child_is_unseeded_again(installed):
    random.seed(5)
    assert not repeated(in_children(20, lambda: repr((random.random(), gauss())).encode()))
    expected = random.Random(5)
    assert [random.random(), gauss()] == [expected.random(), expected.gauss()]


def test_imported_names_work_after_uninstall():
    """Names that were imported while squall was installed draw from the stock generator, in its state from before."""
    seed(5)
    first = gauss()
    state = random.getstate()
    with squall.install(random=True):
        from random import getrandbits, random as late

        assert [gauss(), gauss(), late(), betavariate(1, 2)] and random.random is not twister_random
    assert random.getstate() == state and random.random is twister_random and type(random._inst) is random.Random
    expected = random.Random(5)
    assert [first, gauss(), late(), getrandbits(9)] == [
        expected.gauss(), expected.gauss(), expected.random(), expected.getrandbits(9)
    ]
    # The same after a seed while squall was installed.
    with squall.install(random=True):
        random.seed(5)
        (expected := random.Random(5)).gauss()
        gauss()
    assert gauss() == expected.gauss()


WITHOUT_SQUALL = "import pickle, random, sys; sys.modules['squall'] = None; draw = pickle.loads(eval(sys.argv[1])); "
PICKLED = {"random": "draw()", "getrandbits": "draw(70)", "randint": "draw(1, 10**30)", "gauss": "draw()"}


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("name", PICKLED)
def test_pickled_functions_are_the_stock_ones(name, protocol, installed):
    """After a seed, a copy goes on from the state, as always, also in a Python without squall."""
    random.seed(5)
    gauss()
    (generator := random.Random(5)).gauss()
    expected = [eval(PICKLED[name], {"draw": getattr(generator, name)}) for _ in range(3)]
    pickled = pickle.dumps(getattr(random, name), protocol)
    draw = f"[{PICKLED[name]} for _ in range(3)]"
    assert eval(draw, {"draw": pickle.loads(pickled)}) == eval(draw, {"draw": getattr(random, name)}) == expected
    assert eval(run_python(f"{WITHOUT_SQUALL} print({draw})", repr(pickled))) == expected


@pytest.mark.parametrize("name", PICKLED)
def test_pickled_functions_have_no_state_until_a_seed(name, installed):
    pickled = pickle.dumps(getattr(random, name))
    assert pickled == pickle.dumps(getattr(random, name)) and b"squall" not in pickled
    draw = f"[{PICKLED[name]} for _ in range(3)]"
    here = [number for _ in range(2) for number in eval(draw, {"draw": pickle.loads(pickled)})]
    assert not repeated(here + eval(run_python(f"{WITHOUT_SQUALL} print({draw})", repr(pickled))))


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_of_the_generator_may_be_seeded(copied, installed):
    """Also one of a generator that is not seeded: its state can be read, and it draws what a stock one does."""
    generator = COPIES[copied](random._inst)
    assert type(generator) is random.Random and COPIES[copied](generator).gauss() == generator.gauss()
    assert generator.getstate() != COPIES[copied](random._inst).getstate()
    generator.seed(5)
    assert generator.random() == random.Random(5).random() and not random.random.__self__.uses_stock


def test_a_pickle_after_uninstall():
    with squall.install(random=True):
        late = random.random
    random.seed(5)
    assert pickle.loads(pickle.dumps(late))() == random.Random(5).random() == late()


def test_functions_are_described_as_always(installed):
    for ours, stock in [(random.random, twister_random), (random.getrandbits, twister_getrandbits)]:
        assert ours is not stock and inspect.signature(ours) == inspect.signature(stock)
        assert (ours.__doc__, ours.__text_signature__) == (stock.__doc__, stock.__text_signature__)
        assert copy.deepcopy(ours) is ours


def test_a_stream_goes_on_after_uninstall():
    """One that was seeded before `install`, also if the state was read meanwhile."""
    seed(5)
    gauss()
    with squall.install(random=True):
        getstate()
        random.random()
        with squall.install(random=True):
            random.getstate()
            gauss()
    (expected := random.Random(5)).gauss()
    assert [gauss(), random.random()] == [expected.gauss(), expected.random()]


@pytest.mark.parametrize("reads", [True, False])
def test_a_stream_is_not_repeated_after_seed(reads):
    """`seed()` makes a new one, which `uninstall` does not replace by that from before `install`."""
    seed(5)
    with squall.install(random=True):
        random.seed()
        if reads:
            (expected := random.Random()).setstate(random.getstate())
    drawn = random.random()
    assert drawn != random.Random(5).random() and (not reads or drawn == expected.random())


def test_a_second_installation_ends_a_seed():
    """One with this keyword. The last `uninstall` goes on with the seed."""
    plain, more = squall.install(), squall.install(random=True)
    random.seed(5)
    expected = random.Random(5)
    gauss(), expected.gauss()
    with squall.install():
        assert random.random() == expected.random()
    with squall.install(random=True):
        drawn = [gauss(), random.random()]
    assert not random.random.__self__.uses_stock
    more.uninstall()
    numbers = [expected.gauss(), expected.random()]
    assert [gauss(), random.random()] == numbers and not set(drawn) & set(numbers)
    assert random.random is twister_random and _install._originals
    more.uninstall()
    plain.uninstall()
    assert not _install._originals


def test_threads_and_signal_handlers_do_not_repeat(installed):
    drawn = in_threads(lambda _: [random.random() for _ in range(3000)])
    assert not repeated(drawn)

    class Interrupting(list):
        def __setitem__(self, at, item):
            signal.raise_signal(signal.SIGUSR1)
            super().__setitem__(at, item)

    before = signal.signal(signal.SIGUSR1, lambda *_: drawn.append((random.random(), gauss())))
    random.shuffle(items := Interrupting(range(100)))
    signal.signal(signal.SIGUSR1, before)
    assert sorted(items) == list(range(100)) and not repeated(drawn)
