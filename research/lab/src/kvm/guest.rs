//! What the guests run: programs in real mode, and where they have what in their memory.
//!
//! A guest has two CPUs. Their records of kvm-clock are 64 bytes apart, as in Linux. What `%fs` points to is the CPU's own:
//! the address of its record, by which a program knows its CPU, and the place in the ring at which the program halts. A
//! program takes numbers (`%edx`), and publishes lines of 16 bytes in the ring at `%es:%di`.

#![allow(unsafe_code)]

use std::arch::global_asm;

/// Bytes of memory.
pub const LEN: usize = 0x30000;

/// Where the programs are.
pub const CODE: u64 = 0x1000;

/// The page with the records, each of which begins with its version.
pub const RECORDS: u64 = 0x3000;

/// Bytes of a line.
pub const LINE: u16 = 16;

/// Lines of a ring that are never overwritten before the program halts: `%di` has 16 bits.
pub const LINES: u16 = u16::MAX / LINE;

/// The address of a CPU's record.
pub fn record(cpu: usize) -> u64 {
    RECORDS + 64 * cpu as u64
}

/// The base of a CPU's `%fs`.
pub fn own(cpu: usize) -> u64 {
    0x5000 + 16 * cpu as u64
}

/// The base of a ring.
pub fn ring(cpu: usize) -> u64 {
    0x10000 + 0x10000 * cpu as u64
}

global_asm!(
    ".pushsection .rodata",
    ".code16",
    // Other parts of the crate may be other object files.
    ".globl squall_kvm_code",
    ".globl squall_kvm_looker",
    ".globl squall_kvm_look",
    ".globl squall_kvm_line_end",
    ".globl squall_kvm_reader",
    ".globl squall_kvm_early_reader",
    ".globl squall_kvm_early_take",
    ".globl squall_kvm_end",
    "squall_kvm_code:",
    // Ends a line, and goes on with `again`, after a halt if it was the last one.
    ".macro squall_kvm_next again",
    "    add di, 16",
    "    cmp di, fs:[2]",
    "    jne \\again",
    "    hlt",
    "    jmp \\again",
    ".endm",
    // Publishes the number with the seed (%ebp) if the record at %bx is as remembered. Otherwise remembers all records and
    // then takes a new seed.
    ".macro squall_kvm_compare again",
    "    mov eax, [bx]",
    "    cmp eax, [bx + 0x1000]",
    "    jne 2f",
    "    mov es:[di], edx",
    "    mov es:[di + 4], ebp",
    "    squall_kvm_next \\again",
    "2:  mov eax, [0x3000]",
    "    mov [0x4000], eax",
    "    mov eax, [0x3040]",
    "    mov [0x4040], eax",
    "    inc ebp",
    "    jmp \\again",
    ".endm",
    "squall_kvm_looker:",
    "    inc edx",
    "squall_kvm_look:",
    "    mov eax, [bp]",
    "    mov ecx, [si]",
    "    mov es:[di], edx",
    "    mov es:[di + 4], eax",
    "    mov es:[di + 8], ecx",
    "squall_kvm_line_end:",
    "    squall_kvm_next squall_kvm_looker",
    "squall_kvm_reader:",
    "    inc edx",
    "    mov bx, fs:[0]",
    "    squall_kvm_compare squall_kvm_reader",
    "squall_kvm_early_reader:",
    "    mov bx, fs:[0]",
    "squall_kvm_early_take:",
    "    inc edx",
    "    squall_kvm_compare squall_kvm_early_reader",
    "squall_kvm_end:",
    ".code64",
    ".popsection",
);

/// Names the addresses that instructions have in a guest.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident: $label:ident,)*) => {
        unsafe extern "C" {
            $(safe static $label: u8;)*
        }
        $($(#[$doc])* pub fn $name() -> u64 {
            CODE + (&raw const $label).addr() as u64 - (&raw const squall_kvm_code).addr() as u64
        })*
    };
}

unsafe extern "C" {
    safe static squall_kvm_code: u8;
}

instructions! {
    /// Looks at the record at `%bp` and then at that at `%si`, and publishes both versions.
    looker: squall_kvm_looker,
    /// The first look.
    look: squall_kvm_look,
    /// The end of a line of [`looker`].
    line_end: squall_kvm_line_end,
    /// Takes a number, reads the CPU's number, compares that CPU's record, publishes the number with its seed.
    reader: squall_kvm_reader,
    /// Reads the CPU's number before it takes a number.
    early_reader: squall_kvm_early_reader,
    /// Its second instruction, which takes the number.
    early_take: squall_kvm_early_take,
    /// Where the programs end.
    end: squall_kvm_end,
}

/// The programs.
pub fn programs() -> &'static [u8] {
    let len = (end() - CODE) as usize;
    // SAFETY: the assembler put so many bytes between the labels, in a section that is never written.
    unsafe { std::slice::from_raw_parts(&raw const squall_kvm_code, len) }
}
