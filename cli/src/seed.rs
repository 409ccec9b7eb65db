//! `squall seed`: adds a Whirlwind bootstrap to the kernel's pool, and makes the kernel reseed. With `--test` it reads the
//! sources of seeds many times instead, and shows whether they passed their health tests (SP 800-90B section 4.4).
//!
//! The bytes are added first. That needs the same privilege as reseeding, so nothing is changed if it
//! is refused. The test changes nothing, and needs no privilege.

mod kernel_pool;

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use humantime::format_duration;
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::rand::{GetRandomFlags, getrandom};
use squall::entropy::ThisMachine;
use squall::entropy::whirlwind::{Whirlwind, WithSha512};
use squall::{NoiseSource, Status};
use squall_tool_base::failure::cause;
use squall_tool_base::{Failure, number, output, time};

use crate::seed::kernel_pool::{Contribution, KernelPool, LEN, PATH};

/// Maximum number of bits of entropy that may be claimed for the 512 that `squall seed` adds.
const MAX_CREDIT: u16 = 512;

#[derive(Args)]
#[command(
    after_help = "Mixes 512 bits of the Whirlwind generator, bootstrapped from 100 cycle counts, into the \
kernel's pool. Then makes the kernel's generator take a new seed from the pool (ioctls RNDADDENTROPY \
and RNDRESEEDCRNG, see random(4)). The earlier contents of the pool stay in it: without --credit, this \
cannot make the pool weaker.

Requires CAP_SYS_ADMIN. One unit for systemd runs this command at boot, another one seeds again after \
each clone of this virtual machine (squall clones); `make install` and the Debian package install both:
  systemctl enable --now squall-seed.service squall-clones.service

Examples:
  squall seed
      once, for example early at boot, or after this VM was restored from a snapshot
  squall seed --every 1h
      now, and every hour
  squall seed --test
      do this machine's sources work?

Early at boot the kernel's generator may not be ready. Then squall adds the bytes, reports on \
standard error that there was nothing to reseed yet, and exits with success.

Exit codes: 0 for success, 1 for a failure while running, 2 for a wrong argument."
)]
pub struct SeedArguments {
    /// Bits of entropy to claim for the 512, from 0 to 512
    ///
    /// The kernel trusts this number. The number decides how soon the kernel's generator counts as ready
    /// at boot, and since Linux 5.18 nothing else. Whirlwind does not estimate entropy: claim only what
    /// you know about your machine.
    #[arg(long, value_name = "BITS", value_parser = number::in_range("bits", 0..=MAX_CREDIT), default_value_t = 0)]
    pub credit: u16,

    /// Keep running, and seed again after each interval, such as 10min or "1h 30min"
    #[arg(long, value_name = "TIME", value_parser = time::interval)]
    pub every: Option<Duration>,

    /// Read the sources of seeds many times, and show whether they passed their health tests; seed nothing
    ///
    /// Each line has a source and works, absent or failed: the kernel's generator, the CPU's random
    /// instruction and the cycle counter, the latter two tested by SP 800-90B section 4.4. Needs no
    /// privilege. Exits with 1 if a source has failed.
    #[arg(long, conflicts_with_all = ["credit", "every"])]
    pub test: bool,
}

/// Seeds the kernel's generator, once, or time and again; or tests the sources.
pub fn run(options: &SeedArguments) -> Result<(), Failure> {
    if options.test {
        return test_sources();
    }
    let seeder = Seeder::open(options.credit)?;
    let printed = output::print(&format!("{}\n", seeder.seed_and_describe()?));
    let Some(interval) = options.every else {
        return printed;
    };
    loop {
        std::thread::sleep(interval);
        let (seeding, interval) = (seeder.seed()?, format_duration(interval));
        // Seeding continues, even if nobody reads that.
        let _ = output::print(&format!("every {interval}: {seeding}\n"));
    }
}

/// Keeps seed material out of core dumps, and out of swap if the limit on locked memory allows it.
fn keep_memory_private() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = mlockall(MlockAllFlags::CURRENT);
}

/// Whirlwind, and the kernel pool that gets its output.
pub struct Seeder {
    pool: KernelPool,
    whirlwind: Whirlwind<WithSha512, ThisMachine>,
    credit: u16,
}

impl Seeder {
    /// Opens the pool. Claims `credit` bits of entropy for each seeding.
    pub fn open(credit: u16) -> Result<Seeder, Failure> {
        keep_memory_private();
        let pool = KernelPool::open().map_err(|error| device_failure("", &error))?;
        Ok(Seeder {
            pool,
            whirlwind: Whirlwind::default(),
            credit,
        })
    }

    pub fn seed_and_describe(&self) -> Result<String, Failure> {
        let seeding = self.seed()?;
        seeding.report_if_early();
        Ok(seeding.to_string())
    }

