//! The level of sanitization that a drive has reached, in the words of NIST SP 800-88 Rev. 2 (September
//! 2025): Clear treats every place that the host can address, Purge also what it cannot.
//!
//! Rev. 2 leaves techniques to IEEE 2883, whose text squall was not checked against. So a level says which
//! kind of technique was carried out and verified. Whether that suffices for the data that the drive held
//! (validation, in Rev. 2's words) is for people to decide. Destroy is beyond any program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use squall_drives::Kind;

use crate::record::{Drive, EraseMethod, Outcome, Purge};

/// A level of sanitization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Every place that the host can address was overwritten. What was read back matched.
    Clear,
    /// The drive has also sanitized itself, as it reports.
    Purge,
}

impl Level {
    /// The level that `drive` has reached: none unless it is a whole drive that hides nothing, all of it was
    /// overwritten, and everything that was read back matched.
    pub fn of(drive: &Drive) -> Option<Level> {
        let is_cleared = drive.target.kind == Kind::Disk
            && drive.outcome == Some(Outcome::Verified)
            && drive.wipe.is_none()
            && !drive.hides_something();
        let purged = drive
            .purge
            .as_ref()
            .and_then(Purge::done)
            .map(level_of_erase);
        is_cleared.then(|| purged.unwrap_or(Level::Clear))
    }

    pub fn name(self) -> &'static str {
        match self {
            Level::Clear => "Clear",
            Level::Purge => "Purge",
        }
    }
}

/// The level of a drive's own erase, with everything overwritten afterwards.
fn level_of_erase(means: EraseMethod) -> Level {
    match means {
        // Neither is specified to reach what a laboratory could read.
        EraseMethod::NvmeFormat | EraseMethod::SecureDiscard => Level::Clear,
        _ => Level::Purge,
    }
}

#[cfg(test)]
mod tests {
    use squall_drives::Hidden;

    use super::*;
    use crate::show::fixture;

    #[test]
    fn only_whole_drives_that_were_verified_reach_a_level() {
        let job = fixture::job();
        let reached: Vec<_> = job.drives.iter().map(Level::of).collect();
        assert_eq!(reached[0], Some(Level::Clear), "verified");
        assert_eq!(reached[1..], [None; 6]);
        let mut drive = job.drives[0].clone();
        drive.purge = Some(fixture::purge(None));
        assert_eq!(Level::of(&drive), Some(Level::Clear), "Format NVM");
        for means in [EraseMethod::AtaSanitizeCrypto, EraseMethod::AtaSanitize] {
            let purge = fixture::purge(None);
            drive.purge = Some(Purge { means, ..purge });
            assert_eq!(Level::of(&drive), Some(Level::Purge), "{means:?}");
        }
        drive.outcome = Some(Outcome::Overwritten);
        assert_eq!(Level::of(&drive), None, "nothing was read back");
        drive.outcome = Some(Outcome::Verified);
        drive.target.kind = Kind::Partition;
        assert_eq!(Level::of(&drive), None);
    }

    /// What a drive hides was neither overwritten nor read back, whatever it says of its own erase.
    #[test]
    fn drives_that_hide_sectors_reach_no_level() {
        let mut drive = fixture::job().drives[0].clone();
        for purge in [None, Some(fixture::sanitized())] {
            drive.purge = purge;
            for (hpa, dco, is_whole) in [(0, None, true), (512, None, false), (0, Some(512), false)]
            {
                drive.hidden = Some(Hidden { hpa, dco });
                assert_eq!(Level::of(&drive).is_some(), is_whole, "{:?}", drive.hidden);
            }
        }
    }
}
