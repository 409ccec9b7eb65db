//! Guarded memory that the threads of a process share, with the epoch of its contents.
//!
//! The page is like a thread's own: a fork may empty it, and the kernel may zero it at any moment.
//! Everything in it is atomic, so both can only set values to zero. The thread that prepares the value
//! gets a unique [`Token`]: a thread that finds the same token before and after using the value has
//! used one value all the time.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use super::memory;
use super::page::read_before_checking;
use super::{Epoch, fork};
use crate::zeroable::Zeroable;

/// The contents of a shared page: a value, its state and its epoch.
#[repr(C, align(64))]
pub(crate) struct SharedContents<T> {
    /// 0 if the value has not been prepared, else a [`Token`].
    state: AtomicU64,
    kernel: AtomicU64,
    vm: AtomicU64,
    pub value: T,
}

/// Identifies a preparation: its number in this process, the process, and whether it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u64);

impl Token {
    const CLAIMED: u64 = 1;
    const READY: u64 = 2;
    const STATE: u64 = 3;
    const NUMBER_AT: u32 = 32;

    fn new() -> Token {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Token(u64::from(number) << Self::NUMBER_AT | process() | Self::CLAIMED)
    }

    fn finished(self) -> Token {
        Token(self.0 & !Self::STATE | Self::READY)
    }

    fn is_ready(self) -> bool {
        self.0 & Self::STATE == Self::READY && self.is_of_this_process()
    }

    fn is_of_this_process(self) -> bool {
        self.0 & !Self::STATE & u64::from(u32::MAX) == process()
    }
}

/// The process as bits of a token.
fn process() -> u64 {
    packed(fork::mark())
}

/// Packs a process above the state's two bits: 22 bits of its id, as many as Linux uses, and 8 of
/// the forks that led to it.
fn packed(process: u64) -> u64 {
    let (forks, id) = (process >> 32 & 0xff, process & 0x3f_ffff);
    (forks << 22 | id) << 2
}

impl<T: Zeroable> SharedContents<T> {
    /// The token of the value, if the value is prepared. If an earlier call returned the same token,
    /// everything read between the two calls belongs to that value.
    pub fn ready_token(&self) -> Option<Token> {
        read_before_checking();
        // This writes an emptied page at once, for the reason that `memory::map` gives. Compilers may turn
        // fetch_or(0) into a load.
        let (Ok(found) | Err(found)) = self.exchange(0, 0);
        let token = Token(found);
        token.is_ready().then_some(token)
    }

    /// Lets `work` use the value; true if the value belonged to this token from beginning to end.
    pub fn is_unchanged_during(&self, token: Token, work: impl FnOnce(&T)) -> bool {
        work(&self.value);
        read_before_checking();
        let now = Token(self.state.load(Ordering::Acquire));
        now == token && now.is_ready()
    }

    /// Begins to prepare the value, exclusively; `None` if another thread of this process has begun,
    /// even if that thread has ended since.
    pub fn claim(&self) -> Option<Token> {
        let found = self.state.load(Ordering::Acquire);
        let is_free = found == 0 || !Token(found).is_of_this_process();
        let token = Token::new();
        let is_ours = is_free && self.exchange(found, token.0).is_ok();
        // Whoever reads what is stored from now on finds this claim, or what came after it.
        fence(Ordering::Release);
        is_ours.then_some(token)
    }

    /// Finishes a preparation; `None` if the value was lost meanwhile.
    pub fn finish(&self, claim: Token) -> Option<Token> {
        let ready_token = claim.finished();
        let exchanged = self.exchange(claim.0, ready_token.0);
        exchanged.is_ok().then_some(ready_token)
    }

