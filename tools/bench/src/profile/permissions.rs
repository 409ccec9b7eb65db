//! What perf events lack on this machine, and how to permit them.

use std::fs;
use std::io;

use squall_tools::failure::cause;

use super::THIS_THREAD;
use super::cycles::Cycles;
use super::syscalls::{self, Syscalls};

/// One line: which perf events are not to be had here, and what would permit them.
pub fn permissions() -> String {
    let lacks: Vec<String> = [cycles(), syscalls()].into_iter().flatten().collect();
    match lacks.is_empty() {
        true => "perf events: all are permitted".into(),
        false => lacks.join("; "),
    }
}

fn cycles() -> Option<String> {
    match Cycles::open(&[THIS_THREAD]) {
        Ok(Cycles::Counted(_)) => None,
        Ok(Cycles::Sampled(_)) => Some(
            "no CPU cycles are counted on this machine: the kernel's share of them is that of \
             samples of the task's clock"
                .into(),
        ),
        Err(error) => Some(format!(
            "the kernel's share of cycles: {}",
            of_perf(&error, &paranoid())
        )),
    }
}

fn syscalls() -> Option<String> {
    let lack = match syscalls::id() {
        Err(error) => of_tracefs(&error),
        Ok(_) => of_perf(&Syscalls::open(&[THIS_THREAD]).err()?, &paranoid()),
    };
    Some(format!("system calls: {lack}"))
}

/// Why the tracepoint has no number.
fn of_tracefs(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "tracefs is not mounted: as root, mount -t tracefs tracefs \
                                    /sys/kernel/tracing"
            .into(),
        io::ErrorKind::PermissionDenied => {
            "tracefs is for root alone: run this as root, or remount it with a gid of yours".into()
        }
        _ => format!("tracefs: {}", cause(error)),
    }
}

/// Why an event could not be opened, on a machine where kernel.perf_event_paranoid is `paranoid`.
fn of_perf(error: &io::Error, paranoid: &str) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "perf events in the kernel are not permitted: give CAP_PERFMON, or set \
             kernel.perf_event_paranoid to 1 (it is {paranoid})"
        ),
        _ => format!("perf_event_open: {}", cause(error)),
    }
}

fn paranoid() -> String {
    let value = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    value.map_or("not there".into(), |value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lack_has_its_remedy() {
        let denied = || io::Error::from_raw_os_error(libc::EACCES);
        assert!(of_perf(&denied(), "3").ends_with("to 1 (it is 3)"));
        assert!(of_tracefs(&denied()).contains("root"));
        assert!(of_tracefs(&io::ErrorKind::NotFound.into()).contains("mount -t tracefs"));
        let absent = io::Error::from_raw_os_error(libc::ENOSYS);
        assert_eq!(
            of_perf(&absent, "3"),
            "perf_event_open: Function not implemented"
        );
        assert_eq!(permissions().lines().count(), 1);
    }
}
