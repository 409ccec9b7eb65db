//! The robust PRNG and the model of the old RNG as sources of `squall bench`. Each has one instance,
//! which all threads of the process share.

use std::sync::{LazyLock, Mutex, PoisonError};

use squall::entropy::Accumulator;
use squall_bench::report::model::Group;
use squall_bench::sources::{Draw, Entry, RunsIn, in_process};
use squall_legacy_rng::Legacy;
use squall_robust_prng::Robust;

/// The robust PRNG and the old RNG.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "robust",
        title: "robust PRNG with input",
        group: Group::Accumulator,
        secure: false,
        caveat: "meant for seeds; a forked child repeats it",
        explained: "squall_robust_prng::Robust (n = 489), seeded once; threads take turns",
        runs_in: RunsIn::ThisProcess,
        open: || in_process(SharedRobust),
    },
    Entry {
        name: "legacy",
        title: "old Linux RNG, a model",
        group: Group::Accumulator,
        secure: false,
        caveat: "broken: see squall-lab attack",
        explained: "a model of /dev/urandom of Linux 2.6 to 4.7 in this process: SHA-1 over a pool, \
                    ten bytes at a time, one lock for all threads",
        runs_in: RunsIn::ThisProcess,
        open: || in_process(SharedLegacy),
    },
];

struct SharedRobust;

impl Draw for SharedRobust {
    fn fill(&mut self, out: &mut [u8]) {
        static ROBUST: LazyLock<Mutex<Robust>> = LazyLock::new(|| {
            const LEN: usize = Robust::ELEMENT_LEN;
            let [x, x_prime] = [(); 2].map(|()| squall::array::<LEN>());
            Mutex::new(Robust::new(&x, &x_prime).expect("elements of the field's length"))
        });
        let mut robust = ROBUST.lock().unwrap_or_else(PoisonError::into_inner);
        robust.generate(out);
    }
}

struct SharedLegacy;

impl Draw for SharedLegacy {
    fn fill(&mut self, out: &mut [u8]) {
        static LEGACY: LazyLock<Legacy> = LazyLock::new(|| Legacy::new(&squall::array::<64>()));
        LEGACY.urandom(out);
    }
}
