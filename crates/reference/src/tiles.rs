//! Operations on tiles: which instructions of `isa` they are, on which bytes, and the valid region of what they make.
//!
//! An operation makes a fresh tile, zero where it writes nothing. Elementwise results are valid where their operands are;
//! a group of valid extents among the operands comes before what the operands say. Every instruction runs a second time on
//! the shadow when definedness is tracked.

use dtype::convert::chain;
use dtype::{DType, Scalar};
use ir::Dim;
use isa::{Init, Tile, shadow};
use memory::Dims;

use crate::arena::{Rows, TileValue, runs};
use crate::code::{Start, TileKind, TileOp};
use crate::machine::{Frame, Machine};
use crate::problem::{Fail, Problem, Result};

/// Runs one instruction on the data and, if tracked, its twin on the shadow: `sources => what is written: instruction`.
/// Sources that are wholly defined, the usual case, make a wholly defined result.
macro_rules! instruction {
    ($machine:expr, [$($source:expr),*] => $written:expr, $name:ident ( $($arg:expr),* )) => {{
        let arena = &mut $machine.arena;
        isa::$name(&mut arena.mem, $($arg),*)?;
        if DEFINED {
            if true $(&& arena.is_defined($source))* {
                arena.define($written);
            } else {
                shadow::$name(&mut arena.shadow, $($arg),*)?;
            }
        }
    }};
}

/// The same for instructions in which data choose what is read or written: the twin sees them as they are before.
macro_rules! choosing {
    ($machine:expr, [$($source:expr),*] => $written:expr, $name:ident ( $($arg:expr),* )) => {{
        let arena = &mut $machine.arena;
        if DEFINED {
            if true $(&& arena.is_defined($source))* {
                arena.define($written);
            } else {
                shadow::$name(&mut arena.shadow, &arena.mem, $($arg),*)?;
            }
        }
        isa::$name(&mut arena.mem, $($arg),*)?;
    }};
}

mod chosen;
mod transfer;

