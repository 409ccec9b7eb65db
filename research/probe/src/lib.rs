//! The protocol between the probe in a VM and the lab outside, through shared memory.
//!
//! The memory is an array of little-endian 64-bit words: a header, a table of channels, a message of
//! the probe, and then the channels' records. A channel has one writer, records of one kind, and a
//! count, which is stored after the record that it counts. The lab trusts nothing in it, and checks
//! what it reads. Only the probe needs `hello`, which makes a TLS server draw.

#![forbid(unsafe_code)]

#[cfg(feature = "guest")]
pub mod hello;

mod source;

pub use source::{Input, Output, Record, Source};

/// Length of the memory in bytes: a power of two, as PCI requires.
pub const LEN: usize = 128 << 20;

/// Bytes in a word.
pub const WORD: usize = 8;

/// The first word once the probe has laid the memory out.
pub const MAGIC: u64 = u64::from_le_bytes(*b"squall 1");

/// Largest number of channels.
pub const CHANNELS: usize = 64;

/// Indices of the header's words.
pub mod header {
    /// [`MAGIC`](super::MAGIC), written when the probe is ready.
    pub const MAGIC: usize = 0;
    /// The lab's [`Command`](super::Command).
    pub const COMMAND: usize = 1;
    /// The probe's [`State`](super::State).
    pub const STATE: usize = 2;
    /// Cycles of the guest's counter per millisecond.
    pub const CYCLES_PER_MS: usize = 3;
    /// Number of channels in the table.
    pub const CHANNELS: usize = 4;
    /// Length of the message, in bytes.
    pub const MESSAGE_LEN: usize = 5;
}

/// First word of the table of channels.
pub const TABLE: usize = 64;

/// Words of a channel in the table.
pub const CHANNEL_WORDS: usize = 8;

/// First word of the message: facts about the machine as JSON, or why the probe failed.
pub const MESSAGE: usize = TABLE + CHANNELS * CHANNEL_WORDS;

/// Longest message, in bytes.
pub const MESSAGE_LEN: usize = 16 << 10;

/// First word of the records.
pub const RECORDS: usize = MESSAGE + MESSAGE_LEN / WORD;

/// A command of the lab to the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Command {
    /// Nothing yet.
    Wait = 0,
    /// Draw and record.
    Run = 1,
    /// Switch the machine off.
    End = 2,
}

impl Command {
    /// The command that `word` stands for.
    pub fn from_word(word: u64) -> Option<Command> {
        [Command::Wait, Command::Run, Command::End]
            .into_iter()
            .find(|&command| command as u64 == word)
    }
}

/// The probe's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    /// It has not started.
    Booting = 0,
    /// It waits for [`Command::Run`]; the message describes the machine.
    Ready = 1,
    /// It draws and records.
    Running = 2,
    /// It cannot go on; the message says why.
    Failed = 3,
}

impl State {
    /// The state that `word` stands for.
    pub fn from_word(word: u64) -> Option<State> {
        [State::Booting, State::Ready, State::Running, State::Failed]
            .into_iter()
            .find(|&state| state as u64 == word)
    }
}

source::named! {
    /// The probe's task, from the kernel command line: `squall.mode=NAME`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mode {
        /// Every source draws once every 500 µs.
        Ticks => "ticks",
        /// Threads draw without pause.
        Threads => "threads",
        /// Like [`Mode::Ticks`], with one child forked before and others all the time.
        Forks => "forks",
        /// A Go program, whose sources draw once every 500 µs.
        Go => "go",
        /// Unmodified programs, one in C and nginx, whose sources draw every 500 µs or as often as they
        /// can.
        Programs => "programs",
        /// Interpreters, with squall and without, whose sources draw every 500 µs or as often as they can.
        Sandbox => "sandbox",
    }
}

