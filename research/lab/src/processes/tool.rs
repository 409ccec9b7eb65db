//! What checkpoints a process and restores it.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde_json::json;
use squall_guests::debian::{Cache, Tree};
use squall_tool_base::failure::at;
use squall_tool_base::{Failure, Interrupt};

use super::namespace::{Namespace, Process};
use super::program::CommandLine;

/// The tools by their names on the command line and in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolName {
    /// CRIU before 4.2, which restores droppable memory and memory that a fork wipes as plain memory
    #[value(name = "criu-4.1")]
    Criu41,
    /// CRIU that restores both kinds of memory as such
    #[value(name = "criu-4.2")]
    Criu42,
    /// gVisor: runsc with its platform systrap
    #[value(name = "gvisor")]
    Gvisor,
}

impl ToolName {
    pub const ALL: [ToolName; 3] = [ToolName::Criu41, ToolName::Criu42, ToolName::Gvisor];
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no tool is hidden");
        f.write_str(value.get_name())
    }
}

#[derive(Debug)]
pub struct Tool {
    pub name: ToolName,
    tree: Tree,
    interrupt: Interrupt,
}

impl Tool {
    pub fn open(name: ToolName, cache: &Cache, interrupt: &Interrupt) -> Result<Tool, Failure> {
        let tree = cache.checkpointer(&name.to_string())?;
        Ok(Tool {
            name,
            tree,
            interrupt: interrupt.clone(),
        })
    }

    /// The version of the Debian package.
    pub fn version(&self) -> String {
        self.tree.field("version")
    }

    /// Starts a program whose checkpoint is going to be in `directory`, which must be empty.
    pub fn start(&self, program: &CommandLine, directory: &Path) -> Result<Original<'_>, Failure> {
        let images = directory.join("images");
        fs::create_dir(&images).map_err(at(&images))?;
        let namespace = Namespace::new()?;
        let mut original = Original {
            tool: self,
            directory: directory.to_owned(),
            id: String::new(),
            process: None,
            namespace,
        };
        if self.name == ToolName::Gvisor {
            original.write_bundle(program)?;
            let mut run = original.runsc(
                "run",
                &["--bundle".into(), directory.into(), ORIGINAL.into()],
            );
            original.process = Some(Process::start(&mut run)?);
            return Ok(original);
        }
        let mut line: Vec<OsString> = ["setsid", "bash", "-c", DETACHED, "bash", "env"]
            .map(Into::into)
            .into();
        line.extend(program.assignments());
        line.extend(program.line.iter().cloned());
        let mut process = Process::start(&mut original.namespace.command(&line))?;
        original.id = process.line()?;
        original.process = Some(process);
        Ok(original)
    }
}

/// Prints the process's ID in its namespace, and keeps no file open that was opened outside its namespace of mounts, which
/// CRIU cannot dump: its errors, and what the lab was started with.
const DETACHED: &str = r#"
echo $$
for file in /proc/$$/fd/*; do
    descriptor=${file##*/}
    ((descriptor <= 2)) || exec {descriptor}>&-
done
exec "$@" 2> /dev/null
"#;

/// It says on standard error when CRIU has restored a process.
const RESUMED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/resumed.sh");

/// gVisor's name of the program that is checkpointed.
const ORIGINAL: &str = "original";

/// A program that runs, and is going to be checkpointed.
#[derive(Debug)]
pub struct Original<'a> {
    tool: &'a Tool,
    directory: PathBuf,
    /// Its process ID in its namespace, where CRIU copies it.
    id: String,
    process: Option<Process>,
    namespace: Namespace,
}

/// A checkpoint of a program that has ended.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    original: Original<'a>,
    pipes: [String; 2],
}

