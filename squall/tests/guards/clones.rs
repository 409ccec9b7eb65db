//! VM clones, imitated: a fork with the fork guard off copies state as a snapshot does.
//!
//! The lab tests real snapshots of real VMs; these tests cover the guard's logic.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read as _, pipe};
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use squall::testing::Failpoint::{HideKvmClock, SkipCloneDeviceCheck};
use squall::testing::{KEY_OFFSETS_FOR_TESTING, activate_for_testing, clone_device_for_testing};
use squall::{CloneGuard, Signal};

use crate::Verdict;
use crate::drops::page_size;
use crate::outputs::{
    Draw, exit_status_of, fork, is_true_in_child, judge, judge_sent, receive, send, wait,
};
use crate::reseeds::KernelRng;
use crate::stack::words_of_page;

/// Compares the draws of this process and two copies of it, 200 times; the first copy runs `between`
/// before it draws.
pub fn copies_draw<const N: usize>(draw: fn() -> [Draw; N], between: impl Fn()) -> Verdict {
    judge_sent(|writer| {
        draw();
        for _ in 0..200 {
            wait(fork(|| {
                between();
                send(writer, &draw());
            }));
            wait(fork(|| send(writer, &draw())));
            send(writer, &draw());
        }
    })
}

/// Draws of every size.
fn draws() -> [Draw; 6] {
    let mut small = [0; 256];
    let mut long = [0; 300];
    squall::fill(&mut small);
    squall::fill(&mut long);
    [
        squall::array(),
        draw_of_words([squall::u32(), squall::u32(), squall::u32(), squall::u32()]),
        draw_of_words([squall::u64(), squall::u64()]),
        draw_of_words([squall::array::<8>(), squall::array::<8>()].map(u64::from_ne_bytes)),
        small[240..].try_into().unwrap(),
        long[284..].try_into().unwrap(),
    ]
}

/// A draw that consists of words.
fn draw_of_words<W: Into<u64>, const N: usize>(words: [W; N]) -> Draw {
    let mut draw = [0; 16];
    for (place, word) in draw.chunks_exact_mut(16 / N).zip(words) {
        place.copy_from_slice(&word.into().to_ne_bytes()[..16 / N]);
    }
    draw
}

/// Without any signal of clones, requests are made different in each copy.
pub fn no_signal() -> Verdict {
    without_signal();
    copies_draw(draws, || {})
}

/// If the program does not rely on signals of clones, requests are made different in each copy.
pub fn distrusted() -> Verdict {
    squall::hazmat::distrust_clone_signals();
    copies_draw(draws, || {})
}

/// Hides other signals, so that vmgenid, which a case's failpoints add, is the only one.
pub fn leave_delayed_notification() {
    without_signal();
    assert_eq!(
        squall::status().clone_guard,
        CloneGuard::Signal(Signal::Vmgenid)
    );
}

/// Hides the immediate signals of clones.
pub fn without_signal() {
    look_for_signals_at(c"/nonexistent/vmclock", c"/nonexistent/squall-vmgenid");
}

fn look_for_signals_at(vmclock: &'static CStr, vmgenid_page: &'static CStr) {
    activate_for_testing(HideKvmClock);
    clone_device_for_testing(c"/dev/vmclock0", vmclock);
    clone_device_for_testing(c"/dev/squall-vmgenid", vmgenid_page);
}

/// Before the kernel has handled vmgenid's interrupt, requests of every size differ.
pub fn delayed() -> Verdict {
    leave_delayed_notification();
    copies_draw(draws, || {})
}

/// Draws of words through `rand`'s traits.
fn draws_of(mut rng: impl rand_core::Rng) -> [Draw; 2] {
    [
        draw_of_words([(); 4].map(|()| rng.next_u32())),
        draw_of_words([(); 2].map(|()| rng.next_u64())),
    ]
}

