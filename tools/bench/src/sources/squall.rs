//! squall's generator and the same with one thing changed; squall through the interfaces that existing programs have:
//! getrandom(3) with libsquall-preload.so before it, OpenSSL's RAND_bytes with squall's provider, and libsquall; its
//! accumulator of entropy; and keystream of its engines, which generators are made of.
//!
//! What is changed holds for a whole process, as interfaces do, so each of these has a process of its own.

use std::ffi::c_int;
use std::sync::LazyLock;

use squall::Engine;
use squall::entropy::whirlwind::Whirlwind;
use squall::hazmat::{
    self, Aes128, Aes256, Cipher, FastKeyErasure, Keystream, MAX_REQUEST, Stores,
};
use squall_tool_base::loaded::Loaded;

use super::libraries::Held;
use super::{Entry, Opened, RunsIn, Setting, filled_by, in_process, libcrypto};
use crate::report::model::Group;
use crate::sources::Draw;

#[rustfmt::skip]
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
        open: || filled_by(squall::fill_fresh),
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
    variant("squall-vaes512", "squall by VAES, 512 bits", || with(Engine::Vaes512)),
    variant("squall-vaes256", "squall by VAES, 256 bits", || with(Engine::Vaes256)),
    variant("squall-aesni", "squall by AES-NI", || with(Engine::AesNi)),
    variant("squall-portable", "squall by portable AES", || with(Engine::Portable)),
    variant("squall-chacha20", "squall by ChaCha20", || with(Engine::ChaCha20)),
    Entry {
        name: "squall-preloaded",
        title: "getrandom(3), squall preloaded",
        explained: "getrandom of the C library, in a process of its own with libsquall-preload.so \
                    loaded first, as `squall run` does",
        runs_in: RunsIn::OwnProcess(Setting::Preload),
        open: getrandom,
        ..INTERFACE
    },
    Entry {
        name: "squall-openssl",
        title: "OpenSSL RAND_bytes, squall's provider",
        explained: "RAND_bytes of libcrypto as it is installed, in a process of its own whose \
                    generators are squall's provider's",
        open: libcrypto::open_with_squall,
        ..INTERFACE
    },
    Entry {
        name: "libsquall",
        title: "libsquall, as from C",
        explained: "squall_fill, squall_u32 and squall_u64 of libsquall, as it is installed or was built \
                    beside this command, loaded in a process of its own",
        open: libsquall,
        ..INTERFACE
    },
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

const INTERFACE: Entry = Entry {
    group: Group::Variant,
    secure: true,
    runs_in: RunsIn::OwnProcess(Setting::None),
    ..Entry::DEFAULT
};

fn getrandom() -> Opened {
    type Getrandom = unsafe extern "C" fn(*mut u8, usize, u32) -> isize;
    // SAFETY: getrandom(3) has this signature in every C library.
    let found = unsafe { Loaded::linked().symbol("getrandom") };
    let missing = |_| "the C library has no getrandom: it came with glibc 2.25";
    let getrandom: Getrandom = found.map_err(missing)?;
    filled_by(move |out| {
        // SAFETY: `out` is writable for its length.
        let got = unsafe { getrandom(out.as_mut_ptr(), out.len(), 0) };
        assert!(usize::try_from(got) == Ok(out.len()), "getrandom failed");
    })
}

/// libsquall's functions, whose signatures are those of squall.h.
struct Libsquall {
    fill: unsafe extern "C" fn(*mut u8, usize) -> c_int,
    u32: unsafe extern "C" fn() -> u32,
    u64: unsafe extern "C" fn() -> u64,
}

fn libsquall() -> Opened {
    let built = std::env::current_exe().unwrap_or_default();
    let built = built.with_file_name("libsquall_c.so");
    // SAFETY: libsquall may be loaded at any time.
    let library = unsafe { Loaded::first_of(&[&built.to_string_lossy(), "libsquall.so.0"]) };
    let library = library.map_err(|_| "libsquall.so.0 is not installed")?;
    // SAFETY: the functions have these signatures.
    unsafe {
        in_process(Libsquall {
            fill: library.symbol("squall_fill")?,
            u32: library.symbol("squall_u32")?,
            u64: library.symbol("squall_u64")?,
        })
    }
}

