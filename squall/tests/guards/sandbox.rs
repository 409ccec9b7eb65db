//! Sandboxes that refuse getrandom(2), and those that refuse everything.

use std::collections::BTreeMap;
use std::io::PipeWriter;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use squall::{Error, ForkGuard, MemoryKind, NoiseSource};

use crate::Verdict;
use crate::outputs::{exit_status_of, fork, judge};

/// Makes these system calls fail with `errno` from now on.
pub fn refuse(calls: &[libc::c_long], errno: i32) {
    let rules = calls.iter().map(|&call| (call, Vec::new())).collect();
    answer(rules, SeccompAction::Errno(errno as u32));
}

/// Answers what the rules name with `action` from now on.
fn answer(rules: BTreeMap<libc::c_long, Vec<SeccompRule>>, action: SeccompAction) {
    let arch: TargetArch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

fn draws() -> Verdict {
    let mut draws = vec![squall::array(), squall::array()];
    let mut fresh = [0; 16];
    squall::fill_fresh(&mut fresh);
    draws.push(fresh);
    let mut long = vec![0; 100_000];
    squall::fill(&mut long);
    draws.extend_from_slice(long.as_chunks().0);
    judge(draws)
}

pub fn getrandom_enosys() -> Verdict {
    refuse(&[libc::SYS_getrandom], libc::ENOSYS);
    draws()
}

pub fn getrandom_eperm() -> Verdict {
    refuse(&[libc::SYS_getrandom], libc::EPERM);
    draws()
}

/// The sandbox comes after the first draws, and new threads after the sandbox.
pub fn refused_later() -> Verdict {
    squall::u32();
    refuse(&[libc::SYS_getrandom], libc::EPERM);
    match draws() {
        Verdict::Held => std::thread::spawn(draws).join().unwrap(),
        broken => broken,
    }
}

fn refuse_droppable(errno: i32) {
    /// The types of mappings, and the one that is droppable (include/uapi/linux/mman.h).
    const MAP_TYPE: u64 = 0x0f;
    const MAP_DROPPABLE: u64 = 0x08;
    let is_droppable = SeccompCondition::new(
        3,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(MAP_TYPE),
        MAP_DROPPABLE,
    );
    let rule = SeccompRule::new(vec![is_droppable.unwrap()]).unwrap();
    let rules = BTreeMap::from([(libc::SYS_mmap, vec![rule])]);
    answer(rules, SeccompAction::Errno(errno as u32));
}

/// Whether draws differ, and state lives in memory of this kind.
fn draws_from(kind: MemoryKind) -> Verdict {
    let found = squall::status().memory;
    if found == kind {
        draws()
    } else {
        Verdict::Broken(format!("memory: {found}"))
    }
}

/// Whatever a sandbox answers to a kind of memory, the next kind is used.
pub fn droppable_refused(errno: i32) -> Verdict {
    refuse_droppable(errno);
    draws_from(MemoryKind::WipeOnFork)
}

pub fn droppable_refused_later() -> Verdict {
    // The first thread and the root take the first pair of pages.
    squall::u32();
    refuse_droppable(libc::EACCES);
    let thread = || draws_from(MemoryKind::WipeOnFork);
    match std::thread::spawn(thread).join().unwrap() {
        Verdict::Held => draws(),
        broken => broken,
    }
}

/// A shortage of mappings does not make the process's memory plain for good.
pub fn advice_lacks_mappings() -> Verdict {
    refuse_droppable(libc::EACCES);
    refuse(&[libc::SYS_madvise], libc::EAGAIN);
    draws_from(MemoryKind::None)
}

/// Memory becomes plain after the vDSO was asked for its generation, which it cannot be there.
pub fn plain_later() -> Verdict {
    const DRAWS: u64 = 100;
    squall::u32();
    refuse_droppable(libc::EACCES);
    refuse(&[libc::SYS_madvise], libc::EACCES);
    let thread = || draws_from(MemoryKind::Plain);
    if let broken @ Verdict::Broken(_) = std::thread::spawn(thread).join().unwrap() {
        return broken;
    }
    let before = squall::status().reseeds;
    for _ in 0..DRAWS {
        squall::u32();
    }
    match squall::status().reseeds - before {
        seedings if seedings < DRAWS => draws(),
        seedings => Verdict::Broken(format!("{seedings} seedings for {DRAWS} draws")),
    }
}

pub fn advice_refused(errno: i32) -> Verdict {
    refuse_droppable(errno);
    refuse(&[libc::SYS_madvise], errno);
    draws_from(MemoryKind::Plain)
}

/// Some emulators accept all advice, and follow none.
pub fn advice_ignored() -> Verdict {
    refuse_droppable(libc::EACCES);
    refuse(&[libc::SYS_madvise], 0);
    draws_from(MemoryKind::Plain)
}

/// Without any memory, requests are served, memory is asked for rarely, and the status says so.
pub fn no_memory() -> Verdict {
    const REQUESTS: usize = 10_000;
    /// The kinds of memory, for each request in a thousand and one.
    const MOST: usize = 3 * (REQUESTS / 1000 + 1);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn refuse_call(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the kernel gives the handler its thread's context, which it restores afterwards.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        let result = &mut registers.gregs[libc::REG_RAX as usize];
        #[cfg(target_arch = "aarch64")]
        let result = &mut registers.regs[0];
        *result = -libc::EACCES as _;
    }
    // SAFETY: zeros are a valid sigaction, and the handler only touches an atomic and its context.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = refuse_call as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut());
    }
    let rules = BTreeMap::from([(libc::SYS_mmap, Vec::new())]);
    answer(rules, SeccompAction::Trap);
    let outputs = (0..REQUESTS).map(|_| squall::array::<16>());
    let outputs = judge(outputs);
    let calls = CALLS.load(Ordering::Relaxed);
    let status = squall::status();
    let found = (status.memory, status.fork_guard);
    match outputs {
        Verdict::Held if found != (MemoryKind::None, ForkGuard::NoState) => {
            Verdict::Broken(format!("{found:?}"))
        }
        Verdict::Held if !(4..=MOST).contains(&calls) => {
            Verdict::Broken(format!("{calls} calls of mmap"))
        }
        verdict => verdict,
    }
}

