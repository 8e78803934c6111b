//! Elementwise instructions: tile ∘ tile, tile ∘ scalar, broadcast of a row or column vector, functions of one tile.
//!
//! Domain: the destination's valid region. All operands have the destination's element type; a scalar is cast to it
//! first (`isa.md` §2.2).

mod bitwise;
mod part;
mod remainder;

use std::marker::PhantomData;

use dtype::{DType, Scalar};

use crate::math;
use crate::number::{Float, Number, with_bits, with_number};
use crate::plane::{self, Arena, Layout, Plane};
use crate::simd::{Buffer, Half, LANES, Simd, narrow_half, widen_half};
use crate::tier::{Kernel, dispatch, portable};
use crate::{Fault, Tile};

use bitwise::BitNot;
pub(crate) use part::check_cover;
pub use part::part;

/// An operation on two elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Floats: IEEE. Integers truncate; by zero gives all ones (`isa.md` §7).
    Div,
    /// NaN from either side, −0 < +0.
    Max,
    Min,
    /// C++ `std::max(a, b)`, the rule of `cpu-compat`: `a < b ? b : a`.
    StdMax,
    /// C++ `std::min(a, b)`: `b < a ? b : a`.
    StdMin,
    /// The remainder of the flooring division: its sign is the divisor's. Integers are exact; by zero gives all ones, as
    /// `Div`. Floats (`isa.md` §2.2): q = floor(a ÷ b), r = a − q·b, each operation rounded on its own, and r + b if r and
    /// b then have opposite signs; f16 and bf16 do all of it in f32 and round the end. So a large quotient gives an
    /// inexact remainder, and an infinite divisor NaN.
    Rem,
    /// C `fmod`: the remainder of the truncating division, exact; its sign is the dividend's. Integers by zero as `Div`.
    Fmod,
    /// Integers, bit by bit.
    And,
    Or,
    Xor,
    /// Integers. A count of the width or more, and a negative one, shifts everything out: 0.
    Shl,
    /// Integers, arithmetic for signed types. A count of the width or more, and a negative one, leaves 0, or copies of the
    /// sign.
    Shr,
    /// Floats: `a > 0 ? a : b·a`, where b is the slope. NaN stays NaN.
    LeakyRelu,
}

/// A function of one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnaryOp {
    /// Floats: one f64 sequence, rounded once. `exp(−inf)` is 0.
    Exp,
    /// Floats: the natural logarithm. `log(±0)` is −inf, of a negative number NaN.
    Log,
    /// Floats, correctly rounded. `sqrt(−0)` is −0.
    Sqrt,
    /// Floats: 1 ÷ sqrt(x) in f64, rounded once.
    Rsqrt,
    /// 1 ÷ x in the element type, floats.
    Recip,
    /// The magnitude; the least integer stays.
    Abs,
    /// Times −1.
    Neg,
    /// max(x, 0): NaN stays, −0 becomes +0.
    Relu,
    /// Integers: every bit inverted.
    Not,
}

const ARITHMETIC: &str = "every type but i1";
const FLOATS: &str = "f16, bf16, f32";
const INTEGERS: &str = "integers";

/// `dst = a op b`, element by element.
pub fn binary(mem: &mut [u8], op: BinaryOp, dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (dst.valid_rows, dst.valid_cols);
    same_types("an elementwise operation", &[dst, a, b])?;
    for (t, name) in [(dst, "destination"), (a, "first source"), (b, "second source")] {
        t.check_region(name, mem.len(), region.0, region.1)?;
    }
    let a = plane::source(mem, a, region, dst, region, true);
    let b = plane::source(mem, b, region, dst, region, true);
    binary_layouts(mem, op, dst, a.layout, b.layout)
}

