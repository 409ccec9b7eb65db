"""squall.cuda over a driver that runs the kernels on the CPU: arguments, keys, streams, errors, seeds."""

import ctypes
import ctypes.util
import os
import subprocess
import sys
import types
from fractions import Fraction
from pathlib import Path

import pytest

import squall
from helpers import in_threads, need
from on_cpu import OnCpu
from squall import _cuda_driver, cuda


def rng(seed=None):
    return cuda.default_rng(seed, framework="on_cpu")


def device():
    return _cuda_driver.driver().device(0)


def slots():
    return ctypes.string_at(device()._address, _cuda_driver.SLOTS * _cuda_driver.SLOT_BYTES)


def test_every_byte_is_filled(gpu):
    for count, shift in [(0, 0), (1, 0), (5, 3), (1000, 8), (100_001, 15)]:
        out = OnCpu("|u1", count, shift)
        seen = bytes(count)
        for _ in range(64 if count < 10_000 else 8):
            cuda.fill(out)
            seen = bytes(one | other for one, other in zip(seen, out.bytes()))
            assert set(out.around()) == {0xA5}
        assert set(seen) <= {0xFF} or count > 10_000
    for typestr in ["<f4", "<c16", "|b1", "<i2"]:
        out = OnCpu(typestr, 1000)
        cuda.fill(out)
        assert len(set(out.bytes())) > 200


def test_nothing_repeats(gpu):
    drawn = []
    for _ in range(20):
        for method in ["bytes", "random", "standard_normal"]:
            drawn.append(getattr(rng(), method)(16).bytes())
        drawn += [rng().integers(1 << 62, size=4).bytes(), rng().discrete_gaussian(1 << 39, 4).bytes()]
    assert len(set(drawn)) == len(drawn)


def test_keys_are_erased(gpu):
    """More calls than slots, from threads too; and by a launch that fails."""

    def draw(_):
        cuda.fill(OnCpu("|u1", 10))

    for number in range(1100):
        draw(number)
    in_threads(draw)
    assert not any(slots())
    ctypes.c_int.in_dll(gpu, "failing").value = 1
    with pytest.raises(cuda.CudaError, match="cuLaunchKernel: an error of the driver"):
        draw(0)
    assert not any(slots())


def test_a_key_that_was_not_read_yet_is_waited_for(gpu):
    ctypes.c_int.in_dll(gpu, "pending").value = 1
    waited = ctypes.c_int.in_dll(gpu, "synchronized")
    before, out = waited.value, OnCpu("|u1", 10)
    for _ in range(_cuda_driver.SLOTS):
        cuda.fill(out)
    drawn = slots()
    keys = {drawn[i : i + 32] for i in range(0, len(drawn), _cuda_driver.SLOT_BYTES)}
    assert len(keys) == _cuda_driver.SLOTS and waited.value == before
    cuda.fill(out)
    assert waited.value == before + 1


def test_a_captured_kernel_keeps_its_slot(gpu):
    """One whose stream is captured after squall has looked: it runs when its graph does, and needs its own key then."""
    late, out = ctypes.c_int.in_dll(gpu, "captures_late"), OnCpu("|u1", 10)
    late.value = 1
    cuda.fill(out)
    first = slots()
    assert first.strip(b"\0")
    late.value = 0
    for _ in range(2 * _cuda_driver.SLOTS):
        cuda.fill(out)
        assert slots() == first
    late.value = 1
    for _ in range(_cuda_driver.SLOTS - 1):
        cuda.fill(out)
    last = slots()
    with pytest.raises(cuda.CudaError, match="captured have all slots"):
        cuda.fill(out)
    assert slots() == last


def test_control_keys_that_are_not_erased_are_found(use):
    use(("slot->key[i] = 0;", ";"))
    cuda.fill(OnCpu("|u1", 10))
    assert any(slots())


def test_a_replay_has_no_key(gpu):
    ctypes.c_int.in_dll(gpu, "capturing").value = 1
    out = OnCpu("|u1", 10)
    with pytest.raises(cuda.CudaError, match="captured"):
        cuda.fill(out)
    with pytest.raises(cuda.CudaError, match="captured"):
        cuda.Stream(bytes(32)).readinto(out)
    assert out.bytes() == b"\xa5" * 10 and not any(slots())
    ctypes.c_int.in_dll(gpu, "capturing").value = 0
    cuda.fill(out)
    child = os.fork()
    if child == 0:
        gpu.replay()
        os._exit(0)
    # The kernel's trap.
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 70


