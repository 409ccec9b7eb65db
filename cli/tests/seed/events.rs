//! Sends messages to listeners of the kernel's events.

use rustix::fd::OwnedFd;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};

/// The vmgenid driver's message, without the kernel's sequence number.
pub const CLONED: &[u8] = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0\
    SUBSYSTEM=platform\0NEW_VMGENID=1\0";

/// Sends `message` to all listeners from user space, which needs root in the network namespace.
pub fn forge(message: &[u8]) {
    let socket = netlink();
    let everyone = SocketAddrNetlink::new(0, 1);
    rustix::net::sendto(&socket, message, SendFlags::empty(), &everyone).expect("it is sent");
}

/// Makes the kernel send `message` to this network namespace, which needs root there (Linux 4.18).
/// Listeners see it as the kernel's own.
pub fn send_from_kernel(message: &[u8]) {
    const HEADER_LEN: usize = 16;
    const TYPE: u16 = 0x10;
    const REQUEST: u16 = 1;
    let mut packet = ((HEADER_LEN + message.len()) as u32).to_ne_bytes().to_vec();
    packet.extend(TYPE.to_ne_bytes());
    packet.extend(REQUEST.to_ne_bytes());
    packet.extend([0; 8]);
    packet.extend(message);
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(netlink(), &packet, SendFlags::empty(), &kernel).expect("it is sent");
}

pub fn netlink() -> OwnedFd {
    rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(KOBJECT_UEVENT),
    )
    .expect("a socket")
}
