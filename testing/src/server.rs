//! Servers on a port of this machine, which end with their owner.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Longest time until a server listens, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A port on which nobody listens, another one each time: the server that is to listen on it may take a while.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if given.insert(port) {
            return port;
        }
    }
}

/// A server and all its processes.
pub struct Server {
    child: Child,
    /// The file with the server's output.
    log: PathBuf,
}

impl Server {
    /// Starts `command`, which must stay in the foreground, and waits until it listens.
    #[track_caller]
    pub fn start(command: &mut Command, port: u16, log: PathBuf) -> Server {
        let said = File::create(&log).expect("a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(said.try_clone().expect("the log twice"))
            .stderr(said)
            .process_group(0)
            .spawn()
            .expect("the server can be started");
        let mut server = Server { child, log };
        server.wait_until_it_listens(port);
        server
    }

    #[track_caller]
    fn wait_until_it_listens(&mut self, port: u16) {
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let ended = self.child.try_wait().expect("its state");
            assert!(
                ended.is_none() && started.elapsed() < PATIENCE,
                "the server does not listen ({ended:?}): {}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        for signal in [Signal::INT, Signal::KILL] {
            let _ = kill_process_group(group, signal);
            let asked = Instant::now();
            while asked.elapsed() < Duration::from_secs(5) {
                if let Ok(Some(_)) = self.child.try_wait() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.child.wait();
    }
}
