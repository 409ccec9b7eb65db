//! `squall clones`: prints the signal of clones of this virtual machine, and waits for clones, or for restores of a process
//! (`--pid`). After each one it reseeds the kernel's generator (`--seed`), runs a command (`--exec`) and the programs in a
//! folder (`--hooks`).

mod process;
mod programs;
mod state;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{io, num::NonZeroU64, thread};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use squall::clones::{Signal, Watch, generation, signal};
use squall::internal::newest_clone_message;
use squall_tool_base::Failure;
use squall_tool_base::failure::{cause, opening, text_at};
use squall_tool_base::{output, time};

use crate::seed::Seeder;
use process::Process;
use programs::{Programs, hooks_in};
use state::Mark;

#[derive(Args)]
#[command(
    after_help = "Prints the signal of clones on this machine and the clone generation, a number that changes when this \
machine may have become a clone, or `squall clones` itself was restored by CRIU, as in a container. Then prints a line \
after each clone.

  kvm-clock      records of KVM, which change before a CPU of the clone runs
  vmclock        its counter changes before the clone runs
  vmgenid-page   vmgenid's page, shown by squall's kernel module, changes before the clone runs
  kernel-log     the kernel's message about vmgenid (Linux 5.18), milliseconds after the clone begins to run
  process        the start of the process itself: in the line of a restore, and where this is no virtual machine
  unknown        nothing on this machine distinguishes a restored snapshot from a pause

With --pid, the generation is the start time of that process, in hundredths of a second since boot. squall recognises a \
process that was restored with the same ID by where its memory is, and waits until nobody traces it.

squall runs the command of --exec and then the programs of --hooks, one after the other, with these \
variables set: SQUALL_CLONE_GENERATION, SQUALL_CLONE_SIGNAL, and SQUALL_CLONE_CERTAIN, which is 1, or \
0 if messages of the kernel's log were lost and may have been about a clone. If one fails or is killed because it \
takes too long (--hook-timeout), squall reports it on standard error and goes on. Meanwhile squall \
waits for the next clone, and seeds at once. Then the programs run once more.

A unit for systemd runs `squall clones --seed --hooks /etc/squall/clones.d`, with a file for --state. \
Some hooks are installed in share/squall/clones.d; link those that you want:
  mkdir -p /etc/squall/clones.d
  ln -s /usr/local/share/squall/clones.d/30-ssh-host-keys /etc/squall/clones.d/
  systemctl enable --now squall-clones.service

Examples:
  squall clones --once
      wait for the first clone
  squall clones --exec 'systemctl restart my-agent'
  squall clones --pid 4711 --exec 'kill -HUP 4711'
      after each restore of that process by CRIU
  squall clones --json
      one JSON object in each line: event (start, clone), signal, generation

Exit codes: 0 for success, also if this is no virtual machine and nothing shows restores; 1 for a failure while running, if \
squall cannot notice clones of this virtual machine, and with --once also if seeding, the command \
or a hook failed; 2 for a wrong argument."
)]
pub struct ClonesArguments {
    /// Exit after the first clone
    #[arg(long)]
    once: bool,

    /// Wait for restores of this process by CRIU, in place of clones of the machine
    #[arg(long, value_name = "PID", conflicts_with = "state", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,

    /// Print one JSON object for each event
    #[arg(long)]
    json: bool,

    /// At start and after each clone, reseed the kernel's generator like `squall seed`: requires CAP_SYS_ADMIN
    ///
    /// --exec and --hooks imply it where it is permitted, so that the programs can make new keys by the
    /// kernel's generator. Where it is not, and the signal is kvm-clock, vmclock or vmgenid-page, they may start
    /// before the kernel has reseeded.
    #[arg(long)]
    seed: bool,

    /// After each clone, run this command with sh -c
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    exec: Option<String>,

    /// After each clone, run the executable files in this folder whose names have no dot, in the order of their names
    #[arg(long, value_name = "FOLDER")]
    hooks: Option<PathBuf>,

    /// Kill the command or a hook that runs longer than this, such as 90s or 5min
    #[arg(long, value_name = "TIME", value_parser = time::interval, default_value = "60s")]
    hook_timeout: Duration,

    /// Keep in this file what the signal shows; at start, do as after a clone if the machine was cloned meanwhile
    ///
    /// squall compares what the file says with the signal if it was written in this boot. If it was
    /// written in an earlier boot, squall looks for a message about a clone in the kernel's log. Without
    /// the file squall knows of no clone, and creates it. A clone goes unnoticed if the kernel has
    /// overwritten its message, and with vmclock if it was made in this boot before squall first ran.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

impl ClonesArguments {
    fn runs_programs(&self) -> bool {
        self.exec.is_some() || self.hooks.is_some()
    }
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

/// A clone that squall has noticed.
#[derive(Clone, Copy, Debug)]
struct Noticed {
    generation: Option<NonZeroU64>,
    signal: Option<Signal>,
    /// Whether it was a clone for certain. Otherwise the kernel's log has lost messages, one of which may have been
    /// about a clone.
    is_certain: bool,
}

impl Noticed {
    fn now(is_certain: bool) -> Noticed {
        Noticed {
            generation: generation(),
            signal: signal(),
            is_certain,
        }
    }

