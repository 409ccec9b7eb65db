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
        wrk.arg("-d").arg(format!("{seconds}s"));
        wrk.arg(format!("https://127.0.0.1:{}/", self.port));
        Ok(parse(&said(&mut wrk)))
    }
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
}