/// `dst = a op scalar`, or `scalar op a` if `reversed`.
pub fn binary_scalar(
    mem: &mut [u8],
    op: BinaryOp,
    dst: &Tile,
    a: &Tile,
    scalar: Scalar,
    reversed: bool,
) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (dst.valid_rows, dst.valid_cols);
    same_types("an elementwise operation", &[dst, a])?;
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    a.check_region("source", mem.len(), region.0, region.1)?;
    let a = plane::source(mem, a, region, dst, region, true);
    let mut bytes = dtype::scalar::cast(scalar, dst.dtype).to_le_bytes();
    let splat = Layout::strided(bytes.as_mut_ptr(), 0, 0);
    if reversed { binary_layouts(mem, op, dst, splat, a.layout) } else { binary_layouts(mem, op, dst, a.layout, splat) }
}

/// `dst[i, j] = a[i, j] op v[i]`, or `v[i]` without an operation. `vector` is M×1 in any order, or row-major with one
/// 32-byte block per row, of which element j mod block is used (`isa.md` §2.5).
pub fn row_expand(
    mem: &mut [u8],
    op: Option<BinaryOp>,
    dst: &Tile,
    a: Option<&Tile>,
    vector: &Tile,
) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let (rows, cols) = (dst.valid_rows, dst.valid_cols);
    let block = 32 / vector.dtype.size() as u32;
    if vector.valid_cols == block && block > 1 && vector.order == crate::Order::RowMajor && vector.valid_rows > 0 {
        vector.check_region("vector", mem.len(), rows, block)?;
        let mut done = 0;
        // One column of the block after the other, over every `block`-th column of the matrix would stride; whole
        // blocks of columns are elementwise.
        while done < cols {
            let n = block.min(cols - done);
            let part = dst.part(0, done, rows, n)?;
            let a_part = a.map(|a| a.part(0, done, rows, n)).transpose()?;
            expand(mem, op, &part, a_part.as_ref(), vector, (rows, n), (1, 1))?;
            done += n;
        }
        return Ok(());
    }
    expand(mem, op, dst, a, vector, (rows, 1), (1, 0))
}

/// `dst[i, j] = a[i, j] op v[j]`, or `v[j]` without an operation. `vector` is 1×N.
pub fn col_expand(
    mem: &mut [u8],
    op: Option<BinaryOp>,
    dst: &Tile,
    a: Option<&Tile>,
    vector: &Tile,
) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    expand(mem, op, dst, a, vector, (1, dst.valid_cols), (0, 1))
}

/// `keep` says in which directions the vector runs with the matrix; in the other it stands still.
fn expand(
    mem: Arena,
    op: Option<BinaryOp>,
    dst: &Tile,
    a: Option<&Tile>,
    vector: &Tile,
    used: (u32, u32),
    keep: (isize, isize),
) -> Result<(), Fault> {
    let region = (dst.valid_rows, dst.valid_cols);
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    let empty = region.0 == 0 || region.1 == 0;
    let used = if empty { (0, 0) } else { used };
    vector.check_region("vector", mem.len(), used.0, used.1)?;
    match (op, a) {
        (Some(_), Some(a)) => {
            same_types("a broadcast operation", &[dst, a, vector])?;
            a.check_region("source", mem.len(), region.0, region.1)?;
        }
        (None, None) => same_types("a broadcast", &[dst, vector])?,
        _ => {
            return Err(Fault::Unsupported {
                what: "a broadcast takes an operation and a matrix, or neither".to_string(),
            });
        }
    }
    if empty {
        return Ok(());
    }
    // A boxed vector is first made plain; vectors are short.
    let size = vector.dtype.size();
    let mut plain = Vec::new();
    let v = if vector.order.is_boxed() {
        let pitch = used.1 as usize * size;
        plain.resize(used.0 as usize * pitch, 0u8);
        let rows = Layout::strided(plain.as_mut_ptr(), pitch as isize, size as isize);
        crate::copy::move_layouts(used, rows, mem.layout(vector), size);
        plane::Source::plain(rows).broadcast(keep.0 != 0, keep.1 != 0)
    } else {
        plane::source(mem, vector, used, dst, region, false).broadcast(keep.0 != 0, keep.1 != 0)
    };
    match (op, a) {
        (Some(op), Some(a)) => {
            let a = plane::source(mem, a, region, dst, region, true);
            binary_layouts(mem, op, dst, a.layout, v.layout)
        }
        _ => {
            crate::copy::move_elements(mem, dst, region, v.layout);
            Ok(())
        }
    }
}

