//! The `squall` command: parses its arguments, runs a subcommand, and sets the exit code.

#![deny(unsafe_code)]

#[cfg(all(test, feature = "tools"))]
mod advice;
mod args;
mod clones;
mod completions;
mod man;
mod progress;
mod run;
mod seed;
mod status;
mod stream;
mod tools;
mod version;

use std::process::ExitCode;

use clap::CommandFactory;

use args::{Arguments, Command};

fn main() -> ExitCode {
    squall_tool_base::run(
        "squall",
        |given: Arguments| given.command,
        |command| match command {
            Command::Stream(options) => stream::run(options),
            Command::Status(options) => status::run(&options),
            Command::Seed(options) => seed::run(&options),
            Command::Clones(options) => clones::run(&options),
            Command::Tool(tool) => tools::run(&tool),
            Command::Run(options) => run::run(&options),
            Command::OpensslConf(options) => run::openssl::openssl_conf(&options),
            Command::Completions(options) => {
                completions::print(options.shell, Arguments::command())
            }
            Command::Man(options) => man::write(&options.directory, Arguments::command()),
        },
    )
}
