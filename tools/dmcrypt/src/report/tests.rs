//! Reports of a complete and an interrupted run, and of a list: as text, as CSV, as pages, and against their schemas.
//! Their figures are made up and fixed; the functions that make them are at the end of this file.

use jiff::Timestamp;
use serde_json::Value;
use squall_testing::browser::{CHROMIUM, check};
use squall_testing::schema::Schema;
use squall_tool_base::measure::Spread;
use squall_tool_base::reports::csv;

use super::document::{AUTHENTICATED, document};
use super::{lines, list};
use crate::model::*;
use crate::recommend::recommend;
use crate::rules::Verdict;
use crate::spec::Spec;
use crate::{candidates, measure, rank, rules};

fn value(report: &impl serde::Serialize) -> Value {
    serde_json::to_value(report).expect("JSON")
}

fn text(bench: &Bench) -> String {
    document(bench).text(None)
}

/// `INSTA_UPDATE=always` takes texts that were changed on purpose.
#[test]
fn texts_are_as_they_were() {
    insta::assert_snapshot!("bench", text(&bench()));
    insta::assert_snapshot!("list", list::document(&short_list()).text(None));
}

/// The fixture names a drive, and has no variants, none that are authenticated and no recommendation.
#[test]
fn an_interrupted_run_has_its_figures_and_failures() {
    let text = text(&interrupted());
    assert!(text.contains("the device /dev/disk/by-id/nvme-Samsung_SSD_990_PRO_2TB_S7DNNJ0W"));
    assert!(text.contains("\nRanking\n") && text.contains("\nRanking: what it costs\n"));
    assert!(!text.contains("\nThe best with ") && !text.contains("dm-integrity"));
    assert!(text.contains("\n- aes-xts-eboiv 512: "));
    let (_, last) = text.split_once("\nRecommendation\n").expect("it is last");
    assert!(last.contains("no secure combination without authentication was measured"));
}

#[test]
fn every_form_says_what_is_to_be_doubted() {
    for (bench, is_doubted) in [(bench(), false), (interrupted(), true)] {
        let text = text(&bench);
        assert_eq!(text.starts_with("EMULATED: "), is_doubted);
        assert_eq!(text.contains("\nINCOMPLETE: "), is_doubted);
        let json = value(&bench);
        assert_eq!(json["is_complete"], !is_doubted);
        assert_eq!(json["machine"]["is_emulated"], is_doubted);
        let lines = csv(lines(&bench)).expect("it is written");
        let ends = format!(",{is_doubted},{}", !is_doubted);
        assert!(lines.lines().skip(1).all(|line| line.ends_with(&ends)));
    }
    // A recommendation from an emulated machine carries a warning of its own.
    let mut emulated = bench();
    emulated.machine.is_emulated = true;
    let text = text(&emulated);
    let (_, below) = text.split_once("\nRecommendation\n").expect("it is there");
    let (above, _) = below.split_once("\nswap ").expect("a line to copy");
    assert!(above.contains("EMULATED: "));
}

