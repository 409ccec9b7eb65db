//! The hooks that squall installs, each run where the test's folders are /etc, /run and /var/lib, and with no processes
//! but those that the test starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use squall_testing::needs::MOUNTS;
use squall_testing::programs::{SSH_KEYGEN, SSHD};
use squall_testing::suite::Test;
use squall_testing::tests;
use tempfile::TempDir;

use crate::common::text;

/// Folders in place of the system's, and programs that hooks find first.
pub struct Machine(TempDir);

/// The system's folders that a machine has of its own.
const FOLDERS: [&str; 3] = ["etc", "run", "var/lib"];

impl Machine {
    /// A machine with systemd, whose systemctl writes its arguments to a file.
    pub fn new() -> Machine {
        let machine = Machine(TempDir::new().expect("a folder"));
        for folder in ["bin", "etc/ssh", "etc/squall", "var/lib/dbus"] {
            fs::create_dir_all(machine.path(folder)).expect("a folder");
        }
        fs::create_dir_all(machine.path("run/systemd/system")).expect("a folder");
        for file in ["etc/passwd", "etc/group"] {
            fs::copy(Path::new("/").join(file), machine.path(file)).expect(file);
        }
        let record = format!("echo \"$*\" >> {}", machine.path("systemctl").display());
        machine.write_program("bin/systemctl", &record);
        machine.write("systemctl", "");
        machine
    }

