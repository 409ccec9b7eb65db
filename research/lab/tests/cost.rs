//! `squall-lab cost`: every figure is present, in JSON and in text. How large it is is not tested.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    the_json_report_has_every_figure,
    help_names_every_key,
    the_text_report_has_every_table_and_target,
];

const WHIRLWIND: [&str; 3] = [
    "whirlwind_sha512",
    "whirlwind_sha256",
    "whirlwind_davies_meyer",
];
const ALL: [&str; 7] = [
    "whirlwind_sha512",
    "whirlwind_sha256",
    "whirlwind_davies_meyer",
    "robust_489",
    "robust_579",
    "robust_705",
    "legacy",
];

/// The documented keys of each object.
const KEYS: [&str; 6] = [
    "machine",
    "quick",
    "operations",
    "throughput",
    "fork",
    "targets",
];
const MACHINE_KEYS: [&str; 5] = [
    "cpu",
    "kernel",
    "release_build",
    "random_instruction",
    "sha_instructions",
];
const ROW_KEYS: [&str; 3] = ["unit", "generators", "paper"];
const FIGURE_KEYS: [&str; 4] = ["lower_quartile", "median", "upper_quartile", "mean"];
const PAPER_KEYS: [&str; 2] = ["whirlwind", "legacy"];
const PUBLISHED_KEYS: [&str; 3] = ["value", "plus_minus", "text"];
const OVERHEAD_KEYS: [&str; 4] = ["lower_quartile", "median", "upper_quartile", "interval_95"];
const FORK_KEYS: [&str; 10] = [
    "unit",
    "rounds",
    "forks_of_a_process",
    "without_squall",
    "without_squall_again",
    "with_squall",
    "with_squall_child_draws",
    "overhead_percent",
    "null_overhead_percent",
    "paper",
];
const TARGET_KEYS: [&str; 6] = ["target", "bound", "limit", "measured", "unit", "met"];

fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_squall-lab"))
        .args(arguments)
        .output()
        .expect("squall-lab can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
    String::from_utf8(output.stdout).expect("the report is text")
}

fn the_json_report_has_every_figure() {
    let report: Value = serde_json::from_str(&run(&["cost", "--quick", "--json"])).unwrap();
    keys(&report, &KEYS);
    assert_eq!(report["quick"], true);
    machine(&report["machine"]);
    operations(&report["operations"]);
    throughput(&report["throughput"]);
    fork(&report["fork"]);
    targets(&report["targets"]);
}

/// The help names every key of the report and every value that a key may have.
fn help_names_every_key() {
    let help = run(&["cost", "--help"]);
    let words: Vec<_> = help
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let operations = OPERATIONS.map(|(name, _)| name);
    let keys = [
        &KEYS[..],
        &MACHINE_KEYS,
        &ROW_KEYS,
        &FIGURE_KEYS,
        &PAPER_KEYS,
        &PUBLISHED_KEYS,
        &OVERHEAD_KEYS,
        &FORK_KEYS,
        &TARGET_KEYS,
        &operations,
        &ALL,
        &["block_bytes", "at_most", "under", "above"],
    ];
    for key in keys.concat() {
        assert!(words.contains(&key), "{key} is not in the help");
    }
    assert!(help.contains("Exit codes: 0 even if a target is missed"));
    assert!(help.contains("squall-lab cost --quick\n"));
}

/// Checks that `value` is an object with exactly these keys.
#[track_caller]
fn keys(value: &Value, keys: &[&str]) {
    let found: BTreeSet<_> = value.as_object().expect("an object").keys().collect();
    let keys: Vec<_> = keys.iter().map(|&key| key.to_owned()).collect();
    assert_eq!(found, keys.iter().collect());
}

fn the_text_report_has_every_table_and_target() {
    let text = run(&["cost", "--quick"]);
    for title in [
        "Operations",
        "Throughput",
        "Fork and exit",
        "Targets",
        "Notes",
    ] {
        assert!(text.lines().any(|line| line.starts_with(title)), "{text}");
    }
    let lines = text.lines().map(str::trim_start);
    let verdicts = lines.filter(|line| line.starts_with("met ") || line.starts_with("missed "));
    assert_eq!(verdicts.count(), TARGETS.len(), "{text}");
}

fn machine(machine: &Value) {
    keys(machine, &MACHINE_KEYS);
    assert_ne!(machine["cpu"], "");
    assert_ne!(machine["kernel"], "unknown");
    assert_eq!(machine["release_build"], !cfg!(debug_assertions));
}

