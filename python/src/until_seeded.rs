//! Random numbers from squall until the program seeds, and then from the stock generator: CPython's or NumPy's own.
//!
//! [`FunctionsUntilSeeded`] is for Python's `random`, [`WordsUntilSeeded`] for a bit generator of NumPy. The flag
//! `uses_stock`, which the package's Python code sets, says which of the two generators is next.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError};
use pyo3::ffi::{self, Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use squall::internal::{count_of_forks, watch_forks};

use crate::bit_generator::{Interface, Words, connect, interface_of};
use crate::integers;
use crate::seeded::State;

/// The functions `random` and `getrandbits` of the module `random`.
#[pyclass(frozen, module = "squall._random_defaults")]
pub struct FunctionsUntilSeeded {
    uses_stock: AtomicBool,
    random: Py<PyAny>,
    getrandbits: Py<PyAny>,
}

#[pymethods]
impl FunctionsUntilSeeded {
    /// `random` and `getrandbits` are the stock generator's methods. At first, numbers are the stock generator's.
    #[new]
    fn new(random: Py<PyAny>, getrandbits: Py<PyAny>) -> Self {
        let uses_stock = AtomicBool::new(true);
        FunctionsUntilSeeded {
            uses_stock,
            random,
            getrandbits,
        }
    }

    #[getter]
    fn uses_stock(&self) -> bool {
        self.uses_stock.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_uses_stock(&self, uses_stock: bool) {
        self.uses_stock.store(uses_stock, Ordering::Relaxed);
    }

    #[getter]
    fn random<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        RANDOM.bind(this)
    }

    #[getter]
    fn getrandbits<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        GETRANDBITS.bind(this)
    }

    /// As the generator is pickled whose methods the stock functions are.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let generator = self.random.bind(py).getattr("__self__")?;
        generator.call_method0("__reduce__")
    }
}

/// A method in the form of CPython's C interface. A call takes ten nanoseconds less than one through PyO3.
struct Method(ffi::PyMethodDef);

// SAFETY: names and a function, which nobody changes.
unsafe impl Sync for Method {}

/// METH_FASTCALL, because Python calls such a function faster than one of METH_NOARGS, which the stock function is.
static RANDOM: Method = Method(ffi::PyMethodDef {
    ml_name: c"random".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer {
        PyCFunctionFast: random,
    },
    ml_flags: ffi::METH_FASTCALL,
    ml_doc: c"random($self, /)\n--\n\nrandom() -> x in the interval [0, 1).".as_ptr(),
});

static GETRANDBITS: Method = Method(ffi::PyMethodDef {
    ml_name: c"getrandbits".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer {
        PyCFunction: getrandbits,
    },
    ml_flags: ffi::METH_O,
    ml_doc: c"getrandbits($self, k, /)\n--\n\ngetrandbits(k) -> x.  Generates an int with k random bits."
        .as_ptr(),
});

impl Method {
    fn bind<'py>(
        &'static self,
        this: &Bound<'py, FunctionsUntilSeeded>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let method = (&raw const self.0).cast_mut();
        // SAFETY: the method lives for ever, Python only reads it, and the function takes what its flags say.
        unsafe {
            let bound = ffi::PyCFunction_NewEx(method, this.as_ptr(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(this.py(), bound)
        }
    }
}

/// The object that a method is bound to.
///
/// # Safety
/// `Method::bind` has bound it to `this`, and Python calls it.
unsafe fn bound_to<'a>(this: *mut PyObject) -> (Python<'a>, &'a FunctionsUntilSeeded) {
    // SAFETY: Python has the GIL, and keeps the object during the call.
    unsafe {
        let py = Python::assume_attached();
        let this = Borrowed::from_ptr(py, this);
        (py, this.cast_unchecked::<FunctionsUntilSeeded>().get())
    }
}

