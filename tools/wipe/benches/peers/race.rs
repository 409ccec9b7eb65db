//! Programs that do the same job in turns, timed from outside.

use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use squall_tools::measure::{Orders, Spread};

/// A program, or several in a pipeline, that does the job.
pub struct Racer {
    /// What it is called.
    pub name: String,
    /// It.
    pub command: Command,
}

impl Racer {
    /// `script` for a shell, which ends with the first program that fails.
    pub fn script(name: &str, script: &str) -> Racer {
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", script]);
        Racer {
            name: name.into(),
            command,
        }
    }
}

/// What became of a racer.
pub struct Timing {
    /// The racer's name.
    pub name: String,
    /// Seconds a round, on the clock.
    pub seconds: Vec<f64>,
    /// Seconds a round, of all its CPUs.
    pub cpu: Vec<f64>,
    /// Why it is left out.
    pub failed: Option<String>,
}

/// All of them; the first is what the others are compared with.
pub struct Race {
    /// In the order of the racers.
    pub timings: Vec<Timing>,
}

impl Race {
    /// Lets `racers` do their job in turns, `rounds` times, and once before that is not counted.
    pub fn run(rounds: usize, mut racers: Vec<Racer>) -> Race {
        let mut orders = Orders::default();
        let mut timings: Vec<Timing> = racers.iter().map(Timing::new).collect();
        for round in 0..=rounds {
            for turn in orders.next(racers.len()) {
                timings[turn].go(&mut racers[turn], round > 0);
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
    fn new(racer: &Racer) -> Timing {
        Timing {
            name: racer.name.clone(),
            seconds: Vec::new(),
            cpu: Vec::new(),
            failed: None,
        }
    }

    fn go(&mut self, racer: &mut Racer, counts: bool) {
        if self.failed.is_some() {
            return;
        }
        let (before, clock) = (cpu(), Instant::now());
        let output = racer.command.stdin(Stdio::null()).output();
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

/// CPU seconds of all children that have ended, and of theirs.
fn cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resources are counted");
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
