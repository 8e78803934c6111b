//! `.pto`: kernel functions of the tile and machine level as text, in upstream's dialect.
//!
//! The only crate that knows the format (`spec/pto-assembly.md` §1 and §2). [`print`] writes a module of `func.func`s:
//! scalar code as `arith`, control flow as `scf`, everything else as `pto`. [`parse`] reads them back, and what others
//! wrote in the same forms: both spellings of tile types, locations of any nesting, modules in modules.
//!
//! Differences between the dialect and our operations are made up for before printing ([`legal`]), so that printing and
//! parsing are then one to one: `print(parse(print(f))) == print(f)`, and both are the same function, with spans (their
//! starts) and origins. Origins are name locations: `loc("op17!"("k.py":3:5))`, with `!` where the operation completes
//! the value of tensor-level operation 17.
//!
//! What the dialect has no word for is a discardable attribute `tw.…`: the direction of a pointer parameter, the kind of
//! a loop. Unsigned scalars keep their signedness in the type (`ui32`).

mod dialect;
mod format;
mod legal;
mod parse;
mod print;
mod types;

pub use dialect::dialect_name;
pub use parse::{parse, parse_for, parse_located};
pub use print::{print, print_without};
