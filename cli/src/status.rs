//! `squall status`: which protections of randomness this machine supports, and which it lacks, for people, one fact per line
//! with its meaning, and then warnings with advice; or the content of a file of counters.
//!
//! [`Report`] has the facts and the warnings; serialised, it is the JSON object that `--json` documents.

mod report;
mod warnings;

use std::fmt::{Display, Write};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use squall::{CloneGuard, Engine, ForkGuard, MemoryKind, ReseedGuard};
use squall_binding_base::counters::{self, Totals};
use squall_tool_base::failure::opening;
use squall_tool_base::{Failure, output, units};

use crate::version::engine_names;
pub use report::Report;
use warnings::Warning;

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
        return show_counters(file, options.json);
    }
    let report = Report::now()?;
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&for_people(&report))
    }
}

/// Prints the counters in `file`, for people or as JSON.
fn show_counters(file: &Path, as_json: bool) -> Result<(), Failure> {
    let totals = counters::read(file).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Failure::Usage(format!(
            "{}: not a counter file: name one that squall run --counters made",
            file.display()
        )),
        _ => opening(file)(error),
    })?;
    if as_json {
        output::print_json(&totals)
    } else {
        output::print(&counters_table(&totals))
    }
}

fn counters_table(totals: &Totals) -> String {
    let plural = if totals.loads == 1 { "" } else { "s" };
    let mut text = format!(
        "squall's libraries were loaded {} time{plural}.\n",
        totals.loads
    );
    let used = |total: &&counters::Total| total.requests + total.forwarded > 0;
    let mut interfaces = totals.interfaces.iter().filter(used).peekable();
    if interfaces.peek().is_none() {
        return text + "Nothing was counted.\n";
    }
    let _ = writeln!(
        text,
        "\n{:14}{:>14}{:>10}{:>18}",
        "interface", "requests", "bytes", "left to kernel"
    );
    for total in interfaces {
        let bytes = units::volume(total.bytes);
        let (interface, requests, forwarded) = (total.interface, total.requests, total.forwarded);
        let _ = writeln!(
            text,
            "{interface:14}{requests:>14}{bytes:>10}{forwarded:>18}"
        );
    }
    text
}

const NAME_WIDTH: usize = 18;

fn for_people(report: &Report) -> String {
    let mut text = format!("squall {}\n", report.facts.version);
    section(&mut text, "Machine", &machine(report));
    section(&mut text, "Protection", &protection(report));
    section(&mut text, "Signals of copies", &copy_signals(report));
    section(&mut text, "Generator", &generator(report));
    list(&mut text, "Warnings", &report.warnings);
    if report.warnings.is_empty() {
        text.push_str("\nNo protection is missing.\n");
    }
    list(&mut text, "Notes", &report.notes);
    text
}

type Fact = (&'static str, String);

fn section(text: &mut String, title: &str, facts: &[Fact]) {
    let _ = writeln!(text, "\n{title}");
    for (name, value) in facts {
        let _ = writeln!(text, "  {name:NAME_WIDTH$}{value}");
    }
}

fn machine(report: &Report) -> [Fact; 12] {
    let status = &report.facts.status;
    let or_unknown = |name: &Option<String>| name.clone().unwrap_or("unknown".to_owned());
    [
        ("Kernel", format!("Linux {}", report.kernel_release)),
        ("CPU", or_unknown(&report.cpu_model)),
        ("Hypervisor", or_unknown(&report.hypervisor)),
        ("vDSO getrandom", yes_or_no(status.has_vdso_getrandom)),
        ("vmgenid", yes_or_no(status.has_vmgenid)),
        ("vmgenid's page", yes_or_no(status.has_vmgenid_page)),
        ("vmclock", yes_or_no(status.has_vmclock)),
        ("kvm-clock", yes_or_no(status.has_kvm_clock)),
        ("Kernel's tick", yes_or_no(status.follows_tick)),
        ("/dev/squall", squall_device(report).to_owned()),
        ("CPU random words", status.cpu_random.to_string()),
        ("Cycle counter", status.cycle_counter.to_string()),
    ]
}

fn squall_device(report: &Report) -> &'static str {
    match (report.has_squall_device, report.squall_device_uses_page) {
        (false, _) => "no",
        (true, false) => "yes, without vmgenid's page",
        (true, true) => "yes, with vmgenid's page",
    }
}

fn protection(report: &Report) -> [Fact; 4] {
    let status = &report.facts.status;
    let memory = match status.memory {
        MemoryKind::Droppable => "the kernel may drop it, never swaps it, wipes it on fork",
        MemoryKind::WipeOnFork => "the kernel wipes it on fork",
        MemoryKind::None => "no memory was granted: each request is seeded by itself",
        _ => "ordinary memory, which a fork copies",
    };
    let fork = match status.fork_guard {
        ForkGuard::Wiped => "a child finds its state erased",
        ForkGuard::NoState => "there is no state to inherit",
        _ => "every request compares the process id",
    };
    let clone = match status.clone_guard {
        CloneGuard::NotAVm => "no sign of a virtual machine".to_owned(),
        CloneGuard::Signal(signal) if signal.is_immediate() => {
            format!("a value in memory changes {}", signal.when())
        }
        CloneGuard::Signal(_) => {
            "the kernel reseeds when notified of a clone; until then each request is made unique"
                .to_owned()
        }
        _ => "no signal: cycle counter and CPU random words make each request unique".to_owned(),
    };
    let reseed = match status.reseed_guard {
        ReseedGuard::MappedGeneration => "every request compares the kernel's generation",
        ReseedGuard::VdsoProbe => "every request asks the vDSO",
        _ => "not noticed: state is reseeded at intervals",
    };
    [
        ("Memory of state", explain(&status.memory, memory)),
        ("Fork", explain(&status.fork_guard, fork)),
        ("Clone of the VM", explain(&status.clone_guard, &clone)),
        ("Kernel reseed", explain(&status.reseed_guard, reseed)),
    ]
}

fn copy_signals(report: &Report) -> Vec<Fact> {
    let signals = report.copy_signals.iter();
    signals
        .map(|signal| (signal.signal, format!("{}: {}", signal.copy, signal.when)))
        .collect()
}

fn generator(report: &Report) -> [Fact; 6] {
    let status = &report.facts.status;
    let generation = status.kernel_generation;
    let generation = generation.map_or("unknown".to_owned(), |number| number.to_string());
    [
        ("Engine", status.engine.to_string()),
        ("Engines here", engine_names(Engine::available())),
        ("Kernel generation", generation),
        ("Seeded", in_this_process(status.reseeds, "time")),
        ("Bootstrapped", in_this_process(status.bootstraps, "time")),
        (
            "Discarded (stale)",
            in_this_process(status.bytes_discarded, "byte"),
        ),
    ]
}

/// Nothing if there are no entries.
fn list(text: &mut String, title: &str, entries: &[Warning]) {
    if !entries.is_empty() {
        let _ = writeln!(text, "\n{title}");
    }
    for entry in entries {
        let _ = writeln!(text, "  {}", entry.problem);
        let _ = writeln!(text, "    -> {}", entry.advice);
    }
}

fn yes_or_no(is_there: bool) -> String {
    if is_there { "yes" } else { "no" }.to_owned()
}

fn explain(name: &dyn Display, meaning: &str) -> String {
    format!("{name}: {meaning}")
}

fn in_this_process(number: u64, unit: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural} in this process")
}
