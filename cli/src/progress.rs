//! Shows how far a stream is, on standard error: a bar with rate and remaining time, lines where none can be drawn, or
//! numbers for programs.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use squall_tool_base::{terminal, units};

const TICK: Duration = Duration::from_millis(100);

/// Time between two numbers, and between two lines for people.
const NUMBER_INTERVAL: Duration = Duration::from_secs(1);
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// The amount written so far, shown as the user asked for it.
pub struct Progress {
    display: Display,
    written: Cell<u64>,
    started: Instant,
}

enum Display {
    Nothing,
    Bar(ProgressBar),
    Lines {
        /// The size of the stream; `None` if it is endless.
        size: Option<u64>,
        are_numbers: bool,
        next: Cell<Instant>,
    },
}

impl Progress {
    pub fn hidden() -> Progress {
        Progress::of(Display::Nothing)
    }

    /// A bar that fills at `size` bytes, or a spinner for an endless stream; lines where it cannot be drawn.
    pub fn bar(size: Option<u64>) -> Progress {
        if !terminal::can_draw() {
            return Progress::lines(size, false);
        }
        let (bar, template) = match size {
            Some(size) => (
                ProgressBar::new(size),
                "{bar:30} {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}  \
                 {decimal_bytes_per_sec}  {left} left",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A part of the bar that cannot be written is left out.
            let _ = out.write_str(&units::duration(state.eta().as_secs_f64()));
        };
        bar.set_style(
            style
                .with_key("left", left)
                .progress_chars(terminal::bar_characters())
                .tick_chars("-\\|/ "),
        );
        bar.enable_steady_tick(TICK);
        Progress::of(Display::Bar(bar))
    }

    /// A number in a line of its own, at most once a second and at the end: the percentage of `size`, or the
    /// bytes of an endless stream.
    pub fn numbers(size: Option<u64>) -> Progress {
        Progress::lines(size, true)
    }

    fn lines(size: Option<u64>, are_numbers: bool) -> Progress {
        let next = Cell::new(Instant::now() + interval(are_numbers));
        Progress::of(Display::Lines {
            size,
            are_numbers,
            next,
        })
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
            Display::Lines {
                size,
                are_numbers,
                next,
            } => {
                let now = Instant::now();
                if now >= next.get() {
                    next.set(now + interval(*are_numbers));
                    match (*are_numbers, *size) {
                        (true, size) => self.print_number(size),
                        (false, Some(size)) => {
                            self.print_total(&format!("{} %, ", self.percent(size)))
                        }
                        (false, None) => self.print_total(""),
                    }
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
                self.print_total("");
            }
            Display::Lines {
                size,
                are_numbers: true,
                ..
            } => self.print_number(*size),
            Display::Lines { .. } => self.print_total(""),
        }
    }

    fn print_total(&self, before: &str) {
        let elapsed = self.started.elapsed();
        let written = self.written.get();
        let rate = written as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let time = match elapsed {
            long if long >= Duration::from_secs(60) => units::duration(long.as_secs_f64()),
            short => format!("{:.2} s", short.as_secs_f64()),
        };
        let (volume, rate) = (units::volume(written), units::rate(rate));
        print(&format!("{before}{volume} in {time}, {rate}\n"));
    }

    fn print_number(&self, size: Option<u64>) {
        let number = size.map_or(self.written.get(), |size| self.percent(size));
        print(&format!("{number}\n"));
    }

    fn percent(&self, size: u64) -> u64 {
        match size {
            0 => 100,
            _ => (u128::from(self.written.get()) * 100 / u128::from(size)) as u64,
        }
    }
}

fn interval(are_numbers: bool) -> Duration {
    match are_numbers {
        true => NUMBER_INTERVAL,
        false => LINE_INTERVAL,
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
