//! A thread's page: secrets, and a mark that shows whether they are still there.
//!
//! The mark is the epoch under which the state was seeded. The kernel may zero a droppable page at any
//! moment, and a fork empties it in the child: both erase the mark with the secrets. So bytes that
//! were read may be used only if [`Page::is_current`] or [`Page::is_fresh`] holds **afterwards**.
//! One part of the mark, the *seeding marker*, is written before the seed is drawn: if it is there at
//! the end, nothing was lost in between, and no fork has happened.
//!
//! The page belongs to one thread. Its contents are plain bytes: zeros are valid, if useless.

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use zeroize::Zeroize;

use super::Epoch;
use super::freshness::Tag;
use super::memory::{self, MemoryKind};
use super::vdso::{self, Vdso};
use crate::failpoint::{self, Failpoint};
use crate::per_thread::ZeroAtStart;

/// Bytes of generator state: a 32-byte key and a 16-byte counter.
pub(crate) const STATE_LEN: usize = 48;

/// The smallest page size, in bytes; the rest of a larger page is not used.
const LEN: usize = 4096;

/// Bytes of keystream for small requests: the rest of the page.
pub(crate) const CAPACITY: usize = LEN - HEADER_LEN;

/// Bytes of round keys for request pads.
pub(crate) const PAD_SCHEDULE_LEN: usize = 240;

/// Bytes before the buffer, so that it starts on a cache line.
const HEADER_LEN: usize = 512;

#[repr(C, align(64))]
struct Contents {
    /// The complement of the kernel's generation, which is never 0: so a zeroed page has no valid
    /// generation.
    generation_complement: u64,
    /// The [freshness tag](super::freshness) under which the state was last used: the complement of its kernel's part,
    /// and its VM's part.
    tag_complement: u64,
    tag_vm: u64,
    vm: u64,
    /// Written when a seeding begins, and never 0: see [`seeding_marker`].
    seeding_marker: u64,
    state: [u8; STATE_LEN],
    vdso_state: vdso::State,
    pad_schedule: [u8; PAD_SCHEDULE_LEN],
    _to_cache_line:
        [u8; HEADER_LEN - 5 * size_of::<u64>() - STATE_LEN - vdso::STATE_LEN - PAD_SCHEDULE_LEN],
    buffer: [u8; CAPACITY],
}

const _: () = assert!(size_of::<Contents>() == LEN);

/// An unsigned integer: any bytes are valid, and its default is zeros.
pub(crate) trait Word: Copy + Default {
    type Bytes: AsMut<[u8]>;
    fn to_bytes(self) -> Self::Bytes;
    fn from_bytes(bytes: &Self::Bytes) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            type Bytes = [u8; size_of::<$word>()];

            #[inline(always)]
            fn to_bytes(self) -> Self::Bytes {
                self.to_ne_bytes()
            }

            #[inline(always)]
            fn from_bytes(bytes: &Self::Bytes) -> Self {
                Self::from_ne_bytes(*bytes)
            }
        }
    )*};
}
words!(u8, u16, u32, u64, u128);

/// Handle to a mapped page, held by the thread that owns it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Page(NonNull<Contents>);

// SAFETY: zeros are `None`, as for any `Option` of a `NonNull`, and a handle needs no drop.
unsafe impl ZeroAtStart for Cell<Option<Page>> {}

impl Page {
    /// Maps an empty page; the error is an `errno`.
    pub fn map() -> Result<Page, i32> {
        memory::map().map(|page| Page(page.cast()))
    }

    /// Wipes and unmaps the page.
    pub fn wipe_and_unmap(self) {
        self.wipe();
        memory::unmap(self.0.cast());
    }

    /// Leaves nothing that is current, as the kernel may at any moment.
    pub fn wipe(self) {
        // SAFETY: the page is mapped; its contents are plain bytes.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_ptr().cast::<u8>(), LEN) }.zeroize();
    }

    /// Begins a seeding: nothing in the page is current. When the seeding ends, the seeding marker
    /// shows whether the page is still there, and still this process's. Call it **before** the seed
    /// is drawn: a fork in between would otherwise leave both sides with the same seed.
    pub fn begin_seeding(self, epoch: Epoch) {
        let contents = self.0.as_ptr();
        // SAFETY: the page is mapped and this thread's own.
        unsafe {
            (&raw mut (*contents).generation_complement).write_volatile(0);
            (&raw mut (*contents).tag_complement).write_volatile(0);
            (&raw mut (*contents).vm).write_volatile(epoch.vm);
            (&raw mut (*contents).seeding_marker).write_volatile(seeding_marker(epoch.process));
        }
        fence(Ordering::SeqCst);
    }

