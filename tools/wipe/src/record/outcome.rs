//! How a drive's part of a job ended, by what its passes and verifications have found; and the level of sanitization that
//! it has reached, in the words of NIST SP 800-88 Rev. 2 (September 2025): Clear treats every place that the host can
//! address, Purge also what it cannot. Both are for media: what an array, a network or a host shows as a drive is none.
//!
//! Rev. 2 leaves techniques to IEEE 2883, whose text squall was not checked against. So a level says which
//! kind of technique was carried out and verified. Whether that suffices for the data that the drive held
//! (validation, in Rev. 2's words) is for people to decide. Destroy is beyond any program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use squall_drives::{Kind, Storage};

use super::{Drive, EraseMethod, Extent, Purge, Scope, Verification};
use crate::ranges::Ranges;

/// How a drive's part of a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything was overwritten, and everything compared is as it was written.
    Verified,
    /// Everything was overwritten. Nothing was compared, as asked.
    Overwritten,
    /// Some bytes could not be overwritten or read back, the drive's size changed, or its own erase failed.
    Incomplete,
    /// The drive does not hold what was written.
    Differs,
    /// The user stopped the job.
    Interrupted,
    /// The drive disappeared.
    Vanished,
    /// The job could not go on with this drive.
    Failed {
        /// Why it could not go on.
        reason: String,
    },
    /// The drive was given up because it has died.
    Dead {
        /// How that showed.
        reason: String,
    },
}

impl Outcome {
    /// Whether everything that was asked for was done.
    pub fn is_success(&self) -> bool {
        matches!(self, Outcome::Verified | Outcome::Overwritten)
    }

    /// Whether there is something left to resume.
    pub fn is_resumable(&self) -> bool {
        matches!(
            self,
            Outcome::Interrupted | Outcome::Vanished | Outcome::Failed { .. }
        )
    }

    /// The outcome of a drive that was not stopped early. If its size changed, or its own erase failed, it is incomplete,
    /// as with bytes that could not be overwritten.
    pub fn from_findings(drive: &Drive) -> Outcome {
        let is_whole = drive.size_at_end.is_none() && drive.purge_failure().is_none();
        match outcome_of_overwriting(drive) {
            outcome if outcome.is_success() && !is_whole => Outcome::Incomplete,
            outcome => outcome,
        }
    }

    /// The outcome in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Verified => "verified",
            Outcome::Overwritten => "overwritten",
            Outcome::Incomplete => "incomplete",
            Outcome::Differs => "differs",
            Outcome::Interrupted => "interrupted",
            Outcome::Vanished => "vanished",
            Outcome::Failed { .. } => "failed",
            Outcome::Dead { .. } => "dead",
        }
    }
}

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
    /// The level that `drive` has reached: none unless it is a whole drive, known to be a medium, that hides nothing, all
    /// of it was overwritten, and everything that was read back matched.
    pub fn reached_by(drive: &Drive) -> Option<Level> {
        let is_cleared = drive.target.kind == Kind::Disk
            && drive.target.storage == Storage::Drive
            && drive.outcome == Some(Outcome::Verified)
            && drive.wipe.is_none()
            && !drive.hides_something();
        let purged = drive.purge.as_ref().and_then(Purge::done);
        is_cleared.then(|| purged.map_or(Level::Clear, level_of_erase))
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
    use EraseMethod as By;
    match means {
        // Neither is specified to reach what a laboratory could read.
        By::NvmeFormat | By::SecureDiscard => Level::Clear,
        By::NvmeSanitizeBlock | By::NvmeSanitizeCrypto | By::NvmeSanitizeOverwrite => Level::Purge,
        By::ScsiSanitizeBlock | By::ScsiSanitizeCrypto | By::ScsiSanitizeOverwrite => Level::Purge,
        By::AtaSanitizeBlock | By::AtaSanitizeCrypto | By::AtaSanitizeOverwrite => Level::Purge,
        By::ScsiSanitize | By::AtaSanitize => Level::Purge,
    }
}

