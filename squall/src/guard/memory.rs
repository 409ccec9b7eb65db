//! Memory for a thread's state: one page, which a forked child finds empty.
//!
//! In order of preference: droppable memory (Linux 6.11: wiped on fork, never in swap or a core
//! dump, and the kernel may zero it **at any moment**); private memory with MADV_WIPEONFORK
//! (4.14), kept out of dumps and locked where the limit allows; plain private memory, where the
//! process is checked on every request instead. Whatever a kernel or a sandbox answers, the next kind is
//! tried.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use crate::backoff::Backoff;
use crate::error::errno;
use crate::failpoint::{self, Failpoint};

/// MAP_DROPPABLE of Linux 6.11, a mapping type of its own (include/uapi/linux/mman.h).
const MAP_DROPPABLE: i32 = 0x08;

/// The kind of memory that holds a thread's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// MAP_DROPPABLE: wiped on fork, never swapped, never dumped.
    Droppable,
    /// MADV_WIPEONFORK with MADV_DONTDUMP, locked into memory where the limit allows.
    WipeOnFork,
    /// Plain private memory with MADV_DONTDUMP: a fork is noticed by the process id.
    Plain,
    /// There is no page, because every kind was refused or the thread is ending: requests are served
    /// afresh.
    None,
}

impl MemoryKind {
    const PREFERRED: [MemoryKind; 3] = [
        MemoryKind::Droppable,
        MemoryKind::WipeOnFork,
        MemoryKind::Plain,
    ];

    fn map_flags(self) -> i32 {
        match self {
            MemoryKind::Droppable => MAP_DROPPABLE | libc::MAP_ANONYMOUS,
            _ => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        }
    }

    /// Whether a test refuses this kind.
    fn is_refused(self) -> bool {
        match self {
            MemoryKind::Droppable => {
                failpoint::is_active(Failpoint::RefuseDroppableMemory)
                    || failpoint::is_active(Failpoint::SkipForkGuard)
            }
            MemoryKind::WipeOnFork => failpoint::is_active(Failpoint::RefuseWipeOnFork),
            MemoryKind::Plain | MemoryKind::None => false,
        }
    }
}

/// The worst kind that this process uses, plus one; 0 before its first page.
static KIND: AtomicU8 = AtomicU8::new(0);

/// The kind of this process's pages: the best that each of them could be mapped as. Plain before the
/// first page.
pub(crate) fn kind() -> MemoryKind {
    match KIND.load(Ordering::Relaxed) {
        0 => MemoryKind::Plain,
        kind => MemoryKind::PREFERRED[usize::from(kind) - 1],
    }
}

/// Counts the pages that are not asked for, because every kind was refused.
static REFUSED: Backoff = Backoff::new();

/// The second page of the last pair, while it has no owner.
static SPARE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

/// Maps one zeroed page; the error is an `errno`. If every kind is refused, the next calls fail without
/// a system call.
///
/// Pages come in pairs, because the first thread of a process needs two, and a pair costs hardly
/// more than one. They are mapped with the flags of glibc's own (the vDSO's, Linux
/// lib/vdso/getrandom.c), which sandboxes have to allow: some refuse to have pages populated.
pub(crate) fn map() -> Result<NonNull<u8>, i32> {
    let page = map_unwritten()?;
    // If the first access only reads, the kernel maps its page of zeros, and the first write is another page
    // fault.
    // SAFETY: the page is mapped, and nobody else has it.
    unsafe { page.as_ptr().write_volatile(0) };
    Ok(page)
}

fn map_unwritten() -> Result<NonNull<u8>, i32> {
    if let Some(page) = swap_spare(None) {
        return Ok(page);
    }
    let pair = map_pair()?;
    let second = NonNull::new(pair.as_ptr().wrapping_add(page_size()));
    if let Some(page) = swap_spare(second) {
        unmap(page);
    }
    Ok(pair)
}

