//! kvm-clock's records as a signal of clones.
//!
//! KVM keeps a record of 32 bytes for each virtual CPU in the guest's memory: a version, a time and how to count on
//! from it (Documentation/virt/kvm/x86/msr.rst in Linux). When a monitor restores a snapshot, it makes new virtual
//! CPUs, and KVM rewrites a CPU's record before that CPU executes its first instruction: the version grows. Linux maps the
//! records of its first 64 CPUs into each process, where the vDSO reads them.
//!
//! So bytes are this machine's alone if the record of the CPU on which the thread runs is the one that was noted
//! before the bytes were made. The CPU's number must be read **after** the bytes were taken: then the thread runs,
//! in a clone, on a CPU whose record has been rewritten.
//!
//! KVM does this, and promises it nowhere; docs/CLONES.md says what follows. Only KVM does: VirtualBox shows
//! KVM's name, and restores the records as they were.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use super::clock;
use super::memory::page_size;
use super::signal_address::Layout;
use super::vdso;
use crate::cycle_counter;
use crate::failpoint::{self, Failpoint};

/// CPUs whose records are mapped.
const CPUS: usize = 64;

/// A CPU's record, `struct pvclock_vcpu_time_info` of Linux, as words: the version; the counter's value and the time
/// at the last update; factor, shift and flags. The rest of its cache line is zeros.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Record([AtomicU64; 8]);

const _: () = assert!(size_of::<[Record; CPUS]>() == 4096);

impl Record {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        self.0[at].load(Ordering::Relaxed)
    }

    /// Cycles and nanoseconds: `nanoseconds = (cycles << shift) * factor / 2^32`.
    fn factor(&self) -> u64 {
        self.word(3) & 0xffff_ffff
    }

    fn shift(&self) -> i8 {
        (self.word(3) >> 32) as i8
    }

    /// Whether a record is there, and nothing that a record does not have.
    fn is_plausible(&self) -> bool {
        const FLAGS: u64 = 0b111;
        let version = self.word(0);
        let flags_and_padding = self.word(3) >> 40;
        version != 0
            && version < 1 << 32
            && version.is_multiple_of(2)
            && self.factor() != 0
            && flags_and_padding <= FLAGS
            && (4..8).all(|at| self.word(at) == 0)
    }

    fn is_empty(&self) -> bool {
        (0..8).all(|at| self.word(at) == 0)
    }

    fn has_rate_of(&self, other: &Record) -> bool {
        [self.factor(), self.shift() as u64] == [other.factor(), other.shift() as u64]
    }

    /// How long so many cycles take, in nanoseconds.
    fn nanoseconds(&self, cycles: u64) -> u64 {
        let cycles = u128::from(cycles);
        let shifted = match self.shift() {
            shift @ 0.. => cycles << shift,
            shift => cycles >> shift.unsigned_abs(),
        };
        ((shifted * u128::from(self.factor())) >> 32) as u64
    }
}

/// What a request compares: the record of the CPU on which the thread runs, and the CPU's number. A change of either
/// is taken for a clone.
///
/// A restore changes the version by two or more, which the upper half shows. The lower half shows the time of the
/// update too, because old hosts counted the versions from 0 again.
///
/// # Safety
/// The records are mapped, and the CPU has RDPID.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn own_record(records: *const AtomicU64) -> u64 {
    const CPU_AT: u32 = 58;
    if failpoint::is_active(Failpoint::FreezeKvmClock) {
        return 1;
    }
    let number: u64;
    // SAFETY: the caller says that the CPU has the instruction. Not `pure`: it stays in its place.
    unsafe {
        core::arch::asm!("rdpid {}", out(reg) number, options(nostack, preserves_flags));
    }
    // The bits above are the CPU's node. There are no more CPUs than records.
    let cpu = number as usize % CPUS;
    // SAFETY: the caller says that the records are mapped.
    let record = unsafe { &*records.cast::<Record>().add(cpu) };
    word_of(record.word(0), record.word(1)) ^ (cpu as u64) << CPU_AT
}

