//! State is never older than the kernel's own: a reseed is seen by the next request.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use squall::testing::{advance_clock_for_testing, reseeds_for_testing};

use crate::Verdict;
use crate::outputs::judge;

const NO_PRIVILEGE: &str = "forcing a kernel reseed (RNDRESEEDCRNG) needs CAP_SYS_ADMIN";
const NO_GENERATION: &str = "this kernel's vDSO has no getrandom (Linux 6.11)";

/// `_IO('R', 7)` of include/uapi/linux/random.h.
const RNDRESEEDCRNG: libc::c_ulong = 0x5207;

/// The kernel's RNG, to be reseeded; none without the privilege.
pub struct KernelRng(File);

impl KernelRng {
    pub fn open() -> Option<KernelRng> {
        let rng = KernelRng(File::open("/dev/urandom").ok()?);
        rng.try_reseed().then_some(rng)
    }

    pub fn reseed(&self) {
        assert!(self.try_reseed());
    }

    fn try_reseed(&self) -> bool {
        // SAFETY: the request has no argument.
        unsafe { libc::ioctl(self.0.as_raw_fd(), RNDRESEEDCRNG) == 0 }
    }
}

pub fn seen_by_the_next_word() -> Verdict {
    if !squall::status().has_vdso_getrandom {
        return Verdict::Skip(NO_GENERATION);
    }
    let Some(rng) = KernelRng::open() else {
        return Verdict::Skip(NO_PRIVILEGE);
    };
    squall::u32();
    for round in 0..1000 {
        let before = reseeds_for_testing();
        squall::u32();
        if reseeds_for_testing() != before {
            // The kernel reseeded by itself.
            continue;
        }
        rng.reseed();
        squall::u32();
        if reseeds_for_testing() == before {
            return Verdict::Broken(format!("round {round}: a word from before the reseed"));
        }
    }
    Verdict::Held
}

pub fn seen_by_every_thread() -> Verdict {
    const THREADS: u64 = 8;
    if !squall::status().has_vdso_getrandom {
        return Verdict::Skip(NO_GENERATION);
    }
    let Some(rng) = KernelRng::open() else {
        return Verdict::Skip(NO_PRIVILEGE);
    };
    let barrier = &Barrier::new(THREADS as usize + 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(move || {
                squall::u32();
                barrier.wait();
                barrier.wait();
                squall::u32();
                barrier.wait();
            });
        }
        barrier.wait();
        let before = reseeds_for_testing();
        rng.reseed();
        barrier.wait();
        barrier.wait();
        match reseeds_for_testing() - before {
            THREADS.. => Verdict::Held,
            seen => Verdict::Broken(format!("{seen} of {THREADS} threads saw the reseed")),
        }
    })
}

/// Reseeds without pause hold no request up for ever.
pub fn storm() -> Verdict {
    let Some(rng) = KernelRng::open() else {
        return Verdict::Skip(NO_PRIVILEGE);
    };
    let is_done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                rng.reseed();
            }
        });
        let mut draws = Vec::new();
        for _ in 0..20_000 {
            draws.push(squall::array());
        }
        for _ in 0..20 {
            let mut out = vec![0; 1 << 20];
            squall::fill(&mut out);
            draws.extend_from_slice(out.as_chunks().0);
        }
        for _ in 0..200 {
            let mut out = vec![0; 1 << 17];
            squall::fill_fresh(&mut out);
            draws.extend_from_slice(out.as_chunks().0);
        }
        is_done.store(true, Ordering::Relaxed);
        judge(draws)
    })
}

/// Where the generation cannot be seen, a seed lasts 60 seconds.
pub fn by_time() -> Verdict {
    squall::u32();
    let before = reseeds_for_testing();
    advance_clock_for_testing(50);
    squall::u32();
    if reseeds_for_testing() != before {
        return Verdict::Broken("reseeded too early".to_owned());
    }
    advance_clock_for_testing(11);
    squall::u32();
    match reseeds_for_testing() - before {
        1 => Verdict::Held,
        _ => Verdict::Broken("a word from a seed older than 60 seconds".to_owned()),
    }
}
