//! The clone generation changes with the machine's signal, and with nothing else; a watch reports each change.

use std::cell::Cell;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo, setuid};
use squall::clones::{Signal, Watch, generation, signal};
use squall::testing::Failpoint::SkipCloneDeviceCheck;
use squall::testing::{
    activate_for_testing, advance_clock_for_testing, replace_kernel_log_for_testing,
};

use crate::Verdict;
use crate::clones::{SignalPage, leaked_path, scratch, without_signal};
use crate::copies::{RECORDS, use_records, wait_for_tick};
use crate::outputs::{fork, fork_by_system_call, is_true_in_child, wait};
use crate::reseeds::KernelRng;
use crate::sandbox::refuse;

/// What happens to the machine in a scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Clone,
    /// Anything but a clone: the control.
    Other,
}

/// A signal in memory changes the generation at once, and wakes a watch up. It needs no log, and all of its bits count.
pub fn page_changes_generation(page: fn() -> SignalPage, event: Event) -> Verdict {
    replace_kernel_log_for_testing(c"/nonexistent/kmsg");
    let page = page();
    signal_changes_generation(event, || {
        if event == Event::Clone {
            page.set(1 + (1 << 50));
        }
    })
}

/// kvm-clock's records change the generation at once, and wake a watch up, also without vmgenid: once for each clone, with the
/// first CPU that runs. Rewritten with their old time, as hosts do it every five minutes, they change nothing: the control.
pub fn kvm_clock_changes_generation(event: Event) -> Verdict {
    use_records();
    let run = |cpu: usize| match event {
        Event::Clone => RECORDS[cpu].count_from(1 << 40),
        Event::Other => RECORDS[cpu].rewrite(),
    };
    let verdict = signal_changes_generation(event, || run(1));
    let with_one_cpu = generation();
    run(0);
    assert_eq!(generation(), with_one_cpu, "one clone counts twice");
    verdict
}

fn signal_changes_generation(event: Event, act: impl FnOnce()) -> Verdict {
    let mut watch = Watch::new().expect("there is a signal");
    let before = generation();
    assert!(before.is_some());
    assert!(!watch.wait(Some(Duration::ZERO)).unwrap());
    act();
    let after = generation();
    let is_notified = watch.wait(Some(Duration::from_secs(match event {
        Event::Clone => 60,
        Event::Other => 1,
    })));
    assert_eq!(is_notified.unwrap(), before != after);
    assert!(watch.is_certain());
    assert_eq!(Some(watch.changed_by()), signal());
    changed(before != after)
}

/// How a process of which the kernel has another start time is made.
type Fork = fn(&mut dyn FnMut()) -> libc::pid_t;

/// By the C library. With the fork guard off it stands for a restored process.
pub const FORK: Fork = |child| fork(child);
/// By the system call, of which no handler knows.
pub const RAW_FORK: Fork = |child| fork_by_system_call(child);

/// What `child` says in a new process that starts some hundredths of a second later, in another tick than that of the fork, as
/// a restored process does.
fn in_later_process(fork: Fork, child: &mut dyn FnMut() -> bool) -> bool {
    std::thread::sleep(Duration::from_millis(50));
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    wait(fork(&mut || {
        wait_for_tick();
        writer.write_all(&[child().into()]).expect("a reader");
    }));
    let mut answer = [0];
    reader.read_exact(&mut answer).expect("an answer");
    answer == [1]
}

/// A restored process has another generation, and its watch reports that once.
pub fn restored_process_changes_generation(fork: Fork) -> Verdict {
    let before = generation();
    assert_eq!(signal(), Some(Signal::Process));
    let mut watch = Watch::new().expect("there is a signal");
    changed(in_later_process(fork, &mut || {
        let after = generation();
        // A watch is of no use in another process, which the fork guard knows.
        if let Ok(is_restored) = watch.take_change() {
            assert_eq!(is_restored, after != before);
            assert!(watch.is_certain() && watch.changed_by() == Signal::Process);
            assert!(!watch.take_change().unwrap());
        }
        after != before
    }))
}

