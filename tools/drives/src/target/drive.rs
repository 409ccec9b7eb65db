//! Reads a block device's properties from sysfs: model, serial number, identifier, medium, temperature.
//!
//! A partition has its drive's values. Its serial number and identifier end in `-part1` and so on.

use std::fs;
use std::path::{Path, PathBuf};

use super::device::{Device, text};
use crate::identity::ATTACHMENT;
use crate::printable::printable_bytes;
use crate::{Kind, Storage, Target};

impl Target {
    /// The temperature in degrees Celsius, from the sensor that the kernel shows with the drive.
    pub fn temperature(&self) -> Option<f64> {
        let drive = self.device()?.disk().join("device");
        // The sensors of drivetemp, of NVMe, of NVMe on older kernels, and of NVMe with several paths.
        let mut places = vec![
            drive.join("hwmon"),
            drive.clone(),
            drive.join("device/hwmon"),
        ];
        places.extend(entries(&drive, "nvme"));
        places
            .iter()
            .flat_map(|place| entries(place, "hwmon"))
            .find_map(|sensor| {
                let thousandths: f64 = text(&sensor.join("temp1_input"))?.parse().ok()?;
                Some(thousandths / 1000.0)
            })
    }

    /// Whether it is reached over a network or a fabric, where other machines may use it too: iSCSI, Fibre Channel,
    /// SRP, NVMe over Fabrics.
    pub fn is_remote(&self) -> bool {
        let transport = self.device().map(transport);
        transport.is_some_and(|it| it != Transport::Local)
    }

    /// Whether it is a drive for CDs, DVDs and the like: SCSI's type 5, or what the kernel calls sr0.
    pub fn is_optical(&self) -> bool {
        let disk = self.device().map(Device::disk);
        disk.is_some_and(|disk| {
            disk.value("device/type") == Some(5) || disk.name().starts_with("sr")
        })
    }

    /// Whether the kernel drives it as a SCSI device, as it does drives on SATA and USB, too, and has read pages
    /// of vital product data from it. Simple USB drives do not bear to be asked for those.
    pub fn takes_scsi_commands(&self) -> bool {
        let has_pages =
            |device: &Device| device.has("device/vpd_pg80") || device.has("device/vpd_pg83");
        let is_scsi = |device: &Device| bus(device).as_deref() == Some("scsi");
        self.device()
            .is_some_and(|device| has_pages(device) && is_scsi(device))
    }
}

pub(super) fn kind(device: &Device) -> Kind {
    match device {
        _ if device.partition().is_some() => Kind::Partition,
        _ if device.has("dm") => Kind::Mapped,
        _ if device.name().starts_with("loop") => Kind::Loop,
        _ if matches!(bus(device).as_deref(), None | Some("rbd")) => Kind::Virtual,
        _ => Kind::Disk,
    }
}

/// What holds the bytes of `device`. A controller that passes a drive on, and a hypervisor that imitates one well, are
/// not noticed.
pub(super) fn storage(device: &Device) -> Storage {
    let disk = device.disk();
    let name = disk.name();
    let is_named = |start: &str| name.starts_with(start);
    match bus_name(&disk).as_deref() {
        _ if disk.has("dm") || is_named("bcache") || is_named("loop") => Storage::Layers,
        _ if disk.has("md") => Storage::Array,
        None if ["zram", "ram", "nullb"].into_iter().any(is_named) => Storage::Memory,
        None if ["nbd", "drbd"].into_iter().any(is_named) => Storage::Network,
        None if is_named("ublk") => Storage::Program,
        Some("rbd") => Storage::Network,
        Some("virtio" | "xen") => Storage::Host,
        Some("nvme" | "mmc" | "nd" | "scsi" | "sata" | "usb") => storage_of_drive(&disk),
        _ => Storage::Unknown,
    }
}

/// Models of drives that hypervisors and clouds imitate, as they begin.
const VIRTUAL: [&str; 15] = [
    "Alibaba",
    "Amazon",
    "BHYVE",
    "Google PersistentDisk",
    "MSFT NVMe",
    "Microsoft NVMe",
    "Msft Virtual",
    "ORCL-VBOX",
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual HD",
    "Xen",
    "bhyve",
    "nvme_card",
];

/// Models of pairs of drives on one card, as they begin.
const MIRRORS: [&str; 4] = ["DELLBOSS", "Dell BOSS", "HPE NS204", "ThinkSystem M.2 VD"];

/// Drivers of SCSI hosts of hypervisors, as their names begin.
const HYPERVISORS: [&str; 5] = ["ibmvscsi", "scsifront", "storvsc", "virtio", "vmw_pvscsi"];

