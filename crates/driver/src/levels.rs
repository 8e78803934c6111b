//! Do the levels agree? The same inputs through the reference, the tile level and the machine level, compared bit by bit
//! on what the program defined, and the first difference traced to the operation that made it.
//!
//! **Verdict.** The contract (`spec/semantics.md`) is about defined elements of what the program writes: those are
//! compared, for every written argument and every tensor that it made and returns. A run error of the reference is the
//! program's own, and reported as such.
//!
//! **Location.** Every level reports a digest at each point where a tensor-level operation's value is complete
//! (docs/ir.md). The first point, in the reference's order, whose digest differs names the operation; a point that a
//! level never reaches, though it executes that operation elsewhere or the operation is a store, counts as differing.
//! Digests only locate: undefined elements may make them differ where the verdict is fine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use diag::Diagnostic;
use dtype::Scalar;
use ir::{Op, Opcode, Value};
use memory::{Arg, Returned, View};

use crate::compile::Failure;
use crate::run::{Program, Report, RunOptions, copy_of, run_compiled};

/// The outcome of comparing levels: how much was compared. A difference is a [`Failure`] instead.
#[derive(Clone, Debug)]
pub struct LevelReport {
    /// Names of the levels compared with the reference.
    pub levels: Vec<&'static str>,
    /// Defined elements compared per level.
    pub elements: u64,
    /// Elements of written arguments that the program left undefined (not compared).
    pub undefined: u64,
    /// Points at which digests were compared, per level.
    pub points: u64,
}

/// The first difference of a level from the reference.
#[derive(Clone, Debug)]
pub struct Difference {
    pub level: &'static str,
    /// The parameter and the flat index of the first differing element; `None` if the level failed to run.
    pub element: Option<(String, u64)>,
    /// The tensor-level operation where the level first goes wrong.
    pub op: Option<Op>,
    pub diagnostic: Diagnostic,
}

/// Everything the reference says about one run of a program.
pub struct Expected {
    /// The arguments as given.
    given: Vec<Arg>,
    /// The arguments afterwards.
    args: Vec<Arg>,
    outcome: reference::Outcome,
    points: Vec<(reference::Point, u64)>,
}

struct Recorder(Vec<(reference::Point, u64)>);

impl reference::Observer for Recorder {
    fn value(&mut self, point: reference::Point, digest: u64) {
        self.0.push((point, digest));
    }
}

impl Expected {
    /// Runs the reference on copies of the arguments, until the options' interrupt.
    pub fn new(program: &Program, args: &[Arg], options: &RunOptions) -> Result<Expected, Diagnostic> {
        let given = copies(args);
        let args = copies(args);
        let mut recorder = Recorder(Vec::new());
        let never = AtomicBool::new(false);
        let interrupt = options.interrupt.as_deref().unwrap_or(&never);
        let options = reference::Options { profile: program.options.profile, definedness: true };
        let outcome = reference::run_until(&program.tensor, &args, &options, Some(&mut recorder), interrupt)?;
        Ok(Expected { given, args, outcome, points: recorder.0 })
    }

    /// Which elements of an argument the program defined, one byte each; `None` where all count.
    pub fn defined(&self, param: usize) -> Option<&[u8]> {
        self.outcome.defined.get(param)?.as_deref()
    }

    /// Judges another tile- or machine-level form of the program, run on copies of the same arguments. `Ok` has the
    /// arguments afterwards.
    pub fn judge(&self, program: &Program, form: &ir::Program, options: &RunOptions) -> Result<Vec<Arg>, Difference> {
        let args = copies(&self.given);
        let result = runtime::Compiled::new(form, program.options.profile)
            .map_err(|mut errors| errors.swap_remove(0))
            .and_then(|compiled| run_compiled(&compiled, &args, options, true));
        compare(program, self, "given", &args, result).map(|_| args)
    }
}

/// Runs all levels; the machine level last and on the caller's memory.
pub(crate) fn run(program: &Program, args: &[Arg], options: &RunOptions) -> Result<Report, Failure> {
    let fail = |d: Diagnostic| Failure::new(d, &program.tensor.sources);
    let expected = Expected::new(program, args, options).map_err(fail)?;
    let tile_args = copies(args);
    let tile = runtime::Compiled::new(&program.tile, program.options.profile)
        .map_err(|errors| Failure { errors, sources: program.tile.sources.clone() })?;
    for (level, compiled, level_args) in [("tile", &tile, tile_args.as_slice()), ("machine", &program.compiled, args)] {
        let result = run_compiled(compiled, level_args, options, true);
        match compare(program, &expected, level, level_args, result) {
            Ok((report, (elements, undefined))) => {
                if level == "machine" {
                    let levels = LevelReport {
                        levels: vec!["tile", "machine"],
                        elements,
                        undefined,
                        points: expected.points.len() as u64,
                    };
                    let warnings = undefined_outputs(program, &expected);
                    return Ok(Report { levels: Some(levels), warnings, ..report });
                }
            }
            Err(difference) => return Err(fail(difference.diagnostic)),
        }
    }
    unreachable!("the machine level is the last one")
}

