//! Launches of the kernels of `squall.cuda`: calls of NVIDIA's driver, whose functions Python has found. By ctypes a
//! launch would take three times as long.
//!
//! A key for ChaCha20 is put into a slot of memory that the GPU can read, and the kernel erases it there.

use std::ffi::{c_int, c_uint, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use squall::internal::{CACHED_SCHEDULE_LEN, cache_schedule, can_cache_schedules};
use zeroize::Zeroizing;

use crate::{no_randomness, stream};

/// The round keys of an AES-256 key (FIPS 197 section 5.2), as the kernels take them. Wiped when the object is freed.
#[pyclass(frozen, module = "squall._squall")]
pub struct RoundKeys(Box<Zeroizing<[u8; CACHED_SCHEDULE_LEN]>>);

#[pymethods]
impl RoundKeys {
    /// `key` is that of `squall.Stream`. The CPU's instructions expand it, without tables: RuntimeError if it has none.
    #[new]
    fn new(#[pyo3(from_py_with = stream::key)] key: Zeroizing<Vec<u8>>) -> PyResult<RoundKeys> {
        if !can_cache_schedules() {
            return Err(PyRuntimeError::new_err(
                "this CPU has no AES instructions: squall.cuda needs them for reproducible numbers",
            ));
        }
        // In a box, so that no copy is left where it was moved from.
        let mut schedule = Box::new(Zeroizing::new([0; CACHED_SCHEDULE_LEN]));
        let key = key.as_slice().try_into().expect("32 bytes");
        cache_schedule(key, &mut schedule);
        Ok(RoundKeys(schedule))
    }
}

/// A slot for a key, as `_cuda_kernels.cu` has it.
#[repr(C)]
struct Slot {
    key: [u8; 32],
    /// 1 until the kernel has erased the key.
    full: AtomicU32,
    padding: [u32; 7],
}

/// Words of a kernel's job, and those that are the slot's address and have its number.
const JOB_WORDS: usize = 8;
const SLOT_OF_JOB: usize = 6;
const NUMBER_OF_JOB: usize = 7;

/// The functions of cuda.h, in the order of `new`. All return 0, or the number of an error.
#[repr(C)]
struct Driver {
    get_current: unsafe extern "C" fn(*mut usize) -> c_int,
    push_current: unsafe extern "C" fn(usize) -> c_int,
    pop_current: unsafe extern "C" fn(*mut usize) -> c_int,
    synchronize: unsafe extern "C" fn() -> c_int,
    is_capturing: unsafe extern "C" fn(usize, *mut c_int) -> c_int,
    launch: Launch,
}

type Launch = unsafe extern "C" fn(
    function: usize,
    grid: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    threads: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    shared: c_uint,
    stream: usize,
    parameters: *mut *mut c_void,
    extra: *mut c_void,
) -> c_int;

/// Launches kernels on one GPU.
#[pyclass(frozen, module = "squall._squall")]
pub struct Launcher {
    driver: Driver,
    context: usize,
    slots: usize,
    count: usize,
    /// The number of the slot that is used next. Whoever has the lock uses a slot and launches.
    next: Mutex<usize>,
}

enum Failure {
    Driver(c_int),
    Captured,
    NoFreeSlot,
    NoRandomness(squall::Error),
}

fn copy_words(bytes: &[u8], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
}

fn checked(status: c_int) -> Result<(), Failure> {
    match status {
        0 => Ok(()),
        status => Err(Failure::Driver(status)),
    }
}

#[pymethods]
impl Launcher {
    /// `functions` are the addresses of cuCtxGetCurrent, cuCtxPushCurrent_v2, cuCtxPopCurrent_v2, cuCtxSynchronize,
    /// cuStreamIsCapturing and cuLaunchKernel; at `slots` there are `count` slots of zeros that stay until the process
    /// ends.
    #[new]
    fn new(functions: [usize; 6], context: usize, slots: usize, count: usize) -> Launcher {
        Launcher {
            // SAFETY: The caller promises that the addresses are those of the functions; `Driver` has the types of
            // cuda.h, where handles are pointers and CUdeviceptr and CUresult are integers.
            driver: unsafe { mem::transmute::<[usize; 6], Driver>(functions) },
            context,
            slots,
            count,
            next: Mutex::new(0),
        }
    }

    /// Launch a kernel with the parameter `job`, 64 bytes. `key` is a `RoundKeys`, which follows the job, 32 bytes for
    /// ChaCha20, or empty for a new random key.
    ///
    /// Return 0 or the number of the driver's error. Raise OSError without randomness, and RuntimeError if the stream
    /// is being captured, or captured graphs have all slots.
    #[expect(clippy::too_many_arguments, reason = "_cuda_driver.py names them")]
    fn launch(
        &self,
        py: Python<'_>,
        function: usize,
        grid: u32,
        threads: u32,
        shared: u32,
        stream: usize,
        job: &[u8],
        key: &Bound<'_, PyAny>,
    ) -> PyResult<c_int> {
        let wrong = || PyValueError::new_err("the job or the key has a wrong length");
        if job.len() != 8 * JOB_WORDS {
            return Err(wrong());
        }
        // Aligned as the kernels' parameters are.
        let mut parameter = Zeroizing::new([0; JOB_WORDS + CACHED_SCHEDULE_LEN / 8]);
        copy_words(job, &mut parameter[..JOB_WORDS]);
        let key = if let Ok(keys) = key.cast::<RoundKeys>() {
            copy_words(keys.get().0.as_slice(), &mut parameter[JOB_WORDS..]);
            None
        } else {
            Some(key.cast::<PyBytes>()?.as_bytes())
        };
        if key.is_some_and(|key| ![0, 32].contains(&key.len())) {
            return Err(wrong());
        }
        let launch = |parameter: &mut [u64]| {
            let mut parameters = [parameter.as_mut_ptr().cast()];
            // SAFETY: The driver reads as much of the parameter as the kernel has, which is no more than the array.
            checked(unsafe {
                (self.driver.launch)(
                    function,
                    grid,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    shared,
                    stream,
                    parameters.as_mut_ptr(),
                    ptr::null_mut(),
                )
            })
        };
        let launched = py.detach(|| {
            self.in_context(|| {
                self.refuse_capture(stream)?;
                match key {
                    None => launch(&mut *parameter),
                    Some(key) => self.with_key(key, &mut *parameter, launch),
                }
            })
        });
        match launched {
            Ok(()) => Ok(0),
            Err(Failure::Driver(status)) => Ok(status),
            Err(Failure::Captured) => Err(PyRuntimeError::new_err(
                "the stream is being captured: a replayed graph would repeat the numbers",
            )),
            Err(Failure::NoFreeSlot) => Err(PyRuntimeError::new_err(
                "graphs that were captured have all slots for keys, and each needs one until it runs",
            )),
            Err(Failure::NoRandomness(error)) => Err(no_randomness(error)),
        }
    }
}

impl Launcher {
    /// Calls `act` with the GPU's context as the thread's, which it is already for PyTorch's and CuPy's.
    fn in_context(&self, act: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let mut current = 0;
        // SAFETY: As in `new`; the driver writes a pointer.
        checked(unsafe { (self.driver.get_current)(&mut current) })?;
        if current == self.context {
            return act();
        }
        // SAFETY: As before.
        checked(unsafe { (self.driver.push_current)(self.context) })?;
        let result = act();
        // SAFETY: As before.
        checked(unsafe { (self.driver.pop_current)(&mut current) })?;
        result
    }

    /// A graph would repeat the numbers, also those of a key: a mask that is used twice hides nothing.
    fn refuse_capture(&self, stream: usize) -> Result<(), Failure> {
        let mut capturing = 0;
        // SAFETY: As in `new`; the driver writes an integer.
        checked(unsafe { (self.driver.is_capturing)(stream, &mut capturing) })?;
        match capturing {
            0 => Ok(()),
            _ => Err(Failure::Captured),
        }
    }

    fn slot(&self, number: usize) -> *mut Slot {
        (self.slots as *mut Slot).wrapping_add(number)
    }

    /// Whether a kernel has still to read this slot's key.
    fn is_full(&self, number: usize) -> bool {
        // SAFETY: The slot is there, by `new`, and aligned; only the GPU writes to this word without the lock, and
        // atomically.
        let full = unsafe { &(*self.slot(number)).full };
        full.load(Ordering::Acquire) != 0
    }

    /// The number of a slot without a key: this one, if it is empty once the GPU has done its work. A kernel that was
    /// captured after `refuse_capture` has not run, and keeps its slot.
    fn empty_slot(&self, next: usize) -> Result<usize, Failure> {
        if !self.is_full(next) {
            return Ok(next);
        }
        // SAFETY: As in `new`.
        checked(unsafe { (self.driver.synchronize)() })?;
        let mut numbers = (next..self.count).chain(0..next);
        numbers
            .find(|&number| !self.is_full(number))
            .ok_or(Failure::NoFreeSlot)
    }

    fn with_key(
        &self,
        key: &[u8],
        parameter: &mut [u64],
        launch: impl FnOnce(&mut [u64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.empty_slot(*next)?;
        let slot = self.slot(number);
        // SAFETY: As in `is_full`.
        let full = unsafe { &(*slot).full };
        *next = (number + 1) % self.count;
        // SAFETY: No kernel that was launched reads or writes the key any more, and others wait for the lock.
        let place = unsafe { &mut (*slot).key };
        let put = match key {
            [] => squall::try_fill(place).map_err(Failure::NoRandomness),
            _ => {
                place.copy_from_slice(key);
                Ok(())
            }
        };
        full.store(1, Ordering::Release);
        parameter[SLOT_OF_JOB] = slot as u64;
        parameter[NUMBER_OF_JOB] |= number as u64;
        let launched = put.and_then(|()| launch(parameter));
        if launched.is_err() {
            // Nobody will read it.
            place.fill(0);
            full.store(0, Ordering::Release);
        }
        launched
    }
}
