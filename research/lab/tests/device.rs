//! The kernel module that serves /dev/squall, in guests: that it reads like /dev/urandom and refuses the rest, that its
//! long reads are AES-256 in counter mode, that readers and clones get bytes of their own, and that open files keep it
//! loaded. The controls are builds in which a protection is off (`kernel/Kbuild`).

use std::collections::BTreeSet;

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use serde_json::Value;
use squall_guests::commands::contains;
use squall_guests::debian::KernelName;
use squall_guests::fixture::{TIMEOUT, fails, ok, wait_until_ok};
use squall_guests::needs::{C_COMPILER, GUESTS, KVM_CLOCK, MODULE};
use squall_guests::{Guest, Setup};
use squall_testing::suite::Test;
use squall_testing::tests;

use crate::kernel_modules::{DEVICE, IDENTITY, OTHER, PAGE, Workspace, is_sound};

pub const TESTS: &[Test] = tests![
    linux_6_1_serves_the_device: [GUESTS, MODULE, C_COMPILER],
    linux_6_12_serves_the_device: [GUESTS, MODULE, C_COMPILER],
    the_newest_linux_serves_the_device: [GUESTS, MODULE, C_COMPILER],
    a_long_read_is_aes_256_in_counter_mode: [GUESTS, MODULE, C_COMPILER],
    without_vaes_it_is_the_same: [GUESTS, MODULE, C_COMPILER],
    the_command_shows_and_measures_the_device: [GUESTS, MODULE, C_COMPILER],
    without_aes_there_is_no_device: [GUESTS, MODULE, C_COMPILER],
    readers_of_a_known_key_get_the_same: [GUESTS, MODULE, C_COMPILER],
    with_vmgenids_page_no_clone_repeats_a_read: [GUESTS, MODULE, C_COMPILER],
    with_a_copy_of_the_page_clones_repeat_reads: [GUESTS, MODULE, C_COMPILER],
    with_kvm_clock_no_clone_repeats_a_read: [GUESTS, MODULE, C_COMPILER, KVM_CLOCK],
    with_old_records_clones_repeat_reads: [GUESTS, MODULE, C_COMPILER, KVM_CLOCK],
    a_read_that_always_starts_anew_is_cut: [GUESTS, MODULE, C_COMPILER, KVM_CLOCK],
    without_the_page_no_clone_repeats_a_long_read: [GUESTS, MODULE, C_COMPILER],
    without_the_page_and_the_cpus_part_clones_repeat_reads: [GUESTS, MODULE, C_COMPILER],
    open_files_keep_the_module_loaded: [GUESTS, MODULE, C_COMPILER],
    the_device_is_loaded_and_unloaded_under_load: [GUESTS, MODULE, C_COMPILER],
];

/// Whether the device uses vmgenid's page, and kvm-clock.
const PAGE_ATTRIBUTE: &str = "/sys/class/misc/squall/vmgenid_page";
const CLOCK_ATTRIBUTE: &str = "/sys/class/misc/squall/kvm_clock";

/// The identities of a guest's clones.
const OTHERS: [&str; 2] = [OTHER, "5d1c0b1e-7654-4210-8edc-0a9876543212"];

