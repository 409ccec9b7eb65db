//! Several transfers in flight: by io_uring, or by threads where the kernel refuses that.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::{Deserialize, Serialize};

use super::ring::Ring;
use super::transfer::{Direction, Finished, Transfer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum QueueKind {
    /// The kernel's io_uring.
    #[serde(rename = "io_uring")]
    Ring,
    /// Threads that block on one transfer each.
    #[serde(rename = "threads")]
    Threads,
}

/// Transfers in flight. They finish in any order.
pub enum Queue {
    Ring(Box<Ring>),
    /// Threads, each of which waits for one transfer.
    Threads(Threads),
}

impl Queue {
    /// Opens a queue for `depth` transfers with `file`. `waits` says that the kernel would do
    /// transfers during submission and not in the background, as it does through the page cache.
    pub fn open(file: Arc<File>, depth: usize, waits: bool) -> io::Result<Queue> {
        match Ring::open(file.clone(), depth, waits) {
            Ok(ring) => Ok(Queue::Ring(Box::new(ring))),
            Err(_) => Threads::start(file, depth).map(Queue::Threads),
        }
    }

    pub fn kind(&self) -> QueueKind {
        match self {
            Queue::Ring(_) => QueueKind::Ring,
            Queue::Threads(_) => QueueKind::Threads,
        }
    }

    /// Starts a transfer. No more than `depth` may be in flight.
    pub fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        match self {
            Queue::Ring(ring) => ring.submit(transfer),
            Queue::Threads(threads) => threads.submit(transfer),
        }
    }

    /// Waits for the next transfer to finish; `None` if none is in flight.
    pub fn wait(&mut self) -> io::Result<Option<Finished>> {
        match self {
            Queue::Ring(ring) => ring.wait(),
            Queue::Threads(threads) => threads.wait(),
        }
    }
}

/// The threads and the transfers in flight. When this is dropped, the threads finish their
/// transfers and end.
pub struct Threads {
    to_do: Sender<Transfer>,
    done: Receiver<Finished>,
    in_flight: usize,
}

impl Threads {
    pub fn start(file: Arc<File>, depth: usize) -> io::Result<Threads> {
        let (to_do, work) = channel();
        let (finish, done) = channel();
        let work = Arc::new(Mutex::new(work));
        for _ in 0..depth {
            let (file, work, finish) = (file.clone(), work.clone(), finish.clone());
            thread::Builder::new()
                .name("transfers".into())
                .spawn(move || serve(&file, &work, &finish))?;
        }
        Ok(Threads {
            to_do,
            done,
            in_flight: 0,
        })
    }

    pub fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        let sent = self.to_do.send(transfer);
        sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
        self.in_flight += 1;
        Ok(())
    }

    /// Waits for the next transfer to finish; `None` if none is in flight.
    pub fn wait(&mut self) -> io::Result<Option<Finished>> {
        if self.in_flight == 0 {
            return Ok(None);
        }
        let finished = self.done.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
        self.in_flight -= 1;
        Ok(Some(finished))
    }
}

fn serve(file: &File, work: &Mutex<Receiver<Transfer>>, finish: &Sender<Finished>) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut transfer) = next else { return };
        let bytes = &mut transfer.buffer[..transfer.len];
        let result = match transfer.direction {
            Direction::Write => file.write_at(bytes, transfer.offset),
            Direction::Read => file.read_at(bytes, transfer.offset),
        };
        if finish.send(Finished { transfer, result }).is_err() {
            return;
        }
    }
}
