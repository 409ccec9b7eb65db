//! The report on a drive when its job is over: a record for programs, and a page for people.

mod advice;
mod page;
pub mod share;
#[cfg(test)]
mod tests;

use crate::record::{FORMAT, Job, Verification};

pub use advice::{Advice, flash_advice};
pub use page::html;

/// The report on the drive of this number: the job, with this drive alone.
pub fn record(job: &Job, drive: usize) -> Job {
    Job {
        format: FORMAT.into(),
        tool: job.tool.clone(),
        id: job.id.clone(),
        plan: job.plan,
        drives: vec![job.drives[drive].clone()],
    }
}

/// The number of bytes that could not be read.
pub fn unreadable_bytes(verification: &Verification) -> u64 {
    verification
        .unreadable
        .iter()
        .map(|extent| extent.length)
        .sum()
}
