//! CPU time in user space and in the kernel, as the kernel accounts it.

use std::io;

/// CPU time, in a unit of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTime {
    user: f64,
    kernel: f64,
}

impl CpuTime {
    /// That of this thread, or of the process `pid`, until now.
    pub fn now(pid: Option<u32>) -> io::Result<CpuTime> {
        match pid {
            None => of_this_thread(),
            Some(pid) => of_process(pid),
        }
    }

    /// What has come since `before`.
    pub fn since(self, before: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user - before.user,
            kernel: self.kernel - before.kernel,
        }
    }

    /// The kernel's share; none if there is nothing to share.
    pub fn kernel_percent(self) -> Option<f64> {
        let all = self.user + self.kernel;
        (all > 0.0).then(|| self.kernel / all * 100.0)
    }
}

fn of_this_thread() -> io::Result<CpuTime> {
    // SAFETY: numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } == -1 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(CpuTime {
        user: seconds(usage.ru_utime),
        kernel: seconds(usage.ru_stime),
    })
}

/// In clock ticks, a hundredth of a second each: getrusage tells of other processes only when they
/// have been reaped.
fn of_process(pid: u32) -> io::Result<CpuTime> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    parse(&stat).ok_or_else(|| io::Error::other("/proc/PID/stat is not as it is documented"))
}

/// Fields 14 and 15. The second one, the program's name, may have spaces and brackets in it.
fn parse(stat: &str) -> Option<CpuTime> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(11);
    Some(CpuTime {
        user: fields.next()?.parse().ok()?,
        kernel: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc() {
        let stat = "71 (a) b (c) S 1 71 71 0 -1 4194560 1299 0 0 0 250 750 3 4 20 0 1 0 5 9 2";
        let time = CpuTime {
            user: 250.0,
            kernel: 750.0,
        };
        assert_eq!(parse(stat), Some(time));
        assert_eq!(time.kernel_percent(), Some(75.0));
        assert_eq!(time.since(time).kernel_percent(), None);
        assert_eq!(parse("71 (a"), None);
    }

    #[test]
    fn this_process_is_in_proc() {
        assert!(CpuTime::now(Some(std::process::id())).is_ok());
        assert!(CpuTime::now(Some(u32::MAX)).is_err());
    }
}