#[test]
fn csv_has_every_figure() {
    let bench = bench();
    let text = csv(lines(&bench)).expect("it is written");
    let lines: Vec<&str> = text.lines().collect();
    let devices = 1 + bench.ranking.len() + bench.variants.len() + bench.authenticated.len();
    assert_eq!(lines.len(), 1 + devices * bench.workloads.len());
    let columns = "part,specification,key_bits,integrity,sector_size,no_workqueues,same_cpu,journal,verdict,\
                   score,workload,direction,block,depth,is_random,bytes_per_second,bytes_per_second_low,\
                   bytes_per_second_high,ratio,ratio_low,ratio_high,cpu_seconds_per_gb,latency_p50_ns,\
                   latency_p99_ns,samples,device,is_emulated,is_complete";
    let raw = "raw,,,,,,,,,,read-sequential,read,1048576,1,false,5210000000.0,5126640000.0,5272520000.0,\
               1.0,1.0,1.0,0.2687140115163148,201262.0,543408.0,30,/dev/ram0,false,true";
    let variant = format!(
        "variant,aes-xts-plain64,512,,4096,true,false,,secure,{},write-random,write,4096,1,true,\
         566618090.0,545369912.0,587866268.0,0.9273618495495703,0.8925857801914615,0.9621379189076793,\
         2.4708000406679833,7229.0,19518.0,30,/dev/ram0,false,true",
        bench.variants[0].score
    );
    let first_variant = 1 + (1 + bench.ranking.len()) * bench.workloads.len();
    for (number, line) in [(0, columns), (1, raw), (first_variant + 5, &variant)] {
        assert_eq!(lines[number], line);
    }
    // There was too little CPU time to measure.
    assert!(lines[9].contains(",0.61976,,329938.0,"), "{}", lines[9]);
    let last = lines[lines.len() - 1];
    let begin = "authenticated,aes-xts-plain64,512,hmac-sha256,4096,false,false,true,secure,";
    assert!(last.starts_with(begin), "{last}");
}

/// What is to be known of the authenticated ones, and the reasons against those that are not secure.
#[test]
fn pages_have_plots_and_notes() {
    let page = document(&bench()).page();
    for note in AUTHENTICATED {
        assert!(page.contains(note), "{note}");
    }
    assert_eq!(page.matches("<li>aes-gcm-random 256 aead: ").count(), 1);
    assert!(page.contains("<h3>4 KiB, random, 32 at once</h3>"));
    assert!(page.contains("--rounds 30 --sample 100ms --size 1024MiB --export-html"));
}

#[test]
#[ignore = "needs chromium: `make test-all` runs it"]
fn every_page_is_whole_on_every_screen() {
    let mut emulated = bench();
    emulated.machine.is_emulated = true;
    let mut bare = interrupted();
    bare.ranking.clear();
    let pages = [bench(), interrupted(), emulated, bare].map(|bench| document(&bench).page());
    let pages = pages.each_ref().map(String::as_str);
    let seen = check(CHROMIUM, &pages);
    let drawings: Vec<_> = seen.iter().map(|seen| seen.drawings).collect();
    // Four kinds of transfers.
    assert_eq!(drawings[..8], [4, 4, 4, 4, 4, 4, 0, 0]);
}

/// A kernel without dm-integrity, one that accepts nothing secure, an emulated machine, and an interrupted run.
#[test]
fn what_a_list_lacks_is_said() {
    let text = |change: &dyn Fn(&mut List)| {
        let mut list = long_list();
        change(&mut list);
        list::document(&list).text(None)
    };
    let usual = text(&|_| {});
    let none = "\nNone: that takes dm-integrity ";
    assert!(!usual.contains(none));
    assert!(text(&|list| list.has_integrity = false).contains(none));
    let insecure = |entry: &Entry| entry.verdict == Verdict::Insecure;
    let bare = text(&|list| list.accepted.retain(insecure));
    assert!(
        bare.contains("Nothing that this kernel accepts is."),
        "{bare}"
    );
    assert!(usual.starts_with("Linux "));
    assert!(text(&|list| list.machine.is_emulated = true).starts_with("EMULATED: "));
    assert!(text(&|list| list.is_complete = false).starts_with("INCOMPLETE: "));
}

#[test]
fn csv_has_a_line_for_each_specification() {
    let list = long_list();
    let csv = csv(list::lines(&list)).expect("it is written");
    assert_eq!(csv.lines().count(), list.accepted.len() + 1);
    let find = |start: &str| csv.lines().find(|line| line.starts_with(start)).unwrap();
    assert_eq!(
        csv.lines().next().unwrap(),
        "specification,cipher,mode,iv,digest,key_bits,integrity,verdict,rules,reason,source,same_as"
    );
    let secure = "aes-xts-plain64,aes,xts,plain64,,256,,secure,,,,";
    assert_eq!(find("aes-xts-plain64,aes,xts,plain64,,256,"), secure);
    assert!(find("aes-ecb-benbi,").ends_with(",aes-ecb-null 64"));
    let rules = ",insecure,predictable-iv short-block short-key plain,";
    assert!(find("blowfish-cbc-plain,").contains(rules));
}

