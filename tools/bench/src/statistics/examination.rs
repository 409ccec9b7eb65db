//! The examination: a stream in, in pieces of any length, and findings out.
//!
//! It works on pieces of [`PIECE`] bytes and keeps nothing but counts, so it takes the same memory
//! for any stream, and finds the same however the stream is cut. Bytes behind the last whole piece
//! are not looked at.

use squall_tools::Failure;

use super::bytes::Bytes;
use super::findings::Findings;
use super::positions::Positions;
use super::rank::Rank;
use super::repeats::Repeats;

/// Fewest bytes that can be judged.
pub const FEWEST: usize = 1 << 20;

/// Bytes of a piece: whole groups of words.
const PIECE: usize = 256 << 10;

/// A stream that is being examined.
#[derive(Debug, Default)]
pub struct Examination {
    given: u64,
    piece: Vec<u8>,
    bytes: Bytes,
    positions: Positions,
    rank: Rank,
    repeats: Repeats,
}

impl Examination {
    /// Adds the next bytes of the stream.
    pub fn add(&mut self, bytes: &[u8]) {
        self.given += bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PIECE - self.piece.len();
            let (part, behind) = rest.split_at(room.min(rest.len()));
            self.piece.extend_from_slice(part);
            rest = behind;
            if self.piece.len() == PIECE {
                self.examine();
                self.piece.clear();
            }
        }
    }

    /// The end of the stream.
    ///
    /// # Errors
    /// It was shorter than [`FEWEST`], so there is nothing to be said.
    pub fn finish(self) -> Result<Findings, Failure> {
        if self.given < FEWEST as u64 {
            let given = self.given;
            let message = format!("{given} bytes are too few to judge: use {FEWEST} or more");
            return Err(Failure::Usage(message));
        }
        let mut tests = Vec::from(self.bytes.tests());
        tests.extend(self.positions.tests());
        tests.extend([self.rank.test(), self.repeats.test()]);
        let bytes = self.given - self.piece.len() as u64;
        Ok(Findings { bytes, tests })
    }

    fn examine(&mut self) {
        let (words, _) = self.piece.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.bytes.add(&self.piece);
        self.positions.add(&words);
        self.rank.add(&words);
        self.repeats.add(&words);
    }
}
