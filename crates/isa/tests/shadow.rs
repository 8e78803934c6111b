//! Definedness against the instructions themselves: an output element that depends on an element of a source must be
//! undefined when that source element is. Dependence is found by changing the source and looking at the output.

mod common;

use common::Rng;
use dtype::{DType, Profile, RoundMode, Scalar};
use isa::{Arg, BinaryOp, Fault, Init, Order, Pad, Reduce, Tile, UnaryOp, shadow};
use memory::{Buffer, View};

type Instruction = Box<dyn Fn(&mut [u8]) -> Result<(), Fault>>;

struct Case {
    name: &'static str,
    dst: Tile,
    region: (u32, u32),
    sources: Vec<Tile>,
    run: Instruction,
    shadow: Instruction,
}

macro_rules! case {
    ($name:literal, $dst:expr, $region:expr, [$($src:expr),*], $f:ident($($arg:expr),*)) => {{
        Case {
            name: $name,
            dst: $dst,
            region: $region,
            sources: vec![$($src),*],
            run: Box::new(move |m| isa::$f(m, $($arg),*)),
            shadow: Box::new(move |m| shadow::$f(m, $($arg),*)),
        }
    }};
}

fn cases() -> Vec<Case> {
    let f = DType::F32;
    let a = Tile::row_major(0, f, 4, 8).with_valid(3, 7);
    let b = Tile::row_major(256, f, 4, 8).with_valid(3, 7);
    let d = Tile::row_major(512, f, 4, 8).with_valid(3, 7);
    let t = Tile::row_major(512, f, 8, 4).with_valid(7, 3);
    let column = Tile::row_major(1024, f, 4, 1).with_valid(3, 1);
    let row = Tile::row_major(1280, f, 1, 8).with_valid(1, 7);
    let half = Tile::row_major(1536, DType::F16, 4, 8).with_valid(3, 7);
    let blocks = Tile::row_major(2048, f, 4, 8).with_valid(3, 8);
    let bits = Tile { dtype: DType::U32, ..d };
    let l = Tile::row_major(0, f, 3, 5);
    let r = Tile::row_major(256, f, 5, 4);
    let acc = Tile::new(4096, f, 16, 16, Order::Nz, 1024).with_valid(3, 4);
    let bias = Tile::row_major(3072, f, 1, 4);
    let p = Profile::A5;
    vec![
        case!("binary", d, (3, 7), [a, b], binary(BinaryOp::Add, &d, &a, &b)),
        case!("part", d, (3, 7), [a, b.with_valid(2, 5)], part(BinaryOp::Add, &d, &a, &b.with_valid(2, 5))),
        case!("in place", a, (3, 7), [a, b], binary(BinaryOp::Add, &a, &a, &b)),
        case!("scalar", d, (3, 7), [a], binary_scalar(BinaryOp::Add, &d, &a, Scalar::f32(1.0), false)),
        case!("unary", d, (3, 7), [a], unary(UnaryOp::Neg, &d, &a)),
        case!("convert", half, (3, 7), [a], convert(&half, &a, RoundMode::Trunc, false, p)),
        case!("copy", d, (3, 7), [a], copy(&d, &a)),
        case!("transpose", t, (7, 3), [a], transpose(&t, &a)),
        case!("pad", d, (4, 8), [a], fill_pad(&d, &a, Pad::Zero)),
        case!("fill", d, (3, 7), [], fill(&d, Scalar::f32(1.0))),
        case!("fill all", d, (4, 8), [], fill_all(&d, Scalar::f32(1.0))),
        case!("triangle", d, (3, 7), [], triangle(&d, 1, true)),
        case!("random", bits, (3, 7), [], random(&bits, [1, 2], [3, 4, 5, 6], 10)),
        case!("row sum", column, (3, 1), [a], row_reduce(Reduce::Sum, &column, &a, p)),
        case!("row product", column, (3, 1), [a], row_reduce(Reduce::Prod, &column, &a, p)),
        case!("column product", row, (1, 7), [a], col_reduce(Reduce::Prod, &row, &a, p)),
        case!("column sum", row, (1, 7), [a], col_reduce(Reduce::Sum, &row, &a, p)),
        case!("row expand", d, (3, 7), [a, column], row_expand(Some(BinaryOp::Add), &d, Some(&a), &column)),
        case!("row blocks", d, (3, 7), [a, blocks], row_expand(Some(BinaryOp::Add), &d, Some(&a), &blocks)),
        case!("column expand", d, (3, 7), [row], col_expand(None, &d, None, &row)),
        case!("matmul", acc, (3, 4), [l, r], matmul(&acc, &l, &r, Init::Zero, p)),
        case!("matmul accumulate", acc, (3, 4), [l, r, acc], matmul(&acc, &l, &r, Init::Accumulate, p)),
        case!("matmul bias", acc, (3, 4), [l, r, bias], matmul(&acc, &l, &r, Init::Bias(bias), p)),
    ]
}