impl Draw for Libsquall {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length.
        let status = unsafe { (self.fill)(out.as_mut_ptr(), out.len()) };
        assert!(status == 0, "squall_fill failed");
    }

    #[inline]
    fn u32(&mut self) -> u32 {
        // SAFETY: it takes nothing.
        unsafe { (self.u32)() }
    }

    #[inline]
    fn u64(&mut self) -> u64 {
        // SAFETY: it takes nothing.
        unsafe { (self.u64)() }
    }
}

/// The accumulator, asked for bytes: one for the whole process, as intended.
pub(super) const ACCUMULATORS: &[Entry] = &[Entry {
    name: "whirlwind",
    title: "Whirlwind",
    group: Group::Accumulator,
    caveat: "meant for seeds; a forked child repeats it or may",
    explained: "squall::entropy::whirlwind::Whirlwind after its bootstrap: SHA-512 over seeds, \
                cycle counter and the CPU's random instruction, 64 bytes at a time",
    open: || filled_by(fill_by_whirlwind),
    ..Entry::DEFAULT
}];

fn fill_by_whirlwind(out: &mut [u8]) {
    static WHIRLWIND: LazyLock<Whirlwind> = LazyLock::new(|| {
        let whirlwind = Whirlwind::default();
        whirlwind.bootstrap();
        whirlwind
    });
    WHIRLWIND.generate(out);
}

#[rustfmt::skip]
pub(super) const KEYSTREAMS: &[Entry] = &[
    keystream("aes128-vaes512", "AES-128 keystream, VAES-512", || aes::<Aes128>(Engine::Vaes512)),
    keystream("aes128-vaes256", "AES-128 keystream, VAES-256", || aes::<Aes128>(Engine::Vaes256)),
    keystream("aes128-aesni", "AES-128 keystream, AES-NI", || aes::<Aes128>(Engine::AesNi)),
    keystream("aes128-portable", "AES-128 keystream, portable", || aes::<Aes128>(Engine::Portable)),
    keystream("aes256-vaes512", "AES-256 keystream, VAES-512", || aes::<Aes256>(Engine::Vaes512)),
    keystream("aes256-vaes256", "AES-256 keystream, VAES-256", || aes::<Aes256>(Engine::Vaes256)),
    keystream("aes256-aesni", "AES-256 keystream, AES-NI", || aes::<Aes256>(Engine::AesNi)),
    keystream("aes256-portable", "AES-256 keystream, portable", || aes::<Aes256>(Engine::Portable)),
    Entry {
        name: "chacha20-erasing",
        title: "ChaCha20 with key erasure",
        caveat: "a generator without guards",
        explained: "squall::hazmat::FastKeyErasure: ChaCha20, its key replaced in every request",
        open: chacha20,
        ..KEYSTREAM
    },
];

const KEYSTREAM: Entry = keystream("", "", || aes::<Aes256>(Engine::Portable));

const fn keystream(name: &'static str, title: &'static str, open: fn() -> Opened) -> Entry {
    Entry {
        name,
        title,
        caveat: "the same key, the same bytes",
        explained: "squall::hazmat::Keystream by this engine: counter mode under one key",
        open,
        ..Entry::DEFAULT
    }
}

fn aes<C: Cipher + 'static>(engine: Engine) -> Opened {
    let mut key = C::Key::default();
    squall::fill(key.as_mut());
    let keystream = Keystream::<C>::new(&key, engine).map_err(|error| error.to_string())?;
    let mut counter = 0;
    filled_by(move |out| {
        keystream.fill(counter, out, Stores::for_len(out.len()));
        counter += out.len().div_ceil(16) as u128;
    })
}

fn chacha20() -> Opened {
    let mut generator = FastKeyErasure::new(&squall::array());
    filled_by(move |out| {
        for part in out.chunks_mut(MAX_REQUEST) {
            let made = generator.generate(part, &[]);
            made.expect("a request within the limit");
        }
    })
}
