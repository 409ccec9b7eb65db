//! The programs that are copied, and what is claimed of their copies.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use squall_guests::debian::{Cache, Tree};
use squall_guests::emulator::{self, c_program, go_program, jar, java_program, library};
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

use super::tool::ToolName;
use crate::vm::openssl_configuration;

/// What two processes must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// They share no value.
    Differ,
    /// They share values: a control. Some copies do, or some parents with their children.
    Repeat,
}

/// What is claimed with CRIU 4.1, CRIU 4.2 and gVisor. None: nothing.
type Claims = [Option<Claim>; 3];

const DIFFER: Claims = [Some(Claim::Differ); 3];
const REPEAT: Claims = [Some(Claim::Repeat); 3];
const NOTHING: Claims = [None; 3];

/// CRIU 4.1 restores memory that the kernel would empty as plain memory.
const REPEAT_WITH_OLD_CRIU: Claims = [Some(Claim::Repeat), None, None];

/// CRIU restores memory that is wiped on fork with its contents. In gVisor the tick is not found, so requests get pads.
const REPEAT_WITH_CRIU: Claims = [
    Some(Claim::Repeat),
    Some(Claim::Repeat),
    Some(Claim::Differ),
];

/// A program, how it is started, and what is claimed of its copies, and of parent and child if it can fork.
pub struct Program {
    pub name: &'static str,
    pub command: fn(&Workshop) -> Result<CommandLine, Failure>,
    copies: Claims,
    children: Option<Claims>,
}

impl Program {
    /// What is claimed of copies by `tool`.
    pub fn claim_of_copies(&self, tool: ToolName) -> Option<Claim> {
        self.copies[tool as usize]
    }

    /// What is claimed of parent and child in copies by `tool`.
    pub fn claim_of_children(&self, tool: ToolName) -> Option<Claim> {
        self.children.and_then(|claims| claims[tool as usize])
    }

    /// What is claimed of the clone generations of the original and of copies by `tool`, which shows a copy nothing if it is
    /// gVisor.
    pub fn claim_of_generations(&self, tool: ToolName) -> Option<Claim> {
        let claim = match self.name {
            "rust-this-machine" | "rust-not-a-vm" | "rust-not-a-vm-wipe-on-fork" | "go" => {
                Claim::Differ
            }
            "rust-not-a-vm-frozen-tick" => Claim::Repeat,
            _ => return None,
        };
        (tool != ToolName::Gvisor).then_some(claim)
    }

    pub fn can_fork(&self) -> bool {
        self.children.is_some()
    }

    /// Whether it tells squall's status.
    pub fn has_status(&self) -> bool {
        self.name.starts_with("rust-")
    }
}

const fn program(
    name: &'static str,
    command: fn(&Workshop) -> Result<CommandLine, Failure>,
    copies: Claims,
    children: Option<Claims>,
) -> Program {
    Program {
        name,
        command,
        copies,
        children,
    }
}