/// Elements of arguments that the program wrote with values which depend on memory that nothing wrote (semantics rule 2):
/// the levels agree on them because all of them read zeros there; a device would not.
fn undefined_outputs(program: &Program, expected: &Expected) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for ((param, defined), arg) in program.params.iter().zip(&expected.outcome.defined).zip(&expected.args) {
        let (Some(defined), Arg::Tensor(view)) = (defined, arg) else { continue };
        let count = defined.iter().filter(|&&d| d == 0).count();
        let Some(first) = defined.iter().position(|&d| d == 0) else { continue };
        let index = unflatten(first as u64, &view.shape.iter().copied().collect::<Vec<_>>());
        let message = format!(
            "`{}`{index:?} is undefined at the end: it depends on memory that the program never wrote ({count} of {} elements)",
            param.name,
            defined.len()
        );
        let store = first_store_to(program, &param.name);
        let span = store.and_then(|op| program.tensor.functions[program.tensor.entry].ops[op].span);
        warnings.push(
            Diagnostic::warning("undefined-output", message)
                .at(span, "written here")
                .note("undefined memory reads as zero on this machine, at every level; on a device it does not"),
        );
    }
    warnings
}

/// Compares one level's run with the reference. `Ok` has the numbers of defined and undefined elements.
pub(crate) fn compare(
    program: &Program,
    expected: &Expected,
    level: &'static str,
    args: &[Arg],
    result: Result<(Report, Vec<trace::ValueRecord>), Diagnostic>,
) -> Result<(Report, (u64, u64)), Difference> {
    let (report, records) = match result {
        Ok(done) => done,
        // Not a difference: the host said stop, or the machine is smaller than the reference, which has no size.
        Err(error) if matches!(error.code, "interrupted" | "sync-start" | "blocks") => {
            return Err(Difference { level, element: None, op: None, diagnostic: error });
        }
        Err(error) => {
            let diagnostic = Diagnostic::finding(
                "levels-differ",
                format!("the {level} level fails where the reference does not: {}", error.message),
            );
            let diagnostic = Diagnostic { primary: error.primary, notes: error.notes, ..diagnostic };
            return Err(Difference { level, element: None, op: None, diagnostic });
        }
    };
    let mut counts = (0, 0);
    let outcome = &expected.outcome;
    let args = program.params.iter().zip(expected.args.iter().zip(args)).zip(&outcome.defined);
    for ((param, (want, got)), defined) in args {
        let (Arg::Tensor(want), Arg::Tensor(got)) = (want, got) else { continue };
        let differs = first_difference(want, got, defined.as_deref(), &mut counts);
        if let Some(at) = differs {
            return Err(difference(program, expected, level, &records, (&param.name, want, at)));
        }
    }
    // Tensors that the program made and gave back.
    for (i, (want, got)) in outcome.returned.iter().zip(&report.returned).enumerate() {
        let (Returned::Tensor(want), Returned::Tensor(got)) = (want, got) else { continue };
        let defined = outcome.returned_defined.get(i).and_then(|d| d.as_deref());
        if let Some(at) = first_difference(want, got, defined, &mut counts) {
            let name = format!("result {i}");
            return Err(difference(program, expected, level, &records, (&name, want, at)));
        }
    }
    Ok((report, counts))
}

/// An element that differs, with what it should be and what it is.
struct Unequal {
    element: u64,
    want: Scalar,
    got: Scalar,
}

/// The first defined element in which two tensors of one type differ. Adds to the numbers of defined and undefined ones.
fn first_difference(want: &View, got: &View, defined: Option<&[u8]>, counts: &mut (u64, u64)) -> Option<Unequal> {
    let (Ok(want_bytes), Ok(got_bytes)) = (want.to_vec(), got.to_vec()) else { return None };
    let dtype = want.dtype;
    let value = |bytes: &[u8]| {
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(bytes);
        Scalar::new(dtype, u64::from_le_bytes(bits))
    };
    let elements = want_bytes.chunks_exact(dtype.size()).zip(got_bytes.chunks_exact(dtype.size()));
    for (e, (a, b)) in elements.enumerate() {
        if defined.is_some_and(|d| d.get(e) == Some(&0)) {
            counts.1 += 1;
            continue;
        }
        counts.0 += 1;
        if a != b {
            return Some(Unequal { element: e as u64, want: value(a), got: value(b) });
        }
    }
    None
}