    /// This clone and a later one, for which programs run once.
    fn and(self, later: Noticed) -> Noticed {
        Noticed {
            is_certain: self.is_certain || later.is_certain,
            ..later
        }
    }
}

/// Waits for clones, until the first with `--once`.
pub fn run(options: &ClonesArguments) -> Result<(), Failure> {
    if let Some(folder) = &options.hooks {
        hooks_in(folder).map_err(opening(folder))?;
    }
    if let Some(path) = &options.state {
        Mark::check(path).map_err(opening(path))?;
    }
    let programs = Programs {
        command: options.exec.as_deref(),
        folder: options.hooks.as_deref(),
        limit: options.hook_timeout,
    };
    if let Some(id) = options.pid {
        return run_for_process(id, options, &programs);
    }
    squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(format!("clones: {error}")))?;
    // The watch begins before the first seeding, so that no clone is missed in between.
    let watch = Watch::new();
    let (seeder, seeding) = begin_seeding(options)?;
    let seed = || seeder.as_ref().map(Seeder::seed_and_describe).transpose();
    print_event(options, "start", Noticed::now(true), seeding)?;
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
    let state = options.state.as_deref();
    let mut was_cloned = state.is_some_and(|path| {
        was_cloned_before_start(path).unwrap_or_else(|error| {
            print_error(&text_at(path, &error));
            false
        })
    });
    follow(
        options.once,
        || {
            if std::mem::take(&mut was_cloned) {
                return Ok(Noticed::now(true));
            }
            match watch.wait(None) {
                Ok(_) => Ok(Noticed {
                    signal: Some(watch.changed_by()),
                    ..Noticed::now(watch.is_certain())
                }),
                Err(error) => Err(runtime_failure(&error)),
            }
        },
        seed,
        |noticed, seeding| print_event(options, "clone", noticed, seeding),
        |noticed| run_and_record(&programs, state, noticed),
    )
}

/// Does the same with restores of a process, for which the kernel's generator need not be reseeded.
fn run_for_process(id: u32, options: &ClonesArguments, programs: &Programs) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::Usage(format!("--pid {id}: {}", cause(&error)));
    let mut process = Process::find(id).map_err(wrong)?;
    let seeder = options.seed.then(|| Seeder::open(0)).transpose()?;
    let seed = || seeder.as_ref().map(Seeder::seed_and_describe).transpose();
    print_event(options, "start", process.noticed(), seed()?)?;
    follow(
        options.once,
        || Ok(process.wait()),
        seed,
        |noticed, seeding| print_event(options, "clone", noticed, seeding),
        |noticed| programs.run(noticed),
    )
}

/// Whether the machine was cloned since the state file was written. If not, writes it anew.
fn was_cloned_before_start(path: &Path) -> io::Result<bool> {
    let now = Mark::now()?;
    let before = Mark::read(path).unwrap_or_else(|error| {
        print_error(&text_at(path, &error));
        None
    });
    if before.is_some_and(|before| before.is_cloned(&now, newest_clone_message)) {
        return Ok(true);
    }
    now.write(path).map(|()| false)
}

/// Runs the programs and writes the state file, and returns whether any of it has failed. What the file says was so
/// before the programs started: it differs if the machine is cloned while they run, or if they do not end.
fn run_and_record(programs: &Programs, state: Option<&Path>, noticed: Noticed) -> bool {
    let mark = state.map(|path| (path, Mark::now()));
    let has_failed = programs.run(noticed);
    if let Some((path, mark)) = mark
        && let Err(error) = mark.and_then(|mark| mark.write(path))
    {
        print_error(&text_at(path, &error));
        return true;
    }
    has_failed
}

/// Seeds for the first time, if `--seed` asks for it or programs will run, which may make keys and identifiers: when they
/// start, the kernel itself may not have reseeded yet. Without `--seed` a failure means that this process may not seed.
fn begin_seeding(options: &ClonesArguments) -> Result<(Option<Seeder>, Option<String>), Failure> {
    if !options.seed && !options.runs_programs() {
        return Ok((None, None));
    }
    let seeded = Seeder::open(0).and_then(|seeder| Ok((seeder.seed_and_describe()?, seeder)));
    match seeded {
        Ok((seeding, seeder)) => Ok((Some(seeder), Some(seeding))),
        Err(failure) if options.seed => Err(failure),
        Err(_) => Ok((None, None)),
    }
}

