//! Types of operands and results of any operation: control flow, scalars, and what [`crate::infer`] knows. Operations
//! with rules of their own go on to [`super::tensor`], [`super::kernel`] and [`super::buffers`].

use dtype::DType;

use super::{Check, Cx, Fault, buffers, dialect, ensure, fifo, kernel, tensor};
use crate::attr::Attr;
use crate::entity::Value;
use crate::function::{FunctionKind, OpData};
use crate::infer::{self, TypeError};
use crate::ops::Opcode as C;
use crate::types::{Dim, TileType, Type};

/// Checks an operation whose structure is sound.
pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    if cx.assembles() && cx.in_kernel() { super::device::check(cx, op) } else { common(cx, op) }
}

/// The rules that hold whoever asks.
pub(super) fn common(cx: &Cx<'_>, op: &OpData) -> Check {
    match op.opcode {
        C::For => for_loop(cx, op),
        C::If => branch(cx, op),
        C::While => while_loop(cx, op),
        // Compared where the regions are.
        C::Yield | C::Condition => Ok(()),
        C::Return => returns(cx, op),
        C::Scope => scope(cx, op),
        C::Const => literal(cx, op),
        C::ScalarShl | C::ScalarShr => {
            no_floats(cx, op)?;
            inferred(cx, op)
        }
        C::ScalarAnd | C::ScalarOr | C::ScalarXor | C::ScalarNot => {
            no_floats(cx, op)?;
            inferred(cx, op)
        }
        C::ScalarCast => result_is(cx, op, |ty| matches!(ty, Type::Scalar(_)), "a scalar"),
        C::ArrayCreate => result_is(
            cx,
            op,
            |ty| matches!(ty, Type::Array { len, .. } if *len <= crate::MAX_ARRAY),
            "an array of at most 1048576 elements",
        ),
        C::ArrayGet | C::ArraySet => array(cx, op),
        C::TaskInvalid | C::TaskDummy => exactly(cx, op, &Type::TaskId),
        C::TaskIsValid => exactly(cx, op, &Type::BOOL),
        C::GetBlockIdx | C::GetBlockNum | C::GetSubblockIdx => {
            let ty = if cx.in_kernel() { Type::Scalar(DType::I64) } else { Type::INDEX };
            exactly(cx, op, &ty)
        }
        C::TensorCreate
        | C::TensorSlice
        | C::TensorReshape
        | C::TensorBitcast
        | C::TensorTranspose
        | C::TensorDim
        | C::TensorStride
        | C::Read
        | C::Write
        | C::Load
        | C::Store
        | C::Gather
        | C::Scatter
        | C::TileCreate
        | C::Submit => tensor::check(cx, op),
        C::SetValidShape if !cx.in_kernel() => tensor::check(cx, op),
        C::SetValidShape => dialect::check(cx, op),
        opcode if opcode.info().text => dialect::check(cx, op),
        C::MakeTensorView
        | C::PartitionView
        | C::AddPtr
        | C::LoadScalar
        | C::StoreScalar
        | C::TLoad
        | C::TStore
        | C::MGather
        | C::MScatter
        | C::AllocTile
        | C::Subview => kernel::check(cx, op),
        C::AicInitializePipe
        | C::AivInitializePipe
        | C::ReserveBuffer
        | C::ImportReservedBuffer
        | C::TPushToAiv
        | C::TPopFromAic
        | C::TFreeFromAic
        | C::TPushToAic
        | C::TPopFromAiv
        | C::TFreeFromAiv => fifo::check(cx, op),
        C::SyncAll => Ok(()),
        C::TCvt
        | C::TFillPad
        | C::TExpandS
        | C::TCi
        | C::TTri
        | C::TRandom
        | C::TReshape
        | C::Bitcast
        | C::TGatherMask
        | C::TScatter
        | C::TScatterMask
        | C::TMrgSortLists
        | C::TExtract
        | C::TInsert
        | C::TSetVal
        | C::TRowExpand
        | C::TColExpand => {
            tile(cx, op)?;
            buffers::operation(cx, op)
        }
        _ => {
            inferred(cx, op)?;
            buffers::operation(cx, op)
        }
    }
}

