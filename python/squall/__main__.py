"""`python -m squall` prints the protections of this process.

enable   makes every Python of this environment draw from squall: os.urandom, secrets, uuid.uuid4, random, numpy.random
disable  undoes that
status   says whether that is enabled
bench    compares the speed with the standard library's and NumPy's
"""

from __future__ import annotations

import argparse
import errno
import os
import platform
import posix
import random
import secrets
import signal
import sys
import time
import uuid
from timeit import Timer
from typing import Any, NoReturn

import squall
from squall import _enable, _install

COMMANDS = ["enable", "disable", "status", "bench"]
USAGE = "usage: python -m squall [--help | --version | enable | disable | status | bench [--dask [N]]]"


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            for key, value in squall.status().items():
                print(f"{key.replace('_', ' '):24}{_text(value)}")
        case ["bench", *options]:
            bench(options)
        case ["enable" | "disable" | "status" as command]:
            getattr(_enable, command)()
        case ["-h" | "--help"]:
            print(USAGE, __doc__, sep="\n\n")
        case ["--version"]:
            print("squall", squall.status()["version"])
        case [word, *_] if word not in COMMANDS:
            _refuse(f"no command {word!r}: use one of {', '.join(COMMANDS)}, or --help")
        case [command, *_]:
            _refuse(f"{command} takes no arguments")


def _refuse(fault: str) -> NoReturn:
    print(f"squall: {fault}", file=sys.stderr)
    sys.exit(2)


def _run(arguments: list[str]) -> None:
    """Run the command, and say in one line if its output cannot be written."""
    if sys.stdout is None and arguments not in (["enable"], ["disable"]):
        sys.exit("squall: standard output is closed: redirect it to a file or a pipe")
    try:
        main(arguments)
        print(end="", flush=True)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EBADF):
            raise
        # What is left in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(f"squall: standard output: {error.strerror}")


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return value


# The bench: what Python, NumPy and Dask draw, beside the same from squall. In each row, the columns take turns.

TURNS = 9
# What a turn should take, in seconds.
TURN = 0.02

KERNELS_AND_OURS = {
    "16 bytes": ("os.urandom(16)", "squall.token_bytes(16)"),
    "32 bytes": ("secrets.token_bytes(32)", "squall.token_bytes(32)"),
    "1 MiB": ("os.urandom(1 << 20)", "squall.token_bytes(1 << 20)"),
    "token_urlsafe()": ("secrets.token_urlsafe()", "squall.token_urlsafe()"),
    "randbelow(1000)": ("secrets.randbelow(1000)", "squall.randbelow(1000)"),
    "uuid4()": ("uuid.uuid4()", "squall.uuid4()"),
}
METHODS_OF_RANDOM = ["random()", "getrandbits(64)", "randrange(1000)", "gauss()", "shuffle(items)"]
METHODS_OF_BOTH = ["random(1000)", "random(10**6)", "standard_normal(10**6)", "bytes(1 << 20)", "random()"]
METHODS_OF_NUMPY = [*METHODS_OF_BOTH, "integers(1000, size=10**6)"]
BEFORE_AND_AFTER_INSTALL = ["without install", "after install"]


