//! The kernel RNG as the vDSO shows it: bytes without a system call, and their generation.
//!
//! `getrandom` in the vDSO (Linux 6.11) keeps an opaque state in squall's memory and refills it
//! when the kernel reseeds. Two facts about it are not part of the kernel's promised interface:
//! the generation's offset in the state, and the address of the kernel's current generation in the
//! vvar pages. Neither is trusted: an address is used only while its value equals the generation that
//! the vDSO itself recorded for the bytes it just gave, which is checked at every seeding. If no
//! address passes, each request asks the vDSO itself ([`Watch::Probe`]).

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::freshness::{self, FROZEN, mapped_generation};
use crate::failpoint::{self, Failpoint};

/// Room for the vDSO's opaque state: 144 bytes in Linux 6.11 to 6.18.
pub(crate) const STATE_LEN: usize = 144;

/// Offset of the generation in a state of 144 bytes: after a 96-byte batch and a 32-byte key.
const STATE_GENERATION_AT: usize = 128;

/// An opaque state of the vDSO's getrandom, all zero at first. It must not straddle a page and
/// must be wiped on fork.
pub(crate) type State = [u8; STATE_LEN];

type GetRandom = unsafe extern "C" fn(*mut u8, usize, u32, *mut u8, usize) -> isize;

/// The vDSO's getrandom, if the kernel has it with a state of the known size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vdso {
    getrandom: GetRandom,
    base: usize,
}

/// The vDSO's requirements for its state (include/uapi/linux/random.h).
#[repr(C)]
#[derive(Default)]
struct OpaqueParams {
    size_of_opaque_state: u32,
    mmap_prot: u32,
    mmap_flags: u32,
    reserved: [u32; 13],
}

/// The address of the vDSO, if there is one.
pub(super) fn base() -> Option<usize> {
    // SAFETY: getauxval has no preconditions.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    (base != 0).then_some(base)
}

impl Vdso {
    /// Finds the function and checks that its state has the known size.
    pub fn find() -> Option<Vdso> {
        let base = base()?;
        if cfg!(not(target_pointer_width = "64")) || failpoint::is_active(Failpoint::HideVdso) {
            return None;
        }
        let name = if super::elf::IS_VDSO_PREFIXED {
            c"__vdso_getrandom"
        } else {
            c"__kernel_getrandom"
        };
        // SAFETY: the kernel gave the address of the image it mapped.
        let address = unsafe { super::elf::symbol(base, name) }?;
        // SAFETY: the symbol is this function, by the kernel's interface.
        let getrandom = unsafe { core::mem::transmute::<usize, GetRandom>(address) };
        let mut params = OpaqueParams::default();
        // SAFETY: the documented query: no buffer, a state length of all ones, and room for the
        // parameters.
        let status = unsafe {
            getrandom(
                core::ptr::null_mut(),
                0,
                0,
                (&raw mut params).cast(),
                usize::MAX,
            )
        };
        let known = status == 0 && params.size_of_opaque_state as usize == STATE_LEN;
        known.then_some(Vdso { getrandom, base })
    }

    /// Fills `out`, at most 256 bytes, and returns the kernel generation the bytes belong to;
    /// `None` if the kernel refused or the RNG is not ready to be served from user space.
    ///
    /// # Safety
    /// `state` is this thread's own, within one page, zeroed at first and by any fork.
    pub unsafe fn fill(self, state: *mut State, out: &mut [u8]) -> Option<u64> {
        assert!(
            out.len() <= 256,
            "getrandom may return fewer bytes than asked for beyond 256"
        );
        // SAFETY: `out` is writable for its length; the caller vouches for the state.
        let got =
            unsafe { (self.getrandom)(out.as_mut_ptr(), out.len(), 0, state.cast(), STATE_LEN) };
        // SAFETY: the state is readable; the kernel may zero it at any moment, hence volatile.
        let generation = unsafe {
            state
                .cast::<u8>()
                .add(STATE_GENERATION_AT)
                .cast::<u64>()
                .read_volatile()
        };
        let generation = if failpoint::is_active(Failpoint::FreezeGeneration) {
            FROZEN
        } else {
            generation
        };
        // The generation counts up from 1 about once a minute. If a kernel laid the state out differently
        // at the same size, these would be bytes of a key.
        let is_plausible = generation != 0 && generation < 1 << 40;
        (got == out.len() as isize && is_plausible).then_some(generation)
    }

    /// Run-time addresses at which a kernel may keep its current generation.
    ///
    /// The vDSO's data pages are at fixed distances below it and exist in every kernel that has
    /// getrandom in the vDSO: at least four on x86-64, and two on aarch64.
    fn candidate_addresses(self) -> impl Iterator<Item = *const AtomicU64> {
        /// Pages below the vDSO, and the offset in the page.
        const CANDIDATES: &[(usize, usize)] = if cfg!(target_arch = "x86_64") {
            &[
                (4, 0),   // 6.15 on: a page of its own
                (4, 640), // 6.11 to 6.14
                (1, 640), // 6.11 and 6.12 in a time namespace
                (3, 640), // 6.13 and 6.14 in a time namespace
            ]
        } else if cfg!(target_arch = "aarch64") {
            &[
                (2, 0),   // 6.15 on: a page of its own
                (2, 480), // 6.12
                (1, 480), // 6.12 in a time namespace
            ]
        } else {
            &[]
        };
        let (base, page) = (self.base, super::memory::page_size());
        CANDIDATES
            .iter()
            .map(move |(below, offset)| (base - below * page + offset) as *const AtomicU64)
    }
}

