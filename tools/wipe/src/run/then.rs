//! What is done at the end of a wipe (`--then`), once its reports are on the disk.

use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use squall_drives::{Target, shown};
use squall_tool_base::failure::cause;
use squall_tool_base::{Failure, Interrupt, is_in_path, output};

use super::say;
use crate::args::Then;
use crate::show::OutputStyle;
use crate::show::json::{Event, Line};
use crate::{journal, machine};

/// Fails if `then` cannot be done after a run on `targets` whose reports go to `directory`.
pub fn check(then: Option<Then>, targets: &[Target], directory: &Path) -> Result<(), Failure> {
    let why = match then {
        None => None,
        Some(Then::Poweroff) if machine::is_in_memory(journal::existing_folder(directory)) => Some(format!(
            "reports in {} are in memory and would be lost: nothing was written: choose a directory on a disk with \
             --report DIR",
            directory.display()
        )),
        Some(Then::Poweroff) => {
            let (program, _) = poweroff();
            let why = format!("there is no program {program}: nothing was written: install it, or leave the option out");
            (!is_in_path(program)).then_some(why)
        }
        Some(Then::Standby) => targets.iter().find(|target| !target.has_standby()).map(|target| {
            format!(
                "{} has no standby, which only whole drives on SATA, SAS (SCSI) and USB have: nothing was written: leave \
                 out the option, or this target",
                shown(&target.identity.given)
            )
        }),
    };
    match (then, why) {
        (Some(then), Some(why)) => Err(Failure::Usage(format!("{then}: {why}"))),
        _ => Ok(()),
    }
}

impl Then {
    pub fn words(self) -> &'static str {
        match self {
            Then::Poweroff => "at the end, even if a drive fails, this machine is turned off",
            Then::Standby => "at the end, even if a drive fails, each drive is put into standby",
        }
    }

    /// What is done now, as an event for programs.
    pub fn event(self) -> Result<String, Failure> {
        Line::new(Timestamp::now(), Event::Then { what: self }).text()
    }

    /// Fails if it is not to be done after a run that ended like this.
    pub fn check_end(self, is_reported: bool, interrupt: &Interrupt) -> Result<(), Failure> {
        let why = match (interrupt.is_noted(), is_reported) {
            (true, _) => "the run was interrupted",
            (false, false) => "not every drive has a final report on the disk",
            (false, true) => return Ok(()),
        };
        Err(Failure::Runtime(format!("{self}: not done, because {why}")))
    }

    /// Does this, with the numbered `targets` of the run, of which those with the numbers in `stuck` do not answer.
    pub fn run(
        self,
        targets: &[(usize, Target)],
        stuck: &[usize],
        style: OutputStyle,
    ) -> Result<(), Failure> {
        if style == OutputStyle::Json
            && let Ok(line) = self.event()
        {
            // It is done even if nobody reads that.
            let _ = output::print(&line);
        }
        match self {
            Then::Poweroff => power_off(),
            Then::Standby => put_into_standby(targets, stuck),
        }
    }
}

/// The program that turns the machine off, with its arguments. It asks the system's manager and returns.
fn poweroff() -> (&'static str, &'static [&'static str]) {
    // sd_booted(3)
    match Path::new("/run/systemd/system").is_dir() {
        true => ("systemctl", &["poweroff"]),
        false => ("poweroff", &[]),
    }
}

/// What squall has written is on the disk: its files were synchronised one by one. Synchronising everything could wait for
/// a drive that does not answer.
fn power_off() -> Result<(), Failure> {
    let (program, arguments) = poweroff();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let why = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => cause(&error),
    };
    Err(Failure::Runtime(format!(
        "the machine was not turned off: {program}: {why}"
    )))
}

fn put_into_standby(targets: &[(usize, Target)], stuck: &[usize]) -> Result<(), Failure> {
    // udev reads a drive when it is closed after writing, and so would start it again.
    let mut settle = Command::new("udevadm");
    settle.args(["settle", "--timeout=30"]).stdin(Stdio::null());
    let _ = settle.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let mut failed = 0;
    for (number, target) in targets {
        let done = match stuck.contains(number) {
            true => Err("it does not answer".into()),
            false => target.standby(),
        };
        if let Err(why) = done {
            failed += 1;
            say(&format!(
                "{}: not in standby: {why}",
                shown(&target.identity.given)
            ));
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Runtime(format!(
            "{failed} of {} drives not in standby, for the reasons above",
            targets.len()
        ))),
    }
}
