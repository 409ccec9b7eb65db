//! The programs, each with the arguments for one pass of random bytes without verification, which is
//! flushed to the target when the program ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use squall_testing::loops::Loop;
use squall_tools::Failure;

use super::race::Contestant;
use super::targets::TargetDirectory;

/// The programs that wipe a file.
pub fn of_files(
    directory: &TargetDirectory,
    file: &Path,
    size: u64,
) -> Result<Vec<Contestant>, Failure> {
    let mut contestants = Vec::from(random_and_zeros(directory, file)?);
    contestants.extend(of_shell(file, size, "conv=notrunc,fdatasync"));
    Ok(contestants)
}

/// The programs that wipe a device.
pub fn of_devices(
    directory: &TargetDirectory,
    device: &Path,
    size: u64,
) -> Result<Vec<Contestant>, Failure> {
    let mut contestants = Vec::from(random_and_zeros(directory, device)?);
    contestants.extend(of_shell(device, size, "oflag=direct conv=fdatasync"));
    contestants.push(nwipe(device));
    Ok(contestants)
}

/// squall with random bytes, and with zeros.
pub fn random_and_zeros(
    directory: &TargetDirectory,
    target: &Path,
) -> Result<[Contestant; 2], Failure> {
    Ok([
        squall(directory, "squall wipe", "random", &[target])?,
        squall(directory, "squall wipe --pass zero", "zero", &[target])?,
    ])
}

/// squall with all of `devices` at once.
pub fn of_many(directory: &TargetDirectory, devices: &[Loop]) -> Result<Contestant, Failure> {
    let paths: Vec<&Path> = devices.iter().map(|device| device.path.as_path()).collect();
    let name = format!("{} at once", devices.len());
    squall(directory, &name, "random", &paths)
}

fn of_shell(target: &Path, size: u64, flags: &str) -> [Contestant; 3] {
    let (path, blocks) = (target.display(), size >> 20);
    // Nothing here is secret, so a constant key will do.
    let key = "00".repeat(32);
    let iv = "00".repeat(16);
    [
        Contestant::script("shred -n 1", &format!("shred -n 1 {path}")),
        Contestant::script(
            "openssl enc -aes-256-ctr | dd",
            &format!(
                "head -c {size} /dev/zero | openssl enc -aes-256-ctr -K {key} -iv {iv} -nosalt \
                 | dd of={path} bs=1M iflag=fullblock {flags}"
            ),
        ),
        Contestant::script(
            "dd if=/dev/urandom",
            &format!("dd if=/dev/urandom of={path} bs=1M count={blocks} {flags}"),
        ),
    ]
}

/// nwipe (0.41 or later), in a mount namespace in which there is no other device to be wiped by mistake. By
/// default it would first measure its generators for ten seconds.
fn nwipe(device: &Path) -> Contestant {
    let path = device.display();
    Contestant::script(
        "nwipe --prng=chacha20",
        &format!(
            "command -v nwipe > /dev/null || {{ echo not installed >&2; exit 1; }}; \
             unshare --mount bash -e -c 'keep=$(mktemp -d); mount --bind /dev $keep; \
             mount -t tmpfs none /dev; cp -a $keep/{{null,zero,urandom,random}} $keep/{name} /dev/; \
             mkdir /dev/pts; umount $keep; rmdir $keep; \
             nwipe --autonuke --nogui --nowait --noblank --method=prng --prng=chacha20 --rounds=1 --verify=off \
             --PDFreportpath=noPDF {path}'",
            name = device.file_name().unwrap_or_default().to_string_lossy(),
        ),
    )
}

fn squall(
    directory: &TargetDirectory,
    name: &str,
    pass: &str,
    targets: &[&Path],
) -> Result<Contestant, Failure> {
    let program = program()?;
    let mut command = Command::new(program);
    command
        .args(["wipe", "--yes", "--verify", "none", "--pass", pass])
        .arg("--report")
        .arg(directory.path("reports"))
        .args(targets);
    for target in targets {
        if let Some(serial) = squall_testing::loops::diskseq(target) {
            command.arg("--serial").arg(serial);
        }
    }
    Ok(Contestant {
        name: name.into(),
        command,
    })
}

/// The command of this build.
fn program() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().unwrap_or_default();
    let built = own.ancestors().nth(2).unwrap_or(&own);
    let program = built.join("squall");
    if program.exists() {
        Ok(program)
    } else {
        Err(Failure::Runtime(format!(
            "{} is missing: run `cargo build --release --features tools` first",
            program.display()
        )))
    }
}
