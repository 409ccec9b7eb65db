//! A report that looks like one of a real machine, made of a few numbers for each source: every
//! kind of source, workload and remark is in it, and every key.

use squall_bench::report::advice;
use squall_bench::report::model::{
    Effort, Figure, Group, MeasuredMachine, Noise, Point, Report, SCHEMA, Series, SourceReport,
    State, Version, Workload, workload,
};

/// A source that is measured: what a request costs, and a byte.
struct Spec {
    name: &'static str,
    title: &'static str,
    group: Group,
    caveat: &'static str,
    word_ns: f64,
    request_ns: f64,
    bytes_a_ns: f64,
}

const fn spec(
    name: &'static str,
    title: &'static str,
    group: Group,
    caveat: &'static str,
    [word_ns, request_ns, bytes_a_ns]: [f64; 3],
) -> Spec {
    Spec {
        name,
        title,
        group,
        caveat,
        word_ns,
        request_ns,
        bytes_a_ns,
    }
}

#[rustfmt::skip]
const SPECS: [Spec; 9] = [
    spec("squall", "squall", Group::Squall, "", [1.88, 38.0, 14.8]),
    spec("squall-aesni", "squall by AES-NI", Group::Variant, "", [1.9, 41.0, 7.6]),
    spec("urandom", "/dev/urandom", Group::Kernel, "", [391.0, 395.0, 0.39]),
    spec("getrandom", "getrandom, system call", Group::Kernel, "", [341.0, 345.0, 0.39]),
    spec("vdso", "getrandom, vDSO", Group::Kernel, "", [13.2, 14.0, 0.46]),
    spec("thread-rng", "rand's ThreadRng", Group::Library, "a forked child repeats it", [1.66, 4.4, 2.4]),
    spec("openssl-rand", "OpenSSL RAND_bytes", Group::Library, "a VM clone repeats it", [310.0, 316.0, 5.1]),
    spec("whirlwind", "Whirlwind", Group::Accumulator, "meant for seeds", [900.0, 880.0, 0.14]),
    spec("openssl-aes128-ctr", "OpenSSL AES-128-CTR", Group::Other, "the same key", [70.0, 72.0, 9.5]),
];

/// The report.
pub fn fixture() -> Report {
    let mut report = Report {
        schema: SCHEMA,
        squall_version: "0.1.0".into(),
        date: "2026-11-22T10:15:30Z".into(),
        effort: Effort::Full,
        complete: true,
        seconds: 98.4,
        machine: machine(),
        noise: Noise {
            spread_percent: 1.7,
            steal_percent: 0.2,
            load: 0.0,
            warning: None,
        },
        sources: sources(),
        workloads: workloads(),
        advice: String::new(),
    };
    report.advice = advice(&report);
    report
}

fn machine() -> MeasuredMachine {
    let version = |of: &str, version: &str| Version {
        of: of.into(),
        version: version.into(),
    };
    MeasuredMachine {
        cpu: "AMD EPYC (family 25, model 17)".into(),
        cpus: 2,
        kernel: "6.18.44".into(),
        hypervisor: Some("KVM".into()),
        governor: Some("performance".into()),
        pinned: true,
        clock_ns: 21.0,
        versions: vec![
            version("glibc", "2.36"),
            version("rustc", "1.95.0"),
            version("OpenSSL", "3.0.19 27 Jan 2026"),
            version("Go", "go1.26.1"),
        ],
        engine: "vaes512".into(),
        clone_guard: "vmgenid".into(),
        warnings: vec!["late-clone-signal".into()],
    }
}

fn sources() -> Vec<SourceReport> {
    let source = |name: &str, title: &str, group: Group, caveat: &str| SourceReport {
        name: name.into(),
        title: title.into(),
        group,
        secure: matches!(group, Group::Squall | Group::Variant | Group::Kernel),
        caveat: (!caveat.is_empty()).then(|| caveat.into()),
        state: State::Measured,
        reason: None,
    };
    let without = |name: &str, state, reason: &str| SourceReport {
        state,
        reason: Some(reason.into()),
        ..source(name, name, Group::Library, "")
    };
    let measured = SPECS.iter();
    let measured = measured.map(|spec| source(spec.name, spec.title, spec.group, spec.caveat));
    let others = [
        without(
            "libsodium",
            State::Missing,
            "libsodium.so.23 is not installed",
        ),
        without("arc4random", State::Failed, "the process ended by signal 9"),
        without("constant", State::Disqualified, "all its bytes are 0x00"),
    ];
    measured.chain(others).collect()
}

