//! Shows how far the reading of each target is.

use std::time::{Duration, Instant};

use indicatif::ProgressDrawTarget;
use jiff::Timestamp;
use squall_drives::{Target, shown};
use squall_tool_base::{terminal, units};

use crate::progress::Progress;
use crate::show::bars::{Bars, Line};
use crate::show::meter::Meter;
use crate::show::tell;
use crate::text;

/// Time between two lines about a target where there are no bars.
const INTERVAL: Duration = Duration::from_secs(30);

/// A bar for each target on a terminal that can show it; lines with times elsewhere.
pub struct Screen {
    pub bars: Bars,
    /// How fast each target is, and its name.
    targets: Vec<(Meter, String)>,
    began: Instant,
    /// The age at which lines are due; `None` if there are bars.
    next: Option<Duration>,
}

impl Screen {
    pub fn new<'t>(targets: impl Iterator<Item = &'t Target>) -> Screen {
        let (draw_target, next) = match terminal::can_draw() {
            true => (ProgressDrawTarget::stderr(), None),
            false => (ProgressDrawTarget::hidden(), Some(INTERVAL)),
        };
        let new = |target: &Target| {
            let mut meter = Meter::default();
            meter.begin(Duration::ZERO, 0);
            let name = target.identity.path.file_name().unwrap_or_default();
            (meter, shown(name.as_ref()))
        };
        Screen {
            bars: Bars::on(draw_target, terminal::bar_characters()),
            targets: targets.map(new).collect(),
            began: Instant::now(),
            next,
        }
    }

    /// Shows the `progress` of the targets of these numbers, also in lines of their own if the user `has_asked`.
    pub fn show<'p>(
        &mut self,
        progress: impl Iterator<Item = (usize, &'p Progress)>,
        has_asked: bool,
    ) {
        let (mut lines, mut bars) = (String::new(), Vec::new());
        let age = self.began.elapsed();
        for (number, progress) in progress {
            let reading = progress.read();
            if reading.total == 0 {
                continue;
            }
            let (meter, name) = &mut self.targets[number];
            meter.feed(age, reading.moved);
            let percent = text::percent(reading.done, reading.total);
            let mut parts = vec![name.clone(), format!("{percent} %")];
            parts.extend(meter.now().map(units::rate));
            parts.extend(
                meter
                    .left(reading.total.saturating_sub(reading.done))
                    .text(),
            );
            lines += &format!("{:.0} {}\n", Timestamp::now(), parts.join(", "));
            bars.push(Line {
                text: parts.join("  "),
                progress: Some((reading.done, reading.total)),
            });
        }
        self.bars.show(&bars);
        let is_due = self.next.is_some_and(|next| age >= next);
        if is_due {
            self.next = Some(age + INTERVAL);
        }
        if has_asked || is_due {
            let _ = self.bars.suspend(|| tell(&lines));
        }
    }
}
