//! `squall clones` reports each clone of a virtual machine and runs the command and the hooks; the hooks that squall
//! installs give each clone an identity of its own.

pub mod hooks;
pub mod leases;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use squall_guests::debian::{Cache, KernelName};
use squall_guests::fixture::{self, Workspace, ok, wait_until_ok};
use squall_guests::needs::{CRIU, GUESTS, KVM_CLOCK};
use squall_guests::{Guest, Setup, Snapshot};
use squall_testing::needs::TEST_ALL;
use squall_testing::suite::{NOTHING, Need, Test};
use squall_testing::tests;

use crate::common::{bytes, refused, run, squall, text};
use crate::seed::{PRIVILEGE, without_privilege};

const VM_WITHOUT_MEMORY_SIGNAL: Need = Need {
    check: || {
        let status = squall::status();
        let has_signal = status.has_kvm_clock || status.has_vmclock || status.has_vmgenid_page;
        (status.is_vm && !has_signal)
            .then_some(())
            .ok_or_else(|| "this is no VM, or one with kvm-clock, vmclock or vmgenid's page".into())
    },
    required_by: NOTHING,
};

fn a_vm_without_a_signal_gets_advice() {
    let script = format!(
        "mount -t tmpfs none /sys && exec {} clones",
        env!("CARGO_BIN_EXE_squall")
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .output()
        .expect("the command runs");
    assert_eq!(
        text(&output.stdout),
        "start: signal unknown, generation unknown\n"
    );
    assert_eq!(
        text(&output.stderr),
        "squall: clones: this process cannot notice clones of its machine: give the virtual machine a vmgenid or a \
         vmclock, and install squall's kernel module (squall-vmgenid-dkms) or let the process read /dev/kmsg \
         (CAP_SYSLOG)\n"
    );
    assert_eq!(output.status.code(), Some(1));
}

fn a_missing_folder_is_refused() {
    let expected = "squall: /nonexistent: No such file or directory\n";
    refused(&run("clones --hooks /nonexistent"), 2, &[expected]);
}

fn a_state_file_that_cannot_be_kept_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("other");
    fs::write(&other, "of somebody else\n").expect("a file");
    let path = folder.path().display();
    let pipe = Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(pipe.expect("mkfifo runs").success());
    for (state, message) in [
        (
            "/nodir/x".to_owned(),
            "No such file or directory: there is no folder /nodir".to_owned(),
        ),
        (
            format!("{path}/other/x"),
            format!("Not a directory: {path}/other is not a folder"),
        ),
        (format!("{path}"), "this is no file: name one".to_owned()),
        (
            format!("{path}/new/"),
            "this is no file: name one".to_owned(),
        ),
        (
            format!("{path}/pipe"),
            "this is no file: name one".to_owned(),
        ),
        (
            format!("{path}/other"),
            "this is no state of squall clones: name another file, or remove it".to_owned(),
        ),
    ] {
        // Without the limit, a command that goes on would wait for a clone.
        let mut limited = Command::new("timeout");
        limited.args([
            "100",
            env!("CARGO_BIN_EXE_squall"),
            "clones",
            "--seed",
            "--state",
        ]);
        let output = limited.arg(&state).output().expect("timeout runs");
        refused(&output, 2, &[&format!("squall: {state}: {message}\n")]);
    }
    let kept = fs::read_to_string(&other).expect("a file");
    assert_eq!(kept, "of somebody else\n");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
}

const SIGNAL: Need = Need {
    check: || match squall::clones::signal() {
        Some(_) => Ok(()),
        None => Err("this machine has no signal of clones".into()),
    },
    required_by: NOTHING,
};

