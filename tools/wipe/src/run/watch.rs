//! `squall wipe --all --watch`: also wipes drives that are plugged in later.
//!
//! A drive is looked at once for each time it is plugged in, which the kernel counts (diskseq). One that was there at the
//! beginning and was left out stays left out, and so does one that this run has wiped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_drives::confirm;
use squall_drives::io::{Device, claimed_by_others};
use squall_drives::{Identity, Target, guards};
use squall_tools::Failure;
use squall_tools::failure::at;
use squall_tools::units::volume;

use super::begin::{draw_key, new_drive};
use super::{PURPOSE, open_all};
use crate::args::WipeArguments;
use crate::choice::{self, Choice};
use crate::journal::Journal;
use crate::purge;
use crate::record::{Outcome, Purge};
use crate::workers::PendingDrive;

/// Time between two looks at what is attached.
const INTERVAL: Duration = Duration::from_secs(1);

/// EraseChoice often a new drive that somebody has claimed is looked at again.
const PATIENCE: u32 = 10;

/// What was plugged in.
pub enum Arrival {
    /// It is in the job now, and its work can begin.
    Taken(Box<PendingDrive>),
    /// It is left out, as this sentence tells.
    LeftOut(String),
}

/// Fails unless the user confirms what is to happen: the drives of `choice` now, and others later.
pub fn confirm(choice: &Choice, options: &WipeArguments) -> Result<(), Failure> {
    confirm::check(&choice.targets, &options.consent)?;
    if options.consent.yes {
        return Ok(());
    }
    let count = choice.targets.len();
    let sizes = choice.targets.iter().map(|target| target.identity.size);
    let buses = options.choice.bus_names();
    let expected = format!("{} {count} and every {buses} drive", PURPOSE.verb);
    confirm::by_phrase(
        &format!(
            "Everything on {} will be overwritten, {} in all, and everything on every {buses} drive that is plugged \
             in while this runs, without another question.\nType \"{expected}\" to overwrite them: ",
            choice::count(count),
            volume(sizes.sum())
        ),
        &expected,
    )
}

/// Looks for drives that are plugged in.
pub struct Arrivals<'a> {
    options: &'a WipeArguments,
    journal: Arc<Journal>,
    /// The attachments that were looked at.
    known: BTreeSet<u64>,
    /// EraseChoice often each new attachment was looked at.
    busy: BTreeMap<u64, u32>,
    next_look: Instant,
}

impl<'a> Arrivals<'a> {
    /// Begins to watch. What is attached now is not new.
    pub fn watch(
        options: &'a WipeArguments,
        journal: &Arc<Journal>,
    ) -> Result<Arrivals<'a>, Failure> {
        let attached = choice::drives()?;
        let known: Option<BTreeSet<u64>> = attached.iter().map(Target::attachment).collect();
        Ok(Arrivals {
            options,
            journal: journal.clone(),
            known: known.ok_or_else(|| {
                Failure::Runtime(
                    "--watch: this kernel does not count what is plugged in: use Linux 5.15 or later".into(),
                )
            })?,
            busy: BTreeMap::new(),
            next_look: Instant::now(),
        })
    }

    /// What was plugged in since the last call.
    pub fn take(&mut self) -> Vec<Arrival> {
        if Instant::now() < self.next_look {
            return Vec::new();
        }
        self.next_look = Instant::now() + INTERVAL;
        // A list that cannot be read is read again the next time.
        let attached = choice::drives().unwrap_or_default();
        let mut arrivals = Vec::new();
        for target in attached {
            let Some(attachment) = target.attachment() else {
                continue;
            };
            if !self.known.contains(&attachment) && self.is_settled(&target, attachment) {
                self.known.insert(attachment);
                let name = name(&target.identity);
                arrivals.push(match self.add(target) {
                    Ok(pending) => Arrival::Taken(Box::new(pending)),
                    Err(reason) => Arrival::LeftOut(format!("{name}: left out: {reason}")),
                });
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

    /// Makes a drive a part of the job, or tells why it is not.
    fn add(&self, mut target: Target) -> Result<PendingDrive, String> {
        self.check(&target)?;
        target.has_stable_name = true;
        let (device, purge) = self.open(&target).map_err(Failure::into_text)?;
        let number = self.journal.add(new_drive(&target, purge));
        let plan = self.journal.job().plan.clone();
        let pending = draw_key(&self.journal, &plan, number).and_then(|keys| {
            self.journal.save().map_err(at(self.journal.path()))?;
            Ok(PendingDrive {
                number,
                plan,
                target,
                device,
                keys,
            })
        });
        pending.map_err(|failure| {
            let reason = failure.into_text();
            let outcome = Outcome::Failed {
                reason: reason.clone(),
            };
            self.journal
                .update(number, |drive| drive.outcome = Some(outcome));
            reason
        })
    }

    /// Opens a drive, and decides whether it erases itself first.
    fn open(&self, target: &Target) -> Result<(Device, Option<Purge>), Failure> {
        let targets = std::slice::from_ref(target);
        let mut devices = open_all(targets, &self.options.transfer)?;
        // Somebody may have begun to use it in the meantime. That nobody has claimed it is certain now.
        if let Some(reason) = uses(target).map_err(Failure::Runtime)?.into_iter().next() {
            return Err(Failure::Runtime(reason));
        }
        let mut purges = match self.options.purge {
            None => {
                purge::check_idle(targets)?;
                vec![None]
            }
            how => purge::choose(how, &self.options.consent, targets, &devices)?,
        };
        Ok((devices.remove(0), purges.remove(0)))
    }

    fn check(&self, target: &Target) -> Result<(), String> {
        let choice = &self.options.choice;
        if choice::is_excepted(&choice.except, target) {
            return Err("left out by --except".into());
        }
        for drive in &self.journal.job().drives {
            let is_it = is_same_drive(&drive.target, &target.identity);
            match &drive.outcome {
                None if is_it => return Err("it is being wiped already".into()),
                Some(outcome) if is_it && outcome.is_success() => {
                    return Err("it was wiped in this run already".into());
                }
                _ => {}
            }
        }
        match choice::reason_against(target, &choice.bus, uses(target)?) {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }
}

fn uses(target: &Target) -> Result<Vec<String>, String> {
    let uses = guards::uses(std::slice::from_ref(target), &PURPOSE);
    Ok(uses
        .map_err(Failure::into_text)?
        .into_iter()
        .flatten()
        .collect())
}

/// Whether both have the same serial number, which lasts, identifier and size.
fn is_same_drive(one: &Identity, two: &Identity) -> bool {
    one.lasting_serial().is_some()
        && one.serial == two.serial
        && one.wwid == two.wwid
        && one.size == two.size
}

fn name(identity: &Identity) -> String {
    let serial = identity
        .serial
        .as_deref()
        .map(|serial| format!(" ({serial})"));
    format!("{}{}", identity.path.display(), serial.unwrap_or_default())
}
