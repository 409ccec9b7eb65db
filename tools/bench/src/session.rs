//! A run: how much is measured, how far it is, and whether its user wants it to end.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use squall_tools::Interrupt;
use squall_tools::measure::Orders;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: fewer rounds, fewer lengths, no more than a tenth of the long experiments.
    Quick,
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
    step: Option<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    began: Instant,
    expected: Duration,
    /// Where the bar stood when it began.
    from: Duration,
}

impl Session {
    /// Begins a run that is expected to take so long, with a progress bar if it is `shown`.
    pub fn begin(effort: Effort, expected: Duration, interrupt: Interrupt, shown: bool) -> Session {
        let bar = if shown {
            ProgressBar::new(expected.as_millis() as u64)
        } else {
            ProgressBar::hidden()
        };
        let template = "{bar:30} {percent:>3}%  {msg}, {prefix} left";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        Session {
            effort,
            orders: RefCell::default(),
            interrupt,
            bar,
            began: Instant::now(),
            step: None,
        }
    }

    /// Begins a step that is expected to take so long, under this name.
    pub fn step(&mut self, name: &str, expected: Duration) {
        let from = match self.step {
            Some(last) => last.from + last.expected,
            None => Duration::ZERO,
        };
        self.bar.set_message(name.to_owned());
        self.step = Some(Step {
            began: Instant::now(),
            expected,
            from,
        });
        self.tick();
    }

    /// Moves the progress bar. Never called while something is timed.
    pub fn tick(&self) {
        let Some(step) = self.step else { return };
        let within = step.began.elapsed().min(step.expected);
        let at = (step.from + within).as_millis() as u64;
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

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Session {
    /// Leaves the terminal clean for what is said next.
    fn drop(&mut self) {
        self.end();
    }
}
