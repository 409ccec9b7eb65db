//! `squall-lab cost`: every figure is there and of a plausible size, for programs and for people.
//!
//! Nothing here depends on how fast the machine is: sizes are bounded to within thousands.

use std::process::Command;

use serde_json::Value;

const WHIRLWIND: [&str; 3] = [
    "whirlwind_sha512",
    "whirlwind_sha256",
    "whirlwind_davies_meyer",
];
const ROBUST: [&str; 3] = ["robust_489", "robust_579", "robust_705"];
const LEGACY: [&str; 1] = ["legacy"];

/// Nanoseconds of an input or an output, even in an unoptimised build.
const CALL: [f64; 2] = [0.5, 1e6];

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

#[test]
fn programs_find_every_figure() {
    let report: Value = serde_json::from_str(&run(&["cost", "--quick", "--json"])).unwrap();
    assert_eq!(report["quick"], true);
    machine(&report["machine"]);
    operations(&report["operations"]);
    throughput(&report["throughput"]);
    fork(&report["fork"]);
    targets(&report["targets"]);
}

#[test]
fn people_find_every_table_and_every_target() {
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
    assert_ne!(machine["cpu"], "");
    assert_ne!(machine["kernel"], "unknown");
    assert_eq!(machine["release_build"], !cfg!(debug_assertions));
}

fn operations(operations: &Value) {
    let all = [&WHIRLWIND[..], &ROBUST, &LEGACY].concat();
    let robust_and_legacy = [&ROBUST[..], &LEGACY].concat();
    for (name, generators, plausible) in [
        ("add_input_without_compression", &WHIRLWIND[..], CALL),
        ("add_input", &all, CALL),
        ("absorb_16_bytes", &all, CALL),
        ("absorb_60_bytes", &robust_and_legacy, CALL),
        ("generate_4_bytes", &all, CALL),
        ("generate_16_bytes", &all, CALL),
        ("generate_64_bytes", &all, CALL),
        ("bootstrap", &WHIRLWIND, [1e3, 1e9]),
    ] {
        assert_eq!(operations[name]["unit"], "ns", "{name}");
        row(&operations[name], generators, plausible);
    }
    assert_eq!(operations["add_input"]["paper"]["whirlwind"], 500.0);
    assert_eq!(operations["generate_4_bytes"]["paper"]["legacy"], 1000.0);
}

fn throughput(speeds: &Value) {
    let speeds = speeds.as_array().unwrap();
    let lengths: Vec<_> = speeds.iter().map(|speed| &speed["block_bytes"]).collect();
    assert_eq!(lengths, [4, 16, 64, 256, 1024, 4096, 16384, 65536]);
    let all = [&WHIRLWIND[..], &ROBUST, &LEGACY].concat();
    for speed in speeds {
        assert_eq!(speed["unit"], "MB/s");
        row(speed, &all, [1e-3, 1e5]);
    }
    assert_eq!(speeds[0]["paper"]["whirlwind"], 0.6);
    assert_eq!(speeds[4]["paper"]["whirlwind"], Value::Null);
}

/// A figure for each of `generators` and for no other.
fn row(row: &Value, generators: &[&str], plausible: [f64; 2]) {
    let figures = row["generators"].as_object().unwrap();
    assert_eq!(figures.len(), generators.len(), "{row}");
    for generator in generators {
        figure(&figures[*generator], plausible);
    }
}

fn figure(figure: &Value, [least, most]: [f64; 2]) {
    let [low, median, high, mean] = ["lower_quartile", "median", "upper_quartile", "mean"]
        .map(|name| figure[name].as_f64().unwrap_or(f64::NAN));
    assert!(low <= median && median <= high, "{figure}");
    for value in [median, mean] {
        assert!((least..most).contains(&value), "{figure}");
    }
}

fn fork(fork: &Value) {
    assert_eq!(fork["unit"], "ns");
    assert!(fork["rounds"].as_u64().unwrap() >= 5);
    for kind in ["without_squall", "with_squall", "with_squall_child_draws"] {
        figure(&fork[kind], [1e3, 1e9]);
    }
    let overhead = &fork["overhead_percent"];
    let median = overhead["median"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| overhead["interval_95"][end].as_f64().unwrap());
    assert!(low <= median && median <= high, "{overhead}");
}

/// The targets, with their limits.
const TARGETS: [(&str, f64); 10] = [
    ("whirlwind_add_input", 0.1),
    ("whirlwind_generate_64_bytes_speedup", 1.0),
    ("whirlwind_bootstrap", 0.7),
    ("robust_489_refresh", 100.0),
    ("robust_579_refresh", 100.0),
    ("robust_705_refresh", 100.0),
    ("robust_489_refresh_speedup", 1.0),
    ("robust_579_refresh_speedup", 1.0),
    ("robust_705_refresh_speedup", 1.0),
    ("fork_overhead", 1.0),
];

fn targets(targets: &Value) {
    let targets = targets.as_array().unwrap();
    assert_eq!(targets.len(), TARGETS.len());
    for (target, (name, limit)) in targets.iter().zip(TARGETS) {
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
