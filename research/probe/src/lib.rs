//! What the probe in a VM and the lab outside say to each other, through memory that both see.
//!
//! The memory is an array of 64-bit words, little-endian: a header, a table of channels, a message
//! of the probe, then the channels' records. A channel has one writer, records of one kind, and a
//! count that is stored after the record it counts. Nothing in it is trusted: the lab checks what
//! it reads.

#![forbid(unsafe_code)]

mod record;
mod source;

pub use record::{Input, Output, Record};
pub use source::Source;

/// Bytes of the memory: a power of two, as a PCI device wants it.
pub const LEN: usize = 64 << 20;

/// Bytes in a word.
pub const WORD: usize = 8;

/// The first word once the probe has laid the memory out.
pub const MAGIC: u64 = u64::from_le_bytes(*b"squall 1");

/// Most channels there can be.
pub const CHANNELS: usize = 64;

/// Words of the header, by their index.
pub mod header {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// What the lab wants: a [`Command`](super::Command).
    pub const COMMAND: usize = 1;
    /// How far the probe is: a [`State`](super::State).
    pub const STATE: usize = 2;
    /// Cycles of the guest's counter in a millisecond.
    pub const CYCLES_PER_MS: usize = 3;
    /// How many channels are in the table.
    pub const CHANNELS: usize = 4;
    /// Length of the message, in bytes.
    pub const MESSAGE_LEN: usize = 5;
}

/// First word of the table of channels.
pub const TABLE: usize = 64;

/// Words of a channel in the table.
pub const CHANNEL_WORDS: usize = 8;

/// First word of the message: what the machine is, as JSON, or why the probe failed, as text.
pub const MESSAGE: usize = TABLE + CHANNELS * CHANNEL_WORDS;

/// Longest message, in bytes.
pub const MESSAGE_LEN: usize = 16 << 10;

/// First word of the records.
pub const RECORDS: usize = MESSAGE + MESSAGE_LEN / WORD;

/// What the lab wants of the probe.
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

/// How far the probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    /// It has not begun.
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

/// What the probe does, as its kernel command line says: `squall.mode=NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every source, once every 500 µs.
    Ticks,
    /// Threads that draw without pause.
    Threads,
    /// As [`Mode::Ticks`], with children forked before and meanwhile.
    Forks,
    /// A program in Go, each source of which gives once every 500 µs.
    Go,
    /// Programs as they are, in C and nginx, each source of which gives once every 500 µs or as
    /// often as it can.
    Doors,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 5] = [
        Mode::Ticks,
        Mode::Threads,
        Mode::Forks,
        Mode::Go,
        Mode::Doors,
    ];

    /// The mode's name on the kernel command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Ticks => "ticks",
            Mode::Threads => "threads",
            Mode::Forks => "forks",
            Mode::Go => "go",
            Mode::Doors => "doors",
        }
    }

    /// The source that the mode is about: without it, it shows nothing.
    pub fn subject(self) -> Source {
        match self {
            Mode::Ticks | Mode::Threads | Mode::Forks => Source::Squall,
            Mode::Go => Source::GoSquall,
            Mode::Doors => Source::DoorGetrandom,
        }
    }

    /// The sources that must repeat after every reset, or it shows nothing.
    pub fn controls(self) -> &'static [Source] {
        match self {
            Mode::Ticks | Mode::Threads | Mode::Forks => &[Source::Naive, Source::SquallUnguarded],
            Mode::Go => &[Source::GoNaive],
            Mode::Doors => &[Source::DoorNaive, Source::NginxOpenssl],
        }
    }

    /// What stands before the name on the kernel command line.
    pub const PARAMETER: &str = "squall.mode=";
}

/// A channel, as it stands in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// What draws or is recorded.
    pub source: Source,
    /// Which of several, counted from 0.
    pub instance: u64,
    /// First word of its records.
    pub first: usize,
    /// Records that fit.
    pub capacity: usize,
}

impl Channel {
    /// The index, among a channel's words, of its count of records.
    pub const COUNT: usize = 4;

    /// The channel's words in the table, but for the count, which begins as 0.
    pub fn to_words(self) -> [u64; CHANNEL_WORDS] {
        [
            self.source as u64,
            self.instance,
            self.first as u64,
            self.capacity as u64,
            0,
            0,
            0,
            0,
        ]
    }

    /// The channel that these words stand for; none if its records are not within the memory.
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

    /// First word, in the whole memory, of the channel with this index in the table.
    pub fn place(index: usize) -> usize {
        TABLE + index * CHANNEL_WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_come_back_and_bad_ones_do_not() {
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
