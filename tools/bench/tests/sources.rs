//! Every source, and how it is looked at before it is measured.

use std::collections::HashSet;

use squall_bench::source::{Draw, FilledBy, check};
use squall_bench::sources::{self, RunsIn};
use squall_testing::suite::Test;
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    names_are_unique_and_plain,
    sources_of_this_process_give_bytes,
    good_bytes_pass,
    numbers_are_looked_at_too,
    impossible_bytes_are_named,
];

fn names_are_unique_and_plain() {
    let mut seen = HashSet::new();
    for entry in sources::all() {
        let name = entry.name;
        assert!(seen.insert(name), "{name}");
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(is_plain), "{name}");
        assert!(!entry.explained.is_empty(), "{name}");
    }
}

/// Everything that opens here gives other bytes each time, or says that it does not.
fn sources_of_this_process_give_bytes() {
    let here = sources::all().filter(|entry| entry.runs_in == RunsIn::ThisProcess);
    let opened = here.filter_map(|entry| Some((entry.name, (entry.open)().ok()?)));
    let mut found = 0;
    for (name, mut source) in opened {
        let mut samples = [[0; 64]; 2];
        for sample in &mut samples {
            source.sample(sample).expect("bytes");
        }
        assert!(samples[0] != samples[1] || name == "memset", "{name}");
        found += 1;
    }
    assert!(found >= 10, "{found}");
}

fn complaint(mut draw: impl Draw) -> Option<String> {
    check(&mut draw).expect("bytes")
}

fn good_bytes_pass() {
    for _ in 0..20 {
        assert_eq!(complaint(FilledBy(squall::fill)), None);
    }
}

/// A source whose numbers are made by other code than its bytes.
struct Counting(u32);

impl Draw for Counting {
    fn fill(&mut self, out: &mut [u8]) {
        squall::fill(out);
    }

    fn u32(&mut self) -> u32 {
        self.0 = (self.0 + 1) % 4;
        self.0
    }
}

fn numbers_are_looked_at_too() {
    let complaint = complaint(Counting(0)).expect("a complaint");
    assert!(complaint.starts_with("numbers: it repeated"), "{complaint}");
}

fn impossible_bytes_are_named() {
    let of = |fill: &mut dyn FnMut(&mut [u8])| complaint(FilledBy(fill)).expect("a complaint");
    assert!(of(&mut |out| out.fill(0)).contains("0x00"));
    let fixed: [u8; 4096] = squall::array();
    let repeated = of(&mut |out| out.copy_from_slice(&fixed[..out.len()]));
    assert!(repeated.contains("repeated"));
    let biased = of(&mut |out| {
        squall::fill(out);
        out.iter_mut().for_each(|byte| *byte &= 0x7f);
    });
    // 7 of 16, about.
    let is_near = ["43.", "44."].iter().any(|start| biased.starts_with(start));
    assert!(is_near && biased.ends_with("are ones"), "{biased}");
}