#[test]
fn the_schemas_know_every_report() {
    let reports = [bench(), interrupted()].map(|bench| value(&bench));
    let removed = Schema::derive::<Bench>().check(&reports, &[]);
    assert!(removed > 80, "{removed}");
    let removed = Schema::derive::<List>().check(&[value(&short_list())], &[]);
    assert!(removed > 15, "{removed}");
}

#[test]
fn values_that_cannot_be_are_noticed() {
    let schema = Schema::derive::<Bench>();
    for (place, wrong) in [
        ("/format", "squall-dmcrypt-bench/2".into()),
        ("/at", "22 November 2026".into()),
        ("/rounds", 0.into()),
        ("/backing/kind", "disk".into()),
        ("/backing/bytes", 0.5.into()),
        ("/workloads/0/direction", "both".into()),
        ("/workloads/0/depth", 0.into()),
        ("/raw/0/samples/0", (-1.0).into()),
        ("/ranking/0/verdict", "Secure".into()),
        ("/ranking/0/options/sector_size", 513.into()),
        ("/ranking/0/key_bits", 7.into()),
        ("/ranking/0/figures/0/latency/p99_ns", (-1.0).into()),
        ("/ranking/0/figures/0/cpu_seconds_per_gb", "1".into()),
        ("/authenticated/1/integrity", "crc32".into()),
        ("/authenticated/1/options/journal", "J".into()),
    ] {
        let mut report = value(&bench());
        assert!(schema.takes(&report));
        *report.pointer_mut(place).expect("a place of it") = wrong;
        assert!(!schema.takes(&report), "{place}");
    }
}

const ROUNDS: usize = 30;

/// The device without encryption, in MB/s: a rate for each workload.
const RAW: [f64; 8] = [5210.0, 4680.0, 9870.0, 8120.0, 742.0, 611.0, 1890.0, 1540.0];

/// Specifications, with the fraction of the device's speed that they reach in long transfers.
const RANKING: [(&str, f64); 3] = [
    ("aes-xts-plain64 512", 0.61),
    ("aes-cbc-essiv:sha256 256", 0.33),
    ("capi:cts(cbc(camellia))-essiv:sha256 256", 0.07),
];

/// A complete run over a RAM disk.
fn bench() -> Bench {
    let backing = Backing {
        kind: BackingKind::Ram,
        name: "/dev/ram0".into(),
        bytes: 1 << 30,
        sector: 512,
    };
    let (ranking, variants) = (ranking(), variants());
    let recommendation = recommend(&ranking, &variants, &backing, false);
    Bench {
        format: BENCH_FORMAT,
        at: at(),
        machine: machine(),
        backing,
        rounds: ROUNDS,
        sample_ms: 100,
        is_complete: true,
        workloads: measure::workloads(),
        raw: figures(1.0, 0),
        ranking,
        variants,
        authenticated: authenticated(),
        left_out: left_out(),
        failures: vec![Failed {
            name: "aes-xts-eboiv 512".into(),
            reason: "the kernel refused its table: Out of memory".into(),
        }],
        recommendation,
    }
}

