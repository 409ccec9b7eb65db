//! Variables of the standard library's `thread_local!`.

use super::ZeroAtStart;

macro_rules! per_thread {
    ($(#[$attribute:meta])* static $name:ident: $type:ty) => {
        thread_local! {
            $(#[$attribute])*
            static $name: $type = const { $crate::per_thread::zero() };
        }
    };
}
pub(crate) use per_thread;

pub(crate) const fn zero<T: ZeroAtStart>() -> T {
    // SAFETY: the trait's promise.
    unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
}
