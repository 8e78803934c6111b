//! Running `.tw` programs in tests.

#![allow(dead_code, unreachable_pub)]

use diag::Diagnostic;
use dtype::{DType, Profile, Scalar};
use memory::{Arg, Buffer, View};
use runtime::{Compiled, Options, Report};

pub fn compile(text: &str) -> Compiled {
    let program = match ir::text::parse_located(text, "test.tw") {
        Ok(p) => p,
        Err(e) => panic!("{e:#?}"),
    };
    let profile = if program.arch == chip::Arch::A5 { Profile::A5 } else { Profile::A2a3 };
    match Compiled::new(&program, profile) {
        Ok(c) => c,
        Err(e) => panic!("{e:#?}"),
    }
}

pub fn f32s(shape: &[u64], f: impl Fn(usize) -> f32) -> View {
    let n = shape.iter().product::<u64>() as usize;
    let bytes: Vec<u8> = (0..n).flat_map(|i| f(i).to_le_bytes()).collect();
    View::new(Buffer::from_bytes(&bytes), DType::F32, shape).unwrap()
}

pub fn ints(shape: &[u64], f: impl Fn(usize) -> i32) -> View {
    let n = shape.iter().product::<u64>() as usize;
    let bytes: Vec<u8> = (0..n).flat_map(|i| f(i).to_le_bytes()).collect();
    View::new(Buffer::from_bytes(&bytes), DType::I32, shape).unwrap()
}

pub fn read_f32(view: &View) -> Vec<f32> {
    view.to_vec().unwrap().chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
}

pub fn read_i32(view: &View) -> Vec<i32> {
    view.to_vec().unwrap().chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect()
}

pub fn tensors(views: &[&View]) -> Vec<Arg> {
    views.iter().map(|&v| Arg::Tensor(v.clone())).collect()
}

pub fn index(v: i64) -> Arg {
    Arg::Scalar(Scalar::index(v))
}

/// Every schedule that tests try.
pub fn schedules() -> impl Iterator<Item = Options> {
    [1, 2, 3]
        .into_iter()
        .flat_map(|threads| (0..4).map(move |seed| Options { threads, seed, record: true, ..Options::default() }))
}

pub fn run(compiled: &Compiled, args: &[Arg]) -> Report {
    match compiled.run(args, &Options { threads: 1, record: true, ..Options::default() }) {
        Ok(r) => r,
        Err(e) => panic!("{e:#?}"),
    }
}

pub fn fails(compiled: &Compiled, args: &[Arg], threads: usize) -> Diagnostic {
    match compiled.run(args, &Options { threads, ..Options::default() }) {
        Ok(_) => panic!("the run should fail"),
        Err(e) => e,
    }
}
