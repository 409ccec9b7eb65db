//! The machines of one experiment, and what was recorded when: boots, or clones of one snapshot.

use std::collections::BTreeSet;

use squall_trace::{Input, Output, Source};

use super::recurrence::Owner;
use crate::trace::{Counts, Name, Resets, Trace};

/// Machines. Boots are clones of nothing: no record is from before they ran.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    before: Counts,
    pub traces: &'a [Trace],
}

impl<'a> Runs<'a> {
    pub fn of_boots(traces: &'a [Trace]) -> Runs<'a> {
        let before = Counts::default();
        Runs { before, traces }
    }

    pub fn of_resets(resets: &'a Resets) -> Runs<'a> {
        Runs {
            before: resets.before.clone(),
            traces: &resets.clones,
        }
    }

    /// All generators of which there is a channel.
    pub fn sources(&self) -> BTreeSet<Source> {
        let names = self.traces.iter().flat_map(|trace| trace.outputs.keys());
        names.map(|&(source, _)| source).collect()
    }

    /// Every output of the sources that are `wanted`, those from before the snapshot once.
    pub fn given(
        &self,
        wanted: impl Fn(Source) -> bool + Copy,
    ) -> impl Iterator<Item = (Owner, &'a Output)> + Clone {
        let traces = self.traces;
        let first = traces.first().into_iter();
        let before = first.flat_map(move |trace| {
            let channels = self.channels(trace, wanted);
            channels.flat_map(|(before, _)| of(Owner::Before, before))
        });
        let after = traces.iter().zip(0..).flat_map(move |(trace, machine)| {
            let channels = self.channels(trace, wanted);
            channels.flat_map(move |(_, after)| of(Owner::Machine(machine), after))
        });
        before.chain(after)
    }

    /// The channels of the sources that are `wanted`, each cut where the snapshot was taken.
    pub fn channels(
        &self,
        trace: &'a Trace,
        wanted: impl Fn(Source) -> bool,
    ) -> impl Iterator<Item = (&'a [Output], &'a [Output])> + Clone {
        let cut = |(name, outputs): (&Name, &'a Vec<Output>)| {
            let before = self.before.outputs.get(name).copied().unwrap_or(0);
            outputs.split_at(before.min(outputs.len()))
        };
        let channels = trace.outputs.iter();
        let wanted = channels.filter(|&(&(source, _), _)| wanted(source));
        wanted.map(cut).collect::<Vec<_>>().into_iter()
    }

    /// Whirlwind's inputs, cut where the snapshot was taken.
    pub fn inputs(&self, trace: &'a Trace) -> (&'a [Input], &'a [Input]) {
        trace
            .inputs
            .split_at(self.before.inputs.min(trace.inputs.len()))
    }

    /// Since when a machine runs, in cycles: the latest moment in a record from before the
    /// snapshot, since the counter goes on from where it stopped. The resume was not earlier, so
    /// times since then come out too long and never too short. For a boot 0, from where the
    /// counter starts.
    pub fn start(&self, trace: &'a Trace) -> u64 {
        let outputs = self.before(trace).map(|output| output.given_at);
        let inputs = self.inputs(trace).0.iter().map(|input| input.cycles);
        outputs.chain(inputs).max().unwrap_or(0)
    }

    fn before(&self, trace: &'a Trace) -> impl Iterator<Item = &'a Output> {
        self.channels(trace, |_| true)
            .flat_map(|(before, _)| before)
    }
}

fn of(owner: Owner, outputs: &[Output]) -> impl Iterator<Item = (Owner, &Output)> + Clone {
    outputs.iter().map(move |output| (owner, output))
}
