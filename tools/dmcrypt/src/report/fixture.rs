//! Realistic reports for tests, always the same.

use jiff::Timestamp;
use squall_tools::measure::Spread;

use crate::candidates::{authenticated as authenticated_candidates, model};
use crate::model::*;
use crate::rules::Verdict;
use crate::spec::Spec;
use crate::{measure, rank, rules};

const ROUNDS: usize = 30;

/// The device without encryption, in MB/s: a rate for each workload.
const RAW: [f64; 8] = [5210.0, 4680.0, 9870.0, 8120.0, 742.0, 611.0, 1890.0, 1540.0];

/// Specifications, with the fraction of the device's speed that they reach in long transfers.
const RANKING: [(&str, f64); 4] = [
    ("aes-xts-plain64 512", 0.61),
    ("aes-cbc-essiv:sha256 256", 0.33),
    ("xchacha12,aes-adiantum-plain64 256", 0.27),
    ("capi:cts(cbc(camellia))-essiv:sha256 256", 0.07),
];

/// A complete run over a RAM disk.
pub fn bench() -> Bench {
    Bench {
        format: BENCH_FORMAT,
        at: at(),
        machine: machine(),
        backing: Backing {
            kind: BackingKind::Ram,
            name: "/dev/ram0".into(),
            bytes: 1 << 30,
            sector: 512,
        },
        rounds: ROUNDS,
        sample_ms: 100,
        is_complete: true,
        workloads: measure::workloads(),
        raw: figures(1.0, 0),
        ranking: ranking(),
        variants: variants(),
        authenticated: authenticated(),
        left_out: left_out(),
        failures: vec![Failed {
            name: "aes-xts-eboiv 512".into(),
            reason: "the kernel refused its table: Out of memory".into(),
        }],
        recommendation: Some(recommendation()),
    }
}

/// A run over a drive on an emulated machine, interrupted before there was a ranking.
pub fn interrupted() -> Bench {
    let mut bench = bench();
    bench.machine.is_emulated = true;
    bench.backing.kind = BackingKind::Device;
    bench.backing.name = "/dev/disk/by-id/nvme-Samsung_SSD_990_PRO_2TB_S7DNNJ0W".into();
    bench.backing.sector = 4096;
    bench.is_complete = false;
    bench.variants.clear();
    bench.authenticated.clear();
    bench.recommendation = None;
    bench
}

/// A short list of accepted specifications.
pub fn list() -> List {
    List {
        format: LIST_FORMAT,
        at: at(),
        machine: machine(),
        tried: 62_370,
        is_complete: true,
        has_integrity: true,
        accepted: [
            "aes-cbc-essiv:sha256 256",
            "aes-cbc-essiv:sha3-256 256",
            "aes-ecb-benbi 256",
            "aes-ecb-null 256",
            "aes-lrw-benbi 384",
            "aes-xts-plain64 256",
            "aes-xts-plain64 512",
            "aes-xts-plain64 512 hmac-sha256",
        ]
        .map(|text| Entry::from_spec(spec(text)))
        .into(),
    }
}

/// The list of a kernel like Debian's.
pub fn debian() -> List {
    let mut accepted = model::accepted();
    accepted.extend(authenticated_candidates(&accepted));
    accepted.sort();
    List {
        tried: 96_103,
        accepted: accepted.into_iter().map(Entry::from_spec).collect(),
        ..list()
    }
}

fn at() -> Timestamp {
    "2026-11-22T12:15:17.25Z".parse().expect("a time")
}

fn spec(text: &str) -> Spec {
    text.parse().expect("a specification")
}

fn machine() -> Machine {
    Machine {
        cpu: "AMD EPYC-Genoa Processor (family 25, model 17), 8 cores".into(),
        kernel: "6.12.57+deb13-amd64".into(),
        squall: "0.1.0".into(),
        is_emulated: false,
    }
}

/// Figures of a specification that reaches the fraction `part` in long transfers, more in short ones.
fn figures(part: f64, seed: usize) -> Vec<Figure> {
    let figure = |(number, raw): (usize, &f64)| {
        let part = if number < 4 { part } else { part.sqrt() };
        let noise = |round: usize| {
            let step = (round * 7 + seed * 11 + number * 5) % 13;
            1.0 + (step as f64 - 6.0) / if number < 4 { 250.0 } else { 80.0 }
        };
        let ratios: Vec<f64> = match seed {
            0 => vec![1.0; ROUNDS],
            _ => (0..ROUNDS).map(|round| part * noise(round)).collect(),
        };
        let samples: Vec<f64> = (0..ROUNDS)
            .map(|round| (raw * 1e6 * part * noise(round)).round())
            .collect();
        let workload = &measure::workloads()[number];
        let rate = raw * 1e6 * part;
        let p50_ns = (workload.block * workload.depth) as f64 / rate * 1e9;
        Figure {
            rate: Spread::of(samples.clone()),
            ratio: Spread::of(ratios),
            samples,
            cpu_seconds_per_gb: Some(1.4e9 / rate * (workload.depth as f64).sqrt().min(2.0)),
            latency: Latency {
                p50_ns: p50_ns.round(),
                p99_ns: (p50_ns * 2.7).round(),
            },
        }
    };
    RAW.iter().enumerate().map(figure).collect()
}

