//! The memory shared with a guest: a file that QEMU maps.
//!
//! The lab reads and writes it with system calls, which see the guest's stores at once. The lab
//! validates everything that it reads.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use squall_probe::{
    CHANNEL_WORDS, CHANNELS, Channel, Command, Input, LEN, MAGIC, MESSAGE, MESSAGE_LEN, Output,
    Record, Source, State, WORD, header,
};
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

/// The file behind a guest's shared memory.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    path: PathBuf,
}

impl SharedMemory {
    /// Creates the file at `path` and allocates all its blocks, so that a full disk is noticed here and
    /// does not kill the guest.
    pub fn create(path: PathBuf) -> Result<SharedMemory, Failure> {
        let open = || {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path)?;
            let zeros = vec![0; 1 << 20];
            for _ in 0..LEN / zeros.len() {
                file.write_all(&zeros)?;
            }
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(SharedMemory { file, path }),
            Err(error) => {
                let _ = std::fs::remove_file(&path);
                Err(at(&path)(error))
            }
        }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends the probe a command.
    pub fn send(&self, command: Command) -> Result<(), Failure> {
        let place = (header::COMMAND * WORD) as u64;
        self.file
            .write_all_at(&(command as u64).to_le_bytes(), place)
            .map_err(at(&self.path))
    }

    /// The probe's state.
    pub fn state(&self) -> Result<State, Failure> {
        if self.word(header::MAGIC)? != MAGIC {
            return Ok(State::Booting);
        }
        let word = self.word(header::STATE)?;
        State::from_word(word).ok_or_else(|| invalid_record("state", word))
    }

    /// The probe's message: facts about the machine, or a failure.
    pub fn message(&self) -> Result<String, Failure> {
        let len = (self.word(header::MESSAGE_LEN)? as usize).min(MESSAGE_LEN);
        let bytes = self.bytes(MESSAGE, len)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The number of records in each channel.
    pub fn counts(&self) -> Result<Counts, Failure> {
        let mut counts = Counts::default();
        for (channel, count) in self.channels()? {
            match channel.source {
                Source::WhirlwindInputs => counts.inputs = count,
                source => {
                    let name = (source, channel.instance);
                    counts.outputs.insert(name, count);
                    counts.room.insert(name, channel.capacity);
                }
            }
        }
        Ok(counts)
    }

    /// All records of the machine.
    pub fn trace(&self) -> Result<Trace, Failure> {
        let mut trace = Trace {
            cycles_per_ms: self.word(header::CYCLES_PER_MS)?,
            ..Trace::default()
        };
        for (channel, count) in self.channels()? {
            match channel.source {
                Source::WhirlwindInputs => trace.inputs = self.records::<Input>(channel, count)?,
                source => {
                    let records = self.records::<Output>(channel, count)?;
                    trace.outputs.insert((source, channel.instance), records);
                }
            }
        }
        Ok(trace)
    }

    /// The channels and the number of records in each.
    fn channels(&self) -> Result<Vec<(Channel, usize)>, Failure> {
        let count = self.word(header::CHANNELS)?;
        if count > CHANNELS as u64 {
            return Err(invalid_record("number of channels", count));
        }
        let channel = |index| match self.channel(index)? {
            (channel, count) if count <= channel.capacity as u64 => Ok((channel, count as usize)),
            (_, count) => Err(invalid_record("number of records", count)),
        };
        (0..count as usize).map(channel).collect()
    }

    fn channel(&self, index: usize) -> Result<(Channel, u64), Failure> {
        let words = self.words(Channel::place(index), CHANNEL_WORDS)?;
        let words = words.try_into().expect("as many words as were asked for");
        let channel = Channel::from_words(&words);
        let channel = channel.ok_or_else(|| invalid_record("channel", index as u64))?;
        Ok((channel, words[Channel::COUNT]))
    }

    fn records<R: Record>(&self, channel: Channel, count: usize) -> Result<Vec<R>, Failure> {
        let words = self.words(channel.first, count * R::WORDS)?;
        Ok(words.chunks_exact(R::WORDS).map(R::from_words).collect())
    }

    fn word(&self, at: usize) -> Result<u64, Failure> {
        Ok(self.words(at, 1)?[0])
    }

    fn words(&self, first: usize, count: usize) -> Result<Vec<u64>, Failure> {
        let bytes = self.bytes(first, count * WORD)?;
        let (words, _) = bytes.as_chunks::<WORD>();
        Ok(words.iter().copied().map(u64::from_le_bytes).collect())
    }

    fn bytes(&self, first_word: usize, len: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; len];
        self.file
            .read_exact_at(&mut bytes, (first_word * WORD) as u64)
            .map_err(at(&self.path))?;
        Ok(bytes)
    }
}

