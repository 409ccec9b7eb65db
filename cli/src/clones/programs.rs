//! Runs the command and the hooks after a clone, each for a limited time.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use humantime::format_duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::stdio::stderr;
use squall_tool_base::failure::cause;

use super::{Noticed, print_error};

/// What runs after each clone.
pub struct Programs<'a> {
    /// For `sh -c`; runs first.
    pub command: Option<&'a str>,
    pub folder: Option<&'a Path>,
    /// How long each may run.
    pub limit: Duration,
}

impl Programs<'_> {
    /// Runs the command, then the programs in the folder. Returns whether one has failed.
    pub fn run(&self, noticed: Noticed) -> bool {
        let mut has_failed = false;
        if let Some(command) = self.command {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]);
            has_failed |= self.run_program(shell, "--exec", noticed);
        }
        if let Some(folder) = self.folder {
            match hooks_in(folder) {
                Ok(hooks) => {
                    for hook in hooks {
                        let name = hook.display().to_string();
                        has_failed |= self.run_program(Command::new(&hook), &name, noticed);
                    }
                }
                Err(error) => {
                    print_error(&format!("{}: {}", folder.display(), cause(&error)));
                    has_failed = true;
                }
            }
        }
        has_failed
    }

    /// Runs a program, and returns whether it failed. Its output goes to standard error, because standard output is for
    /// events alone.
    fn run_program(&self, mut command: Command, name: &str, noticed: Noticed) -> bool {
        let Noticed {
            generation,
            signal,
            is_certain,
        } = noticed;
        let generation = generation.map(|number| number.to_string());
        let signal = signal.map(|signal| signal.to_string());
        command
            .env("SQUALL_CLONE_GENERATION", generation.unwrap_or_default())
            .env("SQUALL_CLONE_SIGNAL", signal.unwrap_or_default())
            .env("SQUALL_CLONE_CERTAIN", u8::from(is_certain).to_string())
            .stdin(Stdio::null())
            .process_group(0);
        if let Ok(errors) = stderr().try_clone_to_owned() {
            command.stdout(errors);
        }
        let ended = command
            .spawn()
            .and_then(|child| wait_or_kill(child, self.limit));
        match ended {
            Ok(Some(status)) if status.success() => return false,
            Ok(Some(status)) => print_error(&format!("{name}: {status}")),
            Ok(None) => print_error(&format!(
                "{name}: killed after {}",
                format_duration(self.limit)
            )),
            Err(error) => print_error(&format!("{name}: {}", cause(&error))),
        }
        true
    }
}

/// The executable files in a folder, in the order of their names. Names with a dot are skipped, as of hidden files and
/// those that package managers leave, and so are backups of editors (`name~`).
pub fn hooks_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut hooks = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_skipped = name.starts_with(b".") || name.ends_with(b"~") || name.contains(&b'.');
        // A broken link fails when it is run, which squall reports.
        let is_program = fs::metadata(&path).map_or(true, |file| {
            file.is_file() && file.permissions().mode() & 0o111 != 0
        });
        if is_program && !is_skipped {
            hooks.push(path);
        }
    }
    hooks.sort();
    Ok(hooks)
}

/// How long a killed program may take to end. One that waits for a device in the kernel cannot be killed.
const END_OF_KILLED: Duration = Duration::from_secs(1);

/// Waits until the child ends. After `limit`, kills its process group and returns `None`.
fn wait_or_kill(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let has_ended = wait_for(&child, limit);
    if let Ok(true) = has_ended {
        return child.wait().map(Some);
    }
    // The child is not reaped yet, so the number is still that of its group.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let _ = wait_for(&child, END_OF_KILLED);
    let _ = child.try_wait();
    has_ended.map(|_| None)
}

/// Whether the child ends within `limit`. Does not reap it.
fn wait_for(child: &Child, limit: Duration) -> io::Result<bool> {
    let began = Instant::now();
    let child = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = limit.saturating_sub(began.elapsed());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&left)) {
            Ok(ended) => return Ok(ended > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const NOTICED: Noticed = Noticed {
        generation: None,
        signal: None,
        is_certain: true,
    };

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "sleep 1000 & echo; wait"])
            .stdout(writer)
            .process_group(0);
        let child = shell.spawn().expect("a shell");
        drop(shell);
        reader.read_exact(&mut [0]).expect("a line");
        let ended = wait_or_kill(child, Duration::from_millis(1)).expect("an end");
        assert!(ended.is_none());
        // It ends once no process has the pipe open.
        reader.read_to_end(&mut Vec::new()).expect("an end");
    }

    #[test]
    fn a_hook_that_hangs_has_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        let hook = folder.path().join("10-hangs");
        fs::write(&hook, "#!/bin/sh\nexec sleep 1000\n").expect("a file");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("a mode");
        let programs = Programs {
            command: None,
            folder: Some(folder.path()),
            limit: Duration::from_millis(1),
        };
        assert!(programs.run(NOTICED));
    }

    #[test]
    fn a_hook_that_is_a_broken_link_has_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        for (target, has_failed) in [("/bin/true", false), ("/nonexistent", true)] {
            let hook = folder.path().join("10-linked");
            std::os::unix::fs::symlink(target, &hook).expect("a link");
            let programs = Programs {
                command: None,
                folder: Some(folder.path()),
                limit: Duration::from_secs(1000),
            };
            assert_eq!(programs.run(NOTICED), has_failed, "{target}");
            fs::remove_file(hook).expect("a link");
        }
    }

    #[test]
    fn programs_are_told_whether_it_was_a_clone() {
        for is_certain in [true, false] {
            let command = format!("exit $((SQUALL_CLONE_CERTAIN != {}))", u8::from(is_certain));
            let programs = Programs {
                command: Some(&command),
                folder: None,
                limit: Duration::from_secs(1000),
            };
            let noticed = Noticed {
                is_certain,
                ..NOTICED
            };
            assert!(!programs.run(noticed), "{command}");
        }
    }

    #[test]
    fn an_ended_program_is_not_killed() {
        for code in [0, 3] {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exit {code}")]).process_group(0);
            let child = shell.spawn().expect("a shell");
            let status = wait_or_kill(child, Duration::from_secs(1000)).expect("an end");
            assert_eq!(status.and_then(|status| status.code()), Some(code));
        }
    }
}
