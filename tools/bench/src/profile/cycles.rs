//! The kernel's share of CPU cycles, by perf events: counted by the CPU, or else sampled by the
//! clock of the task.

use std::io;

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter, Sampler};

/// Nanoseconds of a task's CPU time between two samples.
const PERIOD: u64 = 100_000;

/// Length of the buffer for a thread's samples, in bytes; one takes eight.
const BUFFER_LEN: usize = 64 << 10;

/// The record of a sample, and the mode of the CPU in it (`PERF_RECORD_SAMPLE` and
/// `PERF_RECORD_MISC_CPUMODE_MASK` of include/uapi/linux/perf_event.h).
const SAMPLE: u32 = 9;
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;

/// What tells of a thread.
pub enum Cycles {
    /// The CPU's counters, of cycles in user space and in the kernel, a pair a thread.
    Counted(Vec<[Counter; 2]>),
    /// Where threads were when so much of their time had passed.
    Sampled(Vec<Sampler>),
}

impl Cycles {
    /// For `threads`; an error if not even samples are permitted.
    pub fn open(threads: &[i32]) -> io::Result<Cycles> {
        let counted: io::Result<_> = threads.iter().map(|&thread| counters(thread)).collect();
        match counted {
            Ok(counters) => Ok(Cycles::Counted(counters)),
            Err(_) => {
                let samplers = threads.iter().map(|&thread| sampler(thread));
                Ok(Cycles::Sampled(samplers.collect::<io::Result<_>>()?))
            }
        }
    }

    /// Starts.
    pub fn enable(&mut self) -> io::Result<()> {
        self.each(Counter::enable)
    }

    /// Ends; the kernel's share, none if nothing was seen.
    pub fn kernel_percent(&mut self) -> io::Result<Option<f64>> {
        self.each(Counter::disable)?;
        let [user, kernel] = match self {
            Cycles::Counted(pairs) => sum(pairs)?,
            Cycles::Sampled(samplers) => count(samplers),
        };
        let all = user + kernel;
        Ok((all > 0).then(|| kernel as f64 / all as f64 * 100.0))
    }

    fn each(&mut self, act: fn(&mut Counter) -> io::Result<()>) -> io::Result<()> {
        match self {
            Cycles::Counted(pairs) => pairs.iter_mut().flatten().try_for_each(act),
            Cycles::Sampled(samplers) => samplers
                .iter_mut()
                .map(Sampler::as_counter_mut)
                .try_for_each(act),
        }
    }
}

/// Events of `thread`, in the kernel too.
fn builder(thread: i32, event: impl Event) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.observe_pid(thread).include_kernel();
    builder
}

fn counters(thread: i32) -> io::Result<[Counter; 2]> {
    let mut cycles = builder(thread, Hardware::CPU_CYCLES);
    let user = cycles.exclude_kernel(true).build()?;
    let kernel = cycles.exclude_kernel(false).exclude_user(true).build()?;
    Ok([user, kernel])
}

fn sampler(thread: i32) -> io::Result<Sampler> {
    let mut clock = builder(thread, Software::TASK_CLOCK);
    clock.sample_period(PERIOD).build()?.sampled(BUFFER_LEN)
}

fn sum(pairs: &mut [[Counter; 2]]) -> io::Result<[u64; 2]> {
    let mut sums = [0; 2];
    for pair in pairs {
        for (sum, counter) in sums.iter_mut().zip(pair) {
            *sum += counter.read()?;
        }
    }
    Ok(sums)
}

/// Samples in user space and in the kernel.
fn count(samplers: &mut [Sampler]) -> [u64; 2] {
    let mut counts = [0; 2];
    for sampler in samplers {
        while let Some(record) = sampler.next_record() {
            if record.ty() == SAMPLE {
                counts[usize::from(record.misc() & MODE_MASK == MODE_KERNEL)] += 1;
            }
        }
    }
    counts
}
