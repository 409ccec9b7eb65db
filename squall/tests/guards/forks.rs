//! No output twice: not in a parent and its children, wherever they are forked from.

use std::io::{PipeWriter, pipe};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use crate::Verdict;
use crate::outputs::{Draw, fork, fork_by_system_call, judge, judge_sent, receive, send, wait};
use crate::signals::{in_handler, interrupt_while};

const CHILDREN: usize = 500;

/// Children of signal handlers, each of which waits for a long draw to be interrupted.
const HANDLER_CHILDREN: usize = 100;

/// Draws of every size class: from the buffer, in place, and by words.
fn draws() -> [Draw; 6] {
    let mut long = [0; 300];
    squall::fill(&mut long);
    let words = (squall::u64(), squall::u32(), squall::u32());
    let mut by_words = [0; 16];
    by_words[..8].copy_from_slice(&words.0.to_ne_bytes());
    by_words[8..12].copy_from_slice(&words.1.to_ne_bytes());
    by_words[12..].copy_from_slice(&words.2.to_ne_bytes());
    [
        squall::array(),
        by_words,
        long[..16].try_into().unwrap(),
        long[284..].try_into().unwrap(),
        squall::array(),
        squall::array(),
    ]
}

pub fn children() -> Verdict {
    children_draw(draws)
}

/// Numbers for simulations are not those of a child either.
pub fn simulations() -> Verdict {
    use rand_core::Rng as _;
    children_draw(|| {
        let words = [(); 2].map(|()| squall::SimulationRng.next_u64().to_ne_bytes());
        [words.concat().try_into().expect("sixteen bytes")]
    })
}

/// Children and their parent draw in turns.
pub fn children_draw<const N: usize>(draw: fn() -> [Draw; N]) -> Verdict {
    judge_sent(|writer| {
        for _ in 0..CHILDREN {
            send(writer, &draw());
            wait(fork(|| send(writer, &draw())));
        }
    })
}

/// Children of clone(2), of which the C library does not know.
pub fn children_of_the_system_call() -> Verdict {
    judge_sent(|writer| {
        for _ in 0..CHILDREN {
            send(writer, &draws());
            wait(fork_by_system_call(|| send(writer, &draws())));
        }
    })
}

/// Children of a parent that draws nothing between two forks: whatever they have in common is their
/// parent's state, and the kernel's where memory is copied.
pub fn siblings() -> Verdict {
    squall::u32();
    judge_sent(|writer| {
        for _ in 0..10 {
            wait(fork(|| send(writer, &draws())));
        }
    })
}

pub fn children_of_chacha20() -> Verdict {
    squall::hazmat::use_engine(squall::Engine::ChaCha20).unwrap();
    assert_eq!(squall::status().engine, squall::Engine::ChaCha20);
    children()
}

pub fn from_threads() -> Verdict {
    judge_sent(|writer| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..CHILDREN / 4 {
                        send(writer, &draws());
                        wait(fork(|| send(writer, &draws())));
                    }
                });
            }
        });
    })
}

/// Chains of ten generations, each drawing before and after it forks the next.
pub fn grandchildren() -> Verdict {
    fn generation(depth: usize, send_draws: &impl Fn()) {
        send_draws();
        if depth > 0 {
            wait(fork(|| generation(depth - 1, send_draws)));
        }
        send_draws();
    }
    judge_sent(|writer| {
        for _ in 0..CHILDREN / 20 {
            generation(10, &|| send(writer, &draws()));
        }
    })
}

