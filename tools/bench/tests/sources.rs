//! Every source: how it is looked at before it is measured, experiments with new processes, and what entries claim about
//! forks.

use std::collections::HashSet;
use std::io::{self, PipeWriter, Read, Write};
use std::thread;
use std::time::Duration;

use squall_bench::child::Work;
use squall_bench::processes::{LENGTHS, contestants, pipe_contestants, program_contestants};
use squall_bench::sources::{self, Draw, FilledBy, NOTHING, Opened, RunsIn, check, filled_by};
use squall_testing::suite::Test;
use squall_testing::tests;
use squall_tool_base::Failure;
use squall_tool_base::failure::cause;
use squall_tool_base::measure::contest::Contestant;
use squall_tool_base::measure::fork;

use crate::child;

pub const TESTS: &[Test] = tests![
    names_are_unique_and_plain,
    sources_of_this_process_give_bytes,
    good_bytes_pass,
    numbers_are_looked_at_too,
    impossible_bytes_are_named,
    first_bytes_are_timed,
    only_a_child_that_should_draw_does,
    blocks_come_through_a_pipe,
    programs_write,
    a_source_that_gives_nothing_is_a_failure,
    what_is_not_there_is_a_failure,
    what_entries_claim_about_forks_is_true,
];

fn names_are_unique_and_plain() {
    let mut seen = HashSet::new();
    for entry in sources::all() {
        let name = entry.name;
        assert!(seen.insert(name), "{name}");
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(is_plain), "{name}");
        assert!(!entry.explained.is_empty(), "{name}");
    }
}

/// Everything that opens here gives other bytes each time, or says that it does not.
fn sources_of_this_process_give_bytes() {
    let here = sources::all().filter(|entry| entry.runs_in == RunsIn::ThisProcess);
    let opened = here.filter_map(|entry| Some((entry.name, (entry.open)().ok()?)));
    let mut found = 0;
    for (name, mut source) in opened {
        let mut samples = [[0; 64]; 2];
        for sample in &mut samples {
            source.sample(sample).expect("bytes");
        }
        assert!(samples[0] != samples[1] || name == "memset", "{name}");
        found += 1;
    }
    assert!(found >= 10, "{found}");
}

fn complaint(mut draw: impl Draw) -> Option<String> {
    check(&mut draw).expect("bytes")
}

fn good_bytes_pass() {
    for _ in 0..20 {
        assert_eq!(complaint(FilledBy(squall::fill)), None);
    }
}

/// A source whose numbers are made by other code than its bytes.
struct Counting(u32);

impl Draw for Counting {
    fn fill(&mut self, out: &mut [u8]) {
        squall::fill(out);
    }

    fn u32(&mut self) -> u32 {
        self.0 = (self.0 + 1) % 4;
        self.0
    }
}

fn numbers_are_looked_at_too() {
    let complaint = complaint(Counting(0)).expect("a complaint");
    assert!(complaint.starts_with("numbers: it repeated"), "{complaint}");
}

fn impossible_bytes_are_named() {
    let of = |fill: &mut dyn FnMut(&mut [u8])| complaint(FilledBy(fill)).expect("a complaint");
    assert!(of(&mut |out| out.fill(0)).contains("0x00"));
    let fixed: [u8; 4096] = squall::array();
    let repeated = of(&mut |out| out.copy_from_slice(&fixed[..out.len()]));
    assert!(repeated.contains("repeated"));
    let biased = of(&mut |out| {
        squall::fill(out);
        out.iter_mut().for_each(|byte| *byte &= 0x7f);
    });
    // 7 of 16, about.
    let is_near = ["43.", "44."].iter().any(|start| biased.starts_with(start));
    assert!(is_near && biased.ends_with("are ones"), "{biased}");
}

/// No sleep is shorter than this; how much longer it takes depends on the machine.
const SLEEP: Duration = Duration::from_millis(5);

/// The sources of children.
pub fn open(name: &str) -> Opened {
    let parent = std::process::id();
    match name {
        "slow" => filled_by(|out: &mut [u8]| {
            thread::sleep(SLEEP);
            squall::fill(out);
        }),
        "constant" => filled_by(|out: &mut [u8]| out.fill(7)),
        "idle" => filled_by(|_: &mut [u8]| ()),
        "fails-in-a-child" => filled_by(move |out: &mut [u8]| {
            if std::process::id() != parent {
                std::process::abort();
            }
            squall::fill(out);
        }),
        "missing" => Err("libidle is not\ninstalled".into()),
        _ => sources::open(name),
    }
}

/// What one run of each of `contestants` gives.
fn run(contestants: Vec<Contestant>) -> Vec<Result<f64, String>> {
    let contestants = contestants.into_iter();
    contestants.map(|mut it| (it.batch)(1)).collect()
}

fn times(contestants: Vec<Contestant>) -> Vec<f64> {
    let times: Result<Vec<f64>, String> = run(contestants).into_iter().collect();
    let times = times.expect("they run");
    assert!(times.iter().all(|ns| *ns > 0.0), "{times:?}");
    times
}

fn first_bytes_are_timed() {
    let contestants = contestants(Work::FirstBytes, &[NOTHING, "squall", "slow"], 32);
    assert!(times(contestants)[2] >= SLEEP.as_nanos() as f64);
}

