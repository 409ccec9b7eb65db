//! The CPU's noise sources: its random instruction and its cycle counter.
//!
//! Neither is ever trusted alone. Both are health-tested while in use ([`health`]). Once a test
//! fails, the whole process stops using the source for good: some CPUs have returned the same word
//! forever after a resume from suspend. If the random instruction returns no word, it is left out for a
//! while: on some cloud machines RNDR returned none for hours (aws-lc issue 3453).
//!
//! [`health`]: super::health

use core::fmt;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::health::{Health, Limits};
use crate::backoff::Backoff;
use crate::cycle_counter;
use crate::failpoint::{self, Failpoint};
use crate::per_thread::per_thread;

#[cfg(target_arch = "x86_64")]
use crate::cpuid::{Features, has};
#[cfg(target_arch = "aarch64")]
use squall_drbg::internal::hwcap::{Features, has};

/// Whether a noise source is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoiseSource {
    /// The source exists and has passed its health tests so far (SP 800-90B section 4.4).
    Works,
    /// This machine does not have it.
    Absent,
    /// The source failed a health test and is left out for good, or returned no word and is left out
    /// for now.
    Failed,
}

impl fmt::Display for NoiseSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoiseSource::Works => "works",
            NoiseSource::Absent => "absent",
            NoiseSource::Failed => "failed",
        })
    }
}

/// The known state of a source in this process.
struct State(AtomicU8);

impl State {
    const UNKNOWN: u8 = 0;

    const fn new() -> State {
        State(AtomicU8::new(Self::UNKNOWN))
    }

    /// `None` before anything is known.
    #[inline]
    fn get(&self) -> Option<NoiseSource> {
        const WORKS: u8 = NoiseSource::Works as u8 + 1;
        const ABSENT: u8 = NoiseSource::Absent as u8 + 1;
        match self.0.load(Ordering::Relaxed) {
            Self::UNKNOWN => None,
            WORKS => Some(NoiseSource::Works),
            ABSENT => Some(NoiseSource::Absent),
            _ => Some(NoiseSource::Failed),
        }
    }

    fn set(&self, state: NoiseSource) {
        self.0.store(state as u8 + 1, Ordering::Relaxed);
    }

    fn set_if_unknown(&self, state: NoiseSource) {
        let state = state as u8 + 1;
        let _ = self
            .0
            .compare_exchange(Self::UNKNOWN, state, Ordering::Relaxed, Ordering::Relaxed);
    }
}

static RANDOM: State = State::new();

static RANDOM_BACKOFF: Backoff = Backoff::new();

static COUNTER: State = State::new();

per_thread! {
    static RANDOM_HEALTH: Health
}

per_thread! {
    static COUNTER_HEALTH: Health
}

per_thread! {
    /// The cycle count at this thread's last call of [`noise`].
    static LAST_COUNT: AtomicU64
}

/// A signal handler may use these variables in the middle of the draw that it interrupted.
const _: () = {
    const fn is_shared<T: Sync>() {}
    is_shared::<(Health, AtomicU64)>()
};

/// The cycle counter: the time-stamp counter of x86, the virtual counter of ARM. 0 once it has
/// failed.
#[inline]
pub(crate) fn cycles() -> u64 {
    unless_failed(&COUNTER, read_counter)
}

/// The cycle counter's next value, and how often the current one could be read before: finer than the
/// counter, which moves only every 40 ns on some ARM CPUs. Takes a tick at most.
pub(crate) fn fine_count() -> u64 {
    /// Readings after which the counter stands still.
    const READINGS: u64 = 0xff;
    let first = read_counter();
    let mut last = first;
    let mut readings = 0;
    while last == first && readings < READINGS {
        last = read_counter();
        readings += 1;
    }
    last << 8 | readings
}

#[inline]
fn unless_failed(state: &State, count: impl FnOnce() -> u64) -> u64 {
    match state.get() {
        Some(NoiseSource::Failed) => 0,
        _ => count(),
    }
}

/// The cycle counter as a noise source: same as [`cycles`], for events that are not evenly spaced.
///
/// The raw sample that is tested is the low byte of the cycles since the thread's last event.
pub(crate) fn noise() -> u64 {
    let count = cycles();
    let last = LAST_COUNT.with(|last| {
        let before = last.load(Ordering::Relaxed);
        last.store(count, Ordering::Relaxed);
        before
    });
    let noise_sample = noise_sample(last, count);
    let passes = COUNTER_HEALTH.with(|health| health.passes(noise_sample, Limits::ONE_BIT));
    if !passes && !failpoint::is_active(Failpoint::PassHealthTests) {
        COUNTER.set(NoiseSource::Failed);
    }
    count
}

/// The low byte of the difference between two counts.
fn noise_sample(last: u64, count: u64) -> u64 {
    count.wrapping_sub(last) & 0xff
}