/// Words drawn through `rand`'s traits differ too.
pub fn delayed_through_rng() -> Verdict {
    leave_delayed_notification();
    copies_draw(|| draws_of(squall::Rng), || {})
}

/// Numbers for simulations may repeat in clones.
pub fn simulation() -> Verdict {
    leave_delayed_notification();
    copies_draw(|| draws_of(squall::SimulationRng), || {})
}

/// Long requests for simulations differ in clones: the generator's output without additional input would
/// tell the key of another clone that mixes in input.
pub fn long_simulation() -> Verdict {
    use rand_core::Rng as _;
    fn draw() -> [Draw; 1] {
        let mut long = [0; 300];
        squall::SimulationRng.fill_bytes(&mut long);
        [long[284..].try_into().unwrap()]
    }
    leave_delayed_notification();
    copies_draw(draw, || {})
}

/// If the machine is stopped within a long request, its copies differ from the next 64 KiB on.
///
/// The request's memory has a page that cannot be accessed, and the fault is the stop.
pub fn stopped_in_a_long_request() -> Verdict {
    const STOP_AT: usize = (1 << 16) + (1 << 15);
    const LEN: usize = 3 << 16;
    static BARRIER: AtomicUsize = AtomicUsize::new(0);
    static COPY: AtomicI32 = AtomicI32::new(-1);
    extern "C" fn stop(_: libc::c_int) {
        let page = BARRIER.load(Ordering::Relaxed) as *mut libc::c_void;
        // SAFETY: opens the page that the request is about to write, or fails. The child goes on like its
        // parent, and this program's other threads hold no lock that it needs.
        unsafe {
            if libc::mprotect(page, page_size(), libc::PROT_READ | libc::PROT_WRITE) != 0 {
                libc::abort();
            }
            COPY.store(libc::fork(), Ordering::Relaxed);
        }
    }
    leave_delayed_notification();
    let (reader, writer) = pipe().unwrap();
    // SAFETY: a new mapping of that length, borrowed only here. Faults in it are handled.
    let out = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = libc::mmap(std::ptr::null_mut(), LEN, access, flags, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        let barrier = memory.byte_add(STOP_AT);
        BARRIER.store(barrier as usize, Ordering::Relaxed);
        libc::signal(libc::SIGSEGV, stop as *const () as libc::sighandler_t);
        assert_eq!(libc::mprotect(barrier, page_size(), libc::PROT_NONE), 0);
        std::slice::from_raw_parts_mut(memory.cast(), LEN)
    };
    squall::fill(out);
    send(&writer, &[*out.last_chunk().unwrap()]);
    match COPY.load(Ordering::Relaxed) {
        // SAFETY: ends the copy.
        0 => unsafe { libc::_exit(0) },
        copy => wait(copy),
    }
    drop(writer);
    let draws = receive(reader);
    assert_eq!(draws.len(), 2);
    judge(draws)
}

/// With pads, bytes come from the buffer and leave the generator's state unchanged.
pub fn bytes_come_from_the_buffer() -> Verdict {
    comes_from_the_buffer(|| {
        squall::array::<16>();
    })
}

/// Numbers for simulations, which get no pad, also come from the buffer.
pub fn simulations_come_from_the_buffer() -> Verdict {
    use rand_core::Rng as _;
    comes_from_the_buffer(|| {
        squall::SimulationRng.next_u64();
    })
}

fn comes_from_the_buffer(draw: fn()) -> Verdict {
    const STATE_WORDS: usize = 6;
    let state = || words_of_page(KEY_OFFSETS_FOR_TESTING[0], STATE_WORDS);
    leave_delayed_notification();
    // A refill or a reseed may come in between, but not each time.
    let leaves_state = |_| {
        let before = state();
        draw();
        state() == before
    };
    if (0..1000).any(leaves_state) {
        Verdict::Held
    } else {
        Verdict::Broken("each draw asks the generator".to_owned())
    }
}