/// Drivers of RAID controllers, as their names begin, and on which of SCSI's channels they show volumes.
const RAID: [(&str, &[u64]); 14] = [
    ("3w-", ANY),
    ("aacraid", &[0]),
    ("arcmsr", ANY),
    ("esas2r", ANY),
    ("hptiop", ANY),
    ("ipr", ANY),
    ("ips", ANY),
    ("megaraid", &[2, 3]),
    ("mpt2sas", &[1]),
    ("mpt3sas", &[1]),
    ("mptsas", &[1]),
    ("mvumi", ANY),
    ("pmcraid", ANY),
    ("stex", ANY),
];

const ANY: &[u64] = &[0, 1, 2, 3];

/// What holds the bytes of what the kernel shows as a drive.
fn storage_of_drive(disk: &Device) -> Storage {
    let place = fs::canonicalize(disk.join("device")).unwrap_or_default();
    let is_below = |start: &str| place.ancestors().any(|it| is_directory(it, start));
    let driver = place.ancestors().find_map(scsi_driver).unwrap_or_default();
    let is_of = |drivers: &[&str]| drivers.iter().any(|name| driver.starts_with(name));
    let channel = channel(&place);
    let mut raid = RAID.iter().filter(|(name, _)| driver.starts_with(name));
    let is_on_raid = raid.any(|(_, volumes)| channel.is_none_or(|it| volumes.contains(&it)));
    let model = model(disk).unwrap_or_default();
    let is_model = |models: &[&str]| models.iter().any(|name| model.starts_with(name));
    match (transport(disk), disk.text("device/raid_level").as_deref()) {
        (Transport::Remote, _) => Storage::Network,
        (Transport::Unknown, _) => Storage::Unknown,
        _ if is_model(&VIRTUAL) || is_below("virtio") || is_of(&HYPERVISORS) => Storage::Host,
        _ if is_model(&MIRRORS) || disk.has("device/raid_devices") => Storage::Array,
        (_, Some("N/A")) => Storage::Drive,
        (_, Some(_)) => Storage::Array,
        _ if disk.text("device/vendor").as_deref() == Some("ATA") => Storage::Drive,
        // Volumes and drives look alike there.
        _ if is_of(&["mpi3mr"]) && !is_below("end_device-") => Storage::Unknown,
        _ if is_on_raid => Storage::Array,
        _ => Storage::Drive,
    }
}

/// The channel in the address `host:channel:target:unit` with which the path to a SCSI drive ends.
fn channel(place: &Path) -> Option<u64> {
    let address = place.file_name()?.to_str()?;
    address.split(':').nth(1)?.parse().ok()
}

#[derive(PartialEq, Eq)]
enum Transport {
    Local,
    /// A network or a fabric.
    Remote,
    /// An NVMe controller does not say.
    Unknown,
}

/// By what the drive of `device` is reached.
fn transport(device: &Device) -> Transport {
    let drive = device.disk().join("device");
    // A namespace's device is its controller, or with several paths a subsystem, which has controllers.
    let mut controllers = vec![drive.clone()];
    controllers.extend(entries(&drive, "nvme"));
    let transports = controllers.iter();
    let transports = transports.filter_map(|it| text(&it.join("transport")));
    let transports: Vec<String> = transports.collect();
    let is_local = |transport: &String| ["pcie", "apple-nvme"].contains(&transport.as_str());
    let place = fs::canonicalize(&drive).unwrap_or_default();
    match bus(&device.disk()).as_deref() {
        _ if place.ancestors().any(is_of_network) => Transport::Remote,
        _ if !transports.iter().all(is_local) => Transport::Remote,
        Some("nvme" | "nvme-subsystem") if transports.is_empty() => Transport::Unknown,
        _ => Transport::Local,
    }
}

/// The maker's model name, with the vendor for SCSI; for a mapped device, its mapper's name.
pub(super) fn model(device: &Device) -> Option<String> {
    let disk = device.disk();
    let first = |names: &[&str]| names.iter().find_map(|name| disk.text(name));
    let model = first(&["device/model", "device/name", "dm/name"])?;
    let vendor = match bus(&disk).as_deref() {
        // All drives behind an ATA bridge have this vendor.
        Some("scsi") => disk.text("device/vendor").filter(|name| name != "ATA"),
        _ => None,
    };
    match vendor {
        Some(vendor) => Some(format!("{vendor} {model}")),
        None => Some(model),
    }
}

