//! vmclock's counter, which changes before a restored VM runs again: the generation counter, or, if
//! there is none, the disruption marker, which live migration changes too.
//!
//! The library maps the same page (`guard/clone_signal/vmclock.rs`); this command waits for it to change. It reads
//! the page with pread(2), which the driver has always supported (Linux 6.13).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use squall::internal::vmclock_layout::{HEAD_LEN, count_at};

pub const PATH: &str = "/dev/vmclock0";

/// An open vmclock with its last known counter.
pub struct VmClock {
    file: File,
    count: u64,
    supports_poll: bool,
}

impl VmClock {
    /// Opens the vmclock at `path`; `None` if there is none or it has no counter.
    pub fn open(path: &Path) -> io::Result<Option<VmClock>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let supports_poll = supports_poll(&file)?;
        let count = read_count(&file)?;
        Ok(count.map(|count| VmClock {
            file,
            count,
            supports_poll,
        }))
    }

    /// The descriptor to poll for input; `None` if the device does not report changes.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.supports_poll.then(|| self.file.as_fd())
    }

    /// The old and the new counter, if it has changed since the last call.
    pub fn take_change(&mut self) -> io::Result<Option<(u64, u64)>> {
        let count = read_count(&self.file)?.ok_or(io::ErrorKind::InvalidData)?;
        let last = std::mem::replace(&mut self.count, count);
        Ok((last != count).then_some((last, count)))
    }

    /// From now on the counter must be read periodically.
    pub fn stop_polling(&mut self) {
        self.supports_poll = false;
    }
}

/// Whether poll(2) waits for a change. A driver without support reports at once that everything is
/// possible, even writing, or that the device has hung up.
fn supports_poll(file: &File) -> io::Result<bool> {
    let mut fds = [PollFd::new(file, PollFlags::IN | PollFlags::OUT)];
    poll(&mut fds, Some(&Timespec::default()))?;
    Ok((fds[0].revents() - PollFlags::IN).is_empty())
}

/// The counter; `None` if this is not the page of a vmclock. Reading also makes the device wait for
/// the next change.
fn read_count(file: &File) -> io::Result<Option<u64>> {
    let mut head = [0; HEAD_LEN];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let word = |at: usize| u64::from_le_bytes(*head[at..].first_chunk().expect("within the head"));
    Ok(count_at(word).map(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall::internal::vmclock_layout::*;

    /// A file that imitates the device's page, removed when dropped.
    struct Page(std::path::PathBuf, File);

    impl Page {
        fn new(name: &str) -> Page {
            let name = format!("squall-cli-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let file = File::create(&path).expect("a temporary file");
            file.set_len(4096).expect("it grows");
            let page = Page(path, file);
            page.write(MAGIC_AT, &MAGIC.to_le_bytes());
            page.write(SIZE_AT, &4096_u32.to_le_bytes());
            page.write(VERSION_AT, &1_u16.to_le_bytes());
            page.write(FLAGS_AT, &HAS_GENERATION.to_le_bytes());
            page
        }

        fn write(&self, at: usize, bytes: &[u8]) {
            let written = self.1.write_all_at(bytes, at as u64);
            written.expect("it is written");
        }
    }

    impl Drop for Page {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn every_change_is_reported_once() {
        let page = Page::new("counter");
        let mut clock = VmClock::open(&page.0).unwrap().expect("a vmclock");
        assert_eq!(clock.take_change().unwrap(), None);
        for (last, now) in [(0, 1), (1, u64::MAX), (u64::MAX, 7)] {
            page.write(GENERATION_AT, &now.to_le_bytes());
            assert_eq!(clock.take_change().unwrap(), Some((last, now)));
            assert_eq!(clock.take_change().unwrap(), None);
        }
    }

    #[test]
    fn the_marker_is_used_if_there_is_no_counter() {
        let page = Page::new("marker");
        page.write(FLAGS_AT, &[0; 8]);
        let mut clock = VmClock::open(&page.0).unwrap().expect("a vmclock");
        page.write(GENERATION_AT, &[5; 8]);
        assert_eq!(clock.take_change().unwrap(), None);
        page.write(MARKER_AT, &3_u64.to_le_bytes());
        assert_eq!(clock.take_change().unwrap(), Some((0, 3)));
    }

    #[test]
    fn files_without_a_counter_are_no_vmclock() {
        assert!(VmClock::open(Path::new("/nonexistent")).unwrap().is_none());
        assert!(VmClock::open(Path::new("/dev/null")).unwrap().is_none());
        for at in [MAGIC_AT, SIZE_AT, VERSION_AT] {
            let page = Page::new("zeros");
            page.write(at, &[0; 2]);
            assert!(VmClock::open(&page.0).unwrap().is_none(), "{at}");
        }
    }

    #[test]
    fn files_that_are_always_ready_do_not_support_poll() {
        let page = Page::new("ready");
        let clock = VmClock::open(&page.0).unwrap().expect("a vmclock");
        assert!(clock.fd().is_none());
        let (reader, writer) = io::pipe().unwrap();
        let reader = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(supports_poll(&reader).unwrap(), "it waits for input alone");
        drop(writer);
        assert!(!supports_poll(&reader).unwrap(), "it has hung up");
    }
}
