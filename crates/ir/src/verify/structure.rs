//! Blocks, regions, groups, forms, visibility, levels, attributes: what the table says about any operation.

use diag::Diagnostic;

use super::{Check, Cx, Fault, Rules, buffers, ensure, types};
use crate::attr::Attr;
use crate::entity::{Block, Entity, Op, Value};
use crate::function::{Def, Function, OpData, Program};
use crate::info::{Arity, AttrKind, Form, GROUP_ID, GROUP_ORDER, Kind, LAST_USE, Levels};
use crate::ops::{ANY_REGIONS, Opcode};
use crate::types::Type;

pub(super) fn check(program: &Program, function: &Function, rules: Rules) -> Vec<Diagnostic> {
    let mut walk = Walk {
        cx: Cx { program, function, place: super::place(program, function), rules },
        errors: Vec::new(),
        visible: vec![None; function.values.len()],
        blocks: vec![false; function.blocks.len()],
        ops: vec![false; function.ops.len()],
        scope: 0,
        scopes: 0,
    };
    walk.block(function.body, None);
    walk.errors
}

struct Walk<'a> {
    cx: Cx<'a>,
    errors: Vec<Diagnostic>,
    /// For a value that may be used here: the scope it was defined in, 0 outside.
    visible: Vec<Option<u32>>,
    /// Seen before.
    blocks: Vec<bool>,
    ops: Vec<bool>,
    scope: u32,
    scopes: u32,
}

