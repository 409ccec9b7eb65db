//! Unmodified programs in a small userland from the initramfs: a C program with and without
//! libsquall-preload.so, and nginx with and without OpenSSL's provider.
//!
//! The probe requests one output at a time, so that no output from before a snapshot waits in a pipe or
//! a socket. Each program has a thread of the probe that sends it requests.
//! The C program gets a letter and answers with 64 bytes. nginx serves TLS on a socket, and an output
//! consists of the values that it draws for a handshake. What squall must have served is counted: output
//! from another generator would prove nothing.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use squall_binding_base::counters::{self, Interface};
use squall_probe::Source;
use squall_probe::hello::{client_hello, read_drawn_values};

use crate::generator::{Bits, Drawer, Generator, words};
use crate::layout::Channels;
use crate::memory::Memory;
use crate::{Result, process, tick};

/// The directory for the programs' files.
const RUN: &str = "/run";

/// The file in which they count the requests that squall served.
const COUNTERS: &str = "/run/counters";

/// The environment variable that preloads the library.
const PRELOAD: (&str, &str) = ("LD_PRELOAD", "/programs/libsquall-preload.so");

/// OpenSSL's configuration with squall's provider, and an empty one.
const PROVIDER: (&str, &str) = ("OPENSSL_CONF", "/programs/openssl.cnf");
const NO_PROVIDER: (&str, &str) = ("OPENSSL_CONF", "/dev/null");

/// The sources in the C program that squall serves: the source, the letter that asks for it, and the
/// interface at which squall counts it.
const INTERFACES: [(Source, u8, Interface); 3] = [
    (Source::PreloadedGetrandom, b'g', Interface::Getrandom),
    (Source::PreloadedArc4random, b'a', Interface::Arc4random),
    (Source::PreloadedDevice, b'd', Interface::Device),
];

/// The running programs, and the drawers that ask each.
pub struct Programs {
    memory: Memory,
    drawers_by_program: Vec<Vec<Drawer>>,
}

/// Starts all programs.
pub fn start(channels: &Channels) -> Result<Programs> {
    let failed = |error: std::io::Error| format!("{RUN}: {error}");
    fs::create_dir_all(RUN).map_err(failed)?;
    counters::create(Path::new(COUNTERS)).map_err(failed)?;
    let guarded = Nginx::start("squall", &[PROVIDER, (counters::VARIABLE, COUNTERS)])?;
    let guarded = Served::new(guarded, Interface::Openssl, COUNTERS);
    let own = Nginx::start("openssl", &[NO_PROVIDER])?;
    let drawers = vec![
        start_preloaded(channels)?,
        vec![start_plain(channels)?],
        vec![drawer(channels, Source::NginxSquall, guarded)],
        vec![drawer(channels, Source::NginxOpenssl, own)],
    ];
    Ok(Programs::new(channels.memory, drawers))
}

/// Starts the C program with the preload library; returns its drawers, of which the last reads a buffer of the program.
fn start_preloaded(channels: &Channels) -> Result<Vec<Drawer>> {
    let program = Program::start(&[DRAWS], &[PRELOAD, (counters::VARIABLE, COUNTERS)])?;
    let interface = |(source, letter, interface)| {
        let served = Served::new(program.source(letter), interface, COUNTERS);
        drawer(channels, source, served)
    };
    let mut drawers: Vec<_> = INTERFACES.into_iter().map(interface).collect();
    drawers.push(drawer(
        channels,
        Source::PreloadedNaive,
        program.source(b'n'),
    ));
    Ok(drawers)
}

/// Starts the C program without squall.
fn start_plain(channels: &Channels) -> Result<Drawer> {
    let program = Program::start(&[DRAWS], &[])?;
    Ok(drawer(channels, Source::LibcKernel, program.source(b'g')))
}

/// The drawer of the only instance of `source`.
pub fn drawer(channels: &Channels, source: Source, generator: impl Generator + 'static) -> Drawer {
    Drawer::new(channels, source, 0, generator)
}

impl Programs {
    /// Programs that these drawers ask, those of each program together.
    pub fn new(memory: Memory, drawers_by_program: Vec<Vec<Drawer>>) -> Programs {
        Programs {
            memory,
            drawers_by_program,
        }
    }

    /// Asks every source once.
    pub fn warm_up(&mut self) {
        for drawer in self.drawers_by_program.iter_mut().flatten() {
            drawer.draw();
        }
    }

    /// squall's counters; null if the programs do not count.
    pub fn served(&self) -> Result<Value> {
        if !Path::new(COUNTERS).exists() {
            return Ok(Value::Null);
        }
        let totals = counters::read(Path::new(COUNTERS));
        let totals = totals.map_err(|error| format!("{COUNTERS}: {error}"))?;
        serde_json::to_value(totals).map_err(|error| format!("{COUNTERS}: {error}"))
    }

    /// Starts a thread for each program, which waits for the lab and then asks at every tick.
    pub fn run(self) {
        for mut drawers in self.drawers_by_program {
            let memory = self.memory;
            thread::spawn(move || {
                memory.wait_for_run();
                while memory.is_running() {
                    tick::wait(0);
                    for drawer in &mut drawers {
                        drawer.draw();
                    }
                }
            });
        }
    }
}

/// The C program's path in the initramfs.
const DRAWS: &str = "/programs/draws";

