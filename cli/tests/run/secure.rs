//! squall predicts the kernel's secure mode: for all owners, mode bits, capabilities, mounts and
//! callers, a program that prints AT_SECURE runs if and only if it would print 0.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use squall_testing::needs::{MOUNTS, ROOT, SETCAP, SETPRIV, USER_NAMESPACES};
use squall_testing::suite::Test;
use squall_testing::tests;

use super::workspace::{LOADED, NOBODY, Public, SECURE, Workspace, output, set, set_mode};
use crate::common::{refused, text};

/// Callers, as options for setpriv(1).
const CALLERS: [&[&str]; 9] = [
    &["--reuid=0", "--regid=0", "--clear-groups"],
    &["--reuid=65534", "--regid=65534", "--clear-groups"],
    &["--reuid=1000", "--regid=1000", "--groups=65534"],
    &[
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
    ],
    &[
        "--reuid=1000",
        "--regid=1000",
        "--clear-groups",
        "--bounding-set=-net_raw",
    ],
    &["--ruid=65534", "--regid=0", "--clear-groups"],
    &["--euid=65534", "--regid=0", "--clear-groups"],
    &["--rgid=65534", "--clear-groups"],
    &["--rgid=65534", "--groups=65534,0"],
];

/// Compares what the kernel does, as the program reports it, with what squall does.
fn compare(public: &Public, caller: &[&str], program: &Path, description: &str) -> bool {
    // Run it through env(1), because squall is executed too before it executes the program, which may
    // change capabilities.
    let mut direct = Command::new("setpriv");
    let direct = direct
        .args(caller)
        .arg("env")
        .arg(program)
        .output()
        .unwrap();
    let ours = public.run_by(caller, program);
    is_secure_to_kernel_and_squall(&direct, &ours, &format!("{description} by {caller:?}"))
}

/// Whether the program was in secure mode; fails if squall disagrees with the kernel.
fn is_secure_to_kernel_and_squall(direct: &Output, ours: &Output, description: &str) -> bool {
    let kernel = text(&direct.stdout);
    if !direct.status.success() {
        // The kernel does not execute the program at all, so squall must not either.
        let code = ours.status.code();
        assert!(matches!(code, Some(2 | 126)), "{description}: {code:?}");
        return false;
    }
    let is_secure = kernel.starts_with("secure 1");
    let shown = text(&ours.stdout);
    if is_secure {
        assert_eq!(
            ours.status.code(),
            Some(2),
            "{description}: {kernel}{shown}"
        );
        refused(ours, 2, &["preloads nothing into it"]);
    } else {
        assert_eq!(shown, LOADED, "{description}: {}", text(&ours.stderr));
    }
    is_secure
}

fn owners_and_bits() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let (mut secure, mut all) = (0, 0);
    for (owner, group) in [(0, 0), (NOBODY, NOBODY), (1000, 0), (0, NOBODY)] {
        for mode in [0o755, 0o4755, 0o2755, 0o2745, 0o6755, 0o4711, 0o1755] {
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

fn capabilities() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    for capabilities in [
        "cap_net_raw+ep",
        "cap_net_raw+p",
        "cap_net_raw+i",
        "cap_net_raw+eip",
        "",
    ] {
        let mut setcap = Command::new("setcap");
        let set = output(setcap.arg(capabilities).arg(&program));
        assert!(set.status.success(), "{}", text(&set.stderr));
        for caller in CALLERS {
            compare(&public, caller, &program, capabilities);
        }
    }
    let caller = CALLERS[1];
    let mut setcap = Command::new("setcap");
    setcap.arg("cap_net_raw+ep").arg(&program).output().unwrap();
    refused(
        &public.run_by(caller, &program),
        2,
        &["capabilities", "setcap -r"],
    );
}

fn inheritable_and_ambient_capabilities() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let user = ["--reuid=1000", "--regid=1000", "--clear-groups"];
    let inheritable = [&user[..], &["--inh-caps=+net_raw"]].concat();
    let ambient = [&inheritable[..], &["--ambient-caps=+net_raw"]].concat();
    for capabilities in ["", "cap_net_raw+i", "cap_net_raw+p", "cap_chown+i"] {
        let mut setcap = Command::new("setcap");
        let set = output(setcap.arg(capabilities).arg(&program));
        assert!(set.status.success(), "{}", text(&set.stderr));
        for caller in [&user[..], &inheritable, &ambient] {
            compare(&public, caller, &program, capabilities);
        }
    }
}

