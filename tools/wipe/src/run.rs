//! A run of `squall wipe` or `squall verify`, from the command line to the reports.

mod begin;
mod finish;
mod resume;
mod then;
mod verify;

use std::io::Write;
use std::sync::Arc;

use jiff::Timestamp;
use rustix::mm::MlockAllFlags;
use rustix::process::{DumpableBehavior, Resource};
use rustix::thread::CapabilitySet;
use squall::Engine;
use squall_drives::Target;
use squall_drives::confirm::{self, Consent};
use squall_drives::erase::SupportedErases;
use squall_tool_base::columns::paragraph;
use squall_tool_base::in_child::{self, Ended};
use squall_tool_base::{Failure, Inquiry, Interrupt, output};

use crate::args::WipeArguments;
use crate::arrivals::{self, Arrivals};
use crate::choice::Choice;
use crate::drive::{PendingDrive, Worker};
use crate::journal::Journal;
use crate::keyboard::{self, Keyboard};
use crate::plan::TargetPlan;
use crate::purge;
use crate::record::{Drive, FORMAT, Job, Machine, Plan, Tool};
use crate::show::OutputStyle;
use crate::workers::Supervision;

use finish::both;

pub use verify::verify;

/// A job, those of its drives that are not done yet, and with `--watch` those that are plugged in later.
type PreparedJob = (Journal, Vec<PendingDrive>, Option<Arrivals>);

/// Fails if the options contradict each other.
pub fn check(options: &WipeArguments) -> Result<(), Failure> {
    options.choice.check()?;
    purge::check_agreed(options.purge, options.untried_on_hardware)?;
    begin::plan_of(options).map(drop)
}

pub fn wipe(options: &WipeArguments) -> Result<(), Failure> {
    check(options)?;
    let style = OutputStyle::choose(options.json).map_err(as_refusal)?;
    let inquiry = Inquiry::watch()?;
    let prepared = match &options.resume {
        Some(path) => resume::prepare(options, path, style),
        None => begin::prepare(options),
    };
    let Some(prepared) = prepared.map_err(as_refusal)? else {
        return Ok(());
    };
    let has_keys = style == OutputStyle::Screen && keyboard::is_there();
    supervised(has_keys || options.transfer.stall.is_some(), || {
        work(options, prepared, style, &inquiry)
    })
}

/// Runs `work`, in a child if a drive `may_be_given_up` that never answers.
pub(crate) fn supervised(
    may_be_given_up: bool,
    work: impl FnOnce() -> Result<Ended, Failure>,
) -> Result<(), Failure> {
    match may_be_given_up {
        true => in_child::run(work),
        false => work()?.result,
    }
}

fn work(
    options: &WipeArguments,
    (journal, parts, arrivals): PreparedJob,
    style: OutputStyle,
    inquiry: &Inquiry,
) -> Result<Ended, Failure> {
    // A child does not inherit memory locks.
    protect_memory();
    let interrupt = Interrupt::watch("the drives are not done")?;
    let journal = Arc::new(journal);
    let targets = parts.iter();
    let targets = targets.map(|part| (part.number, part.device.target().clone()));
    let targets: Vec<_> = targets.collect();
    let supervision = Supervision {
        work: Worker::wipe,
        journal: &journal,
        transfer: &options.transfer,
        interval: options.checkpoint,
        interrupt: &interrupt,
        inquiry,
        style,
        keyboard: match style {
            OutputStyle::Screen => Keyboard::take(),
            OutputStyle::Log | OutputStyle::Json => None,
        },
        arrivals,
    };
    let ended = supervision.run(parts);
    let finished = finish::finish(&journal, style);
    let result = ended.shown.and(finished.result);
    let result = result.and(arrivals::check(ended.missed));
    let done = options.then.map_or(Ok(()), |then| {
        then.check_end(finished.is_reported, &interrupt)?;
        then.run(&targets, &ended.stuck, style)
    });
    Ok(Ended {
        result: both(done, result),
        is_stuck: !ended.stuck.is_empty(),
    })
}

/// Gives a failure before anything was written the exit code of a wrong argument.
fn as_refusal(failure: Failure) -> Failure {
    match failure {
        Failure::Runtime(text) => Failure::Usage(text),
        other => other,
    }
}

/// Shows the plan. Returns what the targets answered about their own erase; `None` if nothing is to be carried out. Fails
/// if names were given that the run refuses, dry or not. `choice` has the targets if they were not named.
fn show_plan(
    options: &WipeArguments,
    consent: &Consent,
    choice: Option<&Choice>,
    targets: &[Target],
    plan: &Plan,
) -> Result<Option<Vec<Option<SupportedErases>>>, Failure> {
    confirm::check(targets, consent)?;
    let erases = purge::ask_all(targets);
    let planned = TargetPlan {
        targets,
        plan,
        purge: options.purge,
        erases: &erases,
        then: options.then,
    };
    let text = |width| match choice {
        Some(choice) => {
            choice.text(width) + &planned.text_below_table(width) + &watch_sentence(options, width)
        }
        None => planned.text(width),
    };
    if options.dry_run && options.json {
        output::print(&planned.event()?)?;
    } else if options.dry_run {
        output::print(&(text(output::width()) + "dry run: nothing was written\n"))?;
    } else {
        say(text(output::error_width()).trim_end());
    }
    Ok((!options.dry_run).then_some(erases))
}

/// What happens to drives that are plugged in later.
fn watch_sentence(options: &WipeArguments, width: Option<usize>) -> String {
    let sentence = format!(
        "and the same with every {} drive that is plugged in while this runs",
        options.choice.bus_names()
    );
    match options.choice.watch {
        true => paragraph(&sentence, width),
        false => String::new(),
    }
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
    let limit = rustix::process::getrlimit(Resource::Memlock).current;
    if may || limit.is_none() {
        let all = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        let _ = rustix::mm::mlockall(all);
    }
}

fn say(text: &str) {
    // If standard error is closed, nobody reads it.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