/// From now on a reading of the cycle counter ends the thread's process.
fn switch_counter_off() {
    // SAFETY: the call changes what RDTSC does, and no memory.
    let status = unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
    assert_eq!(status, 0);
}

/// Draws often enough for several refills.
fn draw_often() {
    for _ in 0..5000 {
        squall::u64();
    }
}

/// Broken if squall says that it uses the cycle counter, or cannot draw.
fn draws_without_counter() -> Verdict {
    draw_often();
    match squall::status().cycle_counter {
        NoiseSource::Absent => draws(),
        other => Verdict::Broken(format!("the cycle counter {other}")),
    }
}

pub fn counter_off_later() -> Verdict {
    draw_often();
    squall::hazmat::avoid_cycle_counter();
    switch_counter_off();
    draws_without_counter()
}

/// The control: squall is not told.
pub fn counter_off_unannounced() -> Verdict {
    draw_often();
    ends_by_fault(|| {
        switch_counter_off();
        draw_often();
    })
}

/// Broken if a child that does this ends by SIGSEGV.
fn ends_by_fault(act: fn()) -> Verdict {
    let status = exit_status_of(fork(act));
    if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV {
        Verdict::Broken("SIGSEGV".to_owned())
    } else {
        Verdict::Held
    }
}

pub fn counter_off_at_first() -> Verdict {
    switch_counter_off();
    draws_without_counter()
}

/// From now on CPUID ends the thread's process.
#[cfg(target_arch = "x86_64")]
fn switch_cpuid_off() {
    const ARCH_SET_CPUID: libc::c_int = 0x1012;
    // SAFETY: the call changes what CPUID does, and no memory.
    let status = unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, 0) };
    assert_eq!(status, 0);
}

/// CPUID is switched off before the first draw, and in a child after the draws that need it.
#[cfg(target_arch = "x86_64")]
pub fn cpuid_off() -> Verdict {
    let child = fork(|| {
        // Long requests do not need all that the status shows.
        for _ in 0..4 {
            squall::fill(&mut [0; 8192]);
        }
        squall::status();
        switch_cpuid_off();
        draw_often();
    });
    assert_eq!(exit_status_of(child), 0);
    switch_cpuid_off();
    draw_often();
    draws()
}

/// The same where nothing has kept what CPUID reports: the CPU counts as one without features, in a virtual machine.
#[cfg(target_arch = "x86_64")]
pub fn cpuid_off_and_unknown() -> Verdict {
    use squall_drbg::internal::cpuid::{Features, has};

    let verdict = cpuid_off();
    assert_eq!(squall::status().engine, squall::Engine::ChaCha20);
    assert!(has(Features::HYPERVISOR));
    verdict
}

/// The control: the instruction itself.
#[cfg(target_arch = "x86_64")]
pub fn cpuid_executed() -> Verdict {
    ends_by_fault(|| {
        switch_cpuid_off();
        core::hint::black_box(core::arch::x86_64::__cpuid(0));
    })
}

fn refuse_everything() {
    let calls = [
        libc::SYS_getrandom,
        libc::SYS_openat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
    ];
    refuse(&calls, libc::EACCES);
}

pub fn no_source() -> Verdict {
    refuse_everything();
    let expected = Error::NoEntropy {
        getrandom: libc::EACCES,
        urandom: libc::EACCES,
    };
    for len in [1, 16, 1000] {
        match squall::try_fill(&mut vec![0; len]) {
            Err(error) if error == expected => {}
            other => return Verdict::Broken(format!("{len} bytes: {other:?}")),
        }
    }
    Verdict::Held
}

