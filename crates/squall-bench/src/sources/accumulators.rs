//! Accumulators of entropy, asked for bytes: squall's two, and the old kernel's pools.
//!
//! One for the whole process each, as they are meant: threads share it.

use std::sync::{LazyLock, Mutex, PoisonError};

use squall::entropy::Accumulator;
use squall::entropy::robust::{Gf489, Robust};
use squall::entropy::whirlwind::Whirlwind;
use squall_legacy::Legacy;

use super::{Entry, Home, here};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "whirlwind",
        title: "Whirlwind",
        explained: "squall::entropy::whirlwind::Whirlwind after its bootstrap: SHA-512 over seeds, \
                    cycle counter and the CPU's random instruction, 64 bytes at a time",
        open: || here(SharedWhirlwind),
        ..ACCUMULATOR
    },
    Entry {
        name: "robust",
        title: "robust PRNG with input",
        explained: "squall::entropy::robust::Robust (n = 489), seeded once; threads take turns",
        open: || here(SharedRobust),
        ..ACCUMULATOR
    },
    Entry {
        name: "legacy",
        title: "old Linux RNG, a model",
        caveat: "broken: see squall-lab attack",
        explained: "a model of /dev/urandom of Linux 2.6 to 4.7 in this process: SHA-1 over a pool, \
                    ten bytes at a time, one lock for all threads",
        open: || here(SharedLegacy),
        ..ACCUMULATOR
    },
];

const ACCUMULATOR: Entry = Entry {
    name: "",
    title: "",
    group: Group::Accumulator,
    secure: false,
    caveat: "meant for seeds; a forked child repeats it or may",
    explained: "",
    home: Home::Here,
    open: || here(SharedWhirlwind),
};

struct SharedWhirlwind;

impl Draw for SharedWhirlwind {
    fn fill(&mut self, out: &mut [u8]) {
        static WHIRLWIND: LazyLock<Whirlwind> = LazyLock::new(|| {
            let whirlwind = Whirlwind::default();
            whirlwind.bootstrap();
            whirlwind
        });
        WHIRLWIND.generate(out);
    }
}

struct SharedRobust;

impl Draw for SharedRobust {
    fn fill(&mut self, out: &mut [u8]) {
        static ROBUST: LazyLock<Mutex<Robust>> = LazyLock::new(|| {
            const LEN: usize = Robust::<Gf489>::ELEMENT_LEN;
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
