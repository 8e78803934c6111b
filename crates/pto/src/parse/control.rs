//! Control flow: `scf`, calls, and the ends of blocks.

use ir::text::Result;
use ir::{Attrs, Op, Opcode as C, Type};

use super::Body;
use super::attributes::{Attributes, Item};

impl Body<'_, '_, '_> {
    pub(super) fn for_loop(&mut self) -> Result<Option<Op>> {
        let (iv_start, iv) = self.value_text()?;
        self.p.c.expect("=")?;
        let lower = self.value()?;
        self.p.c.expect("to")?;
        let upper = self.value()?;
        self.p.c.expect("step")?;
        let step = self.value()?;
        let (mut carried, mut init, mut types) = (Vec::new(), Vec::new(), Vec::new());
        if self.p.c.eat("iter_args") {
            self.p.c.expect("(")?;
            loop {
                carried.push(self.value_text()?);
                self.p.c.expect("=")?;
                init.push(self.value()?);
                if !self.p.c.eat(",") {
                    break;
                }
            }
            self.p.c.expect(")")?;
            let start = self.p.mark();
            self.p.c.expect("->")?;
            types = self.type_list()?;
            if types.len() != init.len() {
                let message = format!("{} values are carried, with {} types", init.len(), types.len());
                return Err(self.p.c.error_from(start, "result-count", message));
            }
        }
        if self.p.c.eat(":") {
            self.type_of(lower)?;
        }
        let op = self.make(C::For, &[&[lower], &[upper], &[step], &init], &[], &[], Attrs::default());
        let mut args = vec![(iv_start, iv, self.f.ty(lower).clone())];
        args.extend(carried.into_iter().zip(&types).map(|((start, text), ty)| (start, text, ty.clone())));
        self.region(op, args, false)?;
        let list = if self.p.c.peek() == Some('{') { self.p.attributes()? } else { Attributes::default() };
        list.only(&self.p.c, &["tw.kind", "tw.stage"])?;
        let kind = match list.get("tw.kind") {
            Some(Item::Text(kind)) => kind.clone(),
            _ => "range".to_owned(),
        };
        let attrs = &mut self.f.ops[op].attrs;
        attrs.set("kind", ir::Attr::Word(kind));
        if let Some(Item::Int(stage)) = list.get("tw.stage") {
            attrs.set("stage", ir::Attr::Int(*stage));
        }
        self.add_results(op, types);
        Ok(Some(op))
    }

    fn add_results(&mut self, op: Op, types: Vec<Type>) {
        let mut b = self.builder();
        for ty in types {
            b.add_result(op, ty);
        }
    }

    pub(super) fn branch(&mut self) -> Result<Option<Op>> {
        let condition = self.value()?;
        let types = if self.p.c.eat("->") { self.type_list()? } else { Vec::new() };
        let op = self.make(C::If, &[&[condition]], &[], &[], Attrs::default());
        self.region(op, Vec::new(), false)?;
        if self.p.c.eat("else") {
            self.region(op, Vec::new(), false)?;
        } else {
            let block = self.f.add_block();
            self.f.blocks[block].parent = Some(op);
            self.f.ops[op].regions.push(block);
            let outer = std::mem::replace(&mut self.block, block);
            self.make(C::Yield, &[&[]], &[], &[], Attrs::default());
            self.block = outer;
        }
        self.add_results(op, types);
        Ok(Some(op))
    }

    pub(super) fn while_loop(&mut self) -> Result<Option<Op>> {
        let (mut carried, mut init) = (Vec::new(), Vec::new());
        if self.p.c.eat("(") {
            loop {
                carried.push(self.value_text()?);
                self.p.c.expect("=")?;
                init.push(self.value()?);
                if !self.p.c.eat(",") {
                    break;
                }
            }
            self.p.c.expect(")")?;
        }
        self.p.c.expect(":")?;
        let start = self.p.mark();
        let before = self.type_list()?;
        if before.len() != init.len() {
            let message = format!("{} values are carried, with {} types", init.len(), before.len());
            return Err(self.p.c.error_from(start, "result-count", message));
        }
        self.p.c.expect("->")?;
        let types = self.type_list()?;
        let op = self.make(C::While, &[&init], &[], &[], Attrs::default());
        let args = carried.into_iter().zip(before).map(|((start, text), ty)| (start, text, ty)).collect();
        self.region(op, args, false)?;
        self.p.c.expect("do")?;
        self.region(op, Vec::new(), true)?;
        self.add_results(op, types);
        Ok(Some(op))
    }

    /// A region that runs once, `-> T { … }` or `{ … } : T`, and what it yields.
    pub(super) fn yielding(&mut self, opcode: C) -> Result<Option<Op>> {
        let mut types = if self.p.c.eat("->") { self.type_list()? } else { Vec::new() };
        let op = self.make(opcode, &[], &[], &[], Attrs::default());
        self.region(op, Vec::new(), false)?;
        if self.p.c.eat(":") {
            types = vec![self.p.ty()?];
            while self.p.c.eat(",") {
                types.push(self.p.ty()?);
            }
        }
        self.add_results(op, types);
        Ok(Some(op))
    }

    /// `(%a, …) : (T, …) -> ()`
    pub(super) fn yields(&mut self) -> Result<Option<Op>> {
        self.p.c.expect("(")?;
        let values = if self.p.c.peek() == Some('%') { self.values()? } else { Vec::new() };
        self.p.c.expect(")")?;
        self.p.c.expect(":")?;
        self.p.c.expect("(")?;
        self.listed_types(&values)?;
        self.p.c.expect(")")?;
        self.p.c.expect("->")?;
        self.type_list()?;
        Ok(Some(self.make(C::Yield, &[&values], &[], &[], Attrs::default())))
    }

    /// `<<<32, 1, 1>>>`, each at least 1.
    pub(super) fn grid(&mut self) -> Result<Vec<i64>> {
        self.p.c.expect("<<<")?;
        let mut grid = Vec::new();
        loop {
            let start = self.p.mark();
            let n = self.p.c.integer("a number of threads")?;
            if n < 1 {
                return Err(self.p.c.error_from(start, "attribute-value", format!("a launch of {n} threads")));
            }
            grid.push(n);
            if !self.p.c.eat(",") {
                break;
            }
        }
        self.p.c.expect(">>>")?;
        Ok(grid)
    }

    /// `@f<<<%x, %y, %z>>>(%a) : (T) -> ()`
    pub(super) fn launch(&mut self) -> Result<Op> {
        self.p.c.expect("@")?;
        let callee = self.p.symbol_text()?;
        self.p.c.expect("<<<")?;
        let grid = self.values()?;
        self.p.c.expect(">>>")?;
        self.p.c.expect("(")?;
        let args = if self.p.c.peek() == Some('%') { self.values()? } else { Vec::new() };
        self.p.c.expect(")")?;
        self.p.c.expect(":")?;
        self.p.c.expect("(")?;
        self.listed_types(&args)?;
        self.p.c.expect(")")?;
        self.p.c.expect("->")?;
        self.type_list()?;
        let list = ir::builder::attrs([("callee", ir::Attr::Symbols(vec![callee]))]);
        Ok(self.make(C::SimtLaunch, &[&grid, &args], &[], &[], list))
    }

    /// `@f(%a) : (T) -> T`
    pub(super) fn call(&mut self) -> Result<Option<Op>> {
        self.p.c.expect("@")?;
        let callee = self.p.symbol_text()?;
        self.p.c.expect("(")?;
        let args = if self.p.c.peek() == Some('%') { self.values()? } else { Vec::new() };
        self.p.c.expect(")")?;
        self.p.c.expect(":")?;
        self.p.c.expect("(")?;
        self.listed_types(&args)?;
        self.p.c.expect(")")?;
        self.p.c.expect("->")?;
        let results = self.type_list()?;
        let list = ir::builder::attrs([("callee", ir::Attr::Symbols(vec![callee]))]);
        Ok(Some(self.make(C::Call, &[&args], &[], &results, list)))
    }

    /// `yield` or `return`, with values if any.
    pub(super) fn terminator(&mut self, opcode: C) -> Result<Option<Op>> {
        let mut values = Vec::new();
        // A value here is an operand unless it is the result of the next operation.
        if self.p.c.peek() == Some('%') && !self.defines() {
            values = self.values()?;
            self.types_of(&values)?;
        }
        Ok(Some(self.make(opcode, &[&values], &[], &[], Attrs::default())))
    }

    /// Whether `%a, … =` follows.
    fn defines(&self) -> bool {
        let mut c = self.p.c.clone();
        loop {
            if !c.eat("%") {
                return false;
            }
            c.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-' | ':'));
            if !c.eat(",") {
                return c.eat("=");
            }
        }
    }

    pub(super) fn condition(&mut self) -> Result<Option<Op>> {
        self.p.c.expect("(")?;
        let condition = self.value()?;
        self.p.c.expect(")")?;
        let mut values = Vec::new();
        if self.p.c.peek() == Some('%') && !self.defines() {
            values = self.values()?;
            self.types_of(&values)?;
        }
        Ok(Some(self.make(C::Condition, &[&[condition], &values], &[], &[], Attrs::default())))
    }
}
