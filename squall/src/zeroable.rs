//! Types that may live in memory that is zeroed at any moment.

/// A value that may be placed in guarded memory which threads share.
///
/// # Safety
/// Zeros are a valid value, and any part of it may become zero at any moment: it consists of
/// atomics, and of what has no bytes. It needs no drop.
pub(crate) unsafe trait Zeroable: Sync {}
