//! `squall wipe` overwrites drives, many at once, verifies them, and writes reports.
//!
//! `squall_drives` identifies, checks and confirms the targets. Then each drive has a thread
//! (`drive`), which writes (`write`) and verifies (`verify`) through a queue of transfers, while
//! the first thread shows their progress (`show`). The `journal` survives power cuts. It holds a
//! `record` of each drive, which in the end becomes the drive's `report`.

#![deny(unsafe_code)]

pub mod args;
mod blank;
mod choice;
mod clocks;
mod content;
mod content_kind;
mod control;
mod drive;
mod event;
mod filesystem;
mod journal;
mod keyboard;
mod keys;
mod level;
mod machine;
mod open_target;
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
mod skip;
mod stall;
mod task;
mod thermometer;
mod verify;
mod workers;
mod write;

pub use blank::blank;
pub use run::{verify, wipe};

use squall_drives::{Purpose, shown};
use squall_tools::schema::{self, Schema};

/// Why targets are overwritten, for messages.
pub const PURPOSE: Purpose = Purpose {
    verb: "wipe",
    instead: |path| {
        let path = shown(path);
        format!(
            "let the drive do it itself, for example with `sg_sanitize --overwrite --zero \
             {path}`"
        )
    },
};

/// The names and the schemas of what this crate writes for programs.
pub fn schemas() -> [(&'static str, Schema); 3] {
    [
        ("blank", schema::derive::<blank::Answer>()),
        ("wipe-events", schema::derive::<show::json::Line>()),
        ("wipe-report", schema::derive::<record::Job>()),
    ]
}