/// Whether the cycle counter is in use.
pub(crate) fn counter_state() -> NoiseSource {
    if !cycle_counter::may_be_read() {
        return NoiseSource::Absent;
    }
    COUNTER.get().unwrap_or(NoiseSource::Works)
}

/// The cycle counter as a number that differs from request to request, not as noise: it is read even if
/// it has failed its health tests.
#[inline]
pub(crate) fn read_counter() -> u64 {
    if failpoint::is_active(Failpoint::FreezeCycleCounter) || !cycle_counter::may_be_read() {
        return 0;
    }
    cycle_counter::read()
}

/// The number of the CPU that runs this thread; 0 if it cannot be known.
pub(crate) fn current_cpu() -> u32 {
    // SAFETY: sched_getcpu has no preconditions.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// A word of the CPU's random instruction; `None` if there is none or it does not work.
#[inline]
pub(crate) fn random_word() -> Option<u64> {
    match random_state() {
        NoiseSource::Works => tested_word(),
        _ => {
            RANDOM_BACKOFF.count_skipped();
            None
        }
    }
}

/// Whether the random instruction is in use: it must pass its health tests from the first words on.
pub(crate) fn random_state() -> NoiseSource {
    /// Words that are tested before one is used.
    const STARTUP_WORDS: usize = 4;
    if RANDOM_BACKOFF.is_active() {
        return NoiseSource::Failed;
    }
    if let Some(state) = RANDOM.get() {
        return state;
    }
    if !has_random_instruction() {
        RANDOM.set(NoiseSource::Absent);
        return NoiseSource::Absent;
    }
    // Another thread may already have found that it fails.
    RANDOM.set_if_unknown(NoiseSource::Works);
    let _ = (0..STARTUP_WORDS).try_for_each(|_| tested_word().map(drop));
    random_state()
}

/// A word that passed the tests. All zeros and all ones also count as failures: AMD's errata document
/// them. If the instruction returns no word after several tries, it is not asked for a while.
#[inline]
fn tested_word() -> Option<u64> {
    let Some(word) = raw_word() else {
        RANDOM_BACKOFF.start();
        return None;
    };
    let passes = may_be_random(word)
        && (RANDOM_HEALTH.with(|health| health.passes(word, Limits::HALF_WORD))
            || failpoint::is_active(Failpoint::PassHealthTests));
    if !passes {
        RANDOM.set(NoiseSource::Failed);
    }
    passes.then_some(word)
}

#[inline]
fn may_be_random(word: u64) -> bool {
    word != 0 && word != u64::MAX
}

fn has_random_instruction() -> bool {
    if failpoint::is_active(Failpoint::HideRandomInstruction) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    return has(Features::RDRAND);
    #[cfg(target_arch = "aarch64")]
    return has(Features::RNDR);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// One raw word, if the instruction has one.
#[inline]
fn raw_word() -> Option<u64> {
    if failpoint::is_active(Failpoint::RepeatRandomWord) {
        return Some(5);
    }
    /// Tries before the instruction counts as returning no word (Intel's Digital Random Number
    /// Generator Software Implementation Guide, section 5.2.1).
    const TRIES: u32 = 10;
    // SAFETY: called only after `has_random_instruction`.
    (0..TRIES).find_map(|_| unsafe { try_raw_word() })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "rdrand")]
fn try_raw_word() -> Option<u64> {
    let mut word = 0;
    (core::arch::x86_64::_rdrand64_step(&mut word) == 1).then_some(word)
}

/// # Safety
/// The CPU must have RNDR.
#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn try_raw_word() -> Option<u64> {
    let (word, has_word): (u64, u64);
    // SAFETY: the caller's promise. By its encoding, as assemblers know the name for newer CPUs alone. It
    // sets the flag Z if it has no word (Arm ARM, RNDR).
    unsafe {
        core::arch::asm!(
            "mrs {word}, s3_3_c2_c4_0",
            "cset {has_word}, ne",
            word = out(reg) word,
            has_word = out(reg) has_word,
            options(nomem, nostack),
        );
    }
    (has_word == 1).then_some(word)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn try_raw_word() -> Option<u64> {
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn a_fine_count_ends_with_the_number_of_readings() {
        let is_next = |_| {
            let before = read_counter();
            let count = fine_count();
            let readings = count & 0xff;
            // A tick may take more readings, or the thread may move to another CPU.
            let is_later = count >> 8 > before << 8 >> 8;
            (1..0xff).contains(&readings) && is_later
        };
        assert!((0..1000).any(is_next));
    }

    #[test]
    fn the_cycle_counter_moves() {
        let start = cycles();
        assert!((0..1000).any(|_| cycles() != start));
    }

    #[test]
    fn states_are_distinguished() {
        let state = State::new();
        assert_eq!(state.get(), None);
        for source in [NoiseSource::Works, NoiseSource::Absent, NoiseSource::Failed] {
            state.set(source);
            assert_eq!(state.get(), Some(source));
            state.set_if_unknown(NoiseSource::Works);
            assert_eq!(state.get(), Some(source), "it was known");
        }
        let state = State::new();
        state.set_if_unknown(NoiseSource::Absent);
        assert_eq!(state.get(), Some(NoiseSource::Absent));
    }

    #[test]
    fn a_source_without_words_is_asked_again_later() {
        let backoff = Backoff::new();
        assert!(!backoff.is_active());
        backoff.start();
        for _ in 0..Backoff::REQUESTS {
            assert!(backoff.is_active());
            backoff.count_skipped();
        }
        assert!(!backoff.is_active());
        backoff.count_skipped();
        assert!(!backoff.is_active());
    }

    /// Threads of other tests may end the pause.
    #[test]
    fn an_instruction_without_words_is_left_out_for_now() {
        let is_left_out = |_| {
            RANDOM_BACKOFF.start();
            random_state() == NoiseSource::Failed && random_word().is_none()
        };
        assert!((0..1000).any(is_left_out));
    }

    #[test]
    fn a_failed_counter_reads_zero() {
        let state = State::new();
        assert_eq!(unless_failed(&state, || 7), 7);
        state.set(NoiseSource::Works);
        assert_eq!(unless_failed(&state, || 7), 7);
        state.set(NoiseSource::Failed);
        assert_eq!(unless_failed(&state, || 7), 0);
    }

    #[test]
    fn a_sample_is_the_low_byte_of_the_cycles_that_passed() {
        assert_eq!(noise_sample(0x1234, 0x5678), 0x44);
        assert_eq!(noise_sample(5, 0x1005), 0);
        assert_eq!(noise_sample(u64::MAX, 1), 2);
    }

    #[test]
    fn a_sample_begins_at_the_event_before() {
        let count = noise();
        assert_eq!(LAST_COUNT.with(|last| last.load(Ordering::Relaxed)), count);
    }

    #[test]
    fn all_zeros_and_all_ones_are_rejected() {
        assert!(!may_be_random(0) && !may_be_random(u64::MAX));
        assert!(may_be_random(1) && may_be_random(u64::MAX - 1));
    }

    #[test]
    fn words_come_from_a_working_instruction() {
        let words = [random_word(), random_word()];
        match (random_state(), words) {
            (NoiseSource::Works, [Some(first), Some(second)]) => assert_ne!(first, second),
            (NoiseSource::Absent, words) => assert_eq!(words, [None; 2]),
            // An instruction that is there may return no word, and is then left out for a while.
            _ => {}
        }
    }

    /// CPUs that a thread may run on.
    fn allowed_cpus() -> Vec<usize> {
        // SAFETY: zeros are an empty set, which the call fills.
        let set = unsafe {
            let mut set: libc::cpu_set_t = core::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
            set
        };
        (0..libc::CPU_SETSIZE as usize)
            // SAFETY: the number is within the set.
            .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
            .collect()
    }

    /// Runs `test` on each CPU, with its number.
    pub fn on_each_cpu(test: fn(usize)) {
        let run = move |cpu| {
            // SAFETY: zeros are an empty set; the number is within it.
            let status = unsafe {
                let mut set: libc::cpu_set_t = core::mem::zeroed();
                libc::CPU_SET(cpu, &mut set);
                libc::sched_setaffinity(0, size_of_val(&set), &set)
            };
            assert_eq!(status, 0);
            test(cpu);
        };
        for cpu in allowed_cpus() {
            std::thread::spawn(move || run(cpu)).join().unwrap();
        }
    }

    #[test]
    fn current_cpu_is_the_one_that_runs_the_thread() {
        on_each_cpu(|cpu| assert_eq!(current_cpu() as usize, cpu));
    }

    /// Whether the CPU has a random instruction, according to the standard library. /proc/cpuinfo does not
    /// tell what an emulator has.
    fn has_instruction_as_std_sees_it() -> bool {
        #[cfg(target_arch = "x86_64")]
        return std::arch::is_x86_feature_detected!("rdrand");
        #[cfg(target_arch = "aarch64")]
        return std::arch::is_aarch64_feature_detected!("rand");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        return false;
    }

    #[test]
    fn present_sources_stay_in_use() {
        assert_eq!(has_random_instruction(), has_instruction_as_std_sees_it());
        if has_random_instruction() && raw_word().is_some_and(may_be_random) {
            // It may have returned no word a moment ago.
            let is_in_use = |_| random_word().is_some();
            assert!((0..=2 * Backoff::REQUESTS).any(is_in_use));
        }
        // Only a few samples, because this thread's counter may be coarse.
        for _ in 0..20 {
            noise();
        }
        assert_eq!(counter_state(), NoiseSource::Works);
    }
}
