//! The report on a drive when its job is over: a record for programs, and a page for people.

mod advice;
mod page;
pub mod share;
#[cfg(test)]
mod tests;

use crate::record::{FORMAT, Job};

pub use advice::{Advice, flash_advice};
pub use page::html;
pub use page::job::html as job_html;

/// The report on the drive of this number: the job, with this drive alone.
pub fn record(job: &Job, drive: usize) -> Job {
    Job {
        drives: vec![job.drives[drive].clone()],
        ..whole(job)
    }
}

/// The report on all drives of a job.
pub fn whole(job: &Job) -> Job {
    Job {
        format: FORMAT.into(),
        ..job.clone()
    }
}
