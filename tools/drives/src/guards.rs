//! Refuses targets that are in use, and disks of the running system.
//!
//! Guards look at the medium, not only at the named device. Devices above and below a target count too: a loop device on
//! a mounted device is refused as that device is. So do other paths to its medium, and devices that cannot be told apart
//! from it. Loop devices are opened for this, to query them, and a target whose use is not visible is opened exclusively
//! for a moment, by each path: mounts in other namespaces, and journals of file systems on other devices, leave no other
//! trace.

mod backing;
mod copies;
mod exports;
mod loops;
mod mapped;
mod mounts;
mod stack;

use std::fs::Metadata;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use backing::Backing;
use exports::Export;
use loops::LoopDevice;
use mapped::Tables;
use mounts::{Mount, Swap};
use rustix::fs::{Access, AtFlags, CWD};
use squall_tool_base::Failure;
use squall_tool_base::failure::{at, cause};
use squall_tool_base::retry::retry;
use stack::{family, family_by, is_disk_of_part, parts, relative_name};

use crate::io as drive_io;
use crate::target::device::Device;
use crate::target::medium::{self, Media};
use crate::target::{Inode, Place};
use crate::{Kind, Purpose, Target, shown};

pub use copies::older_copies;
pub use stack::holders;

/// What a reason against a target begins with that is perhaps not in use: another device is, which may be the same.
pub const DOUBT: &str = "cannot be told apart from";

/// How long a listing waits for processes that only look at drives, as [`uses`] does, and hold each for a moment.
const LISTING_TIMEOUT: Duration = Duration::from_millis(500);

/// Fails if there are `uses` of `targets`, or if two of them are one. Prints every reason.
pub(crate) fn refuse(targets: &[Target], uses: Vec<Vec<String>>) -> Result<(), Failure> {
    let mut refusals = Vec::new();
    for ((number, target), uses) in targets.iter().enumerate().zip(uses) {
        let twice = named_twice(&targets[..number], target);
        let reasons = twice.into_iter().chain(uses);
        let name = shown(&target.identity.given);
        refusals.extend(reasons.map(|reason| format!("{name}: {reason}")));
    }
    let others = match &refusals[..] {
        [] => return Ok(()),
        [_] => String::new(),
        [_, others @ ..] => {
            print_refusals(&refusals);
            format!(" ({} more above)", others.len())
        }
    };
    Err(Failure::Runtime(format!(
        "{}{others}: nothing was written",
        refusals[0]
    )))
}

/// Why each of `targets` must not be overwritten; empty for those that may be, and that nobody has claimed.
pub fn uses(targets: &[Target], purpose: &Purpose) -> Result<Vec<Vec<String>>, Failure> {
    uses_after(LISTING_TIMEOUT, targets, purpose)
}

/// Like [`uses`], where others have until `timeout` to let go of a target.
pub(crate) fn uses_after(
    timeout: Duration,
    targets: &[Target],
    purpose: &Purpose,
) -> Result<Vec<Vec<String>>, Failure> {
    let machine = Machine::inspect()?;
    let mut uses = machine.visible_uses(targets, purpose)?;
    let unused = targets.iter().zip(&mut uses);
    let unused = unused.filter(|(_, uses)| uses.is_empty());
    let claimed: Vec<_> = unused
        .filter(|(target, _)| machine.claim_of_others(target).is_some())
        .collect();
    let look_again = || {
        let claims = claimed.iter();
        let claims = claims.map(|(target, _)| machine.claim_of_others(target));
        let claims: Vec<_> = claims.collect();
        match claims.iter().any(Option::is_some) {
            true => Err(claims),
            false => Ok(claims),
        }
    };
    let claims = retry(timeout, |_| true, look_again).unwrap_or_else(|claims| claims);
    for ((_, uses), claim) in claimed.into_iter().zip(claims) {
        uses.extend(claim);
    }
    Ok(uses)
}

/// Why `target` cannot be opened exclusively at this moment, by one of the paths to its medium; `None` if it can. It is
/// opened for reading only, and closed again.
pub fn claimed_by_others(target: &Target) -> Option<String> {
    match Machine::inspect() {
        Ok(machine) => machine.claim_of_others(target),
        Err(failure) => Some(failure.into_text()),
    }
}

