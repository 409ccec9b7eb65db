//! squall's generator, and the same with one thing changed.
//!
//! What is changed holds for a whole process, so each variant has one of its own.

use squall::Engine;
use squall::hazmat;

use super::entry::{Entry, Opened, RunsIn, Setting, in_process};
use super::rust::Held;
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "squall",
        title: "squall",
        explained: "squall::fill, squall::u32 and squall::u64",
        runs_in: RunsIn::ThisProcess,
        group: Group::Squall,
        open: || in_process(Squall),
        ..VARIANT
    },
    Entry {
        name: "squall-simulation",
        title: "squall's SimulationRng",
        group: Group::Other,
        secure: false,
        caveat: "a VM clone may repeat it",
        explained: "next_u32, next_u64 and fill_bytes of squall::SimulationRng, for numbers that may \
                    repeat in a VM clone",
        runs_in: RunsIn::ThisProcess,
        open: || in_process(Held(squall::SimulationRng)),
    },
    Entry {
        name: "squall-fresh",
        title: "squall, new seeds",
        explained: "squall::fill_fresh: new bytes of the kernel's RNG in every request; numbers are \
                    requests of 4 and 8 bytes",
        runs_in: RunsIn::ThisProcess,
        group: Group::Squall,
        open: || in_process(Fresh),
        ..VARIANT
    },
    Entry {
        name: "squall-no-signal",
        title: "squall without a signal of clones",
        explained: "squall as on a VM without a signal of clones \
                    (squall::hazmat::distrust_clone_signals), in a process of its own",
        open: without_signal,
        ..VARIANT
    },
    variant("squall-vaes512", "squall by VAES, 512 bits", || {
        with(Engine::Vaes512)
    }),
    variant("squall-vaes256", "squall by VAES, 256 bits", || {
        with(Engine::Vaes256)
    }),
    variant("squall-aesni", "squall by AES-NI", || with(Engine::AesNi)),
    variant("squall-portable", "squall by portable AES", || {
        with(Engine::Portable)
    }),
    variant("squall-chacha20", "squall by ChaCha20", || {
        with(Engine::ChaCha20)
    }),
];

const VARIANT: Entry = variant("", "", without_signal);

/// squall with another engine, in a process of its own.
const fn variant(name: &'static str, title: &'static str, open: fn() -> Opened) -> Entry {
    Entry {
        name,
        title,
        group: Group::Variant,
        secure: true,
        explained: "squall::fill, squall::u32 and squall::u64 with this engine \
                    (squall::hazmat::use_engine), in a process of its own",
        runs_in: RunsIn::OwnProcess(Setting::None),
        open,
        ..Entry::DEFAULT
    }
}

fn without_signal() -> Opened {
    hazmat::distrust_clone_signals();
    in_process(Squall)
}

fn with(engine: Engine) -> Opened {
    hazmat::use_engine(engine).map_err(|error| error.to_string())?;
    in_process(Squall)
}

struct Squall;

impl Draw for Squall {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        squall::fill(out);
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        squall::u32()
    }

    #[inline]
    fn u64(&mut self) -> u64 {
        squall::u64()
    }
}

struct Fresh;

impl Draw for Fresh {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        squall::fill_fresh(out);
    }
}
