//! FIFOs as the backend takes them.
//!
//! A kernel file names a FIFO by a number and says at each end which way it goes (`aic_initialize_pipe`, `tpush_to_aiv`,
//! `tpop_from_aic`, …). The backend has one value for it (`initialize_l2l_pipe` where the slots are in the consumer's
//! buffer, `initialize_l2g2l_pipe` where they are in global memory), and a pop fills a tile that was declared. Three
//! things are settled on the way, since both ends must agree on them:
//!
//! * *Flags.* FIFOs in ascending order of their numbers get two hardware flags for each direction, of 16 that a function
//!   has. Both ends count alike.
//! * *Splits.* An end that does not say so splits nothing (`nosplit`) if none of its pushes and pops does. Ends that say
//!   different things are an error.
//! * *Slots.* `slot_num` is said: eight one way, four a direction both ways.
//!
//! Programs with FIFOs through the fix pipe stay as they are: what quantises on the way names its FIFO by number, and each
//! end finds the other by the buffer that one reserves and the other imports.
//!
//! Executors run the first form: this pass is for what leaves the house.

use std::collections::{BTreeMap, BTreeSet};

use chip::Core;
use diag::Diagnostic;
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{
    Attr, Attrs, Builder, Dim, FuncId, Function, FunctionKind, Op, OpData, Opaque, Opcode as C, Program, Type, Value,
};

use crate::edit::{Fate, become_op, put, rewrite};

/// Hardware flags of a function.
const FLAGS: i64 = 16;

