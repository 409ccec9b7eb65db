//! `squall clones`: prints the signal of clones of this virtual machine, and waits for clones. After each one it reseeds
//! the kernel's generator (`--seed`), runs a command (`--exec`) and the programs in a folder (`--hooks`).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{io, num::NonZeroU64};

use clap::Args;
use rustix::stdio::stderr;
use serde::Serialize;
use squall::clones::{Signal, Watch, generation, signal};
use squall_tools::Failure;
use squall_tools::failure::{cause, opening};
use squall_tools::output;

use crate::seed::Seeder;

#[derive(Args)]
#[command(
    after_help = "Prints the signal of clones on this machine and the clone generation, a number that changes when this \
machine may have become a clone. Then prints a line after each clone.

  vmclock        its counter changes before the clone runs
  vmgenid-page   vmgenid's page, shown by squall's kernel module, changes before the clone runs
  kernel-log     the kernel's message about vmgenid (Linux 5.18), milliseconds after the clone begins to run
  unknown        nothing on this machine distinguishes a restored snapshot from a pause

squall runs the command of --exec and then the programs of --hooks, one after the other, with the \
variables SQUALL_CLONE_GENERATION and SQUALL_CLONE_SIGNAL set. If one fails, squall reports it on \
standard error and goes on.

A unit for systemd runs `squall clones --seed --hooks /etc/squall/clones.d`. Some hooks are installed \
in share/squall/clones.d; link those that you want:
  ln -s /usr/local/share/squall/clones.d/30-ssh-host-keys /etc/squall/clones.d/
  systemctl enable --now squall-clones.service

Examples:
  squall clones --once
      wait for the first clone
  squall clones --exec 'systemctl restart my-agent'
  squall clones --json
      one JSON object in each line: event (start, clone), signal, generation

Exit codes: 0 for success, also if this is no virtual machine; 1 for a failure while running, if \
squall cannot notice clones of this virtual machine, and with --once also if the command or a hook \
failed; 2 for a wrong argument."
)]
pub struct ClonesArguments {
    /// Exit after the first clone
    #[arg(long)]
    once: bool,

    /// Print one JSON object for each event
    #[arg(long)]
    json: bool,

    /// At start and after each clone, reseed the kernel's generator like `squall seed`: requires CAP_SYS_ADMIN
    #[arg(long)]
    seed: bool,

    /// After each clone, run this command with sh -c
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,

    /// After each clone, run the executable files in this folder whose names have no dot, in the order of their names
    #[arg(long, value_name = "FOLDER")]
    hooks: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Event {
    event: &'static str,
    /// The signal's name; null if unknown.
    signal: Option<String>,
    /// Null if unknown.
    generation: Option<NonZeroU64>,
}

/// Waits for clones, until the first with `--once`.
pub fn run(options: &ClonesArguments) -> Result<(), Failure> {
    if let Some(folder) = &options.hooks {
        hooks_in(folder).map_err(opening(folder))?;
    }
    squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(format!("clones: {error}")))?;
    // The watch begins before the first seeding, so that no clone is missed in between.
    let watch = Watch::new();
    let seeder = options.seed.then(|| Seeder::open(0)).transpose()?;
    let seed = || seeder.as_ref().map(Seeder::seed_and_describe).transpose();
    let seeding = seed()?;
    print_event(options, "start", seeding)?;
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            return match squall::status().is_vm {
                true => Err(Failure::Runtime(format!("clones: {error}"))),
                false => Ok(()),
            };
        }
        Err(error) => return Err(runtime_failure(&error)),
    };
    loop {
        watch.wait(None).map_err(|error| runtime_failure(&error))?;
        let seeding = seed()?;
        print_event(options, "clone", seeding)?;
        let has_failed = run_programs(options);
        match (options.once, has_failed) {
            (true, true) => {
                return Err(Failure::Runtime(
                    "clones: the command or a hook has failed: see above".to_owned(),
                ));
            }
            (true, false) => return Ok(()),
            (false, _) => {}
        }
    }
}

fn runtime_failure(error: &io::Error) -> Failure {
    Failure::Runtime(format!("clones: {}", cause(error)))
}

/// Prints an event. If standard output is closed, the command ends only if it does nothing but print.
fn print_event(
    options: &ClonesArguments,
    event: &'static str,
    seeding: Option<String>,
) -> Result<(), Failure> {
    let generation = generation();
    let signal = signal().map(|signal| signal.to_string());
    let mut line = if options.json {
        let event = Event {
            event,
            signal,
            generation,
        };
        serde_json::to_string(&event).expect("words and numbers")
    } else {
        let generation = generation.map_or("unknown".to_owned(), |number| number.to_string());
        let signal = signal.as_deref().unwrap_or("unknown");
        let mut line = format!("{event}: signal {signal}, generation {generation}");
        if let Some(seeding) = seeding {
            let _ = write!(line, "; {seeding}");
        }
        line
    };
    line.push('\n');
    let only_prints = !options.seed && options.exec.is_none() && options.hooks.is_none();
    match output::print(&line) {
        Err(failure) if only_prints => Err(failure),
        _ => Ok(()),
    }
}

/// Runs the command, then the programs in the folder. Returns whether one has failed.
fn run_programs(options: &ClonesArguments) -> bool {
    let mut has_failed = false;
    if let Some(command) = &options.exec {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        has_failed |= run_program(shell, "--exec");
    }
    if let Some(folder) = &options.hooks {
        match hooks_in(folder) {
            Ok(hooks) => {
                for hook in hooks {
                    has_failed |= run_program(Command::new(&hook), &hook.display().to_string());
                }
            }
            Err(error) => {
                print_error(&format!("{}: {}", folder.display(), cause(&error)));
                has_failed = true;
            }
        }
    }
    has_failed
}

/// The executable files in a folder, in the order of their names. Names with a dot are skipped, as of hidden files and
/// those that package managers leave, and so are backups of editors (`name~`).
fn hooks_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut hooks = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_skipped = name.starts_with(b".") || name.ends_with(b"~") || name.contains(&b'.');
        // A broken link is no program.
        let is_program = fs::metadata(&path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        if is_program && !is_skipped {
            hooks.push(path);
        }
    }
    hooks.sort();
    Ok(hooks)
}

/// Runs a program to its end, and returns whether it failed. Its output goes to standard error, because standard output
/// is for events alone.
fn run_program(mut command: Command, name: &str) -> bool {
    command
        .env("SQUALL_CLONE_GENERATION", generation_variable(generation()))
        .env("SQUALL_CLONE_SIGNAL", signal_variable(signal()))
        .stdin(Stdio::null());
    if let Ok(errors) = stderr().try_clone_to_owned() {
        command.stdout(errors);
    }
    match command.status() {
        Ok(status) if status.success() => return false,
        Ok(status) => print_error(&format!("{name}: {status}")),
        Err(error) => print_error(&format!("{name}: {}", cause(&error))),
    }
    true
}

fn generation_variable(generation: Option<NonZeroU64>) -> String {
    generation.map_or(String::new(), |number| number.to_string())
}

fn signal_variable(signal: Option<Signal>) -> String {
    signal.map_or(String::new(), |signal| signal.to_string())
}

/// Writes a line to standard error; does nothing if that is closed.
fn print_error(message: &str) {
    let line = format!(
        "squall: clones: {}\n",
        squall_tools::text::in_a_line(message)
    );
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
}
