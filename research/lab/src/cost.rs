//! Measures what accumulators cost: inputs and outputs of Whirlwind, the robust PRNG and the old Linux RNG, and forks
//! of a process that has drawn, with the figures that Whirlwind's authors published.
//!
//! Generators take turns within a round, so other load on the machine affects all of them. A ratio is the median of
//! the rounds' ratios. Output by its length is a workload of `squall-lab bench`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use squall::entropy::whirlwind::{Functions, Whirlwind, WithDaviesMeyer, WithSha256, WithSha512};
use squall::entropy::{Accumulator, Input, Machine as _, ThisMachine};
use squall_bench::child::Work;
use squall_bench::processes;
use squall_bench::sources::NOTHING;
use squall_legacy_rng::Legacy;
use squall_robust_prng::Robust;
use squall_tool_base::columns::{columns, lines};
use squall_tool_base::measure::contest::{self, Batch, Budget, Contestant, Orders, Outcome};
use squall_tool_base::measure::machine::{cpu, kernel};
use squall_tool_base::measure::{Effort, Peer, Spread, in_turns, interval_of_median};
use squall_tool_base::{Failure, output, units};

/// Options of `squall-lab cost`.
#[derive(Debug, Args)]
pub struct CostArguments {
    /// Print one JSON object with stable snake_case keys; missing values are null
    ///
    /// Keys: cpu, kernel, release_build, quick and rows. Each of rows has operation, generator, the
    /// quartiles and the median of nanoseconds as low, median and high, ratio, and paper, what
    /// Whirlwind's authors published. ratio is null or has median and interval_95: the time
    /// divided by the old RNG's; for a fork, divided by that of a process that never drew. New keys may be added.
    #[arg(long)]
    pub json: bool,

    /// Run fewer rounds: a few seconds, with approximate figures
    #[arg(long)]
    pub quick: bool,
}

/// The complete report, as it is written to JSON.
#[derive(Debug, Serialize)]
struct CostReport {
    cpu: String,
    kernel: String,
    /// Whether this is a release build. Figures of other builds mean nothing.
    release_build: bool,
    quick: bool,
    rows: Vec<Row>,
}

/// What an operation takes with one generator.
#[derive(Debug, Serialize)]
struct Row {
    operation: String,
    generator: &'static str,
    #[serde(flatten)]
    ns: Spread,
    ratio: Option<Ratio>,
    paper: Option<&'static str>,
}

/// A time divided by another one, of the same rounds.
#[derive(Debug, Serialize)]
struct Ratio {
    median: f64,
    /// The 95 % confidence interval of the median.
    interval_95: [f64; 2],
}

/// How much to measure.
#[derive(Clone, Copy)]
struct Plan {
    operation: Effort,
    bootstraps: usize,
    forks: Effort,
}

/// Takes two minutes. Forks take half of that, because processes differ by more than the 1 % of a fork's time that
/// is to be resolved.
const FULL: Plan = Plan {
    operation: effort(41, 4_000),
    bootstraps: 1_000,
    forks: effort(401, 60_000),
};

/// Takes about 5 seconds.
const QUICK: Plan = Plan {
    operation: effort(5, 200),
    bootstraps: 50,
    forks: effort(5, 2_000),
};

const fn effort(rounds: usize, milliseconds: u64) -> Effort {
    Effort {
        rounds,
        time: Duration::from_millis(milliseconds),
    }
}

/// Measures and reports.
pub fn run(options: &CostArguments) -> Result<(), Failure> {
    let plan = if options.quick { QUICK } else { FULL };
    // Before this process has drawn or grown.
    let forks = forks(plan.forks)?;
    let mut rows = Generators::new()?.operations(plan.operation);
    rows.extend(bootstraps(plan.bootstraps));
    rows.extend(forks);
    let report = CostReport {
        cpu: cpu(),
        kernel: kernel(),
        release_build: !cfg!(debug_assertions),
        quick: options.quick,
        rows,
    };
    if options.json {
        output::print_json(&report)
    } else {
        output::print(&report.text())
    }
}

/// The generators, in the order of rows. The old RNG is what the others are compared with.
const WHIRLWIND: &str = "Whirlwind, SHA-512";
const WITH_SHA256: &str = "Whirlwind, SHA-256";
const WITH_DAVIES_MEYER: &str = "Whirlwind, Davies–Meyer";
const ROBUST: &str = "robust PRNG, n = 489";
const LEGACY: &str = "old RNG";