/// The operands have been checked over the destination's valid region, and may be read while it is written.
fn binary_layouts(mem: Arena, op: BinaryOp, dst: &Tile, a: Layout, b: Layout) -> Result<(), Fault> {
    let area = Area { rows: dst.valid_rows as usize, cols: dst.valid_cols as usize, d: mem.layout(dst), a, b };
    // SAFETY: the callers checked the layouts over the area.
    unsafe {
        match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                bitwise::binary(op, dst.dtype, area)
            }
            BinaryOp::Rem | BinaryOp::Fmod => remainder::binary(op, dst.dtype, area),
            BinaryOp::LeakyRelu => match dst.dtype {
                DType::F32 => area.run::<f32, LeakyRelu>(),
                DType::F16 => area.run::<crate::number::F16, LeakyRelu>(),
                DType::BF16 => area.run::<crate::number::BF16, LeakyRelu>(),
                d => Err(Fault::dtype("a leaky ReLU", &[d], FLOATS)),
            },
            _ => with_number!(dst.dtype, T => match op {
                BinaryOp::Add => area.run::<T, Add>(),
                BinaryOp::Sub => area.run::<T, Sub>(),
                BinaryOp::Mul => area.run::<T, Mul>(),
                BinaryOp::Div => area.run::<T, Div>(),
                BinaryOp::Max => area.run::<T, Max>(),
                BinaryOp::Min => area.run::<T, Min>(),
                BinaryOp::StdMax => area.run::<T, StdMax>(),
                _ => area.run::<T, StdMin>(),
            }, _ => Err(Fault::dtype("an elementwise operation", &[dst.dtype], ARITHMETIC))),
        }
    }
}

/// The operands of an operation on two elements, over `rows × cols`.
#[derive(Clone, Copy)]
struct Area {
    rows: usize,
    cols: usize,
    d: Layout,
    a: Layout,
    b: Layout,
}

impl Area {
    /// # Safety
    ///
    /// The layouts are valid over the area for elements of `T`; a source shares bytes with the destination only where
    /// it coincides with it element by element.
    unsafe fn run<T: Number, O: Op2<T> + Wide>(self) -> Result<(), Fault> {
        self.planes::<T>(|rows, cols, [d, a, b]| {
            // SAFETY: the caller's promise.
            unsafe { dispatch(BinaryKernel::<T, O> { rows, cols, d, a, b, marker: PhantomData }) }
        })
    }

    /// As [`Area::run`], for operations that no vector extension has: one instance.
    ///
    /// # Safety
    ///
    /// As for [`Area::run`].
    unsafe fn run_scalar<T: Number, O: Op2<T> + Wide>(self) -> Result<(), Fault> {
        self.planes::<T>(|rows, cols, [d, a, b]| {
            // SAFETY: the caller's promise.
            unsafe { portable(BinaryKernel::<T, O> { rows, cols, d, a, b, marker: PhantomData }) }
        })
    }

    fn planes<T>(self, mut f: impl FnMut(usize, usize, [Plane; 3])) -> Result<(), Fault> {
        plane::for_each(self.rows, self.cols, &[self.d, self.a, self.b], |rows, cols, planes| {
            let (rows, cols, planes) = plane::straighten(rows, cols, planes, [size_of::<T>(); 3]);
            f(rows, cols, planes);
        });
        Ok(())
    }
}