impl Mode {
    /// The source under test. An experiment without it shows nothing.
    pub fn subject(self) -> Source {
        match self {
            Mode::Ticks | Mode::Threads | Mode::Forks => Source::Squall,
            Mode::Go => Source::GoSquall,
            Mode::Programs => Source::PreloadedGetrandom,
            Mode::Sandbox => Source::PythonRandomSquall,
        }
    }

    /// Whether [`Source::KvmClock`] draws on machines with kvm-clock.
    pub fn watches_kvm_clock(self) -> bool {
        matches!(self, Mode::Ticks | Mode::Threads)
    }

    /// The sources that must repeat after every reset; otherwise the experiment shows nothing.
    pub fn controls(self) -> &'static [Source] {
        match self {
            Mode::Ticks | Mode::Threads | Mode::Forks => &[Source::Naive, Source::SquallUnguarded],
            Mode::Go => &[Source::GoNaive],
            Mode::Programs => &[Source::PreloadedNaive, Source::NginxOpenssl],
            Mode::Sandbox => &[
                Source::PythonRandom,
                Source::NumpyRandom,
                Source::NumpyDefaultRng,
                Source::NodeRandomUuid,
                Source::NodeRandomBytes,
                Source::NodeMathRandom,
                Source::PythonOpenssl,
                Source::JavaDrbg,
                Source::JavaMathRandom,
            ],
        }
    }

    /// The prefix of the mode's name on the kernel command line.
    pub const PARAMETER: &str = "squall.mode=";
}

/// An entry in the table of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The source whose records these are.
    pub source: Source,
    /// Index among several instances of the source, from 0.
    pub instance: u64,
    /// First word of its records.
    pub first: usize,
    /// Capacity in records.
    pub capacity: usize,
}

impl Channel {
    /// The index, among a channel's words, of its count of records.
    pub const COUNT: usize = 4;

    /// The channel's words in the table. The count starts as 0.
    pub fn to_words(self) -> [u64; CHANNEL_WORDS] {
        let mut words = [0; CHANNEL_WORDS];
        words[..2].copy_from_slice(&[self.source as u64, self.instance]);
        words[2..4].copy_from_slice(&[self.first as u64, self.capacity as u64]);
        words
    }

    /// Reads a channel from its words. None if the source is unknown, or the records are outside the
    /// memory.
    pub fn from_words(words: &[u64; CHANNEL_WORDS]) -> Option<Channel> {
        let source = Source::from_word(words[0])?;
        let first = usize::try_from(words[2]).ok()?;
        let capacity = usize::try_from(words[3]).ok()?;
        let end = capacity
            .checked_mul(source.record_words())?
            .checked_add(first)?;
        (first >= RECORDS && end <= LEN / WORD).then_some(Channel {
            source,
            instance: words[1],
            first,
            capacity,
        })
    }

    /// Index of the first word of the channel with this index in the table.
    pub fn place(index: usize) -> usize {
        TABLE + index * CHANNEL_WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise no experiment with it could show anything.
    #[test]
    fn every_mode_that_draws_has_a_guarded_subject_and_controls_without_guards() {
        for &mode in Mode::ALL {
            assert!(mode.subject().is_guarded(), "{}", mode.name());
            assert!(!mode.controls().is_empty(), "{}", mode.name());
            assert!(mode.controls().iter().all(|control| !control.is_guarded()));
        }
    }

    #[test]
    fn valid_channels_are_read_back_and_invalid_ones_refused() {
        let channel = Channel {
            source: Source::Squall,
            instance: 3,
            first: RECORDS,
            capacity: 10,
        };
        let words = channel.to_words();
        assert_eq!(Channel::from_words(&words), Some(channel));
        for (index, word) in [
            (0, u64::MAX),
            (2, RECORDS as u64 - 1),
            (3, u64::MAX),
            (3, (LEN / WORD) as u64),
        ] {
            let mut bad = words;
            bad[index] = word;
            assert_eq!(Channel::from_words(&bad), None);
        }
    }
}
