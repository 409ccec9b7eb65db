//! Makes chunks of output, as bytes or as text, and moves them, in order, from the threads that make them to the thread
//! that writes them.
//!
//! If fewer threads can be started than would be used by default, these do the work.
//!
//! Thread `t` of `n` makes chunks `t`, `t + n`, `t + 2n` and so on. Each thread has its own channel to
//! the writer, which takes from the channels in turn, so chunks need no sorting. With one thread the
//! writer makes the chunks itself.
//!
//! At most two chunks per thread exist at a time. Their bytes were unique when they were made. If the
//! machine is cloned before they are written, both clones write the same bytes.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use data_encoding::{BASE64, HEXLOWER};
use squall::Error;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use zeroize::Zeroizing;

use crate::stream::args::Format;
use crate::stream::buffer::{self, Buffer, BufferSupply, Gift};
use crate::stream::source::{Reader, Source};

/// Maximum number of a thread's chunks that are not written yet.
const MAX_UNWRITTEN: usize = 2;

/// Memory that must be free to start a thread: 2 MiB of stack, and room for the allocations of threads
/// that are starting.
const THREAD_START_MEMORY: usize = 4 << 20;

#[derive(Clone, Copy)]
pub struct Threads {
    pub count: usize,
    /// Whether the user asked for so many, so that fewer are a failure.
    pub are_asked_for: bool,
}

/// Makes every chunk of `chunking`, each thread with a `new_maker`, and passes it to `write` in order; buffers that
/// `write` returns are reused. Ends at the first failure.
pub fn run(
    threads: Threads,
    new_maker: impl Fn() -> Result<ChunkMaker, Failure>,
    chunking: Chunking,
    supply: BufferSupply,
    mut write: impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<(), Failure> {
    let has_run = match threads.count {
        1 => false,
        count => {
            let makers = (0..count).map(|_| new_maker()).collect::<Result<_, _>>()?;
            run_threads(makers, threads.are_asked_for, chunking, supply, &mut write)?
        }
    };
    match has_run {
        true => Ok(()),
        false => run_in_this_thread(&mut new_maker()?, chunking, supply, write),
    }
}

fn run_in_this_thread(
    maker: &mut ChunkMaker,
    chunking: Chunking,
    supply: BufferSupply,
    mut write: impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<(), Failure> {
    let mut returned = None;
    for index in 0..chunking.chunks() {
        returned = write(index, make(maker, index, returned, supply)?)?;
    }
    Ok(())
}

/// The writer's ends of a thread's two channels.
struct ThreadChannels {
    made: Receiver<Result<Buffer, Failure>>,
    /// Each message lets the thread make one more chunk, in this buffer if there is one. None is sent
    /// before all threads have started, so chunks cannot take the memory that a start needs.
    returned: SyncSender<Option<Buffer>>,
}

/// Gives false if no thread could be started.
fn run_threads(
    makers: Vec<ChunkMaker>,
    are_asked_for: bool,
    chunking: Chunking,
    supply: BufferSupply,
    write: &mut impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<bool, Failure> {
    let wanted = makers.len();
    // How many have started, which is known before the first of them makes a chunk.
    let started = &OnceLock::new();
    thread::scope(|scope| {
        let mut channels = Vec::new();
        for (first, maker) in makers.into_iter().enumerate() {
            let indices = move || {
                let threads = *started.get().expect("all have started");
                (first as u64..chunking.chunks()).step_by(threads)
            };
            match start_thread(scope, maker, indices, supply) {
                Ok(channel) => channels.push(channel),
                // The channels are dropped, which ends the threads that have started.
                Err(error) if are_asked_for => {
                    return Err(Failure::Runtime(format!(
                        "threads: {} after {first} of {wanted} were started: use fewer --threads",
                        cause(&error)
                    )));
                }
                Err(_) => break,
            }
        }
        let threads = *started.get_or_init(|| channels.len());
        for channel in channels.iter().cycle().take(MAX_UNWRITTEN * threads) {
            let _ = channel.returned.send(None);
        }
        for (index, channel) in (0..chunking.chunks()).zip(channels.iter().cycle()) {
            let buffer = channel
                .made
                .recv()
                .expect("a thread makes all its chunks")?;
            // This fails after a thread's last chunk, when it takes nothing back.
            let _ = channel.returned.send(write(index, buffer)?);
        }
        Ok(threads > 0)
    })
}

/// Starts a thread that makes the chunks `indices`, which it asks for before the first.
fn start_thread<'scope, I: Iterator<Item = u64>>(
    scope: &'scope Scope<'scope, '_>,
    mut maker: ChunkMaker,
    indices: impl FnOnce() -> I + Send + 'scope,
    supply: BufferSupply,
) -> io::Result<ThreadChannels> {
    // In a thread without memory for its signal stack, the standard library panics or hangs. This is
    // mapped and unmapped instead of allocated, because the heap would keep it.
    drop(Gift::new(THREAD_START_MEMORY)?);
    let (send, made) = sync_channel(MAX_UNWRITTEN);
    let (returned, receive) = sync_channel(MAX_UNWRITTEN);
    thread::Builder::new().spawn_scoped(scope, move || {
        make_chunks(&mut maker, indices, supply, &send, &receive);
    })?;
    Ok(ThreadChannels { made, returned })
}

/// Makes a thread's chunks until all are made, one fails, or the writer has gone.
fn make_chunks<I: Iterator<Item = u64>>(
    maker: &mut ChunkMaker,
    indices: impl FnOnce() -> I,
    supply: BufferSupply,
    send: &SyncSender<Result<Buffer, Failure>>,
    returned: &Receiver<Option<Buffer>>,
) {
    let Ok(mut buffer) = returned.recv() else {
        return;
    };
    for index in indices() {
        let made = make(maker, index, buffer, supply);
        let has_failed = made.is_err();
        if send.send(made).is_err() || has_failed {
            return;
        }
        match returned.recv() {
            Ok(next) => buffer = next,
            Err(_) => return,
        }
    }
}

fn make(
    maker: &mut ChunkMaker,
    index: u64,
    buffer: Option<Buffer>,
    supply: BufferSupply,
) -> Result<Buffer, Failure> {
    let mut buffer = match buffer {
        Some(buffer) => buffer,
        None => supply.get().map_err(|error| buffer::no_memory(&error))?,
    };
    maker
        .make(index, &mut buffer)
        .map_err(|error| Failure::Runtime(error.to_string()))?;
    Ok(buffer)
}

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