/// What is compared where the CPU's number is not: a number that changes with any of the records of all CPUs. Another
/// CPU's record changes when that CPU runs.
///
/// # Safety
/// The records are mapped.
pub(super) unsafe fn all_records(records: *const AtomicU64) -> u64 {
    if failpoint::is_active(Failpoint::FreezeKvmClock) {
        return 1;
    }
    // SAFETY: the caller says so.
    let [version, time] = unsafe { sums(records.cast()) };
    word_of(version, time)
}

/// The sums of the records' first and second words, 16 bytes at a time: in half the time of single words.
///
/// # Safety
/// The records are mapped.
#[cfg(target_arch = "x86_64")]
unsafe fn sums(records: *const [Record; CPUS]) -> [u64; 2] {
    use core::arch::x86_64::{__m128i, _mm_add_epi64, _mm_setzero_si128};
    // SAFETY: the caller says that the records are mapped; they are aligned. KVM may write them meanwhile.
    let halves = (0..CPUS).map(|cpu| unsafe {
        let record = records.cast::<Record>().add(cpu);
        record.cast::<__m128i>().read_volatile()
    });
    // SAFETY: every x86-64 CPU has these instructions; the types have one size.
    unsafe {
        let sum = halves.fold(_mm_setzero_si128(), |sum, half| _mm_add_epi64(sum, half));
        core::mem::transmute(sum)
    }
}

/// Other CPUs have no such records.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn sums(_: *const [Record; CPUS]) -> [u64; 2] {
    [0; 2]
}

#[inline(always)]
fn word_of(version: u64, time: u64) -> u64 {
    version.rotate_left(32) ^ (time & 0xffff_ffff)
}

/// Where the records are, if this process can read them and the first looks like KVM's. The first call looks.
///
/// It asks the kernel for nothing that a sandbox refuses: whether memory can be read (rt_sigprocmask).
pub(super) fn records() -> Option<NonNull<AtomicU64>> {
    if STATE.load(Ordering::Acquire) == UNKNOWN {
        look();
    }
    match STATE.load(Ordering::Acquire) {
        GIVEN_UP => None,
        _ => NonNull::new(RECORDS.load(Ordering::Relaxed)),
    }
}

/// Whether the records are KVM's for certain, and have not been given up.
pub(crate) fn is_relied_on() -> bool {
    STATE.load(Ordering::Relaxed) == RELIED_ON
}

static RECORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
/// The first looks like KVM's. A process's first request looks no further, because many processes make no other.
const PLAUSIBLE: u8 = 1;
/// A thread stores what the rate is measured from.
const BEING_STORED: u8 = 2;
/// All look like KVM's; whether they count at its rate shows only after [`INTERVAL`].
const BEING_MEASURED: u8 = 3;
const RELIED_ON: u8 = 4;
const GIVEN_UP: u8 = 5;

/// The [`Moment`] since which the rate is measured, and the CPUs that had to have a record then.
static FIRST: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Changes the state, if it is still `from`. Several threads may want to: the first decides.
fn advance(from: u8, to: u8) -> bool {
    STATE
        .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}

fn look() {
    let page = plausible_page();
    if let Some(page) = page {
        RECORDS.store(page as *mut AtomicU64, Ordering::Relaxed);
    }
    advance(UNKNOWN, page.map_or(GIVEN_UP, |_| PLAUSIBLE));
}

/// The address of a page that begins with a record.
fn plausible_page() -> Option<usize> {
    /// Distances of the page from the vDSO, in pages: from Linux 6.13 on, and before.
    const BELOW: [usize; 2] = [2, 3];
    let may_look = cfg!(target_arch = "x86_64")
        && !failpoint::is_active(Failpoint::HideKvmClock)
        && cycle_counter::may_be_read();
    let base = vdso::base().filter(|_| may_look)?;
    let mut pages = BELOW.iter().map(|below| base - below * page_size());
    // SAFETY: the page can be read, and the vDSO's data stays mapped.
    let begins_with_record = |page| is_record_of_past(unsafe { &*(page as *const Record) });
    pages.find(|&page| vdso::is_readable(page as *const u8) && begins_with_record(page))
}

