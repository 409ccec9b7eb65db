//! What the library exports: the functions that it replaces, and a mark.

use std::process::Command;

use crate::kit;

#[test]
fn only_what_is_replaced_is_exported() {
    let mut nm = Command::new("nm");
    let Ok(output) = nm
        .args(["-D", "--defined-only"])
        .arg(kit::library())
        .output()
    else {
        println!("SKIP: there is no nm");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| line.rsplit(' ').next().map(str::to_owned);
    let mut exported: Vec<String> = said.lines().filter_map(name).collect();
    exported.sort_unstable();
    let is_here = |name: &&str| {
        cfg!(target_arch = "x86_64") || !["__clone", "clone", "syscall"].contains(name)
    };
    let listed = include_str!("../../symbols.txt").lines().filter(is_here);
    let listed: Vec<_> = listed.collect();
    assert_eq!(exported, listed);
}
