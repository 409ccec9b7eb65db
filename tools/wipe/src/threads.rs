//! The thread of a drive, as the first thread sees it: what it asks of the thread, and whether the drive has stalled.
//!
//! A thread whose drive does not answer cannot be ended: it waits in the kernel. Such a drive can be given up, because
//! it has stalled or because the user skips it. The run then ends without its thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use squall_tool_base::Interrupt;

use crate::progress::{Progress, Sign};

/// A thread, and the worker that it runs, which may outlive the run.
pub struct DriveThread<T> {
    pub worker: Arc<T>,
    progress: Arc<Progress>,
    control: Arc<Control>,
    handle: io::Result<JoinHandle<()>>,
    stall: Option<Stall>,
    pub has_ended: bool,
}

impl<T> DriveThread<T> {
    /// Runs `work` in a thread. The drive stalls if it does nothing for `limit`.
    pub fn start(
        worker: Arc<T>,
        progress: Arc<Progress>,
        control: Arc<Control>,
        limit: Option<Duration>,
        work: impl FnOnce() + Send + 'static,
    ) -> DriveThread<T> {
        DriveThread {
            worker,
            progress,
            control,
            handle: thread::Builder::new().spawn(work),
            stall: limit.map(|limit| Stall::new(limit, Instant::now())),
            has_ended: false,
        }
    }

    /// Why the thread could not be started.
    pub fn error(&self) -> Option<&io::Error> {
        self.handle.as_ref().err()
    }

    /// Why the drive is to be given up; `None` if it has not stalled.
    pub fn stall_reason(&mut self) -> Option<String> {
        let stall = self.stall.as_mut()?;
        let is_over = stall.is_over(Instant::now(), self.progress.sign_of_life());
        is_over.then(|| stall.reason())
    }

    /// Waits for the end of the thread, unless its drive was given up. Returns whether it has ended.
    pub fn join(self) -> bool {
        match self.handle {
            Ok(handle) if self.control.is_given_up() => handle.is_finished(),
            Ok(handle) => {
                // A panic was recorded.
                let _ = handle.join();
                true
            }
            Err(_) => true,
        }
    }
}

/// Requests to the thread of one drive.
#[derive(Debug)]
pub struct Control {
    run: Interrupt,
    is_skipped: AtomicBool,
    is_given_up: AtomicBool,
}

impl Control {
    /// For a drive of a run that `run` stops.
    pub fn new(run: Interrupt) -> Control {
        Control {
            run,
            is_skipped: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Whether the thread is to stop at its next checkpoint.
    pub fn is_noted(&self) -> bool {
        self.run.is_noted() || self.is_skipped.load(Relaxed) || self.is_given_up()
    }

    /// Asks the thread to stop; tells whether it was asked before.
    pub fn skip(&self) -> bool {
        self.is_skipped.swap(true, Relaxed)
    }

    /// From now on, what the thread records counts for nothing.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Relaxed);
    }

    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }
}

#[derive(Debug)]
struct Stall {
    limit: Duration,
    last: Sign,
    since: Instant,
}

impl Stall {
    /// Begins to watch at time `now`. The drive stalls if it does nothing for `limit`.
    fn new(limit: Duration, now: Instant) -> Stall {
        let (last, since) = (None, now);
        Stall { limit, last, since }
    }

    /// Why the drive is given up once it has stalled.
    fn reason(&self) -> String {
        let time = humantime::format_duration(self.limit);
        format!("it stalled: nothing moved for {time}")
    }

    /// Whether the drive has stalled, if it shows this sign at time `now`.
    fn is_over(&mut self, now: Instant, sign: Sign) -> bool {
        if sign.is_none() || sign != self.last {
            self.last = sign;
            self.since = now;
        }
        sign.is_some() && now.duration_since(self.since) >= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Phase;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_a_drive_that_is_waited_for_stalls() {
        let begun = Instant::now();
        let mut stall = Stall::new(10 * SECOND, begun);
        let mut at = |seconds: u32, sign| stall.is_over(begun + seconds * SECOND, sign);
        assert!(!at(5, None));
        assert!(!at(60, None), "it was asked for nothing");
        assert!(!at(61, Some((Phase::Writing(1), 0, 0))));
        assert!(!at(70, Some((Phase::Writing(1), 0, 0))));
        assert!(!at(70, Some((Phase::Writing(1), 4096, 0))), "it moves");
        assert!(!at(79, Some((Phase::Writing(1), 4096, 0))));
        assert!(!at(79, Some((Phase::Writing(1), 4096, 512))), "it refuses");
        assert!(!at(80, None), "it waits for us");
        assert!(!at(85, Some((Phase::Writing(1), 4096, 512))));
        assert!(at(95, Some((Phase::Writing(1), 4096, 512))));
    }
}