/// Every page has round keys for pads, and new ones after each seeding.
pub fn pad_schedule() -> Verdict {
    const WORDS: usize = 30;
    fn pad_schedule() -> Vec<u64> {
        squall::u64();
        words_of_page(KEY_OFFSETS_FOR_TESTING[1], WORDS)
    }
    leave_delayed_notification();
    let rng = KernelRng::open();
    let mut all = vec![
        pad_schedule(),
        std::thread::spawn(pad_schedule).join().unwrap(),
    ];
    rng.reseed();
    all.push(pad_schedule());
    let mut words: Vec<u64> = all.concat();
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    if words.len() == count && words[0] != 0 {
        Verdict::Held
    } else {
        Verdict::Broken("keys of pads are zero or the same".to_owned())
    }
}

/// A path of this process for a file, where there is none.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("squall-vmclock-{}-{name}", std::process::id()));
    // A process that was killed may have had this number, and left the file.
    let _ = std::fs::remove_file(&path);
    path
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).unwrap()
}

pub fn leaked_path(path: &Path) -> &'static CStr {
    Box::leak(c_path(path).into_boxed_c_str())
}

/// Makes squall look for vmclock at `path`, and for no page of vmgenid.
fn use_as_vmclock(path: &Path) {
    look_for_signals_at(leaked_path(path), c"/nonexistent/squall-vmgenid");
}

/// Makes squall look for the page of vmgenid at `path`, and for no vmclock.
fn use_as_vmgenid_page(path: &Path) {
    look_for_signals_at(c"/nonexistent/vmclock", leaked_path(path));
}

/// A file that imitates the page of a device with a signal of clones.
pub struct SignalPage {
    file: File,
    count_at: u64,
}

impl SignalPage {
    /// A vmclock that counts generations.
    pub fn vmclock() -> SignalPage {
        SignalPage::of_vmclock(1 << 8, 104)
    }

    /// A vmclock that only has a disruption marker.
    fn marker() -> SignalPage {
        SignalPage::of_vmclock(0, 16)
    }

    /// vmgenid's page, of which only the 8 bytes from `count_at` on change.
    pub fn vmgenid(count_at: u64) -> SignalPage {
        let signal =
            SignalPage::installed(count_at, use_as_vmgenid_page, SignalPage::write_vmgenid);
        assert_eq!(
            squall::status().clone_guard,
            CloneGuard::Signal(Signal::VmgenidPage)
        );
        signal
    }

    fn of_vmclock(flags: u64, count_at: u64) -> SignalPage {
        let signal = SignalPage::installed(count_at, use_as_vmclock, |path, count_at| {
            SignalPage::write_vmclock(path, flags, count_at)
        });
        assert!(squall::status().has_vmclock);
        signal
    }

    fn installed(
        count_at: u64,
        use_path: fn(&Path),
        write: impl FnOnce(&Path, u64) -> SignalPage,
    ) -> SignalPage {
        activate_for_testing(SkipCloneDeviceCheck);
        let path = scratch("page");
        let signal = write(&path, count_at);
        use_path(&path);
        // Reading the status decides which signals the machine has.
        squall::status();
        std::fs::remove_file(path).unwrap();
        signal
    }

    /// Writes a page of vmclock.
    fn write_vmclock(path: &Path, flags: u64, count_at: u64) -> SignalPage {
        let signal = SignalPage::write(path, count_at);
        let fields: [(&[u8], u64); 4] = [
            (&0x4b4c_4356_u32.to_le_bytes(), 0),
            (&4096_u32.to_le_bytes(), 4),
            (&1_u16.to_le_bytes(), 8),
            (&flags.to_le_bytes(), 24),
        ];
        for (field, at) in fields {
            signal.file.write_all_at(field, at).unwrap();
        }
        signal
    }

