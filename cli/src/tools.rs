//! The commands of the feature `tools`, each of which is a crate of its own. In builds without it, each takes any
//! arguments, and says how to build squall with it.

#[cfg(not(feature = "tools"))]
pub use absent::{Tool, run};
#[cfg(feature = "tools")]
pub use present::{Tool, run};

const BENCH: &str = "Measure every source of randomness on this machine, side by side";
const WIPE: &str = "Overwrite drives, many at once, and verify the result";
const DRIVES: &str =
    "List drives: what they are, what uses them, whether they can erase themselves";
const BLANK: &str = "Find out whether drives are empty, by reading them";
const VERIFY: &str = "Read wiped drives back and compare them with their reports";
const DMCRYPT: &str =
    "Find out which disk encryption is valid here, which is secure, and which is fast";
const SCHEMAS: &str = "Write the JSON schemas of the tools' output into a folder";

#[cfg(feature = "tools")]
mod present {
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
}

#[cfg(not(feature = "tools"))]
mod absent {
    use std::ffi::OsString;

    use clap::{Args, Subcommand};
    use squall_tool_base::Failure;

    use super::{BENCH, BLANK, DMCRYPT, DRIVES, SCHEMAS, VERIFY, WIPE};

    #[derive(Subcommand)]
    pub enum Tool {
        #[command(about = BENCH, disable_help_flag = true)]
        Bench(AnyArguments),
        #[command(about = DRIVES, disable_help_flag = true)]
        Drives(AnyArguments),
        #[command(about = WIPE, disable_help_flag = true)]
        Wipe(AnyArguments),
        #[command(about = VERIFY, disable_help_flag = true)]
        Verify(AnyArguments),
        #[command(about = BLANK, disable_help_flag = true)]
        Blank(AnyArguments),
        #[command(about = DMCRYPT, disable_help_flag = true)]
        Dmcrypt(AnyArguments),
        #[command(about = SCHEMAS, disable_help_flag = true)]
        Schemas(AnyArguments),
    }

    #[derive(Args)]
    pub struct AnyArguments {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _arguments: Vec<OsString>,
    }

    pub fn run(tool: &Tool) -> Result<(), Failure> {
        let name = match tool {
            Tool::Bench(_) => "bench",
            Tool::Drives(_) => "drives",
            Tool::Wipe(_) => "wipe",
            Tool::Verify(_) => "verify",
            Tool::Blank(_) => "blank",
            Tool::Dmcrypt(_) => "dmcrypt",
            Tool::Schemas(_) => "schemas",
        };
        Err(Failure::Usage(format!(
            "this build has no {name}: build squall with `cargo build --release --features tools`, or \
             install it with `make install`"
        )))
    }
}
