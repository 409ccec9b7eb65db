//! How `squall` writes to terminals, to pipes that close, and to full disks.

use std::fs::{File, Permissions};
use std::io::{PipeWriter, Read, pipe};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::pipe::{SpliceFlags, fcntl_getpipe_size, tee};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::common::{
    DEADLINE, SEED, Scratch, by_shell, refused, run, spawn, squall, terminal, text, wait_for_end,
};

fn raw_bytes_are_refused_to_a_terminal() {
    let (_ours, theirs) = terminal();
    let (code, message) = wait_for_end(spawn(squall("stream").stdout(theirs)));
    assert_eq!(
        message,
        "squall: standard output is a terminal: not writing raw bytes there: use --output, a \
         pipe, --format hex, or --force\n"
    );
    assert_eq!(code, Some(1));
}

fn a_terminal_takes_text_and_forced_bytes() {
    for arguments in ["stream --size 8 --format hex", "stream --size 8 --force"] {
        let (mut ours, theirs) = terminal();
        let child = spawn(squall(arguments).stdout(theirs));
        assert_eq!(wait_for_end(child), (Some(0), String::new()));
        ours.read_exact(&mut [0; 8]).expect("it is shown");
    }
}

fn a_closed_pipe_ends_the_stream_quietly() {
    for arguments in [
        "stream",
        "stream --threads 2",
        "stream --format hex",
        "stream --format base64 --threads 3",
        "stream --size 1GiB",
        &format!("stream --seed {SEED}"),
    ] {
        let mut child = spawn(squall(arguments).stdout(Stdio::piped()));
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0; 10]).expect("bytes come");
        drop(stdout);
        assert_eq!(wait_for_end(child), (Some(0), String::new()), "{arguments}");
    }
}

fn a_pipe_nobody_reads_ends_every_command_quietly() {
    for arguments in [
        "status",
        "status --json",
        "--help",
        "",
        "stream",
        "--version",
    ] {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let child = spawn(squall(arguments).stdout(writer));
        assert_eq!(wait_for_end(child), (Some(0), String::new()), "{arguments}");
    }
}

/// Standard output closed by `>&-`, which Rust's runtime opens as /dev/null, or open only for reading
/// by `1<`.
fn an_unwritable_standard_output_is_an_error() {
    let file = Scratch::new();
    let to_file = format!("stream --size 10 --output {}", file.path().display());
    for redirection in [">&-", "1</dev/null"] {
        for (arguments, code) in [
            ("stream --size 10", 1),
            ("stream --size 10 --format hex --output -", 1),
            ("status", 1),
            ("status --json", 1),
            ("openssl-conf --check", 1),
            ("bench", 1),
            ("bench --json", 1),
            ("bench --explain squall", 1),
            ("bench --bytes-of squall", 1),
            ("dmcrypt list", 1),
            ("dmcrypt bench --export-csv -", 1),
            ("wipe --dry-run --json /nowhere", 2),
            ("verify --json /nowhere", 2),
            ("help stream", 1),
            ("--help", 1),
            ("--version", 1),
        ] {
            let output = by_shell(&format!("exec $squall {arguments} {redirection}"));
            let why =
                "standard output is closed or not writable: redirect it to a file or a pipe\n";
            refused(&output, code, &[why]);
        }
        // A run that does not write to standard output is not affected.
        let output = by_shell(&format!("exec $squall {to_file} {redirection}"));
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(std::fs::read(file.path()).expect("a file").len(), 10);
    }
}

