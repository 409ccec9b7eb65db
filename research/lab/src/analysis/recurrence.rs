//! Finds 64-bit words and whole outputs that were given more than once, and by which machines.

use std::collections::HashMap;
use std::hash::Hash;

use squall_probe::Output;

/// The machine that gave an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// The original machine, before the snapshot.
    Before,
    /// A clone or a boot, by its index.
    Machine(u32),
}

/// How often a repeated item was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recurrence {
    pub occurrences: usize,
    /// Number of different owners that gave it.
    pub owners: usize,
    /// Whether one of them is [`Owner::Before`].
    pub before: bool,
}

impl Recurrence {
    /// Whether several machines have it. All machines share what was given before the snapshot.
    pub fn is_shared(self) -> bool {
        self.owners > 1 || self.before
    }
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

    /// Whether any word of `output` was also given elsewhere.
    pub fn has_repeat(&self, output: &Output) -> bool {
        output.bits.iter().any(|word| self.words.contains_key(word))
    }

    /// Whether several machines have any word of `output`.
    pub fn has_shared_word(&self, output: &Output) -> bool {
        let mut recurrences = output.bits.iter().filter_map(|word| self.words.get(word));
        recurrences.any(|recurrence| recurrence.is_shared())
    }

    /// Whether several machines have the whole of `output`.
    pub fn is_shared(&self, output: &Output) -> bool {
        let recurrence = self.outputs.get(&output.bits);
        recurrence.is_some_and(|recurrence| recurrence.is_shared())
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
                owners: run.chunk_by(|(_, one), (_, other)| one == other).count(),
                before: run[0].1 == Owner::Before,
            };
            (run[0].0, recurrence)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_and_owners_are_counted() {
        let [zero, one] = [0, 1].map(Owner::Machine);
        let items = vec![(7, one), (8, zero), (7, zero), (9, Owner::Before), (7, one)];
        let of_seven = Recurrence {
            occurrences: 3,
            owners: 2,
            before: false,
        };
        assert_eq!(recurring(items), HashMap::from([(7, of_seven)]));
        assert!(of_seven.is_shared());
    }

    #[test]
    fn a_repeat_within_one_machine_is_not_shared() {
        let [zero, before] = [Owner::Machine(0), Owner::Before];
        let items = recurring(vec![(7, zero), (7, zero), (8, before), (8, before)]);
        assert!(!items[&7].is_shared() && items[&8].is_shared());
    }
}
