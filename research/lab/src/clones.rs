//! Experiments with machines that are booted, or resumed from one snapshot, many times: runs them one after
//! the other, and reports on all of them: to standard output, and to files, each of which is complete or absent.

mod args;
mod experiment;
mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;
use squall_guests::debian::{Architecture, Cache, Kernel};
use squall_guests::emulator;
use squall_probe::Mode;
use squall_tool_base::failure::at;
use squall_tool_base::output::{print, print_json};
use squall_tool_base::reports::Sink;
use squall_tool_base::{Failure, Interrupt};
use tempfile::NamedTempFile;

use crate::analysis::{Campaign, Experiment, Setup, Validity, markdown};
use crate::vm::{
    self, Accelerator, Contents, Cpu, KvmClock, Page, Platform, Signals, Spec, Userland,
};
pub use args::{HostArguments, LabArguments, ResetArguments, Scenario};
pub use machine::Machine;

/// Boots machines and reports on their outputs.
pub fn boot(options: &LabArguments) -> Result<(), Failure> {
    let lab = Lab::open(options, &[Scenario::Ticks])?;
    let machines = options.machines().into_iter();
    let boots = machines.map(|machine| lab.boots(machine, options.runs));
    lab.report(boots, "boot")
}

/// Resumes machines from snapshots and reports on their outputs.
pub fn reset(options: &ResetArguments) -> Result<(), Failure> {
    let lab = Lab::open(&options.lab, &options.scenario)?;
    let resets = options.scenario.iter().flat_map(|&scenario| {
        let machines = options.lab.machines().into_iter();
        machines.map(move |machine| (machine, scenario))
    });
    let resets = resets.map(|(machine, scenario)| lab.resets(machine, scenario, options.lab.runs));
    lab.report(resets, &report_name(&options.scenario))
}

/// The file name of a report on resets.
fn report_name(scenarios: &[Scenario]) -> String {
    match scenarios {
        [Scenario::Ticks] => "reset".into(),
        others => others.iter().fold("reset".into(), |name, scenario| {
            format!("{name}-{scenario}")
        }),
    }
}

/// Options, files and programs that the experiments need.
struct Lab<'a> {
    options: &'a LabArguments,
    cache: Cache,
    /// One for each kind of CPU that a machine has.
    platforms: Vec<Platform>,
    /// The Go program. None unless a scenario uses it.
    go: Option<PathBuf>,
    /// Unmodified programs, and interpreters, each if a scenario uses them.
    userlands: Vec<(Mode, Userland)>,
}

