//! The probe's side of the shared memory: it writes records and messages, and reads the lab's command.
//!
//! A record is counted after it was written, so that all counted records are complete whenever the
//! machine is stopped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use squall_probe::{
    CHANNEL_WORDS, Channel, Command, LEN, MAGIC, MESSAGE, MESSAGE_LEN, RECORDS, Record, State,
    WORD, header,
};

/// Pause between two checks of the lab's command.
const PAUSE: Duration = Duration::from_millis(1);

/// The whole memory.
#[derive(Clone, Copy, Debug)]
pub struct Memory(&'static [AtomicU64]);

impl Memory {
    /// The memory in these words, [`LEN`] bytes of them.
    pub fn new(words: &'static [AtomicU64]) -> Memory {
        assert_eq!(words.len(), LEN / WORD);
        Memory(words)
    }

    /// Writes the table of channels, all empty.
    pub fn lay_out(self, channels: &[Channel]) {
        for (index, channel) in channels.iter().enumerate() {
            let place = Channel::place(index);
            let words = &self.0[place..place + CHANNEL_WORDS];
            for (word, value) in words.iter().zip(channel.to_words()) {
                store(word, value);
            }
        }
        store(&self.0[header::CHANNELS], channels.len() as u64);
    }

    /// The writer for the records of `channel`, which has this index in the table.
    pub fn writer(self, index: usize, channel: &Channel) -> Writer {
        let len = channel.capacity * channel.source.record_words();
        Writer {
            words: &self.0[channel.first..channel.first + len],
            count: &self.0[Channel::place(index) + Channel::COUNT],
            capacity: channel.capacity,
        }
    }

    /// The words of the records before `end`.
    pub fn records_before(self, end: usize) -> &'static [AtomicU64] {
        &self.0[RECORDS..end]
    }

    /// Writes the speed of the cycle counter.
    pub fn set_cycles_per_ms(self, cycles: u64) {
        store(&self.0[header::CYCLES_PER_MS], cycles);
    }

    /// Writes a message, cut off if it is too long.
    pub fn set_message(self, message: &str) {
        let bytes = message.as_bytes();
        let bytes = &bytes[..bytes.len().min(MESSAGE_LEN)];
        for (word, part) in self.0[MESSAGE..].iter().zip(bytes.chunks(WORD)) {
            let mut padded = [0; WORD];
            padded[..part.len()].copy_from_slice(part);
            store(word, u64::from_le_bytes(padded));
        }
        store(&self.0[header::MESSAGE_LEN], bytes.len() as u64);
    }

    /// Reports that everything is laid out and that the probe waits for a command.
    pub fn set_ready(self) {
        self.advance(State::Booting, State::Ready);
        store(&self.0[header::MAGIC], MAGIC);
    }

    /// Reports why the probe cannot go on. Only the first report counts.
    pub fn fail(self, why: &str) {
        if load(&self.0[header::STATE]) != State::Failed as u64 {
            self.set_message(why);
            store(&self.0[header::STATE], State::Failed as u64);
            store(&self.0[header::MAGIC], MAGIC);
        }
    }

    /// Changes the state from `from` to `to`, but never out of [`State::Failed`].
    fn advance(self, from: State, to: State) {
        let (from, to) = ((from as u64).to_le(), (to as u64).to_le());
        let _ =
            self.0[header::STATE].compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
    }

    /// Whether the lab wants records.
    pub fn is_running(self) -> bool {
        self.command() == Some(Command::Run)
    }

    /// Waits until the lab wants records, and reports that they are being written. Returns false if the
    /// lab ends the probe instead.
    pub fn wait_for_run(self) -> bool {
        loop {
            match self.command() {
                Some(Command::Run) => {
                    self.advance(State::Ready, State::Running);
                    return true;
                }
                Some(Command::End) => return false,
                Some(Command::Wait) | None => std::thread::sleep(PAUSE),
            }
        }
    }

    fn command(self) -> Option<Command> {
        Command::from_word(load(&self.0[header::COMMAND]))
    }
}

/// Writes the records of one channel. A process and its children may have copies, if only one of them
/// writes at a time.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    words: &'static [AtomicU64],
    count: &'static AtomicU64,
    capacity: usize,
}

