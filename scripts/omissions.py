#!/usr/bin/env python3
"""Makes one mistake after the other in a copy of the tree: a test must notice each. Of the kinds below, neither
cargo-mutants nor scripts/orders.py makes any. Arguments are parts of names, as --list prints them; without any, all are
tried, which takes hours.

    scripts/omissions.py squall/src/guard/page.rs 'drbg/src/rng.rs: a dropped wipe'
    scripts/omissions.py --list
    scripts/omissions.py --check     only that each rule and each survivor's name matches

The rules are for Rust, and SUITES says where: squall-drbg, the library, and the counters that the bindings share. They make
no mistakes in the command, the tools and the bindings, whose tests install a build, start interpreters or attach drives, which
would take minutes for each mistake.

A mistake that the tests do not notice is an error, unless SURVIVORS says why nothing can notice it; it is an error too if
they notice such a one."""

import os
import pathlib
import re
import sys
import time

from changes import cargo, copy_tree, outcome, outcome_of

WIPE, COMPARISON, LOCK = "a dropped wipe", "a wrong comparison", "a released lock"
LENGTH, OLD_VALUE, CHECK = "an off-by-one length", "a kept old value", "a check removed"

# What matches, and what takes its place.
RULES = [
    (WIPE, r"^ *(?:[\w.]+\.|\w+::)?(?:wipe|zeroize|wipe_stack_below::<\w+>)\([^;]*\);\n", ""),
    (WIPE, r"let _clear = (?=.*clear_on_return)", "let _ = "),
    (WIPE, r"= ((?:Block|RootBytes|Secret|Seed|SeedBytes)(?:::<\w+>)?::zeroed\(\));", r"= core::mem::ManuallyDrop::new(\1);"),
    (COMPARISON, r"(?<![\w.:)])(?<![-^+*/] )(?<![^&]& )((?:\w+::)*[a-z_]\w*(?:\.\w+)*(?:\(\))?) (==|!=) (?!0\b)[\w.:]+(?:\(\))?(?= \{| &&| \|\||;|\n)", r"\1 \2 \1"),
    (LOCK, r"\bline\.lock\.lock\(\)", r"{ let n = line.lock.lock(); if n < HOLDER { line.lock.unlock(n) }; n }"),
    (LOCK, r"let held = (.*)\.lock\(\);", r"let held = \1.lock(); \1.reset();"),
    (LENGTH, r"(\blen(?:\(\))?) (<|>|<=|>=) ([\w:.]+(?:\(\))?)", r"\1 \2 (\3 + 1)"),
    (OLD_VALUE, r"^ *[\w.&*]+\.(?:copy_from_slice|set|store|(?:set|clear|record)_\w+|advance)\([^;]*\);\n", ""),
    (OLD_VALUE, r"^ *self\.\w[\w.]* [+-]?= [^;]*;\n", ""),
    (CHECK, r"^( *)if (?!let)[^{};]+ \{\n +return [^;]*;\n\1\}\n", ""),
    (CHECK, r"^( *)(\w[\w.:]*(?:::<[\w, ]+>)?\([^;\n]*\))\?;\n", r"\1let _ = \2;\n"),
]


def of_squall(*targets):
    return ["-p", "squall", "--features", "testing,whirlwind-alternatives", *targets]


