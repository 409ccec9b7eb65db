#!/usr/bin/env python3
"""Compares `squall wipe` with other programs that wipe, on files and loop devices in memory: `make bench-wipe`.

    scripts/bench-wipe.py [ROUNDS]

The programs take turns, five rounds if no number is given, after one that is not counted. Figures are medians of the
rounds, and ratios are medians of the ratios within a round. This needs root, and `cargo build --release --features
tools` before it. Programs that are not installed are listed and left out.
"""

import contextlib
import os
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

SQUALL = Path(__file__).resolve().parent.parent / "target/release/squall"

# Length of a target, in bytes.
SIZE = 1 << 30

# Rate of the slow devices, in bytes a second: that of a disk.
SLOW = 200_000_000

# The directory of the blkio controller (cgroups, version 1), which limits the bytes that are written per second.
CGROUP = Path("/sys/fs/cgroup/blkio")


class Contestant:
    """A command that does the job, with the seconds and CPU seconds of its rounds, or why it is left out."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.seconds, self.cpu, self.failed = [], [], None

    def run(self, counts):
        if self.failed:
            return
        before, clock = cpu_of_children(), time.monotonic()
        run = subprocess.run(self.command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        seconds, cpu = time.monotonic() - clock, cpu_of_children() - before
        if run.returncode != 0:
            last = run.stderr.splitlines()[-1:] or [""]
            self.failed = f"exit status {run.returncode}: {last[0]}"
        elif counts:
            self.seconds.append(seconds)
            self.cpu.append(cpu)


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def race(rounds, contestants):
    """Runs the contestants in turns. Returns how many times as fast as the first each of them is."""
    for turn in range(rounds + 1):
        for contestant in random.sample(contestants, len(contestants)):
            contestant.run(turn > 0)
    firsts = contestants[0].seconds
    pairs = [zip(firsts, contestant.seconds) for contestant in contestants]
    ratios = [[first / other for first, other in pair] for pair in pairs]
    return [median(ratio) if ratio else None for ratio in ratios]


@contextlib.contextmanager
def device(size):
    """A loop device on a new file in memory, all pages of which are allocated."""
    with tempfile.NamedTemporaryFile(dir=".") as image:
        os.posix_fallocate(image.fileno(), 0, size)
        attach = ["losetup", "--find", "--show", image.name]
        path = subprocess.run(attach, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        try:
            yield path
        finally:
            subprocess.run(["losetup", "--detach", path], check=True)


@contextlib.contextmanager
def throttled(devices):
    """Writes to each of the devices at most SLOW bytes a second, in this process and its children."""
    group = CGROUP / f"squall-{os.getpid()}"
    group.mkdir()
    try:
        for path in devices:
            number = os.stat(path).st_rdev
            limit = f"{os.major(number)}:{os.minor(number)} {SLOW}"
            (group / "blkio.throttle.write_bps_device").write_text(limit)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (CGROUP / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def squall(name, targets, content="random"):
    command = [SQUALL, "wipe", "--yes", "--verify", "none", "--pass", content, "--report", "reports", *targets]
    for target in targets:
        diskseq = Path("/sys/block", Path(target).name, "diskseq")
        if diskseq.exists():
            command += ["--serial", f"diskseq-{diskseq.read_text().strip()}"]
    return Contestant(name, command)


def random_and_zeros(target):
    return [squall("squall wipe", [target]), squall("squall wipe --pass zero", [target], "zero")]


def script(name, text):
    return Contestant(name, ["bash", "-o", "pipefail", "-c", text])


def of_shell(target, flags):
    # Nothing here is secret, so a constant key will do.
    key, initial = "00" * 32, "00" * 16
    return [
        script("shred -n 1", f"shred -n 1 {target}"),
        script(
            "openssl enc -aes-256-ctr | dd",
            f"head -c {SIZE} /dev/zero | openssl enc -aes-256-ctr -K {key} -iv {initial} -nosalt"
            f" | dd of={target} bs=1M iflag=fullblock {flags}",
        ),
        script("dd if=/dev/urandom", f"dd if=/dev/urandom of={target} bs=1M count={SIZE >> 20} {flags}"),
    ]


def nwipe(target):
    """nwipe (0.41 or later), in a mount namespace in which there is no other device to be wiped by mistake. By default
    it would first measure its generators for ten seconds."""
    return script(
        "nwipe --prng=chacha20",
        "command -v nwipe > /dev/null || { echo not installed >&2; exit 1; }; "
        "unshare --mount bash -e -c 'keep=$(mktemp -d); mount --bind /dev $keep; mount -t tmpfs none /dev; "
        f"cp -a $keep/{{null,zero,urandom,random}} $keep/{Path(target).name} /dev/; "
        "mkdir /dev/pts; umount $keep; rmdir $keep; nwipe --autonuke --nogui --nowait --noblank --method=prng "
        f"--prng=chacha20 --rounds=1 --verify=off --PDFreportpath=noPDF {target}'",
    )


def cost_of_keystream(file, rounds):
    """Compares it with the same transfers of zeros, in many rounds because they are short."""
    print("speed of random bytes, of that of zeros by the same transfers")

    def compare(name, target, rounds):
        print(f"  {name:<34} {1 / race(rounds, random_and_zeros(target))[1]:>8.2f}")

    compare("a file in memory", file, 6 * rounds)
    with device(SIZE) as memory:
        compare("a loop device in memory", memory, 6 * rounds)
    with device(SIZE // 4) as disk, throttled([disk]):
        compare("a device of 200 MB/s", disk, min(rounds, 3))
    print()


def compare_programs(title, rounds, contestants):
    """A table: each contestant's time, rate, CPU time, and how squall compares."""
    titles = "s", "GB/s", "CPU s/GB", "of squall's speed"
    print("{}\n  {:<34} {:>8} {:>10} {:>12} {:>18}".format(title, "", *titles))
    gb = SIZE / 1e9
    for contestant, speed in zip(contestants, race(rounds, contestants)):
        if contestant.failed:
            print(f"  {contestant.name:<34} left out: {contestant.failed}")
            continue
        seconds, cpu = median(contestant.seconds), median(contestant.cpu)
        print(f"  {contestant.name:<34} {seconds:>8.3f} {gb / seconds:>10.2f} {cpu / gb:>12.3f} {speed:>18.2f}")
    print()


