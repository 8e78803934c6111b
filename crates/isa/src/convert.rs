//! The conversion instruction: one native hop of a cast, element by element.
//!
//! What a hop computes is defined by [`dtype::convert`]; this module has vector loops for the hops that kernels use and
//! goes element by element for the others. Domain: the destination's valid region.

use dtype::DType;
use dtype::convert::{Profile, RoundMode, convert as convert_element, native};
use dtype::float;

use crate::number::{BF16, F16, Float};
use crate::plane::{self, Layout, Plane};
use crate::tier::{Kernel, dispatch};
use crate::{Fault, Tile};

/// `dst[i, j] = cast(src[i, j])`. Fails if no instruction of `profile` casts these types in one hop.
pub fn convert(
    mem: &mut [u8],
    dst: &Tile,
    src: &Tile,
    mode: RoundMode,
    saturate: bool,
    profile: Profile,
) -> Result<(), Fault> {
    let region = (dst.valid_rows, dst.valid_cols);
    let (from, to) = (src.dtype, dst.dtype);
    if !native(from, to, profile) {
        return Err(Fault::dtype("a conversion", &[from, to], "the native casts of the profile"));
    }
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    src.check_region("source", mem.len(), region.0, region.1)?;
    let src = plane::source(mem, src, region, dst, region, from.size() == to.size());
    let d = Layout::tile(mem.as_mut_ptr(), dst);
    let sizes = [to.size(), from.size()];
    plane::for_each(region.0 as usize, region.1 as usize, &[d, src.layout], |rows, cols, planes| {
        let (rows, cols, [d, s]) = plane::straighten(rows, cols, planes, sizes);
        let area = Area { rows, cols, d, s };
        // SAFETY: the planes lie in regions that were checked against the arena.
        unsafe {
            if !convert_fast(area, from, to, mode, saturate, profile) {
                convert_slow(area, from, to, mode, saturate, profile);
            }
        }
    });
    Ok(())
}

#[derive(Clone, Copy)]
struct Area {
    rows: usize,
    cols: usize,
    d: Plane,
    s: Plane,
}

/// f32 to `T`, ties to even: the accumulator's store path.
///
/// # Safety
///
/// The planes are valid over `rows × cols` elements and share no bytes.
pub(crate) unsafe fn narrow_even<T: Float + Default>(rows: usize, cols: usize, d: Plane, s: Plane) {
    let area = Area { rows, cols, d, s };
    // SAFETY: the caller's promise.
    unsafe { dispatch(ConvertKernel { area, hop: NarrowEven::<T>::default() }) }
}

/// # Safety
///
/// The planes are valid over the area's elements and share bytes at most where they coincide.
unsafe fn convert_slow(a: Area, from: DType, to: DType, mode: RoundMode, saturate: bool, profile: Profile) {
    for r in 0..a.rows {
        for c in 0..a.cols {
            let mut bytes = [0u8; 8];
            // SAFETY: element (r, c) of each plane.
            unsafe { std::ptr::copy(a.s.at(r, c), bytes.as_mut_ptr(), from.size()) };
            let out = convert_element(u64::from_le_bytes(bytes), from, to, mode, saturate, profile).to_le_bytes();
            // SAFETY: as above.
            unsafe { std::ptr::copy(out.as_ptr(), a.d.at(r, c), to.size()) };
        }
    }
}

