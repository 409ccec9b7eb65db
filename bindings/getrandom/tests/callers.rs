//! Which crates' requests arrive here. A child process draws by each of them, and reads the counters before
//! and after.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;

use rand::TryRng as _;
use rand_09::TryRngCore as _;
use squall_binding_base::counters::{self, Interface};
use squall_testing::artifacts;
use squall_testing::suite::Test;
use squall_testing::{tests, workspace};

pub const TESTS: &[Test] = tests![
    crates_are_reached_as_documented,
    the_preload_library_serves_what_is_left,
    without_counters_the_requests_arrive_too,
];

/// If this variable is set, this program draws by every caller.
const CHILD: &str = "SQUALL_TEST_CALLERS";

/// How often the child draws by each caller.
const DRAWS: u64 = 10;

type Draw = fn();

const CALLERS: [(&str, Draw); 8] = [
    ("squall", || drop(squall::bytes(1 << 20))),
    ("libc", || {
        let mut out = [0; 16];
        // SAFETY: the array is writable for its length.
        let count = unsafe { libc::getrandom(out.as_mut_ptr().cast(), out.len(), 0) };
        assert_eq!(count, 16);
    }),
    ("getrandom 0.4", || {
        getrandom::fill(&mut [0; 16]).expect("bytes");
    }),
    ("getrandom 0.3", || {
        getrandom_03::fill(&mut [0; 16]).expect("bytes");
    }),
    ("getrandom 0.2", || {
        getrandom_02::getrandom(&mut [0; 16]).expect("bytes");
    }),
    ("uuid", || {
        assert_eq!(uuid::Uuid::new_v4().get_version_num(), 4);
    }),
    ("rand 0.10", || {
        rand::rngs::SysRng.try_next_u64().expect("a number");
    }),
    ("rand 0.9", || {
        rand_09::rngs::OsRng.try_next_u64().expect("a number");
    }),
];

/// Whether this process was started by [`served`].
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Draws by every caller, and prints how many requests the counters say were served.
pub fn draw_and_count() {
    assert!(squall_getrandom::is_active());
    let Some(file) = std::env::var_os(counters::VARIABLE).map(PathBuf::from) else {
        CALLERS.iter().for_each(|(_, draw)| draw());
        return;
    };
    for (name, draw) in CALLERS {
        println!(
            "{name}: {}",
            counted(&file, || (0..DRAWS).for_each(|_| draw()))
        );
    }
    // The standard library draws once for each thread.
    let hash = || RandomState::new().hash_one(0);
    println!(
        "HashMap: {}",
        counted(&file, || {
            let on_a_thread = || std::thread::spawn(hash).join().expect("a hash");
            (0..DRAWS).for_each(|_| {
                on_a_thread();
            });
        })
    );
}

/// How many requests are served during `work`.
fn counted(file: &Path, work: impl FnOnce()) -> u64 {
    let requests = || {
        let totals = counters::read(file).expect("counters");
        totals.count(Interface::Getrandom).requests
    };
    let before = requests();
    work();
    requests() - before
}

/// How many requests of each caller are served in a child process, with this library preloaded.
fn served(preload: Option<PathBuf>) -> BTreeMap<String, u64> {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.env(CHILD, "1").env_remove("LD_PRELOAD");
    child.envs(preload.map(|library| ("LD_PRELOAD", library)));
    let (printed, _) = workspace::counted(&mut child);
    let lines = printed
        .lines()
        .map(|line| line.split_once(": ").expect("a count"));
    lines
        .map(|(name, count)| (name.to_owned(), count.parse().expect("a number")))
        .collect()
}

/// Some crates first try a request of no bytes.
#[track_caller]
fn assert_served(name: &str, count: u64, is_reached: bool) {
    let expected = if is_reached { DRAWS..=DRAWS + 1 } else { 0..=0 };
    assert!(expected.contains(&count), "{name}: {count}");
}

/// Callers that do not call `getrandom` by its name.
const NOT_REACHED: [&str; 2] = ["getrandom 0.2", "squall"];

fn crates_are_reached_as_documented() {
    let served = served(None);
    assert_eq!(served.len(), CALLERS.len() + 1);
    for (name, count) in served {
        assert_served(&name, count, !NOT_REACHED.contains(&name.as_str()));
    }
}

/// It replaces syscall(2) too, by which getrandom 0.2 draws. Only squall goes past both.
fn the_preload_library_serves_what_is_left() {
    for (name, count) in served(Some(artifacts::preload())) {
        assert_served(&name, count, name != "squall");
    }
}

fn without_counters_the_requests_arrive_too() {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    let status = child
        .env(CHILD, "1")
        .env_remove(counters::VARIABLE)
        .status()
        .expect("it runs");
    assert!(status.success());
}
