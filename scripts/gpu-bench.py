#!/usr/bin/env python3
"""How fast squall.cuda is beside PyTorch on the GPU of this machine, in a minute. scripts/gpu.sh runs it.

Exits with 1 if a target of an H100 is missed, whatever the GPU.
"""

import datetime
import platform
import sys
import time

import torch

import squall
from squall import cuda

GIB = 1 << 30
ROUNDS = 6
TARGETS = {
    "ChaCha20, GB/s": 1550,
    "AES-256-CTR, GB/s": 340,
    "uniform float32, of torch's": 0.55,
    "normal float32, of torch's": 0.5,
    "a call for 1,024 numbers, in torch's": 2,
}


def rate(call, length):
    """Return the best rate of some rounds, in 10**9 bytes a second."""
    call()
    best = 0.0
    for _ in range(ROUNDS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        best = max(best, length / start.elapsed_time(end) / 1e6)
    return best


def duration(call, calls=5000):
    """Return the shortest time of a call in some rounds of many, in microseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begun) / calls * 1e6)
    return best


def main():
    name, version = torch.cuda.get_device_name(), squall.status()["version"]
    print(f"{datetime.date.today()}: squall.cuda beside PyTorch {torch.__version__}")
    print(f"{name}, CUDA driver {cuda._cuda_driver.driver().version}, {platform.machine()}, squall {version}")
    length = min(16 * GIB, torch.cuda.mem_get_info()[0] // 2) // GIB * GIB
    print(f"{length // GIB} GiB of device memory; the best of {ROUNDS}\n")
    octets = torch.empty(length, dtype=torch.uint8, device="cuda")
    floats, doubles, words = (octets.view(kind) for kind in (torch.float32, torch.float64, torch.int64))
    noise = words[: 1 << 24]
    rng, stream = cuda.default_rng(framework="torch"), cuda.Stream(bytes(32))

    def read():
        stream.seek(0)
        stream.readinto(octets)

    rates = {
        "memset": lambda: octets.zero_(),
        "ChaCha20": lambda: cuda.fill(octets),
        "AES-256-CTR": read,
        "uniform float32": lambda: rng.random(out=floats),
        "uniform float32, torch": lambda: floats.uniform_(),
        "normal float32": lambda: rng.standard_normal(out=floats),
        "normal float32, torch": lambda: floats.normal_(),
        "uniform float64": lambda: rng.random(out=doubles),
        "normal float64": lambda: rng.standard_normal(out=doubles),
        "integers below 1000, int64": lambda: rng.integers(1000, out=words),
        "integers below 1000, int64, torch": lambda: words.random_(0, 1000),
        "discrete Gaussian, deviation 2^16": lambda: rng.discrete_gaussian(1 << 32, out=noise),
    }
    measured = {}
    for what, call in rates.items():
        measured[what] = rate(call, noise.nbytes if "Gaussian" in what else length)
        print(f"{what:36}{measured[what]:8.0f} GB/s", flush=True)
    few = torch.empty(1024, device="cuda")
    ours, theirs = duration(lambda: rng.random(out=few)), duration(lambda: few.uniform_())
    print(f"{'a call for 1,024 float32':36}{ours:8.1f} µs, torch {theirs:.1f} µs\n")
    results = {
        "ChaCha20, GB/s": measured["ChaCha20"],
        "AES-256-CTR, GB/s": measured["AES-256-CTR"],
        "uniform float32, of torch's": measured["uniform float32"] / measured["uniform float32, torch"],
        "normal float32, of torch's": measured["normal float32"] / measured["normal float32, torch"],
        "a call for 1,024 numbers, in torch's": ours / theirs,
    }
    missed = 0
    for what, target in TARGETS.items():
        result = results[what]
        is_met = result <= target if "call" in what else result >= target
        missed += not is_met
        print(f"{what:40}{result:8.2f}, target {target}: {'met' if is_met else 'MISSED'}")
    sys.exit(missed > 0)


main()