/// Runs a vector loop if there is one for the hop; `false` if not.
///
/// # Safety
///
/// As for [`convert_slow`].
unsafe fn convert_fast(a: Area, from: DType, to: DType, mode: RoundMode, saturate: bool, profile: Profile) -> bool {
    use DType::{BF16 as B, F16 as H, F32 as S};
    let compat = profile == Profile::CpuCompat;
    macro_rules! run {
        ($hop:expr) => {{
            // SAFETY: the caller's promise.
            unsafe { dispatch(ConvertKernel { area: a, hop: $hop }) };
            true
        }};
    }
    // How narrowing rounds: `None` when there is no loop for it.
    let narrow = match mode {
        _ if saturate => None,
        _ if compat => Some(false),
        RoundMode::None | RoundMode::Rint => Some(false),
        RoundMode::Round => Some(true),
        _ => None,
    };
    let integral = match mode {
        _ if compat => None,
        RoundMode::None | RoundMode::Trunc => Some(Integral::Trunc),
        RoundMode::Rint => Some(Integral::Even),
        RoundMode::Round => Some(Integral::Away),
        RoundMode::Floor => Some(Integral::Floor),
        RoundMode::Ceil => Some(Integral::Ceil),
        RoundMode::Odd => None,
    };
    match (from, to, narrow, integral) {
        (B, S, ..) => run!(Widen::<BF16>::default()),
        (H, S, ..) => run!(Widen::<F16>::default()),
        (S, B, Some(false), _) => run!(NarrowEven::<BF16>::default()),
        (S, H, Some(false), _) => run!(NarrowEven::<F16>::default()),
        (S, B, Some(true), _) => run!(AwayBF16),
        (S, H, Some(true), _) => run!(AwayF16),
        (DType::I32, S, ..) => run!(FromInt::<i32, f32>::default()),
        (DType::I16, S, ..) => run!(FromInt::<i16, f32>::default()),
        (DType::I8, H, ..) => run!(FromInt::<i8, F16>::default()),
        (DType::U8, H, ..) => run!(FromInt::<u8, F16>::default()),
        (DType::I32, DType::I16, ..) if !saturate => run!(Truncate32To16),
        (S, DType::I32, _, Some(i)) => run!(ToInt::<f32, i32>::new(i, saturate)),
        (S, DType::I16, _, Some(i)) => run!(ToInt::<f32, i16>::new(i, saturate)),
        (B, DType::I32, _, Some(i)) => run!(ToInt::<BF16, i32>::new(i, saturate)),
        (H, DType::I32, _, Some(i)) => run!(ToInt::<F16, i32>::new(i, saturate)),
        (H, DType::I16, _, Some(i)) => run!(ToInt::<F16, i16>::new(i, saturate)),
        (H, DType::I8, _, Some(i)) => run!(ToInt::<F16, i8>::new(i, saturate)),
        (H, DType::U8, _, Some(i)) => run!(ToInt::<F16, u8>::new(i, saturate)),
        _ => false,
    }
}

/// Elements per step.
const LANES: usize = 32;

/// A hop on a block of elements.
trait Hop: Copy {
    type From: Copy + Default;
    type To: Copy + Default;

    fn one(&self, x: Self::From) -> Self::To;

    #[inline(always)]
    fn block(&self, x: [Self::From; LANES]) -> [Self::To; LANES] {
        let mut out = [Self::To::default(); LANES];
        for k in 0..LANES {
            out[k] = self.one(x[k]);
        }
        out
    }
}

macro_rules! hop {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        struct $name<A, B = ()>(std::marker::PhantomData<(A, B)>);
    )*};
}

hop! {
    /// A 16-bit float to f32, exact.
    Widen,
    /// f32 to a 16-bit float, ties to even.
    NarrowEven,
    /// An integer to a float, ties to even.
    FromInt
}

impl<T: Float + Default> Hop for Widen<T> {
    type From = T;
    type To = f32;

    #[inline(always)]
    fn one(&self, x: T) -> f32 {
        float::canonical(x.widen())
    }
}

impl<T: Float + Default> Hop for NarrowEven<T> {
    type From = f32;
    type To = T;

    #[inline(always)]
    fn one(&self, x: f32) -> T {
        T::narrow(x)
    }
}

/// Integers that f32 holds exactly, or i32, whose conversion to f32 rounds once.
trait Int: Copy + Default {
    fn to_f32(self) -> f32;
    fn low_bits(v: i32) -> Self;
    fn clamped(v: i32) -> Self;
}

macro_rules! int {
    ($($t:ty),*) => {$(
        impl Int for $t {
            #[inline(always)]
            fn to_f32(self) -> f32 { self as f32 }
            #[inline(always)]
            fn low_bits(v: i32) -> Self { v as $t }
            #[inline(always)]
            fn clamped(v: i32) -> Self { v.clamp(<$t>::MIN as i32, <$t>::MAX as i32) as $t }
        }
    )*};
}

int!(i8, u8, i16, i32);

impl<I: Int, T: Float + Default> Hop for FromInt<I, T> {
    type From = I;
    type To = T;

    #[inline(always)]
    fn one(&self, x: I) -> T {
        T::narrow(x.to_f32())
    }
}

#[derive(Clone, Copy)]
struct Truncate32To16;

impl Hop for Truncate32To16 {
    type From = i32;
    type To = i16;

    #[inline(always)]
    fn one(&self, x: i32) -> i16 {
        x as i16
    }
}

/// f32 to bf16, ties away from zero.
#[derive(Clone, Copy)]
struct AwayBF16;

impl Hop for AwayBF16 {
    type From = f32;
    type To = BF16;