fn a_damaged_state_file_is_written_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let early = "0f9a6c21-33d7-4f84-b1a5-e2c85d704961 vmclock 7\n";
    for text in ["\0\0\0", "{\"boot\":\"0f9a6c21-33d7-", early] {
        fs::write(&state, text).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.args(["clones", "--state"]).arg(&state);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        while !fs::read_to_string(&state).is_ok_and(|text| text.ends_with('}')) {
            let ended = child.try_wait().expect("a child");
            assert!(ended.is_none(), "{text:?}: {ended:?}");
            thread::sleep(Duration::from_millis(50));
        }
        child.kill().expect("a child");
        let said = child.wait_with_output().expect("a child").stderr;
        let expected = format!(
            "squall: clones: {}: this state cannot be read, and no clone until now is known: it is written anew\n",
            state.display()
        );
        assert_eq!(self::text(&said), expected);
    }
}

/// The first line of the command's output.
fn first_line(mut command: Command) -> String {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    output.read_line(&mut line).expect("text");
    let _ = child.kill();
    let _ = child.wait();
    line
}

fn programs_run_after_a_seeding_where_it_is_permitted() {
    let empty = tempfile::tempdir().expect("a folder");
    let hooks = format!("clones --hooks {}", empty.path().display());
    for arguments in ["clones --exec true", &hooks] {
        let line = first_line(squall(arguments));
        assert!(line.contains("; seeded: 512 bits"), "{line}");
        let line = first_line(without_privilege(squall(arguments)));
        assert!(
            line.starts_with("start: ") && !line.contains("seeded"),
            "{line}"
        );
    }
    let line = first_line(squall("clones"));
    assert!(
        line.starts_with("start: ") && !line.contains("seeded"),
        "{line}"
    );
}

/// In a namespace of process IDs, programs get the same ID: the original; another one, whose memory is elsewhere; and one
/// whose memory is where the original's was, as in a restored process.
const RESTORE: &str = "
    start() { echo 100 > /proc/sys/kernel/ns_last_pid; \"$@\" sleep 1000 & }
    end() { kill 101; wait 101; }
    start setarch -R
    until [ \"$(cat /proc/101/comm)\" = sleep ]; do :; done
    \"$SQUALL\" clones --once --pid 101 --exec 'echo $SQUALL_CLONE_SIGNAL' > log 2>&1 & squall=$!
    until grep -q start log; do :; done
    end; start env; sleep 1
    end; start setarch -R
    wait $squall; cut -d ' ' -f 22 /proc/101/stat; cat log; end";

fn a_restored_process_runs_the_command() {
    the_command_runs_once(&["sh".into(), "-c".into(), RESTORE.into()]);
}

/// The script must print the restored process's generation and what `squall clones --pid` has printed.
#[track_caller]
fn the_command_runs_once(script: &[OsString]) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["timeout", "100"])
        .args(script)
        .current_dir(folder.path())
        .env("SQUALL", env!("CARGO_BIN_EXE_squall"))
        .output()
        .expect("the command runs");
    let log = text(&output.stdout);
    let lines: Vec<_> = log.lines().collect();
    let [generation, start, clone, "process"] = lines[..] else {
        panic!("{output:?}");
    };
    assert!(
        start.starts_with("start: signal process, generation "),
        "{log}"
    );
    let expected = format!("clone: signal process, generation {generation}");
    assert_eq!(clone, expected);
}

