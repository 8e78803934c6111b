//! Runs a program at every level on the same inputs and compares.

use std::collections::BTreeMap;

use chip::Arch;
use control::Control;
use diag::Diagnostic;
use dtype::{DType, Profile, Scalar};
use ir::{Dim, Program, Type};
use memory::{Arg, Buffer, View};

/// What a dynamic extent of a parameter is.
const DYNAMIC: u64 = 40;

/// Compares the reference with the lowered program; `seeds`: how many other sets of choices are tried.
pub(crate) fn compare(program: &Program, name: &str, seeds: u64) -> Result<(), Box<Diagnostic>> {
    let profile = match program.arch {
        Arch::A2a3 => Profile::A2a3,
        Arch::A5 => Profile::A5,
    };
    let options = lower::Options { profile };
    let mut variants = vec![("lowered".to_owned(), lower::lower(program, &options).map_err(first)?)];
    for seed in 0..seeds {
        let mut choices = lower::Choices::seeded(seed);
        let other = lower::lower_with(program, &options, &mut choices).map_err(first)?;
        variants.push((format!("lowered with choices {seed}"), other));
    }
    let expected = args(program);
    let reference = reference::Options { profile, definedness: true };
    let mut points = Points::default();
    let outcome =
        reference::run(program, &expected, &reference, Some(&mut points)).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
    for (what, tile) in variants {
        ir::verify::verify(&tile).unwrap_or_else(|e| panic!("{name}, {what}: {e:#?}\n{}", ir::text::print(&tile)));
        execute(program, &tile, profile, &expected, (&outcome.defined, &points.0), name, &what);
        match assemble::place(&tile, &assemble::Options::default()) {
            Ok(placed) => {
                let what = format!("{what}, placed");
                execute(program, &placed, profile, &expected, (&outcome.defined, &points.0), name, &what);
            }
            // Without shared buffers a program may no longer fit.
            Err(e) => assert!(what != "lowered", "{name}: {e:#?}"),
        }
    }
    Ok(())
}

#[derive(Default)]
struct Points(BTreeMap<reference::Point, u64>);

impl reference::Observer for Points {
    fn value(&mut self, point: reference::Point, digest: u64) {
        self.0.insert(point, digest);
    }
}

fn first(mut list: Vec<Diagnostic>) -> Box<Diagnostic> {
    Box::new(list.swap_remove(0))
}

fn execute(
    source: &Program,
    lowered: &Program,
    profile: Profile,
    expected: &[Arg],
    (defined, points): (&[Option<Vec<u8>>], &BTreeMap<reference::Point, u64>),
    name: &str,
    what: &str,
) {
    let show = || format!("{}\n{}", ir::text::print(source), ir::text::print(lowered));
    let found = args(source);
    let compiled =
        runtime::Compiled::new(lowered, profile).unwrap_or_else(|e| panic!("{name}, {what}: {e:#?}\n{}", show()));
    let options = runtime::Options { threads: 2, observe: true, ..runtime::Options::default() };
    let report = compiled.run(&found, &options).unwrap_or_else(|e| panic!("{name}, {what}: {e:#?}\n{}", show()));
    let mut reported = 0;
    for value in &report.values {
        let trace::Point { task, block, op, nth } = value.point;
        let Some(&digest) = points.get(&reference::Point { task, block, op, nth }) else {
            panic!("{name}, {what}: {op:?} (time {nth}) makes no value in the reference\n{}", show());
        };
        assert_eq!(digest, value.digest, "{name}, {what}: the value of {op:?}, time {nth}\n{}", show());
        reported += 1;
    }
    // Few values are not reported: those that nobody uses, that their stores convert, or that are loaded transposed.
    assert!(reported * 2 >= points.len(), "{name}, {what}: {reported} of {} values reported\n{}", points.len(), show());
    for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
        let (Some(a), Some(b)) = (a.tensor(), b.tensor()) else { continue };
        let size = a.dtype.size();
        let (x, y) = (a.to_vec().expect("in bounds"), b.to_vec().expect("in bounds"));
        for (e, (p, q)) in x.chunks(size).zip(y.chunks(size)).enumerate() {
            let counts = defined.get(i).and_then(Option::as_ref).is_none_or(|d| d[e] != 0);
            assert!(!counts || p == q, "{name}, {what}: argument {i}, element {e}: {p:?} became {q:?}\n{}", show());
        }
    }
}

/// Arguments for the entry: the same each time.
fn args(program: &Program) -> Vec<Arg> {
    let entry = &program.functions[program.entry];
    let mut control = Control::new(17);
    entry
        .param_values()
        .iter()
        .map(|&p| match entry.ty(p) {
            Type::Tensor(t) => {
                let shape: Vec<u64> = t
                    .shape
                    .iter()
                    .map(|d| match d {
                        Dim::Static(n) => *n,
                        Dim::Dynamic => DYNAMIC,
                    })
                    .collect();
                let n = shape.iter().product::<u64>() as usize;
                let size = t.dtype.size();
                let mut bytes = vec![0; n * size];
                for chunk in bytes.chunks_mut(size) {
                    let value = element(t.dtype, &mut control);
                    chunk.copy_from_slice(&value.bits.to_le_bytes()[..size]);
                }
                Arg::Tensor(View::new(Buffer::from_bytes(&bytes), t.dtype, &shape).expect("a whole buffer"))
            }
            Type::Scalar(d) if d.is_float() => Arg::Scalar(Scalar::from_f64(*d, 0.75)),
            Type::Scalar(d) => Arg::Scalar(Scalar::from_i64(*d, 5)),
            other => panic!("a parameter of type {other}"),
        })
        .collect()
}

fn element(dtype: DType, control: &mut Control) -> Scalar {
    let n = control.choose(4001) as f64 / 1000.0 - 2.0;
    if dtype.is_float() { Scalar::from_f64(dtype, n) } else { Scalar::from_i64(dtype, (n * 2.0) as i64) }
}
