//! `squall seed` really reseeds the kernel's generator; systemd knows the units.
//!
//! Other processes may force reseeds while these tests run. So a test that needs the generation to
//! stand still tries many times and needs one success.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::thread::CapabilitySet;
use squall_testing::needs::SYSTEMD_ANALYZE;
use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::{Need, Test};
use squall_testing::tests;

use crate::common::{refused, run, squall, text};

/// The message without CAP_SYS_ADMIN.
const REFUSED: &str = "squall: seed: /dev/urandom: Operation not permitted: CAP_SYS_ADMIN is \
    required: run as root, outside of containers\n";

/// The tests run with CAP_SYS_ADMIN.
pub const PRIVILEGE: Need = Need {
    check: || {
        rustix::thread::capabilities(None)
            .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
            .then_some(())
            .ok_or_else(|| "seeding the kernel takes CAP_SYS_ADMIN".into())
    },
    required_by: "SQUALL_REQUIRE_GUARDS",
};

/// The kernel exposes its generation.
pub const GENERATION: Need = Need {
    check: || {
        let generation = generation().map(drop);
        generation.ok_or_else(|| "this kernel does not show its generation".into())
    },
    required_by: "SQUALL_REQUIRE_GUARDS",
};

fn generation() -> Option<u64> {
    squall::status().kernel_generation
}

/// Whether `action` leaves the kernel's generation unchanged in at least one of 50 tries.
fn leaves_the_generation(action: impl Fn()) -> bool {
    (0..50).any(|_| {
        let before = generation();
        action();
        generation() == before
    })
}

/// The two generations of a line such as `seeded: …, generation 17 -> 18`.
#[track_caller]
pub fn generations(line: &str) -> (u64, u64) {
    let (_, numbers) = line.rsplit_once(", generation ").expect(line);
    let (before, after) = numbers.trim_end().split_once(" -> ").expect(line);
    (before.parse().expect(line), after.parse().expect(line))
}

fn seeding_reseeds_the_kernel() {
    for (arguments, credited) in [("seed", 0), ("seed --credit 512", 512)] {
        let start = format!("seeded: 512 bits of Whirlwind output, credited {credited}");
        let output = run(arguments);
        let line = text(&output.stdout);
        assert_eq!(
            (text(&output.stderr), output.status.code()),
            (String::new(), Some(0))
        );
        assert!(line.starts_with(&start) && line.ends_with('\n'), "{line}");
        assert_eq!(line.lines().count(), 1);
        if generation().is_some() {
            let (before, after) = generations(&line);
            assert!(before < after, "{line}");
        }
    }
}

fn seeding_moves_the_generation() {
    assert!(!leaves_the_generation(|| drop(run("seed"))));
    // The control: a command that does not reseed.
    assert!(leaves_the_generation(|| drop(run("--version"))));
}

fn a_test_of_the_sources_seeds_nothing() {
    let test = || run("seed --test");
    let shown = text(&test().stdout);
    let status = squall::status();
    for (source, state) in [
        ("kernel's generator", "works".to_owned()),
        ("CPU's random instruction", status.cpu_random.to_string()),
        ("cycle counter", status.cycle_counter.to_string()),
    ] {
        let line = shown
            .lines()
            .find(|line| line.starts_with(source))
            .expect(source);
        assert!(line.ends_with(&state), "{line}");
    }
    assert_eq!(shown.lines().count(), 3);
    assert!(leaves_the_generation(|| drop(test())));
}

/// Runs the command without CAP_SYS_ADMIN.
fn unprivileged(arguments: &str) -> Output {
    without_privilege(squall(arguments))
        .output()
        .expect("the command runs")
}

/// Takes CAP_SYS_ADMIN from the command, even if the tests have it.
pub fn without_privilege(mut command: Command) -> Command {
    let drop_privilege = || {
        // A process that may not drop the capability does not have it.
        let _ = rustix::thread::remove_capability_from_bounding_set(CapabilitySet::SYS_ADMIN);
        Ok(())
    };
    // SAFETY: one system call is made between fork and exec.
    unsafe { command.pre_exec(drop_privilege) };
    command
}

