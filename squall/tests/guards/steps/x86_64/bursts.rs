//! Stops the machine after the instructions of small requests, and lets two copies of it go on.
//!
//! The copies read equal cycle counts, so only the random instruction tells them apart. To that end the
//! handler reads the counter in the CPU's place: it counts instructions, and a stop adds a pause.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use squall::testing::{generations_for_testing, set_gap_for_testing};

use super::*;
use crate::clones::leave_delayed_notification;
use crate::outputs::wait;
use crate::stack::words_of_page;

const GAP: u64 = 1 << 40;
const PAUSE: u64 = 1 << 50;

/// Requests in a burst, of which the first refills the buffer.
const REQUESTS: usize = 3;

/// Requests of a copy that are compared: the one that the stop interrupted, and two more.
const COMPARED: usize = 3;

type Words = [u64; 2];

/// The cycle counter. It begins long after the last reading of the CPU's own.
static COUNTER: AtomicU64 = AtomicU64::new(1 << 62);
/// Readings of the counter since the stop, or since the request began.
static READINGS: AtomicUsize = AtomicUsize::new(0);
/// Whether the random instruction gives no words.
static IS_EXHAUSTED: AtomicBool = AtomicBool::new(false);
/// The number of the last stop, and in a copy the page at that stop.
static STOP: Mutex<(u64, Vec<u64>)> = Mutex::new((0, Vec::new()));

/// Executes the next instructions in the CPU's place if they read the counter, or the random instruction
/// while it gives no words. Calls `around` before and after each reading.
fn count(stopped: &mut Stopped, around: fn()) {
    loop {
        let now = COUNTER.fetch_add(1, Ordering::Relaxed);
        let registers = &mut stopped.context.uc_mcontext.gregs;
        let next = registers[libc::REG_RIP as usize] as *const u8;
        // SAFETY: the bytes after an instruction's first are read only if it has them.
        let at = |index| unsafe { *next.add(index) };
        let is_rdtsc = at(0) == 0x0f && at(1) == 0x31;
        let is_rdtscp = at(0) == 0x0f && at(1) == 0x01 && at(2) == 0xf9;
        let is_rdrand =
            || at(0) & 0xf8 == 0x48 && at(1) == 0x0f && at(2) == 0xc7 && at(3) & 0xf8 == 0xf0;
        if is_rdtsc || is_rdtscp {
            around();
            READINGS.fetch_add(1, Ordering::Relaxed);
            // In a copy, the pause came before this instruction.
            let now = now.max(COUNTER.load(Ordering::Relaxed));
            registers[libc::REG_RAX as usize] = (now & 0xffff_ffff) as i64;
            registers[libc::REG_RDX as usize] = (now >> 32) as i64;
            registers[libc::REG_RIP as usize] += 2;
            if is_rdtscp {
                registers[libc::REG_RCX as usize] = 0;
                registers[libc::REG_RIP as usize] += 1;
            }
            around();
        } else if IS_EXHAUSTED.load(Ordering::Relaxed) && is_rdrand() {
            let number = usize::from((at(0) & 1) << 3 | at(3) & 7);
            registers[BY_NUMBER[number] as usize] = 0;
            registers[libc::REG_EFL as usize] &= !CARRY;
            registers[libc::REG_RIP as usize] += 4;
        } else {
            return;
        }
    }
}

const CARRY: i64 = 1;

/// Registers by their numbers in instructions.
#[rustfmt::skip]
const BY_NUMBER: [libc::c_int; 16] = [
    libc::REG_RAX, libc::REG_RCX, libc::REG_RDX, libc::REG_RBX, libc::REG_RSP, libc::REG_RBP, libc::REG_RSI, libc::REG_RDI,
    libc::REG_R8, libc::REG_R9, libc::REG_R10, libc::REG_R11, libc::REG_R12, libc::REG_R13, libc::REG_R14, libc::REG_R15,
];

fn page() -> Vec<u64> {
    words_of_page(0, 4096 / size_of::<u64>())
}

fn has(page: &[u64], drawn: Words) -> bool {
    page.windows(2).any(|words| words == drawn)
}

/// Draws with `on_step` after each instruction. Returns the words, and whether they left as they were in the
/// page before.
fn request(on_step: fn(Stopped)) -> (Words, bool) {
    let before = page();
    let mut drawn = [0; 16];
    READINGS.store(0, Ordering::Relaxed);
    step_on(|| drawn = squall::array(), on_step);
    let drawn = drawn.as_chunks().0;
    let drawn = [0, 1].map(|word| u64::from_ne_bytes(drawn[word]));
    (drawn, has(&before, drawn))
}