/// What both ends of a FIFO have to agree on, whatever form they have.
///
/// # Errors
/// `fifo-flags` where a function's FIFOs need more flags than there are, `fifo-split` where two ends of one disagree on
/// splitting.
pub(crate) fn check_fifos(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    splits(program, &mut errors);
    for (_, func) in program.functions.iter() {
        flags(func, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// # Errors
/// Those of [`check_fifos`]; `fifo-extents` for a pop whose one dynamic extent the backend cannot be told.
pub(crate) fn lower_fifos(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    check_fifos(program)?;
    if through_fix_pipe(program) {
        return Ok(());
    }
    let mut errors = Vec::new();
    let splits = splits(program, &mut Vec::new());
    for id in program.functions.keys().collect::<Vec<_>>() {
        let func = &mut program.functions[id];
        let flags = flags(func, &mut Vec::new());
        if flags.is_empty() {
            continue;
        }
        let mut pipes: BTreeMap<(i64, i64), Value> = BTreeMap::new();
        rewrite(func, &mut |b, op| {
            let fate = lower(b, op, id, &flags, &splits, &mut pipes);
            fate.unwrap_or_else(|error| {
                errors.push(error);
                Fate::Stay
            })
        });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

const C2V: i64 = 1;
const V2C: i64 = 2;

fn is_init(opcode: C) -> bool {
    matches!(opcode, C::AicInitializePipe | C::AivInitializePipe)
}

fn fifo_id(data: &OpData) -> i64 {
    data.attrs.int("id").unwrap_or(0)
}

/// The way that an end goes.
fn direction(opcode: C) -> Option<i64> {
    match opcode {
        C::TPushToAiv | C::TPopFromAic | C::TFreeFromAic => Some(C2V),
        C::TPushViewToAiv | C::TPopViewFromAic | C::TFreeViewFromAic | C::TAllocToAiv => Some(C2V),
        C::TPushToAic | C::TPopFromAiv | C::TFreeFromAiv => Some(V2C),
        C::TPushViewToAic | C::TPopViewFromAiv | C::TFreeViewFromAiv | C::TAllocToAic => Some(V2C),
        _ => None,
    }
}

fn masks(mask: i64) -> impl Iterator<Item = i64> {
    [C2V, V2C].into_iter().filter(move |bit| mask & bit != 0)
}

/// The first flag of each FIFO, by its number and directions.
fn flags(func: &Function, errors: &mut Vec<Diagnostic>) -> BTreeMap<(i64, i64), i64> {
    let ops: Vec<&OpData> = func.walk().into_iter().map(|op| &func.ops[op]).filter(|o| is_init(o.opcode)).collect();
    let all: BTreeSet<(i64, i64)> = ops.iter().map(|o| (fifo_id(o), o.attrs.int("dir_mask").unwrap_or(0))).collect();
    let mut next = 0;
    let mut bases = BTreeMap::new();
    for (id, mask) in all {
        bases.insert((id, mask), next);
        next += 2 * masks(mask).count() as i64;
    }
    if next > FLAGS {
        let message = format!("the FIFOs of @{} need {next} hardware flags; there are {FLAGS}", func.name);
        errors.push(
            Diagnostic::error("fifo-flags", message).at(ops.first().and_then(|o| o.span), "the first is set up here"),
        );
    }
    bases
}

fn through_fix_pipe(program: &Program) -> bool {
    let fix = |o: &OpData| {
        matches!(o.opcode, C::SetQuantScalar | C::SetQuantVector) || o.attrs.get("acc_push_epilogue").is_some()
    };
    program.functions.iter().any(|(_, func)| func.walk().into_iter().any(|op| fix(&func.ops[op])))
}

/// Whether the FIFO of a function does not split, by function, number and directions.
fn splits(program: &Program, errors: &mut Vec<Diagnostic>) -> BTreeMap<(FuncId, i64, i64), bool> {
    let mut all = BTreeMap::new();
    for (id, func) in program.functions.iter() {
        let ops: Vec<&OpData> = func.walk().into_iter().map(|op| &func.ops[op]).collect();
        for init in ops.iter().filter(|o| is_init(o.opcode)) {
            let (fifo, mask) = (fifo_id(init), init.attrs.int("dir_mask").unwrap_or(0));
            let uses = |o: &&&OpData| fifo_id(o) == fifo && direction(o.opcode).is_some_and(|bit| mask & bit != 0);
            let split = ops.iter().filter(uses).find(|o| o.attrs.int("split").unwrap_or(0) != 0);
            let stated = init.attrs.get("nosplit").map(|_| init.attrs.bool("nosplit"));
            if let (Some(true), Some(split)) = (stated, split) {
                let message = format!("FIFO {fifo} of @{} is 'nosplit'; {} splits", func.name, split.opcode.name());
                errors.push(
                    Diagnostic::error("fifo-split", message).at(split.span, "this end").also(init.span, "set up here"),
                );
            }
            let nosplit = stated.unwrap_or(split.is_none());
            if let Some((peer, other)) = peer(program, func, init)
                && let Some(said) = other.attrs.get("nosplit").map(|_| other.attrs.bool("nosplit"))
                && stated.is_some_and(|own| own != said)
                && func.kind == FunctionKind::Kernel(Core::Cube)
            {
                let message = format!("@{} and @{} do not agree whether FIFO {fifo} splits", func.name, peer.name);
                errors.push(
                    Diagnostic::error("fifo-split", message).at(init.span, "one end").also(other.span, "the other"),
                );
            }
            all.insert((id, fifo, mask), nosplit);
        }
    }
    all
}

/// The other end of a FIFO: in the one function of the other core that sets up the same number and directions.
fn peer<'p>(program: &'p Program, func: &Function, init: &OpData) -> Option<(&'p Function, &'p OpData)> {
    let fits = |o: &&OpData| {
        is_init(o.opcode)
            && o.opcode != init.opcode
            && fifo_id(o) == fifo_id(init)
            && o.attrs.int("dir_mask") == init.attrs.int("dir_mask")
    };
    let others = program.functions.iter().map(|(_, f)| f).filter(|f| f.is_kernel() && f.kind != func.kind);
    let mut found = others.filter_map(|f| Some((f, f.walk().into_iter().map(|op| &f.ops[op]).find(fits)?)));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn lower(
    b: &mut Builder<'_>,
    op: Op,
    id: FuncId,
    flags: &BTreeMap<(i64, i64), i64>,
    splits: &BTreeMap<(FuncId, i64, i64), bool>,
    pipes: &mut BTreeMap<(i64, i64), Value>,
) -> Result<Fate, Diagnostic> {
    let data = &b.func.ops[op];
    let fifo = fifo_id(data);
    if is_init(data.opcode) {
        let mask = data.attrs.int("dir_mask").unwrap_or(0);
        let Some(&flag_base) = flags.get(&(fifo, mask)) else { return Ok(Fate::Stay) };
        let nosplit = splits.get(&(id, fifo, mask)).copied().unwrap_or(false);
        let pipe = initialize(b, op, flag_base, nosplit);
        pipes.extend(masks(mask).map(|bit| ((fifo, bit), pipe)));
        return Ok(Fate::Go);
    }
    let Some(pipe) = direction(data.opcode).and_then(|way| pipes.get(&(fifo, way)).copied()) else {
        return Ok(Fate::Stay);
    };
    let split = || attrs([("split", Attr::Int(data.attrs.int("split").unwrap_or(0)))]);
    let list = split();
    match data.opcode {
        C::TPushToAiv | C::TPushToAic => {
            let (entry, subblock) = (data.named("source").to_vec(), data.named("subblock").to_vec());
            become_op(b.func, op, C::TPush, &[&entry, &[pipe], &subblock], list);
        }
        C::TPushViewToAiv | C::TPushViewToAic => {
            let entry = data.named("entry").to_vec();
            become_op(b.func, op, C::TPush, &[&entry, &[pipe], &[]], list);
        }
        C::TFreeFromAic | C::TFreeFromAiv => become_op(b.func, op, C::TFree, &[&[], &[pipe]], list),
        C::TFreeViewFromAic | C::TFreeViewFromAiv => {
            let entry = data.named("entry").to_vec();
            become_op(b.func, op, C::TFree, &[&entry, &[pipe]], list);
        }
        C::TPopFromAic | C::TPopFromAiv => {
            let extents = [data.named("valid_row").to_vec(), data.named("valid_col").to_vec()];
            let subblock = data.named("subblock").to_vec();
            let (span, tile) = (data.span, data.results[0]);
            let dynamic =
                b.func.ty(tile).as_tile().map_or(0, |t| t.valid.iter().filter(|&&d| d == Dim::Dynamic).count());
            let given = extents.iter().flatten().count();
            if given > 0 && (dynamic != 2 || given != 2) {
                let message = "a pop states one extent of two; say both as dynamic, or both in the type";
                return Err(Diagnostic::unsupported("fifo-extents", message).at(span, "this pop"));
            }
            become_op(b.func, op, C::DeclareTile, &[], Attrs::default());
            put(b, op);
            b.effect(C::TPop, &[&[tile], &[pipe], &subblock], list);
            if given == 2 {
                let [row, col] = extents;
                b.dest(C::SetValidShape, &[&[tile], &row, &col], tile, Attrs::default());
            }
            return Ok(Fate::Go);
        }
        C::TPopViewFromAic | C::TPopViewFromAiv | C::TAllocToAiv | C::TAllocToAic => {
            let taken = if matches!(data.opcode, C::TAllocToAiv | C::TAllocToAic) { C::TAlloc } else { C::TPop };
            let view = data.results[0];
            become_op(b.func, op, C::DeclareGlobal, &[], Attrs::default());
            put(b, op);
            b.effect(taken, &[&[view], &[pipe]], list);
            return Ok(Fate::Go);
        }
        _ => {}
    }
    Ok(Fate::Stay)
}

fn initialize(b: &mut Builder<'_>, op: Op, flag_base: i64, nosplit: bool) -> Value {
    let data = &b.func.ops[op];
    let mask = data.attrs.int("dir_mask").unwrap_or(0);
    let mut list = attrs([("dir_mask", Attr::Int(mask))]);
    let size = data.attrs.int("slot_size").unwrap_or(0);
    list.set("slot_size", Attr::Int(size));
    list.set("slot_num", Attr::Int(data.attrs.int("slot_num").unwrap_or(if mask == (C2V | V2C) { 4 } else { 8 })));
    if let Some(local) = data.attrs.int("local_slot_num") {
        list.set("local_slot_num", Attr::Int(local));
    }
    list.set("flag_base", Attr::Int(flag_base));
    list.set("nosplit", Attr::Bool(nosplit));
    if let Some(epilogue) = data.attrs.get("acc_push_epilogue").cloned() {
        list.set("acc_push_epilogue", epilogue);
    }
    let (c2v, v2c) = (data.named("c2v_consumer_buf").to_vec(), data.named("v2c_consumer_buf").to_vec());
    // This core's own slots first, where it has some; then those of the other one.
    let vector = data.opcode == C::AivInitializePipe;
    let both = match (mask, vector) {
        (C2V, _) => [c2v, Vec::new()],
        (V2C, _) => [v2c, Vec::new()],
        (_, true) => [c2v, v2c],
        (_, false) => [v2c, c2v],
    };
    let [local, peer] = both;
    let memory = [data.named("gm_slot_tensor"), data.named("gm_slot_buffer")].concat();
    let ty = Type::Opaque(Opaque::Pipe);
    match memory.first() {
        Some(&slots) => b.result(C::InitL2g2lPipe, &[&[slots], &local, &peer], ty, list),
        None => b.result(C::InitL2lPipe, &[&local, &peer], ty, list),
    }
}

/// Reserved buffers that have a base become that number, in the functions that reserve them and in those that import
/// them from there.
///
/// # Errors
/// `reserved-buffer` for an import from a function whose buffer has no base.
pub(crate) fn resolve_reserved(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    if through_fix_pipe(program) {
        return Ok(());
    }
    let mut bases: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (_, func) in program.functions.iter() {
        for data in func.walk().into_iter().map(|op| &func.ops[op]).filter(|o| o.opcode == C::ReserveBuffer) {
            if let (Some(name), Some(base)) = (data.attrs.word("name"), data.attrs.int("base")) {
                bases.insert((func.name.clone(), name.to_owned()), base);
            }
        }
    }
    let mut errors = Vec::new();
    for id in program.functions.keys().collect::<Vec<_>>() {
        let func = &mut program.functions[id];
        let own = func.name.clone();
        rewrite(func, &mut |b, op| {
            let data = &b.func.ops[op];
            let name = data.attrs.word("name").unwrap_or("").to_owned();
            let owner = match data.opcode {
                C::ReserveBuffer => own.clone(),
                C::ImportReservedBuffer => {
                    data.attrs.symbols("peer_func").and_then(|s| s.first().cloned()).unwrap_or_default()
                }
                _ => return Fate::Stay,
            };
            let Some(&base) = bases.get(&(owner.clone(), name.clone())) else {
                if data.opcode == C::ImportReservedBuffer {
                    let message = format!("`{name}` of @{owner} has no base");
                    errors.push(Diagnostic::error("reserved-buffer", message).at(data.span, "imported here"));
                }
                return Fate::Stay;
            };
            let value = Attr::Int(Scalar::from_i64(DType::I32, base).as_i64().unwrap_or(base));
            become_op(b.func, op, C::Const, &[], attrs([("value", value)]));
            Fate::Stay
        });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
