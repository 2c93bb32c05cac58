//! The call of Python's interface that has no safe form.

use std::ffi::c_long;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Raises KeyboardInterrupt in the Python code that a thread runs, by the number that `threading.get_ident()` has there.
pub fn interrupt(py: Python<'_>, thread: u64) {
    let raised = py.get_type::<PyKeyboardInterrupt>();
    // SAFETY: the interpreter's lock is held, and the type lives as long as the interpreter. A thread that is gone is no error.
    unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(thread as c_long, raised.as_ptr()) };
}
