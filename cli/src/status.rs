//! `squall status`: which protections of randomness this machine supports, and which it lacks.
//!
//! [`report`] gathers the facts and the warnings. [`human`] prints them for people; serialised, the
//! report is the JSON object that `--json` documents. [`counters`] shows a file of counters instead.

mod counters;
mod human;
mod report;
mod warnings;

use std::path::PathBuf;

use clap::Args;
pub use report::Report;
use squall_tool_base::Failure;
use squall_tool_base::output;

#[derive(Args)]
pub struct StatusArguments {
    /// Print one JSON object with stable snake_case keys; unknown values are null
    ///
    /// Keys: version, engine, engines_available, memory, fork_guard, clone_guard, reseed_guard,
    /// kernel_release, cpu_model, hypervisor, has_squall_device, squall_device_uses_page, is_vm, has_vmgenid,
    /// has_vmclock, has_vmgenid_page, has_kvm_clock, follows_tick, has_vdso_getrandom, cpu_random, cycle_counter,
    /// kernel_generation, reseeds, bootstraps, bytes_discarded, copy_signals, and warnings and notes: lists of objects, the
    /// first with signal, copy (machine, process or fork), delay (none or milliseconds) and when, the others with code,
    /// problem and advice. New keys may be added. With --counters: loads, and interfaces, a list of objects with interface,
    /// requests, bytes and forwarded.
    #[arg(long)]
    pub json: bool,

    /// Show the counters in this file, which squall run --counters made
    ///
    /// For each interface (a way in which programs reach squall): the requests that squall served, their
    /// bytes, and the requests that were left to the kernel.
    ///
    /// Other programs with libsquall or OpenSSL's provider also count in the file, if the environment
    /// variable SQUALL_COUNTERS holds its absolute path and they may write to it.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,
}

/// Prints the status of this machine, or the content of a file of counters.
pub fn run(options: &StatusArguments) -> Result<(), Failure> {
    if let Some(file) = &options.counters {
        return counters::show(file, options.json);
    }
    let report = Report::now()?;
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&human::write(&report))
    }
}