    /// Writes a page of vmgenid that begins with the identifier. A read of the device gives the same
    /// bytes: the identifier, followed by its offset, which is 0.
    fn write_vmgenid(path: &Path, count_at: u64) -> SignalPage {
        SignalPage::write(path, count_at)
    }

    fn write(path: &Path, count_at: u64) -> SignalPage {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .expect("a temporary file");
        file.set_len(4096).unwrap();
        let signal = SignalPage { file, count_at };
        signal.set(1);
        signal
    }

    pub fn set(&self, count: u64) {
        let count = count.to_le_bytes();
        self.file.write_all_at(&count, self.count_at).unwrap();
    }
}

/// vmclock's counter is different in every copy.
pub fn vmclock_changes() -> Verdict {
    copies_with_changing(&SignalPage::vmclock(), draws)
}

/// vmclock's disruption marker is different in every copy.
pub fn vmclock_marker_changes() -> Verdict {
    copies_with_changing(&SignalPage::marker(), draws)
}

/// The first half of vmgenid's identifier is different in every copy.
pub fn vmgenid_page_begins_differently() -> Verdict {
    copies_with_changing(&SignalPage::vmgenid(0), draws)
}

/// The last half of vmgenid's identifier is different in every copy.
pub fn vmgenid_page_ends_differently() -> Verdict {
    copies_with_changing(&SignalPage::vmgenid(8), draws)
}

/// Copies draw, each under another value of `signal`.
pub fn copies_with_changing<const N: usize>(
    signal: &SignalPage,
    draw: fn() -> [Draw; N],
) -> Verdict {
    judge_sent(|writer| {
        for round in 0..200 {
            for copy in 0..3 {
                signal.set(10 + 3 * round + copy);
                wait(fork(|| send(writer, &draw())));
            }
        }
    })
}

/// The control: the counter never changes, so the copies repeat.
pub fn vmclock_never_changes() -> Verdict {
    let _clock = SignalPage::vmclock();
    copies_draw(draws, || {})
}

/// The control: the identifier never changes, so the copies repeat.
pub fn vmgenid_page_never_changes() -> Verdict {
    let _page = SignalPage::vmgenid(0);
    copies_draw(draws, || {})
}

/// A vmclock that counts generations, at a path where squall has not looked yet.
pub fn undecided_vmclock() -> (SignalPage, PathBuf) {
    activate_for_testing(SkipCloneDeviceCheck);
    let path = scratch("page");
    let clock = SignalPage::write_vmclock(&path, 1 << 8, 104);
    use_as_vmclock(&path);
    (clock, path)
}

/// A first draw looks for a vmclock only if it must, because that would take longer than the draw.
pub fn first_draw_does_not_look_for_vmclock() -> Verdict {
    let (_clock, path) = undecided_vmclock();
    squall::u64();
    std::fs::remove_file(path).unwrap();
    if squall::status().has_vmclock {
        Verdict::Broken("the first draw looked for a vmclock".to_owned())
    } else {
        Verdict::Held
    }
}

/// Files of any kind at the device's path are not used, and FIFOs not even opened.
pub fn vmclock_is_the_device() -> Verdict {
    let [page, link, fifo] = ["page", "link", "fifo"].map(scratch);
    SignalPage::write_vmclock(&page, 1 << 8, 104);
    symlink(&page, &link).unwrap();
    // SAFETY: the path ends with a null byte.
    assert_eq!(unsafe { libc::mkfifo(c_path(&fifo).as_ptr(), 0o600) }, 0);
    // SAFETY: as above. Nothing else has the new descriptor.
    let mut opened = unsafe {
        let opened = libc::inotify_init1(libc::IN_NONBLOCK);
        assert_ne!(opened, -1);
        assert_ne!(
            libc::inotify_add_watch(opened, c_path(&fifo).as_ptr(), libc::IN_OPEN),
            -1
        );
        File::from_raw_fd(opened)
    };
    let uses = |path: &&Path| {
        is_true_in_child(|| {
            // Opening a FIFO that nobody writes to must not block the draw.
            // SAFETY: alarm has no preconditions.
            unsafe { libc::alarm(60) };
            use_as_vmclock(path);
            squall::status().has_vmclock
        })
    };
    let used = [&page, &link, &fifo, Path::new("/dev/zero")]
        .into_iter()
        .find(uses)
        .map(Path::to_owned);
    let was_opened = opened.read(&mut [0; 16]).is_ok();
    for path in [page, link, fifo] {
        std::fs::remove_file(path).unwrap();
    }
    match used {
        Some(path) => Verdict::Broken(format!("{} passed for a vmclock", path.display())),
        None if was_opened => Verdict::Broken("the FIFO was opened".to_owned()),
        None => Verdict::Held,
    }
}

