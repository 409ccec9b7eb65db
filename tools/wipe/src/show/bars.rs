//! Lines with bars at the bottom of a terminal, no wider than it.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line, with a bar if it has a progress: so much of so much.
pub struct Line {
    pub text: String,
    pub progress: Option<(u64, u64)>,
}

/// The lines that are shown, until they are dropped.
pub struct Bars {
    all: MultiProgress,
    lines: Vec<ProgressBar>,
    characters: &'static str,
}

impl Bars {
    pub fn on(target: ProgressDrawTarget, characters: &'static str) -> Bars {
        Bars {
            all: MultiProgress::with_draw_target(target),
            lines: Vec::new(),
            characters,
        }
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Shows these lines in place of those before.
    pub fn show(&mut self, lines: &[Line]) {
        while self.lines.len() > lines.len() {
            let last = self.lines.pop();
            last.iter().for_each(|bar| self.all.remove(bar));
        }
        while self.lines.len() < lines.len() {
            self.lines.push(self.all.add(ProgressBar::no_length()));
        }
        for (bar, Line { text, progress }) in self.lines.iter().zip(lines) {
            let template = match progress {
                Some(_) => "{bar:10}  {wide_msg}",
                None => "{wide_msg}",
            };
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            let (done, total) = progress.unwrap_or_default();
            bar.set_style(style.progress_chars(self.characters));
            bar.set_length(total.max(1));
            bar.set_position(done);
            bar.set_message(text.clone());
        }
    }

    pub fn print(&self, line: &str) {
        // A line that cannot be shown is lost.
        let _ = self.all.println(line);
    }

    /// Does `work`, which writes to the terminal.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.all.suspend(work)
    }

    /// Removes the lines until they are shown again.
    pub fn hide(&self) {
        let _ = self.all.clear();
    }

    /// Removes the lines, so that others can follow.
    pub fn clear(&self) {
        self.lines.iter().for_each(ProgressBar::finish_and_clear);
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.clear();
    }
}