    /// A machine with another service manager.
    pub fn without_systemd() -> Machine {
        let machine = Machine::new();
        fs::remove_dir_all(machine.path("run/systemd")).expect("a folder");
        fs::create_dir(machine.path("etc/init.d")).expect("a folder");
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, contents: &str) {
        fs::write(self.path(name), contents).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    /// Adds a program, or replaces it.
    pub fn write_program(&self, name: &str, script: &str) {
        self.write(name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Runs a script on this machine, with hooks in `$hooks` and the machine's folder in `$machine`.
    pub fn run_script(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let folder = self.0.path().display();
        let mounts = FOLDERS.map(|name| format!("mount --bind {folder}/{name} /{name}"));
        let mounts = mounts.join("\n");
        let script =
            format!("set -e\n{mounts}\nmount -t sysfs -o ro sysfs /sys\nset +e\n{script}\nexit $?");
        let path = std::env::var("PATH").expect("a path");
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd/clones.d");
        Command::new("timeout")
            .args([
                "--signal=KILL",
                // Nothing takes this long unless it hangs.
                "1200",
                "unshare",
                "--mount",
                "--net",
                "--pid",
                "--fork",
                "--kill-child",
            ])
            .args(["--mount-proc", "sh", "-c", &script])
            .env("PATH", format!("{folder}/bin:{path}:/usr/sbin:/sbin"))
            .env("hooks", hooks)
            .env("machine", self.0.path())
            .envs(variables.iter().copied())
            .output()
            .expect("unshare runs")
    }

    fn run(&self, hook: &str, variables: &[(&str, &str)]) -> Output {
        self.run_script(&format!("sh $hooks/{hook}"), variables)
    }

    #[track_caller]
    fn succeeds(&self, hook: &str) {
        let output = self.run(hook, &[]);
        assert_eq!(text(&output.stderr), "");
        assert!(output.status.success(), "{hook}: {}", output.status);
    }

    /// Runs a hook that must fail, after a script, and say no more than these lines.
    #[track_caller]
    fn fails(&self, before: &str, hook: &str, lines: &[&str]) {
        let output = self.run_script(&format!("{before}\nsh $hooks/{hook}"), &[]);
        let said = text(&output.stderr);
        assert_eq!(said.lines().collect::<Vec<_>>(), lines, "{hook}");
        assert_eq!(output.status.code(), Some(1), "{hook}");
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
        "bin/systemctl",
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
const KEY_MAKER: &str = "[ \"$1 $2\" = '-A -f' ] || exit; cd \"$3/etc/ssh\" || exit; \
    for type in rsa ed25519; do echo new > ssh_host_${type}_key; echo new > ssh_host_${type}_key.pub; done";

/// A machine with old host keys, of which `ssh-keygen -A` does not make one.
fn machine_with_host_keys() -> Machine {
    let machine = Machine::new();
    machine.write_program("bin/ssh-keygen", KEY_MAKER);
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
}

fn the_machine_always_has_host_keys() {
    let steps = [
        ("ssh-keygen", "exit 1"),
        ("ssh-keygen", "exit 0"),
        ("mv", "exit 1"),
    ];
    for (program, script) in steps {
        let machine = machine_with_host_keys();
        machine.write_program(&format!("bin/{program}"), script);
        let output = machine.run("30-ssh-host-keys", &[]);
        assert!(!output.status.success(), "{program}: {script}");
        let expected = keys(["dsa", "ed25519"], "old");
        assert_eq!(host_keys(&machine), expected, "{program}: {script}");
    }
    // Stopped once the new keys are in place, before those of other types are removed.
    let machine = machine_with_host_keys();
    machine.write_program("bin/rm", "kill -KILL $PPID");
    assert!(!machine.run("30-ssh-host-keys", &[]).status.success());
    for key in keys(["ed25519", "rsa"], "new") {
        assert!(host_keys(&machine).contains(&key), "{key:?}");
    }
}

fn the_machine_id_is_replaced() {
    let machine = Machine::new();
    machine.write_program("bin/umount", "exit 1");
    machine.write("etc/machine-id", "old\n");
    machine.write("var/lib/dbus/machine-id", "old\n");
    machine.succeeds("20-machine-id");
    let id = machine.read("etc/machine-id");
    let is_id = id.len() == 33 && id.trim_end().bytes().all(|digit| digit.is_ascii_hexdigit());
    assert!(is_id, "{id}");
    assert_eq!(machine.read("var/lib/dbus/machine-id"), id);
    let restarted = "try-restart -- systemd-journald.service\n";
    assert_eq!(machine.read("systemctl"), restarted);
}

fn a_machine_that_may_not_be_a_clone_keeps_its_identity() {
    let machine = machine_with_host_keys();
    machine.write("etc/machine-id", "old\n");
    for hook in ["20-machine-id", "30-ssh-host-keys", "40-dhcp"] {
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

/// Makes host keys, one of another name, and certificates of the CA `ca` for one of each. All with real programs.
const CERTIFY: &str = "\
ssh-keygen -q -A && ssh-keygen -q -t ed25519 -N '' -f $machine/ca && \
cp /etc/ssh/ssh_host_ed25519_key /etc/ssh/of_the_site && \
cp /etc/ssh/ssh_host_ecdsa_key.pub /etc/ssh/certified.pub && \
ssh-keygen -q -s $machine/ca -h -I host /etc/ssh/ssh_host_ed25519_key.pub /etc/ssh/certified.pub 2> /dev/null";

fn certificates_of_old_keys_are_renamed() {
    let machine = Machine::new();
    let config =
        "hostcertificate=\"/etc/ssh/certified-cert.pub\"\n# HostKey /etc/ssh/of_the_site\n";
    machine.write("etc/ssh/sshd_config", config);
    let output = machine.run_script(&format!("{CERTIFY} && sh $hooks/30-ssh-host-keys"), &[]);
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success());
    let said = text(&output.stdout);
    for name in ["certified", "ssh_host_ed25519_key"] {
        assert!(!machine.path(&format!("etc/ssh/{name}-cert.pub")).exists());
        assert!(
            machine
                .path(&format!("etc/ssh/{name}-cert.pub.old"))
                .exists()
        );
        let line = format!("is now /etc/ssh/{name}-cert.pub.old: have the CA sign the new key\n");
        assert!(said.contains(&line), "{said}");
    }
}

/// One key's name is like those of ssh-keygen -A; a file elsewhere names another, and a server's own file a third.
fn host_keys_of_other_names_are_reported() {
    let machine = Machine::new();
    machine.write(
        "etc/ssh/sshd_config",
        "HostKey /etc/ssh/ssh_host_site_key\nInclude /etc/ssh/site/*\n",
    );
    fs::create_dir(machine.path("etc/ssh/site")).expect("a folder");
    machine.write("etc/ssh/site/key", "HostKey /etc/ssh/of_the_site\n");
    let server = "ListenAddress 127.0.0.1\nPidFile none\nHostKey /etc/ssh/of_the_server\n";
    machine.write("etc/ssh/of_a_server", server);
    fs::create_dir(machine.path("etc/dropbear")).expect("a folder");
    machine.write("etc/dropbear/dropbear_rsa_host_key", "old");
    let script = format!(
        "{CERTIFY} && mkdir -p /run/sshd && ip link set lo up && cd /etc/ssh && cp of_the_site ssh_host_site_key && \
         cp of_the_site of_the_server && $(command -v sshd) -f /etc/ssh/of_a_server && sh $hooks/30-ssh-host-keys"
    );
    let output = machine.run_script(&script, &[]);
    let kept = [
        "/etc/ssh/of_the_server",
        "/etc/ssh/of_the_site",
        "/etc/ssh/ssh_host_site_key",
        "/etc/dropbear/dropbear_rsa_host_key",
    ]
    .map(|key| format!("The SSH host key {key} is the old one, which clones share: replace it\n"));
    assert_eq!(text(&output.stderr), kept.concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(machine.path("etc/ssh/ssh_host_site_key").exists());
    // A certificate of a key that is kept is kept, too.
    assert!(
        machine
            .path("etc/ssh/ssh_host_ed25519_key-cert.pub")
            .exists()
    );
}

/// Waits until a server has this machine's ed25519 key, for as long as it takes.
const SERVES_KEY: &str = "serves() { until ssh-keyscan -t ed25519 127.0.0.1 2> /dev/null \
    | grep -q -F \"$(cut -d ' ' -f 2 /etc/ssh/ssh_host_ed25519_key.pub)\"; do sleep 0.1; done; }";

/// With `-r`, OpenSSH before 9.8 keeps keys in memory as later versions always do. OpenSSH before 8.2 shows its arguments
/// alone, as the second title does.
fn a_running_server_uses_the_new_keys() {
    for title in ["true", "mount --bind $machine/title /proc/$!/cmdline"] {
        let machine = Machine::without_systemd();
        machine.write(
            "etc/ssh/sshd_config",
            "ListenAddress 127.0.0.1\nPidFile none\n",
        );
        machine.write("title", "/usr/sbin/sshd\0-D\0-r\0");
        let script = format!(
            "{SERVES_KEY}\nip link set lo up; mkdir -p /run/sshd; ssh-keygen -q -A\n\
             $(command -v sshd) -D -r & serves; {title}\n\
             cp /etc/ssh/ssh_host_ed25519_key.pub $machine/old\n\
             sh $hooks/30-ssh-host-keys || exit; serves; ! cmp -s /etc/ssh/ssh_host_ed25519_key.pub $machine/old"
        );
        let output = machine.run_script(&script, &[]);
        assert_eq!(text(&output.stderr), "");
        assert!(output.status.success());
    }
}

fn what_hooks_cannot_do_is_one_line() {
    let machine = Machine::without_systemd();
    machine.write("etc/machine-id", "old\n");
    let read_only = "mount -o remount,bind,ro /etc";
    let line = "The machine ID is the old one: /etc cannot be written";
    machine.fails(read_only, "20-machine-id", &[line]);
    let line = "The SSH host keys are the old ones: /etc/ssh cannot be written";
    machine.fails(read_only, "30-ssh-host-keys", &[line]);
    let line = "No SSH host keys are made: there is no /etc/ssh, and this hook knows those of OpenSSH alone";
    machine.fails("rmdir /etc/ssh", "30-ssh-host-keys", &[line]);
    machine.write(SERVICES, "one.service\n");
    let line = "one.service: cannot reload it, because neither systemd runs nor is there /etc/init.d/one: restart it";
    machine.fails("", "50-reload", &[line]);
    let line = "/etc/squall/reload-after-clone is no file, or cannot be read";
    let folder = "rm /etc/squall/reload-after-clone; mkdir /etc/squall/reload-after-clone";
    machine.fails(folder, "50-reload", &[line]);
    // Where there is no systemd, there is no journal either.
    machine.succeeds("20-machine-id");
}

fn scripts_of_services_are_run_where_there_is_no_systemd() {
    let machine = Machine::without_systemd();
    machine.write(SERVICES, "reloads.service\nrestarts\nends.service\n");
    for (name, status, reload) in [("reloads", 0, 0), ("restarts", 0, 3), ("ends", 3, 0)] {
        machine.write_program(
            &format!("etc/init.d/{name}"),
            &format!(
                "case $1 in status) exit {status} ;; esac\n\
                 echo {name} $1 >> $machine/ran\n[ $1 != reload ] || exit {reload}"
            ),
        );
    }
    machine.succeeds("50-reload");
    let ran = "reloads reload\nrestarts reload\nrestarts restart\n";
    assert_eq!(machine.read("ran"), ran);
}

fn a_machine_that_needs_the_network_keeps_its_leases() {
    let machine = Machine::new();
    let disk = "The DHCP leases are kept: the machine uses a disk over the network";
    for path in ["class/iscsi_session/session1", "block/nbd0/pid"] {
        let before = format!("mount -t tmpfs tmpfs /sys && mkdir -p /sys/{path}");
        machine.fails(&before, "40-dhcp", &[disk]);
    }
    machine.write_program("bin/stat", "[ \"$*\" = '-f -c %T /' ] && echo nfs");
    let files = "The DHCP leases are kept: the machine reads its files over the network";
    machine.fails("", "40-dhcp", &[files]);
}

/// Starts a program that does nothing, and waits until it has its name.
fn running(name: &str) -> String {
    format!("{name} & until grep -q -x {name} /proc/$!/comm; do sleep 0.1; done")
}

/// A machine with this program, which does nothing.
fn machine_with(name: &str) -> Machine {
    let machine = Machine::new();
    machine.write_program(&format!("bin/{name}"), "sleep 1000; exit");
    machine
}

fn a_dhcp_client_that_the_hook_does_not_know_is_reported() {
    let none = "No DHCP client runs that this hook knows (known: systemd-networkd NetworkManager dhcpcd dhclient \
                udhcpc connmand wickedd-dhcp4 wickedd-dhcp6 dhcp6c)";
    let no_address =
        "No network interface has an IPv4 address with a lifetime, as those from DHCP have";
    let machine = machine_with("connmand");
    machine.fails("", "40-dhcp", &[none, no_address]);
    let leased = "ip link add eth7 type veth peer name eth8 && ip address add 10.77.0.2/24 dev eth7 valid_lft 3600 preferred_lft 3600";
    machine.fails(leased, "40-dhcp", &[none]);
    let kept = "connmand keeps its leases: this hook cannot change how it identifies this machine";
    machine.fails(&running("connmand"), "40-dhcp", &[kept]);
}

fn dhclient_without_an_identifier_is_reported() {
    let machine = machine_with("dhclient");
    let kept = "dhclient (process PID) keeps its lease, because";
    let configured = "its configuration gives this machine a client identifier: remove it there";
    fs::create_dir(machine.path("etc/dhcp")).expect("a folder");
    let identifier = "send dhcp-client-identifier = hardware;\n";
    machine.write("etc/dhcp/dhclient.conf", identifier);
    machine.write("etc/dhcp/other", &format!("# {identifier}"));
    for (arguments, why) in [
        ("-i eth7", configured),
        (
            "-i -cf /etc/dhcp/other eth7",
            "the file of its leases is not known: start it with -lf",
        ),
        (
            "-cf /etc/dhcp/other eth7",
            "it identifies this machine by its MAC address or a fixed value: give clones different MAC addresses, or \
             start it with -i",
        ),
        (
            "-i -d -cf /etc/dhcp/other eth7",
            "it runs in the foreground: restart what has started it",
        ),
    ] {
        let start = running("dhclient").replacen(" &", &format!(" {arguments} &"), 1);
        let script = format!(
            "{start}\nsh $hooks/40-dhcp 2> $machine/said; code=$?; kill -0 $!; sed -i s/$!/PID/ $machine/said; exit $code"
        );
        let output = machine.run_script(&script, &[]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), "", "it still runs");
        assert_eq!(machine.read("said"), format!("{kept} {why}\n"));
    }
}

/// Stands for nmcli: interfaces with leases by the MAC address, by the virtual machine's UUID, by what it does not show,
/// and by another identifier.
const NMCLI: &str = "[ \"$*\" = '-f GENERAL.DEVICE,DHCP4 device show' ] && cat << EOF
GENERAL.DEVICE:                         eth5
DHCP4.OPTION[1]:                        ip_address = 10.77.5.2
DHCP4.OPTION[2]:                        dhcp_client_identifier = ff:12:34:56:78:00:04:0f:9a:6c:21:33:d7:4f:84:b1:a5:e2:c8:5d:70:49:61

GENERAL.DEVICE:                         eth6
DHCP4.OPTION[1]:                        ip_address = 10.77.6.2

GENERAL.DEVICE:                         eth7
DHCP4.OPTION[1]:                        dhcp_client_identifier = 01:52:54:00:12:34:56
DHCP4.OPTION[2]:                        ip_address = 10.77.7.2

GENERAL.DEVICE:                         eth8
DHCP4.OPTION[1]:                        dhcp_client_identifier = ff:12:34:56:78:00:04:7c:4e:19:b2:64:a0:4d:3f:9b:8e:1f:05:d2:a6:c8:73
DHCP4.OPTION[2]:                        ip_address = 10.77.8.2
EOF";

fn networkmanager_forgets_its_leases() {
    let machine = machine_with("NetworkManager");
    machine.write_program("bin/nmcli", NMCLI);
    // As if each address had just reached the end of its lifetime.
    let ip = "PATH=/usr/sbin:/sbin:/usr/bin:/bin; ip \"$@\" && [ \"$2\" != del ]";
    machine.write_program("bin/ip", ip);
    fs::create_dir(machine.path("var/lib/NetworkManager")).expect("a folder");
    machine.write(
        "var/lib/NetworkManager/internal-eth8.lease",
        "ADDRESS=10.77.1.2\n",
    );
    machine.write("var/lib/NetworkManager/secret_key", "kept\n");
    let script = format!(
        "mount -t tmpfs tmpfs /sys/firmware; mkdir -p /sys/firmware/devicetree/base\n\
         echo 0F9A6C21-33D7-4F84-B1A5-E2C85D704961 > /sys/firmware/devicetree/base/vm,uuid\n\
         ip link add eth5 type veth peer name eth6; ip link add eth7 type veth peer name eth8\n\
         for n in 5 6 7 8; do ip address add 10.77.$n.2/24 dev eth$n valid_lft 3600 preferred_lft 3600; done\n\
         {}; sh $hooks/40-dhcp; code=$?; ip -o -4 address show scope global dynamic; exit $code",
        running("NetworkManager")
    );
    let output = machine.run_script(&script, &[]);
    let lines = [5, 6, 7].map(|number| {
        format!(
            "eth{number} may keep its lease, because NetworkManager identifies it by its MAC address or the machine's \
             UUID, or does not tell: give clones different ones, or set ipv4.dhcp-client-id to duid and dhcp=internal\n"
        )
    });
    assert_eq!(text(&output.stderr), lines.concat());
    assert_eq!(text(&output.stdout), "", "no address is left");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        !machine
            .path("var/lib/NetworkManager/internal-eth8.lease")
            .exists()
    );
    assert_eq!(machine.read("var/lib/NetworkManager/secret_key"), "kept\n");
    assert_eq!(
        machine.read("systemctl"),
        "try-restart -- NetworkManager.service\n"
    );
}

pub const TESTS: &[Test] = tests![
    the_machine_id_is_replaced: [MOUNTS],
    a_machine_that_may_not_be_a_clone_keeps_its_identity: [MOUNTS],
    host_keys_are_replaced: [MOUNTS],
    the_machine_always_has_host_keys: [MOUNTS],
    certificates_of_old_keys_are_renamed: [MOUNTS, SSH_KEYGEN],
    host_keys_of_other_names_are_reported: [MOUNTS, SSHD, SSH_KEYGEN],
    a_running_server_uses_the_new_keys: [MOUNTS, SSHD, SSH_KEYGEN],
    every_service_is_reloaded: [MOUNTS],
    a_service_that_fails_keeps_no_other_from_being_reloaded: [MOUNTS],
    scripts_of_services_are_run_where_there_is_no_systemd: [MOUNTS],
    what_hooks_cannot_do_is_one_line: [MOUNTS],
    a_dhcp_client_that_the_hook_does_not_know_is_reported: [MOUNTS],
    a_machine_that_needs_the_network_keeps_its_leases: [MOUNTS],
    dhclient_without_an_identifier_is_reported: [MOUNTS],
    networkmanager_forgets_its_leases: [MOUNTS],
];
