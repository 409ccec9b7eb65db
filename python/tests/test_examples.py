"""The programs in python/examples, the examples of the guide, and tensors of PyTorch, which a program fills."""

import argparse
import collections
import importlib.util
import itertools
import math
import pathlib
import random
import re
import subprocess
import sys
from fractions import Fraction

import pytest

import squall

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guides" / "python.md"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL))
def test_each_example_of_the_guide_runs_alone(code, tmp_path):
    for needed in ["numpy", "dask.array"]:
        pytest.importorskip(needed)
    file = tmp_path / "example.py"
    # A mebibyte of test data instead of a gibibyte.
    file.write_text(code.replace("2**30", "2**20"))
    subprocess.run([sys.executable, "-P", str(file)], cwd=tmp_path, check=True)


privacy = example("privacy")

SAMPLES = 20_000


def chi_square(samples, weight):
    """Return how far the samples are from these relative probabilities: about 1, or much more."""
    total = sum(weight(y) for y in range(-1000, 1001))
    counts = collections.Counter(samples)
    distance, degrees = 0.0, 0
    for y in range(-1000, 1001):
        expected = len(samples) * weight(y) / total
        if expected >= 20:
            distance += (counts[y] - expected) ** 2 / expected
            degrees += 1
    return distance / (degrees - 1)


# The generator is repeatable, so the tests are; squall.Random has the same methods.


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10)])
def test_laplace(scale):
    rng = random.Random(2026)
    samples = [privacy.laplace(scale, rng) for _ in range(SAMPLES)]
    assert chi_square(samples, lambda y: math.exp(-abs(y) / scale)) < 2
    assert chi_square(samples, lambda y: math.exp(-abs(y) / (scale * Fraction(6, 5)))) > 4
    twice_zero = chi_square(samples, lambda y: math.exp(-abs(y) / scale) * (1 + (y == 0)))
    assert twice_zero > 2


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(15, 2), Fraction(100)])
def test_gaussian(variance):
    rng = random.Random(2026)
    samples = [privacy.gaussian(variance, rng) for _ in range(SAMPLES)]
    assert chi_square(samples, lambda y: math.exp(-(y**2) / (2 * variance))) < 2
    assert chi_square(samples, lambda y: math.exp(-(y**2) / (2.4 * variance))) > 4


def test_probabilities_are_exact():
    class Counting(random.Random):
        asked = []

        def randrange(self, n):
            self.asked.append(n)
            return n - 1

    rng = Counting()
    # 1/3 of exp(-1/3) is asked for as one of three, not as a fraction of 2**53.
    assert privacy._bernoulli_exp(Fraction(1, 3), rng) and rng.asked == [3]
    for wrong in [0, -1]:
        for sampler in [privacy.laplace, privacy.gaussian]:
            with pytest.raises(ValueError):
                sampler(Fraction(wrong), rng)


def test_privacy_draws_from_squall(capsys):
    privacy.main()
    assert capsys.readouterr().out.count("\n") == 2


@pytest.fixture
def verified_data():
    for needed in ["dask.array", "distributed"]:
        pytest.importorskip(needed)
    return example("verified_data")


def test_data_that_was_changed_is_found(tmp_path, verified_data):
    import dask
    import dask.array as da
    import numpy as np

    verified_data.CHUNK = 1 << 12
    directory, size = str(tmp_path / "data"), 10_000
    with dask.config.set(scheduler="synchronous"):
        da.to_npy_stack(directory, verified_data.data(size, "a seed"))
        assert verified_data.differences(directory, size, "a seed") == []
        everything = verified_data.differences(directory, size, "another seed")
        assert everything == [(0, 512), (1, 512), (2, 226)]
        file = tmp_path / "data" / "1.npy"
        words = np.load(file)
        words[17] ^= 1
        np.save(file, words)
        assert verified_data.differences(directory, size, "a seed") == [(1, 1)]


def test_sizes_of_verified_data(verified_data):
    size = verified_data.words_of_8_bytes
    assert size("1GiB") == 1 << 30 and size("8") == 8
    for text in ["9", "0", "-8"]:
        with pytest.raises(argparse.ArgumentTypeError, match="multiple of 8"):
            size(text)


def test_data_of_a_gpu_is_verified_on_a_cpu(tmp_path, monkeypatch):
    """Without a GPU, which is the other way round."""
    gpu_data = example("gpu_data")
    monkeypatch.setattr(gpu_data, "CHUNK", 1 << 12)
    file, key = tmp_path / "data", "2b" * 32
    gpu_data.main("write", str(file), "10000", key)
    assert file.read_bytes() == squall.Stream(key).read(10_000)
    gpu_data.main("verify", str(file), "10000", key)
    with open(file, "r+b") as changed:
        changed.seek(5000)
        changed.write(b"changed")
    assert gpu_data.differences(str(file), 10_000, key) == [4096]
    # A file that is too long.
    assert gpu_data.differences(str(file), 9000, key) == [4096, 9000]