/// Without getrandom(2), no request is served before the kernel's RNG is known to be ready.
pub fn not_known_to_be_ready() -> Verdict {
    refuse(&[libc::SYS_getrandom, libc::SYS_ppoll], libc::EACCES);
    // The error of a read that comes too early.
    refuse(&[libc::SYS_read], libc::EIO);
    let expected = Error::NoEntropy {
        getrandom: libc::EACCES,
        urandom: libc::EACCES,
    };
    match squall::try_fill_fresh(&mut [0; 16]) {
        Err(error) if error == expected => Verdict::Held,
        other => Verdict::Broken(format!("{other:?}")),
    }
}

/// `fill` cannot return an error: it aborts the program with a message.
pub fn no_source_aborts() -> Verdict {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let pid = fork(|| {
        put_at_stderr(&writer);
        refuse_everything();
        squall::fill(&mut [0; 16]);
    });
    drop(writer);
    let mut message = String::new();
    std::io::Read::read_to_string(&mut reader, &mut message).unwrap();
    judge_abort(exit_status_of(pid), &message)
}

/// Where standard error is closed, nobody gets the message; whoever tried for ever would use up the CPU time.
pub fn no_source_aborts_without_stderr() -> Verdict {
    let pid = fork(|| {
        setrlimit(Resource::RLIMIT_CPU, 5, 5).unwrap();
        // SAFETY: nothing in this process uses it.
        unsafe { libc::close(libc::STDERR_FILENO) };
        refuse_everything();
        squall::fill(&mut [0; 16]);
    });
    match exit_status_of(pid) {
        status if has_aborted(status) => Verdict::Held,
        status => Verdict::Broken(format!("status {status:#x}")),
    }
}

/// The abort also works in a child forked while another thread held the lock of Rust's standard
/// error, which nobody in the child releases.
pub fn no_source_aborts_with_stderr_locked() -> Verdict {
    ends_with_stderr_locked(|| {
        refuse_everything();
        squall::fill(&mut [0; 16]);
    })
}

/// The control: a message that takes the lock.
pub fn eprintln_with_stderr_locked() -> Verdict {
    ends_with_stderr_locked(|| {
        eprintln!("no source of randomness");
        std::process::abort();
    })
}

fn ends_with_stderr_locked(draw: fn()) -> Verdict {
    let (locked, is_locked) = std::sync::mpsc::channel();
    let (unlock, may_unlock) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        let _lock = std::io::stderr().lock();
        locked.send(()).unwrap();
        let _ = may_unlock.recv();
    });
    is_locked.recv().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let pid = fork(|| {
        put_at_stderr(&writer);
        draw();
    });
    drop(writer);
    let ended = end_or_futex(pid);
    drop(unlock);
    holder.join().unwrap();
    let Some(status) = ended else {
        return Verdict::Broken("the child waits for a lock that nobody holds".to_owned());
    };
    let mut message = String::new();
    std::io::Read::read_to_string(&mut reader, &mut message).unwrap();
    judge_abort(status, &message)
}

/// The exit status of a child; `None` if it waits for a futex, which nobody will ever wake, as the child
/// has only one thread.
fn end_or_futex(pid: libc::pid_t) -> Option<libc::c_int> {
    let is_stuck = || {
        let call = call_of(pid).expect("the case needs that it can be read");
        call.split(' ').next() == Some(&libc::SYS_futex.to_string())
    };
    loop {
        let mut status = 0;
        // SAFETY: `status` is writable.
        match unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } {
            0 if is_stuck() => {
                // SAFETY: a child of ours, which is waited for.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                exit_status_of(pid);
                return None;
            }
            0 => std::thread::sleep(Duration::from_millis(1)),
            _ => return Some(status),
        }
    }
}

/// The system call in which a process is, with its arguments (proc_pid_syscall(5)).
fn call_of(pid: libc::pid_t) -> std::io::Result<String> {
    std::fs::read_to_string(format!("/proc/{pid}/syscall"))
}

/// Whether the kernel shows in which system call a child is: Yama may forbid it.
pub fn can_see_calls() -> bool {
    let child = fork(|| {
        // SAFETY: pause has no preconditions.
        unsafe { libc::pause() };
    });
    let can_see = call_of(child).is_ok();
    // SAFETY: a child of ours, which is waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    exit_status_of(child);
    can_see
}

fn put_at_stderr(pipe: &PipeWriter) {
    // SAFETY: replaces the process's own standard error.
    unsafe { libc::dup2(pipe.as_raw_fd(), libc::STDERR_FILENO) };
}

fn has_aborted(status: libc::c_int) -> bool {
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT
}

fn judge_abort(status: libc::c_int, message: &str) -> Verdict {
    if has_aborted(status)
        && message.contains("no source of randomness")
        && message.lines().count() == 1
    {
        Verdict::Held
    } else {
        Verdict::Broken(format!("status {status:#x}, message {message:?}"))
    }
}
