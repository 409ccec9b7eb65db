"""squall.cuda on a GPU, with each framework that is installed: `scripts/gpu.sh` runs these."""

import ctypes
import sys
from statistics import NormalDist

import pytest

import squall
from squall import _cuda_driver, cuda

FRAMEWORKS = ["torch", "cupy", "numba", "jax"]
KEY = bytes(range(32))


try:
    _cuda_driver.driver().device(0)
except cuda.CudaError as error:
    pytest.skip(f"no GPU can be used: {error}", allow_module_level=True)


@pytest.fixture(params=FRAMEWORKS)
def framework(request):
    pytest.importorskip("numba.cuda" if request.param == "numba" else request.param)
    return request.param


def on_cpu(array):
    """Return an array as one of NumPy."""
    if "torch" in sys.modules and isinstance(array, sys.modules["torch"].Tensor):
        return array.cpu().numpy()
    for method in ["get", "copy_to_host", "__array__"]:
        if hasattr(array, method):
            return getattr(array, method)()
    raise TypeError(type(array))


def empty(framework, count):
    return cuda._FRAMEWORKS[framework]((count,), "uint8", None)


@pytest.mark.parametrize(
    "first, count", [(0, 1), (5, 100_001), ((1 << 36) - 777, 5000), ((1 << 64) - 5000, 5000)]
)
def test_stream(framework, first, count):
    if framework == "jax":
        pytest.skip("an array of JAX cannot be changed")
    ours, cpus, out = cuda.Stream(KEY), squall.Stream(KEY), empty(framework, count)
    ours.seek(first), cpus.seek(first)
    ours.readinto(out)
    assert on_cpu(out).tobytes() == cpus.read(count)


def test_fill(framework):
    if framework == "jax":
        pytest.skip("an array of JAX cannot be changed")
    drawn = []
    for _ in range(2000):
        out = empty(framework, 100_003 if len(drawn) < 2 else 16)
        cuda.fill(out)
        drawn.append(on_cpu(out).tobytes())
    assert len(set(drawn)) == len(drawn) and len(set(drawn[0])) == 256
    device = _cuda_driver.driver().device(0)
    device.wait(0)
    assert not any(ctypes.string_at(device._address, _cuda_driver.SLOTS * _cuda_driver.SLOT_BYTES))


@pytest.mark.parametrize("seed", [None, "a seed"])
def test_generator(framework, seed):
    np = pytest.importorskip("numpy")
    rng = cuda.default_rng(seed, framework=framework)
    count = 1 << 20
    uniform, normal = on_cpu(rng.random((1024, 1024))), on_cpu(rng.standard_normal(count))
    assert uniform.shape == (1024, 1024) and uniform.dtype == normal.dtype == np.float32
    assert 0 <= uniform.min() < 0.001 and 0.999 < uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.003
    assert abs(normal.mean()) < 0.01 and abs(normal.std() - 1) < 0.01
    assert set(np.unique(on_cpu(rng.integers(-3, 4, 10_000, "int32")))) == set(range(-3, 4))
    noise = on_cpu(rng.discrete_gaussian(1 << 39, 50_000)) if framework != "jax" else None
    if noise is not None:
        below = [(noise < NormalDist(0, 2**19.5).inv_cdf(p)).mean() for p in (0.1, 0.5, 0.9)]
        assert below == pytest.approx([0.1, 0.5, 0.9], abs=0.01)


def test_seeds_are_those_of_dask_to_the_bit(framework):
    da = pytest.importorskip("dask.array")
    if framework == "jax":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    rng, count = cuda.default_rng("a seed", framework=framework), 1_000_003
    for ours, dasks in [
        (rng.random(count, "float64"), squall.dask.random(count, seed="a seed")),
        (rng.standard_normal(count, "float64"), squall.dask.normal(0, 1, count, seed="a seed")),
        (rng.integers(-5, 10**12, count), squall.dask.integers(-5, 10**12, count, seed="a seed")),
    ]:
        assert isinstance(dasks, da.Array) and on_cpu(ours).tobytes() == dasks.compute().tobytes()


def test_numbers_of_32_bits_are_the_cpus(use):
    """The other half of `test_kernels.py`: the kernels compiled for the CPU give the same bits."""
    pytest.importorskip("torch")
    ours = [
        on_cpu(getattr(cuda.default_rng(1, framework="torch"), method)(100_000)).tobytes()
        for method in ("random", "standard_normal")
    ]
    ours.append(on_cpu(cuda.default_rng(1, framework="torch").discrete_gaussian("99/7", 10_000)).tobytes())
    use()
    cpus = cuda.default_rng(1, framework="on_cpu")
    assert ours[0] == cpus.random(100_000).bytes() and ours[1] == cpus.standard_normal(100_000).bytes()
    assert ours[2] == cpus.discrete_gaussian("99/7", 10_000).bytes()


def test_a_stream_of_torch():
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        out = torch.zeros(1 << 26, dtype=torch.uint8, device="cuda")
        cuda.fill(out)
        assert cuda._Array(out, None).stream == stream.cuda_stream != 0
    stream.synchronize()
    assert int((out == 0).sum()) < 1 << 19


def test_a_graph_of_torch_is_refused():
    torch = pytest.importorskip("torch")
    out = torch.zeros(16, device="cuda")
    cuda.fill(out)
    for call in [lambda: cuda.fill(out), lambda: cuda.Stream(KEY).readinto(out)]:
        with pytest.raises(cuda.CudaError, match="captured"), torch.cuda.graph(torch.cuda.CUDAGraph()):
            call()
