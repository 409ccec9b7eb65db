//! Generators of libraries and languages: the `rand` crates'; Go's; libsodium's randombytes, and glibc's arc4random
//! (2.36), found in the C library that this program runs with.

use std::ffi::{c_char, c_int, c_void};

use chacha20::{ChaCha8Rng, ChaCha12Rng, ChaCha20Rng};
use rand::{Rng, SeedableRng};
use squall_tool_base::loaded::{Loaded, text};

use super::{Entry, Opened, RunsIn, in_process};
use crate::report::model::Group;
use crate::sources::Draw;

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

/// Generators of C libraries, and Go's, in a program that is built when it is needed.
pub(super) const OF_OTHER_LANGUAGES: &[Entry] = &[
    Entry {
        name: "libsodium",
        title: "libsodium",
        explained: "randombytes_buf and randombytes_random of libsodium as it is installed: \
                    getrandom(2)",
        open: sodium,
        ..OF_THE_KERNEL
    },
    Entry {
        name: "arc4random",
        title: "glibc's arc4random",
        explained: "arc4random and arc4random_buf of the C library: getrandom(2), through the vDSO \
                    from glibc 2.41 on",
        open: arc4random,
        ..OF_THE_KERNEL
    },
    Entry {
        name: "go-crypto-rand",
        title: "Go crypto/rand",
        group: Group::Library,
        secure: true,
        caveat: "the kernel's generator",
        explained: "crypto/rand.Read of Go's standard library, in a Go program of its own that \
                    times itself; numbers are reads of 4 and 8 bytes",
        runs_in: RunsIn::GoProgram("crypto"),
        ..Entry::DEFAULT
    },
    Entry {
        name: "go-math-rand",
        title: "Go math/rand/v2",
        caveat: "ChaCha8 of Go's runtime, by its documentation not for secrets",
        explained: "the functions of Go's math/rand/v2 that need no generator, in a Go program of \
                    its own that times itself; buffers are filled by Uint64",
        runs_in: RunsIn::GoProgram("math"),
        ..Entry::DEFAULT
    },
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

const SODIUM: [&str; 3] = ["libsodium.so.26", "libsodium.so.23", "libsodium.so"];

const OF_THE_KERNEL: Entry = Entry {
    group: Group::Library,
    secure: true,
    caveat: "the kernel's generator",
    ..Entry::DEFAULT
};

struct Generator {
    number: unsafe extern "C" fn() -> u32,
    fill: unsafe extern "C" fn(*mut c_void, usize),
}

impl Draw for Generator {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length; the library is initialised.
        unsafe { (self.fill)(out.as_mut_ptr().cast(), out.len()) };
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        // SAFETY: it takes nothing; the library is initialised.
        unsafe { (self.number)() }
    }
}

fn load_sodium() -> Result<Loaded, String> {
    // SAFETY: libsodium may be loaded at any time.
    unsafe { Loaded::first_of(&SODIUM) }
}

/// It must be initialised before anything else, and may be initialised again.
fn sodium() -> Opened {
    let library = load_sodium()?;
    // SAFETY: the functions have the signatures of libsodium's documentation.
    unsafe {
        let init: unsafe extern "C" fn() -> c_int = library.symbol("sodium_init")?;
        if init() < 0 {
            return Err("libsodium cannot be initialised".into());
        }
        in_process(Generator {
            number: library.symbol("randombytes_random")?,
            fill: library.symbol("randombytes_buf")?,
        })
    }
}

fn arc4random() -> Opened {
    let library = Loaded::linked();
    let missing = |_| "the C library has no arc4random: it came with glibc 2.36".to_owned();
    // SAFETY: the functions have these signatures in every C library that has them
    // (arc4random(3)).
    unsafe {
        in_process(Generator {
            number: library.symbol("arc4random").map_err(missing)?,
            fill: library.symbol("arc4random_buf").map_err(missing)?,
        })
    }
}

/// The version of libsodium, which loads it.
pub fn sodium_version() -> Option<String> {
    version(&load_sodium().ok()?, "sodium_version_string")
}

/// The version of the C library, where it is glibc.
pub fn glibc_version() -> Option<String> {
    version(&Loaded::linked(), "gnu_get_libc_version")
}

fn version(library: &Loaded, function: &str) -> Option<String> {
    // SAFETY: both functions take nothing and return a string that is never freed.
    unsafe {
        let version: unsafe extern "C" fn() -> *const c_char = library.symbol(function).ok()?;
        Some(text(version()))
    }
}
