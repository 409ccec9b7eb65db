//! Transfers by threads, where there is no io_uring. Each thread does one transfer at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::transfer::{Direction, Finished, Transfer};

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
