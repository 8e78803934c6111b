//! Functions whose control flow is not structured: blocks with labels, and jumps between them.
//!
//! The first jump of a function's body begins a `blocks` operation that takes the rest of the function: its first region
//! is that jump, each label begins another. Labels are known when the function has been read.

use ir::text::Result;
use ir::{Attr, Attrs, Block, Op, Opcode as C, Value};

use super::Body;

/// The blocks of a function, while it is read.
#[derive(Default)]
pub(super) struct Labels {
    /// The operation that they belong to, once there is a jump.
    op: Option<Op>,
    /// In order, from the second block on.
    names: Vec<String>,
    /// Jumps by label: the operation, its attribute, the label, and where that stands.
    jumps: Vec<(Op, &'static str, String, usize)>,
}

impl<'t> Body<'_, 't, '_> {
    /// `cf.br ^bb1(%a : T)` or `cf.cond_br %c, ^bb1(…), ^bb2(…)`.
    pub(super) fn jump(&mut self, conditional: bool) -> Result<Option<Op>> {
        let condition = if conditional { Some(self.value()?) } else { None };
        if conditional {
            self.p.c.expect(",")?;
        }
        let (target, at, mut values) = self.successor()?;
        let mut attrs = ir::builder::attrs([("target", Attr::Int(0))]);
        let taken = values.len();
        let mut jumps = vec![("target", target, at)];
        if conditional {
            self.p.c.expect(",")?;
            let (other, at, more) = self.successor()?;
            values.extend(more);
            jumps.push(("other", other, at));
            attrs.set("other", Attr::Int(0));
            attrs.set("taken", Attr::Int(taken as i64));
        }
        self.enter_blocks();
        let op = match condition {
            Some(c) => self.make(C::BranchIf, &[&[c], &values], &[], &[], attrs),
            None => self.make(C::Branch, &[&values], &[], &[], attrs),
        };
        self.labels.jumps.extend(jumps.into_iter().map(|(name, label, at)| (op, name, label, at)));
        Ok(Some(op))
    }

    /// `^bb1(%a, … : T, …)`
    fn successor(&mut self) -> Result<(String, usize, Vec<Value>)> {
        let at = self.p.mark();
        self.p.c.expect("^")?;
        let label = self.p.c.expect_word("a block label")?.to_owned();
        let mut values = Vec::new();
        if self.p.c.eat("(") {
            values = self.values()?;
            self.types_of(&values)?;
            self.p.c.expect(")")?;
        }
        Ok((label, at, values))
    }

    /// The first jump ends what is before the blocks.
    fn enter_blocks(&mut self) {
        if self.labels.op.is_none() {
            let op = self.make(C::Blocks, &[], &[], &[], Attrs::default());
            self.labels.op = Some(op);
            self.next_block(op);
        }
    }

    fn next_block(&mut self, op: Op) -> Block {
        let block = self.f.add_block();
        self.f.blocks[block].parent = Some(op);
        self.f.ops[op].regions.push(block);
        self.block = block;
        block
    }

    /// `^bb1(%a : T, …):`, which begins a block of the function.
    pub(super) fn label(&mut self) -> Result<()> {
        let start = self.p.mark();
        self.p.c.expect("^")?;
        let label = self.p.c.expect_word("a block label")?.to_owned();
        let Some(op) = self.labels.op else {
            // The label of the first block, which nothing jumps to.
            self.p.c.expect(":")?;
            return Ok(());
        };
        if self.labels.names.contains(&label) {
            return Err(self.p.c.error_from(start, "redefined-value", format!("^{label} is defined twice")));
        }
        self.labels.names.push(label);
        let block = self.next_block(op);
        if self.p.c.eat("(") {
            loop {
                let (start, text) = self.value_text()?;
                self.p.c.expect(":")?;
                let ty = self.p.ty()?;
                self.argument(block, start, text, ty)?;
                self.p.place()?;
                if !self.p.c.eat(",") {
                    break;
                }
            }
            self.p.c.expect(")")?;
        }
        self.p.c.expect(":")
    }

    /// At the end of the function: what the labels are.
    pub(super) fn resolve_labels(&mut self) -> Result<()> {
        for (op, attr, label, at) in std::mem::take(&mut self.labels.jumps) {
            let Some(index) = self.labels.names.iter().position(|n| *n == label) else {
                return Err(self.p.c.error_from(at, "undefined-value", format!("there is no block ^{label}")));
            };
            self.f.ops[op].attrs.set(attr, Attr::Int(index as i64 + 1));
        }
        Ok(())
    }
}