fn difference(
    program: &Program,
    expected: &Expected,
    level: &'static str,
    records: &[trace::ValueRecord],
    (name, view, at): (&str, &View, Unequal),
) -> Difference {
    let index = unflatten(at.element, &view.shape.iter().copied().collect::<Vec<_>>());
    let mut diagnostic = Diagnostic::finding(
        "levels-differ",
        format!("the {level} level and the reference disagree: `{name}`{index:?} is {} instead of {}", at.got, at.want),
    );
    let located = locate(program, expected, records);
    if let Some((point, why)) = &located {
        let op = &program.tensor.functions[program.tensor.entry].ops[point.op];
        diagnostic = diagnostic.at(op.span, format!("first goes wrong here, at `{}`", op.opcode.name()));
        diagnostic =
            diagnostic.note(format!("task {}, block {}, {} {why}", point.task, point.block, ordinal(point.nth)));
    }
    let op = located.map(|(p, _)| p.op).or_else(|| {
        // Every value was right, and went elsewhere: to another tensor.
        let store = first_store_to(program, name)?;
        let op = &program.tensor.functions[program.tensor.entry].ops[store];
        diagnostic = diagnostic
            .clone()
            .at(op.span, "what this wrote is right, and is not there")
            .note("every operation made the right value: it went to another tensor, or was overwritten");
        Some(store)
    });
    diagnostic = diagnostic.help(
        "levels agree on race-free programs: if blocks or unordered tasks touch the same elements, the program is at fault",
    );
    Difference { level, element: Some((name.to_owned(), at.element)), op, diagnostic }
}

/// The first operation that writes an element of a parameter, through whatever view.
fn first_store_to(program: &Program, param: &str) -> Option<Op> {
    let f = &program.tensor.functions[program.tensor.entry];
    let target = f.params.iter().position(|p| p.name == param).map(|i| f.param_values()[i])?;
    let root = |mut tensor: Value| {
        while let Some(op) = f.def_op(tensor)
            && matches!(
                f.ops[op].opcode,
                Opcode::TensorSlice | Opcode::TensorReshape | Opcode::TensorBitcast | Opcode::TensorTranspose
            )
        {
            tensor = f.ops[op].named("tensor")[0];
        }
        tensor
    };
    f.walk().into_iter().find(|&op| {
        let op = &f.ops[op];
        matches!(op.opcode, Opcode::Store | Opcode::Scatter | Opcode::Write) && root(op.named("tensor")[0]) == target
    })
}

/// The first point at which a level's values differ from the reference's, and how.
fn locate(
    program: &Program,
    expected: &Expected,
    records: &[trace::ValueRecord],
) -> Option<(reference::Point, &'static str)> {
    let got: BTreeMap<(u32, u32, Op, u32), u64> =
        records.iter().map(|r| ((r.point.task, r.point.block, r.point.op, r.point.nth), r.digest)).collect();
    let known: BTreeSet<Op> = records.iter().map(|r| r.point.op).collect();
    let entry = &program.tensor.functions[program.tensor.entry];
    for (point, digest) in &expected.points {
        let found = got.get(&(point.task, point.block, point.op, point.nth));
        match found {
            Some(d) if d == digest => {}
            Some(_) => return Some((*point, "execution: another value")),
            None => {
                let opcode = entry.ops[point.op].opcode;
                if known.contains(&point.op) || matches!(opcode, Opcode::Store | Opcode::Scatter) {
                    return Some((*point, "execution: did not happen"));
                }
            }
        }
    }
    None
}

pub(crate) fn copies(args: &[Arg]) -> Vec<Arg> {
    args.iter()
        .map(|a| match a {
            Arg::Tensor(view) => copy_of(view).map_or_else(|| a.clone(), Arg::Tensor),
            Arg::Scalar(_) => a.clone(),
        })
        .collect()
}

fn unflatten(mut element: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (i, &n) in shape.iter().enumerate().rev() {
        index[i] = element % n.max(1);
        element /= n.max(1);
    }
    index
}

fn ordinal(nth: u32) -> String {
    match nth {
        0 => "1st".into(),
        1 => "2nd".into(),
        2 => "3rd".into(),
        n => format!("{}th", n + 1),
    }
}
