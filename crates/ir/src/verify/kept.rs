//! Operations that are read, kept and printed only (`spec/pto-assembly.md` §2): what the device demands of them that their
//! types do not say.

use chip::{Arch, Space};
use dtype::DType;

use super::types::exactly;
use super::{Check, Cx, Fault, ensure};
use crate::attr::Attr;
use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::types::{Compact, Dim, Opaque, TileType, Type};

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    architecture(cx, op)?;
    match op.opcode {
        C::StructCreate | C::StructGet | C::StructSet => structure(cx, op),
        C::AllocTiles | C::TilesGet | C::TAssign => tiles(cx, op),
        C::IntToPtr => pointer(cx, op),
        C::SyncSet | C::SyncWait | C::SetCrossBlock | C::WaitCrossBlock | C::SetIntraBlock | C::WaitIntraBlock => {
            event(op)
        }
        C::GetBuf | C::RlsBuf => within(op, "buffer", 31),
        C::TPow | C::TPowS => power(cx, op),
        C::TQuant => quantise(cx, op),
        C::THistogram => histogram(cx, op),
        C::TStoreFix | C::TMovFix | C::TExtractFix | C::TInsertFix => fix(cx, op),
        C::CommBroadcast | C::CommGather | C::CommScatter | C::CommReduce => collective(op),
        _ => Ok(()),
    }
}

fn architecture(cx: &Cx<'_>, op: &OpData) -> Check {
    let only = match op.opcode {
        C::THistogram
        | C::TQuantMx
        | C::TMatmulMx
        | C::TMatmulMxAcc
        | C::TMatmulMxBias
        | C::TGemvMx
        | C::TGemvMxAcc
        | C::TGemvMxBias
        | C::GetBuf
        | C::RlsBuf => Arch::A5,
        C::TPow | C::TPowS if op.attrs.word("precisionType") == Some("high_precision") => Arch::A5,
        C::TAddRelu => Arch::A2a3,
        _ => return Ok(()),
    };
    ensure!(cx.program.arch == only, "architecture", "{} is, as it stands here, of {only} alone", op.opcode.name());
    Ok(())
}

/// The fields of a structure are scalars and structures; a path names a scalar among them.
fn structure(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    if op.opcode == C::StructCreate {
        return match op.result().map(|r| cx.ty(r)) {
            Some(ty @ Type::Opaque(Opaque::Struct(_))) => fields(ty),
            _ => Err(Fault { code: "result-type", message: format!("{name} makes a structure") }),
        };
    }
    let mut ty = cx.ty(op.named("struct")[0]);
    for &index in op.attrs.ints("path").unwrap_or(&[]) {
        let field = match ty {
            Type::Opaque(Opaque::Struct(list)) => usize::try_from(index).ok().and_then(|i| list.get(i)),
            _ => None,
        };
        let Some(field) = field else {
            return Err(Fault { code: "struct-field", message: format!("{ty} has no field {index}") });
        };
        ty = field;
    }
    ensure!(ty.as_scalar().is_some(), "struct-field", "{name} is about a scalar, not {ty}");
    match op.opcode {
        C::StructGet => exactly(cx, op, ty),
        _ => {
            let value = cx.ty(op.named("value")[0]);
            ensure!(value == ty, "operand-types", "a field of type {ty} cannot hold {value}");
            Ok(())
        }
    }
}

fn fields(ty: &Type) -> Check {
    match ty {
        Type::Opaque(Opaque::Struct(list)) => list.iter().try_for_each(fields),
        ty => {
            ensure!(ty.as_scalar().is_some(), "struct-field", "a structure has no field of type {ty}");
            Ok(())
        }
    }
}

/// Addresses are whole blocks; one of several tiles is one of them.
fn tiles(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    if op.opcode == C::TilesGet {
        let Type::Opaque(Opaque::Tiles { tile, count }) = cx.ty(op.named("tiles")[0]) else {
            return Err(Fault { code: "operand-types", message: format!("{name} takes one of several tiles") });
        };
        if let Some(index) = cx.constant(op.named("index")[0]) {
            let inside = u64::try_from(index).is_ok_and(|i| i < *count);
            ensure!(inside, "window", "there is no tile {index} of {count}");
        }
        return exactly(cx, op, &Type::Tile(tile.clone()));
    }
    if let Some(addr) = op.named("addr").first().and_then(|&v| cx.constant(v)) {
        ensure!(addr >= 0 && addr % 32 == 0, "tile-address", "{addr} is no address of a tile; 32 divides those");
    }
    match op.result().map(|r| cx.ty(r)) {
        Some(Type::Opaque(Opaque::Tiles { tile, .. })) if op.opcode == C::AllocTiles => {
            ensure!(
                tile.layout.compact != Compact::RowPlusOne,
                "tile-layout",
                "several tiles after each other are whole; {tile} is not"
            );
            Ok(())
        }
        Some(ty) if op.opcode == C::TAssign => {
            let tile = cx.ty(op.named("tile")[0]);
            ensure!(ty == tile, "result-type", "{name} gives {tile} another address, not the type {ty}");
            Ok(())
        }
        _ => Err(Fault { code: "result-type", message: format!("{name} makes tiles") }),
    }
}

