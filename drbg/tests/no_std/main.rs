//! CTR_DRBG in a program without std, allocator and C library: it gives an answer of NIST's and exits with 0. If the
//! crate used `std` or `alloc`, this would not compile.

#![no_std]
#![no_main]

use core::arch::{asm, naked_asm};

use squall_drbg::{Aes256, CtrDrbg};

/// The entry of `vectors/ctr_drbg_no_df.json` with this entropy, and its output.
#[rustfmt::skip]
const ENTROPY: [u8; 48] = [
    0xe4, 0xbf, 0x9e, 0xdc, 0x2a, 0x80, 0xb8, 0x2b, 0x9c, 0xed, 0xcf, 0xc2, 0x4a, 0xad, 0xcc, 0x1c,
    0x86, 0x87, 0xb2, 0x83, 0xd2, 0xc8, 0xd7, 0xa2, 0xe8, 0xe6, 0xe3, 0x21, 0xd8, 0x2b, 0xca, 0x7f,
    0x39, 0x52, 0x2f, 0x16, 0xf0, 0xeb, 0xe0, 0x5d, 0x9f, 0x34, 0xa6, 0x79, 0xba, 0xab, 0xda, 0xbf,
];
#[rustfmt::skip]
const OUTPUT: [u8; 64] = [
    0x03, 0x4e, 0x73, 0xc2, 0xd0, 0x87, 0xc0, 0xc8, 0x56, 0x0b, 0xe9, 0x1b, 0xce, 0x03, 0x5f, 0x21,
    0x01, 0x05, 0xc3, 0xa0, 0x55, 0x57, 0x32, 0x38, 0xe5, 0xf7, 0xd3, 0xff, 0x81, 0xc4, 0x34, 0x69,
    0x2e, 0x73, 0x1f, 0xf9, 0x24, 0x60, 0x9a, 0xb3, 0x65, 0x5b, 0x82, 0xab, 0xc0, 0x11, 0xce, 0xba,
    0x4f, 0xad, 0x2d, 0x66, 0xa1, 0x52, 0x23, 0x96, 0x11, 0xcf, 0xc5, 0x80, 0xe0, 0x5f, 0xa5, 0x4c,
];

extern "C" fn main() -> ! {
    let mut out = [0; 64];
    let mut drbg = CtrDrbg::<Aes256>::instantiate(&ENTROPY, b"").expect("48 bytes");
    for _ in 0..2 {
        drbg.generate(&mut out, b"").expect("64 bytes");
    }
    exit(usize::from(out != OUTPUT))
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    naked_asm!("call {}", sym main)
}

fn exit(status: usize) -> ! {
    const SYS_EXIT: usize = 60;
    // SAFETY: the call does not return.
    unsafe { asm!("syscall", in("rax") SYS_EXIT, in("rdi") status, options(noreturn)) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(2)
}

/// What the compiler expects of any system.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn memcpy() {
    naked_asm!("mov rax, rdi", "mov rcx, rdx", "rep movsb", "ret")
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn memset() {
    naked_asm!(
        "mov r8, rdi",
        "mov eax, esi",
        "mov rcx, rdx",
        "rep stosb",
        "mov rax, r8",
        "ret"
    )
}

/// Also `memcmp`, but for the sign.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn bcmp() {
    naked_asm!(
        "xor eax, eax",
        "mov rcx, rdx",
        "repe cmpsb",
        "setne al",
        "ret"
    )
}
