//! The root: the accumulator of this process, from which every thread's generator is seeded
//! together with the kernel's bytes.
//!
//! It is a [`Whirlwind`] in guarded memory that the threads share. Events of the guards are its
//! inputs: thread starts, seedings with their reasons, now and then a refill. Only a thread that
//! holds its own [`lock`](crate::guard::lock) uses it, never a signal handler within a draw, and
//! no thread waits in it for long.
//!
//! The root of a new process begins with words of the CPU's random instruction, if the instruction
//! works and the machine has a signal of clones; otherwise it begins with a bootstrap. When the machine may
//! have been cloned, the bootstrap runs again before anything is served.

#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicU64, Ordering};

use super::ATTEMPTS;
use crate::entropy::cpu;
use crate::entropy::whirlwind::{Whirlwind, WithSha512};
use crate::entropy::{Input, Machine, RootBytes, ThisMachine};
use crate::failpoint::{self, Failpoint};
use crate::guard::Epoch;
use crate::guard::policy::Policy;
use crate::guard::shared::{SharedContents, SharedPage, Token};
use crate::zeroable::Zeroable;

/// A root with `N` shards.
type Root<const N: usize, M = ThisMachine> = Whirlwind<WithSha512, M, N>;

static ROOT: SharedPage<Whirlwind> = SharedPage::new();

/// Bootstraps in this process.
pub(crate) static BOOTSTRAPS: AtomicU64 = AtomicU64::new(0);

/// How often each event was an input of the root.
#[cfg(feature = "testing")]
pub(super) static EVENT_COUNTS: [AtomicU64; Event::COUNT] =
    [const { AtomicU64::new(0) }; Event::COUNT];

/// Inputs of a root that begins without a bootstrap: eight fill the fast seed's buffer. One waits in the slow
/// seed's, and is discarded when the root is copied to its place.
const FIRST_INPUTS: usize = 9;

/// An event that is an input of the root. Its number is the [`Input`]'s source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Event {
    /// A root begins; its input has a word of the CPU's random instruction.
    Start = 1,
    /// A thread draws for the first time.
    ThreadStart = 2,
    /// The kernel has reseeded, or a seed is old.
    Reseed = 3,
    /// The VM was restored from a snapshot.
    Clone = 4,
    /// A page was found empty: in a forked child, or dropped by the kernel.
    Emptied = 5,
    /// A buffer was refilled.
    Refill = 6,
}

#[cfg(feature = "testing")]
impl Event {
    /// The last number plus one.
    pub const COUNT: usize = Event::Refill as usize + 1;
}

/// Adds an event that happens now to the root, if there is one.
pub(super) fn add_event(event: Event, about: u64) {
    if let Some(shared) = ROOT.get() {
        add_event_to(&shared.value, event, about);
    }
}

fn add_event_to(root: &Whirlwind, event: Event, about: u64) {
    add(root, event, cpu::noise(), about);
}

fn add<const N: usize>(root: &Root<N>, event: Event, cycles: u64, about: u64) {
    #[cfg(feature = "testing")]
    EVENT_COUNTS[event as usize].fetch_add(1, Ordering::Relaxed);
    root.add(Input::new(event as u32, cycles, about));
}

/// Draws bytes for a seed under `epoch`, and adds the event that caused the seeding.
pub(super) fn draw(event: Event, epoch: Epoch, policy: &Policy, bytes: &mut RootBytes) {
    if !draw_from_shared_root(event, epoch, policy, bytes) {
        draw_from_temporary_root(policy, bytes);
    }
}

fn draw_from_shared_root(
    event: Event,
    epoch: Epoch,
    policy: &Policy,
    bytes: &mut RootBytes,
) -> bool {
    let Some(shared) = page() else {
        return false;
    };
    (0..ATTEMPTS).any(|_| {
        let ready = shared.ready_token();
        if ready.is_some() {
            bootstrap_if_cloned(shared, epoch, policy);
        }
        let add_first_inputs = |root: &Root<1>| add_first_inputs(root, policy);
        let Some(token) = ready.or_else(|| prepare(shared, epoch, add_first_inputs)) else {
            return false;
        };
        shared.is_unchanged_during(token, |root| {
            add_event_to(root, event, epoch.kernel);
            root.generate(&mut bytes[..]);
        })
    })
}

fn page() -> Option<&'static SharedContents<Whirlwind>> {
    if failpoint::is_active(Failpoint::HideRootPage) {
        None
    } else {
        ROOT.map()
    }
}

/// Draws from a temporary root, because there is no memory, another thread is preparing the root, or its
/// page is emptied faster than it can be used.
#[cold]
#[inline(never)]
fn draw_from_temporary_root(policy: &Policy, bytes: &mut RootBytes) {
    let root = Root::<1>::default();
    add_first_inputs(&root, policy);
    root.generate(&mut bytes[..]);
}

/// Prepares an empty root; `None` if another thread is preparing it, or the result was lost.
///
/// The new root begins in other memory and is then copied. If the page is emptied meanwhile and another
/// thread has already stored its root there, this late copy stores only bytes that nobody knows.
#[cold]
#[inline(never)]
fn prepare<M: Machine + Default, const N: usize>(
    shared: &SharedContents<Root<N, M>>,
    epoch: Epoch,
    add_first_inputs: impl FnOnce(&Root<1, M>),
) -> Option<Token>
where
    Root<N, M>: Zeroable,
{
    let claim = shared.claim()?;
    let root = Root::<1, M>::default();
    add_first_inputs(&root);
    shared.value.copy_from(&root);
    shared.set_epoch(epoch);
    shared.finish(claim)
}

/// Adds a root's first inputs: words of the CPU's random instruction, or a bootstrap if there are none
/// or the machine has no signal of clones.
fn add_first_inputs<const N: usize>(root: &Root<N>, policy: &Policy) {
    let has_words = policy.has_clone_signal() && (0..FIRST_INPUTS).all(|_| add_word(root));
    if !has_words {
        bootstrap(root);
    }
}

/// Adds a word of the CPU's random instruction, if it has one.
fn add_word<const N: usize>(root: &Root<N>) -> bool {
    let Some(word) = cpu::random_word() else {
        return false;
    };
    add(root, Event::Start, cpu::cycles(), word);
    true
}

/// Bootstraps the root again if this machine may have been cloned since it last was.
fn bootstrap_if_cloned(shared: &SharedContents<Whirlwind>, epoch: Epoch, policy: &Policy) {
    let before = shared.epoch();
    if policy.may_be_clone(before, epoch) && !failpoint::is_active(Failpoint::SkipBootstrap) {
        bootstrap(&shared.value);
    }
    if before != epoch {
        shared.set_epoch(epoch);
    }
}

fn bootstrap<const N: usize>(root: &Root<N>) {
    root.bootstrap();
    BOOTSTRAPS.fetch_add(1, Ordering::Relaxed);
}
