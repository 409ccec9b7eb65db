//! Needs of the tests of several crates: programs, rights and features that a machine may lack.

use std::fs::{self, File};
use std::process::Command;

use crate::loops;
use crate::suite::{NOTHING, Need, command};

/// Programs that `scripts/deps.sh` installs.
const PROGRAMS: &str = "SQUALL_REQUIRE_PROGRAMS";

/// A need of one of them.
pub(crate) const fn program(check: fn() -> Result<(), String>) -> Need {
    Need {
        check,
        required_by: PROGRAMS,
    }
}

/// Set by `make test-all`.
const ALL: &str = "SQUALL_TEST_ALL";

/// Enough time, which only `make test-all` has.
pub const TEST_ALL: Need = Need {
    check: || {
        std::env::var_os(ALL)
            .map(drop)
            .ok_or_else(|| "`make test-all` runs it".into())
    },
    required_by: ALL,
};

/// Root.
pub const ROOT: Need = Need {
    check: || {
        rustix::process::geteuid()
            .is_root()
            .then_some(())
            .ok_or_else(|| "it requires root".into())
    },
    required_by: NOTHING,
};

/// Loop devices; see [`loops`].
pub const LOOP_DEVICES: Need = Need {
    check: loops::available,
    required_by: "SQUALL_REQUIRE_LOOP",
};

/// Mounts; they are required where loop devices are.
pub const MOUNTS: Need = Need {
    check: || {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "mount", "-t", "tmpfs", "tmpfs"]);
        succeeds(unshare.arg(folder.path())).map_err(|why| format!("no mounts: {why}"))
    },
    required_by: "SQUALL_REQUIRE_LOOP",
};

/// mkfs.btrfs(8).
pub const MKFS_BTRFS: Need = program(|| command("mkfs.btrfs"));

/// A C++ compiler. A C compiler is always needed.
pub const CXX_COMPILER: Need = program(|| command("c++"));

/// A C library to link statically.
pub const STATIC_LIBC: Need = program(|| links("-static"));

/// A C library for static, position-independent programs.
pub const STATIC_PIE: Need = program(|| links("-static-pie"));

/// nm(1).
pub const NM: Need = program(|| command("nm"));

/// groff(1).
pub const GROFF: Need = program(|| command("groff"));

/// fish(1).
pub const FISH: Need = program(|| command("fish"));

/// zsh(1).
pub const ZSH: Need = program(|| command("zsh"));

/// openssl(1).
pub const OPENSSL: Need = program(|| command("openssl"));

/// Python.
pub const PYTHON: Need = program(|| command("python3"));

/// valgrind(1).
pub const VALGRIND: Need = program(|| command("valgrind"));

/// A DHCP server, and clients.
pub const DHCP: Need = program(|| {
    ["dnsmasq", "dhclient", "dhcpcd"]
        .into_iter()
        .try_for_each(command)
});

/// systemd-networkd(8).
pub const NETWORKD: Need = Need {
    check: || {
        let is_there = std::path::Path::new("/lib/systemd/systemd-networkd").exists();
        is_there
            .then_some(())
            .ok_or_else(|| "systemd-networkd is not installed".into())
    },
    required_by: NOTHING,
};

/// Go.
pub const GO: Need = Need {
    check: || command("go"),
    required_by: NOTHING,
};

/// systemd-analyze(1).
pub const SYSTEMD_ANALYZE: Need = Need {
    check: || command("systemd-analyze"),
    required_by: NOTHING,
};

/// setpriv(1).
pub const SETPRIV: Need = program(|| command("setpriv"));

/// setcap(8), and a file system that supports capabilities.
pub const SETCAP: Need = Need {
    check: || {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = folder.path().join("file");
        File::create(&file).map_err(|error| error.to_string())?;
        succeeds(Command::new("setcap").arg("cap_net_raw+ep").arg(file))
            .map_err(|why| format!("no capabilities of files: {why}"))
    },
    required_by: NOTHING,
};

/// Fails unless a C program can be linked with this option.
fn links(option: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = folder.path().join("empty.c");
    fs::write(&source, "int main(void) { return 0; }\n").map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler
        .arg(option)
        .arg("-o")
        .arg(folder.path().join("empty"));
    succeeds(compiler.arg(source))
        .map_err(|why| format!("programs cannot be linked with {option}: {why}"))
}

/// Fails with the first line of a command's output unless the command succeeds.
fn succeeds(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    let output = command
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(errors.lines().next().unwrap_or(&program).to_owned())
}
