//! The events that the kernel's vmgenid driver sends when this VM was cloned, and the number of the newest.
//!
//! drivers/virt/vmgenid.c sends `NEW_VMGENID=1` (Linux 6.10) after it has reseeded the kernel's RNG. So as long as the
//! kernel's generation does not change, there is nothing to read: comparing it is all that [`newest`] does.
//!
//! Each event has a sequence number of the kernel, which every socket receives: the number of the newest clone's event
//! stands for the generation. Only messages of the kernel count: those of other senders have a port id, which they
//! cannot forge.

use core::ffi::c_int;
use core::mem::{MaybeUninit, size_of};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::io;

use crate::error::errno;
use crate::failpoint::{self, Failpoint};
use crate::file::{self, File};
use crate::guard::clock;
use crate::guard::{fork, freshness};

/// The number of the newest clone's event that this process has seen; 1 if none.
static NEWEST: AtomicU64 = AtomicU64::new(1);

/// The generation of the kernel's RNG under which no event is awaited any more.
static SETTLED: AtomicU64 = AtomicU64::new(0);

/// The generation that an event may belong to, and the second in which it was first seen.
static UNSETTLED: AtomicU64 = AtomicU64::new(0);
static UNSETTLED_SINCE: AtomicU64 = AtomicU64::new(0);

/// How many seconds an event may come after the reseed: the driver sends it right after.
const GRACE: u64 = 1;

/// The socket of [`newest`], the process that opened it, and its inode, by which it is recognised: a program may close
/// all descriptors.
static SOCKET: AtomicI32 = AtomicI32::new(-1);
static OPENED_BY: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);

/// Taken by the thread that opens the socket anew; others go on without.
static IS_OPENING: AtomicBool = AtomicBool::new(false);

/// Opens the socket of [`newest`]; false if this process cannot receive the driver's events.
pub fn begin() -> bool {
    open_anew(freshness::mapped_generation())
}

/// The number of the newest clone's event.
#[inline]
pub fn newest() -> u64 {
    let generation = freshness::mapped_generation();
    if generation == 0 || generation != SETTLED.load(Ordering::Acquire) {
        read_pending(generation);
    }
    NEWEST.load(Ordering::Acquire)
}

/// Reads what the socket has received under the kernel's `generation`, or under any, if it cannot be seen.
#[cold]
#[inline(never)]
fn read_pending(generation: u64) {
    let socket = SOCKET.load(Ordering::Acquire);
    let is_ours = OPENED_BY.load(Ordering::Relaxed) == fork::process()
        && inode(socket) == Some(INODE.load(Ordering::Relaxed));
    if !is_ours {
        // Events may have been missed.
        if open_anew(generation) {
            NEWEST.fetch_add(1, Ordering::AcqRel);
        }
        return;
    }
    let before = NEWEST.load(Ordering::Acquire);
    let _ = read(socket);
    if generation == 0 {
        return;
    }
    let now = clock::seconds();
    if UNSETTLED.swap(generation, Ordering::AcqRel) != generation {
        UNSETTLED_SINCE.store(now, Ordering::Release);
    }
    let is_over = now.saturating_sub(UNSETTLED_SINCE.load(Ordering::Acquire)) > GRACE;
    if is_over || NEWEST.load(Ordering::Acquire) != before {
        SETTLED.store(generation, Ordering::Release);
    }
}

/// Opens the socket of [`newest`] for this process: it receives the events of reseeds after the kernel's `generation`.
/// The old socket, if it is this process's copy of its parent's, is closed.
fn open_anew(generation: u64) -> bool {
    if IS_OPENING.swap(true, Ordering::AcqRel) {
        return false;
    }
    let opened = Events::open();
    let is_open = opened.is_some();
    if let Some(events) = opened {
        let old = SOCKET.load(Ordering::Acquire);
        if inode(old) == Some(INODE.load(Ordering::Relaxed)) {
            // SAFETY: it is the socket that this process inherited, which nobody else closes.
            unsafe { libc::syscall(libc::SYS_close, old) };
        }
        INODE.store(inode(events.descriptor()).unwrap_or(0), Ordering::Relaxed);
        OPENED_BY.store(fork::process(), Ordering::Relaxed);
        SOCKET.store(events.0.into_descriptor(), Ordering::Release);
        SETTLED.store(generation, Ordering::Release);
    }
    IS_OPENING.store(false, Ordering::Release);
    is_open
}

fn inode(descriptor: c_int) -> Option<u64> {
    file::stat(descriptor).map(|stat| stat.st_ino)
}

/// A socket that receives the kernel's events.
#[derive(Debug)]
pub struct Events(File);

impl Events {
    /// Begins to listen; `None` if the kernel sends no such events, or not to this process.
    pub fn open() -> Option<Events> {
        /// The netlink group of the kernel's events.
        const KERNEL: u32 = 1;
        if !sends_events() || !receives_events() {
            return None;
        }
        let flags = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes numbers.
        let socket = unsafe { libc::socket(libc::AF_NETLINK, flags, libc::NETLINK_KOBJECT_UEVENT) };
        if socket < 0 {
            return None;
        }
        // SAFETY: it is new, so nobody else owns it.
        let socket = unsafe { File::from_descriptor(socket) };
        let address = address(KERNEL);
        let len = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the address is readable for its length.
        let bound = unsafe { libc::bind(socket.descriptor(), (&raw const address).cast(), len) };
        (bound == 0).then_some(Events(socket))
    }

