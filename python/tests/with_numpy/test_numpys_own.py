"""NumPy's own tests, run with squall's bit generators and generators in place of NumPy's."""

import importlib.util
from pathlib import Path

import pytest

from helpers import need

np = need("numpy")
sq = need("squall.random")
direct = need("numpy.random.tests.test_direct")

DATA = Path(__file__).parent / "data"


class TestAES256(direct.Base):
    """The tests of every bit generator; the answers are not squall's (answers.py)."""

    @classmethod
    def setup_class(cls):
        cls.bit_generator = sq.AES256
        cls.bits = 64
        cls.dtype = np.uint64
        cls.data1 = cls._read_csv(DATA / "aes256-testset-1.csv")
        cls.data2 = cls._read_csv(DATA / "aes256-testset-2.csv")
        cls.seed_error_type = (ValueError, TypeError)
        cls.invalid_init_types = [(3.2,), ([None],), (1, None), ([-0.5],), (object(),), (None, "key")]
        cls.invalid_init_values = [(-1,), ([1, -2],)]

    # These look into NumPy's own SeedSequence; test_bit_generators.py has them for squall's.
    test_getstate = test_pickle_preserves_seed_sequence = None

    def test_advance_symmetry(self):
        direct.TestPCG64.test_advance_symmetry(self)


class Seeded(sq.AES256):
    """An AES256 that has the same seed even if none is given: so no test depends on luck."""

    def __init__(self, seed=2026):
        super().__init__(seed)


class Fast(sq.Generator):
    """A Generator over AES256 that draws many numbers as one over Squall does, but under a key that is known."""


def numpys_tests():
    """Return NumPy's tests of distributions, which take `Seeded` for MT19937, and squall's Generator for NumPy's."""
    found = importlib.util.find_spec("numpy.random.tests.test_generator_mt19937")
    if found is None:
        pytest.skip("this NumPy comes without its tests", allow_module_level=True)
    found.name = found.loader.name = "numpys_tests_of_distributions"
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.MT19937, module.Generator = Seeded, sq.Generator
    module.random = sq.Generator(Seeded())
    return module


# What these compare with are numbers of MT19937, or its state.
OF_MT19937 = {}

_module = numpys_tests()
for _name, _test in vars(_module).items():
    if _name.startswith(("Test", "test_")) or _name == "endpoint":
        globals()[_name] = _test