/// All of them. Those in Rust have the guard against clones and the memory of their names.
#[rustfmt::skip]
pub const PROGRAMS: &[Program] = &[
    program("rust-vmgenid", |shop| shop.rust(&VMGENID, &[]), DIFFER, Some(DIFFER)),
    program("rust-vmgenid-wipe-on-fork", |shop| shop.rust(&VMGENID, &WIPE_ON_FORK), DIFFER, Some(DIFFER)),
    program("rust-vmgenid-plain", |shop| shop.rust(&VMGENID, &PLAIN), DIFFER, Some(DIFFER)),
    program("rust-no-signal", |shop| shop.rust(&NO_SIGNAL, &[]), DIFFER, Some(DIFFER)),
    program("rust-no-signal-wipe-on-fork", |shop| shop.rust(&NO_SIGNAL, &WIPE_ON_FORK), DIFFER, Some(DIFFER)),
    program("rust-no-signal-plain", |shop| shop.rust(&NO_SIGNAL, &PLAIN), DIFFER, Some(DIFFER)),
    program("rust-this-machine", |shop| shop.rust(&[], &[]), DIFFER, Some(DIFFER)),
    program("rust-this-machine-wipe-on-fork", |shop| shop.rust(&[], &WIPE_ON_FORK), DIFFER, Some(DIFFER)),
    program("rust-not-a-vm", |shop| shop.rust(&NOT_A_VM, &[]), DIFFER, Some(DIFFER)),
    program("rust-not-a-vm-wipe-on-fork", |shop| shop.rust(&NOT_A_VM, &WIPE_ON_FORK), DIFFER, Some(DIFFER)),
    program("rust-not-a-vm-plain", |shop| shop.rust(&NOT_A_VM, &PLAIN), DIFFER, Some(DIFFER)),
    program("rust-not-a-vm-frozen-tick", |shop| shop.rust(&FROZEN_TICK, &WIPE_ON_FORK), REPEAT_WITH_CRIU, Some(DIFFER)),
    program("rust-unguarded", |shop| shop.rust(&UNGUARDED, &[]), REPEAT, Some(REPEAT)),
    program("c", |shop| shop.c(library("squall-c")?, &[]), DIFFER, Some(DIFFER)),
    program("preload", |shop| shop.preloaded("getrandom"), DIFFER, Some(DIFFER)),
    program("preload-arc4random", |shop| shop.preloaded("arc4random"), DIFFER, Some(DIFFER)),
    program("openssl-provider", Workshop::openssl_with_squall, DIFFER, Some(DIFFER)),
    program("libc", |shop| shop.c("getrandom", &[]), REPEAT_WITH_OLD_CRIU, Some(REPEAT_WITH_OLD_CRIU)),
    program("libc-arc4random", |shop| shop.c("arc4random", &[]), REPEAT_WITH_OLD_CRIU, Some(REPEAT_WITH_OLD_CRIU)),
    program("openssl", |shop| shop.c("RAND_bytes", &[]), REPEAT, Some(NOTHING)),
    program("python-preload", Workshop::preloaded_python, DIFFER, Some(DIFFER)),
    program("python-random", |_| Ok(python("random")), REPEAT, Some(NOTHING)),
    program("go", |shop| shop.go("squall"), DIFFER, None),
    program("go-crypto-rand", |shop| shop.go("crypto/rand"), REPEAT_WITH_OLD_CRIU, None),
    program("node", Workshop::node, DIFFER, None),
    program("node-crypto", |_| Ok(node(&[])), REPEAT, None),
    program("java", |shop| shop.java(&[agent()?]), DIFFER, None),
    program("java-drbg", |shop| shop.java(&[]), REPEAT, None),
];

/// Failpoints that decide which guard squall has.
const VMGENID: [&str; 2] = ["PretendVmgenid", "HideKvmClock"];
const NO_SIGNAL: [&str; 3] = ["HideVmgenid", "PretendVm", "HideKvmClock"];
const NOT_A_VM: [&str; 3] = ["HideVmgenid", "HideHypervisorAnnouncement", "HideKvmClock"];
const FROZEN_TICK: [&str; 4] = [
    "HideVmgenid",
    "HideHypervisorAnnouncement",
    "HideKvmClock",
    "FreezeTick",
];
const UNGUARDED: [&str; 8] = [
    "HideKvmClock",
    "FreezeTick",
    "HideVmgenid",
    "HideHypervisorAnnouncement",
    "FreezeGeneration",
    "SkipForkGuard",
    "SkipUnnotifiedCloneGuard",
    "ZeroAdditionalInput",
];

/// Failpoints that decide which memory it has. Without them it is droppable, from Linux 6.11 on.
const WIPE_ON_FORK: [&str; 1] = ["RefuseDroppableMemory"];
const PLAIN: [&str; 2] = ["RefuseDroppableMemory", "RefuseWipeOnFork"];

/// A command, and its environment beside PATH.
#[derive(Debug)]
pub struct CommandLine {
    pub line: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

impl CommandLine {
    fn new(line: impl IntoIterator<Item = OsString>) -> CommandLine {
        CommandLine {
            line: line.into_iter().collect(),
            environment: Vec::new(),
        }
    }

    /// Its environment, as env(1) takes it.
    pub fn assignments(&self) -> impl Iterator<Item = OsString> {
        let assignment = |(name, value): &(&str, OsString)| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            word
        };
        self.environment.iter().map(assignment)
    }
}