/// The CPUs on which this thread may run, one bit each; `None` if the machine may ever have more than 64: the kernel refuses
/// a mask that is too short for them (sched_getaffinity(2)).
fn own_cpus() -> Option<u64> {
    cpus_in_mask_of(size_of::<u64>())
}

fn cpus_in_mask_of(len: usize) -> Option<u64> {
    let mut mask = 0u64;
    assert!(len <= size_of_val(&mask));
    // SAFETY: the mask is writable for its length.
    let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, len, &raw mut mask) };
    (written > 0).then_some(mask)
}

/// Whether the page, which can be read, has a record for each of these CPUs, and for the others records of the same rate
/// or nothing.
fn is_page_of_records(page: usize, cpus: u64) -> bool {
    // SAFETY: the page can be read, and the vDSO's data stays mapped.
    let records = unsafe { &*(page as *const [Record; CPUS]) };
    let first = &records[0];
    let is_good = |(cpu, record): (usize, &Record)| {
        let is_needed = cpus >> cpu & 1 == 1;
        (record.is_empty() && !is_needed) || (is_plausible(record) && record.has_rate_of(first))
    };
    is_record_of_past(first) && records.iter().enumerate().all(is_good)
}

/// Whether the record counts on from a time that is past.
fn is_record_of_past(record: &Record) -> bool {
    is_plausible(record) && record.word(1) <= cycle_counter::read()
}

/// Whether the record is plausible, unless KVM happens to be writing it.
fn is_plausible(record: &Record) -> bool {
    (0..4).any(|_| record.is_plausible())
}

/// The counter, and the kernel's clock in nanoseconds (CLOCK_MONOTONIC_RAW), at the same time up to some cycles.
#[derive(Clone, Copy)]
struct Moment {
    count: u64,
    time: u64,
    width: u64,
}

/// Nanoseconds after which the rate of the records is compared with that of the kernel's clock.
const INTERVAL: u64 = 10_000_000;

impl Moment {
    /// The most exact of some readings, between which the thread may be interrupted.
    fn now() -> Moment {
        let reading = |_| {
            let before = cycle_counter::read();
            let time = raw_time();
            let count = cycle_counter::read();
            let width = count.wrapping_sub(before);
            Moment { count, time, width }
        };
        let first = reading(0);
        (1..4).map(reading).fold(
            first,
            |best, now| {
                if now.width < best.width { now } else { best }
            },
        )
    }
}

fn raw_time() -> u64 {
    let [seconds, nanoseconds] = clock::read(libc::CLOCK_MONOTONIC_RAW).unwrap_or_default();
    seconds * 1_000_000_000 + nanoseconds
}

/// Begins to measure the records' rate, and relies on them or gives them up once it can be told whether they are KVM's.
pub(super) fn settle() {
    match STATE.load(Ordering::Acquire) {
        PLAUSIBLE => begin_to_measure(),
        BEING_MEASURED => {
            if let Some(is_kvm) = is_kvm(Moment::now) {
                advance(BEING_MEASURED, if is_kvm { RELIED_ON } else { GIVEN_UP });
            }
        }
        _ => {}
    }
}

fn begin_to_measure() {
    let page = RECORDS.load(Ordering::Relaxed).addr();
    let cpus = own_cpus().filter(|&cpus| is_page_of_records(page, cpus));
    let Some(cpus) = cpus.filter(|_| cycle_counter::may_be_read()) else {
        advance(PLAUSIBLE, GIVEN_UP);
        return;
    };
    let Moment { count, time, width } = Moment::now();
    if advance(PLAUSIBLE, BEING_STORED) {
        for (place, value) in FIRST.iter().zip([count, time, width, cpus]) {
            place.store(value, Ordering::Relaxed);
        }
        STATE.store(BEING_MEASURED, Ordering::Release);
    }
}