type Peers<'a> = Vec<(&'static str, Peer<'a>)>;

/// What the paper published of an operation: figures of kernels on its authors' machine.
type Paper = &'static [(&'static str, &'static str)];

/// The 16 bytes of an event, the same for all.
const INPUT: Input = Input {
    source: 7,
    cycles: 0x3243_f6a8,
    values: [0x0123_4567, 0x89ab_cdef],
};

/// As many whole bytes as an element of the robust PRNG holds.
const WIDE_INPUT: [u8; 489 / 8] = [0x5a; 489 / 8];

/// All generators, ready to use.
struct Generators {
    sha512: Whirlwind<WithSha512>,
    sha256: Whirlwind<WithSha256>,
    davies_meyer: Whirlwind<WithDaviesMeyer>,
    robust: Robust,
    legacy: LegacyPools,
}

impl Generators {
    fn new() -> Result<Generators, Failure> {
        const LEN: usize = Robust::ELEMENT_LEN;
        let robust = Robust::new(&squall::array::<LEN>(), &squall::array::<LEN>());
        let model = Legacy::new(&INPUT.to_bytes());
        model.draw_int_secret();
        Ok(Generators {
            sha512: whirlwind(),
            sha256: whirlwind(),
            davies_meyer: whirlwind(),
            robust: robust.map_err(|error| Failure::Runtime(format!("robust PRNG: {error}")))?,
            legacy: LegacyPools {
                model,
                jiffies: 0,
                process: std::process::id(),
            },
        })
    }

    fn operations(&mut self, effort: Effort) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |operation: &str, peers: Peers, paper: Paper| {
            let (names, peers): (Vec<_>, Vec<_>) = peers.into_iter().unzip();
            let samples = names.into_iter().zip(in_turns(peers, effort)).collect();
            rows.extend(of_samples(operation, samples, Some(LEGACY), paper));
        };
        add(
            "add-input",
            self.accumulators(event),
            &[(WHIRLWIND, "about 0.5 µs")],
        );
        add("16 bytes in", self.inputs(), &[]);
        add("61 bytes in", self.wide_inputs(), &[]);
        for (len, paper) in [
            (4, &[(WHIRLWIND, "10.3 ± 1.8 µs"), (LEGACY, "1.0 ± 0.5 µs")]),
            (16, &[(WHIRLWIND, "2.3 MB/s"), (LEGACY, "4.9 MB/s")]),
            (64, &[(WHIRLWIND, "9.3 MB/s"), (LEGACY, "9.0 MB/s")]),
            (256, &[(WHIRLWIND, "21.8 MB/s"), (LEGACY, "12.0 MB/s")]),
        ] {
            let peers = self.accumulators(|accumulator| output(accumulator, len));
            add(&format!("generate {len} bytes"), peers, paper);
        }
        rows
    }

    /// What `peer` does with each accumulator.
    fn accumulators<'a>(
        &'a mut self,
        peer: impl Fn(&'a mut dyn Accumulator) -> Peer<'a>,
    ) -> Peers<'a> {
        let accumulators: [(_, &mut dyn Accumulator); 5] = [
            (WHIRLWIND, &mut self.sha512),
            (WITH_SHA256, &mut self.sha256),
            (WITH_DAVIES_MEYER, &mut self.davies_meyer),
            (ROBUST, &mut self.robust),
            (LEGACY, &mut self.legacy),
        ];
        let accumulators = accumulators.into_iter();
        accumulators.map(|(name, it)| (name, peer(it))).collect()
    }

    /// The same 16 bytes for each: `add`, `refresh`, or mixing into the old RNG's input pool.
    fn inputs(&mut self) -> Peers<'_> {
        let input = INPUT.to_bytes();
        vec![
            (WHIRLWIND, add(&self.sha512)),
            (WITH_SHA256, add(&self.sha256)),
            (WITH_DAVIES_MEYER, add(&self.davies_meyer)),
            (ROBUST, refresh(&mut self.robust, input)),
            (LEGACY, mix(&self.legacy.model, input)),
        ]
    }

    /// Whirlwind takes inputs of 16 bytes only.
    fn wide_inputs(&mut self) -> Peers<'_> {
        vec![
            (ROBUST, refresh(&mut self.robust, WIDE_INPUT)),
            (LEGACY, mix(&self.legacy.model, WIDE_INPUT)),
        ]
    }
}