fn invalid_record(what: &str, word: u64) -> Failure {
    Failure::Runtime(format!(
        "the probe in the VM wrote an invalid {what} to the shared memory: {word:#x}"
    ))
}

impl SharedMemory {
    /// Cycles of the guest's counter per millisecond.
    pub fn cycles_per_ms(&self) -> Result<u64, Failure> {
        self.word(header::CYCLES_PER_MS)
    }
}

/// A source, and the index of its instance.
pub type Name = (Source, u64);

/// The records of one machine.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Cycles of the guest's counter per millisecond.
    pub cycles_per_ms: u64,
    /// The outputs of each channel, in order.
    pub outputs: BTreeMap<Name, Vec<Output>>,
    /// Whirlwind's inputs, in order.
    pub inputs: Vec<Input>,
}

/// The number of records in each channel, for example when a snapshot was taken.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The number of outputs of each generator.
    pub outputs: BTreeMap<Name, usize>,
    /// The number of Whirlwind's inputs.
    pub inputs: usize,
    /// The capacity of each generator's channel, in records.
    pub room: BTreeMap<Name, usize>,
}

/// One snapshot and the machines that were resumed from it.
#[derive(Clone, Debug, Default)]
pub struct Resets {
    /// The counts when the snapshot was taken, which are the same in every clone.
    pub before: Counts,
    /// The clones. Each begins with the records from before the snapshot.
    pub clones: Vec<Trace>,
}

#[cfg(test)]
mod tests {
    use squall_probe::Source;

    use super::*;

    /// Memory with a channel of `source` that has room for so many records.
    fn memory(source: Source, capacity: usize) -> SharedMemory {
        let directory = tempfile::tempdir().unwrap();
        let memory = SharedMemory::create(directory.path().join("memory")).unwrap();
        let channel = Channel {
            source,
            instance: 1,
            first: squall_probe::RECORDS,
            capacity,
        };
        for (offset, word) in channel.to_words().into_iter().enumerate() {
            set(&memory, Channel::place(0) + offset, word);
        }
        memory
    }

    fn set(memory: &SharedMemory, at: usize, word: u64) {
        let at = (at * WORD) as u64;
        memory.file.write_all_at(&word.to_le_bytes(), at).unwrap();
    }

    #[test]
    fn nonsense_is_refused() {
        let memory = memory(Source::Squall, 2);
        set(&memory, Channel::place(0) + Channel::COUNT, 2);
        set(&memory, header::CHANNELS, 1);
        set(&memory, header::MAGIC, MAGIC);
        set(&memory, header::STATE, State::Running as u64);
        assert_eq!(memory.trace().unwrap().outputs.len(), 1);
        let places = [
            (header::CHANNELS, CHANNELS as u64 + 1),
            (Channel::place(0) + Channel::COUNT, 3),
            (Channel::place(0), 99),
        ];
        for (at, word) in places {
            let good = memory.word(at).unwrap();
            set(&memory, at, word);
            assert!(memory.trace().is_err());
            set(&memory, at, good);
        }
        set(&memory, header::STATE, 99);
        assert!(memory.state().is_err());
    }
}
