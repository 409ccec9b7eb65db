//! Keystreams whose expanded key stays in one place on the heap.

use core::alloc::Layout;
use core::fmt;

use squall_drbg::internal::{ExpandedKey, registers};
use squall_drbg::{Cipher, Engine, Stores};

use crate::error::Error;

/// `key` expanded for `engine` on the heap, where it never moves. The caller clears the registers.
///
/// # Errors
/// [`Error::EngineUnavailable`] if this CPU cannot run the engine or it is not AES;
/// [`Error::OutOfMemory`].
pub(crate) fn boxed<C: Cipher>(key: &C::Key, engine: Engine) -> Result<Box<ExpandedKey<C>>, Error> {
    let empty = ExpandedKey::for_engine(engine).map_err(|_| Error::EngineUnavailable(engine))?;
    // SAFETY: the layout has a size.
    let place = unsafe { std::alloc::alloc(Layout::new::<ExpandedKey<C>>()) };
    let place = place.cast::<ExpandedKey<C>>();
    if place.is_null() {
        return Err(Error::OutOfMemory);
    }
    // SAFETY: the place was just allocated, with the layout that the box will free it with, and
    // holds a value from the write on.
    let mut expanded = unsafe {
        place.write(empty);
        Box::from_raw(place)
    };
    expanded.set(key);
    Ok(expanded)
}

/// The keystream of AES in counter mode under one key, on one engine.
///
/// Block `i` is `AES(key, i)` with `i` a 128-bit big-endian counter that wraps at 2^128.
///
/// # Security
/// A building block: nothing prevents a caller from using the same blocks twice. The expanded key
/// stays in one place on the heap, even if the value is moved, and is wiped on drop. On x86-64 and aarch64
/// every function clears the vector registers before it returns.
pub struct Keystream<C: Cipher> {
    key: Box<ExpandedKey<C>>,
}

impl<C: Cipher> Keystream<C> {
    /// Expands `key` for `engine`.
    ///
    /// # Errors
    /// [`Error::EngineUnavailable`] if this CPU cannot run the engine or it is not AES;
    /// [`Error::OutOfMemory`].
    pub fn new(key: &C::Key, engine: Engine) -> Result<Self, Error> {
        let _clear = registers::clear_on_return();
        Ok(Keystream {
            key: boxed(key, engine)?,
        })
    }

    /// Writes the keystream that starts at block `counter` into `out`; the last block may be partial.
    pub fn fill(&self, counter: u128, out: &mut [u8], stores: Stores) {
        let _clear = registers::clear_on_return();
        self.key.keystream(counter, out, stores);
    }
}

impl<C: Cipher> fmt::Debug for Keystream<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keystream { .. }")
    }
}
