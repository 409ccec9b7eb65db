//! Finds a function in the vDSO's ELF image, without the dynamic linker.
//!
//! Static programs have no linker to ask, and `dlsym` is not safe in a signal handler. The image
//! is the kernel's own and trusted to be well formed (System V ABI, chapter 5; the GNU hash table
//! as laid out by binutils).

use core::ffi::{CStr, c_char};

use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Sym};

/// Whether names of functions in this CPU's vDSO begin with `__vdso_`, rather than `__kernel_` (vdso(7)).
pub(super) const IS_VDSO_PREFIXED: bool = cfg!(any(
    target_arch = "x86_64",
    target_arch = "riscv64",
    target_arch = "loongarch64"
));

const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

#[repr(C)]
struct Dyn {
    tag: i64,
    value: u64,
}

/// The dynamic tables of an image, as run-time addresses; 0 where absent.
#[derive(Default)]
struct Tables {
    /// What is added to an address in the image.
    bias: usize,
    strings: usize,
    symbols: usize,
    hash: usize,
    gnu_hash: usize,
}

/// The run-time address of the defined symbol `name` in the image at `base`.
///
/// # Safety
/// `base` is the address of an ELF image that the kernel mapped whole, as AT_SYSINFO_EHDR gives.
pub(super) unsafe fn symbol(base: usize, name: &CStr) -> Option<usize> {
    // SAFETY: the caller vouches for the image; its tables say where symbols are.
    unsafe {
        let tables = tables(base)?;
        if tables.symbols == 0 || tables.strings == 0 {
            return None;
        }
        (1..symbol_count(&tables)).find_map(|index| {
            let symbol = &*(tables.symbols as *const Elf64_Sym).add(index);
            let found = CStr::from_ptr((tables.strings + symbol.st_name as usize) as *const c_char);
            let defined = symbol.st_shndx != 0;
            (defined && found == name).then(|| tables.bias.wrapping_add(symbol.st_value as usize))
        })
    }
}

/// # Safety
/// As of [`symbol`].
unsafe fn tables(base: usize) -> Option<Tables> {
    // SAFETY: the caller vouches for the image; the headers say where its parts are, and a null tag ends
    // the dynamic section.
    unsafe {
        let header = &*(base as *const Elf64_Ehdr);
        let segments = core::slice::from_raw_parts(
            (base + header.e_phoff as usize) as *const Elf64_Phdr,
            usize::from(header.e_phnum),
        );
        let first = |kind| segments.iter().find(|segment| segment.p_type == kind);
        let (load, dynamic) = (first(libc::PT_LOAD)?, first(libc::PT_DYNAMIC)?);
        let bias = (base + load.p_offset as usize).wrapping_sub(load.p_vaddr as usize);
        let mut tables = Tables {
            bias,
            ..Tables::default()
        };
        let mut entry = bias.wrapping_add(dynamic.p_vaddr as usize) as *const Dyn;
        while (*entry).tag != 0 {
            let address = bias.wrapping_add((*entry).value as usize);
            match (*entry).tag {
                DT_STRTAB => tables.strings = address,
                DT_SYMTAB => tables.symbols = address,
                DT_HASH => tables.hash = address,
                DT_GNU_HASH => tables.gnu_hash = address,
                _ => {}
            }
            entry = entry.add(1);
        }
        Some(tables)
    }
}

/// The number of dynamic symbols, which only the hash tables give.
///
/// # Safety
/// `tables` were read from a well-formed image.
unsafe fn symbol_count(tables: &Tables) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        if tables.hash != 0 {
            return *(tables.hash as *const u32).add(1) as usize;
        }
        if tables.gnu_hash != 0 {
            return gnu_symbol_count(tables.gnu_hash as *const u32);
        }
    }
    0
}

/// # Safety
/// `table` is a well-formed GNU hash table.
unsafe fn gnu_symbol_count(table: *const u32) -> usize {
    // SAFETY: the header gives the sizes of the parts behind it; a chain ends at an odd word.
    unsafe {
        let [bucket_count, first_symbol, bloom_words] =
            [*table, *table.add(1), *table.add(2)].map(|word| word as usize);
        let buckets = table.add(4 + 2 * bloom_words);
        let chains = buckets.add(bucket_count);
        let last_bucket = (0..bucket_count)
            .map(|i| *buckets.add(i) as usize)
            .max()
            .unwrap_or(0);
        if last_bucket < first_symbol {
            return first_symbol;
        }
        let mut symbol = last_bucket;
        while *chains.add(symbol - first_symbol) & 1 == 0 {
            symbol += 1;
        }
        symbol + 1
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// The vDSO's address; `None` if the kernel has mapped none.
    fn vdso() -> Option<usize> {
        // SAFETY: getauxval has no preconditions.
        let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").expect("this process's mappings");
        assert_eq!(base != 0, maps.contains("[vdso]"));
        (base != 0).then_some(base)
    }

    #[test]
    fn finds_what_every_vdso_has() {
        let Some(base) = vdso() else {
            return;
        };
        let name = if IS_VDSO_PREFIXED {
            c"__vdso_clock_gettime"
        } else {
            c"__kernel_clock_gettime"
        };
        // SAFETY: the kernel gave the address.
        let address = unsafe { symbol(base, name) }.expect("every vDSO has clock_gettime");
        assert!(address > base && address < base + 0x10000);
        // SAFETY: as above.
        assert_eq!(unsafe { symbol(base, c"__vdso_no_such_function") }, None);
    }

    #[test]
    fn both_hash_tables_count_the_same_symbols() {
        let Some(base) = vdso() else {
            return;
        };
        // SAFETY: the kernel gave the address of a whole image.
        unsafe {
            let tables = tables(base).unwrap();
            // Some kernels' vDSO has one of them only.
            if tables.hash == 0 || tables.gnu_hash == 0 {
                return assert_ne!(tables.hash, tables.gnu_hash);
            }
            let only_gnu = Tables { hash: 0, ..tables };
            let only_hash = Tables {
                gnu_hash: 0,
                ..tables
            };
            assert_eq!(symbol_count(&only_hash), symbol_count(&only_gnu));
        }
    }

    #[test]
    fn a_table_without_symbols_counts_those_before_its_first() {
        // One empty bucket, the first symbol's number, and one word of the bloom filter, which has 64 bits.
        let table = [1, 5, 1, 0, 0, 0, 0u32];
        // SAFETY: the table is well formed.
        assert_eq!(unsafe { gnu_symbol_count(table.as_ptr()) }, 5);
    }
}