/// An address that was an integer is for scalar accesses.
fn pointer(cx: &Cx<'_>, op: &OpData) -> Check {
    let value = cx.ty(op.named("value")[0]);
    ensure!(*value == Type::Scalar(DType::I64), "operand-types", "an address is i64, not {value}");
    let Some(result) = op.result() else { return Ok(()) };
    ensure!(matches!(cx.ty(result), Type::Ptr(_)), "result-type", "{} makes a pointer", op.opcode.name());
    for user in cx.function.users(result) {
        let opcode = cx.function.ops[user].opcode;
        ensure!(
            matches!(opcode, C::LoadScalar | C::StoreScalar),
            "pointer-use",
            "a pointer made of an integer is for load_scalar and store_scalar, not for {}",
            opcode.name()
        );
    }
    Ok(())
}

fn within(op: &OpData, attr: &str, most: i64) -> Check {
    let n = op.attrs.int(attr).unwrap_or(0);
    ensure!((0..=most).contains(&n), "attribute-value", "`{attr}` of {} is 0 to {most}, not {n}", op.opcode.name());
    Ok(())
}

/// An event is a number in the text or a value at run time.
fn event(op: &OpData) -> Check {
    let given = op.named("event").len() + usize::from(op.attrs.get("number").is_some());
    ensure!(given == 1, "sync-event", "{} names {given} events", op.opcode.name());
    within(op, "number", if matches!(op.opcode, C::SetIntraBlock | C::WaitIntraBlock) { 31 } else { 15 })?;
    if op.opcode.info().attr("ffts_mode").is_some() { within(op, "ffts_mode", 2) } else { Ok(()) }
}

fn same<'a>(cx: &Cx<'a>, op: &OpData, groups: &[&str]) -> Result<&'a TileType, Fault> {
    let out = cx.output(op).or_else(|_| cx.tile(op.dests[0]))?;
    for group in groups {
        let t = cx.tile(op.named(group)[0])?;
        ensure!(
            t.dtype == out.dtype && t.shape == out.shape,
            "dest-type",
            "the destination of {} is {out}; `{group}` is {t}",
            op.opcode.name()
        );
    }
    Ok(out)
}

fn power(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let out = same(cx, op, if op.opcode == C::TPow { &["a", "b"] } else { &["a"] })?;
    if let Some(&s) = op.opcode.info().group("s").map(|g| &op.group(g)[0]) {
        let s = cx.ty(s);
        ensure!(s.as_scalar() == Some(out.dtype), "operand-types", "{name} of {} cannot take {s}", out.dtype);
    }
    let exact = op.attrs.word("precisionType") == Some("high_precision");
    ensure!(out.dtype.is_float() || !exact, "operand-types", "{name} of {} is exact as it is", out.dtype);
    let tmp = op.named("tmp").first();
    ensure!(out.dtype.is_float() || tmp.is_none(), "scratch", "{name} of {} has no scratch", out.dtype);
    if let Some(&tmp) = tmp {
        let tmp = cx.tile(tmp)?;
        ensure!(tmp.shape == out.shape, "scratch", "the scratch of {name} is as large as {out}; {tmp} is not");
    }
    Ok(())
}

fn quantise(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = (cx.tile(op.named("source")[0])?, cx.tile(op.dests[0])?);
    ensure!(source.dtype == DType::F32, "operand-types", "tquant takes f32, not {}", source.dtype);
    for (a, b) in source.valid.iter().zip(&out.valid) {
        if let (Dim::Static(a), Dim::Static(b)) = (a, b) {
            ensure!(a == b, "valid-region", "tquant keeps the valid region: {source} cannot become {out}");
        }
    }
    let offset = !op.named("offset").is_empty();
    let (wanted, dtype) = match op.attrs.word("quant_type") {
        Some("INT8_SYM") => (false, DType::I8),
        Some("INT8_ASYM") => (true, DType::U8),
        _ => return Ok(()),
    };
    ensure!(offset == wanted, "operand-types", "tquant has an offset exactly if it is asymmetric");
    ensure!(out.dtype == dtype, "dest-type", "tquant makes {dtype} here, not {}", out.dtype);
    Ok(())
}

fn histogram(cx: &Cx<'_>, op: &OpData) -> Check {
    let source = cx.tile(op.named("source")[0])?;
    let bytes = match source.dtype {
        DType::U16 => 2,
        DType::U32 => 4,
        other => {
            let message = format!("thistogram counts bytes of u16 and u32, not of {other}");
            return Err(Fault { code: "operand-types", message });
        }
    };
    let both = op.attrs.get("byte").is_some() && op.attrs.get("isMSB").is_some();
    ensure!(!both, "attribute-value", "thistogram names the byte once: by `byte`, or by `isMSB`");
    match op.attrs.get("byte") {
        Some(Attr::Int(_)) => within(op, "byte", bytes - 1),
        _ => Ok(()),
    }
}

/// A table or a scalar to quantise with, and only on the way out of Acc.
fn fix(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let both = !op.named("fp").is_empty() && !op.named("quant").is_empty();
    ensure!(!both, "fix-pipe", "{name} quantises by a table or by a scalar, not by both");
    let source = cx.tile(op.named("source")[0])?;
    // The order of exponents changes without the fix pipe.
    let exponents = op.opcode == C::TMovFix && op.attrs.get("reluPreMode").is_none() && op.named("quant").is_empty();
    ensure!(
        source.space == Some(Space::Acc) || (exponents && source.space == Some(Space::Vec)),
        "fix-pipe",
        "{name} is on the way out of acc; this is {source}"
    );
    Ok(())
}

fn collective(op: &OpData) -> Check {
    let (staging, group) = (op.named("staging").len(), op.named("group").len());
    let name = op.opcode.name();
    ensure!((1..=2).contains(&staging) && group > 0, "arity", "{name} has one or two staging tiles, and a group");
    within(op, "root", i64::try_from(group).unwrap_or(i64::MAX))
}
