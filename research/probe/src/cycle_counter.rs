//! Reads the cycle counter without pause, on one CPU, into a ring. The thread does nothing else between two
//! readings.

#![allow(unsafe_code)]

use rustix::thread::{CpuSet, sched_setaffinity};
use squall_probe::Reading;

use crate::Result;
use crate::layout::Channels;

/// The CPU that reads. Most of the kernel's own work runs on the first CPU.
const CPU: usize = 1;

/// Records until the lab ends it.
pub fn record(channels: &Channels) -> Result<()> {
    stay_on_one_cpu()?;
    let mut ring = channels.memory.ring(0, &channels.table()[0]);
    while channels.memory.is_running() {
        ring.fill(read_counter);
    }
    Ok(())
}

fn stay_on_one_cpu() -> Result<()> {
    let mut cpus = CpuSet::new();
    cpus.set(CPU);
    sched_setaffinity(None, &cpus).map_err(|error| format!("staying on CPU {CPU}: {error}"))
}

/// The counter and the number of its CPU, in one instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_counter() -> Reading {
    let mut cpu = 0;
    // SAFETY: the lab gives its machines a CPU with all features, of which RDTSCP is one.
    let cycles = unsafe { core::arch::x86_64::__rdtscp(&mut cpu) };
    Reading {
        cycles,
        cpu: cpu.into(),
    }
}

/// The counter. No instruction reads the CPU's number, but the thread stays on [`CPU`].
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn read_counter() -> Reading {
    let cycles;
    // SAFETY: Linux lets processes read the virtual counter.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) cycles, options(nomem, nostack)) };
    Reading {
        cycles,
        cpu: CPU as u64,
    }
}
