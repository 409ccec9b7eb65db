//! A run of `squall wipe` or `squall verify`, from the command line to the reports.

mod assets;
mod begin;
mod finish;
mod recognise;
mod resume;
mod verify;

use std::io::Write;
use std::time::Duration;

use jiff::Timestamp;
use rustix::mm::MlockAllFlags;
use rustix::process::{DumpableBehavior, Resource};
use rustix::thread::CapabilitySet;
use squall::Engine;
use squall_drives::io::{Access, Device};
use squall_drives::{Purpose, Target, confirm, shown};
use squall_tools::{Failure, Interrupt, output};

use crate::args::{TransferArguments, WipeArguments};
use crate::journal::Journal;
use crate::record::{Drive, FORMAT, Job, Machine, Plan, Tool};
use crate::show::OutputStyle;
use crate::workers::{PendingDrive, Workers};
use crate::{plan, purge};

pub use verify::verify;

/// Why targets are overwritten, for messages.
pub(crate) const PURPOSE: Purpose = Purpose {
    verb: "wipe",
    instead: |path| {
        let path = shown(path);
        format!(
            "let the drive do it itself, for example with `sg_sanitize --overwrite --zero \
             {path}`"
        )
    },
};

/// A job, and those of its drives that are not done yet.
type Prepared = (Journal, Vec<PendingDrive>);

/// Runs `squall wipe`.
pub fn wipe(options: &WipeArguments) -> Result<(), Failure> {
    let style = OutputStyle::choose(options.shown.json).map_err(as_refusal)?;
    let prepared = match &options.resume {
        Some(path) => resume::prepare(options, path, style),
        None => begin::prepare(options),
    };
    let Some((journal, parts)) = prepared.map_err(as_refusal)? else {
        return Ok(());
    };
    let interrupt = Interrupt::watch("the drives are not done")?;
    let workers = Workers {
        journal: &journal,
        transfer: &options.transfer,
        interval: Duration::from_secs(options.checkpoint.into()),
        interrupt: &interrupt,
        style,
    };
    let shown = workers.run(&parts, |worker| worker.wipe());
    drop(parts);
    let finished = finish::finish(&journal, style);
    shown.and(finished)
}

/// Gives a failure before anything was written the exit code of a wrong argument.
fn as_refusal(failure: Failure) -> Failure {
    match failure {
        Failure::Runtime(text) => Failure::Usage(text),
        other => other,
    }
}

/// Shows the plan. Returns whether it is to be carried out. Fails if names were given that the run refuses,
/// dry or not.
fn show_plan(options: &WipeArguments, targets: &[Target], plan: &Plan) -> Result<bool, Failure> {
    confirm::check(targets, &options.consent)?;
    if options.dry_run && options.shown.json {
        output::print(&plan::event(targets, plan, options.purge)?)?;
    } else if options.dry_run {
        let text = plan::text(targets, plan, options.purge);
        output::print(&(text + "dry run: nothing was written\n"))?;
    } else {
        say(plan::text(targets, plan, options.purge).trim_end());
    }
    Ok(!options.dry_run)
}

/// Opens all of `targets` before anything is written to one of them.
fn open_all(targets: &[Target], transfer: &TransferArguments) -> Result<Vec<Device>, Failure> {
    let open = |target| {
        // The kernel retries a read for minutes while a drive sanitizes itself.
        let access = match purge::serves_reads(target) {
            true => Access::Write,
            false => Access::WriteLater,
        };
        Device::open(target, access, transfer.direct)
    };
    targets.iter().map(open).collect()
}

fn new_job(plan: Plan, drives: Vec<Drive>) -> Job {
    let machine = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Job {
        format: FORMAT.into(),
        tool: Tool {
            name: "squall".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            engine: Engine::best_aes().name().into(),
            kernel: text(machine.release()),
            host: text(machine.nodename()),
            machine: Machine::this(),
        },
        id: format!("{now}-{}", std::process::id()),
        operator: None,
        customer: None,
        plan,
        drives,
    }
}

/// Keeps keys out of core dumps, and out of swap if this process may lock unlimited memory. Under a
/// limit, locking all future memory would make threads fail.
fn protect_memory() {
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let may = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    let is_unlimited = rustix::process::getrlimit(Resource::Memlock)
        .current
        .is_none();
    if may || is_unlimited {
        let all = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        let _ = rustix::mm::mlockall(all);
    }
}

/// Tells the user something on standard error.
fn say(text: &str) {
    // If standard error is closed, nobody can be told.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
