//! Measures how squall changes the speed of real programs, each with and without it, in turns.
//!
//! `cargo run --release -p squall-testing [ROUNDS]`. Programs that are not installed are reported and
//! left out.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use squall_testing::programs::{nginx::Nginx, openssl, postgres::Postgres, python, ssh};
use squall_testing::workspace::{Way, Workspace};
use squall_tools::measure::contest::{Batch, Budget, Contestant, Outcome, in_turns};
use squall_tools::measure::{Orders, Spread, interval_of_median, machine};

/// Default number of rounds.
const ROUNDS: usize = 9;

/// The same operation without squall and with it. Both return nanoseconds per operation.
type Pair<'a> = [Box<dyn FnMut() -> Result<f64, String> + 'a>; 2];

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
    for (title, pair) in pairs(&workspace) {
        match pair {
            Ok(pair) => show(title, pair, rounds),
            Err(why) => println!("{title:44} not measured: {why}"),
        }
    }
    ExitCode::SUCCESS
}

/// Measures both contestants in turns, and prints a line.
fn show(title: &str, [mut without, mut with]: Pair, rounds: usize) {
    let mut contestants = [
        Contestant::new("without", |_| without()),
        Contestant::new("with", |_| with()),
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

/// Measures without squall and with `interface`.
fn both<'a, T>(
    interface: Way,
    mut begin: impl FnMut(Way) -> Result<T, String>,
    measure: impl Fn(&mut T, Way) -> Result<f64, String> + Copy + 'a,
) -> Result<Pair<'a>, String>
where
    T: 'a,
{
    let mut without = begin(Way::Plain)?;
    let mut with = begin(interface)?;
    measure(&mut without, Way::Plain)?;
    measure(&mut with, interface)?;
    Ok([
        Box::new(move || measure(&mut without, Way::Plain)),
        Box::new(move || measure(&mut with, interface)),
    ])
}

/// Nanoseconds per operation; `call` does `count` of them.
fn time<T>(count: u64, call: impl FnOnce() -> Result<T, String>) -> Result<f64, String> {
    let clock = Instant::now();
    call()?;
    Ok(clock.elapsed().as_nanos() as f64 / count as f64)
}

fn pairs<'a>(workspace: &'a Workspace) -> Vec<(&'static str, Result<Pair<'a>, String>)> {
    use Way::{Preloaded, Provided};
    let nothing = |_| Ok(());
    let python = |index: usize| {
        both(Preloaded, nothing, move |_, way| {
            Ok(python::times(workspace, way, 100_000)?[index])
        })
    };
    const LEN: u64 = 256 << 20;
    vec![
        ("python3: os.urandom(16)", python(0)),
        ("python3: uuid.uuid4()", python(1)),
        (
            "openssl rand, a MiB (of 256)",
            both(Provided, nothing, move |_, way| {
                time(LEN >> 20, || openssl::random(workspace, way, LEN))
            }),
        ),
        (
            "openssl genpkey, P-256",
            both(Provided, nothing, move |_, way| {
                time(1, || openssl::key(workspace, way))
            }),
        ),
        (
            "ssh-keygen, ed25519",
            both(Preloaded, nothing, move |_, way| {
                let made = time(1, || ssh::key(workspace, way, "ed25519", "measured"));
                for name in ["measured", "measured.pub"] {
                    let _ = std::fs::remove_file(workspace.path(name));
                }
                made
            }),
        ),
        ("sshd: a login", logins(workspace)),
        (
            "nginx: a TLS handshake (1 worker, wrk)",
            both(
                Provided,
                |way| Nginx::start(workspace, way, 1),
                |nginx, _| Ok(1e9 / nginx.load(3)?.rate),
            ),
        ),
        (
            "PostgreSQL: gen_random_uuid() in a million rows",
            both(
                Provided,
                |way| Postgres::start(workspace, way),
                |postgres, _| {
                    const ROWS: u64 = 1_000_000;
                    let query =
                        format!("SELECT count(gen_random_uuid()) FROM generate_series(1, {ROWS})");
                    time(ROWS, || Ok(postgres.query(&query)))
                },
            ),
        ),
    ]
}

fn logins<'a>(workspace: &'a Workspace) -> Result<Pair<'a>, String> {
    both(
        Way::Preloaded,
        |way| ssh::Ssh::start(workspace, way),
        |server, _| time(1, || Ok(server.run("true"))),
    )
}
