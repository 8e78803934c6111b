//! Accuracy of the transcendentals, against the host's f64 library rounded once.

mod common;

use common::{Rng, tiers};
use dtype::{DType, Scalar};
use isa::{Tile, UnaryOp, unary};

fn reference(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        _ => 1.0 / x,
    }
}

/// Runs `op` on the given elements, on every tier, and returns the portable result after comparing the others with it.
fn run(op: UnaryOp, dtype: DType, bits: &[u32]) -> Vec<u64> {
    let n = bits.len() as u32;
    let tile = Tile::row_major(0, dtype, 1, n);
    let mut mem = vec![0u8; tile.byte_len()];
    for (e, b) in mem.chunks_exact_mut(dtype.size()).zip(bits) {
        e.copy_from_slice(&b.to_le_bytes()[..dtype.size()]);
    }
    let first = std::cell::RefCell::new(None);
    tiers(|tier| {
        let mut mem = mem.clone();
        unary(&mut mem, op, &tile, &tile).unwrap();
        let mut first = first.borrow_mut();
        match &*first {
            None => *first = Some(mem),
            Some(f) => assert!(*f == mem, "{tier:?} gives other bits for {op:?} on {dtype}"),
        }
    });
    let mem = first.into_inner().unwrap();
    mem.chunks_exact(dtype.size()).map(|e| e.iter().rev().fold(0, |w, &b| w << 8 | b as u64)).collect()
}

/// Distance in units of the last place; 0 for two NaNs.
fn ulps(dtype: DType, got: u64, want: u64) -> u64 {
    let (a, b) = (Scalar::new(dtype, got), Scalar::new(dtype, want));
    if a.as_f64().is_nan() && b.as_f64().is_nan() {
        return 0;
    }
    let sign = 1u64 << (dtype.bits() - 1);
    let ordered = |v: u64| if v & sign != 0 { -((v & !sign) as i64) } else { v as i64 };
    ordered(got).abs_diff(ordered(want))
}

const OPS: [UnaryOp; 5] = [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Recip];

fn check(op: UnaryOp, dtype: DType, bits: &[u32]) {
    let got = run(op, dtype, bits);
    let mut wrong = 0;
    for (&b, &g) in bits.iter().zip(&got) {
        let x = Scalar::new(dtype, b as u64).as_f64();
        let want = Scalar::from_f64(dtype, reference(op, x)).bits;
        let d = ulps(dtype, g, want);
        assert!(d <= 1, "{op:?} of {x:e}: {g:#x}, expected {want:#x}, {d} ulp");
        wrong += (d != 0) as usize;
    }
    // The sequences are far more accurate than the element types: a differing last bit is a rare tie.
    assert!(wrong * 1_000_000 <= bits.len() * 2, "{op:?} {dtype}: {wrong} of {} differ", bits.len());
}

#[test]
fn every_16_bit_float() {
    let all: Vec<u32> = (0..65536).collect();
    for dtype in [DType::F16, DType::BF16] {
        for op in OPS {
            check(op, dtype, &all);
        }
    }
}

#[test]
fn f32_within_one_ulp() {
    let mut rng = Rng::new(1);
    let mut bits: Vec<u32> = (0..2_000_000).map(|_| rng.next() as u32).collect();
    // The range where exp is neither 0 nor infinity, and log near 1.
    bits.extend((0..1_000_000).map(|_| (rng.normal() * 60.0).to_bits()));
    bits.extend((0..500_000).map(|_| (1.0 + rng.normal() * 0.01).to_bits()));
    for op in OPS {
        check(op, DType::F32, &bits);
    }
}

#[test]
fn special_values() {
    let f = |op, x: f32| f32::from_bits(run(op, DType::F32, &[x.to_bits()])[0] as u32);
    assert_eq!(f(UnaryOp::Exp, f32::NEG_INFINITY), 0.0);
    assert_eq!(f(UnaryOp::Exp, f32::INFINITY), f32::INFINITY);
    assert_eq!(f(UnaryOp::Exp, 0.0), 1.0);
    assert_eq!(f(UnaryOp::Exp, 88.8), f32::INFINITY);
    assert_eq!(f(UnaryOp::Exp, -104.0), 0.0);
    assert_eq!(f(UnaryOp::Exp, -103.0), f32::from_bits(1));
    assert_eq!(f(UnaryOp::Log, 0.0), f32::NEG_INFINITY);
    assert_eq!(f(UnaryOp::Log, -0.0), f32::NEG_INFINITY);
    assert_eq!(f(UnaryOp::Log, 1.0).to_bits(), 0);
    assert_eq!(f(UnaryOp::Log, f32::INFINITY), f32::INFINITY);
    assert_eq!(f(UnaryOp::Sqrt, -0.0).to_bits(), 0x8000_0000);
    assert_eq!(f(UnaryOp::Rsqrt, 0.0), f32::INFINITY);
    assert_eq!(f(UnaryOp::Rsqrt, -0.0), f32::NEG_INFINITY);
    assert_eq!(f(UnaryOp::Rsqrt, f32::INFINITY), 0.0);
    assert_eq!(f(UnaryOp::Recip, -0.0), f32::NEG_INFINITY);
    for (op, x) in [(UnaryOp::Log, -1.0), (UnaryOp::Sqrt, -1.0), (UnaryOp::Rsqrt, -1.0), (UnaryOp::Exp, f32::NAN)] {
        assert_eq!(f(op, x).to_bits(), 0x7fc0_0000, "{op:?} of {x}");
    }
}
