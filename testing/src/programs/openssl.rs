//! The openssl command: random bytes, keys, certificates, and a TLS server.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::programs::installed;
use crate::server::{Server, free_port};
use crate::workspace::{Way, Workspace, said, succeeded};

/// A command for `openssl` that gets its randomness by `way`.
fn command(workspace: &Workspace, way: Way) -> Command {
    let openssl = installed("openssl");
    let mut command = workspace.command(way, openssl);
    command.stdin(Stdio::null());
    command
}

/// `count` random bytes from `openssl rand`.
pub fn random(workspace: &Workspace, way: Way, count: u64) -> Vec<u8> {
    let mut command = command(workspace, way);
    succeeded(command.arg("rand").arg(count.to_string())).stdout
}

/// A new private key on the curve P-256, in PEM.
pub fn key(workspace: &Workspace, way: Way) -> String {
    let mut command = command(workspace, way);
    let arguments = "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256";
    said(command.args(arguments.split(' ')))
}

/// Files with a self-signed certificate for localhost and its key.
pub fn certificate(workspace: &Workspace) -> [PathBuf; 2] {
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| workspace.path(name));
    let mut command = command(workspace, Way::Plain);
    let arguments = "req -x509 -nodes -subj /CN=localhost -days 30 -newkey ec";
    command.args(arguments.split(' '));
    command.args(["-pkeyopt", "ec_paramgen_curve:P-256"]);
    command
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    succeeded(&mut command);
    [certificate, key]
}

/// Starts `openssl s_server` on a free port.
pub fn serve(workspace: &Workspace, way: Way) -> (Server, u16) {
    let [certificate, key] = certificate(workspace);
    let port = free_port();
    let mut command = command(workspace, way);
    command.args(["s_server", "-www", "-accept", &port.to_string()]);
    command.arg("-cert").arg(certificate).arg("-key").arg(key);
    let server = Server::start(&mut command, port, workspace.path("s_server.log"));
    (server, port)
}

/// The output of a client that connects to localhost and verifies the certificate.
pub fn connect(workspace: &Workspace, port: u16) -> String {
    let mut command = command(workspace, Way::Plain);
    command.args(["s_client", "-verify_return_error", "-CAfile"]);
    command.arg(workspace.path("certificate.pem"));
    command.args(["-connect", &format!("localhost:{port}")]);
    said(&mut command)
}
