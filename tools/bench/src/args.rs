//! The arguments of `squall bench`.

use std::path::PathBuf;

use clap::Args;
use squall_tools::reports::ReportArguments;
use squall_tools::size;

use crate::workloads::Kind;

/// Options of measurements of speed, which --statistics and --explain do not make.
const OF_MEASURING: [&str; 7] = [
    "quick",
    "json",
    "export_json",
    "export_csv",
    "export_html",
    "compare",
    "workload",
];

/// Measure every source of randomness on this machine.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  squall bench
      every source and every workload, in under two minutes; the first run also builds the Go
      program, which takes half a minute
  squall bench --quick --export-html bench.html
      a short run, in under fifteen seconds, with a page to look at
  squall bench --export-json today.json --compare yesterday.json
      what changed since yesterday, beyond the noise
  squall bench --explain vdso
      how this source is measured
  squall bench --batteries --source squall
      a source's bytes, tested by dieharder, PractRand and TestU01

Exit codes: 0 for success; 1 if something failed, if the run was interrupted (it still writes what it \
measured, marked as incomplete), or if a source failed a test of --batteries or none is installed; 2 for a wrong \
argument.")]
pub struct BenchArguments {
    /// Measure less of everything, in under fifteen seconds
    #[arg(long)]
    pub quick: bool,

    /// Outputs besides the table.
    #[command(flatten)]
    pub reports: ReportArguments,

    /// Write a page with tables and plots to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,

    /// Show what changed since this report, written by --export-json or --json
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,

    /// Measure only this source; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = parse_source)]
    pub source: Vec<String>,

    /// Measure only this workload; may be given more than once
    #[arg(long, value_name = "NAME", value_enum)]
    pub workload: Vec<Kind>,

    /// Explain how this source is measured, without measuring
    #[arg(long, value_name = "SOURCE", value_parser = parse_source,
        conflicts_with = "source", conflicts_with_all = OF_MEASURING)]
    pub explain: Option<String>,

    /// Test each source's bytes with dieharder, PractRand and TestU01's SmallCrush, where they are
    /// installed, without measuring
    ///
    /// SmallCrush takes minutes for each source, dieharder half an hour or more: choose one with
    /// --source.
    #[arg(long, conflicts_with = "explain", conflicts_with_all = OF_MEASURING)]
    pub batteries: bool,

    /// How many bytes of each source PractRand tests; the others take what they need
    // clap drops what an option requires if that conflicts with another option.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_size, requires = "batteries",
        conflicts_with = "explain", conflicts_with_all = OF_MEASURING)]
    pub bytes: u64,
}

impl BenchArguments {
    /// Whether `--source` names this source. Without it, all are asked for.
    pub(crate) fn asks_for(&self, source: &str) -> bool {
        self.source.is_empty() || self.source.iter().any(|name| name == source)
    }
}

fn parse_source(name: &str) -> Result<String, String> {
    match crate::sources::find(name) {
        Some(entry) => Ok(entry.name.to_owned()),
        None => {
            let names: Vec<_> = crate::sources::all().map(|entry| entry.name).collect();
            Err(format!(
                "{name:?} is not a source: use one of {}",
                names.join(", ")
            ))
        }
    }
}

/// Fewest bytes from which anything can be concluded.
const LEAST_BYTES: u64 = 1 << 20;

fn parse_size(text: &str) -> Result<u64, String> {
    match size::parse(text)? {
        bytes @ LEAST_BYTES.. => Ok(bytes),
        _ => Err("too few for a test: use at least 1MiB".into()),
    }
}
