//! Where a source's time goes: how much of it in the kernel, and how many system calls a request
//! takes.
//!
//! Requests of 32 bytes, for a third of a second (a second, in another process). CPU time is what
//! the kernel accounts; beside it stand perf events, where they are permitted: CPU cycles (or,
//! where there is no counter of them, as in most VMs, samples of the task's clock) and system
//! calls. Nothing is mounted or set for them: what is not permitted is left out, and
//! [`permissions`] says how to permit it.

mod cpu_time;
mod cycles;
mod permissions;
mod syscalls;

pub use permissions::permissions;

use std::fs;
use std::time::Duration;

use squall_tools::Failure;
use squall_tools::failure::cause;

use crate::report::model::Profile;
use crate::source::{Request, Source};
use cpu_time::CpuTime;
use cycles::Cycles;
use syscalls::Syscalls;

/// Length of a request, in bytes.
const LEN: usize = 32;

/// How long a source is looked at; one in another process longer, as its CPU time is told in
/// hundredths of a second.
const TIME: Duration = Duration::from_millis(300);
const TIME_OF_PROCESS: Duration = Duration::from_secs(1);

/// How long it runs before: a part of that, from which the number of requests is known.
const WARM_UP: Duration = Duration::from_millis(10);

/// The calling thread, to perf events.
const THIS_THREAD: i32 = 0;

/// Profiles `source`, called `name`: what this thread does for it, or what the process `pid` does
/// if it runs there.
///
/// # Errors
/// The source has failed, or the process is gone.
pub fn profile(name: &str, source: &mut dyn Source, pid: Option<u32>) -> Result<Profile, Failure> {
    let failure = |cause: &str| Failure::Runtime(format!("{name}: profile: {cause}"));
    let told = |error: std::io::Error| failure(&cause(&error));
    let time = match pid {
        None => TIME,
        Some(_) => TIME_OF_PROCESS,
    };
    let calls = warm_up(source, time)?;
    let threads = threads_of(pid).map_err(told)?;
    let mut cycles = Cycles::open(&threads).ok();
    let mut syscalls = Syscalls::open(&threads).ok();
    let before = CpuTime::now(pid).map_err(told)?;
    if let Some(cycles) = &mut cycles {
        cycles.enable().map_err(told)?;
    }
    if let Some(syscalls) = &mut syscalls {
        syscalls.enable().map_err(told)?;
    }
    source.time(Request::Fill(&mut [0; LEN]), calls)?;
    let syscalls = syscalls.and_then(|mut syscalls| syscalls.count().ok());
    let kernel_cycles_percent = cycles.and_then(|mut cycles| cycles.kernel_percent().ok()?);
    let spent = CpuTime::now(pid).map_err(told)?.since(before);
    Ok(Profile {
        source: name.to_owned(),
        kernel_percent: spent
            .kernel_percent()
            .ok_or_else(|| failure("it took no CPU time that the kernel has accounted"))?,
        syscalls: syscalls.map(|count| count as f64 / calls as f64),
        kernel_cycles_percent,
    })
}

/// Warms `source` up; how many requests take `time`. The fastest of three batches counts, as
/// the others may have been interrupted.
fn warm_up(source: &mut dyn Source, time: Duration) -> Result<u64, Failure> {
    let mut calls = 1;
    loop {
        let mut ns = f64::INFINITY;
        for _ in 0..3 {
            ns = ns.min(source.time(Request::Fill(&mut [0; LEN]), calls)?);
        }
        if ns * calls as f64 >= WARM_UP.as_nanos() as f64 {
            return Ok((time.as_nanos() as f64 / ns).ceil() as u64);
        }
        calls *= 2;
    }
}

/// The threads to look at.
fn threads_of(pid: Option<u32>) -> std::io::Result<Vec<i32>> {
    let Some(pid) = pid else {
        return Ok(vec![THIS_THREAD]);
    };
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))?;
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.collect())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    use super::*;
    use crate::source::Draw;

    /// A system call a request.
    struct InKernel(File);

    impl InKernel {
        fn open() -> InKernel {
            InKernel(File::open("/dev/urandom").unwrap())
        }
    }

    impl Draw for InKernel {
        fn fill(&mut self, out: &mut [u8]) {
            self.0.read_exact(out).unwrap();
        }
    }

    /// None.
    struct InUserSpace(u64);

    impl Draw for InUserSpace {
        fn fill(&mut self, out: &mut [u8]) {
            for part in out.as_chunks_mut().0 {
                self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
                *part = self.0.to_ne_bytes();
            }
        }
    }

    #[test]
    fn a_system_call_is_in_the_kernel_and_a_counter_is_not() {
        let in_kernel = profile("urandom", &mut InKernel::open(), None).unwrap();
        let counter = |_| profile("counter", &mut InUserSpace(0), None).unwrap();
        // Interrupts of a busy machine are charged to whom they hit.
        let in_user_space = (0..3).map(counter);
        let in_user_space = in_user_space
            .min_by(|one, other| one.kernel_percent.total_cmp(&other.kernel_percent))
            .unwrap();
        println!("{in_kernel:?}\n{in_user_space:?}\n{}", permissions());
        assert!(in_kernel.kernel_percent > 50.0);
        assert!(in_user_space.kernel_percent < 10.0);
        if let Some(percent) = in_kernel.kernel_cycles_percent {
            assert!(percent > 50.0);
        }
        if let Some(percent) = in_user_space.kernel_cycles_percent {
            assert!(percent < 10.0);
        }
        if let Some(syscalls) = in_kernel.syscalls {
            assert!((1.0..1.01).contains(&syscalls));
        }
        if let Some(syscalls) = in_user_space.syscalls {
            assert!(syscalls < 0.01);
        }
    }

    /// What this thread does is not counted for another process.
    #[test]
    fn another_process_is_looked_at() {
        let busy = |script| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).spawn().expect("sh is there")
        };
        let mut in_user_space = busy("while :; do :; done");
        let mut in_kernel = busy("exec dd if=/dev/zero of=/dev/null bs=1 status=none");
        let of_user_space = profile("loop", &mut InKernel::open(), Some(in_user_space.id()));
        let of_kernel = profile("dd", &mut InUserSpace(0), Some(in_kernel.id()));
        for process in [&mut in_user_space, &mut in_kernel] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        println!("{of_user_space:?}\n{of_kernel:?}");
        assert!(of_user_space.unwrap().kernel_percent < 10.0);
        assert!(of_kernel.unwrap().kernel_percent > 30.0);
        assert!(profile("gone", &mut InUserSpace(0), Some(in_kernel.id())).is_err());
    }
}
