//! Times programs that do the same job in turns.

use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use squall_tools::measure::{Orders, Spread};

/// A program, or several in a pipeline, that does the job.
pub struct Contestant {
    /// The name in tables.
    pub name: String,
    /// The command that does the job.
    pub command: Command,
}

impl Contestant {
    /// `script` for a shell, which ends with the first program that fails.
    pub fn script(name: &str, script: &str) -> Contestant {
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", script]);
        Contestant {
            name: name.into(),
            command,
        }
    }
}

/// The times of a contestant, or why it failed.
pub struct Timing {
    /// The contestant's name.
    pub name: String,
    /// Elapsed seconds of each round.
    pub seconds: Vec<f64>,
    /// CPU seconds of each round.
    pub cpu: Vec<f64>,
    /// Why the program is left out.
    pub failed: Option<String>,
}

/// The times of all contestants. The others are compared with the first.
pub struct Race {
    /// In the order of the contestants.
    pub timings: Vec<Timing>,
}

impl Race {
    /// Runs `contestants` in turns, `rounds` times after one round that is not counted.
    pub fn run(rounds: usize, mut contestants: Vec<Contestant>) -> Race {
        let mut orders = Orders::default();
        let mut timings: Vec<Timing> = contestants.iter().map(Timing::new).collect();
        for round in 0..=rounds {
            for turn in orders.next(contestants.len()) {
                timings[turn].run_once(&mut contestants[turn], round > 0);
            }
        }
        Race { timings }
    }

    /// How many times as fast as the first a timing is.
    pub fn speed_of(&self, timing: &Timing) -> f64 {
        let pairs = self.timings[0].seconds.iter().zip(&timing.seconds);
        Spread::of(pairs.map(|(first, other)| first / other).collect()).median
    }
}

impl Timing {
    fn new(contestant: &Contestant) -> Timing {
        Timing {
            name: contestant.name.clone(),
            seconds: Vec::new(),
            cpu: Vec::new(),
            failed: None,
        }
    }

    fn run_once(&mut self, contestant: &mut Contestant, counts: bool) {
        if self.failed.is_some() {
            return;
        }
        let (before, clock) = (cpu(), Instant::now());
        let output = contestant.command.stdin(Stdio::null()).output();
        let (seconds, cpu) = (clock.elapsed().as_secs_f64(), cpu() - before);
        match output {
            Ok(output) if output.status.success() => {
                if counts {
                    self.seconds.push(seconds);
                    self.cpu.push(cpu);
                }
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let last = said.lines().last().unwrap_or_default();
                self.failed = Some(format!("{}: {last}", output.status));
            }
            Err(error) => self.failed = Some(error.to_string()),
        }
    }
}

/// CPU seconds of all children that have ended, and of their children.
fn cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resources are counted");
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
