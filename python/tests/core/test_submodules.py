"""`squall.random` and `squall.dask` are there after `import squall`, and are imported at their first use."""

import pytest

from helpers import need, run_python


@pytest.mark.parametrize(
    "use",
    [
        "squall.random.default_rng(5).random()",
        "squall.dask.random(5, seed=5)",
        "dir(squall.random).index('AES256')",
        "squall.random.__doc__.index('NumPy')",
        "__import__('pickle').loads(__import__('pickle').dumps(squall.random.SeedSequence(5)))",
    ],
)
def test_the_first_use_imports_it(use):
    for needed in ["numpy", "dask.array"]:
        need(needed)
    code = f"import sys, squall; assert 'numpy' not in sys.modules; {use}; assert 'numpy' in sys.modules"
    assert run_python(code) == ""


def test_it_is_the_module_itself():
    need("numpy")
    code = """
import squall
from squall import random
import squall.random as module
assert squall.random is module and random.Squall is module.Squall
"""
    assert run_python(code) == ""


@pytest.mark.parametrize("use", ["squall.random.default_rng()", "squall.dask.random(5)", "import squall.random"])
def test_without_numpy_it_says_so(use):
    code = f"""
import sys, squall
sys.modules["numpy"] = None
try:
    {use}
except ModuleNotFoundError as error:
    print(error.name, error, sep=": ")
"""
    assert run_python(code) == "numpy: NumPy is not installed: run pip install numpy\n"


def test_the_functions_are_as_fast_as_before():
    """A module with a function `__getattr__` has slower attributes in CPython before 3.15."""
    assert run_python("import squall; print('__getattr__' in vars(squall))") == "False\n"
