//! Choosing between two operands by a mask (`isa.md` §2.6 says which bit is whose; see [`compare`](crate::compare())).
//! Domain: the destination's valid region. Bits are moved, whatever they mean.

use std::marker::PhantomData;

use dtype::Scalar;

use crate::compare::check_mask;
use crate::elementwise::same_types;
use crate::number::with_bits;
use crate::plane::{self, Arena, Layout, Plane};
use crate::simd::Simd;
use crate::tier::{Kernel, dispatch};
use crate::{Fault, Tile};

/// `dst[i, j]` = `a[i, j]` where bit (i, j) of the mask is set, else `b[i, j]`.
pub fn select(mem: &mut [u8], dst: &Tile, mask: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    same_types("a selection", &[dst, a, b])?;
    let region = check(mem.len(), dst, mask, a)?;
    b.check_region("second source", mem.len(), region.0, region.1)?;
    let mem = Arena::new(mem);
    let b = plane::source(mem, b, region, dst, region, true);
    run(mem, dst, mask, a, b.layout);
    Ok(())
}

/// `dst[i, j]` = `a[i, j]` where bit (i, j) of the mask is set, else `scalar`, cast to the destination's type.
pub fn select_scalar(mem: &mut [u8], dst: &Tile, mask: &Tile, a: &Tile, scalar: Scalar) -> Result<(), Fault> {
    same_types("a selection", &[dst, a])?;
    check(mem.len(), dst, mask, a)?;
    let mut bytes = dtype::scalar::cast(scalar, dst.dtype).to_le_bytes();
    run(Arena::new(mem), dst, mask, a, Layout::strided(bytes.as_mut_ptr(), 0, 0));
    Ok(())
}

pub(crate) fn check(arena: usize, dst: &Tile, mask: &Tile, a: &Tile) -> Result<(u32, u32), Fault> {
    let region = (dst.valid_rows, dst.valid_cols);
    dst.check_region("destination", arena, region.0, region.1)?;
    check_mask(arena, mask, region.0, region.1.div_ceil(8))?;
    a.check_region("first source", arena, region.0, region.1)?;
    Ok(region)
}

/// The second source may be read while the destination is written.
fn run(mem: Arena, dst: &Tile, mask: &Tile, a: &Tile, b: Layout) {
    let region = (dst.valid_rows, dst.valid_cols);
    let a = plane::source(mem, a, region, dst, region, true);
    // One byte per element, so that the loops see one more operand with strides.
    let bytes = region.1.div_ceil(8);
    let packed = plane::dense(mem.layout(mask), (region.0, bytes), 1);
    let mut flags = vec![0u8; region.0 as usize * region.1 as usize];
    if !flags.is_empty() {
        let rows = flags.chunks_exact_mut(region.1 as usize).zip(packed.chunks_exact(bytes as usize));
        for (flags, packed) in rows {
            for (flags, &byte) in flags.chunks_mut(8).zip(packed) {
                for (k, flag) in flags.iter_mut().enumerate() {
                    *flag = byte >> k & 1;
                }
            }
        }
    }
    let flags = Layout::dense(&mut flags, region.1, 1);
    let size = dst.dtype.size();
    let operands = [mem.layout(dst), flags, a.layout, b];
    plane::for_each(region.0 as usize, region.1 as usize, &operands, |rows, cols, planes| {
        let (rows, cols, planes) = plane::straighten(rows, cols, planes, [size, 1, size, size]);
        // SAFETY: the operands were checked over the domain; a source coincides with the destination or is apart from it.
        with_bits!(size, T => unsafe { dispatch(SelectKernel::<T> { rows, cols, planes, marker: PhantomData }) })
    });
}

struct SelectKernel<T> {
    rows: usize,
    cols: usize,
    /// Destination, flags, and the sources of set and clear flags.
    planes: [Plane; 4],
    marker: PhantomData<T>,
}

impl<T: Copy> Kernel for SelectKernel<T> {
    type Output = ();

    /// # Safety
    ///
    /// The planes are valid over `rows × cols` elements of `T` (flags: bytes); a source shares bytes with the destination
    /// only where it coincides with it element by element.
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const N: usize = 32;
        let [d, m, a, b] = self.planes;
        let size = size_of::<T>() as isize;
        let runs = |p: &Plane| p.cs == size || p.cs == 0;
        let dense = d.cs == size && m.cs == 1 && runs(&a) && runs(&b);
        for r in 0..self.rows {
            let mut c = 0;
            // SAFETY: elements below `cols`.
            unsafe {
                // A side is read as a whole before the destination is written: in place needs no other loop.
                let block = |p: &Plane, c: usize| {
                    let at = p.at(r, c).cast::<T>();
                    if p.cs == 0 { [at.read_unaligned(); N] } else { at.cast::<[T; N]>().read_unaligned() }
                };
                while dense && c + N <= self.cols {
                    let (mut x, y) = (block(&a, c), block(&b, c));
                    let flags = m.at(r, c).cast::<[u8; N]>().read_unaligned();
                    for k in 0..N {
                        x[k] = if flags[k] != 0 { x[k] } else { y[k] };
                    }
                    d.at(r, c).cast::<[T; N]>().write_unaligned(x);
                    c += N;
                }
                while c < self.cols {
                    let from = if m.at(r, c).read() != 0 { &a } else { &b };
                    d.at(r, c).cast::<T>().write_unaligned(from.at(r, c).cast::<T>().read_unaligned());
                    c += 1;
                }
            }
        }
    }
}