/// `dst = op(a)`, element by element.
pub fn unary(mem: &mut [u8], op: UnaryOp, dst: &Tile, a: &Tile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (dst.valid_rows, dst.valid_cols);
    same_types("a function of one tile", &[dst, a])?;
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    a.check_region("source", mem.len(), region.0, region.1)?;
    let a = plane::source(mem, a, region, dst, region, true);
    let d = mem.layout(dst);
    let size = dst.dtype.size();
    macro_rules! run {
        ($t:ty, $f:ident) => {
            plane::for_each(region.0 as usize, region.1 as usize, &[d, a.layout], |rows, cols, planes| {
                let (rows, cols, [d, a]) = plane::straighten(rows, cols, planes, [size; 2]);
                // SAFETY: the planes lie in regions that were checked against their memory.
                unsafe { dispatch(UnaryKernel::<$t, $f> { rows, cols, d, a, marker: PhantomData }) }
            })
        };
    }
    macro_rules! floats {
        ($f:ident) => {
            match dst.dtype {
                DType::F32 => run!(f32, $f),
                DType::F16 => run!(crate::number::F16, $f),
                DType::BF16 => run!(crate::number::BF16, $f),
                d => return Err(Fault::dtype("a transcendental", &[d], FLOATS)),
            }
        };
    }
    macro_rules! numbers {
        ($f:ident) => {
            with_number!(dst.dtype, T => run!(T, $f),
                _ => return Err(Fault::dtype("a function of one tile", &[dst.dtype], ARITHMETIC)))
        };
    }
    match op {
        UnaryOp::Exp => floats!(Exp),
        UnaryOp::Log => floats!(Log),
        UnaryOp::Sqrt => floats!(Sqrt),
        UnaryOp::Rsqrt => floats!(Rsqrt),
        UnaryOp::Recip => floats!(Recip),
        UnaryOp::Abs => numbers!(Abs),
        UnaryOp::Neg => numbers!(Neg),
        UnaryOp::Relu => numbers!(Relu),
        UnaryOp::Not if dst.dtype.is_int() => with_bits!(size, T => run!(T, BitNot)),
        UnaryOp::Not => return Err(Fault::dtype("an inversion of bits", &[dst.dtype], INTEGERS)),
    }
    Ok(())
}

/// `Index` and `I64` are one type here.
pub(crate) fn same_types(op: &'static str, tiles: &[&Tile]) -> Result<(), Fault> {
    let plain = |d: DType| if d == DType::Index { DType::I64 } else { d };
    if tiles.iter().all(|t| plain(t.dtype) == plain(tiles[0].dtype)) {
        return Ok(());
    }
    let found: Vec<DType> = tiles.iter().map(|t| t.dtype).collect();
    Err(Fault::dtype(op, &found, "operands of one type"))
}

pub(crate) trait Op2<T> {
    fn f(a: T, b: T) -> T;
}

/// How an operation on 16-bit floats is done in f32, if it is.
pub(crate) trait Wide {
    const YES: bool = false;

    /// Exact, or rounded so that rounding to `T` gives the operation's result. Nobody asks if `YES` is not set.
    fn wide<T: Number>(a: f32, _b: f32) -> f32 {
        a
    }
}

macro_rules! op2 {
    ($($name:ident $method:ident;)*) => {$(
        pub(crate) struct $name;

        impl<T: Number> Op2<T> for $name {
            #[inline(always)]
            fn f(a: T, b: T) -> T {
                a.$method(b)
            }
        }
    )*};
}

op2! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
    Max larger;
    Min smaller;
    StdMax std_max;
    StdMin std_min;
}

// On the bits of the elements themselves.
impl Wide for Max {}
impl Wide for Min {}

macro_rules! wide {
    ($($name:ident: $a:ident, $b:ident => $body:expr;)*) => {$(
        impl Wide for $name {
            const YES: bool = true;

            #[inline(always)]
            fn wide<T: Number>($a: f32, $b: f32) -> f32 {
                $body
            }
        }
    )*};
}

wide! {
    Add: a, b => a + b;
    Sub: a, b => a - b;
    Mul: a, b => T::wide_product(a, b);
    Div: a, b => a / b;
    StdMax: a, b => a.std_max(b);
    StdMin: a, b => a.std_min(b);
    LeakyRelu: a, b => if a > 0.0 { a } else { T::wide_product(b, a) };
}

struct LeakyRelu;

impl<T: Float> Op2<T> for LeakyRelu {
    #[inline(always)]
    fn f(a: T, b: T) -> T {
        if a.widen() > 0.0 { a } else { b.mul(a) }
    }
}

pub(crate) trait Op1<T> {
    fn f(x: T) -> T;
}