/// The operations, and the generators that have them.
const OPERATIONS: [(&str, &[&str]); 10] = [
    ("add_input", &ALL),
    ("interrupt", &ALL),
    ("absorb_16_bytes", &ALL),
    ("absorb_61_bytes", &["robust_489", "legacy"]),
    ("absorb_72_bytes", &["robust_579", "legacy"]),
    ("absorb_88_bytes", &["robust_705", "legacy"]),
    ("generate_4_bytes", &ALL),
    ("generate_16_bytes", &ALL),
    ("generate_64_bytes", &ALL),
    ("bootstrap", &WHIRLWIND),
];

fn operations(operations: &Value) {
    keys(operations, &OPERATIONS.map(|(name, _)| name));
    for (name, generators) in OPERATIONS {
        keys(&operations[name], &ROW_KEYS);
        assert_eq!(operations[name]["unit"], "ns", "{name}");
        row(&operations[name], generators);
    }
    let add_input = &operations["add_input"]["paper"];
    published(&add_input["whirlwind"], 500.0, None);
    assert_eq!(add_input["legacy"], Value::Null);
    let words = &operations["generate_4_bytes"]["paper"];
    published(&words["whirlwind"], 10_300.0, Some(1_800.0));
    published(&words["legacy"], 1_000.0, Some(500.0));
}

fn published(figure: &Value, value: f64, plus_minus: Option<f64>) {
    keys(figure, &PUBLISHED_KEYS);
    assert_eq!(figure["value"], value);
    assert_eq!(figure["plus_minus"].as_f64(), plus_minus);
}

fn throughput(speeds: &Value) {
    let speeds = speeds.as_array().unwrap();
    let lengths: Vec<_> = speeds.iter().map(|speed| &speed["block_bytes"]).collect();
    assert_eq!(lengths, [4, 16, 64, 256, 1024, 4096, 16384, 65536]);
    for speed in speeds {
        keys(speed, &[&ROW_KEYS[..], &["block_bytes"]].concat());
        assert_eq!(speed["unit"], "MB/s");
        row(speed, &ALL);
    }
    published(&speeds[0]["paper"]["whirlwind"], 0.6, None);
    assert_eq!(speeds[4]["paper"]["whirlwind"], Value::Null);
}

/// Checks that there is a figure for each of `generators` and no other.
fn row(row: &Value, generators: &[&str]) {
    keys(&row["paper"], &PAPER_KEYS);
    keys(&row["generators"], generators);
    for generator in generators {
        figure(&row["generators"][*generator]);
    }
}

fn figure(figure: &Value) {
    keys(figure, &FIGURE_KEYS);
    let [low, median, high, mean] =
        FIGURE_KEYS.map(|name| figure[name].as_f64().unwrap_or(f64::NAN));
    assert!(low <= median && median <= high, "{figure}");
    assert!(mean.is_finite(), "{figure}");
}

fn fork(fork: &Value) {
    keys(fork, &FORK_KEYS);
    assert_eq!(fork["unit"], "ns");
    assert!(fork["rounds"].as_u64().unwrap() >= 5);
    for kind in [
        "without_squall",
        "without_squall_again",
        "with_squall",
        "with_squall_child_draws",
    ] {
        figure(&fork[kind]);
    }
    for overhead in [&fork["overhead_percent"], &fork["null_overhead_percent"]] {
        keys(overhead, &OVERHEAD_KEYS);
        let median = overhead["median"].as_f64().unwrap();
        let [low, high] = [0, 1].map(|end| overhead["interval_95"][end].as_f64().unwrap());
        assert!(low <= median && median <= high, "{overhead}");
    }
}

/// The targets, with their limits.
const TARGETS: [(&str, f64); 13] = [
    ("whirlwind_add_input", 0.1),
    ("whirlwind_generate_64_bytes_speedup", 1.0),
    ("whirlwind_bootstrap", 0.7),
    ("robust_489_refresh", 100.0),
    ("robust_579_refresh", 100.0),
    ("robust_705_refresh", 100.0),
    ("robust_489_refresh_speedup", 1.0),
    ("robust_579_refresh_speedup", 1.0),
    ("robust_705_refresh_speedup", 1.0),
    ("robust_489_16_bytes_speedup", 1.0),
    ("robust_579_16_bytes_speedup", 1.0),
    ("robust_705_16_bytes_speedup", 1.0),
    ("fork_overhead", 1.0),
];

fn targets(targets: &Value) {
    let targets = targets.as_array().unwrap();
    assert_eq!(targets.len(), TARGETS.len());
    for (target, (name, limit)) in targets.iter().zip(TARGETS) {
        keys(target, &TARGET_KEYS);
        assert_eq!(target["target"], name);
        assert_eq!(target["limit"], limit, "{name}");
        let measured = target["measured"].as_f64().unwrap();
        let met = match target["bound"].as_str().unwrap() {
            "at_most" => measured <= limit,
            "under" => measured < limit,
            "above" => measured > limit,
            bound => panic!("{name}: {bound}"),
        };
        assert_eq!(target["met"], met, "{name}");
    }
}
