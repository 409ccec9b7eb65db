//! Analyses the records of many machines: which outputs repeated, how long clones shared state, and how
//! much entropy an accumulator's inputs had.
//!
//! Traces are combined into an [`Experiment`], which gives a [`Verdict`] and tables.

mod alpha;
mod markdown;
mod repeats;
mod report;
mod runs;
#[cfg(test)]
mod synthetic;
mod uncertainty;
mod window;

pub use alpha::Alpha;
pub use markdown::markdown;
pub use repeats::Repeats;
pub use report::{Campaign, Experiment, Kind, Setup, SourceReport, Validity, Verdict};
pub use uncertainty::{Bootstrap, OutputTime, OutputUncertainty, Uncertainty};
pub use window::{Summary, Window};