/// A file, or another device, at the path of the module's device is not used.
pub fn vmgenid_page_is_the_device() -> Verdict {
    let page = scratch("page");
    SignalPage::write_vmgenid(&page, 0);
    let uses = |path: &&Path| {
        is_true_in_child(|| {
            use_as_vmgenid_page(path);
            squall::status().has_vmgenid_page
        })
    };
    let used = [&page, Path::new("/dev/zero")]
        .into_iter()
        .find(uses)
        .map(Path::to_owned);
    std::fs::remove_file(page).unwrap();
    match used {
        Some(path) => Verdict::Broken(format!("{} passed for vmgenid's page", path.display())),
        None => Verdict::Held,
    }
}

/// Truncating a file at the device's path does not end the program.
pub fn vmclock_cut_short() -> Verdict {
    let path = scratch("page");
    let clock = SignalPage::write_vmclock(&path, 1 << 8, 104);
    use_as_vmclock(&path);
    let child = fork(|| {
        squall::status();
        clock.file.set_len(0).unwrap();
        squall::u64();
    });
    let status = exit_status_of(child);
    std::fs::remove_file(path).unwrap();
    if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGBUS {
        return Verdict::Broken("a draw ended by SIGBUS".to_owned());
    }
    assert_eq!(status, 0);
    Verdict::Held
}

/// A hypervisor that only announces itself, or only has a vmgenid, makes this a VM without other
/// signals.
pub fn without_clock() -> Verdict {
    without_signal();
    copies_draw(draws, || {})
}

/// A device that may be a vmclock but is not found in /sys also makes this a VM.
pub fn hidden_hypervisor_with_unknown_device() -> Verdict {
    let path = scratch("device");
    make_device(&path, 255).expect("device nodes can be made");
    use_as_vmclock(&path);
    let has_vmclock = squall::status().has_vmclock;
    std::fs::remove_file(path).unwrap();
    assert!(!has_vmclock);
    copies_draw(draws, || {})
}

/// Makes a node of the misc device with this number.
fn make_device(path: &Path, minor: u32) -> std::io::Result<()> {
    let (mode, device) = (libc::S_IFCHR | 0o600, libc::makedev(10, minor));
    // SAFETY: the path ends with a null byte.
    match unsafe { libc::mknod(c_path(path).as_ptr(), mode, device) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

pub fn can_make_devices() -> bool {
    let path = scratch("probe");
    let made = make_device(&path, 255);
    made.and_then(|()| std::fs::remove_file(path)).is_ok()
}

/// A vmclock whose marker does not change also makes this a VM.
pub fn hidden_hypervisor_with_marker() -> Verdict {
    let _clock = SignalPage::marker();
    copies_draw(draws, || {})
}

/// Draws with new kernel bytes in every call need no other guard.
pub fn fresh() -> Verdict {
    fn fresh_draws() -> [Draw; 4] {
        std::array::from_fn(|_| {
            let mut draw = [0; 16];
            squall::fill_fresh(&mut draw);
            draw
        })
    }
    copies_draw(fresh_draws, || {})
}