/// A new file of text may hold a key, so only its owner may read it. An existing file keeps its mode.
fn a_new_file_of_text_is_its_owners_alone() {
    let mode_of = |format: &str, before: Option<u32>| {
        let file = Scratch::new();
        let name = file.path().display();
        if let Some(mode) = before {
            std::fs::write(file.path(), "old").expect("scratch files can be written");
            let mode = Permissions::from_mode(mode);
            std::fs::set_permissions(file.path(), mode).expect("it is ours");
        }
        let stream = format!("stream --size 32 --format {format} --output {name}");
        let output = by_shell(&format!("umask 022; exec $squall {stream}"));
        assert!(output.status.success());
        let metadata = std::fs::metadata(file.path()).expect("the file is there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode_of("hex", None), 0o600);
    assert_eq!(mode_of("base64", None), 0o600);
    assert_eq!(mode_of("raw", None), 0o644);
    assert_eq!(mode_of("hex", Some(0o640)), 0o640);
    assert_eq!(mode_of("raw", Some(0o600)), 0o600);
}

fn a_full_disk_is_an_error() {
    for arguments in ["stream", "stream --size 1", "stream --size 9 --format hex"] {
        let failed = run(&format!("{arguments} --progress --output /dev/full"));
        let why = "/dev/full: No space left on device, after 0 bytes were written\n";
        refused(&failed, 1, &[why]);
    }
    for arguments in ["status", "--help"] {
        let full = File::create("/dev/full").expect("/dev/full is there");
        let (code, message) = wait_for_end(spawn(squall(arguments).stdout(full)));
        assert_eq!(
            message,
            "squall: standard output: No space left on device\n"
        );
        assert_eq!(code, Some(1));
    }
}

fn an_error_says_how_much_was_written() {
    let file = Scratch::new();
    // A limit on file sizes stands in for a full disk: a write across it is cut short.
    let name = file.path().display();
    let stream = format!("stream --size 1MiB --output {name}");
    let failed = by_shell(&format!("trap '' XFSZ; ulimit -f 3; exec $squall {stream}"));
    let len = std::fs::metadata(file.path())
        .expect("the file is there")
        .len();
    assert!((1..1 << 20).contains(&len), "{len}");
    assert_eq!(
        text(&failed.stderr),
        format!(
            "squall: {name}: File too large (see `ulimit -f`), after {len} bytes were written\n"
        )
    );
    assert_eq!(failed.status.code(), Some(1));
}

/// A pipe ends when its reader has enough, a file when the disk is full.
fn an_endless_stream_does_not_go_to_a_file() {
    let (new, old) = (Scratch::new(), Scratch::new());
    std::fs::write(old.path(), "old").expect("scratch files can be written");
    // A limit that a stream which is not refused soon meets.
    let limited = |redirection: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 99; exec $squall stream {redirection}");
        by_shell(&script)
    };
    for file in [&new, &old] {
        let name = file.path().display();
        refused(
            &limited(&format!("--output {name}")),
            2,
            &[&name.to_string(), "add --size", "nothing was written"],
        );
        let appended = limited(&format!("--format hex >> {name}"));
        refused(&appended, 2, &["standard output", "add --size"]);
    }
    assert_eq!(std::fs::read(old.path()).expect("it is there"), b"old");
    assert_eq!(std::fs::read(new.path()).expect("the shell's"), b"");
}

fn a_fifo_as_output() {
    let fifo = Scratch::new();
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, fifo.path(), FileType::Fifo, mode, 0)
        .expect("a FIFO can be made");
    let name = fifo.path().display();
    let child = spawn(&mut squall(&format!("stream --output {name}")));
    let mut reader = File::open(fifo.path()).expect("the FIFO opens");
    reader.read_exact(&mut [0; 10]).expect("bytes come");
    drop(reader);
    assert_eq!(wait_for_end(child), (Some(0), String::new()));
}

/// Once the pipe is full, reads all of a seeded stream with `read`, and compares.
fn compare(size: usize, arguments: &str, stdout: PipeWriter, read: impl FnOnce() -> Vec<u8>) {
    let ours = stdout.try_clone().expect("a pipe");
    let arguments = format!("stream --seed {SEED} --size {size} {arguments}");
    let child = spawn(squall(&arguments).stdout(stdout));
    wait_until_full(&ours);
    drop(ours);
    let got = read();
    assert_eq!(wait_for_end(child), (Some(0), String::new()));
    let mut seed = [0; 32];
    (0..).zip(&mut seed).for_each(|(value, byte)| *byte = value);
    let mut expected = vec![0; got.len()];
    squall::Stream::new(&seed)
        .fill(&mut expected)
        .expect("a short stream");
    assert!(got == expected, "{arguments}");
}