    /// Records the kernel's `generation` under which the state is seeded.
    pub fn set_generation(self, generation: u64) {
        // SAFETY: the page is mapped and this thread's own.
        unsafe {
            (&raw mut (*self.0.as_ptr()).generation_complement).write_volatile(!generation);
        }
        fence(Ordering::SeqCst);
    }

    /// Records the freshness tag under which the state is used and the buffer's contents are generated.
    pub fn set_freshness_tag(self, tag: Tag) {
        let contents = self.0.as_ptr();
        // SAFETY: the page is mapped and this thread's own.
        unsafe {
            (&raw mut (*contents).tag_vm).write_volatile(tag.vm);
            (&raw mut (*contents).tag_complement).write_volatile(!tag.kernel);
        }
        fence(Ordering::SeqCst);
    }

    /// Makes the buffer and the state fresh under no tag.
    pub fn forget_freshness_tag(self) {
        // SAFETY: the page is mapped and this thread's own.
        unsafe { (&raw mut (*self.0.as_ptr()).tag_complement).write_volatile(0) };
    }

    /// Whether everything read from the buffer before this call was there, and was generated under
    /// this freshness tag. An empty page has no tag.
    #[inline(always)]
    pub fn is_fresh(self, tag: Tag) -> bool {
        let contents = self.0.as_ptr();
        // SAFETY: the page is mapped. What shows that it is not empty is read last.
        let (vm, complement) = unsafe {
            (
                (&raw const (*contents).tag_vm).read_volatile(),
                (&raw const (*contents).tag_complement).read_volatile(),
            )
        };
        !complement ^ tag.kernel | vm ^ tag.vm == 0
    }

    /// The kernel's generation under which the state was seeded.
    pub fn generation(self) -> u64 {
        // SAFETY: the page is mapped.
        unsafe { !(&raw const (*self.0.as_ptr()).generation_complement).read_volatile() }
    }

    /// Whether the state was seeded in the process with this [mark](super::fork::mark).
    pub fn is_of_process(self, mark: u64) -> bool {
        // SAFETY: the page is mapped.
        let found = unsafe { (&raw const (*self.0.as_ptr()).seeding_marker).read_volatile() };
        found == seeding_marker(mark)
    }

    /// Wipes what this process has inherited from the one that was forked, unless the kernel has done it.
    pub fn wipe_if_inherited(self, epoch: Epoch) {
        if !self.is_empty() && !self.is_of_process(epoch.process) {
            self.wipe();
        }
    }

    /// Whether nothing was ever seeded in the page, or its contents were lost.
    pub fn is_empty(self) -> bool {
        // SAFETY: the page is mapped.
        unsafe { (&raw const (*self.0.as_ptr()).seeding_marker).read_volatile() == 0 }
    }

    /// The value of the signal of clones under which the state was seeded.
    pub fn vm(self) -> u64 {
        // SAFETY: the page is mapped.
        unsafe { (&raw const (*self.0.as_ptr()).vm).read_volatile() }
    }

    /// Whether everything read before this call was there and belongs to `epoch`.
    pub fn is_current(self, epoch: Epoch) -> bool {
        let contents = self.0.as_ptr();
        // SAFETY: the page is mapped.
        let (vm, found) = unsafe {
            (
                (&raw const (*contents).vm).read_volatile(),
                (&raw const (*contents).seeding_marker).read_volatile(),
            )
        };
        vm == epoch.vm
            && found == seeding_marker(epoch.process)
            && self.is_of_generation(epoch.kernel)
    }

    /// Whether everything read before this call was there and was seeded under the kernel's
    /// `generation`. No state is seeded under generation 0.
    pub fn is_of_generation(self, generation: u64) -> bool {
        // SAFETY: the page is mapped.
        let complement =
            unsafe { (&raw const (*self.0.as_ptr()).generation_complement).read_volatile() };
        complement ^ generation == u64::MAX
    }

    /// Copies the generator's state out of the page.
    pub fn load_state(self, state: &mut [u8; STATE_LEN]) {
        // SAFETY: the page is mapped; any bytes are valid.
        unsafe { (&raw const (*self.0.as_ptr()).state).copy_to_nonoverlapping(state, 1) }
    }