/// A run over a drive on an emulated machine, interrupted before there was a ranking.
fn interrupted() -> Bench {
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
fn short_list() -> List {
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

/// A list of thousands.
fn long_list() -> List {
    let mut accepted = candidates::tests::some();
    accepted.extend(candidates::authenticated(&accepted));
    accepted.sort();
    List {
        tried: 96_103,
        accepted: accepted.into_iter().map(Entry::from_spec).collect(),
        ..short_list()
    }
}

fn at() -> Timestamp {
    "2026-11-22T12:15:17.25Z".parse().expect("a time")
}

fn spec(text: &str) -> Spec {
    text.parse().expect("a specification")
}

fn machine() -> CpuAndKernel {
    CpuAndKernel {
        cpu: "AMD EPYC-Genoa Processor (family 25, model 17), 8 cores".into(),
        kernel: "6.12.57+deb13-amd64".into(),
        squall: "0.1.0".into(),
        is_emulated: false,
    }
}

/// Figures of a specification that reaches the fraction `part` in long transfers, more in short ones.
fn figures(part: f64, seed: usize) -> Vec<Figure> {
    let figure = |(number, workload): (usize, Workload)| {
        let (part, noise) = if workload.is_random {
            (part.sqrt(), 80.0)
        } else {
            (part, 250.0)
        };
        let rate = RAW[number] * 1e6 * part;
        let noisy = |round: usize| {
            let step = (round * 7 + seed * 11 + number * 5) % 13;
            1.0 + (step as f64 - 6.0) / noise
        };
        let ratio = |round| if seed == 0 { 1.0 } else { part * noisy(round) };
        let sample = |round| (rate * noisy(round)).round();
        let samples: Vec<f64> = (0..ROUNDS).map(sample).collect();
        let p50_ns = (workload.block * workload.depth) as f64 / rate * 1e9;
        Figure {
            rate: Spread::of(samples.clone()),
            ratio: Spread::of((0..ROUNDS).map(ratio).collect()),
            samples,
            cpu_seconds_per_gb: Some(1.4e9 / rate * (workload.depth as f64).sqrt().min(2.0)),
            latency: Latency {
                p50_ns: p50_ns.round(),
                p99_ns: (p50_ns * 2.7).round(),
            },
        }
    };
    let workloads = measure::workloads().into_iter();
    workloads.enumerate().map(figure).collect()
}

fn measured(name: &str, options: Options, part: f64, seed: usize) -> Measured {
    let figures = figures(part, seed);
    let spec = spec(name);
    Measured {
        verdict: rules::judge(&spec).0,
        spec,
        options,
        stands_for: Vec::new(),
        score: rank::score(&figures),
        figures,
    }
}

fn ranking() -> Vec<Measured> {
    let ranking = (1..).zip(RANKING);
    let ranking = ranking.map(|(seed, (name, part))| measured(name, Options::PLAIN, part, seed));
    let mut ranking: Vec<_> = ranking.collect();
    let digests = ["blake2b-256", "sha3-256"];
    ranking[1].stands_for = digests
        .map(|it| spec(&format!("aes-cbc-essiv:{it} 256")))
        .into();
    ranking[0].figures[0].cpu_seconds_per_gb = None;
    ranking
}

fn variants() -> Vec<Measured> {
    let variants = [(4096, true, false, 0.86), (512, false, true, 0.41)];
    let variants = (21..).zip(variants);
    let measured = |(seed, (sector_size, no_workqueues, same_cpu, part))| {
        let options = Options {
            sector_size,
            no_workqueues,
            same_cpu,
            ..Options::PLAIN
        };
        measured("aes-xts-plain64 512", options, part, seed)
    };
    variants.map(measured).collect()
}

fn authenticated() -> Vec<Measured> {
    let all = [
        ("aes-xts-plain64 512", None, 0.63),
        ("aes-gcm-random 256 aead", Some(false), 0.48),
        ("aes-gcm-random 256 aead", Some(true), 0.21),
        ("aes-xts-plain64 512 hmac-sha256", Some(true), 0.12),
    ];
    let measured = |(seed, (name, journal, part))| {
        let options = Options {
            sector_size: 4096,
            journal,
            ..Options::PLAIN
        };
        measured(name, options, part, seed)
    };
    (31..).zip(all).map(measured).collect()
}

fn left_out() -> Vec<LeftOut> {
    let groups = [("aes-ecb-null 256", 486), ("aes-lrw-benbi 384", 9)];
    let group = |(text, count)| {
        let spec = spec(text);
        LeftOut {
            reason: rules::judge(&spec).1[0],
            count,
            algorithms: vec![spec.algorithm()],
        }
    };
    groups.map(group).into()
}
