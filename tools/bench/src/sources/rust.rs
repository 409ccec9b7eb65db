//! Generators of the `rand` crates.

use chacha20::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};
use rand::rngs::ThreadRng;
use rand::{Rng, SeedableRng};

use super::{Entry, Home, Opened, here};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "thread-rng",
        title: "rand's ThreadRng",
        caveat: "a forked child and a VM clone repeat it",
        explained: "rand::rng(), kept: ChaCha12, seeded anew every 64 KiB, with neither a fork \
                    guard nor a clone guard",
        open: || here(Held(rand::rng())),
        ..RAND
    },
    Entry {
        name: "thread-rng-call",
        title: "rand's ThreadRng, per call",
        caveat: "a forked child and a VM clone repeat it",
        explained: "rand::rng() in every request, as a function without a generator at hand has it",
        open: || here(PerCall),
        ..RAND
    },
    Entry {
        name: "chacha8",
        title: "ChaCha8Rng",
        open: seeded::<ChaCha8Rng>,
        ..RAND
    },
    Entry {
        name: "chacha12",
        title: "ChaCha12Rng",
        open: seeded::<ChaCha12Rng>,
        ..RAND
    },
    Entry {
        name: "chacha20",
        title: "ChaCha20Rng",
        open: seeded::<ChaCha20Rng>,
        ..RAND
    },
];

const RAND: Entry = Entry {
    name: "",
    title: "",
    group: Group::Library,
    secure: false,
    caveat: "a forked child and a VM clone repeat it; seeded once",
    explained: "the generator of that name of the chacha20 crate, seeded once",
    home: Home::Here,
    open: seeded::<ChaCha20Rng>,
};

fn seeded<R: SeedableRng<Seed = [u8; 32]> + Rng + 'static>() -> Opened {
    here(Held(R::from_seed(squall::array())))
}

/// A generator that its user keeps.
struct Held<R>(R);

impl<R: Rng> Draw for Held<R> {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    #[inline]
    fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The thread's generator, fetched for each request.
struct PerCall;

impl PerCall {
    #[inline]
    fn rng(&self) -> ThreadRng {
        rand::rng()
    }
}

impl Draw for PerCall {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        self.rng().fill_bytes(out);
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        self.rng().next_u32()
    }

    #[inline]
    fn u64(&mut self) -> u64 {
        self.rng().next_u64()
    }
}
