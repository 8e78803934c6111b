//! Running a program at every level.

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

/// How a program fared.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The same everywhere; at so many points.
    Same(usize),
    /// Not supported, or too large: the error's code.
    Refused(&'static str),
}

/// Runs at every level. Panics with the program if anything differs.
pub(crate) fn compare(name: &str, program: &Program) -> Outcome {
    let profile = profile(program.arch);
    let fail = |stage: &str, why: String, program: &Program| -> ! {
        panic!("{name}, {}, {stage}: {why}\n{}", program.arch, ir::text::print(program))
    };
    if let Err(e) = ir::verify::verify(program) {
        fail("tensor level", format!("{e:#?}"), program);
    }
    let expected = arguments(program);
    let mut recorder = Recorder::default();
    let options = reference::Options { profile, definedness: false };
    if let Err(e) = reference::run(program, &expected, &options, Some(&mut recorder)) {
        fail("reference", format!("{e:#?}"), program);
    }
    recorder.0.sort();
    let lowered = match lower::lower(program, &lower::Options { profile }) {
        Ok(lowered) => lowered,
        Err(errors) => match errors.iter().find(|e| e.kind != diag::Kind::Unsupported) {
            None => return Outcome::Refused(errors[0].code),
            Some(e) => fail("lower", format!("{e:#?}"), program),
        },
    };
    let mut versions = vec![("unplaced".to_owned(), lowered.clone())];
    for order in [Order::Size, Order::Program, Order::Seeded(1), Order::Seeded(2)] {
        match place(&lowered, &Options { order, ..Options::default() }) {
            Ok(placed) => versions.push((format!("{order:?}"), placed)),
            Err(errors) if errors.iter().all(|e| e.code == "over-capacity") => return Outcome::Refused(errors[0].code),
            Err(errors) => fail("place", format!("{errors:#?}"), &lowered),
        }
    }
    let mut compared = 0;
    for (version, tiles) in versions {
        let fail = |why: String| -> ! { fail(&version, format!("{why}\n{}", ir::text::print(program)), &tiles) };
        if let Err(e) = ir::verify::verify(&tiles) {
            fail(format!("{e:#?}"));
        }
        let compiled = match runtime::Compiled::new(&tiles, profile) {
            Ok(compiled) => compiled,
            Err(e) => fail(format!("{e:#?}")),
        };
        for (threads, seed) in [(1, 0), (2, 3)] {
            let args = arguments(program);
            let options = runtime::Options { threads, seed, observe: true, ..Default::default() };
            let report = match compiled.run(&args, &options) {
                Ok(report) => report,
                Err(e) => fail(format!("{e:#?}")),
            };
            for record in &report.values {
                let p = record.point;
                let key = (p.task, p.block, p.op, p.nth);
                if let Ok(at) = recorder.0.binary_search_by_key(&key, |(k, _)| *k) {
                    compared += 1;
                    if recorder.0[at].1 != record.digest {
                        fail(format!("another value at {p:?}"));
                    }
                }
            }
            if bytes(&args) != bytes(&expected) {
                fail("other bytes in memory".into());
            }
        }
    }
    Outcome::Same(compared)
}
