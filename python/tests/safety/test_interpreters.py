"""Interpreters beside the main one, as mod_wsgi has (one GIL for all) and concurrent.interpreters (a GIL each)."""

import sys

import pytest

from helpers import run_python

DRAW = """
import squall
try:
    assert len(squall.token_bytes()) == 32
    squall.Stream(bytes(32)).read(16)
    print("drawn")
except OSError as error:
    print(error)
"""

# The module's name and its functions are not public before Python 3.14.
CREATE = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def create(own_gil):
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if own_gil else "legacy")
    return interpreters.create(isolated=own_gil)
"""


def in_an_interpreter(code, own_gil):
    return run_python(
        CREATE
        + f"""
for _ in range(3):
    one = create({own_gil})
    # Output of the interpreter itself would be lost with its buffer.
    interpreters.run_string(one, {code!r} + "\\nsys.stdout.flush()")
    interpreters.destroy(one)
{DRAW}
"""
    )


def test_one_gil_for_all():
    assert in_an_interpreter(f"import sys\n{DRAW}", own_gil=False) == "drawn\n" * 4


def test_a_gil_of_its_own():
    if sys.version_info < (3, 12):
        pytest.skip("interpreters of this Python share one GIL")
    code = """
import sys
try:
    import squall
except ImportError as error:
    print(error)
"""
    *refused, last = in_an_interpreter(code, own_gil=True).splitlines()
    assert len(refused) == 3 and last == "drawn"
    assert all("in an interpreter with a GIL of its own" in line for line in refused)
