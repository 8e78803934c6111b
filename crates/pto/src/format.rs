//! Assembly formats: the text of operations that are not written `ins(…) outs(…)`, as data that parser and printer share.
//!
//! A format is pieces between blanks, which follow the operation's name:
//!
//! | piece | text |
//! |---|---|
//! | `$a,b` | the operands of the groups `a` and `b`, in order, with commas |
//! | `type(a,b)` | their types |
//! | `@pipe` | the value of an attribute, alone |
//! | `{}` | the other attributes, if there are any |
//! | `results` | the types of the results |
//! | `?a[ … ]?` | what is between, if the group (or attribute) `a` is there |
//! | anything else | itself |

use ir::info::{AttrKind, FUSION_MARKS};
use ir::{Attr, OpData, Opcode as C, Type};

/// Operations that have a format.
const FORMATS: &[(C, &str)] = &[
    (C::Barrier, "@pipe"),
    (C::FenceBarrierAll, "@scope"),
    (C::CacheInvalid, "?target[ $target single_cache_line : type(target) ]? ?space[ all @space ]?"),
    (C::CommTPut, "( $dest,source , buf ( $staging ) : type(dest,source,staging) ) {}"),
    (C::CommTNotify, "( $signal,value : type(signal,value) ) {}"),
    (C::CommTWait, "( $signal,value : type(signal,value) ) {}"),
    (C::CommTTest, "( $signal,value : type(signal,value) ) {} -> results"),
    (C::CommTGet, "( $dest,source , buf ( $staging ) : type(dest,source,staging) ) {}"),
    (C::CommBroadcast, "( $source , recv ( $staging ) , group ( $group ) : type(source,staging,group) ) {}"),
    (C::CommGather, "( $dest , recv ( $staging ) , group ( $group ) : type(dest,staging,group) ) {}"),
    (C::CommScatter, "( $source , recv ( $staging ) , group ( $group ) : type(source,staging,group) ) {}"),
    (C::CommReduce, "( $dest,acc , recv ( $staging ) , group ( $group ) : type(dest,acc,staging,group) ) {}"),
    (C::CommSession, "( $scratch,workspace : type(scratch,workspace) ) -> results"),
    (C::CommPutAsync, "( $dest,source,session : type(dest,source,session) ) -> results"),
    (C::CommGetAsync, "( $dest,source,session : type(dest,source,session) ) -> results"),
    (C::CommWaitAsync, "( $event,session : type(event,session) ) -> results"),
    (C::CommTestAsync, "( $event,session : type(event,session) ) -> results"),
    (C::Trap, ""),
    (C::SyncThreads, ""),
    (C::CastPtr, "$value : type(value) -> results"),
    (C::IntToPtr, "$value : type(value) -> results"),
    (C::PtrToInt, "$ptr : type(ptr) -> results"),
    (C::ViewDim, "$view,axis : type(view) -> results"),
    (C::ViewStride, "$view,axis : type(view) -> results"),
    (
        C::AllocTiles,
        "?addr[ addr = $addr ]? ?valid_row[ valid_row = $valid_row ]? ?valid_col[ valid_col = $valid_col ]? : results",
    ),
    (C::TilesGet, "$tiles [ $index ] : type(tiles) -> results"),
    (C::GetValidShape, "$tile : type(tile)"),
    (C::TileValidRows, "$tile : type(tile) -> results"),
    (C::TileValidCols, "$tile : type(tile) -> results"),
    (C::TileAddr, "$tile : type(tile) -> results"),
    (C::TAssign, "$tile,addr : type(tile) -> results"),
    (C::DeclareTile, "-> results"),
    (C::DeclareGlobal, "-> results"),
    (C::SetFlag, "[ @from , @to , @event ]"),
    (C::WaitFlag, "[ @from , @to , @event ]"),
    (C::SetFlagDyn, "[ @from_pipe , @to_pipe , $event ]"),
    (C::WaitFlagDyn, "[ @from_pipe , @to_pipe , $event ]"),
    (C::RecordEvent, "[ @source , @target , @event ]"),
    (C::WaitEvent, "[ @source , @target , @event ]"),
    (C::GetBuf, "[ @source , @buffer ]"),
    (C::RlsBuf, "[ @source , @buffer ]"),
    (C::SyncSet, "@pipe , ?event[ $event ]? ?number[ @number ]? {}"),
    (C::SyncWait, "@pipe , ?event[ $event ]? ?number[ @number ]? {}"),
    (C::SetCrossBlock, "@pipe , ?event[ $event ]? ?number[ @number ]?"),
    (C::WaitCrossBlock, "@pipe , ?event[ $event ]? ?number[ @number ]?"),
    (C::SetIntraBlock, "@pipe , ?event[ $event ]? ?number[ @number ]?"),
    (C::WaitIntraBlock, "@pipe , ?event[ $event ]? ?number[ @number ]?"),
    (C::SetFfts, "$base : type(base)"),
    (C::TSync, "ins ( $events : type(events) )"),
    (C::EventIdsCreate, "-> results"),
    (C::EventIdsGet, "$ids [ $index ] : type(ids)"),
    (C::EventIdsSet, "$ids [ $index ] , $value : type(ids)"),
    (C::StructCreate, "-> results"),
    (C::StructGet, "$struct @path : type(struct) -> results"),
    (C::StructSet, "$struct @path , $value : type(struct,value)"),
    (C::TPrint, "ins ( $source,tmp : type(source,tmp) ) {}"),
    (
        C::InitL2g2lPipe,
        "{} ( $slots : type(slots) ?local[ , $local : type(local) ]? ?peer[ , $peer : type(peer) ]? ) -> results",
    ),
    (C::InitL2lPipe, "{} ( ?local[ $local : type(local) ]? ?peer[ , $peer : type(peer) ]? ) -> results"),
    (C::TPush, "( $entry,pipe : type(entry,pipe) ) {} ?subblock[ aiv_subblockid ( $subblock ) ]?"),
    (C::TPop, "( $entry,pipe : type(entry,pipe) ) {} ?subblock[ aiv_subblockid ( $subblock ) ]?"),
    (C::TFree, "( $entry,pipe : type(entry,pipe) ) {}"),
    (C::TAlloc, "( $entry,pipe : type(entry,pipe) ) {}"),
    (C::TAllocToAiv, "{} -> results"),
    (C::TAllocToAic, "{} -> results"),
    (C::MakePrefetchContext, "( $memory : type(memory) ) -> results"),
    (C::GetPrefetchSession, "$context : type(context) -> results"),
    (C::TPrefetchAsync, "( $source,context : type(source,context) ) -> results"),
    (C::SetQuantScalar, "( $scale : type(scale) ) {}"),
    (C::SetQuantVector, "( $scales : type(scales) ) {}"),
];

