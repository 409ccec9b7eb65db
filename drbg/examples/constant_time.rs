//! Constant time, checked by valgrind: memcheck reports every conditional jump and every address that depends on bytes
//! which are declared undefined (A. Langley's ctgrind, 2010). Here these are keys, seeds, input and what is made of them.
//!
//! `scripts/sanitize.sh constant_time` runs it on optimised code.

#[cfg(target_arch = "x86_64")]
fn main() -> std::process::ExitCode {
    check::all()
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    unimplemented!("valgrind's requests are written for x86-64");
}

#[cfg(target_arch = "x86_64")]
mod check {
    use std::hint::black_box;
    use std::process::ExitCode;

    use squall_drbg::internal::{
        BLOCK, CACHED_SCHEDULE_LEN, cache_schedule, can_cache_schedules, xor_keystream,
    };
    use squall_drbg::testing::Width;
    use squall_drbg::{
        Aes128, Aes256, Cipher, CtrDrbg, CtrDrbgDf, Engine, FastKeyErasure, Keystream, Stores,
    };

    /// Lengths that take every batch of every engine, and end within a block.
    const LENGTHS: [usize; 9] = [1, 16, 17, 64, 100, 255, 512, 1500, 5000];

    pub fn all() -> ExitCode {
        assert!(request(RUNNING_ON_VALGRIND, &[]) != 0, "run it by valgrind");
        let mut held = true;
        held &= reports("control: a branch on a byte of the key", branch_on) != 0;
        held &= reports("control: a table's entry by a byte of the key", look_up) != 0;
        for engine in Engine::ALL {
            if !engine.is_available() {
                println!(
                    "{engine}: skipped: the CPU that valgrind emulates lacks its instructions"
                );
            } else if engine.is_aes() {
                held &= reports(&format!("{engine}, AES-128"), |_| aes::<Aes128>(engine)) == 0;
                held &= reports(&format!("{engine}, AES-256"), |_| aes::<Aes256>(engine)) == 0;
            }
        }
        for &width in Width::ALL {
            if width.is_available() {
                held &= reports(&format!("ChaCha20, {width:?}"), |key| chacha20(width, key)) == 0;
            } else {
                println!("ChaCha20, {width:?}: skipped, as above");
            }
        }
        held &= reports("ChaCha20 with fast key erasure", fast_key_erasure) == 0;
        assert!(can_cache_schedules(), "valgrind has AES-NI");
        held &= reports("a cached schedule", cached_schedule) == 0;
        if held {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    /// How many errors memcheck reports about `work` on an undefined key.
    fn reports(name: &str, work: impl FnOnce(&[u8; 32])) -> usize {
        let before = request(COUNT_ERRORS, &[]);
        work(&undefined());
        let reports = request(COUNT_ERRORS, &[]) - before;
        println!("{name}: {reports} reports");
        reports
    }

    fn branch_on(key: &[u8; 32]) {
        if key[7] == 42 {
            println!("a key begins with 42");
        }
    }

    fn look_up(key: &[u8; 32]) {
        black_box(black_box(&[1u8; 256])[usize::from(key[7])]);
    }

    /// The keystream and CTR_DRBG on an engine.
    fn aes<C: Cipher>(engine: Engine) {
        let mut key = C::Key::default();
        undefine(key.as_mut());
        let keystream = Keystream::<C>::new(&key, engine).unwrap();
        for stores in [Stores::Cached, Stores::Streaming] {
            for len in LENGTHS {
                let mut out = vec![0; len];
                keystream.fill(u128::from(u64::MAX) - 2, &mut out, stores);
                assert_undefined(&out);
            }
        }
        let [seed, input] = &[undefined::<48>(), undefined()];
        let [seed, input] = [seed, input].map(|bytes| &bytes[..C::SEED_LEN]);
        let mut drbg = CtrDrbg::<C>::instantiate_on(engine, seed, input).unwrap();
        for len in LENGTHS {
            let mut out = vec![0; len];
            drbg.generate(&mut out, b"").unwrap();
            assert_undefined(&out);
            drbg.reseed(seed, input).unwrap();
            drbg.generate(&mut out, input).unwrap();
            assert_undefined(&out);
        }
        let mut drbg = CtrDrbgDf::<C>::instantiate_on(engine, seed, input, input).unwrap();
        for len in LENGTHS {
            let mut out = vec![0; len];
            drbg.generate(&mut out, input).unwrap();
            drbg.reseed(seed, &input[..5]).unwrap();
            assert_undefined(&out);
        }
    }

    fn chacha20(width: Width, key: &[u8; 32]) {
        for len in LENGTHS {
            let mut out = vec![0; len];
            width.keystream(key, &undefined(), 7, &mut out);
            assert_undefined(&out);
        }
    }

    fn fast_key_erasure(key: &[u8; 32]) {
        let mut generator = FastKeyErasure::new(key);
        for len in LENGTHS {
            let mut out = vec![0; len];
            generator.generate(&mut out, b"").unwrap();
            assert_undefined(&out);
            generator.reseed(&undefined());
            generator.generate(&mut out, &undefined::<32>()).unwrap();
            assert_undefined(&out);
        }
    }

    fn cached_schedule(key: &[u8; 32]) {
        let mut schedule = [0; CACHED_SCHEDULE_LEN];
        cache_schedule(key, &mut schedule);
        for len in 1..=8 * BLOCK {
            let mut out = vec![0; len];
            xor_keystream(&schedule, 7, &mut out);
            assert_undefined(&out);
        }
    }

    fn undefined<const N: usize>() -> [u8; N] {
        let mut bytes = [0; N];
        undefine(&mut bytes);
        bytes
    }

    fn undefine(bytes: &mut [u8]) {
        request(
            MAKE_MEM_UNDEFINED,
            &[bytes.as_mut_ptr() as usize, bytes.len()],
        );
    }

    /// Every byte comes of the key: otherwise the check would have seen nothing of its way.
    fn assert_undefined(bytes: &[u8]) {
        let mut validity = vec![0u8; bytes.len()];
        let at = [
            bytes.as_ptr() as usize,
            validity.as_mut_ptr() as usize,
            bytes.len(),
        ];
        assert_eq!(request(GET_VBITS, &at), 1);
        assert!(validity.iter().all(|&bits| bits == 0xff));
    }

    // valgrind.h and memcheck.h.
    const RUNNING_ON_VALGRIND: usize = 0x1001;
    const COUNT_ERRORS: usize = 0x1201;
    const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
    const MAKE_MEM_UNDEFINED: usize = MEMCHECK + 1;
    const GET_VBITS: usize = MEMCHECK + 8;

    /// Asks valgrind; 0 if it does not run this program.
    fn request(what: usize, arguments: &[usize]) -> usize {
        let mut request = [what, 0, 0, 0, 0, 0];
        request[1..][..arguments.len()].copy_from_slice(arguments);
        let answer;
        // SAFETY: the instructions do nothing, and valgrind takes them for a request (VALGRIND_DO_CLIENT_REQUEST_EXPR).
        // It writes no more than the validity bits, which the caller lends.
        unsafe {
            std::arch::asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                in("rax") &request,
                inlateout("rdx") 0usize => answer,
                options(nostack),
            );
        }
        answer
    }
}
