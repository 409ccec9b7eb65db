//! nginx with TLS and wrk as its clients, with a handshake for every request.

use std::process::Command;

use crate::programs::{installed, openssl};
use crate::server::{Server, free_port};
use crate::workspace::{Way, Workspace, said};

/// A server with one page.
pub struct Nginx {
    server: Server,
    port: u16,
}

#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of requests, each with a handshake.
    pub requests: u64,
    /// Requests per second.
    pub rate: f64,
    /// Connections and requests that failed.
    pub errors: u64,
}

impl Nginx {
    /// Starts the server with `workers` processes.
    ///
    /// # Errors
    /// Returns why nginx is not available.
    pub fn start(workspace: &Workspace, way: Way, workers: usize) -> Result<Nginx, String> {
        let nginx = installed("nginx", "nginx-light")?;
        let [certificate, key] = openssl::certificate(workspace)?;
        let port = free_port();
        let folder = workspace.folder(&format!("nginx-{port}"));
        let at = folder.display();
        let user = if rustix::process::geteuid().is_root() {
            "user www-data;"
        } else {
            ""
        };
        let configuration = format!(
            "daemon off; {user} worker_processes {workers}; pid {at}/pid; error_log stderr notice;
             events {{ worker_connections 1024; }}
             http {{
               access_log off; keepalive_timeout 0;
               client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;
               fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
               server {{
                 listen 127.0.0.1:{port} ssl;
                 ssl_certificate {}; ssl_certificate_key {};
                 ssl_session_tickets off; ssl_session_cache off;
                 location / {{ return 200 \"squall\\n\"; }}
               }}
             }}\n",
            certificate.display(),
            key.display(),
        );
        let file = workspace.write(&format!("nginx-{port}.conf"), &configuration);
        let mut command = workspace.command(way, nginx);
        command.arg("-p").arg(&folder).arg("-c").arg(file);
        let server = Server::start(&mut command, port, folder.join("log"));
        Ok(Nginx { server, port })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub fn log(&self) -> String {
        self.server.said()
    }

    /// Runs sixteen clients for `seconds`. Each connects anew for every request.
    ///
    /// # Errors
    /// Returns why wrk is not available.
    pub fn load(&self, seconds: u64) -> Result<Load, String> {
        let mut wrk = Command::new(installed("wrk", "wrk")?);
        wrk.args(["-t", "1", "-c", "16", "-H", "Connection: close"]);
        wrk.args([
            "-d",
            &format!("{seconds}s"),
            &format!("https://127.0.0.1:{}/", self.port),
        ]);
        Ok(parse(&said(&mut wrk)))
    }
}

impl Nginx {
    /// The share of the worker's time under load that is spent in OpenSSL's RAND_bytes and
    /// RAND_priv_bytes and their callees, sampled by perf(1) for `seconds`.
    ///
    /// # Errors
    /// Returns why wrk or perf is not available, or perf's error.
    pub fn share_in_randomness(&self, seconds: u64) -> Result<f64, String> {
        let perf = installed("perf", "linux-perf")?;
        let worker = self.worker().ok_or("nginx has no worker")?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let data = folder.path().join("perf.data");
        let mut record = Command::new(&perf);
        record.args([
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            "1999",
            "--call-graph",
            "dwarf,16384",
        ]);
        record
            .arg("-o")
            .arg(&data)
            .args(["-p", &worker.to_string()]);
        record.args(["--", "sleep", &seconds.to_string()]);
        let load = std::thread::scope(|scope| {
            let load = scope.spawn(|| self.load(seconds + 1));
            let recorded = record.output().map_err(|error| error.to_string());
            load.join().expect("the load")?;
            recorded
        })?;
        if !load.status.success() {
            return Err(String::from_utf8_lossy(&load.stderr).trim().to_owned());
        }
        let mut report = Command::new(perf);
        report.args([
            "report",
            "--children",
            "--stdio",
            "-g",
            "none",
            "-F",
            "overhead_children,sym",
            "-i",
        ]);
        Ok(share(&said(report.arg(data))))
    }

    fn worker(&self) -> Option<u32> {
        let children = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = std::fs::read_to_string(children).ok()?;
        children.split_whitespace().next()?.parse().ok()
    }
}

/// The share of RAND_bytes and RAND_priv_bytes in perf's report.
fn share(report: &str) -> f64 {
    let of = |line: &str| -> Option<f64> {
        let (percent, symbol) = line.trim().split_once('%')?;
        let name = symbol.trim().trim_start_matches("[.] ");
        let counts = ["RAND_bytes_ex", "RAND_priv_bytes_ex"].contains(&name);
        counts.then(|| percent.trim().parse().ok()).flatten()
    };
    report.lines().filter_map(of).sum::<f64>() / 100.0
}

fn parse(report: &str) -> Load {
    let after = |word: &str| -> Option<f64> {
        let rest = report.split_once(word)?.1.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    let before = |word: &str| -> Option<f64> {
        report
            .split_once(word)?
            .0
            .split_whitespace()
            .last()?
            .parse()
            .ok()
    };
    let errors = ["connect ", "read ", "write ", "timeout "].map(|kind| {
        let line = report.lines().find(|line| line.contains("Socket errors"));
        let rest = line.and_then(|line| line.split_once(kind))?.1;
        rest.split(',').next()?.trim().parse::<u64>().ok()
    });
    let refused = after("Non-2xx or 3xx responses:").unwrap_or(0.0) as u64;
    Load {
        requests: before(" requests in").expect("requests") as u64,
        rate: after("Requests/sec:").expect("a rate"),
        errors: errors.into_iter().flatten().sum::<u64>() + refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_wrk() {
        let quiet = "Running 1s test @ https://127.0.0.1:1/\n  1 threads and 16 connections\n  \
                     3121 requests in 1.10s, 472.08KB read\nRequests/sec:   2838.80\n";
        let load = parse(quiet);
        assert_eq!((load.requests, load.rate, load.errors), (3121, 2838.8, 0));
        let bad = format!(
            "{quiet}  Socket errors: connect 1, read 20, write 300, timeout 4000\n  \
             Non-2xx or 3xx responses: 50000\n"
        );
        assert_eq!(parse(&bad).errors, 54321);
    }

    #[test]
    fn shares_of_perf() {
        let report = "# Overhead\n     2.09%  [.] EVP_RAND_generate\n     1.50%  [.] RAND_bytes_ex\n     \
                      0.50%  [.] RAND_priv_bytes_ex\n     9.00%  [.] SSL_accept\n";
        assert!((share(report) - 0.02).abs() < 1e-9);
    }
}
