//! The generic form of an operation, `"pto.name"(%a, …) <{name = value, …}> : (types) -> types`: for the few operations that
//! have operands which their own form cannot say.

use ir::text::Result;
use ir::{Op, Opcode as C, Type, Value};

use super::{Attributes, Body, Item};

/// A group of the destinations, among those of operands.
const OUTS: &str = "outs";

/// The order of operands in the generic form, by name.
const ORDERS: &[(&str, C, &[&str])] = &[
    ("tinsert", C::TInsertFix, &["source", "row", "col", OUTS, "fp", "quant"]),
    ("tmov", C::TMovFix, &["source", OUTS, "fp", "quant"]),
    ("initialize_l2g2l_pipe", C::InitL2g2lPipe, &["slots", "local", "peer"]),
    ("syncall", C::SyncAllSoft, &["workspace", "used"]),
];

const SEGMENTS: &str = "operandSegmentSizes";

impl Body<'_, '_, '_> {
    /// The name in quotes comes next.
    pub(super) fn generic(&mut self, start: usize) -> Result<Option<Op>> {
        let full = self.p.c.string()?;
        let name = full.strip_prefix("pto.").unwrap_or(&full);
        self.p.c.expect("(")?;
        let operands = if self.p.c.peek() == Some('%') { self.values()? } else { Vec::new() };
        self.p.c.expect(")")?;
        let mut list = Attributes::default();
        if self.p.c.eat("<") {
            list = self.p.attributes()?;
            self.p.c.expect(">")?;
        }
        if self.p.c.peek() == Some('{') {
            list.extend(self.p.attributes()?);
        }
        self.p.c.expect(":")?;
        self.p.c.expect("(")?;
        self.listed_types(&operands)?;
        self.p.c.expect(")")?;
        self.p.c.expect("->")?;
        let results = self.type_list()?;
        let Some((_, opcode, order)) = ORDERS.iter().find(|(n, ..)| *n == name) else {
            if name == "tscatter" {
                let message = "pto.tscatter takes indices or a pattern, one of them".to_owned();
                return Err(self.p.c.error_from(start, "operand-count", message));
            }
            return Err(match full.starts_with("pto.") && C::from_name(name).is_none() {
                true => self.p.c.error_from(start, "unknown-op", format!("the dialect has no operation `{full}`")),
                false => self.unsupported(start, &format!("\"{full}\"")),
            });
        };
        self.ordered(start, *opcode, order, operands, &list, &results).map(Some)
    }

    fn ordered(
        &mut self,
        start: usize,
        opcode: C,
        order: &[&str],
        operands: Vec<Value>,
        list: &Attributes,
        results: &[Type],
    ) -> Result<Op> {
        let info = opcode.info();
        let sizes: Vec<usize> = match list.get(SEGMENTS) {
            Some(Item::Ints(sizes)) => sizes.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect(),
            _ => order.iter().enumerate().map(|(i, _)| usize::from(i < operands.len())).collect(),
        };
        let total = sizes.iter().fold(0_usize, |sum, &n| sum.saturating_add(n));
        if sizes.len() != order.len() || total != operands.len() {
            return Err(self.operands(start, &format!("pto.{}", info.name), total, operands.len()));
        }
        if opcode == C::SyncAllSoft && list.word("mode") == Some("hard") && !operands.is_empty() {
            let message = "a barrier by hardware has no operands".to_owned();
            return Err(self.p.c.error_from(start, "operand-count", message));
        }
        let (mut groups, mut dests) = (vec![Vec::new(); info.operands.len()], Vec::new());
        let mut left = &operands[..];
        for (name, size) in order.iter().zip(sizes) {
            let (these, rest) = left.split_at(size);
            left = rest;
            match info.group(name) {
                Some(group) => groups[group] = these.to_vec(),
                None => dests = these.to_vec(),
            }
        }
        let mut attrs = ir::Attrs::default();
        let known: Vec<&'static str> = info.attrs.iter().map(|a| a.name).collect();
        list.only(&self.p.c, &[&known[..], &[SEGMENTS, "mode"]].concat())?;
        for name in known {
            if let Some(item) = list.get(name) {
                self.set_attr(info, name, item, &mut attrs, start)?;
            }
        }
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        Ok(self.make(opcode, &groups, &dests, results, attrs))
    }
}