/// The maker's serial number, or else the kernel's number for this attachment.
pub(super) fn serial(device: &Device) -> Option<String> {
    let disk = device.disk();
    let attachment = || {
        let number = device.attachment()?;
        Some(format!("{ATTACHMENT}{number}"))
    };
    let serial = makers_serial(&disk).or_else(attachment)?;
    Some(with_part(device, serial))
}

pub(super) fn wwid(device: &Device) -> Option<String> {
    let disk = device.disk();
    let wwid = ["wwid", "device/wwid"]
        .iter()
        .find_map(|name| disk.text(name))?;
    (!is_filler(&wwid)).then(|| with_part(device, wwid))
}

/// Whether a worldwide identifier, such as `eui.0000000000000000`, has no digit but 0: its maker has left it out.
fn is_filler(wwid: &str) -> bool {
    let (_, digits) = wwid.split_once('.').unwrap_or(("", wwid));
    digits.bytes().all(|digit| b"0-".contains(&digit))
}

fn with_part(device: &Device, of_disk: String) -> String {
    match device.partition() {
        Some(number) => format!("{of_disk}-part{number}"),
        None => of_disk,
    }
}

pub(super) fn makers_serial(disk: &Device) -> Option<String> {
    let page = || unit_serial(&fs::read(disk.join("device/vpd_pg80")).ok()?);
    let serial = disk
        .text("serial")
        .or_else(page)
        .or_else(|| disk.text("device/serial"))
        .or_else(|| disk.text("dm/uuid"))
        .or_else(|| disk.text("md/uuid"))
        .or_else(|| usb_serial(disk))?;
    // All namespaces of an NVMe controller have its serial number.
    match disk.value("nsid") {
        Some(namespace) if namespace > 1 => Some(format!("{serial}-ns{namespace}")),
        _ => Some(serial),
    }
}

/// The serial number in SCSI's page of vital product data 0x80.
fn unit_serial(page: &[u8]) -> Option<String> {
    const HEADER: usize = 4;
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let end = page.len().min(HEADER + length);
    printable_bytes(&page[HEADER..end])
}

/// The serial number of the USB device that a drive is behind.
fn usb_serial(disk: &Device) -> Option<String> {
    let directory = fs::canonicalize(disk.join("device")).ok()?;
    let usb = directory
        .ancestors()
        .take_while(|ancestor| ancestor.starts_with("/sys/devices/"))
        .find(|ancestor| ancestor.join("idVendor").exists())?;
    text(&usb.join("serial"))
}

/// The bus that a disk is attached to, such as `scsi`.
fn bus(disk: &Device) -> Option<String> {
    let subsystem = fs::canonicalize(disk.join("device/subsystem")).ok()?;
    Some(subsystem.file_name()?.to_string_lossy().into_owned())
}

/// What a drive is attached by, for people.
pub(super) fn bus_name(device: &Device) -> Option<String> {
    let disk = device.disk();
    let bus = bus(&disk)?;
    if bus != "scsi" {
        return Some(bus.split('-').next().unwrap_or_default().to_owned());
    }
    // The kernel shows drives on these as SCSI's; the path through its devices tells.
    let place = fs::canonicalize(disk.join("device")).ok()?;
    let is_below = |start: &str| place.ancestors().any(|it| is_directory(it, start));
    let behind = [("usb", "usb"), ("ata", "sata"), ("virtio", "virtio")];
    let found = behind.into_iter().find(|(start, _)| is_below(start));
    Some(found.map_or(bus, |(_, name)| name.to_owned()))
}

/// Whether a directory on the path to a SCSI drive shows that it is reached over a network: a session of iSCSI, a remote
/// port of Fibre Channel, or a host of SRP.
fn is_of_network(directory: &Path) -> bool {
    is_directory(directory, "session")
        || is_directory(directory, "rport-")
        || scsi_driver(directory).as_deref() == Some("ib_srp")
}

/// Whether the name of `directory` begins with `start`.
fn is_directory(directory: &Path, start: &str) -> bool {
    let name = directory.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(start)
}

/// The name of the driver of the SCSI host whose directory in sysfs this is, if it is one.
fn scsi_driver(directory: &Path) -> Option<String> {
    let host = directory.join("scsi_host").join(directory.file_name()?);
    text(&host.join("proc_name"))
}

/// Whether a drive is behind an ATA bridge of the kernel's, or may be behind one on USB. Drives on USB that can be removed
/// are sticks and card readers, which are not asked, as udev does not ask them.
pub(super) fn takes_ata_commands(device: &Device) -> bool {
    let disk = device.disk();
    let is_ata = || disk.text("device/vendor").as_deref() == Some("ATA");
    let is_bridge =
        || bus_name(&disk).as_deref() == Some("usb") && disk.value("removable") == Some(0);
    is_scsi_disk(&disk) && (is_ata() || is_bridge())
}