/// The result or destination is what follows from the operands.
fn inferred(cx: &Cx<'_>, op: &OpData) -> Check {
    let types: Vec<Vec<&Type>> =
        (0..op.segments.len()).map(|i| op.group(i).iter().map(|&v| cx.ty(v)).collect()).collect();
    let ty = match infer::result(op.opcode, &types, &op.attrs) {
        Ok(ty) => ty,
        Err(e @ TypeError::NotInferred { .. }) => return Err(Fault { code: "result-type", message: e.to_string() }),
        Err(e) => return Err(Fault { code: "operand-types", message: e.to_string() }),
    };
    match (op.result(), op.dest(), &ty) {
        (Some(_), _, _) => exactly(cx, op, &ty),
        (None, Some(dest), Type::Tile(t)) => {
            let found = cx.tile(dest)?;
            // A move between spaces is between paddings too; only what is valid moves.
            let source_space = op.operands.first().and_then(|&v| cx.ty(v).as_tile()).and_then(|t| t.space);
            let across = op.opcode == C::TMov && source_space != found.space;
            let narrows = across
                && source_space == Some(chip::Space::Acc)
                && t.dtype == DType::F32
                && matches!(found.dtype, DType::F16 | DType::BF16);
            // Positions are not negative.
            let positions = matches!(op.opcode, C::TRowArgMax | C::TRowArgMin | C::TColArgMax | C::TColArgMin)
                && found.dtype == DType::U32;
            // A mask is bits.
            let bits = matches!(op.opcode, C::TCmp | C::TCmpS) && found.dtype == DType::I8;
            ensure!(
                (found.dtype == t.dtype || narrows || positions || bits) && (across || found.shape == t.shape),
                "dest-type",
                "the destination of {} is {found}; the operands give {} of {:?}",
                op.opcode.name(),
                t.dtype,
                t.shape
            );
            valid_region(op, &t.valid, &found.valid)
        }
        _ => Ok(()),
    }
}

/// Valid extents of a destination against those that follow; only what is static can differ.
fn valid_region(op: &OpData, follows: &[Dim], found: &[Dim]) -> Check {
    for (axis, (a, b)) in follows.iter().zip(found).enumerate() {
        if let (Dim::Static(a), Dim::Static(b)) = (a, b) {
            ensure!(
                a == b,
                "valid-region",
                "the destination of {} has {b} valid elements along axis {axis}; the operands give {a}",
                op.opcode.name()
            );
        }
    }
    Ok(())
}

/// The one result has exactly this type.
pub(super) fn exactly(cx: &Cx<'_>, op: &OpData, ty: &Type) -> Check {
    match op.result() {
        Some(result) => {
            let found = cx.ty(result);
            ensure!(found == ty, "result-type", "the result of {} is {ty}, not {found}", op.opcode.name());
            Ok(())
        }
        None => Ok(()),
    }
}

pub(super) fn result_is(cx: &Cx<'_>, op: &OpData, fits: impl Fn(&Type) -> bool, wanted: &str) -> Check {
    for &result in &op.results {
        let ty = cx.ty(result);
        ensure!(fits(ty), "result-type", "the result of {} must be {wanted}, not {ty}", op.opcode.name());
    }
    Ok(())
}

/// There is one operand for each dynamic extent. In destination form the extents may have been given before.
pub(super) fn valid_operands(op: &OpData, given: usize, extents: &[Dim], optional: bool) -> Check {
    let dynamic = extents.iter().filter(|d| **d == Dim::Dynamic).count();
    ensure!(
        given == dynamic || (optional && given == 0),
        "valid-operands",
        "{} has {dynamic} dynamic extents and {given} operands for them",
        op.opcode.name()
    );
    Ok(())
}

fn no_floats(cx: &Cx<'_>, op: &OpData) -> Check {
    for &value in &op.operands {
        let ty = cx.ty(value);
        let fits = ty.as_scalar().is_some_and(|d| {
            let shift = matches!(op.opcode, C::ScalarShl | C::ScalarShr);
            d.is_int() || (d == DType::Bool && !shift)
        });
        ensure!(fits, "operand-types", "{} is not defined on {ty}", op.opcode.name());
    }
    Ok(())
}

