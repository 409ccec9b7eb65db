//! Stops the machine after each instruction of small requests, and lets two copies of it go on. Each copy finds the record of
//! its CPU rewritten, as KVM does it. The cycle counter stands still, so only the random instruction tells the copies apart.

use std::sync::Mutex;

use squall::testing::generations_for_testing;

use super::*;
use crate::copies::{rewrite_own_record, use_records};
use crate::outputs::wait;
use crate::stack::words_of_page;

/// Requests, of which the first refills the buffer.
const REQUESTS: usize = 3;

/// Draws of a copy that are compared: the one that the stop interrupted, and two more.
const COMPARED: usize = 3;

/// Words of a page.
const WORDS: usize = 512;

/// Stops so far.
static STOPS: AtomicU64 = AtomicU64::new(0);
/// Stops before the request that is being drawn read the CPU's number for the last time.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
/// In a copy: seedings before it began, and the page then.
static SEEDINGS: AtomicU64 = AtomicU64::new(0);
static PAGE: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// Whether the request is served from the buffer.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Stops the machine after every seventh instruction of a refill, and after every one of a request from the buffer.
fn stop_at(mut stopped: Stopped) {
    const APART: usize = 7;
    if IS_SHORT.load(Ordering::Relaxed) || stopped.step.is_multiple_of(APART) {
        stop(&mut stopped);
    }
    if reads_cpu_number(&stopped) {
        LAST_NUMBER.store(STOPS.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Whether the next instruction is RDPID.
fn reads_cpu_number(stopped: &Stopped) -> bool {
    let next = stopped.context.uc_mcontext.gregs[libc::REG_RIP as usize] as *const u8;
    // SAFETY: the bytes after an instruction's first are read only if it has them.
    let at = |index| unsafe { *next.add(index) };
    let has_prefix = at(0) == 0xf3;
    let rex = usize::from(has_prefix && at(1) & 0xf0 == 0x40);
    has_prefix && at(1 + rex) == 0x0f && at(2 + rex) == 0xc7 && at(3 + rex) & 0xf8 == 0xf8
}

/// Waits for two copies of the machine, which draw on without stops.
fn stop(stopped: &mut Stopped) {
    STOPS.fetch_add(1, Ordering::Relaxed);
    for _ in 0..2 {
        // SAFETY: this program's other thread holds no lock that the child needs.
        match unsafe { libc::fork() } {
            0 => {
                IS_CHILD.store(true, Ordering::Relaxed);
                SEEDINGS.store(reseeds_for_testing(), Ordering::Relaxed);
                *PAGE.lock().unwrap() = words_of_page(0, WORDS);
                rewrite_own_record();
                return stopped.run_on();
            }
            copy => wait(copy),
        }
    }
}

/// Draws until the next request refills the buffer.
fn begin() {
    const BUFFER: std::ops::Range<usize> = 64..WORDS;
    static SEEDED_UNDER: AtomicU64 = AtomicU64::new(0);
    use_records();
    rewrite_own_record();
    for _ in 0..100 {
        squall::u64();
    }
    while words_of_page(0, BUFFER.end)[BUFFER]
        .iter()
        .any(|&word| word != 0)
    {
        squall::u64();
    }
    // From here on the kernel seems never to reseed.
    SEEDED_UNDER.store(generations_for_testing().0, Ordering::Relaxed);
    watch_generation_at_for_testing(&SEEDED_UNDER);
    step_through(|| (), |_| ());
}

/// Whether a copy's page had these bytes when it began: then they were not taken yet.
fn was_in_page(drawn: &Draw) -> bool {
    let page = PAGE.lock().unwrap();
    let words = drawn.as_chunks().0.iter().copied().map(u64::from_ne_bytes);
    let words: Vec<u64> = words.collect();
    page.windows(words.len()).any(|window| window == words)
}

/// Copies of a machine that was stopped in a request are seeded anew, and serve nothing twice but what the request had taken
/// and was about to return, past its check.
pub fn clone_of_kvm_in_a_request() -> Verdict {
    begin();
    let (reader, writer) = pipe().unwrap();
    let collector = std::thread::spawn(move || receive(reader));
    // The stops of a request, and of these those before it read the CPU's number for the last time.
    let mut checked = Vec::new();
    for number in 0..REQUESTS {
        IS_SHORT.store(number > 0, Ordering::Relaxed);
        let mut drawn = Draw::default();
        step_on(|| drawn = squall::array(), stop_at);
        if IS_CHILD.load(Ordering::Relaxed) {
            let mut head = Draw::default();
            let draws = [drawn, squall::array(), squall::array()];
            head[..8].copy_from_slice(&STOPS.load(Ordering::Relaxed).to_ne_bytes());
            head[8] = (reseeds_for_testing() != SEEDINGS.load(Ordering::Relaxed)).into();
            head[9] = was_in_page(&drawn).into();
            send(&writer, &[head, draws[0], draws[1], draws[2]]);
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
        let [last_number, stops] =
            [&LAST_NUMBER, &STOPS].map(|count| count.load(Ordering::Relaxed));
        checked.push(last_number..stops);
    }
    drop(writer);
    let was_served = |stop| {
        checked
            .iter()
            .any(|after| after.start < stop && stop <= after.end)
    };
    judge_copies(&collector.join().unwrap(), was_served)
}

fn judge_copies(reports: &[Draw], was_served: impl Fn(u64) -> bool) -> Verdict {
    let (reports, []) = reports.as_chunks::<{ 1 + COMPARED }>() else {
        panic!("{} draws", reports.len())
    };
    let mut reports = reports.to_vec();
    reports.sort_unstable();
    let (copies, []) = reports.as_chunks::<2>() else {
        panic!("{} copies", reports.len())
    };
    assert!(copies.len() > 50, "{} stops", copies.len());
    let repeats = |copies: &&[[Draw; 1 + COMPARED]; 2]| {
        let [one, other] = copies;
        assert_eq!(one[0][..8], other[0][..8]);
        let stop = u64::from_ne_bytes(*one[0].first_chunk().unwrap());
        let was_taken = one[0][9] == 0 && other[0][9] == 0;
        let first = 1 + usize::from(was_taken && was_served(stop));
        one[0][8] == 0 || (first..=COMPARED).any(|at| one[at] == other[at])
    };
    match copies.iter().find(repeats) {
        None => Verdict::Held,
        Some([[stop, ..], _]) => Verdict::Broken(format!(
            "the copies of stop {stop:?} drew the same, or are not seeded anew"
        )),
    }
}
