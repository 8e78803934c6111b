//! A `.pto` file by itself: what of it is not supported, without running it.

use diag::{SourceFile, Sources};

use crate::compile::{Failure, Options};

/// Names of the functions that could be run on this machine, and everything that keeps the others from it: operations,
/// types and attributes that are not known (all of them, or up to the first other error), else what the machine's
/// decoder refuses.
pub fn unsupported_in_kernels(text: &str, path: &str, options: &Options) -> (Vec<String>, Failure) {
    let mut own = Sources::default();
    own.add(SourceFile { path: path.to_owned(), text: Some(text.into()), first_line: 1 });
    let mut sources = Sources::default();
    let functions = match pto::parse(text, path, &mut sources) {
        Ok(functions) => functions,
        Err(errors) => return (Vec::new(), Failure { errors, sources: own }),
    };
    let (mut runnable, mut errors) = (Vec::new(), Vec::new());
    for function in &functions {
        match machine::Kernel::new(function, options.arch, options.profile) {
            Ok(_) => runnable.push(function.name.clone()),
            Err(refused) => errors.extend(refused),
        }
    }
    (runnable, Failure { errors, sources })
}