/// Where programs are built.
pub struct Workshop {
    directory: PathBuf,
    /// Debian's C library and OpenSSL, with which programs in C run: that of the machine may be without getrandom in the
    /// vDSO. CRIU must not run with the same: no program can be restored into itself.
    tree: Tree,
}

impl Workshop {
    pub fn open(cache: &Cache, directory: &Path) -> Result<Workshop, Failure> {
        let directory = directory.to_owned();
        Ok(Workshop {
            tree: cache.nginx()?,
            directory,
        })
    }

    /// The program in Rust, linked statically.
    fn rust(&self, guard: &[&str], memory: &[&str]) -> Result<CommandLine, Failure> {
        let program = emulator::program("squall-probe", "squall-copies")?;
        let failpoints = guard.iter().chain(memory).map(Into::into);
        Ok(CommandLine::new(
            [program.into()].into_iter().chain(failpoints),
        ))
    }

    /// The program in C, which draws from `generator`.
    fn c(
        &self,
        generator: impl Into<OsString>,
        environment: &[(&'static str, &Path)],
    ) -> Result<CommandLine, Failure> {
        let program = self.directory.join("copies");
        if !program.exists() {
            c_program("copies", &program)?;
        }
        let mut line = self.tree.command_line(&program.to_string_lossy(), "copies");
        line.push(generator.into());
        let environment = environment.iter().map(|(name, path)| (*name, path.into()));
        Ok(CommandLine {
            line,
            environment: environment.collect(),
        })
    }

    fn preloaded(&self, generator: &str) -> Result<CommandLine, Failure> {
        self.c(generator, &[("LD_PRELOAD", &library("squall-preload")?)])
    }

    fn openssl_with_squall(&self) -> Result<CommandLine, Failure> {
        let provider = library("squall-openssl")?;
        let path = self.directory.join("openssl.cnf");
        fs::write(&path, openssl_configuration(&provider.to_string_lossy())).map_err(at(&path))?;
        self.c("RAND_bytes", &[("OPENSSL_CONF", &path)])
    }

    fn preloaded_python(&self) -> Result<CommandLine, Failure> {
        let preload = ("LD_PRELOAD", library("squall-preload")?.into());
        Ok(CommandLine {
            environment: vec![preload],
            ..python("urandom")
        })
    }

    fn go(&self, generator: &str) -> Result<CommandLine, Failure> {
        let program = self.directory.join("go-copies");
        go_program("labcopies", &program)?;
        Ok(CommandLine::new([program.into(), generator.into()]))
    }

    /// Node.js with squall's package, whose files are beside its native module.
    fn node(&self) -> Result<CommandLine, Failure> {
        let package = self.directory.join("node");
        fs::create_dir_all(&package).map_err(at(&package))?;
        let module = (library("squall-node")?, "squall.linux-x64.node");
        let scripts = ["index.js", "native.js", "package.json", "register.js"];
        let scripts = scripts.map(|name| (repository("bindings/node").join(name), name));
        for (from, name) in scripts.into_iter().chain([module]) {
            fs::copy(&from, package.join(name)).map_err(at(&from))?;
        }
        let register = package.join("register.js").into();
        Ok(node(&["--require".into(), register]))
    }

    fn java(&self, options: &[OsString]) -> Result<CommandLine, Failure> {
        java_program("research/lab/programs/Copies.java", &self.directory)?;
        // Without a file of figures, which it would delete at its end.
        let mut line: Vec<OsString> = ["java", "-Xmx64m", "-XX:-UsePerfData"]
            .map(Into::into)
            .into();
        line.extend(options.iter().cloned());
        line.extend(["-cp".into(), self.directory.clone().into(), "Copies".into()]);
        Ok(CommandLine::new(line))
    }
}

fn repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn script(name: &str) -> OsString {
    repository("research/lab/programs").join(name).into()
}

fn python(generator: &str) -> CommandLine {
    CommandLine::new(["python3".into(), script("copies.py"), generator.into()])
}

fn node(options: &[OsString]) -> CommandLine {
    let name = [OsString::from("node")].into_iter();
    CommandLine::new(
        name.chain(options.iter().cloned())
            .chain([script("copies.js")]),
    )
}

/// Java's option for squall's agent.
fn agent() -> Result<OsString, Failure> {
    let mut option = OsString::from("-javaagent:");
    option.push(jar()?);
    Ok(option)
}
