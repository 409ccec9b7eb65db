//! What squall set out to reach, judged by a run: a line a target.
//!
//! The targets were set on a newer core (Zen 5) before other machines were measured.

use crate::report::model::{Figure, Report, Verdict, Workload, workload};
use crate::sources;
use squall_tools::measure::Spread;

use Limit::{AtLeast, AtMost, Extra, Slowdown};

/// What a figure is compared with, and how.
#[derive(Clone, Copy)]
enum Limit {
    /// At least so many times as fast as the peer.
    AtLeast(f64),
    /// At most this part of the peer's time.
    AtMost(f64),
    /// At most so many microseconds more than the peer.
    Extra(f64),
    /// At most so many times the time of another point of the same source.
    Slowdown(f64),
}

/// A workload, a place in it, a source, the peer with its place, and the limit.
struct Target {
    workload: &'static str,
    ours: (&'static str, u64),
    theirs: (&'static str, u64),
    limit: Limit,
}

const fn target(
    workload: &'static str,
    ours: (&'static str, u64),
    theirs: (&'static str, u64),
    limit: Limit,
) -> Target {
    Target {
        workload,
        ours,
        theirs,
        limit,
    }
}

const KIB16: u64 = 16 << 10;
const LONG: u64 = 256 << 20;
const FILL: &str = workload::FILL;
const WORDS: &str = workload::WORDS;

#[rustfmt::skip]
const TARGETS: &[Target] = &[
    target(FILL, ("aes128-vaes512", KIB16), ("openssl-aes128-ctr", KIB16), AtLeast(4.0)),
    target(FILL, ("aes256-vaes512", KIB16), ("openssl-aes256-ctr", KIB16), AtLeast(4.0)),
    target(FILL, ("aes128-aesni", KIB16), ("openssl-aes128-ctr", KIB16), AtLeast(1.0)),
    target(FILL, ("aes256-aesni", KIB16), ("openssl-aes256-ctr", KIB16), AtLeast(1.0)),
    target(FILL, ("chacha20-erasing", KIB16), ("openssl-chacha20", KIB16), AtLeast(1.0)),
    target(FILL, ("squall", KIB16), ("aes256-vaes512", KIB16), AtLeast(0.85)),
    target(FILL, ("squall", KIB16), ("urandom", KIB16), AtLeast(50.0)),
    target(FILL, ("squall", LONG), ("memset", LONG), AtLeast(0.4)),
    target(FILL, ("squall", 16), ("thread-rng", 16), AtMost(0.5)),
    target(FILL, ("squall", 32), ("thread-rng", 32), AtMost(0.5)),
    target(FILL, ("squall-preloaded", 16), ("vdso", 16), AtLeast(5.0)),
    target(FILL, ("squall-preloaded", 16), ("getrandom", 16), AtLeast(20.0)),
    target(FILL, ("squall-openssl", 16), ("openssl-rand", 16), AtLeast(5.0)),
    target(WORDS, ("squall", 4), ("thread-rng-call", 4), AtMost(0.6)),
    target(WORDS, ("squall", 8), ("thread-rng-call", 8), AtMost(0.5)),
    target(WORDS, ("squall", 4), ("vdso", 4), AtLeast(12.0)),
    target(workload::START, ("squall", 32), ("getrandom", 32), Extra(50.0)),
    target(workload::PIPE, ("squall-stream", 64 << 10), ("openssl-enc", 64 << 10), AtLeast(3.0)),
    target(workload::THREADS_SMALL, ("squall", 2), ("squall", 1), AtLeast(1.9)),
    target(workload::THREADS_LARGE, ("squall", 2), ("squall", 1), AtLeast(1.9)),
];

/// What became of each target of which everything was measured.
pub fn of(report: &Report) -> Vec<Verdict> {
    let crowds = [workload::THREADS_SMALL, workload::THREADS_LARGE];
    let crowds = crowds.into_iter().flat_map(|name| crowded(report, name));
    let fixed = TARGETS.iter().filter_map(|target| judge(report, target));
    fixed.chain(crowds).chain(firsts(report)).collect()
}

fn judge(report: &Report, target: &Target) -> Option<Verdict> {
    let workload = report.workload(target.workload)?;
    let [ours, theirs] = [target.ours, target.theirs]
        .map(|(source, at)| workload.point(source, at).map(|point| &point.ns));
    let axis = |at| format!("{at} {}", workload.axis);
    let subject = format!(
        "{}: {}, {}",
        workload.title,
        target.ours.0,
        axis(target.ours.1)
    );
    let peer = match target.ours.0 == target.theirs.0 {
        true => axis(target.theirs.1),
        false => target.theirs.0.to_owned(),
    };
    Some(target.limit.judge(&subject, &peer, ours?, theirs?))
}

/// No slowdown past the cores: the largest number of threads against as many as there are CPUs.
fn crowded(report: &Report, name: &str) -> Option<Verdict> {
    let cpus = report.machine.cpus as u64;
    let workload = report.workload(name)?;
    let most = *workload.places().last()?;
    let [crowd, cores] = [most, cpus].map(|at| workload.point("squall", at).map(|point| &point.ns));
    let subject = format!("{}: squall, {most} threads", workload.title);
    let peer = format!("{cpus} threads");
    (most > cpus).then_some(())?;
    Some(Slowdown(1.1).judge(&subject, &peer, crowd?, cores?))
}

/// First in every row of every workload among the sources that are fit for secrets. Nothing is said
/// of a run of chosen sources, or of one that is too noisy to tell who is first.
fn firsts(report: &Report) -> Option<Verdict> {
    let is_whole = report.complete
        && report.sources.len() == sources::all().count()
        && report.workloads.len() == WORKLOADS;
    (is_whole && report.noise.warning.is_none()).then_some(())?;
    let rows = report.workloads.iter().flat_map(|workload| {
        let places = workload.places().into_iter();
        places.map(move |at| (workload, at))
    });
    let (mut first, mut level, mut behind) = (0, Vec::new(), Vec::new());
    for (workload, at) in rows {
        let winner = report.winner(workload, at)?;
        let row = format!("{} at {at} ({winner})", workload.name);
        match lag(workload, at, winner) {
            _ if OURS.contains(&winner) => first += 1,
            Some(lag) if lag <= LEVEL => level.push(row),
            _ => behind.push(row),
        }
    }
    let told = |rows: &[String]| match rows {
        [] => "none".to_owned(),
        rows => rows.join(", "),
    };
    Some(Verdict {
        target: "squall first in every row of every workload, among sources fit for secrets".into(),
        measured: format!(
            "first in {first}; less than {:.0} % behind: {}; behind: {}",
            (LEVEL - 1.0) * 100.0,
            told(&level),
            told(&behind)
        ),
        met: level.is_empty() && behind.is_empty(),
    })
}

/// Workloads of a whole run.
const WORKLOADS: usize = 10;

/// What is called level, in times of the winner's time.
const LEVEL: f64 = 1.03;

/// The best of squall's times as a part of the winner's; none if squall is not in the row.
fn lag(workload: &Workload, at: u64, winner: &str) -> Option<f64> {
    let winner = workload.point(winner, at)?;
    let ours = OURS.iter().filter_map(|own| workload.point(own, at));
    ours.map(|own| winner.ns.speedup_over(&own.ns).median)
        .reduce(f64::min)
}

/// What squall is called where it competes.
const OURS: [&str; 2] = ["squall", "squall-stream"];

impl Limit {
    fn judge(self, subject: &str, peer: &str, ours: &Figure, theirs: &Figure) -> Verdict {
        let speedup = ours.speedup_over(theirs);
        let part = theirs.speedup_over(ours);
        let extra = (ours.median - theirs.median) / 1e3;
        let spread = |spread: Spread| {
            let Spread { low, median, high } = spread;
            format!("{median:.2} × ({low:.2} to {high:.2})")
        };
        let (limit, measured, met) = match self {
            AtLeast(least) => (
                format!("at least {least} × as fast as {peer}"),
                spread(speedup),
                speedup.median >= least,
            ),
            AtMost(most) => (
                format!("at most {most} × the time of {peer}"),
                spread(part),
                part.median <= most,
            ),
            Extra(most) => (
                format!("at most {most} µs more than {peer}"),
                format!("{extra:+.1} µs"),
                extra <= most,
            ),
            Slowdown(most) => (
                format!(
                    "no slower than {peer} (within {:.0} %)",
                    (most - 1.0) * 100.0
                ),
                spread(part),
                part.median <= most,
            ),
        };
        let times = [ours, theirs].map(|figure| squall_tools::units::time(figure.median));
        Verdict {
            target: format!("{subject}: {limit}"),
            measured: format!("{measured}: {} against {}", times[0], times[1]),
            met,
        }
    }
}
