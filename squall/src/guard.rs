//! Decides whether state may still be used, and where it may live.
//!
//! The layer uses the operating system and no cryptography. It provides memory that a fork or the
//! kernel wipes ([`memory`]), and an [`Epoch`]: three numbers, one of which changes when state
//! that was seeded under it must not be used again. Epochs are compared for inequality only.

pub(crate) mod clock;
pub(crate) mod clone_signal;
mod elf;
pub(crate) mod errno;
pub(crate) mod fork;
pub(crate) mod freshness;
pub(crate) mod kvm_clock;
pub(crate) mod lock;
pub(crate) mod memory;
pub(crate) mod page;
pub(crate) mod policy;
pub(crate) mod process_start;
pub(crate) mod shared;
mod signal_address;
pub(crate) mod thread;
pub(crate) mod thread_line;
pub(crate) mod tick;
pub(crate) mod vdso;
mod vmgenid;

/// What must be unchanged for state to be usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Epoch {
    /// The kernel RNG's generation; [`Epoch::NO_GENERATION`] where it cannot be seen, never 0.
    pub kernel: u64,
    /// The value of the [signal of clones](clone_signal); 0 where there is none.
    pub vm: u64,
    /// The process: see [`fork::mark`].
    pub process: u64,
}

impl Epoch {
    /// Stands for the kernel's generation where it cannot be seen.
    pub const NO_GENERATION: u64 = u64::MAX - 1;
}
