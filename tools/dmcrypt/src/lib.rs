//! `squall dmcrypt`: which disk encryption this kernel supports, which of it is secure, and which is
//! fast on this machine. [`measure`] compares devices of any kind.

#![deny(unsafe_code)]

pub mod args;
mod backing;
mod bench;
mod candidates;
mod choice;
mod list;
mod mapper;
pub mod measure;
mod model;
mod ram;
mod rank;
mod recommend;
mod report;
mod rules;
mod session;
mod spec;
mod tables;

use squall_tool_base::Failure;
use squall_tool_base::schema::{self, Schema};

use args::{DmcryptArguments, DmcryptCommand};
use model::{Bench, List};

/// Runs the subcommand in `arguments`.
pub fn run(arguments: &DmcryptArguments) -> Result<(), Failure> {
    match &arguments.command {
        DmcryptCommand::List(options) => list::list(options),
        DmcryptCommand::Bench(options) => bench::bench(options),
    }
}

/// The names and the schemas of the reports.
pub fn schemas() -> [(&'static str, Schema); 2] {
    [
        ("dmcrypt-bench", schema::derive::<Bench>()),
        ("dmcrypt-list", schema::derive::<List>()),
    ]
}