fn whirlwind<F: Functions>() -> Whirlwind<F> {
    let whirlwind = Whirlwind::default();
    whirlwind.bootstrap();
    whirlwind
}

/// An event, from reading the cycle counter on.
fn event(accumulator: &mut dyn Accumulator) -> Peer<'_> {
    Peer::new(|| accumulator.add_input(Input::now(INPUT.source, black_box(INPUT.values))))
}

fn output(accumulator: &mut dyn Accumulator, len: usize) -> Peer<'_> {
    let mut out = vec![0; len];
    Peer::new(move || {
        accumulator.generate(black_box(&mut out));
        black_box(&out);
    })
}

fn add<F: Functions>(whirlwind: &Whirlwind<F>) -> Peer<'_> {
    Peer::new(|| whirlwind.add(black_box(INPUT)))
}

fn refresh<const N: usize>(robust: &mut Robust, input: [u8; N]) -> Peer<'_> {
    Peer::new(move || {
        let refreshed = robust.refresh(black_box(&input));
        refreshed.expect("an input is shorter than an element");
    })
}

fn mix<const N: usize>(legacy: &Legacy, input: [u8; N]) -> Peer<'_> {
    Peer::new(move || legacy.mix(black_box(&input)))
}

/// The old RNG as an accumulator of timer events, which are 12 bytes and an entropy estimate. Steps of one jiffy are
/// credited nothing, so no event is dropped and no pool is refilled.
struct LegacyPools {
    model: Legacy,
    jiffies: u32,
    /// A kernel knows the process's number without asking.
    process: u32,
}

impl Accumulator for LegacyPools {
    fn add_input(&mut self, input: Input) {
        self.jiffies = self.jiffies.wrapping_add(1);
        self.model
            .add_timer_event(self.jiffies, input.cycles, input.source);
    }

    /// A word is one of get_random_int's.
    fn generate(&mut self, out: &mut [u8]) {
        let Ok(word) = <&mut [u8; 4]>::try_from(&mut *out) else {
            return self.model.urandom(out);
        };
        self.jiffies = self.jiffies.wrapping_add(1);
        let cycles = ThisMachine.cycles() as u32;
        let number = self
            .model
            .get_random_int(self.process, self.jiffies, cycles);
        *word = number.to_le_bytes();
    }
}

/// Bootstraps of new Whirlwinds, each a sample.
fn bootstraps(count: usize) -> Vec<Row> {
    fn bootstrap<F: Functions>() -> f64 {
        let whirlwind = Whirlwind::<F>::default();
        let clock = Instant::now();
        whirlwind.bootstrap();
        clock.elapsed().as_nanos() as f64
    }
    let kinds: [(_, fn() -> f64); 3] = [
        (WHIRLWIND, bootstrap::<WithSha512>),
        (WITH_SHA256, bootstrap::<WithSha256>),
        (WITH_DAVIES_MEYER, bootstrap::<WithDaviesMeyer>),
    ];
    let mut samples = kinds.map(|(name, _)| (name, Vec::new()));
    for _ in 0..count {
        for ((_, bootstrap), (_, samples)) in kinds.iter().zip(&mut samples) {
            samples.push(bootstrap());
        }
    }
    let paper = &[(WHIRLWIND, "0.7 ms, mean of 50")];
    of_samples("bootstrap", samples.into(), None, paper)
}

/// Forks as by lmbench's lat_proc: in each round a new process of each kind, of which a sample is the median of 50
/// forks. Two kinds are the same: their ratio shows what can be resolved.
fn forks(effort: Effort) -> Result<Vec<Row>, Failure> {
    const NEVER_DREW: &str = "never drew";
    let names = [NEVER_DREW, "never drew, again", "drew", "drew, child draws"];
    let of = |sources: &[&str], bytes| processes::contestants(Work::Forks, sources, bytes);
    let mut contestants: Vec<Contestant> = of(&[NOTHING, NOTHING, "squall"], 0);
    contestants.extend(of(&["squall"], 32));
    let budget = Budget {
        least: effort.rounds,
        most: usize::MAX,
        time: effort.time,
        batch: Batch::Single,
    };
    let outcomes = contest::in_turns(&mut contestants, budget, &mut Orders::default(), &|| true);
    let samples = names
        .into_iter()
        .zip(outcomes)
        .map(|(name, outcome)| match outcome {
            Outcome::Samples(samples) => Ok((name, samples)),
            Outcome::Failed(reason) => Err(Failure::Runtime(format!("forks: {reason}"))),
        });
    let paper = &[
        (NEVER_DREW, "414 ± 5 µs, old kernel"),
        ("drew", "418 ± 5 µs, kernel with Whirlwind"),
    ];
    let samples = samples.collect::<Result<_, _>>()?;
    Ok(of_samples(
        "fork and exit",
        samples,
        Some(NEVER_DREW),
        paper,
    ))
}