/// A process that CRIU checkpoints and ends, and restores with its ID. It keeps no file open that was opened outside the
/// namespace, which CRIU cannot dump.
const CHECKPOINT: &str = "
    sleep='for file in /proc/$$/fd/*; do ((${file##*/} <= 2)) || eval \"exec ${file##*/}>&-\"; done; exec sleep 1000'
    setsid bash -c \"$sleep\" < /dev/null > /dev/null 2>&1 & id=$!
    until [ \"$(cat /proc/$id/comm)\" = sleep ]; do :; done
    \"$SQUALL\" clones --once --pid $id --exec 'echo $SQUALL_CLONE_SIGNAL' > log 2>&1 & squall=$!
    until grep -q start log; do :; done
    mkdir images && \"$@\" dump --tree $id --images-dir images || exit
    wait $id
    \"$@\" restore --restore-detached --images-dir images || exit
    wait $squall; cut -d ' ' -f 22 /proc/$id/stat; cat log";

fn a_process_that_criu_restores_runs_the_command() {
    let cache = Cache::open(None).expect("the cache");
    let criu = cache.checkpointer("criu-4.2").expect("CRIU");
    let mut line = vec!["bash".into(), "-c".into(), CHECKPOINT.into(), "bash".into()];
    line.extend(criu.command_line("usr/sbin/criu", "criu"));
    the_command_runs_once(&line);
}

const RESTORABLE: Need = Need {
    check: || match Path::new("/proc/sys/kernel/ns_last_pid").exists() {
        true => Ok(()),
        false => Err("this kernel cannot restore processes".into()),
    },
    required_by: NOTHING,
};

fn a_process_that_cannot_be_watched_is_refused() {
    let expected = "squall: --pid 4194305: there is no such process\n";
    refused(&run("clones --pid 4194305"), 2, &[expected]);
    refused(
        &run("clones --pid 1 --state /x"),
        2,
        &["cannot be used with"],
    );
}

/// On KVM, hooks run after a clone without vmgenid too.
fn each_clone_runs_its_programs_by_kvm_clock() {
    let workspace = Workspace::with_kvm_clock(KernelName::V6_12);
    let setup = |programs| Setup {
        programs,
        ..Setup::default()
    };
    let programs = [fixture::squall()];
    let mut guest = workspace.factory.boot(&setup(&programs)).expect("a guest");
    let command = "squall clones --exec 'echo $SQUALL_CLONE_SIGNAL $SQUALL_CLONE_GENERATION >> /tmp/ran' > /tmp/log";
    guest.start(command).expect("a job");
    wait_until_ok(&mut guest, "grep -q '^start: signal kvm-clock' /tmp/log");
    let snapshot = guest.snapshot(workspace.path("snapshot"));
    let snapshot = snapshot.expect("a snapshot");
    let resumed = workspace.factory.resume(&setup(&[]), &snapshot);
    let mut guest = resumed.expect("a guest");
    wait_until_ok(&mut guest, "grep -q ^kvm-clock /tmp/ran");
    let log = ok(&mut guest, "cat /tmp/log");
    let [start, clone] = log.lines().collect::<Vec<_>>()[..] else {
        panic!("{log}");
    };
    let generation = |line: &str| line.split([' ', ';']).nth(4).map(str::to_owned);
    assert_ne!(generation(start), generation(clone), "{log}");
    let ran = ok(&mut guest, "cat /tmp/ran");
    let expected = format!("kvm-clock {}\n", generation(clone).expect("a number"));
    assert_eq!(ran, expected, "{log}");
}

fn help_says_which_files_are_hooks() {
    let help = text(&bytes("clones -h"));
    let words: Vec<_> = help.split_whitespace().collect();
    assert!(
        words.join(" ").contains("whose names have no dot"),
        "{help}"
    );
}

/// Identifiers of vmgenid: before the snapshot, and in each clone.
const IDENTITY_BEFORE: &str = "a3f8b1de-9c62-4b57-8e04-5d1f7a2c9b36";
const IDENTITIES_AFTER: [&str; 2] = [
    "0f9a6c21-33d7-4f84-b1a5-e2c85d704961",
    "7c4e19b2-64a0-4d3f-9b8e-1f05d2a6c873",
];

/// Prints what must differ in each clone: the machine's ID and its SSH host key.
const PRINT_IDENTITY: &str =
    "cat /etc/machine-id; cut -d ' ' -f 2 /etc/ssh/ssh_host_ed25519_key.pub";

/// Programs that stand for those of systemd and NetworkManager, which the guest does not have. systemctl writes down its
/// arguments; one service does not exist.
const PROGRAMS: [(&str, &str); 3] = [
    (
        "systemctl",
        "echo \"$*\" >> /tmp/systemctl; [ \"$3\" != absent.service ]",
    ),
    ("NetworkManager", "while :; do sleep 1000; done"),
    ("nmcli", "echo 'GENERAL.DEVICE: lo'"),
];

/// Commands that wait for clones, each in the background. `head` closes the last one's output after the first line.
const WAITING: [&str; 4] = [
    "squall clones --seed --hooks /etc/squall/clones.d > /tmp/log 2>&1",
    "squall clones --json --once > /tmp/json; echo $? > /tmp/json-code",
    "squall clones --once --exec 'echo $SQUALL_CLONE_SIGNAL $SQUALL_CLONE_GENERATION; exit 3' > /tmp/exec 2>&1; \
     echo $? > /tmp/exec-code",
    "squall clones --exec 'touch /tmp/unread' | head -n 1 > /tmp/first",
];

/// A command that is stopped before the snapshot, once it has written its state.
const STOPPED: &str = "sh -c 'echo $$ > /tmp/stopped; exec squall clones --state /tmp/state'";

/// Notices at its start that the machine was cloned since.
const STARTED_LATER: &str =
    "squall clones --once --state /tmp/state --exec 'echo certain: $SQUALL_CLONE_CERTAIN' 2>&1";

/// The same where the machine was not cloned: waits for a clone.
const STARTED_AGAIN: &str =
    "squall clones --once --state /tmp/state > /tmp/again; echo $? > /tmp/again-code";

/// Writes more to the kernel's log than it holds, while nobody reads it.
const OVERWRITE_LOG: &str = "echo on > /proc/sys/kernel/printk_devkmsg; busybox killall -STOP squall; \
     for number in $(seq 5000); do printf '%0900d\\n' $number; done > /dev/kmsg; busybox killall -CONT squall";

/// Writes the kernel's message about a clone, as far as a program can.
const FORGE_MESSAGE: &str = "echo '<5>random: crng reseeded due to virtual machine fork' > /dev/kmsg; dmesg | grep -q 'machine fork'";

fn setup<'a>(programs: &'a [&'a Path], identity: &'a str) -> Setup<'a> {
    Setup {
        programs,
        vmgenid: Some(identity),
        ..Setup::default()
    }
}

