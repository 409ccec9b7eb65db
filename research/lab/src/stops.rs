//! Measures how short the gap of a guest's cycle counter can be across a stop of the machine: `squall`
//! takes a gap shorter than its GAP as proof that there was no stop.
//!
//! It also measures the cost of one exit to the hypervisor on the machine where the command runs.

mod experiment;
mod report;

use std::time::Duration;

use clap::Args;
use squall_guests::debian::Cache;
use squall_probe::Mode;
use squall_tools::{Failure, Interrupt, output};

use crate::clones::{HostArguments, Machine};
use crate::vm::{self, Contents, Platform, Spec};
use report::{Setup, StopsReport};

/// Measures and reports.
pub fn run(options: &StopsArguments) -> Result<(), Failure> {
    output::check()?;
    let exit = experiment::measure_exit();
    let interrupt = Interrupt::watch("the machines are ended")?;
    let cache = Cache::open(options.host.cache.as_deref())?;
    let kernel = cache.kernel(options.machine.kernel)?;
    let platform = Platform::open(
        options.machine.architecture(),
        &cache,
        &interrupt,
        Duration::from_secs(options.host.timeout),
    )?;
    let setup = Setup {
        date: jiff::Timestamp::now().strftime("%F").to_string(),
        machine: options.machine.to_string(),
        kernel: kernel.release,
        qemu: platform.qemu.version.clone(),
        accelerator: options.host.accelerator.name(),
    };
    let initramfs = platform.host.file("initramfs");
    let contents = Contents {
        probe: &platform.probe,
        go: None,
        userland: None,
        modules: &[],
    };
    vm::initramfs(&initramfs, &contents)?;
    let spec = Spec {
        qemu: platform.qemu,
        kernel: kernel.image,
        initramfs,
        cpu: options.machine.cpu,
        signals: options.machine.signals,
        mode: Mode::Stops,
        accelerator: options.host.accelerator,
    };
    let measured = experiment::measure(&platform.host, &spec, options)?;
    let report = StopsReport::new(setup, &measured, exit);
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&report.text())
    }
}

/// Options of `squall-lab stops`.
#[derive(Debug, Args)]
pub struct StopsArguments {
    /// How many times to stop the machine and continue it at once
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub stops: u32,

    /// How many times to stop it, write a snapshot and continue it
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub snapshots: u32,

    /// How many times to restore a snapshot in a new process
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub clones: u32,

    /// The machine: 6.1, 6.1+vmgenid, 6.12, 6.12+vmgenid, newest+vmgenid+vmclock, or one with arm64 such
    /// as 6.12-arm64, where the counter is slower and squall has no bursts
    #[arg(long, default_value = "6.12", value_parser = Machine::parser(), hide_possible_values = true)]
    pub machine: Machine,

    /// How the machine is run.
    #[command(flatten)]
    pub host: HostArguments,

    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: date, machine, kernel, qemu, accelerator, cycles_per_ms, squall_gap, kinds, undisturbed
    /// and exit. Each of kinds has kind (stop, snapshot or clone), stops, within_a_reading (further
    /// stops, whose position is not certain), overwritten (those whose readings were lost),
    /// shorter_than_squall_gap, least and median. undisturbed has gaps, least and median while the
    /// machine is not stopped. exit has hypervisor, times, least and median, which are null if
    /// nothing was measured, and skipped, the reason for that. All gaps are in cycles. New keys may
    /// be added.
    #[arg(long)]
    pub json: bool,
}