/// Types of results that the text does not say.
pub(crate) fn implied(opcode: C) -> &'static [Type] {
    match opcode {
        C::GetValidShape => &[Type::INDEX, Type::INDEX],
        C::EventIdsGet => &[Type::INDEX],
        _ => &[],
    }
}

pub(crate) enum Piece {
    Literal(&'static str),
    Operands(Vec<&'static str>),
    Types(Vec<&'static str>),
    Attr(&'static str),
    Dict,
    Results,
    Optional(&'static str, Vec<Piece>),
}

/// The format of an operation, if it has one.
pub(crate) fn format(opcode: C) -> Option<Vec<Piece>> {
    let (_, text) = FORMATS.iter().find(|(o, _)| *o == opcode)?;
    Some(pieces(&mut text.split_whitespace()))
}

fn pieces(words: &mut std::str::SplitWhitespace<'static>) -> Vec<Piece> {
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        let piece = if word == "]?" {
            break;
        } else if word == "{}" {
            Piece::Dict
        } else if word == "results" {
            Piece::Results
        } else if let Some(names) = word.strip_prefix('$') {
            Piece::Operands(names.split(',').collect())
        } else if let Some(names) = word.strip_prefix("type(").and_then(|w| w.strip_suffix(')')) {
            Piece::Types(names.split(',').collect())
        } else if let Some(name) = word.strip_prefix('@') {
            Piece::Attr(name)
        } else if let Some(name) = word.strip_prefix('?').and_then(|w| w.strip_suffix('[')) {
            Piece::Optional(name, pieces(words))
        } else {
            Piece::Literal(word)
        };
        out.push(piece);
    }
    out
}

/// Attributes that are read and printed by their name in the table, where an operation is not written by a format.
pub(crate) fn plain(opcode: C) -> impl Iterator<Item = &'static str> {
    let info = opcode.info();
    let named = info.attrs.iter().map(|a| a.name);
    named.filter(move |name| info.text || info.beyond.contains(name) || *name == "pto.inferred_layout")
}

/// Attributes that a format shows alone; they are not in the dictionary.
pub(crate) fn shown(pieces: &[Piece]) -> Vec<&'static str> {
    let mut out = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Attr(name) => out.push(*name),
            Piece::Optional(_, inner) => out.extend(shown(inner)),
            _ => {}
        }
    }
    out
}

/// Whether the group or attribute that an optional part is about is there.
pub(crate) fn present(op: &OpData, name: &str) -> bool {
    match op.opcode.info().group(name) {
        Some(group) => !op.group(group).is_empty(),
        None => op.attrs.get(name).is_some(),
    }
}