/// Whether the kernel's driver of SCSI disks has it, or the disk that it is a partition of.
pub(super) fn is_scsi_disk(device: &Device) -> bool {
    device.disk().name().starts_with("sd")
}

/// Whether the drive is flash. `None` for virtual and mapped devices, whose value is only a default.
pub(super) fn is_flash(device: &Device) -> Option<bool> {
    let disk = device.disk();
    let turns = disk.value("queue/rotational")? != 0;
    match bus(&disk)?.as_str() {
        "nvme" | "nvme-subsystem" | "mmc" => Some(!turns),
        "scsi" => match fs::read(disk.join("device/vpd_pgb1")) {
            Ok(page) => is_flash_by(&page),
            // Without the page, "rotational" is only a default.
            Err(_) => (!turns).then_some(true),
        },
        _ => None,
    }
}

/// Whether a drive is flash, by the rotation rate in SCSI's page of vital product data 0xB1.
fn is_flash_by(page: &[u8]) -> Option<bool> {
    match u16::from_be_bytes([*page.get(4)?, *page.get(5)?]) {
        1 => Some(true),
        0x401..=0xfffe => Some(false),
        _ => None,
    }
}

/// The entries of `directory` whose names begin with `start`.
fn entries(directory: &Path, start: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(directory).into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use squall_testing::loops::Lab;

    use super::*;

    /// As the kernel's drivers name the directories in sysfs. SAS has ports, too.
    #[test]
    fn networks_show_on_the_path_to_a_drive() {
        let sysfs = Lab::new();
        let hosts = [("host1", "ahci"), ("host2", "ib_srp"), ("host3", "mpt3sas")];
        for (host, driver) in hosts {
            let about = sysfs.path(host).join("scsi_host").join(host);
            fs::create_dir_all(&about).expect("room");
            fs::write(about.join("proc_name"), format!("{driver}\n")).expect("room");
        }
        for (place, expected) in [
            ("host1/target1:0:0/1:0:0:0", false),
            ("host2/target2:0:0/2:0:0:0", true),
            ("host3/port-3:0/end_device-3:0/target3:0:0/3:0:0:0", false),
            ("host4/session1/target4:0:0/4:0:0:1", true),
            ("host5/rport-5:0-2/target5:0:0/5:0:0:0", true),
        ] {
            let place = sysfs.path(place);
            assert_eq!(place.ancestors().any(is_of_network), expected, "{place:?}");
        }
    }

    /// A device in a directory like the kernel's, on `bus` if that has a name.
    fn device(sysfs: &Lab, name: &str, bus: &str, files: &[(&str, &str)]) -> Device {
        let place = sysfs.path(name);
        if !bus.is_empty() {
            let device = sysfs.path("host7").join(format!("{name}-device"));
            let subsystem = sysfs.path("bus").join(bus);
            for directory in [&device, &subsystem, &place] {
                fs::create_dir_all(directory).expect("room");
            }
            symlink(&device, place.join("device")).expect("room");
            symlink(&subsystem, device.join("subsystem")).expect("room");
        }
        for (file, text) in [("dev", "7:7")].iter().chain(files) {
            let file = place.join(file);
            fs::create_dir_all(file.parent().expect("a directory")).expect("room");
            fs::write(file, text).expect("room");
        }
        Device::in_directory(&place).expect("a device")
    }

    /// What holds the bytes of drives on SCSI and NVMe.
    #[test]
    fn only_drives_are_drives() {
        use Storage::{Array, Drive, Host, Network, Unknown};
        const DRIVER: &str = "../host7/scsi_host/host7/proc_name";
        let model = |model| ("device/model", model);
        let (ata, sas) = (("device/vendor", "ATA"), (DRIVER, "mpt3sas"));
        let pcie = ("device/transport", "pcie");
        let sysfs = Lab::new();
        let cases = [
            (vec![], Drive),
            (vec![(DRIVER, "ahci"), ata, model("WDC WD40EFRX")], Drive),
            (vec![(DRIVER, "ahci"), ata, model("QEMU HARDDISK")], Host),
            (vec![(DRIVER, "storvsc_host")], Host),
            (vec![(DRIVER, "megaraid_sas")], Array),
            (vec![(DRIVER, "megaraid_sas"), ata], Drive),
            (vec![(DRIVER, "hpsa"), ("device/raid_level", "N/A")], Drive),
            (vec![model("DELLBOSS VD")], Array),
            (vec![(DRIVER, "mpi3mr")], Unknown),
            (vec![("device/raid_level", "N/A")], Drive),
            (vec![("device/raid_level", "RAID 1")], Array),
            (vec![("device/raid_devices/x", "")], Array),
            (vec![sas], Array),
            (vec![(DRIVER, "ib_srp")], Network),
        ];
        let nvme = [
            (vec![pcie], Drive),
            (vec![pcie, model("Amazon Elastic Block Store")], Host),
            (vec![("device/transport", "tcp")], Network),
            (vec![], Unknown),
        ];
        let cases = cases.map(|(files, expected)| ("scsi", files, expected));
        let nvme = nvme.map(|(files, expected)| ("nvme", files, expected));
        for (number, (bus, files, expected)) in cases.into_iter().chain(nvme).enumerate() {
            let device = device(&sysfs, &format!("disk{number}"), bus, &files);
            assert_eq!(storage(&device), expected, "{files:?}");
            fs::remove_dir_all(sysfs.path("host7")).expect("a directory");
        }
        // A drive and a volume of the same controller, and a drive of virtio.
        for (port, expected) in [("7:0:0:0", Drive), ("7:1:0:0", Array), ("virtio2", Host)] {
            let device = device(&sysfs, port, "scsi", &[sas]);
            let place = sysfs.path("host7").join(port);
            fs::rename(sysfs.path("host7").join(format!("{port}-device")), &place).expect("room");
            fs::remove_file(device.join("device")).expect("a link");
            symlink(place, device.join("device")).expect("room");
            assert_eq!(storage(&device), expected, "{port}");
        }
    }

    #[test]
    fn other_devices_are_what_their_drivers_make() {
        use Storage::{Array, Drive, Host, Layers, Memory, Network, Program, Unknown};
        let sysfs = Lab::new();
        for (name, bus, file, kind, expected) in [
            ("mmcblk0", "mmc", "size", Kind::Disk, Drive),
            ("vda", "virtio", "size", Kind::Disk, Host),
            ("xvda", "xen", "size", Kind::Disk, Host),
            ("ubda", "platform", "size", Kind::Disk, Unknown),
            ("rbd0", "rbd", "size", Kind::Virtual, Network),
            ("md_home", "", "md/level", Kind::Virtual, Array),
            ("bcache0", "", "bcache/state", Kind::Virtual, Layers),
            ("dm-0", "", "dm/name", Kind::Mapped, Layers),
            ("loop0", "", "size", Kind::Loop, Layers),
            ("nbd0", "", "size", Kind::Virtual, Network),
            ("drbd0", "", "size", Kind::Virtual, Network),
            ("ublkb0", "", "size", Kind::Virtual, Program),
            ("ram0", "", "size", Kind::Virtual, Memory),
            ("zram0", "", "size", Kind::Virtual, Memory),
            ("zd0", "", "size", Kind::Virtual, Unknown),
        ] {
            let device = device(&sysfs, name, bus, &[(file, "")]);
            let found = (self::kind(&device), storage(&device));
            assert_eq!(found, (kind, expected), "{name}");
        }
    }

    #[test]
    fn identifiers_without_digits_are_none() {
        for (wwid, is_one) in [
            ("eui.0000000000000000", false),
            ("uuid.00000000-0000-0000-0000-000000000000", false),
            ("naa.5000c500a1b2c3d4", true),
            ("eui.0000000000000001", true),
            ("t10.ATA QEMU HARDDISK QM00001", true),
        ] {
            assert_eq!(!is_filler(wwid), is_one, "{wwid}");
        }
    }

    #[test]
    fn pages_of_vital_product_data() {
        let page = b"\x00\x80\x00\x14      WD-WX12A3456789\xff";
        assert_eq!(unit_serial(page).as_deref(), Some("WD-WX12A345678"));
        let page = b"\x00\x80\x00\x15      WD-WX12A3456789\xff";
        assert_eq!(unit_serial(page).as_deref(), Some("WD-WX12A3456789"));
        assert_eq!(unit_serial(b"\x00\x80\x00\x04    "), None);
        assert_eq!(unit_serial(b"\x00\x80"), None);
        assert_eq!(is_flash_by(b"\x00\xb1\x00\x3c\x00\x01"), Some(true));
        assert_eq!(is_flash_by(b"\x00\xb1\x00\x3c\x1c\x20"), Some(false));
        assert_eq!(is_flash_by(b"\x00\xb1\x00\x3c\x00\x00"), None);
        assert_eq!(is_flash_by(b"\x00\xb1"), None);
    }
}