fn literal(cx: &Cx<'_>, op: &OpData) -> Check {
    result_is(cx, op, |ty| matches!(ty, Type::Scalar(_)), "a scalar")?;
    let (Some(value), Some(dtype)) = (op.attrs.get("value"), op.result().and_then(|r| cx.ty(r).as_scalar())) else {
        return Ok(());
    };
    let fits = match value {
        Attr::Bool(_) => dtype == DType::Bool,
        Attr::Float(_) => dtype.is_float(),
        // As signed or as unsigned bits of that width.
        Attr::Int(v) if dtype.is_int() => {
            let bits = dtype.bits();
            bits == 64 || (-(1i64 << (bits - 1)) <= *v && *v < 1i64 << bits)
        }
        _ => false,
    };
    ensure!(fits, "const-value", "{value:?} is not a literal of type {dtype}");
    Ok(())
}

fn array(cx: &Cx<'_>, op: &OpData) -> Check {
    let Type::Array { element, .. } = cx.ty(op.operands[0]) else { return Ok(()) };
    if op.opcode == C::ArrayGet {
        return exactly(cx, op, element);
    }
    let value = cx.ty(op.operands[2]);
    ensure!(value == &**element, "operand-types", "an array of {element} cannot hold {value}");
    Ok(())
}

/// What can become what along a back edge or out of a branch: the same type; outside kernels, also extents that are
/// known can become ones that are not.
fn flows(cx: &Cx<'_>, from: &Type, to: &Type) -> bool {
    let dims = |a: &[Dim], b: &[Dim]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || *b == Dim::Dynamic);
    match (from, to) {
        _ if from == to => true,
        // The text does not say strides in types.
        (Type::View(a), Type::View(b)) => a.dtype == b.dtype && a.shape == b.shape && dims(&a.strides, &b.strides),
        _ if cx.in_kernel() => false,
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype && dims(&a.shape, &b.shape) && dims(&a.strides, &b.strides)
        }
        (Type::Tile(a), Type::Tile(b)) => {
            a.dtype == b.dtype && a.shape == b.shape && dims(&a.valid, &b.valid) && a.pad == b.pad
        }
        _ => false,
    }
}

pub(super) fn carried(cx: &Cx<'_>, what: &str, from: &[Value], to: &[Value]) -> Check {
    ensure!(from.len() == to.len(), "carried-types", "{what}: {} values for {}", from.len(), to.len());
    for (i, (&a, &b)) in from.iter().zip(to).enumerate() {
        let (a, b) = (cx.ty(a), cx.ty(b));
        ensure!(flows(cx, a, b), "carried-types", "{what}: value {i} is {a} and becomes {b}");
    }
    Ok(())
}

/// The values that a region's terminator passes on; none if it has no such terminator (an error of its own).
pub(super) fn passed<'a>(cx: &Cx<'a>, op: &OpData, region: usize, terminator: C) -> Option<&'a [Value]> {
    let block = &cx.function.blocks[op.regions[region]];
    let last = &cx.function.ops[*block.ops.last()?];
    (last.opcode == terminator
        && last.segments.len() == last.opcode.info().operands.len()
        && last.segments.iter().map(|&n| n as usize).sum::<usize>() == last.operands.len())
    .then(|| last.named("values"))
}

fn args<'a>(cx: &Cx<'a>, op: &OpData, region: usize) -> &'a [Value] {
    &cx.function.blocks[op.regions[region]].args
}

fn for_loop(cx: &Cx<'_>, op: &OpData) -> Check {
    let bound = cx.ty(op.operands[0]);
    let word = |ty: &Type| matches!(ty.as_scalar(), Some(DType::Index | DType::I64));
    for &other in &op.operands[1..3] {
        let other = cx.ty(other);
        ensure!(
            other == bound || (word(other) && word(bound)),
            "loop-bounds",
            "the bounds of a loop are {bound} and {other}; they have one type"
        );
    }
    let args = args(cx, op, 0);
    ensure!(
        args.first().is_some_and(|&v| cx.ty(v) == bound),
        "region-args",
        "the first argument of a loop's body is its variable, of type {bound}"
    );
    let init = op.named("init");
    carried(cx, "into the loop", init, &args[1..])?;
    if let Some(next) = passed(cx, op, 0, C::Yield) {
        carried(cx, "to the next iteration", next, &args[1..])?;
    }
    carried(cx, "out of the loop", &args[1..], &op.results)
}

