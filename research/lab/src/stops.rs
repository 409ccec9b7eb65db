//! Measures how short the gap of a guest's cycle counter can be across a stop of the machine: `squall`
//! takes a gap shorter than its GAP as proof that there was no stop.
//!
//! It also measures the cost of one exit to the hypervisor on the machine where the command runs.

mod args;
mod exit;
mod experiment;
mod gap;
mod order_statistics;
mod report;

use std::time::Duration;

use squall_probe::Mode;
use squall_tools::{Failure, Interrupt, output};

pub use args::StopsArguments;

use crate::vm::{self, Contents, Platform, Spec};
use report::{Setup, StopsReport};
use squall_guests::debian::Cache;

/// Measures and reports.
pub fn run(options: &StopsArguments) -> Result<(), Failure> {
    output::check()?;
    let exit = exit::measure();
    let interrupt = Interrupt::watch("the machines are ended")?;
    let cache = Cache::open(options.cache.as_deref())?;
    let kernel = cache.kernel(options.machine.kernel)?;
    let platform = Platform::open(
        options.machine.architecture(),
        &cache,
        &interrupt,
        Duration::from_secs(options.timeout),
    )?;
    let setup = Setup {
        date: jiff::Timestamp::now().strftime("%F").to_string(),
        machine: options.machine.to_string(),
        kernel: kernel.release,
        qemu: platform.qemu.clone(),
        accelerator: options.accelerator.name(),
    };
    let initramfs = platform.host.file("initramfs");
    let contents = Contents {
        probe: &platform.probe,
        go: None,
        doors: None,
        modules: &[],
    };
    vm::initramfs(&initramfs, &contents)?;
    let spec = Spec {
        kernel: kernel.image,
        initramfs,
        cpu: options.machine.cpu,
        signals: options.machine.signals,
        mode: Mode::Stops,
        accelerator: options.accelerator,
    };
    let measured = experiment::measure(&platform.host, &spec, &options.counts())?;
    let report = StopsReport::new(setup, &measured, exit);
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&report.text())
    }
}
