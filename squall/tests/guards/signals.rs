//! Draws in signal handlers, in the middle of draws.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::drops::page_size;
use crate::outputs::{Draw, judge};
use crate::{Verdict, kernel_lists};

static ACTION: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Runs `action` on every SIGUSR1, on this thread's alternate stack.
pub fn in_handler(action: fn()) {
    extern "C" fn handler(_: libc::c_int) {
        // SAFETY: only `in_handler` writes it, and functions and pointers have one size.
        let action: fn() = unsafe { std::mem::transmute(ACTION.load(Ordering::Relaxed)) };
        action();
    }
    ACTION.store(action as *mut (), Ordering::Relaxed);
    // Without AES instructions ChaCha20 serves, which takes more stack in builds that are not optimised.
    // The engine is not asked, because that would be part of the first draw.
    if cfg!(debug_assertions) && !kernel_lists("aes") {
        use_alternate_stack(libc::SIGSTKSZ + (16 << 10));
    }
    // SAFETY: a handler that calls what is async-signal-safe; zeros are a valid mask.
    unsafe {
        let mut signal: libc::sigaction = std::mem::zeroed();
        signal.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        signal.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGUSR1, &signal, std::ptr::null_mut());
    }
}

/// Sends this thread SIGUSR1 repeatedly while `work` runs. `work` calls its argument whenever it has made
/// progress. The number of signals between two such calls is limited: if signals always came faster than
/// the thread handles them, `work` would never progress.
pub fn interrupt_while(work: impl FnOnce(&dyn Fn())) {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: names the calling thread.
    let target = unsafe { libc::pthread_self() };
    let sender = std::thread::spawn(move || {
        const SIGNALS_PER_STEP: usize = 64;
        let (mut last_step, mut signals_left) = (0, 0);
        while !IS_DONE.load(Ordering::Relaxed) {
            let steps = STEPS.load(Ordering::Relaxed);
            if steps != last_step {
                (last_step, signals_left) = (steps, SIGNALS_PER_STEP);
            }
            if signals_left > 0 {
                signals_left -= 1;
                // SAFETY: the thread waits for this one before it ends.
                unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
            }
            for _ in 0..200 {
                std::hint::spin_loop();
            }
        }
    });
    work(&|| {
        STEPS.fetch_add(1, Ordering::Relaxed);
    });
    IS_DONE.store(true, Ordering::Relaxed);
    sender.join().unwrap();
}

const IN_HANDLER: usize = 2_000;

static HANDLED: AtomicUsize = AtomicUsize::new(0);
static DRAWS: AtomicPtr<Draw> = AtomicPtr::new(std::ptr::null_mut());

fn draw_in_handler() {
    let count = HANDLED.fetch_add(1, Ordering::Relaxed);
    if count < IN_HANDLER {
        // SAFETY: room for IN_HANDLER draws was made, and each count is met once.
        unsafe {
            DRAWS
                .load(Ordering::Relaxed)
                .add(count)
                .write(squall::array())
        };
    }
}

/// Draws of main code and handler, until the handler has drawn its share.
fn collect() -> Vec<Draw> {
    let mut handled = vec![[0; 16]; IN_HANDLER];
    DRAWS.store(handled.as_mut_ptr(), Ordering::Relaxed);
    in_handler(draw_in_handler);
    let mut draws = Vec::with_capacity(1 << 24);
    interrupt_while(|step| {
        while HANDLED.load(Ordering::Relaxed) < IN_HANDLER && draws.len() < 10_000_000 {
            step();
            draws.extend((0..8).map(|_| squall::array::<16>()));
            let mut long = [0; 272];
            squall::fill(&mut long);
            draws.push(long[256..].try_into().unwrap());
        }
    });
    handled.truncate(HANDLED.load(Ordering::Relaxed));
    draws.append(&mut handled);
    draws
}

pub fn draw_in_a_draw() -> Verdict {
    judge(collect())
}

/// Draws until a draw is of zeros, because a handler took its bytes. That may take long where this thread
/// shares its CPU with the one that sends signals.
pub fn draw_in_a_draw_until_zeros() -> Verdict {
    in_handler(|| {
        std::hint::black_box(squall::array::<16>());
    });
    let mut is_broken = false;
    interrupt_while(|step| {
        is_broken = (0..1_000_000_000_u64).any(|_| {
            step();
            squall::array() == [0; 16]
        });
    });
    if is_broken {
        Verdict::Broken("a draw of zeros".to_owned())
    } else {
        Verdict::Held
    }
}

/// The thread's and the process's first draw happens in a handler.
pub fn first_draw_in_a_handler() -> Verdict {
    DRAWS.store(
        Box::leak(Box::new([[0; 16]; IN_HANDLER])).as_mut_ptr(),
        Ordering::Relaxed,
    );
    in_handler(draw_in_handler);
    // SAFETY: the handler is installed.
    unsafe { libc::raise(libc::SIGUSR1) };
    // SAFETY: the handler wrote the first draw.
    let first = unsafe { DRAWS.load(Ordering::Relaxed).read() };
    judge([first, squall::array(), squall::array()])
}

/// The first draw happens in a handler, on the smallest alternate stack that programs commonly use,
/// with nothing mapped below it.
pub fn first_draw_on_a_small_stack() -> Verdict {
    // SAFETY: getauxval has no preconditions.
    let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    // 8 KiB, or more on CPUs whose registers alone take more than 3 KiB.
    use_alternate_stack(libc::SIGSTKSZ.max(frame + 5 * 1024));
    first_draw_in_a_handler()
}

/// Makes handlers of this thread run on a stack of this size, with nothing mapped below it.
fn use_alternate_stack(len: usize) {
    let page = page_size();
    // SAFETY: a new mapping, of which the first page is taken away again, and which stays.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            page + len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(memory, page, libc::PROT_NONE), 0);
        let stack = libc::stack_t {
            ss_sp: memory.add(page),
            ss_flags: 0,
            ss_size: len,
        };
        assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
    }
}
