//! A namespace of process IDs, in which a restored process always finds its own ID free, with its own /proc. Everything
//! in it ends with the value, and with the lab, however the lab ends.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::fs::MetadataExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use squall_tool_base::Failure;

/// The first process. It ends at the end of its input, and after an hour in any case, so that no program hangs.
const FIRST: &str = "echo; exec timeout 3600 cat";

#[derive(Debug)]
pub struct Namespace(Process);

impl Namespace {
    pub fn new() -> Result<Namespace, Failure> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        let mut first = Process::start(unshare.args(["sh", "-c", FIRST]))?;
        let cannot = |_| Failure::Runtime("no namespace of process IDs: run it as root".into());
        first.line().map_err(cannot)?;
        Ok(Namespace(first))
    }

    /// A command in the namespace, in the directory `/`, whose environment has nothing but PATH.
    pub fn command(&self, line: &[impl AsRef<OsStr>]) -> Command {
        let first = self.0.child.id();
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--pid=/proc/{first}/ns/pid_for_children"))
            .arg(format!("--mount=/proc/{first}/ns/mnt"))
            .arg("--")
            .args(line)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }
}

/// A process whose standard input, output and errors are pipes of the lab. It is killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Process, Failure> {
        let name = command.get_program().display().to_string();
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failure(&name, error))?;
        Ok(Process {
            name,
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("a pipe")),
            errors: BufReader::new(child.stderr.take().expect("a pipe")),
            child,
        })
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) -> Result<(), Failure> {
        let mut input = self.input.as_ref().expect("an input");
        writeln!(input, "{line}").map_err(|error| failure(&self.name, error))
    }

    /// The next line, without its end.
    pub fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        match read.map_err(|error| failure(&self.name, error))? {
            0 => Err(failure(&self.name, "it ended without an answer")),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// Waits until it writes this line on standard error. Fails with what it wrote if it ends before.
    pub fn wait_for_error(&mut self, wanted: &str) -> Result<(), Vec<String>> {
        let mut errors = Vec::new();
        for line in self.errors.by_ref().lines().map_while(Result::ok) {
            if line == wanted {
                return Ok(());
            }
            errors.push(line);
        }
        Err(errors)
    }

    /// The names of the pipes that are its standard input and output, as CRIU knows them.
    pub fn pipes(&self) -> Result<[String; 2], Failure> {
        let input = self.input.as_ref().expect("an input").as_fd();
        let name = |descriptor: BorrowedFd| -> std::io::Result<String> {
            let file = std::fs::File::from(descriptor.try_clone_to_owned()?);
            Ok(format!("pipe:[{}]", file.metadata()?.st_ino()))
        };
        let names = name(input).and_then(|input| Ok([input, name(self.output.get_ref().as_fd())?]));
        names.map_err(|error| failure(&self.name, error))
    }

    /// Waits until it has ended, whether it succeeded or not.
    pub fn wait(&mut self) -> Result<bool, Failure> {
        let ended = self.child.wait();
        Ok(ended.map_err(|error| failure(&self.name, error))?.success())
    }

    /// Ends its input, and waits until it has ended.
    pub fn end(mut self) -> Result<(), Failure> {
        drop(self.input.take());
        match self.wait()? {
            true => Ok(()),
            false => Err(failure(&self.name, "it failed")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failure(name: &str, why: impl std::fmt::Display) -> Failure {
    Failure::Runtime(format!("{name}: {why}"))
}
