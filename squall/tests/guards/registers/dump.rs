//! Reads the registers right after a call.

use std::arch::asm;
use std::cell::{OnceCell, RefCell};

use crate::stack::{DEPTH, call, copy_stack, prepare_stack};

/// The registers that a function need not preserve.
#[repr(C, align(64))]
pub struct Registers {
    vectors: [[u8; 64]; 32],
    general: [u64; GENERAL],
}

/// General registers that a function need not preserve.
const GENERAL: usize = if cfg!(target_arch = "x86_64") { 9 } else { 19 };

/// What a function leaves behind.
pub struct Traces {
    pub registers: Registers,
    pub stack: Vec<u64>,
}

/// What `work` leaves in the registers and on the stack.
pub fn traces_after(work: impl FnMut()) -> Traces {
    let (work, registers) = (RefCell::new(work), OnceCell::new());
    let mut stack = vec![0; DEPTH];
    prepare_stack();
    call::with_clear_registers(&|| {
        let dump = registers_after(&mut *work.borrow_mut());
        assert!(registers.set(dump).is_ok());
    });
    copy_stack(&mut stack);
    Traces {
        registers: registers.into_inner().expect("they were stored"),
        stack,
    }
}

/// Calls `work` with registers and stack zeroed, and returns the registers as `work` left them.
///
/// The stack is zeroed because the unused bytes of a returned result carry along stack contents, and the
/// test itself has left keys there.
#[inline(never)]
pub fn registers_after(mut work: impl FnMut()) -> Registers {
    let mut registers = Registers {
        vectors: [[0; 64]; 32],
        general: [0; GENERAL],
    };
    let mut work: &mut dyn FnMut() = &mut work;
    prepare_stack();
    // SAFETY: `call` takes the argument; the instructions after it store within `registers`; everything that
    // a call and they overwrite is declared. v8 to v15 are zeroed too: `call` preserves their low halves,
    // which would otherwise be this function's.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "movi v\\n\\().2d, #0",
            ".endr",
            ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "movi v\\n\\().2d, #0",
            ".endr",
            ".irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18",
            "mov x\\n, #0",
            ".endr",
            "bl {call}",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            "str q\\n, [x20, #64 * \\n]",
            ".endr",
            ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
            "str q\\n, [x20, #64 * \\n]",
            ".endr",
            ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18",
            "str x\\n, [x20, #2048 + 8 * \\n]",
            ".endr",
            call = sym call,
            in("x20") &raw mut registers,
            in("x0") &raw mut work,
            clobber_abi("C"),
        );
    }
    // SAFETY: `call` takes the argument; the instructions after it exist on this CPU and store
    // within `registers`; everything that a call and they overwrite is declared.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if is_x86_feature_detected!("avx512f") {
            call_and_store!(
                &mut work, &mut registers, "vpxord", "vmovdqu64", "zmm",
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
                16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            );
        } else if is_x86_feature_detected!("avx") {
            call_and_store!(
                &mut work, &mut registers, "vxorpd", "vmovdqu", "ymm",
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            );
        } else {
            call_and_store!(
                &mut work, &mut registers, "pxor", "movdqu", "xmm",
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            );
        }
    }
    registers
}

extern "C" fn call(work: &mut &mut dyn FnMut()) {
    work();
}

/// The instruction that zeroes a register.
#[cfg(target_arch = "x86_64")]
macro_rules! zero {
    ("pxor", $kind:literal, $number:literal) => {
        concat!("pxor ", $kind, $number, ", ", $kind, $number)
    };
    ($clear:tt, $kind:literal, $number:literal) => {
        concat!(
            $clear, " ", $kind, $number, ", ", $kind, $number, ", ", $kind, $number
        )
    };
}
#[cfg(target_arch = "x86_64")]
use zero;

#[cfg(target_arch = "x86_64")]
macro_rules! call_and_store {
    ($work:expr, $registers:expr, $clear:tt, $store:literal, $kind:literal, $($number:literal)*) => {
        asm!(
            $(zero!($clear, $kind, $number),)*
            "xor eax, eax", "xor ecx, ecx", "xor edx, edx", "xor esi, esi",
            "xor r8d, r8d", "xor r9d, r9d", "xor r10d, r10d", "xor r11d, r11d",
            "call {call}",
            $(concat!($store, " [r12 + 64 * ", $number, "], ", $kind, $number),)*
            "mov [r12 + 2048], rax",
            "mov [r12 + 2056], rcx",
            "mov [r12 + 2064], rdx",
            "mov [r12 + 2072], rsi",
            "mov [r12 + 2080], rdi",
            "mov [r12 + 2088], r8",
            "mov [r12 + 2096], r9",
            "mov [r12 + 2104], r10",
            "mov [r12 + 2112], r11",
            call = sym call,
            in("r12") $registers as *mut Registers,
            in("rdi") $work as *mut &mut dyn FnMut(),
            clobber_abi("C"),
        )
    };
}
#[cfg(target_arch = "x86_64")]
use call_and_store;

impl Registers {
    /// The different contents of 128 bits, without zeros.
    pub fn lanes(&self) -> Vec<u128> {
        let lanes = self.vectors.as_flattened().as_chunks().0;
        let mut lanes: Vec<u128> = lanes
            .iter()
            .map(|&lane| u128::from_ne_bytes(lane))
            .collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes.retain(|&lane| lane != 0);
        lanes
    }

    /// Everything as words of 64 bits.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        let words = self.vectors.as_flattened().as_chunks().0;
        let words = words.iter().map(|&word| u64::from_ne_bytes(word));
        words.chain(self.general)
    }
}
