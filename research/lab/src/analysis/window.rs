//! The window after a reset, in which clones still share state.

use serde::Serialize;
use squall_probe::{Output, Source};

use super::repeats::Recurrences;
use super::runs::Runs;
use crate::vm::Trace;

/// The window of one source, over all clones.
///
/// An output is new if no other clone has a word of it, nor had the machine before the snapshot.
/// Where a source has several instances, a clone's requests are those of all of them, and its
/// times those of the last one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Requests before the first new output, or all requests if there was none.
    pub requests: Summary<usize>,
    /// Microseconds from the resume to the first new output; None if no clone had one. The resume is
    /// taken to be the latest record from before the snapshot, so this is an upper bound.
    pub us_to_new_state: Option<Summary<f64>>,
    /// Clones without a new output in the recording.
    pub clones_without_new_state: usize,
    /// Microseconds from the resume to the first record with another generation, of the kernel or of
    /// vmclock, than the source's last record before it.
    pub us_to_notice: Option<Summary<f64>>,
    /// Clones without such a record.
    pub clones_without_notice: usize,
}

impl Window {
    /// The window of `source`. None if there are no clones.
    pub(super) fn of(runs: &Runs, source: Source, recurrences: &Recurrences) -> Option<Window> {
        let clones = runs.traces.iter().enumerate();
        let clones: Vec<_> = clones
            .map(|(number, trace)| {
                let reach = reach(runs, source, number);
                CloneWindow::of(runs, trace, source, &reach, recurrences)
            })
            .collect();
        let never = |of: fn(&CloneWindow) -> Option<f64>| {
            let times: Vec<_> = clones.iter().filter_map(of).collect();
            (clones.len() - times.len(), Summary::of(times))
        };
        let (clones_without_new_state, us_to_new_state) = never(|clone| clone.us_to_new_state);
        let (clones_without_notice, us_to_notice) = never(|clone| clone.us_to_notice);
        Some(Window {
            requests: Summary::of(clones.iter().map(|clone| clone.requests).collect())?,
            us_to_new_state,
            clones_without_new_state,
            us_to_notice,
            clones_without_notice,
        })
    }
}

/// The length up to which each channel of clone `number` can be compared, which is the longest
/// recording of any other clone. Later records are in no other clone, whether they are new or not.
fn reach(runs: &Runs, source: Source, number: usize) -> Vec<usize> {
    let others = runs.traces.iter().enumerate();
    let others = others.filter(|(other, _)| *other != number);
    let lengths = others.map(|(_, trace)| {
        let channels = runs.channels(trace, |other| other == source);
        channels
            .map(|(_, outputs)| outputs.len())
            .collect::<Vec<_>>()
    });
    let longer = |one: Vec<usize>, other: Vec<usize>| {
        let pairs = one.into_iter().zip(other);
        pairs.map(|(one, other)| one.max(other)).collect()
    };
    lengths.reduce(longer).unwrap_or_default()
}

/// The window in one clone.
#[derive(Default)]
struct CloneWindow {
    requests: usize,
    us_to_new_state: Option<f64>,
    us_to_notice: Option<f64>,
}

impl CloneWindow {
    fn of(
        runs: &Runs,
        trace: &Trace,
        source: Source,
        reach: &[usize],
        recurrences: &Recurrences,
    ) -> CloneWindow {
        let start = runs.start(trace);
        let us = |output: &Output| {
            let cycles = output.given_at.saturating_sub(start);
            cycles as f64 / trace.cycles_per_ms.max(1) as f64 * 1e3
        };
        let channels = runs.channels(trace, |other| other == source);
        let channels = channels.zip(reach).map(|((before, outputs), &reach)| {
            let reach = reach.min(outputs.len());
            // A request in progress was answered later, and may already have seen a new generation.
            let mut given_before = before.iter().rev().filter(|o| o.given_at <= start);
            let at_snapshot = given_before.next().map(generations);
            let is_noticed =
                |output: &&Output| at_snapshot.is_some_and(|before| before != generations(output));
            let mut comparable = outputs[..reach].iter();
            let new = comparable.position(|o| !recurrences.has_shared_word(o));
            CloneWindow {
                requests: new.unwrap_or(reach),
                us_to_new_state: new.map(|new| us(&outputs[new])),
                us_to_notice: outputs.iter().find(is_noticed).map(us),
            }
        });
        channels.reduce(CloneWindow::and).unwrap_or_default()
    }

