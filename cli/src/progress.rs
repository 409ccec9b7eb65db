//! Shows how far a stream is, on standard error: a bar with rate and remaining time, or numbers for programs.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use squall_tools::units;

const TICK: Duration = Duration::from_millis(100);

/// Time between two numbers.
const NUMBER_INTERVAL: Duration = Duration::from_secs(1);

/// The amount written so far, shown as the user asked for it.
pub struct Progress {
    display: Display,
    written: Cell<u64>,
    started: Instant,
}

enum Display {
    Nothing,
    Bar(ProgressBar),
    Numbers {
        /// The size of the stream; `None` if it is endless.
        size: Option<u64>,
        next: Cell<Instant>,
    },
}

impl Progress {
    pub fn hidden() -> Progress {
        Progress::of(Display::Nothing)
    }

    /// A bar that fills at `size` bytes, or a spinner for an endless stream.
    pub fn bar(size: Option<u64>) -> Progress {
        let (bar, template) = match size {
            Some(size) => (
                ProgressBar::new(size),
                "{bar:30} {percent:>3}%  {decimal_bytes} of {decimal_total_bytes}  \
                 {decimal_bytes_per_sec}  {eta} left",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style);
        bar.enable_steady_tick(TICK);
        Progress::of(Display::Bar(bar))
    }

    /// A number in a line of its own, at most once a second and at the end: the percentage of `size`, or the
    /// bytes of an endless stream.
    pub fn numbers(size: Option<u64>) -> Progress {
        let next = Cell::new(Instant::now() + NUMBER_INTERVAL);
        Progress::of(Display::Numbers { size, next })
    }

    fn of(display: Display) -> Progress {
        Progress {
            display,
            written: Cell::new(0),
            started: Instant::now(),
        }
    }

    /// Counts `len` more random bytes as written.
    pub fn advance(&self, len: u64) {
        self.written.set(self.written.get() + len);
        match &self.display {
            Display::Nothing => {}
            Display::Bar(bar) => bar.inc(len),
            Display::Numbers { size, next } => {
                let now = Instant::now();
                if now >= next.get() {
                    next.set(now + NUMBER_INTERVAL);
                    self.print_number(*size);
                }
            }
        }
    }

    /// Shows the end: replaces a bar by a line with the total and the rate.
    pub fn summarise(&self) {
        match &self.display {
            Display::Nothing => {}
            Display::Bar(bar) => {
                bar.finish_and_clear();
                self.print_total();
            }
            Display::Numbers { size, .. } => self.print_number(*size),
        }
    }

    fn print_total(&self) {
        let elapsed = self.started.elapsed();
        let written = self.written.get();
        let rate = written as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let time = match elapsed {
            long if long >= Duration::from_secs(60) => HumanDuration(long).to_string(),
            short => format!("{:.2} s", short.as_secs_f64()),
        };
        let (volume, rate) = (units::volume(written), units::rate(rate));
        print(&format!("{volume} in {time}, {rate}\n"));
    }

    fn print_number(&self, size: Option<u64>) {
        let written = self.written.get();
        let number = match size {
            Some(0) => 100,
            Some(size) => (u128::from(written) * 100 / u128::from(size)) as u64,
            None => written,
        };
        print(&format!("{number}\n"));
    }
}

/// Prints to standard error. An error means that it is closed: then nobody reads it.
fn print(line: &str) {
    let _ = io::stderr().write_all(line.as_bytes());
}

impl Drop for Progress {
    /// Removes the bar, so that a message after it starts on a clean line.
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}
