//! The process of `squall clones --pid`: whether it was restored from a checkpoint.
//!
//! CRIU restores a process with the ID that it had. For the kernel it is a new one, with another start time. What it has in
//! common with the original, and with no program that gets the ID otherwise, is where the kernel had put its memory at random.

use std::num::NonZeroU64;
use std::time::Duration;
use std::{fs, io, thread};

use squall::clones::Signal;

use super::Noticed;

/// How often the process is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// The process as it was last seen.
pub struct Process {
    id: u32,
    seen: Traits,
}

/// What /proc says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Traits {
    /// Its start, in hundredths of a second since boot.
    start: u64,
    /// Where its stack and its arguments begin.
    places: [u64; 2],
}

impl Process {
    /// # Errors
    /// There is no such process, or this user may not see its memory.
    pub fn find(id: u32) -> io::Result<Process> {
        let text = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "there is no such process"),
            _ => error,
        };
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).map_err(text)?;
        let has_ended = "this process has ended, or belongs to another user: be that user, or root";
        let seen = Traits::of(&stat).ok_or_else(|| io::Error::other(has_ended))?;
        Ok(Process { id, seen })
    }

    /// The process as a clone that was noticed.
    pub fn noticed(&self) -> Noticed {
        Noticed {
            generation: NonZeroU64::new(self.seen.start),
            signal: Some(Signal::Process),
            is_certain: true,
        }
    }

    /// Waits until it was restored, and runs without a tracer, as CRIU is one at the end.
    pub fn wait(&mut self) -> Noticed {
        loop {
            let file = |name| fs::read_to_string(format!("/proc/{}/{name}", self.id));
            // The status comes first: whoever has it is not traced later on in the same restore.
            let is_traced =
                file("status").is_ok_and(|status| !status.contains("\nTracerPid:\t0\n"));
            let now = file("stat").ok().and_then(|stat| Traits::of(&stat));
            if let Some(now) = now.filter(|now| !is_traced && self.seen.is_restored_as(now)) {
                self.seen = now;
                return self.noticed();
            }
            thread::sleep(INTERVAL);
        }
    }
}

impl Traits {
    /// Those in /proc/PID/stat (proc_pid_stat(5)); none of a process that has ended or is not shown to this user.
    fn of(stat: &str) -> Option<Traits> {
        // The second field is the program's name in parentheses, and may hold anything.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse().ok();
        let traits = Traits {
            start: field(22)?,
            places: [field(28)?, field(48)?],
        };
        (traits.places[0] != 0).then_some(traits)
    }

    fn is_restored_as(&self, now: &Traits) -> bool {
        self.places == now.places && self.start != now.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(start: u64, stack: u64, arguments: u64) -> String {
        let zeros = |count| " 0".repeat(count);
        let name = "a) S 1 (b";
        format!(
            "7 ({name}) S{} {start}{} {stack}{} {arguments}{}\n",
            zeros(18),
            zeros(5),
            zeros(19),
            zeros(4)
        )
    }

    #[test]
    fn a_restored_process_has_another_start_and_the_same_places() {
        let before = Traits::of(&stat(7, 1000, 2000)).expect("all fields");
        for (now, is_restored) in [
            (stat(7, 1000, 2000), false),
            (stat(8, 1000, 2000), true),
            (stat(8, 1008, 2000), false),
            (stat(8, 1000, 2008), false),
        ] {
            let traits = Traits::of(&now).expect("all fields");
            assert_eq!(before.is_restored_as(&traits), is_restored, "{now}");
        }
        for none in ["", "7 (x) S 1", &stat(8, 0, 0)] {
            assert_eq!(Traits::of(none), None, "{none}");
        }
    }

    #[test]
    fn this_process_is_found() {
        let found = Process::find(std::process::id()).expect("this process");
        assert_ne!(found.seen.places[1], 0);
        assert!(found.noticed().generation.is_some());
    }
}
