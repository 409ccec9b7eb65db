//! `squall seed --watch` and `--every`: seeds at once, and again whenever this VM turns out to be a clone, or a
//! time has passed.
//!
//! These signals are watched:
//! - vmclock's counter changes: the VM was cloned.
//! - The vmgenid driver sends an event: the VM was cloned. If events were lost, perhaps it was.
//! - The kernel's generation changes. This is watched only if there is no other signal, because the
//!   kernel also reseeds every minute. Seeding in vain is harmless and takes less than a
//!   millisecond.
//!
//! Two processes that watch the generation see each other's reseeds; [`MIN_INTERVAL`] slows that down.

use std::path::Path;
use std::time::{Duration, Instant};

use humantime::format_duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use squall::{CloneGuard, Status};
use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::output;

use super::uevents::{CloneNews, Uevents};
use super::vmclock::{self, VmClock};
use super::{Seeder, Seeding, kernel_generation};

/// How often to read a vmclock that does not report changes; each read takes some microseconds.
const CLOCK_PERIOD: Duration = Duration::from_millis(100);

/// How often to check the kernel's generation.
const GENERATION_PERIOD: Duration = Duration::from_secs(1);

/// The least time between two seedings caused by the generation alone.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

/// Seeds, then seeds again for each clone if it `watches`, and after each interval of `every`. Returns if
/// there is no reason to seed again.
pub fn run(seeder: &Seeder, watches: bool, every: Option<Duration>) -> Result<(), Failure> {
    // Start listening before the first seeding, so that no clone is missed in between. Report errors
    // only after the seeding, whose message about a missing privilege is better.
    let signals = if watches {
        Signals::open()
    } else {
        Ok(Signals::default())
    };
    let seeding = seeder.seed()?;
    let mut signals = signals?;
    seeding.report_if_early();
    log(&seeding.to_string());
    signals.timer = every.map(Timer::start);
    if watches {
        // Waits until the kernel's generator is ready.
        squall::try_fill(&mut [0]).map_err(|error| Failure::Runtime(error.to_string()))?;
        let status = squall::status();
        if status.clone_guard != CloneGuard::NotAVm || signals.clock.is_some() {
            signals.choose(&status, &seeding)?;
            log(&signals.describe());
        } else {
            log(
                "no sign of a virtual machine (hypervisor bit, vmgenid, vmclock): nothing to watch for",
            );
        }
    }
    while signals.can_come() {
        let reason = signals.wait()?;
        let seeding = seeder.seed()?;
        signals.record(&seeding);
        log(&format!("{reason}: {seeding}"));
    }
    Ok(())
}

/// Prints a line for the log; if that fails, watching continues.
fn log(line: &str) {
    let _ = output::print(&format!("{line}\n"));
}

/// The last known generation of the kernel, and when this process last seeded it.
struct Generation {
    last: Option<u64>,
    seeded: Instant,
}

/// When the next seeding is due without any signal.
struct Timer {
    interval: Duration,
    next: Instant,
}

impl Timer {
    fn start(interval: Duration) -> Timer {
        Timer {
            interval,
            next: Instant::now() + interval,
        }
    }

    /// Whether it is due; if so, it starts again.
    fn take_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.next;
        if is_due {
            *self = Timer::start(self.interval);
        }
        is_due
    }
}

/// The signals of a clone, of which [`Signals::choose`] leaves at least one, and the timer of `--every`.
#[derive(Default)]
struct Signals {
    clock: Option<VmClock>,
    uevents: Option<Uevents>,
    generation: Option<Generation>,
    timer: Option<Timer>,
}

impl Signals {
    fn open() -> Result<Signals, Failure> {
        Ok(Signals {
            clock: VmClock::open(Path::new(vmclock::PATH)).map_err(|error| clock_failed(&error))?,
            uevents: Uevents::open(),
            ..Signals::default()
        })
    }

    /// Whether there is any reason to seed again.
    fn can_come(&self) -> bool {
        let has_signal =
            self.clock.is_some() || self.uevents.is_some() || self.generation.is_some();
        has_signal || self.timer.is_some()
    }