/// A handler forks in the middle of a long draw. The child draws in the handler, then finishes the
/// interrupted draw, which must not end as the parent's ends.
pub fn from_signal_handler() -> Verdict {
    const LEN: usize = 1 << 15;
    const DRAW_LEN: usize = 16;
    static PIPE: AtomicI32 = AtomicI32::new(-1);
    static FORKS: AtomicUsize = AtomicUsize::new(0);
    static IS_CHILD: AtomicBool = AtomicBool::new(false);
    /// The last draw's worth of the buffer that is being filled, zeros until it is reached; else
    /// null. One byte would not do: it may be filled with zero, and the request be past its check.
    static LAST: AtomicPtr<Draw> = AtomicPtr::new(std::ptr::null_mut());

    fn emit(draw: &Draw) {
        // SAFETY: async-signal-safe; the bytes are readable.
        unsafe { libc::write(PIPE.load(Ordering::Relaxed), draw.as_ptr().cast(), DRAW_LEN) };
    }
    fn is_in_the_middle() -> bool {
        let last = LAST.load(Ordering::Relaxed);
        // SAFETY: the interrupted code keeps the buffer.
        !last.is_null() && unsafe { last.read_volatile() } == [0; DRAW_LEN]
    }
    fn fork_and_draw() {
        if IS_CHILD.load(Ordering::Relaxed) || !is_in_the_middle() {
            return;
        }
        if FORKS.fetch_add(1, Ordering::Relaxed) < HANDLER_CHILDREN {
            // SAFETY: this program's other threads hold no locks that the child needs.
            IS_CHILD.store(unsafe { libc::fork() } == 0, Ordering::Relaxed);
            emit(&squall::array());
        }
    }

    let (reader, writer) = pipe().unwrap();
    let collector = std::thread::spawn(move || receive(reader));
    PIPE.store(std::os::fd::AsRawFd::as_raw_fd(&writer), Ordering::Relaxed);
    in_handler(fork_and_draw);
    let mut out = vec![0; LEN];
    interrupt_while(|step| {
        while FORKS.load(Ordering::Relaxed) < HANDLER_CHILDREN {
            out.fill(0);
            let last: &mut Draw = out.last_chunk_mut().unwrap();
            LAST.store(&raw mut *last, Ordering::Relaxed);
            step();
            squall::fill(&mut out);
            LAST.store(std::ptr::null_mut(), Ordering::Relaxed);
            emit(out.last_chunk().unwrap());
            if IS_CHILD.load(Ordering::Relaxed) {
                // SAFETY: ends the child.
                unsafe { libc::_exit(0) };
            }
        }
    });
    drop(writer);
    // SAFETY: reaps every child.
    while unsafe { libc::wait(std::ptr::null_mut()) } > 0 {}
    judge(collector.join().unwrap())
}

/// A vfork child draws from the memory, and the thread, of its waiting parent.
pub fn vfork() -> Verdict {
    extern "C" fn child(place: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the parent waits, and keeps the place.
        unsafe {
            place
                .cast::<[Draw; 3]>()
                .write(std::array::from_fn(|_| squall::array()))
        };
        0
    }
    let mut all = Vec::new();
    let mut stack = vec![0u128; 1 << 14];
    for _ in 0..CHILDREN {
        let mut drawn = [[0; 16]; 3];
        all.extend(draws());
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs on a stack of its own while this thread waits.
        let pid = unsafe {
            libc::clone(
                child,
                stack.as_mut_ptr_range().end.cast(),
                flags,
                (&raw mut drawn).cast(),
            )
        };
        wait(pid);
        all.extend(drawn);
    }
    judge(all)
}

/// A forked child that has its parent's process id: each is the first process of its own PID
/// namespace. Only the count of forks tells them apart.
pub fn child_with_the_parents_id() -> Verdict {
    let in_namespaces = |writer: &PipeWriter| {
        let forked_as_first = |child: &dyn Fn()| {
            // SAFETY: the next child, and nobody else, gets a new namespace.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWPID) }, 0);
            wait(fork(|| {
                assert_eq!(std::process::id(), 1);
                child();
            }));
        };
        forked_as_first(&|| {
            squall::u32();
            squall::u32();
            forked_as_first(&|| send(writer, &draws()));
            send(writer, &draws());
        });
    };
    judge_sent(|writer| wait(fork(|| in_namespaces(writer))))
}

pub fn can_make_pid_namespaces() -> bool {
    // SAFETY: the child makes one system call and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: as above.
        unsafe { libc::_exit(libc::unshare(libc::CLONE_NEWPID)) };
    }
    let mut status = -1;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    status == 0
}
