//! One of several tiles becomes a tile at an address.
//!
//! An `alloc_multi_tile` keeps its tiles after each other, so tile `k` is at its address and `k` tiles more. Where `k` is
//! only known at run time the address is chosen from those of all tiles: the index is used as it is, no turn is taken
//! modulo anything.

use diag::Diagnostic;
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{Attr, Attrs, Builder, Function, Op, Opaque, Opcode as C, Program, Type, Value};

use crate::alias::bytes;
use crate::edit::{Fate, become_op, rewrite};

/// # Errors
/// `unsupported-tiles` where several tiles go somewhere else than to a choice of one.
pub(crate) fn resolve_turns(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for id in program.functions.keys().collect::<Vec<_>>() {
        let func = &mut program.functions[id];
        if !func.properties.placed || !func.walk().iter().any(|&op| func.ops[op].opcode == C::AllocTiles) {
            continue;
        }
        let several = |f: &Function, v: Value| matches!(f.ty(v), Type::Opaque(Opaque::Tiles { .. }));
        for op in func.walk() {
            let data = &func.ops[op];
            if data.opcode != C::TilesGet && data.operands.iter().any(|&v| several(func, v)) {
                let message = format!("{} takes several tiles; only multi_tile_get does", data.opcode.name());
                errors.push(Diagnostic::unsupported("unsupported-tiles", message).at(data.span, "this operation"));
            }
        }
        if !errors.is_empty() {
            continue;
        }
        rewrite(func, &mut |b, op| match b.func.ops[op].opcode {
            C::TilesGet => resolve(b, op),
            _ => Fate::Stay,
        });
        rewrite(func, &mut |b, op| match b.func.ops[op].opcode {
            C::AllocTiles => Fate::Go,
            _ => Fate::Stay,
        });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The operation becomes the `alloc_tile` of what it chooses.
fn resolve(b: &mut Builder<'_>, op: Op) -> Fate {
    let data = &b.func.ops[op];
    let (tiles, index) = (data.named("tiles")[0], data.named("index")[0]);
    let Some(made) = b.func.def_op(tiles).map(|def| &b.func.ops[def]) else { return Fate::Stay };
    let (Type::Opaque(Opaque::Tiles { tile, count }), Some(&base)) = (b.func.ty(tiles), made.named("addr").first())
    else {
        return Fate::Stay;
    };
    let (stride, count) = (bytes(tile) as i64, *count as i64);
    let (row, col) = (made.named("valid_row").to_vec(), made.named("valid_col").to_vec());
    let address = match b.func.const_int(index) {
        Some(k) => at(b, base, k.saturating_mul(stride)),
        None => {
            // From the last tile on: each choice is between one address and what the later ones make.
            let mut address = at(b, base, (count - 1).saturating_mul(stride));
            for k in (0..count - 1).rev() {
                let here = at(b, base, k.saturating_mul(stride));
                let turn = b.constant(Scalar::from_i64(b.func.ty(index).as_scalar().unwrap_or(DType::Index), k));
                let equal = attrs([("predicate", Attr::Word("eq".into()))]);
                let chosen = b.result(C::ScalarCmp, &[&[index], &[turn]], Type::BOOL, equal);
                let ty = Type::Scalar(DType::I64);
                address = b.result(C::Select, &[&[chosen], &[here], &[address]], ty, Attrs::default());
            }
            address
        }
    };
    become_op(b.func, op, C::AllocTile, &[&[address], &row, &col], Attrs::default());
    Fate::Stay
}

/// `base` and so many bytes more.
fn at(b: &mut Builder<'_>, base: Value, offset: i64) -> Value {
    match (b.func.const_int(base), offset) {
        (_, 0) => base,
        (Some(base), _) => b.constant(Scalar::from_i64(DType::I64, base.saturating_add(offset))),
        (None, _) => {
            let offset = b.constant(Scalar::from_i64(DType::I64, offset));
            b.result(C::ScalarAdd, &[&[base], &[offset]], Type::Scalar(DType::I64), Attrs::default())
        }
    }
}
