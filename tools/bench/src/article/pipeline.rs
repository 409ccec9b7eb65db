//! The first program: ten threads make strings and hand them to ten others.
//!
//! Go's channel is for any number of producers and consumers and holds nothing: who sends waits for
//! who receives. std's are for one consumer; crossbeam's of no capacity is the same. What differs
//! is what waits: a goroutine is put aside by Go's scheduler, and a thread by the kernel, which
//! takes longer.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use squall_tools::Failure;

/// How many produce, and how many consume.
pub(super) const PARTIES: usize = 10;

/// What the length of a string is below.
const BOUND: u32 = 10_000;

/// What a consumer has received.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    values: u64,
    letters: u64,
}

/// Nanoseconds a string, of ten times `each` by `fill`.
pub(super) fn run(fill: fn(&mut [u8]), each: u64) -> Result<f64, Failure> {
    let (sender, receiver) = bounded(0);
    let start = Barrier::new(2 * PARTIES + 1);
    let start = &start;
    let (elapsed, received) = thread::scope(|scope| {
        for _ in 0..PARTIES {
            let sender = sender.clone();
            scope.spawn(move || produce(&sender, fill, each, start));
        }
        let consume = || consume(&receiver, start);
        let consumers: Vec<_> = (0..PARTIES).map(|_| scope.spawn(consume)).collect();
        drop(sender);
        // Once all are there, before any begins.
        start.wait();
        let clock = Instant::now();
        start.wait();
        let joined = consumers
            .into_iter()
            .map(|thread| thread.join().expect("a consumer ends"));
        let received = joined.fold(Received::default(), |sum, one| Received {
            values: sum.values + one.values,
            letters: sum.letters + one.letters,
        });
        (clock.elapsed(), received)
    });
    match received.values == each * PARTIES as u64 && received.is_plausible() {
        true => Ok(elapsed.as_nanos() as f64 / received.values as f64),
        false => {
            let text = "strings are missing, or not of random lengths";
            Err(Failure::Runtime(text.into()))
        }
    }
}

fn produce(sender: &Sender<Vec<u8>>, fill: fn(&mut [u8]), each: u64, start: &Barrier) {
    start.wait();
    start.wait();
    for _ in 0..each {
        sender
            .send(text(fill))
            .expect("consumers outlive producers");
    }
}

fn consume(receiver: &Receiver<Vec<u8>>, start: &Barrier) -> Received {
    let mut received = Received::default();
    start.wait();
    start.wait();
    for value in receiver {
        received.values += 1;
        received.letters += value.len() as u64;
    }
    received
}

/// A string: its length is drawn, and then all its letters at once.
fn text(fill: fn(&mut [u8])) -> Vec<u8> {
    let mut length = [0; 4];
    fill(&mut length);
    let mut text = vec![0; (u32::from_le_bytes(length) % BOUND) as usize];
    fill(&mut text);
    for letter in &mut text {
        *letter = b'A' + *letter % 26;
    }
    text
}

impl Received {
    /// Whether strings have about as many letters as they should; of a few, anything is.
    fn is_plausible(self) -> bool {
        let mean = self.letters as f64 / self.values as f64;
        let expected = f64::from(BOUND) / 2.0;
        self.values < 1000 || (0.8 * expected..1.2 * expected).contains(&mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_of_letters() {
        let texts: Vec<Vec<u8>> = (0..100).map(|_| text(squall::fill)).collect();
        assert!(texts.iter().flatten().all(u8::is_ascii_uppercase));
        assert!(texts.iter().all(|text| text.len() < BOUND as usize));
        assert_ne!(texts[0], texts[1]);
        for letter in b'A'..=b'Z' {
            assert!(texts.iter().flatten().any(|&found| found == letter));
        }
    }

    #[test]
    fn a_source_that_gives_the_same_bytes_is_caught() {
        assert!(run(squall::fill, 100).is_ok());
        assert!(run(|out| out.fill(0), 100).is_err());
    }
}
