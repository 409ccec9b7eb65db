//! `squall stream` when the system refuses threads, memory or long files, or when a disk fails late; other commands that
//! write files, too.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use squall_testing::refuse::{Refusal, refusing};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{SEED, Scratch, by_shell, bytes, in_shell, refused, run, squall, text};

/// Runs the command with at most `kib` KiB of address space.
fn limited(kib: u32, arguments: &str) -> Output {
    by_shell(&format!("ulimit -v {kib}; exec $squall {arguments}"))
}

fn threads_that_cannot_be_made_are_an_error() {
    let output = limited(60_000, "stream --size 4G --threads 1000 --output /dev/null");
    refused(&output, 1, &["squall: threads: ", "use fewer --threads\n"]);
}

/// One thread writes the same, and fewer than were asked for are a failure.
fn threads_that_nobody_asked_for_are_not_needed() {
    let expected = bytes(&format!("stream --seed {SEED} --size 50MB"));
    let no_threads = [libc::SYS_clone3, libc::SYS_clone].map(|call| Refusal {
        call,
        when: None,
        errno: libc::EAGAIN,
    });
    let seeded = format!("stream --seed {SEED} --size 50MB --output");
    for options in ["", "--format hex"] {
        let file = Scratch::new();
        let command = squall(&format!("{seeded} {} {options}", file.path().display()));
        let output = refusing(command, &no_threads).output();
        let output = output.expect("the command runs");
        assert_eq!(text(&output.stderr), "", "{options}");
        assert_eq!(output.status.code(), Some(0));
        let written = std::fs::read(file.path()).expect("the file is there");
        match options {
            "" => assert!(written == expected),
            _ => assert_eq!(written.len(), 2 * expected.len() + 1),
        }
    }
    let asked = squall("stream --size 50MB --threads 2 --output /dev/null");
    let output = refusing(asked, &no_threads)
        .output()
        .expect("the command runs");
    refused(&output, 1, &["use fewer --threads\n"]);
}

fn missing_memory_is_an_error() {
    for format in ["hex", "base64"] {
        let arguments =
            format!("stream --size 4G --threads 1000 --format {format} --output /dev/null");
        let output = limited(100_000, &arguments);
        let why = "memory: Cannot allocate memory: raise the limit or use fewer --threads\n";
        refused(&output, 1, &[why]);
    }
}

/// What the kernel sends when RLIMIT_CPU is reached, in the midst of a stream that is longer than its pipe.
fn a_used_up_cpu_time_is_an_error_unless_it_is_ignored() {
    let line = "squall: the CPU time is used up (see `ulimit -S -t`)\n";
    for (before, code, message) in [("", 1, line), ("trap '' XCPU; ", 0, "")] {
        let script = format!("{before}exec $squall stream --size 64MB");
        let mut child = in_shell(&script)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the shell runs");
        let mut bytes = [0];
        let pipe = child.stdout.as_mut().expect("a pipe");
        pipe.read_exact(&mut bytes).expect("a byte");
        kill_process(Pid::from_child(&child), Signal::XCPU).expect("it is there");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(text(&output.stderr), message);
        assert_eq!(output.status.code(), Some(code));
    }
}

/// The limit is half a MiB, in a shell's units. A report of bench is longer than none.
fn a_file_that_may_not_be_so_long_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = "bench --quick --workload words --source getrandom";
    for (limit, arguments) in [
        (1024, "stream --size 8MiB --output one"),
        (1024, "stream --size 8MiB >two"),
        (0, &format!("{bench} --export-json three")),
        (0, &format!("{bench} --export-html four")),
    ] {
        let folder = folder.path().display();
        let script = format!("cd {folder}; ulimit -f {limit}; exec $squall {arguments}");
        let output = by_shell(&script);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {message}");
        let last = message.lines().last().expect("a line");
        assert!(
            last.starts_with("squall: ") && last.contains("File too large"),
            "{message}"
        );
    }
}