fn bits_of_scripts_are_ignored() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let script = workspace.file("script", format!("#!{}\n", program.display()));
    set(&script, 0, 0, 0o6755);
    let run = || public.run_by(CALLERS[1], &script);
    assert_eq!(text(&run().stdout), LOADED);
    // The control: the bits of its interpreter count.
    set_mode(&program, 0o4755);
    refused(&run(), 2, &["set-user-ID", "as user 0", "which runs"]);
}

/// Runs in a mount namespace that ends with the commands.
fn mounts_without_set_user_id() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    let point = workspace.path("mounted");
    fs::create_dir(&point).unwrap();
    let run = |option: &str| {
        let script = "mount -t tmpfs -o mode=755,$1 tmpfs \"$2\" && cp \"$3\" \"$2/p\" && \
                      chmod 4755 \"$2/p\" && shift 3 && exec \"$@\"";
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", script, "sh", option]);
        unshare
            .arg(&point)
            .arg(&program)
            .arg("setpriv")
            .args(CALLERS[1]);
        unshare
    };
    let run_program = |option: &str, through: bool| {
        let mut command = run(option);
        if through {
            command.arg(&public.command).args(["run", "--library"]);
            command.arg(&public.library).arg("--");
        }
        command.arg(point.join("p")).output().unwrap()
    };
    let direct = run_program("nosuid", false);
    assert!(direct.status.success(), "{}", text(&direct.stderr));
    assert!(!is_secure_to_kernel_and_squall(
        &direct,
        &run_program("nosuid", true),
        "nosuid"
    ));
    let direct = run_program("suid", false);
    assert_eq!(text(&direct.stdout), SECURE, "the control");
    assert!(is_secure_to_kernel_and_squall(
        &direct,
        &run_program("suid", true),
        "suid"
    ));
}

fn users_that_a_namespace_does_not_have() {
    let workspace = Workspace::new();
    let program = workspace.probe();
    let public = workspace.public();
    set(&program, 1000, 1000, 0o6755);
    let run_program = |options: &[&str], through: bool| {
        let mut command = Command::new("unshare");
        command.args(options);
        if through {
            command.arg(&public.command).args(["run", "--library"]);
            command.arg(&public.library).arg("--");
        }
        command.arg(&program).output().unwrap()
    };
    let without = ["--user", "--map-root-user"];
    let direct = run_program(&without, false);
    assert!(direct.status.success(), "{}", text(&direct.stderr));
    assert!(!is_secure_to_kernel_and_squall(
        &direct,
        &run_program(&without, true),
        "a namespace without the owner"
    ));
    assert!(is_secure_to_kernel_and_squall(
        &run_program(&["--mount"], false),
        &run_program(&["--mount"], true),
        "the control"
    ));
}

pub const TESTS: &[Test] = tests![
    owners_and_bits: [ROOT, SETPRIV],
    capabilities: [ROOT, SETPRIV, SETCAP],
    inheritable_and_ambient_capabilities: [ROOT, SETPRIV, SETCAP],
    bits_of_scripts_are_ignored: [ROOT, SETPRIV],
    mounts_without_set_user_id: [ROOT, SETPRIV, MOUNTS],
    users_that_a_namespace_does_not_have: [ROOT, USER_NAMESPACES],
];
