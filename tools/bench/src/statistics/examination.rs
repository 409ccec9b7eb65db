//! The examination: a stream in, in pieces of any length, and findings out.
//!
//! It works on pieces of [`PIECE`] bytes and keeps nothing but counts, so it takes the same memory
//! for any stream, and finds the same however the stream is cut. Bytes behind the last whole piece
//! are not looked at.

use squall_tools::Failure;

use super::bytes::Bytes;
use super::findings::Findings;
use super::pairs::Pairs;
use super::positions::Positions;
use super::rank::Rank;
use super::repeats::Repeats;

/// Fewest bytes that can be judged.
pub const FEWEST: usize = 1 << 20;

/// Bytes of a piece: whole groups of words.
const PIECE: usize = 256 << 10;

const WORDS: usize = PIECE / 8;

/// A stream that is being examined.
#[derive(Debug)]
pub struct Examination {
    given: u64,
    piece: Vec<u8>,
    words: Vec<u64>,
    bytes: Bytes,
    pairs: Pairs,
    positions: Positions,
    rank: Rank,
    repeats: Repeats,
}

impl Default for Examination {
    fn default() -> Examination {
        Examination::new()
    }
}

impl Examination {
    /// Of a stream that has not begun.
    pub fn new() -> Examination {
        Examination {
            given: 0,
            piece: Vec::with_capacity(PIECE),
            words: vec![0; WORDS],
            bytes: Bytes::default(),
            pairs: Pairs::new(),
            positions: Positions::default(),
            rank: Rank::default(),
            repeats: Repeats::new(),
        }
    }

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
        let mut outcomes = Vec::from(self.bytes.outcomes());
        outcomes.push(self.pairs.outcome());
        outcomes.extend(self.positions.outcomes());
        outcomes.push(self.rank.outcome());
        outcomes.push(self.repeats.outcome());
        let examined = self.given - self.piece.len() as u64;
        Ok(Findings::of(examined, outcomes))
    }

    fn examine(&mut self) {
        let (words, _) = self.piece.as_chunks::<8>();
        for (own, bytes) in self.words.iter_mut().zip(words) {
            *own = u64::from_le_bytes(*bytes);
        }
        self.bytes.add(&self.piece);
        self.pairs.add(&self.piece);
        self.positions.add(&self.words);
        self.rank.add(&self.words);
        self.repeats.add(&self.words);
    }
}
