//! PostgreSQL, whose `gen_random_uuid` asks OpenSSL.

use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;

use crate::server::{Server, free_port};
use crate::workspace::{Way, Workspace, said, succeeded};

pub struct Postgres<'a> {
    workspace: &'a Workspace,
    programs: PathBuf,
    port: u16,
    _server: Server,
}

impl<'a> Postgres<'a> {
    /// Creates the database and starts the server.
    pub fn start(workspace: &'a Workspace, way: Way) -> Postgres<'a> {
        let programs = programs().expect("PostgreSQL");
        let port = free_port();
        let data = workspace.folder(&format!("postgres-{port}"));
        if rustix::process::geteuid().is_root() {
            let (user, group) = postgres_user().expect("a user");
            chown(&data, Some(user), Some(group)).expect("the server's folder");
        }
        let mut initdb = as_postgres(workspace, Way::Plain, programs.join("initdb"));
        initdb.args(["--auth", "trust", "--username", "squall", "--no-sync", "-D"]);
        succeeded(initdb.arg(&data));
        let mut server = as_postgres(workspace, way, programs.join("postgres"));
        server
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"])
            .arg(&data);
        server.args(["-c", "fsync=off", "-D"]).arg(&data);
        let log = workspace.path(&format!("postgres-{port}.log"));
        let server = Server::start(&mut server, port, log);
        let postgres = Postgres {
            workspace,
            programs,
            port,
            _server: server,
        };
        postgres.wait_until_ready();
        postgres
    }

    /// Waits until the server answers; it listens before that.
    fn wait_until_ready(&self) {
        let mut ready = Command::new(self.programs.join("pg_isready"));
        let arguments = format!("-q -h 127.0.0.1 -t 60 -p {}", self.port);
        ready.args(arguments.split(' '));
        for _ in 0..600 {
            if ready.status().is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("PostgreSQL does not answer");
    }

    /// The result of a query, as text.
    pub fn query(&self, query: &str) -> String {
        let mut psql = self
            .workspace
            .command(Way::Plain, self.programs.join("psql"));
        let arguments = format!("-h 127.0.0.1 -p {} -U squall -d postgres -XAtc", self.port);
        psql.args(arguments.split(' ')).arg(query);
        said(&mut psql).trim_end().to_owned()
    }
}

/// Whether PostgreSQL is available, and a user to run it as.
pub fn available() -> Result<(), String> {
    programs()?;
    if rustix::process::geteuid().is_root() {
        postgres_user()?;
    }
    Ok(())
}

/// The folder of the newest version's programs.
fn programs() -> Result<PathBuf, String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let folders = versions.into_iter().flatten().flatten();
    folders
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
        .max()
        .ok_or_else(|| "PostgreSQL is not installed: install the package postgresql".to_owned())
}

/// The user and group that Debian's package creates, because the server refuses to run as root.
fn postgres_user() -> Result<(u32, u32), String> {
    let id = |option| -> Option<u32> {
        let output = Command::new("id")
            .args([option, "postgres"])
            .output()
            .ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    id("-u")
        .zip(id("-g"))
        .ok_or_else(|| "there is no user postgres: install the package postgresql".to_owned())
}

fn as_postgres(workspace: &Workspace, way: Way, program: PathBuf) -> Command {
    if !rustix::process::geteuid().is_root() {
        return workspace.command(way, program);
    }
    let (user, group) = postgres_user().expect("a user");
    let mut command = workspace.command(way, "setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={group}")]);
    command.arg("--clear-groups").arg(program);
    command
}
