//! The machines of one experiment, either boots or clones of one snapshot, and their records.

use std::collections::BTreeSet;

use squall_probe::{Input, Output, Source};

use crate::vm::{Counts, Name, Resets, Trace};

/// The machine that gave an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// The original machine, before the snapshot.
    Before,
    /// A clone or a boot, by its index.
    Machine(u32),
}

/// Machines. Boots have no records from before a snapshot.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    /// Records from before the snapshot.
    before: Counts,
    /// Channels with a request in progress when the snapshot was taken, which is their next record.
    under_way: BTreeSet<Name>,
    pub traces: &'a [Trace],
}

impl<'a> Runs<'a> {
    pub fn of_boots(traces: &'a [Trace]) -> Runs<'a> {
        Runs {
            before: Counts::default(),
            under_way: BTreeSet::new(),
            traces,
        }
    }

    /// A request that began before the snapshot counts as made before it, even if it was recorded after
    /// the resume. It is the first new record of its channel and began at the same cycle in every
    /// clone.
    pub fn of_resets(resets: &'a Resets) -> Runs<'a> {
        let traces = &resets.clones;
        let is_under_way = |(&name, &count): (&Name, &usize)| {
            let mut asked = traces.iter().map(|trace| {
                let outputs = trace.outputs.get(&name)?;
                Some(outputs.get(count)?.asked_at)
            });
            let first = asked.next()??;
            asked.all(|asked| asked == Some(first)).then_some(name)
        };
        Runs {
            before: resets.before.clone(),
            under_way: resets
                .before
                .outputs
                .iter()
                .filter_map(is_under_way)
                .collect(),
            traces,
        }
    }

    /// How many of a source's channels had a request in progress when the snapshot was taken.
    pub fn under_way(&self, source: Source) -> usize {
        let names = self.under_way.iter();
        names.filter(|&&(other, _)| other == source).count()
    }

    /// Whether all machines have the same records from before the snapshot, as clones must.
    pub fn are_clones(&self) -> bool {
        let before = |trace: &'a Trace| {
            let outputs = self.before.outputs.iter().map(|(name, &count)| {
                let outputs = trace.outputs.get(name)?;
                outputs.get(..count)
            });
            let outputs: Option<Vec<_>> = outputs.collect();
            Some((outputs?, trace.inputs.get(..self.before.inputs)?))
        };
        let mut machines = self.traces.iter().map(before);
        let first = machines.next().flatten();
        first.is_none_or(|first| machines.all(|other| other.as_ref() == Some(&first)))
    }

    /// The fewest records that any machine has of a source after the snapshot, all instances together.
    pub fn fewest(&self, source: Source) -> usize {
        let own = |trace| {
            let channels = self.channels(trace, |other| other == source);
            channels.map(|(_, after)| after.len()).sum()
        };
        self.traces.iter().map(own).min().unwrap_or(0)
    }

    /// All generators that have a channel.
    pub fn sources(&self) -> BTreeSet<Source> {
        let names = self.traces.iter().flat_map(|trace| trace.outputs.keys());
        names.map(|&(source, _)| source).collect()
    }

    /// Every output of the `wanted` sources. Those from before the snapshot appear once.
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

    /// The channels of the `wanted` sources, each split at the snapshot.
    pub fn channels(
        &self,
        trace: &'a Trace,
        wanted: impl Fn(Source) -> bool,
    ) -> impl Iterator<Item = (&'a [Output], &'a [Output])> + Clone {
        let cut = |(name, outputs): (&Name, &'a Vec<Output>)| {
            let under_way = usize::from(self.under_way.contains(name));
            let before = self
                .before
                .outputs
                .get(name)
                .map_or(0, |count| count + under_way);
            outputs.split_at(before.min(outputs.len()))
        };
        let channels = trace.outputs.iter();
        let wanted = channels.filter(|&(&(source, _), _)| wanted(source));
        wanted.map(cut).collect::<Vec<_>>().into_iter()
    }

    /// Whirlwind's inputs, split at the snapshot.
    pub fn inputs(&self, trace: &'a Trace) -> (&'a [Input], &'a [Input]) {
        trace
            .inputs
            .split_at(self.before.inputs.min(trace.inputs.len()))
    }

    /// When a machine began to run, in cycles. For a clone this is the latest moment in a record from
    /// before the snapshot, because the counter goes on from where it stopped. The resume was not
    /// earlier, so times since then come out too long, never too short. For a boot it is 0, where the
    /// counter starts.
    pub fn start(&self, trace: &'a Trace) -> u64 {
        let given = |(name, &count): (&Name, &usize)| {
            let outputs = trace.outputs.get(name)?;
            let last = outputs.get(..count)?.last()?;
            Some(last.given_at)
        };
        let outputs = self.before.outputs.iter().filter_map(given);
        let inputs = self.inputs(trace).0.iter().map(|input| input.cycles);
        outputs.chain(inputs).max().unwrap_or(0)
    }
}

fn of(owner: Owner, outputs: &[Output]) -> impl Iterator<Item = (Owner, &Output)> + Clone {
    outputs.iter().map(move |output| (owner, output))
}
