//! Two parts of squall that threads share without waiting: the root's lock with the seeds it guards
//! (`entropy/whirlwind/lock.rs`, `seed.rs`), and the page of the root (`guard/shared.rs`). [loom](https://docs.rs/loom) tries
//! every order of their loads and stores that C11 allows.
//!
//! `build.rs` copies the three files from the library, with loom's atomics: as they are, and once for each mistake.
//! `checks.rs` says what must hold for a copy.

#![allow(
    dead_code,
    unused_imports,
    reason = "some of it is not tried, or is left out of a copy"
)]

#[path = "../../src/zeroable.rs"]
mod zeroable;

macro_rules! copies {
    ($($name:ident)*) => {
        $(pub mod $name {
            pub mod checks { include!("checks.rs"); }
            mod lock { include!(concat!(env!("OUT_DIR"), "/", stringify!($name), "/lock.rs")); }
            mod seed { include!(concat!(env!("OUT_DIR"), "/", stringify!($name), "/seed.rs")); }
            mod shared { include!(concat!(env!("OUT_DIR"), "/", stringify!($name), "/shared.rs")); }

            mod memory {
                use core::ptr::NonNull;

                use super::shared::SharedContents;
                use loom::sync::atomic::AtomicU64;

                pub fn map() -> Result<NonNull<u8>, i32> {
                    let page = Box::<SharedContents<AtomicU64>>::default();
                    Ok(NonNull::from(Box::leak(page)).cast())
                }

                pub fn unmap(page: NonNull<u8>) {
                    // SAFETY: `map` made it, and nobody else has it.
                    drop(unsafe { Box::from_raw(page.cast::<SharedContents<AtomicU64>>().as_ptr()) });
                }
            }

            use crate::{Epoch, fork, functions, page, thread_number};
        })*
    };
}
copies! {
    real
    commit_is_not_checked
    nobody_waits_for_a_commit
    commit_may_come_before_taking_away
    lock_is_relaxed
    zeros_are_compressed
    check_is_not_fenced
    finish_is_not_checked
    claim_is_not_checked
    claim_is_not_fenced
    page_is_not_compared
}

// What stands in for the rest of the library.

// SAFETY: an atomic.
unsafe impl zeroable::Zeroable for loom::sync::atomic::AtomicU64 {}

#[derive(Clone, Copy)]
struct Epoch {
    kernel: u64,
    vm: u64,
    process: u64,
}

/// The holder of a lock that was preempted takes no step while another thread spins.
fn spin_loop() {}

mod fork {
    pub fn mark() -> u64 {
        1
    }
}

mod functions {
    pub const MAX_SEED_LEN: usize = 16;
    pub const MAX_BLOCK_LEN: usize = 16;

    pub trait Functions {
        const SEED_LEN: usize = MAX_SEED_LEN;
        const BLOCK_LEN: usize = MAX_BLOCK_LEN;
        fn compress(seed: &mut [u8], block: &[u8]);
    }
}

mod page {
    pub fn read_before_checking() {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::Acquire);
    }
}

mod thread_number {
    use std::cell::Cell;

    loom::thread_local! {
        static NUMBER: Cell<usize> = Cell::new(1);
    }

    pub fn thread_number() -> usize {
        NUMBER.with(Cell::get)
    }

    /// The second thread's number.
    pub fn second() {
        NUMBER.with(|number| number.set(2));
    }
}