/// Like [`uses`], without the claims of others, which the kernel does not show.
pub fn visible_uses(targets: &[Target], purpose: &Purpose) -> Result<Vec<Vec<String>>, Failure> {
    Machine::inspect()?.visible_uses(targets, purpose)
}

/// For each of `targets` the paths in /dev of the devices that lead to its bytes by other paths to its medium.
pub fn names_of_other_paths(targets: &[Target]) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let loops = loops::all()?;
    let media = Media::all().map_err(at(Path::new("/sys/block")))?;
    let of_target = |target: &Target| {
        let found = paths_beside(target, &loops, &media);
        let found = found.map_err(at(&target.identity.path))?;
        Ok(found.iter().map(Device::path).collect())
    };
    targets.iter().map(of_target).collect()
}

/// The devices that lead to the bytes of `target` by other paths. Whoever opens `target` exclusively must open them, too.
pub(crate) fn other_paths(target: &Target) -> Result<Vec<Device>, String> {
    // A file has none, whatever the kernel shows here.
    if target.device().is_none() {
        return Ok(Vec::new());
    }
    let loops = loops::all().map_err(Failure::into_text)?;
    let found = Media::all().and_then(|media| paths_beside(target, &loops, &media));
    found.map_err(|error| format!("its other paths: {}", cause(&error)))
}

fn paths_beside(target: &Target, loops: &[LoopDevice], media: &Media) -> io::Result<Vec<Device>> {
    match target.device() {
        Some(device) => stack::other_paths(&stack::chain(device, loops)?, media),
        None => Ok(Vec::new()),
    }
}

/// What keeps `target` from being opened exclusively: a use of it or of a part of it that is visible here.
pub fn claim(target: &Target) -> Option<String> {
    let device = target.device()?;
    let machine = Machine::inspect().ok()?;
    let chain = stack::chain(device, &machine.loops).ok()?;
    let uses = machine.uses_of(device, &family(device, &machine.media).ok()?, &chain);
    uses.ok()?.into_iter().next()
}

/// Fails if the regular file `name`, which `about` describes, is swap or attached to a loop device.
/// Where the kernel shows neither, as in a chroot without /sys, the file passes.
pub fn check_file(name: &Path, about: &Metadata) -> Result<(), Failure> {
    let swap = mounts::swap().unwrap_or_default();
    let loops = loops::all().unwrap_or_default();
    match &file_reasons(Inode::from_metadata(about), &swap, &loops)[..] {
        [] => Ok(()),
        [reason, ..] => Err(Failure::Runtime(format!(
            "{}: {reason}: nothing was written",
            shown(name)
        ))),
    }
}

fn print_refusals(refusals: &[String]) {
    for refusal in refusals {
        // Standard error may be closed: the failure itself says enough.
        let _ = writeln!(io::stderr(), "refused: {refusal}");
    }
}

/// What is in use on this machine.
struct Machine {
    mounts: Vec<Mount>,
    swap: Swap,
    loops: Vec<LoopDevice>,
    tables: Tables,
    exports: Vec<Export>,
    media: Media,
}

impl Machine {
    fn inspect() -> Result<Machine, Failure> {
        Ok(Machine {
            mounts: mounts::all()?,
            swap: mounts::swap()?,
            loops: loops::all()?,
            tables: Tables::read().map_err(at(Path::new("/sys/block")))?,
            exports: exports::all(),
            media: Media::all().map_err(at(Path::new("/sys/block")))?,
        })
    }

    /// What is visible of how each of `targets` is used.
    fn visible_uses(
        &self,
        targets: &[Target],
        purpose: &Purpose,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let reasons = targets.iter().map(|target| self.reasons(target, purpose));
        reasons.collect()
    }

    /// Why `target`, another path to its medium, or a device that cannot be told apart from it cannot be opened
    /// exclusively at this moment; `None` if all can.
    fn claim_of_others(&self, target: &Target) -> Option<String> {
        let by_other_path = || {
            let claim = self.claim_by_other_path(target.device()?);
            claim.unwrap_or_else(|error| Some(cause(&error)))
        };
        drive_io::claim_on_target(target).or_else(by_other_path)
    }

