//! What can be said behind `squall bench`.

use std::path::PathBuf;

use clap::Args;
use squall_tools::reports::ReportArguments;
use squall_tools::size;

use crate::workloads::Kind;

/// Measure every source of randomness on this machine.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  squall bench
      every source, every workload: under two minutes (once more half a minute to build Go's program)
  squall bench --quick --export-html bench.html
      under fifteen seconds, with a page to look at
  squall bench --export-json today.json --compare yesterday.json
      what changed, and whether it is more than the noise
  squall bench --explain vdso
      what is measured, and how
  squall bench --statistics --bytes 1GiB --source squall
      statistical tests of what a source gives

Exit codes: 0 for success, 1 for a failure while running, for a run that was interrupted (what was
measured is written all the same, marked as incomplete) and for a source that fails a test of
--statistics, batteries apart, 2 for a wrong argument.")]
pub struct BenchArguments {
    /// Less of everything, in under fifteen seconds
    #[arg(long)]
    pub quick: bool,

    /// What is wanted besides the table.
    #[command(flatten)]
    pub reports: ReportArguments,

    /// Write a page with tables and plots to this file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_html: Option<PathBuf>,

    /// Show what changed since this report, which --export-json or --json wrote
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,

    /// Measure this source alone, or these; all if not given (with --statistics, all but memset)
    #[arg(long, value_name = "NAME", value_parser = parse_source)]
    pub source: Vec<String>,

    /// Measure this workload alone, or these; all if not given
    #[arg(long, value_name = "NAME", value_enum)]
    pub workload: Vec<Kind>,

    /// Say what is measured of this source, and how; measure nothing
    #[arg(long, value_name = "SOURCE", value_parser = parse_source,
        conflicts_with_all = ["quick", "json", "export_json", "export_csv", "export_html", "compare", "source", "workload"])]
    pub explain: Option<String>,

    /// Test what each source gives by statistics; measure nothing
    ///
    /// Entropy, chi-square, serial correlation, matrix ranks, repeated blocks and more.
    #[arg(long,
        conflicts_with_all = ["quick", "json", "export_json", "export_csv", "export_html", "compare", "workload", "explain"])]
    pub statistics: bool,

    /// Hand a stream of each source to dieharder, TestU01's SmallCrush and PractRand as well, where
    /// they are installed
    ///
    /// That takes from minutes (SmallCrush) to half an hour and more (dieharder) for each source:
    /// name one by --source.
    #[arg(long, requires = "statistics")]
    pub batteries: bool,

    /// Bytes of each source to test
    #[arg(long, value_name = "SIZE", default_value = "64MiB", requires = "statistics", value_parser = parse_size)]
    pub bytes: u64,
}

fn parse_source(name: &str) -> Result<String, String> {
    match crate::sources::find(name) {
        Some(entry) => Ok(entry.name.to_owned()),
        None => {
            let names: Vec<_> = crate::sources::all().map(|entry| entry.name).collect();
            Err(format!(
                "{name:?} is not known: use one of {}",
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
        _ => Err("too few to conclude anything: give at least 1MiB".into()),
    }
}
