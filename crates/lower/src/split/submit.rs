//! The orchestration's side of the split: submissions name both kernels and bring the workspace.

use std::collections::BTreeSet;

use chip::Arch;
use ir::builder::attrs;
use ir::{Attr, Attrs, Builder, Def, Dim, Entity, FuncId, Function, Op, Opcode, Program, TensorType, Type, Value};

use super::crossing::Pipes;
use super::emit::RING;
use super::order::AliasClasses;

/// Where the pointer to the rings goes among the parameters: behind the other pointers. `None` where no FIFO goes
/// through global memory.
pub(super) fn workspace_position(func: &Function, arch: Arch, pipes: &Pipes) -> Option<usize> {
    if !arch.chip().fifo_through_global_memory || pipes.pipes.is_empty() {
        return None;
    }
    let params = func.param_values();
    Some(params.iter().position(|&p| !matches!(func.ty(p), Type::Ptr(_))).unwrap_or(params.len()))
}

/// Rewrites every submission of the cluster function `old`.
pub(super) fn rewrite(
    program: &mut Program,
    old: &str,
    names: &[String; 2],
    workspace: Option<usize>,
    ring_bytes: u64,
) {
    for (id, op) in submissions(program, old) {
        let func = &mut program.functions[id];
        func.ops[op].attrs.set("kernels", Attr::Symbols(names.to_vec()));
        let Some(position) = workspace else { continue };
        let rings = rings(func, op, ring_bytes);
        let data = &mut func.ops[op];
        data.operands.insert(position, rings);
        data.segments[0] += 1;
        let mut words: Vec<&str> = data.attrs.word("directions").unwrap_or("").split(',').collect();
        words.retain(|w| !w.is_empty());
        words.insert(position.min(words.len()), "workspace");
        let words = words.join(",");
        data.attrs.set("directions", Attr::Text(words));
    }
}

/// A tensor with the rings of every block, made right before the submission.
fn rings(func: &mut Function, submit: Op, ring_bytes: u64) -> Value {
    let data = &func.ops[submit];
    let (block, span, blocks) = (data.block, data.span, data.named("blocks").first().copied());
    let before: Vec<Op> = func.blocks[block].ops.clone();
    let mut b = Builder::new(func);
    b.switch_to(block);
    b.span = span;
    let bytes = b.index(ring_bytes as i64);
    let rings = match blocks {
        None => tensor(&mut b, &[], Dim::Static(ring_bytes)),
        Some(blocks) => {
            let blocks = match b.func.ty(blocks) {
                Type::Scalar(dtype::DType::Index) => blocks,
                _ => b.result(Opcode::ScalarCast, &[&[blocks]], Type::INDEX, Attrs::default()),
            };
            let all = b.result(Opcode::ScalarMul, &[&[blocks], &[bytes]], Type::INDEX, Attrs::default());
            tensor(&mut b, &[all], Dim::Dynamic)
        }
    };
    // What was just appended goes before the submission.
    let ops = &mut func.blocks[block].ops;
    let added = ops.split_off(before.len());
    let at = before.iter().position(|&o| o == submit).unwrap_or(before.len());
    ops.splice(at..at, added);
    rings
}

fn tensor(b: &mut Builder<'_>, dims: &[Value], extent: Dim) -> Value {
    let ty = Type::Tensor(TensorType::packed(RING, vec![extent]));
    let value = b.result(Opcode::TensorCreate, &[dims], ty, attrs([]));
    b.name(value, "workspace");
    value
}

fn submissions(program: &Program, kernel: &str) -> Vec<(FuncId, Op)> {
    let mut found = Vec::new();
    for (id, func) in program.functions.iter() {
        for op in func.walk() {
            let names = func.ops[op].attrs.symbols("kernels");
            if func.ops[op].opcode == Opcode::Submit && names.is_some_and(|n| n.iter().any(|n| n == kernel)) {
                found.push((id, op));
            }
        }
    }
    found
}

/// Which pointer parameters of a kernel may get overlapping tensors: those whose tensors may come from one parameter or
/// one `tensor_create` of the orchestration. (Overlapping arguments of a program get private copies, semantics rule 17.)
pub(super) fn alias_classes(program: &Program, kernel: &str) -> AliasClasses {
    let count = program.function(kernel).map_or(0, |id| program.functions[id].params.len());
    let mut classes: Vec<Option<Vec<usize>>> = vec![Some(Vec::new()); count];
    let submissions = submissions(program, kernel);
    if submissions.is_empty() {
        return AliasClasses { classes: vec![None; count] };
    }
    for (id, op) in submissions {
        let func = &program.functions[id];
        for (class, &arg) in classes.iter_mut().zip(func.ops[op].named("args")) {
            if !matches!(func.ty(arg), Type::Tensor(_)) {
                continue;
            }
            let mut bases = BTreeSet::new();
            collect(func, arg, &mut bases, &mut BTreeSet::new());
            if let Some(class) = class {
                class.extend(bases.iter().map(|v| v.index()));
            }
        }
    }
    AliasClasses { classes }
}

/// The tensors that a handle may be a view of.
fn collect(func: &Function, value: Value, bases: &mut BTreeSet<Value>, seen: &mut BTreeSet<Value>) {
    if !seen.insert(value) {
        return;
    }
    let passed = |region: ir::Block, i: usize| -> Option<Value> {
        let &last = func.blocks[region].ops.last()?;
        func.ops[last].opcode.is_terminator().then(|| func.ops[last].named("values").get(i).copied())?
    };
    let from: Vec<Option<Value>> = match func.values[value].def {
        Def::Result(op, i) => {
            let (data, i) = (&func.ops[op], i as usize);
            match data.opcode {
                Opcode::TensorSlice | Opcode::TensorReshape | Opcode::TensorBitcast | Opcode::TensorTranspose => {
                    vec![Some(data.named("tensor")[0])]
                }
                Opcode::For => vec![data.named("init").get(i).copied(), passed(data.regions[0], i)],
                Opcode::If => data.regions.iter().map(|&r| passed(r, i)).collect(),
                Opcode::While => vec![passed(data.regions[0], i)],
                _ => {
                    bases.insert(value);
                    vec![]
                }
            }
        }
        Def::Arg(block, i) => {
            let i = i as usize;
            let parent = func.blocks[block].parent.map(|op| &func.ops[op]);
            match parent {
                Some(data) if data.opcode == Opcode::For && i > 0 => {
                    vec![data.named("init").get(i - 1).copied(), passed(block, i - 1)]
                }
                Some(data) if data.opcode == Opcode::While && block == data.regions[0] => {
                    vec![data.named("init").get(i).copied(), passed(data.regions[1], i)]
                }
                Some(data) if data.opcode == Opcode::While => vec![passed(data.regions[0], i)],
                _ => {
                    bases.insert(value);
                    vec![]
                }
            }
        }
    };
    for value in from.into_iter().flatten() {
        collect(func, value, bases, seen);
    }
}
