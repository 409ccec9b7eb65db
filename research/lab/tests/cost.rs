//! `squall-lab cost`: every figure is present, in JSON and in text. How large it is is not tested.

use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{report_with, text};

pub const TESTS: &[Test] = tests![
    the_json_report_has_every_figure,
    the_text_report_has_every_table_and_target,
];

/// Every key of the report, at any level.
const KEYS: &str = "machine cpu kernel release_build random_instruction sha_instructions quick \
    operations add_input interrupt absorb_16_bytes absorb_61_bytes absorb_72_bytes absorb_88_bytes \
    generate_4_bytes generate_16_bytes generate_64_bytes bootstrap unit \
    generators whirlwind_sha512 whirlwind_sha256 whirlwind_davies_meyer robust_489 robust_579 robust_705 \
    lower_quartile median upper_quartile mean \
    paper whirlwind legacy value plus_minus text \
    throughput block_bytes \
    fork rounds forks_of_a_process without_squall without_squall_again with_squall \
    with_squall_child_draws overhead_percent null_overhead_percent interval_95 \
    targets target bound limit measured met";

const WHIRLWIND: &[&str] = &[
    "whirlwind_davies_meyer",
    "whirlwind_sha256",
    "whirlwind_sha512",
];
const ALL: &[&str] = &[
    "legacy",
    "robust_489",
    "robust_579",
    "robust_705",
    "whirlwind_davies_meyer",
    "whirlwind_sha256",
    "whirlwind_sha512",
];

/// The operations, and the generators that have them.
const OPERATIONS: [(&str, &[&str]); 10] = [
    ("add_input", ALL),
    ("interrupt", ALL),
    ("absorb_16_bytes", ALL),
    ("absorb_61_bytes", &["legacy", "robust_489"]),
    ("absorb_72_bytes", &["legacy", "robust_579"]),
    ("absorb_88_bytes", &["legacy", "robust_705"]),
    ("generate_4_bytes", ALL),
    ("generate_16_bytes", ALL),
    ("generate_64_bytes", ALL),
    ("bootstrap", WHIRLWIND),
];

/// Number of targets.
const TARGETS: usize = 13;

fn the_json_report_has_every_figure() {
    let report = report_with(KEYS, "cost --quick");
    assert_eq!(report["quick"], true);
    assert_eq!(report["machine"]["release_build"], !cfg!(debug_assertions));
    for (name, generators) in OPERATIONS {
        let row = report["operations"][name]["generators"].as_object();
        let found: Vec<_> = row.expect("figures").keys().collect();
        assert_eq!(found, generators, "{name}");
    }
    let speeds = report["throughput"].as_array().expect("a list");
    let lengths: Vec<_> = speeds.iter().map(|speed| &speed["block_bytes"]).collect();
    assert_eq!(lengths, [4, 16, 64, 256, 1024, 4096, 16384, 65536]);
    assert!(report["fork"]["rounds"].as_u64() >= Some(5));
    assert_eq!(report["targets"].as_array().map(Vec::len), Some(TARGETS));
}

fn the_text_report_has_every_table_and_target() {
    let text = text("cost --quick");
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
    assert_eq!(verdicts.count(), TARGETS, "{text}");
}