    /// The same for the other paths and devices alone.
    fn claim_by_other_path(&self, device: &Device) -> io::Result<Option<String>> {
        let chain = stack::chain(device, &self.loops)?;
        let others = stack::other_paths(&chain, &self.media)?;
        if let Some(claim) = others.iter().find_map(drive_io::claim_on_path) {
            return Ok(Some(claim));
        }
        let claim = |other: &Device, _: &Device| {
            let why = drive_io::claim_on(other);
            Ok(why.map(|why| format!("{}: {why}", other.name())))
        };
        let claims = self.uses_of_possible_paths(&chain, claim)?;
        Ok(claims.into_iter().next())
    }

    fn reasons(&self, target: &Target, purpose: &Purpose) -> Result<Vec<String>, Failure> {
        let path = &target.identity.path;
        let mut reasons = match &target.place {
            Place::Device { device, .. } => self
                .device_reasons(device, path, purpose)
                .map_err(|error| Failure::Runtime(format!("{}: {}", shown(path), cause(&error))))?,
            Place::File(inode) => {
                let served = self.served(Backing::File(*inode));
                let mut reasons = file_reasons(*inode, &self.swap, &self.loops);
                reasons.extend(served);
                reasons
            }
        };
        if let Err(error) = rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
            reasons.push(format!("cannot be written to: {}", cause(&error.into())));
        }
        // What is in doubt comes last, and is not asked about if it decides nothing.
        if let Some(device) = target.device()
            && reasons.is_empty()
        {
            let chain = stack::chain(device, &self.loops);
            let first_use = |other: &Device, part: &Device| self.first_use(other, part);
            let doubts = chain.and_then(|chain| self.uses_of_possible_paths(&chain, first_use));
            reasons.extend(doubts.map_err(at(path))?);
        }
        Ok(reasons)
    }

    fn device_reasons(
        &self,
        device: &Device,
        path: &Path,
        purpose: &Purpose,
    ) -> io::Result<Vec<String>> {
        let mut reasons = Vec::new();
        let chain = stack::chain(device, &self.loops)?;
        let by_other_paths = || {
            let paths = chain.iter().flat_map(|it| self.media.other_paths(it));
            self.system_on(&paths.collect::<Vec<_>>())
        };
        let system = match self.system_on(&chain)? {
            Some(point) if chain.len() == 1 => Some(("is", point)),
            Some(point) => Some(("is on", point)),
            None => by_other_paths()?.map(|point| ("is another path to", point)),
        };
        reasons.extend(system.map(|(relation, point)| {
            let point = shown(point);
            format!("{relation} a disk of the running system: {point} is on it")
        }));
        let family = family(device, &self.media)?;
        reasons.extend(self.uses_of(device, &family, &chain)?);
        reasons.extend(self.lower_uses(&chain, family)?);
        reasons.extend(self.uses_of_files(&chain));
        if device.value("ro") == Some(1) {
            reasons.push("is read-only".into());
        }
        if device.disk().text("queue/zoned").as_deref() == Some("host-managed") {
            reasons.push(format!(
                "has zones (host-managed) that cannot be overwritten in place: {}",
                (purpose.instead)(path)
            ));
        }
        Ok(reasons)
    }

    /// How others use `device` and the rest of its `family`.
    fn uses_of(
        &self,
        device: &Device,
        family: &[Device],
        chain: &[Device],
    ) -> io::Result<Vec<String>> {
        let mut reasons = Vec::new();
        for member in family {
            let name = match member == device {
                true => String::new(),
                false => format!("its {} ", relative_name(member, device)),
            };
            reasons.extend(self.uses(member, &name, chain)?);
        }
        Ok(reasons)
    }

    /// How others use the devices that the target stands on: all of `chain` but the first. Devices
    /// in `seen` are left out.
    fn lower_uses(&self, chain: &[Device], mut seen: Vec<Device>) -> io::Result<Vec<String>> {
        let mut reasons = Vec::new();
        for lower in &chain[1..] {
            let members = match is_disk_of_part(lower, chain) {
                true => vec![lower.clone()],
                false => family(lower, &self.media)?,
            };
            for member in members.into_iter().filter(|it| !chain[..1].contains(it)) {
                if !seen.contains(&member) {
                    let name = format!("{}, whose data it holds, ", member.full_name());
                    reasons.extend(self.uses(&member, &name, chain)?);
                    seen.push(member);
                }
            }
        }
        Ok(reasons)
    }

    /// How devices are used that cannot be told apart from those that `chain` stands on. `use_of(other, part)` gives the
    /// use of `other` that concerns the bytes it would share with `part`.
    fn uses_of_possible_paths(
        &self,
        chain: &[Device],
        use_of: impl Fn(&Device, &Device) -> io::Result<Option<String>>,
    ) -> io::Result<Vec<String>> {
        let mut reasons = Vec::new();
        for part in parts(chain) {
            let disk = part.disk();
            let others = self.media.possible_other_paths(&disk).into_iter();
            for (other, why) in others.filter(|(other, _)| !chain.contains(other)) {
                let Some(found) = use_of(&other, part)? else {
                    continue;
                };
                let name = other.name();
                // Only then are both read.
                let contents = match medium::are_contents_different(&disk, &other) {
                    Ok(true) => continue,
                    Ok(false) => "so are their contents, as far as squall reads them".to_owned(),
                    Err(error) => format!("their contents cannot be compared ({})", cause(&error)),
                };
                reasons.push(format!(
                    "{DOUBT} {name}, because {why}, and {contents}; {found}: unmount or detach the other one, or give \
                     both serial numbers"
                ));
            }
        }
        Ok(reasons)
    }

    /// How the whole device `disk` is used, as far as it concerns what it would share with `part`.
    fn first_use(&self, disk: &Device, part: &Device) -> io::Result<Option<String>> {
        if let Some(point) = self.system_on(std::slice::from_ref(disk))? {
            return Ok(Some(format!("{} is on {}", shown(point), disk.name())));
        }
        let mut uses = Vec::new();
        for member in family_by(disk, part)? {
            uses.extend(self.uses(&member, &format!("{} ", member.name()), &[])?);
        }
        Ok(uses.into_iter().next())
    }

    /// How others use the files behind loop devices of `chain`.
    fn uses_of_files(&self, chain: &[Device]) -> Vec<String> {
        let mut reasons = Vec::new();
        let of_chain = |on: &&LoopDevice| chain.contains(&on.device);
        for on in self.loops.iter().filter(of_chain) {
            let Some(file) = on.file() else { continue };
            let name = on.device.name();
            if self.swap.files.contains(&file) {
                reasons.push(format!(
                    "the file of {name} is used as swap: run `swapoff` first"
                ));
            }
            let served = self.served(Backing::File(file));
            reasons.extend(served.map(|reason| format!("the file of {name} {reason}")));
            let others = self.loops.iter().filter(|other| !of_chain(other));
            let others = others.filter(|other| other.file() == Some(file));
            reasons.extend(others.map(|other| {
                format!(
                    "the file of {name} is also attached to /dev/{}: run `losetup -d` first",
                    other.device.name()
                )
            }));
        }
        reasons
    }

    /// How others than `chain` use `device`. Reasons begin with `name`, empty for the target itself.
    fn uses(&self, device: &Device, name: &str, chain: &[Device]) -> io::Result<Vec<String>> {
        let mut reasons = Vec::new();
        if let Some(points) = self.mount_points(device) {
            reasons.push(format!("{name}is mounted at {points}: unmount it first"));
        }
        if self.swap.devices.contains(&device.number) {
            reasons.push(format!("{name}is used as swap: run `swapoff` first"));
        }
        let served = self.served(Backing::Device(device.number));
        reasons.extend(served.map(|reason| format!("{name}{reason}")));
        let holders = stack::standing_on(device, &self.loops, &self.tables, chain)?;
        if !holders.is_empty() {
            let held: Vec<String> = holders.iter().map(|holder| self.holder(holder)).collect();
            reasons.push(format!("{name}is held by {}", held.join(", ")));
        }
        Ok(reasons)
    }

    /// That `backing` is served to other machines, if it is.
    fn served(&self, backing: Backing) -> Option<String> {
        let mut exports = self.exports.iter();
        let export = exports.find(|export| export.backing == backing)?;
        let subsystem = shown(Path::new(&export.subsystem));
        Some(format!(
            "is served to other machines as an NVMe namespace of {subsystem}: disable that first"
        ))
    }

    /// A holder's name and what it is used for.
    fn holder(&self, holder: &Device) -> String {
        let name = match self.tables.types(holder) {
            None => format!(
                "{}, if both share bytes, which only root can tell",
                holder.full_name()
            ),
            Some(types) if types.iter().any(|it| it == "snapshot") => {
                format!("{}, a snapshot", holder.full_name())
            }
            Some(_) => holder.full_name(),
        };
        match self.mount_points(holder) {
            Some(points) => format!("{name}, mounted at {points}"),
            None if self.swap.devices.contains(&holder.number) => format!("{name}, used as swap"),
            None => name,
        }
    }

    fn mount_points(&self, device: &Device) -> Option<String> {
        const SHOWN: usize = 3;
        let mut points: Vec<&PathBuf> = self
            .mounts
            .iter()
            .filter(|mount| mount.devices.contains(&device.number))
            .map(|mount| &mount.point)
            .collect();
        points.dedup();
        let names: Vec<String> = points
            .iter()
            .take(SHOWN)
            .map(|point| shown(point))
            .collect();
        match points.len() {
            0 => None,
            1..=SHOWN => Some(names.join(", ")),
            count => Some(format!("{} and {} more", names.join(", "), count - SHOWN)),
        }
    }

    /// A mount point of the running system that is on one of `chain`, directly or indirectly.
    fn system_on(&self, chain: &[Device]) -> io::Result<Option<&Path>> {
        for mount in self.mounts.iter().filter(|mount| is_system(&mount.point)) {
            // A device that is gone or invisible here cannot be a target's disk.
            let devices = mount.devices.iter().flat_map(|&number| Device::at(number));
            for device in devices {
                let lower = stack::lower_devices(&device, &self.loops)?;
                if chain.iter().any(|it| *it == device || lower.contains(it)) {
                    return Ok(Some(&mount.point));
                }
            }
        }
        Ok(None)
    }
}

