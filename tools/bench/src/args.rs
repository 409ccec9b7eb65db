//! The arguments of `squall bench`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use squall_tool_base::reports::ReportArguments;

use crate::workloads::Kind;

/// Options of measurements, which --explain and --bytes-of do not make.
const OF_MEASURING: [&str; 8] = [
    "source",
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
      every source and every workload, in about a minute; the first run also builds the Go
      program, which takes half a minute
  squall bench --quick --export-html bench.html
      a short run, in under fifteen seconds, with a page to look at
  squall bench --export-json today.json --compare yesterday.json
      what changed since yesterday, beyond the noise
  squall bench --explain vdso
      how this source is measured
  squall bench --bytes-of vdso | RNG_test stdin64
      a source's bytes, tested by PractRand

Exit codes: 0 for success; 1 if something failed or the run was interrupted (it still writes what it \
measured, marked as incomplete); 2 for a wrong argument.")]
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
    #[arg(long, value_name = "NAME", value_parser = sources(), hide_possible_values = true)]
    pub source: Vec<String>,

    /// Measure only this workload; may be given more than once
    #[arg(long, value_name = "NAME", value_enum)]
    pub workload: Vec<Kind>,

    /// Explain how this source is measured, without measuring
    #[arg(long, value_name = "SOURCE", value_parser = sources(), hide_possible_values = true, conflicts_with_all = OF_MEASURING)]
    pub explain: Option<String>,

    /// Write random bytes from this source to standard output until the reader closes the pipe, for
    /// statistical tests such as PractRand
    #[arg(long, value_name = "SOURCE", value_parser = sources(), hide_possible_values = true, conflicts_with = "explain",
        conflicts_with_all = OF_MEASURING)]
    pub bytes_of: Option<String>,
}

fn sources() -> PossibleValuesParser {
    PossibleValuesParser::new(crate::sources::all().map(|entry| entry.name))
}