impl<'a> Lab<'a> {
    fn open(options: &'a LabArguments, scenarios: &[Scenario]) -> Result<Lab<'a>, Failure> {
        if let Some(directory) = &options.output {
            check_directory(directory)?;
        }
        let interrupt = Interrupt::watch("the machines are ended")?;
        let cache = Cache::open(options.host.cache.as_deref())?;
        let machines = options.machines();
        machines
            .iter()
            .try_for_each(|&machine| check(machine, scenarios, options.host.accelerator))?;
        let is_needed = |wanted: &Architecture| {
            let mut machines = machines.iter();
            machines.any(|machine| machine.architecture() == *wanted)
        };
        let needed = Architecture::ALL.into_iter().filter(is_needed);
        for machine in &machines {
            machine.qemu(&cache)?;
            cache.kernel(machine.kernel)?;
        }
        let timeout = Duration::from_secs(options.host.timeout);
        let platforms = needed
            .map(|architecture| Platform::open(architecture, &cache, &interrupt, timeout))
            .collect::<Result<Vec<_>, _>>()?;
        let host = &platforms[0].host;
        // What is missing is noticed at the start.
        let uses = |wanted: fn(Mode) -> bool| scenarios.iter().any(|one| wanted(one.mode()));
        let go = uses(|mode| mode == Mode::Go).then(|| {
            let path = host.file("go-probe");
            emulator::go_program("labprobe", &path).map(|()| path)
        });
        let programs = uses(|mode| mode == Mode::Programs)
            .then(|| Ok((Mode::Programs, Userland::of_programs(host, cache.nginx()?)?)));
        let interpreters = uses(|mode| mode == Mode::Sandbox).then(|| {
            Ok((
                Mode::Sandbox,
                Userland::of_interpreters(cache.interpreters()?)?,
            ))
        });
        let userlands = programs
            .into_iter()
            .chain(interpreters)
            .collect::<Result<_, Failure>>();
        // Ctrl-C on the terminal also ends the compilers.
        interrupt.check()?;
        Ok(Lab {
            options,
            cache,
            platforms,
            go: go.transpose()?,
            userlands: userlands?,
        })
    }

    fn boots(&self, machine: Machine, runs: usize) -> Result<Experiment, Failure> {
        let host = &self.platform(machine).host;
        let spec = self.spec(machine, Scenario::Ticks.mode())?;
        let progress = progress(&format!("{machine}: boots"), runs);
        let mut traces = Vec::with_capacity(runs);
        let mut facts = String::new();
        for _ in 0..runs {
            let (trace, reported) = experiment::boot(host, &spec.0).map_err(naming(machine))?;
            facts = reported;
            traces.push(trace);
            progress.inc(1);
        }
        let setup = self.setup(machine, &spec, Scenario::Ticks, &facts)?;
        Ok(finish_progress(
            &progress,
            Experiment::of_boots(setup, &traces),
        ))
    }

    fn resets(
        &self,
        machine: Machine,
        scenario: Scenario,
        runs: usize,
    ) -> Result<Experiment, Failure> {
        let host = &self.platform(machine).host;
        let spec = self.spec(machine, scenario.mode())?;
        let progress = progress(&format!("{machine}: resets, {scenario}"), runs);
        let original = experiment::snapshot(host, &spec.0).map_err(naming(machine))?;
        let advance = |done: usize| progress.set_position(done as u64);
        let order = scenario.order();
        let resets = experiment::resets(host, &spec.0, &original, order, runs, advance)
            .map_err(naming(machine))?;
        let setup = self.setup(machine, &spec, scenario, &original.facts)?;
        Ok(finish_progress(
            &progress,
            Experiment::of_resets(setup, &resets),
        ))
    }

    fn platform(&self, machine: Machine) -> &Platform {
        let has_its_cpu = |platform: &&Platform| platform.architecture == machine.architecture();
        let found = self.platforms.iter().find(has_its_cpu);
        found.expect("a platform for each machine")
    }

    /// The specification of a machine that runs the probe, and its kernel.
    fn spec(&self, machine: Machine, mode: Mode) -> Result<(Spec, Kernel), Failure> {
        let kernel = self.cache.kernel(machine.kernel)?;
        let vmclock = kernel.module("drivers/ptp/ptp_vmclock");
        let mut modules: Vec<_> = vmclock.into_iter().collect();
        modules.extend(self.module(machine)?);
        let platform = self.platform(machine);
        let initramfs = platform.host.file("initramfs");
        let userland = self.userlands.iter().find(|(of, _)| *of == mode);
        let contents = Contents {
            probe: &platform.probe,
            go: self.go.as_deref().filter(|_| mode == Mode::Go),
            userland: userland.map(|(_, userland)| userland),
            modules: &modules,
        };
        vm::initramfs(&initramfs, &contents)?;
        let spec = Spec {
            qemu: machine.qemu(&self.cache)?,
            kernel: kernel.image.clone(),
            initramfs,
            cpu: machine.cpu,
            cpus: self.options.cpus,
            signals: machine.signals,
            mode,
            accelerator: self.options.host.accelerator,
        };
        Ok((spec, kernel))
    }

    /// Builds the kernel module, if the machine has it.
    fn module(&self, machine: Machine) -> Result<Option<PathBuf>, Failure> {
        let variable = match machine.signals.page {
            Page::Hidden => return Ok(None),
            Page::Shown => "",
            Page::Copied => "COPY=1",
        };
        let (name, platform) = ("squall_vmgenid", self.platform(machine));
        let path = platform.host.file("squall_vmgenid.ko");
        emulator::module(&self.cache, machine.kernel, name, variable, &path)?;
        Ok(Some(path))
    }

    /// Describes the machine. Fails if the guest did not find the devices that it was given.
    fn setup(
        &self,
        machine: Machine,
        (spec, kernel): &(Spec, Kernel),
        scenario: Scenario,
        facts: &str,
    ) -> Result<Setup, Failure> {
        let facts: Value = serde_json::from_str(facts).unwrap_or(Value::Null);
        check_facts(machine, spec, &facts).map_err(naming(machine))?;
        Ok(Setup {
            machine: match spec.cpus {
                Spec::CPUS => machine.to_string(),
                cpus => format!("{machine} (CPUs: {cpus})"),
            },
            kernel: kernel.release.clone(),
            qemu: spec.qemu.version.clone(),
            accelerator: self.options.host.accelerator.name().into(),
            mode: scenario.to_string(),
            probe: scenario.mode(),
            signals: machine.signals,
            facts,
        })
    }

    /// Versions of the programs that take part, by name.
    fn versions(&self) -> BTreeMap<String, String> {
        let userlands = self.userlands.iter();
        let programs = userlands.flat_map(|(_, userland)| userland.versions.clone());
        let mut versions: BTreeMap<_, _> = programs.collect();
        versions.insert("qemu".into(), self.platforms[0].qemu.version.clone());
        versions.insert("squall".into(), env!("CARGO_PKG_VERSION").into());
        versions
    }

    /// Runs the experiments, and prints and writes their report. Fails if one is invalid or disproves a
    /// claim. If one cannot be run, the report covers those before it.
    fn report(
        &self,
        results: impl Iterator<Item = Result<Experiment, Failure>>,
        name: &str,
    ) -> Result<(), Failure> {
        let mut failed = Ok(());
        let mut experiments = Vec::new();
        for experiment in results {
            match experiment {
                Ok(experiment) => experiments.push(experiment),
                Err(failure) => {
                    failed = Err(failure);
                    break;
                }
            }
        }
        if experiments.is_empty() {
            return failed;
        }
        let campaign = Campaign {
            date: jiff::Timestamp::now().strftime("%F").to_string(),
            versions: self.versions(),
            experiments,
        };
        let written = match &self.options.output {
            Some(directory) => write_files(&campaign, &markdown(&campaign), directory, name),
            None => Ok(()),
        };
        // Show the results, which took an hour, even if they cannot be written to a file.
        if self.options.json {
            print_json(&campaign)?;
        } else {
            print(&markdown(&campaign))?;
        }
        written?;
        failed?;
        campaign.experiments.iter().try_for_each(check_verdict)
    }
}

/// Fails if the guest is not the one of `spec`.
fn check_facts(machine: Machine, spec: &Spec, facts: &Value) -> Result<(), Failure> {
    let wrong = |reason: &str| Err(Failure::Runtime(reason.into()));
    let found = Signals {
        vmgenid: facts["vmgenid"] == true,
        vmclock: facts["vmclock"] == true,
        ..machine.signals
    };
    let shows_page = !facts["vmgenid_page"].is_null();
    if found != machine.signals || shows_page != (found.page != Page::Hidden) {
        return wrong("the guest did not find exactly the devices that it was given");
    }
    let is_emulated = spec.accelerator == Accelerator::Tcg;
    let has_clock = machine.signals.kvm_clock != KvmClock::Absent;
    if is_emulated && (facts["kvm_clock"] == true) != has_clock {
        return wrong("the guest has kvm-clock and should not, or does not have it");
    }
    let has_rndr = facts["cpu_flags"]["rng"] == true;
    if has_rndr != (machine.cpu == Cpu::Arm64Max) || facts["cpus"] != spec.cpus {
        return wrong("the guest's CPUs are not those that it was given");
    }
    Ok(())
}

/// Adds the machine's name to a failure.
fn naming(machine: Machine) -> impl Fn(Failure) -> Failure {
    move |failure| emulator::reworded(failure, |message| format!("{machine}: {message}"))
}

/// Fails if `experiment` is invalid or disproves a claim.
fn check_verdict(experiment: &Experiment) -> Result<(), Failure> {
    let verdict = &experiment.verdict;
    let setup = &experiment.setup;
    let (what, why) = match (&verdict.validity, verdict.violated.first()) {
        (Validity::Invalid(reason), _) => ("the run is invalid", reason),
        (Validity::Valid, Some(claim)) => ("a claim is wrong", claim),
        (Validity::Valid, None) => return Ok(()),
    };
    let (machine, mode) = (&setup.machine, &setup.mode);
    let message = format!("{what}: {machine}, {mode}: {why}");
    Err(Failure::Runtime(message))
}

/// Fails if the machine cannot run these scenarios.
fn check(
    machine: Machine,
    scenarios: &[Scenario],
    accelerator: Accelerator,
) -> Result<(), Failure> {
    let architecture = machine.architecture();
    let cannot = |scenario: &&Scenario| !scenario.runs_on(architecture);
    if let Some(scenario) = scenarios.iter().find(cannot) {
        return Err(Failure::Usage(format!(
            "{machine} does not run the scenario {scenario}: use ticks, together, threads or forks"
        )));
    }
    let has_clock = machine.signals.kvm_clock != KvmClock::Absent;
    if (architecture == Architecture::Arm64 || has_clock) && accelerator == Accelerator::Kvm {
        return Err(Failure::Usage(format!(
            "{machine} is always emulated: leave --accelerator out"
        )));
    }
    Ok(())
}

/// A progress bar, which is shown only on a terminal.
pub fn progress(what: &str, runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {pos} of {len} {wide_bar} {eta}")
        .expect("a valid template");
    let bar = ProgressBar::new(runs as u64).with_style(style);
    bar.set_message(what.to_owned());
    bar.tick();
    bar
}

fn finish_progress(progress: &ProgressBar, experiment: Experiment) -> Experiment {
    if progress.is_hidden() {
        eprintln!("{}: {} done", progress.message(), experiment.runs);
    }
    progress.finish_and_clear();
    experiment
}

/// More bytes than a report needs.
const NEEDED_SPACE: usize = 1 << 20;

/// Checks that reports can be written to `directory`, so that a run of hours is not lost.
pub fn check_directory(directory: &Path) -> Result<(), Failure> {
    if directory.exists() && !directory.is_dir() {
        return Err(at(directory)(io::ErrorKind::NotADirectory.into()));
    }
    fs::create_dir_all(directory)
        .and_then(|()| NamedTempFile::new_in(directory))
        .and_then(|mut file| file.write_all(&vec![0; NEEDED_SPACE]))
        .map_err(at(directory))
}

/// Writes a report, which has this Markdown, as `NAME.json` and `NAME.md` to `directory`.
pub fn write_files(
    report: &impl Serialize,
    markdown: &str,
    directory: &Path,
    name: &str,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(report)
        .map_err(|error| Failure::Runtime(format!("report: {error}")))?;
    Sink::open(&directory.join(format!("{name}.json")))?.write(&(json + "\n"))?;
    Sink::open(&directory.join(format!("{name}.md")))?.write(markdown)
}