@pytest.mark.parametrize("first", [OnCpu("|u1", 10), None])
def test_a_forked_child_is_refused(gpu, first):
    """Also if only another library has used the GPU in the parent."""
    if first:
        cuda.fill(first)
    else:
        gpu.cuInit(0)
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for call in [lambda: cuda.fill(OnCpu("|u1", 10)), lambda: rng().random(10), lambda: device()]:
                with pytest.raises(cuda.CudaError, match="spawn"):
                    call()
            os.write(there, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(there)
    assert os.read(here, 1000) == b"refused"


def test_streams_of_arrays(gpu):
    last = ctypes.c_void_p.in_dll(gpu, "last_stream")
    for interface, stream, expected in [
        ({}, None, None),
        ({"stream": 1}, None, 1),
        ({"stream": 77}, None, 77),
        ({}, 5, 5),
    ]:
        cuda.fill(OnCpu("|u1", 10, **interface), stream=stream)
        assert last.value == expected
    cuda.Stream(bytes(32)).readinto(OnCpu("|u1", 10), stream=9)
    assert last.value == 9


def test_grids(gpu):
    """A small array takes one block, a large one eight on each of the two processors, or four of AES."""
    last = ctypes.c_uint.in_dll(gpu, "last_grid")
    for count, chacha20, aes in [(1, 1, 1), (1 << 20, 16, 8), (1 << 14, 2, 3)]:
        cuda.fill(OnCpu("|u1", count))
        assert last.value == chacha20
        cuda.Stream(bytes(32)).readinto(OnCpu("|u1", count))
        assert last.value == aes


def test_stream(gpu):
    stream = cuda.Stream("00" * 32)
    assert stream.seek(5) == 5 and stream.seek(-3, 1) == 2 and stream.tell() == 2
    assert repr(stream) == "<squall.cuda.Stream at byte 2>"
    stream.seek((1 << 64) - 4)
    out = OnCpu("<i4", 2)
    with pytest.raises(EOFError):
        stream.readinto(out)
    assert stream.tell() == (1 << 64) - 4 and out.bytes() == b"\xa5" * 8
    assert stream.readinto(OnCpu("<i4", 1)) == 4 and stream.tell() == 1 << 64
    for wrong in [(-1, 0), (1 << 64, 0), (0, 2)]:
        with pytest.raises(ValueError):
            stream.seek(*wrong)
    for wrong in [b"short", 5, "0" * 63]:
        with pytest.raises((TypeError, ValueError), match="the key must be 32 bytes"):
            cuda.Stream(wrong)


def test_threads_share_a_stream(gpu):
    stream = cuda.Stream(bytes(32))

    def draw(_):
        outs = [OnCpu("<u8", 4) for _ in range(20)]
        for out in outs:
            stream.readinto(out)
        return [out.bytes() for out in outs]

    drawn = in_threads(draw)
    whole = squall.Stream(bytes(32)).read(len(drawn) * 32)
    assert sorted(drawn) == sorted(whole[i : i + 32] for i in range(0, len(whole), 32))


# The generator.


def test_shapes_and_types(gpu):
    for size, shape in [((), ()), (3, (3,)), ([2, 3], (2, 3)), (0, (0,))]:
        out = rng().random(size, "float64")
        assert out.__cuda_array_interface__["shape"] == shape
        assert all(0 <= number < 1 for number in out.numbers())
    assert set(rng().integers(1, 6, 1000, "uint8", endpoint=True).numbers()) == {1, 2, 3, 4, 5, 6}
    assert set(rng().integers(-2, 0, 1000, "int16").numbers()) == {-2, -1}
    assert len(set(rng().integers(-(1 << 63), 1 << 63, 100).numbers())) == 100
    assert set(rng().integers(2, size=100, dtype="int8").numbers()) == {0, 1}
    out = OnCpu("<f8", 10)
    assert rng().standard_normal(out=out) is out and len(set(out.numbers())) == 10


def test_seeds(gpu, np):
    da = need("dask.array")
    with need("dask").config.set(scheduler="synchronous"):
        one, dask = rng("a seed"), squall.dask
        expected = {
            "bytes": dask.words(100, seed="a seed").view("u1")[:200],
            "random": dask.random(25, seed="a seed"),
            "standard_normal": dask.normal(0, 1, 25, seed="a seed"),
            "integers": dask.integers(-5, 100, 25, seed="a seed"),
            "wide": dask.integers(-5, 10**12, 25, seed="a seed"),
        }
        for name, array in expected.items():
            assert isinstance(array, da.Array)
            for part in np.array_split(array.compute(), [len(array) // 5]):
                match name:
                    case "bytes":
                        drawn = one.bytes(len(part))
                    case "integers":
                        drawn = one.integers(-5, 100, len(part))
                    case "wide":
                        drawn = one.integers(-5, 10**12, len(part))
                    case _:
                        drawn = getattr(one, name)(len(part), "float64")
                assert drawn.bytes() == part.tobytes()
    for method in [
        lambda each: each.random(9), lambda each: each.standard_normal(9), lambda each: each.discrete_gaussian(99, 9),
        lambda each: each.discrete_laplace("9/2", 9),
    ]:  # fmt: skip
        one, other, another = rng(1), rng(1), rng(2)
        first = method(one).bytes()
        assert method(other).bytes() == first != method(another).bytes()
        assert method(one).bytes() == method(other).bytes() != first


def test_arguments_that_are_wrong(gpu):
    for call, error, message in [
        (
            lambda: cuda.default_rng(framework="tf"),
            ValueError,
            "must be one of 'torch', 'cupy', 'numba', 'jax'",
        ),
        (lambda: rng(-1), ValueError, "negative"),
        (lambda: rng().random(-1), ValueError, "must not be negative"),
        (lambda: rng().random(1.5), TypeError, "float"),
        (lambda: rng().random(1, "float16"), TypeError, "the type is float16: it must be float32 or float64"),
        (lambda: rng().standard_normal(out=OnCpu("<i4", 5)), TypeError, "the type is int32"),
        (lambda: rng().integers(0), ValueError, "no such integer"),
        (lambda: rng().integers(300, size=2, dtype="uint8"), ValueError, "do not fit into uint8"),
        (lambda: rng().integers(-1, 5, 2, "uint8"), ValueError, "do not fit into uint8"),
        (lambda: rng().integers(1 << 63, size=2, endpoint=True), ValueError, "do not fit into int64"),
        (lambda: rng().integers(5, out=OnCpu("<f4", 5)), TypeError, "the type is float32"),
        (lambda: rng().integers(5, size=1, dtype="bool"), TypeError, "the type is bool"),
        (lambda: rng().discrete_gaussian(1.5, 2), TypeError, "variance must be exact"),
        (lambda: rng().discrete_laplace("1/0", 2), ValueError, "denominator must not be 0"),
        (lambda: rng().discrete_gaussian(0, 2), ValueError, "must be positive"),
        (lambda: rng().discrete_gaussian(1 << 40, 2), ValueError, r"below 2\*\*40"),
        (lambda: rng().discrete_laplace(Fraction(1, 1 << 32), 2), ValueError, r"below 2\*\*32"),
        (lambda: cuda.fill(b"bytes"), TypeError, "bytes is no array on a GPU"),
        (lambda: cuda.fill(OnCpu("<f4", 4, data=(64, True))), ValueError, "read-only"),
        (lambda: cuda.fill(OnCpu("<f4", 4, shape=(2, 2), strides=(4, 8))), ValueError, "not contiguous"),
        (lambda: cuda.fill(OnCpu("<f4", 4, strides=(5,))), ValueError, "not contiguous"),
        (lambda: cuda.fill(OnCpu("<f4", 4, shift=2)), ValueError, "not aligned"),
    ]:
        with pytest.raises(error, match=message) as raised:
            call()
        assert "\n" not in str(raised.value)
    cuda.fill(OnCpu("<f4", 4, shape=(2, 1, 2), strides=(8, 400, 4)))


# Other kinds of arrays.


class Exporting:
    """What has DLPack alone: an array of NumPy that says it is on a GPU."""

    def __init__(self, array, kind=2):
        self.array, self.kind = array, kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream):
        self.stream = stream
        return self.array.__dlpack__()


def test_dlpack(gpu, np):
    """The array's own stream is not known, so the result is waited for, unless the caller names a stream."""
    array, waited = np.zeros((30, 40), np.float32), ctypes.c_int.in_dll(gpu, "waited")
    for stream, last, waits in [(None, 1, 1), (7, 7, 0), (0, 1, 0)]:
        before, exporting = waited.value, Exporting(array[10:20].view(np.uint32))
        cuda.fill(exporting, stream=stream)
        assert exporting.stream == last and waited.value == before + waits
        assert (ctypes.c_void_p.in_dll(gpu, "last_stream").value or 0) == (last if stream is None else stream)
    bits = array.view(np.uint32)
    assert bits[10:20].any(axis=1).all() and not bits[:10].any() and not bits[20:].any()
    rng().random(out=Exporting(array))
    assert 0 <= array.min() < array.max() < 1
    with pytest.raises(ValueError, match="not contiguous"):
        cuda.fill(Exporting(array[:, :10]))
    with pytest.raises(ValueError, match=r"squall.fill takes arrays on the CPU"):
        cuda.fill(array)


def test_tensors(gpu, monkeypatch):
    """By a module that is called torch, with what squall.cuda asks a tensor."""
    torch = types.ModuleType("torch")

    class Tensor:
        layout, requires_grad, is_cuda, contiguous, dtype = "strided", False, True, True, "torch.float32"
        device = types.SimpleNamespace(index=0)

        def __init__(self, count):
            self.memory = OnCpu("<f4", count)

        is_contiguous = lambda self: self.contiguous
        data_ptr = lambda self: self.memory.address
        numel = lambda self: self.memory.count
        element_size = lambda self: 4

    torch.Tensor, torch.strided, torch.float32 = Tensor, "strided", "torch.float32"
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=123))
    torch.empty = lambda shape, dtype, device: Tensor(*shape)
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = cuda.default_rng(framework="torch").random(100)
    assert all(0 <= number < 1 for number in tensor.memory.numbers())
    assert ctypes.c_void_p.in_dll(gpu, "last_stream").value == 123
    for name, value, message in [
        ("is_cuda", False, "squall.fill takes tensors on the CPU"),
        ("contiguous", False, "not contiguous"),
        ("layout", "sparse", "not contiguous"),
        ("requires_grad", True, "detach"),
    ]:
        wrong = Tensor(5)
        setattr(wrong, name, value)
        with pytest.raises(ValueError, match=message):
            cuda.fill(wrong)


