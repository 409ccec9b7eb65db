//! Makes chunks of output, in one thread: reads bytes, and encodes them as text.

use data_encoding::{BASE64, HEXLOWER};
use squall::Error;
use squall_tool_base::Failure;
use zeroize::Zeroizing;

use super::args::Format;
use super::buffer::{self, Buffer};
use super::source::{Reader, Source};

/// Bytes in a full line of base64: 64 characters, as in openssl(1) and PEM.
pub const LINE_BYTES: usize = 48;

const LINE_CHARACTERS: usize = LINE_BYTES / 3 * 4;

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
        let text = buffer.prepare(encoded_len(self.format, len, is_last));
        encode(self.format, raw, text);
        Ok(())
    }
}

/// The length of the text for a chunk of `len` bytes. Only the last chunk ends a line of hex; every
/// other chunk of base64 is whole lines.
pub fn encoded_len(format: Format, len: usize, is_last: bool) -> usize {
    match format {
        Format::Raw => len,
        Format::Hex => 2 * len + usize::from(is_last),
        Format::Base64 => BASE64.encode_len(len) + len.div_ceil(LINE_BYTES),
    }
}

/// Writes `bytes` as text into `out`, which has the length from [`encoded_len`].
fn encode(format: Format, bytes: &[u8], out: &mut [u8]) {
    match format {
        Format::Raw => out.copy_from_slice(bytes),
        Format::Hex => {
            let (digits, end) = out.split_at_mut(2 * bytes.len());
            HEXLOWER.encode_mut(bytes, digits);
            end.fill(b'\n');
        }
        Format::Base64 => {
            let lines = out.chunks_mut(LINE_CHARACTERS + 1);
            for (piece, line) in bytes.chunks(LINE_BYTES).zip(lines) {
                let (characters, end) = line.split_at_mut(BASE64.encode_len(piece.len()));
                BASE64.encode_mut(piece, characters);
                end.fill(b'\n');
            }
        }
    }
}
