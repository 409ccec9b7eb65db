//! `squall dmcrypt kdf`: what LUKS makes of a passphrase on this machine, and how long that takes.
//!
//! cryptsetup measures when it makes a key slot, and chooses costs with which the derivation takes two
//! seconds. This measures by the same rules: see [`costs`]. It needs neither root nor the kernel's
//! interface for cryptography (AF_ALG).

mod costs;
mod derive;
mod memory;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use squall_tools::reports::Reports;
use squall_tools::{Failure, Interrupt, output};

use crate::args::KdfArguments;
use crate::model::{Derivation, KDF_FORMAT, Kdf, Machine};
use crate::report;
use costs::{Costs, Limits};
use derive::Function;

/// Runs `squall dmcrypt kdf`.
pub fn kdf(options: &KdfArguments) -> Result<(), Failure> {
    let reports = Reports::open(&options.reports, None)?;
    let interrupt = Interrupt::watch("nothing is shown")?;
    let limits = Limits::of_machine();
    let at = Timestamp::now();
    let derivations = Function::ALL
        .into_iter()
        .map(|function| derivation(function, options.time(), &limits, &interrupt))
        .collect::<Result<_, _>>()?;
    let kdf = Kdf {
        format: KDF_FORMAT,
        at,
        machine: Machine::this(),
        time_ms: options.time,
        derivations,
    };
    let csv = || report::kdf::csv(&kdf);
    let text = || report::kdf::text(&kdf, output::width());
    reports.give(&kdf, csv, String::new, text)
}

/// The costs with which `function` takes `time`.
fn derivation(
    function: Function,
    time: Duration,
    limits: &Limits,
    interrupt: &Interrupt,
) -> Result<Derivation, Failure> {
    let derive = |costs: Costs| {
        interrupt.check()?;
        function.derive(b"passphrase", &[0x5a; 32], costs, &mut [0; KEY_LEN])
    };
    let found = match function {
        Function::Argon2id => costs::argon2(time, limits, |costs| {
            let clock = Instant::now();
            derive(costs)?;
            Ok(clock.elapsed())
        })?,
        // One thread computes, so the time that others take can be left out.
        Function::Pbkdf2Sha256 | Function::Pbkdf2Sha512 => costs::pbkdf2(time, |costs| {
            let before = cpu_time();
            derive(costs)?;
            Ok(cpu_time().saturating_sub(before))
        })?,
    };
    Ok(Derivation {
        function: function.name(),
        iterations: found.costs.iterations,
        memory_kib: found.costs.memory_kib,
        threads: found.costs.threads,
        measured_ms: found.took.as_secs_f64() * 1e3,
        iterations_per_second: found.iterations_per_second,
    })
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Length of the derived key in bytes: 256 bits, as `cryptsetup benchmark` derives.
const KEY_LEN: usize = 32;
