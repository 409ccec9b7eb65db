//! OpenSSH: makes keys, and runs a server on which a user logs in with one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::programs::installed;
use crate::server::{Server, free_port};
use crate::workspace::{Way, Workspace, said, succeeded};

/// Makes a key of this type (`ed25519`, `rsa`, …) in the file `name`, without a passphrase.
pub fn key(workspace: &Workspace, way: Way, kind: &str, name: &str) -> PathBuf {
    let keygen = installed("ssh-keygen");
    let path = workspace.path(name);
    let mut command = workspace.command(way, keygen);
    succeeded(command.args(["-q", "-N", "", "-t", kind, "-f"]).arg(&path));
    path
}

/// A server that runs as this user, who can log in with a key.
pub struct Ssh<'a> {
    workspace: &'a Workspace,
    server: Server,
    port: u16,
    key: PathBuf,
}

impl<'a> Ssh<'a> {
    /// Starts the server.
    pub fn start(workspace: &'a Workspace, way: Way) -> Ssh<'a> {
        let sshd = installed("sshd");
        let port = free_port();
        let host_key = key(workspace, Way::Plain, "ed25519", &format!("host-{port}"));
        let key = key(workspace, Way::Plain, "ed25519", &format!("user-{port}"));
        if rustix::process::geteuid().is_root() {
            // A server that root starts confines its children to this directory.
            fs::create_dir_all("/run/sshd").expect("the server's folder");
        }
        let configuration = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\n\
             StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n\
             MaxStartups 100\nPasswordAuthentication no\nLogLevel VERBOSE\n",
            host_key.display(),
            key.with_extension("pub").display(),
        );
        let configuration = workspace.write(&format!("sshd-{port}.conf"), &configuration);
        let mut command = workspace.command(way, sshd);
        command.args(["-D", "-e", "-f"]).arg(configuration);
        let server = Server::start(
            &mut command,
            port,
            workspace.path(&format!("sshd-{port}.log")),
        );
        Ssh {
            workspace,
            server,
            port,
            key,
        }
    }

    /// Logs in, runs `command` there, and returns its output.
    ///
    /// # Panics
    /// If logging in fails.
    #[track_caller]
    pub fn run(&self, command: &str) -> String {
        let mut ssh = self.workspace.command(Way::Plain, "ssh");
        let options = "-F none -o BatchMode=yes -o LogLevel=ERROR -o StrictHostKeyChecking=no";
        ssh.args(options.split(' '));
        ssh.args(["-o", "UserKnownHostsFile=/dev/null"]);
        ssh.arg("-i").arg(&self.key);
        ssh.args(["-p", &self.port.to_string(), "127.0.0.1", command]);
        said(&mut ssh)
    }

    pub fn log(&self) -> String {
        self.server.said()
    }
}

/// The fingerprint of the key in `file`, as ssh-keygen reads it.
pub fn fingerprint(file: &PathBuf) -> String {
    let keygen = installed("ssh-keygen");
    said(Command::new(keygen).arg("-lf").arg(file))
}
