//! Experiments that take new processes: the first bytes of one, forks, and blocks through a pipe.

pub(crate) mod first_bytes;
pub(crate) mod forks;
pub mod pipe;

use squall_tools::measure::contest::Contestant;

use crate::child::{Child, Work};
use crate::measure::single;
use crate::remote::{TIMEOUT, number_of};

/// Nanoseconds by each of `sources`, of draws of `bytes`: the first of a new process
/// ([`Work::FirstBytes`]), or a fork whose child makes one ([`Work::Forks`]).
pub fn contestants(work: Work, sources: &[&str], bytes: usize) -> Vec<Contestant<'static>> {
    let contestant = |source: &&str| {
        let child = Child::new(work, source, bytes);
        single(source, move || number_of(child.command(), TIMEOUT))
    };
    sources.iter().map(contestant).collect()
}