/// A child of a restored process has the generation of its parent, whether the parent has asked for it before the fork or not.
pub fn child_of_restored_process_keeps_generation() -> Verdict {
    let of_original = generation();
    let keeps = in_later_process(RAW_FORK, &mut || {
        let is_restored = in_later_process(FORK, &mut || generation() != of_original);
        let before = generation();
        is_restored && in_later_process(FORK, &mut || generation() == before)
    });
    match keeps {
        true => Verdict::Held,
        false => Verdict::Broken("a fork counts as a copy".to_owned()),
    }
}

/// A child has its parent's generation also before it has asked for its own start.
pub fn child_keeps_generation() -> Verdict {
    let before = generation();
    match in_later_process(FORK, &mut || generation() == before) {
        true => Verdict::Held,
        false => Verdict::Broken("a fork counts as a copy".to_owned()),
    }
}

/// A restored process in which nothing changes but its start has another generation on any machine.
pub fn restored_process_changes_generation_of_clone() -> Verdict {
    let _page = SignalPage::vmclock();
    let before = generation();
    assert_eq!(signal(), Some(Signal::VmClock));
    let mut watch = Watch::new().expect("there is a signal");
    changed(in_later_process(FORK, &mut || {
        let is_restored = watch.take_change().expect("it counts as the same process");
        assert_eq!(is_restored, generation() != before);
        assert!(!is_restored || watch.changed_by() == Signal::Process);
        is_restored
    }))
}

/// A watch whose device is removed looks often by itself. A pipe cannot be read at an offset, as if it had been removed.
pub fn watch_outlives_its_device() -> Verdict {
    let page = SignalPage::vmclock();
    let path = scratch("page");
    mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
    let device = File::options().read(true).write(true).open(&path);
    device.as_ref().unwrap().write_all(b"1").expect("room");
    let mut watch = Watch::new().expect("there is a signal");
    fs::remove_file(&path).expect("it is there");
    assert!(is_readable(&watch, PollTimeout::ZERO), "the device is used");
    let mut is_quiet = || {
        assert!(!watch.take_change().unwrap());
        !is_readable(&watch, PollTimeout::ZERO)
    };
    // It may look again at any time.
    let is_quiet = (0..10).any(|_| is_quiet());
    let looks_again = is_readable(&watch, PollTimeout::from(60_000u16));
    page.set(2);
    changed(is_quiet && looks_again && watch.take_change().unwrap())
}

/// A watch that cannot be woken up, or cannot read the log, says so.
pub fn refused_calls_are_errors() -> Verdict {
    let _log = TestLog::begin();
    assert!(is_true_in_child(|| {
        let mut watch = Watch::new().expect("there is a signal");
        refuse(&[libc::SYS_read], libc::EPERM);
        watch.take_change().is_err()
    }));
    let is_refused = [libc::SYS_epoll_ctl, libc::SYS_timerfd_settime].map(|call| {
        is_true_in_child(|| {
            refuse(&[call], libc::EPERM);
            Watch::new().is_err()
        })
    });
    match is_refused {
        [true, true] => Verdict::Held,
        _ => Verdict::Broken("nothing wakes the watch up".to_owned()),
    }
}

/// A process that has no descriptor left for the log does not know the signal for a time.
pub fn missing_descriptor_hides_the_signal_for_a_time() -> Verdict {
    without_signal();
    activate_for_testing(SkipCloneDeviceCheck);
    let log = TestLog::make(scratch("log"));
    replace_kernel_log_for_testing(leaked_path(&log.path));
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 0, most).unwrap();
    let without = generation();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    changed(without.is_none() && generation().is_some())
}

/// Without a source of randomness, nothing looks for a signal.
pub fn no_source_shows_no_signal() -> Verdict {
    let log = TestLog::make(scratch("log"));
    without_signal();
    activate_for_testing(SkipCloneDeviceCheck);
    replace_kernel_log_for_testing(leaked_path(&log.path));
    let calls = [libc::SYS_getrandom, libc::SYS_ppoll, libc::SYS_read];
    let is_unknown = is_true_in_child(|| {
        refuse(&calls, libc::EIO);
        signal().is_none()
    });
    // The control: there is one.
    assert_eq!(signal(), Some(Signal::KernelLog));
    changed(is_unknown)
}

