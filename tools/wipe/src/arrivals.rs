//! `squall wipe --all --watch`: also wipes drives that are plugged in later.
//!
//! A drive is looked at once for each time it is plugged in, which the kernel counts (diskseq). One that was left out,
//! at the beginning or later, stays left out, and so does a drive of this job, however it ended: what lasts is compared,
//! because a drive that is plugged in again, or whose link was reset, counts as new and may have another name, and
//! somebody's mount of it no longer shows. Where nothing tells whether it is the same drive, it is left out, and the run
//! is no success.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use squall_drives::erase::{EraseChoice, supported_by_all};
use squall_drives::guards::{self, claimed_by_others};
use squall_drives::io::{Device, Direct};
use squall_drives::list::count;
use squall_drives::{Checked, Confirmed, Identity, Likeness, StandingConsent, Target};
use squall_tool_base::Failure;
use squall_tool_base::units::volume;

use crate::args::{Bus, WipeArguments};
use crate::choice::{self, Choice};
use crate::drive::PendingDrive;
use crate::journal::Journal;
use crate::keys::{self, Keys};
use crate::record::{Drive, Job, Outcome, Purge};
use crate::{PURPOSE, purge};

/// Time between two looks at what is attached.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often a new drive that somebody has claimed is looked at again.
const PATIENCE: u32 = 10;

/// Why a drive is left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Reason {
    pub text: String,
    /// Whether the drive is perhaps meant. Otherwise it is not meant, or its part of the job has begun.
    pub is_missed: bool,
}

impl Reason {
    fn rule(text: impl Into<String>) -> Reason {
        let (text, is_missed) = (text.into(), false);
        Reason { text, is_missed }
    }

    fn missed(text: impl Into<String>) -> Reason {
        let (text, is_missed) = (text.into(), true);
        Reason { text, is_missed }
    }
}

impl From<Failure> for Reason {
    fn from(failure: Failure) -> Reason {
        Reason::missed(failure.into_text())
    }
}

/// Fails unless the user confirms what is to happen: the `checked` drives now, and with `--watch` others later, except those
/// that are `known`.
pub fn confirm(
    checked: Checked,
    known: Option<KnownDrives>,
    options: &WipeArguments,
) -> Result<(Confirmed, Option<Arrivals>), Failure> {
    let Some(known) = known else {
        return Ok((checked.confirm(&options.consent)?, None));
    };
    let targets = checked.targets();
    let number = targets.len();
    let sizes = targets.iter().map(|target| target.identity.size);
    let buses = options.choice.bus_names();
    let expected = format!("{} {number} and every {buses} drive", PURPOSE.verb);
    let question = format!(
        "Everything on {} will be overwritten, {} in all, and everything on every {buses} drive that is plugged \
         in while this runs, without another question.\nType \"{expected}\" to overwrite them: ",
        count(number),
        volume(sizes.sum())
    );
    let (confirmed, consent) =
        checked.confirm_with_others(&options.consent, &question, &expected)?;
    let arrivals = Arrivals {
        consent,
        known,
        except: options.choice.except.clone(),
        buses: options.choice.bus.clone(),
        purge: options.purge,
        direct: options.transfer.direct,
        busy: BTreeMap::new(),
        next_look: Instant::now(),
    };
    Ok((confirmed, Some(arrivals)))
}

/// What was looked at.
pub struct KnownDrives {
    attachments: BTreeSet<u64>,
    left_out: Vec<Identity>,
}

impl KnownDrives {
    /// The drives of `choice`, before anything is asked or written: what is plugged in from then on is new.
    pub fn from_choice(choice: &Choice) -> Result<KnownDrives, Failure> {
        let left_out = choice.left_out.iter().map(|drive| &drive.target);
        let present = choice.targets.iter().chain(left_out.clone());
        let attachments: Option<_> = present.map(Target::attachment).collect();
        Ok(KnownDrives {
            attachments: attachments.ok_or_else(|| {
                Failure::Runtime(
                    "--watch: this kernel does not count what is plugged in: nothing was written: use Linux 5.15 or \
                     later"
                        .into(),
                )
            })?,
            left_out: left_out.map(|target| target.identity.clone()).collect(),
        })
    }