impl<const DEFINED: bool> Machine<'_, DEFINED> {
    pub(crate) fn tile_op(&mut self, op: &TileOp, frame: &mut Frame) -> Result<()> {
        let tile = match &op.kind {
            TileKind::Load { sizes, drop } => self.load(op, frame, sizes, drop)?,
            TileKind::Store { sizes, add } => return self.store(op, frame, sizes, *add),
            TileKind::Get => return self.get(op, frame),
            TileKind::Set { scalar } => self.set(op, frame, *scalar)?,
            TileKind::Insert => self.insert(op, frame)?,
            TileKind::Extract => self.extract(op, frame)?,
            TileKind::Create => {
                let valid = self.given(op, frame)?;
                self.arena.zeroed(op.dtype, op.shape, valid)
            }
            TileKind::Fill { scalar } => {
                let valid = self.given(op, frame)?;
                let tile = self.arena.tile(op.dtype, op.shape, valid);
                let value = frame.scalar(op.at[0], *scalar);
                for rows in runs(&op.shape, &valid) {
                    let d = tile.plane(rows, tile.valid_cols());
                    instruction!(self, [] => &d, fill(&d, value));
                }
                self.scalar_decides(frame, op.at[0], &tile);
                tile
            }
            TileKind::Iota { scalar, descending } => {
                let valid = self.given(op, frame)?;
                let tile = self.arena.tile(op.dtype, op.shape, valid);
                let start = frame.scalar(op.at[0], *scalar);
                for rows in runs(&op.shape, &valid) {
                    let d = tile.plane(rows, tile.valid_cols());
                    instruction!(self, [] => &d, iota(&d, start, *descending));
                }
                self.scalar_decides(frame, op.at[0], &tile);
                tile
            }
            TileKind::Triangle { upper } => {
                let valid = self.given(op, frame)?;
                let tile = self.arena.tile(op.dtype, op.shape, valid);
                let d = matrix(&tile, "a triangle")?;
                instruction!(self, [] => &d, triangle(&d, frame.int(op.at[0]), *upper));
                self.scalar_decides(frame, op.at[0], &tile);
                tile
            }
            TileKind::Random { rounds } => {
                let valid = self.given(op, frame)?;
                let tile = self.arena.tile(op.dtype, op.shape, valid);
                let d = matrix(&tile, "random bits")?;
                // Words of 32 bits, whatever type they came in.
                let word = |k: usize| frame.int(op.at[k]) as u32;
                let (key, counter) = ([word(0), word(1)], [word(2), word(3), word(4), word(5)]);
                instruction!(self, [] => &d, random(&d, key, counter, *rounds));
                op.at.iter().for_each(|&scalar| self.scalar_decides(frame, scalar, &tile));
                tile
            }
            TileKind::Compare { predicate, scalar } => self.compare(op, frame, *predicate, *scalar)?,
            TileKind::Select { scalar } => self.select(op, frame, *scalar)?,
            TileKind::Gather => self.gather(op, frame)?,
            TileKind::GatherMask(pattern) => self.gather_mask(op, frame, *pattern)?,
            TileKind::GatherBlocks => self.gather_blocks(op, frame)?,
            TileKind::Scatter => self.scatter(op, frame)?,
            TileKind::ScatterMask(pattern) => self.scatter_mask(op, frame, *pattern)?,
            TileKind::Sort => self.sort(op, frame)?,
            TileKind::MergeRuns => self.merge_runs(op, frame)?,
            TileKind::MergeLists { exhausted } => self.merge_lists(op, frame, *exhausted)?,
            TileKind::GatherView { mode, out_of_range } => self.gather_view(op, frame, *mode, *out_of_range)?,
            TileKind::ScatterView { mode, out_of_range, atomic } => {
                return self.scatter_view(op, frame, *mode, *out_of_range, *atomic);
            }
            TileKind::Copy => {
                let a = source(op, frame, 0)?;
                self.elementwise(op, a.valid, &a, None, |m, d, a, _| {
                    instruction!(m, [a] => d, copy(d, a));
                    Ok(())
                })?
            }
            TileKind::Unary(f) => {
                let a = source(op, frame, 0)?;
                self.elementwise(op, a.valid, &a, None, |m, d, a, _| {
                    instruction!(m, [a] => d, unary(*f, d, a));
                    Ok(())
                })?
            }
            TileKind::Binary(f) => {
                let (a, b) = (source(op, frame, 0)?, source(op, frame, 1)?);
                let mut valid = a.valid;
                for (x, &y) in valid.iter_mut().zip(b.valid.iter()) {
                    *x = y.min(*x);
                }
                self.elementwise(op, valid, &a, Some(&b), |m, d, a, b| {
                    instruction!(m, [a, b] => d, binary(*f, d, a, b));
                    Ok(())
                })?
            }
            TileKind::Part(f) => self.part(op, frame, *f)?,
            TileKind::BinaryScalar { op: f, scalar, reversed } => {
                let a = source(op, frame, 0)?;
                let value = frame.scalar(op.at[0], *scalar);
                let tile = self.elementwise(op, a.valid, &a, None, |m, d, a, _| {
                    instruction!(m, [a] => d, binary_scalar(*f, d, a, value, *reversed));
                    Ok(())
                })?;
                self.scalar_decides(frame, op.at[0], &tile);
                tile
            }
            TileKind::Convert { mode, saturate } => {
                let mut a = source(op, frame, 0)?;
                let profile = self.profile;
                let hops = chain(a.dtype, op.dtype, profile).filter(|hops| !hops.is_empty()).ok_or_else(|| {
                    let message = format!("{profile} has no conversion from {} to {}", a.dtype, op.dtype);
                    Problem::unsupported("unsupported-cast", message)
                })?;
                for to in hops {
                    let d = self.arena.tile(to, a.shape, a.valid);
                    for rows in runs(&a.shape, &a.valid) {
                        let (d, s) = (d.plane(rows, d.valid_cols()), a.plane(rows, a.valid_cols()));
                        instruction!(self, [&s] => &d, convert(&d, &s, *mode, *saturate, profile));
                    }
                    a = d;
                }
                a
            }
            TileKind::FillPad(pad) => self.fill_pad(op, &source(op, frame, 0)?, *pad)?,
            TileKind::RowReduce(f) => {
                let a = source(op, frame, 0)?;
                let mut valid = a.valid;
                valid[a.valid.len() - 1] = 1;
                // An empty row leaves its element as it is.
                let tile = if a.valid_cols() == 0 {
                    self.arena.zeroed(op.dtype, op.shape, valid)
                } else {
                    self.arena.tile(op.dtype, op.shape, valid)
                };
                let profile = self.profile;
                for rows in runs(&a.shape, &a.valid) {
                    let (d, s) = (tile.plane(rows, 1), a.plane(rows, a.valid_cols()));
                    instruction!(self, [&s] => &d, row_reduce(*f, &d, &s, profile));
                }
                tile
            }
            TileKind::ColReduce(f) => {
                let a = source(op, frame, 0)?;
                let s = matrix(&a, "a column reduction")?;
                let valid = Dims::new(&[1, s.valid_cols as u64])?;
                let tile = self.arena.zeroed(op.dtype, op.shape, valid);
                let d = tile.matrix().with_valid(1, s.valid_cols);
                let profile = self.profile;
                instruction!(self, [&s] => &d, col_reduce(*f, &d, &s, profile));
                tile
            }
            TileKind::RowArg(arg) => {
                let a = source(op, frame, 0)?;
                let mut valid = a.valid;
                valid[a.valid.len() - 1] = 1;
                // An empty row leaves its element as it is.
                let tile = self.arena.zeroed(op.dtype, op.shape, valid);
                for rows in runs(&a.shape, &a.valid) {
                    let (d, s) = (tile.plane(rows, 1), a.plane(rows, a.valid_cols()));
                    instruction!(self, [&s] => &d, arg_reduce_rows(*arg, &d, &s));
                }
                tile
            }
            TileKind::ColArg(arg) => {
                let a = source(op, frame, 0)?;
                let s = matrix(&a, "the places in columns")?;
                let tile = self.arena.zeroed(op.dtype, op.shape, Dims::new(&[1, s.valid_cols as u64])?);
                let d = tile.matrix().with_valid(1, s.valid_cols);
                instruction!(self, [&s] => &d, arg_reduce_cols(*arg, &d, &s));
                tile
            }
            TileKind::RowExpand(f) => {
                let v = source(op, frame, op.src.len() - 1)?;
                let a = f.map(|_| source(op, frame, 0)).transpose()?;
                let valid = match &a {
                    Some(a) => a.valid,
                    None => {
                        let mut valid = v.valid;
                        let last = valid.len() - 1;
                        valid[last] = known(op, last)?;
                        valid
                    }
                };
                let tile = self.arena.tile(op.dtype, op.shape, valid);
                for rows in runs(&op.shape, &valid) {
                    let d = tile.plane(rows, tile.valid_cols());
                    let a = a.as_ref().map(|a| a.plane(rows, a.valid_cols()));
                    let v = v.plane(rows, 1);
                    instruction!(self, [&v, a.as_ref().unwrap_or(&v)] => &d, row_expand(*f, &d, a.as_ref(), &v));
                }
                tile
            }
            TileKind::ColExpand(f) => {
                let v = source(op, frame, op.src.len() - 1)?;
                let a = f.map(|_| source(op, frame, 0)).transpose()?;
                let valid = match &a {
                    Some(a) => a.valid,
                    None => Dims::new(&[known(op, 0)?, v.valid_cols()])?,
                };
                let tile = self.arena.tile(op.dtype, op.shape, valid);
                let d = matrix(&tile, "a column broadcast")?;
                let a = a.as_ref().map(|a| matrix(a, "a column broadcast")).transpose()?;
                let v = matrix(&v, "a column broadcast")?;
                instruction!(self, [&v, a.as_ref().unwrap_or(&v)] => &d, col_expand(*f, &d, a.as_ref(), &v));
                tile
            }
            TileKind::Matmul { start, a_trans, b_trans } => self.matmul(op, frame, *start, *a_trans, *b_trans)?,
            TileKind::Transpose => self.transposed(&source(op, frame, 0)?)?,
            TileKind::Reshape => self.reshape(op, &source(op, frame, 0)?)?,
            TileKind::Bitcast => self.bitcast(op, &source(op, frame, 0)?)?,
            TileKind::SetValid => {
                let a = source(op, frame, 0)?;
                let at = self.places(frame, &op.at, "a valid extent")?;
                if at.len() != a.shape.len() {
                    let message = format!("a valid region of {at:?} for a tile of {:?}", a.shape);
                    return Err(Problem::error("malformed-ir", message));
                }
                a.with_valid(checked_valid(&a.shape, at.iter().copied())?)
            }
        };
        self.check_declared(op, &tile)?;
        if self.observed() {
            let digest = self.digest(&tile)?;
            self.report(op.op, frame, digest);
        }
        if !matches!(op.kind, TileKind::Insert | TileKind::Set { .. }) {
            frame.set_tile(op.dst, tile);
        }
        Ok(())
    }

    /// A fresh tile of the operation's type, made run by run.
    fn elementwise(
        &mut self,
        op: &TileOp,
        valid: Dims<u64>,
        a: &TileValue,
        b: Option<&TileValue>,
        f: impl Fn(&mut Self, &Tile, &Tile, &Tile) -> Result<()>,
    ) -> Result<TileValue> {
        let tile = self.arena.tile(op.dtype, op.shape, valid);
        let cols = tile.valid_cols();
        for rows in runs(&op.shape, &valid) {
            let (d, a) = (tile.plane(rows, cols), a.plane(rows, cols));
            let b = b.map_or(a, |b| b.plane(rows, cols));
            f(self, &d, &a, &b)?;
        }
        Ok(tile)
    }

    /// A copy of the source that is valid wherever the other is, and the operation where both are.
    fn part(&mut self, op: &TileOp, frame: &Frame, f: isa::BinaryOp) -> Result<TileValue> {
        let (a, b) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let covers = |x: &TileValue, y: &TileValue| x.valid.iter().zip(y.valid.iter()).all(|(x, y)| x >= y);
        let (large, small) = match (covers(&a, &b), covers(&b, &a)) {
            (true, _) => (&a, &b),
            (_, true) => (&b, &a),
            _ => {
                let message =
                    format!("neither the part {:?} nor the part {:?} of a tile holds the other", a.valid, b.valid);
                return Err(Problem::error("bad-valid", message));
            }
        };
        let tile = self.elementwise(op, large.valid, large, None, |m, d, s, _| {
            instruction!(m, [s] => d, copy(d, s));
            Ok(())
        })?;
        for rows in runs(&small.shape, &small.valid) {
            let [d, a, b] = [&tile, &a, &b].map(|t| t.plane(rows, small.valid_cols()));
            instruction!(self, [&a, &b] => &d, binary(f, &d, &a, &b));
        }
        Ok(tile)
    }

    /// An undefined scalar operand makes all of the result undefined.
    fn scalar_decides(&mut self, frame: &Frame, scalar: u32, tile: &TileValue) {
        if DEFINED && frame.undefined[scalar as usize] {
            self.arena.shadow[tile.bytes()].fill(0);
        }
    }

    /// The valid region that the operation's own operands give.
    fn given(&self, op: &TileOp, frame: &Frame) -> Result<Dims<u64>> {
        let given = self.places(frame, &op.valid, "a valid extent")?;
        let mut given = given.iter();
        let mut missing = false;
        let valid = op.declared.iter().map(|dim| match dim {
            Dim::Static(n) => *n as i64,
            Dim::Dynamic => given.next().copied().unwrap_or_else(|| {
                missing = true;
                0
            }),
        });
        let valid = checked_valid(&op.shape, valid)?;
        if missing {
            return Err(Problem::error("malformed-ir", "a dynamic valid extent without a value".to_owned()));
        }
        Ok(valid)
    }

    /// What the type says must be what happened.
    fn check_declared(&self, op: &TileOp, tile: &TileValue) -> Result<()> {
        let agrees = op.dtype == tile.dtype
            && *op.shape == *tile.shape
            && op.declared.iter().zip(tile.valid.iter()).all(|(d, &n)| d.known().is_none_or(|d| d == n));
        if agrees || matches!(op.kind, TileKind::Insert | TileKind::Set { .. }) {
            return Ok(());
        }
        let declared: Vec<String> = op.declared.iter().map(Dim::to_string).collect();
        Err(Problem::error(
            "malformed-ir",
            format!(
                "the operation makes a tile of {} {:?}, valid {:?}; its type says {} {:?}, valid [{}]",
                tile.dtype,
                tile.shape,
                tile.valid,
                op.dtype,
                op.shape,
                declared.join(", ")
            ),
        ))
    }

    fn digest(&self, tile: &TileValue) -> Result<u64> {
        let parts = match tile.valid_matrix() {
            Some(matrix) => return Ok(isa::digest(&self.arena.mem, &matrix)),
            None => runs(&tile.shape, &tile.valid),
        };
        // No other level can hold such a value in one tile; any fixed combination will do.
        Ok(parts.iter().fold(parts.len() as u64, |sum, &rows| {
            sum.rotate_left(1) ^ isa::digest(&self.arena.mem, &tile.plane(rows, tile.valid_cols()))
        }))
    }

    fn fill_pad(&mut self, op: &TileOp, a: &TileValue, pad: isa::Pad) -> Result<TileValue> {
        let tile = self.arena.tile(op.dtype, op.shape, op.shape);
        let whole = tile.matrix();
        // Where no axis but the first and the last grows, rows of the matrix stay where they are.
        let inner = |shape: &[u64]| shape.get(1..shape.len() - 1).map(<[u64]>::to_vec);
        match a.valid_matrix().filter(|_| inner(&a.shape) == inner(&op.shape)) {
            Some(s) => instruction!(self, [&s] => &whole, fill_pad(&whole, &s, pad)),
            None => {
                instruction!(self, [] => &whole, fill_all(&whole, Scalar::new(op.dtype, pad.bits(op.dtype))));
                let rows = |shape: &[u64]| {
                    let each = |run: Rows| (run.first..run.first + run.count).map(|first| Rows { first, count: 1 });
                    runs(shape, &a.valid).into_iter().flat_map(each).collect::<Vec<Rows>>()
                };
                for (from, to) in rows(&a.shape).into_iter().zip(rows(&op.shape)) {
                    let (d, s) = (tile.plane(to, a.valid_cols()), a.plane(from, a.valid_cols()));
                    instruction!(self, [&s] => &d, copy(&d, &s));
                }
            }
        }
        Ok(tile)
    }

    fn transposed(&mut self, a: &TileValue) -> Result<TileValue> {
        let s = matrix(a, "a transposition")?;
        let turn = |dims: &Dims<u64>| Dims::new(&[dims[1], dims[0]]);
        let tile = self.arena.tile(a.dtype, turn(&a.shape)?, turn(&a.valid)?);
        let d = tile.matrix().with_valid(s.valid_cols, s.valid_rows);
        instruction!(self, [&s] => &d, transpose(&d, &s));
        Ok(tile)
    }

    fn matmul(&mut self, op: &TileOp, frame: &Frame, start: Start, a_trans: bool, b_trans: bool) -> Result<TileValue> {
        let first = (start == Start::Accumulator) as usize;
        let (mut lhs, mut rhs) = (source(op, frame, first)?, source(op, frame, first + 1)?);
        if a_trans {
            lhs = self.transposed(&lhs)?;
        }
        if b_trans {
            rhs = self.transposed(&rhs)?;
        }
        let (l, r) = (matrix(&lhs, "a matmul")?, matrix(&rhs, "a matmul")?);
        let valid = Dims::new(&[l.valid_rows as u64, r.valid_cols as u64])?;
        // Zeroed: with no k at all the instruction does nothing.
        let tile = self.arena.zeroed(op.dtype, op.shape, valid);
        let d = tile.matrix().with_valid(l.valid_rows, r.valid_cols);
        // What the product starts from, as far as it is used.
        let (init, from) = match start {
            Start::Zero => (Init::Zero, l),
            Start::Accumulator => {
                let from = source(op, frame, 0)?.matrix().with_valid(d.valid_rows, d.valid_cols);
                instruction!(self, [&from] => &d, copy(&d, &from));
                (Init::Accumulate, d)
            }
            Start::Bias => {
                let row = source(op, frame, 2)?.matrix().with_valid(1, d.valid_cols);
                (Init::Bias(row), row)
            }
        };
        let profile = self.profile;
        instruction!(self, [&l, &r, &from] => &d, matmul(&d, &l, &r, init, profile));
        Ok(tile)
    }

    fn reshape(&mut self, op: &TileOp, a: &TileValue) -> Result<TileValue> {
        if a.shape.iter().product::<u64>() != op.shape.iter().product::<u64>() {
            let message = format!("a reshape of a tile of {:?} to {:?}: the numbers differ", a.shape, op.shape);
            return Err(Problem::error("malformed-ir", message));
        }
        let valid = reshaped_valid(a, &op.shape)?;
        Ok(self.same_bytes(op, a, valid))
    }

    fn bitcast(&mut self, op: &TileOp, a: &TileValue) -> Result<TileValue> {
        let size = |shape: &Dims<u64>, dtype: DType| shape.iter().product::<u64>() * dtype.size() as u64;
        let bytes = (size(&a.shape, a.dtype), size(&op.shape, op.dtype));
        if bytes.0 != bytes.1 || !a.is_fully_valid() {
            let message = format!(
                "a bit cast of {} bytes, of which {:?} of {:?} elements are valid, to {} bytes: the whole must be, and the \
                 numbers agree",
                bytes.0, a.valid, a.shape, bytes.1
            );
            return Err(Problem::error("malformed-ir", message));
        }
        Ok(self.same_bytes(op, a, op.shape))
    }

    /// A fresh tile with the bytes of another.
    fn same_bytes(&mut self, op: &TileOp, a: &TileValue, valid: Dims<u64>) -> TileValue {
        let tile = self.arena.tile(op.dtype, op.shape, valid);
        let (from, to) = (a.bytes(), tile.bytes().start);
        self.arena.mem.copy_within(from.clone(), to);
        if DEFINED {
            self.arena.shadow.copy_within(from, to);
        }
        tile
    }

    /// Row and column operands, with the extent that is accessed there, inside a tile's physical extent.
    fn corner(
        &self,
        op: &TileOp,
        frame: &Frame,
        tile: &TileValue,
        extent: (u64, u64),
        what: &str,
    ) -> Result<(u64, u64)> {
        let at = self.places(frame, &op.at[..2], "a row or column")?;
        let inside =
            |at: i64, n: u64, of: u64| u64::try_from(at).ok().filter(|a| a.checked_add(n).is_some_and(|e| e <= of));
        if extent.0 == 0 || extent.1 == 0 {
            return Ok((0, 0));
        }
        match (inside(at[0], extent.0, tile.rows()), inside(at[1], extent.1, tile.cols())) {
            (Some(row), Some(col)) => Ok((row, col)),
            _ => {
                let message = format!(
                    "{what} of {}x{} at ({}, {}) leaves a tile of {:?}",
                    extent.0, extent.1, at[0], at[1], tile.shape
                );
                Err(Problem::error("out-of-bounds", message))
            }
        }
    }

    fn extract(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let a = source(op, frame, 0)?;
        let valid = self.given(op, frame)?;
        let tile = self.arena.tile(op.dtype, op.shape, valid);
        let d = matrix(&tile, "an extract")?;
        let extent = (d.valid_rows as u64, d.valid_cols as u64);
        let (row, col) = self.corner(op, frame, &a, extent, "an extract")?;
        let s = a.window(row, col, extent.0, extent.1);
        instruction!(self, [&s] => &d, copy(&d, &s));
        Ok(tile)
    }

    fn insert(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let a = source(op, frame, 0)?;
        let target = frame.tile(op.dst)?.clone();
        let s = matrix(&a, "an insert")?;
        let extent = (s.valid_rows as u64, s.valid_cols as u64);
        let (row, col) = self.corner(op, frame, &target, extent, "an insert")?;
        let d = target.window(row, col, extent.0, extent.1);
        instruction!(self, [&s] => &d, copy(&d, &s));
        Ok(target)
    }

    fn get(&mut self, op: &TileOp, frame: &mut Frame) -> Result<()> {
        let a = source(op, frame, 0)?;
        let (row, col) = self.corner(op, frame, &a, (1, 1), "a read")?;
        let (row, col) = (row as u32, col as u32);
        let value = isa::get(&self.arena.mem, &a.matrix(), row, col)?;
        frame.scalars[op.dst as usize] = value.bits;
        if DEFINED {
            frame.undefined[op.dst as usize] = !shadow::is_defined(&self.arena.shadow, &a.matrix(), row, col)?;
        }
        Ok(())
    }

    fn set(&mut self, op: &TileOp, frame: &Frame, scalar: DType) -> Result<TileValue> {
        let target = frame.tile(op.dst)?.clone();
        let (row, col) = self.corner(op, frame, &target, (1, 1), "a write")?;
        let (row, col) = (row as u32, col as u32);
        isa::set(&mut self.arena.mem, &target.matrix(), row, col, frame.scalar(op.at[2], scalar))?;
        if DEFINED {
            let defined = !frame.undefined[op.at[2] as usize];
            shadow::set(&mut self.arena.shadow, &target.matrix(), row, col, defined)?;
        }
        Ok(target)
    }
}