def scaling(title, rounds, slow):
    """One, two and four devices at once: in memory, or as slow as disks."""
    print(f"{title}\n  {'devices':>8} {'s':>8} {'GB/s':>10} {'of one alone':>14}")
    with contextlib.ExitStack() as stack:
        devices = [stack.enter_context(device(SIZE // 4)) for _ in range(4)]
        if slow:
            stack.enter_context(throttled(devices))
        contestants = [squall(str(count), devices[:count]) for count in (1, 2, 4)]
        for contestant, speed in zip(contestants, race(min(rounds, 3) if slow else rounds, contestants)):
            count, seconds = int(contestant.name), median(contestant.seconds)
            rate = SIZE / 4 * count / 1e9 / seconds
            print(f"  {count:>8} {seconds:>8.3f} {rate:>10.2f} {speed * count:>14.2f}")
    print()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    name = re.search("model name.*: (.*)", Path("/proc/cpuinfo").read_text())
    cpu = name[1] if name else platform.machine()
    print(f"{cpu}, {os.cpu_count()} cores visible, Linux {platform.release()}")
    print(f"{rounds} rounds, targets of {SIZE >> 20} MiB\n")
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=90%", "squall-wipe", directory], check=True)
        stack.callback(subprocess.run, ["umount", directory], check=True)
        stack.callback(os.chdir, "/")
        os.chdir(directory)
        file = Path(directory, "file")
        with file.open("wb") as target:
            os.posix_fallocate(target.fileno(), 0, SIZE)
        cost_of_keystream(file, rounds)
        contestants = random_and_zeros(file) + of_shell(file, "conv=notrunc,fdatasync")
        compare_programs("a file in memory", rounds, contestants)
        with device(SIZE) as memory:
            contestants = random_and_zeros(memory) + of_shell(memory, "oflag=direct conv=fdatasync")
            compare_programs("a loop device in memory", rounds, [*contestants, nwipe(memory)])
        scaling("devices in memory at once", rounds, slow=False)
        scaling("devices of 200 MB/s at once", rounds, slow=True)


main()
