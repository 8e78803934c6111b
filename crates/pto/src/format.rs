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

use ir::{Attr, OpData, Opcode as C};

/// Operations that have a format.
const FORMATS: &[(C, &str)] = &[
    (C::Barrier, "@pipe"),
    (C::FenceBarrierAll, "@scope"),
    (C::CacheInvalid, "?target[ $target single_cache_line : type(target) ]? ?space[ all @space ]?"),
    (C::CommTPut, "( $dest,source , buf ( $staging ) : type(dest,source,staging) ) {}"),
    (C::CommTNotify, "( $signal,value : type(signal,value) ) {}"),
    (C::CommTWait, "( $signal,value : type(signal,value) ) {}"),
];

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
    named.filter(move |name| !info.runs || info.beyond.contains(name))
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
        "pipe" => ("<", ">"),
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
        Attr::Int(v) => format!("{v} : i32"),
        Attr::Float(v) => format!("{v:?}"),
        Attr::Text(text) => crate::print::quoted(text),
        Attr::Type(dtype) => crate::types::element_name(*dtype).to_owned(),
        Attr::Ints(v) => format!("[{}]", v.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
        Attr::Symbols(v) => v.iter().map(|s| format!("@{}", crate::print::symbol(s))).collect::<Vec<_>>().join(", "),
    }
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
}
