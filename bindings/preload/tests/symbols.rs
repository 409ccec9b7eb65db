//! The library exports only the functions that it replaces, and a marker symbol.

use std::process::Command;

use squall_testing::artifacts;
use squall_testing::needs::NM;
use squall_testing::suite::Test;
use squall_testing::tests;

fn only_the_replaced_functions_are_exported() {
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(artifacts::preload());
    let output = nm.output().expect("nm runs");
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| line.rsplit(' ').next().map(str::to_owned);
    let mut exported: Vec<String> = output.lines().filter_map(name).collect();
    exported.sort_unstable();
    let is_here = |name: &&str| match *name {
        "arch_prctl" => cfg!(target_arch = "x86_64"),
        "__clone" | "clone" | "syscall" => {
            cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
        }
        _ => true,
    };
    let listed = include_str!("../symbols.txt").lines().filter(is_here);
    let listed: Vec<_> = listed.collect();
    assert_eq!(exported, listed);
}

pub const TESTS: &[Test] = tests![
    only_the_replaced_functions_are_exported: [NM],
];