UNITS, API, GUARDS = of_squall("--lib"), of_squall("--test", "integration"), of_squall("--test", "guards")
DRBG = ["-p", "squall-drbg", "--all-features", "--lib", "--test", "integration"]
COUNTERS = [(["-p", "squall-binding-base", "--lib", "--test", "integration"], "")]
KEYSTREAMS = [(API, "stream"), (GUARDS, "stack/"), (GUARDS, "registers/")]
NUMBERS = [(UNITS, "uniform"), (API, "rng::"), (GUARDS, "registers/")]
WHIRLWIND = [(UNITS, "whirlwind"), (API, "whirlwind"), (GUARDS, "stack/no-seeds-left"), (GUARDS, "registers/draws")]
ENTROPY = [(UNITS, "entropy"), *((GUARDS, group) for group in ("health/", "sandbox/", "seed/", "stack/no-seeds-left"))]
GENERATION = [(UNITS, "clones"), (GUARDS, "clone/generation")]
# Where mistakes are made, and the tests that must notice them, the quick ones first: the targets, and a part of the tests'
# names. A file's tests are those of the first place that has it.
SUITES = {
    "bindings/binding-base/src/counters": COUNTERS,
    "bindings/binding-base/src/counters.rs": COUNTERS,
    "drbg/src": [(DRBG, ""), (GUARDS, "stack/"), (GUARDS, "registers/")],
    "squall/src/arrays.rs": NUMBERS,
    "squall/src/backoff.rs": [(UNITS, "entropy"), (GUARDS, "health/"), (GUARDS, "sandbox/")],
    "squall/src/clones": GENERATION,
    "squall/src/clones.rs": GENERATION,
    "squall/src/cycle_counter.rs": [(GUARDS, "counter/"), (GUARDS, "sandbox/counter")],
    "squall/src/entropy/whirlwind": WHIRLWIND,
    "squall/src/entropy/whirlwind.rs": WHIRLWIND,
    "squall/src/entropy": ENTROPY,
    "squall/src/entropy.rs": ENTROPY,
    "squall/src/error.rs": [(GUARDS, "sandbox/no-source")],
    "squall/src/keystream.rs": KEYSTREAMS,
    "squall/src/rng.rs": NUMBERS,
    "squall/src/stream.rs": KEYSTREAMS,
    "squall/src/uniform.rs": NUMBERS,
    "squall/src": [(UNITS, ""), (GUARDS, "")],
}

