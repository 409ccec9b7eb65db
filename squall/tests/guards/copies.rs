//! Copies that a signal in memory shows: clones of a guest of KVM, and processes that were restored.
//!
//! A fork with the fork guard off copies the state, as a snapshot does. The lab tests real clones and real restores.

use std::sync::atomic::{AtomicBool, Ordering};

use squall::testing::{KvmClockRecordForTesting, kvm_clock_records_for_testing};
use squall::{CloneGuard, Signal};

use crate::Verdict;
use crate::outputs::{Draw, fork, judge_sent, send, wait};

/// kvm-clock's records, for as many CPUs as Linux shows.
pub static RECORDS: [KvmClockRecordForTesting; 64] =
    [const { KvmClockRecordForTesting::empty() }; 64];

/// Puts records in the place of the machine's, which squall relies on from then on.
pub fn use_records() {
    RECORDS.iter().for_each(KvmClockRecordForTesting::rewrite);
    kvm_clock_records_for_testing(&RECORDS);
    assert_eq!(
        squall::status().clone_guard,
        CloneGuard::Signal(Signal::KvmClock)
    );
}

/// Keeps this thread on its CPU, and rewrites that CPU's record, as KVM does before the CPU runs in a clone. All clones get the
/// same record.
pub fn rewrite_own_record() {
    // SAFETY: the set is plain data, and this thread's own CPU is in it.
    let cpu = unsafe {
        let cpu = libc::sched_getcpu() as usize;
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
        cpu
    };
    RECORDS[cpu].rewrite();
}

/// Draws of two copies of this process, of which each does `become_a_copy` before, 100 times.
fn copies_draw<const N: usize>(draw: fn() -> [Draw; N], become_a_copy: fn()) -> Verdict {
    judge_sent(|writer| {
        draw();
        for _ in 0..100 {
            for _ in 0..2 {
                wait(fork(|| {
                    become_a_copy();
                    send(writer, &draw());
                }));
            }
        }
    })
}

fn small_draws() -> [Draw; 2] {
    [squall::array(), squall::array()]
}

/// A draw that is generated in place, and uses no buffer.
fn large_draw() -> [Draw; 1] {
    [*squall::array::<1024>().last_chunk().unwrap()]
}

/// Where clones of a guest of KVM run on a CPU, its record has changed.
pub fn clones_of_kvm() -> Verdict {
    use_records();
    copies_draw(small_draws, rewrite_own_record)
}

pub fn clones_of_kvm_draw_much() -> Verdict {
    use_records();
    copies_draw(large_draw, rewrite_own_record)
}

/// Waits until the kernel's coarse clock has moved on.
pub fn wait_for_tick() {
    let coarse_time = || {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the time is writable.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut now) };
        (now.tv_sec, now.tv_nsec)
    };
    let before = coarse_time();
    while coarse_time() == before {
        std::thread::yield_now();
    }
}

/// Where a restored process draws, the kernel's tick has moved on.
pub fn restored_processes() -> Verdict {
    copies_draw(small_draws, wait_for_tick)
}

pub fn restored_processes_draw_much() -> Verdict {
    copies_draw(large_draw, wait_for_tick)
}

/// Without a tick, each request is made different.
pub fn no_tick() -> Verdict {
    assert!(!squall::status().follows_tick);
    copies_draw(small_draws, || ())
}

/// Where the records change all the time, as on hosts without a stable counter, requests end, and the records are given up.
pub fn records_that_never_rest() -> Verdict {
    draw_while(
        || RECORDS.iter().for_each(KvmClockRecordForTesting::rewrite),
        usize::MAX,
    )
}

/// The control: records that do not change stay a signal.
pub fn records_at_rest() -> Verdict {
    draw_while(std::thread::yield_now, 20)
}

/// Draws until the records are given up, at most so often.
fn draw_while(act: fn(), most: usize) -> Verdict {
    use_records();
    let is_done = &AtomicBool::new(false);
    let are_given_up = |_| {
        squall::fill(&mut vec![0; 1 << 20]);
        squall::status().clone_guard != CloneGuard::Signal(Signal::KvmClock)
    };
    let were_given_up = std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                act();
            }
        });
        let were_given_up = (0..most).any(are_given_up);
        is_done.store(true, Ordering::Relaxed);
        were_given_up
    });
    if were_given_up {
        Verdict::Held
    } else {
        Verdict::Broken("the records are a signal".to_owned())
    }
}
