//! squall's generator, and the same with one thing changed.
//!
//! What is changed holds for a whole process, so each variant has one of its own.

use squall::Engine;
use squall::hazmat;

use super::{Entry, Home, Opened, Setting, here};
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "squall",
        title: "squall",
        explained: "squall::fill, squall::u32 and squall::u64",
        home: Home::Here,
        group: Group::Squall,
        open: || here(Squall),
        ..VARIANT
    },
    Entry {
        name: "squall-fresh",
        title: "squall, new seeds",
        explained: "squall::fill_fresh: new bytes of the kernel's RNG in every request; numbers are \
                    requests of 4 and 8 bytes",
        home: Home::Here,
        group: Group::Squall,
        open: || here(Fresh),
        ..VARIANT
    },
    Entry {
        name: "squall-hedged",
        title: "squall, every request hedged",
        explained: "squall as on a VM that nothing tells of clones \
                    (squall::hazmat::hedge_every_request), in a process of its own",
        open: hedged,
        ..VARIANT
    },
    Entry {
        name: "squall-vaes512",
        title: "squall by VAES, 512 bits",
        open: || with(Engine::Vaes512),
        ..VARIANT
    },
    Entry {
        name: "squall-vaes256",
        title: "squall by VAES, 256 bits",
        open: || with(Engine::Vaes256),
        ..VARIANT
    },
    Entry {
        name: "squall-aesni",
        title: "squall by AES-NI",
        open: || with(Engine::AesNi),
        ..VARIANT
    },
    Entry {
        name: "squall-portable",
        title: "squall by portable AES",
        open: || with(Engine::Portable),
        ..VARIANT
    },
    Entry {
        name: "squall-chacha20",
        title: "squall by ChaCha20",
        open: || with(Engine::ChaCha20),
        ..VARIANT
    },
];

/// What the variants have in common; the ones by engine are not more than that.
const VARIANT: Entry = Entry {
    name: "",
    title: "",
    group: Group::Variant,
    secure: true,
    caveat: "",
    explained: "squall::fill, squall::u32 and squall::u64 with this engine \
                (squall::hazmat::use_engine), in a process of its own",
    home: Home::Child(Setting::None),
    open: hedged,
};

fn hedged() -> Opened {
    hazmat::hedge_every_request();
    here(Squall)
}

fn with(engine: Engine) -> Opened {
    hazmat::use_engine(engine).map_err(|error| error.to_string())?;
    here(Squall)
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
