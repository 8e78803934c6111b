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

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocks;
mod float;
mod inner;
mod int;
mod pack;
#[cfg(target_arch = "x86_64")]
mod vnni;

use std::cell::RefCell;

use dtype::{DType, Profile};

use blocks::Output;
pub(crate) use inner::Inner;
use inner::{MR_MAX, NR, Start};

use crate::number::{BF16, F16, Float};
use crate::plane::{self, Arena, Layout};
use crate::{Fault, Order, Tile};

/// What the accumulator starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Init {
    Zero,
    Accumulate,
    /// A row vector, 1×n, of the accumulator's type; or of f16 or bf16, which widen exactly to f32.
    Bias(Tile),
}

/// Bytes of a right operand that the first-level cache keeps beside the other operands.
const RHS_IN_PLACE: usize = 24 << 10;

const TYPES: &str = "f32 <- f32 x f32, f16 x f16, bf16 x bf16; i32 <- i8 x i8; a bias of the accumulator's type, or f16 or bf16 for f32";

/// Working memory, kept per thread so that an instruction allocates nothing once it is warm.
#[derive(Default)]
struct Scratch {
    lhs: Vec<u32>,
    rhs: Vec<u32>,
    /// The accumulator, row-major, when the tile's own order is another one.
    acc: Vec<u32>,
    bias: Vec<u32>,
    /// What the columns of an i8 product start below their start values.
    excess: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// `acc = init + lhs × rhs` over m × n; see the module's head.
pub fn matmul(mem: &mut [u8], acc: &Tile, lhs: &Tile, rhs: &Tile, init: Init, profile: Profile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
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
    let starts =
        |b: &Tile| b.dtype == acc.dtype || (acc.dtype == DType::F32 && matches!(b.dtype, DType::F16 | DType::BF16));
    if !ok || !bias.is_none_or(starts) {
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
    let acc_layout = mem.layout(acc);
    // An operand can be read where it is, unless the accumulator overwrites it meanwhile. Everything else is copied before
    // anything is written, so aliasing needs no further care.
    let in_place = |t: &Tile, region: (u32, u32)| {
        let plain = t.dtype == DType::F32 && t.order == Order::RowMajor && !plane::overlap(t, region, acc, (m, n));
        plain.then(|| (mem.at(t.offset).cast_const().cast(), t.pitch as usize))
    };
    // A right operand that stays in the first-level cache, or is read only once, is not worth repacking.
    let cached = k as usize * rhs.pitch as usize * 4 <= RHS_IN_PLACE || m as usize <= MR_MAX;
    let whole = (n as usize).is_multiple_of(NR);
    let direct = float::Direct { lhs: in_place(lhs, (m, k)), rhs: in_place(rhs, (k, n)).filter(|_| cached && whole) };
    let (m, k, n) = (m as usize, k as usize, n as usize);
    SCRATCH.with_borrow_mut(|scratch| {
        let problem = pack::Problem { m, k, n, lhs: mem.layout(lhs), rhs: mem.layout(rhs) };
        let steps = if lhs.dtype == DType::I8 { k.div_ceil(2) } else { k };
        let width = pack::padded(n);
        let operands = (pack::words(&mut scratch.lhs, m * steps), pack::words(&mut scratch.rhs, width * steps));
        let start = match &init {
            Init::Zero => Start::Zero,
            Init::Accumulate => Start::Itself,
            Init::Bias(b) => {
                let row = pack::words(&mut scratch.bias, width);
                match b.dtype {
                    DType::F16 => widen_bias::<F16>(mem.layout(b), &mut row[..n]),
                    DType::BF16 => widen_bias::<BF16>(mem.layout(b), &mut row[..n]),
                    _ => {
                        let row_layout = Layout::strided(row.as_mut_ptr().cast(), 0, 4);
                        crate::copy::move_layouts((1, n as u32), row_layout, mem.layout(b), 4);
                    }
                }
                Start::Row(row.as_ptr())
            }
        };
        let staged = acc.order != Order::RowMajor;
        let (at, stride) = if staged {
            (pack::words(&mut scratch.acc, m * n).as_mut_ptr(), n)
        } else {
            (mem.at(acc.offset).cast(), acc.pitch as usize)
        };
        let staging = Layout::strided(at.cast(), stride as isize * 4, 4);
        let region = (m as u32, n as u32);
        if staged && start == Start::Itself {
            crate::copy::move_layouts(region, staging, acc_layout, 4);
        }
        let out = Output { acc: at, stride, start };
        // SAFETY: the layouts and the output are valid over the regions that were checked above; the scratch slices
        // have the sizes asked for.
        unsafe {
            match lhs.dtype {
                #[cfg(target_arch = "x86_64")]
                DType::I8 if crate::tier::current() == crate::Tier::Avx512Vnni => {
                    vnni::run(&problem, operands, pack::words(&mut scratch.excess, width), out);
                }
                DType::I8 => int::run(&problem, operands, out),
                dtype => float::run(&problem, operands, direct, out, dtype, profile),
            }
        }
        if staged {
            crate::copy::move_layouts(region, acc_layout, staging, 4);
        }
    });
    Ok(())
}

/// The first row of a layout of 16-bit floats, as the bits of f32.
fn widen_bias<T: Float>(from: Layout, row: &mut [u32]) {
    for (c, word) in row.iter_mut().enumerate() {
        // SAFETY: the caller checked the bias over as many columns as there are words.
        *word = unsafe { from.at(0, c).ptr.cast::<T>().read_unaligned() }.widen().to_bits();
    }
}