impl Walk<'_> {
    fn fail(&mut self, op: Op, fault: Fault) {
        self.errors.push(self.cx.diagnostic(op, fault));
    }

    /// Checks a block and gives the values that it defines. `parent` is the operation and the number of its region.
    fn block(&mut self, block: Block, parent: Option<(Op, usize)>) -> Vec<Value> {
        let f = self.cx.function;
        let data = &f.blocks[block];
        if parent.is_none() && f.is_declaration() {
            return Vec::new();
        }
        let name = |op: Op| f.ops[op].opcode.name();
        let first = data.ops.first().copied().or(parent.map(|(op, _)| op));
        let mut fault = None;
        if std::mem::replace(&mut self.blocks[block.index()], true) {
            fault = Some("a block stands in two places".to_owned());
        } else if data.parent != parent.map(|(op, _)| op) {
            fault = Some("a block does not know the operation it belongs to".to_owned());
        }
        if let Some(message) = fault {
            if let Some(op) = first {
                self.fail(op, Fault { code: "bookkeeping", message });
            }
            return Vec::new();
        }
        let ends = terminators(f, parent);
        let wanted = ends[0];
        match data.ops.last() {
            Some(&last) if ends.contains(&f.ops[last].opcode) => {}
            Some(&last) => {
                let message = format!("this block must end in {}, not in {}", wanted.name(), name(last));
                self.fail(last, Fault { code: "block-end", message });
            }
            None => {
                let message = format!("a block is empty; it must end in {}", wanted.name());
                match parent {
                    Some((op, _)) => self.fail(op, Fault { code: "block-end", message }),
                    None => self.errors.push(Diagnostic::error("block-end", format!("@{}: {message}", f.name))),
                }
            }
        }
        let mut defined = Vec::new();
        for (i, &arg) in data.args.iter().enumerate() {
            if f.values[arg].def != Def::Arg(block, i as u32) {
                if let Some(op) = first {
                    let message = "a block argument does not know its block".to_owned();
                    self.fail(op, Fault { code: "bookkeeping", message });
                }
                continue;
            }
            self.define(arg, &mut defined);
            match (buffers::value(&self.cx, arg), f.span.filter(|_| parent.is_none())) {
                (Err(fault), Some(span)) => {
                    let d = Diagnostic::error(fault.code, fault.message).at(Some(span), "in this function");
                    self.errors.push(d);
                }
                (Err(fault), None) => {
                    if let Some(op) = first {
                        self.fail(op, fault);
                    }
                }
                _ => {}
            }
        }
        for (i, &op) in data.ops.iter().enumerate() {
            let last = i + 1 == data.ops.len();
            if f.ops[op].opcode.is_terminator() && !last {
                let message = format!("{} stands before the end of its block", name(op));
                self.fail(op, Fault { code: "block-end", message });
            }
            self.op(op, block, &mut defined);
        }
        defined
    }

    fn hide(&mut self, values: Vec<Value>) {
        for value in values {
            self.visible[value.index()] = None;
        }
    }

    fn define(&mut self, value: Value, defined: &mut Vec<Value>) {
        self.visible[value.index()] = Some(self.scope);
        defined.push(value);
    }

    fn op(&mut self, id: Op, block: Block, defined: &mut Vec<Value>) {
        let f = self.cx.function;
        let op = &f.ops[id];
        if std::mem::replace(&mut self.ops[id.index()], true) || op.block != block {
            let message = "an operation stands in two places, or does not know its block".to_owned();
            return self.fail(id, Fault { code: "bookkeeping", message });
        }
        let mut sound = true;
        for check in [self.table(op), self.uses(op), attributes(op), self.marks(op), self.results(id, op)] {
            if let Err(fault) = check {
                self.fail(id, fault);
                sound = false;
            }
        }
        if sound && let Err(fault) = types::check(&self.cx, op) {
            self.fail(id, fault);
        }
        self.regions(id, op);
        for &result in &op.results {
            self.define(result, defined);
        }
    }

    /// What fusion says of an operation (that it is true is for the checkers of `check`).
    fn marks(&self, op: &OpData) -> Check {
        let (group, order) = (op.attrs.int(GROUP_ID), op.attrs.int(GROUP_ORDER));
        ensure!(
            group.is_some() == order.is_some() && group.min(order).is_none_or(|n| n >= 0),
            "fusion-mark",
            "a member of a fusion group has `{GROUP_ID}` and `{GROUP_ORDER}`, from 0"
        );
        if let Some(bits) = op.attrs.ints(LAST_USE) {
            let is_tile = |v: &&Value| self.cx.ty(**v).as_tile().is_some();
            let tiles = op.operands.iter().filter(is_tile).count();
            let all = tiles + op.dests.iter().chain(&op.results).filter(is_tile).count();
            ensure!(
                bits.len() == all && bits.iter().all(|b| matches!(b, 0 | 1)) && bits[tiles..].iter().all(|&b| b == 0),
                "fusion-mark",
                "`{LAST_USE}` has a 0 or 1 for each of the {tiles} tiles that are read, and a 0 for what is written"
            );
        }
        Ok(())
    }

    fn regions(&mut self, id: Op, op: &OpData) {
        let outer = (self.cx.place, self.scope);
        if op.opcode == Opcode::Scope {
            self.scopes += 1;
            (self.cx.place, self.scope) = (Levels::SCOPE, self.scopes);
        }
        let mut behind = Vec::new();
        for (i, &region) in op.regions.iter().enumerate() {
            let defined = self.block(region, Some((id, i)));
            // What comes first in the text is seen in the blocks behind it.
            if op.opcode == Opcode::Blocks {
                behind.extend(defined);
            } else {
                self.hide(defined);
            }
        }
        self.hide(behind);
        (self.cx.place, self.scope) = outer;
    }

    /// Level, groups and forms.
    fn table(&self, op: &OpData) -> Check {
        let info = op.opcode.info();
        let f = self.cx.function;
        ensure!(
            info.levels.contains(self.cx.place),
            "level",
            "{} does not belong {}; it belongs {}",
            info.name,
            where_is(self.cx.place),
            [Levels::TENSOR, Levels::SCOPE, Levels::ORCH, Levels::KERNEL]
                .into_iter()
                .filter(|&l| info.levels.contains(l))
                .map(where_is)
                .collect::<Vec<_>>()
                .join(", or ")
        );
        ensure!(
            op.regions.len() == info.regions || info.regions == ANY_REGIONS,
            "region-count",
            "{} has {} regions, not {}",
            info.name,
            info.regions,
            op.regions.len()
        );
        let total: u64 = op.segments.iter().map(|&n| u64::from(n)).sum();
        ensure!(
            op.segments.len() == info.operands.len() && total == op.operands.len() as u64,
            "segments",
            "{} has {} groups; the lengths {:?} are of {} groups and {} operands",
            info.name,
            info.operands.len(),
            op.segments,
            op.segments.len(),
            op.operands.len()
        );
        for (i, operand) in info.operands.iter().enumerate() {
            let group = op.group(i);
            let (fits, wanted) = match operand.arity {
                Arity::One => (group.len() == 1, "one operand"),
                Arity::Optional => (group.len() <= 1, "at most one operand"),
                Arity::Many => (true, ""),
            };
            ensure!(fits, "arity", "{} takes {wanted} `{}`, not {}", info.name, operand.name, group.len());
            for &value in group {
                let ty = f.ty(value);
                ensure!(
                    operand.kind.accepts(ty),
                    "operand-kind",
                    "operand `{}` of {} must be {}, not {ty}",
                    operand.name,
                    info.name,
                    kind_name(operand.kind)
                );
            }
        }
        let dests = match info.form {
            Form::Tile => usize::from(self.cx.place == Levels::KERNEL),
            Form::Dest => 1,
            Form::Outs(least, most) => op.dests.len().clamp(least, most),
            _ => 0,
        };
        ensure!(
            op.dests.len() == dests,
            "destinations",
            "{} has {dests} destinations here, not {}",
            info.name,
            op.dests.len()
        );
        for &dest in &op.dests {
            let ty = f.ty(dest);
            let (fits, wanted) = match op.opcode {
                Opcode::TMrgSortCounted => (matches!(ty, Type::Tile(_) | Type::Opaque(_)), "a tile or its counts"),
                Opcode::TStoreFix | Opcode::TStore | Opcode::MScatter => {
                    (matches!(ty, Type::PartView { .. }), "a partition view")
                }
                _ => (matches!(ty, Type::Tile(_)), "a tile"),
            };
            ensure!(fits, "destinations", "the destination of {} must be {wanted}, not {ty}", info.name);
        }
        let results = match info.form {
            Form::Tile => usize::from(self.cx.place != Levels::KERNEL),
            Form::Dest | Form::Outs(..) | Form::Terminator => 0,
            Form::Results(n) => n,
            // Compared with what is carried.
            Form::Carried => op.results.len(),
        };
        ensure!(
            op.results.len() == results,
            "results",
            "{} has {results} results here, not {}",
            info.name,
            op.results.len()
        );
        Ok(())
    }

    fn uses(&self, op: &OpData) -> Check {
        for &value in op.operands.iter().chain(&op.dests) {
            let ty = self.cx.ty(value);
            match self.visible[value.index()] {
                None => {
                    let message = format!(
                        "{} uses a value of type {ty} that is not defined before it, or only in another region",
                        op.opcode.name()
                    );
                    return Err(Fault { code: "visibility", message });
                }
                Some(scope) => ensure!(
                    scope == self.scope || !matches!(ty, Type::Tile(_)),
                    "scope-border",
                    "{} uses a tile from outside the scope; only tensors and scalars enter it",
                    op.opcode.name()
                ),
            }
        }
        Ok(())
    }

    /// Results know their operation and have types of this level.
    fn results(&self, id: Op, op: &OpData) -> Check {
        for (i, &result) in op.results.iter().enumerate() {
            ensure!(
                self.cx.function.values[result].def == Def::Result(id, i as u32),
                "bookkeeping",
                "a result of {} does not know its operation",
                op.opcode.name()
            );
            buffers::value(&self.cx, result)?;
        }
        Ok(())
    }
}

