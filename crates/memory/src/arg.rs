//! What a program is called with and what it gives back.

use dtype::Scalar;

use crate::View;

/// An argument of a program, in the order of its parameters.
#[derive(Clone, Debug)]
pub enum Arg {
    /// The caller's memory, borrowed: what the program writes is written there.
    Tensor(View),
    Scalar(Scalar),
}

impl Arg {
    pub fn tensor(&self) -> Option<&View> {
        match self {
            Arg::Tensor(view) => Some(view),
            Arg::Scalar(_) => None,
        }
    }
}

/// A tensor that a program returns.
#[derive(Clone, Debug)]
pub enum Returned {
    /// The argument of this parameter itself, changed in place.
    Param(usize),
    /// A tensor that the program created, or a view of one.
    Tensor(View),
}
