//! `squall wipe` overwrites drives, many at once, verifies them, and writes reports.
//!
//! `squall_drives` identifies, checks and confirms the targets. Then each drive has a thread
//! (`drive`), which writes and verifies (`pass`) through a queue of transfers, while
//! the first thread shows their progress (`show`). The `journal` survives power cuts. It holds a
//! `record` of each drive, which in the end becomes the drive's `report`.

#![deny(unsafe_code)]

pub mod args;
mod arrivals;
mod blank;
mod choice;
mod content;
mod drive;
mod journal;
mod keyboard;
mod keys;
mod machine;
mod pass;
mod pipeline;
mod plan;
mod progress;
mod purge;
mod ranges;
mod recognise;
mod record;
mod report;
mod rescue;
mod resources;
mod run;
mod sample;
mod show;
mod task;
mod text;
mod threads;
mod words;
mod workers;

pub use blank::blank;
pub use run::{check, verify, wipe};

use squall_drives::{Purpose, shown};
use squall_tool_base::schema::{self, Schema};

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
