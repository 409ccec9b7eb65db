//! Where seeds come from: kernel and root, either of which suffices; bootstraps when they are
//! needed; noise sources that fail.

use squall::testing::{Failpoint, activate_for_testing, events_for_testing};
use squall::{CloneGuard, NoiseSource};

use crate::Verdict;
use crate::clones::{SignalPage, without_signal};
use crate::drops::drop_page;
use crate::outputs::{fork, is_true_in_child, judge, judge_sent, send, wait};
use crate::reseeds::{KernelRng, repeat_until_no_reseed};

/// Number of the root's event for a word that it begins with.
const START: usize = 1;

/// Number of the root's event for a refill of a thread's buffer.
const REFILL: usize = 6;

/// Processes whose state has nothing in common draw different bytes, seeded by the sources that the
/// failpoints leave.
pub fn processes_differ() -> Verdict {
    judge_sent(|writer| {
        for _ in 0..500 {
            wait(fork(|| send(writer, &[squall::array(), squall::array()])));
        }
    })
}

pub fn processes_differ_with_chacha20() -> Verdict {
    squall::hazmat::use_engine(squall::Engine::ChaCha20).unwrap();
    processes_differ()
}

/// Draws from new seeds, which use nothing of the root.
pub fn fresh_draws_differ() -> Verdict {
    judge((0..1000).map(|_| {
        let mut draw = [0; 16];
        squall::fill_fresh(&mut draw);
        draw
    }))
}

/// The first draw of a process where it needs a bootstrap.
pub fn begins_with_bootstrap() -> Verdict {
    without_signal();
    squall::u32();
    let status = squall::status();
    let has_signal = status.clone_guard != CloneGuard::NoSignal;
    match (status.bootstraps, has_signal, status.cpu_random) {
        (0, true, NoiseSource::Works) => Verdict::Broken("no bootstrap".to_owned()),
        (0, ..) => panic!("no bootstrap where it was needed"),
        _ => Verdict::Held,
    }
}

/// A forked child's root begins anew, and is not its parent's.
pub fn child_begins_anew() -> Verdict {
    let roots_begun = || events_for_testing()[START] + squall::status().bootstraps;
    let fork_and_draw = || {
        let before = roots_begun();
        let begins_anew = is_true_in_child(|| {
            squall::u32();
            roots_begun() > before
        });
        if begins_anew {
            Verdict::Held
        } else {
            Verdict::Broken("the child draws from its parent's root".to_owned())
        }
    };
    // A reseed may mean a clone, after which the root begins anew too.
    repeat_until_no_reseed(|| (), fork_and_draw)
}

/// Checks that the root is bootstrapped again after `change`, before it serves.
fn bootstraps_again(change: impl FnOnce()) -> Verdict {
    squall::u32();
    let before = squall::status().bootstraps;
    change();
    squall::u32();
    if squall::status().bootstraps > before {
        Verdict::Held
    } else {
        Verdict::Broken("served without a bootstrap".to_owned())
    }
}

pub fn vmclock_bootstraps() -> Verdict {
    signal_bootstraps(&SignalPage::vmclock())
}

pub fn vmgenid_page_bootstraps() -> Verdict {
    signal_bootstraps(&SignalPage::vmgenid(8))
}

fn signal_bootstraps(signal: &SignalPage) -> Verdict {
    let verdict = bootstraps_again(|| signal.set(2));
    let after_once = squall::status().bootstraps;
    drop_page();
    squall::u32();
    assert_eq!(squall::status().bootstraps, after_once, "once a clone");
    verdict
}

/// In a VM without a vmclock, a new generation may mean a clone.
pub fn generation_bootstraps() -> Verdict {
    let rng = KernelRng::open();
    without_signal();
    bootstraps_again(|| rng.reseed())
}

/// Every event of the guards becomes an input of the root.
pub fn events_are_inputs() -> Verdict {
    let rng = KernelRng::open();
    let clock = SignalPage::vmclock();
    // Not every refill becomes an input.
    let draw_until_refill = || {
        let before = events_for_testing()[REFILL];
        let mut draws = 0..10_000_000;
        while events_for_testing()[REFILL] == before && draws.next().is_some() {
            squall::u64();
        }
    };
    let start_thread = || {
        std::thread::spawn(squall::u32).join().unwrap();
    };
    let events: [(usize, &str, &dyn Fn()); 5] = [
        (2, "thread start", &start_thread),
        (4, "clone", &|| clock.set(2)),
        (3, "reseed", &|| rng.reseed()),
        (5, "emptied page", &drop_page),
        (REFILL, "refill", &draw_until_refill),
    ];
    squall::u32();
    for (number, name, cause_event) in events {
        let before = events_for_testing()[number];
        cause_event();
        squall::u32();
        if events_for_testing()[number] == before {
            return Verdict::Broken(format!("the root has no input from a {name}"));
        }
    }
    Verdict::Held
}

/// Refills in quick succession are no inputs of the root. To a counter that stands still, all refills
/// are.
pub fn quick_refills_are_no_inputs() -> Verdict {
    without_signal();
    for _ in 0..10_000 {
        squall::u64();
    }
    match events_for_testing()[REFILL] {
        0 => Verdict::Held,
        heard => Verdict::Broken(format!("{heard} refills became inputs")),
    }
}

/// A random instruction that always returns the same word is left out.
pub fn stuck_instruction() -> Verdict {
    match squall::status().cpu_random {
        NoiseSource::Failed => judge((0..1000).map(|_| squall::array())),
        other => Verdict::Broken(format!("the status of a stuck instruction is {other}")),
    }
}

/// No root begins with the first word of a stuck instruction.
pub fn first_word_of_a_stuck_instruction() -> Verdict {
    squall::u32();
    match events_for_testing()[START] {
        0 => Verdict::Held,
        words => Verdict::Broken(format!("the root has {words} words")),
    }
}

/// An instruction that gets stuck later, as after a resume: the root of a child, which begins
/// anew, must not be made of its words.
pub fn stuck_after_the_first_draw() -> Verdict {
    squall::u32();
    assert_eq!(squall::status().cpu_random, NoiseSource::Works);
    activate_for_testing(Failpoint::RepeatRandomWord);
    let has_new_root = is_true_in_child(|| {
        squall::u32();
        let status = squall::status();
        status.cpu_random == NoiseSource::Failed && status.bootstraps > 0
    });
    if has_new_root {
        Verdict::Held
    } else {
        Verdict::Broken("a root began with the words of a stuck instruction".to_owned())
    }
}

/// A counter that stands still is left out after a few dozen readings.
pub fn stuck_counter() -> Verdict {
    for _ in 0..40 {
        squall::u32();
        drop_page();
    }
    match squall::status().cycle_counter {
        NoiseSource::Failed => judge((0..1000).map(|_| squall::array())),
        other => Verdict::Broken(format!("the status of a stuck counter is {other}")),
    }
}

/// Sources that are good stay in use.
pub fn good_sources() -> Verdict {
    for _ in 0..10_000 {
        squall::u32();
        drop_page();
    }
    let status = squall::status();
    let has_failed = [status.cpu_random, status.cycle_counter].contains(&NoiseSource::Failed);
    if has_failed {
        Verdict::Broken(format!("{status:?}"))
    } else {
        Verdict::Held
    }
}