/// At each limit some files are too long, and others are written.
fn files_of_packages_are_whole_or_not_there() {
    let files = |folder: &Path| -> BTreeMap<OsString, Vec<u8>> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let entries = entries.map(|entry| entry.expect("an entry"));
        let read = |path| std::fs::read(path).expect("a file");
        entries
            .map(|entry| (entry.file_name(), read(entry.path())))
            .collect()
    };
    for (command, limit) in [("man", 0), ("man", 8), ("schemas", 0), ("schemas", 32)] {
        let [whole, cut] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        bytes(&format!("{command} {}", whole.path().display()));
        let folder = cut.path().display();
        let output = by_shell(&format!(
            "ulimit -f {limit}; exec $squall {command} {folder}"
        ));
        refused(&output, 1, &["File too large (see `ulimit -f`)\n"]);
        let (whole, cut) = (files(whole.path()), files(cut.path()));
        assert!(cut.len() < whole.len());
        assert_eq!(cut.is_empty(), limit == 0, "{command} {limit}");
        for (name, content) in cut {
            assert!(whole.get(&name) == Some(&content), "{name:?}");
        }
    }
}

fn the_seed_file_is_never_the_output() {
    let (seed, link) = (Scratch::new(), Scratch::new());
    std::fs::write(seed.path(), SEED).expect("scratch files can be written");
    std::os::unix::fs::symlink(seed.path(), link.path()).expect("links can be made");
    let (name, other) = (seed.path().display(), link.path().display());
    for (input, output) in [
        (format!("{name}"), format!("{name}")),
        (format!("{name}"), format!("{other}")),
        ("-".to_owned(), format!("{name}")),
    ] {
        let arguments = format!("stream --size 1 --seed-file {input} --output {output}");
        let stdin = std::fs::File::open(seed.path()).expect("the seed is there");
        let lost = squall(&arguments).stdin(stdin).output();
        let why = "is the seed file, which would be lost: write to another file\n";
        let why = format!("squall: --output: {output} {why}");
        refused(&lost.expect("the command runs"), 2, &[&why]);
        let content = std::fs::read(seed.path()).expect("the seed is there");
        assert_eq!(text(&content), SEED);
    }
}

fn a_dash_as_output_is_standard_output() {
    assert_eq!(bytes("stream --size 9 --output -").len(), 9);
    let seeded = format!("stream --size 9 --seed {SEED}");
    assert_eq!(bytes(&format!("{seeded} --output -")), bytes(&seeded));
    assert!(!std::path::Path::new("-").exists());
}

/// Runs `command` with an fdatasync(2) that fails with `errno`, as on a disk that fails late.
fn with_failing_disk(command: Command, errno: i32) -> Output {
    let refusal = Refusal {
        call: libc::SYS_fdatasync,
        when: None,
        errno,
    };
    let output = refusing(command, &[refusal]).output();
    output.expect("the command runs")
}

fn a_disk_that_fails_late_is_an_error() {
    let file = Scratch::new();
    let name = file.path().display();
    let message = "Input/output error, while 9 bytes were synchronised to the disk\n";

    let to_file = || squall(&format!("stream --size 9 --output {name}"));
    let failed = with_failing_disk(to_file(), libc::EIO);
    refused(&failed, 1, &[&format!("squall: {name}: {message}")]);

    let script = format!("{} stream --size 9 > {name}", env!("CARGO_BIN_EXE_squall"));
    let mut to_stdout = Command::new("sh");
    to_stdout.args(["-c", &script]);
    let failed = with_failing_disk(to_stdout, libc::EIO);
    refused(
        &failed,
        1,
        &[&format!("squall: standard output: {message}")],
    );

    let odd = with_failing_disk(to_file(), libc::EINVAL);
    assert_eq!(
        (text(&odd.stderr), odd.status.code()),
        (String::new(), Some(0))
    );
    assert_eq!(
        run("stream --size 9 --output /dev/null").status.code(),
        Some(0)
    );
}

pub const TESTS: &[Test] = tests![
    threads_that_cannot_be_made_are_an_error,
    threads_that_nobody_asked_for_are_not_needed,
    missing_memory_is_an_error,
    a_used_up_cpu_time_is_an_error_unless_it_is_ignored,
    a_file_that_may_not_be_so_long_is_an_error,
    files_of_packages_are_whole_or_not_there,
    the_seed_file_is_never_the_output,
    a_dash_as_output_is_standard_output,
    a_disk_that_fails_late_is_an_error,
];
