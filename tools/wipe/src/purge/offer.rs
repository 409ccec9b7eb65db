//! Asks whether a drive should erase itself.

use std::io::{self, Write};
use std::os::fd::AsFd;

use squall_drives::Target;
use squall_drives::confirm::{Dialog, describe, not_confirmed};
use squall_tools::{Failure, output};

use super::UNTRIED;
use crate::record::EraseMethod;

/// Asks about each of `offers`, which are confirmed targets with the way in which they could erase
/// themselves. Returns that way where the user agrees.
pub fn choose(
    offers: &[(&Target, Option<EraseMethod>)],
) -> Result<Vec<Option<EraseMethod>>, Failure> {
    choose_on(&io::stdin(), io::stderr(), output::error_width(), offers)
}

/// Like [`choose`], with questions to `questions`, which may be so wide, and answers from `answers`.
fn choose_on(
    answers: &impl AsFd,
    questions: impl Write,
    width: Option<usize>,
    offers: &[(&Target, Option<EraseMethod>)],
) -> Result<Vec<Option<EraseMethod>>, Failure> {
    let mut dialog = Dialog::new(answers, questions, width)?;
    let choose = |(target, means): &(&Target, Option<EraseMethod>)| match means {
        Some(means) if is_chosen(&mut dialog, target, *means)? => Ok(Some(*means)),
        _ => Ok(None),
    };
    offers.iter().map(choose).collect()
}

fn is_chosen<Q: Write>(
    dialog: &mut Dialog<Q>,
    target: &Target,
    means: EraseMethod,
) -> Result<bool, Failure> {
    let outside = match means.reaches_all_namespaces() {
        true => "the targets (it reaches all namespaces of this drive)",
        false => "this target",
    };
    let question = format!(
        "{}\nIt is flash, and can erase itself first, by {}. That reaches spare cells, which overwriting does not, and nothing outside {outside}. It cannot be interrupted; {UNTRIED}.\n\
         Type \"erase\" for both, or press Enter to only overwrite: ",
        describe(target),
        means.name()
    );
    match dialog.answer(&question)?.as_deref() {
        Some(b"erase") => Ok(true),
        Some(b"") => Ok(false),
        _ => Err(not_confirmed()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use squall_testing::loops::Lab;

    use super::*;

    /// A target that looks like a drive at /dev/sdb.
    fn drive(file: &Path, serial: &str) -> Target {
        let mut target = Target::find(file).expect("a target");
        target.identity.given = "/dev/sdb".into();
        target.identity.serial = Some(serial.into());
        target
    }

    /// The user is asked about each drive that can erase itself, and about no other.
    #[test]
    fn only_drives_that_can_erase_themselves_are_asked_about() {
        let lab = Lab::new();
        let image = lab.image("image", 1 << 20);
        let drives = ["WD-1", "WD-2", "WD-3"].map(|serial| drive(&image, serial));
        let means = [
            Some(EraseMethod::NvmeFormat),
            None,
            Some(EraseMethod::SecureDiscard),
        ];
        let offers: Vec<_> = drives.iter().zip(means).collect();
        let offered = |answers: &str| {
            let (ours, mut users) = io::pipe().unwrap();
            users.write_all(answers.as_bytes()).unwrap();
            drop(users);
            let mut seen = Vec::new();
            let chosen = choose_on(&ours, &mut seen, None, &offers);
            (String::from_utf8(seen).unwrap(), chosen)
        };
        let (seen, chosen) = offered("erase\n\n");
        assert_eq!(chosen.unwrap(), [Some(EraseMethod::NvmeFormat), None, None]);
        for words in [
            "serial number WD-1,",
            "by Format NVM with User Data Erase.",
            "nothing outside this target",
            "It cannot be interrupted",
            "tried on emulated drives only",
            "serial number WD-3,",
            "by secure discard.",
        ] {
            assert!(seen.contains(words), "{words:?} is not in: {seen}");
        }
        assert!(!seen.contains("WD-2"), "{seen}");
        for wrong in ["yes\n\n", "Erase\n\n", "erase\nerase", ""] {
            let (_, chosen) = offered(wrong);
            let text = chosen.expect_err("no confirmation").into_text();
            assert!(
                text.contains("not confirmed: nothing was written"),
                "{text}"
            );
        }
    }
}
