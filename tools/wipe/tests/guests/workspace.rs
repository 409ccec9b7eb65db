//! A test's drives, guests in which `squall wipe` works on them, and the results of its runs.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use squall_guests::fixture::{self, TIMEOUT};
use squall_guests::{Bus, Drive, Guest, Job, Setup, c_program};
use squall_testing::runs::{FinishedRun, events};
use squall_tool_base::Failure;

pub const MIB: u64 = 1 << 20;

/// The pause between two looks at a run's events. Each takes time of the guest's CPU.
const PAUSE: Duration = Duration::from_millis(500);

/// What drives hold before they are wiped.
pub const OLD: u8 = 0xa7;

/// Guests with squall, and the drives of one test.
pub struct Workspace {
    guests: fixture::Workspace,
    /// The program that gives others a terminal.
    terminal: PathBuf,
}

impl Workspace {
    /// Its guests run in QEMU.
    pub fn emulated() -> Workspace {
        Workspace::new(fixture::Workspace::emulated())
    }

    /// Its guests are processes: user-mode Linux.
    pub fn user_mode() -> Workspace {
        Workspace::new(fixture::Workspace::user_mode())
    }

    fn new(guests: fixture::Workspace) -> Workspace {
        let terminal = guests.path("terminal");
        c_program("terminal", &terminal).expect("a program");
        Workspace { guests, terminal }
    }

    /// Creates a drive full of [`OLD`].
    pub fn drive(&self, bus: Bus, serial: &str, sector: usize, mib: u64) -> Drive {
        let path = self.guests.path(serial);
        let mut file = File::create(&path).expect("a file");
        for _ in 0..mib {
            file.write_all(&[OLD; MIB as usize]).expect("room");
        }
        Drive::new(path, bus, serial, sector)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.guests.path(name)
    }

    pub fn medium(&self, serial: &str) -> Vec<u8> {
        fs::read(self.guests.path(serial)).expect("a drive")
    }

    /// Whether a drive still has its old contents.
    pub fn is_old(&self, serial: &str) -> bool {
        self.medium(serial).iter().all(|byte| *byte == OLD)
    }

    /// A guest with `drives`, which have names below /dev/disk/by-id.
    pub fn boot(&self, modules: &[&str], drives: Vec<Drive>) -> GuestSession<'_> {
        self.boot_with(modules, drives, "")
    }

    /// The same, with additions to the kernel's command line.
    pub fn boot_with(
        &self,
        modules: &[&str],
        drives: Vec<Drive>,
        command_line: &str,
    ) -> GuestSession<'_> {
        let serials: Vec<_> = drives.iter().map(|drive| drive.serial.clone()).collect();
        let setup = Setup {
            modules,
            drives,
            programs: &[fixture::squall(), &self.terminal],
            command_line,
            ..Setup::default()
        };
        let guest = self.guests.factory.boot(&setup).expect("a guest");
        let reports = "/tmp".into();
        let mut session = GuestSession { guest, reports };
        session.guest.write_file("/tmp/name", NAME).expect("a file");
        session.ok("mkdir -p /dev/disk/by-id /dev/pts && mount -t devpts devpts /dev/pts");
        for serial in serials {
            session.name(&serial);
        }
        session
    }
}

/// A script that names drives by their serial numbers, as udev does.
const NAME: &[u8] = b"for disk in /sys/block/*; do
    serial=$(cat $disk/serial $disk/device/serial || tail -c +5 $disk/device/vpd_pg80)
    set -- $serial
    [ -z \"$1\" ] || ln -sf /dev/${disk##*/} /dev/disk/by-id/$1
done";

/// The stable name of a drive.
pub fn id(serial: &str) -> String {
    format!("/dev/disk/by-id/{serial}")
}

pub struct GuestSession<'w> {
    pub guest: Guest<'w>,
    /// The directory that contains the directories of reports.
    pub reports: String,
}

pub struct Running {
    job: Job,
    name: String,
}

