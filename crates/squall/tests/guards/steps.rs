//! A fork after every few instructions of a seeding: the interrupted draw ends differently on
//! both sides, wherever it was interrupted.
//!
//! The thread runs a draw with the trap flag set, so that a handler runs after each instruction.

#[cfg(not(target_arch = "x86_64"))]
pub fn fork_in_a_seeding() -> crate::Verdict {
    crate::Verdict::Skip("single steps need x86-64's trap flag")
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::fork_in_a_seeding;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::io::pipe;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

    use crate::Verdict;
    use crate::outputs::{Draw, receive};

    const TRAP_FLAG: u64 = 1 << 8;

    /// Forks are this many instructions apart: a prime, so that loops are met everywhere.
    const STRIDE: usize = 41;

    /// The part of a draw's instructions that must be over before the two sides may be equal: what
    /// is behind the last check only hands the bytes over.
    const CHECKED: f64 = 0.8;

    static STEPS: AtomicUsize = AtomicUsize::new(0);
    static IS_CHILD: AtomicBool = AtomicBool::new(false);
    static PIPE: AtomicI32 = AtomicI32::new(-1);

    extern "C" fn step(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let count = STEPS.fetch_add(1, Ordering::Relaxed);
        if !count.is_multiple_of(STRIDE) {
            return;
        }
        // SAFETY: this program's other threads hold no locks that the child needs.
        if unsafe { libc::fork() } == 0 {
            IS_CHILD.store(true, Ordering::Relaxed);
            let context = context.cast::<libc::ucontext_t>();
            // SAFETY: the kernel gave the context; the child goes on without steps.
            unsafe {
                (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
            }
        }
    }

    fn handle_steps() {
        // SAFETY: the handler only counts and forks; zeros are a valid mask.
        unsafe {
            let mut signal: libc::sigaction = std::mem::zeroed();
            signal.sa_sigaction = step as *const () as usize;
            signal.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGTRAP, &signal, std::ptr::null_mut());
        }
    }

    /// Draws with a step after each instruction, from a page that was just dropped.
    #[inline(never)]
    fn stepped_draw(out: &mut [u8]) {
        // SAFETY: sets the trap flag, and clears it again behind the draw.
        unsafe {
            std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        }
        squall::fill(out);
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq");
        }
    }

    /// Writes where the draw was interrupted and how it ended, in one write.
    fn report(step: usize, end: &[u8; 8]) {
        let mut line: Draw = [0; 16];
        line[..8].copy_from_slice(&step.to_ne_bytes());
        line[8..].copy_from_slice(end);
        // SAFETY: the bytes are readable.
        unsafe {
            libc::write(
                PIPE.load(Ordering::Relaxed),
                line.as_ptr().cast(),
                line.len(),
            )
        };
    }

    pub fn fork_in_a_seeding() -> Verdict {
        let (reader, writer) = pipe().unwrap();
        let collector = std::thread::spawn(move || receive(reader));
        PIPE.store(writer.as_raw_fd(), Ordering::Relaxed);
        handle_steps();
        squall::u32();
        squall::u32();
        let page = squall::testing::page_address_for_testing() as *mut libc::c_void;
        // SAFETY: dropping the page is what the kernel may do, once it is not locked.
        let dropped = unsafe {
            libc::munlock(page, 4096);
            libc::madvise(page, 4096, libc::MADV_DONTNEED)
        };
        assert_eq!(
            dropped, 0,
            "without a drop there is no seeding to interrupt"
        );
        let mut out = [0; 300];
        stepped_draw(&mut out);
        let steps = STEPS.load(Ordering::Relaxed);
        report(steps, out.last_chunk().unwrap());
        if IS_CHILD.load(Ordering::Relaxed) {
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        drop(writer);
        // SAFETY: reaps every child.
        while unsafe { libc::wait(std::ptr::null_mut()) } > 0 {}
        judge(steps, out.last_chunk().unwrap(), &collector.join().unwrap())
    }

    fn judge(steps: usize, parents: &[u8; 8], lines: &[Draw]) -> Verdict {
        let children = lines.len() - 1;
        if children < steps / STRIDE || steps < 1000 {
            return Verdict::Broken(format!("{children} children in {steps} steps"));
        }
        let equal: Vec<usize> = lines
            .iter()
            .map(|line| {
                (
                    usize::from_ne_bytes(*line.first_chunk().unwrap()),
                    &line[8..],
                )
            })
            .filter(|&(step, end)| step != steps && end == parents)
            .map(|(step, _)| step)
            .collect();
        let checked = (CHECKED * steps as f64) as usize;
        match equal.iter().filter(|&&step| step < checked).count() {
            0 => Verdict::Held,
            broken => Verdict::Broken(format!(
                "{broken} of {children} forks left both sides with one output, the first after \
                 {:?} of {steps} instructions",
                equal.iter().min()
            )),
        }
    }
}