def test_arrays_of_jax_are_not_changed(gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(Array=OnCpu))
    with pytest.raises(TypeError, match="JAX cannot be changed"):
        cuda.fill(OnCpu("<f4", 3))
    assert len(set(rng().random(10).numbers())) == 10


# Without a GPU.


def test_what_is_missing(monkeypatch):
    monkeypatch.setattr(_cuda_driver, "LIBRARY", "libcuda-that-is-missing.so.1")
    _cuda_driver.driver.cache_clear()
    with pytest.raises(cuda.CudaError, match="there is no NVIDIA driver"):
        cuda.fill(OnCpu("|u1", 3))
    # Before the framework says it in its own way.
    with pytest.raises(cuda.CudaError, match="there is no NVIDIA driver"):
        cuda.default_rng(framework="torch").random()
    with pytest.raises(cuda.CudaError, match="pip install nvidia-cuda-nvrtc-cu12"):
        _cuda_driver.Nvrtc((11, 0))


@pytest.mark.parametrize(
    "what, value, message", [("gpus", 0, "there is no GPU"), ("version", 11040, "supports CUDA 11.4, not 12.0")]
)
def test_a_driver_that_cannot_do_it(gpu, what, value, message):
    ctypes.c_int.in_dll(gpu, what).value = value
    with pytest.raises(cuda.CudaError, match=message):
        cuda.fill(OnCpu("|u1", 3))


