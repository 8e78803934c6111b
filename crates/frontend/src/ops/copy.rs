//! Copies between tensors, outside of scopes: `pl.assemble(target, source, offset)` and `target[…] = source` there.
//!
//! A copy is a task of its own: a kernel scope that moves the source in blocks through tiles. (Upstream makes the source
//! a view of the target where it can; what the target holds is the same.)

use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode, Type, Value};
use ruff_python_ast::Operator;
use ruff_text_size::TextRange;

use crate::cx::{Cx, Res};
use crate::liveness::Names;
use crate::ops::memory::{Axis, Window};
use crate::scopes::ScopeOptions;
use crate::stmt::Flow;
use crate::value::Held;

/// The largest block that is moved at once, in bytes: two fit every buffer.
const BLOCK: i64 = 64 * 1024;

/// The largest divisor of `n` that is at most `most`.
fn divisor(n: i64, most: i64) -> i64 {
    (1..=n.min(most.max(1))).rev().find(|d| n % d == 0).unwrap_or(1)
}

impl Cx<'_> {
    /// A task that copies all of `source` to the window's place in `target`.
    pub(crate) fn copy_tensor(&mut self, source: Value, target: Value, window: &Window, at: TextRange) -> Res<()> {
        let (Some(s), Some(t)) = (self.tensor(source).cloned(), self.tensor(target).cloned()) else {
            return Err(self.not_a(&Held::Ir(source), "a tensor", at));
        };
        if s.dtype != t.dtype {
            let message = format!(
                "{} tensor cannot be copied into {} tensor",
                crate::scalars::a(s.dtype),
                crate::scalars::a(t.dtype)
            );
            return Err(self
                .error("dtype-mismatch", at, message)
                .help("convert it in a kernel scope with `pl.cast`")
                .into());
        }
        let kept: Vec<usize> = (0..window.axes.len()).filter(|&i| !window.axes[i].drop).collect();
        if kept.len() != s.rank() {
            let message = format!("a tensor of {} axes does not fit a place of {}", s.rank(), kept.len());
            return Err(self.error("shape-mismatch", at, message).into());
        }
        let mut dims = Vec::new();
        for (axis, &place) in kept.iter().enumerate() {
            let extent = self.extent(source, axis, at)?;
            let stated = &window.axes[place].size;
            if let (Some(n), Some(m)) = (self.known_int(&extent), self.known_int(stated))
                && n != m
            {
                let message = format!("a tensor of {n} elements along axis {axis} does not fit {m}");
                return Err(self.error("shape-mismatch", at, message).into());
            }
            dims.push(extent);
        }
        let options = ScopeOptions { name: "copy".into(), ..ScopeOptions::default() };
        let mut outcome = Ok(());
        self.kernel_scope(options, &Names::new(), None, at, |cx| {
            outcome = cx.copy_blocks(source, target, (window, &kept), &dims, at);
            Flow::Next
        })?;
        outcome
    }

    fn copy_blocks(
        &mut self,
        source: Value,
        target: Value,
        (window, kept): (&Window, &[usize]),
        dims: &[Held],
        at: TextRange,
    ) -> Res<()> {
        let size = self.ty(source).element().map_or(1, |d| d.size() as i64);
        // Whole rows, as many as fit; one index at a time along the axes before.
        let mut room = BLOCK / size;
        let mut blocks = vec![1; dims.len()];
        for axis in (0..dims.len()).rev() {
            match self.known_int(&dims[axis]) {
                Some(n) if axis + 2 >= dims.len() => {
                    blocks[axis] = divisor(n, room);
                    room = if blocks[axis] == n { room / n } else { 1 };
                }
                None if axis + 1 == dims.len() => {
                    let message = "copying a tensor whose last extent is known at run time only is not supported";
                    return Err(self.unsupported("unsupported-copy", at, message).into());
                }
                _ => {}
            }
        }
        let mut opened = Vec::new();
        let mut offsets = Vec::new();
        for (dim, &block) in dims.iter().zip(&blocks) {
            if self.known_int(dim) == Some(block) {
                offsets.push(Held::Int(0));
                continue;
            }
            let (lower, upper, step) = (self.index(0), self.as_index(dim, at)?, self.index(block));
            let kind = attrs([("kind", Attr::Word("range".into()))]);
            let op = self.new_op(Opcode::For, &[&[lower], &[upper], &[step], &[]], kind);
            let region = self.builder().add_region(op, &[(Type::INDEX, None)]);
            offsets.push(Held::Ir(self.program.func.blocks[region].args[0]));
            opened.push(self.enter(region));
        }
        let result = self.copy_block(source, target, (window, kept), (&offsets, &blocks), at);
        for back in opened.into_iter().rev() {
            self.effect(Opcode::Yield, &[&[]], Attrs::default());
            self.leave(back);
        }
        result
    }

    fn copy_block(
        &mut self,
        source: Value,
        target: Value,
        (window, kept): (&Window, &[usize]),
        (offsets, blocks): (&[Held], &[i64]),
        at: TextRange,
    ) -> Res<()> {
        let axis = |(offset, &n): (&Held, &i64)| Axis { offset: offset.clone(), size: Held::Int(n), drop: false, at };
        let mut from = Window { axes: offsets.iter().zip(blocks).map(axis).collect() };
        // Rows of a tile fill blocks of 32 bytes; what is more than the tensor has is not valid.
        let unit = chip::BLOCK_BYTES as i64 / self.ty(source).element().map_or(1, |d| d.size() as i64);
        if let (Some(last), Some(&n)) = (from.axes.last_mut(), blocks.last()) {
            last.size = Held::Int((n + unit - 1) / unit * unit);
        }
        let valid = blocks.iter().map(|&n| Held::Int(n)).collect();
        let tile = self.load_window(source, &from, Some(valid), at)?;
        let mut place = window.clone();
        for ((&i, offset), &n) in kept.iter().zip(offsets).zip(blocks) {
            place.axes[i].offset = self.binary(Operator::Add, &window.axes[i].offset, offset, at)?;
            place.axes[i].size = Held::Int(n);
        }
        self.store_window(tile, target, &place, false, at)
    }
}
