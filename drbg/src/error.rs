//! The errors, each with its cause in one line.

use core::fmt;

use crate::engine::{Engine, write_names};

/// Why a request was refused. Nothing was written, and the state is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// This CPU cannot run the engine, or the engine does not compute the cipher asked for.
    EngineUnavailable(Engine),
    /// Without derivation function, entropy input has exactly `seedlen` bytes (SP 800-90A section 10.2.1.3.1).
    EntropyLength {
        /// Bytes required: 32 for AES-128, 48 for AES-256.
        required: usize,
        /// Bytes given.
        given: usize,
    },
    /// With derivation function, entropy input has at least as many bits as the security strength (SP 800-90A table 3).
    EntropyTooShort {
        /// Bytes required: 16 for AES-128, 32 for AES-256.
        required: usize,
        /// Bytes given.
        given: usize,
    },
    /// A personalization string or additional input is longer than `seedlen` bytes; with derivation function, all input
    /// of a call together has more than 2^32 − 1 bytes (SP 800-90A section 10.3.2).
    InputTooLong {
        /// Bytes allowed: 32 for AES-128, 48 for AES-256, 2^32 − 1 with derivation function.
        allowed: usize,
        /// Bytes given.
        given: usize,
    },
    /// More than 2^16 bytes were asked for in one request (SP 800-90A table 3).
    RequestTooLong {
        /// Bytes asked for.
        given: usize,
    },
    /// 2^48 requests were served since the last reseed (SP 800-90A table 3).
    ReseedRequired,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::EngineUnavailable(engine) if engine.is_available() => {
                write!(f, "engine {engine} does not compute AES: use one of ")?;
                write_names(f, Engine::available().filter(|engine| engine.is_aes()))
            }
            Error::EngineUnavailable(engine) => {
                write!(f, "this CPU cannot run engine {engine}: use one of ")?;
                write_names(f, Engine::available())
            }
            Error::EntropyLength { required, given } => {
                write!(
                    f,
                    "entropy input of {given} bytes: exactly {required} are required"
                )
            }
            Error::EntropyTooShort { required, given } => {
                write!(
                    f,
                    "entropy input of {given} bytes: at least {required} are required"
                )
            }
            Error::InputTooLong { allowed, given } => {
                write!(
                    f,
                    "input of {given} bytes is too long: at most {allowed} are allowed"
                )
            }
            Error::RequestTooLong { given } => {
                write!(f, "{given} bytes in one request: at most 65536 are allowed")
            }
            Error::ReseedRequired => {
                f.write_str("2^48 requests were served since the last reseed: reseed first")
            }
        }
    }
}

impl core::error::Error for Error {}
