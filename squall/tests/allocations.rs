//! No request allocates, from a thread's first draw on; only `bytes` does. What allocates says so if there is no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

use squall::hazmat::{Aes256, Keystream};
use squall::{Engine, Error, Stream};

use crate::suite::{Test, tests};

/// The system's allocator, which counts the allocations of each thread, and refuses them if asked to.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static ARE_REFUSED: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: everything is passed on to the system's allocator, or refused. Counting does not allocate: the variables are
// initialised by constants and need no drop.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        if ARE_REFUSED.get() {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations during `work` in a new thread.
fn allocations(work: fn()) -> u64 {
    let counted = move || {
        let before = ALLOCATIONS.get();
        work();
        ALLOCATIONS.get() - before
    };
    std::thread::spawn(counted).join().expect("a count")
}

fn draws_allocate_nothing() {
    let draws: [(&str, fn()); 11] = [
        ("fill", || squall::fill(&mut [0; 300])),
        ("try_fill", || squall::try_fill(&mut [0; 16]).unwrap()),
        ("fill_fresh", || squall::fill_fresh(&mut [0; 32])),
        ("fill_uninit", || {
            squall::fill_uninit(&mut [MaybeUninit::uninit(); 100]);
        }),
        ("array", || assert_ne!(squall::array(), [0; 32])),
        ("arrays", || assert_ne!(squall::arrays(), [[0; 32]; 4])),
        ("iter", || {
            assert_eq!(squall::iter::<16>().take(3).count(), 3)
        }),
        ("words", || {
            assert_ne!((squall::u32(), squall::u64()), (0, 0))
        }),
        ("range", || assert!(squall::range(1..=6) < 7)),
        ("shuffle", || squall::shuffle(&mut [1, 2, 3, 4])),
        ("simulations", || {
            let mut buffered = squall::BufferedSimulationRng::new();
            let words = [
                rand_core::Rng::next_u64(&mut squall::Rng),
                rand_core::Rng::next_u64(&mut squall::SimulationRng),
                rand_core::Rng::next_u64(&mut buffered),
            ];
            assert_ne!(words, [0; 3]);
        }),
    ];
    for (name, draw) in draws {
        assert_eq!(allocations(draw), 0, "{name}");
    }
    // The control: allocations are counted.
    assert_eq!(allocations(|| assert_eq!(squall::bytes(16).len(), 16)), 1);
}

fn keystreams_without_memory_for_their_keys_are_errors() {
    let engine = Engine::best_aes();
    let make: [fn(Engine) -> Option<Error>; 2] = [
        |engine| Stream::new_on(engine, &[1; 32]).err(),
        |engine| Keystream::<Aes256>::new(&[1; 32], engine).err(),
    ];
    for make in make {
        assert_eq!(make(engine), None);
        ARE_REFUSED.set(true);
        let error = make(engine);
        ARE_REFUSED.set(false);
        assert_eq!(error, Some(Error::OutOfMemory));
    }
}

pub const TESTS: &[Test<fn()>] = tests![
    draws_allocate_nothing,
    keystreams_without_memory_for_their_keys_are_errors,
];