    /// Keeps the signals that work on this machine; falls back to the generation if there is none.
    fn choose(&mut self, status: &Status, first: &Seeding) -> Result<(), Failure> {
        self.uevents.take_if(|_| !status.has_vmgenid);
        if self.clock.is_some() || self.uevents.is_some() {
            return Ok(());
        }
        if !status.has_vmgenid {
            return Err(Failure::Runtime(
                "seed: this virtual machine gets no signal when it is cloned: add a vmgenid device \
                 (QEMU: -device vmgenid,guid=auto) or a vmclock device, or run without --watch"
                    .to_owned(),
            ));
        }
        if status.kernel_generation.is_none() {
            return Err(Failure::Runtime(
                "seed: the kernel reseeds when this virtual machine is cloned, but does not report \
                 it: upgrade to Linux 6.11 or newer, or run without --watch"
                    .to_owned(),
            ));
        }
        self.generation = Some(Generation {
            last: first.after.or(status.kernel_generation),
            seeded: Instant::now(),
        });
        Ok(())
    }

    /// Says which signals are watched.
    fn describe(&self) -> String {
        let signals = [
            self.clock.as_ref().map(|_| "vmclock"),
            self.uevents.as_ref().map(|_| "vmgenid"),
            self.generation
                .as_ref()
                .map(|_| "the kernel's generation, as vmgenid's events cannot be received here"),
        ];
        let names: Vec<_> = signals.into_iter().flatten().collect();
        format!("watching {}", names.join(" and "))
    }

    /// Waits for a clone, and says which signal reported it.
    fn wait(&mut self) -> Result<String, Failure> {
        loop {
            if let Some(reason) = self.check()? {
                return Ok(reason);
            }
            self.sleep()?;
        }
    }

    /// Checks every signal, so that one clone is not reported twice.
    fn check(&mut self) -> Result<Option<String>, Failure> {
        let take_change = match &mut self.clock {
            Some(clock) => clock.take_change().map_err(|error| clock_failed(&error))?,
            None => None,
        };
        let news = match &self.uevents {
            Some(uevents) => uevents.read_news().map_err(|errno| {
                Failure::Runtime(format!("seed: uevents: {}", description(errno)))
            })?,
            None => CloneNews::None,
        };
        Ok(match (take_change, news) {
            (Some((last, now)), _) => Some(format!("clone (vmclock {last} -> {now})")),
            (None, CloneNews::Clone) => Some("clone (vmgenid)".to_owned()),
            (None, CloneNews::Lost) => Some("perhaps a clone (events were lost)".to_owned()),
            (None, CloneNews::None) => self.check_generation().or_else(|| self.check_timer()),
        })
    }

    fn check_timer(&mut self) -> Option<String> {
        let timer = self.timer.as_mut()?;
        timer
            .take_due()
            .then(|| format!("every {}", format_duration(timer.interval)))
    }

    fn check_generation(&self) -> Option<String> {
        let generation = self.generation.as_ref()?;
        let now = kernel_generation();
        let is_due = now != generation.last && generation.seeded.elapsed() >= MIN_INTERVAL;
        is_due.then(|| "perhaps a clone (the kernel reseeded)".to_owned())
    }

    /// Waits for a message, or until the next check is due.
    fn sleep(&mut self) -> Result<(), Failure> {
        let period = match (&self.clock, &self.generation) {
            (Some(clock), _) if clock.fd().is_none() => Some(CLOCK_PERIOD),
            (_, Some(_)) => Some(GENERATION_PERIOD),
            _ => None,
        };
        let until_timer = self
            .timer
            .as_ref()
            .map(|timer| timer.next.saturating_duration_since(Instant::now()));
        let period = match (period, until_timer) {
            (Some(period), Some(until)) => Some(period.min(until)),
            (period, until) => period.or(until),
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
            Err(errno) => {
                return Err(Failure::Runtime(format!(
                    "seed: poll: {}",
                    description(errno)
                )));
            }
        }
        let is_broken = PollFlags::ERR | PollFlags::HUP;
        let clock_is_broken = has_clock && fds[0].revents().intersects(is_broken);
        if let (Some(clock), true) = (&mut self.clock, clock_is_broken) {
            clock.stop_polling();
        }
        Ok(())
    }

    /// Records our own seeding, so that it is not taken for a clone. If the generation changed more than
    /// once, there may have been a clone too, so another seeding is due.
    fn record(&mut self, seeding: &Seeding) {
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

fn description(errno: Errno) -> String {
    cause(&errno.into())
}
