//! Moves chunks from the threads that make them to the one that writes them, in order.
//!
//! Thread `t` of `n` makes chunks `t`, `t + n`, `t + 2n` and so on, and has a channel of its own to
//! the writer, which takes from the channels in turn: no chunk ever waits to be sorted. With one
//! thread the writer makes the chunks itself.
//!
//! At most two chunks a thread exist at a time. They hold bytes that were unique when they were
//! made: should the machine be cloned in between, both clones write these.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use squall_tools::Failure;
use squall_tools::failure::cause;

use super::buffer::{self, Buffer, Supply};
use super::gift::Gift;
use super::maker::{Cut, Maker};

/// Chunks a thread may have made that are not written yet.
const AHEAD: usize = 2;

/// Memory that must be free for a thread to start: 2 MiB of stack, and room for what it and those
/// that are still starting take.
const START_ROOM: usize = 4 << 20;

/// Makes every chunk of `cut` and passes it to `write` in order; what `write` gives back is used
/// again. Ends at the first failure.
pub fn run(
    mut makers: Vec<Maker>,
    cut: Cut,
    supply: Supply,
    write: impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<(), Failure> {
    match makers.as_mut_slice() {
        [maker] => run_alone(maker, cut, supply, write),
        _ => run_threads(makers, cut, supply, write),
    }
}

fn run_alone(
    maker: &mut Maker,
    cut: Cut,
    supply: Supply,
    mut write: impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<(), Failure> {
    let mut returned = None;
    for index in 0..cut.chunks() {
        returned = write(index, make(maker, index, returned, supply)?)?;
    }
    Ok(())
}

/// The writer's ends of a thread's two channels.
struct ThreadChannels {
    made: Receiver<Result<Buffer, Failure>>,
    /// What allows the thread to make one chunk more, in this buffer if there is one. Nothing is
    /// allowed before all threads were started: memory that chunks took could not start one.
    returned: SyncSender<Option<Buffer>>,
}

fn run_threads(
    makers: Vec<Maker>,
    cut: Cut,
    supply: Supply,
    mut write: impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<(), Failure> {
    let threads = makers.len();
    thread::scope(|scope| {
        let channels: Vec<_> = makers
            .into_iter()
            .enumerate()
            .map(|(first, maker)| {
                let indices = (first as u64..cut.chunks()).step_by(threads);
                start_thread(scope, maker, indices, supply).map_err(|error| {
                    Failure::Runtime(format!(
                        "threads: {} after {first} of {threads} were started: use fewer --threads",
                        cause(&error)
                    ))
                })
            })
            // At a failure the channels are dropped, which ends the threads that were started.
            .collect::<Result<_, _>>()?;
        for channel in channels.iter().cycle().take(AHEAD * threads) {
            let _ = channel.returned.send(None);
        }
        for (index, channel) in (0..cut.chunks()).zip(channels.iter().cycle()) {
            let buffer = channel
                .made
                .recv()
                .expect("a thread makes all its chunks")?;
            // A thread that has made its last chunk takes nothing back.
            let _ = channel.returned.send(write(index, buffer)?);
        }
        Ok(())
    })
}

/// Starts a thread that makes the chunks `indices`.
fn start_thread<'scope>(
    scope: &'scope Scope<'scope, '_>,
    mut maker: Maker,
    indices: impl Iterator<Item = u64> + Send + 'scope,
    supply: Supply,
) -> io::Result<ThreadChannels> {
    // The standard library panics, or hangs, in a thread that finds no memory for its signal stack.
    // Mapped and unmapped, not allocated: the heap would keep it.
    drop(Gift::new(START_ROOM)?);
    let (send, made) = sync_channel(AHEAD);
    let (returned, receive) = sync_channel(AHEAD);
    thread::Builder::new().spawn_scoped(scope, move || {
        make_chunks(&mut maker, indices, supply, &send, &receive);
    })?;
    Ok(ThreadChannels { made, returned })
}

/// Makes a thread's chunks until all are made, one fails, or the writer has left.
fn make_chunks(
    maker: &mut Maker,
    indices: impl Iterator<Item = u64>,
    supply: Supply,
    send: &SyncSender<Result<Buffer, Failure>>,
    returned: &Receiver<Option<Buffer>>,
) {
    for index in indices {
        let Ok(buffer) = returned.recv() else { return };
        let made = make(maker, index, buffer, supply);
        let has_failed = made.is_err();
        if send.send(made).is_err() || has_failed {
            return;
        }
    }
}

fn make(
    maker: &mut Maker,
    index: u64,
    buffer: Option<Buffer>,
    supply: Supply,
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