/// A result as Python takes it from C.
fn returned(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> *mut PyObject {
    result.map_or_else(
        |error| {
            error.restore(py);
            ptr::null_mut()
        },
        Bound::into_ptr,
    )
}

unsafe extern "C" fn random(
    this: *mut PyObject,
    _: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: Python calls it.
    let (py, this) = unsafe { bound_to(this) };
    if count != 0 {
        let error = PyTypeError::new_err(format!("random() takes no arguments ({count} given)"));
        return returned(py, Err(error));
    }
    if this.uses_stock() {
        // SAFETY: a method without arguments.
        return unsafe { ffi::PyObject_CallNoArgs(this.random.as_ptr()) };
    }
    match integers::random() {
        // SAFETY: with the GIL.
        Ok(number) => unsafe { ffi::PyFloat_FromDouble(number) },
        Err(error) => returned(py, Err(error)),
    }
}

unsafe extern "C" fn getrandbits(this: *mut PyObject, k: *mut PyObject) -> *mut PyObject {
    // SAFETY: Python calls it.
    let (py, this) = unsafe { bound_to(this) };
    // SAFETY: Python keeps the argument during the call.
    let k = unsafe { Borrowed::from_ptr(py, k) };
    returned(py, this.getrandbits_of(py, &k))
}

/// The largest `int` of C.
const MAX_INT: isize = i32::MAX as isize;

impl FunctionsUntilSeeded {
    fn getrandbits_of<'py>(
        &self,
        py: Python<'py>,
        k: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stock = self.getrandbits.bind(py);
        if self.uses_stock() {
            return stock.call1((k,));
        }
        match k.extract::<isize>() {
            Err(error) if !error.is_instance_of::<PyOverflowError>(py) => Err(error),
            Ok(bits @ 0..=MAX_INT) => integers::getrandbits(py, bits),
            Ok(bits @ 0..) if !self.takes_int(py) => integers::getrandbits(py, bits),
            // It raises its error.
            _ => stock.call1((k,)),
        }
    }

    /// Whether the stock function takes an `int` of C, and so no more than `MAX_INT` bits. CPython 3.14 no longer does,
    /// nor do some versions before. There is never memory for the number of bits that this asks for.
    fn takes_int(&self, py: Python<'_>) -> bool {
        let error = self.getrandbits.bind(py).call1((1u64 << 63,)).err();
        error.is_some_and(|error| error.is_instance_of::<PyOverflowError>(py))
    }
}

/// How many words of a call are drawn one by one. A key for the rest of the call takes as much time.
const MAX_SINGLE_WORDS: usize = 16;

/// What a bit generator draws from: the stock generator, squall, or in a long call a key of squall's.
struct BitGeneratorWords {
    stock: Interface,
    uses_stock: bool,
    /// How many calls of NumPy are under way, one inside another. A program that holds the lock counts as a call too.
    open_calls: usize,
    /// How many words were drawn one by one, at most `MAX_SINGLE_WORDS`, since a call last began or ended.
    single_words: usize,
    /// The count of forks at that time.
    forks: u32,
    /// Whether a call may have drawn more than one word of squall, so that NumPy may have kept a number of it.
    drew_several: bool,
    /// The words of the rest of a long call, under a key of its own. Between calls it is empty. It also stays empty
    /// for code that draws without the lock, as Numba does, because nothing would say when to erase the rest.
    rest: State,
}

impl BitGeneratorWords {
    /// Erases the key when a call begins or ends, also one inside another.
    fn end_key(&mut self) {
        let forks = count_of_forks();
        let is_child = self.forks != forks && !self.uses_stock;
        self.drew_several |= self.single_words > 1 || is_child;
        if self.rest.has_key() {
            self.rest.forget();
        }
        self.single_words = 0;
        self.forks = forks;
    }

    /// The next value: `of` a word of squall, or by `stock` from the stock generator. `rest` comes first, because it
    /// has words only in a long call. After a fork in that call, they are the parent's.
    #[inline]
    fn word<T>(&mut self, of: impl FnOnce(u64) -> T, stock: impl FnOnce(Interface) -> T) -> T {
        if self.forks == count_of_forks()
            && let Some(word) = self.rest.take()
        {
            of(word)
        } else if self.uses_stock {
            stock(self.stock)
        } else {
            of(self.word_slowly())
        }
    }

    /// After a fork it changes nothing until the next call: the lock may be held by a thread that this process does
    /// not have, and several threads may draw without it.
    #[cold]
    fn word_slowly(&mut self) -> u64 {
        if self.open_calls > 0 && self.forks == count_of_forks() {
            let has_key = self.rest.has_key()
                || self.single_words == MAX_SINGLE_WORDS && self.rest.draw_key().is_ok();
            if has_key {
                return self.rest.next_u64();
            }
            self.single_words = MAX_SINGLE_WORDS.min(self.single_words + 1);
        }
        // Ends the process without a source of randomness.
        squall::u64()
    }
}