/// Whether a watch's descriptor becomes readable.
fn is_readable(watch: &Watch, timeout: PollTimeout) -> bool {
    let mut fds = [PollFd::new(watch.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, timeout).unwrap() == 1
}

fn changed(has_changed: bool) -> Verdict {
    match has_changed {
        true => Verdict::Held,
        false => Verdict::Broken("the generation stays".to_owned()),
    }
}

/// Stands for the kernel's log: a FIFO, of which each read returns one record.
struct TestLog {
    path: PathBuf,
    pipe: File,
    number: Cell<u64>,
}

impl TestLog {
    /// Makes a new log the only signal of this machine.
    fn begin() -> TestLog {
        without_signal();
        activate_for_testing(SkipCloneDeviceCheck);
        let log = TestLog::make(scratch("log"));
        replace_kernel_log_for_testing(leaked_path(&log.path));
        assert_eq!(signal(), Some(Signal::KernelLog));
        log
    }

    fn make(path: PathBuf) -> TestLog {
        mkfifo(&path, Mode::S_IRWXU).expect("a FIFO");
        let pipe = File::options().read(true).write(true).open(&path);
        let pipe = pipe.expect("a FIFO");
        // SAFETY: the call takes numbers.
        let keeps_packets = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_DIRECT) };
        assert_eq!(keeps_packets, 0);
        TestLog {
            path,
            pipe,
            number: Cell::new(800),
        }
    }

    /// Another log in this one's place, for what opens it from now on: each descriptor of the kernel's has its own position.
    fn for_later_descriptors(&self) -> TestLog {
        fs::remove_file(&self.path).expect("it is there");
        TestLog::make(self.path.clone())
    }

    /// How many descriptors of this log the process has, besides this one.
    fn descriptors(&self) -> usize {
        let links = fs::read_dir("/proc/self/fd").expect("procfs").flatten();
        let targets = links.flat_map(|link| fs::read_link(link.path()));
        targets.filter(|target| *target == self.path).count() - 1
    }

    fn is_empty(&self) -> bool {
        let mut fds = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 0
    }

    /// Writes the message about a clone: for `Event::Clone` in the kernel's name, otherwise in a program's.
    fn write(&self, event: Event) {
        self.write_record(if event == Event::Clone { 5 } else { 13 }, "");
    }

    fn write_record(&self, priority: u32, appended: &str) {
        let number = self.number.replace(self.number.get() + 1);
        let text = "random: crng reseeded due to virtual machine fork";
        let record = format!("{priority},{number},1,-;{text}{appended}\n");
        (&self.pipe).write_all(record.as_bytes()).expect("room");
    }

    /// Closes all other descriptors.
    fn close_others(&self) {
        let own = self.pipe.as_raw_fd() as u32;
        for (first, last) in [(3, own - 1), (own + 1, u32::MAX)] {
            if first <= last {
                // SAFETY: nothing here uses a descriptor from before but the pipe's.
                unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
            }
        }
    }

    /// Makes the kernel reseed, and writes the message.
    fn reseed(&self, event: Event) {
        KernelRng::open().reseed();
        self.write(event);
    }
}

/// The kernel's message changes the generation, in the first request after it, and a watch reports it once.
pub fn message_changes_generation(event: Event) -> Verdict {
    let log = TestLog::begin();
    let mut watch = Watch::new().expect("there is a signal");
    let mut seen = Vec::from([generation()]);
    for _ in 0..3 {
        log.reseed(event);
        seen.push(generation());
        assert_eq!(watch.take_change().unwrap(), event == Event::Clone);
        assert!(!watch.take_change().unwrap());
    }
    assert!(seen[0].is_some());
    changed(seen.windows(2).all(|pair| pair[0] != pair[1]))
}

/// A message changes the generation although a request came between the kernel's reseed and the message.
pub fn late_message_changes_generation(event: Event) -> Verdict {
    let log = TestLog::begin();
    let before = generation();
    KernelRng::open().reseed();
    assert_eq!(generation(), before);
    log.write(event);
    changed(generation() != before)
}

