//! Scalar arithmetic.

use dtype::DType::{self, *};
use dtype::Scalar;
use dtype::scalar::{BinaryOp, CmpOp, ScalarError, binary, cast, compare, neg, not};

fn int(d: DType, v: i64) -> Scalar {
    Scalar::from_i64(d, v)
}

#[test]
fn integers_wrap_and_truncate() {
    let cases = [
        (BinaryOp::Add, I8, 127, 1, -128),
        (BinaryOp::Sub, I16, -32768, 1, 32767),
        (BinaryOp::Mul, I32, 1 << 20, 1 << 12, 0),
        (BinaryOp::Div, I32, -7, 2, -3),
        (BinaryOp::Rem, I32, -7, 2, -1),
        (BinaryOp::Div, I64, i64::MIN, -1, i64::MIN),
        (BinaryOp::Rem, I64, i64::MIN, -1, 0),
        (BinaryOp::Div, U8, 200, 3, 66),
        (BinaryOp::Min, I8, -1, 1, -1),
        (BinaryOp::Min, U8, 255, 1, 1),
        (BinaryOp::Max, U32, u32::MAX as i64, 1, u32::MAX as i64),
        (BinaryOp::Shl, I32, 1, 31, i32::MIN as i64),
        (BinaryOp::Shl, I32, 1, 32, 0),
        (BinaryOp::Shr, I32, -8, 1, -4),
        (BinaryOp::Shr, I8, -8, 100, -1),
        (BinaryOp::Shr, U8, 0x80, 7, 1),
        (BinaryOp::Xor, U16, 0xff00, 0x0ff0, 0xf0f0),
    ];
    for (op, d, a, b, want) in cases {
        assert_eq!(binary(op, int(d, a), int(d, b)), Ok(int(d, want)), "{op:?} {a} {b}: {d}");
    }
    assert_eq!(binary(BinaryOp::Div, int(I32, 1), int(I32, 0)), Err(ScalarError::DivisionByZero));
    assert_eq!(binary(BinaryOp::Rem, int(U64, 1), int(U64, 0)), Err(ScalarError::DivisionByZero));
    assert_eq!(binary(BinaryOp::Shl, int(I32, 1), int(I32, -1)), Err(ScalarError::NegativeShift));
}

#[test]
fn index_mixes_with_i64_alone() {
    assert_eq!(binary(BinaryOp::Add, Scalar::index(2), int(I64, 3)), Ok(Scalar::index(5)));
    assert_eq!(binary(BinaryOp::Add, int(I64, 3), Scalar::index(2)), Ok(Scalar::index(5)));
    assert_eq!(binary(BinaryOp::Add, int(I64, 3), int(I64, 2)), Ok(int(I64, 5)));
    assert_eq!(binary(BinaryOp::Add, int(I32, 3), Scalar::index(2)), Err(ScalarError::Mixed(I32, Index)));
    assert_eq!(compare(CmpOp::Lt, int(I32, 3), int(I16, 2)), Err(ScalarError::Mixed(I32, I16)));
}

#[test]
fn floats_round_once_and_nan_is_canonical() {
    let f = |v: f32| Scalar::f32(v);
    assert_eq!(binary(BinaryOp::Sub, f(f32::INFINITY), f(f32::INFINITY)).unwrap().bits, 0x7fc0_0000);
    assert_eq!(binary(BinaryOp::Max, f(f32::NAN), f(1.0)).unwrap().bits, 0x7fc0_0000);
    assert_eq!(binary(BinaryOp::Max, f(-0.0), f(0.0)), Ok(f(0.0)));
    assert_eq!(binary(BinaryOp::Min, f(0.0), f(-0.0)), Ok(f(-0.0)));
    assert_eq!(binary(BinaryOp::Rem, f(-5.5), f(2.0)), Ok(f(-1.5)));
    assert_eq!(binary(BinaryOp::And, f(1.0), f(1.0)), Err(ScalarError::NotDefined(F32)));
    // 2^-7 · 2^-126 · (1 + 2^-7)² is just above a tie of bf16 subnormals; via f32 it would become the tie.
    let a = Scalar::new(BF16, 0x0081);
    let b = Scalar::new(BF16, 0x3c01);
    let exact = a.as_f64() * b.as_f64();
    let got = binary(BinaryOp::Mul, a, b).unwrap();
    let unit = 2f64.powi(-133);
    assert_eq!(got.as_f64(), (exact / unit).round_ties_even() * unit);
}