STACK_IS_WIPED = "whoever calls wipes the stack there, too"
REGISTERS_ARE_CLEARED = "whoever calls clears the registers, too"
COMPARED_ALONE = "nothing but comparisons uses the alternatives, with no secrets"
ASKED_AGAIN = "whoever is asked each time gives the same answer"
# What nothing can notice, and why.
SURVIVORS = {
    "bindings/binding-base/src/counters.rs: a check removed: std::fs::remove_file(path)?;":
        "a file that is still there is not created, which is an error, too",
    "bindings/binding-base/src/counters/shared.rs: a check removed: if fd < 0 {": "fstat and close refuse what is no descriptor",
    "drbg/src/ctr_drbg.rs: a dropped wipe: let mut seed_material = Secret::zeroed();": STACK_IS_WIPED,
    "drbg/src/ctr_drbg.rs: a dropped wipe: let mut input = Secret::zeroed();": STACK_IS_WIPED,
    "drbg/src/ctr_drbg.rs: a dropped wipe: let mut temp = Secret::<MAX_SEED_LEN>::zeroed();": STACK_IS_WIPED,
    "drbg/src/ctr_drbg_df.rs: a dropped wipe: let mut derived = Secret::zeroed();": STACK_IS_WIPED,
    "drbg/src/ctr_drbg_df.rs: a dropped wipe: let mut seed = Secret::zeroed();": STACK_IS_WIPED,
    "drbg/src/engine/chacha20/rounds.rs: a dropped wipe: wipe(batch.as_mut().as_flattened_mut());": STACK_IS_WIPED,
    'drbg/src/engine/choice.rs: a check removed: f.write_str("no engine has this name: there are ")?;':
        "a formatter that has failed fails again",
    "drbg/src/cpuid.rs: a check removed: if function == 0 {": "only glibc before 2.33 lacks the function",
    "drbg/src/cpuid.rs: a kept old value: self.0.store(found.0, Ordering::Relaxed);": ASKED_AGAIN,
    "drbg/src/engine/portable.rs: a dropped wipe: wipe(blocks.as_flattened_mut());": STACK_IS_WIPED,
    "drbg/src/engine/x86_64/cached_schedule.rs: a dropped wipe: wipe(&mut block);":
        "nothing uses the rest of a pad's block, and a copy may stay on the stack anyway",
    "drbg/src/engine/x86_64/cached_schedule.rs: an off-by-one length: if rest.len() >= BLOCK {":
        "a last whole block is then made as one that is cut",
    "drbg/src/engine/x86_64/cached_schedule.rs: a check removed: if cfg!(miri) {": "only Miri lacks instructions",
    "drbg/src/engine/x86_64.rs: an off-by-one length: if rest.len() >= WIDTH {":
        "a last whole register is then made as one that is cut",
    "drbg/src/engine/x86_64.rs: a check removed: if cfg!(miri) {": "only Miri lacks instructions",
    "drbg/src/engine/x86_64/vaes512.rs: an off-by-one length: assert!(place.len() < WIDTH);":
        "the one caller has less than a register left",
    "drbg/src/fast_key_erasure.rs: a dropped wipe: let mut next = Secret::<KEY_LEN>::zeroed();": STACK_IS_WIPED,
    "squall/src/entropy/cpu.rs: a kept old value: RANDOM.set(NoiseSource::Absent);": ASKED_AGAIN,
    "squall/src/entropy/sha512.rs: a dropped wipe: wipe(&mut block);": STACK_IS_WIPED,
    "squall/src/entropy/sha512.rs: a dropped wipe: wipe(&mut hash);": STACK_IS_WIPED,
    "squall/src/entropy/sha512.rs: a dropped wipe: wipe(&mut schedule);": STACK_IS_WIPED,
    "squall/src/entropy/sha512.rs: a dropped wipe: wipe(&mut state);": STACK_IS_WIPED,
    "squall/src/entropy/sha512.rs: a dropped wipe: wipe(&mut variables);": STACK_IS_WIPED,
    "squall/src/entropy/whirlwind.rs: a dropped wipe: let _clear = registers::clear_on_return();": REGISTERS_ARE_CLEARED,
    "squall/src/entropy/whirlwind.rs: a dropped wipe: let _clear = registers::clear_on_return(); (2)": REGISTERS_ARE_CLEARED,
    "squall/src/entropy/whirlwind.rs: a dropped wipe: let mut block = Block::zeroed();": STACK_IS_WIPED,
    "squall/src/entropy/whirlwind.rs: a dropped wipe: let mut seed = SeedBytes::zeroed();": STACK_IS_WIPED,
    "squall/src/entropy/whirlwind/alternatives.rs: a dropped wipe: wipe(&mut encrypted);": COMPARED_ALONE,
    "squall/src/entropy/whirlwind/alternatives.rs: a dropped wipe: wipe(&mut hash);": COMPARED_ALONE,
    "squall/src/entropy/whirlwind/alternatives.rs: a dropped wipe: wipe(&mut state);": COMPARED_ALONE,
    "squall/src/entropy/whirlwind/functions.rs: a dropped wipe: wipe(&mut state);": STACK_IS_WIPED,
    "squall/src/entropy/whirlwind/seed.rs: a dropped wipe: let mut bytes = SeedBytes::zeroed();": STACK_IS_WIPED,
    "squall/src/entropy/whirlwind/seed.rs: a dropped wipe: let mut new = SeedBytes::zeroed();": STACK_IS_WIPED,
    "squall/src/guard/clone_signal/misc_device.rs: a check removed: check(&file::stat(file.descriptor())?, device)?;":
        "a file would have to take the device's place between two system calls",
    "squall/src/guard/elf.rs: a check removed: if tables.symbols == 0 || tables.strings == 0 {": "each vDSO has both tables",
    "squall/src/guard/fork.rs: a kept old value: ANSWER.store(if is_gvisor { YES } else { NO }, Ordering::Relaxed);": ASKED_AGAIN,
    "squall/src/guard/memory.rs: a kept old value: SIZE.store(size, Ordering::Relaxed);": ASKED_AGAIN,
    "squall/src/guard/policy.rs: a check removed: if state == BEING_PUBLISHED {": "the policy is then decided in vain",
    "squall/src/guard/policy.rs: a check removed: if !advance(UNDECIDED, BEING_PUBLISHED) {":
        "two threads would have to decide at the same moment",
    "squall/src/guard/policy.rs: a check removed: if policy.is_provisional || !kvm_clock::is_undecided() {":
        "the same policy is then found a second later",
    "squall/src/guard/process_start.rs: a check removed: if fork::is_gvisor() {":
        "only in gVisor, where the lab restores processes",
    "squall/src/guard/process_start.rs: a check removed: File::open(path, 0).ok()?.read(&mut text)?;":
        "what was not read is zeros, which are no number",
    "squall/src/guard/thread.rs: a check removed: if known != 0 {": "a second key is then made, and deleted at once",
}


