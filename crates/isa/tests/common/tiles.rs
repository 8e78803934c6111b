//! Random tiles in a random arena, and the comparison of an instruction with a model of it.

use dtype::{DType, Scalar};
use isa::{Fault, Order, Tile};

use super::{Rng, tiers};

pub(crate) const ARENA: usize = 1 << 15;
/// Every type that computes.
pub(crate) const NUMBERS: [DType; 12] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::Index,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
];

/// Random bytes, with special floats and small integers sprinkled in.
pub(crate) fn arena(rng: &mut Rng, dtype: DType) -> Vec<u8> {
    let mut mem = vec![0; ARENA];
    rng.fill(&mut mem);
    let special = |rng: &mut Rng| -> u64 {
        let list: &[u64] = match dtype {
            DType::F32 => {
                &[0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc1_2345, 1, 0x3f80_0000, 0x7f7f_ffff]
            }
            DType::F16 => &[0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfd01, 1, 0x3c00, 0x7bff],
            DType::BF16 => &[0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xff81, 1, 0x3f80, 0x7f7f],
            _ => &[0, 1, u64::MAX, 1 << 7, 1 << 15, 1 << 31, 1 << 63, 2, 3],
        };
        list[rng.below(list.len() as u64) as usize]
    };
    let size = dtype.size();
    for e in mem.chunks_exact_mut(size) {
        let bits = match rng.below(8) {
            0 => special(rng),
            // Most floats of ordinary size, so that sums round rather than overflow.
            1..=5 if dtype.is_float() => Scalar::from_f64(dtype, rng.normal() as f64 * 8.0).bits,
            _ => continue,
        };
        e.copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    mem
}

/// A tile that fits the arena, of at least `rows × cols` valid elements in a random order.
pub(crate) fn tile(rng: &mut Rng, dtype: DType, rows: u32, cols: u32) -> Tile {
    let order = Order::ALL[[0, 0, 0, 1, 2, 3, 4, 5][rng.below(8) as usize]];
    let size = dtype.size();
    let fractal = if size == 4 && rng.below(2) == 0 { 1024 } else { 512 };
    let probe = Tile::new(0, dtype, 16, 16, order, fractal);
    let (ir, ic) = probe.inner_box();
    let grow = |rng: &mut Rng, n: u32, step: u32| (n + rng.below(4) as u32).max(1).div_ceil(step) * step;
    let (r, c) = (grow(rng, rows, ir), grow(rng, cols, ic));
    let mut t = Tile::new(0, dtype, r, c, order, fractal).with_valid(rows, cols);
    if !order.is_boxed() {
        t.pitch += rng.below(3) as u32 * 5;
    }
    let len = t.byte_len();
    assert!(len <= ARENA, "{t:?}");
    t.offset = rng.below(((ARENA - len) / size) as u64 + 1) as usize * size;
    t
}

/// A destination for an instruction with the given source: often the same place, sometimes a little off.
pub(crate) fn near(rng: &mut Rng, source: &Tile, rows: u32, cols: u32) -> Tile {
    if rows <= source.rows && cols <= source.cols {
        match rng.below(4) {
            0 => return source.with_valid(rows, cols),
            1 => {
                let t = Tile { offset: source.offset + source.dtype.size(), ..source.with_valid(rows, cols) };
                if t.offset + t.byte_len() <= ARENA {
                    return t;
                }
            }
            _ => {}
        }
    }
    tile(rng, source.dtype, rows, cols)
}

pub(crate) fn extent(rng: &mut Rng) -> (u32, u32) {
    match rng.below(8) {
        0 => (0, rng.below(4) as u32),
        1 => (rng.below(4) as u32, 0),
        2 => (1, 1 + rng.below(80) as u32),
        3 => (1 + rng.below(20) as u32, 1),
        _ => (1 + rng.below(20) as u32, 1 + rng.below(40) as u32),
    }
}

pub(crate) type Model<'a> = dyn Fn(&dyn Fn(&Tile, u32, u32) -> Scalar, u32, u32) -> Scalar + 'a;

/// Runs `f` on every tier and compares with `model(read, r, c)` for the elements of `region` of `dst`.
pub(crate) fn check(
    what: &str,
    before: &[u8],
    dst: &Tile,
    region: (u32, u32),
    f: &dyn Fn(&mut [u8]) -> Result<(), Fault>,
    model: &Model,
) {
    let read = |t: &Tile, r: u32, c: u32| isa::get(before, t, r, c).unwrap();
    let mut want = before.to_vec();
    for r in 0..region.0 {
        for c in 0..region.1 {
            let v = model(&read, r, c);
            isa::set(&mut want, dst, r, c, Scalar::new(dst.dtype, v.bits)).unwrap();
        }
    }
    tiers(|tier| {
        let mut got = before.to_vec();
        f(&mut got).unwrap_or_else(|e| panic!("{what}: {e}"));
        if got != want {
            for r in 0..region.0 {
                for c in 0..region.1 {
                    let (g, w) = (isa::get(&got, dst, r, c).unwrap(), isa::get(&want, dst, r, c).unwrap());
                    assert_eq!(g.bits, w.bits, "{tier:?} {what} at ({r}, {c}): {g:?}, expected {w:?}; {dst:?}");
                }
            }
            panic!("{tier:?} {what}: bytes outside the domain of {dst:?} changed");
        }
    });
}
