//! Rates of tile instructions against what the host can do at most: matrix products against the register-to-register
//! FMA rate, elementwise instructions against a triad over the same footprint.
//!
//! `cargo run --release -p isa --example rates`. One thread; the median of 200 windows.
#![allow(clippy::print_stdout)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::hint::black_box;
use std::time::Instant;

use dtype::{DType, Profile, RoundMode, Scalar};
use isa::{BinaryOp, Init, Order, Reduce, Tile, UnaryOp, tier};

/// Seconds of one call: the median of many short windows.
fn time(mut f: impl FnMut()) -> f64 {
    f();
    let mut calls = 1u32;
    let mut windows = Vec::new();
    while windows.len() < 200 {
        let start = Instant::now();
        for _ in 0..calls {
            f();
        }
        let t = start.elapsed().as_secs_f64();
        if t < 0.0002 && calls < 1 << 20 {
            calls *= 2;
            continue;
        }
        windows.push(t / calls as f64);
    }
    windows.sort_by(f64::total_cmp);
    windows[windows.len() / 2]
}

/// Independent chains of FMAs, enough to hide the latency of two units.
const CHAINS: usize = 12;

#[inline(always)]
fn fma_chains(steps: usize) -> [[f32; 4]; CHAINS] {
    let mut acc = [[1f32; 4]; CHAINS];
    let x = black_box([0.999f32; 4]);
    let y = black_box([0.001f32; 4]);
    for _ in 0..steps {
        for a in &mut acc {
            for k in 0..4 {
                a[k] = a[k].mul_add(x[k], y[k]);
            }
        }
    }
    acc
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fma_avx2(steps: usize) -> [__m256; CHAINS] {
    let mut acc = [_mm256_set1_ps(1.0); CHAINS];
    let (x, y) = (black_box(_mm256_set1_ps(0.999)), black_box(_mm256_set1_ps(0.001)));
    for _ in 0..steps {
        for a in &mut acc {
            *a = _mm256_fmadd_ps(*a, x, y);
        }
    }
    acc
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fma_avx512(steps: usize) -> [__m512; CHAINS] {
    let mut acc = [_mm512_set1_ps(1.0); CHAINS];
    let (x, y) = (black_box(_mm512_set1_ps(0.999)), black_box(_mm512_set1_ps(0.001)));
    for _ in 0..steps {
        for a in &mut acc {
            *a = _mm512_fmadd_ps(*a, x, y);
        }
    }
    acc
}

/// GF/s of FMAs on registers.
fn fma_peak() -> f64 {
    let steps = 2_000;
    let flops = |n: usize| (steps * CHAINS * n * 2) as f64;
    #[cfg(target_arch = "x86_64")]
    match tier::best() {
        isa::Tier::Avx512 | isa::Tier::Avx512Vnni => {
            let t = time(|| {
                // SAFETY: the tier was detected.
                #[allow(unsafe_code)]
                let sums = unsafe { fma_avx512(steps) };
                black_box(sums);
            });
            return flops(16) / t / 1e9;
        }
        isa::Tier::Avx2 => {
            let t = time(|| {
                // SAFETY: the tier was detected.
                #[allow(unsafe_code)]
                let sums = unsafe { fma_avx2(steps) };
                black_box(sums);
            });
            return flops(8) / t / 1e9;
        }
        isa::Tier::Portable => {}
    }
    let t = time(|| {
        black_box(fma_chains(steps));
    });
    flops(4) / t / 1e9
}

/// GB/s of `a[i] = b[i] + s·c[i]` over three arrays of `bytes` in all.
fn triad(bytes: usize) -> f64 {
    let n = bytes / 12;
    let (mut a, b, c) = (vec![0f32; n], vec![1f32; n], vec![2f32; n]);
    #[inline(always)]
    fn body(a: &mut [f32], b: &[f32], c: &[f32]) {
        for ((x, y), z) in a.iter_mut().zip(b).zip(c) {
            *x = *y + 3.0 * *z;
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn widest(a: &mut [f32], b: &[f32], c: &[f32]) {
        body(a, b, c);
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn wide(a: &mut [f32], b: &[f32], c: &[f32]) {
        body(a, b, c);
    }
    let t = time(|| {
        #[cfg(target_arch = "x86_64")]
        if isa::Tier::Avx512.available() {
            // SAFETY: the tier was detected.
            #[allow(unsafe_code)]
            unsafe {
                widest(black_box(&mut a), black_box(&b), black_box(&c))
            };
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if isa::Tier::Avx2.available() {
            // SAFETY: the tier was detected.
            #[allow(unsafe_code)]
            unsafe {
                wide(black_box(&mut a), black_box(&b), black_box(&c))
            };
            return;
        }
        body(black_box(&mut a), black_box(&b), black_box(&c));
    });
    (n * 12) as f64 / t / 1e9
}

fn matmul(dtype: DType, n: u32) -> f64 {
    let acc_type = if dtype == DType::I8 { DType::I32 } else { DType::F32 };
    let lhs = Tile::row_major(0, dtype, n, n);
    let rhs = Tile::row_major(lhs.byte_len(), dtype, n, n);
    let acc = Tile::row_major(rhs.offset + rhs.byte_len(), acc_type, n, n);
    let mut mem = vec![0; acc.offset + acc.byte_len()];
    for t in [lhs, rhs] {
        for r in 0..n {
            for c in 0..n {
                let v = Scalar::from_f64(dtype, ((r * 7 + c * 3) % 11) as f64 - 5.0);
                isa::set(&mut mem, &t, r, c, v).expect("inside the arena");
            }
        }
    }
    let t = time(|| isa::matmul(&mut mem, &acc, &lhs, &rhs, Init::Accumulate, Profile::A5).expect("a legal product"));
    2.0 * (n as f64).powi(3) / t / 1e9
}

fn main() {
    println!("tier {:?}", tier::current());
    let peak = fma_peak();
    println!("f32 FMA on registers         {peak:8.1} GF/s");
    for n in [64, 128] {
        for dtype in [DType::F32, DType::BF16, DType::F16, DType::I8] {
            let rate = matmul(dtype, n);
            println!(
                "matmul {:4} {n:3}^3             {rate:8.1} G/s   {:4.0} % of FMA",
                dtype.name(),
                rate / peak * 100.0
            );
        }
    }
    let kib = 64;
    let reference = triad(kib * 1024);
    println!("triad over {kib} KiB           {reference:8.1} GB/s");
    let report = |name: &str, bytes: usize, t: f64| {
        let rate = bytes as f64 / t / 1e9;
        println!("{name:28} {rate:8.1} GB/s   {:4.0} % of triad", rate / reference * 100.0);
    };
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::I32, DType::I8] {
        let size = dtype.size() as u32;
        let cols = 256u32;
        let rows = (kib as u32 * 1024) / 3 / size / cols;
        let a = Tile::row_major(0, dtype, rows, cols);
        let b = Tile::row_major(a.byte_len(), dtype, rows, cols);
        let d = Tile::row_major(2 * a.byte_len(), dtype, rows, cols);
        let mut mem = vec![0; 3 * a.byte_len()];
        isa::fill(&mut mem, &a, Scalar::f32(1.5)).expect("a legal fill");
        isa::fill(&mut mem, &b, Scalar::f32(2.5)).expect("a legal fill");
        let bytes = 3 * a.byte_len();
        for op in [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Max] {
            let t = time(|| isa::binary(&mut mem, op, &d, &a, &b).expect("legal"));
            report(&format!("{op:?} {dtype}"), bytes, t);
        }
        let t = time(|| isa::binary(&mut mem, BinaryOp::Add, &a, &a, &b).expect("legal"));
        report(&format!("Add {dtype} in place"), bytes, t);
    }
    let (rows, cols) = (32, 256);
    let f = |at: u32| Tile::row_major((at * rows * cols * 4) as usize, DType::F32, rows, cols);
    let (a, d) = (f(0), f(1));
    let mut mem = vec![0; 2 * a.byte_len()];
    let bytes = 2 * a.byte_len();
    for r in 0..rows {
        for c in 0..cols {
            isa::set(&mut mem, &a, r, c, Scalar::f32((r * cols + c) as f32 * 0.001)).expect("inside");
        }
    }
    for op in [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Recip, UnaryOp::Abs] {
        let t = time(|| isa::unary(&mut mem, op, &d, &a).expect("legal"));
        report(&format!("{op:?} f32 ({:.2} ns/element)", t / (rows * cols) as f64 * 1e9), bytes, t);
    }
    let column = Tile::row_major(a.byte_len(), DType::F32, rows, 1);
    let row = Tile::row_major(a.byte_len(), DType::F32, 1, cols);
    for op in [Reduce::Sum, Reduce::Max] {
        let t = time(|| isa::row_reduce(&mut mem, op, &column, &a, Profile::A2a3).expect("legal"));
        report(&format!("row {op:?} f32"), a.byte_len(), t);
        let t = time(|| isa::col_reduce(&mut mem, op, &row, &a, Profile::A2a3).expect("legal"));
        report(&format!("column {op:?} f32"), a.byte_len(), t);
    }
    for (from, to, mode) in [
        (DType::F32, DType::BF16, RoundMode::Rint),
        (DType::F32, DType::BF16, RoundMode::Round),
        (DType::BF16, DType::F32, RoundMode::None),
        (DType::F32, DType::F16, RoundMode::Rint),
        (DType::F16, DType::F32, RoundMode::None),
        (DType::F32, DType::I32, RoundMode::Rint),
        (DType::F32, DType::I32, RoundMode::Trunc),
        (DType::I32, DType::F32, RoundMode::None),
        (DType::F16, DType::I8, RoundMode::Trunc),
        (DType::I8, DType::F16, RoundMode::None),
    ] {
        let s = Tile { dtype: from, ..a };
        let t_ = Tile { dtype: to, ..d };
        let t = time(|| isa::convert(&mut mem, &t_, &s, mode, false, Profile::A5).expect("native"));
        report(&format!("{from} -> {to} {mode}"), s.byte_len() + t_.byte_len(), t);
    }
    let nz = Tile::new(d.offset, DType::F32, rows, cols, Order::Nz, 512);
    let zn = Tile::new(d.offset, DType::F32, rows, cols, Order::Zn, 512);
    for (name, to) in [("copy", d), ("copy ND to NZ", nz), ("copy ND to ZN", zn)] {
        let t = time(|| isa::copy(&mut mem, &to, &a).expect("legal"));
        report(&format!("{name} f32"), bytes, t);
    }
    let turned = Tile::row_major(d.offset, DType::F32, cols, rows);
    let t = time(|| isa::transpose(&mut mem, &turned, &a).expect("legal"));
    report("transpose f32", bytes, t);
    let small = Tile::row_major(0, DType::F32, 1, 8);
    let t = time(|| isa::binary(&mut mem, BinaryOp::Add, &small, &small, &small).expect("legal"));
    println!("Add of 8 elements            {:8.1} ns", t * 1e9);
    let one = Tile::row_major(0, DType::F32, 16, 16);
    let t = time(|| isa::matmul(&mut mem, &d.with_valid(16, 16), &one, &one, Init::Zero, Profile::A5).expect("legal"));
    println!("matmul f32 of 16^3           {:8.1} ns", t * 1e9);
}
