//! `squall bench`: every source of randomness on this machine, side by side.
//!
//! [`sources`] has a file for each family of sources, `workloads` has the experiments,
//! [`squall_tool_base::measure::contest`] takes the sources in turns, and [`report`] shows what came of it.

pub mod args;
mod candidates;
pub mod child;
pub mod go;
mod machine;
pub mod remote;
pub mod report;
mod run;
mod session;
pub mod sources;
mod workloads;

pub use machine::View;
pub use run::{run, work};
pub use workloads::processes;

use report::model::Report;
use squall_tool_base::schema::{self, Schema};

/// The name and the schema of the report.
pub fn schemas() -> [(&'static str, Schema); 1] {
    [("bench", schema::derive::<Report>())]
}
