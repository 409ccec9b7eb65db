"""The types that editors and mypy(1) see."""

import pathlib
import runpy

import pytest

for needed in ["numpy", "dask.array"]:
    pytest.importorskip(needed)

USE = pathlib.Path(__file__).with_name("typed_use.py")


def test_what_is_typed_runs():
    runpy.run_path(str(USE))


def test_mypy(tmp_path, monkeypatch):
    mypy = pytest.importorskip("mypy.api")
    # Where a folder `squall` would be taken for the package.
    monkeypatch.chdir(tmp_path)

    def check(text):
        file = tmp_path / "use.py"
        file.write_text(text)
        return mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(file)])

    output, errors, code = check(USE.read_text())
    assert (errors, code) == ("", 0), output
    # `import squall` alone gives the submodules.
    output, errors, code = check(USE.read_text().replace("import squall.cuda\nimport squall.dask\nimport squall.random\n", ""))
    assert (errors, code) == ("", 0), output
    output, _, code = check(USE.read_text().replace("number: int", "number: str"))
    assert code == 1 and output.count("error:") == 1