/// How the kernel uses the file `inode`.
fn file_reasons(inode: Inode, swap: &Swap, loops: &[LoopDevice]) -> Vec<String> {
    let mut reasons = Vec::new();
    if swap.files.contains(&inode) {
        reasons.push("is used as swap: run `swapoff` first".into());
    }
    let attached = loops.iter().filter(|on| on.file() == Some(inode));
    reasons.extend(attached.map(|on| {
        let name = on.device.name();
        format!("is attached to /dev/{name}: name that, or run `losetup -d /dev/{name}` first")
    }));
    reasons
}

/// Whether a mount at `point` belongs to the running system.
fn is_system(point: &Path) -> bool {
    let exactly = ["/", "/usr", "/var", "/efi"];
    exactly.iter().any(|system| point == Path::new(system)) || point.starts_with("/boot")
}

/// Why `target` must not be named beside the `earlier` ones. `None` if it may be.
fn named_twice(earlier: &[Target], target: &Target) -> Option<String> {
    earlier.iter().find_map(|other| {
        let relation = relation(other, target)?;
        let name = shown(&other.identity.given);
        Some(format!(
            "{relation} {name}, which is also named: name only one"
        ))
    })
}

/// Which of the `earlier` targets `target` is another name of, for a list.
pub fn same_drive(earlier: &[Target], target: &Target) -> Option<String> {
    earlier.iter().find_map(|other| {
        let relation = relation(other, target)?;
        Some(format!("{relation} {}", shown(&other.identity.path)))
    })
}

fn relation(other: &Target, target: &Target) -> Option<&'static str> {
    if let (Place::File(one), Place::File(two)) = (&other.place, &target.place) {
        return (one == two).then_some("the same file as");
    }
    let (one, two) = (other.device()?, target.device()?);
    let is_part = |part: &Target| part.identity.kind == Kind::Partition;
    match () {
        () if one.number == two.number => Some("the same device as"),
        () if is_part(target) && two.disk() == *one => Some("a partition of"),
        () if is_part(other) && one.disk() == *two => Some("the disk of"),
        () if other.is_another_path_to(target) => Some("another path to the same drive as"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_of_the_running_system() {
        for (point, is) in [
            ("/", true),
            ("/boot", true),
            ("/boot/efi", true),
            ("/usr", true),
            ("/var", true),
            ("/bootleg", false),
            ("/home", false),
            ("/mnt", false),
        ] {
            assert_eq!(is_system(Path::new(point)), is, "{point}");
        }
    }
}