fn write_program(guest: &mut Guest, path: &str, script: &[u8]) {
    guest.write_file(path, script).expect("a file");
    ok(guest, &format!("chmod +x {path}"));
}

/// A guest in which `squall clones` waits, with all hooks, one that fails, and files that are no hooks.
fn boot<'a>(workspace: &'a Workspace, programs: &[&Path]) -> Guest<'a> {
    let mut guest = workspace
        .factory
        .boot(&setup(programs, IDENTITY_BEFORE))
        .expect("a guest");
    ok(&mut guest, "mkdir -p /etc/squall/clones.d /etc/ssh");
    let folder = "/etc/squall/clones.d";
    ok(&mut guest, "mkdir -p /run/systemd/system");
    for (name, script) in PROGRAMS {
        let script = format!("#!/bin/sh\n{script}\n");
        write_program(&mut guest, &format!("/usr/bin/{name}"), script.as_bytes());
    }
    guest.start("NetworkManager").expect("a job");
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd/clones.d");
    for hook in fs::read_dir(hooks).expect("hooks") {
        let path = hook.expect("a hook").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let script = fs::read(&path).expect("a hook");
        write_program(&mut guest, &format!("{folder}/{name}"), &script);
    }
    write_program(
        &mut guest,
        &format!("{folder}/10-fails"),
        b"#!/bin/sh\nexit 3\n",
    );
    write_program(
        &mut guest,
        &format!("{folder}/30-old.dpkg-old"),
        b"#!/bin/sh\ntouch /tmp/old\n",
    );
    ok(
        &mut guest,
        &format!("ln -s /nonexistent {folder}/35-gone; echo text > {folder}/README"),
    );
    let services = b"# comment\nabsent.service\none.service\n\ntwo.service";
    let list = "/etc/squall/reload-after-clone";
    guest.write_file(list, services).expect("a file");
    ok(
        &mut guest,
        "grep -q ^root: /etc/passwd || echo root:x:0:0::/:/bin/sh >> /etc/passwd",
    );
    for hook in ["20-machine-id", "30-ssh-host-keys"] {
        ok(&mut guest, &format!("{folder}/{hook}"));
    }
    ok(&mut guest, "rm /tmp/systemctl");
    guest.start(STOPPED).expect("a job");
    wait_until_ok(&mut guest, "[ -s /tmp/state ]");
    ok(&mut guest, "kill $(cat /tmp/stopped)");
    for command in WAITING {
        guest.start(command).expect("a job");
    }
    for started in ["/tmp/log", "/tmp/json", "/tmp/exec", "/tmp/first"] {
        wait_until_ok(&mut guest, &format!("grep -q kernel-log {started}"));
    }
    guest
}

