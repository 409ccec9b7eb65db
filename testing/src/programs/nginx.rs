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

impl Nginx {
    /// Starts the server with `workers` processes.
    pub fn start(workspace: &Workspace, way: Way, workers: usize) -> Nginx {
        let nginx = installed("nginx");
        let [certificate, key] = openssl::certificate(workspace);
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
        Nginx { server, port }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn log(&self) -> String {
        self.server.said()
    }

    /// Runs sixteen clients for `seconds`, which connect anew for every request. Returns requests per second.
    #[track_caller]
    pub fn load(&self, seconds: u64) -> f64 {
        let mut wrk = Command::new(installed("wrk"));
        wrk.args(["-t", "1", "-c", "16", "-H", "Connection: close"]);
        wrk.arg("-d").arg(format!("{seconds}s"));
        wrk.arg(format!("https://127.0.0.1:{}/", self.port));
        let report = said(&mut wrk);
        let failed = ["Socket errors", "Non-2xx"]
            .iter()
            .any(|words| report.contains(words));
        let rate = report.split_once("Requests/sec:").filter(|_| !failed);
        let rate = rate.and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        rate.unwrap_or_else(|| panic!("{report}"))
    }
}
