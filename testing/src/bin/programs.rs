//! Measures how squall changes the speed of real programs, each with and without it, in turns.
//!
//! `cargo run --release -p squall-testing [ROUNDS]`. Programs that are not installed are reported and
//! left out.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use squall_testing::programs::nginx::Nginx;
use squall_testing::programs::postgres::Postgres;
use squall_testing::programs::{
    NGINX, OPENSSL, POSTGRES, PYTHON, SSH_KEYGEN, SSHD, WRK, openssl, python, ssh,
};
use squall_testing::suite::Need;
use squall_testing::workspace::{Way, Workspace};
use squall_tool_base::measure::contest::{Batch, Budget, Contestant, Outcome, in_turns};
use squall_tool_base::measure::{Orders, Spread, interval_of_median, machine};

/// Default number of rounds.
const ROUNDS: usize = 9;

/// The same operation without squall and with it. Both return nanoseconds per operation.
type Pair<'a> = [Box<dyn FnMut() -> f64 + 'a>; 2];

/// What is measured, what the machine must have for it, and what makes the pair.
type Subject<'a> = (
    &'static str,
    &'static [Need],
    Box<dyn FnOnce() -> Pair<'a> + 'a>,
);

fn main() -> ExitCode {
    let rounds = match std::env::args().nth(1).map(|text| text.parse()) {
        None => ROUNDS,
        Some(Ok(rounds)) if rounds > 0 => rounds,
        Some(_) => {
            eprintln!("programs: the only argument is the number of rounds, for example {ROUNDS}");
            return ExitCode::from(2);
        }
    };
    println!("{}, {}, {rounds} rounds", machine::cpu(), machine::kernel());
    println!(
        "{:44} {:>12} {:>12}   with / without, median of rounds (95 % interval)",
        "ns an operation, medians", "without", "with squall"
    );
    let workspace = Workspace::without_counters();
    for (title, needs, pair) in subjects(&workspace) {
        match needs.iter().try_for_each(|need| (need.check)()) {
            Ok(()) => show(title, pair(), rounds),
            Err(why) => println!("{title:44} not measured: {why}"),
        }
    }
    ExitCode::SUCCESS
}

/// Measures both contestants in turns, and prints a line.
fn show(title: &str, [mut without, mut with]: Pair, rounds: usize) {
    let mut contestants = [
        Contestant::new("without", |_| Ok(without())),
        Contestant::new("with", |_| Ok(with())),
    ];
    let budget = Budget {
        least: rounds,
        most: rounds,
        time: Duration::ZERO,
        batch: Batch::Single,
    };
    let outcomes = in_turns(&mut contestants, budget, &mut Orders::default(), &|| true);
    let [Outcome::Samples(without), Outcome::Samples(with)] = &outcomes[..] else {
        println!("{title:44} failed: {outcomes:?}");
        return;
    };
    let ratios: Vec<f64> = with
        .iter()
        .zip(without)
        .map(|(with, without)| with / without)
        .collect();
    let [low, high] = interval_of_median(ratios.clone());
    println!(
        "{title:44} {:12.0} {:12.0}   {:.2} ({low:.2} to {high:.2})",
        Spread::of(without.clone()).median,
        Spread::of(with.clone()).median,
        Spread::of(ratios).median,
    );
    let _ = std::io::stdout().flush();
}

/// Begins and measures without squall and `with` it.
fn both<'a, T: 'a>(
    with: Way,
    begin: impl Fn(Way) -> T + 'a,
    measure: impl Fn(&mut T, Way) -> f64 + Copy + 'a,
) -> Box<dyn FnOnce() -> Pair<'a> + 'a> {
    Box::new(move || {
        [Way::Plain, with].map(|way| {
            let mut begun = begin(way);
            measure(&mut begun, way);
            Box::new(move || measure(&mut begun, way)) as Box<dyn FnMut() -> f64 + 'a>
        })
    })
}

/// Nanoseconds per operation; `call` does `count` of them.
fn time<T>(count: u64, call: impl FnOnce() -> T) -> f64 {
    let clock = Instant::now();
    call();
    clock.elapsed().as_nanos() as f64 / count as f64
}

fn subjects<'a>(workspace: &'a Workspace) -> Vec<Subject<'a>> {
    use Way::{Preloaded, Provided};
    let nothing = |_| ();
    let python = |index: usize| {
        both(Preloaded, nothing, move |_, way| {
            python::times(workspace, way, 100_000)[index]
        })
    };
    const LEN: u64 = 256 << 20;
    const ROWS: u64 = 1_000_000;
    vec![
        ("python3: os.urandom(16)", &[PYTHON], python(0)),
        ("python3: uuid.uuid4()", &[PYTHON], python(1)),
        (
            "openssl rand, a MiB (of 256)",
            &[OPENSSL],
            both(Provided, nothing, |_, way| {
                time(LEN >> 20, || openssl::random(workspace, way, LEN))
            }),
        ),
        (
            "openssl genpkey, P-256",
            &[OPENSSL],
            both(Provided, nothing, |_, way| {
                time(1, || openssl::key(workspace, way))
            }),
        ),
        (
            "ssh-keygen, ed25519",
            &[SSH_KEYGEN],
            both(Preloaded, nothing, |_, way| {
                let made = time(1, || ssh::key(workspace, way, "ed25519", "measured"));
                for name in ["measured", "measured.pub"] {
                    let _ = std::fs::remove_file(workspace.path(name));
                }
                made
            }),
        ),
        (
            "sshd: a login",
            &[SSHD, SSH_KEYGEN],
            both(
                Preloaded,
                |way| ssh::Ssh::start(workspace, way),
                |server, _| time(1, || server.run("true")),
            ),
        ),
        (
            "nginx: a TLS handshake (1 worker, wrk)",
            &[NGINX, OPENSSL, WRK],
            both(
                Provided,
                |way| Nginx::start(workspace, way, 1),
                |nginx, _| 1e9 / nginx.load(3),
            ),
        ),
        (
            "PostgreSQL: gen_random_uuid() in a million rows",
            &[POSTGRES],
            both(
                Provided,
                |way| Postgres::start(workspace, way),
                |postgres, _| {
                    let rows = format!("generate_series(1, {ROWS})");
                    let query = format!("SELECT count(gen_random_uuid()) FROM {rows}");
                    time(ROWS, || postgres.query(&query))
                },
            ),
        ),
    ]
}
