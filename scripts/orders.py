#!/usr/bin/env python3
"""Exchanges what must happen in one order, and weakens what no operator can, in a copy of the tree: a test
must notice each change. Arguments are parts of names; without any, all changes are tried, which takes minutes.

    scripts/orders.py burst seed

Each change replaces a text that its file has once, and names the tests that notice it. A change that cannot
be applied is an error, and so is one that the tests do not notice."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

# Name, file below squall/src, the text, its replacement, and the tests.
CHANGES = [
    ("burst: the counter is read before the bytes are taken", "thread_generator.rs",
     """    let taken = take(page, at);
    if kind == RequestKind::Unique
        && let Some(now) = line.reading_after_pause()
    {""",
     """    let pause = if kind == RequestKind::Unique { line.reading_after_pause() } else { None };
    let taken = take(page, at);
    if let Some(now) = pause {""",
     "clone/burst/in-a-request"),
    ("burst: the same in a request that refills", "thread_generator.rs",
     """        page.take(self.left, out);
        if needs_uniqueness && let Some(now) = self.line.reading_after_pause() {""",
     """        let pause = if needs_uniqueness { self.line.reading_after_pause() } else { None };
        page.take(self.left, out);
        if let Some(now) = pause {""",
     "clone/burst/in-a-request"),
    ("burst: the word is drawn before the first reading", "thread_generator.rs",
     """        let first = self.line.reading();
        let (mut last, mut is_unbroken) = (first, true);
        let mut read = || {
            let now = self.line.reading();
            is_unbroken &= now.proves_no_stop_since(last);
            last = now;
        };
        // The word is drawn after the first reading. On some CPUs it takes a third of the gap.
        let input = entropy::additional_input_at::<2>(first.count);""",
     """        let input = entropy::additional_input_at::<2>(1);
        let first = self.line.reading();
        let (mut last, mut is_unbroken) = (first, true);
        let mut read = || {
            let now = self.line.reading();
            is_unbroken &= now.proves_no_stop_since(last);
            last = now;
        };""",
     "clone/burst/in-a-request"),
    ("burst: the word is no input", "thread_generator.rs",
     "self.generate_buffer(page, len, &input, &mut read);",
     "self.generate_buffer(page, len, &input[..1], &mut read);",
     "clone/burst/in-a-request"),
    ("burst: the sources may fail in the refill", "thread_generator.rs",
     "let is_anchored = is_unbroken && entropy::has_good_sources();",
     "let is_anchored = is_unbroken;",
     "clone/burst/refill-without-a-word"),
    ("burst: the thread may move between two readings of its CPU", "guard/stop.rs",
     "let has_moved = before != after;",
     "let has_moved = before != after && false;",
     "a_reading_during_which"),
    ("request: only the first 64 KiB have additional input", "thread_generator.rs",
     """        for part in out.chunks_mut(MAX_REQUEST) {
            if has_input {""",
     """        for (number, part) in out.chunks_mut(MAX_REQUEST).enumerate() {
            if has_input && number == 0 {""",
     "clone/delayed/long"),
    ("request: a small one is checked before its bytes are taken", "thread_generator.rs",
     "failpoint::is_off(Failpoint::CheckAfterRead) && line.is_fresh(page);",
     "line.is_fresh(page);",
     "drop/in-a-small-draw"),
    ("request: a padded one is checked before it gets the pad", "thread_generator.rs",
     """    let padded = pad(page, now, taken);
    let left = left_after_pause(line, now, at);
    if !line.is_fresh(page) {""",
     """    let is_fresh = line.is_fresh(page);
    let padded = pad(page, now, taken);
    let left = left_after_pause(line, now, at);
    if !is_fresh {""",
     "drop/before-the-last-access"),
    ("request: a large one is checked before it is generated", "thread_generator.rs",
     """            self.produce(page, kind, out);
            if failpoint::is_off(Failpoint::CheckAfterRead) || self.is_current(page) {""",
     """            let is_current = self.is_current(page);
            self.produce(page, kind, out);
            if failpoint::is_off(Failpoint::CheckAfterRead) || is_current {""",
     "drop/in-a-large-draw"),
    ("request: a fresh one reads its epoch after it is generated", "thread_generator/fresh.rs",
     """        let before = epoch();
        generate(out)?;""",
     """        generate(out)?;
        let before = epoch();""",
     "in-a-fresh-draw"),
    ("seed: a seeding begins after the kernel's bytes", "thread_generator/seeding.rs",
     """        page.begin_seeding(epoch_before);
        let mut bytes = Secret::zeroed();
        let generation = self.kernel_bytes(page, &mut bytes)?;""",
     """        let mut bytes = Secret::zeroed();
        let generation = self.kernel_bytes(page, &mut bytes)?;
        page.begin_seeding(epoch_before);""",
     "fork/in-a-seeding/kernel-alone"),
    ("seed: the signal of clones is read after the kernel's bytes", "thread_generator/seeding.rs",
     """        page.begin_seeding(epoch_before);
        let mut bytes = Secret::zeroed();
        let generation = self.kernel_bytes(page, &mut bytes)?;""",
     """        let mut bytes = Secret::zeroed();
        let generation = self.kernel_bytes(page, &mut bytes)?;
        let epoch_before = self.policy.epoch_without_kernel();
        page.begin_seeding(epoch_before);""",
     "clone/in-a-seeding"),
    ("seed: the generation is read after the kernel's bytes", "thread_generator/seeding.rs",
     "return Ok(match before {",
     "return Ok(match freshness::mapped_generation().max(before) {",
     "reseed/in-a-seeding"),
    ("page: it is given back without a wipe", "guard/page.rs",
     """        self.wipe();
        memory::unmap""",
     "        memory::unmap",
     "a_page_that_is_given_back"),
    ("page: words are erased before they are read", "guard/page.rs",
     """            let word = place.read_unaligned();
            place.write_unaligned(W::default());""",
     """            place.write_unaligned(W::default());
            let word = place.read_unaligned();""",
     "served_words_are_erased"),
    ("page: the last word is read after the words before it are erased", "guard/page.rs",
     """        let last_word = from.add(last).cast::<W>().read_unaligned();
        for at in (0..last).step_by(size_of::<W>()) {
            let word = from.add(at).cast::<W>();
            to.add(at)
                .cast::<W>()
                .write_unaligned(word.read_unaligned());
            word.write_unaligned(W::default());
        }""",
     """        for at in (0..last).step_by(size_of::<W>()) {
            let word = from.add(at).cast::<W>();
            to.add(at)
                .cast::<W>()
                .write_unaligned(word.read_unaligned());
            word.write_unaligned(W::default());
        }
        let last_word = from.add(last).cast::<W>().read_unaligned();""",
     "served_bytes_are_erased"),
    ("shared: the token is compared before the value is used", "guard/shared.rs",
     """        work(&self.value);
        self.ready_token() == Some(token)""",
     """        let is_unchanged = self.ready_token() == Some(token);
        work(&self.value);
        is_unchanged""",
     "a_value_lost_while_it_is_used"),
]

TREE = pathlib.Path("target/orders/tree")
TEST = ["cargo", "test", "--profile", "mutants", "-p", "squall", "--features", "testing", "--lib", "--test", "guards"]


def cargo(*arguments):
    return subprocess.run([*TEST, *arguments], cwd=TREE, capture_output=True, text=True)


def outcome(tests):
    """What becomes of `tests` in the copy."""
    if cargo("--no-run", "--target-dir", "..").returncode != 0:
        return "does not build"
    ran = cargo("--target-dir", "..", "--no-fail-fast", "--", tests)
    if ran.returncode != 0:
        return "noticed"
    return "not noticed" if re.search(r"\b[1-9]\d* passed", ran.stdout) else "ran no test"


def copy_tree():
    shutil.rmtree(TREE, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, TREE / name, follow_symlinks=False)


def main():
    chosen = [change for change in CHANGES if not sys.argv[1:] or any(part in change[0] for part in sys.argv[1:])]
    copy_tree()
    failures = 0
    for name, file, text, replacement, tests in chosen:
        path = TREE / "squall/src" / file
        source = path.read_text()
        if source.count(text) != 1:
            result = "does not apply"
        else:
            path.write_text(source.replace(text, replacement))
            result = outcome(tests)
            path.write_text(source)
        failures += result != "noticed"
        print(f"{result:14}  {name} ({tests})", flush=True)
    # A test notices a change only if it passes without.
    for tests in sorted({change[4] for change in chosen}):
        if (result := outcome(tests)) != "not noticed":
            failures += 1
            print(f"without a change, {tests}: {result}")
    return failures != 0


if __name__ == "__main__":
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    sys.exit(main())