    pub fn descriptor(&self) -> c_int {
        self.0.descriptor()
    }

    /// Reads all messages that have come, without waiting, for [`newest`].
    pub fn read(&self) -> io::Result<()> {
        read(self.descriptor())
    }
}

/// Whether the vmgenid driver sends events: as a platform driver, which it is since the same release.
fn sends_events() -> bool {
    const DRIVER: &core::ffi::CStr = c"/sys/bus/platform/drivers/vmgenid";
    failpoint::is_active(Failpoint::PretendVmgenid) || File::open(DRIVER, libc::O_DIRECTORY).is_ok()
}

/// Whether the kernel's events reach this process: its network namespace belongs to the first user namespace
/// (lib/kobject_uevent.c).
fn receives_events() -> bool {
    /// `NS_GET_USERNS` (include/uapi/linux/nsfs.h).
    const OWNER: libc::Ioctl = 0xb701;
    /// The first user namespace's inode, `PROC_USER_INIT_INO` (include/linux/proc_ns.h).
    const FIRST: u64 = 0xEFFF_FFFD;
    let Ok(network) = File::open(c"/proc/thread-self/ns/net", 0) else {
        return false;
    };
    // SAFETY: the call takes numbers.
    let owner = unsafe { libc::ioctl(network.descriptor(), OWNER) };
    if owner < 0 {
        return false;
    }
    // SAFETY: it is new, so nobody else owns it.
    let owner = unsafe { File::from_descriptor(owner) };
    inode(owner.descriptor()) == Some(FIRST)
}

fn address(groups: u32) -> libc::sockaddr_nl {
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_nl = unsafe { core::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    address.nl_groups = groups;
    address
}

/// Reads all messages that have come to the socket.
fn read(socket: c_int) -> io::Result<()> {
    /// More than UEVENT_BUFFER_SIZE (include/linux/kobject.h).
    const MESSAGE_MAX: usize = 4096;
    loop {
        let mut message = [MaybeUninit::<u8>::uninit(); MESSAGE_MAX];
        let mut sender = address(0);
        let mut len = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the message and the sender are writable for their lengths.
        let received = unsafe {
            libc::recvfrom(
                socket,
                message.as_mut_ptr().cast(),
                message.len(),
                libc::MSG_DONTWAIT,
                (&raw mut sender).cast(),
                &mut len,
            )
        };
        if let Ok(received) = usize::try_from(received) {
            // SAFETY: so many bytes were written.
            let message = unsafe { message[..received].assume_init_ref() };
            if let (0, Some(number)) = (sender.nl_pid, clone_number(message)) {
                NEWEST.fetch_max(number.saturating_add(1), Ordering::AcqRel);
            }
            continue;
        }
        match errno() {
            libc::EAGAIN => return Ok(()),
            libc::EINTR => {}
            // Messages were lost because they came too fast; one may have been about a clone.
            libc::ENOBUFS => {
                NEWEST.fetch_add(1, Ordering::AcqRel);
            }
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// The sequence number of a message, if it is about a clone. Users can trigger events through sysfs, but the kernel puts
/// SYNTH_ARG_ before their content.
fn clone_number(message: &[u8]) -> Option<u64> {
    let mut fields = message.split(|&byte| byte == 0);
    let is_change = fields.next()?.starts_with(b"change@");
    let mut is_clone = false;
    let mut number = None;
    for field in fields {
        is_clone |= field == b"NEW_VMGENID=1";
        if let Some(digits) = field.strip_prefix(b"SEQNUM=") {
            number = core::str::from_utf8(digits).ok()?.parse().ok();
        }
    }
    if is_change && is_clone { number } else { None }
}

#[cfg(test)]
mod tests {
    use super::clone_number;

    #[test]
    fn only_the_drivers_message_is_a_clone() {
        let clone = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0\
            DEVPATH=/devices/platform/VMGENCTR:00\0SUBSYSTEM=platform\0NEW_VMGENID=1\0\
            DRIVER=vmgenid\0SEQNUM=817\0";
        assert_eq!(clone_number(clone), Some(817));
        let others: [&[u8]; 7] = [
            b"",
            b"\0",
            b"NEW_VMGENID=1\0SEQNUM=1\0",
            b"add@/devices/platform/VMGENCTR:00\0ACTION=add\0NEW_VMGENID=1\0SEQNUM=1\0",
            b"change@/devices/platform/VMGENCTR:00\0SYNTH_UUID=0\0SYNTH_ARG_NEW_VMGENID=1\0SEQNUM=1\0",
            b"change@/devices/platform/VMGENCTR:00\0NEW_VMGENID=10\0SEQNUM=1\0",
            b"libudev\0\xfe\xed\xca\xfe\0NEW_VMGENID=1\0SEQNUM=1\0",
        ];
        for message in others {
            assert_eq!(clone_number(message), None, "{}", message.escape_ascii());
        }
    }
}