/// Once no message can come any more, requests leave the log alone until the kernel reseeds again, which it may do by itself
/// meanwhile.
pub fn settled_log_is_left_alone() -> Verdict {
    let log = TestLog::begin();
    generation();
    let is_left_alone = |_| {
        KernelRng::open().reseed();
        generation();
        advance_clock_for_testing(2);
        generation();
        log.write(Event::Other);
        generation();
        !log.is_empty()
    };
    match (0..10).any(is_left_alone) {
        true => Verdict::Held,
        false => Verdict::Broken("each request reads the log".to_owned()),
    }
}

/// A watch's descriptor becomes readable with the message, and is not readable after `take_change`.
pub fn descriptor_is_readable(event: Event) -> Verdict {
    let log = TestLog::begin();
    let mut watch = Watch::new().expect("there is a signal");
    // It may look by itself at any time.
    let mut is_quiet = || {
        assert!(!watch.take_change().unwrap());
        !is_readable(&watch, PollTimeout::ZERO)
    };
    assert!((0..10).any(|_| is_quiet()));
    if event == Event::Clone {
        log.write(event);
    }
    let is_notified = is_readable(&watch, PollTimeout::ZERO) && watch.take_change().unwrap();
    assert!((0..10).any(|_| {
        watch.take_change().unwrap();
        !is_readable(&watch, PollTimeout::ZERO)
    }));
    changed(is_notified)
}

/// A child's generation changes although its parent has read the message from the log that they share.
pub fn child_counts_its_parents_message() -> Verdict {
    let log = TestLog::begin();
    in_a_child(
        || (),
        || {
            let before = generation();
            log.reseed(Event::Clone);
            assert_ne!(generation(), before);
        },
    )
}

/// A child counts a message that it may have missed, and then the next one.
pub fn child_notices_the_next_clone() -> Verdict {
    let log = TestLog::begin();
    log.reseed(Event::Clone);
    let first = generation();
    wait(fork(|| {
        KernelRng::open().reseed();
        let possibly_missed = generation();
        log.reseed(Event::Clone);
        assert!(first != possibly_missed && possibly_missed != generation());
    }));
    Verdict::Held
}

/// A child closes its parent's descriptors and then makes a watch, which gets the number of one of them. The watch keeps
/// it, and is notified.
pub fn watch_of_a_child_keeps_its_descriptors() -> Verdict {
    let log = TestLog::begin();
    changed(is_true_in_child(|| {
        log.close_others();
        let mut watch = Watch::new().expect("there is a signal");
        KernelRng::open().reseed();
        generation();
        log.write(Event::Clone);
        is_readable(&watch, PollTimeout::ZERO) && watch.take_change().unwrap()
    }))
}

/// A program closes all descriptors and then makes a watch, which gets the number of the log's. Requests do not take it for
/// theirs.
pub fn watch_has_its_own_descriptor() -> Verdict {
    let log = TestLog::begin();
    assert_eq!(log.descriptors(), 1);
    log.close_others();
    assert_eq!(log.descriptors(), 0);
    let _watch = Watch::new().expect("there is a signal");
    match log.descriptors() {
        2 => Verdict::Held,
        other => Verdict::Broken(format!("{other} descriptors for a watch and requests")),
    }
}

/// A program closes the log of requests, which is opened again at the next reseed: a clone may have been missed. The next
/// message is about one for certain.
pub fn possible_miss_is_uncertain() -> Verdict {
    let log = TestLog::begin();
    generation();
    let of_requests = log.pipe.as_raw_fd() + 1;
    let mut watch = Watch::new().expect("there is a signal");
    // SAFETY: requests find out.
    assert_eq!(unsafe { libc::close(of_requests) }, 0);
    KernelRng::open().reseed();
    generation();
    assert!(watch.take_change().unwrap());
    let is_certain = watch.is_certain();
    log.reseed(Event::Clone);
    assert!(watch.take_change().unwrap());
    changed(!is_certain && watch.is_certain())
}

/// A watch reports a message that only its own descriptor has not read yet.
pub fn watch_reads_its_own_log(event: Event) -> Verdict {
    let own = TestLog::begin().for_later_descriptors();
    let mut watch = Watch::new().expect("there is a signal");
    own.write(event);
    changed(watch.take_change().unwrap())
}

