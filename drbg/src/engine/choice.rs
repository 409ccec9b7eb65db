//! The engines, and which of them this CPU can run.

use core::fmt;
use core::str::FromStr;

#[cfg(target_arch = "x86_64")]
use crate::cpuid::{self, Features};

/// A way to compute keystream on this CPU.
///
/// The AES engines give identical output (FIPS 197; SP 800-38A section 6.5, counter mode
/// with a 128-bit big-endian counter). [`Engine::ChaCha20`] is another cipher (RFC 8439).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Engine {
    /// AES by VAES instructions on 512-bit registers: 32 blocks in flight.
    Vaes512 = 1,
    /// AES by VAES instructions on 256-bit registers: 16 blocks in flight.
    Vaes256 = 2,
    /// AES by AES-NI instructions on 128-bit registers: 8 blocks in flight.
    AesNi = 3,
    /// AES by the `aes` crate, on any CPU. On a CPU with AES instructions, the engines above are preferred.
    Portable = 4,
    /// ChaCha20 on the widest vector unit: preferred where the CPU has no AES instructions.
    ChaCha20 = 5,
    /// AES by ARMv8's instructions: 12 blocks in flight.
    ArmAes = 6,
}

impl Engine {
    /// Every engine, the most preferred first.
    pub const ALL: [Engine; 6] = [
        Engine::Vaes512,
        Engine::Vaes256,
        Engine::AesNi,
        Engine::ArmAes,
        Engine::ChaCha20,
        Engine::Portable,
    ];

    /// The engines this CPU can run, the most preferred first.
    pub fn available() -> impl Iterator<Item = Engine> {
        Self::ALL.into_iter().filter(|engine| engine.is_available())
    }

    /// The generator's default engine: the widest with AES instructions, else [`Engine::ChaCha20`].
    pub fn best() -> Engine {
        Self::available()
            .next()
            .expect("ChaCha20 is always available")
    }

    /// The best AES engine of this CPU: the default of [`CtrDrbg`](crate::CtrDrbg).
    pub fn best_aes() -> Engine {
        Self::available()
            .find(|engine| engine.is_aes())
            .expect("portable AES is always available")
    }

    /// Whether this CPU can run the engine.
    pub fn is_available(self) -> bool {
        match self {
            Engine::Portable | Engine::ChaCha20 => true,
            #[cfg(target_arch = "aarch64")]
            Engine::ArmAes => super::aarch64::is_available(),
            #[cfg(target_arch = "x86_64")]
            engine => engine.features().is_some_and(cpuid::has),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Whether the engine computes AES.
    pub fn is_aes(self) -> bool {
        self != Engine::ChaCha20
    }

    /// The engine's name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Vaes512 => "vaes512",
            Engine::Vaes256 => "vaes256",
            Engine::AesNi => "aesni",
            Engine::ArmAes => "arm-aes",
            Engine::Portable => "portable",
            Engine::ChaCha20 => "chacha20",
        }
    }

    /// The CPU features that the engine's instructions need; `None` if it has none of this architecture.
    #[cfg(target_arch = "x86_64")]
    fn features(self) -> Option<Features> {
        let aes = Features::AES.and(Features::SSSE3);
        let vaes = aes.and(Features::VAES);
        match self {
            Engine::Vaes512 => Some(vaes.and(Features::AVX512F).and(Features::AVX512BW)),
            Engine::Vaes256 => Some(vaes.and(Features::AVX2)),
            Engine::AesNi => Some(aes),
            _ => None,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = UnknownEngine;

    /// Parses a name that [`Engine::name`] returns.
    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        Self::ALL
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or(UnknownEngine)
    }
}

/// The error for a name that no engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEngine;

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no engine has this name: there are ")?;
        write_names(f, Engine::ALL.into_iter())
    }
}

impl core::error::Error for UnknownEngine {}

/// Writes the engines' names, separated by commas.
pub(crate) fn write_names(
    f: &mut fmt::Formatter<'_>,
    engines: impl Iterator<Item = Engine>,
) -> fmt::Result {
    for (i, engine) in engines.enumerate() {
        write!(f, "{}{engine}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}
