//! What the records of many machines say: which outputs were repeated, for how long clones of a
//! machine had state in common, and how much of what an accumulator took nobody can know.
//!
//! [`Experiment`] is made of traces. From it come a [`Verdict`], tables and plots.

mod alpha;
mod markdown;
mod plot;
mod recurrence;
mod repeats;
mod report;
mod runs;
mod seeds;
mod summary;
#[cfg(test)]
mod synthetic;
mod uncertainty;
mod uniformity;
mod verdict;
mod window;

pub use alpha::Alpha;
pub use markdown::markdown;
pub use plot::{plot_uncertainty, plot_window};
pub use repeats::Repeats;
pub use report::{Campaign, Experiment, Kind, Setup, SourceReport};
pub use summary::Summary;
pub use uncertainty::{Bootstrap, Moment, OutputUncertainty, Uncertainty};
pub use verdict::{Validity, Verdict};
pub use window::Window;
