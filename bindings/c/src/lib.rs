//! libsquall, for C and C++.
//!
//! Functions of the C ABI around the crate `squall`, each of them a few lines: pointers become
//! slices, errors become codes. `include/squall.h` is made of the documentation here and says what
//! callers have to know; a test compares the two, and the symbols with `symbols.txt`.
//!
//! No panic leaves a function: it ends the program, as Rust has it for `extern "C"`.

#![warn(missing_docs)]

mod buffer;
mod draw;
mod error;
mod start;
mod status;
mod stream;
