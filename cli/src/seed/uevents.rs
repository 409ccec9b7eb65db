//! Listens for the kernel's event that this VM was cloned, sent by its vmgenid driver (Linux 6.10).
//!
//! drivers/virt/vmgenid.c sends `NEW_VMGENID=1` after it has reseeded the kernel's generator. Only
//! messages from the kernel count: other senders have a port id, which they cannot forge.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrAny, SocketFlags, SocketType, bind, recvfrom, socket_with,
};

/// The driver that sends events. Before Linux 6.10 it was an ACPI driver that sent none.
const DRIVER: &str = "/sys/bus/platform/drivers/vmgenid";

/// The netlink group of the kernel's events.
const KERNEL_EVENTS: u32 = 1;

/// The buffer for a message: more than UEVENT_BUFFER_SIZE of include/linux/kobject.h.
const MESSAGE_MAX: usize = 8192;

/// The news since the last call of [`Uevents::read_news`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneNews {
    None,
    Clone,
    /// Messages were lost because they came too fast; one may have been about a clone.
    Lost,
}

/// A socket that receives the kernel's events.
pub struct Uevents(OwnedFd);

impl Uevents {
    /// Starts to listen; `None` if the kernel sends no such events or a sandbox hides them.
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

    /// Reads all pending messages, without waiting.
    pub fn read_news(&self) -> rustix::io::Result<CloneNews> {
        let mut news = CloneNews::None;
        let mut message = [0; MESSAGE_MAX];
        loop {
            match recvfrom(&self.0, &mut message, RecvFlags::empty()) {
                Ok((len, _, sender)) => {
                    if is_kernel(sender) && is_clone(&message[..len]) {
                        news = CloneNews::Clone;
                    }
                }
                Err(Errno::AGAIN) => return Ok(news),
                Err(Errno::NOBUFS) if news == CloneNews::None => news = CloneNews::Lost,
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

/// Whether `message` comes from the vmgenid driver. Users can trigger events through sysfs, but the kernel
/// puts SYNTH_ARG_ before their content.
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
