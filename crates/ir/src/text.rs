//! `.tw`: the text form of every level.
//!
//! Printer and parser are driven by the op table and know no operation by name. `print(parse(print(p))) == print(p)`:
//! what a program means, its attributes, hints, spans and origins survive the trip; arena numbers do not, except those of
//! operations of orchestration functions, to which origins refer (they are written, `op17:`).
//!
//! ```text
//! program "softmax" a2a3 tensor entry @softmax
//! file f0 "examples/softmax.py" line 1
//!
//! func @softmax orchestration(%x: in tensor<?x512xf32>, %y: out tensor<?x512xf32>) {
//!   op0: %0 = const {value = 0} : index loc(f0:12:5-20)
//!   op1: %tid = scope {name = "k"} : task {
//!     op2: %t = load %x offsets(%0, %0) {sizes = [16, 512]} : tile<16x512xf32>
//!     op3: %m = trowmax %t : tile<16x1xf32>
//!     op4: yield
//!   }
//!   op5: return
//! }
//! ```
//!
//! An operation is one line up to its regions: results, name, the operands of its leading single-operand groups by
//! position, other groups by name, `outs(…)` in destination form, attributes, result types, regions (each with its
//! arguments), `loc(file:line:col-col)` or `loc(file:line:col-line:col)`, and `from op17` (`from op17 done` where it
//! completes that operation's value). `//` starts a comment.
//!
//! Values print under the user's name where there is one. A second `%acc` is `%acc.1`; the number is not part of the
//! name. Values without a name are numbers. Types: see [`crate::Type`]'s `Display`.

mod cursor;
mod parse;
mod print;
#[cfg(test)]
pub(crate) mod tests;
mod types;

pub use cursor::{Cursor, Places, Result, SyntaxError};
pub use parse::{hint, parse, parse_located, sources};
pub use print::{Names, print, print_function, print_op};
pub use types::local_space;