/// A clone with this identifier of vmgenid, once all commands in `WAITING` have ended or done their work.
fn clone<'a>(workspace: &'a Workspace, snapshot: &Snapshot, identity: &str) -> Guest<'a> {
    let resumed = workspace.factory.resume(&setup(&[], identity), snapshot);
    let mut guest = resumed.expect("a guest");
    for done in [
        "grep two /tmp/systemctl && grep 50-reload /tmp/log",
        "cat /tmp/json-code",
        "cat /tmp/exec-code",
        "cat /tmp/unread",
    ] {
        wait_until_ok(&mut guest, done);
    }
    guest
}

fn each_clone_runs_its_programs() {
    let workspace = Workspace::emulated();
    let programs = [fixture::squall()];
    let mut guest = boot(&workspace, &programs);
    let mut seen = HashSet::from([ok(&mut guest, PRINT_IDENTITY)]);
    let snapshot = guest.snapshot(workspace.path("snapshot"));
    let snapshot = snapshot.expect("a snapshot");
    let start = "start: signal kernel-log, generation 1";

    for identity in IDENTITIES_AFTER {
        let mut guest = clone(&workspace, &snapshot, identity);
        let [ran, json, log] =
            ["exec", "json", "log"].map(|name| ok(&mut guest, &format!("cat /tmp/{name}")));
        let line = ran.lines().nth(1).expect("a line for the clone");
        let (event, _) = line.split_once("; seeded: ").expect("a seeding");
        let generation = event.rsplit(' ').next().expect("words");
        let without_seedings = ran.lines().map(|line| match line.split_once("; seeded: ") {
            Some((event, _)) => format!("{event}\n"),
            None => format!("{line}\n"),
        });
        assert_eq!(
            without_seedings.collect::<String>(),
            format!(
                "{start}\nclone: signal kernel-log, generation {generation}\nkernel-log {generation}\n\
                 squall: clones: --exec: exit status: 3\nsquall: clones: seeding, the command or a hook has failed: see above\n"
            )
        );
        assert_eq!(
            json,
            format!(
                "{{\"event\":\"start\",\"signal\":\"kernel-log\",\"generation\":1}}\n\
                 {{\"event\":\"clone\",\"signal\":\"kernel-log\",\"generation\":{generation}}}\n"
            )
        );
        let log: Vec<_> = log.lines().collect();
        let seeded = "; seeded: 512 bits of Whirlwind output, credited 0";
        assert!(log[0].starts_with(&format!("{start}{seeded}")), "{log:?}");
        let line = format!("clone: signal kernel-log, generation {generation}{seeded}");
        assert!(log[1].starts_with(&line), "{log:?}");
        let failed = "squall: clones: /etc/squall/clones.d/10-fails: exit status: 3";
        assert_eq!(log[2], failed, "{log:?}");
        assert!(log[3].starts_with("The machine ID is new. "), "{log:?}");
        assert!(
            log[4].starts_with("ssh-keygen: generating new host keys: "),
            "{log:?}"
        );
        assert_eq!(
            log[5..],
            [
                "squall: clones: /etc/squall/clones.d/35-gone: No such file or directory",
                "NetworkManager runs, but has no IPv4 lease that clones could share",
                "squall: clones: /etc/squall/clones.d/50-reload: exit status: 1",
            ]
        );
        assert_eq!(
            ok(&mut guest, "cat /tmp/json-code /tmp/exec-code"),
            "0\n1\n"
        );
        assert_eq!(
            ok(
                &mut guest,
                "cat /tmp/systemctl; ls /tmp/old 2> /dev/null || true"
            ),
            "try-restart -- systemd-journald.service\n\
             try-restart -- NetworkManager.service\n\
             try-reload-or-restart -- absent.service\ntry-reload-or-restart -- one.service\ntry-reload-or-restart -- two.service\n"
        );
        assert!(seen.insert(ok(&mut guest, PRINT_IDENTITY)), "{seen:?}");
        let later = ok(&mut guest, STARTED_LATER);
        let later: Vec<_> = later.lines().collect();
        assert!(later[0].starts_with(start), "{later:?}");
        let noticed = "clone: signal kernel-log, generation 1; seeded: ";
        assert!(later[1].starts_with(noticed), "{later:?}");
        assert_eq!(later[2..], ["certain: 1"], "{later:?}");
    }
    for identity in &seen {
        let id = identity.lines().next().expect("an ID");
        let is_id = id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        assert!(is_id, "{id}");
    }

    // The control: vmgenid keeps its identifier, a program writes the kernel's message, and the kernel reseeds.
    let same = workspace
        .factory
        .resume(&setup(&[], IDENTITY_BEFORE), &snapshot);
    let mut guest = same.expect("a guest");
    ok(&mut guest, FORGE_MESSAGE);
    ok(&mut guest, "squall seed");
    assert_eq!(
        ok(&mut guest, "tail -n +2 /tmp/log; tail -n +2 /tmp/exec"),
        ""
    );
    assert!(seen.contains(&ok(&mut guest, PRINT_IDENTITY)));

    // A message that was overwritten before anybody read it may have been about a clone.
    guest.start(STARTED_AGAIN).expect("a job");
    wait_until_ok(&mut guest, "grep -q ^start: /tmp/again");
    ok(&mut guest, OVERWRITE_LOG);
    wait_until_ok(&mut guest, "cat /tmp/again-code");
    let again = ok(&mut guest, "tail -n 1 /tmp/again");
    assert!(
        again.starts_with("clone: ") && !again.ends_with("generation 1\n"),
        "{again}"
    );
    wait_until_ok(&mut guest, "grep -q ^clone: /tmp/exec");
    wait_until_ok(&mut guest, "grep -q 'SSH host keys are kept' /tmp/log");
    assert!(seen.contains(&ok(&mut guest, PRINT_IDENTITY)));
}

pub const TESTS: &[Test] = tests![
    each_clone_runs_its_programs: [TEST_ALL, GUESTS],
    each_clone_runs_its_programs_by_kvm_clock: [TEST_ALL, GUESTS, KVM_CLOCK],
    a_restored_process_runs_the_command: [PRIVILEGE, RESTORABLE],
    a_process_that_criu_restores_runs_the_command: [PRIVILEGE, CRIU],
    a_process_that_cannot_be_watched_is_refused,
    a_vm_without_a_signal_gets_advice: [PRIVILEGE, VM_WITHOUT_MEMORY_SIGNAL],
    a_missing_folder_is_refused,
    a_state_file_that_cannot_be_kept_is_refused,
    a_damaged_state_file_is_written_anew: [SIGNAL],
    help_says_which_files_are_hooks,
    programs_run_after_a_seeding_where_it_is_permitted: [PRIVILEGE],
];
