//! No request allocates, from a thread's first draw on; only `bytes` does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::MaybeUninit;

use crate::suite::{Test, tests};

/// The system's allocator, which counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator. Counting does not allocate: the variable is
// initialised by a constant and needs no drop.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

pub const TESTS: &[Test<fn()>] = tests![draws_allocate_nothing];
