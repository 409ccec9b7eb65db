//! libsquall, for C and C++.
//!
//! A thin C ABI around the crate `squall`: pointers become slices, and errors become codes.
//! `include/squall.h` is generated from the documentation here, which says what callers must know. A
//! test compares the two, and the symbols with `symbols.txt`.
//!
//! A panic never leaves a function: it aborts the program, as Rust defines for `extern "C"`.

#![warn(missing_docs)]

mod buffer;
mod clones;
mod draw;
mod error;
mod start;
mod status;
mod stream;