    /// Why `drive` is left out; `None` if it is neither one of `job` nor one that was left out before. Its names are
    /// perhaps not its own but those of a dock.
    fn reason_against(&self, drive: &Identity, has_own_names: bool, job: &Job) -> Option<Reason> {
        let is_same = |known: &Identity| has_own_names && known.is_same_drive(drive);
        let is_it = |known: &&Drive| is_same(&known.target);
        if let Some(known) = job.drives.iter().find(is_it) {
            return Some(Reason::rule(match &known.outcome {
                None => "it is being wiped already",
                Some(outcome) if outcome.is_success() => "it was wiped in this run already",
                Some(_) => "this run has tried to wipe it, as its report says",
            }));
        }
        if self.left_out.iter().any(is_same) {
            return Some(Reason::rule("it was left out before"));
        }
        let of_job = job.drives.iter().filter_map(|known| {
            let likeness = known.target.likeness(drive)?;
            // Of drives without names, many may be meant. One that is wiped twice loses nothing.
            let is_another = likeness == Likeness::Size
                && known.outcome.as_ref().is_none_or(Outcome::is_success);
            (!is_another).then_some((likeness, "a drive of this job"))
        });
        let left_out = self.left_out.iter();
        let left_out = left_out
            .filter_map(|known| Some((known.likeness(drive)?, "a drive that was left out")));
        let (likeness, what) = of_job.chain(left_out).next()?;
        Some(Reason::missed(format!(
            "it has the {} of {what}, and may be that one: wipe it by name if it is another",
            likeness.words()
        )))
    }
}

/// Fails if this many drives were plugged in that were perhaps meant, and were not wiped.
pub fn check(missed: usize) -> Result<(), Failure> {
    match missed {
        0 => Ok(()),
        _ => Err(Failure::Runtime(format!(
            "plugged in and not wiped, for the reasons above: {}",
            count(missed)
        ))),
    }
}

/// Drives that are plugged in later, as the user has consented to wipe them.
pub struct Arrivals {
    consent: StandingConsent,
    known: KnownDrives,
    except: Vec<String>,
    buses: Vec<Bus>,
    purge: Option<EraseChoice>,
    direct: Direct,
    /// How often each new attachment was looked at.
    busy: BTreeMap<u64, u32>,
    next_look: Instant,
}

impl Arrivals {
    /// What was plugged in since the last call: each drive is in the job of `journal` now, and its work can begin, or it
    /// is left out.
    pub fn take(&mut self, journal: &Journal) -> Vec<Result<PendingDrive, Reason>> {
        if Instant::now() < self.next_look {
            return Vec::new();
        }
        self.next_look = Instant::now() + INTERVAL;
        // A list that cannot be read is read again the next time.
        let attached = Target::drives().unwrap_or_default();
        let mut arrivals = Vec::new();
        for target in attached {
            let Some(attachment) = target.attachment() else {
                continue;
            };
            if !self.known.attachments.contains(&attachment) && self.is_settled(&target, attachment)
            {
                self.known.attachments.insert(attachment);
                let identity = target.identity.clone();
                let added = self.add(target, journal);
                arrivals.push(added.map_err(|reason| self.leave_out(identity, reason)));
            }
        }
        arrivals
    }

    /// Whether everybody who looks at a new drive has done so: udev, if it runs, and the kernel, which looks for
    /// partitions. Somebody who keeps it for long uses it.
    fn is_settled(&mut self, target: &Target, attachment: u64) -> bool {
        let is_done = || Path::new(&format!("/run/udev/data/b{}", target.identity.number)).exists();
        if Path::new("/run/udev/control").exists() && !is_done() {
            return false;
        }
        let looks = self.busy.entry(attachment).or_insert(0);
        *looks += 1;
        *looks > PATIENCE || claimed_by_others(target).is_none()
    }

