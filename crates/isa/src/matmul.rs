//! Matrix multiplication in the stated order (semantics rule 8).
//!
//! m = rows of the left operand's valid region, k = its columns, n = columns of the right one's. The accumulator is f32,
//! or i32 for i8 operands. With A and B the operands and S what the accumulator starts from (nothing: +0; `Accumulate`:
//! its contents; `Bias`: b\[j\] in every row), element (i, j) becomes
//!
//! * **f32**: the chain `s = fma(A[i,p], B[p,j], s)` for p = 0, 1, …, k − 1 from s = S.
//! * **bf16, f16**: the columns p are taken in blocks of 32 from p = 0. In a block, the *even chain* is
//!   `e = fma(A[i,p], B[p,j], e)` over its even p in ascending order from e = +0, the *odd chain* the same over its odd p, and
//!   then `s = s + (e + o)`. A last block shorter than 32 has shorter chains; a chain without elements is +0.
//!   **bf16 flushes**: subnormal operands, subnormal S, and every subnormal result of an fma or addition become zeros of
//!   their sign (a result is subnormal if, rounded to 24 bits without a limit on the exponent, it is below 2^-126). This is
//!   what `tdpbf16ps` computes. f16 keeps everything (its values are normal in f32).
//! * **i8**: exact, wrapping; the order does not matter.
//! * **`cpu-compat`**, floats: the chain over all p from +0 by fma, then S + chain; nothing is flushed.
//!
//! NaN results are canonical. k = 0 (or m or n) leaves the accumulator alone, as the device does (`isa.md` §2.12).

mod float;
mod int;
mod pack;

use std::cell::RefCell;

use dtype::{DType, Profile};

use crate::plane::{self, Layout};
use crate::{Fault, Tile};

/// What the accumulator starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Init {
    Zero,
    Accumulate,
    /// A row vector of the accumulator's type, 1×n.
    Bias(Tile),
}

const TYPES: &str = "f32 <- f32 x f32, f16 x f16, bf16 x bf16; i32 <- i8 x i8";

/// Working memory, kept per thread so that an instruction allocates nothing once it is warm.
#[derive(Default)]
struct Scratch {
    /// The operands, packed for the inner loops.
    lhs: Vec<u32>,
    rhs: Vec<u32>,
    /// The accumulator, row-major, rounded up to whole inner blocks.
    acc: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// `acc = init + lhs × rhs` over m × n; see the module's head.
pub fn matmul(
    mem: &mut [u8],
    acc: &Tile,
    lhs: &Tile,
    rhs: &Tile,
    init: Init,
    profile: Profile,
) -> Result<(), Fault> {
    let (m, k, n) = (lhs.valid_rows, lhs.valid_cols, rhs.valid_cols);
    let bias = match &init {
        Init::Bias(b) => Some(b),
        _ => None,
    };
    let ok = matches!(
        (acc.dtype, lhs.dtype, rhs.dtype),
        (DType::F32, DType::F32, DType::F32)
            | (DType::F32, DType::F16, DType::F16)
            | (DType::F32, DType::BF16, DType::BF16)
            | (DType::I32, DType::I8, DType::I8)
    );
    if !ok || bias.is_some_and(|b| b.dtype != acc.dtype) {
        let mut found = vec![acc.dtype, lhs.dtype, rhs.dtype];
        found.extend(bias.map(|b| b.dtype));
        return Err(Fault::DType { op: "a matrix product", found, supported: TYPES });
    }
    lhs.check_region("left operand", mem.len(), m, k)?;
    rhs.check_region("right operand", mem.len(), k, n)?;
    acc.check_region("accumulator", mem.len(), m, n)?;
    if let Some(b) = bias {
        b.check_region("bias", mem.len(), 1, n)?;
    }
    if m == 0 || k == 0 || n == 0 {
        return Ok(());
    }
    // Operands are packed and the accumulator is staged before anything is written: aliasing needs no further care.
    let base = mem.as_mut_ptr();
    let (m, k, n) = (m as usize, k as usize, n as usize);
    let start = match &init {
        Init::Zero => None,
        Init::Accumulate => Some(Layout::tile(base, acc)),
        Init::Bias(b) => Some(Layout::tile(base, b).row_vector()),
    };
    SCRATCH.with_borrow_mut(|scratch| {
        let problem = pack::Problem { m, k, n, lhs: Layout::tile(base, lhs), rhs: Layout::tile(base, rhs) };
        // SAFETY: the layouts are valid over the regions that were checked above.
        unsafe {
            match lhs.dtype {
                DType::I8 => int::run(&problem, scratch, start),
                dtype => float::run(&problem, scratch, start, dtype, profile),
            }
        }
        let width = pack::padded(n, pack::NR);
        let staged = Layout::strided(scratch.acc.as_mut_ptr().cast(), width as isize * 4, 4);
        plane::for_each(m, n, &[Layout::tile(base, acc), staged], |rows, cols, [d, s]| {
            // SAFETY: the accumulator's region was checked; the staged one is at least as large.
            unsafe { crate::copy::move_plane(rows, cols, d, s, 4) }
        });
    });
    Ok(())
}