def bench(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        "python -m squall bench",
        description="What Python, NumPy and Dask draw, beside the same from squall."
        " In each row, the columns take turns. A time is the shortest of the turns.",
    )
    parser.add_argument(
        "--dask",
        nargs="?",
        const=1e8,
        type=float,
        metavar="N",
        help="also N uniform numbers in Dask on two processes (1e8)",
    )
    count = parser.parse_args(arguments).dask
    _put_back_the_kernels()
    print(_machine())
    print("In brackets: how many times as fast as the first column. The shortest of some turns.")
    _print_head("the standard library", ["the kernel", "squall"])
    names = {"os": os, "secrets": secrets, "uuid": uuid, "squall": squall}
    for name, statements in KERNELS_AND_OURS.items():
        _print_row(name, [Timer(statement, globals=names) for statement in statements])
    _print_head("random.Random", ["SystemRandom", "squall.Random", "Random, predictable"])
    _print_calls([random.SystemRandom(), squall.Random(), random.Random()], METHODS_OF_RANDOM)
    try:
        import numpy as np
    except ImportError:
        print("\nNumPy is not installed: run pip install numpy")
        return
    ours = squall.random.default_rng
    _print_head(f"NumPy {np.__version__}", ["PCG64, predictable", "squall, unseeded", "squall, seeded"])
    _print_calls([np.random.default_rng(1), ours(), ours(1)], METHODS_OF_NUMPY)
    with squall.install(random=True, numpy=True):
        _print_head("the module random", BEFORE_AND_AFTER_INSTALL)
        _print_calls([random.Random(), random], METHODS_OF_RANDOM)
        _print_head("numpy.random", BEFORE_AND_AFTER_INSTALL)
        _print_calls([np.random.RandomState(), np.random], METHODS_OF_BOTH)
        _print_head("default_rng()", BEFORE_AND_AFTER_INSTALL)
        _print_calls([np.random.Generator(np.random.PCG64()), np.random.default_rng()], METHODS_OF_NUMPY)
    if count is not None:
        _bench_dask(int(count))


def _put_back_the_kernels() -> None:
    """End what `enable` or something else has replaced in this process."""
    with open("/proc/self/maps") as maps:
        if "libsquall-preload" in maps.read():
            _refuse("in this process squall serves getrandom, by squall run: run bench without it")
    for installation in list(_install._installations):
        installation.uninstall()
    os.urandom = random._urandom = posix.urandom  # type: ignore[attr-defined]


def _bench_dask(count: int) -> None:
    try:
        import dask
        import dask.array as da
    except ImportError:
        sys.exit("Dask is not installed: run pip install 'dask[array]'")
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    chunks = min(count, 10**7)
    makers = [
        lambda: da.random.default_rng(1).random(count, chunks=chunks),
        lambda: da.random.default_rng(squall.random.default_rng(1)).random(count, chunks=chunks),
        lambda: squall.dask.random(count, chunks, seed=1),
    ]

    def timer(make: Any) -> Timer:
        return Timer(lambda: make().sum().compute(scheduler="processes", num_workers=2))

    _print_head(f"Dask {dask.__version__}, 2 processes", ["PCG64, predictable", "squall, seeded", "squall.dask"])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool, dask.config.set(pool=pool):
        _print_row(f"{count:,} uniforms, sum", [timer(make) for make in makers])


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


def _print_head(title: str, columns: list[str]) -> None:
    print(f"\n{title:28}" + "".join(f"{column:>24}" for column in columns))


def _print_calls(generators: list[Any], calls: list[str]) -> None:
    items = list(range(10**6))
    for call in calls:
        _print_row(call, [Timer(f"rng.{call}", globals={"rng": rng, "items": items}) for rng in generators])


def _print_row(name: str, timers: list[Timer]) -> None:
    first, *others = _in_turns(timers)
    cells = [f"{_duration(first):>24}"]
    cells += [f"{f'{_duration(time)} ({_ratio(first / time)})':>24}" for time in others]
    print(f"{name:28}" + "".join(cells), flush=True)


def _in_turns(timers: list[Timer]) -> list[float]:
    """Return the seconds that each takes for one repetition."""
    repetitions = [_repetitions(timer) for timer in timers]
    turns = 3 if 1 in repetitions else TURNS
    times = [
        [timer.timeit(number) / number for timer, number in zip(timers, repetitions)] for _ in range(turns)
    ]
    return [min(of_one) for of_one in zip(*times)]


def _repetitions(timer: Timer) -> int:
    number = 1
    while number < 1 << 24 and timer.timeit(number) < TURN / 2:
        number *= 2
    return number


def _ratio(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99 else f"{ratio:.0f}"


def _duration(seconds: float) -> str:
    for unit, size in [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)]:
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


if __name__ == "__main__":
    # A reader that needs no more, as head(1), ends the program and is no error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _run(sys.argv[1:])