    fn leave_out(&mut self, drive: Identity, reason: Reason) -> Reason {
        let text = format!("{}: left out: {}", name(&drive), reason.text);
        self.known.left_out.push(drive);
        Reason { text, ..reason }
    }

    /// Makes a drive a part of the job, or tells why it is not.
    fn add(&self, target: Target, journal: &Journal) -> Result<PendingDrive, Reason> {
        if let Some(reason) = self.reason_against(&target, &journal.job().clone()) {
            return Err(reason);
        }
        let opened = self.consent.open(target, purge::access, self.direct)?;
        let device = opened.map_err(|reason| match reason.starts_with(guards::DOUBT) {
            true => Reason::missed(reason),
            false => Reason::rule(reason),
        })?;
        let purge = self.purge(&device)?;
        let target = device.target();
        let targets = std::slice::from_ref(target);
        let mut own_erases = purge::own_erases(targets, &purge::ask_all(targets));
        let drive = Drive {
            purge,
            own_erase: own_erases.remove(0),
            ..Drive::from_target(target)
        };
        let (number, keys) = enter(journal, drive)?;
        Ok(PendingDrive {
            number,
            plan: journal.job().plan.clone(),
            device,
            keys,
        })
    }

    /// Decides whether `device` erases itself first.
    fn purge(&self, device: &Device) -> Result<Option<Purge>, Failure> {
        let targets = std::slice::from_ref(device.target());
        let Some(how) = self.purge else {
            return purge::check_idle(targets).map(|()| None);
        };
        let supported = supported_by_all(std::slice::from_ref(device));
        Ok(purge::choose(how, targets, &supported)?.remove(0))
    }

    fn reason_against(&self, target: &Target, job: &Job) -> Option<Reason> {
        // A name was looked up when the choice was made. It may mean another drive by now.
        if self.except.iter().any(|name| target.has_serial(name)) {
            return Some(Reason::rule("left out by --except"));
        }
        let has_own_names = target.bus().as_deref() != Some("usb");
        self.known
            .reason_against(&target.identity, has_own_names, job)
            .or_else(|| choice::reason_against(target, &self.buses).map(Reason::rule))
    }
}

/// Makes `drive` a part of the job, and draws its keys. If that fails, it is no part of it.
fn enter(journal: &Journal, drive: Drive) -> Result<(usize, Option<Keys>), Failure> {
    let number = journal.add(drive);
    let keys = keys::draw_all(journal, number..number + 1).inspect_err(|_| journal.withdraw())?;
    Ok((number, keys.into_iter().flatten().next()))
}

