//! Requests return what the rule of `squall-reference` says, byte by byte, where seeds and noise are known.

use sha2::{Digest, Sha512};
use squall::testing::{Failpoint, activate_for_testing};
use squall::{CloneGuard, Engine, Signal};
use squall_reference::{Machine, Thread};

use crate::Verdict;
use crate::clones::{SignalPage, without_signal};

/// A process on a machine that is no VM. The first request is served before squall has looked for signals and for the tick.
pub fn in_new_process() -> Verdict {
    know_seeds_and_noise();
    without_signal();
    let mut thread = Thread::new(machine(false, false), &seed());
    let compared = compare(&mut thread, 100).and_then(|()| {
        thread.machine.shows_copies = true;
        thread.begin_tick();
        compare_while_ticks_begin(&mut thread)?;
        compare_many(&mut thread)
    });
    assert_eq!(squall::status().clone_guard, CloneGuard::NotAVm);
    verdict(compared)
}

/// A thread in a VM that shows no clones.
pub fn in_vm_without_signal() -> Verdict {
    know_seeds_and_noise();
    without_signal();
    assert_eq!(squall::status().clone_guard, CloneGuard::NoSignal);
    in_new_thread(|| {
        let mut thread = Thread::new(machine(true, false), &seed());
        compare_while_ticks_begin(&mut thread)?;
        compare_many(&mut thread)
    })
}

/// A thread in a VM that is cloned, which its vmclock shows.
pub fn in_vm_with_signal() -> Verdict {
    know_seeds_and_noise();
    let signal = SignalPage::vmclock();
    assert_eq!(
        squall::status().clone_guard,
        CloneGuard::Signal(Signal::VmClock)
    );
    in_new_thread(|| {
        let mut thread = Thread::new(machine(true, true), &seed());
        compare_while_ticks_begin(&mut thread)?;
        compare_many(&mut thread)?;
        signal.set(2);
        thread.seed(&seed());
        compare_many(&mut thread)
    })
}

/// Makes seeds and noise known, and leaves no other reason to reseed than a clone.
fn know_seeds_and_noise() {
    use Failpoint::*;
    for failpoint in [
        ZeroKernelBytes,
        ZeroRootBytes,
        FreezeCycleCounter,
        RepeatRandomWord,
        PassHealthTests,
        FreezeGeneration,
        FreezeSeedAge,
        RefuseDroppableMemory,
    ] {
        activate_for_testing(failpoint);
    }
}

/// A seed of zeros from the kernel and zeros from the root.
fn seed() -> [u8; 48] {
    let hash = Sha512::digest([b"squall seed 2".as_slice(), &[0; 96]].concat());
    *hash.first_chunk().expect("64 bytes")
}

/// A machine whose counter stands still, and whose random words are all the same.
fn machine(is_vm: bool, shows_copies: bool) -> Machine {
    Machine {
        is_vm,
        shows_copies,
        noise: || [0, 5, 5],
    }
}

fn in_new_thread(work: impl FnOnce() -> Result<(), String> + Send) -> Verdict {
    verdict(std::thread::scope(|scope| {
        scope.spawn(work).join().expect("no panic")
    }))
}

fn verdict(compared: Result<(), String>) -> Verdict {
    compared.map_or_else(Verdict::Broken, |()| Verdict::Held)
}

fn draw(len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    squall::fill(&mut out);
    out
}

fn compare(thread: &mut Thread, len: usize) -> Result<(), String> {
    if draw(len) == thread.fill(len) {
        return Ok(());
    }
    Err(format!("a request of {len} bytes"))
}

/// A request that squall makes again as often as a tick begins in it. Another tick begins behind it, and none later.
fn compare_while_ticks_begin(thread: &mut Thread) -> Result<(), String> {
    let out = draw(100);
    activate_for_testing(Failpoint::FreezeTick);
    for _ in 0..8 {
        let is_served = thread.fill(100) == out;
        thread.begin_tick();
        if is_served {
            return Ok(());
        }
    }
    Err("a request while ticks begin".to_owned())
}

/// Requests of some long lengths, the first of which may begin a tick, and of all short ones, on each engine.
fn compare_many(thread: &mut Thread) -> Result<(), String> {
    let long = [4096, 65535, 65536, 65537, 200_000];
    for engine in Engine::available().filter(|engine| engine.is_aes()) {
        squall::hazmat::use_engine(engine).expect("it is available");
        for len in long.into_iter().chain(0..=300).chain([16, 256, 1]) {
            compare(thread, len).map_err(|what| format!("{what} on {engine}"))?;
        }
    }
    if squall::u64().to_ne_bytes() != *thread.fill(8) {
        return Err("a word".to_owned());
    }
    Ok(())
}