impl Writer {
    /// How many more records fit.
    pub fn room(&self) -> usize {
        self.capacity.saturating_sub(self.count())
    }

    /// Writes a record, if it fits.
    pub fn write<R: Record>(&self, record: &R) {
        if self.room() == 0 {
            return;
        }
        let count = self.count();
        let words = self.words[count * R::WORDS..].iter().take(R::WORDS);
        for (word, &value) in words.zip(record.to_words().as_ref()) {
            word.store(value.to_le(), Ordering::Relaxed);
        }
        store(self.count, count as u64 + 1);
    }

    fn count(&self) -> usize {
        load(self.count) as usize
    }
}

fn store(word: &AtomicU64, value: u64) {
    word.store(value.to_le(), Ordering::Release);
}

fn load(word: &AtomicU64) -> u64 {
    u64::from_le(word.load(Ordering::Acquire))
}

#[cfg(test)]
pub mod tests {
    use squall_probe::{Channel, Input, Output, Source};

    use super::*;

    /// Memory that nobody else sees.
    pub fn plain() -> Memory {
        let words: Vec<_> = (0..LEN / WORD).map(|_| AtomicU64::new(0)).collect();
        Memory::new(words.leak())
    }

    impl Memory {
        /// The words from `first` on.
        pub fn words<const N: usize>(self, first: usize) -> [u64; N] {
            core::array::from_fn(|at| load(&self.0[first + at]))
        }

        /// Gives a command in the lab's place.
        pub fn order(self, command: Command) {
            store(&self.0[header::COMMAND], command as u64);
        }

        fn state(self) -> Option<State> {
            State::from_word(load(&self.0[header::STATE]))
        }
    }

    fn channels() -> [Channel; 2] {
        let outputs = Channel {
            source: Source::Squall,
            instance: 2,
            first: RECORDS,
            capacity: 3,
        };
        let inputs = Channel {
            source: Source::WhirlwindInputs,
            instance: 0,
            first: RECORDS + 3 * Output::WORDS,
            capacity: 2,
        };
        [outputs, inputs]
    }

    fn output(number: u64) -> Output {
        Output {
            asked_at: number,
            given_at: number + 1,
            generation: 2,
            vm_generation: 3,
            bits: [number; 8],
        }
    }

    #[test]
    fn records_come_back_and_a_full_channel_takes_no_more() {
        let memory = plain();
        let channels = channels();
        memory.lay_out(&channels);
        let table: [u64; CHANNEL_WORDS] = memory.words(Channel::place(0));
        assert_eq!(Channel::from_words(&table), Some(channels[0]));

        let writer = memory.writer(0, &channels[0]);
        for number in 0..5 {
            writer.write(&output(number));
        }
        assert_eq!(writer.room(), 0);
        assert_eq!(memory.words(Channel::place(0) + Channel::COUNT), [3]);
        for number in 0..3 {
            let first = RECORDS + number as usize * Output::WORDS;
            let words: [u64; Output::WORDS] = memory.words(first);
            assert_eq!(Output::from_words(&words), output(number));
        }
        let behind: [u64; Input::WORDS] = memory.words(channels[1].first);
        assert_eq!(behind, [0; Input::WORDS]);
    }

    #[test]
    fn only_the_first_failure_is_kept() {
        let memory = plain();
        memory.fail("one");
        memory.fail("another");
        memory.set_ready();
        memory.order(Command::Run);
        assert!(memory.wait_for_run());
        assert_eq!(memory.state(), Some(State::Failed));
        assert_eq!(memory.words(header::MESSAGE_LEN), [3]);
        assert_eq!(
            memory.words(MESSAGE),
            [u64::from_le_bytes(*b"one\0\0\0\0\0")]
        );
        assert_eq!(memory.words(header::MAGIC), [MAGIC]);
    }

    #[test]
    fn a_message_that_is_too_long_is_cut() {
        let memory = plain();
        memory.set_message(&"x".repeat(MESSAGE_LEN + 1));
        assert_eq!(memory.words(header::MESSAGE_LEN), [MESSAGE_LEN as u64]);
        assert_eq!(memory.words(RECORDS), [0]);
    }
}
