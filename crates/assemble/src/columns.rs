//! A5 moves rows: a copy between column-major tiles becomes one between the same bytes as rows.
//!
//! A packed column-major tile of `r × c` elements is, byte for byte, a row-major one of `c × r`. The tiles themselves stay
//! what they are; the copy goes through descriptors beside them, whose valid extents are those of the tiles exchanged. So
//! extents that are only known at run time must be ones that a reshape carries over: those of a single column. (All of a
//! wider tile is valid, or the copy stays as it is.)

use chip::{Arch, Space};
use ir::{Attrs, Builder, Compact, Layout, Major, Op, Opcode as C, Program, TileType, Type, Value};

use crate::edit::{Fate, rewrite};

pub(crate) fn move_columns_as_rows(program: &mut Program) {
    if program.arch != Arch::A5 {
        return;
    }
    for id in program.functions.keys().collect::<Vec<_>>() {
        rewrite(&mut program.functions[id], &mut |b, op| {
            if b.func.ops[op].opcode == C::TMov {
                through_rows(b, op);
            }
            Fate::Stay
        });
    }
}

fn through_rows(b: &mut Builder<'_>, op: Op) {
    let data = &b.func.ops[op];
    let (source, Some(dest)) = (data.named("source")[0], data.dest()) else { return };
    let as_rows = |v: Value| b.func.ty(v).as_tile().and_then(rows_of);
    let (Some(from), Some(to)) = (as_rows(source), as_rows(dest)) else { return };
    if from.shape != to.shape {
        return;
    }
    let source = b.result(C::TReshape, &[&[source]], Type::Tile(from), Attrs::default());
    let dest = b.result(C::TReshape, &[&[dest]], Type::Tile(to), Attrs::default());
    let data = &mut b.func.ops[op];
    data.operands = vec![source];
    data.dests = vec![dest];
}

/// The same bytes by rows.
fn rows_of(tile: &TileType) -> Option<TileType> {
    let plain = tile.layout.slayout.is_none() && tile.layout.compact == Compact::Null;
    let column_major = tile.space == Some(Space::Vec) && tile.layout.blayout == Major::Col && plain;
    let [rows, cols] = tile.shape[..] else { return None };
    if !column_major || (cols != 1 && !tile.is_fully_valid()) {
        return None;
    }
    let valid = vec![tile.valid[1], tile.valid[0]];
    Some(TileType { shape: vec![cols, rows], valid, layout: Layout::ROW_MAJOR, ..tile.clone() })
}
