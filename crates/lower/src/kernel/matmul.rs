//! Matrix products: operands from Mat to Left and Right, cut so that both fit: along K, and if the right operand is very
//! wide along N first. Parts along N are column windows of the one accumulator. (A product that has no accumulator as a
//! whole is in [`super::pieces`].)
//!
//! A sum of products has one *term* for each call that the program makes. The first part starts the sum (from zero, from
//! the bias, or from the accumulator's value), the others add to it in ascending k, which is the order of the whole (semantics rule 8)
//! as long as 16-bit and narrower operands are cut at multiples of 32. All cuts here are at multiples of 32. So a sum may
//! be made again from its terms, whole or for a part of its rows and columns, with the same bits.

use chip::Space;
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{Op, OpData, Opcode, Value};

use super::{Held, Kernel};
use crate::Fail;
use crate::extent::Extent;
use crate::spaces::is_zero;
use crate::tile::{CUT, Place, flat, granule};

/// One call's part of a sum of products.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// Of the operands.
    dtype: DType,
    /// Operands in Mat, as the cube needs them.
    lhs: Value,
    rhs: Value,
    /// What the sum starts from, in Mat.
    bias: Option<Value>,
    m: u64,
    k: u64,
    n: u64,
    /// Valid rows, inner extent (the left operand's) and columns.
    rows: Extent,
    inner: Extent,
    cols: Extent,
}

/// Rows and columns of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rect {
    pub(super) row: u64,
    pub(super) col: u64,
    pub(super) height: u64,
    pub(super) width: u64,
}

