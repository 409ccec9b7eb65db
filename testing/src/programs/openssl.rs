//! The openssl command: random bytes, keys, certificates, and a TLS server.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::programs::installed;
use crate::server::{Server, free_port};
use crate::workspace::{Way, Workspace, said, succeeded};

/// A command for `openssl` that gets its randomness by `way`.
///
/// # Errors
/// Returns why openssl is not available.
pub fn command(workspace: &Workspace, way: Way) -> Result<Command, String> {
    let openssl = installed("openssl", "openssl")?;
    let mut command = workspace.command(way, openssl);
    command.stdin(Stdio::null());
    Ok(command)
}

/// `count` random bytes from `openssl rand`.
///
/// # Errors
/// Returns why openssl is not available.
pub fn random(workspace: &Workspace, way: Way, count: u64) -> Result<Vec<u8>, String> {
    let mut command = command(workspace, way)?;
    Ok(succeeded(command.arg("rand").arg(count.to_string())).stdout)
}

/// A new private key on the curve P-256, in PEM.
///
/// # Errors
/// Returns why openssl is not available.
pub fn key(workspace: &Workspace, way: Way) -> Result<String, String> {
    let mut command = command(workspace, way)?;
    let arguments = "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256";
    Ok(said(command.args(arguments.split(' '))))
}

/// Files with a self-signed certificate for localhost and its key.
///
/// # Errors
/// Returns why openssl is not available.
pub fn certificate(workspace: &Workspace) -> Result<[PathBuf; 2], String> {
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| workspace.path(name));
    let mut command = command(workspace, Way::Plain)?;
    let arguments = "req -x509 -nodes -subj /CN=localhost -days 30 -newkey ec";
    command.args(arguments.split(' '));
    command.args(["-pkeyopt", "ec_paramgen_curve:P-256"]);
    command
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    succeeded(&mut command);
    Ok([certificate, key])
}

/// Starts `openssl s_server` on a free port.
///
/// # Errors
/// Returns why openssl is not available.
pub fn serve(workspace: &Workspace, way: Way) -> Result<(Server, u16), String> {
    let [certificate, key] = certificate(workspace)?;
    let port = free_port();
    let mut command = command(workspace, way)?;
    command.args(["s_server", "-www", "-accept", &port.to_string()]);
    command.arg("-cert").arg(certificate).arg("-key").arg(key);
    let server = Server::start(&mut command, port, workspace.path("s_server.log"));
    Ok((server, port))
}

/// The output of a client that connects to localhost and verifies the certificate.
///
/// # Errors
/// Returns why openssl is not available.
pub fn connect(workspace: &Workspace, port: u16) -> Result<String, String> {
    let mut command = command(workspace, Way::Plain)?;
    command.args(["s_client", "-verify_return_error", "-CAfile"]);
    command.arg(workspace.path("certificate.pem"));
    command.args(["-connect", &format!("localhost:{port}")]);
    Ok(said(&mut command))
}