/// Whether the records are KVM's; `None` if it cannot be told yet.
fn is_kvm(now: impl FnOnce() -> Moment) -> Option<bool> {
    if !cycle_counter::may_be_read() {
        return Some(false);
    }
    let [count, time, width, cpus] = FIRST.each_ref().map(|part| part.load(Ordering::Relaxed));
    let page = RECORDS.load(Ordering::Relaxed);
    // SAFETY: the page was found readable, and stays mapped.
    let first = unsafe { &*page.cast::<Record>() };
    let now = now();
    let passed = now.time.wrapping_sub(time);
    let uncertain = first.nanoseconds(width.saturating_add(now.width));
    if !is_long_enough(passed, uncertain) {
        return None;
    }
    let counted = first.nanoseconds(now.count.wrapping_sub(count));
    Some(is_same_time(counted, passed) && is_page_of_records(page.addr(), cpus) && is_named_kvm())
}

/// Whether a rate can be told from so many nanoseconds, if readings took `uncertain` of them: one part in two hundred at most.
fn is_long_enough(passed: u64, uncertain: u64) -> bool {
    passed >= INTERVAL.max(uncertain.saturating_mul(200))
}

/// Whether two durations are the same up to one in a hundred.
fn is_same_time(counted: u64, passed: u64) -> bool {
    counted.abs_diff(passed) <= passed / 100
}

/// Whether the CPU says that KVM runs it. VirtualBox can show the name, but not the features.
fn is_named_kvm() -> bool {
    #[cfg(target_arch = "x86_64")]
    return crate::cpuid::is_kvm();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether it cannot be told yet.
pub(crate) fn is_undecided() -> bool {
    (PLAUSIBLE..=BEING_MEASURED).contains(&STATE.load(Ordering::Acquire))
}

/// When KVM last began to count anew: the newest time that a record counts on from. A restore changes it once, with the first
/// CPU that runs, because a monitor restores the clock with its time; the step that hosts before Linux 6.19 make every five
/// minutes does not. `None` if the records are not relied on.
pub(crate) fn newest_time() -> Option<u64> {
    let page = NonNull::new(RECORDS.load(Ordering::Acquire)).filter(|_| is_relied_on())?;
    // SAFETY: the page was found readable, and stays mapped.
    let records = unsafe { page.cast::<[Record; CPUS]>().as_ref() };
    let times = records
        .iter()
        .map(|record| (record.word(2), record.word(1)));
    let (time, count) = times.max()?;
    Some(count.rotate_left(32) ^ time)
}

/// How a request reads the records: on a CPU without RDPID it compares those of all CPUs.
pub(super) fn layout() -> Layout {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::cpuid::{Features, has};
        if has(Features::RDPID) && !failpoint::is_active(Failpoint::HideRdpid) {
            return Layout::OWN_RECORD;
        }
    }
    Layout::ALL_RECORDS
}

/// Records that the records have changed to `value`. If they change many times a second, they are given up: on hosts
/// whose counters are unstable, KVM rewrites them whenever a virtual CPU moves to another physical one.
pub(crate) fn note_change(value: u64, second: u64) {
    static CHANGES: Changes = Changes::new();
    if CHANGES.are_too_many(value, second) {
        give_up();
    }
}

/// Gives the records up, if they are those that requests compare.
pub(crate) fn give_up() {
    advance(RELIED_ON, GIVEN_UP);
}

/// How often the records have changed within a second.
struct Changes {
    last: AtomicU64,
    /// The second, and how many changes it has had so far.
    counted: AtomicU64,
}

impl Changes {
    const COUNT_BITS: u32 = 16;

    /// More than restores of 64 CPUs, each of which changes its record when it first runs.
    const MOST_IN_A_SECOND: u64 = 256;

    const fn new() -> Changes {
        Changes {
            last: AtomicU64::new(0),
            counted: AtomicU64::new(0),
        }
    }