fn only_a_child_that_should_draw_does() {
    let forks = |source, bytes| run(contestants(Work::Forks, &[source], bytes)).remove(0);
    let drawn = forks("slow", 32).expect("it runs");
    assert!(drawn >= SLEEP.as_nanos() as f64);
    assert!(forks("fails-in-a-child", 32).is_err());
    assert!(forks("fails-in-a-child", 0).is_ok());
}

fn blocks_come_through_a_pipe() {
    for len in LENGTHS {
        times(pipe_contestants(&[NOTHING, "squall"], len, 4 << 20));
    }
    let constant = run(pipe_contestants(&["constant"], 512, 1 << 20)).remove(0);
    assert!(constant.expect_err("one byte").contains("over and over"));
}

/// This test is not `squall`, and so is not taken for `squall stream`.
fn programs_write() {
    let contestants = program_contestants(4096, 1 << 20);
    let names: Vec<&str> = contestants
        .iter()
        .map(|contestant| &*contestant.name)
        .collect();
    assert!(names.contains(&"dd-urandom") && !names.contains(&"squall-stream"));
    times(contestants);
}

fn a_source_that_gives_nothing_is_a_failure() {
    let idle = run(contestants(Work::FirstBytes, &["idle"], 32)).remove(0);
    assert!(idle.expect_err("no bytes").contains("it returned no bytes"));
}

fn what_is_not_there_is_a_failure() {
    let names = ["none"];
    let experiments = [Work::FirstBytes, Work::Forks];
    let contestants = experiments
        .into_iter()
        .flat_map(|it| contestants(it, &names, 0));
    let contestants = contestants
        .chain(pipe_contestants(&names, 512, 1))
        .collect();
    assert!(run(contestants).iter().all(Result::is_err));
}

/// In a process of one thread, as no lock may be held by another one.
fn what_entries_claim_about_forks_is_true() {
    let output = child(crate::REPEATS).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

const LEN: usize = 256;

/// What is compared: as long as two draws never are alike by chance.
const BLOCK: usize = 16;

/// Seconds after which a child that does not come back from drawing is ended.
const TIMEOUT: u32 = 300;

/// Whether a forked child of this process draws bytes that the process itself draws: any 16 of
/// `LEN` of them. The process draws first, so that there is something to inherit.
///
/// With more threads than one, `draw` is to take no lock that another may hold.
///
/// # Errors
/// The child did not come back with its bytes, or there are none: the buffer was left as it was.
fn repeats_in_child(draw: &mut dyn FnMut(&mut [u8])) -> Result<bool, Failure> {
    let drawn = draw_in_both(draw);
    let [own, of_child] = drawn.map_err(|error| failure(&cause(&error)))?;
    if [own, of_child].contains(&[0; LEN]) {
        return Err(failure("no bytes were drawn"));
    }
    let own = own.as_chunks::<BLOCK>().0;
    let of_child = of_child.as_chunks::<BLOCK>().0;
    Ok(of_child.iter().any(|block| own.contains(block)))
}

/// What this process draws after the fork, and what the child does.
fn draw_in_both(draw: &mut dyn FnMut(&mut [u8])) -> io::Result<[[u8; LEN]; 2]> {
    let (mut own, mut of_child) = ([0; LEN], [0; LEN]);
    draw(&mut own[..BLOCK]);
    let (mut reader, writer) = io::pipe()?;
    let forked = fork::fork(|| draw_for(draw, &writer))?;
    drop(writer);
    own.fill(0);
    draw(&mut own);
    let received = reader.read_exact(&mut of_child);
    forked.wait()?;
    received.map(|()| [own, of_child])
}

/// Draws, and writes it to the parent.
fn draw_for(draw: &mut dyn FnMut(&mut [u8]), mut parent: &PipeWriter) -> bool {
    // SAFETY: alarm has no preconditions; a fork inherits no alarm.
    unsafe { libc::alarm(TIMEOUT) };
    let mut out = [0; LEN];
    draw(&mut out);
    parent.write_all(&out).is_ok()
}

fn failure(cause: &str) -> Failure {
    Failure::Runtime(format!("what a forked child draws: {cause}"))
}

/// No source of this process that is called fit for secrets repeats itself in a forked child. Those
/// whose caveat says that they do are the control.
pub fn check_forks() {
    let (mut kept, mut repeated) = (0, 0);
    assert!(repeats_in_child(&mut |_| ()).is_err());
    for entry in sources::all().filter(|entry| entry.runs_in == RunsIn::ThisProcess) {
        let Ok(mut source) = (entry.open)() else {
            continue;
        };
        let draw = &mut |out: &mut [u8]| source.fill(out).expect("a source that works");
        let is_claimed = entry
            .caveat
            .starts_with("a forked child and a VM clone repeat it");
        if entry.secure || is_claimed {
            let repeats = repeats_in_child(draw).expect("a child");
            assert_eq!(repeats, !entry.secure, "{}", entry.name);
            *if repeats { &mut repeated } else { &mut kept } += 1;
        }
    }
    assert!(kept >= 5 && repeated >= 5, "{kept} {repeated}");
    // A buffer that is used up after the first block: 16 bytes of it are the same.
    let mut inherited = vec![7; 32];
    let draw = &mut |out: &mut [u8]| {
        squall::fill(out);
        let len = inherited.len().min(out.len()).min(16);
        out[..len].copy_from_slice(&inherited[..len]);
        inherited.drain(..len);
    };
    assert!(repeats_in_child(draw).expect("a child"));
}
