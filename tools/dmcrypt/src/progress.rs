//! A progress bar on standard error, shown only on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use squall_tools::terminal;

/// A progress bar, removed when dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// Shows a bar of `steps` steps, labelled `title`.
    pub fn begin(steps: u64, title: String) -> Progress {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{prefix}: {percent}% {wide_bar} {msg:<24} {eta}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars(terminal::bar_characters()));
        }
        bar.set_prefix(title);
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress(bar)
    }

    /// Moves the bar to `steps` finished steps; `what` names the last one.
    pub fn reach(&self, steps: u64, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.set_position(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
