//! squall through the doors that existing programs have: getrandom(3) with libsquall-preload.so
//! before it, and OpenSSL's RAND_bytes with squall's provider. Each holds for a whole process.

use squall_tools::loaded::Loaded;

use super::entry::{Entry, Opened, RunsIn, Setting, in_process};
use super::libcrypto;
use crate::report::model::Group;
use crate::source::Draw;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "squall-preloaded",
        title: "getrandom(3), squall preloaded",
        explained: "getrandom of the C library, in a process of its own with libsquall-preload.so \
                    loaded first, as `squall run` does",
        runs_in: RunsIn::OwnProcess(Setting::Preload),
        open: getrandom,
        ..DOOR
    },
    Entry {
        name: "squall-openssl",
        title: "OpenSSL RAND_bytes, squall's provider",
        explained: "RAND_bytes of libcrypto as it is installed, in a process of its own whose \
                    generators are squall's provider's",
        open: libcrypto::open_with_squall,
        ..DOOR
    },
];

const DOOR: Entry = Entry {
    group: Group::Variant,
    secure: true,
    runs_in: RunsIn::OwnProcess(Setting::None),
    ..Entry::DEFAULT
};

struct Getrandom(unsafe extern "C" fn(*mut u8, usize, u32) -> isize);

fn getrandom() -> Opened {
    // SAFETY: getrandom(3) has this signature in every C library.
    let found = unsafe { Loaded::linked().symbol("getrandom") };
    let missing = |_| "the C library has no getrandom: it came with glibc 2.25";
    in_process(Getrandom(found.map_err(missing)?))
}

impl Draw for Getrandom {
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        // SAFETY: `out` is writable for its length.
        let got = unsafe { (self.0)(out.as_mut_ptr(), out.len(), 0) };
        assert!(usize::try_from(got) == Ok(out.len()), "getrandom failed");
    }
}