fn swap_spare(page: Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    let page = page.map_or(core::ptr::null_mut(), NonNull::as_ptr);
    NonNull::new(SPARE.swap(page, Ordering::AcqRel))
}

/// Maps two pages of the best kind that the kernel grants, but none better than the process's.
fn map_pair() -> Result<NonNull<u8>, i32> {
    if REFUSED.is_active() {
        REFUSED.count_skipped();
        return Err(libc::ENOMEM);
    }
    let known = KIND.load(Ordering::Relaxed).saturating_sub(1);
    let kinds = MemoryKind::PREFERRED.into_iter().zip(1..);
    let mut refusal = libc::ENOSYS;
    for (kind, number) in kinds
        .skip(known.into())
        .filter(|(kind, _)| !kind.is_refused())
    {
        match map_as(kind) {
            Ok(pair) => {
                publish_kind(number);
                return Ok(pair);
            }
            // The process may have no more mappings for now. A worse kind would stay for good.
            Err(libc::EAGAIN) if kind == MemoryKind::WipeOnFork => {
                refusal = libc::EAGAIN;
                break;
            }
            Err(error) => refusal = error,
        }
    }
    REFUSED.start();
    Err(refusal)
}

/// Makes the kind with this number the process's, unless that is a worse one. A page of a better kind stays
/// in use, and its process is then checked as well.
fn publish_kind(number: u8) {
    KIND.fetch_max(number, Ordering::Relaxed);
}

/// Size of a page, in bytes.
pub(crate) fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    match SIZE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: sysconf has no preconditions.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            SIZE.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}

/// Pages in a pair.
const PAIR: usize = 2;

fn map_as(kind: MemoryKind) -> Result<NonNull<u8>, i32> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing else.
    let pair = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            PAIR * page_size(),
            protection,
            kind.map_flags(),
            -1,
            0,
        )
    };
    if pair == libc::MAP_FAILED {
        return Err(errno());
    }
    let pair = NonNull::new(pair.cast()).expect("mmap does not return the null page");
    match kind {
        MemoryKind::Droppable => Ok(pair),
        MemoryKind::WipeOnFork
            if failpoint::is_active(Failpoint::SkipForkGuard)
                || failpoint::is_active(Failpoint::SkipWipeOnFork) =>
        {
            Ok(harden(pair))
        }
        MemoryKind::WipeOnFork => match advise(pair, libc::MADV_WIPEONFORK) {
            Ok(()) => Ok(harden(pair)),
            Err(error) => {
                unmap_all(pair, PAIR);
                Err(error)
            }
        },
        MemoryKind::Plain | MemoryKind::None => Ok(harden(pair)),
    }
}

/// Unmaps a page, which its owner has wiped.
pub(crate) fn unmap(page: NonNull<u8>) {
    unmap_all(page, 1);
}

fn unmap_all(page: NonNull<u8>, count: usize) {
    // SAFETY: the pages came from `map_as` or a device, and nobody else holds them.
    unsafe { libc::munmap(page.as_ptr().cast(), count * page_size()) };
}

/// Keeps a pair out of core dumps and, where the limit allows, out of swap. A forked child loses the
/// lock and does not take it again: it may draw in a sandbox that kills whoever calls mlock.
fn harden(pair: NonNull<u8>) -> NonNull<u8> {
    let _ = advise(pair, libc::MADV_DONTDUMP);
    // SAFETY: the pages are mapped; locking changes no contents.
    unsafe { libc::mlock(pair.as_ptr().cast(), PAIR * page_size()) };
    pair
}

