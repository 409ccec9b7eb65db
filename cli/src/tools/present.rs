//! The tools, each of which is a crate of its own.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use squall_bench::args::BenchArguments;
use squall_dmcrypt::args::DmcryptArguments;
use squall_drives::list::{DrivesArguments, list};
use squall_tool_base::Failure;
use squall_tool_base::failure::creating_folder;
use squall_tool_base::reports::Sink;
use squall_wipe::args::{BlankArguments, VerifyArguments, WipeArguments};

use super::{BENCH, BLANK, DMCRYPT, DRIVES, SCHEMAS, VERIFY, WIPE};
use crate::status::Report;

#[derive(Subcommand)]
pub enum Tool {
    #[command(about = BENCH)]
    Bench(BenchArguments),
    #[command(about = DRIVES)]
    Drives(DrivesArguments),
    #[command(about = WIPE)]
    Wipe(WipeArguments),
    #[command(about = VERIFY)]
    Verify(VerifyArguments),
    #[command(about = BLANK)]
    Blank(BlankArguments),
    #[command(about = DMCRYPT)]
    Dmcrypt(DmcryptArguments),
    #[command(about = SCHEMAS)]
    Schemas(SchemasArguments),
}

pub fn run(tool: &Tool) -> Result<(), Failure> {
    match tool {
        Tool::Bench(options) => squall_bench::run(options, status_facts),
        Tool::Drives(options) => list(options, &squall_wipe::PURPOSE),
        Tool::Wipe(options) => squall_wipe::wipe(options),
        Tool::Verify(options) => squall_wipe::verify(options),
        Tool::Blank(options) => squall_wipe::blank(options),
        Tool::Dmcrypt(options) => squall_dmcrypt::run(options),
        Tool::Schemas(options) => write_schemas(options),
    }
}

/// The facts that `squall status` knows and the benchmark does not.
fn status_facts() -> Result<squall_bench::View, Failure> {
    let report = Report::now()?;
    let shown = report.warnings.iter().chain(&report.notes);
    Ok(squall_bench::View {
        hypervisor: report.hypervisor.filter(|_| report.facts.status.is_vm),
        warnings: shown.map(|warning| warning.code.to_owned()).collect(),
    })
}

#[derive(Args)]
pub struct SchemasArguments {
    /// Folder for the schemas; created if it is missing
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

fn write_schemas(SchemasArguments { directory }: &SchemasArguments) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(creating_folder(directory))?;
    let schemas = squall_bench::schemas()
        .into_iter()
        .chain(squall_dmcrypt::schemas())
        .chain(squall_wipe::schemas());
    for (name, schema) in schemas {
        let path = directory.join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        Sink::open(&path)?.write(&(text + "\n"))?;
    }
    Ok(())
}