    #[inline(always)]
    fn one(&self, x: f32) -> BF16 {
        let rounded = x.to_bits().wrapping_add(0x8000) >> 16;
        BF16(if x.is_nan() { float::BF16_NAN } else { rounded as u16 })
    }
}

/// f32 to f16, ties away from zero.
#[derive(Clone, Copy)]
struct AwayF16;

impl Hop for AwayF16 {
    type From = f32;
    type To = F16;

    #[inline(always)]
    fn one(&self, x: f32) -> F16 {
        let bits = x.to_bits();
        let sign = (bits >> 16) & 0x8000;
        let a = bits & 0x7fff_ffff;
        // Below 2^-14 the unit is 2^-24; the scaled value is exact and below 1024.
        let scaled = f32::from_bits(if a < 0x3880_0000 { a } else { 0 }) * 16_777_216.0;
        let whole = scaled as i32;
        let subnormal = whole as u32 + (scaled - whole as f32 >= 0.5) as u32;
        let normal = a.wrapping_add(0xc800_1000) >> 13;
        let finite = if a < 0x3880_0000 { subnormal } else { normal };
        let magnitude = if a >= 0x477f_f000 { 0x7c00 } else { finite };
        F16(if a > 0x7f80_0000 { float::F16_NAN } else { (magnitude | sign) as u16 })
    }
}

#[derive(Clone, Copy)]
enum Integral {
    Trunc,
    Even,
    Away,
    Floor,
    Ceil,
}

/// Float to an integer of at most 32 bits: round, saturate to i32, keep the low bits or clamp.
#[derive(Clone, Copy)]
struct ToInt<T, I> {
    integral: Integral,
    saturate: bool,
    marker: std::marker::PhantomData<(T, I)>,
}

impl<T, I> ToInt<T, I> {
    fn new(integral: Integral, saturate: bool) -> ToInt<T, I> {
        ToInt { integral, saturate, marker: std::marker::PhantomData }
    }
}

impl<T: Float + Default, I: Int> Hop for ToInt<T, I> {
    type From = T;
    type To = I;

    #[inline(always)]
    fn one(&self, x: T) -> I {
        let mut x = [x; 1];
        let mut out = [I::default(); 1];
        self.convert(&mut x, &mut out);
        out[0]
    }

    #[inline(always)]
    fn block(&self, mut x: [T; LANES]) -> [I; LANES] {
        let mut out = [I::default(); LANES];
        self.convert(&mut x, &mut out);
        out
    }
}

impl<T: Float, I: Int> ToInt<T, I> {
    #[inline(always)]
    fn convert<const N: usize>(&self, x: &mut [T; N], out: &mut [I; N]) {
        let mut w = [0f32; N];
        for k in 0..N {
            w[k] = x[k].widen();
        }
        match self.integral {
            Integral::Trunc => {}
            Integral::Even => w.iter_mut().for_each(|e| *e = e.round_ties_even()),
            Integral::Away => w.iter_mut().for_each(|e| {
                let t = e.trunc();
                let up = if (*e - t).abs() >= 0.5 { 1f32.copysign(*e) } else { 0.0 };
                *e = t + up;
            }),
            Integral::Floor => w.iter_mut().for_each(|e| *e = e.floor()),
            Integral::Ceil => w.iter_mut().for_each(|e| *e = e.ceil()),
        }
        if self.saturate {
            for k in 0..N {
                out[k] = I::clamped(w[k] as i32);
            }
        } else {
            for k in 0..N {
                out[k] = I::low_bits(w[k] as i32);
            }
        }
    }
}

struct ConvertKernel<H> {
    area: Area,
    hop: H,
}

impl<H: Hop> Kernel for ConvertKernel<H> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`convert_slow`].
    #[inline(always)]
    unsafe fn run(self) {
        let Area { rows, cols, d, s } = self.area;
        let dense = d.cs == size_of::<H::To>() as isize && s.cs == size_of::<H::From>() as isize;
        for r in 0..rows {
            let mut c = 0;
            while c < cols {
                let n = LANES.min(cols - c);
                // SAFETY: elements c .. c + n of row r.
                unsafe {
                    if dense && n == LANES {
                        let x = s.at(r, c).cast::<[H::From; LANES]>().read_unaligned();
                        d.at(r, c).cast::<[H::To; LANES]>().write_unaligned(self.hop.block(x));
                    } else {
                        for k in c..c + n {
                            let x = s.at(r, k).cast::<H::From>().read_unaligned();
                            d.at(r, k).cast::<H::To>().write_unaligned(self.hop.one(x));
                        }
                    }
                }
                c += n;
            }
        }
    }
}