/// madvise(2) for a pair, trusted only if it refuses unknown advice: some emulators accept
/// everything.
fn advise(pair: NonNull<u8>, advice: i32) -> Result<(), i32> {
    let madvise = |advice| {
        // SAFETY: the pages are mapped and ours; none of the advice used drops their contents.
        unsafe { libc::madvise(pair.as_ptr().cast(), PAIR * page_size(), advice) }
    };
    if madvise(-1) == 0 {
        return Err(libc::ENOSYS);
    }
    if madvise(advice) == 0 {
        Ok(())
    } else {
        Err(errno())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's flags of the memory at `address` (VmFlags of proc_pid_smaps(5)).
    fn flags_at(address: usize) -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("it can be read");
        let holds = |line: &&str| {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            let range =
                range.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16)));
            matches!(range, Some([Ok(from), Ok(to)]) if (from..to).contains(&address))
        };
        let flags = maps
            .lines()
            .skip_while(|line| !holds(line))
            .find_map(|line| line.strip_prefix("VmFlags:"))
            .expect("mapped memory has flags");
        flags.split_whitespace().map(str::to_owned).collect()
    }

    /// A pair of plain pages without any advice, to find out what the kernel allows.
    fn bare_pair() -> NonNull<u8> {
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let pair = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                2 * page_size(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(pair, libc::MAP_FAILED);
        NonNull::new(pair.cast()).unwrap()
    }

    /// Whether the kernel accepts this operation on a pair.
    fn kernel_accepts(what: impl FnOnce(*mut libc::c_void, usize) -> libc::c_int) -> bool {
        let pair = bare_pair();
        let status = what(pair.as_ptr().cast(), 2 * page_size());
        unmap_all(pair, PAIR);
        status == 0
    }

    /// Asserts that both pages of a pair of this kind have `flags`, and none of `others`.
    fn assert_flags(kind: MemoryKind, flags: &[&str], others: &[&str]) {
        let pair = map_as(kind).expect("the kernel has this kind");
        for page in 0..PAIR {
            let found = flags_at(pair.as_ptr() as usize + page * page_size());
            let has = |flag: &&str| found.iter().any(|found| found == flag);
            assert!(flags.iter().all(has), "{kind:?} has {found:?}");
            assert!(!others.iter().any(has), "{kind:?} has {found:?}");
        }
        unmap_all(pair, PAIR);
    }

    /// Whether other tests cannot use up how much memory may be locked.
    fn may_lock_much() -> bool {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is writable; geteuid has no preconditions.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit), 0);
            libc::geteuid() == 0 || limit.rlim_cur >= 1 << 20
        }
    }

    #[test]
    fn pages_are_what_their_kind_says() {
        // SAFETY: the pages are mapped, and hold nothing.
        let can_lock =
            may_lock_much() && kernel_accepts(|pair, len| unsafe { libc::mlock(pair, len) });
        // SAFETY: as above.
        let can_wipe =
            kernel_accepts(|pair, len| unsafe { libc::madvise(pair, len, libc::MADV_WIPEONFORK) });
        let mut flags = vec!["dd"];
        flags.extend(can_lock.then_some("lo"));
        assert_flags(MemoryKind::Plain, &flags, &["wf"]);
        if can_wipe {
            flags.push("wf");
            assert_flags(MemoryKind::WipeOnFork, &flags, &[]);
        } else {
            assert_ne!(kind(), MemoryKind::WipeOnFork);
        }
        match map_as(MemoryKind::Droppable) {
            Ok(pair) => {
                unmap_all(pair, PAIR);
                assert_flags(MemoryKind::Droppable, &["dp"], &[]);
            }
            Err(_) => assert_ne!(kind(), MemoryKind::Droppable),
        }
    }

    #[test]
    fn advice_is_given_or_refused() {
        let pair = bare_pair();
        assert_eq!(advise(pair, libc::MADV_DONTDUMP), Ok(()));
        assert_eq!(advise(pair, -2), Err(libc::EINVAL));
        unmap_all(pair, PAIR);
    }

    #[test]
    fn a_page_is_given_back_alone() {
        let pair = bare_pair();
        let second = pair.as_ptr().wrapping_add(page_size());
        // SAFETY: the second page is mapped, and stays so when the first is given back.
        unsafe {
            second.write_volatile(7);
            unmap(pair);
            assert_eq!(second.read_volatile(), 7);
        }
        unmap(NonNull::new(second).unwrap());
    }
}
