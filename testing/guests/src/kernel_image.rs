//! Unpacks a kernel for QEMU: an emulated machine would spend a quarter of its boot on that.
//!
//! Debian's image is a program that unpacks and starts a kernel, a compressed ELF file in its middle (Linux,
//! Documentation/arch/x86/boot.rst). QEMU can start that file itself, at the kernel's PVH entry. Started so, the kernel
//! uses four levels of page tables, as nothing has switched on five.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ruzstd::decoding::StreamingDecoder;
use squall_tool_base::Failure;
use squall_tool_base::failure::at;

/// Where the image says how many sectors of 512 bytes its first part has, besides the first sector.
const SETUP_SECTORS: usize = 0x1f1;

/// Where it says at which byte of the second part the compressed kernel begins.
const PAYLOAD_OFFSET: usize = 0x248;

/// Where it says how many bytes that has, with those of its unpacked length at the end.
const PAYLOAD_LENGTH: usize = 0x24c;

/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The kernels that this process has unpacked, by the path of the image: files without a name, which vanish with the
/// process.
static UNPACKED: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// The path of the unpacked kernel, valid while this process lives. An image that is not compressed by zstd, such as
/// Debian's Linux 6.1, stays as it is.
pub fn unpacked(image: &Path) -> Result<PathBuf, Failure> {
    let mut kernels = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !kernels.contains_key(image) {
        let contents = fs::read(image).map_err(at(image))?;
        let Some(payload) = payload(&contents).filter(|payload| payload.starts_with(&ZSTD)) else {
            return Ok(image.to_owned());
        };
        let kernel = unpack(payload).map_err(at(image))?;
        kernels.insert(image.to_owned(), store(&kernel)?);
    }
    let file = kernels[image].as_raw_fd();
    Ok(format!("/proc/{}/fd/{file}", std::process::id()).into())
}

/// The kernel in a payload, which has the length that the payload says.
fn unpack(payload: &[u8]) -> io::Result<Vec<u8>> {
    let mut kernel = Vec::new();
    let mut decoder = StreamingDecoder::new(payload).map_err(io::Error::other)?;
    decoder.read_to_end(&mut kernel)?;
    let length = payload.last_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    if length.map(|length| length as usize) != Some(kernel.len()) {
        return Err(io::Error::other("the unpacked kernel has a wrong length"));
    }
    Ok(kernel)
}

/// A file without a name.
fn store(contents: &[u8]) -> Result<File, Failure> {
    let write = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(contents).map(|()| file)
    };
    write().map_err(at(&std::env::temp_dir()))
}

/// The compressed kernel and its length.
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

    /// A frame with one block that is not compressed and, like Debian's kernels, a window of 128 MiB; and its length.
    const KERNEL: &[u8] = b"\x28\xb5\x2f\xfd\x00\x88\x31\x00\x00kernel\x06\x00\x00\x00";

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
        let image = image(KERNEL);
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
    fn damaged_kernels_name_their_image() {
        let mut longer = KERNEL.to_vec();
        longer[KERNEL.len() - 4] += 1;
        for damaged in [&KERNEL[..8], &longer] {
            let image = image(damaged);
            let Err(Failure::Runtime(message)) = unpacked(image.path()) else {
                panic!("a damaged kernel is accepted");
            };
            assert!(
                message.contains(image.path().to_str().unwrap()),
                "{message}"
            );
        }
    }
}
