//! Threads that come and go, and draw on their way out.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use squall::testing::page_address_for_testing;

use crate::Verdict;
use crate::drops::page_size;
use crate::outputs::{Draw, judge};

static DRAWS: Mutex<Vec<Draw>> = Mutex::new(Vec::new());

fn record(draws: impl IntoIterator<Item = Draw>) {
    DRAWS.lock().unwrap().extend(draws);
}

fn judge_recorded() -> Verdict {
    judge(DRAWS.lock().unwrap().drain(..))
}

pub fn by_the_thousand() -> Verdict {
    for _ in 0..200 {
        std::thread::scope(|scope| {
            for _ in 0..25 {
                scope.spawn(|| record([squall::array(), squall::array(), squall::array()]));
            }
        });
    }
    judge_recorded()
}

/// Many threads make their first draws at once, before anything is decided.
pub fn first_draws_at_once() -> Verdict {
    let barrier = &std::sync::Barrier::new(64);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(move || {
                barrier.wait();
                record([squall::array(), squall::array()]);
            });
        }
    });
    judge_recorded()
}

struct DrawOnDrop;

impl Drop for DrawOnDrop {
    fn drop(&mut self) {
        record([squall::array(), squall::array()]);
    }
}

thread_local! {
    static EARLY: RefCell<Option<DrawOnDrop>> = const { RefCell::new(None) };
    static LATE: RefCell<Option<DrawOnDrop>> = const { RefCell::new(None) };
}

static KEY_DESTRUCTORS: AtomicUsize = AtomicUsize::new(0);

/// Threads that had a page when they ended.
static PAGES_AT_END: AtomicUsize = AtomicUsize::new(0);

/// Draws in destructors of thread locals and of thread keys, made before and after the thread's
/// first draw, and in threads that never drew before.
pub fn draws_in_destructors() -> Verdict {
    extern "C" fn draw_at_exit(key: *mut libc::c_void) {
        record([squall::array(), squall::array()]);
        // Run once more, certainly after squall's own destructor.
        if KEY_DESTRUCTORS.fetch_add(1, Ordering::Relaxed) % 3 != 2 {
            // SAFETY: the value is the key, as set below.
            unsafe { libc::pthread_setspecific(key as usize as libc::pthread_key_t - 1, key) };
        } else if page_address_for_testing() != 0 {
            PAGES_AT_END.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut key = 0;
    // SAFETY: `key` is writable; the destructor has the right type.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(draw_at_exit)) };
    assert_eq!(made, 0);
    for round in 0..300 {
        let thread = std::thread::spawn(move || {
            EARLY.with_borrow_mut(|early| *early = Some(DrawOnDrop));
            // SAFETY: the key exists; its value is never null.
            unsafe { libc::pthread_setspecific(key, (key as usize + 1) as *const _) };
            if round % 3 != 0 {
                record([squall::array()]);
            }
            LATE.with_borrow_mut(|late| *late = Some(DrawOnDrop));
        });
        thread.join().unwrap();
    }
    match PAGES_AT_END.load(Ordering::Relaxed) {
        0 => {}
        pages => return Verdict::Broken(format!("{pages} threads ended with a page")),
    }
    let expected = 300 * (2 + 2 + 3 * 2) + 200;
    match DRAWS.lock().unwrap().len() {
        kept if kept == expected => {}
        kept => return Verdict::Broken(format!("{kept} draws, {expected} expected")),
    }
    judge_recorded()
}

/// Runs `work` in a thread that draws once and then gives its page back. If the process has not drawn before, the page has
/// bytes then that only the slow path serves.
fn in_ended_thread(work: fn()) {
    static HAS_PASSED: AtomicBool = AtomicBool::new(false);
    /// In a thread's last pass through its destructors, certainly after squall's own.
    extern "C" fn at_exit(work: *mut c_void) {
        let key = KEY.load(Ordering::Relaxed);
        if !HAS_PASSED.swap(true, Ordering::Relaxed) {
            // SAFETY: the key exists.
            unsafe { libc::pthread_setspecific(key, work) };
            return;
        }
        assert_eq!(page_address_for_testing(), 0);
        // SAFETY: the value is a function of this type; functions and pointers have one size.
        let work: fn() = unsafe { std::mem::transmute(work) };
        work();
    }
    static KEY: AtomicU32 = AtomicU32::new(0);
    let mut key = 0;
    // SAFETY: `key` is writable; the destructor has the right type.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(at_exit)) };
    assert_eq!(made, 0);
    KEY.store(key, Ordering::Relaxed);
    HAS_PASSED.store(false, Ordering::Relaxed);
    let thread = std::thread::spawn(move || {
        // SAFETY: the key exists.
        unsafe { libc::pthread_setspecific(key, work as *const c_void) };
        record([squall::array()]);
    });
    thread.join().unwrap();
}

/// The thread that made the process's first draw draws after its end.
pub fn first_drawer_draws_after_its_end() -> Verdict {
    in_ended_thread(|| record([squall::array(), squall::array(), squall::array()]));
    assert_eq!(DRAWS.lock().unwrap().len(), 4);
    judge_recorded()
}

/// Shared libraries make the thread key when they are loaded, so that no draw does.
pub fn key_is_prepared() -> Verdict {
    squall::hazmat::prepare_threads();
    first_draw_makes_no_key()
}

/// The C library gives the lowest number that is free: none is left out if no key was made between
/// two others.
pub fn first_draw_makes_no_key() -> Verdict {
    let make_key = || {
        let mut key = 0;
        // SAFETY: `key` is writable.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, None) }, 0);
        key
    };
    let before = make_key();
    squall::u32();
    match make_key() - before {
        1 => Verdict::Held,
        _ => Verdict::Broken("the first draw made a key".to_owned()),
    }
}

/// Pages are mapped in pairs: the thread that draws next gets the second page.
pub fn pages_come_in_pairs() -> Verdict {
    const THREADS: usize = 4;
    squall::u32();
    let have_all_drawn = &std::sync::Barrier::new(THREADS + 1);
    let (sender, receiver) = std::sync::mpsc::channel();
    let pages: Vec<usize> = std::thread::scope(|scope| {
        let draw_in_turn = |_| {
            let sender = sender.clone();
            scope.spawn(move || {
                squall::u32();
                sender.send(page_address_for_testing()).unwrap();
                have_all_drawn.wait();
            });
            receiver.recv().unwrap()
        };
        let pages = (0..THREADS).map(draw_in_turn).collect();
        have_all_drawn.wait();
        pages
    });
    let is_pair = |pages: &[usize]| pages[0].abs_diff(pages[1]) == page_size();
    if pages.windows(2).any(is_pair) {
        Verdict::Held
    } else {
        Verdict::Broken(format!("no two of these are a pair: {pages:x?}"))
    }
}

/// A thread's page is unmapped when it ends.
pub fn pages_are_given_back() -> Verdict {
    fn is_mapped(page: usize) -> bool {
        let mut residency = 0;
        // SAFETY: looks at one page, whatever is there, and writes one byte.
        unsafe { libc::mincore(page as *mut libc::c_void, 4096, &mut residency) == 0 }
    }
    let draw = || {
        squall::u32();
        let page = page_address_for_testing();
        assert!(is_mapped(page));
        page
    };
    let kept = (0..1000).find(|_| is_mapped(std::thread::spawn(draw).join().unwrap()));
    match kept {
        None => Verdict::Held,
        Some(thread) => {
            Verdict::Broken(format!("thread {thread} ended without unmapping its page"))
        }
    }
}
