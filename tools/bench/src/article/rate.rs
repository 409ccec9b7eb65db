//! The second program: reads of 32 bytes, until a timer fires.
//!
//! Go's timer is a channel that is asked before each read; std's is asked the same way here.

use std::hint::black_box;
use std::io::{self, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// What bufio.NewReader has.
const BUFFER: usize = 4096;

/// Nanoseconds a read by `fill`, for so long.
pub(super) fn run(fill: fn(&mut [u8]), slice: Duration) -> f64 {
    let mut reader = BufReader::with_capacity(BUFFER, Filled(fill));
    let mut out = [0; super::READ as usize];
    let mut read = 0;
    let clock = Instant::now();
    let end = after(slice);
    while end.try_recv().is_err() {
        read += reader
            .read(black_box(&mut out))
            .expect("bytes without an end");
    }
    clock.elapsed().as_nanos() as f64 * out.len() as f64 / read as f64
}

/// A channel that has something after `time`.
fn after(time: Duration) -> Receiver<()> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        thread::sleep(time);
        sender.send(())
    });
    receiver
}

struct Filled(fn(&mut [u8]));

impl Read for Filled {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (self.0)(out);
        Ok(out.len())
    }
}
