//! The provider in OpenSSL: the real one that is installed here, by its command and by programs
//! in C (`tests/programs/`), and one that a program pretends to be.

mod artifacts;
mod configuration;
mod library;
mod processes;
mod world;
