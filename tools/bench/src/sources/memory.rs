//! The memory alone: bytes that cost nothing to make, as a bound for all others.

use super::entry::{Entry, in_process};
use crate::source::Draw;

/// The source that is allowed to repeat itself.
pub const NAME: &str = "memset";

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: NAME,
    title: "memset, no randomness",
    caveat: "the memory's own speed",
    explained: "a buffer set to one byte, another one each time: what storing alone costs",
    open: || in_process(Memset(0)),
    ..Entry::DEFAULT
}];

struct Memset(u64);

impl Draw for Memset {
    /// Never sets to zero, which some memories do faster than random bytes can be stored. The count
    /// in front and at the end is what shows that a request was served.
    #[inline]
    fn fill(&mut self, out: &mut [u8]) {
        self.0 += 1;
        out.fill(self.0 as u8 | 1);
        let count = self.0.to_ne_bytes();
        if let Some((first, _)) = out.split_first_chunk_mut() {
            *first = count;
        }
        if let Some((_, last)) = out.split_last_chunk_mut() {
            *last = count;
        }
    }
}
