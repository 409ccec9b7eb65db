"""The kernels of squall.cuda, run on the CPU: against squall's engines and standards, with planted faults."""

import collections
import ctypes
import json
import math
import random
import struct
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import pytest

import squall
from answers import chacha20
from on_cpu import OnCpu
from squall import _squall, cuda

KEY = bytes(range(32))
VECTORS = Path(__file__).parents[3] / "drbg" / "vectors"

# RFC 8439 appendix A.1, test vectors 1 to 4: key, counter, beginning of the block.
CHACHA20 = [
    (bytes(32), 0, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"),
    (bytes(32), 1, "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"),
    (bytes(31) + b"\1", 1, "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"),
    (b"\0\xff" + bytes(30), 2, "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"),
]


def chacha20_bytes(key, first, count, shift=0):
    out = OnCpu("|u1", count, shift)
    cuda._make(cuda._Array(out, None), "bytes", key, first, count, size=1)
    assert set(out.around()) == {0xA5}
    return out.bytes()


def aes_bytes(key, first, count, shift=0):
    out = OnCpu("|u1", count, shift)
    stream = cuda.Stream(key)
    stream.seek(first)
    assert stream.readinto(out) == count and stream.tell() == first + count
    assert set(out.around()) == {0xA5}
    return out.bytes()


def of_cpu(key, first, count):
    stream = squall.Stream(key)
    stream.seek(first)
    return stream.read(count)


PLACES = [(length, length * 7 % 37, length * 11 % 19) for length in range(300)] + [
    (length, offset, shift) for length in (1, 15, 100) for offset in range(17) for shift in range(16)
]


def test_aes_at_all_lengths_offsets_and_alignments(gpu):
    for length, offset, shift in PLACES:
        assert aes_bytes(KEY, offset, length, shift) == of_cpu(KEY, offset, length)


def test_chacha20_at_all_lengths_offsets_and_alignments(gpu):
    whole = chacha20(KEY, 0, 0, 1000)
    for length, offset, shift in PLACES:
        assert chacha20_bytes(KEY, offset, length, shift) == whole[offset : offset + length]


@pytest.mark.parametrize("grid", [1, 2, 5, 40])
def test_any_grid(gpu, grid):
    ctypes.c_uint.in_dll(gpu, "next_grid").value = grid
    assert aes_bytes(KEY, 3, 100_000) == of_cpu(KEY, 3, 100_000)
    assert chacha20_bytes(KEY, 3, 100_000) == chacha20(KEY, 0, 0, 100_003)[3:]


# Where the number of an AES block of 16 bytes, and of a ChaCha20 block of 64, takes more than 32 bits.
AES_EDGES = [1 << 36, 1 << 40, 5 << 36, (1 << 63) + (1 << 36), (1 << 64) - 2000]
CHACHA20_EDGES = [1 << 38, 7 << 38]


def aes_is_right_at(edge):
    return aes_bytes(KEY, edge - 10_000, 20_000) == of_cpu(KEY, edge - 10_000, 20_000)


def chacha20_is_right_at(edge):
    return chacha20_bytes(KEY, edge - 1024, 3000) == chacha20(KEY, edge // 64 - 16, 0, 3000)


def test_carries(gpu):
    # So that a thread has blocks on both sides.
    ctypes.c_uint.in_dll(gpu, "next_grid").value = 1
    assert all(map(aes_is_right_at, AES_EDGES[:-1])) and all(map(chacha20_is_right_at, CHACHA20_EDGES))
    assert aes_bytes(KEY, AES_EDGES[-1], 2000) == of_cpu(KEY, AES_EDGES[-1], 2000)


def test_the_end_of_the_stream(gpu):
    for length in range(1, 40):
        for shift in range(16):
            first = (1 << 64) - length
            assert aes_bytes(KEY, first, length, shift) == of_cpu(KEY, first, length)


def test_control_faults_are_found(use):
    use(("u32 s2 = __byte_perm(high, 0, 0x0123) ^ k[2]", "u32 s2 = k[2]"))
    assert aes_is_right_at(10_000) and not any(map(aes_is_right_at, AES_EDGES[:-1]))
    # Each thread looks at the high word once only.
    changed = "(u32)(block >> 32) != high"
    library = use((changed, f"{changed} && high == ~(u32)(block >> 32)"))
    ctypes.c_uint.in_dll(library, "next_grid").value = 1
    assert aes_is_right_at(10_000) and not any(map(aes_is_right_at, AES_EDGES[:-1]))
    use(("counter_high = (u32)(counter >> 32)", "counter_high = 0"))
    assert chacha20_is_right_at(10_240) and not any(map(chacha20_is_right_at, CHACHA20_EDGES))
    barrier = "x[4 * i + 3]);\n        __syncwarp();"
    use((barrier, barrier.replace("__syncwarp();", "")))
    assert not chacha20_is_right_at(10_240)


def test_known_answers(gpu):
    for answer in json.loads((VECTORS / "stream.json").read_text()):
        expected = bytes.fromhex(answer["bytes"])
        assert aes_bytes(answer["seed"], int(answer["offset"]), len(expected)) == expected
    for key, counter, block in CHACHA20:
        assert chacha20_bytes(key, 64 * counter, 32).hex() == block


# Numbers.


def elements(kernel, typestr, count, first=0, key=None, shift=0, **parameters):
    out = OnCpu(typestr, count, shift)
    key = _squall.RoundKeys(KEY) if key is None else key
    cuda._make(cuda._Array(out, None), kernel, key, first, count, size=out.size, **parameters)
    assert set(out.around()) == {0xA5}
    return out


@pytest.mark.parametrize("first", [0, 1, 7, (1 << 33) - 50, (1 << 60) + 3])
@pytest.mark.parametrize(
    "kind, kernel, span",
    [
        ("uniform", "uniform64", 0), ("normal", "normal64", 0), ("word", "integers", 0),
        ("integer", "integers", 6), ("integer", "integers", 1 << 63), ("wide integer", "wide_integers", 10**12),
        ("wide integer", "wide_integers", (1 << 64) - 1),
    ],
)  # fmt: skip
def test_elements_are_those_of_dask_to_the_bit(gpu, kind, kernel, span, first):
    count, low = 1001, (1 << 64) - 50
    expected = bytearray(8 * count)
    _squall.fill_elements(expected, KEY, kind, [1 << 62], [first], [count], low * (kind != "word"), span)
    typestr = "<f8" if "64" in kernel else "<i8"
    for shift in (0, 8):
        out = elements(kernel, typestr, count, first, shift=shift, low=low * (kind != "word"), span=span)
        assert out.bytes() == expected
    if typestr == "<i8":
        for size in (1, 2, 4):
            out = elements(kernel, f"<i{size}", count, first, low=low * (kind != "word"), span=span)
            assert out.bytes() == b"".join(expected[i : i + size] for i in range(0, 8 * count, 8))


def test_normal_numbers_of_64_bits_in_the_tails(gpu):
    gpu.normal64_of_word.restype, gpu.normal64_of_word.argtypes = ctypes.c_double, [ctypes.c_uint64]
    words = [0, 1 << 12, 1 << 40, 1 << 58, 1 << 59, 1 << 63, (1 << 64) - 1, (1 << 64) - (1 << 13)]
    rng = random.Random(5)
    words += [rng.getrandbits(64) >> rng.randrange(53) for _ in range(50_000)]
    for word in words:
        assert gpu.normal64_of_word(word) == _squall.normal_of_word(word)


@pytest.mark.parametrize("first", [0, 1, 2, 3, 1 << 34])
def test_uniform_numbers_of_32_bits(gpu, first):
    expected = [(word >> 8) / (1 << 24) for (word,) in struct.iter_unpack("<I", of_cpu(KEY, 4 * first, 4004))]
    for shift in (0, 4):
        assert elements("uniform32", "<f4", 1001, first, shift=shift).numbers() == expected
    expected = [(word >> 8) / (1 << 24) for (word,) in struct.iter_unpack("<I", chacha20(KEY, 0, 0, 400))]
    assert elements("uniform32", "<f4", 100, key=KEY).numbers() == expected


def test_normal_numbers_of_32_bits(gpu):
    """Their distance from the quantile is at most four parts in 10**7, in the tails too."""
    gpu.normal32_of_word.restype, gpu.normal32_of_word.argtypes = ctypes.c_float, [ctypes.c_uint32]
    rng = random.Random(6)
    magnitudes = [0, 1, 2, (1 << 31) - 1, (1 << 31) - 2]
    magnitudes += [rng.getrandbits(31) for _ in range(50_000)]
    magnitudes += [(1 << 31) - 1 - (rng.getrandbits(31) >> rng.randrange(31)) for _ in range(50_000)]
    magnitudes += [rng.getrandbits(31) >> rng.randrange(31) for _ in range(10_000)]
    quantile = NormalDist().inv_cdf
    for magnitude in magnitudes:
        # Of the tail, where a double has the probability exactly.
        expected = -quantile(((1 << 32) - (2 * magnitude + 1)) / (1 << 33))
        assert gpu.normal32_of_word(magnitude) == pytest.approx(expected, rel=4e-7)
        assert gpu.normal32_of_word(magnitude | 1 << 31) == -gpu.normal32_of_word(magnitude)
    words = [word for (word,) in struct.iter_unpack("<I", of_cpu(KEY, 4, 400))]
    assert elements("normal32", "<f4", 100, 1).numbers() == list(map(gpu.normal32_of_word, words))
    words = [word for (word,) in struct.iter_unpack("<I", chacha20(KEY, 0, 0, 400))]
    assert elements("normal32", "<f4", 100, key=KEY).numbers() == list(map(gpu.normal32_of_word, words))


@pytest.mark.parametrize("span", [1, 6, 10**12, (1 << 63) + 1, (3 << 62) - 1, (1 << 64) - 1])
def test_integers_without_bias(gpu, span):
    """Lemire's method, with the words of an element's own after the first."""
    least = (1 << 64) % span
    drawn = elements("integers", "<u8", 200, key=KEY, low=5, span=span).numbers()
    for element, (word,) in enumerate(struct.iter_unpack("<Q", chacha20(KEY, 0, 0, 1600))):
        if word * span % (1 << 64) < least:
            more = struct.iter_unpack("<Q", chacha20(KEY, 0, element + 1, 640))
            word = next(word for (word,) in more if word * span % (1 << 64) >= least)
        assert drawn[element] == 5 + (word * span >> 64)


# Noise.


def noise(kernel, count, key=KEY, **parameters):
    return elements(kernel, "<i8", count, key=key, **parameters).numbers()


def gaussian(variance, count, key=KEY):
    n, d = Fraction(variance).as_integer_ratio()
    return noise("gaussian", count, key, low=n, span=d, root=math.isqrt(n // d) + 1)


def laplace(scale, count, key=KEY):
    n, d = Fraction(scale).as_integer_ratio()
    return noise("laplace", count, key, low=n, span=d)


def chi_square(samples, weight):
    """Return how far the samples are from these relative probabilities: about 1, or much more."""
    total = sum(weight(y) for y in range(-1000, 1001))
    counts = collections.Counter(samples)
    terms = []
    for y in range(-1000, 1001):
        expected = len(samples) * weight(y) / total
        if expected >= 20:
            terms.append((counts[y] - expected) ** 2 / expected)
    return sum(terms) / (len(terms) - 1)


@pytest.mark.parametrize("scale", ["1/3", "1", "7/2", "10"])
def test_laplace(gpu, scale):
    samples, scale = laplace(scale, 20_000), Fraction(scale)
    assert chi_square(samples, lambda y: math.exp(-abs(y) / scale)) < 2
    assert chi_square(samples, lambda y: math.exp(-abs(y) / (scale * Fraction(6, 5)))) > 4
    assert chi_square(samples, lambda y: math.exp(-abs(y) / scale) * (1 + (y == 0))) > 2


@pytest.mark.parametrize("variance", ["1/4", "1", "15/2", "100", f"{10**12 + 1}/{10**10}"])
def test_gaussian(gpu, variance):
    samples, variance = gaussian(variance, 20_000), Fraction(variance)
    assert chi_square(samples, lambda y: math.exp(-(y**2) / (2 * variance))) < 2
    assert chi_square(samples, lambda y: math.exp(-(y**2) / (Fraction(12, 5) * variance))) > 3


@pytest.mark.parametrize("sample, parameter", [(gaussian, (1 << 40) - 1), (laplace, (1 << 32) - 1)])
def test_wide_noise(gpu, sample, parameter):
    """By the greatest distance of the distributions, of Kolmogorov and Smirnov: once in 10**4 it is more than 2.2."""
    samples = sorted(sample(parameter, 5_000))

    def distribution(y):
        if sample is gaussian:
            return NormalDist(0, math.sqrt(parameter)).cdf(y)
        half = math.exp(-abs(y) / parameter) / 2
        return half if y < 0 else 1 - half

    def distance(factor):
        pairs = enumerate(samples)
        return max(abs(i / len(samples) - distribution(y * factor)) for i, y in pairs) * math.sqrt(
            len(samples)
        )

    assert distance(1) < 2.2 < distance(1.2)


def test_noise_does_not_depend_on_the_grid(gpu):
    samples = gaussian(1000, 3000)
    ctypes.c_uint.in_dll(gpu, "next_grid").value = 2
    assert gaussian(1000, 3000) == samples and gaussian(1000, 3000, bytes(32)) != samples
    first = elements("gaussian", "<i8", 100, 50, KEY, low=1000, span=1, root=32).numbers()
    assert first == samples[50:150]