/// A tile operand.
fn source(op: &TileOp, frame: &Frame, number: usize) -> Result<TileValue> {
    match op.src.get(number) {
        Some(&slot) => frame.tile(slot).cloned(),
        None => Err(Problem::error("malformed-ir", "a tile operand is missing".to_owned())),
    }
}

/// The valid region as one matrix.
fn matrix(tile: &TileValue, what: &str) -> Result<Tile> {
    tile.valid_matrix().ok_or_else(|| {
        let message = format!(
            "{what} of a tile of {:?} of which {:?} are valid: that is no box of a matrix; supported are tiles whose \
             middle dimensions are wholly valid",
            tile.shape, tile.valid
        );
        Problem::unsupported("valid-region", message)
    })
}

/// A valid extent that only the type gives.
fn known(op: &TileOp, axis: usize) -> Result<u64> {
    op.declared.get(axis).and_then(|d| d.known()).ok_or_else(|| -> Fail {
        Problem::error("malformed-ir", format!("valid extent {axis} of the result is dynamic, and no operand gives it"))
    })
}

fn checked_valid(shape: &[u64], valid: impl Iterator<Item = i64>) -> Result<Dims<u64>> {
    let mut out = Dims::default();
    for (n, &extent) in valid.zip(shape) {
        match u64::try_from(n) {
            Ok(n) if n <= extent => out.push(n)?,
            _ => return Err(Problem::error("bad-valid", format!("a valid extent of {n} on a tile of {shape:?}"))),
        }
    }
    Ok(out)
}

/// The valid region of a reshaped tile: all of it if it was; else the shapes must differ in dimensions of extent 1 only,
/// and the others keep theirs.
fn reshaped_valid(a: &TileValue, shape: &Dims<u64>) -> Result<Dims<u64>> {
    if a.is_fully_valid() {
        return Ok(*shape);
    }
    let real = |dims: &[u64]| dims.iter().copied().filter(|&n| n != 1).collect::<Vec<u64>>();
    if real(&a.shape) != real(shape) {
        let message = format!(
            "a reshape of a tile of {:?} to {shape:?} of which only {:?} are valid; supported are wholly valid tiles and \
             dimensions of extent 1 added or left out",
            a.shape, a.valid
        );
        return Err(Problem::unsupported("valid-region", message));
    }
    let empty = a.valid.contains(&0);
    let mut kept = a.shape.iter().zip(a.valid.iter()).filter(|(n, _)| **n != 1).map(|(_, v)| *v);
    let mut valid = Dims::default();
    for &n in shape.iter() {
        valid.push(if empty {
            0
        } else if n == 1 {
            1
        } else {
            kept.next().unwrap_or(n)
        })?;
    }
    Ok(valid)
}