impl Words for BitGeneratorWords {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.word(|word| word, |stock| (stock.next_uint64)(stock.state))
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        self.word(|word| word as u32, |stock| (stock.next_uint32)(stock.state))
    }

    #[inline]
    fn next_f64(&mut self) -> f64 {
        self.word(integers::uniform, |stock| (stock.next_double)(stock.state))
    }

    #[inline]
    fn next_raw(&mut self) -> u64 {
        self.word(|word| word, |stock| (stock.next_raw)(stock.state))
    }
}

/// The words of a bit generator of NumPy, and the lock that NumPy holds while it draws them. At the end of a call,
/// also of one that a program makes while it holds the lock, the remaining words are erased, because a clone could
/// return them too.
#[pyclass(frozen, module = "squall._squall")]
pub struct WordsUntilSeeded {
    words: Box<UnsafeCell<BitGeneratorWords>>,
    /// The thread whose calls are under way; 0 if none are.
    caller: AtomicU64,
    /// The methods of an RLock.
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    lock: Py<PyAny>,
    /// Called at the end of a call that drew more than one word: clears the number that NumPy has kept of it.
    forget: Option<Py<PyAny>>,
}

// SAFETY: threads call methods and draw words only while they hold the lock.
unsafe impl Sync for WordsUntilSeeded {}

impl WordsUntilSeeded {
    #[expect(clippy::mut_from_ref, reason = "the lock makes it the only one")]
    fn words(&self) -> &mut BitGeneratorWords {
        // SAFETY: the caller is a method, and holds the lock.
        unsafe { &mut *self.words.get() }
    }
}

/// The number of this thread, which is not 0.
fn this_thread() -> u64 {
    // SAFETY: it has no preconditions.
    unsafe { ffi::PyThread_get_thread_ident() }
}

#[pymethods]
impl WordsUntilSeeded {
    /// Replaces the functions of the bit generator in this capsule. `lock` is an RLock.
    #[new]
    fn new<'py>(
        capsule: &Bound<'py, PyCapsule>,
        lock: &Bound<'py, PyAny>,
        forget: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        watch_forks()?;
        let words = BitGeneratorWords {
            stock: interface_of(capsule)?,
            uses_stock: false,
            open_calls: 0,
            single_words: 0,
            forks: count_of_forks(),
            drew_several: false,
            rest: State::empty(),
        };
        let this = WordsUntilSeeded {
            words: Box::new(UnsafeCell::new(words)),
            caller: AtomicU64::new(0),
            acquire: lock.getattr("acquire")?.unbind(),
            release: lock.getattr("release")?.unbind(),
            lock: lock.clone().unbind(),
            forget,
        };
        let owner = Bound::new(capsule.py(), this)?;
        // SAFETY: the words stay in their box as long as the owner lives.
        unsafe { connect(capsule, owner.get().words.get(), owner.clone().into_any())? };
        Ok(owner)
    }

    /// Whether the next words are the stock generator's.
    #[getter]
    fn uses_stock(&self) -> bool {
        self.words().uses_stock
    }

    #[setter]
    fn set_uses_stock(&self, uses_stock: bool) {
        let words = self.words();
        // For a seed in the middle of a call, by the thread that holds the lock.
        words.end_key();
        words.drew_several = false;
        words.uses_stock = uses_stock;
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        self.acquire.bind(py).call0()?;
        self.caller.store(this_thread(), Ordering::Relaxed);
        let words = self.words();
        words.end_key();
        words.open_calls += 1;
        Ok(())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        if self.caller.load(Ordering::Relaxed) != this_thread() {
            return Err(PyRuntimeError::new_err(
                "this thread has not entered the lock: leave it once for each time",
            ));
        }
        let words = self.words();
        words.open_calls -= 1;
        if words.open_calls == 0 {
            self.caller.store(0, Ordering::Relaxed);
        }
        words.end_key();
        let mut forgotten = Ok(());
        if core::mem::take(&mut words.drew_several)
            && let Some(forget) = &self.forget
        {
            forgotten = forget.bind(py).call0().map(drop);
            if forgotten.is_err() {
                // A signal handler may have raised an exception before anything was cleared.
                let _ = forget.bind(py).call0();
            }
        }
        self.release.bind(py).call0()?;
        forgotten
    }

    /// The other methods of the lock.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).getattr(name)
    }
}
