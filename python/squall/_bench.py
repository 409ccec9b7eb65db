"""`python -m squall bench`: what Python, NumPy and Dask draw, beside the same from squall.

In each row, the columns take turns. A time is the shortest of the turns.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import secrets
import sys
import time
import uuid
from collections.abc import Callable
from timeit import Timer

import squall

TURNS = 9
# What a turn should take, in seconds.
TURN = 0.02

# A row: its name, and a statement and its variables for each column.
Row = tuple[str, list[tuple[str, dict[str, object]]]]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("python -m squall bench", description=__doc__)
    parser.add_argument(
        "--dask",
        nargs="?",
        const=1e8,
        type=float,
        metavar="N",
        help="also N uniform numbers in Dask on two processes (1e8)",
    )
    count = parser.parse_args(arguments).dask
    print(_machine())
    print("In brackets: how many times as fast as the first column. The shortest of some turns.")
    _table("the standard library", ["the kernel", "squall"], _bytes())
    _table("random.Random", ["SystemRandom", "squall.Random", "Random, predictable"], _methods())
    try:
        import numpy
    except ImportError:
        print("\nNumPy is not installed: run pip install numpy")
        return
    columns = ["PCG64, predictable", "squall, unseeded", "squall, seeded"]
    _table(f"NumPy {numpy.__version__}", columns, _numpy())
    if count is not None:
        _dask(int(count))


def _machine() -> str:
    with open("/proc/cpuinfo") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    cpu = models[0] if models else platform.machine()
    status = squall.status()
    return (
        f"squall {status['version']} ({status['engine']}, clone guard {status['clone_guard']}), "
        f"Python {platform.python_version()}, {' '.join(platform.libc_ver())}, "
        f"{len(os.sched_getaffinity(0))} CPUs: {cpu}, {time.strftime('%Y-%m-%d')}"
    )


def _bytes() -> list[Row]:
    names: dict[str, object] = {"os": os, "secrets": secrets, "uuid": uuid, "squall": squall}
    return [
        (name, [(kernel, names), (ours, names)])
        for name, kernel, ours in [
            ("16 bytes", "os.urandom(16)", "squall.token_bytes(16)"),
            ("32 bytes", "secrets.token_bytes(32)", "squall.token_bytes(32)"),
            ("1 MiB", "os.urandom(1 << 20)", "squall.token_bytes(1 << 20)"),
            ("token_urlsafe()", "secrets.token_urlsafe()", "squall.token_urlsafe()"),
            ("randbelow(1000)", "secrets.randbelow(1000)", "squall.randbelow(1000)"),
            ("uuid4()", "uuid.uuid4()", "squall.uuid4()"),
        ]
    ]


def _methods() -> list[Row]:
    generators = [random.SystemRandom(), squall.Random(), random.Random()]
    items = list(range(10**6))
    return [
        (statement, [(f"rng.{statement}", {"rng": rng, "items": items}) for rng in generators])
        for statement in [
            "random()",
            "getrandbits(64)",
            "randrange(1000)",
            "gauss()",
            "shuffle(items)",
        ]
    ]


def _numpy() -> list[Row]:
    import numpy as np

    import squall.random

    generators = [np.random.default_rng(1), squall.random.default_rng(), squall.random.default_rng(1)]
    return [
        (statement, [(f"rng.{statement}", {"rng": rng}) for rng in generators])
        for statement in [
            "random(1000)",
            "random(10**6)",
            "integers(1000, size=10**6)",
            "standard_normal(10**6)",
            "bytes(1 << 20)",
            "random()",
        ]
    ]


def _table(title: str, columns: list[str], rows: list[Row]) -> None:
    print(f"\n{title:28}" + "".join(f"{column:>24}" for column in columns))
    for name, statements in rows:
        timers: list[Callable[[int], float]] = [
            Timer(statement, globals=names).timeit for statement, names in statements
        ]
        _print_row(name, _in_turns(timers))


def _print_row(name: str, times: list[float]) -> None:
    first, *others = times
    cells = [f"{_text(first):>24}"]
    cells += [f"{f'{_text(time)} ({_ratio(first / time)})':>24}" for time in others]
    print(f"{name:28}" + "".join(cells), flush=True)


def _in_turns(timers: list[Callable[[int], float]]) -> list[float]:
    """Return the seconds that each takes for one repetition."""
    repetitions = [_repetitions(timer) for timer in timers]
    turns = 3 if 1 in repetitions else TURNS
    times = [
        [timer(number) / number for timer, number in zip(timers, repetitions)] for _ in range(turns)
    ]
    return [min(of_one) for of_one in zip(*times)]


def _repetitions(timer: Callable[[int], float]) -> int:
    number = 1
    while number < 1 << 24 and timer(number) < TURN / 2:
        number *= 2
    return number


def _ratio(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99 else f"{ratio:.0f}"


def _text(seconds: float) -> str:
    for unit, size in [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)]:
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _dask(count: int) -> None:
    try:
        import dask
        import dask.array as da
    except ImportError:
        sys.exit("Dask is not installed: run pip install 'dask[array]'")
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import squall.dask
    import squall.random

    chunks = min(count, 10**7)
    makers: list[Callable[[], da.Array]] = [
        lambda: da.random.default_rng(1).random(count, chunks=chunks),
        lambda: da.random.default_rng(squall.random.default_rng(1)).random(count, chunks=chunks),
        lambda: squall.dask.random(count, chunks, seed=1),
    ]

    def timer(make: Callable[[], da.Array]) -> Callable[[int], float]:
        def timed(number: int) -> float:
            start = time.perf_counter()
            for _ in range(number):
                make().sum().compute(scheduler="processes", num_workers=2)
            return time.perf_counter() - start

        return timed

    columns = ["PCG64, predictable", "squall, seeded", "squall.dask"]
    print(f"\nDask {dask.__version__}, 2 processes  " + "".join(f"{column:>24}" for column in columns))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool, dask.config.set(pool=pool):
        timers = [timer(make) for make in makers]
        _print_row(f"{count:,} uniforms, sum", _in_turns(timers))
