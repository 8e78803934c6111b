//! Programs at three levels: the reference, kernels with storage for every tile, and kernels in the bytes of the plan
//! give the same bits, at every point of comparison and in memory.

use std::path::Path;

use assemble::{Options, Order, place};
use chip::Arch;
use control::Control;
use dtype::{Profile, Scalar};
use ir::{Program, TensorType, Type};
use memory::{Arg, Buffer, View};

fn profile(arch: Arch) -> Profile {
    match arch {
        Arch::A2a3 => Profile::A2a3,
        Arch::A5 => Profile::A5,
    }
}

fn parse(path: &str, arch: Arch) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).expect("the program is there");
    let mut program = ir::text::parse(&text, "test.tw").unwrap_or_else(|e| panic!("{}: {e:#?}", path.display()));
    program.arch = arch;
    program
}

/// Arguments for the entry: small numbers, different everywhere. Dynamic extents are 40; scalars are 5.
fn arguments(program: &Program) -> Vec<Arg> {
    let entry = &program.functions[program.entry];
    let argument = |(i, &param): (usize, &ir::Value)| match entry.ty(param) {
        Type::Tensor(t) => Arg::Tensor(tensor(i, t)),
        Type::Scalar(d) => Arg::Scalar(Scalar::from_f64(*d, 5.0)),
        other => panic!("a parameter of type {other}"),
    };
    entry.param_values().iter().enumerate().map(argument).collect()
}

fn tensor(seed: usize, ty: &TensorType) -> View {
    let shape: Vec<u64> = ty.shape.iter().map(|d| d.known().unwrap_or(40)).collect();
    let mut control = Control::new(seed as u64);
    let view = View::new(Buffer::zeroed(ty.dtype.size() * shape.iter().product::<u64>() as usize), ty.dtype, &shape);
    let view = view.expect("packed");
    let flat = view.reshape(&[view.elements()]).expect("packed");
    for i in 0..flat.elements() {
        let number = control.choose(2001) as f64 / 1000.0 - 1.0;
        let number = if ty.dtype.is_float() { number } else { (number * 100.0).round() };
        flat.set(&[i], Scalar::from_f64(ty.dtype, number)).expect("in bounds");
    }
    view
}

type Points = Vec<((u32, u32, ir::Op, u32), u64)>;

#[derive(Default)]
struct Recorder(Points);

impl reference::Observer for Recorder {
    fn value(&mut self, p: reference::Point, digest: u64) {
        self.0.push(((p.task, p.block, p.op, p.nth), digest));
    }
}

fn bytes(args: &[Arg]) -> Vec<Vec<u8>> {
    args.iter().filter_map(Arg::tensor).map(|a| a.to_vec().expect("in bounds")).collect()
}

/// Runs at every level; how many points were compared.
fn compare(name: &str, program: &Program) -> usize {
    let profile = profile(program.arch);
    let fail = |stage: &str, errors: String| -> ! { panic!("{name}, {}, {stage}: {errors}", program.arch) };
    let expected = arguments(program);
    let mut recorder = Recorder::default();
    let options = reference::Options { profile, definedness: false };
    if let Err(e) = reference::run(program, &expected, &options, Some(&mut recorder)) {
        fail("reference", format!("{e:#?}"));
    }
    assert!(bytes(&expected) != bytes(&arguments(program)), "{name} writes nothing");
    recorder.0.sort();
    let lowered = match lower::lower(program, &lower::Options { profile }) {
        Ok(p) => p,
        Err(e) => fail("lower", format!("{e:#?}")),
    };
    let mut versions = vec![("unplaced".to_owned(), lowered.clone())];
    for order in [Order::Size, Order::Program, Order::Seeded(1), Order::Seeded(2)] {
        match place(&lowered, &Options { order }) {
            Ok(p) => versions.push((format!("{order:?}"), p)),
            Err(e) => fail("place", format!("{e:#?}")),
        }
    }
    let mut compared = 0;
    for (version, program) in versions {
        if let Err(e) = ir::verify::verify(&program) {
            fail(&version, format!("{e:#?}"));
        }
        let compiled = match runtime::Compiled::new(&program, profile) {
            Ok(c) => c,
            Err(e) => fail(&version, format!("{e:#?}")),
        };
        for (threads, seed) in [(1, 0), (2, 3)] {
            let args = arguments(&program);
            let options = runtime::Options { threads, seed, observe: true, ..Default::default() };
            let report = match compiled.run(&args, &options) {
                Ok(r) => r,
                Err(e) => fail(&version, format!("{e:#?}\n{}", ir::text::print(&program))),
            };
            for record in &report.values {
                let p = record.point;
                let key = (p.task, p.block, p.op, p.nth);
                if let Ok(at) = recorder.0.binary_search_by_key(&key, |(k, _)| *k) {
                    compared += 1;
                    if recorder.0[at].1 != record.digest {
                        fail(&version, format!("another value at {p:?}\n{}", ir::text::print(&program)));
                    }
                }
            }
            if bytes(&args) != bytes(&expected) {
                fail(&version, format!("other bytes in memory\n{}", ir::text::print(&program)));
            }
        }
    }
    compared
}

#[test]
fn programs_give_the_same_bits_at_every_level() {
    for path in [
        "tests/programs/mixed.tw",
        "tests/programs/blocks.tw",
        "tests/programs/exchange.tw",
        "../lower/tests/programs/hello.tw",
        "../lower/tests/programs/softmax.tw",
        "../lower/tests/programs/gemm.tw",
    ] {
        for arch in Arch::ALL {
            let compared = compare(path, &parse(path, arch));
            assert!(compared > 10, "{path}: only {compared} points compared");
        }
    }
}