/// The terminators that a function's body (`None`) or a region may have; the usual one first.
fn terminators(f: &Function, parent: Option<(Op, usize)>) -> &'static [Opcode] {
    match parent.map(|(op, region)| (f.ops[op].opcode, region)) {
        None => &[Opcode::Return, Opcode::Blocks],
        Some((Opcode::While, 0)) => &[Opcode::Condition],
        Some((Opcode::Blocks, _)) => &[Opcode::Branch, Opcode::BranchIf, Opcode::Return],
        Some(_) => &[Opcode::Yield],
    }
}

fn attributes(op: &OpData) -> Check {
    let info = op.opcode.info();
    for (name, value) in op.attrs.iter() {
        let Some(known) = info.attr(name) else {
            let message = format!("{} has no attribute `{name}`", info.name);
            return Err(Fault { code: "attribute-unknown", message });
        };
        let fits = match (known.kind, value) {
            (AttrKind::Word(words), Attr::Word(w)) => {
                ensure!(
                    words.contains(&w.as_str()),
                    "attribute-value",
                    "attribute `{name}` of {} cannot be `{w}`; it is one of {}",
                    info.name,
                    words.join(", ")
                );
                true
            }
            (AttrKind::Bool, Attr::Bool(_))
            | (AttrKind::Int, Attr::Int(_))
            | (AttrKind::Number, Attr::Int(_) | Attr::Float(_) | Attr::Bool(_))
            | (AttrKind::Text, Attr::Text(_))
            | (AttrKind::Type, Attr::Type(_))
            | (AttrKind::Ints, Attr::Ints(_))
            | (AttrKind::Spelled, Attr::Text(_))
            | (AttrKind::Symbols, Attr::Symbols(_)) => true,
            _ => false,
        };
        ensure!(
            fits,
            "attribute-value",
            "attribute `{name}` of {} must be {}, not {value:?}",
            info.name,
            attr_kind_name(known.kind)
        );
    }
    for known in info.attrs {
        ensure!(
            !known.required || op.attrs.get(known.name).is_some(),
            "attribute-missing",
            "{} needs the attribute `{}`",
            info.name,
            known.name
        );
    }
    Ok(())
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => "any value",
        Kind::Tile => "a tile",
        Kind::Tensor => "a tensor",
        Kind::Scalar => "a scalar",
        Kind::Int => "an integer or index",
        Kind::Bool => "a boolean (i1)",
        Kind::Task => "a task id or an array of them",
        Kind::Array => "an array",
        Kind::Ptr => "a pointer",
        Kind::View => "a tensor view",
        Kind::PartView => "a partition view",
        Kind::Memory => "a pointer or a view",
        Kind::Slot => "a tile or a tensor view",
        Kind::Opaque => "a value of the text's own types",
    }
}

fn attr_kind_name(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::Bool => "true or false",
        AttrKind::Int => "an integer",
        AttrKind::Number => "a number",
        AttrKind::Word(_) => "a word",
        AttrKind::Text => "a text in quotes",
        AttrKind::Type => "an element type",
        AttrKind::Ints => "a list of integers",
        AttrKind::Symbols => "a list of function names",
        AttrKind::Spelled => "a text in quotes",
    }
}

fn where_is(place: Levels) -> &'static str {
    match place {
        Levels::TENSOR => "outside scopes at the tensor level",
        Levels::SCOPE => "in a kernel scope",
        Levels::ORCH => "in the orchestration below the tensor level",
        _ => "in a kernel function",
    }
}