impl GuestSession<'_> {
    /// Runs a command, which must succeed, and returns its output.
    #[track_caller]
    pub fn ok(&mut self, command: &str) -> String {
        fixture::ok(&mut self.guest, command)
    }

    #[track_caller]
    pub fn wait_until_ok(&mut self, command: &str) {
        fixture::wait_until_ok(&mut self.guest, command);
    }

    /// Asserts that `command` is refused for a reason with `words`.
    #[track_caller]
    pub fn refuses(&mut self, command: &str, words: &str) {
        let output = self.guest.sh(command).expect("an end");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_refused = output.status != 0 && said.contains(words);
        assert!(is_refused, "{command}: {words:?} is not in: {said}");
    }

    /// Asserts that `path` may not be wiped, for a reason with `words`.
    #[track_caller]
    pub fn refuses_to_wipe(&mut self, path: &str, words: &str) {
        self.refuses(&format!("squall wipe --dry-run {path}"), words);
    }

    /// Asserts that `path` may be wiped.
    #[track_caller]
    pub fn may_wipe(&mut self, path: &str) {
        self.ok(&format!("squall wipe --dry-run {path}"));
    }

    /// Waits for the drive with this serial number, and links it below /dev/disk/by-id.
    #[track_caller]
    pub fn name(&mut self, serial: &str) {
        self.wait_until_ok(&format!("sh /tmp/name; [ -b {0} ] && : <{0}", id(serial)));
    }

    /// Plugs a drive in, and waits until it can be opened.
    #[track_caller]
    pub fn plug(&mut self, serial: &str) {
        self.guest.plug(serial).expect("a drive");
        self.name(serial);
    }

    /// Unplugs a drive, and waits until the kernel no longer shows it.
    #[track_caller]
    pub fn unplug(&mut self, serial: &str) {
        let path = self.ok(&format!("readlink -f {}", id(serial)));
        let disk = path.trim().trim_start_matches("/dev/");
        self.guest.unplug(serial).expect("a drive");
        self.wait_until_ok(&format!("[ ! -e /sys/block/{disk} ]"));
        self.ok(&format!("rm -f {}", id(serial)));
    }

    /// Keeps reports on the drive with this serial number, which has a file system.
    #[track_caller]
    pub fn keep_reports_on(&mut self, serial: &str) {
        self.ok(&format!("mount -t ext4 {} /mnt", id(serial)));
        self.reports = "/mnt".into();
    }

    /// Makes a device mapper device called `name`, also below /dev/disk/by-id, with `name` as its
    /// serial number.
    #[track_caller]
    pub fn map(&mut self, name: &str, table: &str) {
        let link = format!("ln -sf /dev/mapper/{name} {}", id(name));
        self.ok(&format!(
            "printf '{table}' | dmsetup create {name} -u {name} && {link}"
        ));
    }

    /// Replaces the table of a device mapper device.
    #[track_caller]
    pub fn remap(&mut self, name: &str, table: &str) {
        self.ok(&format!(
            "printf '{table}' | dmsetup load {name} && dmsetup resume {name}"
        ));
    }

    /// Starts `squall wipe` on the drives with these names below /dev/disk/by-id. Its reports go to the
    /// directory `name`.
    pub fn start(&mut self, name: &str, options: &str, drives: &[&str]) -> Running {
        let report = format!("{}/{name}", self.reports);
        let targets: Vec<_> = drives.iter().map(|serial| id(serial)).collect();
        let targets = targets.join(" ");
        let arguments = format!("wipe --yes --report {report} {options} {targets}");
        self.squall(name, &arguments)
    }

    /// Starts `squall wipe --resume` for the job `name`.
    pub fn restart(&mut self, name: &str, options: &str) -> Running {
        let journal = self.journal(name).expect("a journal");
        let arguments = format!("wipe --yes --resume {journal} {options}");
        self.squall(&format!("{name}-again"), &arguments)
    }

    /// Starts squall with these arguments. Its output goes to files called `name`.
    pub fn squall(&mut self, name: &str, arguments: &str) -> Running {
        let agreed = match arguments.contains("--purge") {
            true => "--untried-on-hardware",
            false => "",
        };
        let arguments = format!("{arguments} {agreed}");
        let files = format!(">/tmp/{name}.events 2>/tmp/{name}.errors");
        self.begin(name, &format!("squall {arguments} --json {files}"))
    }

    fn begin(&mut self, name: &str, command: &str) -> Running {
        let job = self.guest.start(&format!("exec {command}"));
        Running {
            job: job.expect("a job"),
            name: name.into(),
        }
    }

    /// Starts squall with these arguments on a terminal. What it shows goes to the file NAME.screen, and what is
    /// written to NAME.keys is typed.
    pub fn on_terminal(&mut self, name: &str, arguments: &str) -> Running {
        self.ok(&format!("mkfifo /tmp/{name}.keys"));
        let files = format!("<>/tmp/{name}.keys >/tmp/{name}.screen");
        self.begin(name, &format!("terminal squall {arguments} {files}"))
    }

    /// Types `keys`, once the terminal of the run `name` has shown `words`.
    #[track_caller]
    pub fn type_after(&mut self, name: &str, words: &str, keys: &str) {
        self.wait_until_ok(&format!("grep -q '{words}' /tmp/{name}.screen"));
        self.ok(&format!("printf '{keys}' >/tmp/{name}.keys"));
    }

    /// Waits for the end of a run on a terminal. Returns its exit status, and what it has shown.
    #[track_caller]
    pub fn end_on_terminal(&mut self, running: Running) -> (i32, String) {
        let path = format!("/tmp/{}.screen", running.name);
        let status = self.wait(running.job, &running.name);
        let shown = self.guest.read_file(&path).expect("a file");
        (status, String::from_utf8_lossy(&shown).into_owned())
    }

    /// Waits for the end of a run, and returns its exit status.
    #[track_caller]
    fn wait(&mut self, job: Job, name: &str) -> i32 {
        let output = self.guest.finish(job, TIMEOUT).expect("an answer");
        output
            .unwrap_or_else(|| panic!("{name} does not end"))
            .status
    }

    pub fn wipe(&mut self, name: &str, options: &str, drives: &[&str]) -> FinishedRun {
        let running = self.start(name, options, drives);
        self.end(running)
    }

    pub fn resume(&mut self, name: &str, options: &str) -> FinishedRun {
        let running = self.restart(name, options);
        self.end(running)
    }

    #[track_caller]
    pub fn end(&mut self, running: Running) -> FinishedRun {
        let Running { job, name } = running;
        FinishedRun {
            code: Some(self.wait(job, &name)),
            stderr: self.errors(&name).expect("a file"),
            events: self.events_of(&name),
        }
    }

    #[track_caller]
    pub fn kill(&mut self, running: Running) {
        self.ok("kill -KILL $(pidof squall)");
        assert_eq!(self.end(running).code, Some(128 + 9));
    }

    /// What a run has printed as errors so far. Fails if it has not begun.
    fn errors(&mut self, name: &str) -> Result<String, Failure> {
        let text = self.guest.read_file(&format!("/tmp/{name}.errors"))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    pub fn events(&mut self, running: &Running) -> Vec<Value> {
        self.events_of(&running.name)
    }

    fn events_of(&mut self, name: &str) -> Vec<Value> {
        let text = self.guest.read_file(&format!("/tmp/{name}.events"));
        events(&text.unwrap_or_default())
    }

    #[track_caller]
    pub fn until(
        &mut self,
        running: &Running,
        drive: u64,
        is_it: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until_event(running, |event| event["drive"] == drive && is_it(event))
    }

    #[track_caller]
    pub fn until_event(&mut self, running: &Running, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let events = self.events(running);
            let found = events.iter().find(|event| is_it(event));
            if let Some(event) = found {
                return event.clone();
            }
            let has_ended = events.iter().any(|event| event["event"] == "end");
            let errors = self.errors(&running.name).unwrap_or_default();
            let is_refused = errors.starts_with("squall: ") && self.events(running).is_empty();
            if has_ended || is_refused || Instant::now() >= deadline {
                panic!("{}: {:?}\n{errors}", running.name, events.last());
            }
            sleep(PAUSE);
        }
    }

    /// Waits for a remark with these words.
    #[track_caller]
    pub fn until_remark(&mut self, running: &Running, words: &str) {
        self.until_event(running, |event| {
            let text = event["text"].as_str().unwrap_or_default();
            event["event"] == "remark" && text.contains(words)
        });
    }

    /// Waits until the device mapper device `name` has this many writes in flight.
    #[track_caller]
    pub fn until_in_flight(&mut self, name: &str, writes: u32) {
        self.wait_until_ok(&format!(
            "number=$(dmsetup info -c --noheadings --separator : -o major,minor {name})
            read reads writes < /sys/dev/block/$number/inflight
            [ $writes -eq {writes} ]"
        ));
    }

    /// Waits for a checkpoint of a drive beyond its beginning.
    #[track_caller]
    pub fn until_checkpoint(&mut self, running: &Running, drive: u64) -> u64 {
        let is_it = |event: &Value| event["event"] == "checkpoint" && event["offset"] != 0;
        let event = self.until(running, drive, is_it);
        event["offset"].as_u64().expect("an offset")
    }

    /// The files of a job's reports with this ending.
    fn files(&mut self, name: &str, ending: &str) -> Vec<String> {
        let list = format!("ls {}/{name}/*.{ending} || true", self.reports);
        self.ok(&list).lines().map(str::to_owned).collect()
    }

    /// The journal of a job, if there is one. Its name has no drive number.
    pub fn journal(&mut self, name: &str) -> Option<String> {
        let directory = format!("{}/{name}/", self.reports);
        let is_journal = |path: &String| path[directory.len()..].matches('-').count() == 1;
        self.files(name, "json").into_iter().find(is_journal)
    }

    /// The contents of a drive's report file with this ending.
    #[track_caller]
    pub fn report_file(&mut self, name: &str, drive: usize, ending: &str) -> Vec<u8> {
        let number = format!("-{:02}-", drive + 1);
        let mut files = self.files(name, ending);
        files.retain(|path| path.contains(&number));
        assert_eq!(files.len(), 1, "{files:?}");
        self.guest.read_file(&files[0]).expect("a file")
    }

    #[track_caller]
    pub fn page(&mut self, name: &str, drive: usize) -> String {
        String::from_utf8(self.report_file(name, drive, "html")).expect("text")
    }

    #[track_caller]
    pub fn report(&mut self, name: &str, drive: usize) -> Value {
        let report = self.report_file(name, drive, "json");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        report["drives"][0].clone()
    }

    /// The bytes that a drive's last pass wrote, computed from its kept key.
    #[track_caller]
    pub fn keystream(&mut self, name: &str, drive: usize, size: usize) -> Vec<u8> {
        let keys = self.report_file(name, drive, "key");
        let line = keys
            .split(|byte| *byte == b'\n')
            .rfind(|line| !line.is_empty());
        let digits = str::from_utf8(line.expect("a key")).expect("digits");
        let byte = |at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits");
        let key: [u8; 32] = std::array::from_fn(byte);
        let mut written = vec![0; size];
        let filled = squall::Stream::new(&key).fill(&mut written);
        filled.expect("a short stream");
        written
    }
}