def test_the_script_needs_a_gpu():
    if ctypes.util.find_library("cuda"):
        pytest.skip("there is a driver")
    script = Path(__file__).parents[3] / "scripts" / "gpu.sh"
    environment = os.environ | {"PYTHON": sys.executable}
    result = subprocess.run([script], env=environment, capture_output=True, text=True)
    assert result.returncode == 1 and result.stdout == "" and result.stderr.count("\n") == 1
    assert "gpu.sh: there is no NVIDIA driver" in result.stderr


@pytest.fixture
def nvrtc():
    try:
        return _cuda_driver.Nvrtc((13, 9))
    except cuda.CudaError:
        pytest.skip("NVRTC is not installed")


def test_a_user_without_a_home_directory_has_no_cache(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: Path("~that-is-missing").expanduser())
    compiler = types.SimpleNamespace(architecture=str, version=0, compile=lambda *_: b"compiled")
    monkeypatch.setattr(_cuda_driver, "Nvrtc", lambda _: compiler)
    assert _cuda_driver.compiled(9, 0, (13, 9)) == b"compiled"


def test_nvidias_compiler_takes_the_kernels(nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    binary = _cuda_driver.compiled(9, 0, (13, 9))
    assert binary.startswith(b"\x7fELF") and b"chacha20_bytes" in binary
    (file,) = Path(tmp_path, "squall").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(b"kept")
    assert _cuda_driver.compiled(9, 0, (13, 9)) == b"kept"


def test_a_gpu_newer_than_the_compiler_gets_ptx(nvrtc, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert b".visible .entry chacha20_bytes" in _cuda_driver.compiled(99, 0, (13, 9))


def test_errors_of_the_compiler(nvrtc):
    with pytest.raises(cuda.CudaError, match="cannot be compiled: .*error"):
        nvrtc.compile(b"not C++", [*_cuda_driver.OPTIONS, nvrtc.architecture(90)])


def test_import_needs_nothing():
    code = "import squall; squall.cuda.fill; import sys; assert not {'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