impl<'a> Original<'a> {
    /// The program, to be asked.
    pub fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("it runs")
    }

    /// Writes the checkpoint, and ends the program.
    pub fn checkpoint(mut self) -> Result<Checkpoint<'a>, Failure> {
        let pipes = self.process().pipes()?;
        let mut command = match self.tool.name {
            ToolName::Gvisor => {
                let images = self.images().into_os_string();
                self.runsc(
                    "checkpoint",
                    &["--image-path".into(), images, ORIGINAL.into()],
                )
            }
            _ => self.criu("dump", &["--tree".into(), self.id.clone().into()]),
        };
        let output = command.output().map_err(at(Path::new("nsenter")))?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(failure("checkpoint", errors.lines()));
        }
        self.process().wait()?;
        self.process = None;
        Ok(Checkpoint {
            original: self,
            pipes,
        })
    }

    fn images(&self) -> PathBuf {
        self.directory.join("images")
    }

    fn criu(&self, action: &str, options: &[OsString]) -> Command {
        let mut line = self.tool.tree.command_line("usr/sbin/criu", "criu");
        line.extend([action, "--images-dir"].map(Into::into));
        line.push(self.images().into());
        line.extend(options.iter().cloned());
        self.namespace.command(&line)
    }

    fn runsc(&self, action: &str, options: &[OsString]) -> Command {
        let mut line = vec![self.tool.tree.place.join("usr/bin/runsc").into_os_string()];
        line.extend(["--root".into(), self.directory.join("state").into()]);
        let global = [
            "--network=none",
            "--platform=systrap",
            "--overlay2=root:memory",
            "--ignore-cgroups",
            action,
        ];
        line.extend(global.map(Into::into));
        line.extend(options.iter().cloned());
        self.namespace.command(&line)
    }

    /// The directory as one that gVisor runs: a program with this machine's files, which it changes only for itself.
    fn write_bundle(&self, program: &CommandLine) -> Result<(), Failure> {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let mut environment: Vec<_> = program.assignments().map(|word| text(&word)).collect();
        environment.push(format!(
            "PATH={}",
            std::env::var("PATH").unwrap_or_default()
        ));
        let namespaces =
            ["pid", "mount", "network", "ipc", "uts"].map(|name| json!({ "type": name }));
        let bundle = json!({
            "ociVersion": "1.0.0",
            "process": {
                "args": program.line.iter().map(text).collect::<Vec<_>>(),
                "cwd": "/",
                "env": environment,
            },
            "root": { "path": "/" },
            "linux": { "namespaces": namespaces },
        });
        let path = self.directory.join("config.json");
        fs::write(&path, bundle.to_string()).map_err(at(&path))
    }
}

impl Checkpoint<'_> {
    /// Restores a copy, which has the process ID that the original had. The copy before it must have ended.
    pub fn restore(&self, number: usize) -> Result<Process, Failure> {
        let original = &self.original;
        original.tool.interrupt.check()?;
        let mut command = match original.tool.name {
            ToolName::Gvisor => {
                let (bundle, images) =
                    (original.directory.clone().into(), original.images().into());
                let name = format!("copy-{number}").into();
                original.runsc(
                    "restore",
                    &[
                        "--bundle".into(),
                        bundle,
                        "--image-path".into(),
                        images,
                        name,
                    ],
                )
            }
            _ => {
                let inherited = self.pipes.iter().enumerate();
                let inherited = inherited.flat_map(|(descriptor, pipe)| {
                    [
                        "--inherit-fd".into(),
                        format!("fd[{descriptor}]:{pipe}").into(),
                    ]
                });
                let script = ["--action-script".into(), RESUMED.into()];
                original.criu("restore", &inherited.chain(script).collect::<Vec<_>>())
            }
        };
        let mut copy = Process::start(&mut command)?;
        if original.tool.name != ToolName::Gvisor {
            let resumed = copy.wait_for_error("resumed");
            resumed.map_err(|errors| failure("restore", errors.iter().map(String::as_str)))?;
        }
        Ok(copy)
    }
}

/// A failure of a tool, which has said why in these lines.
fn failure<'a>(what: &str, errors: impl Iterator<Item = &'a str>) -> Failure {
    // CRIU complains, but goes on, if it may not change limits.
    let reason = errors
        .filter(|line| !line.contains("rlimit"))
        .find(|line| line.contains("rror"));
    let reason = reason.unwrap_or("no reason was given");
    Failure::Runtime(format!("{what}: {reason}"))
}