fn without_privilege_it_is_one_line_and_nothing_happens() {
    for arguments in [
        "seed",
        "seed --every 1h",
        "clones --seed",
        "seed --credit 512",
    ] {
        refused(&unprivileged(arguments), 1, &[REFUSED]);
        assert!(leaves_the_generation(|| drop(unprivileged(arguments))));
    }
}

/// The answers of a kernel that has just booted.
const NOT_READY: [Refusal; 2] = [
    // RNDRESEEDCRNG.
    Refusal {
        call: libc::SYS_ioctl,
        when: Some((1, 0x5207)),
        errno: libc::ENODATA,
    },
    Refusal {
        call: libc::SYS_getrandom,
        when: Some((2, libc::GRND_NONBLOCK as u64)),
        errno: libc::EAGAIN,
    },
];

fn every_interval_seeds_again() {
    let mut child = squall("seed --every 1s")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let lines: Vec<_> = lines.take(3).map(|line| line.expect("text")).collect();
    let _ = child.kill();
    let _ = child.wait();
    assert!(lines[0].starts_with("seeded: 512 bits"), "{lines:?}");
    for line in &lines[1..] {
        assert!(line.starts_with("every 1s: seeded: 512 bits"), "{line}");
    }
}

fn a_kernel_that_is_not_ready_takes_the_bytes() {
    let output = refusing(squall("seed"), &NOT_READY).output();
    let output = output.expect("the command runs");
    assert_eq!(
        text(&output.stdout),
        "added: 512 bits of Whirlwind output, credited 0\n"
    );
    assert_eq!(
        text(&output.stderr),
        "squall: seed: the kernel's generator is not ready yet: the bytes are in its pool, and \
         will be part of its first seed\n"
    );
    assert_eq!(output.status.code(), Some(0));
}

/// Name and text of each unit.
fn units() -> [(&'static str, String); 2] {
    ["squall-seed.service", "squall-clones.service"].map(|name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../systemd")
            .join(name);
        (
            name,
            std::fs::read_to_string(path).expect("the unit is there"),
        )
    })
}

fn units_run_what_the_command_knows() {
    for (name, unit) in units() {
        let started: Vec<_> = unit
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/squall "))
            .collect();
        assert_eq!(started.len(), 1, "{name}");
        // Arguments are parsed in order: help appears only if those before it are valid.
        let known = run(&format!("{} --help", started[0]));
        assert_eq!(known.status.code(), Some(0), "{name}: {}", started[0]);
        let unknown = run(&format!("{} --zz --help", started[0]));
        assert_eq!(unknown.status.code(), Some(2));
    }
}

fn units_are_what_systemd_expects() {
    let directory = tempfile::tempdir().expect("a folder");
    let paths = units().map(|(name, unit)| {
        let path = directory.path().join(name);
        let unit = unit.replace("/usr/local/bin/squall", env!("CARGO_BIN_EXE_squall"));
        std::fs::write(&path, unit).expect("scratch files can be written");
        path
    });
    let output = Command::new("systemd-analyze")
        .arg("verify")
        .args(&paths)
        .output();
    let output = output.expect("it runs");
    // systemd-analyze also complains about the machine's own units.
    let complaints = text(&output.stderr);
    let ours: Vec<_> = complaints
        .lines()
        .filter(|line| line.contains("squall"))
        .collect();
    assert!(ours.is_empty(), "{complaints}");
}

pub const TESTS: &[Test] = tests![
    seeding_reseeds_the_kernel: [PRIVILEGE],
    seeding_moves_the_generation: [PRIVILEGE, GENERATION],
    a_test_of_the_sources_seeds_nothing,
    without_privilege_it_is_one_line_and_nothing_happens,
    every_interval_seeds_again: [PRIVILEGE],
    a_kernel_that_is_not_ready_takes_the_bytes: [PRIVILEGE],
    units_run_what_the_command_knows,
    units_are_what_systemd_expects: [SYSTEMD_ANALYZE],
];
