//! What programs draw from by default: squall until they seed, and then the stock generator.
//!
//! [`UntilSeeded`] is for Python's `random`, [`WordsUntilSeeded`] for a bit generator of NumPy. Both know by a flag,
//! `stock`, whose numbers are next; Python sets it.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::bit_generator::{Interface, Words, connect, interface_of};
use crate::integers;
use crate::seeded::State;

/// The functions `random` and `getrandbits` of the module `random`.
#[pyclass(frozen, module = "squall._defaults")]
pub struct UntilSeeded {
    stock: AtomicBool,
    random: Py<PyAny>,
    getrandbits: Py<PyAny>,
}

#[pymethods]
impl UntilSeeded {
    /// For the stock generator that has these methods, whose numbers it gives at first.
    #[new]
    fn new(random: Py<PyAny>, getrandbits: Py<PyAny>) -> Self {
        let stock = AtomicBool::new(true);
        UntilSeeded {
            stock,
            random,
            getrandbits,
        }
    }

    #[getter]
    fn stock(&self) -> bool {
        self.stock.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_stock(&self, stock: bool) {
        self.stock.store(stock, Ordering::Relaxed);
    }

    #[getter]
    fn random<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        RANDOM.bind(this)
    }

    #[getter]
    fn getrandbits<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        GETRANDBITS.bind(this)
    }

    /// Pickled, the functions are those of the process that unpickles them.
    fn __reduce__(&self) -> &'static str {
        "until_seeded"
    }
}

/// A method as Python has those that are written in C: a call takes ten nanoseconds less than one by way of PyO3.
struct Method(ffi::PyMethodDef);

// SAFETY: names and a function, which nobody changes.
unsafe impl Sync for Method {}

/// Python calls a function of this kind faster than one without arguments (METH_NOARGS), which the stock one is.
static RANDOM: Method = Method(ffi::PyMethodDef {
    ml_name: c"random".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer {
        PyCFunctionFast: random,
    },
    ml_flags: ffi::METH_FASTCALL,
    ml_doc: c"random() -> x in the interval [0, 1).".as_ptr(),
});

static GETRANDBITS: Method = Method(ffi::PyMethodDef {
    ml_name: c"getrandbits".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer {
        PyCFunction: getrandbits,
    },
    ml_flags: ffi::METH_O,
    ml_doc: c"getrandbits(k) -> x. Generates an int with k random bits.".as_ptr(),
});

impl Method {
    fn bind<'py>(&'static self, this: &Bound<'py, UntilSeeded>) -> PyResult<Bound<'py, PyAny>> {
        let method = (&raw const self.0).cast_mut();
        // SAFETY: the method lives for ever, Python only reads it, and the function takes what its flags say.
        unsafe {
            let bound = ffi::PyCFunction_NewEx(method, this.as_ptr(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(this.py(), bound)
        }
    }
}

/// The object that a function is bound to.
///
/// # Safety
/// `Method::bind` has bound it to `this`, and Python calls it.
unsafe fn bound_to<'a>(this: *mut PyObject) -> (Python<'a>, &'a UntilSeeded) {
    // SAFETY: Python has the GIL, and keeps the object during the call.
    unsafe {
        let py = Python::assume_attached();
        let this = Borrowed::from_ptr(py, this);
        (py, this.cast_unchecked::<UntilSeeded>().get())
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
    if this.stock() {
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
    returned(
        py,
        if this.stock() {
            this.getrandbits.bind(py).call1((k,))
        } else {
            k.extract().and_then(|k| integers::getrandbits(py, k))
        },
    )
}

/// Words of a call that are drawn one by one; a key for the rest of the call costs as much.
const SINGLE_WORDS: usize = 16;

/// The words of a bit generator.
struct Dispatched {
    stock: Interface,
    is_stock: bool,
    /// Calls of NumPy's, one in another, that have begun and not ended.
    calls: usize,
    /// Words of this call that were drawn one by one.
    singles: usize,
    /// What serves the rest of a long call, under a key of its own. Otherwise it has no words, nor has it between
    /// calls: Numba and others draw without the lock, and nobody would say when to erase what is left.
    rest: State,
}

impl Dispatched {
    /// The next word, by `stock` if it is the stock generator's; only then `rest` is asked in vain.
    #[inline]
    fn word<T>(&mut self, of: impl FnOnce(u64) -> T, stock: impl FnOnce(Interface) -> T) -> T {
        match self.rest.take() {
            Some(word) => of(word),
            None if self.is_stock => stock(self.stock),
            None => of(self.word_slowly()),
        }
    }

    #[cold]
    fn word_slowly(&mut self) -> u64 {
        if self.calls > 0 {
            if self.singles > SINGLE_WORDS {
                return self.rest.next_u64();
            }
            self.singles += 1;
            if self.singles > SINGLE_WORDS && self.rest.draw_key().is_ok() {
                return self.rest.next_u64();
            }
        }
        // Without a source of randomness it ends the process.
        squall::u64()
    }
}

impl Words for Dispatched {
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

/// The words of a bit generator of NumPy, and the lock in which NumPy draws them: what is left when a call ends is
/// erased, so nothing waits that a clone could return too.
#[pyclass(frozen, module = "squall._squall")]
pub struct WordsUntilSeeded {
    words: Box<UnsafeCell<Dispatched>>,
    /// The methods of an RLock.
    acquire: Py<PyAny>,
    release: Py<PyAny>,
    lock: Py<PyAny>,
    /// Called at the end of a call that drew more than one word: forgets what NumPy has kept of it.
    forget: Option<Py<PyAny>>,
}

// SAFETY: methods are called, and words are drawn, with the lock held.
unsafe impl Sync for WordsUntilSeeded {}

impl WordsUntilSeeded {
    #[expect(clippy::mut_from_ref, reason = "the lock makes it the only one")]
    fn words(&self) -> &mut Dispatched {
        // SAFETY: the caller is a method, and has the lock.
        unsafe { &mut *self.words.get() }
    }
}

#[pymethods]
impl WordsUntilSeeded {
    /// Words for the bit generator of this capsule, under this RLock.
    #[new]
    fn new<'py>(
        capsule: &Bound<'py, PyCapsule>,
        lock: &Bound<'py, PyAny>,
        forget: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let words = Dispatched {
            stock: interface_of(capsule)?,
            is_stock: false,
            calls: 0,
            singles: 0,
            rest: State::empty(),
        };
        let this = WordsUntilSeeded {
            words: Box::new(UnsafeCell::new(words)),
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

    /// Whether the words are the stock generator's.
    #[getter]
    fn stock(&self) -> bool {
        self.words().is_stock
    }

    #[setter]
    fn set_stock(&self, stock: bool) {
        let words = self.words();
        words.is_stock = stock;
        // In the middle of a call, in which the lock's holder seeds.
        words.rest.forget();
        words.singles = 0;
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        self.acquire.bind(py).call0()?;
        self.words().calls += 1;
        Ok(())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let words = self.words();
        words.calls -= 1;
        let mut forgotten = Ok(());
        if words.calls == 0 {
            let singles = core::mem::take(&mut words.singles);
            if singles > SINGLE_WORDS {
                words.rest.forget();
            }
            if let (2.., Some(forget)) = (singles, &self.forget) {
                forgotten = forget.bind(py).call0().map(drop);
                if forgotten.is_err() {
                    // A signal handler's exception came first.
                    let _ = forget.bind(py).call0();
                }
            }
        }
        self.release.bind(py).call0()?;
        forgotten
    }

    /// The rest of the lock's interface.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).getattr(name)
    }
}
