//! Measures calls of libsquall from C, in turns with the same calls from Rust.
//!
//! `cargo run --release -p squall-c --no-default-features --example cost [SECONDS]` measures each
//! call for that time (5 by default). It prints medians in nanoseconds, and the median and quartiles
//! of what C takes more in the same round. Without `--no-default-features`, Rust accesses thread-local
//! variables as a shared library does. The C side is `cost.c`, compiled against the installed
//! libsquall and run as a process of its own.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use squall_testing::artifacts;
use squall_tools::measure::{Effort, Peer, Spread, in_turns};

/// A process of `cost.c`.
struct CProgram {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl CProgram {
    fn start(folder: &Path) -> CProgram {
        let program = folder.join("cost");
        let prefix = artifacts::prefix();
        let compiled = Command::new("cc")
            .args(["-std=c11", "-O2", "-o"])
            .arg(&program)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cost.c"))
            .arg(format!("-I{}/include", prefix.display()))
            .arg(format!("-L{0}/lib", prefix.display()))
            .args(["-lsquall", &format!("-Wl,-rpath,{}/lib", prefix.display())])
            .status();
        assert!(compiled.expect("a C compiler").success());
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        CProgram {
            requests: child.stdin.take(),
            child,
            answers,
        }
    }

    fn measure(&mut self, what: &str, calls: u64) -> f64 {
        let mut requests = self.requests.as_ref().expect("a pipe");
        writeln!(requests, "{what} {calls}").expect("the program reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        answer.trim().parse().expect("nanoseconds")
    }
}

impl Drop for CProgram {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.child.wait();
    }
}

fn compare(c_program: &mut CProgram, what: &str, call: &mut dyn FnMut(u64), time: Duration) {
    let effort = Effort { rounds: 50, time };
    let of_rust = Peer::self_timed(|calls| {
        let clock = std::time::Instant::now();
        call(calls);
        clock.elapsed().as_nanos() as f64 / calls as f64
    });
    let of_c = Peer::self_timed(|calls| c_program.measure(what, calls));
    let times = in_turns(vec![of_rust, of_c], effort);
    let rounds = times[0].iter().zip(&times[1]);
    let more = Spread::of(rounds.map(|(rust, c)| c - rust).collect());
    let [rust, c] = [0, 1].map(|peer: usize| Spread::of(times[peer].clone()).median);
    println!(
        "{what:>6}  {rust:9.2} {c:9.2}  {:+7.2} ({:+.2} to {:+.2})",
        more.median, more.low, more.high
    );
}

fn main() {
    let seconds = std::env::args().nth(1).map(|text| text.parse());
    let seconds = seconds.unwrap_or(Ok(5.0)).expect("seconds");
    let time = Duration::from_secs_f64(seconds);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut c_program = CProgram::start(folder.path());
    println!("  call    Rust, ns     C, ns     more (quartiles)");
    let mut u32s = |calls| {
        for _ in 0..calls {
            black_box(squall::u32());
        }
    };
    compare(&mut c_program, "u32", &mut u32s, time);
    let mut u64s = |calls| {
        for _ in 0..calls {
            black_box(squall::u64());
        }
    };
    compare(&mut c_program, "u64", &mut u64s, time);
    for len in [16, 32, 16384] {
        let mut out = vec![0; len];
        let mut fill = |calls| {
            for _ in 0..calls {
                // The same length that C does not know beforehand.
                squall::fill(black_box(&mut out[..]));
            }
        };
        compare(&mut c_program, &len.to_string(), &mut fill, time);
    }
}
