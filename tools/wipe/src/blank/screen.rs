//! Shows how far the reading of each target is.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::Timestamp;
use squall_drives::io::Device;
use squall_drives::{Target, shown};
use squall_tools::{terminal, units};

use crate::progress::Progress;
use crate::show::meter::Meter;
use crate::show::tell;
use crate::text;

/// Time between two lines about a target where there are no bars.
const INTERVAL: Duration = Duration::from_secs(30);

/// A bar for each target on a terminal that can show it; lines with times elsewhere.
pub struct Screen {
    /// Lines are printed while it is suspended.
    pub all: MultiProgress,
    bars: Vec<(ProgressBar, Meter, String)>,
    began: Instant,
    /// The age at which lines are due; `None` if there are bars.
    next: Option<Duration>,
}

impl Screen {
    pub fn new(opened: &[(Target, Device)]) -> Screen {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{bar:10}  {wide_msg}");
        let style = style
            .expect("the template is valid")
            .progress_chars(terminal::bar_characters());
        let bar = |(target, _): &(Target, Device)| {
            let bar = all.add(ProgressBar::new(1).with_style(style.clone()));
            let mut meter = Meter::default();
            meter.begin(Duration::ZERO, 0);
            let name = target.identity.path.file_name().unwrap_or_default();
            (bar, meter, shown(name.as_ref()))
        };
        let bars = opened.iter().map(bar).collect();
        let began = Instant::now();
        let next = (!terminal::can_draw()).then_some(INTERVAL);
        Screen {
            all,
            bars,
            began,
            next,
        }
    }

    /// Shows how far each target is, also in lines of their own if the user `has_asked`.
    pub fn show<'p>(&mut self, progress: impl Iterator<Item = &'p Progress>, has_asked: bool) {
        let mut told = String::new();
        let age = self.began.elapsed();
        for ((bar, meter, name), progress) in self.bars.iter_mut().zip(progress) {
            let reading = progress.read();
            if bar.is_finished() || reading.total == 0 {
                continue;
            }
            meter.feed(age, reading.moved);
            let left = meter.left(reading.total.saturating_sub(reading.done));
            let mut parts = vec![
                name.clone(),
                format!("{} %", text::percent(reading.done, reading.total)),
            ];
            parts.extend(meter.now().map(units::rate));
            parts.extend(left.text());
            told += &format!("{:.0} {}\n", Timestamp::now(), parts.join(", "));
            bar.set_length(reading.total);
            bar.set_position(reading.done);
            bar.set_message(parts.join("  "));
        }
        let is_due = self.next.is_some_and(|next| age >= next);
        if is_due {
            self.next = Some(age + INTERVAL);
        }
        if has_asked || is_due {
            let _ = self.all.suspend(|| tell(&told));
        }
    }

    /// Removes the bar of the target of this number.
    pub fn end(&self, number: usize) {
        self.bars[number].0.finish_and_clear();
    }
}
