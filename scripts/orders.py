#!/usr/bin/env python3
"""Swaps steps whose order matters, and weakens checks that cargo-mutants does not, in a copy of the tree: a
test must notice each change. Arguments are parts of names; without any, all changes are tried, which takes minutes.

    scripts/orders.py copy seed
    scripts/orders.py --check       only that each change can be applied

Each change replaces a text that its file has once, and names the tests that notice it. A change that cannot
be applied is an error, and so is one that the tests do not notice. A change that nothing can notice here
survives for a reason, which is named; it is an error if the tests notice it."""

import os
import pathlib
import sys

from changes import copy_tree, outcome, outcome_of

# Name, file below squall/src, the text, its replacement, the tests, and the reason if the change survives.
CHANGES = [
    ("copy: a record is compared before the bytes are taken", "thread_generator.rs",
     """    let taken = take(page, at);
    if !line.is_simple() {
        return finish(kind, page, at, taken, pad, was_checked_before);
    }
    if !was_checked_before && !line.is_fresh_if_simple(page) {""",
     """    let is_fresh = !line.is_simple() || line.is_fresh_if_simple(page);
    let taken = take(page, at);
    if !line.is_simple() {
        return finish(kind, page, at, taken, pad, was_checked_before);
    }
    if !was_checked_before && !is_fresh {""",
     "clone/kvm-clock/in-a-request"),
    ("copy: the same in a request that refills", "thread_generator.rs",
     """            let may_be_served = self.produce(page, kind, out);
            let is_unchanged = !self.has_new_tag && self.line.is_fresh(page);""",
     """            let is_fresh = self.line.is_fresh(page);
            let may_be_served = self.produce(page, kind, out);
            let is_unchanged = !self.has_new_tag && is_fresh;""",
     "clone/kvm-clock/in-a-request"),
    ("copy: a new tag is taken for a proof that nothing has changed", "thread_generator.rs",
     "let is_unchanged = !self.has_new_tag && self.line.is_fresh(page);",
     "let is_unchanged = self.line.is_fresh(page);",
     "clone/kvm-clock/in-a-request"),
    ("copy: an attempt that failed leaves its tag behind", "thread_generator.rs",
     "            page.forget_freshness_tag();\n",
     "",
     "clone/kvm-clock/in-a-request"),
    ("copy: the epoch stands in for a tick that is over", "thread_generator.rs",
     "let epoch_suffices = may_be_served && (self.has_new_tag || out.len() > SMALL);",
     "let epoch_suffices = may_be_served;",
     "process/restored",
     "A test cannot restore a process between the loads of two checks; squall-model shows what happens then."),
    ("copy: a large request takes no input in a new tick", "thread_generator.rs",
     "if self.begin_tick(page) || self.policy.needs_input() {",
     "if { self.begin_tick(page); self.policy.needs_input() } {",
     "process/restored/large"),
    ("copy: a refill takes no input", "thread_generator.rs",
     "generator.generate(buffer, &input, Stores::Cached)",
     "generator.generate(buffer, &[], Stores::Cached)",
     "process/restored"),
    ("copy: a child has its parent's buffer", "thread_generator.rs",
     "                && page.is_of_process(fork::mark())\n",
     "",
     "fork/children/not-wiped"),
    ("copy: a child ends its parent's draw", "guard/thread_line.rs",
     "            page.wipe();\n",
     "",
     "fork/from-signal-handler/not-wiped"),
    ("copy: a child has its parent's state of the vDSO", "thread_generator/seeding.rs",
     "        page.wipe_if_inherited(epoch_before);\n",
     "",
     "fork/siblings/kernel-alone/not-wiped"),
    ("request: only the first 64 KiB have additional input", "thread_generator.rs",
     """            for part in out.chunks_mut(MAX_REQUEST) {
                // If the tick moves on, the part is generated once more: the process may have been restored meanwhile.
                // Once is enough, and a slow machine gets no further.
                for _ in 0..2 {
                    if self.begin_tick(page) || self.policy.needs_input() {""",
     """            for (number, part) in out.chunks_mut(MAX_REQUEST).enumerate() {
                for _ in 0..2 {
                    if self.begin_tick(page) || self.policy.needs_input() && number == 0 {""",
     "clone/delayed/long"),
    ("request: a small one is checked before its bytes are taken", "thread_generator.rs",
     "failpoint::is_active(Failpoint::CheckBeforeRead) && line.is_fresh(page);",
     "line.is_fresh(page);",
     "drop/in-a-small-draw"),
    ("request: a padded one is checked before it gets the pad", "thread_generator.rs",
     """    if kind == RequestKind::Unique && line.needs_pads() {
        taken = pad(page, taken);
    }
    if !was_checked_before && !line.is_fresh(page) {""",
     """    let is_fresh = line.is_fresh(page);
    if kind == RequestKind::Unique && line.needs_pads() {
        taken = pad(page, taken);
    }
    if !was_checked_before && !is_fresh {""",
     "drop/before-the-last-access"),
    ("request: a large one is checked before it is generated", "thread_generator.rs",
     """            let may_be_served = self.produce(page, kind, out);
            let is_unchanged = !self.has_new_tag && self.line.is_fresh(page);
            // The epoch has no tick: it does not show a process that was restored since the bytes were made.
            let epoch_suffices = may_be_served && (self.has_new_tag || out.len() > SMALL);
            if failpoint::is_active(Failpoint::CheckBeforeRead)
                || is_unchanged
                || (epoch_suffices && self.is_current(page))""",
     """            let is_current = self.is_current(page);
            let epoch_suffices = self.produce(page, kind, out);
            if failpoint::is_active(Failpoint::CheckBeforeRead) || (epoch_suffices && is_current)""",
     "drop/in-a-large-draw"),
    ("request: the lock is released before the bytes are checked", "thread_generator.rs",
     """    if !was_checked_before && !line.is_fresh_if_simple(page) {
        // The bytes taken are erased and lost.
        return Err(SlowPath { left: at });
    }
    line.unlock(at);
    Ok(taken)""",
     """    line.unlock(at);
    if !was_checked_before && !line.is_fresh_if_simple(page) {
        return Err(SlowPath { left: line.lock.lock() });
    }
    Ok(taken)""",
     "signal/in-a-small-draw"),
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
    ("seed: the pads' key is generated before the seed is there", "thread_generator/seeding.rs",
     """            generator.reseed(&seed);
            if request_pad::is_available() {
                request_pad::prepare(page, generator);
            }""",
     """            if request_pad::is_available() {
                request_pad::prepare(page, generator);
            }
            generator.reseed(&seed);""",
     "clone/pad-keys"),
    ("seed: /dev/urandom is read before the kernel's RNG is ready", "entropy/kernel.rs",
     """    wait_until_ready()?;
    let device = open_device(c"/dev/urandom", 9)?;
    fill_with_reads(out, |rest| {
        // SAFETY: `rest` is writable for its length. A raw call, because `read` may be replaced by
        // one that asks this generator.
        let count = unsafe {
            libc::syscall(
                libc::SYS_read,
                device.descriptor(),
                rest.as_mut_ptr(),
                rest.len(),
            )
        };
        usize::try_from(count).map_err(|_| errno())
    })""",
     """    let device = open_device(c"/dev/urandom", 9)?;
    fill_with_reads(out, |rest| {
        // SAFETY: `rest` is writable for its length. A raw call, because `read` may be replaced by
        // one that asks this generator.
        let count = unsafe {
            libc::syscall(
                libc::SYS_read,
                device.descriptor(),
                rest.as_mut_ptr(),
                rest.len(),
            )
        };
        usize::try_from(count).map_err(|_| errno())
    })?;
    wait_until_ready()""",
     "sandbox/not-known-to-be-ready"),
    ("root: it serves before its bootstrap", "thread_generator/root.rs",
     """        if ready.is_some() {
            bootstrap_if_cloned(shared, epoch, policy);
        }
        let add_first_inputs = |root: &Root<1>| add_first_inputs(root, policy);
        let Some(token) = ready.or_else(|| prepare(shared, epoch, add_first_inputs)) else {
            return false;
        };
        shared.is_unchanged_during(token, |root| {
            add_event_to(root, event, epoch.kernel);
            root.generate(&mut bytes[..]);
        })""",
     """        let add_first_inputs = |root: &Root<1>| add_first_inputs(root, policy);
        let Some(token) = ready.or_else(|| prepare(shared, epoch, add_first_inputs)) else {
            return false;
        };
        let is_unchanged = shared.is_unchanged_during(token, |root| {
            add_event_to(root, event, epoch.kernel);
            root.generate(&mut bytes[..]);
        });
        if ready.is_some() {
            bootstrap_if_cloned(shared, epoch, policy);
        }
        is_unchanged""",
     "clone/vmclock-bootstraps/first"),
    ("root: its epoch is set before its bootstrap", "thread_generator/root.rs",
     """    if policy.may_be_clone(before, epoch) && !failpoint::is_active(Failpoint::SkipBootstrap) {
        bootstrap(&shared.value);
    }
    if before != epoch {
        shared.set_epoch(epoch);
    }""",
     """    if before != epoch {
        shared.set_epoch(epoch);
    }
    if policy.may_be_clone(before, epoch) && !failpoint::is_active(Failpoint::SkipBootstrap) {
        bootstrap(&shared.value);
    }""",
     "clone/vmclock-bootstraps/first"),
    ("root: it is copied before it has inputs", "thread_generator/root.rs",
     """    add_first_inputs(&root);
    shared.value.copy_from(&root);""",
     """    shared.value.copy_from(&root);
    add_first_inputs(&root);""",
     "a_late_preparer"),
    ("root: it is ready before it is copied", "thread_generator/root.rs",
     """    shared.value.copy_from(&root);
    shared.set_epoch(epoch);
    shared.finish(claim)""",
     """    let token = shared.finish(claim);
    shared.value.copy_from(&root);
    shared.set_epoch(epoch);
    token""",
     "a_root_is_ready"),
    ("root: a full buffer is unlocked before its inputs are moved out", "entropy/whirlwind.rs",
     """        shard.take(pool, &mut block);
        drop(held);""",
     """        drop(held);
        shard.take(pool, &mut block);""",
     "a_full_buffer_stays_locked"),
    ("root: a seed is stored before the lock is known to be held", "entropy/whirlwind/seed.rs",
     """            if held.commit() {
                self.store(&new);
                return after(&new);""",
     """            self.store(&new);
            if held.commit() {
                return after(&new);""",
     "a_thread_that_lost_the_lock"),
    ("root: a lock is taken away before its holder was waited for", "entropy/whirlwind/lock.rs",
     """        for _ in 0..YIELDS {
            let found = self.0.load(Ordering::Relaxed);
            // This fails if the holder has committed meanwhile.
            if found & COMMITTED == 0 && self.exchange(found, holder) {
                return LockGuard { lock: self, holder };
            }
            std::thread::yield_now();
        }
        self.0.swap(holder, Ordering::AcqRel);""",
     """        self.0.swap(holder, Ordering::AcqRel);
        for _ in 0..YIELDS {
            let found = self.0.load(Ordering::Relaxed);
            // This fails if the holder has committed meanwhile.
            if found & COMMITTED == 0 && self.exchange(found, holder) {
                return LockGuard { lock: self, holder };
            }
            std::thread::yield_now();
        }""",
     "a_holder_is_waited_for"),
    ("root: a lock is taken away at once", "entropy/whirlwind/lock.rs",
     "        for _ in 0..TRIES {\n",
     "        for _ in 0..TRIES - TRIES {\n",
     "a_holder_is_waited_for"),
    ("root: a seed is read before its lock is held", "entropy/whirlwind/seed.rs",
     """            let held = self.lock.lock();
            self.load(old);""",
     """            self.load(old);
            let held = self.lock.lock();""",
     "the_seed_that_is_taken"),
    ("root: a holder commits before it has computed", "entropy/whirlwind/seed.rs",
     """            F::compress(&mut new[..F::SEED_LEN], block);
            // The memory was zeroed: a result made of zeros must not be stored over a new seed.
            if old.iter().all(|&byte| byte == 0) {
                return;
            }
            if held.commit() {""",
     """            let has_committed = held.commit();
            F::compress(&mut new[..F::SEED_LEN], block);
            if old.iter().all(|&byte| byte == 0) {
                return;
            }
            if has_committed {""",
     "a_thread_that_lost_the_lock"),
    ("root: a seed is compared with zeros after its successor is stored", "entropy/whirlwind/seed.rs",
     """            if old.iter().all(|&byte| byte == 0) {
                return;
            }
            if held.commit() {
                self.store(&new);""",
     """            if held.commit() {
                self.store(&new);
                if old.iter().all(|&byte| byte == 0) {
                    return;
                }""",
     "nothing_is_computed_from_zeros"),
    ("root: a new seed is shown after the lock is released", "entropy/whirlwind/seed.rs",
     "                return after(&new);",
     """                drop(held);
                return after(&new);""",
     "a_new_seed_is_shown"),
    ("root: a copy is stored before the lock is taken from its holder", "entropy/whirlwind/seed.rs",
     """        self.lock.reset();
        self.store(&bytes);""",
     """        self.store(&bytes);
        self.lock.reset();""",
     "a_copy_replaces"),
    ("root: inputs are erased before they are moved out", "entropy/whirlwind/shard.rs",
     """            *bytes = word.load(Ordering::Relaxed).to_be_bytes();
            word.store(0, Ordering::Relaxed);""",
     """            word.store(0, Ordering::Relaxed);
            *bytes = word.load(Ordering::Relaxed).to_be_bytes();""",
     "a_full_buffer_gives_its_inputs"),
    ("root: another shard is tried before the thread's own", "entropy/whirlwind/shard.rs",
     """        let free = from
            .iter()
            .chain(behind)""",
     """        let free = behind
            .iter()
            .chain(from)""",
     "a_thread_uses_its_own_shard"),
    ("root: the seed is erased after its output", "entropy/whirlwind.rs",
     """            self.fast.advance::<F>(fast);
            self.published.load(slow);
        });
        for (number, block) in (first..).zip(out.chunks_mut(F::SEED_LEN)) {
            message.set_counters(number, self.machine.cycles());
            F::hash(message.bytes(), block);
        }""",
     """            self.fast.load(fast);
            self.published.load(slow);
        });
        for (number, block) in (first..).zip(out.chunks_mut(F::SEED_LEN)) {
            message.set_counters(number, self.machine.cycles());
            F::hash(message.bytes(), block);
        }
        self.fast.advance::<F>(&mut SeedBytes::zeroed());""",
     "the_seed_is_erased_before"),
    ("root: a bootstrap puts the slow seed in use before its inputs", "entropy/whirlwind.rs",
     """        let mut mixed = 0u64;
        for i in 0..BOOTSTRAP_INPUTS {
            let cycles = self.machine.noise();
            self.add_now(source::BOOTSTRAP, cycles);
            for j in 0..black_box(cycles % MAX_ROUNDS) {
                mixed = (j / cycles.saturating_add(1)).wrapping_sub(mixed.wrapping_mul(i));
            }
        }
        self.add_now(source::BOOTSTRAP_END, mixed);
        self.publish();""",
     """        self.publish();
        let mut mixed = 0u64;
        for i in 0..BOOTSTRAP_INPUTS {
            let cycles = self.machine.noise();
            self.add_now(source::BOOTSTRAP, cycles);
            for j in 0..black_box(cycles % MAX_ROUNDS) {
                mixed = (j / cycles.saturating_add(1)).wrapping_sub(mixed.wrapping_mul(i));
            }
        }
        self.add_now(source::BOOTSTRAP_END, mixed);""",
     "puts_the_slow_seed_in_use"),
    ("health: a sample is stored before its count", "entropy/health.rs",
     """        self.run.store(run, Ordering::Relaxed);
        compiler_fence(Ordering::Release);
        self.last.store(sample, Ordering::Relaxed);""",
     """        self.last.store(sample, Ordering::Relaxed);
        compiler_fence(Ordering::Release);
        self.run.store(run, Ordering::Relaxed);""",
     "no_sample_is_counted_twice"),
    ("health: words are used before the first are tested", "entropy/cpu.rs",
     "    let _ = (0..STARTUP_WORDS).try_for_each(|_| tested_word().map(drop));\n",
     "    let _ = STARTUP_WORDS;\n",
     "health/stuck-from-the-start"),
    ("lock: its number is read before the holder is counted", "guard/lock.rs",
     """            add(word, HOLDER as u64);
            word.read_volatile()""",
     """            let number = word.read_volatile();
            add(word, HOLDER as u64);
            number + HOLDER as u64""",
     "signal/in-a-small-draw"),
    ("policy: it is published before it is written", "guard/policy.rs",
     """        unsafe { (*DECIDED.0.get()).write(policy) };
        STATE.store(PUBLISHED, Ordering::Release);""",
     """        STATE.store(PUBLISHED, Ordering::Release);
        unsafe { (*DECIDED.0.get()).write(policy) };""",
     "clone/vmclock/published-whole"),
    ("device: it is opened before it is identified", "guard/clone_signal/misc_device.rs",
     """    check(&file::stat_path(path)?, device)?;
    let file = File::open(path, libc::O_NONBLOCK).ok()?;""",
     """    let file = File::open(path, libc::O_NONBLOCK).ok()?;
    check(&file::stat_path(path)?, device)?;""",
     "clone/vmclock/device"),
    ("vdso: a place is read before it is known to be readable", "guard/vdso.rs",
     """    if !is_readable(place.cast()) || !is_readable(ready.cast()) {
        return false;
    }
    // SAFETY: both words were found readable, and the vDSO's data stays mapped.
    let (found, ready) = unsafe {
        (
            (*place).load(Ordering::Relaxed),
            (*ready).load(Ordering::Relaxed),
        )
    };
    found""",
     """    let (found, is_ready) = unsafe {
        (
            (*place).load(Ordering::Relaxed),
            (*ready).load(Ordering::Relaxed),
        )
    };
    if !is_readable(place.cast()) || !is_readable(ready.cast()) {
        return false;
    }
    let ready = is_ready;
    found""",
     "a_place_that_cannot_be_read"),
    ("buffered: a number is checked before it is read", "buffered.rs",
     """        let word = page.take_word(at);
        (was_checked_before || is_fresh()).then_some(word)""",
     """        let is_fresh = is_fresh();
        let word = page.take_word(at);
        (was_checked_before || is_fresh).then_some(word)""",
     "buffered/drop/in-a-number"),
    ("buffered: the tag is stored after the buffer is filled", "buffered.rs",
     """        page.set_freshness_tag(addresses.tag());
        page.with_buffer(CAPACITY, |buffer| {
            thread_generator::fill(RequestKind::Simulation, buffer);
        });""",
     """        page.with_buffer(CAPACITY, |buffer| {
            thread_generator::fill(RequestKind::Simulation, buffer);
        });
        page.set_freshness_tag(addresses.tag());""",
     "buffered/drop/in-a-refill"),
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
        read_before_checking();
        let now = Token(self.state.load(Ordering::Acquire));""",
     """        read_before_checking();
        let now = Token(self.state.load(Ordering::Acquire));
        work(&self.value);""",
     "a_value_lost_while_it_is_used"),
    ("page: loads may move behind the check", "guard/page.rs",
     "    fence(Ordering::Acquire);", "",
     "drop/in-a-small-draw",
     "x86-64 keeps loads in order, and the check is volatile"),
]

LIBRARY = pathlib.Path("squall/src")
SUITE = ["-p", "squall", "--features", "testing", "--lib", "--test", "guards"]


def applies(file, text):
    return (LIBRARY / file).read_text().count(text) == 1


def main():
    if sys.argv[1:] == ["--check"]:
        stale = [name for name, file, text, *_ in CHANGES if not applies(file, text)]
        for name in stale:
            print(f"orders.py: does not apply: {name}", file=sys.stderr)
        return bool(stale)
    chosen = [change for change in CHANGES if not sys.argv[1:] or any(part in change[0] for part in sys.argv[1:])]
    copy_tree()
    failures = 0
    for name, file, text, replacement, tests, *reason in chosen:
        if applies(file, text):
            changed = (LIBRARY / file).read_text().replace(text, replacement)
            result = outcome_of(LIBRARY / file, changed, SUITE, tests)
        else:
            result = "does not apply"
        failures += result != ("not noticed" if reason else "noticed")
        survives = reason and result == "not noticed"
        print(f"{'survives' if survives else result:14}  {name} ({', '.join([tests, *reason])})", flush=True)
    # A test notices a change only if it passes without it.
    for tests in sorted({change[4] for change in chosen}):
        if (result := outcome(SUITE, tests)) != "not noticed":
            failures += 1
            print(f"without a change, {tests}: {result}")
    return failures != 0


if __name__ == "__main__":
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    sys.exit(main())