macro_rules! op1 {
    ($($name:ident: $bound:ident, $x:ident => $body:expr;)*) => {$(
        struct $name;

        impl<T: $bound> Op1<T> for $name {
            #[inline(always)]
            fn f($x: T) -> T {
                $body
            }
        }
    )*};
}

op1! {
    Abs: Number, x => x.abs();
    Neg: Number, x => x.neg();
    Relu: Number, x => x.larger(T::ZERO);
    // A square root rounded to 24 bits and then to 11 or 8 is the one rounded once.
    Sqrt: Float, x => T::narrow(x.widen().sqrt());
    Recip: Float, x => T::narrow(1.0 / x.widen());
    Rsqrt: Float, x => T::narrow64(1.0 / (x.widen() as f64).sqrt());
    Exp: Float, x => T::narrow64(math::exp(x.widen() as f64));
    Log: Float, x => T::narrow64(math::log(x.widen() as f64));
}

// The loops below are left to the compiler's vectoriser, which checks at run time that the destination is apart from the
// sources. In place it would find them overlapping; so the same address is read through the same pointer.

/// `d[i] = f(a[i])`.
///
/// # Safety
///
/// `n` elements at each address, aligned or not; `d` coincides with `a` or shares nothing with it.
#[inline(always)]
pub(crate) unsafe fn map<S: Copy, T: Copy>(d: *mut T, a: *const S, n: usize, f: impl Fn(S) -> T) {
    // SAFETY: below `n`.
    unsafe {
        if std::ptr::addr_eq(d, a) && size_of::<S>() == size_of::<T>() {
            for i in 0..n {
                d.add(i).write_unaligned(f(d.add(i).cast::<S>().read_unaligned()));
            }
        } else {
            for i in 0..n {
                d.add(i).write_unaligned(f(a.add(i).read_unaligned()));
            }
        }
    }
}

/// `d[i] = f(a[i], b[i])`.
///
/// # Safety
///
/// As for [`map`], for both sources.
#[inline(always)]
pub(crate) unsafe fn zip<T: Copy>(d: *mut T, a: *const T, b: *const T, n: usize, f: impl Fn(T, T) -> T) {
    let (in_a, in_b) = (std::ptr::addr_eq(d, a), std::ptr::addr_eq(d, b));
    // SAFETY: below `n`.
    unsafe {
        if in_a && in_b {
            map(d, d, n, |x| f(x, x));
        } else if in_a {
            for i in 0..n {
                d.add(i).write_unaligned(f(d.add(i).read_unaligned(), b.add(i).read_unaligned()));
            }
        } else if in_b {
            for i in 0..n {
                d.add(i).write_unaligned(f(a.add(i).read_unaligned(), d.add(i).read_unaligned()));
            }
        } else {
            for i in 0..n {
                d.add(i).write_unaligned(f(a.add(i).read_unaligned(), b.add(i).read_unaligned()));
            }
        }
    }
}

/// An operand of [`halves`].
#[derive(Clone, Copy)]
enum Side {
    Each(*const u16),
    Same(u16),
}

/// 16-bit floats, widened exactly, computed in f32 by plain loops over buffers, narrowed. Returns the number of elements
/// done: whole steps only.
///
/// # Safety
///
/// As for [`map`]; the features of `S`.
#[inline(always)]
unsafe fn halves<S: Simd>(
    half: Half,
    d: *mut u16,
    n: usize,
    (a, b): (Side, Side),
    f: impl Fn(f32, f32) -> f32,
) -> usize {
    let (mut x, mut y) = (Buffer::new(), Buffer::new());
    for (side, buffer) in [(a, &mut x), (b, &mut y)] {
        if let Side::Same(v) = side {
            let mut wide = [0f32; LANES];
            // SAFETY: as many elements in each array.
            unsafe { widen_half::<S>(half, wide.as_mut_ptr(), [v; LANES].as_ptr(), LANES) };
            buffer.0.fill(wide[0]);
        }
    }
    let mut done = 0;
    loop {
        let len = Buffer::take(n - done);
        if len == 0 {
            return done;
        }
        // SAFETY: `len` elements at `done` in memory and in the buffers.
        unsafe {
            if let Side::Each(p) = a {
                widen_half::<S>(half, x.0.as_mut_ptr(), p.add(done), len);
            }
            if let Side::Each(p) = b {
                widen_half::<S>(half, y.0.as_mut_ptr(), p.add(done), len);
            }
        }
        let mut z = std::mem::MaybeUninit::<Buffer>::uninit();
        let to = z.as_mut_ptr().cast::<f32>();
        for (k, (x, y)) in x.0[..len].iter().zip(&y.0[..len]).enumerate() {
            // SAFETY: below `len`.
            unsafe { to.add(k).write(f(*x, *y)) };
        }
        // SAFETY: `len` elements at `done` in memory and in the buffer, where they have just been written.
        unsafe { narrow_half::<S>(half, d.add(done), to, len) };
        done += len;
    }
}