fn branch(cx: &Cx<'_>, op: &OpData) -> Check {
    for (region, which) in [(0, "the first branch"), (1, "the second branch")] {
        ensure!(args(cx, op, region).is_empty(), "region-args", "a branch of `if` has no arguments");
        if let Some(values) = passed(cx, op, region, C::Yield) {
            carried(cx, &format!("out of {which}"), values, &op.results)?;
        }
    }
    Ok(())
}

fn while_loop(cx: &Cx<'_>, op: &OpData) -> Check {
    let (before, body) = (args(cx, op, 0), args(cx, op, 1));
    carried(cx, "into the loop", op.named("init"), before)?;
    if let Some(values) = passed(cx, op, 0, C::Condition) {
        carried(cx, "from the condition into the body", values, body)?;
        carried(cx, "out of the loop", values, &op.results)?;
    }
    match passed(cx, op, 1, C::Yield) {
        Some(values) => carried(cx, "to the next iteration", values, before),
        None => Ok(()),
    }
}

fn scope(cx: &Cx<'_>, op: &OpData) -> Check {
    exactly(cx, op, &Type::TaskId)?;
    let args = args(cx, op, 0);
    let blocks = !op.named("blocks").is_empty();
    let fits = if blocks { args.len() == 1 && *cx.ty(args[0]) == Type::INDEX } else { args.is_empty() };
    ensure!(
        fits,
        "region-args",
        "a scope has the block index (index) as its argument if it has `blocks`, and else no argument"
    );
    if let Some(values) = passed(cx, op, 0, C::Yield) {
        ensure!(values.is_empty(), "carried-types", "a scope yields no values");
    }
    Ok(())
}

fn returns(cx: &Cx<'_>, op: &OpData) -> Check {
    let f = cx.function;
    if f.kind != FunctionKind::Orchestration {
        let found: Vec<&Type> = op.operands.iter().map(|&v| cx.ty(v)).collect();
        ensure!(
            found.iter().copied().eq(&f.results),
            "return-values",
            "@{} returns ({}), not ({})",
            f.name,
            list(f.results.iter()),
            list(found.into_iter())
        );
        return Ok(());
    }
    for &value in &op.operands {
        let ty = cx.ty(value);
        ensure!(
            matches!(ty, Type::Tensor(_)),
            "return-values",
            "the entry returns tensors; this is {ty} in @{}",
            f.name
        );
    }
    Ok(())
}

pub(super) fn list<'t>(types: impl Iterator<Item = &'t Type>) -> String {
    types.map(Type::to_string).collect::<Vec<_>>().join(", ")
}

