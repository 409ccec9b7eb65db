//! A target that is open, and how much of it was transferred and refused.

use std::time::{Duration, Instant};

use squall_drives::Target;
use squall_drives::io::Device;

use crate::control::Control;
use crate::progress::Progress;
use crate::task::Stop;

/// After this many refused bytes in a row, a drive is given up, because trying each sector of a dead
/// drive would take weeks.
const GIVE_UP_BYTES: u64 = 64 << 20;

/// How long a drive may refuse one sector after the other before it is given up.
const GIVE_UP_TIME: Duration = Duration::from_secs(1800);

/// What single transfers need.
pub struct OpenTarget<'a> {
    /// The target.
    pub target: &'a Target,
    /// The target, open.
    pub device: &'a Device,
    /// The progress that is shown.
    pub progress: &'a Progress,
    /// Whether it is to stop.
    pub interrupt: &'a Control,
    /// Bytes refused since the last success, and since when.
    pub refused_in_a_row: Option<(u64, Instant)>,
}

impl OpenTarget<'_> {
    /// Counts `bytes` that were transferred.
    pub fn accepted(&mut self, bytes: u64) {
        self.refused_in_a_row = None;
        self.progress.moved(bytes);
    }

    /// Counts `bytes` that were given up. Fails when it is time to give up the drive.
    pub fn refused(&mut self, bytes: u64) -> Result<(), Stop> {
        self.progress.refused(bytes);
        let (before, since) = self.refused_in_a_row.unwrap_or((0, Instant::now()));
        let bytes = before + bytes;
        self.refused_in_a_row = Some((bytes, since));
        if bytes >= GIVE_UP_BYTES || since.elapsed() >= GIVE_UP_TIME {
            Err(Stop::Dead(format!(
                "it refused {bytes} bytes in a row, for {} s",
                since.elapsed().as_secs()
            )))
        } else {
            Ok(())
        }
    }
}
