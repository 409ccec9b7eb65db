"""NumPy's own tests, run with squall's bit generators and generators in place of NumPy's."""

import importlib.util

import pytest

import answers
from helpers import need

np = need("numpy")
sq = need("squall.random")
direct = need("numpy.random.tests.test_direct")


def known_answers(seed):
    """What NumPy reads from the files of its own bit generators."""
    return {"seed": [seed], "data": np.array(answers.words(answers.of_sequence("AES256", seed), 1000), np.uint64)}


class TestAES256(direct.Base):
    """The tests of every bit generator; the answers are not squall's (answers.py)."""

    @classmethod
    def setup_class(cls):
        cls.bit_generator = sq.AES256
        cls.bits = 64
        cls.dtype = np.uint64
        cls.data1 = known_answers(0xDEADBEAF)
        cls.data2 = known_answers(0x1234567890ABCDEF1234567890ABCDEF1234567890ABCDEF1234567890ABCDEF)
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
        super().__init__(["NumPy's tests", seed])


# What compares with the numbers of MT19937 or looks at its state. `basic_stats` tolerates what comes once in
# thirty times.
OF_MT19937 = {
    "TestSeed": "array scalar seedsequence",
    "TestSetState": "gaussian_reset gaussian_reset_in_media_res negative_binomial",
    "TestMultivariateHypergeometric": "repeatability1 repeatability2 repeatability3",
    "TestIntegers": "repeatability repeatability_32bit_boundary repeatability_32bit_boundary_broadcasting",
    "TestRandomDist": """
        beta binomial bytes chisquare choice_array_size_empty_tuple choice_large_sample
        choice_multidimensional_default_axis choice_noninteger
        choice_nonuniform_noreplace choice_nonuniform_replace choice_uniform_noreplace choice_uniform_replace
        dirichlet exponential f gamma geometric gumbel hypergeometric integers integers_closed integers_masked laplace logistic
        lognormal logseries multinomial multivariate_normal multivariate_normal_basic_stats negative_binomial
        noncentral_chisquare noncentral_f normal pareto permutation permutation_custom_axis permuted
        permuted_with_strides power random random_float random_float_scalar rayleigh shuffle shuffle_custom_axis
        standard_cauchy standard_exponential standard_gamma standard_gamma_float standard_gammma_float_out
        standard_gammma_scalar_float standard_normal standard_t triangular uniform vonmises wald weibull zipf
    """,
    "TestBroadcast": """
        beta binomial chisquare exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal
        logseries multinomial negative_binomial noncentral_chisquare noncentral_f noncentral_f_small_df normal pareto
        poisson power rayleigh standard_gamma standard_t triangular uniform vonmises wald weibull zipf
    """,
    "": "jumped legacy_pickle generator_ctor_old_style_pickle ragged_shuffle",
}


def numpys_tests():
    """Return a copy of NumPy's tests of distributions, in which `Seeded` is MT19937 and squall's Generator NumPy's."""
    found = importlib.util.find_spec("numpy.random.tests.test_generator_mt19937")
    if found is None:
        pytest.skip("this NumPy comes without its tests", allow_module_level=True)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.MT19937, module.Generator = Seeded, sq.Generator
    module.random = sq.Generator(Seeded())
    return vars(module)


def without_those_of_mt19937(tests):
    """Return `tests`, by name, and the fixture that they need, without what `OF_MT19937` names."""
    left_out = {name: [f"test_{test}" for test in tests.split()] for name, tests in OF_MT19937.items()}
    for name, test in tests.items():
        if name.startswith("Test"):
            yield name, type(name, (test,), dict.fromkeys(left_out.get(name, [])))
        elif name == "endpoint" or name.startswith("test_") and name not in left_out[""]:
            yield name, test


globals().update(without_those_of_mt19937(numpys_tests()))
