//! Addresses in global memory as linear expressions: a pointer parameter, a constant, and scalar values times constants.

use std::collections::BTreeMap;

use ir::{Def, Function, Opcode as C, Type, Value};

use super::{ByteBox, Footprint, Memory, Symbol};

/// Sums of scalar values behind pointers, each under a number.
#[derive(Default)]
pub(super) struct Symbols {
    numbers: BTreeMap<Vec<(Value, i64)>, u32>,
}

/// How deep scalar arithmetic is looked through.
const DEPTH: u32 = 8;

/// A number known up to scalar values.
#[derive(Clone, Default)]
struct Linear {
    constant: i64,
    /// By value, none of them zero times.
    terms: BTreeMap<Value, i64>,
}

impl Linear {
    fn of(func: &Function, value: Value, depth: u32) -> Option<Linear> {
        if let Some(constant) = func.const_int(value) {
            return Some(Linear { constant, terms: BTreeMap::new() });
        }
        let itself = || Some(Linear { constant: 0, terms: BTreeMap::from([(value, 1)]) });
        let Some(op) = func.def_op(value).map(|op| &func.ops[op]) else { return itself() };
        // Narrow integers wrap; indices are taken not to.
        let wide = |v: Value| func.ty(v).as_scalar().is_some_and(|d| d.size() == 8);
        if depth == 0 || !wide(value) {
            return itself();
        }
        match op.opcode {
            C::ScalarAdd => {
                Linear::of(func, op.operands[0], depth - 1)?.plus(&Linear::of(func, op.operands[1], depth - 1)?, 1)
            }
            C::ScalarSub => {
                Linear::of(func, op.operands[0], depth - 1)?.plus(&Linear::of(func, op.operands[1], depth - 1)?, -1)
            }
            C::ScalarMul => match (func.const_int(op.operands[0]), func.const_int(op.operands[1])) {
                (Some(k), _) => Linear::default().plus(&Linear::of(func, op.operands[1], depth - 1)?, k),
                (_, Some(k)) => Linear::default().plus(&Linear::of(func, op.operands[0], depth - 1)?, k),
                _ => itself(),
            },
            _ => itself(),
        }
    }

    /// `self + factor · other`, unless that overflows.
    fn plus(mut self, other: &Linear, factor: i64) -> Option<Linear> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (&value, &times) in &other.terms {
            let sum = self.terms.entry(value).or_insert(0);
            *sum = sum.checked_add(times.checked_mul(factor)?)?;
            if *sum == 0 {
                self.terms.remove(&value);
            }
        }
        Some(self)
    }
}

impl Symbols {
    /// The element at `offset` behind a pointer.
    pub(super) fn element(&mut self, func: &Function, ptr: Value, offset: Value) -> (Memory, Footprint) {
        let (memory, base) = pointer(func, ptr);
        let size = func.ty(ptr).element().map_or(1, |d| d.size() as i64);
        let address = base.and_then(|b| b.plus(&Linear::of(func, offset, DEPTH)?, size));
        let bytes = address.and_then(|a| self.at(&a, ByteBox::range(0, size as u64)));
        (memory, bytes.map_or(Footprint::Unknown, Footprint::Box))
    }

    /// A box of a view, a view, or what is behind a pointer.
    pub(super) fn region(&mut self, func: &Function, value: Value) -> (Memory, Footprint) {
        let (memory, base) = pointer(func, value);
        let bytes = base.and_then(|b| self.partition(func, value, &b));
        (memory, bytes.map_or(Footprint::Unknown, Footprint::Box))
    }

    fn at(&mut self, address: &Linear, relative: ByteBox) -> Option<ByteBox> {
        let terms: Vec<_> = address.terms.iter().map(|(&v, &k)| (v, k)).collect();
        let symbol = if terms.is_empty() {
            0
        } else {
            let next = self.numbers.len() as u32 + 1;
            *self.numbers.entry(terms).or_insert(next)
        };
        // Behind a symbol a constant may be negative: addresses there are relative to the middle of what there is.
        let middle = if symbol == 0 { 0 } else { 1 << 62 };
        let start = u64::try_from(address.constant.checked_add(middle)?).ok()?;
        Some(ByteBox { symbol: Symbol(symbol), start, ..relative })
    }

    /// The bytes of a `partition_view` of static sizes in a view of static strides.
    fn partition(&mut self, func: &Function, value: Value, base: &Linear) -> Option<ByteBox> {
        let part = &func.ops[func.def_op(value)?];
        if part.opcode != C::PartitionView {
            return None;
        }
        let Type::PartView { dtype, .. } = func.ty(value) else { return None };
        let size = dtype.size() as i64;
        let view = &func.ops[func.def_op(part.named("view")[0])?];
        if view.opcode != C::MakeTensorView {
            return None;
        }
        let strides = view.named("strides");
        let mut address = base.clone();
        // Axes of more than one element, innermost last: elements, and bytes between them.
        let mut axes: Vec<(u64, u64)> = Vec::new();
        for ((&offset, &extent), &stride) in part.named("offsets").iter().zip(part.named("sizes")).zip(strides) {
            let extent = u64::try_from(func.const_int(extent)?).ok()?;
            let offset = Linear::of(func, offset, DEPTH)?;
            let nothing = offset.constant == 0 && offset.terms.is_empty();
            if nothing && extent <= 1 {
                if extent == 0 {
                    axes.push((0, 0));
                }
                continue;
            }
            let stride = func.const_int(stride)?.checked_mul(size)?;
            address = address.plus(&offset, stride)?;
            if extent != 1 {
                axes.push((extent, u64::try_from(stride).ok()?));
            }
        }
        let size = size as u64;
        let relative = match axes[..] {
            [] => ByteBox::range(0, size),
            _ if axes.iter().any(|&(n, _)| n == 0) => ByteBox::range(0, 0),
            [(n, stride)] => ByteBox::strided(0, n, stride, size),
            [(rows, row_stride), (cols, stride)] if stride == size && row_stride >= cols.checked_mul(size)? => {
                ByteBox::strided(0, rows, row_stride, cols * size)
            }
            // All bytes from the first to the last.
            _ => {
                let span =
                    axes.iter().try_fold(size, |span, &(n, stride)| span.checked_add((n - 1).checked_mul(stride)?));
                ByteBox::range(0, span?)
            }
        };
        self.at(&address, relative)
    }
}

/// What a pointer or view leads to, and how many bytes behind the parameter's address it starts, if that is known.
fn pointer(func: &Function, mut value: Value) -> (Memory, Option<Linear>) {
    let mut offset = Some(Linear::default());
    loop {
        let op = match func.values[value].def {
            Def::Arg(block, _) if block == func.body => return (Memory::Global(Some(value)), offset),
            Def::Arg(..) => return (Memory::Global(None), None),
            Def::Result(op, _) => &func.ops[op],
        };
        match op.opcode {
            C::AddPtr => {
                let size = func.ty(value).element().map_or(1, |d| d.size() as i64);
                let by = Linear::of(func, op.named("offset")[0], DEPTH);
                offset = offset.zip(by).and_then(|(o, by)| o.plus(&by, size));
            }
            C::MakeTensorView | C::PartitionView => {}
            C::CastPtr if matches!(func.ty(op.operands[0]), Type::Ptr(_)) => {}
            _ => return (Memory::Global(None), None),
        }
        value = op.operands[0];
    }
}
