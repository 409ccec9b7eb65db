//! A run: how much is measured, how far it is, and whether its user wants it to end.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use squall_tool_base::measure::Orders;
use squall_tool_base::{Interrupt, terminal};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Seconds: fewer rounds, fewer lengths, no more than a tenth of the long experiments.
    Quick,
    /// Everything.
    Full,
}

impl Effort {
    pub fn name(self) -> &'static str {
        self.choose("quick", "full")
    }

    pub fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// A run under way. Steps announce how long they will take, which is what the bar counts.
#[derive(Debug)]
pub struct Session {
    pub effort: Effort,
    /// The orders of rounds, which go on from one workload to the next.
    pub orders: RefCell<Orders>,
    interrupt: Interrupt,
    bar: ProgressBar,
    began: Instant,
    /// When the step began, how long it is expected to take, and all before it.
    step: (Instant, Duration, Duration),
}

impl Session {
    /// Begins a run that is expected to take so long, with a progress bar if that can be seen.
    pub fn begin(effort: Effort, expected: Duration, interrupt: Interrupt) -> Session {
        let template = "{bar:30} {percent:>3}%  {msg}, {prefix} left";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let style = style.progress_chars(terminal::bar_characters());
        let began = Instant::now();
        Session {
            effort,
            orders: RefCell::default(),
            interrupt,
            bar: ProgressBar::new(expected.as_millis() as u64).with_style(style),
            began,
            step: (began, Duration::ZERO, Duration::ZERO),
        }
    }

    /// Begins a step that is expected to take so long, under this name.
    pub fn step(&mut self, name: &str, expected: Duration) {
        let (_, last, before) = self.step;
        self.bar.set_message(name.to_owned());
        self.step = (Instant::now(), expected, before + last);
        self.tick();
    }

    /// Moves the progress bar. Never called while something is timed.
    pub fn tick(&self) {
        let (began, expected, before) = self.step;
        let at = (before + began.elapsed().min(expected)).as_millis() as u64;
        let left = self.bar.length().unwrap_or(0).saturating_sub(at);
        self.bar.set_prefix(format!("{} s", left.div_ceil(1000)));
        self.bar.set_position(at);
    }

    /// Whether the user has interrupted it.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_noted()
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Session {
    /// Leaves the terminal clean for what is printed next.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
