//! Transfers between memory and a target, several in flight: by io_uring, or by threads where the kernel refuses that.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::ring::Ring;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Write,
    Read,
}

/// A transfer of the first `len` bytes of `buffer`.
pub struct Transfer {
    pub buffer: Buffer,
    pub len: usize,
    /// Offset on the target, in bytes.
    pub offset: u64,
    pub direction: Direction,
}

/// A finished transfer, and how many of its bytes were transferred.
pub struct Finished {
    pub transfer: Transfer,
    pub result: io::Result<usize>,
}

/// Alignment of buffers in bytes. A page is more than any device requires.
const ALIGNMENT: usize = 4096;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; ALIGNMENT]);

/// Page-aligned bytes. They are not wiped: what is on a drive is no secret.
pub struct Buffer(Vec<Page>);

impl Buffer {
    /// Allocates at least `len` zero bytes.
    pub fn new(len: usize) -> Buffer {
        Buffer(bytemuck::zeroed_vec(len.div_ceil(ALIGNMENT)))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

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