fn name(identity: &Identity) -> String {
    let path = identity.path.display();
    match &identity.serial {
        Some(serial) => format!("{path} ({serial})"),
        None => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use squall_drives::Kind;
    use squall_testing::loops::Lab;

    use super::*;
    use crate::choice::LeftOut;
    use crate::show::fixture;

    fn drive(serial: &str, wwid: Option<&str>) -> Identity {
        Identity {
            kind: Kind::Disk,
            size: 4096,
            serial: Some(serial.into()),
            wwid: wwid.map(str::to_owned),
            ..fixture::job().drives[0].target.clone()
        }
    }

    /// What is said of a drive that is plugged in after one of the job, with its outcome, or after one that was left out.
    #[test]
    fn what_was_seen_is_left_out_and_what_may_have_been_counts() {
        let known = KnownDrives {
            attachments: BTreeSet::new(),
            left_out: vec![drive("LEFT", Some("naa.1")), drive("CHEAP", None)],
        };
        let mut job = fixture::job();
        job.drives.truncate(2);
        job.drives[0].target = drive("JOB", Some("naa.2"));
        job.drives[1].target = drive("STICK", None);
        job.drives[1].outcome = Some(Outcome::Verified);
        let reason =
            |job: &Job, serial, wwid| known.reason_against(&drive(serial, wwid), true, job);
        for (outcome, words) in [
            (None, "it is being wiped already"),
            (Some(Outcome::Verified), "it was wiped in this run already"),
            (Some(Outcome::Interrupted), "this run has tried to wipe it"),
        ] {
            job.drives[0].outcome = outcome;
            let Reason { text, is_missed } = reason(&job, "JOB", Some("naa.2")).expect("a reason");
            assert!(text.starts_with(words) && !is_missed, "{text}");
        }
        for (serial, wwid, what, which) in [
            // A second stick of the same make is not said to be wiped.
            ("STICK", None, "serial number and size", "of this job"),
            ("CHEAP", None, "serial number and size", "that was left out"),
            (
                "DOCK",
                Some("naa.1"),
                "worldwide identifier and size",
                "that was left out",
            ),
            ("diskseq-7", None, "size", "of this job"),
        ] {
            let Reason { text, is_missed } = reason(&job, serial, wwid).expect("a reason");
            let words = format!("it has the {what} of a drive {which}");
            assert!(text.starts_with(&words) && is_missed, "{text}");
        }
        // Behind a dock it may be another drive.
        let docked = known.reason_against(&drive("JOB", Some("naa.2")), false, &job);
        let docked = docked.expect("a reason");
        assert!(
            docked.is_missed && docked.text.contains("may be that one"),
            "{docked:?}"
        );
        let left_out = Reason::rule("it was left out before");
        assert_eq!(reason(&job, "LEFT", Some("naa.1")), Some(left_out));
        for (serial, wwid) in [("NEW", None), ("NEW", Some("naa.3"))] {
            assert_eq!(reason(&job, serial, wwid), None);
        }
    }

    /// Of drives without names, one may be the drive that the user has skipped. If there is none, all are wiped.
    #[test]
    fn drives_without_names_are_wiped_unless_one_was_not() {
        let nobody = KnownDrives {
            attachments: BTreeSet::new(),
            left_out: Vec::new(),
        };
        let mut job = fixture::job();
        job.drives.truncate(1);
        job.drives[0].target = drive("diskseq-1", None);
        for (outcome, is_taken) in [
            (None, true),
            (Some(Outcome::Verified), true),
            (Some(Outcome::Interrupted), false),
        ] {
            job.drives[0].outcome = outcome;
            let reason = nobody.reason_against(&drive("diskseq-2", None), true, &job);
            assert_eq!(reason.is_none(), is_taken, "{reason:?}");
        }
    }

    /// A file has no number for its attachment, as no device has before Linux 5.15.
    #[test]
    fn a_kernel_that_does_not_count_is_refused() {
        let file = Target::find(&Lab::new().image("image", 4096)).expect("a target");
        let mut choice = Choice {
            targets: Vec::new(),
            left_out: Vec::new(),
        };
        assert!(KnownDrives::from_choice(&choice).is_ok());
        choice.left_out.push(LeftOut {
            target: file,
            reason: "is mounted".into(),
        });
        let refused = KnownDrives::from_choice(&choice).err();
        let text = refused.expect("it does not count").into_text();
        assert!(
            text.contains("nothing was written: use Linux 5.15"),
            "{text}"
        );
    }

    /// Neither keys without a place nor a journal that cannot be saved use up a number.
    #[test]
    fn a_drive_that_cannot_be_recorded_is_no_part_of_the_job() {
        let directory = tempfile::tempdir().expect("room");
        let journal = Journal::create(directory.path(), fixture::job());
        let before = journal.job().drives.len();
        let drive = || Drive::new(drive("NEW", None));
        let key = format!("{}-{:02}-NEW.key", journal.job().id, before + 1);
        let key = journal.directory().join(key);
        for place in [key.as_path(), journal.path()] {
            fs::create_dir(place).expect("a place that is taken");
            assert!(enter(&journal, drive()).is_err());
            assert_eq!(journal.job().drives.len(), before);
            fs::remove_dir(place).expect("an empty directory");
            assert!(!key.exists());
        }
        let (number, keys) = enter(&journal, drive()).expect("it is recorded");
        assert!(number == before && keys.is_some() && key.exists());
    }
}