/// How the kernel's generation is followed in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Watch {
    /// Not followed: before the first seeding, and where this kernel does not show it.
    Nothing = 0,
    /// By reading its address in the vDSO's data: one load.
    Mapped = 1,
    /// By asking the vDSO for a byte on each request.
    Probe = 2,
}

static WATCH: AtomicU8 = AtomicU8::new(Watch::Nothing as u8);

/// How the kernel's generation is followed.
pub(crate) fn watch() -> Watch {
    match WATCH.load(Ordering::Relaxed) {
        1 => Watch::Mapped,
        2 => Watch::Probe,
        _ => Watch::Nothing,
    }
}

fn decide(watch: Watch, place: Option<*const AtomicU64>) {
    freshness::set_generation_address(place);
    WATCH.store(watch as u8, Ordering::Relaxed);
}

/// Reads the generation at `place`, whatever it holds.
#[cfg(feature = "testing")]
pub fn watch_replacement(place: &'static AtomicU64) {
    decide(Watch::Mapped, Some(place));
}

/// Whether the watched address shows `seeded`, the generation recorded with the last seed. If no address
/// is watched yet, it looks for one that does.
pub(crate) fn confirm_address(vdso: Vdso, seeded: u64) -> bool {
    match watch() {
        Watch::Mapped => mapped_generation() == seeded,
        Watch::Nothing => {
            find_address(vdso, seeded);
            true
        }
        Watch::Probe => true,
    }
}

/// Looks for an address that shows `seeded`; if there is none, the vDSO is probed from then on.
pub(crate) fn find_address(vdso: Vdso, seeded: u64) {
    match vdso
        .candidate_addresses()
        .find(|&place| shows(place, seeded))
    {
        Some(place) if !failpoint::is_active(Failpoint::HideGenerationAddress) => {
            decide(Watch::Mapped, Some(place))
        }
        _ => decide(Watch::Probe, None),
    }
}

/// Whether `place` holds this generation, followed by the flag that the RNG is ready: a word of 1, with
/// nothing else in it.
fn shows(place: *const AtomicU64, generation: u64) -> bool {
    // SAFETY: only computes an address within the vDSO's data.
    let ready = unsafe { place.add(1) };
    if !is_readable(place.cast()) || !is_readable(ready.cast()) {
        return false;
    }
    // SAFETY: both words were found readable, and the vDSO's data stays mapped.
    let (found, ready) = unsafe {
        (
            (*place).load(Ordering::Relaxed),
            (*ready).load(Ordering::Relaxed),
        )
    };
    found == generation && ready == 1
}

/// Whether the 8 bytes at `address` can be read, tested without accessing them.
///
/// Some data pages raise SIGBUS when read. The kernel reads the new mask before it looks at
/// `how`, so an impossible `how` gives EINVAL for readable memory and EFAULT for the rest.
pub(super) fn is_readable(address: *const u8) -> bool {
    const IMPOSSIBLE_HOW: i32 = -1;
    const MASK_LEN: usize = 8;
    // SAFETY: the call can change nothing, whatever the address is.
    let status = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            IMPOSSIBLE_HOW,
            address,
            core::ptr::null_mut::<u8>(),
            MASK_LEN,
        )
    };
    status == -1 && crate::error::errno() == libc::EINVAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_read_is_found_without_a_fault() {
        let word = 5u64;
        assert!(is_readable((&raw const word).cast()));
        assert!(!is_readable(core::ptr::null()));
        assert!(!is_readable(core::ptr::dangling::<u8>()));
    }

    #[test]
    fn a_place_shows_a_generation_that_is_ready() {
        for (words, generation, expected) in [
            ([7, 1], 7, true),
            ([7, 0], 7, false),
            ([7, 2], 7, false),
            ([7, 1 << 32 | 1], 7, false),
            ([7, 1], 8, false),
        ] {
            let words: [u64; 2] = words;
            let place = words.as_ptr().cast();
            assert_eq!(shows(place, generation), expected, "{words:?}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_read_shows_nothing() {
        let page = super::super::memory::page_size();
        let (mine, none) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_NONE);
        // The word is the last of its page, and the flag the first of the next.
        for protections in [[mine, none], [none, mine]] {
            // SAFETY: a mapping of its own, of which only what can be accessed is.
            unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let pair = libc::mmap(core::ptr::null_mut(), 2 * page, mine, flags, -1, 0);
                assert_ne!(pair, libc::MAP_FAILED);
                let place: *mut u64 = pair.byte_add(page - size_of::<u64>()).cast();
                place.write(7);
                place.add(1).write(1);
                assert!(shows(place.cast(), 7), "it can be read");
                for (at, protection) in [0, page].into_iter().zip(protections) {
                    assert_eq!(libc::mprotect(pair.byte_add(at), page, protection), 0);
                }
                assert!(!shows(place.cast(), 7));
                libc::munmap(pair, 2 * page);
            }
        }
    }

    #[test]
    fn a_wrong_generation_is_shown_nowhere() {
        let Some(vdso) = Vdso::find() else {
            return assert!(!crate::status().has_vdso_getrandom);
        };
        let page = super::super::memory::map().unwrap();
        let mut out = [0; 16];
        // SAFETY: the page is zeroed, this thread's own, and no fork uses it.
        let generation = unsafe { vdso.fill(page.as_ptr().cast(), &mut out) }.unwrap();
        assert!(
            !vdso
                .candidate_addresses()
                .any(|place| shows(place, generation + 1_000_000))
        );
        super::super::memory::unmap(page);
    }
}
