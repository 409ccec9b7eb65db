//! What KVM does with kvm-clock when a machine is restored, on this machine's /dev/kvm.
//!
//! KVM keeps a record for each CPU of a guest in the guest's memory. squall relies on this: KVM rewrites the record of a
//! restored CPU before the CPU's first instruction. Here small guests are stopped at arbitrary instructions and copied
//! into new machines, and their programs look for a record that is still the copied one. Controls show what would be
//! seen otherwise.

mod guest;
mod looks;
mod machine;
mod memory;
mod protocol;
mod report;
mod way;

use std::path::PathBuf;

use clap::Args;
use fastrand::Rng;
use squall_tool_base::{Failure, output};

use crate::clones::{check_directory, progress, write_files};
use looks::Looks;
use machine::Host;
use protocol::Protocol;
use report::Report;

/// Fails with the reason if no guest runs here.
pub fn check() -> Result<(), Failure> {
    Looks::boot(&Host::open()?).map(drop)
}

/// Examines and reports. Fails if a claim or a control did not hold.
pub fn run(options: &KvmArguments) -> Result<(), Failure> {
    output::check()?;
    if let Some(directory) = &options.output {
        check_directory(directory)?;
    }
    let mut report = Report::new(options.seed, options.snapshots, options.clones);
    examine(options, &mut report)?;
    let verdict = report.judge();
    let written = match &options.output {
        Some(directory) => write_files(&report, &report.markdown(), directory, "kvm"),
        None => Ok(()),
    };
    if options.json {
        output::print_json(&report)?;
    } else {
        output::print(&report.markdown())?;
    }
    written?;
    verdict
}

fn examine(options: &KvmArguments, report: &mut Report) -> Result<(), Failure> {
    let host = Host::open()?;
    let mut random = Rng::with_seed(options.seed);
    let mut looks = Looks::boot(&host)?;
    let mut protocol = Protocol::boot(&host)?;
    let progress = progress("snapshots", options.snapshots as usize);
    for number in 0..options.snapshots {
        looks.stop(number % 4 == 0, &mut random)?;
        looks.copies(options.clones, &mut random, report)?;
        protocol.copies(options.clones, &mut random, report)?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(())
}

/// Options of `squall-lab kvm`.
#[derive(Debug, Args)]
pub struct KvmArguments {
    /// How many times to stop the guests and copy them
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub snapshots: u32,

    /// How many clones to make of each copy
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub clones: u32,

    /// What the choices depend on: how a clone is restored, how long it runs, where its thread runs
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,

    /// Write the report to DIR/kvm.json and DIR/kvm.md too
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: date, kernel, cpu, hypervisor (below this machine), kvm_modules, seed, snapshots, clones,
    /// generations (how often a clone became the guest that was copied), held, claims, controls, ways and
    /// stops. Each of claims (looks of which none may be stale), controls (trials in each of which something
    /// must be stale) and ways (looks at own records, by what was special in how a clone was restored) has
    /// name, times and stale. stops has the offsets of the instructions at which CPUs were stopped. New keys
    /// may be added.
    #[arg(long)]
    pub json: bool,
}
