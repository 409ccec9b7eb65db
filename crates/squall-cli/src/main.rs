//! The `squall` command: parse, run, and tell how it ended.

#![deny(unsafe_code)]

mod args;
mod man;
mod progress;
mod seed;
mod status;
mod stream;

use std::process::ExitCode;

use args::{Arguments, Command};

fn main() -> ExitCode {
    squall_command::run::<Arguments>("squall", |command| match command {
        Command::Stream(options) => stream::run(options),
        Command::Status(options) => status::run(&options),
        Command::Seed(options) => seed::run(&options),
        Command::Bench(options) => squall_bench::run(&options, status::view),
        Command::Wipe(options) => squall_wipe::wipe(&options),
        Command::Verify(options) => squall_wipe::verify(&options),
        Command::Dmcrypt(options) => squall_dmcrypt::run(&options),
        Command::Run(options) => squall_run::run(&options),
        Command::OpensslConf(options) => squall_run::openssl_conf(&options),
        Command::Man(options) => man::write(&options.directory),
    })
}
