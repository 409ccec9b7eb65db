//! Stand-ins for the tools in builds without them: each takes any arguments, and says how to build
//! squall with it.

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
