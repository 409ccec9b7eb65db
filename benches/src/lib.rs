//! What the Criterion benchmarks share. They are for who works on engines and generators; what a
//! machine's sources of randomness do is `squall bench`'s matter.

pub mod bench;
pub mod rustcrypto;