fn measured(name: &str, options: Options, part: f64, seed: usize) -> Measured {
    let figures = figures(part, seed);
    Measured {
        spec: spec(name),
        options,
        verdict: Verdict::Secure,
        stands_for: Vec::new(),
        score: rank::score(&figures),
        figures,
    }
}

fn ranking() -> Vec<Measured> {
    let ranking = RANKING.iter().enumerate();
    let mut ranking: Vec<_> = ranking
        .map(|(index, (name, part))| measured(name, Options::PLAIN, *part, index + 1))
        .collect();
    ranking[1].stands_for = vec![
        spec("aes-cbc-essiv:blake2b-256 256"),
        spec("aes-cbc-essiv:sha3-256 256"),
    ];
    ranking[3].verdict = Verdict::Compatible;
    ranking[0].figures[0].cpu_seconds_per_gb = None;
    ranking
}

fn variants() -> Vec<Measured> {
    let no_workqueues = Options {
        no_workqueues: true,
        ..Options::PLAIN
    };
    let same_cpu = Options {
        same_cpu: true,
        ..Options::PLAIN
    };
    let high_priority = Options {
        high_priority: true,
        ..Options::PLAIN
    };
    let large = |options| Options {
        sector_size: 4096,
        ..options
    };
    vec![
        measured("aes-xts-plain64 512", large(no_workqueues), 0.86, 21),
        measured("aes-xts-plain64 512", no_workqueues, 0.69, 22),
        measured("aes-xts-plain64 512", large(high_priority), 0.66, 23),
        measured("aes-xts-plain64 512", large(same_cpu), 0.41, 24),
    ]
}

fn authenticated() -> Vec<Measured> {
    let options = |journal| Options {
        sector_size: 4096,
        journal,
        ..Options::PLAIN
    };
    let mut all = vec![measured("aes-xts-plain64 512", options(None), 0.63, 31)];
    let rest = [
        ("aegis128-random 128 aead", false, 0.51),
        ("aes-gcm-random 256 aead", false, 0.48),
        ("aes-gcm-random 256 aead", true, 0.21),
        ("aes-xts-plain64 512 hmac-sha256", true, 0.12),
    ];
    for (number, (name, journal, part)) in rest.into_iter().enumerate() {
        let mut measured = measured(name, options(Some(journal)), part, 32 + number);
        measured.verdict = rules::judge(&measured.spec).0;
        all.push(measured);
    }
    all
}

fn left_out() -> Vec<LeftOut> {
    let group = |text: &str, count| {
        let spec = spec(text);
        LeftOut {
            reason: rules::judge(&spec).1[0],
            count,
            algorithms: vec![spec.algorithm()],
        }
    };
    vec![
        group("aes-ecb-null 256", 486),
        group("twofish-ctr-plain64 256", 198),
        group("aes-lrw-benbi 384", 9),
    ]
}

fn recommendation() -> Recommendation {
    Recommendation {
        spec: spec("aes-xts-plain64 512"),
        options: Options {
            sector_size: 4096,
            no_workqueues: true,
            ..Options::PLAIN
        },
        why:
            "The fastest secure specification on this machine; with a key of 512 bits it encrypts \
              by AES-256, and no other with such a key is within its spread."
                .into(),
        swap:
            "swap /dev/disk/by-id/DEVICE /dev/urandom swap,plain,cipher=aes-xts-plain64,size=512,\
               sector-size=4096,no-read-workqueue,no-write-workqueue"
                .into(),
        luks_format: "cryptsetup luksFormat --type luks2 --cipher aes-xts-plain64 --key-size 512 \
                      --sector-size 4096 /dev/disk/by-id/DEVICE"
            .into(),
        luks_open:
            "cryptsetup open --perf-no_read_workqueue --perf-no_write_workqueue --persistent \
                    /dev/disk/by-id/DEVICE NAME"
                .into(),
        luks_crypttab: "NAME UUID=UUID none luks,no-read-workqueue,no-write-workqueue".into(),
        notes: vec![
            "Sectors of 4096 bytes break some hosts of virtual machines, and file systems with \
             smaller blocks."
                .into(),
            "luksFormat destroys what is on the device.".into(),
        ],
    }
}