/// Waits until `pipe` is full.
fn wait_until_full(pipe: &PipeWriter) {
    const TIMEOUT: Duration = Duration::from_secs(120);
    let started = Instant::now();
    let is_writable = || {
        let mut polled = [PollFd::new(pipe, PollFlags::OUT)];
        let writable = poll(&mut polled, Some(&Timespec::default()));
        writable.expect("a pipe") > 0
    };
    while is_writable() {
        assert!(started.elapsed() < TIMEOUT, "the pipe is never full");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn a_non_blocking_pipe_is_waited_for() {
    // Short streams are written; long ones are given to the pipe with vmsplice(2).
    for (size, threads) in [(2_000_000, 1), (2_000_000, 2), (8 << 20, 1), (8 << 20, 2)] {
        let (reader, writer) = pipe().expect("a pipe");
        let flags = rustix::fs::fcntl_getfl(&writer).expect("pipes have flags");
        rustix::fs::fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("flags can be set");
        let arguments = format!("--threads {threads}");
        compare(size, &arguments, writer, || {
            let mut got = Vec::new();
            (&reader).read_to_end(&mut got).expect("bytes come");
            assert_eq!(got.len(), size);
            got
        });
    }
}

fn bytes_that_a_reader_holds_never_change() {
    let (reader, writer) = pipe().expect("a pipe");
    let (held, holder) = pipe().expect("a pipe");
    rustix::pipe::fcntl_setpipe_size(&holder, 1 << 20).expect("a larger pipe");
    compare(256 << 20, "", writer, || {
        let room = fcntl_getpipe_size(&holder).expect("pipes have a size");
        let taken = tee(&reader, &holder, room, SpliceFlags::empty()).expect("bytes come");
        drop(holder);
        let total = std::io::copy(&mut &reader, &mut std::io::sink()).expect("bytes come");
        assert_eq!(total, 256 << 20);
        let mut got = Vec::new();
        (&held).read_to_end(&mut got).expect("bytes are kept");
        assert_eq!(got.len(), taken);
        got
    });
}

fn progress_leaves_one_line() {
    let output = run("stream --size 64MiB --progress --output /dev/null");
    let message = text(&output.stderr);
    assert!(message.starts_with("67.1 MB in "), "{message}");
    assert!(message.ends_with("B/s\n"), "{message}");
    assert_eq!(message.lines().count(), 1);
    assert_eq!(output.status.code(), Some(0));
}

fn progress_as_numbers() {
    let shown = |arguments: &str| -> Vec<u64> {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0));
        let lines = text(&output.stderr);
        lines
            .lines()
            .map(|line| line.parse().expect("a number"))
            .collect()
    };
    for size in ["0", "1", "64MiB"] {
        let percents = shown(&format!(
            "stream --size {size} --numeric --output /dev/null"
        ));
        assert_eq!(percents.last(), Some(&100));
    }
    // Slow enough for several numbers.
    let percents = shown("stream --size 300 --rate-limit 100 --numeric --output /dev/null");
    assert!(percents.is_sorted() && percents.len() > 1, "{percents:?}");
}

/// The stream waits for its reader until a bar has been drawn.
fn progress_shows_a_bar_on_a_terminal() {
    let (mut ours, theirs) = terminal();
    let (mut reader, stdout) = pipe().expect("a pipe");
    let child = squall("stream --size 256MiB --threads 1 --engine portable --progress")
        .stdout(stdout)
        .stderr(theirs)
        .env("TERM", "xterm")
        .spawn()
        .expect("the command runs");
    let mut shown = Vec::new();
    let (is_drawn, drawn) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = drawn.recv_timeout(DEADLINE);
            std::io::copy(&mut reader, &mut std::io::sink()).expect("bytes come");
        });
        // Reading ends with an error when the command has closed its side.
        let mut more = [0; 4096];
        while let Ok(len @ 1..) = ours.read(&mut more) {
            shown.extend(&more[..len]);
            if String::from_utf8_lossy(&shown).contains(" left") {
                let _ = is_drawn.send(());
            }
        }
    });
    assert_eq!(wait_for_end(child).0, Some(0));
    let shown = text(&shown);
    for part in [" %  ", " of 268.44 MB", "B/s", " left", "268 MB in "] {
        assert!(shown.contains(part), "{part}: {shown:?}");
    }
}

pub const TESTS: &[Test] = tests![
    raw_bytes_are_refused_to_a_terminal,
    a_terminal_takes_text_and_forced_bytes,
    a_closed_pipe_ends_the_stream_quietly,
    a_pipe_nobody_reads_ends_every_command_quietly,
    an_unwritable_standard_output_is_an_error,
    a_new_file_of_text_is_its_owners_alone,
    a_full_disk_is_an_error,
    an_error_says_how_much_was_written,
    an_endless_stream_does_not_go_to_a_file,
    a_fifo_as_output,
    a_non_blocking_pipe_is_waited_for,
    bytes_that_a_reader_holds_never_change,
    progress_leaves_one_line,
    progress_as_numbers,
    progress_shows_a_bar_on_a_terminal,
];
