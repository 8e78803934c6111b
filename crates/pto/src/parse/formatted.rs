//! Operations that are read by a format ([`crate::format`]), and how operands fall into groups.

use ir::info::{Arity, AttrKind, OpInfo};
use ir::text::Result;
use ir::{Attr, Attrs, Op, Opcode as C, Type, Value};

use super::{Body, Item};
use crate::format::{Piece, implied, shown};

/// What has been read of an operation.
#[derive(Default)]
struct Parts {
    groups: Vec<Vec<Value>>,
    attrs: Attrs,
    results: Vec<Type>,
}

impl Body<'_, '_, '_> {
    pub(super) fn formatted(&mut self, opcode: C, pieces: &[Piece], start: usize) -> Result<Op> {
        let info = opcode.info();
        let mut parts = Parts { groups: vec![Vec::new(); info.operands.len()], ..Parts::default() };
        self.pieces(info, pieces, &shown(pieces), &mut parts, start)?;
        if parts.results.is_empty() {
            parts.results = implied(opcode).to_vec();
        }
        let groups: Vec<&[Value]> = parts.groups.iter().map(Vec::as_slice).collect();
        Ok(self.make(opcode, &groups, &[], &parts.results, parts.attrs))
    }

    fn pieces(
        &mut self,
        info: &'static OpInfo,
        pieces: &[Piece],
        shown: &[&str],
        parts: &mut Parts,
        start: usize,
    ) -> Result<()> {
        for piece in pieces {
            match piece {
                Piece::Literal(text) => self.p.c.expect(text)?,
                Piece::Operands(names) => {
                    let values = self.some_values()?;
                    let wanted: Vec<usize> = names.iter().filter_map(|n| info.group(n)).collect();
                    self.distribute(info, &wanted, &values, &mut parts.groups, start)?;
                }
                Piece::Types(names) => {
                    let values: Vec<Value> =
                        names.iter().filter_map(|n| info.group(n)).flat_map(|g| parts.groups[g].clone()).collect();
                    self.listed_types(&values)?;
                }
                Piece::Attr(name) => {
                    let at = self.p.mark();
                    let item = self.p.item()?;
                    self.set_attr(info, name, &item, &mut parts.attrs, at)?;
                }
                Piece::Dict if self.p.c.peek() == Some('{') => {
                    let list = self.p.attributes()?;
                    let all = info.attrs.iter().chain(info.marks()).map(|a| a.name);
                    let known: Vec<&str> = all.filter(|n| !shown.contains(n)).collect();
                    list.only(&self.p.c, &known)?;
                    for name in known {
                        if let Some(item) = list.get(name) {
                            self.set_attr(info, name, item, &mut parts.attrs, start)?;
                        }
                    }
                }
                Piece::Dict => {}
                Piece::Results => parts.results = self.type_list()?,
                Piece::Optional(_, inner) => {
                    let here = match inner.first() {
                        Some(Piece::Literal(text)) => self.p.c.clone().eat(text),
                        Some(Piece::Operands(_)) => self.p.c.peek() == Some('%'),
                        Some(Piece::Attr(_)) => self.p.c.peek().is_some_and(|c| c == '#' || c.is_ascii_digit()),
                        _ => false,
                    };
                    if here {
                        self.pieces(info, inner, shown, parts, start)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Values with commas between, maybe none; a comma before something else is left.
    fn some_values(&mut self) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        while self.p.c.peek() == Some('%') {
            values.push(self.value()?);
            let comma = self.p.c.offset();
            if !self.p.c.eat(",") {
                break;
            }
            if self.p.c.peek() != Some('%') {
                self.p.c.seek(comma);
                break;
            }
        }
        Ok(values)
    }

    /// Gives values to groups in order. A group that may be empty takes what its kind accepts, as long as enough is left
    /// for those that follow.
    pub(super) fn distribute(
        &self,
        info: &'static OpInfo,
        wanted: &[usize],
        values: &[Value],
        groups: &mut [Vec<Value>],
        start: usize,
    ) -> Result<()> {
        let mut left = values;
        for (i, &group) in wanted.iter().enumerate() {
            let operand = &info.operands[group];
            let later = wanted[i + 1..].iter().filter(|&&g| info.operands[g].arity == Arity::One).count();
            let most = match operand.arity {
                Arity::One | Arity::Optional => 1,
                Arity::Many => left.len().saturating_sub(later),
            };
            let spare = |n: usize| operand.arity == Arity::One || left.len() > later + n;
            let mut n = 0;
            while n < most
                && spare(n)
                && left.get(n).is_some_and(|&v| operand.arity == Arity::One || operand.kind.accepts(self.f.ty(v)))
            {
                n += 1;
            }
            if n == 0 && operand.arity == Arity::One {
                break;
            }
            groups[group] = left[..n].to_vec();
            left = &left[n..];
        }
        let missing = wanted.iter().any(|&g| info.operands[g].arity == Arity::One && groups[g].is_empty());
        if missing || !left.is_empty() {
            return Err(self.operands(start, &format!("pto.{}", info.name), wanted.len(), values.len()));
        }
        Ok(())
    }

    /// The attribute as the table has it.
    pub(super) fn set_attr(
        &self,
        info: &'static OpInfo,
        name: &'static str,
        item: &Item,
        attrs: &mut Attrs,
        at: usize,
    ) -> Result<()> {
        let value = match (info.attr(name).map(|a| a.kind), item) {
            (Some(AttrKind::Word(words)), Item::Enum(word) | Item::Text(word)) if words.contains(&word.as_str()) => {
                Attr::Word(word.clone())
            }
            (Some(AttrKind::Word(words)), Item::Enum(word) | Item::Text(word)) => {
                let message = format!("`{name}` of pto.{} cannot be `{word}`", info.name);
                let e = self.p.c.error_from(at, "attribute-value", message);
                return Err(e.help(format!("it is one of {}", words.join(", "))));
            }
            (Some(AttrKind::Int), Item::Int(v)) => Attr::Int(*v),
            (Some(AttrKind::Bool), Item::Bool(b)) => Attr::Bool(*b),
            (Some(AttrKind::Bool), Item::Unit) => Attr::Bool(true),
            (Some(AttrKind::Spelled), Item::Spelled(text)) => Attr::Text(text.clone()),
            (Some(AttrKind::Text), Item::Text(text)) => Attr::Text(text.clone()),
            (Some(AttrKind::Symbols), Item::Symbol(symbol)) => Attr::Symbols(vec![symbol.clone()]),
            (Some(AttrKind::Ints), Item::Ints(list)) => Attr::Ints(list.clone()),
            _ => {
                let message = format!("this is no value for `{name}` of pto.{}", info.name);
                return Err(self.p.c.error_from(at, "attribute-value", message));
            }
        };
        attrs.set(name, value);
        Ok(())
    }
}
