//! The conversion instruction: one native hop of a cast, element by element.
//!
//! What a hop computes is defined by [`dtype::convert`]; this module has vector loops for the hops that kernels use and
//! goes element by element for the others. Domain: the destination's valid region.

use dtype::DType;
use dtype::convert::{Profile, RoundMode, convert as convert_element, native};
use dtype::float;

use crate::elementwise::map;
use crate::number::{BF16, F16, Float};
use crate::plane::{self, Arena, Plane};
use crate::simd::{Buffer, Half, LANES, Simd, narrow_half, widen_half};
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
    let mem = Arena::new(mem);
    let region = (dst.valid_rows, dst.valid_cols);
    let (from, to) = (src.dtype, dst.dtype);
    if !native(from, to, profile) {
        return Err(Fault::dtype("a conversion", &[from, to], "the native casts of the profile"));
    }
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    src.check_region("source", mem.len(), region.0, region.1)?;
    let src = plane::source(mem, src, region, dst, region, from.size() == to.size());
    let d = mem.layout(dst);
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
pub(crate) unsafe fn narrow_even<T: Float>(rows: usize, cols: usize, d: Plane, s: Plane) {
    let area = Area { rows, cols, d, s };
    // SAFETY: the caller's promise.
    unsafe { dispatch(ConvertKernel { area, hop: NarrowEven::<T>::new() }) }
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
        (B, S, ..) => run!(Widen::<BF16>::new()),
        (H, S, ..) => run!(Widen::<F16>::new()),
        (S, B, Some(false), _) => run!(NarrowEven::<BF16>::new()),
        (S, H, Some(false), _) => run!(NarrowEven::<F16>::new()),
        (S, B, Some(true), _) => run!(AwayBF16),
        (S, H, Some(true), _) => run!(AwayF16),
        (DType::I32, S, ..) => run!(FromInt::<i32, f32>::new()),
        (DType::I16, S, ..) => run!(FromInt::<i16, f32>::new()),
        (DType::I8, H, ..) => run!(FromInt::<i8, F16>::new()),
        (DType::U8, H, ..) => run!(FromInt::<u8, F16>::new()),
        (DType::I32, DType::I16, ..) if !saturate => run!(Truncate32To16),
        // Between equal types nothing is left to the pair: `None` is to nearest.
        (S, S, _, Some(_)) if mode == RoundMode::None => run!(ToIntegral { integral: Integral::Even }),
        (S, S, _, Some(integral)) => run!(ToIntegral { integral }),
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

/// A hop on one element.
trait Hop: Copy {
    type From: Copy;
    type To: Copy;

    fn one(&self, x: Self::From) -> Self::To;

    /// `n` elements that lie one after another.
    ///
    /// # Safety
    ///
    /// `n` elements at each address, apart or coinciding; the features of `S`.
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, d: *mut Self::To, s: *const Self::From, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { map(d, s, n, |x| self.one(x)) }
    }
}

macro_rules! hop {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $name<A, B = ()>(std::marker::PhantomData<(A, B)>);

        impl<A, B> $name<A, B> {
            fn new() -> Self {
                $name(std::marker::PhantomData)
            }
        }
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

impl<T: Float> Hop for Widen<T> {
    type From = T;
    type To = f32;

    #[inline(always)]
    fn one(&self, x: T) -> f32 {
        float::canonical(x.widen())
    }

    #[inline(always)]
    unsafe fn row<S: Simd>(&self, d: *mut f32, s: *const T, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if T::HALF == Half::BF16 {
                return map(d, s, n, |x| self.one(x));
            }
            let mut done = 0;
            loop {
                let len = Buffer::take(n - done);
                if len == 0 {
                    break;
                }
                let d = d.add(done);
                widen_half::<S>(T::HALF, d, s.add(done).cast(), len);
                map(d, d, len, float::canonical);
                done += len;
            }
            map(d.add(done), s.add(done), n - done, |x| self.one(x));
        }
    }
}

impl<T: Float> Hop for NarrowEven<T> {
    type From = f32;
    type To = T;

    #[inline(always)]
    fn one(&self, x: f32) -> T {
        T::narrow(x)
    }

    #[inline(always)]
    unsafe fn row<S: Simd>(&self, d: *mut T, s: *const f32, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let whole = n / LANES * LANES;
            narrow_half::<S>(T::HALF, d.cast(), s, whole);
            map(d.add(whole), s.add(whole), n - whole, |x| self.one(x));
        }
    }
}

/// Integers that f32 holds exactly, or i32, whose conversion to f32 rounds once.
trait Int: Copy {
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

impl<I: Int, T: Float> Hop for FromInt<I, T> {
    type From = I;
    type To = T;

    #[inline(always)]
    fn one(&self, x: I) -> T {
        T::narrow(x.to_f32())
    }

