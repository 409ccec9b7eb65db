//! Draws from squall what each line of its input asks for, until there are no more: a program of which copies are made by
//! restoring a checkpoint. `testing/guests/programs/copies.c` says what the lines are, and is the same in C. The line
//! `status ` asks for squall's status, and `generation ` for the clone generation, first of a child and then of the process.
//!
//! The arguments are names of failpoints, which are activated before the first request. Devices with a signal of clones
//! are hidden, so that the failpoints alone decide which guard squall has.

use std::io::{self, Write};

use rustix::process::{WaitOptions, waitpid};
use squall::testing::{Failpoint, activate_for_testing, clone_device_for_testing};

const FAILPOINTS: [Failpoint; 12] = [
    Failpoint::FreezeGeneration,
    Failpoint::FreezeTick,
    Failpoint::HideKvmClock,
    Failpoint::HideHypervisorAnnouncement,
    Failpoint::HideVmgenid,
    Failpoint::PretendVm,
    Failpoint::PretendVmgenid,
    Failpoint::RefuseDroppableMemory,
    Failpoint::RefuseWipeOnFork,
    Failpoint::SkipForkGuard,
    Failpoint::SkipUnnotifiedCloneGuard,
    Failpoint::ZeroAdditionalInput,
];

type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    for name in std::env::args().skip(1) {
        let is_named = |failpoint: &Failpoint| format!("{failpoint:?}") == name;
        let found = FAILPOINTS.into_iter().find(is_named);
        activate_for_testing(found.ok_or(format!("{name} is no failpoint"))?);
    }
    clone_device_for_testing(c"/dev/vmclock0", c"/dev/null");
    clone_device_for_testing(c"/dev/squall-vmgenid", c"/dev/null");
    for line in io::stdin().lines() {
        let line = line?;
        let (order, lengths) = line.split_once(' ').ok_or("an order and lengths")?;
        if order == "status" {
            println!("{}", serde_json::to_string(&squall::status())?);
            continue;
        }
        if order == "generation" {
            in_child(print_generation)?;
            print_generation()?;
            continue;
        }
        if order == "fork" {
            in_child(|| answer(lengths))?;
        }
        answer(lengths)?;
    }
    Ok(())
}

fn print_generation() -> Result<()> {
    let generation = squall::clones::generation().map_or(0, u64::from);
    writeln!(io::stdout(), "{generation}")?;
    Ok(())
}

/// Prints values of these lengths.
fn answer(lengths: &str) -> Result<()> {
    let mut line = String::new();
    for length in lengths.split(' ') {
        let value = draw(length.parse()?);
        line.extend(value.iter().map(|byte| format!("{byte:02x}")));
        line.push(' ');
    }
    writeln!(io::stdout(), "{line}")?;
    Ok(())
}

fn draw(length: usize) -> Vec<u8> {
    match length {
        4 => squall::u32().to_ne_bytes().into(),
        8 => squall::u64().to_ne_bytes().into(),
        _ => {
            let mut value = vec![0; length];
            squall::fill(&mut value);
            value
        }
    }
}

fn in_child(act: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: this process has one thread, so no other thread's half-finished change is copied to the child.
    let child = unsafe { libc::fork() };
    if child == 0 {
        std::process::exit(act().is_err().into());
    }
    let child = rustix::process::Pid::from_raw(child).ok_or_else(io::Error::last_os_error)?;
    let ended = waitpid(Some(child), WaitOptions::empty())?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        _ => Err("the child failed".into()),
    }
}
