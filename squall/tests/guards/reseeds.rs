//! State is never older than the kernel's own: the next request after a reseed notices it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use squall::ReseedGuard;
use squall::testing::{
    advance_clock_for_testing, generations_for_testing, reseeds_for_testing,
    watch_generation_at_for_testing,
};

use crate::Verdict;
use crate::clones::without_signal;
use crate::copies::wait_for_tick;
use crate::drops::drop_page;
use crate::outputs::{is_true_in_child, judge};

/// `_IO('R', 7)` of include/uapi/linux/random.h.
const RNDRESEEDCRNG: libc::c_ulong = 0x5207;

/// The kernel's RNG, to be reseeded.
pub struct KernelRng(File);

impl KernelRng {
    pub fn open() -> KernelRng {
        KernelRng(File::open("/dev/urandom").expect("there is a kernel's RNG"))
    }

    /// Whether this process has the privilege.
    pub fn can_be_reseeded() -> bool {
        KernelRng::open().try_reseed()
    }

    pub fn reseed(&self) {
        assert!(self.try_reseed());
    }

    fn try_reseed(&self) -> bool {
        // SAFETY: the request has no argument.
        unsafe { libc::ioctl(self.0.as_raw_fd(), RNDRESEEDCRNG) == 0 }
    }
}

/// Runs `event` and then `attempt`, and both again if the kernel reseeded by itself during the attempt.
pub fn repeat_until_no_reseed(
    mut event: impl FnMut(),
    mut attempt: impl FnMut() -> Verdict,
) -> Verdict {
    loop {
        event();
        squall::u32();
        let before = reseeds_for_testing();
        let verdict = attempt();
        squall::u32();
        if reseeds_for_testing() == before {
            return verdict;
        }
    }
}

pub fn seen_by_the_next_word() -> Verdict {
    let rng = KernelRng::open();
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
    let rng = KernelRng::open();
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

/// Continuous reseeds do not block a request forever.
pub fn storm() -> Verdict {
    let rng = KernelRng::open();
    let is_done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                rng.reseed();
            }
        });
        let mut draws = Vec::new();
        for _ in 0..5_000 {
            draws.push(squall::array());
        }
        for _ in 0..10 {
            let mut out = vec![0; 1 << 20];
            squall::fill(&mut out);
            draws.extend_from_slice(out.as_chunks().0);
        }
        for _ in 0..20 {
            let mut out = vec![0; 1 << 17];
            squall::fill_fresh(&mut out);
            draws.extend_from_slice(out.as_chunks().0);
        }
        is_done.store(true, Ordering::Relaxed);
        judge(draws)
    })
}

/// A process's first draw finds the address of the generation, even if it is `fill_fresh`.
pub fn seen_by_a_first_fresh_draw() -> Verdict {
    let is_found = || {
        is_true_in_child(|| {
            squall::fill_fresh(&mut [0; 16]);
            generations_for_testing().0 != 0
        })
    };
    // The kernel may reseed by itself during a draw, but not during each.
    if (0..3).any(|_| is_found()) {
        Verdict::Held
    } else {
        Verdict::Broken("the draw did not look for the generation".to_owned())
    }
}

/// If the watched address shows another generation than the vDSO recorded, the next seeding finds a
/// better address.
pub fn wrong_generation_address() -> Verdict {
    static WRONG: AtomicU64 = AtomicU64::new(0);
    squall::u32();
    let wrong = generations_for_testing().0 + 1000;
    WRONG.store(wrong, Ordering::Relaxed);
    watch_generation_at_for_testing(&WRONG);
    assert_eq!(generations_for_testing().0, wrong);
    // A thread learns the new address when it refills its buffer.
    drop_page();
    squall::u32();
    if generations_for_testing().0 == wrong {
        return Verdict::Broken("the wrong address is still read".to_owned());
    }
    seen_by_the_next_word()
}

/// Refills double from a seeding on, up to the whole buffer, so that the bytes discarded are in
/// proportion to the bytes used.
pub fn refills_double() -> Verdict {
    refills_double_with(|| ())
}

/// The control: each tick begins with a small refill.
pub fn refills_in_ticks() -> Verdict {
    refills_double_with(wait_for_tick)
}

fn refills_double_with(between: fn()) -> Verdict {
    const REFILLS: [u64; 7] = [256, 512, 1024, 2048, 3584, 3584, 3584];
    without_signal();
    squall::u64();
    for (number, refill) in REFILLS.into_iter().enumerate() {
        let discarded = discarded_after(REFILLS[..number].iter().sum(), between);
        if discarded != refill - 8 {
            let expected = refill - 8;
            return Verdict::Broken(format!(
                "{discarded} bytes were discarded, {expected} expected"
            ));
        }
    }
    Verdict::Held
}

/// How many bytes are discarded unused when a page is dropped after it has served `served` + 8 bytes.
fn discarded_after(served: u64, between: fn()) -> u64 {
    loop {
        drop_page();
        // Draws two bytes.
        let before = squall::status();
        squall::array::<6>();
        between();
        for _ in 0..served / 8 {
            squall::u64();
        }
        drop_page();
        let after = squall::status();
        // The kernel may reseed by itself.
        if after.reseeds == before.reseeds + 1 {
            return after.bytes_discarded - before.bytes_discarded;
        }
    }
}

/// Where the generation cannot be seen, a seed lasts 60 seconds.
pub fn by_time() -> Verdict {
    // From here on the clock stands still between two draws.
    advance_clock_for_testing(0);
    squall::u32();
    if reseeds_after(50) {
        return Verdict::Broken("reseeded too early".to_owned());
    }
    if reseeds_after(11) {
        Verdict::Held
    } else {
        Verdict::Broken("a word from a seed older than 60 seconds".to_owned())
    }
}

/// Where the generation can be seen, the age of a seed does not matter.
pub fn by_time_only_where_hidden() -> Verdict {
    squall::u32();
    let is_hidden = squall::status().reseed_guard == ReseedGuard::Time;
    // The kernel may reseed by itself meanwhile, but not each time.
    let by_time = (0..3).all(|_| reseeds_after(61));
    match (is_hidden, by_time) {
        (true, false) => Verdict::Broken("not reseeded by time".to_owned()),
        (false, true) => Verdict::Broken("reseeded by time".to_owned()),
        _ => Verdict::Held,
    }
}

/// Whether a draw after this many seconds comes from a new seed.
fn reseeds_after(seconds: u64) -> bool {
    let before = reseeds_for_testing();
    advance_clock_for_testing(seconds);
    squall::u32();
    reseeds_for_testing() != before
}
