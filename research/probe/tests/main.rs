//! A real TLS server's answer to the probe's ClientHello.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use squall_probe::hello::{DRAWN, client_hello, read_drawn_values};
use squall_testing::needs::OPENSSL;
use squall_testing::suite::{self, Test};
use squall_testing::tests;

fn main() -> ExitCode {
    suite::main(&[TESTS])
}

/// `openssl s_server` on a socket, ended on drop.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server with these TLS versions.
fn serve(directory: &Path, versions: &str) -> Server {
    let mut make = Command::new("openssl");
    make.args([
        "req", "-x509", "-newkey", "ec", "-nodes", "-subj", "/CN=lab",
    ]);
    make.args(["-pkeyopt", "ec_paramgen_curve:P-256"]);
    make.args(["-keyout", "key.pem", "-out", "certificate.pem"]);
    let made = make.current_dir(directory).output();
    let made = made.expect("openssl runs");
    assert!(made.status.success(), "{made:?}");
    let server = Command::new("openssl")
        .args(["s_server", "-quiet", "-unix", "socket", versions])
        .args(["-cert", "certificate.pem", "-key", "key.pem"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Server(server.expect("a server"))
}

fn shake(directory: &Path) -> io::Result<[u8; DRAWN]> {
    let deadline = Instant::now() + Duration::from_secs(600);
    let mut server = loop {
        match UnixStream::connect(directory.join("socket")) {
            Ok(server) => break server,
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    server.set_read_timeout(Some(Duration::from_secs(600)))?;
    server.write_all(&client_hello())?;
    read_drawn_values(&mut server)
}

fn a_real_server_understands_and_is_understood() {
    let directory = tempfile::tempdir().expect("a directory");
    let _server = serve(directory.path(), "-tls1_3");
    let drawn = [(); 2].map(|()| shake(directory.path()).expect("what was drawn"));
    let (words, _) = drawn.as_flattened().as_chunks::<8>();
    let different: BTreeSet<_> = words.iter().collect();
    assert_eq!(different.len(), 2 * DRAWN / 8);
}

fn a_real_server_that_refuses_is_understood() {
    let directory = tempfile::tempdir().expect("a directory");
    let _server = serve(directory.path(), "-tls1_2");
    let refused = shake(directory.path()).expect_err("an alert");
    assert_eq!(refused.to_string(), "the server refused: alert 70");
}

pub const TESTS: &[Test] = tests![
    a_real_server_understands_and_is_understood: [OPENSSL],
    a_real_server_that_refuses_is_understood: [OPENSSL],
];
