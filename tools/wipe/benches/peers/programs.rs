//! Who wipes, and how each is told to: one pass of random bytes, nothing verified, everything on
//! the target when it ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use squall_testing::loops::Loop;
use squall_tools::Failure;

use super::field::Field;
use super::race::Racer;

/// Those that wipe a file.
pub fn of_files(field: &Field, file: &Path, size: u64) -> Result<Vec<Racer>, Failure> {
    let mut racers = Vec::from(random_and_zeros(field, file)?);
    racers.extend(of_shell(file, size, "conv=notrunc,fdatasync"));
    Ok(racers)
}

/// Those that wipe a device.
pub fn of_devices(field: &Field, device: &Path, size: u64) -> Result<Vec<Racer>, Failure> {
    let mut racers = vec![squall(field, "squall wipe", "random", &[device])?];
    racers.push(squall(
        field,
        "squall wipe --method zero",
        "zero",
        &[device],
    )?);
    racers.extend(of_shell(device, size, "oflag=direct conv=fdatasync"));
    racers.push(nwipe(device));
    Ok(racers)
}

/// squall with random bytes, and with zeros.
pub fn random_and_zeros(field: &Field, target: &Path) -> Result<[Racer; 2], Failure> {
    Ok([
        squall(field, "squall wipe", "random", &[target])?,
        squall(field, "squall wipe --method zero", "zero", &[target])?,
    ])
}

/// squall with all of `devices` at once.
pub fn of_many(field: &Field, devices: &[Loop]) -> Result<Racer, Failure> {
    let paths: Vec<&Path> = devices.iter().map(|device| device.path.as_path()).collect();
    squall(
        field,
        &format!("{} at once", devices.len()),
        "random",
        &paths,
    )
}

fn of_shell(target: &Path, size: u64, flags: &str) -> [Racer; 3] {
    let (path, blocks) = (target.display(), size >> 20);
    // Any key is as good: nothing here is secret.
    let key = "00".repeat(32);
    let iv = "00".repeat(16);
    [
        Racer::script("shred -n 1", &format!("shred -n 1 {path}")),
        Racer::script(
            "openssl enc -aes-256-ctr | dd",
            &format!(
                "head -c {size} /dev/zero | openssl enc -aes-256-ctr -K {key} -iv {iv} -nosalt \
                 | dd of={path} bs=1M iflag=fullblock {flags}"
            ),
        ),
        Racer::script(
            "dd if=/dev/urandom",
            &format!("dd if=/dev/urandom of={path} bs=1M count={blocks} {flags}"),
        ),
    ]
}

/// nwipe in a mount namespace in which there is no other device to be wiped by mistake.
fn nwipe(device: &Path) -> Racer {
    let path = device.display();
    Racer::script(
        "nwipe --method=prng",
        &format!(
            "command -v nwipe > /dev/null || {{ echo not installed >&2; exit 1; }}; \
             unshare --mount bash -e -c 'keep=$(mktemp -d); mount --bind /dev $keep; \
             mount -t tmpfs none /dev; cp -a $keep/{{null,zero,urandom,random}} $keep/{name} /dev/; \
             mkdir /dev/pts; umount $keep; rmdir $keep; \
             nwipe --autonuke --nogui --nowait --noblank --method=prng --rounds=1 --verify=off {path}'",
            name = device.file_name().unwrap_or_default().to_string_lossy(),
        ),
    )
}

fn squall(field: &Field, name: &str, method: &str, targets: &[&Path]) -> Result<Racer, Failure> {
    let program = program()?;
    let mut command = Command::new(program);
    command
        .args(["wipe", "--yes", "--verify", "none", "--method", method])
        .arg("--report")
        .arg(field.path("reports"))
        .args(targets);
    for target in targets {
        if let Some(serial) = squall_testing::loops::diskseq(target) {
            command.arg("--serial").arg(serial);
        }
    }
    Ok(Racer {
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
            "{}: not there: run `cargo build --release --features tools` first",
            program.display()
        )))
    }
}
