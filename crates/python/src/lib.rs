//! `tilewright._native`: the compiler as a Python module.
//!
//! A shell over `driver`. Three questions have a file each: what names mean in the caller's Python ([`environment`]),
//! where an array's bytes are ([`array`], [`dlpack`]), and how a program is compiled, run, saved and loaded
//! ([`program`]). The op table is data for the manual ([`table`]). Errors become the exceptions of `tilewright.errors` in
//! [`failure`]. The interpreter is released while programs compile and run.

mod array;
mod dlpack;
mod environment;
mod exec;
mod failure;
mod number;
mod program;
mod table;

use pyo3::prelude::*;

/// What a platform simulates, for people: `a2a3: 24 clusters of 1 cube core and 2 vector cores`.
#[pyfunction]
fn machine(platform: &str) -> PyResult<String> {
    let chip = program::arch(platform)?.chip();
    let kib = |space| chip.capacity(space).physical >> 10;
    Ok(format!(
        "{}, simulated: {} clusters of 1 cube core and {} vector cores (L0A/L0B {} KiB, L0C {} KiB, L1 {} KiB, UB {} KiB)",
        chip.arch,
        chip.clusters,
        chip.vector_cores_per_cluster,
        kib(chip::Space::Left),
        kib(chip::Space::Acc),
        kib(chip::Space::Mat),
        kib(chip::Space::Vec),
    ))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CHECKS", driver::Checks::NAMES)?;
    module.add_class::<array::Borrowed>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<program::Parameter>()?;
    module.add_function(wrap_pyfunction!(array::borrow, module)?)?;
    module.add_function(wrap_pyfunction!(number::float_from_bits, module)?)?;
    module.add_function(wrap_pyfunction!(program::compile, module)?)?;
    module.add_class::<program::Reading>()?;
    module.add_function(wrap_pyfunction!(program::specialise, module)?)?;
    module.add_function(wrap_pyfunction!(program::callees, module)?)?;
    module.add_function(wrap_pyfunction!(program::check_syntax, module)?)?;
    module.add_function(wrap_pyfunction!(program::support, module)?)?;
    module.add_function(wrap_pyfunction!(program::support_of_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(exec::run_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(machine, module)?)?;
    module.add_function(wrap_pyfunction!(table::op_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::face_table, module)?)?;
    Ok(())
}
