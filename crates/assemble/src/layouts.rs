//! Which of its two last axes a view of global memory runs along.
//!
//! Shape and strides say it; the backend wants it in a word. Right-aligned to five axes, a view is *nz* if its last three
//! are boxes of 512 bytes, *nd* if its last two are rows that lie packed, *dn* if they are packed columns. A view of one
//! row or one column may be both: then it is what the tiles are that are loaded from it and stored to it, else a column
//! is dn and everything else nd. Views of unknown extents are left alone.
//!
//! A layout that the file states stands, unless shape and strides allow only another one.

use diag::Diagnostic;
use ir::{Attr, Entity, Function, Major, Op, Opcode as C, Program, Type};

use crate::edit::constant;

/// The mark of a layout that was not stated.
pub const INFERRED: &str = "pto.inferred_layout";

/// # Errors
/// `view-layout` where the file states a layout that the strides contradict.
pub(crate) fn infer_layouts(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for id in program.functions.keys().collect::<Vec<_>>() {
        let func = &mut program.functions[id];
        let users = users(func);
        for op in func.walk() {
            if func.ops[op].opcode != C::MakeTensorView {
                continue;
            }
            let Some(found) = found(func, op) else { continue };
            match (func.ops[op].attrs.word("layout"), found) {
                (None, found) => {
                    let layout = match found {
                        Found::Only(layout) => layout,
                        Found::Both { column } => preferred(func, &users, op, column),
                        Found::Neither => "nd",
                    };
                    let list = &mut func.ops[op].attrs;
                    list.set("layout", Attr::Word(layout.into()));
                    list.set(INFERRED, Attr::Bool(true));
                }
                (Some(stated), Found::Only(layout)) if stated != layout => {
                    let message = format!("this view is {layout} by its shape and strides, not {stated}");
                    errors.push(Diagnostic::error("view-layout", message).at(func.ops[op].span, "this operation"));
                }
                _ => {}
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// What shape and strides say.
enum Found {
    Only(&'static str),
    /// nd and dn; whether it is a column.
    Both {
        column: bool,
    },
    /// Neither rows nor columns are packed: any word will do, and it is nd.
    Neither,
}

/// The layout that shape and strides say; `None` if they are not known.
fn found(func: &Function, op: Op) -> Option<Found> {
    let data = &func.ops[op];
    let Type::View(view) = func.ty(data.result()?) else { return None };
    let known = |group: &str| -> Option<Vec<i64>> { data.named(group).iter().map(|&v| constant(func, v)).collect() };
    let (given_shape, given_strides) = (known("shape")?, known("strides")?);
    let rank = given_shape.len();
    if rank == 0 || rank > 5 || given_strides.len() != rank {
        return None;
    }
    let (mut shape, mut strides) = ([1i64; 5], [1i64; 5]);
    shape[5 - rank..].copy_from_slice(&given_shape);
    strides[5 - rank..].copy_from_slice(&given_strides);
    for i in (0..5 - rank).rev() {
        strides[i] = shape[i + 1].checked_mul(strides[i + 1])?;
    }
    let size = view.dtype.size() as i64;
    let boxes = shape[2] == 16 && shape[3].checked_mul(16 * size) == Some(512);
    if boxes && strides[4] == 1 && strides[3] == shape[4] {
        return Some(Found::Only("nz"));
    }
    let (rows, cols, by_row, by_col) = (shape[3], shape[4], strides[3], strides[4]);
    let packed = |major: i64, minor: i64, by_major: i64, by_minor: i64| {
        (minor == 1 || by_minor == 1) && (major == 1 || if minor > 1 { by_major == minor } else { by_major == 1 })
    };
    let (nd, dn) = (packed(rows, cols, by_row, by_col), packed(cols, rows, by_col, by_row));
    Some(match (nd, dn) {
        (true, true) => Found::Both { column: cols == 1 && rows != 1 },
        (false, true) => Found::Only("dn"),
        (true, false) => Found::Only("nd"),
        (false, false) => Found::Neither,
    })
}

/// By value, the operations that make boxes of it, load from it or store to it.
fn users(func: &Function) -> Vec<Vec<Op>> {
    let mut users = vec![Vec::new(); func.values.len()];
    for op in func.walk() {
        let data = &func.ops[op];
        if matches!(data.opcode, C::PartitionView | C::TLoad | C::TStore) {
            for value in data.operands.iter().chain(&data.dests) {
                users[value.index()].push(op);
            }
        }
    }
    users
}

/// By the tiles that meet the view, where shape and strides leave it open.
fn preferred(func: &Function, users: &[Vec<Op>], op: Op, column: bool) -> &'static str {
    let views = func.ops[op].results.iter();
    let boxes = views.flat_map(|view| &users[view.index()]).flat_map(|&user| &func.ops[user].results);
    let tiles = boxes.flat_map(|part| &users[part.index()]).filter_map(|&user| {
        let data = &func.ops[user];
        let tile = match data.opcode {
            C::TLoad => data.dest(),
            C::TStore => data.named("source").first().copied(),
            _ => None,
        };
        let tile = func.ty(tile?).as_tile()?;
        (tile.space == Some(chip::Space::Vec)).then_some(tile.layout.blayout)
    });
    match tiles.fold((false, false), |(row, col), major| (row | (major == Major::Row), col | (major == Major::Col))) {
        (true, false) => "nd",
        (false, true) => "dn",
        _ if column => "dn",
        _ => "nd",
    }
}
