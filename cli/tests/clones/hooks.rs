//! The hooks that squall installs, each run in a folder that stands for the machine's /etc.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::suite::Test;
use squall_testing::tests;
use tempfile::TempDir;

use crate::common::text;

/// A folder with an `etc` for hooks, and with programs that they find first.
struct Machine(TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(TempDir::new().expect("a folder"));
        for folder in ["bin", "etc/ssh", "etc/squall"] {
            fs::create_dir_all(machine.path(folder)).expect("a folder");
        }
        let record = format!("echo \"$*\" >> {}", machine.path("systemctl").display());
        machine.write_program("systemctl", &record);
        machine.write("systemctl", "");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, contents: &str) {
        fs::write(self.path(name), contents).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    /// Adds a program, or replaces it.
    fn write_program(&self, name: &str, script: &str) {
        let name = format!("bin/{name}");
        self.write(&name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(&name), fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// The hook, with this machine's folder before the paths in /etc.
    fn script(&self, hook: &str) -> String {
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd/clones.d");
        let script = fs::read_to_string(hooks.join(hook)).expect("a hook");
        let is_code = |line: &&str| !line.starts_with('#');
        let script: Vec<_> = script.lines().filter(is_code).collect();
        let script = script.join("\n");
        let ours = ["$new/etc/", "$new\"/etc/"];
        let replaced = script.matches(" /etc/").count();
        let kept: usize = ours.iter().map(|path| script.matches(path).count()).sum();
        let all = script.matches("/etc/").count();
        assert_eq!(replaced + kept, all, "{hook} would change the real /etc");
        let etc = format!(" {}/", self.path("etc").display());
        let dbus = self.path("dbus").display().to_string();
        script
            .replace(" /etc/", &etc)
            .replace("/var/lib/dbus", &dbus)
    }

    fn run(&self, hook: &str, variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", self.path("bin").display());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &self.script(hook)])
            .env("PATH", path)
            .envs(variables.iter().copied());
        shell.output().expect("a shell")
    }

    #[track_caller]
    fn succeeds(&self, hook: &str) {
        let output = self.run(hook, &[]);
        assert_eq!(text(&output.stderr), "");
        assert!(output.status.success(), "{hook}: {}", output.status);
    }
}

const SERVICES: &str = "etc/squall/reload-after-clone";

fn every_service_is_reloaded() {
    let machine = Machine::new();
    machine.succeeds("50-reload");
    assert_eq!(machine.read("systemctl"), "");

    machine.write(
        SERVICES,
        "# first\n\n  one.service\n\t\n # second\ntwo.service\n-three.service",
    );
    machine.succeeds("50-reload");
    let expected = ["one", "two", "-three"]
        .map(|service| format!("try-reload-or-restart -- {service}.service\n"));
    assert_eq!(machine.read("systemctl"), expected.concat());
}

fn a_service_that_fails_keeps_no_other_from_being_reloaded() {
    let machine = Machine::new();
    let record = machine.path("systemctl");
    machine.write_program(
        "systemctl",
        &format!(
            "cat; echo \"$3\" >> {}; [ \"$3\" != bad.service ]",
            record.display()
        ),
    );
    machine.write(SERVICES, "bad.service\ngood.service\n");
    let output = machine.run("50-reload", &[]);
    assert_eq!(machine.read("systemctl"), "bad.service\ngood.service\n");
    assert_eq!(output.status.code(), Some(1));
}

/// Stands for ssh-keygen: makes keys of two types, as `ssh-keygen -A -f FOLDER` does.
const SSH_KEYGEN: &str = "[ \"$1 $2\" = '-A -f' ] || exit; cd \"$3/etc/ssh\" || exit; \
    for type in rsa ed25519; do echo new > ssh_host_${type}_key; echo new > ssh_host_${type}_key.pub; done";

/// A machine with old host keys, of which `ssh-keygen -A` does not make one.
fn machine_with_host_keys() -> Machine {
    let machine = Machine::new();
    machine.write_program("ssh-keygen", SSH_KEYGEN);
    for kind in ["dsa", "ed25519"] {
        for suffix in ["", ".pub"] {
            machine.write(&format!("etc/ssh/ssh_host_{kind}_key{suffix}"), "old\n");
        }
    }
    machine.write("etc/ssh/sshd_config", "");
    machine
}

/// Names and contents of all files in the machine's `etc/ssh`; a folder's contents are `folder`.
fn host_keys(machine: &Machine) -> Vec<(String, String)> {
    let entries = fs::read_dir(machine.path("etc/ssh")).expect("a folder");
    let mut keys: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            let contents = fs::read_to_string(&path).unwrap_or("folder".into());
            (name.into_owned(), contents)
        })
        .filter(|(name, _)| name != "sshd_config")
        .collect();
    keys.sort();
    keys
}

