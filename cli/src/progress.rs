//! Shows rate, total and remaining time on a terminal, and a summary at the end.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanDuration, ProgressBar, ProgressStyle};

const TICK: Duration = Duration::from_millis(100);

/// The amount written so far, with a bar if the user asked for it.
pub struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
}

impl Progress {
    pub fn hidden() -> Progress {
        Progress {
            bar: None,
            started: Instant::now(),
        }
    }

    /// Shows a bar that fills at `size` bytes, or a spinner for an endless stream.
    pub fn shown(size: Option<u64>) -> Progress {
        let (bar, template) = match size {
            Some(size) => (
                ProgressBar::new(size),
                "{bar:30} {percent:>3}%  {binary_bytes} of {binary_total_bytes}  \
                 {binary_bytes_per_sec}  {eta} left",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {binary_bytes}  {binary_bytes_per_sec}  {elapsed}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style);
        bar.enable_steady_tick(TICK);
        Progress {
            bar: Some(bar),
            started: Instant::now(),
        }
    }

    /// Counts `len` more random bytes as written.
    pub fn advance(&self, len: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(len);
        }
    }

    /// Replaces the bar by a line with the total and the rate.
    pub fn summarise(&self) {
        let Some(bar) = &self.bar else { return };
        let elapsed = self.started.elapsed();
        let written = bar.position();
        bar.finish_and_clear();
        let rate = written as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let time = match elapsed {
            long if long >= Duration::from_secs(60) => HumanDuration(long).to_string(),
            short => format!("{:.2} s", short.as_secs_f64()),
        };
        let line = format!(
            "{} in {time}, {}/s\n",
            BinaryBytes(written),
            BinaryBytes(rate as u64)
        );
        // An error means that standard error is closed: then nobody reads the line.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

impl Drop for Progress {
    /// Removes the bar, so that a message after it starts on a clean line.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
