"""A simulated GPU: squall.cuda with a driver that runs the kernels, compiled as C++, on the CPU."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

import squall
from on_cpu import empty
from squall import _cuda_driver

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Return a function that compiles the driver with the kernels after some replacements, and returns the file."""
    if not shutil.which("g++"):
        pytest.skip("there is no g++, which compiles the kernels for the CPU")
    folder = tmp_path_factory.mktemp("driver")
    built = {}

    def build(*replacements):
        if replacements not in built:
            source = _cuda_driver.SOURCE.read_text()
            for old, new in replacements:
                assert source.count(old) == 1, f"{old} is not there once"
                source = source.replace(old, new)
            kernels, library = folder / f"{len(built)}.cu", folder / f"{len(built)}.so"
            kernels.write_text(source)
            flags = (
                "-std=c++17 -O1 -shared -fPIC -ffp-contract=off -Wall -Wextra -Werror -Wno-unknown-pragmas"
            )
            command = [
                "g++",
                *flags.split(),
                f'-DKERNELS="{kernels}"',
                HERE / "driver_on_cpu.cpp",
                "-o",
                library,
            ]
            subprocess.run(command, check=True)
            built[replacements] = library
        return str(built[replacements])

    return build


@pytest.fixture
def use(build, monkeypatch):
    """Return a function that has squall.cuda use the driver with these replacements, and returns its library."""
    monkeypatch.setattr(_cuda_driver, "compiled", lambda *_: b"")
    monkeypatch.setitem(squall.cuda._FRAMEWORKS, "on_cpu", empty)

    def use(*replacements):
        file = build(*replacements)
        monkeypatch.setattr(_cuda_driver, "LIBRARY", file)
        _cuda_driver.driver.cache_clear()
        return ctypes.CDLL(file)

    yield use
    _cuda_driver.driver.cache_clear()


@pytest.fixture
def gpu(use):
    library = use()
    yield library
    for name in ["capturing", "failing", "pending", "captures_late", "next_grid"]:
        ctypes.c_int.in_dll(library, name).value = 0
    ctypes.c_int.in_dll(library, "gpus").value = 1
    ctypes.c_int.in_dll(library, "version").value = 12090