/// Linux 6.12 with these modules, each built with a variable of make, and a program that reads the device.
fn workspace(modules: &[(&'static str, &str)]) -> Workspace {
    Workspace::new("device", KernelName::V6_12, modules)
}

/// A guest of [`workspace`] with this addition to its kernel's command line.
fn setup<'a>(workspace: &Workspace, vmgenid: Option<&'a str>, command_line: &'a str) -> Setup<'a> {
    Setup {
        command_line,
        ..workspace.setup(vmgenid)
    }
}

/// What the module has written to the kernel's log.
fn log(guest: &mut Guest) -> String {
    ok(
        guest,
        "dmesg | sed -n 's/.* squall: //p' | grep /dev/squall",
    )
}

/// What the program's `refusals` prints.
const REFUSALS: &str = "\
open to write: EACCES
open to read and write: EACCES
write: EBADF
ioctl: ENOTTY
truncate: EINVAL
";

fn serves_the_device(kernel: KernelName) {
    let workspace = Workspace::new("device", kernel, &[(DEVICE, "")]);
    let mut guest = workspace.boot_and_load(&workspace.setup(None));
    assert_eq!(
        log(&mut guest),
        "/dev/squall by VAES, without vmgenid's page, without kvm-clock\n"
    );
    let node = ok(&mut guest, "stat -c '%a %F' /dev/squall");
    assert_eq!(node, "444 character special file\n");
    for attribute in [PAGE_ATTRIBUTE, CLOCK_ATTRIBUTE] {
        let show = format!("stat -c %a {attribute}; cat {attribute}");
        assert_eq!(ok(&mut guest, &show), "444\n0\n");
    }
    let ways = |device| format!("device ways /dev/{device}");
    let expected = ok(&mut guest, &ways("urandom"));
    assert_eq!(ok(&mut guest, &ways("squall")), expected);
    assert_eq!(ok(&mut guest, "device refusals /dev/squall"), REFUSALS);
    assert_eq!(
        ok(&mut guest, "device huge /dev/squall"),
        "2 GiB: 2147479552\n"
    );
    assert_eq!(ok(&mut guest, "device signal /dev/squall"), "short\n");
    let repeats = ok(&mut guest, "device readers /dev/squall");
    assert_eq!(repeats, "0 of 524288\n");
    let programs = "cat /dev/squall | head -c 100001 | wc -c; head -c 100001 /dev/squall | wc -c
        dd if=/dev/squall bs=100001 count=3 iflag=fullblock 2> /dev/null | wc -c";
    assert_eq!(ok(&mut guest, programs), "100001\n100001\n300003\n");
    ok(&mut guest, "rmmod squall && [ ! -e /dev/squall ]");
    is_sound(&mut guest);
}

fn linux_6_1_serves_the_device() {
    serves_the_device(KernelName::V6_1);
}

fn linux_6_12_serves_the_device() {
    serves_the_device(KernelName::V6_12);
}

fn the_newest_linux_serves_the_device() {
    serves_the_device(KernelName::Newest);
}

/// What a read of the device gives with the key 0: block i is AES-256 of a nonce of 12 zeros and i, and each 64 KiB have
/// a key of their own, which is the same here.
fn known(len: usize) -> Vec<u8> {
    let cipher = Aes256::new(&[0; 32].into());
    let block = |number: u32| {
        let mut block = [0; 16];
        block[12..].copy_from_slice(&number.to_le_bytes());
        let mut block = block.into();
        cipher.encrypt_block(&mut block);
        <[u8; 16]>::from(block)
    };
    let life: Vec<u8> = (0..4096).flat_map(block).collect();
    life.into_iter().cycle().take(len).collect()
}

fn is_the_keystream(command_line: &str, aes: &str) {
    let workspace = workspace(&[(DEVICE, "KEY=0")]);
    let mut guest = workspace.boot_and_load(&setup(&workspace, None, command_line));
    let log = log(&mut guest);
    contains(&log, &["keystream of the key 0", &format!(" by {aes},")]);
    for len in [1, 16, 255, 4095, 4097, 65_536, 200_003] {
        let read = format!("dd if=/dev/squall of=/tmp/read bs={len} count=1");
        ok(&mut guest, &read);
        let got = guest.read_file("/tmp/read").expect("a file");
        assert!(got == known(len), "{len} bytes");
    }
}

fn a_long_read_is_aes_256_in_counter_mode() {
    is_the_keystream("", "VAES");
}

fn without_vaes_it_is_the_same() {
    is_the_keystream("clearcpuid=vaes", "AES-NI");
}

/// What `squall status` prints of the device, after its keys are as expected.
#[track_caller]
fn status(guest: &mut Guest, is_there: bool, uses_page: bool) -> String {
    let json = ok(guest, "squall status --json");
    let status: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(status["has_squall_device"], is_there);
    assert_eq!(status["squall_device_uses_page"], uses_page);
    ok(guest, "squall status | sed -n 's,^  /dev/squall  *,,p'")
}

/// Whether `squall bench` has measured the device.
fn measured(guest: &mut Guest) -> String {
    let command = "squall bench --quick --source dev-squall --source urandom --workload fill";
    let json = ok(guest, &format!("{command} --json"));
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let sources = report["sources"].as_array().expect("sources");
    let mut sources = sources.iter();
    let device = sources.find(|source| source["name"] == "dev-squall");
    device.expect("the device")["state"].to_string()
}

fn the_command_shows_and_measures_the_device() {
    let workspace = workspace(&[(PAGE, ""), (DEVICE, "")]);
    let mut guest = workspace.boot(&workspace.setup(Some(IDENTITY)));
    assert_eq!(status(&mut guest, false, false), "no\n");
    assert_eq!(measured(&mut guest), "\"missing\"");
    ok(&mut guest, &format!("insmod {DEVICE}"));
    let without_page = status(&mut guest, true, false);
    assert_eq!(without_page, "yes, without vmgenid's page\n");
    let load = format!("rmmod squall; insmod {PAGE} && insmod {DEVICE}");
    ok(&mut guest, &load);
    let with_page = status(&mut guest, true, true);
    assert_eq!(with_page, "yes, with vmgenid's page\n");
    assert_eq!(measured(&mut guest), "\"measured\"");
    is_sound(&mut guest);
}

fn without_aes_there_is_no_device() {
    let workspace = workspace(&[(DEVICE, "")]);
    let mut guest = workspace.boot(&setup(&workspace, None, "clearcpuid=aes"));
    let refused = fails(&mut guest, &format!("insmod {DEVICE}"));
    contains(&refused, &["No such device"]);
    let log = ok(&mut guest, "dmesg");
    contains(&log, &["squall: refused: this CPU has no AES instructions"]);
}

/// The control: what is repeated is seen.
fn readers_of_a_known_key_get_the_same() {
    let workspace = workspace(&[(DEVICE, "KEY=0")]);
    let mut guest = workspace.boot_and_load(&workspace.setup(None));
    let repeats = ok(&mut guest, "device readers /dev/squall");
    assert_ne!(repeats, "0 of 524288\n");
}

/// The lengths of reads at the time of a snapshot: of a short one, of one with a key, and of one with two.
const LENS: [usize; 3] = [16, 4096, 128 << 10];

/// Waits until the kernel reseeds. The next time is seconds later: half of the uptime, or a minute.
const UNTIL_RESEEDED: &str = "generation() { squall status --json | grep kernel_generation; }
    before=$(generation) && while [ \"$(generation)\" = \"$before\" ]; do sleep 0.1; done";

/// A read: the cycle counter before and after, and its first and last 8 bytes.
type Draw = [u64; 4];

/// What two clones read of the device after they were resumed, for each of [`LENS`].
struct Clones {
    reads: [[Vec<Draw>; 2]; LENS.len()],
}

impl Clones {
    /// Stops a guest whose processes read, and resumes it twice: with other identities, if it has a vmgenid. The kernel
    /// does not reseed meanwhile: it has just done so, and its own driver, which would, is not there.
    fn of(workspace: &Workspace, has_vmgenid: bool) -> Clones {
        let identity = |identity| has_vmgenid.then_some(identity);
        let no_driver = "initcall_blacklist=vmgenid_plaform_driver_init";
        let mut guest = workspace.boot_and_load(&setup(workspace, identity(IDENTITY), no_driver));
        ok(&mut guest, "[ ! -e /sys/bus/platform/drivers/vmgenid ]");
        for len in LENS {
            let read = format!("exec device draws /dev/squall {len} /tmp/since > /tmp/draws-{len}");
            guest.start(&read).expect("a job");
        }
        wait_until_ok(&mut guest, "[ $(pidof device | wc -w) = 3 ]");
        ok(&mut guest, UNTIL_RESEEDED);
        ok(&mut guest, "device now > /tmp/since; sleep 0.1");
        let snapshot = guest.snapshot(workspace.path("snapshot"));
        let snapshot = snapshot.expect("a snapshot");
        let [one, other] = OTHERS.map(|other| {
            let mut guest = workspace.resume(&snapshot, identity(other));
            ok(&mut guest, "killall -TERM device");
            wait_until_ok(&mut guest, "! pidof device");
            is_sound(&mut guest);
            LENS.map(|len| {
                let read = guest.read_file(&format!("/tmp/draws-{len}"));
                draws(&String::from_utf8(read.expect("a file")).expect("text"))
            })
        });
        let pairs = one.into_iter().zip(other).map(|(one, other)| [one, other]);
        let reads: Vec<_> = pairs.map(since_the_snapshot).collect();
        Clones {
            reads: reads.try_into().expect("three lengths"),
        }
    }

    /// How many beginnings and ends are the same in both clones, among reads of these lengths that began there. Keys
    /// may go to reads of another length, but begin alike.
    fn repeats(&self, lens: &[usize]) -> usize {
        let [one, other] = [0, 1].map(|clone| {
            let of_len = LENS.iter().zip(&self.reads);
            let chosen = of_len.filter(|(len, _)| lens.contains(len));
            // The first may have had its bytes when the machine was stopped.
            let begun = chosen.flat_map(|(_, reads)| reads[clone].iter().skip(1));
            let ends: BTreeSet<u64> = begun.flat_map(|draw| [draw[2], draw[3]]).collect();
            assert!(!ends.is_empty());
            ends
        });
        one.intersection(&other).count()
    }

    /// Whether reads during which the machine was stopped begin with the same bytes in both clones, and go on with
    /// others.
    fn share_a_beginning(&self) -> bool {
        self.reads.iter().any(|[one, other]| {
            let (Some(one), Some(other)) = (one.first(), other.first()) else {
                return false;
            };
            one[2] == other[2] && one[3] != other[3]
        })
    }
}

fn draws(output: &str) -> Vec<Draw> {
    let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    let draw = |line: &str| {
        let words: Vec<u64> = line.split(' ').map(number).collect();
        Draw::try_from(words).expect("four words")
    };
    output.lines().map(draw).collect()
}

/// Without the reads that ended before the snapshot, which both have at the same cycles.
fn since_the_snapshot([one, other]: [Vec<Draw>; 2]) -> [Vec<Draw>; 2] {
    let ends = |draws: &[Draw]| draws.iter().map(|draw| draw[1]).collect::<BTreeSet<_>>();
    let before = &ends(&one) & &ends(&other);
    assert!(!before.is_empty(), "the program has forgotten the snapshot");
    [one, other].map(|draws| {
        let is_new = |draw: &Draw| !before.contains(&draw[1]);
        draws.into_iter().filter(is_new).collect()
    })
}

/// vmgenid's page, or a copy of it, and a device whose keys have nothing of the CPU.
fn clones_with_page(variable: &str) -> Clones {
    let modules = [(PAGE, variable), (DEVICE, "KEY=kernel")];
    Clones::of(&workspace(&modules), true)
}

fn with_vmgenids_page_no_clone_repeats_a_read() {
    let clones = clones_with_page("");
    assert_eq!(clones.repeats(&LENS), 0);
    assert!(!clones.share_a_beginning());
}

/// The control: it is the page that keeps clones apart.
fn with_a_copy_of_the_page_clones_repeat_reads() {
    assert_ne!(clones_with_page("COPY=1").repeats(&LENS), 0);
}

/// Linux 6.12 with kvm-clock, a CPU with these additions, and a device built with this variable of make.
fn workspace_with_clock(cpu: &'static str, variable: &str) -> Workspace {
    let modules = [(DEVICE, variable)];
    Workspace::with_kvm_clock(cpu, "device", KernelName::V6_12, &modules)
}

/// Without vmgenid, and a device whose keys have nothing of the CPU.
fn clones_with_clock(cpu: &'static str) -> Clones {
    Clones::of(&workspace_with_clock(cpu, "KEY=kernel"), false)
}

fn with_kvm_clock_no_clone_repeats_a_read() {
    let clones = clones_with_clock("");
    assert_eq!(clones.repeats(&LENS), 0);
    assert!(!clones.share_a_beginning());
}

/// The control: it is the new records that keep clones apart.
fn with_old_records_clones_repeat_reads() {
    let clones = clones_with_clock(",x-rewrite-kvmclock=off");
    assert_ne!(clones.repeats(&LENS), 0);
}

/// A CPU that comes back has a new record, which a read there notices. So the long read on the other CPU starts anew,
/// again and again.
fn a_read_that_always_starts_anew_is_cut() {
    let workspace = workspace_with_clock("", "");
    let mut guest = workspace.boot_and_load(&workspace.setup(None));
    contains(&log(&mut guest), &[", with kvm-clock"]);
    assert_eq!(ok(&mut guest, &format!("cat {CLOCK_ATTRIBUTE}")), "1\n");
    let come_and_go = "cd /sys/devices/system/cpu/cpu1
        while [ ! -e /tmp/end ]; do
            echo 0 > online; echo 1 > online; taskset 2 head -c 16 /dev/squall > /tmp/read; done";
    let job = guest.start(come_and_go).expect("a job");
    wait_until_ok(&mut guest, "[ -s /tmp/read ]");
    let huge = "taskset 1 device huge /dev/squall";
    assert_eq!(ok(&mut guest, huge), "2 GiB: 4096\n");
    ok(&mut guest, "touch /tmp/end");
    let end = guest.finish(job, TIMEOUT).expect("an answer");
    end.expect("an end");
    assert_eq!(ok(&mut guest, huge), "2 GiB: 2147479552\n");
    is_sound(&mut guest);
}

fn without_the_page_no_clone_repeats_a_long_read() {
    let clones = Clones::of(&workspace(&[(DEVICE, "")]), false);
    assert_eq!(clones.repeats(&LENS[1..]), 0);
}

/// The control: it is the cycle counter and the random instruction that keep them apart.
fn without_the_page_and_the_cpus_part_clones_repeat_reads() {
    let workspace = workspace(&[(DEVICE, "KEY=kernel")]);
    assert_ne!(Clones::of(&workspace, false).repeats(&LENS[1..]), 0);
}

fn open_files_keep_the_module_loaded() {
    let workspace = workspace(&[(PAGE, ""), (DEVICE, "")]);
    let mut guest = workspace.boot_and_load(&workspace.setup(Some(IDENTITY)));
    contains(&log(&mut guest), &[", with vmgenid's page"]);
    let open = "exec 3< /dev/squall; head -c 100 <&3 | wc -c > /tmp/read; exec sleep 1000";
    let job = guest.start(open).expect("a job");
    wait_until_ok(&mut guest, "grep -q 100 /tmp/read");
    contains(&fails(&mut guest, "rmmod squall"), &["in use"]);
    contains(&fails(&mut guest, "rmmod squall_vmgenid"), &["in use"]);
    guest.kill(job).expect("an end");
    wait_until_ok(&mut guest, "rmmod squall");
    ok(&mut guest, "rmmod squall_vmgenid");
    is_sound(&mut guest);
}

fn the_device_is_loaded_and_unloaded_under_load() {
    let workspace = workspace(&[(DEVICE, "")]);
    let mut guest = workspace.boot(&workspace.setup(None));
    let users = "for user in 1 2 3; do while [ ! -e /tmp/end ]; do \
        head -c 70000 /dev/squall | wc -c; head -c 20 /dev/squall | wc -c; done & done";
    let users = format!("{{ {users}; wait; }} >> /tmp/read 2> /dev/null");
    ok(&mut guest, ": > /tmp/read");
    let job = guest.start(&users).expect("a job");
    let turn = format!(
        "before=$(grep -c 70000 /tmp/read)
        insmod {DEVICE} || exit
        until [ $(grep -c 70000 /tmp/read) -gt $((before + 3)) ]; do sleep 0.01; done
        until rmmod squall; do :; done"
    );
    let turns = format!("for turn in $(seq 20); do {turn}; done 2> /dev/null");
    ok(&mut guest, &turns);
    ok(&mut guest, "touch /tmp/end");
    let end = guest.finish(job, TIMEOUT).expect("an answer");
    end.expect("an end");
    is_sound(&mut guest);
}