    /// Combines the windows of two instances.
    fn and(self, other: CloneWindow) -> CloneWindow {
        let latest = |one: Option<f64>, other: Option<f64>| Some(one?.max(other?));
        CloneWindow {
            requests: self.requests + other.requests,
            us_to_new_state: latest(self.us_to_new_state, other.us_to_new_state),
            us_to_notice: latest(self.us_to_notice, other.us_to_notice),
        }
    }
}

/// The kernel's and vmclock's generations as the source saw them.
fn generations(output: &Output) -> [u64; 2] {
    [output.generation, output.vm_generation]
}

/// The median and maximum of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary<T> {
    /// For an even number of values, the greater of the two in the middle.
    pub median: T,
    pub max: T,
}

impl<T: Copy + PartialOrd> Summary<T> {
    /// Summarises `values`, which must all be comparable. None if there are none.
    pub(super) fn of(mut values: Vec<T>) -> Option<Summary<T>> {
        values.sort_by(|one, other| one.partial_cmp(other).expect("values are comparable"));
        Some(Summary {
            median: *values.get(values.len() / 2)?,
            max: *values.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Random, clones, output};
    use super::*;

    const NAME: (Source, u64) = (Source::Naive, 0);

    /// The window of clones with one output from before the snapshot, at 0.5 ms, and outputs given as
    /// indices. The generation changes with the third record after the snapshot.
    fn of(after: &[&[usize]]) -> Window {
        let mut random = Random::new(13);
        let bits: Vec<_> = (0..100).map(|_| random.bits()).collect();
        let traces: Vec<Vec<_>> = after
            .iter()
            .map(|after| {
                let indices = [0].iter().chain(*after);
                let outputs = (0..).zip(indices);
                let outputs =
                    outputs.map(|(tick, &index)| output(tick, u64::from(tick > 2), bits[index]));
                outputs.collect()
            })
            .collect();
        let resets = clones(NAME, 1, &traces);
        let runs = Runs::of_resets(&resets);
        let recurrences = Recurrences::of(runs.given(|_| true));
        Window::of(&runs, NAME.0, &recurrences).expect("clones")
    }

    fn both<T: Copy>(summary: Summary<T>) -> [T; 2] {
        [summary.median, summary.max]
    }

    #[test]
    fn requests_and_times_until_new_state() {
        let window = of(&[
            &[1, 2, 10, 11],
            &[1, 20, 21, 22],
            &[30, 31, 32, 33],
            &[1, 2, 3],
        ]);
        assert_eq!(both(window.requests), [2, 2]);
        assert_eq!(window.us_to_new_state.map(both), Some([1500.0; 2]));
        assert_eq!(window.us_to_notice.map(both), Some([1500.0; 2]));
        assert_eq!(window.clones_without_new_state, 0);
    }

    /// The second record was requested before the snapshot and given after the generation had changed.
    /// The next record shows that.
    #[test]
    fn a_request_in_progress_does_not_set_the_earlier_generation() {
        let mut random = Random::new(14);
        let clone = |bits: Vec<[u64; 8]>| {
            let outputs = (0..).zip(bits);
            let outputs = outputs.map(|(tick, bits)| output(tick, u64::from(tick > 0), bits));
            outputs.collect::<Vec<_>>()
        };
        let common: Vec<_> = (0..2).map(|_| random.bits()).collect();
        let mut own = || clone([common.clone(), vec![random.bits()]].concat());
        let mut resets = clones(NAME, 1, &[own(), own()]);
        for clone in &mut resets.clones {
            clone.outputs.get_mut(&NAME).expect("a channel")[1].asked_at = 600_000;
        }
        let runs = Runs::of_resets(&resets);
        assert_eq!(runs.under_way(NAME.0), 1);
        let recurrences = Recurrences::of(runs.given(|_| true));
        let window = Window::of(&runs, NAME.0, &recurrences).expect("clones");
        assert_eq!(window.us_to_notice.map(both), Some([1000.0; 2]));
    }

    #[test]
    fn clones_without_new_state_are_counted() {
        let window = of(&[&[1, 2], &[1, 2]]);
        assert_eq!(both(window.requests), [2; 2]);
        assert_eq!((window.us_to_new_state, window.us_to_notice), (None, None));
        assert_eq!(window.clones_without_new_state, 2);
        assert_eq!(window.clones_without_notice, 2);
    }
}
