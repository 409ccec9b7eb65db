//! Guarded memory that the threads of a process share, with the epoch of what it holds.
//!
//! A page like a thread's own: a fork may empty it, and the kernel may zero it at any moment.
//! Everything in it is atomic, so that neither is more than a value of zero. [`Place::claim`] and
//! [`Place::finish`] tell afterwards whether it stayed there in between.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::{Epoch, fork, memory};
use crate::guard::memory::MemoryKind;

/// What may live in a shared page.
///
/// # Safety
/// Zeros are a valid value, and any part of it may become zero at any moment: it consists of
/// atomics, and of what has no bytes. It needs no drop, and is at most [`Place::CAPACITY`] long.
pub(crate) unsafe trait Zeroable: Sync {}

/// A shared page: what it holds, and since when.
#[repr(C, align(64))]
pub(crate) struct Place<T> {
    /// [`EMPTY`], [`CLAIMED`] or [`READY`].
    state: AtomicU64,
    process: AtomicU64,
    kernel: AtomicU64,
    vm: AtomicU64,
    pub value: T,
}

const EMPTY: u64 = 0;
const CLAIMED: u64 = 1;
const READY: u64 = 2;

impl<T: Zeroable> Place<T> {
    /// Whether somebody has prepared the value, and it is still there.
    pub fn is_ready(&self) -> bool {
        self.state.load(Ordering::Acquire) == READY
            && self.process.load(Ordering::Relaxed) == process()
    }

    /// Begins to prepare the value; true for whoever has it to themselves for that.
    pub fn claim(&self) -> bool {
        let process = process();
        // Memory that a fork copies came with somebody else's value.
        if self.process.swap(process, Ordering::Relaxed) != process {
            self.state.store(EMPTY, Ordering::Relaxed);
        }
        self.exchange(EMPTY, CLAIMED)
    }

    /// Ends to prepare the value; false if it was lost meanwhile.
    pub fn finish(&self) -> bool {
        self.exchange(CLAIMED, READY)
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// The epoch that was last set: kernel's generation and VM's.
    pub fn epoch(&self) -> Epoch {
        Epoch {
            kernel: self.kernel.load(Ordering::Relaxed),
            vm: self.vm.load(Ordering::Relaxed),
            process: 0,
        }
    }

    /// Sets the epoch.
    pub fn set_epoch(&self, epoch: Epoch) {
        self.kernel.store(epoch.kernel, Ordering::Relaxed);
        self.vm.store(epoch.vm, Ordering::Relaxed);
    }
}

/// The process, where memory is not wiped on fork; and never 0.
fn process() -> u64 {
    match memory::kind() {
        MemoryKind::Plain => fork::process() + 1,
        _ => 1,
    }
}

/// A page that is mapped when it is first asked for, and stays for as long as the process lives.
pub(crate) struct SharedPage<T: 'static>(AtomicPtr<Place<T>>);

impl<T: Zeroable> SharedPage<T> {
    pub const fn new() -> Self {
        const { assert!(size_of::<Place<T>>() <= 4096) };
        SharedPage(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// The page, mapped if it was not; none if the system has no memory.
    pub fn map(&self) -> Option<&'static Place<T>> {
        if let Some(place) = self.get() {
            return Some(place);
        }
        let page = memory::map().ok()?;
        let published = self.0.compare_exchange(
            core::ptr::null_mut(),
            page.cast().as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if published.is_err() {
            memory::unmap(page);
        }
        self.get()
    }

    /// The page, if it was mapped.
    #[inline]
    pub fn get(&self) -> Option<&'static Place<T>> {
        // SAFETY: null, or a page that stays mapped and begins as zeros, which `Zeroable` says
        // are a value, shared by references only; it is aligned as pages are.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }
}