/// Tile operations whose result does not follow from the operands alone.
fn tile(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    result_is(cx, op, |ty| matches!(ty, Type::Tile(_)), "a tile")?;
    let out = cx.output(op)?;
    let wrong = if op.dests.is_empty() { "result-type" } else { "dest-type" };
    let mismatch = |message: String| Err(Fault { code: wrong, message });
    match op.opcode {
        C::TCvt => {
            let a = cx.tile(op.operands[0])?;
            // f32 to itself rounds to integral values.
            ensure!(
                a.dtype != out.dtype || a.dtype == DType::F32,
                "same-type",
                "a conversion from {} to itself does nothing (only f32 → f32 does: it rounds to integral values)",
                a.dtype
            );
            if a.shape != out.shape {
                return mismatch(format!("{name} keeps the shape {:?}; it makes {:?}", a.shape, out.shape));
            }
            if op.dests.is_empty() && a.valid != out.valid {
                return mismatch(format!("{name} keeps the valid region; {a} becomes {out}"));
            }
            valid_region(op, &a.valid, &out.valid)
        }
        C::TFillPad => {
            let a = cx.tile(op.operands[0])?;
            let larger = a.shape.len() == out.shape.len() && a.shape.iter().zip(&out.shape).all(|(a, b)| a <= b);
            // In a kernel what is filled may be said at run time, or be less than all of the buffer.
            if a.dtype != out.dtype || !larger || !(out.is_fully_valid() || cx.in_kernel()) {
                return mismatch(format!(
                    "{name} makes a fully valid tile of {} and at least {:?}, not {out}",
                    a.dtype, a.shape
                ));
            }
            Ok(())
        }
        C::TExpandS => {
            let s = cx.ty(op.operands[0]);
            ensure!(s.as_scalar() == Some(out.dtype), "operand-types", "{name} fills {} elements with {s}", out.dtype);
            valid_operands(op, op.named("valid").len(), &out.valid, !op.dests.is_empty())
        }
        C::TCi => {
            let s = cx.ty(op.operands[0]);
            ensure!(s.as_scalar() == Some(out.dtype), "operand-types", "{name} fills {} elements from {s}", out.dtype);
            ensure!(out.dtype.is_int(), "operand-types", "{name} makes integers, not {}", out.dtype);
            if out.rows() != 1 {
                return mismatch(format!("{name} makes one row, not {:?}", out.shape));
            }
            valid_operands(op, 0, &out.valid, !op.dests.is_empty())
        }
        C::TRowExpand | C::TColExpand => {
            let v = cx.tile(op.operands[0])?;
            let mut expected = out.shape.clone();
            let axis = if op.opcode == C::TRowExpand { expected.len() - 1 } else { 0 };
            expected[axis] = 1;
            let rank = op.opcode == C::TRowExpand || out.shape.len() == 2;
            if v.dtype != out.dtype || v.shape != expected || !rank {
                return mismatch(format!("{name} makes {out} of a vector of {} and {expected:?}, not {v}", out.dtype));
            }
            Ok(())
        }
        C::TTri => {
            ensure!(out.shape.len() == 2, "operand-types", "{name} makes a matrix, not {out}");
            valid_operands(op, op.named("valid").len(), &out.valid, !op.dests.is_empty())
        }
        C::TRandom => {
            ensure!(cx.program.arch == chip::Arch::A5, "architecture", "{name} is an instruction of a5");
            if !matches!(out.dtype, DType::I32 | DType::U32) || out.shape.len() != 2 {
                return mismatch(format!("{name} makes a matrix of i32 or u32, not {out}"));
            }
            let rounds = op.attrs.int("rounds");
            ensure!(
                matches!(rounds, None | Some(7 | 10)),
                "attribute-value",
                "{name} has 7 or 10 rounds, not {rounds:?}"
            );
            valid_operands(op, 0, &out.valid, !op.dests.is_empty())
        }
        C::TGatherMask | C::TScatterMask => pattern(op, cx.tile(op.operands[0])?, out),
        C::TScatter => {
            let (source, indices) = (cx.tile(op.operands[0])?, cx.tile(op.operands[1])?);
            let widths = (source.dtype.size(), indices.dtype.size());
            ensure!(
                indices.dtype.is_int() && matches!(widths, (4, 4) | (2, 2) | (1, 2)) && source.shape == indices.shape,
                "operand-types",
                "{name} takes one index per element, of 32 bits for elements of 32, else of 16; not {indices} for {source}"
            );
            let whole = out.is_fully_valid() || !op.dests.is_empty();
            if source.dtype != out.dtype || out.shape.len() != 2 || !whole {
                return mismatch(format!("{name} makes a fully valid matrix of {}, not {out}", source.dtype));
            }
            Ok(())
        }
        C::TMrgSortLists => merged_lists(cx, op, out),
        C::Bitcast => {
            let a = cx.tile(op.operands[0])?;
            ensure!(
                a.bytes() == out.bytes() && (cx.in_kernel() || (a.is_fully_valid() && out.is_fully_valid())),
                "element-count",
                "{name} gives the bytes of a whole tile another type; {a} cannot become {out}"
            );
            Ok(())
        }
        C::TReshape => {
            let a = cx.tile(op.operands[0])?;
            if a.dtype != out.dtype {
                return mismatch(format!("{name} keeps the element type {}; it makes {}", a.dtype, out.dtype));
            }
            ensure!(
                a.bytes() == out.bytes(),
                "element-count",
                "{name} makes {:?} of {:?}: the number of elements differs",
                out.shape,
                a.shape
            );
            Ok(())
        }
        C::TExtract | C::TInsert => {
            let source = cx.tile(op.operands[0])?;
            if source.dtype != out.dtype {
                return mismatch(format!("{name} keeps the element type {}; the destination is {out}", source.dtype));
            }
            ensure!(
                source.shape.len() == 2 && out.shape.len() == 2,
                "operand-types",
                "{name} needs tiles of rank 2, not {:?} and {:?}",
                source.shape,
                out.shape
            );
            if op.opcode == C::TExtract {
                valid_operands(op, op.named("valid").len(), &out.valid, !op.dests.is_empty())?;
                return kernel::window(cx, op, &op.operands[1..3], &out.shape, source);
            }
            // The valid region is what goes in.
            let extents: Vec<u64> = source.valid.iter().map(|d| d.known().unwrap_or(0)).collect();
            kernel::window(cx, op, &op.operands[1..3], &extents, out)
        }
        C::TSetVal => {
            let value = cx.ty(op.named("value")[0]);
            ensure!(
                value.as_scalar() == Some(out.dtype),
                "operand-types",
                "{name} writes {value} into a tile of {}",
                out.dtype
            );
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `tgather.mask` packs the columns of a pattern, `tscatter.mask` spreads columns over one.
fn pattern(op: &OpData, source: &TileType, out: &TileType) -> Check {
    let name = op.opcode.name();
    let number = op.attrs.int("pattern").unwrap_or_default();
    let Some(period) = infer::pattern_period(number) else {
        return Err(Fault { code: "attribute-value", message: format!("{name} has no pattern {number}; 1 to 7") });
    };
    let gather = op.opcode == C::TGatherMask;
    let (narrow, wide) = if gather { (out, source) } else { (source, out) };
    let columns = |t: &TileType| t.valid.get(1).copied().and_then(Dim::known);
    ensure!(
        source.dtype.size() == out.dtype.size() && (gather || source.dtype == out.dtype),
        "operand-types",
        "{name} moves bits: it cannot make {} of {}",
        out.dtype,
        source.dtype
    );
    ensure!(
        columns(source).is_some_and(|n| !gather || n % period == 0),
        "operand-types",
        "{name} with pattern {number} takes a matrix with known valid columns, {}; this is {source}",
        if gather { "a multiple of the pattern's length" } else { "one per place of the pattern" }
    );
    ensure!(
        wide.shape.len() == 2
            && narrow.shape.len() == 2
            && wide.shape[0] == narrow.shape[0]
            && wide.valid[0] == narrow.valid[0]
            && columns(wide) == columns(narrow).map(|n| n * period),
        "operand-types",
        "{name} with pattern {number} has {period} columns of {wide} per column of {narrow}"
    );
    Ok(())
}

/// `tmrgsort.lists`: rows of records into one row that has room for all of them.
fn merged_lists(cx: &Cx<'_>, op: &OpData, out: &TileType) -> Check {
    let name = op.opcode.name();
    let lists = op.named("lists");
    ensure!((2..=4).contains(&lists.len()), "operand-types", "{name} merges two to four lists, not {}", lists.len());
    ensure!(
        infer::record_elements(out.dtype).is_some() && out.shape.len() == 2,
        "operand-types",
        "{name} merges rows of f32 or f16 records, not {out}"
    );
    let mut records = 0;
    for &list in lists {
        let t = cx.tile(list)?;
        let fits = t.dtype == out.dtype && t.shape.len() == 2 && t.valid[0] == Dim::Static(1);
        let Some(width) = t.valid.get(1).and_then(|d| d.known()).filter(|_| fits) else {
            let message = format!("{name} takes rows of records of {} and known width, not {t}", out.dtype);
            return Err(Fault { code: "operand-types", message });
        };
        records += width;
    }
    ensure!(
        out.valid == [Dim::Static(1), Dim::Static(records)],
        "operand-types",
        "{name} makes one row of {records} elements, not {out}"
    );
    Ok(())
}
