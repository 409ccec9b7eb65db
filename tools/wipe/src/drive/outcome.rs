//! How a drive's part of a job ended, by what its passes and verifications have found.

use crate::ranges::Ranges;
use crate::record::{Drive, Extent, Outcome, Scope, Verification};

/// The outcome of a drive that was not stopped early. If its size changed, or its own erase failed, it is incomplete,
/// as with bytes that could not be overwritten.
pub fn of(drive: &Drive) -> Outcome {
    let is_whole = drive.size_at_end.is_none() && drive.purge_failure().is_none();
    match outcome_of_overwriting(drive) {
        outcome if outcome.is_success() && !is_whole => Outcome::Incomplete,
        outcome => outcome,
    }
}

fn outcome_of_overwriting(drive: &Drive) -> Outcome {
    let earlier = drive.passes.iter();
    let earlier =
        earlier.filter_map(|pass| Some((&pass.unwritten[..], pass.verification.as_ref()?)));
    let unwritten = drive.passes.last().map_or(&[][..], |pass| &pass.unwritten);
    let last = drive.verification.as_ref().map(|found| (unwritten, found));
    let found: Vec<_> = earlier.chain(last).collect();
    let differs = found
        .iter()
        .any(|(unwritten, found)| differs_elsewhere(found, unwritten));
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
    use super::*;
    use crate::record::Pass;
    use crate::show::fixture;

    /// A drive with two passes, after the first of which `found` was found, and nothing after the second.
    fn outcome_with(found: Verification, unwritten: Vec<Extent>) -> Outcome {
        let mut drive = fixture::job().drives[0].clone();
        let first = Pass {
            verification: Some(found),
            unwritten,
            ..drive.passes[0].clone()
        };
        drive.passes.insert(0, first);
        of(&drive)
    }

    #[test]
    fn the_verification_of_any_pass_counts() {
        let clean = fixture::job().drives[0].verification.clone();
        let clean = clean.expect("a verification");
        let sector = Extent {
            offset: 0,
            length: 512,
        };
        let differing = Verification {
            differing: vec![sector],
            differing_bytes: 512,
            ..clean.clone()
        };
        let unreadable = Verification {
            unreadable: vec![sector],
            compared: clean.compared - 512,
            ..clean.clone()
        };
        let cut = Verification {
            compared: clean.compared - 1,
            ..clean.clone()
        };
        assert_eq!(outcome_with(clean, vec![]), Outcome::Verified);
        assert_eq!(outcome_with(differing.clone(), vec![]), Outcome::Differs);
        assert_eq!(outcome_with(unreadable, vec![]), Outcome::Incomplete);
        assert_eq!(outcome_with(cut, vec![]), Outcome::Incomplete);
        // A sector that the first pass could not write, and the last one could.
        assert_eq!(outcome_with(differing, vec![sector]), Outcome::Verified);
    }
}