    fn are_too_many(&self, value: u64, second: u64) -> bool {
        if self.last.swap(value, Ordering::Relaxed) == value {
            return false;
        }
        let counted = self.counted.load(Ordering::Relaxed);
        let first = second << Self::COUNT_BITS;
        let counted = if counted >> Self::COUNT_BITS == second {
            counted + 1
        } else {
            first + 1
        };
        self.counted.store(counted, Ordering::Relaxed);
        counted - first > Self::MOST_IN_A_SECOND
    }
}

#[cfg(feature = "testing")]
impl Record {
    /// A record of zeros.
    pub const fn empty() -> Record {
        Record([const { AtomicU64::new(0) }; 8])
    }

    /// Rewrites the record, as KVM does before its CPU runs in a clone.
    pub fn rewrite(&self) {
        self.0[0].fetch_add(2, Ordering::Relaxed);
    }

    /// The same with the time of the restored clock, which the records of all CPUs have in common.
    pub fn count_from(&self, time: u64) {
        self.rewrite();
        self.0[2].store(time, Ordering::Relaxed);
    }
}

/// Relies on the records at this address, whatever they are.
#[cfg(feature = "testing")]
pub fn replace_records(records: &'static [Record; CPUS]) {
    RECORDS.store(records.as_ptr().cast_mut().cast(), Ordering::Release);
    STATE.store(RELIED_ON, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of records, as KVM writes them for two CPUs of 2.5 GHz.
    fn page() -> Box<[Record; CPUS]> {
        let page: Box<[Record; CPUS]> = Box::new(core::array::from_fn(|_| {
            Record([const { AtomicU64::new(0) }; 8])
        }));
        for record in &page[..2] {
            for (at, word) in [
                (0, 4),
                (1, 1000),
                (2, 500),
                (3, 1 << 40 | 0xff << 32 | 0xcccc_cccc),
            ] {
                record.0[at].store(word, Ordering::Relaxed);
            }
        }
        page
    }

    fn is_found_with(changed: &[(usize, usize, u64)]) -> bool {
        let page = page();
        for &(cpu, at, word) in changed {
            page[cpu].0[at].store(word, Ordering::Relaxed);
        }
        is_page_of_records((&raw const *page).addr(), 0b11)
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn records_are_told_by_what_is_in_them() {
        let rate = 1 << 40 | 0xff << 32 | 0xcccc_cccc;
        let pages: [&[_]; 4] = [
            &[],
            // Another CPU's version and time, and a third CPU.
            &[(1, 0, 6), (1, 1, 2000)],
            &[(2, 0, 2), (2, 3, rate)],
            &[(0, 3, rate | 0b111 << 40)],
        ];
        for changed in pages {
            assert!(is_found_with(changed), "{changed:x?}");
        }
        let others: [&[_]; 11] = [
            &[(0, 0, 0)],
            &[(0, 0, 5)],
            &[(0, 0, 1 << 32 | 4)],
            &[(0, 1, u64::MAX)],
            &[(0, 3, 1 << 40)],
            &[(0, 3, rate | 1 << 43)],
            &[(0, 4, 1)],
            &[(0, 7, 1)],
            // Of the second CPU, which this thread may use: none.
            &[(1, 0, 0), (1, 1, 0), (1, 2, 0), (1, 3, 0)],
            // Of another CPU: no record, and one of another rate.
            &[(63, 2, 1)],
            &[(1, 3, rate + 1)],
        ];
        for changed in others {
            assert!(!is_found_with(changed), "{changed:x?}");
        }
    }

    #[test]
    fn a_record_counts_at_its_rate() {
        let page = page();
        // 0.8 * 2^32, after a shift to the right by one.
        assert_eq!(page[0].nanoseconds(2_500_000_000), 999_999_999);
        page[0].0[3].store(1 << 32 | 0x8000_0000, Ordering::Relaxed);
        assert_eq!(page[0].nanoseconds(1_000_000), 1_000_000);
        for (counted, passed, is_same) in [
            (100, 100, true),
            (101, 100, true),
            (98, 100, false),
            (102, 100, false),
        ] {
            assert_eq!(
                is_same_time(counted, passed),
                is_same,
                "{counted}, {passed}"
            );
        }
    }

    #[test]
    fn the_rate_is_told_after_ten_milliseconds_or_longer() {
        for (passed, uncertain, expected) in [
            (9_999_999, 0, false),
            (10_000_000, 50_000, true),
            (10_000_000, 50_001, false),
            (20_000_000, 100_000, true),
            (u64::MAX - 1, u64::MAX, false),
        ] {
            assert_eq!(
                is_long_enough(passed, uncertain),
                expected,
                "{passed}, {uncertain}"
            );
        }
    }

    #[test]
    fn cpus_beyond_the_mask_are_refused() {
        // As if the machine had more CPUs than a mask of 64.
        assert_eq!(cpus_in_mask_of(0), None);
        assert!(cpus_in_mask_of(8).is_none_or(|cpus| cpus != 0));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_change_of_any_part_changes_what_is_compared() {
        let page = page();
        let records: *const AtomicU64 = (&raw const *page).cast();
        // SAFETY: the page is mapped.
        let all = || unsafe { all_records(records) };
        let before = all();
        for (cpu, at) in [(0, 0), (0, 1), (1, 0), (1, 1), (63, 0)] {
            page[cpu].0[at].fetch_add(2, Ordering::Relaxed);
            assert_ne!(all(), before, "word {at} of CPU {cpu}");
            page[cpu].0[at].fetch_sub(2, Ordering::Relaxed);
        }
        page[0].0[2].fetch_add(2, Ordering::Relaxed);
        assert_eq!(all(), before);
        use crate::cpuid::{Features, has};
        if !has(Features::RDPID) {
            return;
        }
        // Another thread's CPU is not this one, so each has its own record here.
        let fresh = |cpu: usize| {
            page[cpu].0[0].store(2 * cpu as u64 + 2, Ordering::Relaxed);
            page[cpu].0[1].store(1000, Ordering::Relaxed);
        };
        (0..CPUS).for_each(fresh);
        // SAFETY: the page is mapped, and the CPU has RDPID.
        let own = || unsafe { own_record(records) };
        let expected = |cpu: u64| (2 * cpu + 2) << 32 ^ 1000 ^ cpu << 58;
        let found = own();
        assert!(
            (0..CPUS as u64).any(|cpu| expected(cpu) == found),
            "{found:x}"
        );
    }

    #[test]
    fn records_that_change_all_the_time_are_too_many() {
        let changes = Changes::new();
        let are_too_many = |mut values: core::ops::Range<u64>, second| {
            values.any(|value| changes.are_too_many(value, second))
        };
        assert!(!are_too_many(1..257, 5));
        assert!(!are_too_many(256..257, 5), "the same as before");
        assert!(!are_too_many(300..556, 6), "another second");
        assert!(are_too_many(556..557, 6));
        assert!(!are_too_many(600..601, 7));
    }

    #[test]
    fn the_machines_records_are_found_on_guests_of_kvm_alone() {
        let status = crate::status();
        assert!(status.is_vm || !status.has_kvm_clock);
        assert_eq!(status.has_kvm_clock, is_relied_on());
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let clocks = read("/sys/devices/system/clocksource/clocksource0/available_clocksource");
        let is_virtualbox = read("/sys/class/dmi/id/product_name").contains("VirtualBox");
        // A sandbox may hide the clocks.
        if !clocks.is_empty() {
            // qemu-user shows a program for another CPU the clocks of the host.
            let is_kvm = cfg!(target_arch = "x86_64")
                && clocks.contains("kvm-clock")
                && !is_virtualbox
                && own_cpus().is_some();
            assert_eq!(status.has_kvm_clock, is_kvm, "{clocks}");
        }
        if status.has_kvm_clock {
            let [count, time, width, cpus] =
                FIRST.each_ref().map(|part| part.load(Ordering::Relaxed));
            assert!(count != 0 && time != 0 && cpus != 0);
            let first = Moment { count, time, width };
            assert_eq!(is_kvm(|| first), None, "no time has passed");
        }
    }
}