#[test]
fn narrowing_from_f64_keeps_the_sticky_bits() {
    // Just above the tie between 1 and 1 + 2^-10, by a bit that f32 cannot hold.
    let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-50);
    assert_eq!(Scalar::from_f64(F16, x).bits, 0x3c01);
    let x = 1.0 + 2f64.powi(-8) + 2f64.powi(-50);
    assert_eq!(Scalar::from_f64(BF16, x).bits, 0x3f81);
    let v = (1i64 << 62) + (1i64 << 54) + 1;
    assert_eq!(Scalar::from_i64(BF16, v).bits, 0x5e81, "an integer rounds once, too");
}

#[test]
fn comparisons() {
    let nan = Scalar::f32(f32::NAN);
    for op in [CmpOp::Eq, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge] {
        assert_eq!(compare(op, nan, nan), Ok(Scalar::bool(false)));
    }
    assert_eq!(compare(CmpOp::Ne, nan, nan), Ok(Scalar::bool(true)));
    assert_eq!(compare(CmpOp::Eq, Scalar::f32(0.0), Scalar::f32(-0.0)), Ok(Scalar::bool(true)));
    assert_eq!(compare(CmpOp::Lt, int(I8, -1), int(I8, 1)), Ok(Scalar::bool(true)));
    assert_eq!(compare(CmpOp::Lt, int(U64, -1), int(U64, 1)), Ok(Scalar::bool(false)));
}

#[test]
fn casts_are_those_of_c() {
    assert_eq!(cast(Scalar::f32(-2.9), I32), int(I32, -2));
    assert_eq!(cast(Scalar::f32(300.7), U8), int(U8, 44));
    assert_eq!(cast(Scalar::f32(f32::NAN), I32), int(I32, 0));
    assert_eq!(cast(Scalar::f32(1e30), I64), int(I64, i64::MAX));
    assert_eq!(cast(Scalar::f32(1e30), I32), int(I32, -1), "the low bits of i64::MAX");
    assert_eq!(cast(Scalar::f32(1.5e19), U64), Scalar::new(U64, 1.5e19f32 as u64));
    assert_eq!(cast(int(I32, -1), U8), int(U8, 255));
    assert_eq!(cast(int(I8, -1), I64), int(I64, -1));
    assert_eq!(cast(int(U8, 255), I64), int(I64, 255));
    assert_eq!(cast(int(I32, 16_777_217), F32), Scalar::f32(16_777_216.0));
    assert_eq!(cast(int(U64, -1), F32), Scalar::f32(18_446_744_073_709_551_616.0));
    assert_eq!(cast(Scalar::f32(0.1), Bool), Scalar::bool(true));
    assert_eq!(cast(int(I32, 256), Bool), Scalar::bool(true));
    assert_eq!(cast(Scalar::bool(true), F16), Scalar::new(F16, 0x3c00));
}

#[test]
fn neg_and_not() {
    assert_eq!(neg(int(I8, -128)), Ok(int(I8, -128)));
    assert_eq!(neg(Scalar::f32(0.0)), Ok(Scalar::f32(-0.0)));
    assert_eq!(not(Scalar::bool(false)), Ok(Scalar::bool(true)));
    assert_eq!(not(int(U8, 0x0f)), Ok(int(U8, 0xf0)));
    assert!(neg(Scalar::bool(true)).is_err() && not(Scalar::f32(1.0)).is_err());
}
