//! The ring of readings of the cycle counter, in a machine whose probe does nothing else.

use squall_probe::{Channel, Mark, Reading, Record, header};
use squall_tools::Failure;

use super::{SharedMemory, invalid_record};

/// The ring is the only channel.
const RING: usize = 0;

impl SharedMemory {
    /// How many readings were begun, and how many are recorded.
    pub fn mark(&self) -> Result<Mark, Failure> {
        // `counted` is read first: the guest may go on between the two.
        let mark = Mark {
            counted: self.word(Channel::place(RING) + Mark::COUNTED)?,
            begun: self.word(Channel::place(RING) + Mark::BEGUN)?,
        };
        if mark.begun < mark.counted {
            return Err(invalid_record("number of readings", mark.counted));
        }
        Ok(mark)
    }

    /// `count` readings from number `first` on, all of which must have been recorded. None if others
    /// have taken their places.
    pub fn readings(&self, first: u64, count: usize) -> Result<Option<Vec<Reading>>, Failure> {
        let words = self.words(Channel::place(RING), squall_probe::CHANNEL_WORDS)?;
        let words = words.try_into().expect("as many words as were asked for");
        let ring =
            Channel::from_words(&words).ok_or_else(|| invalid_record("channel", RING as u64))?;
        let numbers = first..first + count as u64;
        let readings = numbers
            .map(|number| self.reading(&ring, number))
            .collect::<Result<_, _>>()?;
        let is_whole = self.mark()?.begun <= first + ring.capacity as u64;
        Ok(is_whole.then_some(readings))
    }

    fn reading(&self, ring: &Channel, number: u64) -> Result<Reading, Failure> {
        let place = (number % ring.capacity as u64) as usize * Reading::WORDS;
        let words = self.words(ring.first + place, Reading::WORDS)?;
        Ok(Reading::from_words(&words))
    }

    /// Cycles of the guest's counter per millisecond.
    pub fn cycles_per_ms(&self) -> Result<u64, Failure> {
        self.word(header::CYCLES_PER_MS)
    }
}

#[cfg(test)]
mod tests {
    use squall_probe::Source;

    use super::*;
    use crate::vm::memory::tests::{memory, set};

    #[test]
    fn readings_are_found_until_others_take_their_places() {
        let directory = tempfile::tempdir().unwrap();
        let memory = memory(&directory);
        let ring = Channel {
            source: Source::CycleCounter,
            instance: 0,
            first: squall_probe::RECORDS,
            capacity: 4,
        };
        for (offset, word) in ring.to_words().into_iter().enumerate() {
            set(&memory, Channel::place(0) + offset, word);
        }
        // Readings 2 to 5, of which 4 and 5 are in the places of 0 and 1.
        for (place, number) in [4, 5, 2, 3].into_iter().enumerate() {
            set(&memory, ring.first + place * 2, 100 * number);
            set(&memory, ring.first + place * 2 + 1, 1);
        }
        let mark = |begun, counted| {
            set(&memory, Channel::place(0) + Mark::BEGUN, begun);
            set(&memory, Channel::place(0) + Mark::COUNTED, counted);
        };
        mark(6, 6);
        let counts = |first| {
            let readings = memory.readings(first, 3).unwrap()?;
            Some(readings.iter().map(|reading| reading.cycles).collect())
        };
        assert_eq!(counts(3), Some(vec![300, 400, 500]));
        assert_eq!(counts(2), Some(vec![200, 300, 400]));
        assert_eq!(counts(1), None);
        mark(7, 6);
        assert_eq!(counts(2), None);
        mark(5, 6);
        assert!(memory.mark().is_err());
    }
}
