//! The clone generation and the watch: they change with the machine's signal, and with nothing else.

use std::cell::Cell;
use std::ffi::CStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo, setuid};
use squall::clones::{Signal, Watch, generation, signal};
use squall::testing::Failpoint::SkipCloneDeviceCheck;
use squall::testing::{activate_for_testing, kernel_log_for_testing};

use crate::Verdict;
use crate::clones::{Signal as Page, leaked_path, scratch, without_signal};
use crate::outputs::{fork, wait};
use crate::reseeds::KernelRng;

/// What a scenario lets happen to the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum News {
    Clone,
    /// Something that is no clone: the scenario's control.
    Other,
}

/// A signal in memory changes the generation at once, and wakes a watch up.
pub fn follows_page(page: fn() -> Page, news: News) -> Verdict {
    let page = page();
    let mut watch = Watch::new().expect("there is a signal");
    let before = generation();
    assert!(before.is_some());
    assert!(!watch.wait(Some(Duration::ZERO)).unwrap());
    if news == News::Clone {
        page.set(2);
    }
    let after = generation();
    let is_woken = watch.wait(Some(Duration::from_secs(match news {
        News::Clone => 60,
        News::Other => 1,
    })));
    assert_eq!(is_woken.unwrap(), before != after);
    changed(before != after)
}

fn changed(has_changed: bool) -> Verdict {
    match has_changed {
        true => Verdict::Held,
        false => Verdict::Broken("the generation stays".to_owned()),
    }
}

/// A log that imitates the kernel's: a pipe that keeps records apart.
struct Log {
    pipe: File,
    number: Cell<u64>,
}

impl Log {
    /// Makes it the only signal of a VM.
    fn begin() -> Log {
        without_signal();
        activate_for_testing(SkipCloneDeviceCheck);
        let path = scratch("log");
        mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
        let pipe = File::options().read(true).write(true).open(&path);
        let pipe = pipe.expect("a FIFO");
        // SAFETY: the call takes numbers.
        let keeps_packets = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_DIRECT) };
        assert_eq!(keeps_packets, 0);
        kernel_log_for_testing(leaked_path(&path));
        assert_eq!(signal(), Some(Signal::KernelLog));
        Log {
            pipe,
            number: Cell::new(800),
        }
    }

    /// Writes the message that there was a clone: as the kernel, or as a program.
    fn write(&self, news: News) {
        let priority = if news == News::Clone { 5 } else { 13 };
        let number = self.number.replace(self.number.get() + 1);
        let text = "random: crng reseeded due to virtual machine fork";
        let record = format!("{priority},{number},1,-;{text}\n");
        (&self.pipe).write_all(record.as_bytes()).expect("room");
    }

    /// The kernel reseeds and writes its message.
    fn reseed(&self, news: News) {
        KernelRng::open().reseed();
        self.write(news);
    }
}

/// The kernel's message changes the generation, in the first request after it, and a watch reports it once.
pub fn follows_log(news: News) -> Verdict {
    let log = Log::begin();
    let mut watch = Watch::new().expect("there is a signal");
    let mut seen = Vec::from([generation()]);
    for _ in 0..3 {
        log.reseed(news);
        seen.push(generation());
        assert_eq!(watch.take_change().unwrap(), news == News::Clone);
        assert!(!watch.take_change().unwrap());
    }
    assert!(seen[0].is_some());
    changed(seen.windows(2).all(|pair| pair[0] != pair[1]))
}

/// A message that comes a moment after the reseed, and after a request, is noticed too.
pub fn follows_late_message(news: News) -> Verdict {
    let log = Log::begin();
    let before = generation();
    KernelRng::open().reseed();
    assert_eq!(generation(), before);
    log.write(news);
    changed(generation() != before)
}

