//! Pointers, views, and what moves between global memory and tiles or scalars.

use chip::Space;
use dtype::DType;
use ir::{Op, OpData, Opcode, Type};
use isa::{Atomic, GatherMode, OutOfRange};

use super::{Decoder, Refused};
use crate::code::{Inst, MakeViewSpec, Mode, PartitionSpec, Site};

/// What indices count, and what is done with one out of range.
fn indexed(data: &OpData) -> Result<(GatherMode, OutOfRange), Refused> {
    let mode = match data.attrs.word("mode") {
        Some("row") => GatherMode::Row,
        Some("elem") => GatherMode::Elem,
        other => return Err(format!("mode {other:?}; supported: row, elem")),
    };
    let out_of_range = match (data.attrs.word("out_of_range"), data.opcode) {
        (None, _) => OutOfRange::Fault,
        (Some("clamp"), _) => OutOfRange::Clamp,
        (Some("wrap"), _) => OutOfRange::Wrap,
        (Some("zero"), Opcode::MGather) => OutOfRange::Zero,
        (Some("skip"), Opcode::MScatter) => OutOfRange::Skip,
        (Some(other), _) => return Err(format!("out_of_range `{other}`")),
    };
    Ok((mode, out_of_range))
}

impl<'a> Decoder<'a> {
    pub(super) fn global_op(&mut self, op: Op, data: &'a OpData) -> Result<bool, Refused> {
        match data.opcode {
            Opcode::MakeTensorView => {
                let result = data.result().ok_or("no result")?;
                let (shape, strides) = (self.ints(data.named("shape")), self.ints(data.named("strides")));
                if shape.len() != strides.len() || shape.len() > 5 {
                    return Err(format!(
                        "{} extents and {} strides; views have rank 1 to 5",
                        shape.len(),
                        strides.len()
                    ));
                }
                let spec = self.code.make_views.len() as u32;
                self.code.make_views.push(MakeViewSpec {
                    dst: self.reg(result),
                    ptr: self.reg(data.named("ptr")[0]),
                    dtype: self.element(result)?,
                    shape,
                    strides,
                });
                self.emit(Inst::MakeView { spec });
                if self.code.mode.is_measured() {
                    let view = self.reg(result);
                    self.emit(Inst::Reach { view });
                }
            }
            Opcode::PartitionView => {
                let (dst, view) = (self.reg(data.result().ok_or("no result")?), self.reg(data.named("view")[0]));
                let (offsets, sizes) = (self.ints(data.named("offsets")), self.ints(data.named("sizes")));
                let spec = self.code.partitions.len() as u32;
                self.code.partitions.push(PartitionSpec { dst, view, offsets, sizes });
                self.emit(Inst::Partition { spec });
            }
            Opcode::AddPtr => {
                let (dst, ptr) = (self.reg(data.result().ok_or("no result")?), self.reg(data.named("ptr")[0]));
                let offset = self.int(data.named("offset")[0]);
                self.emit(Inst::AddPtr { dst, ptr, offset });
            }
            Opcode::TLoad => {
                let (dst, source) = (self.dest(data)?, data.named("source")[0]);
                if self.code.mode == Mode::Footprint {
                    return self.touch_view(op, source, false);
                }
                self.tile_type(dst)?;
                self.measure_view(op, source, false)?;
                let (dst, view) = (self.reg(dst), self.reg(source));
                self.emit(Inst::Load { dst, view });
            }
            Opcode::TStore => self.store(op, data)?,
            Opcode::MGather => {
                let (dst, source) = (self.dest(data)?, data.named("source")[0]);
                // Which elements it reads depends on data: all of the box.
                if self.code.mode == Mode::Footprint {
                    return self.touch_view(op, source, false);
                }
                self.tile_type(dst)?;
                self.measure_view(op, source, false)?;
                let (mode, out_of_range) = indexed(data)?;
                let (dst, view, index) = (self.reg(dst), self.reg(source), self.reg(data.named("indices")[0]));
                self.emit(Inst::GatherView { mode, out_of_range, dst, view, index });
            }
            Opcode::MScatter => {
                let dest = self.dest(data)?;
                let atomic = match data.attrs.word("atomic") {
                    None => None,
                    Some("add") => Some(Atomic::Add),
                    Some("max") => Some(Atomic::Max),
                    Some("min") => Some(Atomic::Min),
                    Some(other) => return Err(format!("atomic `{other}`; supported: add, max, min")),
                };
                // What it does not write keeps its contents, so it counts as a read of all of the box, too.
                if self.code.mode == Mode::Footprint {
                    self.touch_view(op, dest, true)?;
                    return self.touch_view(op, dest, false);
                }
                self.measure_view(op, dest, true)?;
                self.measure_view(op, dest, false)?;
                self.code.float_atomics |= atomic == Some(Atomic::Add) && self.element(dest)?.is_float();
                let (mode, out_of_range) = indexed(data)?;
                let (view, src) = (self.reg(dest), self.reg(data.named("source")[0]));
                let index = self.reg(data.named("indices")[0]);
                self.emit(Inst::ScatterView { mode, out_of_range, atomic, view, src, index });
            }
            Opcode::LoadScalar | Opcode::StoreScalar => {
                let write = data.opcode == Opcode::StoreScalar;
                let (ptr, offset) = (data.named("ptr")[0], data.named("offset")[0]);
                let dtype = self.element(ptr)?;
                if self.code.mode == Mode::Footprint {
                    let site = self.site(op, write, dtype);
                    if !self.code.sites[site as usize].whole {
                        let (ptr, offset) = (self.reg(ptr), self.int(offset));
                        self.emit(Inst::TouchScalar { site, ptr, offset });
                    }
                    return Ok(true);
                }
                let (ptr, offset) = (self.reg(ptr), self.int(offset));
                if self.code.mode.is_measured() {
                    let site = self.site(op, write, dtype);
                    self.emit(Inst::TouchScalar { site, ptr, offset });
                }
                if write {
                    let value = self.reg(data.named("value")[0]);
                    self.emit(Inst::StoreScalar { dtype, ptr, offset, value });
                } else {
                    let dst = self.reg(data.result().ok_or("no result")?);
                    self.emit(Inst::LoadScalar { dtype, dst, ptr, offset });
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn store(&mut self, op: Op, data: &'a OpData) -> Result<(), Refused> {
        let (source, dest) = (data.named("source")[0], self.dest(data)?);
        let atomic = match data.attrs.word("atomic") {
            None => false,
            Some("add") => true,
            Some(other) => return Err(format!("atomic `{other}`; supported: add")),
        };
        let (from, to) = (self.tile_type(source)?, self.element(dest)?);
        let narrows =
            from.space == Some(Space::Acc) && from.dtype == DType::F32 && matches!(to, DType::F16 | DType::BF16);
        let index = |d: DType| if d == DType::Index { DType::I64 } else { d };
        if index(from.dtype) != index(to) && !narrows {
            return Err(format!("a {} tile stored to {to} memory", from.dtype));
        }
        if self.code.mode == Mode::Footprint {
            self.touch_view(op, dest, true)?;
            if atomic {
                self.touch_view(op, dest, false)?;
            }
            return Ok(());
        }
        self.measure_view(op, dest, true)?;
        if atomic {
            self.measure_view(op, dest, false)?;
        }
        self.code.float_atomics |= atomic && to.is_float();
        let (view, src) = (self.reg(dest), self.reg(source));
        self.emit(match atomic {
            true => Inst::AtomicStore { view, src },
            false => Inst::Store { view, src },
        });
        Ok(())
    }

    fn touch_view(&mut self, op: Op, view: ir::Value, write: bool) -> Result<bool, Refused> {
        let site = self.site(op, write, self.element(view)?);
        if !self.code.sites[site as usize].whole {
            let view = self.reg(view);
            self.emit(Inst::TouchView { site, view });
        }
        Ok(true)
    }

    /// Before an access through a view, in a measured run.
    pub(super) fn measure_view(&mut self, op: Op, view: ir::Value, write: bool) -> Result<(), Refused> {
        if self.code.mode.is_measured() {
            let site = self.site(op, write, self.element(view)?);
            let view = self.reg(view);
            self.emit(Inst::TouchView { site, view });
        }
        Ok(())
    }

    fn site(&mut self, op: Op, write: bool, dtype: DType) -> u32 {
        let (param, whole) = self.plan.as_ref().map_or((None, true), |p| (p.param(op), p.is_whole(op)));
        self.code.sites.push(Site { param, write, whole, size: dtype.size() as i64 });
        self.code.sites.len() as u32 - 1
    }

    /// A pointer parameter's element type.
    pub(super) fn pointer_type(&self, value: ir::Value) -> Result<DType, Refused> {
        match self.func.ty(value) {
            Type::Ptr(d) => Ok(*d),
            _ => Err("an operand that is not a pointer".into()),
        }
    }
}
