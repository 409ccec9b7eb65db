//! The clone generation and the watch: they change with the machine's signal, and with nothing else.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use squall::clones::{Signal, Watch, generation, signal};

use crate::Verdict;
use crate::clones::{Signal as Page, without_signal};
use crate::outputs::{fork, wait};
use crate::reseeds::KernelRng;

/// What a scenario lets happen to the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum News {
    Clone,
    /// Something that is no clone: the scenario's control.
    Other,
}

/// A signal in memory changes the generation at once, and wakes a watch up.
pub fn follows_page(page: fn() -> Page, news: News) -> Verdict {
    let page = page();
    let mut watch = Watch::new().expect("there is a signal");
    let before = generation();
    assert!(before.is_some());
    assert!(!watch.wait(Some(Duration::ZERO)).unwrap());
    if news == News::Clone {
        page.set(2);
    }
    let after = generation();
    let is_woken = watch.wait(Some(Duration::from_secs(match news {
        News::Clone => 60,
        News::Other => 1,
    })));
    assert_eq!(is_woken.unwrap(), before != after);
    changed(before != after)
}

fn changed(has_changed: bool) -> Verdict {
    match has_changed {
        true => Verdict::Held,
        false => Verdict::Broken("the generation stays".to_owned()),
    }
}

/// The vmgenid driver's message, without the kernel's sequence number.
const CLONED: &[u8] = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0NEW_VMGENID=1\0";
/// What a user's write to sysfs makes the kernel send.
const SYNTHETIC: &[u8] = b"change@/devices/x\0ACTION=change\0SYNTH_ARG_NEW_VMGENID=1\0";

/// A VM whose only signal is the driver's event, in a network namespace of this process alone.
fn begin_with_events() {
    without_signal();
    unshare(CloneFlags::CLONE_NEWNET).expect("as root");
    assert_eq!(signal(), Some(Signal::VmgenidEvent));
}

fn netlink() -> OwnedFd {
    // SAFETY: the call takes numbers, and the descriptor is new.
    unsafe {
        let socket = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_DGRAM,
            libc::NETLINK_KOBJECT_UEVENT,
        );
        assert!(socket >= 0);
        OwnedFd::from_raw_fd(socket)
    }
}

fn send_to(groups: u32, bytes: &[u8]) {
    // SAFETY: zeros are a valid address, and both are readable for their lengths.
    let sent = unsafe {
        let mut address: libc::sockaddr_nl = core::mem::zeroed();
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = groups;
        let len = size_of_val(&address) as libc::socklen_t;
        let socket = netlink();
        let (bytes, address) = (
            (bytes.as_ptr().cast(), bytes.len()),
            (&raw const address).cast(),
        );
        libc::sendto(socket.as_raw_fd(), bytes.0, bytes.1, 0, address, len)
    };
    assert_eq!(sent, bytes.len() as isize);
}

/// Makes the kernel send `message` to this network namespace (Linux 4.18): receivers see it as the kernel's own.
fn send_from_kernel(message: &[u8]) {
    const HEADER_LEN: usize = 16;
    const TYPE: u16 = 0x10;
    const REQUEST: u16 = 1;
    let mut packet = ((HEADER_LEN + message.len()) as u32).to_ne_bytes().to_vec();
    packet.extend(TYPE.to_ne_bytes());
    packet.extend(REQUEST.to_ne_bytes());
    packet.extend([0; 8]);
    packet.extend(message);
    send_to(0, &packet);
}

/// The kernel reseeds and sends its event, as the driver makes it do.
fn send(news: News) {
    KernelRng::open().reseed();
    match news {
        News::Clone => send_from_kernel(CLONED),
        News::Other => {
            send_from_kernel(SYNTHETIC);
            // From user space, to the group of the kernel's events.
            send_to(1, CLONED);
        }
    }
}

/// The driver's event changes the generation, in the first request after it, and wakes a watch up.
pub fn follows_events(news: News) -> Verdict {
    begin_with_events();
    let mut watch = Watch::new().expect("there is a signal");
    let mut seen = Vec::from([generation()]);
    for _ in 0..3 {
        send(news);
        seen.push(generation());
        assert_eq!(watch.take_change().unwrap(), news == News::Clone);
        assert!(!watch.take_change().unwrap());
    }
    assert!(seen[0].is_some());
    changed(seen.windows(2).all(|pair| pair[0] != pair[1]))
}

/// An event that comes a moment after the reseed, and after a request, is noticed too.
pub fn follows_late_event(news: News) -> Verdict {
    begin_with_events();
    let before = generation();
    KernelRng::open().reseed();
    assert_eq!(generation(), before);
    send_from_kernel(if news == News::Clone {
        CLONED
    } else {
        SYNTHETIC
    });
    changed(generation() != before)
}

/// The descriptor of a watch becomes readable with the event, and rests after it.
pub fn descriptor_is_readable(news: News) -> Verdict {
    begin_with_events();
    let mut watch = Watch::new().expect("there is a signal");
    let is_readable = |watch: &Watch| {
        let mut fds = [PollFd::new(watch.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
    };
    assert!(!is_readable(&watch));
    if news == News::Clone {
        send(news);
    }
    let verdict = changed(is_readable(&watch));
    watch.take_change().unwrap();
    assert!(!is_readable(&watch));
    verdict
}

/// A child's generation changes although its parent has received the event from the socket of both.
pub fn child_is_told() -> Verdict {
    begin_with_events();
    let before = generation();
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let child = fork(|| {
        theirs.read_exact(&mut [0]).unwrap();
        let has_changed = generation() != before;
        theirs.write_all(&[has_changed.into()]).unwrap();
    });
    send(News::Clone);
    assert_ne!(generation(), before);
    ours.write_all(&[0]).unwrap();
    let mut has_changed = [0];
    ours.read_exact(&mut has_changed).unwrap();
    wait(child);
    changed(has_changed == [1])
}

/// A program that closes all descriptors loses no event, and what it opens in their place is not read.
pub fn descriptors_are_closed() -> Verdict {
    begin_with_events();
    let before = generation();
    // SAFETY: nothing here uses a descriptor from before.
    assert_eq!(
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) },
        0
    );
    let pairs: Vec<_> = (0..8).map(|_| UnixStream::pair().unwrap()).collect();
    for (one, other) in &pairs {
        (&*one).write_all(b"1").unwrap();
        (&*other).write_all(b"2").unwrap();
    }
    send(News::Clone);
    let verdict = changed(generation() != before);
    for (one, other) in &pairs {
        let mut bytes = [0; 2];
        (&*one).read_exact(&mut bytes[..1]).unwrap();
        (&*other).read_exact(&mut bytes[1..]).unwrap();
        assert_eq!(&bytes, b"21", "somebody else's bytes were read");
    }
    verdict
}

/// Where nothing shows clones, or this process may not see it, that is said, not denied.
pub fn is_unknown(hide: fn()) -> Verdict {
    without_signal();
    hide();
    let error = Watch::new().map(drop).map_err(|error| error.kind());
    match (signal(), generation(), error) {
        (None, None, Err(ErrorKind::Unsupported)) => Verdict::Held,
        other => Verdict::Broken(format!("{other:?}")),
    }
}

/// In a user namespace, whose network namespaces get no events of devices.
pub fn in_user_namespace() {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).expect("as root");
}
