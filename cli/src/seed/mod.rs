//! `squall seed`: adds a Whirlwind bootstrap to the kernel's pool, and makes the kernel reseed.
//!
//! The bytes are added first. That needs the same privilege as reseeding, so nothing is changed if it
//! is refused.

mod kernel_pool;
mod sources;

use std::fmt;
use std::io::{self, Write};

use humantime::format_duration;

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::rand::{GetRandomFlags, getrandom};
use squall::entropy::ThisMachine;
use squall::entropy::whirlwind::{Whirlwind, WithSha512};

use crate::args::SeedArguments;
use kernel_pool::{Contribution, KernelPool, LEN, PATH};
use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::output;

/// Seeds the kernel's generator, once, or time and again; or tests the sources.
pub fn run(options: &SeedArguments) -> Result<(), Failure> {
    if options.test {
        return sources::test();
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
