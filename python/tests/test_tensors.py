"""Tensors of PyTorch on the CPU, which `squall.fill` reaches by their method `numpy()`."""

import importlib.util
import pathlib

import pytest

import squall

# No CI has it: it is too large. Debian's package python3-torch has.
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

TYPES = [torch.uint8, torch.int16, torch.int64, torch.float16, torch.float64, torch.complex64]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_byte_is_filled(dtype):
    tensor = torch.zeros(3, 100, dtype=dtype)
    seen = bytearray(tensor.numpy().nbytes)
    for _ in range(64):
        place = tensor.data_ptr()
        squall.fill(tensor)
        assert tensor.data_ptr() == place
        seen = bytes(one | other for one, other in zip(seen, tensor.numpy().tobytes()))
    assert set(seen) == {0xFF}


def test_memory_that_others_see():
    """A part of a tensor is filled and the rest is not; a long one is filled without the GIL."""
    tensor = torch.zeros(4, 1 << 16, dtype=torch.uint8)
    squall.fill(tensor[1:3])
    assert [bool(row.any()) for row in tensor] == [False, True, True, False]
    module = torch.nn.Linear(8, 8)
    squall.fill(module.weight.detach())
    assert len(set(module.weight.detach().flatten().view(torch.int32).tolist())) > 50


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,)], ids=str)
def test_small_shapes(shape):
    squall.fill(torch.zeros(shape))


def test_a_type_that_numpy_lacks():
    tensor = torch.zeros(100, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match="BFloat16"):
        squall.fill(tensor)
    assert not tensor.any()
    squall.fill(tensor.view(torch.int16))
    assert tensor.view(torch.int16).any()


def test_tensors_that_cannot_be_filled():
    tensor = torch.zeros(10, 10)
    with pytest.raises(BufferError, match="not contiguous"):
        squall.fill(tensor[:, :5])
    # `numpy()` refuses these itself.
    with pytest.raises(RuntimeError, match="detach"):
        squall.fill(torch.zeros(10, requires_grad=True))
    with pytest.raises((TypeError, RuntimeError)):
        squall.fill(torch.zeros(10, device="meta"))
    with pytest.raises((TypeError, RuntimeError)):
        squall.fill(tensor.to_sparse())
    assert not tensor.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_example(dtype):
    file = pathlib.Path(__file__).parent.parent / "examples" / "tensor.py"
    spec = importlib.util.spec_from_file_location("tensor", file)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    filled = example.uniform_(torch.full((30, 40), 2, dtype=dtype))
    assert 0 <= filled.min() and filled.max() < 1
    # Of float32 there are 2**24, of which two may be the same.
    assert len(set(filled.flatten().tolist())) > 1190
    assert 0.4 < filled.mean() < 0.6