impl Kernel<'_> {
    pub(super) fn matmul(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let result = data.results[0];
        let term = self.term(op)?;
        self.extents.insert(result, vec![term.rows, term.cols]);
        // A sum that starts from zeros is a product: both start from +0.
        let acc = data.opcode.info().group("acc").map(|g| data.group(g)[0]).filter(|&acc| !is_zero(self.src, acc));
        let before = match acc {
            Some(acc) => self.products.get(&acc).cloned(),
            None => Some(Vec::new()),
        };
        if let Some(mut terms) = before {
            terms.push(term);
            self.products.insert(result, terms);
        }
        if self.spaces.is_pieced(result) {
            return self.piecewise(result);
        }
        let dest = self.define(result)?;
        let whole = Rect { row: 0, col: 0, height: term.m, width: term.n };
        let mut last = if acc.is_some() && self.spaces.is_remade(op) {
            self.remake(result, dest.tile, whole)?
        } else {
            self.add(term, dest.tile, whole, acc.is_some())?
        };
        if last.is_none() {
            // No single product wrote the whole value: a window of all of it stands for that.
            let all = self.columns(dest.tile, 0, term.n, [term.rows, term.cols]);
            last = self.b.func.def_op(all).filter(|_| self.spaces.is_used(result));
        }
        if let Some(last) = last {
            self.complete(last);
        }
        self.cross(result)
    }

    /// The operands of a product in Mat.
    fn term(&mut self, op: Op) -> Result<Term, Fail> {
        let data = &self.src.ops[op];
        let (ta, tb) = (data.attrs.bool("a_trans"), data.attrs.bool("b_trans"));
        let (lhs, rhs) = (data.named("lhs")[0], data.named("rhs")[0]);
        let lhs_mat = self.operand_in(lhs, Place::Mat { transposed: ta })?;
        let rhs_mat = self.operand_in(rhs, Place::Mat { transposed: tb })?;
        let dtype = self.tile_type(lhs)?.dtype;
        let turn = |t: bool, (a, b): (u64, u64)| if t { (b, a) } else { (a, b) };
        let (m, k) = turn(ta, flat(&self.tile_type(lhs)?));
        let (_, n) = turn(tb, flat(&self.tile_type(rhs)?));
        let mut le = self.matrix_extents(lhs)?;
        let mut re = self.matrix_extents(rhs)?;
        if ta {
            le.swap(0, 1);
        }
        if tb {
            re.swap(0, 1);
        }
        let beyond = re[0] != le[1] && re[0] != Extent::Static(k);
        if beyond && !self.filled.contains(&rhs) {
            return Err(self.fail(
                "valid-region",
                "the inner valid extents of the operands of this product differ, and the right one is made by vector work; \
                 give both the same",
            ));
        }
        let bias = match data.opcode {
            Opcode::TMatmulBias => Some(self.bias(data.named("bias")[0], re[1])?),
            _ => None,
        };
        Ok(Term { dtype, lhs: lhs_mat, rhs: rhs_mat, bias, m, k, n, rows: le[0], inner: le[1], cols: re[1] })
    }

    /// Makes a part of a sum from its terms. The operation that wrote all of it, if one did.
    pub(super) fn remake(&mut self, sum: Value, dest: Value, part: Rect) -> Result<Option<Op>, Fail> {
        let terms = self.products.get(&sum).cloned().ok_or_else(|| self.internal("a sum of unknown terms"))?;
        let mut last = None;
        for (i, term) in terms.into_iter().enumerate() {
            last = self.add(term, dest, part, i > 0)?;
        }
        Ok(last)
    }

    /// Adds a part of a term to what is in `dest`, or starts the sum there. The operation that wrote all of it, if one did.
    fn add(&mut self, term: Term, dest: Value, part: Rect, mut started: bool) -> Result<Option<Op>, Fail> {
        let Term { dtype, k, bias, .. } = term;
        let rows = self.part_extent(term.rows, term.m, part.row, part.height);
        if !started && !matches!(term.inner, Extent::Static(1..)) {
            // The instruction writes nothing if there is nothing to add; a sum that starts from +0 is the same. (One that
            // starts from a bias is not: its first part replaces the zeros if there is something to add.)
            let cols = self.part_extent(term.cols, term.n, part.col, part.width);
            self.zero_product(dest, (part.height, part.width), [rows, cols])?;
            started = bias.is_none();
        }
        let (n_part, k_part) = self.parts(dtype, part.height, part.width, k, bias.is_some())?;
        let mut last = None;
        for column in (0..part.width).step_by(n_part as usize) {
            let width = n_part.min(part.width - column);
            let cols = self.part_extent(term.cols, term.n, part.col + column, width);
            let sum = if width == part.width { dest } else { self.columns(dest, column, width, [rows, cols]) };
            for start in (0..k).step_by(k_part as usize) {
                let size = k_part.min(k - start);
                // The extent of the contraction is the left operand's.
                let inner = self.part_extent(term.inner, k, start, size);
                let (left, right) = ((part.row, start), (start, part.col + column));
                let left = self.operand(dtype, Space::Left, term.lhs, left, (part.height, size), [rows, inner])?;
                let right = self.operand(dtype, Space::Right, term.rhs, right, (size, width), [inner, cols])?;
                let first = start == 0 && !started;
                last = Some(if let (true, Some(bias)) = (first, bias) {
                    let row = self.bias_row(bias, part.col + column, width, cols)?;
                    self.b.dest(Opcode::TMatmulBias, &[&[left], &[right], &[row]], sum, attrs([]))
                } else if first {
                    self.b.dest(Opcode::TMatmul, &[&[left], &[right]], sum, attrs([]))
                } else {
                    self.b.dest(Opcode::TMatmulAcc, &[&[sum], &[left], &[right]], sum, attrs([]))
                });
            }
        }
        Ok(last.filter(|_| n_part >= part.width))
    }

    /// A bias in Mat, for a product of so many valid columns.
    fn bias(&mut self, value: Value, columns: Extent) -> Result<Value, Fail> {
        let mat = self.operand_in(value, Place::Mat { transposed: false })?;
        let [rows, cols] = self.matrix_extents(value)?;
        let whole = cols == columns || cols == Extent::Static(self.tile_type(value)?.cols());
        if rows != Extent::Static(1) || !(whole || self.filled.contains(&value)) {
            return Err(self.fail(
                "valid-region",
                "the bias of this product is not valid for all of its columns, and is made by vector work; give both the \
                 same extent",
            ));
        }
        Ok(mat)
    }

    /// Columns of a bias, in the bias table.
    fn bias_row(&mut self, bias: Value, from: u64, count: u64, cols: Extent) -> Result<Value, Fail> {
        let extents = [Extent::Static(1), cols];
        let row = self.make(self.buffer_type(bias).dtype, (1, count), Space::Bias, extents)?;
        let part = self.columns(bias, from, count, extents);
        self.b.dest(Opcode::TMov, &[&[part]], row, attrs([]));
        Ok(row)
    }

    /// Columns of an accumulator, or of a bias in Mat.
    fn columns(&mut self, acc: Value, from: u64, count: u64, extents: [Extent; 2]) -> Value {
        let ty = self.buffer_type(acc);
        let width = count.next_multiple_of(granule(ty.dtype)).min(ty.shape[1] - from);
        self.window_at(acc, (0, from), (ty.shape[0], width), extents)
    }

    /// How much of N and of K fits in Left and Right at once, and in the bias table.
    fn parts(&mut self, dtype: DType, m: u64, n: u64, k: u64, has_bias: bool) -> Result<(u64, u64), Fail> {
        let size = dtype.size() as u64;
        let unit = granule(dtype);
        let chip = self.arch.chip();
        let of = |space: Space, rows: u64| chip.capacity(space).language as u64 / (rows * size);
        let m_rows = m.next_multiple_of(16);
        // At least one cut of K must fit.
        let mut widest = of(Space::Right, CUT) / unit * unit;
        if has_bias {
            // Rows of the accumulator's type, of 4 bytes.
            widest = widest.min(chip.capacity(Space::Bias).language as u64 / 4 / unit * unit);
        }
        let n_part = self.choices.part(n.next_multiple_of(unit).min(widest), unit);
        let fits = of(Space::Left, m_rows).min(of(Space::Right, n_part));
        if k.next_multiple_of(unit) <= fits {
            return Ok((n_part.min(n), self.choices.part(k.next_multiple_of(CUT), CUT).min(k)));
        }
        let k_part = fits / CUT * CUT;
        if k_part == 0 {
            return Err(self.fail(
                "matmul-operand",
                format!(
                    "a {m}x{k} by {k}x{n} product of {dtype} needs {} bytes of Left for {CUT} of its inner extent; it has {}",
                    m_rows * CUT * size,
                    chip.capacity(Space::Left).language
                ),
            ));
        }
        Ok((n_part.min(n), self.choices.part(k_part, CUT)))
    }

    /// How much of the valid extent `whole` (of `k`) is in the part from `start`.
    pub(super) fn part_extent(&mut self, whole: Extent, k: u64, start: u64, size: u64) -> Extent {
        match whole {
            Extent::Static(n) => Extent::Static(n.saturating_sub(start).min(size)),
            Extent::Dynamic(v) if start == 0 && size == k => Extent::Dynamic(v),
            Extent::Dynamic(v) => {
                let (from, zero, most) = (self.index(start as i64), self.index(0), self.index(size as i64));
                let rest = self.arith(Opcode::ScalarSub, v, from);
                let rest = self.arith(Opcode::ScalarMax, rest, zero);
                Extent::Dynamic(self.arith(Opcode::ScalarMin, rest, most))
            }
        }
    }

    /// A window of a Mat tile in Left or Right.
    fn operand(
        &mut self,
        dtype: DType,
        space: Space,
        source: Value,
        (row, col): (u64, u64),
        shape: (u64, u64),
        extents: [Extent; 2],
    ) -> Result<Value, Fail> {
        let tile = self.make(dtype, shape, space, extents)?;
        let (row, col) = (self.index(row as i64), self.index(col as i64));
        let valid = self.valid_group(tile);
        self.b.dest(Opcode::TExtract, &[&[source], &[row], &[col], &valid], tile, attrs([]));
        Ok(tile)
    }

    /// Zeros in an accumulator.
    pub(super) fn zero_accumulator(&mut self, value: Value, held: Held) -> Result<Op, Fail> {
        let shape = flat(&self.tile_type(value)?);
        let extents = self.matrix_extents(value)?;
        self.zero_product(held.tile, shape, extents)
    }

    /// Zeros in an accumulator for `m × n` elements: the product of zeros.
    fn zero_product(&mut self, dest: Value, (m, n): (u64, u64), [rows, cols]: [Extent; 2]) -> Result<Op, Fail> {
        let dtype = if self.buffer_type(dest).dtype == DType::I32 { DType::I8 } else { DType::BF16 };
        let k = granule(dtype);
        let zero = self.literal(Scalar::from_i64(dtype, 0));
        let inner = Extent::Static(k);
        let whole = |r: u64, c: u64| [Extent::Static(r), Extent::Static(c)];
        let mat = self.make(dtype, (m.max(k), n.max(k)), Space::Mat, whole(m.max(k), n.max(k)))?;
        self.b.dest(Opcode::TExpandS, &[&[zero], &[]], mat, attrs([]));
        let left = self.operand(dtype, Space::Left, mat, (0, 0), (m, k), [rows, inner])?;
        let right = self.operand(dtype, Space::Right, mat, (0, 0), (k, n), [inner, cols])?;
        Ok(self.b.dest(Opcode::TMatmul, &[&[left], &[right]], dest, attrs([])))
    }

    /// Whether a value of zeros in the accumulator is looked at: as the start of a sum it is not, and where a join needs zeros
    /// in a buffer of its own they are made there.
    pub(super) fn is_kept(&self, value: Value) -> bool {
        let stored = |&op: &Op| self.src.ops[op].opcode == Opcode::Store;
        self.webs.members(self.webs.of(value)).len() > 1
            || self.spaces.needs(value).any(|p| p != Place::Acc)
            || self.uses.of(value).iter().any(stored)
    }

    /// Whether the product may have columns where its bias is not valid.
    fn is_short_bias(&self, bias: Value, product: &OpData) -> bool {
        let whole = |t: &ir::TileType| t.valid[1] == ir::Dim::Static(t.shape[1]);
        if self.src.ty(bias).as_tile().is_some_and(whole) {
            return false;
        }
        let n = usize::from(!product.attrs.bool("b_trans"));
        let columns = self.extents.get(&product.named("rhs")[0]).map(|e| e[n]);
        columns.is_none() || columns != self.extents.get(&bias).map(|e| e[1])
    }

    /// Whether an operand's Mat tile may be read beyond its valid region: the contraction is as long as the left operand's
    /// valid columns, whatever the right operand has, and the bias is added to all columns of the right operand.
    pub(super) fn is_read_beyond(&self, value: Value) -> bool {
        self.uses.of(value).iter().any(|&user| {
            let data = &self.src.ops[user];
            if !matches!(data.opcode, Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias) {
                return false;
            }
            if data.opcode == Opcode::TMatmulBias && data.named("bias")[0] == value {
                return self.is_short_bias(value, data);
            }
            if data.named("rhs")[0] != value {
                return false;
            }
            let axis = |t: bool, inner: usize| if t { 1 - inner } else { inner };
            let lhs = self.extents.get(&data.named("lhs")[0]).map(|e| e[axis(data.attrs.bool("a_trans"), 1)]);
            let Some(ty) = self.src.ty(value).as_tile() else { return false };
            let k = axis(data.attrs.bool("b_trans"), 0);
            if ty.valid[k] == ir::Dim::Static(ty.shape[k]) {
                return false;
            }
            let rhs = self.extents.get(&value).map(|e| e[k]);
            lhs.is_none() || lhs != rhs
        })
    }
}
