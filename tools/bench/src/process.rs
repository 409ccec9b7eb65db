//! Experiments that take new processes: the first bytes of one, forks, and blocks through a pipe.
//!
//! This program is its own child: run as `squall bench` with an environment variable, it does one of
//! these things and ends. A program that measures asks [`this_process`] first, and calls [`serve`]
//! if it is one.

mod child;
mod first_bytes;
mod forks;
pub mod pipe;
mod repeats;

pub use child::{Child, Experiment, NOTHING, PROGRAM, this_process};
pub use repeats::repeats_in_child;

use squall_tools::measure::contest::Contestant;
use squall_tools::{Failure, output};

use crate::measure::single;

/// Fills a buffer from a source.
pub type Fill = Box<dyn FnMut(&mut [u8])>;

/// Finds a source by its name. What is loaded or opened here is not measured; what a program must
/// do before it can draw (open a device, initialise a library) belongs in the first call.
pub type Lookup = fn(&str) -> Option<Fill>;

/// Nanoseconds by each of `sources`, of draws of `bytes`: the first of a new process
/// ([`Experiment::FirstBytes`]), or a fork whose child makes one ([`Experiment::Forks`]).
pub fn contestants(
    experiment: Experiment,
    sources: &[&str],
    bytes: usize,
) -> Vec<Contestant<'static>> {
    let contestant = |source: &&str| {
        let child = Child {
            experiment,
            source: (*source).to_owned(),
            bytes,
        };
        single(source, move || child.measure())
    };
    sources.iter().map(contestant).collect()
}

/// Does what `child` is to do, with a source of `lookup`.
///
/// # Errors
/// There is no such source, it did nothing, or the process could not do its work.
pub fn serve(child: &Child, lookup: Lookup) -> Result<(), Failure> {
    let Child { source, bytes, .. } = child;
    let mut draw: Fill = if source == NOTHING {
        Box::new(|_| ())
    } else {
        lookup(source).ok_or_else(|| Failure::Runtime(format!("{source} is not installed")))?
    };
    let nanoseconds = match child.experiment {
        Experiment::FirstBytes => first_bytes::time(source, *bytes, &mut draw)?,
        Experiment::Forks => forks::time(*bytes, &mut draw)?,
        Experiment::Pipe => return pipe::write_blocks(*bytes, &mut draw),
    };
    output::print(&format!("{nanoseconds}\n"))
}
