//! Operations on tiles.

use dtype::{Profile, RoundMode};
use ir::{Opcode, Type};
use isa::{Arg, Atomic, BinaryOp, GatherMode, OutOfRange, Pad, Pattern, Predicate, Reduce, UnaryOp};
use memory::Dims;

use super::{Flattener, Result};
use crate::code::{Instr, Slot, Start, TileKind, TileOp};

impl Flattener<'_> {
    /// Whether the current operation is one of these; if so it has been emitted.
    pub(super) fn tile_op(&mut self) -> Result<bool> {
        let Some(kind) = self.tile_kind()? else {
            return Ok(false);
        };
        let data = self.data();
        let group = |name: &str| data.opcode.info().group(name).map_or(&[][..], |g| data.group(g));
        // Tile operands in the order of the entry; the device's scratch has no meaning here.
        let mut src = Vec::new();
        for (number, operand) in data.opcode.info().operands.iter().enumerate() {
            if operand.kind == ir::info::Kind::Tile && operand.name != "tmp" {
                for &value in data.group(number) {
                    let slot = self.tile(value)?;
                    src.push(slot);
                }
            }
        }
        let mut at = Vec::new();
        let words = ["key0", "key1", "c0", "c1", "c2", "c3"];
        for name in ["offsets", "row", "col", "diagonal", "block_len"].into_iter().chain(words) {
            let tiles = matches!(group(name), [v, ..] if matches!(self.func.ty(*v), Type::Tile(_)));
            if !tiles {
                at.extend(self.indices(group(name))?);
            }
        }
        for name in ["s", "start", "value"] {
            for &value in group(name) {
                at.push(self.scalar(value)?);
            }
        }
        let valid = self.indices(group("valid"))?;
        let tensor = match group("tensor") {
            [value] => self.tensor(*value)?,
            _ => 0,
        };
        let shaped = match data.opcode {
            Opcode::Store | Opcode::Scatter => self.operand("tile")?,
            Opcode::TGetVal => self.operand("source")?,
            Opcode::TInsert | Opcode::TSetVal => data.dest().ok_or_else(|| self.malformed("a target is missing"))?,
            _ => self.one_result()?,
        };
        let Type::Tile(ty) = self.func.ty(shaped) else {
            return Err(self.malformed("a tile was expected"));
        };
        if ty.shape.is_empty() || ty.shape.len() != ty.valid.len() {
            return Err(self.malformed(format!(
                "a tile of shape {:?} with {} valid extents",
                ty.shape,
                ty.valid.len()
            )));
        }
        if ty.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).is_none_or(|n| n > u32::MAX as u64) {
            return Err(self.malformed(format!("a tile of shape {:?} has too many elements", ty.shape)));
        }
        let (dtype, declared) = (ty.dtype, ty.valid.clone());
        let shape = Dims::new(&ty.shape).map_err(|e| self.malformed(e.to_string()))?;
        let dst = match data.opcode {
            Opcode::Store | Opcode::Scatter => 0,
            Opcode::TInsert | Opcode::TSetVal => self.tile(shaped)?,
            Opcode::TGetVal => self.scalar_result()?,
            _ => match self.define(shaped)? {
                Slot::Tile(s) => s,
                other => return Err(self.malformed(format!("a tile result was expected, not {other:?}"))),
            },
        };
        self.body.tile_ops.push(TileOp { op: self.op, kind, dst, src, tensor, at, valid, dtype, shape, declared });
        let number = self.body.tile_ops.len() as u32 - 1;
        self.emit(Instr::Tile(number));
        Ok(true)
    }

    fn tile_kind(&self) -> Result<Option<TileKind>> {
        use Opcode as C;
        let data = self.data();
        if let Some(kind) = self.arithmetic()? {
            return Ok(Some(kind));
        }
        if let Some(kind) = self.chosen()? {
            return Ok(Some(kind));
        }
        Ok(Some(match data.opcode {
            C::Load => TileKind::Load { sizes: self.box_sizes()?, drop: self.dropped() },
            C::Store => TileKind::Store { sizes: self.box_sizes()?, add: data.attrs.word("atomic").is_some() },
            C::TileCreate => TileKind::Create,
            C::TMov => TileKind::Copy,
            C::TReshape => TileKind::Reshape,
            C::Bitcast => TileKind::Bitcast,
            C::SetValidShape => TileKind::SetValid,
            C::TExtract => TileKind::Extract,
            C::TInsert => TileKind::Insert,
            C::TGetVal => TileKind::Get,
            C::TSetVal => TileKind::Set { scalar: self.dtype(self.operand("value")?)? },
            C::TCvt => {
                let word = data.attrs.word("mode").unwrap_or_default();
                let Ok(mode) = word.parse::<RoundMode>() else {
                    return Err(self.malformed(format!("`{word}` is no rounding mode")));
                };
                TileKind::Convert { mode, saturate: data.attrs.bool("saturate") }
            }
            C::TExpandS => TileKind::Fill { scalar: self.dtype(self.operand("s")?)? },
            C::TCi => {
                let scalar = self.dtype(self.operand("start")?)?;
                TileKind::Iota { scalar, descending: data.attrs.bool("descending") }
            }
            C::TTri => TileKind::Triangle { upper: data.attrs.bool("upper") },
            C::TRandom => match data.attrs.int("rounds").map_or(Ok(10), u32::try_from) {
                Ok(rounds) => TileKind::Random { rounds },
                Err(_) => return Err(self.malformed("a negative number of rounds")),
            },
            C::TFillPad => TileKind::FillPad(match data.attrs.word("pad") {
                Some("zero") => Pad::Zero,
                Some("max") => Pad::Max,
                Some("min") => Pad::Min,
                other => return Err(self.malformed(format!("{other:?} is no pad"))),
            }),
            C::TRowSum => TileKind::RowReduce(Reduce::Sum),
            C::TRowMax => TileKind::RowReduce(Reduce::Max),
            C::TRowMin => TileKind::RowReduce(Reduce::Min),
            C::TRowProd => TileKind::RowReduce(Reduce::Prod),
            C::TRowArgMax => TileKind::RowArg(Arg::Max),
            C::TRowArgMin => TileKind::RowArg(Arg::Min),
            C::TColSum => TileKind::ColReduce(Reduce::Sum),
            C::TColMax => TileKind::ColReduce(Reduce::Max),
            C::TColMin => TileKind::ColReduce(Reduce::Min),
            C::TColProd => TileKind::ColReduce(Reduce::Prod),
            C::TColArgMax => TileKind::ColArg(Arg::Max),
            C::TColArgMin => TileKind::ColArg(Arg::Min),
            C::TMatmul | C::TMatmulAcc | C::TMatmulBias => TileKind::Matmul {
                start: match data.opcode {
                    C::TMatmul => Start::Zero,
                    C::TMatmulAcc => Start::Accumulator,
                    _ => Start::Bias,
                },
                a_trans: data.attrs.bool("a_trans"),
                b_trans: data.attrs.bool("b_trans"),
            },
            C::TTrans => TileKind::Transpose,
            _ => return Ok(None),
        }))
    }

    fn arithmetic(&self) -> Result<Option<TileKind>> {
        use Opcode as C;
        let (max, min) = match self.profile {
            Profile::CpuCompat => (BinaryOp::StdMax, BinaryOp::StdMin),
            _ => (BinaryOp::Max, BinaryOp::Min),
        };
        let scalar = |op| -> Result<TileKind> {
            let scalar = self.dtype(self.operand("s")?)?;
            Ok(TileKind::BinaryScalar { op, scalar, reversed: self.data().attrs.bool("reverse") })
        };
        Ok(Some(match self.data().opcode {
            C::TAdd => TileKind::Binary(BinaryOp::Add),
            C::TSub => TileKind::Binary(BinaryOp::Sub),
            C::TMul => TileKind::Binary(BinaryOp::Mul),
            C::TDiv => TileKind::Binary(BinaryOp::Div),
            C::TMax => TileKind::Binary(max),
            C::TMin => TileKind::Binary(min),
            C::TRem => TileKind::Binary(BinaryOp::Rem),
            C::TFmod => TileKind::Binary(BinaryOp::Fmod),
            C::TAnd => TileKind::Binary(BinaryOp::And),
            C::TOr => TileKind::Binary(BinaryOp::Or),
            C::TXor => TileKind::Binary(BinaryOp::Xor),
            C::TShl => TileKind::Binary(BinaryOp::Shl),
            C::TShr => TileKind::Binary(BinaryOp::Shr),
            C::TPRelu => TileKind::Binary(BinaryOp::LeakyRelu),
            C::TPartAdd => TileKind::Part(BinaryOp::Add),
            C::TPartMul => TileKind::Part(BinaryOp::Mul),
            C::TPartMax => TileKind::Part(max),
            C::TPartMin => TileKind::Part(min),
            C::TAddS => scalar(BinaryOp::Add)?,
            C::TSubS => scalar(BinaryOp::Sub)?,
            C::TMulS => scalar(BinaryOp::Mul)?,
            C::TDivS => scalar(BinaryOp::Div)?,
            C::TMaxS => scalar(max)?,
            C::TMinS => scalar(min)?,
            C::TRemS => scalar(BinaryOp::Rem)?,
            C::TFmodS => scalar(BinaryOp::Fmod)?,
            C::TAndS => scalar(BinaryOp::And)?,
            C::TOrS => scalar(BinaryOp::Or)?,
            C::TXorS => scalar(BinaryOp::Xor)?,
            C::TShlS => scalar(BinaryOp::Shl)?,
            C::TShrS => scalar(BinaryOp::Shr)?,
            C::TLRelu => scalar(BinaryOp::LeakyRelu)?,
            C::TExp => TileKind::Unary(UnaryOp::Exp),
            C::TLog => TileKind::Unary(UnaryOp::Log),
            C::TSqrt => TileKind::Unary(UnaryOp::Sqrt),
            C::TRsqrt => TileKind::Unary(UnaryOp::Rsqrt),
            C::TRecip => TileKind::Unary(UnaryOp::Recip),
            C::TAbs => TileKind::Unary(UnaryOp::Abs),
            C::TNeg => TileKind::Unary(UnaryOp::Neg),
            C::TRelu => TileKind::Unary(UnaryOp::Relu),
            C::TNot => TileKind::Unary(UnaryOp::Not),
            C::TRowExpand => TileKind::RowExpand(None),
            C::TRowExpandAdd => TileKind::RowExpand(Some(BinaryOp::Add)),
            C::TRowExpandSub => TileKind::RowExpand(Some(BinaryOp::Sub)),
            C::TRowExpandMul => TileKind::RowExpand(Some(BinaryOp::Mul)),
            C::TRowExpandDiv => TileKind::RowExpand(Some(BinaryOp::Div)),
            C::TRowExpandMax => TileKind::RowExpand(Some(max)),
            C::TRowExpandMin => TileKind::RowExpand(Some(min)),
            C::TColExpand => TileKind::ColExpand(None),
            C::TColExpandAdd => TileKind::ColExpand(Some(BinaryOp::Add)),
            C::TColExpandSub => TileKind::ColExpand(Some(BinaryOp::Sub)),
            C::TColExpandMul => TileKind::ColExpand(Some(BinaryOp::Mul)),
            C::TColExpandDiv => TileKind::ColExpand(Some(BinaryOp::Div)),
            C::TColExpandMax => TileKind::ColExpand(Some(max)),
            C::TColExpandMin => TileKind::ColExpand(Some(min)),
            _ => return Ok(None),
        }))
    }

    /// Operations in which data choose what is read or written.
    fn chosen(&self) -> Result<Option<TileKind>> {
        use Opcode as C;
        let data = self.data();
        let scalar = || self.dtype(self.operand("s")?).map(Some);
        Ok(Some(match data.opcode {
            C::TCmp => TileKind::Compare { predicate: self.predicate()?, scalar: None },
            C::TCmpS => TileKind::Compare { predicate: self.predicate()?, scalar: scalar()? },
            C::TSel => TileKind::Select { scalar: None },
            C::TSelS => TileKind::Select { scalar: scalar()? },
            C::TGather => TileKind::Gather,
            C::TGatherMask => TileKind::GatherMask(self.pattern()?),
            C::TGatherB => TileKind::GatherBlocks,
            C::TScatter => TileKind::Scatter,
            C::TScatterMask => TileKind::ScatterMask(self.pattern()?),
            C::TSort32 => TileKind::Sort,
            C::TMrgSort => TileKind::MergeRuns,
            C::TMrgSortLists => TileKind::MergeLists { exhausted: data.attrs.bool("exhausted") },
            C::Gather => {
                let (mode, out_of_range) = self.indexed()?;
                TileKind::GatherView { mode, out_of_range }
            }
            C::Scatter => {
                let (mode, out_of_range) = self.indexed()?;
                let atomic = match data.attrs.word("atomic") {
                    None => None,
                    Some("add") => Some(Atomic::Add),
                    Some("max") => Some(Atomic::Max),
                    Some("min") => Some(Atomic::Min),
                    Some(other) => return Err(self.malformed(format!("`{other}` is no way to combine elements"))),
                };
                TileKind::ScatterView { mode, out_of_range, atomic }
            }
            _ => return Ok(None),
        }))
    }

    fn predicate(&self) -> Result<Predicate> {
        Ok(match self.data().attrs.word("predicate") {
            Some("eq") => Predicate::Eq,
            Some("ne") => Predicate::Ne,
            Some("lt") => Predicate::Lt,
            Some("le") => Predicate::Le,
            Some("gt") => Predicate::Gt,
            Some("ge") => Predicate::Ge,
            other => return Err(self.malformed(format!("a comparison by {other:?}"))),
        })
    }

    fn pattern(&self) -> Result<Pattern> {
        let code = self.data().attrs.int("pattern");
        code.and_then(Pattern::from_code).ok_or_else(|| self.malformed(format!("{code:?} is no mask pattern")))
    }

    /// What the indices of a gather from or scatter to global memory count, and what is done with one out of range.
    fn indexed(&self) -> Result<(GatherMode, OutOfRange)> {
        let attrs = &self.data().attrs;
        let mode = match attrs.word("mode") {
            Some("row") => GatherMode::Row,
            Some("elem") => GatherMode::Elem,
            other => return Err(self.malformed(format!("{other:?} is nothing that indices count"))),
        };
        let out_of_range = match attrs.word("out_of_range") {
            None => OutOfRange::Fault,
            Some("clamp") => OutOfRange::Clamp,
            Some("wrap") => OutOfRange::Wrap,
            Some("zero") => OutOfRange::Zero,
            Some("skip") => OutOfRange::Skip,
            Some(other) => return Err(self.malformed(format!("`{other}` is no way to treat an index out of range"))),
        };
        Ok((mode, out_of_range))
    }

    fn box_sizes(&self) -> Result<Vec<u64>> {
        let sizes = self.sizes()?;
        sizes.iter().map(|&n| u64::try_from(n).map_err(|_| self.malformed(format!("a box of {n} elements")))).collect()
    }
}
