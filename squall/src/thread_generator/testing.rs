//! Lets tests observe the generator without drawing from it.

use core::sync::atomic::Ordering;

use super::root::Event;
use super::{RESEEDS, root};
use crate::guard::freshness;
use crate::guard::page::Page;
use crate::guard::policy::Policy;
use crate::guard::thread_line::line;

/// The address of this thread's page, so that a test can empty it; 0 before its first request.
pub fn page_address() -> usize {
    line().page().map_or(0, Page::address)
}

/// Offsets of the generator's key and of the request pads' round keys in a page.
pub const KEY_OFFSETS: [usize; 2] = Page::KEY_OFFSETS;

/// Seedings in this process so far.
pub fn reseeds() -> u64 {
    RESEEDS.load(Ordering::Relaxed)
}

/// How often each event was an input of the root, by the event's number.
pub fn events() -> [u64; Event::COUNT] {
    core::array::from_fn(|event| root::EVENT_COUNTS[event].load(Ordering::Relaxed))
}

/// The kernel's generation and vmclock's count plus one, as the guards read them; 0 if they cannot be read.
pub fn generations() -> (u64, u64) {
    let vm = Policy::get().epoch_without_kernel().vm;
    (freshness::mapped_generation(), vm)
}