def test_masks_cancel_out(np):
    masked = example("secure_mask").masked
    keys = {frozenset(pair): squall.token_bytes(32) for pair in itertools.combinations(range(4), 2)}
    updates = [np.arange(1000) * client - 5 for client in range(4)]
    sent = []
    for me, update in enumerate(updates):
        shared = {other: keys[frozenset({me, other})] for other in range(4) if other != me}
        sent.append(masked(update, me, shared, 3, squall.Stream))
        assert not np.array_equal(masked(update, me, shared, 4, squall.Stream), sent[-1])
        assert len(set(sent[-1].tolist())) == 1000 and not np.array_equal(sent[-1], update)
    assert np.array_equal(sum(sent), sum(updates))


def test_exact_noise_of_gradients(torch):
    dp_sgd = example("dp_sgd")

    class Rng:
        """On the CPU, with the samplers of privacy.py."""

        def discrete_gaussian(self, variance, size):
            rng = squall.Random()
            drawn = [privacy.gaussian(Fraction(variance), rng) for _ in range(math.prod(size))]
            return torch.tensor(drawn).reshape(size)

    gradients = torch.full((100, 50), 3.0)
    gradients[:50] /= -1000
    # Half of them are clipped to a norm of 1.
    sums = dp_sgd.to_grid(gradients, dp_sgd.norms_of(gradients), 1.0, dp_sgd.step_of_grid(1.0, 2.0))
    assert sums.dtype == torch.int64 and len(set(sums.tolist())) == 1
    mean = dp_sgd.private_mean(gradients, 1.0, 2.0, Rng(), 100)
    expected = (50 / math.sqrt(50) - 50 * 0.003) / 100
    assert abs(mean.mean() - expected) < 5 * 0.02 / math.sqrt(50) and 0.01 < mean.std() < 0.03
    overflowed = torch.tensor([[math.nan, 1.0], [math.inf, 1.0], [-math.inf, math.inf]])
    assert not dp_sgd.to_grid(overflowed, dp_sgd.norms_of(overflowed), 1.0, 0.01).any()


@pytest.fixture
def torch():
    # No CI has it: it is too large. Debian's package python3-torch has.
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def test_every_byte_of_a_tensor_is_filled(torch):
    kinds = [torch.uint8, torch.int16, torch.int64, torch.float16, torch.float64, torch.complex64]
    for kind, shape in itertools.product(kinds, [(3, 100), (), (0,), (3, 0)]):
        tensor = torch.zeros(shape, dtype=kind)
        place, seen = tensor.data_ptr(), bytearray(tensor.numpy().nbytes)
        for _ in range(64):
            squall.fill(tensor)
            assert tensor.data_ptr() == place
            seen = bytes(one | other for one, other in zip(seen, tensor.numpy().tobytes()))
        assert set(seen) <= {0xFF}


def test_a_part_of_a_tensor_is_filled(torch):
    """A long one, without the GIL."""
    tensor = torch.zeros(4, 1 << 16, dtype=torch.uint8)
    squall.fill(tensor[1:3])
    assert [bool(row.any()) for row in tensor] == [False, True, True, False]


def test_a_type_that_numpy_lacks(torch):
    tensor = torch.zeros(100, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match="BFloat16"):
        squall.fill(tensor)
    assert not tensor.any()
    squall.fill(tensor.view(torch.int16))
    assert tensor.view(torch.int16).any()


def test_tensors_that_cannot_be_filled(torch):
    tensor = torch.zeros(10, 10)
    with pytest.raises(BufferError, match="not contiguous"):
        squall.fill(tensor[:, :5])
    # `numpy()` refuses these itself.
    with pytest.raises(RuntimeError, match="detach"):
        squall.fill(torch.zeros(10, requires_grad=True))
    for refused in [torch.zeros(10, device="meta"), tensor.to_sparse()]:
        with pytest.raises((TypeError, RuntimeError)):
            squall.fill(refused)
    assert not tensor.any()


def test_tensors_of_uniform_numbers(torch):
    for kind in [torch.float32, torch.float64]:
        filled = example("tensor").uniform_(torch.full((30, 40), 2, dtype=kind))
        assert 0 <= filled.min() and filled.max() < 1
        # Of float32 there are 2**24, of which two may be the same.
        assert len(set(filled.flatten().tolist())) > 1190
        assert 0.4 < filled.mean() < 0.6