/// A workload: name, title, operation, axis, and whose points.
type Plan = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    fn(&Spec) -> Vec<Point>,
);

#[rustfmt::skip]
const PLANS: [Plan; 7] = [
    (workload::WORDS, "Numbers", "a request", "bytes", |spec| {
        vec![point(spec, 4, 4, spec.word_ns), point(spec, 8, 8, spec.word_ns * 1.2)]
    }),
    (workload::FILL, "Requests by their length", "a request", "bytes", |spec| {
        let mut lengths: Vec<u64> = (0..=24).map(|power| 1 << power).chain([40 << 10]).collect();
        lengths.sort_unstable();
        lengths.into_iter().map(|len| point(spec, len, len, fill_ns(spec, len))).collect()
    }),
    (workload::THREADS_SMALL, "Requests of 32 bytes by threads", "a request", "threads", |spec| threads(spec, 32)),
    (workload::THREADS_LARGE, "Requests of 16 KiB by threads", "a request", "threads", |spec| threads(spec, 16 << 10)),
    (workload::PIPE, "Blocks through a pipe", "a block", "bytes", |spec| {
        let sources = ["squall", "urandom", "thread-rng"];
        let block = |len| only(spec, &sources, || point(spec, len, len, 350.0 + fill_ns(spec, len)));
        [4096, 65_536].map(block).concat()
    }),
    (workload::START, "First bytes of a process", "a start", "bytes", |spec| {
        only(spec, &["squall", "getrandom"], || point(spec, 32, 32, 1e6 + spec.word_ns))
    }),
    (workload::FORK, "A fork", "a fork", "bytes", |spec| {
        [0, 32].map(|len| only(spec, &["squall", "getrandom"], || point(spec, len, len, 413e3))).concat()
    }),
];

fn workloads() -> Vec<Workload> {
    let workload = |&(name, title, operation, axis, points): &Plan| {
        let series = SPECS.iter().map(|spec| Series {
            source: spec.name.into(),
            points: points(spec),
        });
        let is_kernel = |spec: &&Spec| spec.group == Group::Kernel && !points(spec).is_empty();
        Workload {
            name: name.into(),
            title: title.into(),
            operation: operation.into(),
            axis: axis.into(),
            kernel: SPECS.iter().find(is_kernel).map(|spec| spec.name.into()),
            series: series.filter(|series| !series.points.is_empty()).collect(),
            failures: match name {
                workload::PIPE => vec!["openssl-chacha20, 65536 bytes: it ended early".into()],
                _ => Vec::new(),
            },
        }
    };
    PLANS.iter().map(workload).collect()
}

fn fill_ns(spec: &Spec, len: u64) -> f64 {
    spec.request_ns + len as f64 / spec.bytes_a_ns
}

/// All scale with the two CPUs of the machine.
fn threads(spec: &Spec, len: u64) -> Vec<Point> {
    let alone = fill_ns(spec, len);
    let points = [(1, 1.0), (2, 1.97), (4, 1.96), (8, 1.95)].map(|(threads, scale)| {
        point(
            spec,
            threads,
            len,
            alone / if threads == 1 { 1.0 } else { scale },
        )
    });
    points.into()
}

fn only(spec: &Spec, sources: &[&str], point: impl Fn() -> Point) -> Vec<Point> {
    let is_one = sources.contains(&spec.name);
    is_one.then(point).into_iter().collect()
}

/// Nine samples around `ns`, two percent apart at most.
fn point(spec: &Spec, at: u64, bytes: u64, ns: f64) -> Point {
    let seed = at + spec.name.len() as u64;
    let samples = (0..9).map(|round| {
        let step = (seed + round * 7) % 9;
        ns * (0.992 + 0.002 * step as f64)
    });
    Point {
        at,
        bytes,
        ns: Figure::from_samples(samples.collect()),
    }
}