/// How the word of an attribute is written: what stands around it.
fn around(opcode: C, name: &str) -> (&'static str, &'static str) {
    match name {
        "pipe" | "from" | "to" | "event" => ("<", ">"),
        "from_pipe" | "to_pipe" => ("#pto.pipe<", ">"),
        "source" | "target" => ("#pto.pipe_event_type<", ">"),
        "cmpMode" => ("#pto<cmp ", ">"),
        "printFormat" => ("#pto<print_format ", ">"),
        "stPhase" => ("#pto<st_phase ", ">"),
        "reluPreMode" => ("#pto<relu_pre_mode ", ">"),
        "accToVecMode" => ("#pto.acc_to_vec_mode<", ">"),
        "grpAxis" => ("#pto<mx_group_axis ", ">"),
        "tinsertMode" => ("#pto.tinsert_mode<", ">"),
        "scatterConflict" => ("#pto<scatter_conflict ", ">"),
        "quant_type" => ("#pto<quant_type ", ">"),
        "quant_scale_alg" => ("#pto<quant_scale_alg ", ">"),
        "reduceOp" => ("#pto<reduce_op ", ">"),
        "core_type" => ("#pto.sync_core_type<", ">"),
        "scope" => ("#pto.fence_scope<", ">"),
        "space" => ("#pto.address_space<", ">"),
        "layout" => ("#pto.layout<", ">"),
        "atomicType" => ("#pto<atomic_type ", ">"),
        "notifyOp" => ("#pto<notify_op ", ">"),
        "accPhase" => ("#pto<acc_phase ", ">"),
        "precisionType" => (precision(opcode), ">"),
        "cmp" => ("#pto<wait_cmp ", ">"),
        _ => ("\"", "\""),
    }
}

/// The kinds of precision have the names of functions.
fn precision(opcode: C) -> &'static str {
    match opcode {
        C::TExp => "#pto<exp_precision ",
        C::TLog => "#pto<log_precision ",
        C::TRecip => "#pto<recip_precision ",
        C::TRem | C::TRemS => "#pto<rem_precision ",
        C::TRsqrt => "#pto<rsqrt_precision ",
        C::TSqrt => "#pto<sqrt_precision ",
        C::TFmod | C::TFmodS => "#pto<fmod_precision ",
        C::TPow | C::TPowS => "#pto<pow_precision ",
        _ => "#pto<div_precision ",
    }
}

/// The value of an attribute as text.
pub(crate) fn attr(opcode: C, name: &str, value: &Attr) -> String {
    match value {
        Attr::Word(word) => {
            let (before, after) = around(opcode, name);
            format!("{before}{word}{after}")
        }
        Attr::Bool(b) => b.to_string(),
        // Where the dialect wants another type than the default.
        Attr::Int(v) if matches!(name, "root" | "ffts_mode" | "offset" | "byte") => format!("{v} : i32"),
        Attr::Int(v) if is_mark(name) => format!("{v} : i64"),
        Attr::Int(v) => v.to_string(),
        Attr::Float(v) => format!("{v:?}"),
        // Kept as it was spelled.
        Attr::Text(text) if opcode.info().attr(name).is_some_and(|a| a.kind == AttrKind::Spelled) => text.clone(),
        Attr::Text(text) => crate::print::quoted(text),
        Attr::Type(dtype) => crate::types::element_name(*dtype).to_owned(),
        Attr::Ints(v) if is_mark(name) => {
            format!("array<i64: {}>", v.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
        }
        Attr::Ints(v) => format!("[{}]", v.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
        Attr::Symbols(v) => v.iter().map(|s| format!("@{}", crate::print::symbol(s))).collect::<Vec<_>>().join(", "),
    }
}

fn is_mark(name: &str) -> bool {
    FUSION_MARKS.iter().any(|mark| mark.name == name)
}

/// Puts pieces of text after each other, with a blank where one belongs.
pub(crate) fn join(out: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    let tight = text.starts_with([')', ']', ',', '(', '[']) || out.is_empty() || out.ends_with(['(', '[']);
    if !tight {
        out.push(' ');
    }
    out.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pieces: &[Piece], out: &mut Vec<&'static str>) {
        for piece in pieces {
            match piece {
                Piece::Operands(list) | Piece::Types(list) => out.extend(list),
                Piece::Attr(name) => out.push(name),
                Piece::Optional(name, inner) => {
                    out.push(name);
                    names(inner, out);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn formats_name_what_the_table_has() {
        for (opcode, _) in FORMATS {
            let pieces = format(*opcode).expect("has one");
            let info = opcode.info();
            let mut found = Vec::new();
            names(&pieces, &mut found);
            for name in &found {
                assert!(info.group(name).is_some() || info.attr(name).is_some(), "{}: {name}", info.name);
            }
            for operand in info.operands {
                assert!(found.contains(&operand.name), "{} does not show {}", info.name, operand.name);
            }
        }
    }

    /// Marks are printed with the attributes behind `outs(…)`, or in the dictionary of a format.
    #[test]
    fn every_operation_that_has_marks_has_a_place_for_them() {
        let marked = ir::ops::TABLE.iter().filter(|info| !info.marks().is_empty());
        for info in marked {
            let Some(pieces) = format(info.opcode) else { continue };
            assert!(pieces.iter().any(|p| matches!(p, Piece::Dict)), "{}", info.name);
        }
    }
}