    /// Bootstraps anew, adds 512 bits to the pool and makes the kernel reseed from it.
    fn seed(&self) -> Result<Seeding, Failure> {
        let before = kernel_generation();
        let mut contribution = Contribution::new(self.credit);
        self.whirlwind.bootstrap();
        self.whirlwind.generate(&mut contribution.bytes);
        self.pool
            .add(&mut contribution)
            .map_err(|errno| device_failure("", &errno.into()))?;
        let is_early = match self.pool.reseed() {
            Ok(()) => false,
            // The kernel's generator is still waiting for its first seed.
            Err(Errno::NODATA) => true,
            Err(errno) => {
                return Err(device_failure(
                    "reseed, after the bytes were added: ",
                    &errno.into(),
                ));
            }
        };
        Ok(Seeding {
            credit: self.credit,
            is_early,
            before,
            after: kernel_generation(),
        })
    }
}

struct Seeding {
    credit: u16,
    /// Whether the kernel's generator was not ready yet.
    is_early: bool,
    /// The kernel's generation before and after; `None` if it is not visible.
    before: Option<u64>,
    after: Option<u64>,
}

impl Seeding {
    /// Reports on standard error that the kernel's generator was not ready, which is normal early at
    /// boot.
    fn report_if_early(&self) {
        if self.is_early {
            let line = "squall: seed: the kernel's generator is not ready yet: the bytes are in \
                its pool, and will be part of its first seed\n";
            // An error means that standard error is closed: then nobody reads the line.
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}

impl fmt::Display for Seeding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_early { "added" } else { "seeded" };
        let bits = 8 * LEN;
        write!(
            f,
            "{verb}: {bits} bits of Whirlwind output, credited {}",
            self.credit
        )?;
        match (self.before, self.after) {
            (Some(before), Some(after)) => write!(f, ", generation {before} -> {after}"),
            _ => Ok(()),
        }
    }
}

/// Whether the kernel's generator has its first seed. Never waits.
fn is_kernel_ready() -> bool {
    getrandom(&mut [0; 1], GetRandomFlags::NONBLOCK) != Err(Errno::AGAIN)
}

/// The generation of the kernel's generator; `None` if it is not visible or the generator is not
/// ready. Never waits.
fn kernel_generation() -> Option<u64> {
    if !is_kernel_ready() {
        return None;
    }
    // `squall::status` would abort without a source of randomness.
    squall::try_fill(&mut [0]).ok()?;
    squall::status().kernel_generation
}

/// The message for an error of the device, with advice.
fn device_failure(step: &str, error: &io::Error) -> Failure {
    let cause = cause(error);
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ": CAP_SYS_ADMIN is required: run as root, outside of containers"
        }
        _ => "",
    };
    Failure::Runtime(format!("seed: {PATH}: {step}{cause}{advice}"))
}

/// How many seeds are made. Each takes at least one word of the random instruction.
const SEEDS: usize = 10_000;

/// How many bootstraps of Whirlwind are run. Each takes 100 cycle counts.
const BOOTSTRAPS: usize = 100;

/// Reads and shows the sources; fails if one has failed.
fn test_sources() -> Result<(), Failure> {
    if !is_kernel_ready() {
        return Err(Failure::Runtime(
            "seed: the kernel's generator is not ready yet: test again later".to_owned(),
        ));
    }
    read_all()?;
    let status = squall::status();
    output::print(&describe(&status))?;
    match failed(&status) {
        None => Ok(()),
        Some(name) => Err(Failure::Runtime(format!(
            "seed: {name} failed its tests: squall goes on without it"
        ))),
    }
}

/// Makes seeds and bootstraps, which test what they read.
fn read_all() -> Result<(), Failure> {
    for _ in 0..SEEDS {
        squall::try_fill_fresh(&mut [0; 32])
            .map_err(|error| Failure::Runtime(format!("seed: {error}")))?;
    }
    let whirlwind = Whirlwind::<WithSha512, ThisMachine>::default();
    (0..BOOTSTRAPS).for_each(|_| whirlwind.bootstrap());
    Ok(())
}

fn describe(status: &Status) -> String {
    let mut lines = String::new();
    for (source, state) in [
        ("kernel's generator", NoiseSource::Works),
        ("CPU's random instruction", status.cpu_random),
        ("cycle counter", status.cycle_counter),
    ] {
        let state = state.to_string();
        writeln!(lines, "{source:<26}{state}").expect("a string takes all text");
    }
    lines
}

/// The name of a source that has failed.
fn failed(status: &Status) -> Option<&'static str> {
    let sources = [
        ("the CPU's random instruction", status.cpu_random),
        ("the cycle counter", status.cycle_counter),
    ];
    let mut failed = sources
        .into_iter()
        .filter(|(_, state)| *state == NoiseSource::Failed);
    failed.next().map(|(name, _)| name)
}
