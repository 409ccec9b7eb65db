//! The kernel's word that this VM was cloned: an event of its vmgenid driver (Linux 6.10).
//!
//! drivers/virt/vmgenid.c sends `NEW_VMGENID=1` when it has reseeded the kernel's generator. Only
//! messages from the kernel count: other senders have a port, and it cannot be made up.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrAny, SocketFlags, SocketType, bind, recvfrom, socket_with,
};

/// The driver that sends events: before Linux 6.10 it was an ACPI driver, and silent.
const DRIVER: &str = "/sys/bus/platform/drivers/vmgenid";

/// The group that the kernel sends its events to.
const KERNEL_EVENTS: u32 = 1;

/// Longest message (UEVENT_BUFFER_SIZE of include/linux/kobject.h), with room to spare.
const MESSAGE_MAX: usize = 8192;

/// What was heard since the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    Clone,
    /// Messages came faster than they were read: a clone may be among those that were lost.
    Lost,
}

/// A socket that hears the kernel's events.
pub struct Uevents(OwnedFd);

impl Uevents {
    /// Begins to listen; `None` where the kernel sends no such events or a sandbox hides them.
    pub fn open() -> Option<Uevents> {
        if !Path::new(DRIVER).is_dir() {
            return None;
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let family = AddressFamily::NETLINK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT)).ok()?;
        bind(&socket, &SocketAddrNetlink::new(0, KERNEL_EVENTS)).ok()?;
        Some(Uevents(socket))
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Reads all that has come, without waiting.
    pub fn hear(&self) -> rustix::io::Result<Heard> {
        let mut heard = Heard::Nothing;
        let mut message = [0; MESSAGE_MAX];
        loop {
            match recvfrom(&self.0, &mut message, RecvFlags::empty()) {
                Ok((len, _, sender)) => {
                    if is_kernel(sender) && is_clone(&message[..len]) {
                        heard = Heard::Clone;
                    }
                }
                Err(Errno::AGAIN) => return Ok(heard),
                Err(Errno::NOBUFS) if heard == Heard::Nothing => heard = Heard::Lost,
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_kernel(sender: Option<SocketAddrAny>) -> bool {
    sender
        .and_then(|sender| SocketAddrNetlink::try_from(sender).ok())
        .is_some_and(|sender| sender.pid() == 0)
}

/// Whether `message` is what the vmgenid driver sends. Events that are asked for by writing to
/// sysfs cannot be: the kernel puts SYNTH_ARG_ before what they say.
fn is_clone(message: &[u8]) -> bool {
    let mut fields = message.split(|&byte| byte == 0);
    fields
        .next()
        .is_some_and(|head| head.starts_with(b"change@"))
        && fields.any(|field| field == b"NEW_VMGENID=1")
}

#[cfg(test)]
mod tests {
    use super::is_clone;

    #[test]
    fn only_the_drivers_message_is_a_clone() {
        let clone = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0\
            DEVPATH=/devices/platform/VMGENCTR:00\0SUBSYSTEM=platform\0NEW_VMGENID=1\0\
            DRIVER=vmgenid\0SEQNUM=817\0";
        assert!(is_clone(clone));
        let others: [&[u8]; 7] = [
            b"",
            b"\0",
            b"NEW_VMGENID=1\0",
            b"add@/devices/platform/VMGENCTR:00\0ACTION=add\0NEW_VMGENID=1\0",
            b"change@/devices/platform/VMGENCTR:00\0SYNTH_UUID=0\0SYNTH_ARG_NEW_VMGENID=1\0",
            b"change@/devices/platform/VMGENCTR:00\0NEW_VMGENID=10\0",
            b"libudev\0\xfe\xed\xca\xfe\0NEW_VMGENID=1\0",
        ];
        for message in others {
            assert!(!is_clone(message), "{}", message.escape_ascii());
        }
    }
}