    /// Stores the generator's state.
    pub fn store_state(self, state: &[u8; STATE_LEN]) {
        // SAFETY: the page is mapped and this thread's own.
        unsafe { (&raw mut (*self.0.as_ptr()).state).copy_from_nonoverlapping(state, 1) };
    }

    /// Lets `read` use the round keys for request pads. The kernel may zero them meanwhile: `read`
    /// loads each of them once, and decides nothing by them.
    #[inline]
    pub fn with_pad_schedule(self, read: impl FnOnce(&[u8; PAD_SCHEDULE_LEN])) {
        // SAFETY: the page is mapped; any bytes are valid, and no thread writes them.
        read(unsafe { &(*self.0.as_ptr()).pad_schedule });
        read_before_checking();
    }

    /// Stores the round keys for request pads.
    pub fn store_pad_schedule(self, keys: &[u8; PAD_SCHEDULE_LEN]) {
        // SAFETY: the page is mapped and this thread's own.
        unsafe { (&raw mut (*self.0.as_ptr()).pad_schedule).copy_from_nonoverlapping(keys, 1) };
    }

    /// Lets `write` fill the first `len` bytes of the buffer.
    pub fn with_buffer<T>(self, len: usize, write: impl FnOnce(&mut [u8]) -> T) -> T {
        assert!(len <= CAPACITY);
        let start = self.buffer();
        // SAFETY: the buffer is that long, this thread's own, and borrowed only here.
        write(unsafe { core::slice::from_raw_parts_mut(start, len) })
    }

    /// Moves the bytes at `at` of the buffer to `out` and leaves zeros.
    #[inline(always)]
    pub fn take(self, at: usize, out: &mut [u8]) {
        debug_assert!(at + out.len() <= CAPACITY);
        // SAFETY: the caller keeps `at + out.len()` within the buffer; `out` is elsewhere.
        unsafe { move_and_zero(self.buffer().add(at), out.as_mut_ptr(), out.len()) }
        read_before_checking();
    }

    /// Moves a word out of the buffer at `at` and leaves zeros.
    #[inline(always)]
    pub fn take_word<W: Word>(self, at: usize) -> W {
        debug_assert!(at + size_of::<W>() <= CAPACITY);
        // SAFETY: the caller keeps the word within the buffer; any bytes are a valid word.
        unsafe {
            let place = self.buffer().add(at).cast::<W>();
            let word = place.read_unaligned();
            place.write_unaligned(W::default());
            read_before_checking();
            word
        }
    }

    /// Fills `out`, at most 256 bytes, from the vDSO, whose state lives in the page. Returns the kernel
    /// generation of the bytes, or `None` if the vDSO does not serve.
    ///
    /// The vDSO is not used in memory that a fork copies: parent and child would get the same bytes.
    pub fn getrandom(self, vdso: Vdso, out: &mut [u8]) -> Option<u64> {
        if memory::kind() == MemoryKind::Plain && !failpoint::is_active(Failpoint::SkipForkGuard) {
            return None;
        }
        // SAFETY: the state lies within one page that a fork wipes, zeroed at first, and a page
        // never leaves its thread: the handle is not `Send`.
        unsafe { vdso.fill(&raw mut (*self.0.as_ptr()).vdso_state, out) }
    }

    fn buffer(self) -> *mut u8 {
        // SAFETY: only computes an address within the page.
        unsafe { (&raw mut (*self.0.as_ptr()).buffer).cast() }
    }

    /// Offsets of the generator's key and of the request pads' round keys in a page, for tests.
    #[cfg(feature = "testing")]
    pub const KEY_OFFSETS: [usize; 2] = [
        core::mem::offset_of!(Contents, state),
        core::mem::offset_of!(Contents, pad_schedule),
    ];

    /// The page's address, for tests that drop it.
    #[cfg(feature = "testing")]
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }
}

/// The seeding marker of the process with this mark. It is never 0.
fn seeding_marker(process: u64) -> u64 {
    process + 1
}

/// Keeps all earlier reads ahead of the checks that follow: neither the compiler nor a CPU that
/// reorders loads may move them.
#[inline(always)]
pub(crate) fn read_before_checking() {
    fence(Ordering::Acquire);
}

/// Moves `len` bytes and leaves zeros behind, in the widest words that fit: the last word overlaps
/// the one before it, and is read before that is erased. For requests of a few dozen bytes, libc's
/// memcpy and memset take longer than all the rest.
///
/// # Safety
/// Both places hold `len` bytes and do not overlap.
#[inline(always)]
unsafe fn move_and_zero(from: *mut u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; each branch knows that `len` is at least one of its words.
    unsafe {
        match len {
            16.. => move_words::<u128>(from, to, len),
            8.. => move_words::<u64>(from, to, len),
            4.. => move_words::<u32>(from, to, len),
            2.. => move_words::<u16>(from, to, len),
            1 => move_words::<u8>(from, to, len),
            0 => {}
        }
    }
}

