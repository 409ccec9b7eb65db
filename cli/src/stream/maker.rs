//! Makes chunks of output, in one thread.

use squall::Error;
use squall_tools::Failure;
use zeroize::Zeroizing;

use super::buffer::{self, Buffer};
use super::encode;
use super::source::{Reader, Source};
use crate::args::Format;

/// The division of a stream into chunks.
#[derive(Clone, Copy)]
pub struct Chunking {
    /// Where the source begins to be used.
    start: u64,
    /// Random bytes in the stream. An endless one reaches to 16 EiB, the most that a `u64` can count, which
    /// takes a century at 5 GB/s.
    total: u64,
    chunk: usize,
}

impl Chunking {
    /// Divides `size` bytes, or an endless stream if `None`, into chunks of `chunk` bytes. The stream begins
    /// at byte `start` of its source, and ends by byte `u64::MAX`.
    pub fn new(start: u64, size: Option<u64>, chunk: usize) -> Chunking {
        Chunking {
            start,
            total: size.unwrap_or(u64::MAX - start),
            chunk,
        }
    }

    pub fn chunks(self) -> u64 {
        self.total.div_ceil(self.chunk as u64)
    }

    /// The number of random bytes in chunk `index`.
    pub fn len(self, index: u64) -> usize {
        let left = self.total - self.offset(index);
        left.min(self.chunk as u64) as usize
    }

    fn offset(self, index: u64) -> u64 {
        index * self.chunk as u64
    }

    fn is_last(self, index: u64) -> bool {
        index + 1 == self.chunks()
    }
}

/// One thread's reader and encoder.
pub struct ChunkMaker {
    reader: Reader,
    format: Format,
    chunking: Chunking,
    /// The bytes before encoding.
    raw: Zeroizing<Vec<u8>>,
}

impl ChunkMaker {
    /// A maker of chunks of `source` in `format`.
    pub fn new(source: &Source, format: Format, chunking: Chunking) -> Result<ChunkMaker, Failure> {
        let raw_len = match format {
            Format::Raw => 0,
            Format::Hex | Format::Base64 => chunking.chunk,
        };
        Ok(ChunkMaker {
            reader: source
                .reader()
                .map_err(|error| Failure::Runtime(error.to_string()))?,
            format,
            chunking,
            raw: buffer::zeros(raw_len).map_err(|error| buffer::no_memory(&error))?,
        })
    }

    pub fn make(&mut self, index: u64, buffer: &mut Buffer) -> Result<(), Error> {
        let len = self.chunking.len(index);
        let offset = self.chunking.start + self.chunking.offset(index);
        if self.format == Format::Raw {
            return self.reader.fill(offset, buffer.prepare(len));
        }
        let raw = &mut self.raw[..len];
        self.reader.fill(offset, raw)?;
        let is_last = self.chunking.is_last(index);
        let text = buffer.prepare(encode::encoded_len(self.format, len, is_last));
        encode::encode(self.format, raw, text);
        Ok(())
    }
}