    fn exchange(&self, from: u64, to: u64) -> Result<u64, u64> {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Empties the page, as the kernel may at any moment.
    #[cfg(test)]
    pub fn empty(&'static self) {
        let page: *const Self = self;
        // SAFETY: only what `SharedPage` mapped lives for so long: a page of `Zeroable` contents.
        let status = unsafe {
            libc::munlock(page.cast(), memory::page_size());
            libc::madvise(
                page.cast_mut().cast(),
                memory::page_size(),
                libc::MADV_DONTNEED,
            )
        };
        assert_eq!(status, 0);
    }

    /// The epoch that was last set, without the process.
    pub fn epoch(&self) -> Epoch {
        Epoch {
            kernel: self.kernel.load(Ordering::Relaxed),
            vm: self.vm.load(Ordering::Relaxed),
            process: 0,
        }
    }

    /// Sets the epoch, without the process.
    pub fn set_epoch(&self, epoch: Epoch) {
        self.kernel.store(epoch.kernel, Ordering::Relaxed);
        self.vm.store(epoch.vm, Ordering::Relaxed);
    }
}

/// A page that is mapped on first use and stays mapped for the life of the process.
pub(crate) struct SharedPage<T: 'static>(AtomicPtr<SharedContents<T>>);

impl<T: Zeroable> SharedPage<T> {
    pub const fn new() -> Self {
        const { assert!(size_of::<SharedContents<T>>() <= 4096) };
        SharedPage(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// The page, mapped if necessary; `None` if the system has no memory.
    pub fn map(&self) -> Option<&'static SharedContents<T>> {
        if let Some(place) = self.get() {
            return Some(place);
        }
        let page = memory::map().ok()?;
        let published = self.0.compare_exchange(
            core::ptr::null_mut(),
            page.cast().as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if published.is_err() {
            memory::unmap(page);
        }
        self.get()
    }

    /// The page, if it was mapped.
    #[inline]
    pub fn get(&self) -> Option<&'static SharedContents<T>> {
        // SAFETY: null, or a page that stays mapped and begins as zeros, which `Zeroable` says
        // are a value, shared by references only; it is aligned as pages are.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: an atomic.
    unsafe impl Zeroable for AtomicU64 {}

    fn place() -> SharedContents<AtomicU64> {
        // Mapping a page decides on the kind of memory.
        memory::map().expect("there is memory");
        SharedContents {
            state: AtomicU64::new(0),
            kernel: AtomicU64::new(0),
            vm: AtomicU64::new(0),
            value: AtomicU64::new(0),
        }
    }

    /// Zeroes the page, as the kernel may.
    fn drop_page(place: &SharedContents<AtomicU64>) {
        place.state.store(0, Ordering::Relaxed);
        place.value.store(0, Ordering::Relaxed);
    }

    #[test]
    fn the_epoch_is_the_one_that_was_set() {
        let place = place();
        let epoch = Epoch {
            kernel: 5,
            vm: 7,
            process: 0,
        };
        place.set_epoch(epoch);
        assert_eq!(place.epoch(), epoch);
    }

    #[test]
    fn one_prepares_and_all_may_use_it() {
        let place = place();
        assert_eq!(place.ready_token(), None);
        let claim = place.claim().expect("it is empty");
        assert_eq!((place.claim(), place.ready_token()), (None, None));
        let token = place.finish(claim);
        assert!(token.is_some());
        assert_eq!(place.ready_token(), token);
        assert_eq!(place.claim(), None);
    }

    #[test]
    fn a_value_lost_while_it_is_used_is_noticed() {
        let place = place();
        let prepare = || place.finish(place.claim()?);
        let token = prepare().expect("it is empty");
        assert!(place.is_unchanged_during(token, |_| {}));
        assert!(!place.is_unchanged_during(token, |_| drop_page(&place)));
        let another = prepare().expect("it is empty again");
        assert!(place.is_unchanged_during(another, |_| {}));
        let replace = |_: &_| {
            drop_page(&place);
            prepare().expect("it is empty again");
        };
        assert!(!place.is_unchanged_during(another, replace));
    }

    #[test]
    fn a_value_lost_while_it_is_prepared_is_not_ready() {
        let place = place();
        let claim = place.claim().expect("it is empty");
        drop_page(&place);
        assert_eq!(place.finish(claim), None);
        assert_eq!(place.ready_token(), None);
    }

    /// A thread cannot finish another thread's claim, nor take its value for the one it began with.
    #[test]
    fn preparations_are_distinguished() {
        let place = place();
        let first = place.claim().expect("it is empty");
        drop_page(&place);
        let second = place.claim().expect("it is empty again");
        assert_eq!(place.finish(first), None, "that is the second's");
        let before = place.finish(second).expect("it is there");
        assert_eq!(place.ready_token(), Some(before));
        drop_page(&place);
        let third = place.claim().expect("it is empty again");
        place.finish(third).expect("it is there");
        assert_ne!(place.ready_token(), Some(before), "another value");
    }

    #[test]
    fn the_process_fills_its_bits_of_a_token() {
        assert_eq!(packed(0), 0);
        assert_eq!(packed(1), 1 << 2);
        assert_eq!(packed(0x3f_ffff), 0x3f_ffff << 2);
        assert_eq!(packed(1 << 32), 1 << 24);
        assert_eq!(
            packed(0xff << 32 | 0x3f_ffff),
            u64::from(u32::MAX) & !Token::STATE
        );
        assert_eq!(
            packed(0x305 << 32 | 0xc0_0007),
            5 << 24 | 7 << 2,
            "more than fits"
        );
    }

    #[test]
    fn a_token_of_another_process_is_invalid() {
        let place = place();
        let claim = place.claim().expect("it is empty");
        place.finish(claim).expect("it is there");
        let foreign = place.state.load(Ordering::Relaxed) ^ 1 << 10;
        place.state.store(foreign, Ordering::Relaxed);
        assert_eq!(place.ready_token(), None);
        assert!(place.claim().is_some());
    }
}
