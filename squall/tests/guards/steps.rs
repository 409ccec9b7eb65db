//! Interrupts a draw after each of its instructions by a fork, a drop of the page, a reseed or a clone.
//!
//! The thread draws with the trap flag set, so that a handler runs after each instruction. Chance plays
//! no part: the same draw has the same instructions, and the test knows which of them made the last
//! check.

#[cfg(not(target_arch = "x86_64"))]
mod x86_64 {
    use crate::Verdict;
    pub fn fork_in_a_seeding() -> Verdict {
        unreachable!("single steps need x86-64's trap flag")
    }
    pub use fork_in_a_seeding as fork_in_a_fresh_draw;
    pub use fork_in_a_seeding as drop_in_a_small_draw;
    pub use fork_in_a_seeding as drop_before_the_last_access;
    pub use fork_in_a_seeding as drop_in_a_large_draw;
    pub use fork_in_a_seeding as reseed_in_a_fresh_draw;
    pub use fork_in_a_seeding as clone_in_a_fresh_draw;
    pub use fork_in_a_seeding as nothing_in_a_fresh_draw;
    pub use fork_in_a_seeding as reseed_in_a_seeding;
    pub use fork_in_a_seeding as clone_in_a_seeding;
    pub use fork_in_a_seeding as nothing_in_a_seeding;
    pub use fork_in_a_seeding as handler_in_a_small_draw;
    pub use fork_in_a_seeding as bootstrap_comes_first;
    pub use fork_in_a_seeding as clone_while_deciding;
    pub use fork_in_a_seeding as nothing_while_deciding;
    pub use fork_in_a_seeding as drop_in_a_refill_of_a_buffer;
    pub use fork_in_a_seeding as drop_in_a_buffered_number;
    pub use fork_in_a_seeding as clone_of_kvm_in_a_request;
}
pub use x86_64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    mod kvm_clock;
    pub use kvm_clock::*;

    use std::io::pipe;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
    use std::sync::{Mutex, OnceLock};

    use rand_core::Rng as _;
    use squall::testing::{
        Failpoint, activate_for_testing, events_for_testing, page_address_for_testing,
        reseeds_for_testing, watch_generation_at_for_testing,
    };
    use squall::{BufferedSimulationRng, CloneGuard, MemoryKind, Signal};

    use crate::Verdict;
    use crate::clones::{SignalPage, undecided_vmclock};
    use crate::drops::{EMPTIED, drop_at, drop_page};
    use crate::outputs::{Draw, exit_status_of, fork, judge, raw_fork, receive, send};
    use crate::reseeds::KernelRng;

    const TRAP_FLAG: i64 = 1 << 8;

    /// A draw that is stopped after an instruction.
    struct Stopped<'a> {
        /// Instructions so far.
        step: usize,
        /// The system call that the next instruction makes.
        call: Option<libc::c_long>,
        context: &'a mut libc::ucontext_t,
    }

    impl Stopped<'_> {
        /// Lets the draw run to its end without steps.
        fn run_on(&mut self) {
            self.context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG;
        }
    }

    /// Instructions of the draw so far.
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    /// What to do after each: a `fn(Stopped)`.
    static ON_STEP: AtomicPtr<()> = AtomicPtr::new(null_mut());

    extern "C" fn handle_step(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let step = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: the kernel gave the context.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        let registers = &context.uc_mcontext.gregs;
        let next = registers[libc::REG_RIP as usize] as *const u8;
        // SAFETY: the next instruction can be read, and has a second byte if it begins with 0x0f.
        let is_syscall = unsafe { *next == 0x0f && *next.add(1) == 0x05 };
        let call = is_syscall.then_some(registers[libc::REG_RAX as usize]);
        // SAFETY: only `step_through` writes it, and functions and pointers have one size.
        let on_step: fn(Stopped) = unsafe { std::mem::transmute(ON_STEP.load(Ordering::Relaxed)) };
        on_step(Stopped {
            step,
            call,
            context,
        });
    }

    /// Runs `draw`, and `on_step` after each of its instructions. Returns how many there were.
    fn step_through(draw: impl FnOnce(), on_step: fn(Stopped)) -> usize {
        // Wiping takes thousands of instructions and has no influence on the result.
        activate_for_testing(Failpoint::SkipWiping);
        handle(libc::SIGTRAP, handle_step);
        STEPS.store(0, Ordering::Relaxed);
        step_on(draw, on_step);
        STEPS.load(Ordering::Relaxed)
    }

    /// Same as [`step_through`], which was called before, and counts on.
    fn step_on(draw: impl FnOnce(), on_step: fn(Stopped)) {
        ON_STEP.store(on_step as *mut (), Ordering::Relaxed);
        with_trap_flag(draw);
    }

    #[inline(never)]
    fn with_trap_flag(draw: impl FnOnce()) {
        // SAFETY: sets the trap flag, and clears it again behind the draw.
        unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
        draw();
        // SAFETY: as above.
        unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    }

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

    fn handle(signal: libc::c_int, handler: Handler) {
        // SAFETY: the handlers are async-signal-safe; zeros are a valid mask.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(signal, &action, null_mut()), 0);
        }
    }

    /// The instruction of the draw's last check for a fork.
    static LAST_CHECK: AtomicUsize = AtomicUsize::new(usize::MAX);

    /// Notices every access to a page: the page is inaccessible, and opened for single instructions.
    mod watch {
        use super::*;

        static PAGE: AtomicUsize = AtomicUsize::new(0);
        static IS_OPEN: AtomicBool = AtomicBool::new(false);
        static IS_ACCESSED: AtomicBool = AtomicBool::new(false);

        pub fn begin(page: usize) {
            handle(libc::SIGSEGV, handle_access);
            PAGE.store(page, Ordering::Relaxed);
            close();
        }

        extern "C" fn handle_access(
            signal: libc::c_int,
            info: *mut libc::siginfo_t,
            _: *mut libc::c_void,
        ) {
            // SAFETY: the kernel gave the information.
            let at = unsafe { (*info).si_addr() } as usize;
            let page = PAGE.load(Ordering::Relaxed);
            if !(page..page + 4096).contains(&at) || IS_OPEN.load(Ordering::Relaxed) {
                // SAFETY: a fault of another kind: the instruction fails again, and ends the process.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
                return;
            }
            IS_ACCESSED.store(true, Ordering::Relaxed);
            open();
        }

        /// Called after an instruction: whether the instruction accessed the page. If `calls_next`, the
        /// page is opened for the system call that comes next.
        pub fn step(calls_next: bool) -> bool {
            if IS_OPEN.load(Ordering::Relaxed) {
                close();
            }
            if calls_next {
                open();
            }
            IS_ACCESSED.swap(false, Ordering::Relaxed)
        }

        /// Lets everybody access the page.
        pub fn open() {
            protect(libc::PROT_READ | libc::PROT_WRITE);
            IS_OPEN.store(true, Ordering::Relaxed);
        }

        fn close() {
            protect(libc::PROT_NONE);
            IS_OPEN.store(false, Ordering::Relaxed);
        }

        fn protect(protection: libc::c_int) {
            let page = PAGE.load(Ordering::Relaxed);
            // SAFETY: nobody accesses the page but the draw, whose faults are handled.
            let status = unsafe { libc::mprotect(page as *mut _, 4096, protection) };
            assert_eq!(status, 0);
        }
    }

    /// Called after an instruction: if it accessed the page, it is the last check so far. A fork empties
    /// the page in the child, so a check is an access to the page.
    fn note_page(stopped: &Stopped) {
        if watch::step(stopped.call.is_some()) {
            LAST_CHECK.store(stopped.step, Ordering::Relaxed);
        }
    }

    /// Called before an instruction: getpid(2) is the check where the process is compared.
    fn note_process(stopped: &Stopped) {
        if stopped.call == Some(libc::SYS_getpid) {
            LAST_CHECK.store(stopped.step + 1, Ordering::Relaxed);
        }
    }

    static IS_CHILD: AtomicBool = AtomicBool::new(false);
    /// Whether the instruction is a system call that asks for the kernel's bytes.
    static ASKS_KERNEL: AtomicBool = AtomicBool::new(false);

    /// Forks after every 83rd instruction: a prime number, so that every position in a loop is met; and
    /// when the kernel has given its bytes.
    fn fork_at(mut stopped: Stopped) {
        const APART: usize = 83;
        let asks_kernel = stopped.call == Some(libc::SYS_getrandom);
        let has_kernel_bytes = ASKS_KERNEL.swap(asks_kernel, Ordering::Relaxed);
        if !stopped.step.is_multiple_of(APART) && !has_kernel_bytes {
            return;
        }
        // SAFETY: this program's other threads hold no locks that the child needs.
        let pid = unsafe { raw_fork() };
        assert!(pid >= 0, "fork failed");
        if pid == 0 {
            IS_CHILD.store(true, Ordering::Relaxed);
            stopped.run_on();
        }
    }

    /// Forks in a draw that seeds the page. It checks the page, or the process where memory is copied.
    pub fn fork_in_a_seeding() -> Verdict {
        let memory = squall::status().memory;
        drop_page();
        if memory == MemoryKind::Plain {
            return fork_in(squall::fill, |stopped| {
                note_process(&stopped);
                fork_at(stopped);
            });
        }
        watch::begin(page_address_for_testing());
        let draw = |out: &mut [u8]| {
            squall::fill(out);
            watch::open();
        };
        fork_in(draw, |stopped| {
            note_page(&stopped);
            fork_at(stopped);
            if IS_CHILD.load(Ordering::Relaxed) {
                watch::open();
            }
        })
    }

    /// Forks in a draw that uses no page. It checks the process.
    pub fn fork_in_a_fresh_draw() -> Verdict {
        squall::u32();
        squall::u32();
        fork_in(squall::fill_fresh, |stopped| {
            note_process(&stopped);
            fork_at(stopped);
        })
    }

    /// The interrupted draw ends differently on both sides, wherever it is interrupted before its last
    /// check. After the last check it only hands over the bytes.
    fn fork_in(draw: impl Fn(&mut [u8]), on_step: fn(Stopped)) -> Verdict {
        static PIPE: AtomicI32 = AtomicI32::new(-1);
        let (reader, writer) = pipe().unwrap();
        let collector = std::thread::spawn(move || receive(reader));
        PIPE.store(writer.as_raw_fd(), Ordering::Relaxed);
        // There may be thousands of children, none of which must remain as a zombie.
        // SAFETY: the kernel reaps them.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let mut out = [0; 300];
        let steps = step_through(|| draw(&mut out), on_step);
        if IS_CHILD.load(Ordering::Relaxed) {
            let mut line: Draw = [0; 16];
            line[..8].copy_from_slice(&steps.to_ne_bytes());
            line[8..].copy_from_slice(&out[292..]);
            let pipe = PIPE.load(Ordering::Relaxed);
            // SAFETY: the bytes are readable; the child ends here.
            unsafe {
                libc::write(pipe, line.as_ptr().cast(), line.len());
                libc::_exit(0);
            }
        }
        drop(writer);
        let mut forks: Vec<(usize, bool)> = collector
            .join()
            .unwrap()
            .iter()
            .map(|line| {
                let step = usize::from_ne_bytes(*line.first_chunk().unwrap());
                (step, line[8..] == out[292..])
            })
            .collect();
        forks.sort_unstable();
        judge_forks(&forks, LAST_CHECK.load(Ordering::Relaxed), steps)
    }

    /// The sides may be equal only from some fork on, and only if that fork comes after the last check.
    fn judge_forks(forks: &[(usize, bool)], last_check: usize, steps: usize) -> Verdict {
        assert!(forks.len() > 100, "{} forks in {steps} steps", forks.len());
        let first = forks.iter().position(|&(_, is_equal)| is_equal);
        let (before, equal) = forks.split_at(first.unwrap_or(forks.len()));
        let position = format!("of {steps} instructions, the last check being {last_check}");
        match equal.first() {
            Some(&(step, _)) if step < last_check => Verdict::Broken(format!(
                "a fork after {step} {position}, left both sides with one output"
            )),
            _ if equal.iter().any(|&(_, is_equal)| !is_equal) => Verdict::Broken(format!(
                "after {} forks some are equal and some are not, {position}",
                before.len()
            )),
            _ => Verdict::Held,
        }
    }

    /// The instruction after which the page is dropped.
    static DROP_AFTER: AtomicUsize = AtomicUsize::new(0);

    /// Drops the page after every `apart`-th instruction of a draw: no draw is zeros, and none comes
    /// twice. Each position is tried twice, because bytes generated from an empty page need not be zeros.
    fn drop_in(draw: fn() -> Draw, apart: usize) -> Verdict {
        let mut draws = Vec::new();
        for drop_after in (1..).step_by(apart).flat_map(|step| [step, step]) {
            squall::fill(&mut [0; 300]);
            squall::array::<16>();
            DROP_AFTER.store(drop_after, Ordering::Relaxed);
            let mut drawn = Draw::default();
            let steps = step_through(
                || drawn = draw(),
                |mut stopped| {
                    if stopped.step == DROP_AFTER.load(Ordering::Relaxed) {
                        drop_page();
                        stopped.run_on();
                    }
                },
            );
            draws.push(drawn);
            if steps < drop_after {
                break;
            }
        }
        assert!(draws.len() > 50, "{} draws", draws.len());
        judge(draws)
    }

    /// A draw out of the buffer.
    pub fn drop_in_a_small_draw() -> Verdict {
        drop_in(squall::array, 1)
    }

    /// A draw that is generated in place.
    pub fn drop_in_a_large_draw() -> Verdict {
        drop_in(|| *squall::array::<300>().last_chunk().unwrap(), 41)
    }

    /// A signal handler draws after each instruction of a small draw, from one on. Before its first draw the
    /// page is dropped, or it is not. No draw is zeros, and none comes twice.
    pub fn handler_in_a_small_draw() -> Verdict {
        /// Draws in the handler: more than a small draw has instructions.
        const MOST: usize = 100;
        static FROM: AtomicUsize = AtomicUsize::new(0);
        static DROPS: AtomicBool = AtomicBool::new(false);
        static HANDLED: Mutex<Vec<Draw>> = Mutex::new(Vec::new());
        let mut draws = Vec::new();
        for (from, drops) in (1..).flat_map(|step| [(step, false), (step, true)]) {
            squall::fill(&mut [0; 300]);
            squall::array::<16>();
            FROM.store(from, Ordering::Relaxed);
            DROPS.store(drops, Ordering::Relaxed);
            let mut drawn = Draw::default();
            let steps = step_through(
                || drawn = squall::array(),
                |mut stopped| {
                    let from = FROM.load(Ordering::Relaxed);
                    if stopped.step < from {
                        return;
                    }
                    if stopped.step == from && DROPS.load(Ordering::Relaxed) {
                        drop_page();
                    }
                    HANDLED.lock().unwrap().push(squall::array());
                    if stopped.step == from + MOST {
                        stopped.run_on();
                    }
                },
            );
            draws.push(drawn);
            if steps < from {
                break;
            }
        }
        assert!(draws.len() > 100, "{} draws", draws.len());
        draws.append(&mut HANDLED.lock().unwrap());
        judge(draws)
    }

    /// After a clone the root is bootstrapped before it serves the thread that noticed the clone, and before
    /// it serves another thread that draws meanwhile.
    pub fn bootstrap_comes_first() -> Verdict {
        /// The bootstrap takes ten times as many instructions, and what comes before it a tenth.
        const ANOTHER_AT: usize = 50_000;
        static BOOTSTRAPS: AtomicU64 = AtomicU64::new(0);
        static EVENTS: AtomicU64 = AtomicU64::new(0);
        static WAS_SERVED: AtomicBool = AtomicBool::new(false);
        let clock = SignalPage::vmclock();
        squall::u32();
        BOOTSTRAPS.store(squall::status().bootstraps, Ordering::Relaxed);
        EVENTS.store(events_for_testing().iter().sum(), Ordering::Relaxed);
        clock.set(2);
        let draw = || {
            squall::u32();
        };
        step_through(draw, |mut stopped| {
            if stopped.step == ANOTHER_AT {
                std::thread::spawn(squall::u32).join().unwrap();
                stopped.run_on();
            }
            let events = events_for_testing().iter().sum();
            if EVENTS.swap(events, Ordering::Relaxed) != events
                && squall::status().bootstraps == BOOTSTRAPS.load(Ordering::Relaxed)
            {
                WAS_SERVED.store(true, Ordering::Relaxed);
            }
        });
        if WAS_SERVED.load(Ordering::Relaxed) {
            Verdict::Broken("the root served before its bootstrap".to_owned())
        } else {
            Verdict::Held
        }
    }

    /// While a thread decides which guards there are, others know nothing of the vmclock, or notice every
    /// clone. After each instruction a copy of the process finds out, by another thread.
    fn while_deciding(event: fn()) -> Verdict {
        const UNDECIDED: libc::c_int = 0;
        const NOTICED: libc::c_int = 1;
        const UNNOTICED: libc::c_int = 2;
        static EVENT: OnceLock<fn()> = OnceLock::new();
        static PATH: OnceLock<PathBuf> = OnceLock::new();
        static IS_MAPPED: AtomicBool = AtomicBool::new(false);
        static SEEN: AtomicI32 = AtomicI32::new(UNDECIDED);
        fn look() -> libc::c_int {
            match squall::status().clone_guard {
                CloneGuard::Signal(Signal::VmClock) => {
                    squall::u64();
                    let before = reseeds_for_testing();
                    EVENT.get().expect("it was set")();
                    squall::u64();
                    if reseeds_for_testing() > before {
                        NOTICED
                    } else {
                        UNNOTICED
                    }
                }
                CloneGuard::NotAVm => UNNOTICED,
                _ => UNDECIDED,
            }
        }
        let (clock, path) = undecided_vmclock();
        assert!(CLOCK.set(clock).is_ok() && PATH.set(path).is_ok());
        EVENT.set(event).expect("it was not set");
        let draw = || {
            squall::u32();
        };
        step_through(draw, |mut stopped| {
            if IS_MAPPED.load(Ordering::Relaxed) {
                // The copies find no vmclock of their own.
                let _ = std::fs::remove_file(PATH.get().expect("it was set"));
                let copy = fork(|| {
                    let seen = std::thread::spawn(look).join().unwrap();
                    // SAFETY: ends the process.
                    unsafe { libc::_exit(seen) }
                });
                let status = exit_status_of(copy);
                let has_crashed = libc::WIFSIGNALED(status);
                let seen = if has_crashed {
                    UNNOTICED
                } else {
                    libc::WEXITSTATUS(status)
                };
                if seen != UNDECIDED {
                    SEEN.store(seen, Ordering::Relaxed);
                    stopped.run_on();
                }
            } else if stopped.call == Some(libc::SYS_mmap) {
                IS_MAPPED.store(true, Ordering::Relaxed);
            }
        });
        match SEEN.load(Ordering::Relaxed) {
            NOTICED => Verdict::Held,
            UNNOTICED => Verdict::Broken("a clone was not noticed".to_owned()),
            seen => panic!("the copies saw {seen}"),
        }
    }

    pub fn clone_while_deciding() -> Verdict {
        while_deciding(change_clock)
    }

    /// The control: there is no clone.
    pub fn nothing_while_deciding() -> Verdict {
        while_deciding(|| ())
    }

    /// The page that is dropped.
    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    /// Steps through `draw`, and drops a page after an instruction. Returns how many there were until then.
    fn drop_after(drop_after: usize, page: usize, draw: impl FnOnce()) -> usize {
        DROP_AFTER.store(drop_after, Ordering::Relaxed);
        DROPPED.store(page, Ordering::Relaxed);
        step_through(draw, |mut stopped| {
            if stopped.step == DROP_AFTER.load(Ordering::Relaxed) {
                drop_at(DROPPED.load(Ordering::Relaxed));
                stopped.run_on();
            }
        })
    }

    /// A buffer that is dropped while it is filled serves no zeros.
    pub fn drop_in_a_refill_of_a_buffer() -> Verdict {
        const APART: usize = 211;
        const NUMBERS: usize = 3584 / size_of::<u64>();
        let mut rng = BufferedSimulationRng::new();
        // The first requests of a process come from elsewhere.
        (0..4).for_each(|_| _ = rng.next_u64());
        let page = rng.page_address();
        for instruction in (1..).step_by(APART) {
            drop_at(page);
            let steps = drop_after(instruction, page, || _ = rng.next_u64());
            // A number is zero by chance once in 2^64.
            if (1..NUMBERS).any(|_| rng.next_u64() == 0) {
                return Verdict::Broken(format!("zero, dropped after {instruction} instructions"));
            }
            if steps < instruction {
                assert!(instruction > 10 * APART, "{steps} instructions");
                break;
            }
        }
        Verdict::Held
    }

    /// A buffer that is dropped after any instruction of a number serves no zeros.
    pub fn drop_in_a_buffered_number() -> Verdict {
        let mut rng = BufferedSimulationRng::new();
        (0..4).for_each(|_| _ = rng.next_u64());
        for instruction in 1.. {
            // The buffer is full.
            rng.next_u64();
            let mut number = 0;
            let page = rng.page_address();
            let steps = drop_after(instruction, page, || number = rng.next_u64());
            if number == 0 {
                return Verdict::Broken(format!("zero, dropped after {instruction} instructions"));
            }
            if steps < instruction {
                assert!(steps > 10, "{steps} instructions");
                break;
            }
        }
        Verdict::Held
    }

    /// A page that is dropped after any instruction of a small draw is found empty, unless the draw does not
    /// access it any more.
    pub fn drop_before_the_last_access() -> Verdict {
        for drop_after in 1.. {
            squall::array::<16>();
            DROP_AFTER.store(drop_after, Ordering::Relaxed);
            let before = events_for_testing()[EMPTIED];
            let draw = || {
                squall::array::<16>();
            };
            let steps = step_through(draw, |mut stopped| {
                if stopped.step == DROP_AFTER.load(Ordering::Relaxed) {
                    drop_page();
                    watch::begin(page_address_for_testing());
                    stopped.run_on();
                }
            });
            if steps < drop_after {
                assert!(steps > 50, "{steps} instructions");
                break;
            }
            let is_accessed = watch::step(true);
            if is_accessed && events_for_testing()[EMPTIED] == before {
                return Verdict::Broken(format!(
                    "the page was read after its last check, dropped after {drop_after} instructions"
                ));
            }
        }
        Verdict::Held
    }

    fn in_a_fresh_draw(event: fn()) -> Verdict {
        in_a_draw(|| squall::fill_fresh(&mut [0; 300]), event)
    }

    /// A draw that seeds the page by a system call.
    fn in_a_seeding(event: fn()) -> Verdict {
        drop_page();
        in_a_draw(|| squall::fill(&mut [0; 300]), event)
    }

    /// Runs `event` in `draw`, right after the kernel gave its bytes: the draw must start over.
    fn in_a_draw(draw: fn(), event: fn()) -> Verdict {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        static EVENT: AtomicPtr<()> = AtomicPtr::new(null_mut());
        EVENT.store(event as *mut (), Ordering::Relaxed);
        step_through(draw, |stopped| {
            if stopped.call == Some(libc::SYS_getrandom) {
                CALLS.fetch_add(1, Ordering::Relaxed);
            } else if CALLS.load(Ordering::Relaxed) == 1 {
                let event = EVENT.swap(null_mut(), Ordering::Relaxed);
                if !event.is_null() {
                    // SAFETY: it was put there above.
                    unsafe { std::mem::transmute::<*mut (), fn()>(event)() };
                }
            }
        });
        match CALLS.load(Ordering::Relaxed) {
            0 => panic!("no system call was seen"),
            1 => Verdict::Broken("the draw did not start over".to_owned()),
            _ => Verdict::Held,
        }
    }

    pub fn reseed_in_a_fresh_draw() -> Verdict {
        squall::status();
        in_a_fresh_draw(|| KernelRng::open().reseed())
    }

    static CLOCK: OnceLock<SignalPage> = OnceLock::new();

    fn change_clock() {
        CLOCK.get().expect("it was set").set(2);
    }

    pub fn clone_in_a_fresh_draw() -> Verdict {
        CLOCK.get_or_init(SignalPage::vmclock);
        in_a_fresh_draw(change_clock)
    }

    pub fn clone_in_a_seeding() -> Verdict {
        CLOCK.get_or_init(SignalPage::vmclock);
        squall::u32();
        in_a_seeding(change_clock)
    }

    /// The kernel's generation is one that can be seen, though the vDSO does not give the bytes.
    fn in_a_seeding_under_a_generation(event: fn()) -> Verdict {
        squall::u32();
        watch_generation_at_for_testing(&GENERATION);
        in_a_seeding(event)
    }

    static GENERATION: AtomicU64 = AtomicU64::new(5);

    pub fn reseed_in_a_seeding() -> Verdict {
        in_a_seeding_under_a_generation(|| GENERATION.store(6, Ordering::Relaxed))
    }

    /// The control of the seedings: nothing happens, and the draw is not repeated.
    pub fn nothing_in_a_seeding() -> Verdict {
        in_a_seeding_under_a_generation(|| {})
    }

    /// The control of the fresh draws: nothing happens, and the draw is not repeated.
    pub fn nothing_in_a_fresh_draw() -> Verdict {
        squall::status();
        in_a_fresh_draw(|| {})
    }
}