struct BinaryKernel<T, O> {
    rows: usize,
    cols: usize,
    d: Plane,
    a: Plane,
    b: Plane,
    marker: PhantomData<(T, O)>,
}

impl<T: Number, O: Op2<T> + Wide> Kernel for BinaryKernel<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// The planes are valid over `rows × cols` elements of `T`; a source shares bytes with the destination only where it
    /// coincides with it element by element.
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let size = size_of::<T>() as isize;
        let runs = |p: &Plane| p.cs == size || p.cs == 0;
        let dense = self.d.cs == size && runs(&self.a) && runs(&self.b);
        let n = self.cols;
        for r in 0..self.rows {
            // SAFETY: row `r` of each plane, element by element.
            unsafe {
                let (d, a, b) = (self.d.at(r, 0).cast::<T>(), self.a.at(r, 0).cast::<T>(), self.b.at(r, 0).cast::<T>());
                if !dense {
                    for c in 0..n {
                        let x = self.a.at(r, c).cast::<T>().read_unaligned();
                        let y = self.b.at(r, c).cast::<T>().read_unaligned();
                        self.d.at(r, c).cast::<T>().write_unaligned(O::f(x, y));
                    }
                    continue;
                }
                let mut done = 0;
                if T::HALF != Half::No && O::YES {
                    let side = |p: *const T, cs: isize| {
                        let p = p.cast::<u16>();
                        if cs == 0 { Side::Same(p.read_unaligned()) } else { Side::Each(p) }
                    };
                    let sides = (side(a, self.a.cs), side(b, self.b.cs));
                    done = halves::<S>(T::HALF, d.cast(), n, sides, O::wide::<T>);
                }
                let (d, n) = (d.add(done), n - done);
                let f = O::f;
                match (self.a.cs == 0, self.b.cs == 0) {
                    (false, false) => zip(d, a.add(done), b.add(done), n, f),
                    (false, true) => {
                        let y = b.read_unaligned();
                        map(d, a.add(done), n, |x| f(x, y));
                    }
                    (true, false) => {
                        let x = a.read_unaligned();
                        map(d, b.add(done), n, |y| f(x, y));
                    }
                    (true, true) => {
                        let v = f(a.read_unaligned(), b.read_unaligned());
                        for c in 0..n {
                            d.add(c).write_unaligned(v);
                        }
                    }
                }
            }
        }
    }
}

struct UnaryKernel<T, O> {
    rows: usize,
    cols: usize,
    d: Plane,
    a: Plane,
    marker: PhantomData<(T, O)>,
}

impl<T: Number, O: Op1<T>> Kernel for UnaryKernel<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`BinaryKernel`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let size = size_of::<T>() as isize;
        for r in 0..self.rows {
            // SAFETY: row `r` of each plane, element by element.
            unsafe {
                if self.d.cs == size && self.a.cs == size {
                    map(self.d.at(r, 0).cast::<T>(), self.a.at(r, 0).cast::<T>(), self.cols, |x| O::f(x));
                } else {
                    for c in 0..self.cols {
                        let x = self.a.at(r, c).cast::<T>().read_unaligned();
                        self.d.at(r, c).cast::<T>().write_unaligned(O::f(x));
                    }
                }
            }
        }
    }
}
