#!/usr/bin/env python3
"""Computes how many bytes of keystream, by AES-CTR and ChaCha20, squall and its peers make in a cycle of Arm's server CPUs.

Nothing is measured: an emulator records which instructions a loop executes, and llvm-mca computes how many
cycles a CPU takes for them, by LLVM's model of that CPU. The difference of two lengths is taken, so what a
call costs beside the loop does not count.

LLVM's models execute AESE and AESMC one after the other; the CPUs take an adjacent pair as one. So there
are two figures: `apart`, as the model has it, and `as one`, where AESMC behind AESE is left out. The CPU's
is in between, and nearer to the second where its decoder keeps up.

    aarch64-cycles.py [--openssl FOLDER] [--aws-lc FOLDER] [--cpu NAME]... [LOOP]...

It needs, as Debian's packages have them: rustc, cargo, libstd-rust-dev:arm64, gcc-aarch64-linux-gnu,
libc6-dev:arm64, qemu-user, llvm (or LLVM=-23 for a version's names), perl. FOLDER is a source tree of OpenSSL
(`apt-get source openssl`), or of the crate aws-lc-sys; without it, its rows are left out.
"""

import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent / "aarch64-cycles"
TARGET = "aarch64-unknown-linux-gnu"
# Of AES 840 blocks and twice as many: whole batches of 2 to 8, 10, 12, 14, 15, 20, 21 and 24 blocks. Of ChaCha20
# 192 and twice as many: whole batches of 2, 3, 4, 6, 8, 12 and 16.
SHORT = {"aes-128": 840 * 16, "aes-256": 840 * 16, "chacha20": 192 * 64}
BLOCK = {"aes-128": 16, "aes-256": 16, "chacha20": 64}
CPUS = ["neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2"]
# EOR3 needs a CPU with SHA3, which Neoverse N1 is not.
WITHOUT_SHA3 = {"neoverse-n1"}
# The loops, and what each makes: the cipher, and keystream written (bare) or XORed.
LOOPS = {
    "squall": [("aes-128", "bare"), ("aes-256", "bare"), ("aes-256", "xor"), ("chacha20", "bare")],
    "aes-crate": [("aes-128", "bare"), ("aes-128", "xor"), ("aes-256", "bare"), ("aes-256", "xor")],
    "chacha20-crate": [("chacha20", "bare")],
    "openssl": [("aes-128", "xor"), ("aes-256", "xor"), ("chacha20", "xor")],
    "openssl-eor3": [("aes-128", "xor"), ("aes-256", "xor")],
    "aws-lc": [("aes-128", "xor"), ("aes-256", "xor")],
}


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def build(options):
    """Builds the program and gives its path."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target"))
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    # OpenSSL has a function for SVE too, which is not called.
    environment["RUSTFLAGS"] = ("-C target-feature=+crt-static -C relocation-model=static"
                                " -C link-arg=-Wl,--defsym=ChaCha20_ctr32_sve=0")
    environment["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"] = "aarch64-linux-gnu-gcc"
    includes = []
    if options.openssl:
        target.mkdir(parents=True, exist_ok=True)
        for variable, source in [("OPENSSL_AES", "aes/asm/aesv8-armx.pl"), ("OPENSSL_CHACHA", "chacha/asm/chacha-armv8.pl")]:
            environment[variable] = str(target / f"{variable}.S")
            output("perl", options.openssl / "crypto" / source, "linux64", environment[variable])
        includes += [options.openssl / "crypto", options.openssl / "include"]
    if options.aws_lc:
        library = options.aws_lc / "aws-lc"
        generated = library / "generated-src/linux-aarch64/crypto/fipsmodule/aesv8-armx.S"
        environment["AWS_LC_AES"] = str(generated)
        includes.append(library / "include")
    environment["INCLUDES"] = ":".join(map(str, includes))
    # The crates' versions are the workspace's, where it uses them too.
    shutil.copy(HERE.parent.parent / "Cargo.lock", HERE)
    subprocess.run(["cargo", "build", "--release", "--quiet", "--target", TARGET],
                   cwd=HERE, env=environment, check=True)
    return target / TARGET / "release/aarch64-cycles"


def disassembled(program):
    """The instructions of a program by address, as an assembler reads them."""
    listing = output(f"llvm-objdump{LLVM}", "-d", "--no-show-raw-insn", "--mattr=+v8.2a,+aes,+sha3", program)
    lines = re.findall(r"^ *([0-9a-f]+):\s+(.*?)(?: <.*>)?(?: *//.*)?$", listing, re.M)
    return {int(address, 16): instruction for address, instruction in lines}


def executed(program, listing, mark, arguments, length):
    """The instructions between the two calls of `mark`, in order."""
    log = program.with_suffix(".log")
    output("qemu-aarch64", "-cpu", "max", "-one-insn-per-tb", "-d", "exec,nochain", "-D", log,
           program, *arguments, str(length))
    addresses = [int(a, 16) for a in re.findall(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", log.read_text(), re.M)]
    log.unlink()
    first = addresses.index(mark)
    last = len(addresses) - 1 - addresses[::-1].index(mark)
    return [listing[address] for address in addresses[first:last]]


def cycles(instructions, cpu):
    """How many cycles the model of a CPU takes for them."""
    code = "\n".join(as_branch(instruction) for instruction in instructions)
    report = output(f"llvm-mca{LLVM}", "-mtriple=aarch64-linux-gnu", f"-mcpu={cpu}", "-mattr=+sha3,+aes",
                    "-iterations=1", "-all-views=false", "-summary-view", "-skip-unsupported-instructions=any",
                    input=code)
    return int(re.search(r"Total Cycles:\s+(\d+)", report)[1])


def as_branch(instruction):
    """The same, or for a branch one to here: an address would be too far for an assembler. A call is a branch
    too, as llvm-mca takes 100 cycles for each."""
    instruction = re.sub(r"^(bl\s.*|blr\s.*|ret)$", "b #0", instruction)
    return re.sub(r"^((?:b|b\..*|cbn?z|tbn?z)\s.*?)(0x[0-9a-f]+)$", r"\1#0", instruction)


def as_one(instructions):
    """The same without AESMC behind an AESE of its register."""
    kept = []
    for instruction in instructions:
        pair = re.match(r"aesmc\s+(v\d+)\.16b, \1\.16b", instruction)
        if not (pair and re.match(rf"aese\s+{pair[1]}\.16b", kept[-1])):
            kept.append(instruction)
    return kept


def row(program, listing, mark, loop, cipher, kind, cpus):
    more = SHORT[cipher]
    short, long = (executed(program, listing, mark, (loop, cipher, kind), length) for length in (more, 2 * more))
    blocks = more // BLOCK[cipher]
    cells = [f"{(len(long) - len(short)) / blocks:.1f}", f"{(len(as_one(long)) - len(as_one(short))) / blocks:.1f}"]
    for cpu in cpus:
        if cpu in WITHOUT_SHA3 and any(instruction.startswith("eor3") for instruction in long):
            cells.append("")
            continue
        figures = []
        for view in (list, as_one):
            spent = cycles(view(long), cpu) - cycles(view(short), cpu)
            figures.append(f"{more / spent:.2f}")
        cells.append(" to ".join(dict.fromkeys(figures)))
    return f"| {loop} | {cipher} | {kind} | " + " | ".join(cells) + " |"


def main():
    global LLVM
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openssl", type=Path)
    parser.add_argument("--aws-lc", type=Path)
    parser.add_argument("--cpu", action="append")
    parser.add_argument("loops", nargs="*", metavar="LOOP", help=", ".join(LOOPS))
    options = parser.parse_args()
    LLVM = os.environ.get("LLVM", "")
    cpus = options.cpu or CPUS
    program = build(options)
    listing = disassembled(program)
    mark = int(re.search(r"^([0-9a-f]+) T mark$", output(f"llvm-nm{LLVM}", program), re.M)[1], 16)
    print("| loop | cipher | output | instructions a block | pairs as one | " + " | ".join(cpus) + " |")
    print("| --- " * (5 + len(cpus)) + "|")
    for loop in options.loops or loops_there(options):
        for cipher, kind in LOOPS[loop]:
            print(row(program, listing, mark, loop, cipher, kind, cpus), flush=True)


def loops_there(options):
    """The loops whose sources were named."""
    without = set()
    if not options.openssl:
        without |= {"openssl", "openssl-eor3"}
    if not options.aws_lc:
        without.add("aws-lc")
    return [loop for loop in LOOPS if loop not in without]


if __name__ == "__main__":
    main()
