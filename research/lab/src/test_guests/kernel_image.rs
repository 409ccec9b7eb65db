//! Unpacks a kernel for QEMU: an emulated machine would spend a quarter of its boot on that.
//!
//! Debian's image is a compressed ELF file after a program that unpacks and starts it (Linux,
//! Documentation/arch/x86/boot.rst). QEMU can start the ELF file itself, at the kernel's PVH entry.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ruzstd::decoding::StreamingDecoder;
use squall_tools::Failure;
use squall_tools::failure::at;

/// Where the image has its numbers: how many sectors of 512 bytes follow the first one before the protected-mode code;
/// how many bytes of that code precede the compressed kernel; and how many bytes the compressed kernel has.
const SETUP_SECTORS: usize = 0x1f1;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The kernels that this process has unpacked, by the path of the image: files without a name, which end with the
/// process.
static UNPACKED: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// The path of the unpacked kernel, valid while this process lives. An image that is not compressed by zstd, as Linux
/// 6.1's is not, stays as it is.
pub fn unpacked(image: &Path) -> Result<PathBuf, Failure> {
    let mut unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !unpacked.contains_key(image) {
        let contents = fs::read(image).map_err(at(image))?;
        let Some(compressed) = payload(&contents).filter(|payload| payload.starts_with(&ZSTD))
        else {
            return Ok(image.to_owned());
        };
        let kernel = unpack(compressed).map_err(at(image))?;
        unpacked.insert(image.to_owned(), kernel);
    }
    let file = unpacked[image].as_raw_fd();
    Ok(format!("/proc/{}/fd/{file}", std::process::id()).into())
}

fn unpack(compressed: &[u8]) -> io::Result<File> {
    let mut kernel = tempfile::tempfile()?;
    let mut decoder = StreamingDecoder::new(compressed).map_err(io::Error::other)?;
    io::copy(&mut decoder, &mut kernel)?;
    Ok(kernel)
}

/// The compressed kernel.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |place: usize| {
        let bytes = image.get(place..place + 4)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let begin = (usize::from(*image.get(SETUP_SECTORS)?) + 1) * 512 + number(PAYLOAD_OFFSET)?;
    image.get(begin..begin.checked_add(number(PAYLOAD_LENGTH)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with one block that is not compressed: a window as large as the content, of 6 bytes, the last block.
    const FRAME: &[u8] = b"\x28\xb5\x2f\xfd\x20\x06\x31\x00\x00kernel";

    /// A file with a first part of one sector and, after seven more bytes, this payload.
    fn image(payload: &[u8]) -> tempfile::NamedTempFile {
        let mut contents = vec![0; 1024 + 7];
        contents[SETUP_SECTORS] = 1;
        contents[PAYLOAD_OFFSET] = 7;
        contents[PAYLOAD_LENGTH] = u8::try_from(payload.len()).unwrap();
        contents.extend_from_slice(payload);
        contents.extend_from_slice(b"more");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), contents).unwrap();
        file
    }

    #[test]
    fn a_kernel_compressed_by_zstd_is_unpacked_once() {
        let image = image(FRAME);
        let path = unpacked(image.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kernel");
        assert_eq!(unpacked(image.path()).unwrap(), path);
    }

    #[test]
    fn other_images_stay_as_they_are() {
        for other in [b"\xfd7zXZ\0".as_slice(), b""] {
            let image = image(other);
            assert_eq!(unpacked(image.path()).unwrap(), image.path());
        }
        let short = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(unpacked(short.path()).unwrap(), short.path());
    }

    #[test]
    fn a_damaged_kernel_names_its_image() {
        let image = image(&FRAME[..8]);
        let Err(Failure::Runtime(message)) = unpacked(image.path()) else {
            panic!("half a frame is no kernel");
        };
        assert!(
            message.contains(image.path().to_str().unwrap()),
            "{message}"
        );
    }
}
