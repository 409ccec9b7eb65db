//! Types that may live in memory that is zeroed at any moment.

/// A value that may be placed in guarded memory which threads share.
///
/// # Safety
/// Zeros are a valid value, and any part of the value may become zero at any moment: the type consists
/// of atomics and of types without bytes. It needs no drop.
pub(crate) unsafe trait Zeroable: Sync {}
