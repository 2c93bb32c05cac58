//! A table: columns of Arrow, which other packages take over without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, DataType};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error::InternalError;

/// Columns of one length, in the memory of Arrow.
#[pyclass(frozen, module = "divvy._divvy")]
pub struct Table(RecordBatch);

impl Table {
    /// A table of these columns.
    pub fn new<N: AsRef<str>>(columns: Vec<(N, ArrayRef)>) -> PyResult<Table> {
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .map(Table)
        .map_err(fault)
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Lists by the names of the columns.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.0.schema().fields().iter().zip(self.0.columns()) {
            dict.set_item(field.name(), list(py, column)?)?;
        }
        Ok(dict)
    }

    /// The stream of Arrow's PyCapsule interface. The types are as they are: nobody has to meet a wish for others.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The array of structs of Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let (array, schema) = to_ffi(&StructArray::from(self.0.clone()).into_data()).map_err(fault)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// The types of Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(fault)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

fn list<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match column.data_type() {
        DataType::Int32 => PyList::new(py, column.as_primitive::<Int32Type>().iter()),
        DataType::Int64 => PyList::new(py, column.as_primitive::<Int64Type>().iter()),
        DataType::Float64 => PyList::new(py, column.as_primitive::<Float64Type>().iter()),
        DataType::Boolean => PyList::new(py, column.as_boolean().iter().collect::<Vec<_>>()),
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>().iter()),
        DataType::Dictionary(_, _) => {
            let names = column.as_dictionary::<Int32Type>();
            let values = names.values().as_string::<i32>();
            let values = values.iter().map(|name| name.into_py_any(py)).collect::<PyResult<Vec<_>>>()?;
            let name = |key: Option<i32>| key.map(|key| values[key as usize].clone_ref(py));
            PyList::new(py, names.keys().iter().map(name))
        }
        other => Err(InternalError::new_err(format!("a column of {other}; this is a fault of divvy"))),
    }
}

fn fault(error: ArrowError) -> PyErr {
    InternalError::new_err(format!("{error}; this is a fault of divvy, please report it"))
}

/// A column that may be shared.
pub fn column(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}
