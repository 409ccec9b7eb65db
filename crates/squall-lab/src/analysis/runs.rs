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

    /// A request that was asked for before the snapshot counts as made before it, even if it was
    /// recorded after the resume: it is the first record of its channel, and was asked for at the
    /// same cycle in every clone.
    pub fn of_resets(resets: &'a Resets) -> Runs<'a> {
        let mut before = resets.before.clone();
        let traces = &resets.clones;
        for (name, count) in &mut before.outputs {
            let mut asked = traces.iter().map(|trace| {
                let outputs = trace.outputs.get(name)?;
                Some(outputs.get(*count)?.asked_at)
            });
            if let Some(Some(first)) = asked.next()
                && asked.all(|asked| asked == Some(first))
            {
                *count += 1;
            }
        }
        Runs { before, traces }
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

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn a_request_under_way_at_the_snapshot_is_not_the_clones() {
        let name = (Source::Squall, 0);
        let records = |first, rest: [u64; 2]| {
            let mut outputs: Vec<_> = (0..)
                .map(|tick| synthetic::output(tick, 1, [tick; 8]))
                .take(4)
                .collect();
            outputs[1].asked_at = first;
            outputs[2].asked_at = rest[0];
            outputs[3].asked_at = rest[1];
            outputs
        };
        let own = |clones: &[Vec<Output>]| {
            let mut resets = synthetic::clones(name, 1, &[]);
            resets.clones = clones
                .iter()
                .map(|outputs| synthetic::channel(name, outputs.clone()))
                .collect();
            let runs = Runs::of_resets(&resets);
            runs.channels(&resets.clones[0], |_| true)
                .next()
                .expect("a channel")
                .1
                .len()
        };
        assert_eq!(own(&[records(7, [20, 30]), records(7, [20, 31])]), 2);
        assert_eq!(own(&[records(7, [20, 30]), records(8, [20, 30])]), 3);
    }
}
