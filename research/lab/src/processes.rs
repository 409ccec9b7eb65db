//! Processes of which copies are made: a program is checkpointed once and restored many times, and what the copies draw
//! is compared, and what each copy and its child draw.

mod experiment;
mod namespace;
mod program;
mod report;
mod tool;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use squall_guests::debian::Cache;
use squall_tool_base::failure::at;
use squall_tool_base::{Failure, Interrupt};
use tempfile::TempDir;

use program::{PROGRAMS, Program, Workshop};
use report::Report;
use tool::ToolName;

/// Options of `squall-lab processes`.
#[derive(Debug, Args)]
pub struct ProcessesArguments {
    /// Use only this tool; may be given more than once
    #[arg(long, value_enum)]
    pub tool: Vec<ToolName>,

    /// Copy only this program; may be given more than once
    #[arg(long, value_parser = PossibleValuesParser::new(PROGRAMS.iter().map(|program| program.name)))]
    pub program: Vec<String>,

    /// How many times to restore each checkpoint
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u16).range(6..=1000).map(usize::from))]
    pub restores: usize,

    /// The cache of `scripts/lab-deps.sh`
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Also write the report to this directory: JSON and Markdown
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: date, kernel, versions and experiments. Each of experiments has tool, program, restores, status (squall's,
    /// where the program tells it), sizes, copies, forks, generations and wrong, which lists the claims that did not hold.
    /// sizes has, for each length in bytes, values, shared_by_copies and shared_with_child. copies, forks and generations have
    /// claim (differ, repeat or null), number, and shared, the number of those that share a value, or of copies with the
    /// original's clone generation. New keys may be added.
    #[arg(long)]
    pub json: bool,
}

/// Copies the programs with each tool, and prints and writes the report. Fails if a claim did not hold. If a program
/// cannot be copied, the report covers those before it.
pub fn run(options: &ProcessesArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::watch("the processes are ended")?;
    if let Some(directory) = &options.output {
        crate::clones::check_directory(directory)?;
    }
    let cache = Cache::open(options.cache.as_deref())?;
    let tools = match &*options.tool {
        [] => &ToolName::ALL,
        chosen => chosen,
    };
    let tools = tools
        .iter()
        .map(|&name| tool::Tool::open(name, &cache, &interrupt));
    let tools = tools.collect::<Result<Vec<_>, _>>()?;
    let directory = TempDir::new().map_err(at(&std::env::temp_dir()))?;
    let workshop = Workshop::open(&cache, directory.path())?;
    let mut report = Report::new(&tools);
    let ran = options.programs().try_for_each(|program| {
        let command = (program.command)(&workshop)?;
        tools.iter().try_for_each(|tool| {
            let found = experiment::run(tool, program, &command, options.restores);
            // The terminal's interrupt ends the copies too.
            interrupt.check()?;
            report.add(found?);
            Ok(())
        })
    });
    if report.is_empty() {
        return ran;
    }
    report.publish(options.json, options.output.as_deref())?;
    ran
}

impl ProcessesArguments {
    /// The programs that were asked for.
    fn programs(&self) -> impl Iterator<Item = &'static Program> {
        let is_wanted = |program: &&Program| {
            self.program.is_empty() || self.program.iter().any(|name| name == program.name)
        };
        PROGRAMS.iter().filter(is_wanted)
    }
}
