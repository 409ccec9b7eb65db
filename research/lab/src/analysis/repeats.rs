//! Counts how many of the generators' outputs are repeats of earlier ones.
//!
//! A repeat counts whether two machines or only one gave it. Outputs from before the snapshot are
//! counted once, not once for each clone; giving one of them again is a repeat.

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;
use squall_probe::{Output, Source};

use super::runs::{Owner, Runs};

/// Repeats in an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// Outputs of 512 bits that were compared.
    pub outputs: usize,
    /// Outputs that equal an earlier one. Of n equal outputs, n - 1 count.
    pub repeated_outputs: usize,
    /// Words of 64 bits that equal an earlier one, in the same or any other output.
    pub repeated_words: usize,
    /// Machines that, after the snapshot, gave a word that another machine has too. Every clone has the
    /// words from before the snapshot.
    pub machines_with_repeats: usize,
}

impl Repeats {
    /// The repeats among all `wanted` sources together.
    pub(super) fn of(
        runs: &Runs,
        wanted: impl Fn(Source) -> bool + Copy,
        recurrences: &Recurrences,
    ) -> Repeats {
        let Recurrences { words, outputs } = recurrences;
        let machine_repeats = |trace| {
            let mut channels = runs.channels(trace, wanted);
            channels.any(|(_, after)| after.iter().any(|o| recurrences.has_shared_word(o)))
        };
        Repeats {
            outputs: runs.given(wanted).count(),
            repeated_outputs: outputs.values().map(|o| o.occurrences - 1).sum(),
            repeated_words: words.values().map(|w| w.occurrences - 1).sum(),
            machines_with_repeats: runs.traces.iter().filter(|t| machine_repeats(t)).count(),
        }
    }

    /// Whether anything repeated.
    pub fn any(&self) -> bool {
        self.repeated_words > 0
    }
}

/// How often a repeated item was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recurrence {
    pub occurrences: usize,
    /// Whether several machines have it. All machines share what was given before the snapshot.
    pub is_shared: bool,
}

/// All repeated words and outputs of a set of outputs.
#[derive(Debug)]
pub(super) struct Recurrences {
    pub words: HashMap<u64, Recurrence>,
    pub outputs: HashMap<[u64; 8], Recurrence>,
}

impl Recurrences {
    pub fn of<'a>(given: impl Iterator<Item = (Owner, &'a Output)> + Clone) -> Recurrences {
        let words = given.clone().flat_map(|(owner, output)| {
            let words = output.bits.iter();
            words.map(move |&word| (word, owner))
        });
        let words = recurring(words.collect());
        let suspects = given.filter(|(_, output)| words.contains_key(&output.bits[0]));
        let outputs = recurring(
            suspects
                .map(|(owner, output)| (output.bits, owner))
                .collect(),
        );
        Recurrences { words, outputs }
    }

    /// Whether several machines have any word of `output`.
    pub fn has_shared_word(&self, output: &Output) -> bool {
        let mut recurrences = output.bits.iter().filter_map(|word| self.words.get(word));
        recurrences.any(|recurrence| recurrence.is_shared)
    }
}

/// The items that occur more than once. They are sorted, because millions of words take much less
/// memory this way than in a map.
fn recurring<T: Copy + Ord + Hash>(mut items: Vec<(T, Owner)>) -> HashMap<T, Recurrence> {
    items.sort_unstable();
    let runs = items.chunk_by(|(one, _), (other, _)| one == other);
    runs.filter(|run| run.len() > 1)
        .map(|run| {
            let recurrence = Recurrence {
                occurrences: run.len(),
                is_shared: run[0].1 == Owner::Before || run[0].1 != run[run.len() - 1].1,
            };
            (run[0].0, recurrence)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Random, clones, output};
    use super::*;

    const NAME: (Source, u64) = (Source::Squall, 0);

    /// Two outputs from before the snapshot, then the outputs of two clones in `after`.
    fn of(after: [Vec<[u64; 8]>; 2], before: [[u64; 8]; 2]) -> Repeats {
        let traces = after.map(|after| {
            let bits = before.into_iter().chain(after);
            let outputs = (0..).zip(bits).map(|(tick, bits)| output(tick, 0, bits));
            outputs.collect::<Vec<_>>()
        });
        let resets = clones(NAME, 2, &traces);
        let runs = Runs::of_resets(&resets);
        let recurrences = Recurrences::of(runs.given(|_| true));
        Repeats::of(&runs, |_| true, &recurrences)
    }

    #[test]
    fn outputs_before_the_snapshot_count_once() {
        let mut random = Random::new(9);
        let mut bits = || random.bits();
        let repeats = of([vec![bits(), bits()], vec![bits()]], [bits(), bits()]);
        let nothing = Repeats {
            outputs: 5,
            ..Repeats::default()
        };
        assert_eq!(repeats, nothing);
    }

    #[test]
    fn equal_outputs_of_two_clones_are_repeats() {
        let mut random = Random::new(10);
        let mut bits = || random.bits();
        let same = bits();
        let repeats = of([vec![same, bits()], vec![same]], [bits(), bits()]);
        assert_eq!((repeats.repeated_outputs, repeats.repeated_words), (1, 8));
        assert_eq!(repeats.machines_with_repeats, 2);
    }

    #[test]
    fn repeats_within_a_clone_and_of_earlier_outputs_count() {
        let mut random = Random::new(11);
        let mut bits = || random.bits();
        let (old, own) = (bits(), bits());
        let itself = of([vec![own, own], vec![bits()]], [old, bits()]);
        assert_eq!((itself.repeated_outputs, itself.repeated_words), (1, 8));
        assert_eq!(itself.machines_with_repeats, 0);
        let before = of([vec![bits(), old], vec![bits()]], [old, bits()]);
        assert_eq!((before.repeated_outputs, before.repeated_words), (1, 8));
        assert_eq!(before.machines_with_repeats, 1);
    }

    #[test]
    fn single_repeated_words_count() {
        let mut random = Random::new(12);
        let mut bits = || random.bits();
        let (one, mut other, mut doubled) = (bits(), bits(), bits());
        other[7] = one[0];
        doubled[2] = doubled[1];
        let repeats = of([vec![one, doubled], vec![other]], [bits(), bits()]);
        assert_eq!((repeats.repeated_outputs, repeats.repeated_words), (0, 2));
        assert_eq!(repeats.machines_with_repeats, 2);
        assert!(repeats.any());
    }
}