/// # Safety
/// Same as `move_and_zero`, and `len` is at least the size of `W`.
#[inline(always)]
unsafe fn move_words<W: Word>(from: *mut u8, to: *mut u8, len: usize) {
    let last = len - size_of::<W>();
    // SAFETY: every word lies within the `len` bytes.
    unsafe {
        let last_word = from.add(last).cast::<W>().read_unaligned();
        for at in (0..last).step_by(size_of::<W>()) {
            let word = from.add(at).cast::<W>();
            to.add(at)
                .cast::<W>()
                .write_unaligned(word.read_unaligned());
            word.write_unaligned(W::default());
        }
        to.add(last).cast::<W>().write_unaligned(last_word);
        from.add(last).cast::<W>().write_unaligned(W::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer in which no byte is zero or equals the one before it.
    fn filled() -> [u8; CAPACITY] {
        core::array::from_fn(|at| (at % 255) as u8 + 1)
    }

    /// The contents of a page's buffer after `take` took bytes out of it.
    fn buffer_after(take: impl FnOnce(Page)) -> [u8; CAPACITY] {
        let page = Page::map().expect("there is memory");
        page.with_buffer(CAPACITY, |buffer| buffer.copy_from_slice(&filled()));
        take(page);
        let left = page.with_buffer(CAPACITY, |buffer| *buffer.first_chunk().unwrap());
        page.wipe_and_unmap();
        left
    }

    /// The buffer with these bytes erased.
    fn erased(at: usize, len: usize) -> [u8; CAPACITY] {
        let mut buffer = filled();
        buffer[at..][..len].fill(0);
        buffer
    }

    #[test]
    fn served_bytes_are_erased_and_no_others() {
        for len in 0..=256 {
            for at in [0, 1, 1000 - len, CAPACITY - len] {
                let mut out = vec![0; len];
                let left = buffer_after(|page| page.take(at, &mut out));
                assert_eq!(out, filled()[at..][..len], "{len} bytes at {at}");
                assert!(left == erased(at, len), "{len} bytes at {at}");
            }
        }
    }

    #[test]
    fn served_words_are_erased_and_no_other_bytes() {
        for at in [0, 1, 6, CAPACITY - 8] {
            let mut word = 0u64;
            let left = buffer_after(|page| word = page.take_word(at));
            assert_eq!(word.to_ne_bytes(), filled()[at..][..8]);
            assert!(left == erased(at, 8), "a u64 at {at}");
            let mut word = 0u32;
            let left = buffer_after(|page| word = page.take_word(at));
            assert_eq!(word.to_ne_bytes(), filled()[at..][..4]);
            assert!(left == erased(at, 4), "a u32 at {at}");
        }
    }

    #[test]
    #[should_panic(expected = "CAPACITY")]
    fn a_buffer_ends_at_its_capacity() {
        let page = Page::map().expect("there is memory");
        page.with_buffer(CAPACITY + 1, |_| ());
    }

    const TAG: Tag = Tag { kernel: 9, vm: 6 };

    fn epoch() -> Epoch {
        Epoch {
            kernel: 7,
            vm: 3,
            process: 5,
        }
    }

    /// A page that was seeded under [`epoch`].
    fn seeded() -> Page {
        let page = Page::map().expect("there is memory");
        page.begin_seeding(epoch());
        page.set_generation(epoch().kernel);
        page
    }

    #[test]
    fn a_page_is_current_under_its_epoch_alone() {
        let page = seeded();
        assert!(page.is_current(epoch()));
        assert!(!page.is_empty());
        assert_eq!((page.generation(), page.vm()), (7, 3));
        let others = [
            // One bit more, one less, and none.
            Epoch {
                kernel: 15,
                ..epoch()
            },
            Epoch {
                kernel: 6,
                ..epoch()
            },
            Epoch {
                kernel: 0,
                ..epoch()
            },
            Epoch { vm: 4, ..epoch() },
            Epoch {
                process: 6,
                ..epoch()
            },
        ];
        for other in others {
            assert!(!page.is_current(other), "{other:?}");
        }
        page.wipe_and_unmap();
    }

    /// The process is 0, as where a fork wipes memory and the process is not checked.
    #[test]
    fn a_page_that_was_seeded_is_not_empty() {
        let epoch = Epoch {
            process: 0,
            ..epoch()
        };
        let page = Page::map().expect("there is memory");
        page.begin_seeding(epoch);
        assert!(!page.is_empty());
        page.set_generation(epoch.kernel);
        assert!(page.is_current(epoch));
        page.wipe_and_unmap();
    }

    #[test]
    fn a_page_that_is_being_seeded_is_not_current() {
        let page = seeded();
        page.set_freshness_tag(TAG);
        page.begin_seeding(epoch());
        assert!(!page.is_current(epoch()) && !page.is_empty());
        assert!(!page.is_fresh(TAG));
        page.wipe_and_unmap();
    }

    #[test]
    fn an_empty_page_is_never_current() {
        let page = Page::map().expect("there is memory");
        assert!(page.is_empty());
        for kernel in [0, 1, Epoch::NO_GENERATION] {
            assert!(!page.is_current(Epoch {
                kernel,
                ..Epoch::default()
            }));
            assert!(!page.is_of_generation(kernel) && !page.is_fresh(Tag { kernel, vm: 0 }));
        }
        page.wipe_and_unmap();
    }

    #[test]
    fn a_page_is_wiped_from_end_to_end() {
        let page = seeded();
        page.store_state(&[1; STATE_LEN]);
        page.with_buffer(CAPACITY, |buffer| buffer.fill(3));
        page.wipe();
        // SAFETY: the page is mapped.
        let bytes = unsafe { page.0.cast::<[u8; LEN]>().read() };
        assert!(bytes == [0; LEN]);
        memory::unmap(page.0.cast());
    }

    #[test]
    fn a_page_that_is_given_back_was_wiped() {
        let len = memory::page_size();
        let (access, nowhere) = (libc::PROT_READ | libc::PROT_WRITE, core::ptr::null_mut());
        // SAFETY: the file is a page long and mapped twice; one mapping stays after the page's own is gone.
        let left = unsafe {
            let file = libc::memfd_create(c"page".as_ptr(), 0);
            assert_eq!(libc::ftruncate(file, len as libc::off_t), 0);
            let map = || libc::mmap(nowhere, len, access, libc::MAP_SHARED, file, 0);
            let [page, file_page] = [map(), map()].map(|at| NonNull::new(at.cast()).unwrap());
            libc::close(file);
            file_page.write([3u8; LEN]);
            Page(page.cast()).wipe_and_unmap();
            let left = file_page.read();
            memory::unmap(file_page.cast());
            left
        };
        assert!(left == [0; LEN]);
    }

    #[test]
    fn a_buffer_is_fresh_under_its_tag() {
        let page = seeded();
        page.set_freshness_tag(TAG);
        assert!(page.is_fresh(TAG));
        // One bit more, one less, and none.
        for [kernel, vm] in [[11, 6], [8, 6], [0, 6], [9, 7], [9, 4], [9, 0]] {
            let other = Tag { kernel, vm };
            assert!(!page.is_fresh(other), "{other:?}");
        }
        page.wipe_and_unmap();
    }

    #[test]
    fn what_another_process_has_left_is_wiped() {
        let child = Epoch {
            process: epoch().process + 1,
            ..epoch()
        };
        for (process, is_kept) in [(epoch(), true), (child, false)] {
            let page = seeded();
            page.store_state(&[1; STATE_LEN]);
            page.wipe_if_inherited(process);
            let mut state = [0; STATE_LEN];
            page.load_state(&mut state);
            assert_eq!(state == [1; STATE_LEN], is_kept);
            page.wipe_and_unmap();
        }
    }

    #[test]
    fn state_and_pad_schedule_do_not_overlap() {
        let page = seeded();
        page.with_buffer(CAPACITY, |buffer| buffer.fill(3));
        page.store_state(&[1; STATE_LEN]);
        page.store_pad_schedule(&[2; PAD_SCHEDULE_LEN]);
        let (mut state, mut keys) = ([0; STATE_LEN], [0; PAD_SCHEDULE_LEN]);
        page.load_state(&mut state);
        page.with_pad_schedule(|schedule| keys = *schedule);
        assert_eq!((state, keys), ([1; STATE_LEN], [2; PAD_SCHEDULE_LEN]));
        assert!(page.with_buffer(CAPACITY, |buffer| buffer.iter().all(|&byte| byte == 3)));
        assert!(page.is_current(epoch()));
        page.wipe_and_unmap();
    }
}
