//! `squall seed --watch`: seeds at once, and again whenever this VM is found to be a clone.
//!
//! Signals, and what is done about each:
//! - vmclock's counter has changed: a clone.
//! - The vmgenid driver's event has come: a clone. If events were lost: perhaps one.
//! - The kernel's generation has moved, which is watched only where nothing else tells: perhaps a
//!   clone, or the kernel's reseed of every minute. Seeding then is harmless, and costs less than
//!   a millisecond.
//!
//! Two that watch the generation see each other's reseeds: [`REST`] keeps that slow.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use squall::{CloneGuard, Status};
use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::output;

use super::uevents::{Heard, Uevents};
use super::vmclock::{self, VmClock};
use super::{Seeder, Seeding, kernel_generation};

/// How often a vmclock is read that does not tell of changes: some microseconds each.
const CLOCK_PERIOD: Duration = Duration::from_millis(100);

/// How often the kernel's generation is looked at.
const GENERATION_PERIOD: Duration = Duration::from_secs(1);

/// Least time between two seedings that only the generation asked for.
const REST: Duration = Duration::from_secs(5);

/// Seeds, and seeds again for ever; ends where there can be no clones.
pub fn run(seeder: &Seeder) -> Result<(), Failure> {
    // Listening begins before the first seeding, so that no clone falls between the two; what a
    // missing privilege means, the seeding tells better.
    let signals = Signals::open();
    let seeding = seeder.seed()?;
    let mut signals = signals?;
    seeding.tell_if_early();
    tell(&seeding.to_string());
    // Waits until the kernel's generator is ready.
    squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(error.to_string()))?;
    let status = squall::status();
    if status.clone_guard == CloneGuard::NotAVm && signals.clock.is_none() {
        tell(
            "no sign of a virtual machine (hypervisor bit, vmgenid, vmclock): nothing to watch for",
        );
        return Ok(());
    }
    signals.choose(&status, &seeding)?;
    tell(&signals.describe());
    loop {
        let reason = signals.wait()?;
        let seeding = seeder.seed()?;
        signals.note(&seeding);
        tell(&format!("{reason}: {seeding}"));
    }
}

/// Prints a line for whoever reads the log; if nobody does, watching goes on.
fn tell(line: &str) {
    let _ = output::print(&format!("{line}\n"));
}

/// The kernel's generation, and when it was last moved here.
struct Generation {
    last: Option<u64>,
    seeded: Instant,
}

/// What may tell of a clone; at least one is there once they are chosen.
struct Signals {
    clock: Option<VmClock>,
    uevents: Option<Uevents>,
    generation: Option<Generation>,
}

impl Signals {
    fn open() -> Result<Signals, Failure> {
        Ok(Signals {
            clock: VmClock::open(Path::new(vmclock::PATH)).map_err(|error| clock_failed(&error))?,
            uevents: Uevents::open(),
            generation: None,
        })
    }

    /// Keeps the signals that this machine gives, and looks for another if there is none.
    fn choose(&mut self, status: &Status, first: &Seeding) -> Result<(), Failure> {
        self.uevents.take_if(|_| !status.has_vmgenid);
        if self.clock.is_some() || self.uevents.is_some() {
            return Ok(());
        }
        if !status.has_vmgenid {
            return Err(Failure::Runtime(
                "seed: nothing tells this virtual machine that it was cloned: give it a vmgenid \
                 device (QEMU: -device vmgenid,guid=auto) or a vmclock device, or run without \
                 --watch"
                    .to_owned(),
            ));
        }
        if status.kernel_generation.is_none() {
            return Err(Failure::Runtime(
                "seed: the kernel reseeds when this virtual machine is cloned, but does not tell: \
                 upgrade to Linux 6.11 or newer, or run without --watch"
                    .to_owned(),
            ));
        }
        self.generation = Some(Generation {
            last: first.after.or(status.kernel_generation),
            seeded: Instant::now(),
        });
        Ok(())
    }

    /// Which signals are watched, for people.
    fn describe(&self) -> String {
        let signals = [
            self.clock.as_ref().map(|_| "vmclock"),
            self.uevents.as_ref().map(|_| "vmgenid"),
            self.generation
                .as_ref()
                .map(|_| "the kernel's generation, as vmgenid's events cannot be heard here"),
        ];
        let names: Vec<_> = signals.into_iter().flatten().collect();
        format!("watching {}", names.join(" and "))
    }

    /// Waits until a clone is seen, and says how.
    fn wait(&mut self) -> Result<String, Failure> {
        loop {
            if let Some(reason) = self.look()? {
                return Ok(reason);
            }
            self.sleep()?;
        }
    }

    /// Looks at every signal, so that one clone is not told of twice.
    fn look(&mut self) -> Result<Option<String>, Failure> {
        let change = match &mut self.clock {
            Some(clock) => clock.change().map_err(|error| clock_failed(&error))?,
            None => None,
        };
        let heard = match &self.uevents {
            Some(uevents) => uevents
                .hear()
                .map_err(|errno| Failure::Runtime(format!("seed: uevents: {}", words(errno))))?,
            None => Heard::Nothing,
        };
        Ok(match (change, heard) {
            (Some((last, now)), _) => Some(format!("clone (vmclock {last} -> {now})")),
            (None, Heard::Clone) => Some("clone (vmgenid)".to_owned()),
            (None, Heard::Lost) => Some("perhaps a clone (events were lost)".to_owned()),
            (None, Heard::Nothing) => self.look_at_the_generation(),
        })
    }

    fn look_at_the_generation(&self) -> Option<String> {
        let generation = self.generation.as_ref()?;
        let now = kernel_generation();
        let is_due = now != generation.last && generation.seeded.elapsed() >= REST;
        is_due.then(|| "perhaps a clone (the kernel reseeded)".to_owned())
    }

    /// Waits for a message, or until it is time to look again.
    fn sleep(&mut self) -> Result<(), Failure> {
        let period = match (&self.clock, &self.generation) {
            (Some(clock), _) if clock.fd().is_none() => Some(CLOCK_PERIOD),
            (_, Some(_)) => Some(GENERATION_PERIOD),
            _ => None,
        };
        let timeout = period.map(|period| Timespec {
            tv_sec: period.as_secs() as i64,
            tv_nsec: period.subsec_nanos().into(),
        });
        let clock = self.clock.as_ref().and_then(VmClock::fd);
        let uevents = self.uevents.as_ref().map(Uevents::fd);
        let has_clock = clock.is_some();
        let mut fds: Vec<_> = [clock, uevents]
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(Failure::Runtime(format!("seed: poll: {}", words(errno)))),
        }
        let is_broken = PollFlags::ERR | PollFlags::HUP;
        let clock_is_broken = has_clock && fds[0].revents().intersects(is_broken);
        if let (Some(clock), true) = (&mut self.clock, clock_is_broken) {
            clock.stop_polling();
        }
        Ok(())
    }

    /// Remembers a seeding, so that it is not taken for a clone. If the generation has moved
    /// further, one may have come in between: then another seeding is due.
    fn note(&mut self, seeding: &Seeding) {
        let Some(generation) = &mut self.generation else {
            return;
        };
        generation.seeded = Instant::now();
        let next = seeding.before.map(|before| before.wrapping_add(1));
        if seeding.after == next {
            generation.last = next;
        }
    }
}

fn clock_failed(error: &std::io::Error) -> Failure {
    let (path, cause) = (vmclock::PATH, cause(error));
    Failure::Runtime(format!("seed: {path}: {cause}"))
}

fn words(errno: Errno) -> String {
    cause(&errno.into())
}
