//! Scratch that the program left to the assembler.
//!
//! Some instructions need a tile to work in, which a file may leave out below level 3: it is made here, right before the
//! operation, and the planner finds it bytes. At level 3 nobody plans, so it has to be there. On A5 most of these
//! instructions take a scratch for the sake of their signature only: a block of 32 bytes stands for it, which the planner
//! may put anywhere ([`crate::apart::ignores_scratch`]); a level-3 file needs none. What is too much is never wrong: where
//! the least size depends on run-time extents, the tile is as large as the operand.

use chip::{Arch, Space};
use diag::Diagnostic;
use dtype::DType;
use ir::{Builder, Dim, Function, Major, Op, OpData, Opcode as C, Program, TileType};

use crate::edit::{Fate, fill_group, rewrite};
use crate::pass::Level;

/// # Errors
/// `scratch-needed` at level 3 for an operation that has none and cannot do without.
pub(crate) fn materialize_scratch(program: &mut Program, level: Level) -> Result<(), Vec<Diagnostic>> {
    let arch = program.arch;
    let mut errors = Vec::new();
    for id in program.functions.keys().collect::<Vec<_>>() {
        rewrite(&mut program.functions[id], &mut |b, op| {
            let data = &b.func.ops[op];
            let (Some(group), Some(need)) = (missing(data), need(b.func, data, arch)) else { return Fate::Stay };
            match (level, need) {
                (Level::Three, Need::Tile(tile)) => {
                    let message = format!(
                        "{} needs an explicit tmp at level 3, where nobody plans one: {tile} would do",
                        data.opcode.name()
                    );
                    errors.push(Diagnostic::error("scratch-needed", message).at(data.span, "this operation"));
                }
                (Level::Three, Need::Signature(_)) => {}
                (_, Need::Tile(tile) | Need::Signature(tile)) => give(b, op, group, tile),
            }
            Fate::Stay
        });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn give(b: &mut Builder<'_>, op: Op, place: Place, tile: TileType) {
    let tile = b.alloc_tile(tile, None, None);
    match place {
        Place::Operand(group) => fill_group(b.func, op, group, &[tile]),
        Place::Result => b.func.ops[op].dests.push(tile),
    }
}

/// Where an operation takes its scratch.
#[derive(Clone, Copy)]
enum Place {
    /// In this group of operands.
    Operand(usize),
    /// As its last destination.
    Result,
}

/// Where a scratch could be and is not.
fn missing(data: &OpData) -> Option<Place> {
    if data.opcode == C::TQuant {
        return (data.dests.len() == 1).then_some(Place::Result);
    }
    let group = data.opcode.info().group("tmp")?;
    data.group(group).is_empty().then_some(Place::Operand(group))
}

enum Need {
    /// The device works in it.
    Tile(TileType),
    /// The device can do without: it takes it for its signature, or for speed.
    Signature(TileType),
}

fn need(func: &Function, data: &OpData, arch: Arch) -> Option<Need> {
    let tile = |v: ir::Value| func.ty(v).as_tile();
    let source = data.operands.iter().find_map(|&v| tile(v));
    let (source, dest) = (source.or(tile(data.dest()?))?, tile(data.dest()?)?);
    let precise = data.attrs.word("precisionType") == Some("high_precision");
    if arch == Arch::A5 {
        return match data.opcode {
            C::TRowSum
            | C::TRowMax
            | C::TRowMin
            | C::TRowProd
            | C::TRowArgMax
            | C::TRowArgMin
            | C::TColArgMax
            | C::TColArgMin => Some(Need::Signature(block(source.dtype))),
            C::TPow | C::TPowS if dest.dtype.is_float() => Some(Need::Tile(like(dest))),
            _ => None,
        };
    }
    let tile = match data.opcode {
        C::TRowSum
        | C::TRowMax
        | C::TRowMin
        | C::TRowProd
        | C::TRowArgMax
        | C::TRowArgMin
        | C::TColArgMax
        | C::TColArgMin
        | C::TTrans
        | C::TQuant => like(source),
        C::TColSum if data.attrs.bool("isBinary") => {
            row_major(source.dtype, source.rows().div_ceil(2).max(1), source.cols())
        }
        C::TPow | C::TPowS if dest.dtype.is_float() => like(dest),
        C::TXor | C::TXorS => like(dest),
        C::TSel | C::TSelS => block(dest.dtype),
        C::TRem | C::TRemS => row_major(dest.dtype, dest.rows().max(2), dest.cols()),
        C::TPRelu => row_major(DType::I8, dest.rows() + 1, dest.cols().div_ceil(8).next_multiple_of(32)),
        C::TRsqrt | C::TRowExpandDiv if precise => like(dest),
        C::TMrgSortLists | C::TMrgSortCounted => like(dest),
        // Whole groups of 32 sort in place.
        C::TSort32 if source.valid[1].known().is_none_or(|n| n % 32 != 0) => like(source),
        C::TRowExpandAdd
        | C::TRowExpandSub
        | C::TRowExpandMul
        | C::TRowExpandDiv
        | C::TRowExpandMax
        | C::TRowExpandMin
        | C::TRowExpandExpDif
            if by_column(func, data) =>
        {
            // A block a row, and no less than the library keeps for itself, which is what it takes without one.
            let bytes = (dest.rows() * 32).max(8192);
            return Some(Need::Signature(row_major(dest.dtype, 1, bytes / dest.dtype.size() as u64)));
        }
        // Without one it takes what the library keeps for itself.
        C::TCi => {
            return Some(Need::Signature(row_major(DType::F32, 1, if dest.dtype.size() == 2 { 448 } else { 192 })));
        }
        _ => return None,
    };
    Some(Need::Tile(tile))
}

/// A broadcast whose vector is a column, not a block of 32 bytes a row.
fn by_column(func: &Function, data: &OpData) -> bool {
    func.ty(data.named("v")[0]).as_tile().is_some_and(|v| v.layout.blayout == Major::Col)
}

/// A tile of the same extents; what is valid at run time only is all of it here.
fn like(tile: &TileType) -> TileType {
    let valid = tile.shape.iter().zip(&tile.valid).map(|(&n, valid)| Dim::Static(valid.known().unwrap_or(n)));
    TileType { valid: valid.collect(), ..tile.clone() }
}

fn row_major(dtype: DType, rows: u64, cols: u64) -> TileType {
    TileType { space: Some(Space::Vec), ..TileType::value(dtype, vec![rows, cols]) }
}

/// 32 bytes.
fn block(dtype: DType) -> TileType {
    row_major(dtype, 1, 32 / dtype.size() as u64)
}
