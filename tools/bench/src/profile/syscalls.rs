//! System calls, counted by the kernel's tracepoint for all of them.

use std::fs;
use std::io;
use std::path::Path;

use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter};

/// Where tracefs is mounted, if it is.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Counters, one a thread.
#[derive(Debug)]
pub struct Syscalls(Vec<Counter>);

impl Syscalls {
    /// For `threads`; an error if tracefs is not there or cannot be read ([`id`]), or counting is
    /// not permitted.
    pub fn open(threads: &[i32]) -> io::Result<Syscalls> {
        Self::of(id()?, threads)
    }

    fn of(id: u64, threads: &[i32]) -> io::Result<Syscalls> {
        let mut builder = Builder::new(Tracepoint::with_id(id));
        // The tracepoint itself is in the kernel.
        builder.include_kernel();
        let counters = threads.iter().map(|&t| builder.observe_pid(t).build());
        Ok(Syscalls(counters.collect::<io::Result<_>>()?))
    }

    /// Starts.
    pub fn enable(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(Counter::enable)
    }

    /// Ends; how many there were.
    pub fn count(&mut self) -> io::Result<u64> {
        self.0.iter_mut().try_for_each(Counter::disable)?;
        self.0.iter_mut().map(Counter::read).sum()
    }
}

/// The tracepoint's number on this kernel.
pub fn id() -> io::Result<u64> {
    let ids = TRACEFS.map(|tracefs| id_in(Path::new(tracefs)));
    let [first, second] = ids;
    first.or_else(|error| second.map_err(|_| error))
}

fn id_in(tracefs: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(tracefs.join("events/raw_syscalls/sys_enter/id"))?;
    text.trim().parse().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_in_a_file() {
        let tracefs = tempfile::tempdir().unwrap();
        let error = id_in(tracefs.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let event = tracefs.path().join("events/raw_syscalls/sys_enter");
        fs::create_dir_all(&event).unwrap();
        fs::write(event.join("id"), "348\n").unwrap();
        assert_eq!(id_in(tracefs.path()).unwrap(), 348);
    }
}
