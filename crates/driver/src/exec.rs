//! Running the kernels of a `.pto` file: any entry of it, on arguments that are given or made up.
//!
//! A kernel file says what a kernel does, not what it is called with. To run one, its arguments must be found: how large
//! memory must be follows from the views, which numbers and indices make its loops run from trying. So:
//!
//! 1. [`Kernel`]: an entry, decoded. A function for each core of a cluster that it runs on.
//! 2. [`Inputs`]: one argument per parameter; memory is sparse, since a kernel touches little of the weights it is given.
//! 3. [`Kernel::prepare`] ([`search`]) makes inputs up with which the kernel runs to its end, through as much of its code
//!    as it can find a way through. The seed decides everything.
//! 4. [`Session`] runs kernels on inputs again and again, and [`Outcome`] says what came out.
//! 5. [`compare`] runs two programs on the same inputs, and finds the first operation that made something else.
//!
//! ```text
//! let kernel = Kernel::new(&program, "gate", profile)?;
//! let inputs = kernel.prepare(seed)?.inputs;
//! let outcome = exec::run(&kernel, &inputs);       // or one Session for many runs
//! ```
//!
//! A [`Session`] also says in which [`Order`] instructions run: in program order, or each pipe apart, so that only the flags,
//! barriers and tokens of the kernel order them.
//!
//! ```text
//! let outcome = Session::ordered(Order::Pipes(Policy::Lazy)).run(&synced, &inputs);
//! ```

mod compare;
mod contents;
mod dead;
mod file;
mod inline;
mod inputs;
mod kernel;
mod request;
mod search;
mod session;

pub use assemble::pass::{Level, Settings, Sync};
pub use compare::{Difference, compare};
pub use contents::{Fill, Pattern};
pub use file::{load, program};
pub use inputs::{Input, Inputs, Memory};
pub use kernel::{Coverage, Kernel, Param, ParamKind, entries};
pub use machine::{Order, Policy};
pub use request::{Against, Answer, Given, Request, assembled};
pub use search::Prepared;
pub use session::{Outcome, Output, Session};

/// A run on fresh memory. Many runs are faster in one [`Session`].
pub fn run(kernel: &Kernel, inputs: &Inputs) -> Outcome {
    Session::new().run(kernel, inputs)
}
