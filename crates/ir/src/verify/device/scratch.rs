//! How large scratch must be, what it is made of, and which forms of an operation need one.

use chip::Arch;

use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::types::{Dim, Major, TileType};
use crate::verify::{Check, Cx, ensure};

/// Bytes of one vector instruction.
const VECTOR: u64 = 256;
/// Bytes of one block.
const BLOCK: u64 = 32;

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let info = op.opcode.info();
    let tmp = info.group("tmp").and_then(|g| op.group(g).first()).map(|&v| cx.ty(v).as_tile()).and_then(|t| t);
    let exact = op.attrs.word("precisionType") == Some("high_precision");
    if matches!(op.opcode, C::TRsqrt | C::TRowExpandDiv) {
        ensure!(!exact || tmp.is_some(), "scratch", "{name} of high precision needs a scratch");
    }
    let Some(tmp) = tmp else {
        if op.opcode == C::TGather && cx.program.arch == Arch::A2a3 {
            ensure!(false, "scratch", "{name} by indices needs a scratch on {}", cx.program.arch);
        }
        return Ok(());
    };
    match op.opcode {
        C::TColSum if op.attrs.bool("isBinary") => {
            if let Some(width) = known(cx.tile(op.operands[0])?, 1) {
                ensure!(
                    tmp.shape[1] >= width,
                    "scratch",
                    "{name} by halves needs {width} columns of scratch, not {tmp}"
                );
            }
            Ok(())
        }
        C::TMrgSortLists | C::TMrgSortCounted => {
            let out = cx.tile(op.dests[0])?;
            ensure!(tmp.cols() >= out.cols(), "scratch", "{name} needs {} columns of scratch, not {tmp}", out.cols());
            Ok(())
        }
        C::TPow | C::TPowS => {
            let out = cx.tile(op.dests[0])?;
            let fits = tmp.valid.iter().zip(&out.valid).all(|(a, b)| !super::differ(*a, *b));
            ensure!(fits, "scratch", "the scratch of {name} is valid where {out} is; {tmp} is not");
            Ok(())
        }
        _ if cx.program.arch == Arch::A2a3 => a2a3(cx, op, tmp),
        _ => Ok(()),
    }
}

fn known(t: &TileType, axis: usize) -> Option<u64> {
    t.valid.get(axis).and_then(|d| d.known())
}

/// At least so many valid rows or columns, where they are known.
fn valid(op: &OpData, tmp: &TileType, axis: usize, least: u64) -> Check {
    let fits = known(tmp, axis).is_none_or(|n| n >= least);
    let what = ["rows", "columns"][axis];
    ensure!(fits, "scratch", "the scratch of {} needs {least} valid {what}; this is {tmp}", op.opcode.name());
    Ok(())
}

fn bytes(op: &OpData, tmp: &TileType, least: u64) -> Check {
    ensure!(
        tmp.bytes() >= least,
        "scratch",
        "the scratch of {} needs {least} bytes; {tmp} has {}",
        op.opcode.name(),
        tmp.bytes()
    );
    Ok(())
}

fn a2a3(cx: &Cx<'_>, op: &OpData, tmp: &TileType) -> Check {
    use C::*;
    let out = match op.dests.first() {
        Some(&dest) => cx.tile(dest)?,
        None => return Ok(()),
    };
    match op.opcode {
        TRem => valid(op, tmp, 0, 2),
        TRemS => valid(op, tmp, 0, 1),
        TPRelu => {
            if let Some(rows) = known(out, 0) {
                let least = rows + 1;
                ensure!(
                    tmp.shape[0] >= least,
                    "scratch",
                    "the scratch of {} needs {least} rows, one more than the result; this is {tmp}",
                    op.opcode.name()
                );
            }
            match known(out, 1) {
                Some(cols) => valid(op, tmp, 1, cols.div_ceil(8)),
                None => Ok(()),
            }
        }
        // Partial results of each vector of a row: a block of values and one of places.
        TRowArgMax | TRowArgMin | TColArgMax | TColArgMin => {
            let source = cx.tile(op.operands[0])?;
            let size = source.dtype.size() as u64;
            match known(source, 1) {
                Some(width) if width * size > VECTOR => valid(op, tmp, 1, 2 * BLOCK / size),
                _ => Ok(()),
            }
        }
        TSel | TSelS => bytes(op, tmp, 16),
        TCi => bytes(op, tmp, if out.dtype.size() == 2 { 1792 } else { 768 }),
        TRowExpandAdd | TRowExpandSub | TRowExpandMul | TRowExpandDiv | TRowExpandMax | TRowExpandMin => {
            let vector = cx.tile(op.named("v")[0])?;
            ensure!(
                vector.layout.blayout == Major::Col || vector.valid[1] == Dim::Static(1),
                "scratch",
                "{} has a scratch beside a column, not beside {vector}",
                op.opcode.name()
            );
            bytes(op, tmp, known(out, 0).unwrap_or(0) * BLOCK)
        }
        TGather => {
            let indices = cx.tile(op.named("indices")[0])?;
            let fits = tmp.valid.iter().zip(&indices.valid).all(|(a, b)| !super::differ(*a, *b));
            ensure!(fits, "scratch", "the scratch of a gather is valid where its indices are: {indices}, not {tmp}");
            Ok(())
        }
        _ => Ok(()),
    }
}