fn keys(kinds: [&str; 2], contents: &str) -> Vec<(String, String)> {
    let names = kinds.map(|kind| {
        ["", ".pub"].map(|suffix| {
            let name = format!("ssh_host_{kind}_key{suffix}");
            (name, format!("{contents}\n"))
        })
    });
    names.concat()
}

fn host_keys_are_replaced() {
    let machine = machine_with_host_keys();
    machine.succeeds("30-ssh-host-keys");
    assert_eq!(host_keys(&machine), keys(["ed25519", "rsa"], "new"));
    assert_eq!(
        machine.read("systemctl"),
        "try-reload-or-restart ssh.service sshd.service\n"
    );
}

fn the_machine_always_has_host_keys() {
    let steps = [
        ("ssh-keygen", "exit 1"),
        ("ssh-keygen", "exit 0"),
        ("mv", "exit 1"),
    ];
    for (program, script) in steps {
        let machine = machine_with_host_keys();
        machine.write_program(program, script);
        let output = machine.run("30-ssh-host-keys", &[]);
        assert!(!output.status.success(), "{program}: {script}");
        let expected = keys(["dsa", "ed25519"], "old");
        assert_eq!(host_keys(&machine), expected, "{program}: {script}");
    }
    // Stopped once the new keys are in place, before those of other types are removed.
    let machine = machine_with_host_keys();
    machine.write_program("rm", "kill -KILL $PPID");
    assert!(!machine.run("30-ssh-host-keys", &[]).status.success());
    for key in keys(["ed25519", "rsa"], "new") {
        assert!(host_keys(&machine).contains(&key), "{key:?}");
    }
}

fn the_machine_id_is_replaced() {
    let machine = Machine::new();
    machine.write_program("umount", "exit 1");
    machine.write("etc/machine-id", "old\n");
    machine.succeeds("20-machine-id");
    let id = machine.read("etc/machine-id");
    let is_id = id.len() == 33 && id.trim_end().bytes().all(|digit| digit.is_ascii_hexdigit());
    assert!(is_id, "{id}");
    let restarted = "try-restart systemd-journald.service\n";
    assert_eq!(machine.read("systemctl"), restarted);
}

fn a_machine_that_may_not_be_a_clone_keeps_its_identity() {
    let machine = machine_with_host_keys();
    machine.write("etc/machine-id", "old\n");
    for hook in ["20-machine-id", "30-ssh-host-keys"] {
        let output = machine.run(hook, &[("SQUALL_CLONE_CERTAIN", "0")]);
        assert!(output.status.success(), "{hook}: {}", output.status);
        let lines = text(&output.stdout);
        assert!(
            lines.contains("kept") && lines.lines().count() == 1,
            "{lines}"
        );
        assert_eq!(text(&output.stderr), "");
    }
    assert_eq!(machine.read("etc/machine-id"), "old\n");
    assert_eq!(host_keys(&machine), keys(["dsa", "ed25519"], "old"));
    assert_eq!(machine.read("systemctl"), "");

    let output = machine.run("30-ssh-host-keys", &[("SQUALL_CLONE_CERTAIN", "1")]);
    assert!(output.status.success());
    assert_eq!(host_keys(&machine), keys(["ed25519", "rsa"], "new"));
}

pub const TESTS: &[Test] = tests![
    the_machine_id_is_replaced,
    a_machine_that_may_not_be_a_clone_keeps_its_identity,
    host_keys_are_replaced,
    the_machine_always_has_host_keys,
    every_service_is_reloaded,
    a_service_that_fails_keeps_no_other_from_being_reloaded,
];
