//! Measures Whirlwind's add-input without compression, which most calls are.
//!
//! Clocks are too coarse for one call: Zen's cycle counter moves in steps of 10 ns. But it is known
//! which calls compress: every tenth input goes to the slow buffer, the others go to the fast one, and
//! the input that fills a buffer compresses it. So all calls between two compressions are timed
//! together, and calls that compress are not timed.

use std::hint::black_box;
use std::time::Instant;

use squall::entropy::Input;
use squall::entropy::whirlwind::{Functions, Whirlwind, WithDaviesMeyer, WithSha256, WithSha512};
use squall_tools::measure::Peer;

use super::generators::{Generator, Peers, SOURCE, VALUES};

/// One of this many inputs goes to the slow buffer: the paper's d.
const SLOW_EVERY: u64 = 10;

/// An event without compression for each Whirlwind, from reading the cycle counter on.
pub fn events() -> Peers<'static> {
    vec![
        (Generator::WhirlwindSha512, event::<WithSha512>(8)),
        (Generator::WhirlwindSha256, event::<WithSha256>(4)),
        (Generator::WhirlwindDaviesMeyer, event::<WithDaviesMeyer>(8)),
    ]
}

/// `capacity` is a buffer's size in inputs.
fn event<F: Functions>(capacity: u64) -> Peer<'static> {
    let whirlwind = Whirlwind::<F>::default();
    let mut buffers = Buffers::new(capacity);
    let add = move || whirlwind.add(Input::now(SOURCE, black_box(VALUES)));
    Peer::self_timed(move |calls| buffers.mean(calls, |run| time(run, &add), &add))
}

/// Makes `calls` calls and returns their total time in nanoseconds.
fn time(calls: u64, call: impl Fn()) -> f64 {
    let before = Instant::now();
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    between(before, start, Instant::now())
}

/// Nanoseconds from `start` to `end`, less the time to read the clock, which is taken from `before` to
/// `start`.
fn between(before: Instant, start: Instant, end: Instant) -> f64 {
    (end - start).as_nanos() as f64 - (start - before).as_nanos() as f64
}

/// Tracks how full the buffers are of a new Whirlwind that one thread feeds.
struct Buffers {
    capacity: u64,
    inputs: u64,
    fast: u64,
    slow: u64,
}

impl Buffers {
    fn new(capacity: u64) -> Buffers {
        Buffers {
            capacity,
            inputs: 0,
            fast: 0,
            slow: 0,
        }
    }

    /// The mean time of at least `calls` inputs that do not compress. `time` makes and times a number
    /// of them; `compress` makes one that compresses.
    fn mean(&mut self, calls: u64, time: impl Fn(u64) -> f64, compress: impl Fn()) -> f64 {
        let (mut timed, mut nanoseconds) = (0, 0.0);
        while timed < calls {
            let run = self.inputs_until_full();
            nanoseconds += time(run);
            timed += run;
            compress();
        }
        nanoseconds / timed as f64
    }

    /// Counts the inputs up to and including the next one that fills a buffer. Returns how many come
    /// before it.
    fn inputs_until_full(&mut self) -> u64 {
        let before = self.inputs;
        while !self.input_fills_buffer() {}
        self.inputs - before - 1
    }

    fn input_fills_buffer(&mut self) -> bool {
        let buffer = match self.inputs % SLOW_EVERY {
            0 => &mut self.slow,
            _ => &mut self.fast,
        };
        *buffer = (*buffer + 1) % self.capacity;
        self.inputs += 1;
        *buffer == 0
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    #[test]
    fn of_80_inputs_10_fill_a_buffer() {
        let mut buffers = Buffers::new(8);
        let runs: Vec<u64> = (0..10).map(|_| buffers.inputs_until_full()).collect();
        assert_eq!(buffers.inputs, 80);
        // Inputs 0, 10, 20 and so on are the slow ones; number 70 fills their buffer.
        assert_eq!(runs, [8, 8, 8, 8, 8, 8, 8, 7, 0, 7]);
    }

    /// 70 inputs of 3 ns each are in ten runs, each followed by one that compresses.
    #[test]
    fn compressions_are_not_timed() {
        let (inputs, compressions) = (Cell::new(0), Cell::new(0));
        let time = |run| {
            inputs.set(inputs.get() + run);
            3.0 * run as f64
        };
        let compress = || compressions.set(compressions.get() + 1);
        assert_eq!(Buffers::new(8).mean(70, time, compress), 3.0);
        assert_eq!((inputs.get(), compressions.get()), (70, 10));
    }

    #[test]
    fn the_time_to_read_the_clock_is_subtracted() {
        let before = Instant::now();
        let start = before + Duration::from_nanos(20);
        let end = start + Duration::from_nanos(120);
        assert_eq!(between(before, start, end), 100.0);
    }

    #[test]
    fn a_run_has_the_requested_number_of_calls() {
        let calls = Cell::new(0);
        time(5, || calls.set(calls.get() + 1));
        assert_eq!(calls.get(), 5);
    }
}