/// Waits for a clone, seeds, prints, and has a thread run the programs; then waits for the next clone. So no program
/// delays the seeding after the next clone. If several clones come while the programs run, these run once more, for the
/// last. Neither a seeding nor a program that fails ends this, except after the first clone if `once` is true.
fn follow(
    once: bool,
    mut wait: impl FnMut() -> Result<Noticed, Failure>,
    mut seed: impl FnMut() -> Result<Option<String>, Failure>,
    mut print: impl FnMut(Noticed, Option<String>) -> Result<(), Failure>,
    mut run_programs: impl FnMut(Noticed) -> bool + Send,
) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel::<Noticed>();
    // The scope takes the sender: when the scope ends, the thread ends after the programs that it runs.
    std::thread::scope(move |scope| {
        let run_all = move || {
            let mut has_failed = false;
            while let Ok(first) = receiver.recv() {
                has_failed |= run_programs(receiver.try_iter().fold(first, Noticed::and));
            }
            has_failed
        };
        let thread = thread::Builder::new()
            .spawn_scoped(scope, run_all)
            .map_err(|error| runtime_failure(&error))?;
        let mut has_failed = false;
        loop {
            let noticed = wait()?;
            let seeding = seed().unwrap_or_else(|failure| {
                print_error(&failure.into_text());
                has_failed = true;
                None
            });
            print(noticed, seeding)?;
            let _ = sender.send(noticed);
            if once {
                break;
            }
        }
        drop(sender);
        has_failed |= thread.join().expect("the thread does not panic");
        match has_failed {
            true => Err(Failure::Runtime(
                "clones: seeding, the command or a hook has failed: see above".to_owned(),
            )),
            false => Ok(()),
        }
    })
}

fn runtime_failure(error: &io::Error) -> Failure {
    Failure::Runtime(format!("clones: {}", cause(error)))
}

/// Prints an event. If standard output is closed, the command ends only if it does nothing but print.
fn print_event(
    options: &ClonesArguments,
    event: &'static str,
    noticed: Noticed,
    seeding: Option<String>,
) -> Result<(), Failure> {
    let Noticed {
        generation, signal, ..
    } = noticed;
    let signal = signal.map(|signal| signal.to_string());
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
    let only_prints = !options.seed && !options.runs_programs();
    match output::print(&line) {
        Err(failure) if only_prints => Err(failure),
        _ => Ok(()),
    }
}

/// Writes a line to standard error; does nothing if that is closed.
fn print_error(message: &str) {
    let line = format!(
        "squall: clones: {}\n",
        squall_tool_base::text::in_a_line(message)
    );
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing here takes this long unless it hangs.
    const DEADLINE: Duration = Duration::from_secs(120);

    fn clone(number: u64) -> Noticed {
        Noticed {
            generation: NonZeroU64::new(number),
            signal: None,
            is_certain: true,
        }
    }

    fn number(noticed: Noticed) -> u64 {
        noticed.generation.expect("a number").get()
    }

    fn failure() -> Failure {
        Failure::Runtime("a failure of the test".to_owned())
    }

    #[test]
    fn programs_that_still_run_delay_no_seeding() {
        let (seeded, seedings) = mpsc::channel();
        let (did_run, programs) = mpsc::channel();
        let mut clones = 1..=3;
        let mut is_first = true;
        let ended = follow(
            false,
            || clones.next().map(clone).ok_or_else(failure),
            || {
                let _ = seeded.send(());
                Ok(None)
            },
            |_, _| Ok(()),
            move |noticed| {
                // The first programs end after the last seeding.
                if std::mem::take(&mut is_first) {
                    for _ in 1..=3 {
                        seedings.recv_timeout(DEADLINE).expect("a seeding");
                    }
                }
                did_run.send(number(noticed)).is_err()
            },
        );
        assert!(ended.is_err(), "the wait after the third clone fails");
        assert_eq!(programs.iter().last(), Some(3));
    }

    #[test]
    fn one_certain_clone_makes_several_certain() {
        let possible = Noticed {
            is_certain: false,
            ..clone(1)
        };
        for (first, last, is_certain) in [
            (possible, possible, false),
            (possible, clone(1), true),
            (clone(1), possible, true),
        ] {
            assert_eq!(first.and(last).is_certain, is_certain);
        }
        assert_eq!(number(possible.and(clone(2))), 2);
    }

    #[test]
    fn a_seeding_that_fails_keeps_no_program_from_running() {
        let (did_run, programs) = mpsc::channel();
        let mut count = 0;
        let mut printed = Vec::new();
        let ended = follow(
            false,
            || {
                // The programs for one clone have run before the next comes.
                if count > 0 {
                    assert_eq!(programs.recv_timeout(DEADLINE), Ok(count));
                }
                count += 1;
                if count < 3 {
                    Ok(clone(count))
                } else {
                    Err(failure())
                }
            },
            || Err(failure()),
            |noticed, seeding| {
                assert_eq!(seeding, None);
                printed.push(number(noticed));
                Ok(())
            },
            move |noticed| did_run.send(number(noticed)).is_err(),
        );
        assert!(ended.is_err());
        assert_eq!(printed, [1, 2]);
    }

    #[test]
    fn once_fails_if_seeding_or_a_program_has_failed() {
        for (seeds, runs) in [(true, true), (true, false), (false, true)] {
            let ended = follow(
                true,
                || Ok(clone(1)),
                || if seeds { Ok(None) } else { Err(failure()) },
                |_, _| Ok(()),
                |_| !runs,
            );
            assert_eq!(ended.is_ok(), seeds && runs);
        }
    }
}
