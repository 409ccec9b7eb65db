//! Moves chunks from the threads that make them to the one that writes them, in order.
//!
//! Thread `t` of `n` makes chunks `t`, `t + n`, `t + 2n` and so on, and has a lane of its own to
//! the writer, which takes from the lanes in turn: no chunk ever waits to be sorted. With one
//! thread the writer makes the chunks itself.
//!
//! At most two chunks a thread exist at a time. They hold bytes that were unique when they were
//! made: should the machine be cloned in between, both clones write these.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::buffer::{Buffer, Supply};
use super::maker::{Cut, Maker};
use crate::failure::{Failure, cause};

/// Chunks a thread may have made that are not written yet.
const AHEAD: usize = 2;

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
        _ => run_lanes(makers, cut, supply, write),
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
struct Lane {
    made: Receiver<Result<Buffer, Failure>>,
    returned: SyncSender<Option<Buffer>>,
}

fn run_lanes(
    makers: Vec<Maker>,
    cut: Cut,
    supply: Supply,
    mut write: impl FnMut(u64, Buffer) -> Result<Option<Buffer>, Failure>,
) -> Result<(), Failure> {
    let threads = makers.len();
    thread::scope(|scope| {
        let lanes: Vec<_> = makers
            .into_iter()
            .enumerate()
            .map(|(first, mut maker)| {
                let (send, made) = sync_channel(AHEAD);
                let (returned, receive) = sync_channel(AHEAD);
                let indices = (first as u64..cut.chunks()).step_by(threads);
                scope.spawn(move || fill_lane(&mut maker, indices, supply, &send, &receive));
                Lane { made, returned }
            })
            .collect();
        for (index, lane) in (0..cut.chunks()).zip(lanes.iter().cycle()) {
            let buffer = lane.made.recv().expect("a thread makes all its chunks")?;
            // A thread that has made its last chunk takes nothing back.
            let _ = lane.returned.send(write(index, buffer)?);
        }
        Ok(())
    })
}

/// Makes a thread's chunks until all are made, one fails, or the writer has left.
fn fill_lane(
    maker: &mut Maker,
    indices: impl Iterator<Item = u64>,
    supply: Supply,
    send: &SyncSender<Result<Buffer, Failure>>,
    returned: &Receiver<Option<Buffer>>,
) {
    for (nth, index) in indices.enumerate() {
        let buffer = match nth < AHEAD {
            true => None,
            false => match returned.recv() {
                Ok(buffer) => buffer,
                Err(_) => return,
            },
        };
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
        None => supply
            .get()
            .map_err(|error| Failure::Runtime(format!("memory: {}", cause(&error))))?,
    };
    maker
        .make(index, &mut buffer)
        .map_err(|error| Failure::Runtime(error.to_string()))?;
    Ok(buffer)
}