#[test]
fn definedness_follows_dependence() {
    let mut rng = Rng::new(1);
    for case in cases() {
        let size = 8192;
        let mut base = vec![0u8; size];
        for e in base.chunks_exact_mut(4) {
            // Positive and of one magnitude: every summand shows in a sum.
            e.copy_from_slice(&(1.0 + rng.below(256) as f32 / 256.0).to_le_bytes());
        }
        let mut plain = base.clone();
        (case.run)(&mut plain).unwrap();
        for source in &case.sources {
            for r in 0..source.valid_rows {
                for c in 0..source.valid_cols {
                    let mut mem = base.clone();
                    let at = source.byte_offset(r, c);
                    let x = isa::get(&mem, source, r, c).unwrap().as_f64() as f32;
                    mem[at..at + 4].copy_from_slice(&(x + 64.0).to_le_bytes());
                    (case.run)(&mut mem).unwrap();
                    let mut defined = vec![1u8; size];
                    defined[at..at + 4].fill(0);
                    (case.shadow)(&mut defined).unwrap();
                    for i in 0..case.region.0 {
                        for j in 0..case.region.1 {
                            let changed =
                                isa::get(&mem, &case.dst, i, j).unwrap() != isa::get(&plain, &case.dst, i, j).unwrap();
                            let is_defined = shadow::is_defined(&defined, &case.dst, i, j).unwrap();
                            assert_eq!(is_defined, !changed, "{}: element ({i}, {j}) for source ({r}, {c})", case.name);
                        }
                    }
                }
            }
        }
        // From wholly undefined memory the outputs are undefined, except those without a source.
        let mut undefined = vec![0u8; size];
        (case.shadow)(&mut undefined).unwrap();
        let first = shadow::is_defined(&undefined, &case.dst, 0, 0).unwrap();
        assert_eq!(first, case.sources.is_empty(), "{}", case.name);
        // The domain and nothing else is written.
        for r in 0..case.dst.rows {
            for c in 0..case.dst.cols {
                if r < case.region.0 && c < case.region.1 {
                    shadow::set(&mut undefined, &case.dst, r, c, false).unwrap();
                }
            }
        }
        assert!(undefined.iter().all(|&b| b == 0), "{}: bytes outside the domain changed", case.name);
    }
}

/// A place depends on every element of its row or column, though it need not change with each.
#[test]
fn places_need_the_whole_axis() {
    let src = Tile::row_major(0, DType::F32, 4, 8).with_valid(3, 7);
    let column = Tile::row_major(256, DType::I32, 4, 1).with_valid(3, 1);
    let row = Tile::row_major(512, DType::I32, 1, 8).with_valid(1, 7);
    let mut mem = vec![1u8; 1024];
    shadow::set(&mut mem, &src, 1, 4, false).unwrap();
    // Not valid, so of no consequence.
    shadow::set(&mut mem, &src, 2, 7, false).unwrap();
    shadow::arg_reduce_rows(&mut mem, Arg::Max, &column, &src).unwrap();
    shadow::arg_reduce_cols(&mut mem, Arg::Min, &row, &src).unwrap();
    assert_eq!(
        (0..3).map(|r| shadow::is_defined(&mem, &column, r, 0).unwrap()).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert!((0..7).all(|c| shadow::is_defined(&mem, &row, 0, c).unwrap() == (c != 4)));
}

#[test]
fn transfers_move_definedness() {
    let gm = View::new(Buffer::from_bytes(&[1u8; 64]), DType::F32, &[4, 4]).unwrap();
    gm.buffer.write(4 * 5, &[0; 4]).unwrap();
    let t = Tile::new(0, DType::F32, 16, 8, Order::Nz, 512).with_valid(4, 4);
    let mut mem = vec![0; t.byte_len()];
    shadow::load(&mut mem, &t, &gm).unwrap();
    assert_eq!(shadow::first_undefined(&mem, &t).unwrap(), Some((1, 1)));
    let out = View::new(Buffer::zeroed(32), DType::BF16, &[4, 4]).unwrap();
    shadow::store(&out, &mem, &t, true).unwrap();
    let bytes = out.buffer.to_vec();
    assert!(bytes.iter().enumerate().all(|(k, &b)| b == !(10..12).contains(&k) as u8), "{bytes:?}");
    shadow::set(&mut mem, &t, 1, 1, true).unwrap();
    assert_eq!(shadow::first_undefined(&mem, &t).unwrap(), None);
    let mut all = vec![1; t.byte_len()];
    shadow::poison_outside(&mut all, &t).unwrap();
    assert_eq!(all.iter().filter(|&&b| b != 0).count(), 4 * 4 * 4);
    assert!(shadow::is_defined(&all, &t, 3, 3).unwrap() && !shadow::is_defined(&all, &t, 3, 4).unwrap());
}
