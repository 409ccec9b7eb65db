//! `squall wipe`: drives overwritten, many at once, verified, and reported on.
//!
//! `squall_drives` says what a name on the command line is, whether it may be overwritten, and
//! whether it is meant. Then each drive has a thread (`drive`), which writes (`write`) and verifies
//! (`verify`) through a queue of transfers, while the first thread shows how far they are (`show`). The
//! `journal` keeps what a power cut must not take: a `record` of each drive, which in the end is its
//! `report`.

#![deny(unsafe_code)]

pub mod args;
mod content;
mod drive;
mod event;
mod filesystem;
mod journal;
mod keys;
mod pace;
mod pipeline;
mod plan;
mod progress;
mod purge;
mod ranges;
mod record;
mod recorded_drive;
mod report;
mod reports;
mod rescue;
mod run;
mod sample;
mod show;
mod verify;
mod workers;
mod write;

pub use run::{verify, wipe};
