//! Reads memory whose address the program passes to the kernel. It may not be mapped: then the answer must be
//! `EFAULT`, and not a signal.

use core::ffi::c_ulong;
use core::mem::MaybeUninit;

use libc::iovec;

/// The values at `address`; the error is `errno`, `EFAULT` if they are not readable. Asks the kernel by
/// process_vm_readv(2). Keeps `errno`.
pub(crate) fn read<T: Copy, const N: usize>(
    address: *const T,
    values: &mut [MaybeUninit<T>; N],
    count: usize,
) -> Result<&[T], i32> {
    let values = &mut values[..count];
    let len = size_of_val(values);
    let to = iovec {
        iov_base: values.as_mut_ptr().cast(),
        iov_len: len,
    };
    let from = iovec {
        iov_base: address.cast_mut().cast(),
        iov_len: len,
    };
    squall::internal::keep_errno(|| {
        // SAFETY: asks for the process id, then writes at most `len` bytes to `values`. The kernel checks `address`.
        let copied = unsafe {
            let process = libc::syscall(libc::SYS_getpid);
            libc::syscall(
                libc::SYS_process_vm_readv,
                process,
                &raw const to,
                1 as c_ulong,
                &raw const from,
                1 as c_ulong,
                0 as c_ulong,
            )
        };
        match copied {
            _ if copied == len as libc::c_long => {
                // SAFETY: the kernel has written all of them: integers and pointers.
                Ok(unsafe { &*(&raw const *values as *const [T]) })
            }
            // SAFETY: `errno` belongs to this thread.
            -1 => Err(unsafe { *libc::__errno_location() }),
            _ => Err(libc::EFAULT),
        }
    })
}
