//! `BufferedSimulationRng` has a page of its own, with the guards of a thread's page.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use rand_core::Rng as _;
use squall::BufferedSimulationRng;
use squall::testing::reseeds_for_testing;

use crate::Verdict;
use crate::clones::{SignalPage, copies_draw, copies_with_changing};
use crate::drops::drop_while;
use crate::forks::children_draw;
use crate::outputs::Draw;
use crate::reseeds::KernelRng;

thread_local! {
    static RNG: RefCell<BufferedSimulationRng> = const { RefCell::new(BufferedSimulationRng::new()) };
}

/// Two numbers of this thread's value, the same one in a child.
fn draw() -> [Draw; 1] {
    RNG.with_borrow_mut(|rng| {
        let words = [(); 2].map(|()| rng.next_u64().to_ne_bytes());
        [words.concat().try_into().expect("sixteen bytes")]
    })
}

/// Fills the buffer of this thread's value: the first requests of a process come from elsewhere.
fn fill_buffer() {
    (0..4).for_each(|_| _ = draw());
}

pub fn children() -> Verdict {
    fill_buffer();
    children_draw(draw)
}

pub fn a_reseed_empties_the_buffer() -> Verdict {
    let kernel = KernelRng::open();
    fill_buffer();
    for round in 0..1000 {
        let before = reseeds_for_testing();
        draw();
        if reseeds_for_testing() != before {
            // The kernel reseeded by itself.
            continue;
        }
        kernel.reseed();
        draw();
        if reseeds_for_testing() == before {
            return Verdict::Broken(format!("round {round}: numbers from before the reseed"));
        }
    }
    Verdict::Held
}

pub fn vmclock_changes() -> Verdict {
    let signal = SignalPage::vmclock();
    fill_buffer();
    copies_with_changing(&signal, draw)
}

/// The control: the counter never changes, so the copies repeat.
pub fn vmclock_never_changes() -> Verdict {
    let _clock = SignalPage::vmclock();
    fill_buffer();
    copies_draw(draw, || {})
}

/// Looks for numbers of zero until the page was dropped often enough.
pub fn drops() -> Verdict {
    judge_drops(1_000, std::thread::yield_now)
}

/// The same until a number is zero.
pub fn drops_until_zero() -> Verdict {
    judge_drops(u64::MAX, || ())
}

fn judge_drops(enough: u64, between: fn()) -> Verdict {
    let mut rng = BufferedSimulationRng::new();
    (0..4).for_each(|_| _ = rng.next_u64());
    drop_while(rng.page_address(), |drops| {
        while drops.load(Ordering::Relaxed) < enough {
            // A number is zero by chance once in 2^64.
            if (0..100).any(|_| rng.next_u64() == 0) {
                return Verdict::Broken("a number is zero".to_owned());
            }
            between();
        }
        Verdict::Held
    })
}