def code_of(file):
    """The file without its tests, which come last."""
    return re.split(r"^#\[cfg\((?:all\()?test\b.*\)\]\n(?:pub(?:\(\w+\))? )?mod tests", file.read_text(), maxsplit=1, flags=re.M)[0]


def places(file):
    """The names of mistakes that can be made in the file, and its text with each."""
    source, code, seen = file.read_text(), code_of(file), {}
    for kind, pattern, replacement in RULES:
        for match in re.finditer(pattern, code, flags=re.M):
            start = code.rfind("\n", 0, match.start() + 1) + 1
            line = code[match.start() :].lstrip("\n").splitlines()[0] if match[0].startswith(" ") else code[start:].splitlines()[0]
            if line.lstrip().startswith(("//", "debug_assert")):
                continue
            name = f"{file}: {kind}: {line.strip()}"
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                name += f" ({seen[name]})"
            yield name, source[: match.start()] + match.expand(replacement) + source[match.end() :]


def all_files():
    """What the machine's CPU runs, without what only tests use."""
    unused = {"aarch64", "aarch64.rs", "hwcap.rs", "tests.rs", "testing.rs", "failpoint.rs", "steps.rs"}
    named = map(pathlib.Path, SUITES)
    files = {file for path in named for file in ([path] if path.is_file() else path.rglob("*.rs"))}
    return sorted(file for file in files if not unused & set(file.parts))


def all_places():
    for file in all_files():
        for name, text in places(file):
            yield file, name, text


def check():
    """Complains of rules and survivors that no longer match."""
    names = [name for _, name, _ in all_places()]
    stale = [name for name in SURVIVORS if name not in names]
    code = "".join(map(code_of, all_files()))
    stale += [pattern for _, pattern, _ in RULES if not re.search(pattern, code, flags=re.M)]
    for what in stale:
        print(f"omissions.py: matches nothing: {what}", file=sys.stderr)
    return bool(stale)


def suites_of(file):
    return next(suites for folder, suites in SUITES.items() if file.is_relative_to(folder))


def time_of(suite, tests):
    """What becomes of the tests without a mistake, and how long they take, in seconds."""
    cargo(suite, "--no-run")
    began = time.monotonic()
    return outcome(suite, tests), time.monotonic() - began


def result_of(file, text, limits):
    for suite, tests in suites_of(file):
        result = outcome_of(file, text, suite, tests, limits[str((suite, tests))])
        if result != "not noticed":
            break
    return result


def main(arguments):
    if arguments == ["--check"]:
        return check()
    if arguments == ["--list"]:
        print("\n".join(name for _, name, _ in all_places()))
        return 0
    chosen = [place for place in all_places() if not arguments or any(part in place[1] for part in arguments)]
    copy_tree()
    failures = 0
    limits = {}
    # Tests notice a mistake only if they pass without it.
    for name, (suite, tests) in {str(suite): suite for file, *_ in chosen for suite in suites_of(file)}.items():
        result, seconds = time_of(suite, tests)
        limits[name] = round(60 + 10 * seconds)
        if result != "not noticed":
            failures += 1
            print(f"without a mistake, {' '.join(suite)} {tests}: {result}", flush=True)
    for file, name, text in chosen:
        result, reason = result_of(file, text, limits), SURVIVORS.get(name)
        # A rule knows no types: what does not build is no mistake that anybody could make.
        failures += result not in (["not noticed"] if reason else ["noticed", "does not build"])
        print(f"{result:14}  {name}{f' ({reason})' if reason else ''}", flush=True)
    return failures != 0


if __name__ == "__main__":
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    sys.exit(main(sys.argv[1:]))