/// A thread that moves to another CPU leaves its burst, which RDPID shows.
fn stay_on_this_cpu() {
    // SAFETY: the set is plain data, and this thread's own CPU is in it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

/// Draws until the next request refills the buffer.
fn begin() {
    const BUFFER_AT: usize = 512;
    static SEEDED_UNDER: AtomicU64 = AtomicU64::new(0);
    leave_delayed_notification();
    stay_on_this_cpu();
    set_gap_for_testing(GAP);
    // The second refill finds out how the counter is read.
    for _ in 0..100 {
        squall::u64();
    }
    while page()[BUFFER_AT / size_of::<u64>()..] != [0; (4096 - BUFFER_AT) / size_of::<u64>()] {
        squall::u64();
    }
    // From here on the kernel seems never to reseed.
    SEEDED_UNDER.store(generations_for_testing().0, Ordering::Relaxed);
    watch_generation_at_for_testing(&SEEDED_UNDER);
    step_through(|| (), |_| ());
}

/// Stops the machine after every 101st instruction, and before and after each reading of the counter.
fn stop_at(mut stopped: Stopped) {
    const APART: usize = 101;
    if stopped.step.is_multiple_of(APART) {
        stop();
    }
    count(&mut stopped, stop);
}

/// Stops the machine, unless it is a copy, and waits for two copies of it.
fn stop() {
    if IS_CHILD.load(Ordering::Relaxed) {
        return;
    }
    STOP.lock().unwrap().0 += 1;
    for _ in 0..2 {
        // SAFETY: this program's other thread holds no lock that the child needs.
        match unsafe { libc::fork() } {
            0 => {
                IS_CHILD.store(true, Ordering::Relaxed);
                COUNTER.fetch_add(PAUSE, Ordering::Relaxed);
                READINGS.store(0, Ordering::Relaxed);
                STOP.lock().unwrap().1 = page();
                return;
            }
            copy => wait(copy),
        }
    }
}

/// What a copy reports: its stop, whether the interrupted request was past its last reading and had taken its
/// bytes out of the page, and what it drew.
struct Report {
    stop: u64,
    was_served: bool,
    drawn: [Words; COMPARED],
}

impl Report {
    /// Goes on after the interrupted request, and reports.
    fn by_this_copy(interrupted: Words) -> Report {
        let readings = READINGS.load(Ordering::Relaxed);
        let (stop, page_then) = &*STOP.lock().unwrap();
        Report {
            stop: *stop,
            was_served: readings == 0 && !has(page_then, interrupted),
            drawn: std::array::from_fn(|number| match number {
                0 => interrupted,
                _ => request(stop_at).0,
            }),
        }
    }

    fn to_draws(&self) -> [Draw; 1 + COMPARED] {
        let head = [self.stop, self.was_served.into()];
        std::array::from_fn(|at| {
            let words = if at == 0 { head } else { self.drawn[at - 1] };
            *words
                .map(u64::to_ne_bytes)
                .as_flattened()
                .first_chunk()
                .unwrap()
        })
    }

    fn from_draws(draws: &[Draw; 1 + COMPARED]) -> Report {
        let words = draws
            .map(|draw| [0, 8].map(|at| u64::from_ne_bytes(*draw[at..].first_chunk().unwrap())));
        Report {
            stop: words[0][0],
            was_served: words[0][1] != 0,
            drawn: std::array::from_fn(|at| words[1 + at]),
        }
    }
}

/// Copies of a machine that was stopped in a burst, or in the refill that begins it, serve nothing twice but
/// what the interrupted request had taken before and was about to return.
pub fn stop_in_a_burst() -> Verdict {
    begin();
    let (reader, writer) = pipe().unwrap();
    let collector = std::thread::spawn(move || receive(reader));
    let mut is_unpadded = false;
    for _ in 0..REQUESTS {
        let interrupted;
        (interrupted, is_unpadded) = request(stop_at);
        if IS_CHILD.load(Ordering::Relaxed) {
            send(&writer, &Report::by_this_copy(interrupted).to_draws());
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) }
        }
    }
    drop(writer);
    assert!(is_unpadded, "the last request was not served in a burst");
    judge_copies(&collector.join().unwrap())
}

fn judge_copies(reports: &[Draw]) -> Verdict {
    let mut reports: Vec<Report> = reports
        .as_chunks()
        .0
        .iter()
        .map(Report::from_draws)
        .collect();
    reports.sort_by_key(|report| report.stop);
    let (copies, []) = reports.as_chunks::<2>() else {
        panic!("{} copies", reports.len())
    };
    assert!(copies.len() > 50, "{} stops", copies.len());
    let repeats = |copies: &&[Report; 2]| {
        let [one, other] = copies;
        assert_eq!(one.stop, other.stop);
        let was_served = usize::from(one.was_served && other.was_served);
        (was_served..COMPARED).any(|at| one.drawn[at] == other.drawn[at])
    };
    match copies.iter().find(repeats) {
        None => Verdict::Held,
        Some(copies) => Verdict::Broken(format!(
            "the copies of stop {} drew the same",
            copies[0].stop
        )),
    }
}

/// Whether a burst begins with a refill in which the random instruction `is_exhausted`.
fn burst_after_refill(is_exhausted: bool) -> Verdict {
    begin();
    let mut is_unpadded = false;
    for number in 0..REQUESTS {
        IS_EXHAUSTED.store(is_exhausted && number == 0, Ordering::Relaxed);
        (_, is_unpadded) = request(|mut stopped| count(&mut stopped, || ()));
    }
    if is_unpadded {
        Verdict::Broken("a burst began".to_owned())
    } else {
        Verdict::Held
    }
}

/// A refill without a word of the random instruction begins no burst.
pub fn refill_without_a_word() -> Verdict {
    burst_after_refill(true)
}

/// The control: with a word it does.
pub fn refill_with_a_word() -> Verdict {
    burst_after_refill(false)
}
