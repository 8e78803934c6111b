//! Products of more than two axes: one product per matrix of the batch, which broadcasts as in NumPy.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Block, Dim, Entity, Op, Opcode, TileType, Type, Value};
use ruff_python_ast::Operator;
use ruff_text_size::TextRange;

use crate::cx::{Cx, Res};
use crate::value::Held;

/// Operations behind which memory may hold something else.
fn writes(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Store | Opcode::Write | Opcode::Scatter | Opcode::SyncAll)
}

impl Cx<'_> {
    /// `lhs · rhs` for every matrix of the batch; f32 (i32 for integers).
    pub(crate) fn batched(&mut self, lhs: Value, rhs: Value, flags: &Attrs, at: TextRange) -> Res<Value> {
        let (Some(a), Some(b)) = (self.tile(lhs).cloned(), self.tile(rhs).cloned()) else {
            return Err(self.not_a(&Held::Ir(lhs), "a tile", at));
        };
        let rank = a.shape.len().max(b.shape.len());
        let widened = |t: &TileType| [vec![1; rank - t.shape.len()], t.shape.clone()].concat();
        let (p, q) = (widened(&a), widened(&b));
        let axes = rank - 2;
        let mut batch = Vec::new();
        for (&m, &n) in p[..axes].iter().zip(&q[..axes]) {
            match (m, n) {
                (m, n) if m == n || n == 1 => batch.push(m),
                (1, n) => batch.push(n),
                _ => {
                    let message = format!("the batches of {:?} and {:?} do not broadcast", a.shape, b.shape);
                    return Err(self.error("shape-mismatch", at, message).into());
                }
            }
        }
        // What one product looks like: the type rules say whether there is one.
        let matrix = |shape: &[u64], dtype: DType| Type::Tile(TileType::value(dtype, shape[axes..].to_vec()));
        let (x, y) = (matrix(&p, a.dtype), matrix(&q, b.dtype));
        let product =
            ir::infer::result(Opcode::TMatmul, &[vec![&x], vec![&y]], flags).map_err(|e| self.type_error(e, at))?;
        let Type::Tile(product) = product else { return Err(self.not_a(&Held::Ir(lhs), "a matrix", at)) };
        let count: u64 = batch.iter().product();
        let (rows, cols) = (product.shape[0], product.shape[1]);
        self.check_size([count, rows, cols].into_iter(), at)?;
        let whole = Type::Tile(TileType::value(product.dtype, vec![count * rows, cols]));
        let whole = self.result(Opcode::TileCreate, &[], whole, Attrs::default());
        let home = self.program.block;
        self.over_batch(&batch, &mut Vec::new(), at, &mut |cx, index| {
            let x = cx.batch_part(lhs, &p, index, home, at)?;
            let y = cx.batch_part(rhs, &q, index, home, at)?;
            let product = cx.infer(Opcode::TMatmul, &[&[x], &[y]], flags.clone(), at)?;
            let place = cx.position(&batch, index, at)?;
            let row = cx.binary(Operator::Mult, &place, &Held::Int(rows as i64), at)?;
            cx.insert(product, whole, &row, &Held::Int(0), at)
        })?;
        let shape = [batch, vec![rows, cols]].concat();
        self.reshaped(whole, shape, at)
    }

    /// A loop per axis of the batch.
    fn over_batch(
        &mut self,
        rest: &[u64],
        index: &mut Vec<Held>,
        at: TextRange,
        body: &mut dyn FnMut(&mut Self, &[Held]) -> Res<()>,
    ) -> Res<()> {
        let Some((&n, rest)) = rest.split_first() else { return body(self, index) };
        self.each(&Held::Int(n as i64), at, |cx, i| {
            index.push(i.clone());
            let result = cx.over_batch(rest, index, at, body);
            index.pop();
            result
        })
    }

    /// Which matrix of a batch of this shape an index names; axes of one element have the same for all.
    fn position(&mut self, batch: &[u64], index: &[Held], at: TextRange) -> Res<Held> {
        let mut place = Held::Int(0);
        for (&n, i) in batch.iter().zip(index) {
            place = self.binary(Operator::Mult, &place, &Held::Int(n as i64), at)?;
            if n != 1 {
                place = self.binary(Operator::Add, &place, i, at)?;
            }
        }
        Ok(place)
    }

    /// One matrix of a batch, loaded by itself if it was just loaded with the others.
    fn batch_part(&mut self, tile: Value, shape: &[u64], index: &[Held], home: Block, at: TextRange) -> Res<Value> {
        let axes = shape.len() - 2;
        if let Some(part) = self.load_part(tile, index, home, at)? {
            return Ok(part);
        }
        let (rows, cols) = (shape[axes], shape[axes + 1]);
        let flat = self.reshaped(tile, vec![shape[..=axes].iter().product(), cols], at)?;
        let place = self.position(&shape[..axes], index, at)?;
        let row = self.binary(Operator::Mult, &place, &Held::Int(rows as i64), at)?;
        self.extract_window(flat, &row, &Held::Int(0), [rows, cols], at)
    }

    /// A load of one matrix, where the batch was loaded in this block and nothing has been written since.
    fn load_part(&mut self, tile: Value, index: &[Held], home: Block, at: TextRange) -> Res<Option<Value>> {
        let func = &self.program.func;
        let (Some(load), Some(t)) = (func.def_op(tile), self.tile(tile).cloned()) else { return Ok(None) };
        let data = func.ops[load].clone();
        let axes = t.shape.len().saturating_sub(2);
        let later = (load.index() + 1..func.ops.len()).map(|i| &func.ops[Op::new(i)]);
        let same = later.into_iter().all(|op| !writes(op.opcode) && !op.dests.contains(&tile));
        let whole = t.valid[..axes].iter().zip(&t.shape).all(|(v, n)| *v == Dim::Static(*n));
        let fits = data.opcode == Opcode::Load && data.attrs.get("drop").is_none() && data.block == home;
        let Some(sizes) = data.attrs.ints("sizes").filter(|_| fits && same && whole && axes > 0) else {
            return Ok(None);
        };
        let mut part = sizes.to_vec();
        let skipped = index.len() - axes;
        let mut offsets = data.group(1).to_vec();
        for axis in 0..axes {
            if t.shape[axis] != 1 {
                let offset = self.binary(Operator::Add, &Held::Ir(offsets[axis]), &index[skipped + axis], at)?;
                offsets[axis] = self.as_index(&offset, at)?;
            }
            part[axis] = 1;
        }
        let drop = (0..axes as i64).collect();
        let attributes = attrs([("sizes", Attr::Ints(part)), ("drop", Attr::Ints(drop))]);
        let ty = TileType::value(t.dtype, t.shape[axes..].to_vec()).with_valid(t.valid[axes..].to_vec());
        let value = self.result(Opcode::Load, &[data.group(0), &offsets, data.group(2)], Type::Tile(ty), attributes);
        if let Some(known) = self.program.valid.get(&tile).map(|v| v[axes..].to_vec()) {
            self.program.valid.insert(value, known);
        }
        self.program.in_parts.insert(tile);
        Ok(Some(value))
    }
}
