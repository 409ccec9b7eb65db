//! What the fuzz targets share: the slow references of the library's own tests, and inputs that
//! are arbitrary but often at an edge.
//!
//! Run a target with `cargo +nightly fuzz run engine`, `drbg` or `stream` in the project's root.

#[path = "../../drbg/tests/common/drbg.rs"]
pub mod drbg;
#[path = "../../drbg/tests/common/guarded.rs"]
pub mod guarded;
#[path = "../../drbg/tests/common/requests.rs"]
pub mod requests;

use arbitrary::Arbitrary;
use squall_drbg::Engine;

/// The AES engines of this CPU.
pub fn aes_engines() -> impl Iterator<Item = Engine> {
    Engine::available().filter(|engine| engine.is_aes())
}

/// A number, often a little before or behind one where a counter of whole bytes carries.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    /// Any.
    Any(u128),
    /// 2^(8 * `bytes`) + `distance`.
    NearCarry {
        /// Taken modulo 17.
        bytes: u8,
        /// Blocks or bytes from the carry.
        distance: i16,
    },
}

impl Number {
    /// The number modulo 2^128.
    pub fn get(self) -> u128 {
        match self {
            Number::Any(number) => number,
            Number::NearCarry { bytes, distance } => 1u128
                .checked_shl(8 * u32::from(bytes % 17))
                .unwrap_or(0)
                .wrapping_add_signed(distance.into()),
        }
    }
}

/// A string of bytes, often just as long as is required.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Material {
    bytes: [u8; 64],
    /// At most 64; the required length otherwise.
    len: u8,
}

impl Material {
    /// The bytes, where `required` is a length to be met, or not exceeded.
    pub fn get(&self, required: usize) -> &[u8] {
        self.bytes
            .get(..usize::from(self.len))
            .unwrap_or(&self.bytes[..required])
    }

    /// The first 32 bytes.
    pub fn key(&self) -> [u8; 32] {
        self.bytes[..32].try_into().expect("64 bytes hold 32")
    }
}