/// A watch reads what requests would read at the next reseed, before the kernel overwrites it.
pub fn watch_reads_the_log_of_requests() -> Verdict {
    let log = TestLog::begin();
    let _own = log.for_later_descriptors();
    let mut watch = Watch::new().expect("there is a signal");
    log.write(Event::Other);
    assert!(!log.is_empty());
    watch.take_change().unwrap();
    match log.is_empty() {
        true => Verdict::Held,
        false => Verdict::Broken("requests have a message that was not read".to_owned()),
    }
}

/// A child's watch reports clones although the child may no longer open the log.
pub fn watch_outlives_privileges() -> Verdict {
    let log = TestLog::begin();
    changed(is_true_in_child(|| {
        let mut watch = Watch::new().expect("there is a signal");
        setuid(Uid::from_raw(65534)).expect("as root");
        (0..3).all(|_| {
            log.write(Event::Clone);
            watch.take_change().unwrap()
        })
    }))
}

/// A child's watch does not report a clone because the kernel reseeds.
pub fn watch_of_a_child_reports_clones_alone() -> Verdict {
    let log = TestLog::begin();
    changed(is_true_in_child(|| {
        let mut watch = Watch::new().expect("there is a signal");
        log.reseed(Event::Other);
        let is_quiet = !watch.take_change().unwrap();
        log.reseed(Event::Clone);
        is_quiet && watch.take_change().unwrap() && watch.is_certain()
    }))
}

/// A child that asks its parent's watch does not take the parent's message.
pub fn inherited_watch_is_refused() -> Verdict {
    let log = TestLog::begin();
    let mut watch = Watch::new().expect("there is a signal");
    log.write(Event::Clone);
    wait(fork(|| _ = watch.take_change()));
    changed(watch.take_change().unwrap())
}

/// The generation is unknown in a child that could not open the log, until the kernel reseeds, which it may do by itself in
/// the midst of this; then it differs.
pub fn missing_descriptor_is_for_a_time() -> Verdict {
    let _log = TestLog::begin();
    let before = generation();
    let child = || {
        let rng = KernelRng::open();
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 0, most).unwrap();
        rng.reseed();
        let without = [generation(), generation()];
        setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
        let still = generation();
        rng.reseed();
        let after = generation();
        (without, still) == ([None; 2], None) && after.is_some() && after != before
    };
    changed((0..10).any(|_| is_true_in_child(child)))
}

/// The generation is unknown in a child that may no longer read the log.
pub fn child_that_may_not_read_is_unknown() -> Verdict {
    without_signal();
    assert_eq!(signal(), Some(Signal::KernelLog));
    let give_up = || setuid(Uid::from_raw(65534)).expect("as root");
    in_a_child(give_up, || KernelRng::open().reseed())
}

/// Whether the generation of a child changes when the child has run `begin` and the parent `act`.
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

/// If a program has closed all descriptors, the generation changes at the next reseed, and squall does not read what
/// the program has opened in their place.
pub fn closed_descriptor_counts() -> Verdict {
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

/// A record of the kernel that only begins with the message does not count: a rule of netfilter chooses how its records
/// begin.
pub fn forged_message_does_not_count() -> Verdict {
    let log = TestLog::begin();
    let before = generation();
    for appended in ["IN= OUT=lo", " IN= OUT=lo", "\\x0aIN= OUT=lo"] {
        log.write_record(4, appended);
        KernelRng::open().reseed();
        if generation() != before {
            return Verdict::Broken(format!("a record that ends in {appended:?} counts"));
        }
    }
    log.reseed(Event::Clone);
    assert_ne!(generation(), before, "the log is read");
    Verdict::Held
}

/// The generation is unknown if nothing shows clones. `log` replaces the kernel's.
pub fn generation_is_unknown(log: &'static CStr) -> Verdict {
    without_signal();
    replace_kernel_log_for_testing(log);
    let error = Watch::new().map(drop).map_err(|error| error.kind());
    match (signal(), generation(), error) {
        (None, None, Err(ErrorKind::Unsupported)) => Verdict::Held,
        other => Verdict::Broken(format!("{other:?}")),
    }
}