/// The rows of an operation. Samples at the same index are of the same round.
fn of_samples(
    operation: &str,
    samples: Vec<(&'static str, Vec<f64>)>,
    baseline: Option<&str>,
    paper: Paper,
) -> Vec<Row> {
    let base = samples.iter().find(|(name, _)| Some(*name) == baseline);
    let base = base.map(|(_, samples)| samples.clone());
    let row = |(generator, samples): (&'static str, Vec<f64>)| {
        let ratio = base.as_ref().map(|base| {
            let rounds = samples.iter().zip(base).map(|(own, base)| own / base);
            let ratios: Vec<f64> = rounds.collect();
            Ratio {
                interval_95: interval_of_median(ratios.clone()),
                median: Spread::of(ratios).median,
            }
        });
        let published = paper.iter().find(|(name, _)| *name == generator);
        Row {
            operation: operation.into(),
            generator,
            ns: Spread::of(samples.clone()),
            ratio: ratio.filter(|_| Some(generator) != baseline),
            paper: published.map(|(_, text)| *text),
        }
    };
    samples.into_iter().map(row).collect()
}

const NOTES: &str = "
time: median (quartiles). ratio: the time divided by the old RNG's, or for a fork by that of a
process that never drew: the median of rounds, and its 95 % interval.
add-input reads the cycle counter; the old RNG mixes 12 bytes of the event. Most calls of Whirlwind only
store it: one of 8 compresses (SHA-256: of 4). A refresh costs the same for any input up to 489 bits, and
the old mixing goes byte by byte. The old RNG's 4 bytes come from get_random_int with MD5, all others from
/dev/urandom. The old RNG is a model in this process: each operation takes a lock (4 ns), and its SHA-1 uses
the CPU's SHA instructions, if there are any, which makes it faster than the kernel's was.
The paper's figures are those of kernels on its authors' machine, where outputs are system calls: compare
them only with each other.
";

impl CostReport {
    fn text(&self) -> String {
        let mut text = format!("{}, Linux {}\n", self.cpu, self.kernel);
        if !self.release_build {
            text += "This is not a release build: its figures mean nothing.\n";
        }
        if self.quick {
            text += "Quick: figures are approximate.\n";
        }
        let mut table = columns(None);
        table.set_header(["operation", "generator", "time", "ratio", "paper"]);
        let mut last = "";
        for row in &self.rows {
            let operation = if row.operation == last {
                ""
            } else {
                &row.operation
            };
            last = &row.operation;
            let [median, low, high] = [row.ns.median, row.ns.low, row.ns.high].map(units::time);
            let ratio = row.ratio.as_ref().map(
                |Ratio {
                     median,
                     interval_95,
                 }| {
                    let [low, high] = interval_95;
                    format!("{median:.3} ({low:.3} to {high:.3})")
                },
            );
            table.add_row([
                operation,
                row.generator,
                &format!("{median} ({low} to {high})"),
                ratio.as_deref().unwrap_or_default(),
                row.paper.unwrap_or_default(),
            ]);
        }
        text + "\n" + &lines(&mut table, 2, |_| false) + NOTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios 4, 2 and 8 have the median 4. The ratio of the medians would be 2.
    #[test]
    fn ratios_compare_samples_of_one_round() {
        let samples = vec![
            (ROBUST, vec![4.0, 20.0, 800.0]),
            (LEGACY, vec![1.0, 10.0, 100.0]),
        ];
        let rows = of_samples("add-input", samples, Some(LEGACY), &[(LEGACY, "1 ns")]);
        let ratio = rows[0].ratio.as_ref().expect("a ratio");
        assert_eq!((ratio.median, ratio.interval_95), (4.0, [2.0, 8.0]));
        assert_eq!((rows[0].ns.median, rows[0].paper), (20.0, None));
        assert!(rows[1].ratio.is_none() && rows[1].paper == Some("1 ns"));
    }
}
