//! From a few lines of text to an outcome.
//!
//! A program is given as the parameters and the body of its entry. `#n` stands for the index constant `n`; the constants
//! used are defined at the top.

use std::collections::BTreeSet;

use diag::Diagnostic;
use dtype::{DType, Profile, Scalar};
use ir::Program;
use memory::{Arg, Buffer, View};
use reference::{Observer, Options, Outcome};

/// The text of a whole program.
pub(crate) fn text(params: &str, body: &str) -> String {
    let mut constants = BTreeSet::new();
    let mut out = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('#') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        let value: i64 = rest[..end].parse().expect("a number after #");
        constants.insert(value);
        out += &name(value);
        rest = &rest[end..];
    }
    out += rest;
    let constants: String =
        constants.iter().map(|&v| format!("  {} = const {{value = {v}}} : index\n", name(v))).collect();
    format!("program \"t\" a2a3 tensor entry @main\n\nfunc @main orchestration({params}) {{\n{constants}{out}\n}}\n")
}

fn name(value: i64) -> String {
    if value < 0 { format!("%cm{}", -value) } else { format!("%c{value}") }
}

pub(crate) fn parse(text: &str) -> Program {
    match ir::text::parse_located(text, "t.tw") {
        Ok(program) => program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

pub(crate) const PLAIN: Options = Options { profile: Profile::A2a3, definedness: false };
pub(crate) const CHECKED: Options = Options { profile: Profile::A2a3, definedness: true };

/// Runs with definedness tracked.
pub(crate) fn run(params: &str, body: &str, args: &[Arg]) -> Outcome {
    match attempt(params, body, args, &CHECKED) {
        Ok(outcome) => outcome,
        Err(d) => panic!("{d:?}\n{}", text(params, body)),
    }
}

pub(crate) fn attempt(params: &str, body: &str, args: &[Arg], options: &Options) -> Result<Outcome, Box<Diagnostic>> {
    reference::run(&parse(&text(params, body)), args, options, None).map_err(Box::new)
}

pub(crate) fn observed(params: &str, body: &str, args: &[Arg], observer: &mut dyn Observer) -> (Program, Outcome) {
    let program = parse(&text(params, body));
    let outcome = reference::run(&program, args, &PLAIN, Some(observer)).expect("the program runs");
    (program, outcome)
}

/// The diagnostic of a run, and the line of the program that it points to.
pub(crate) fn failure(params: &str, body: &str, args: &[Arg]) -> (Diagnostic, String) {
    let text = text(params, body);
    let error = reference::run(&parse(&text), args, &CHECKED, None).expect_err("the program fails");
    let line = error.primary.as_ref().map_or(0, |label| label.span.line as usize);
    let line = text.lines().nth(line.wrapping_sub(1)).unwrap_or("").trim().to_owned();
    (error, line)
}

pub(crate) fn f32s(shape: &[u64], values: &[f32]) -> Arg {
    tensor(DType::F32, shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn i32s(shape: &[u64], values: &[i32]) -> Arg {
    tensor(DType::I32, shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
}

pub(crate) fn tensor(dtype: DType, shape: &[u64], bytes: &[u8]) -> Arg {
    Arg::Tensor(View::new(Buffer::from_bytes(bytes), dtype, shape).expect("a tensor"))
}

pub(crate) fn index(v: i64) -> Arg {
    Arg::Scalar(Scalar::index(v))
}

pub(crate) fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

pub(crate) fn view(arg: &Arg) -> &View {
    arg.tensor().expect("a tensor")
}

pub(crate) fn get_f32(view: &View) -> Vec<f32> {
    assert_eq!(view.dtype, DType::F32);
    view.to_vec().unwrap().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

pub(crate) fn get_i32(view: &View) -> Vec<i32> {
    assert_eq!(view.dtype, DType::I32);
    view.to_vec().unwrap().chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect()
}

pub(crate) fn result(outcome: &Outcome, n: usize) -> &View {
    match &outcome.returned[n] {
        memory::Returned::Tensor(view) => view,
        memory::Returned::Param(p) => panic!("result {n} is parameter {p}"),
    }
}