    #[inline(always)]
    unsafe fn row<S: Simd>(&self, d: *mut T, s: *const I, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut done = 0;
            if T::HALF != Half::No {
                let mut wide = Buffer::new();
                loop {
                    let len = Buffer::take(n - done);
                    if len == 0 {
                        break;
                    }
                    map(wide.0.as_mut_ptr(), s.add(done), len, |x| x.to_f32());
                    narrow_half::<S>(T::HALF, d.add(done).cast(), wide.0.as_ptr(), len);
                    done += len;
                }
            }
            map(d.add(done), s.add(done), n - done, |x| self.one(x));
        }
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

/// `x as i32`, in a form that the vectoriser takes: the value of an integral x, saturated, NaN to 0.
#[inline(always)]
fn saturated(x: f32) -> i32 {
    // NaN fails both comparisons and becomes the lower bound here.
    let low = if x >= -2_147_483_648.0 { x } else { -2_147_483_648.0 };
    let inside = if low <= 2_147_483_520.0 { low } else { 2_147_483_520.0 };
    // SAFETY: finite, and between the least i32 and the greatest f32 below 2^31.
    let v = unsafe { inside.to_int_unchecked::<i32>() };
    let v = if x >= 2_147_483_648.0 { i32::MAX } else { v };
    if x.is_nan() { 0 } else { v }
}

#[derive(Clone, Copy)]
enum Integral {
    Trunc,
    Even,
    Away,
    Floor,
    Ceil,
}

impl Integral {
    /// The integral value; the sign of a zero may be lost.
    #[inline(always)]
    fn round(self, x: f32) -> f32 {
        match self {
            Integral::Trunc => x.trunc(),
            Integral::Even => x.round_ties_even(),
            Integral::Away => {
                let t = x.trunc();
                t + if (x - t).abs() >= 0.5 { 1f32.copysign(x) } else { 0.0 }
            }
            Integral::Floor => x.floor(),
            Integral::Ceil => x.ceil(),
        }
    }
}

/// f32 to an integral f32, which has the sign of its source.
#[derive(Clone, Copy)]
struct ToIntegral {
    integral: Integral,
}

impl Hop for ToIntegral {
    type From = f32;
    type To = f32;

    #[inline(always)]
    fn one(&self, x: f32) -> f32 {
        float::canonical(self.integral.round(x).copysign(x))
    }
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

impl<T: Float, I: Int> Hop for ToInt<T, I> {
    type From = T;
    type To = I;

    #[inline(always)]
    fn one(&self, x: T) -> I {
        let v = saturated(self.integral.round(x.widen()));
        if self.saturate { I::clamped(v) } else { I::low_bits(v) }
    }

    /// In steps over a buffer (widen, round, convert), each of which is a plain loop: the mode is asked outside them.
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, d: *mut I, s: *const T, n: usize) {
        let mut wide = Buffer::new();
        let p = wide.0.as_mut_ptr();
        let mut done = 0;
        // SAFETY: elements below `n`, and of the buffer.
        unsafe {
            loop {
                let len = Buffer::take(n - done);
                if len == 0 {
                    break;
                }
                // Where the values of the step before are: f32 elements need no widening.
                let mut from = p.cast_const();
                if T::HALF == Half::No {
                    from = s.add(done).cast();
                } else {
                    widen_half::<S>(T::HALF, p, s.add(done).cast(), len);
                }
                match self.integral {
                    // What truncates needs no rounding before.
                    Integral::Trunc => {}
                    Integral::Even => map(p, from, len, |x| Integral::Even.round(x)),
                    Integral::Away => map(p, from, len, |x| Integral::Away.round(x)),
                    Integral::Floor => map(p, from, len, |x| Integral::Floor.round(x)),
                    Integral::Ceil => map(p, from, len, |x| Integral::Ceil.round(x)),
                }
                if !matches!(self.integral, Integral::Trunc) {
                    from = p;
                }
                if self.saturate {
                    map(d.add(done), from, len, |x| I::clamped(saturated(x)));
                } else {
                    map(d.add(done), from, len, |x| I::low_bits(saturated(x)));
                }
                done += len;
            }
            for k in done..n {
                d.add(k).write_unaligned(self.one(s.add(k).read_unaligned()));
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
    unsafe fn run<S: Simd>(self) {
        let Area { rows, cols, d, s } = self.area;
        let dense = d.cs == size_of::<H::To>() as isize && s.cs == size_of::<H::From>() as isize;
        for r in 0..rows {
            // SAFETY: row `r` of each plane, element by element.
            unsafe {
                if dense {
                    let (to, from) = (d.at(r, 0).cast::<H::To>(), s.at(r, 0).cast::<H::From>());
                    self.hop.row::<S>(to, from, cols);
                } else {
                    for c in 0..cols {
                        let x = s.at(r, c).cast::<H::From>().read_unaligned();
                        d.at(r, c).cast::<H::To>().write_unaligned(self.hop.one(x));
                    }
                }
            }
        }
    }
}
