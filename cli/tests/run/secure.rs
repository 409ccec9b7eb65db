//! Programs with more rights than their caller: for all owners, mode bits and callers here, a program
//! that prints AT_SECURE runs if and only if it would print 0.

use std::path::Path;
use std::process::Command;

use squall_testing::needs::{ROOT, SETCAP, SETPRIV};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{LOADED, NOBODY, Public, Workspace, output, set, set_mode};
use crate::common::{refused, text};

/// What every refusal says.
const IGNORED: &str = "the loader ignores LD_PRELOAD in such programs";

/// Callers, as options for setpriv(1).
const CALLERS: [&[&str]; 6] = [
    &["--reuid=0", "--regid=0", "--clear-groups"],
    &["--reuid=65534", "--regid=65534", "--clear-groups"],
    &["--reuid=1000", "--regid=1000", "--groups=65534"],
    &["--ruid=65534", "--regid=0", "--clear-groups"],
    &["--euid=65534", "--regid=0", "--clear-groups"],
    &["--rgid=65534", "--clear-groups"],
];

const ANOTHER_USER: &[&str] = CALLERS[1];

/// Fails unless squall refuses `program` if and only if the kernel runs it in secure mode; returns
/// whether it does.
fn compare(public: &Public, caller: &[&str], program: &Path, description: &str) -> bool {
    // Run it through env(1), because squall is executed too before it executes the program, which may
    // change capabilities.
    let mut direct = Command::new("setpriv");
    let direct = output(direct.args(caller).arg("env").arg(program));
    let ours = public.run_by(caller, program);
    let description = format!("{description} by {caller:?}");
    if !direct.status.success() {
        // The kernel does not execute the program at all, so squall must not either.
        let code = ours.status.code();
        assert!(matches!(code, Some(2 | 126)), "{description}: {code:?}");
        return false;
    }
    let is_secure = text(&direct.stdout).starts_with("secure 1");
    if is_secure {
        assert_eq!(ours.status.code(), Some(2), "{description}");
        refused(&ours, 2, &[IGNORED]);
    } else {
        let why = text(&ours.stderr);
        assert_eq!(text(&ours.stdout), LOADED, "{description}: {why}");
    }
    is_secure
}

fn owners_and_bits() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let (mut secure, mut all) = (0, 0);
    for (owner, group) in [(0, 0), (NOBODY, NOBODY), (1000, 0), (0, NOBODY)] {
        for mode in [0o755, 0o4755, 0o2755, 0o6755, 0o4711, 0o1755] {
            set(&program, owner, group, mode);
            for caller in CALLERS {
                let description = format!("{owner}:{group} {mode:o}");
                // A caller who may not read the program is told that its secure mode is unknown.
                if mode & 0o044 == 0 {
                    unreadable(&public, caller, &program);
                    continue;
                }
                all += 1;
                secure += u32::from(compare(&public, caller, &program, &description));
            }
        }
    }
    assert!(secure > all / 4 && secure < all, "{secure} of {all}");
}

/// A program that can be executed but not read runs only without squall.
fn unreadable(public: &Public, caller: &[&str], program: &Path) {
    let ours = public.run_by(caller, program);
    if text(&ours.stdout) != LOADED {
        refused(&ours, 2, &[]);
    }
}

fn a_refusal_names_the_bit() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    for (mode, bit) in [(0o4755, "set-user-ID bit"), (0o2755, "set-group-ID bit")] {
        set(&program, 0, 0, mode);
        refused(&public.run_by(ANOTHER_USER, &program), 2, &[bit, IGNORED]);
    }
}

fn capabilities() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let setcap = |arguments: &[&str]| {
        let set = output(Command::new("setcap").args(arguments).arg(&program));
        assert!(set.status.success(), "{}", text(&set.stderr));
    };
    for capabilities in ["cap_net_raw+ep", "cap_net_raw+p", "cap_net_raw+eip"] {
        setcap(&[capabilities]);
        for caller in CALLERS {
            compare(&public, caller, &program, capabilities);
        }
    }
    let run = || public.run_by(ANOTHER_USER, &program);
    refused(&run(), 2, &["has file capabilities", IGNORED]);
    setcap(&["-r"]);
    assert_eq!(text(&run().stdout), LOADED, "the control");
}

fn bits_of_scripts_are_ignored() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let script = workspace.file("script", format!("#!{}\n", program.display()));
    set(&script, 0, 0, 0o6755);
    let run = || public.run_by(ANOTHER_USER, &script);
    assert_eq!(text(&run().stdout), LOADED);
    // The control: the bits of its interpreter count.
    set_mode(&program, 0o4755);
    refused(&run(), 2, &["set-user-ID", IGNORED, "which runs"]);
}

pub const TESTS: &[Test] = tests![
    owners_and_bits: [ROOT, SETPRIV],
    a_refusal_names_the_bit: [ROOT, SETPRIV],
    capabilities: [ROOT, SETPRIV, SETCAP],
    bits_of_scripts_are_ignored: [ROOT, SETPRIV],
];
