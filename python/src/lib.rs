//! The native part of the Python package: traces as columns that share the memory of the trace, and the command line as a function.
//!
//! A column is handed out as an Arrow buffer whose owner is the trace, so that it stays as long as anybody reads it. Only the
//! operations, one byte each, and columns that are built of several are made for Python.

mod columns;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use mayhap::commands::Cli;
use mayhap_trace::format;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use pyo3_arrow::buffer::PyArrowBuffer;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

pyo3::create_exception!(_mayhap, MayhapError, PyValueError, "Bad input, or a question that makes no sense.");

/// A trace in memory.
#[pyclass(frozen, module = "mayhap._mayhap", name = "Trace", subclass)]
struct PyTrace {
    trace: Arc<mayhap_trace::Trace>,
    path: PathBuf,
}

#[pymethods]
impl PyTrace {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let trace = py
            .detach(|| load(&path))
            .map_err(|message| MayhapError::new_err(format!("{}: {message}", path.display())))?;
        Ok(PyTrace { trace: Arc::new(trace), path })
    }

    /// Where it was read from.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn __len__(&self) -> usize {
        self.trace.len()
    }

    fn __repr__(&self) -> String {
        let tables = self.trace.tables();
        let (events, threads, locks, variables) =
            (self.trace.len(), tables.threads.len(), tables.locks.len(), tables.variables.len());
        let path = self.path.display();
        format!("Trace({path}: {events} events, {threads} threads, {locks} locks, {variables} variables)")
    }

    /// A hash of the events, the same in every format.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> String {
        py.detach(|| self.trace.fingerprint().to_string())
    }

    /// The names of threads, locks, variables, conditions, locations or operations, by id.
    fn names(&self, table: &str) -> PyResult<Vec<String>> {
        columns::names(&self.trace, table).ok_or_else(|| PyKeyError::new_err(table.to_string()))
    }

    /// The bytes of a column, and the format of its numbers as NumPy writes it; `None` for a column that the trace has not.
    fn buffer(&self, column: &str) -> PyResult<Option<(PyArrowBuffer, &'static str)>> {
        let found = columns::raw(&self.trace, column).ok_or_else(|| PyKeyError::new_err(column.to_string()))?;
        Ok(found.map(|(buffer, format)| (PyArrowBuffer::new(buffer), format)))
    }

    /// The schema of the Arrow table.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let (field, _) = py.detach(|| columns::table(&self.trace)).map_err(wrong)?;
        Ok(to_schema_pycapsule(py, field.as_ref())?)
    }

    /// The events as a stream of one Arrow table.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (field, array) = py.detach(|| columns::table(&self.trace)).map_err(wrong)?;
        let reader = ArrayIterator::new(std::iter::once(Ok(array)), field);
        Ok(to_stream_pycapsule(py, Box::new(reader), requested_schema)?)
    }
}

fn wrong(error: arrow_schema::ArrowError) -> PyErr {
    MayhapError::new_err(error.to_string())
}

/// Reads a trace; a recording becomes one first.
fn load(path: &std::path::Path) -> Result<mayhap_trace::Trace, String> {
    if mayhap_record::is_unfinished(path) {
        mayhap_record::finish(path, &mut |_| {}).map_err(|error| error.to_string())?;
    }
    format::read(path).map(|loaded| loaded.trace).map_err(|error| error.to_string())
}

/// Runs a command of `mayhap` in this process. Returns its exit code and what it printed.
#[pyfunction]
fn command<'py>(py: Python<'py>, words: Vec<String>) -> PyResult<(u8, Bound<'py, PyBytes>)> {
    let ran = py.detach(|| {
        let words = std::iter::once("mayhap".to_string()).chain(words);
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        let mut output = Vec::new();
        let exit = cli.run(&mut output).map_err(|failure| failure.to_string())?;
        Ok::<_, String>((exit.code(), output))
    });
    let (code, output) = ran.map_err(MayhapError::new_err)?;
    Ok((code, PyBytes::new(py, &output)))
}

#[pymodule]
fn _mayhap(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MayhapError", module.py().get_type::<MayhapError>())?;
    module.add_class::<PyTrace>()?;
    module.add_function(wrap_pyfunction!(command, module)?)
}