/// A running program. It ends when the last of its sources is dropped.
#[derive(Clone)]
pub struct Program(Arc<Mutex<Pipes>>);

struct Pipes {
    /// The program's path.
    path: String,
    requests: ChildStdin,
    answers: ChildStdout,
}

impl Program {
    /// Starts the program of this command line with only these environment variables.
    pub fn start(command: &[&str], environment: &[(&str, &str)]) -> Result<Program> {
        let path = command[0].to_owned();
        let mut program: Child = Command::new(&path)
            .args(&command[1..])
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{path}: {error}"))?;
        let (requests, answers) = program
            .stdin
            .take()
            .zip(program.stdout.take())
            .expect("pipes");
        let pipes = Pipes {
            path,
            requests,
            answers,
        };
        Ok(Program(Arc::new(Mutex::new(pipes))))
    }

    /// The source that this letter asks for.
    pub fn source(&self, letter: u8) -> impl Generator + use<> {
        let program = self.clone();
        move || program.ask(letter)
    }

    /// The program's answer to this letter.
    pub fn ask(&self, letter: u8) -> Bits {
        let mut pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = pipes.ask(letter);
        asked.unwrap_or_else(|error| panic!("{}: {error}", pipes.path))
    }
}

impl Pipes {
    fn ask(&mut self, letter: u8) -> io::Result<Bits> {
        self.requests.write_all(&[letter])?;
        let mut bytes = [0; size_of::<Bits>()];
        self.answers.read_exact(&mut bytes)?;
        Ok(words(&bytes))
    }
}

/// The server's path in the initramfs, and its configuration, which names the socket and the PID file
/// relative to the directory in which the server starts.
const PROGRAM: &str = "/usr/sbin/nginx";
const CONFIGURATION: &str = "/programs/nginx.conf";
const SOCKET: &str = "socket";

/// Longest time for its start and for an answer, on an emulated machine that others share.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Pause between two attempts to connect while it starts.
const PAUSE: Duration = Duration::from_millis(10);

/// A running server, and the ClientHello that it is sent.
pub struct Nginx {
    socket: PathBuf,
    hello: Vec<u8>,
}

impl Nginx {
    /// Starts a server in the directory `name` with only these environment variables, and waits until
    /// it answers.
    pub fn start(name: &str, environment: &[(&str, &str)]) -> Result<Nginx> {
        let directory = Path::new(RUN).join(name);
        let failed = |error: io::Error| format!("{PROGRAM} ({name}): {error}");
        fs::create_dir_all(&directory).map_err(failed)?;
        Command::new(PROGRAM)
            .args(["-c", CONFIGURATION, "-e", "stderr", "-p"])
            .arg(&directory)
            .current_dir(&directory)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let nginx = Nginx {
            socket: directory.join(SOCKET),
            hello: client_hello(),
        };
        nginx
            .wait()
            .map_err(|why| format!("{PROGRAM} ({name}): {why}"))?;
        Ok(nginx)
    }

    fn wait(&self) -> Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        while let Err(error) = self.shake() {
            process::check_children()?;
            if Instant::now() > deadline {
                return Err(format!("no answer within {} s: {error}", TIMEOUT.as_secs()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Starts a handshake, returns the values that the server drew for it, and closes the connection.
    fn shake(&self) -> io::Result<Bits> {
        let mut server = UnixStream::connect(&self.socket)?;
        server.set_read_timeout(Some(TIMEOUT))?;
        server.write_all(&self.hello)?;
        read_drawn_values(&mut server).map(|bytes| words(&bytes))
    }
}

impl Generator for Nginx {
    fn draw(&mut self) -> Option<Bits> {
        let shaken = self.shake();
        let at = self.socket.display();
        Some(shaken.unwrap_or_else(|error| panic!("{PROGRAM} at {at}: {error}")))
    }
}

/// Number of outputs between two checks of the counters.
const CHECK_INTERVAL: u64 = 16;

/// A source whose requests squall counts. The counters are in the machine's memory, so a snapshot
/// contains them.
pub struct Served<G> {
    inner: G,
    interface: Interface,
    counters: &'static str,
    outputs: u64,
}

impl<G> Served<G> {
    /// Wraps `inner`, which alone is served at `interface`. The counters are in the file `counters`.
    pub fn new(inner: G, interface: Interface, counters: &'static str) -> Served<G> {
        Served {
            inner,
            interface,
            counters,
            outputs: 0,
        }
    }

    /// Fails unless squall has counted at least one request for each output.
    fn check(&self) {
        let counted = match counters::read(Path::new(self.counters)) {
            Ok(totals) => totals.count(self.interface).requests,
            Err(error) => panic!("{}: {error}", self.counters),
        };
        assert!(
            counted >= self.outputs,
            "the source returned {} outputs, but squall has served {counted} requests at the interface {}",
            self.outputs,
            self.interface.name()
        );
    }
}

impl<G: Generator> Generator for Served<G> {
    fn draw(&mut self) -> Option<Bits> {
        let bits = self.inner.draw()?;
        self.outputs += 1;
        if self.outputs % CHECK_INTERVAL == 1 {
            self.check();
        }
        Some(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "squall has served 0 requests at the interface arc4random")]
    fn output_that_squall_did_not_serve_is_a_failure() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("counters");
        counters::create(&file).expect("counters");
        let file = file.to_str().expect("a path").to_owned().leak();
        Served::new(|| [7; 8], Interface::Arc4random, file).draw();
    }
}
