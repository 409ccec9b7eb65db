//! Requests at odd times of a process: before its own initialisers, and in a sandbox.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use squall_testing::compiler::compile;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

pub const TESTS: &[Test] = tests![
    a_request_before_the_programs_initialisers_is_served,
    a_sandbox_after_the_first_request_needs_no_devices,
    squalls_second_draw_looks_for_devices: [LOOKS_LATER],
];

/// If this variable is set, this program draws and enters a sandbox, as it says.
const CHILD: &str = "SQUALL_TEST_SANDBOX";

/// What [`CHILD`] says.
pub fn child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Draws once, enters a sandbox that ends whoever looks for a file, and draws again: by getrandom, or by squall itself.
pub fn draw_around_sandbox(child: &str) {
    let draws: [fn(); 2] = match child {
        "getrandom" => [
            // The crate `getrandom` makes two requests at first, and this one.
            || assert!(HashSet::<u8>::new().is_empty()),
            || getrandom::fill(&mut [0; 16]).expect("bytes"),
        ],
        "squall" => [|| squall::fill(&mut [0; 16]); 2],
        _ => return,
    };
    draws[0]();
    let looking = [libc::SYS_openat, libc::SYS_newfstatat, libc::SYS_readlinkat];
    let filter = SeccompFilter::new(
        looking.map(|call| (call, Vec::new())).into(),
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        std::env::consts::ARCH.try_into().expect("a known CPU"),
    );
    let program: BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
    seccompiler::apply_filter(&program).expect("a sandbox");
    draws[1]();
}

fn a_sandbox_after_the_first_request_needs_no_devices() {
    assert!(status_of("getrandom").success());
}

/// The control.
fn squalls_second_draw_looks_for_devices() {
    assert_eq!(status_of("squall").signal(), Some(libc::SIGSYS));
}

fn status_of(name: &str) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.env(CHILD, name).status().expect("it can be run")
}

/// A machine on which squall serves a process's first request before it looks for devices.
const LOOKS_LATER: Need = Need {
    check: || {
        let status = squall::status();
        if status.has_kvm_clock {
            return Err("kvm-clock is a signal here, so squall looks for no devices".to_owned());
        }
        if status.is_vm && !status.has_vmgenid {
            return Err("in a VM without vmgenid squall looks for devices at once".to_owned());
        }
        Ok(())
    },
    required_by: NOTHING,
};

/// A library whose constructor draws, which runs before the program's initialisers, and prints the file whose getrandom
/// served.
const CONSTRUCTOR: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

__attribute__((constructor)) static void draw(void)
{
    unsigned char bytes[2][32] = {{0}};
    Dl_info found;
    if (getrandom(bytes[0], 32, 0) != 32 || getrandom(bytes[1], 32, 0) != 32)
        puts("not served");
    else if (memcmp(bytes[0], bytes[1], 32) == 0)
        puts("the same bytes twice");
    else if (dladdr(dlsym(RTLD_DEFAULT, "getrandom"), &found))
        puts(found.dli_fname);
    fflush(stdout);
}
"#;

fn a_request_before_the_programs_initialisers_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("constructor.so");
    let source = folder.path().join("constructor.c");
    std::fs::write(&source, CONSTRUCTOR).expect("a file");
    compile(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source]),
    );
    let served_by = |mut program: Command| {
        let output = program.env("LD_PRELOAD", &library).output();
        String::from_utf8(output.expect("it can be run").stdout).expect("text")
    };
    let this = std::env::current_exe().expect("this program");
    let mut child = Command::new(&this);
    child.env(CHILD, "not entered");
    assert_eq!(served_by(child), format!("{}\n", this.display()));
    // The control: in another program the C library serves.
    assert!(served_by(Command::new("true")).contains("libc.so"));
}
