//! `squall stream`: takes bytes from a source, encodes them, and writes them to a sink.
//!
//! The output is divided into chunks. Each thread makes whole chunks, which are written in order.
//! All checks that can fail run before the output is touched.

pub mod args;
mod buffer;
mod output;
mod pump;
mod source;

use std::io::IsTerminal;
use std::num::NonZeroU64;
use std::path::Path;
use std::thread;

use crate::progress::Progress;
use args::{Format, StreamArguments};
use buffer::BufferSupply;
use output::Sink;
use pump::{ChunkMaker, Chunking, Threads};
use source::Source;
use squall_tool_base::Failure;
use squall_tool_base::pace::Pace;

/// Random bytes in a chunk that is given to a pipe: one huge page of x86-64 and most ARMv8.
const GIFT_CHUNK: usize = 2 << 20;

/// Random bytes in a chunk that the writing thread makes itself, so that it stays in the CPU's L2
/// cache. With pipes, 128 KiB to 512 KiB measured the same, and 64 KiB a tenth slower.
const OWN_CHUNK: usize = 128 << 10;

/// Random bytes in a chunk that one thread passes to another. Passing costs microseconds, so it must
/// be rare. Measured with two threads to /dev/null: 256 KiB give 17 GB/s, 1 MiB 24 GB/s, 2 MiB
/// 27 GB/s, 4 MiB 28 GB/s.
const SHARED_CHUNK: usize = 2 << 20;

/// The most threads without --threads: faster than any file, with 96 MiB of chunks.
const DEFAULT_THREADS_MAX: usize = 16;

/// Random bytes in a chunk of text: whole lines of base64.
const TEXT_CHUNK: usize = 4096 * pump::LINE_BYTES;

pub fn run(options: StreamArguments) -> Result<(), Failure> {
    let output = options
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    if let (Some(seed_file), Some(output)) = (options.seed_file.as_deref(), output) {
        refuse_the_seed_file(seed_file, output)?;
    }
    check_offset(&options)?;
    if options.size.is_none() {
        output::refuse_an_endless_file(output)?;
    }
    let source = Source::new(
        options.engine,
        options.seed.as_ref(),
        options.seed_file.as_deref(),
    )?;
    if output.is_none() && options.format == Format::Raw && !options.force {
        refuse_a_terminal()?;
    }
    // Other paths to a drive stay claimed until the end.
    let ((file, _other_paths), name) = match output {
        Some(path) => (
            output::open(path, options.format, &options.consent)?,
            path.display().to_string(),
        ),
        None => (
            (output::standard_output(&options.consent)?, None),
            "standard output".to_owned(),
        ),
    };
    transfer(&options, &source, Sink::new(file, name))
}

/// Copies `source` to `sink`, with progress if the user asked for it.
fn transfer(options: &StreamArguments, source: &Source, mut sink: Sink) -> Result<(), Failure> {
    let (chunking, threads, supply) = plan(options, &sink);
    let new_maker = || ChunkMaker::new(source, options.format, chunking);
    let progress = match (options.progress, options.numeric) {
        (true, _) => Progress::bar(options.size),
        (_, true) => Progress::numbers(options.size),
        _ => Progress::hidden(),
    };
    let mut pace = Pace::new(options.rate_limit);
    let written = pump::run(threads, new_maker, chunking, supply, |index, buffer| {
        let len = chunking.len(index);
        pace.wait(len, || false);
        let returned = sink.write(buffer)?;
        progress.advance(len as u64);
        Ok(returned)
    });
    let result = written.and_then(|()| sink.sync());
    if matches!(result, Ok(()) | Err(Failure::Closed)) {
        progress.summarise();
    }
    result
}

/// Fails if there is no seed whose stream has this offset, or if that stream ends before the output would.
fn check_offset(options: &StreamArguments) -> Result<(), Failure> {
    let Some(offset) = options.offset else {
        return Ok(());
    };
    if options.seed.is_none() && options.seed_file.is_none() {
        return Err(Failure::Usage(
            "--offset: without a seed the bytes are new every time: add --seed-file or --seed"
                .to_owned(),
        ));
    }
    if offset.checked_add(options.size.unwrap_or(0)).is_some() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--offset: the stream of a seed ends at 16 EiB: at this offset use a --size of at most {}",
        u64::MAX - offset
    )))
}

fn refuse_a_terminal() -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        Err(Failure::Runtime(
            "standard output is a terminal: not writing raw bytes there: use --output, a pipe, \
             --format hex, or --force"
                .to_owned(),
        ))
    } else {
        Ok(())
    }
}

/// Fails if the seed file and the output are the same file, which opening the output would empty.
fn refuse_the_seed_file(seed_file: &Path, output: &Path) -> Result<(), Failure> {
    let seed_stat = if seed_file == Path::new("-") {
        rustix::fs::fstat(std::io::stdin())
    } else {
        rustix::fs::stat(seed_file)
    };
    // A missing file is no error here; opening it later reports the error.
    let (Ok(seed), Ok(out)) = (seed_stat, rustix::fs::stat(output)) else {
        return Ok(());
    };
    if (seed.st_dev, seed.st_ino) == (out.st_dev, out.st_ino) {
        Err(Failure::Usage(format!(
            "--output: {} is the seed file, which would be lost: write to another file",
            output.display()
        )))
    } else {
        Ok(())
    }
}

/// Random bytes in a chunk at a limited rate: a tenth of a second of whole lines of base64.
fn chunk_of_limited(limit: NonZeroU64) -> usize {
    let lines = limit.get() / 10 / pump::LINE_BYTES as u64;
    (lines.max(1) as usize).saturating_mul(pump::LINE_BYTES)
}

/// The division of the work.
fn plan(options: &StreamArguments, sink: &Sink) -> (Chunking, Threads, BufferSupply) {
    let is_raw = options.format == Format::Raw;
    let is_long_enough = options.size.is_none_or(|size| size >= GIFT_CHUNK as u64);
    let is_limited = options.rate_limit.is_some();
    let uses_gifts = is_raw && is_long_enough && !is_limited && sink.takes_gifts();
    let wanted_threads = options.threads.unwrap_or_else(|| {
        if is_raw && sink.is_pipe() {
            1
        } else {
            thread::available_parallelism()
                .map_or(1, usize::from)
                .min(DEFAULT_THREADS_MAX)
        }
    });
    let chunk = match (is_raw, uses_gifts, wanted_threads) {
        (false, ..) => TEXT_CHUNK,
        (true, true, _) => GIFT_CHUNK,
        (true, false, 1) => OWN_CHUNK,
        (true, false, _) => SHARED_CHUNK,
    };
    let chunk = match options.rate_limit {
        Some(limit) => chunk_of_limited(limit).min(chunk),
        None => chunk,
    };
    let chunk = match options.size {
        Some(size) if size < chunk as u64 => size.max(1) as usize,
        _ => chunk,
    };
    let chunking = Chunking::new(options.offset.unwrap_or(0), options.size, chunk);
    let threads = Threads {
        count: chunking.chunks().clamp(1, wanted_threads as u64) as usize,
        are_asked_for: options.threads.is_some(),
    };
    let supply = BufferSupply {
        len: pump::encoded_len(options.format, chunk, true),
        uses_gifts,
    };
    (chunking, threads, supply)
}
