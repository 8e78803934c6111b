//! Sorting: records of values and indices, in descending order.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Opcode, TileType, Type, Value, infer};
use ruff_text_size::Ranged;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

/// Elements of a run that is merged are a multiple of this.
const RUN: i64 = 64;

fn tile(cx: &mut Cx<'_>, args: &Args<'_>, parameter: &'static str) -> Res<Value> {
    let expr = args.need(parameter);
    let held = cx.eval(expr)?;
    let tile = cx.operand(args.name, &held, expr.range())?;
    cx.flattened(tile, expr.range())
}

/// `pl.sort32(src, idx)`: each 32 elements of a row with their indices.
pub(crate) fn sort32(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let src = tile(cx, args, "src")?;
    let mut idx = tile(cx, args, "idx")?;
    if cx.ty(idx).element() == Some(DType::I32) {
        // The bits of an index are moved as they are.
        idx = cx.bitcast(idx, DType::U32, args.at)?;
    }
    cx.infer_op(Opcode::TSort32, &[src, idx], Attrs::default(), args.at).map(Held::Ir)
}

/// `pl.mrgsort(src, block_len=n)` merges runs of one row, `pl.mrgsort(a, b, …)` two to four rows.
pub(crate) fn mrgsort(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let mut lists = Vec::new();
    let mut block = args.get("block_len").map(|e| cx.eval(e).map(|h| (h, e.range()))).transpose()?;
    for parameter in ["src0", "src1", "src2", "src3"] {
        let Some(expr) = args.get(parameter) else { continue };
        match cx.eval(expr)? {
            Held::None => {}
            // `pl.mrgsort(src, n)`
            held if parameter == "src1" && block.is_none() && cx.known_int(&held).is_some() => {
                block = Some((held, expr.range()));
            }
            held => {
                let list = cx.operand(args.name, &held, expr.range())?;
                lists.push((cx.flattened(list, expr.range())?, expr));
            }
        }
    }
    let exhausted = args.get("exhausted").map(|e| cx.static_bool(e)).transpose()?.unwrap_or(false);
    match (block, &lists[..]) {
        (Some((held, at)), [(src, _)]) => {
            if exhausted {
                let message = "`exhausted` belongs to the form of `pl.mrgsort` that merges several rows";
                return Err(cx.error("wrong-argument", args.at, message).into());
            }
            let columns = cx.tile(*src).and_then(|t| t.valid[1].known()).map(|n| n as i64);
            if let Some(n) = cx.known_int(&held) {
                if n <= 0 || n % RUN != 0 {
                    let message = format!("`block_len` is a multiple of {RUN}, not {n}");
                    return Err(cx.error("wrong-argument", at, message).into());
                }
                if let Some(columns) = columns
                    && n.checked_mul(4).is_none_or(|group| columns % group != 0)
                {
                    let message = format!("{columns} columns are not groups of four runs of {n}");
                    return Err(cx.error("shape-mismatch", at, message).into());
                }
            }
            let block = cx.as_index(&held, at)?;
            cx.infer_op(Opcode::TMrgSort, &[*src, block], Attrs::default(), args.at).map(Held::Ir)
        }
        (None, [_, _, ..]) => merge(cx, args, &lists.iter().map(|(v, _)| *v).collect::<Vec<_>>(), exhausted),
        (Some(_), _) => {
            let message = "`block_len` belongs to the form of `pl.mrgsort` that merges the runs of one row";
            Err(cx.error("wrong-argument", args.at, message).into())
        }
        (None, _) => {
            let message = "`pl.mrgsort` needs `block_len=`, or two to four rows";
            Err(cx.error("wrong-argument", args.at, message).into())
        }
    }
}

fn merge(cx: &mut Cx<'_>, args: &Args<'_>, lists: &[Value], exhausted: bool) -> Res<Held> {
    let mut columns = 0;
    let dtype = cx.ty(lists[0]).element().unwrap_or(DType::F32);
    if infer::record_elements(dtype).is_none() {
        let message = format!("`pl.mrgsort` merges FP32 or FP16 records, not {}", dtype.language_name());
        return Err(cx.error("dtype-unsupported", args.at, message).into());
    }
    for &list in lists {
        let Some(t) = cx.tile(list) else { return Err(cx.not_a(&Held::Ir(list), "a tile", args.at)) };
        match t.valid[1] {
            Dim::Static(n) if t.dtype == dtype && t.valid[0] == Dim::Static(1) => columns += n,
            _ => {
                let message = format!(
                    "`pl.mrgsort` merges rows of one element type whose valid length is known at compile time, not {}",
                    cx.describe(&Held::Ir(list))
                );
                return Err(cx.error("shape-mismatch", args.at, message).into());
            }
        }
    }
    let mut attributes = Attrs::default();
    if exhausted {
        attributes = attrs([("exhausted", Attr::Bool(true))]);
    }
    let ty = Type::Tile(TileType::value(dtype, vec![1, columns]));
    Ok(Held::Ir(cx.result(Opcode::TMrgSortLists, &[lists, &[]], ty, attributes)))
}
