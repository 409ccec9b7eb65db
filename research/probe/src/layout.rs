//! The channels of each mode, and how many records fit in each.

use std::sync::atomic::AtomicU64;

use squall_probe::{Channel, LEN, Mode, RECORDS, Source, WORD};

use crate::interpreters::INTERPRETERS;
use crate::memory::{Memory, Writer};

/// Number of Whirlwind's inputs that are recorded.
const INPUTS: usize = 60_000;

/// Number of Whirlwind's outputs that are recorded: each has two inputs.
const WHIRLWIND_OUTPUTS: usize = INPUTS / 2;

/// Outputs of a source that uses the timer while threads draw without pause: ten seconds.
const BESIDE_THREADS: usize = 20_000;

/// The number of threads in [`Mode::Threads`] for each source.
pub const THREADS: [(Source, u64); 6] = [
    (Source::Squall, 4),
    (Source::SquallWords, 2),
    (Source::SquallU32, 2),
    (Source::SquallUnguarded, 2),
    (Source::SquallSignalOnly, 2),
    (Source::Naive, 1),
];

/// The number of goroutines in [`Mode::Go`] for each source. squall has several, so that each CPU's state is used.
const GO: [(Source, u64); 4] = [
    (Source::GoSquall, 2),
    (Source::GoSquallWords, 2),
    (Source::GoCryptoRand, 1),
    (Source::GoNaive, 1),
];

/// The sources in [`Mode::Programs`].
const PROGRAMS: [Source; 7] = [
    Source::PreloadedGetrandom,
    Source::PreloadedArc4random,
    Source::PreloadedDevice,
    Source::PreloadedNaive,
    Source::LibcKernel,
    Source::NginxSquall,
    Source::NginxOpenssl,
];

/// In [`Mode::Forks`], a child is forked for one output every this many ticks.
pub const CHILD_EVERY: u64 = 4;

/// The capacity of a channel.
#[derive(Clone, Copy, Debug)]
enum Capacity {
    /// A number of records.
    Records(usize),
    /// A share of the remaining memory.
    Share(usize),
}

/// The share of a source that draws at every tick.
const TICKING: Capacity = Capacity::Share(CHILD_EVERY as usize);

/// A mode's channels in the shared memory.
#[derive(Debug)]
pub struct Channels {
    pub memory: Memory,
    table: Vec<Channel>,
}

impl Channels {
    /// Lays out `memory` for `mode`, with kvm-clock's records of so many CPUs.
    pub fn lay_out(memory: Memory, mode: Mode, cpus: u64) -> Channels {
        let table = table(mode, cpus);
        memory.lay_out(&table);
        Channels { memory, table }
    }

    /// The writer of this source's records. The mode must have the source.
    pub fn writer(&self, source: Source, instance: u64) -> Writer {
        let index = self.index(source, instance);
        self.memory.writer(index, &self.table[index])
    }

    /// The words of all channels before the first of this source, which the mode must have.
    pub fn before(&self, source: Source) -> &'static [AtomicU64] {
        let channel = self.table[self.index(source, 0)];
        self.memory.records_before(channel.first)
    }

    /// All channels in order.
    pub fn table(&self) -> &[Channel] {
        &self.table
    }

    fn index(&self, source: Source, instance: u64) -> usize {
        let wanted = (source, instance);
        let mut channels = self.table.iter();
        let index = channels.position(|channel| (channel.source, channel.instance) == wanted);
        index.expect("a channel of this mode")
    }
}

/// The channels of `mode` with kvm-clock's records of so many CPUs, one after the other.
fn table(mode: Mode, cpus: u64) -> Vec<Channel> {
    let mut wanted = wanted(mode);
    let room = Capacity::Records(BESIDE_THREADS);
    wanted.extend((0..cpus).map(|cpu| (Source::KvmClock, cpu, room)));
    let words_of_a_share = words_of_a_share(&wanted);
    let mut next = RECORDS;
    let channel = |&(source, instance, room): &(Source, u64, Capacity)| {
        let capacity = match room {
            Capacity::Records(records) => records,
            Capacity::Share(share) => share * words_of_a_share / source.record_words(),
        };
        let first = next;
        next += capacity * source.record_words();
        Channel {
            source,
            instance,
            first,
            capacity,
        }
    };
    wanted.iter().map(channel).collect()
}

fn words_of_a_share(wanted: &[(Source, u64, Capacity)]) -> usize {
    let mut words = LEN / WORD - RECORDS;
    let mut shares = 0;
    for &(source, _, room) in wanted {
        match room {
            Capacity::Records(records) => words -= records * source.record_words(),
            Capacity::Share(share) => shares += share,
        }
    }
    words / shares
}

fn wanted(mode: Mode) -> Vec<(Source, u64, Capacity)> {
    match mode {
        Mode::Ticks => ticking(),
        Mode::Threads => threads(&[Source::Getrandom], &THREADS),
        Mode::Forks => {
            let child = (Source::SquallChild, 0, TICKING);
            let children = (Source::SquallChildren, 0, Capacity::Share(1));
            [ticking(), vec![child, children]].concat()
        }
        Mode::Go => threads(&[], &GO),
        // A program has one thread.
        Mode::Programs => threads(&[], &PROGRAMS.map(|source| (source, 1))),
        Mode::Sandbox => {
            let sources = INTERPRETERS.iter().flat_map(|one| one.sources);
            let sources: Vec<_> = sources.map(|&(source, _)| (source, 1)).collect();
            threads(&[], &sources)
        }
    }
}

fn ticking() -> Vec<(Source, u64, Capacity)> {
    let shares = [
        Source::Squall,
        Source::SquallWords,
        Source::SquallU32,
        Source::Getrandom,
        Source::Naive,
        Source::SquallNoSignal,
        Source::SquallUnguarded,
        Source::SquallSignalOnly,
    ];
    let records = [
        (Source::Whirlwind, 0, Capacity::Records(WHIRLWIND_OUTPUTS)),
        (Source::WhirlwindInputs, 0, Capacity::Records(INPUTS)),
    ];
    let shares = shares.into_iter().map(|source| (source, 0, TICKING));
    shares.chain(records).collect()
}

/// Channels of sources with a timer, and one for each thread that draws without pause.
fn threads(timed: &[Source], threads: &[(Source, u64)]) -> Vec<(Source, u64, Capacity)> {
    let timed = timed.iter();
    let mut wanted: Vec<_> = timed
        .map(|&source| (source, 0, Capacity::Records(BESIDE_THREADS)))
        .collect();
    for &(source, threads) in threads {
        wanted.extend((0..threads).map(|instance| (source, instance, Capacity::Share(1))));
    }
    wanted
}

#[cfg(test)]
mod tests {
    use squall_probe::CHANNELS;

    use super::*;

    #[test]
    fn every_mode_fits_and_uses_the_memory_well() {
        for &mode in Mode::ALL {
            let table = table(mode, 8);
            assert!(table.len() <= CHANNELS);
            let mut next = RECORDS;
            for channel in table {
                assert_eq!(channel.first, next);
                assert!(channel.capacity >= 10_000);
                assert_eq!(Channel::from_words(&channel.to_words()), Some(channel));
                next += channel.capacity * channel.source.record_words();
            }
            assert!(next <= LEN / WORD);
            assert!(next > LEN / WORD / 100 * 99);
        }
    }
}
