//! Generators of the `rand` crates.

use chacha20::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};
use rand::{Rng, SeedableRng};

use super::entry::{Entry, Opened, in_process};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "thread-rng",
        title: "rand's ThreadRng",
        caveat: "a forked child and a VM clone repeat it",
        explained: "rand::rng(), kept: ChaCha12, reseeded every 64 KiB, with neither a fork guard \
                    nor a clone guard",
        open: || in_process(Held(rand::rng())),
        ..RAND
    },
    Entry {
        name: "thread-rng-call",
        title: "rand's ThreadRng, per call",
        caveat: "a forked child and a VM clone repeat it",
        explained: "rand::rng() in every request, as in a function that has no generator at hand",
        open: || in_process(PerCall),
        ..RAND
    },
    rand("chacha8", "ChaCha8Rng", seeded::<ChaCha8Rng>),
    rand("chacha12", "ChaCha12Rng", seeded::<ChaCha12Rng>),
    rand("chacha20", "ChaCha20Rng", seeded::<ChaCha20Rng>),
];

const RAND: Entry = rand("", "", seeded::<ChaCha20Rng>);

const fn rand(name: &'static str, title: &'static str, open: fn() -> Opened) -> Entry {
    Entry {
        name,
        title,
        group: Group::Library,
        caveat: "a forked child and a VM clone repeat it; seeded once",
        explained: "the chacha20 crate's generator of that name, seeded once",
        open,
        ..Entry::DEFAULT
    }
}

fn seeded<R: SeedableRng<Seed = [u8; 32]> + Rng + 'static>() -> Opened {
    in_process(Held(R::from_seed(squall::array())))
}

/// A generator that its user keeps.
pub(super) struct Held<R>(pub R);

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

impl Draw for PerCall {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        rand::rng().fill_bytes(out);
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        rand::rng().next_u32()
    }

    #[inline]
    fn u64(&mut self) -> u64 {
        rand::rng().next_u64()
    }
}