fn outcome_of_overwriting(drive: &Drive) -> Outcome {
    let passes = drive.passes.iter();
    let earlier = passes.filter_map(|it| Some((&it.unwritten[..], it.verification.as_ref()?)));
    let unwritten = drive.passes.last().map_or(&[][..], |pass| &pass.unwritten);
    let last = drive.verification.as_ref().map(|found| (unwritten, found));
    let found: Vec<_> = earlier.chain(last).collect();
    let mut all = found.iter();
    let differs = all.any(|(unwritten, found)| differs_elsewhere(found, unwritten));
    let is_read =
        |found: &Verification| found.unreadable.is_empty() && is_fully_compared(drive, found);
    let are_read = found.iter().all(|(_, found)| is_read(found));
    match (differs, unwritten, are_read, last) {
        (true, ..) => Outcome::Differs,
        (false, [], true, Some(_)) => Outcome::Verified,
        (false, [], true, None) => Outcome::Overwritten,
        _ => Outcome::Incomplete,
    }
}

/// Whether other bytes differ than those that the pass could not write.
fn differs_elsewhere(found: &Verification, unwritten: &[Extent]) -> bool {
    let refused = Ranges::before(unwritten, u64::MAX);
    let is_refused = |extent: &Extent| refused.covers(*extent);
    found.differing_unlisted > 0 || !found.differing.iter().all(is_refused)
}

/// Whether as much was compared as asked: for a full verification, every byte.
fn is_fully_compared(drive: &Drive, verification: &Verification) -> bool {
    match verification.scope {
        Scope::Full => verification.compared == drive.target.size,
        Scope::Sample => verification.compared > 0,
        Scope::None => false,
    }
}

#[cfg(test)]
mod tests {
    use squall_drives::Hidden;

    use super::*;
    use crate::record::Pass;
    use crate::show::fixture;

    #[test]
    fn only_whole_drives_that_were_verified_reach_a_level() {
        let job = fixture::job();
        let reached: Vec<_> = job.drives.iter().map(Level::reached_by).collect();
        assert_eq!(reached[0], Some(Level::Clear), "verified");
        assert_eq!(reached[1..], [None; 6]);
        let mut drive = job.drives[0].clone();
        drive.purge = Some(fixture::purge(None));
        assert_eq!(Level::reached_by(&drive), Some(Level::Clear), "Format NVM");
        for means in [EraseMethod::AtaSanitizeCrypto, EraseMethod::AtaSanitize] {
            let purge = fixture::purge(None);
            drive.purge = Some(Purge { means, ..purge });
            assert_eq!(Level::reached_by(&drive), Some(Level::Purge), "{means:?}");
        }
        // What it hides was neither overwritten nor read back, whatever it says of its own erase.
        for (hpa, dco) in [(512, None), (0, Some(512))] {
            let hidden = Some(Hidden { hpa, dco });
            let hiding = Drive {
                hidden,
                ..drive.clone()
            };
            assert_eq!(Level::reached_by(&hiding), None, "{hidden:?}");
        }
        drive.outcome = Some(Outcome::Overwritten);
        assert_eq!(Level::reached_by(&drive), None, "nothing was read back");
        drive.outcome = Some(Outcome::Verified);
        drive.target.kind = Kind::Partition;
        assert_eq!(Level::reached_by(&drive), None);
        drive.target.kind = Kind::Disk;
        drive.target.storage = Storage::Unknown;
        assert_eq!(Level::reached_by(&drive), None);
    }

    /// A drive with two passes, after the first of which `found` was found, and nothing after the second.
    fn outcome_with(found: Verification, unwritten: Vec<Extent>) -> Outcome {
        let mut drive = fixture::job().drives[0].clone();
        let first = Pass {
            verification: Some(found),
            unwritten,
            ..drive.passes[0].clone()
        };
        drive.passes.insert(0, first);
        Outcome::from_findings(&drive)
    }

    #[test]
    fn the_verification_of_any_pass_counts() {
        let clean = fixture::job().drives[0].verification.clone();
        let clean = clean.expect("a verification");
        let sector = Extent::new(0, 512);
        let [mut differing, mut unreadable, mut cut] = [(); 3].map(|()| clean.clone());
        (differing.differing, differing.differing_bytes) = (vec![sector], 512);
        (unreadable.unreadable, unreadable.compared) = (vec![sector], clean.compared - 512);
        cut.compared = clean.compared - 1;
        assert_eq!(outcome_with(clean, vec![]), Outcome::Verified);
        assert_eq!(outcome_with(differing.clone(), vec![]), Outcome::Differs);
        assert_eq!(outcome_with(unreadable, vec![]), Outcome::Incomplete);
        assert_eq!(outcome_with(cut, vec![]), Outcome::Incomplete);
        // A sector that the first pass could not write, and the last one could.
        assert_eq!(outcome_with(differing, vec![sector]), Outcome::Verified);
    }
}
