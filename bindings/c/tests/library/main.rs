//! libsquall as C and C++ programs have it: installed, found by pkg-config, and run.
//!
//! What cannot run is printed as SKIP. Programs are in `tests/c` and `examples`.

mod compile;
mod counted;
mod examples;
mod fork;
mod functions;
mod header;
mod installed;
mod prepared;
mod sandbox;
mod streams;
mod unloaded;