/// The descriptor of a watch becomes readable with the message, and rests after it.
pub fn descriptor_is_readable(news: News) -> Verdict {
    let log = Log::begin();
    let mut watch = Watch::new().expect("there is a signal");
    let is_readable = |watch: &Watch| {
        let mut fds = [PollFd::new(watch.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
    };
    assert!(!is_readable(&watch));
    if news == News::Clone {
        log.write(news);
    }
    let is_woken = is_readable(&watch);
    assert_eq!(watch.take_change().unwrap(), is_woken);
    assert!(!is_readable(&watch));
    changed(is_woken)
}

/// A child's generation changes although its parent has read the message from the log of both.
pub fn child_is_told() -> Verdict {
    let log = Log::begin();
    in_a_child(
        || (),
        || {
            let before = generation();
            log.reseed(News::Clone);
            assert_ne!(generation(), before);
        },
    )
}

/// After a child has counted a message that it may have missed, the next one counts too.
pub fn child_notices_the_next_clone() -> Verdict {
    let log = Log::begin();
    log.reseed(News::Clone);
    let first = generation();
    wait(fork(|| {
        KernelRng::open().reseed();
        let doubted = generation();
        log.reseed(News::Clone);
        assert!(first != doubted && doubted != generation());
    }));
    Verdict::Held
}

/// A child that may not read the log any more no longer says that there was no clone.
pub fn child_without_the_right_does_not_deny() -> Verdict {
    without_signal();
    assert_eq!(signal(), Some(Signal::KernelLog));
    let give_up = || setuid(Uid::from_raw(65534)).expect("as root");
    in_a_child(give_up, || KernelRng::open().reseed())
}

/// Whether the generation of a child, which has `begun`, changes when the parent has acted.
fn in_a_child(begin: impl FnOnce(), act: impl FnOnce()) -> Verdict {
    let before = generation();
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let child = fork(|| {
        begin();
        theirs.read_exact(&mut [0]).unwrap();
        let has_changed = generation() != before;
        theirs.write_all(&[has_changed.into()]).unwrap();
    });
    act();
    ours.write_all(&[0]).unwrap();
    let mut has_changed = [0];
    ours.read_exact(&mut has_changed).unwrap();
    wait(child);
    changed(has_changed == [1])
}

/// A program that closes all descriptors misses nothing without being told, and what it opens in their place is not
/// read.
pub fn descriptors_are_closed() -> Verdict {
    without_signal();
    let before = generation();
    assert_eq!(signal(), Some(Signal::KernelLog));
    // SAFETY: nothing here uses a descriptor from before.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    assert_eq!(closed, 0);
    let pairs: Vec<_> = (0..8).map(|_| UnixStream::pair().unwrap()).collect();
    for (one, other) in &pairs {
        (&*one).write_all(b"1").unwrap();
        (&*other).write_all(b"2").unwrap();
    }
    KernelRng::open().reseed();
    let verdict = changed(generation() != before);
    for (one, other) in &pairs {
        let mut bytes = [0; 2];
        (&*one).read_exact(&mut bytes[..1]).unwrap();
        (&*other).read_exact(&mut bytes[1..]).unwrap();
        assert_eq!(&bytes, b"21", "somebody else's bytes were read");
    }
    verdict
}

/// A program cannot write the message in the kernel's name.
pub fn message_is_forged() -> Verdict {
    without_signal();
    let before = generation();
    assert_eq!(signal(), Some(Signal::KernelLog));
    let mut reader = File::open("/dev/kmsg").expect("as root");
    reader.seek(SeekFrom::End(0)).expect("its end");
    let forged = "<5>random: crng reseeded due to virtual machine fork\n";
    std::fs::write("/dev/kmsg", forged).expect("as root");
    // The control: the record is there.
    let mut record = [0; 1024];
    let len = reader.read(&mut record).expect("a record");
    let record = String::from_utf8_lossy(&record[..len]);
    assert!(
        record.contains(forged.trim_start_matches("<5>")),
        "{record}"
    );
    KernelRng::open().reseed();
    match generation() == before {
        true => Verdict::Held,
        false => Verdict::Broken("a forged message counts".to_owned()),
    }
}

/// Where nothing shows clones, that is said, not denied. `log` stands in the place of the kernel's.
pub fn is_unknown(log: &'static CStr) -> Verdict {
    without_signal();
    kernel_log_for_testing(log);
    let error = Watch::new().map(drop).map_err(|error| error.kind());
    match (signal(), generation(), error) {
        (None, None, Err(ErrorKind::Unsupported)) => Verdict::Held,
        other => Verdict::Broken(format!("{other:?}")),
    }
}
