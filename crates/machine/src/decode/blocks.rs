//! Blocks, cores, FIFOs.

use ir::{OpData, Opcode, Value};

use super::{Decoder, Refused};
use crate::code::{FifoName, Inst, PipeSpec, PopSpec, Reserved, Split};
use crate::group::SyncKind;
use crate::space;

impl<'a> Decoder<'a> {
    pub(super) fn block_op(&mut self, data: &'a OpData) -> Result<bool, Refused> {
        match data.opcode {
            Opcode::SyncAll => {
                self.code.syncs = true;
                let kind = match data.attrs.word("core_type") {
                    None | Some("mix") => SyncKind::All,
                    Some("aiv_only") => SyncKind::Vector,
                    Some("aic_only") => SyncKind::Cube,
                    Some(other) => return Err(format!("unknown core_type `{other}`")),
                };
                self.emit(Inst::SyncAll(kind));
            }
            // In one memory there is nothing to forget or to announce.
            Opcode::CacheInvalid | Opcode::SetFfts => {}
            Opcode::Barrier
            | Opcode::FenceBarrierAll
            | Opcode::SetFlag
            | Opcode::WaitFlag
            | Opcode::SetFlagDyn
            | Opcode::WaitFlagDyn
            | Opcode::RecordEvent
            | Opcode::WaitEvent
            | Opcode::GetBuf
            | Opcode::RlsBuf
            | Opcode::TSync => self.order(data),
            Opcode::AicInitializePipe | Opcode::AivInitializePipe => self.init_pipe(data)?,
            Opcode::ReserveBuffer => self.reserve_buffer(data)?,
            Opcode::ImportReservedBuffer => {
                let name = data.attrs.word("name").ok_or("no name")?.to_owned();
                let n = self.code.imports.len() as u32;
                self.code.imports.push(name);
                let dst = self.reg(data.result().ok_or("no result")?);
                self.emit(Inst::Import { dst, name: n });
            }
            Opcode::TPushToAiv | Opcode::TPushToAic => {
                let fifo = self.fifo(data, data.opcode == Opcode::TPushToAiv)?;
                let (src, split) = (self.reg(data.named("source")[0]), split(data)?);
                self.emit(Inst::Push { fifo, split, src });
            }
            Opcode::TPopFromAic | Opcode::TPopFromAiv => {
                let fifo = self.fifo(data, data.opcode == Opcode::TPopFromAic)?;
                let result: Value = data.result().ok_or("no result")?;
                let ty = self.tile_type(result)?;
                let tile = space::descriptor(ty).ok_or("a tile of more than 2^32 rows or columns")?;
                let (vr, vc) = (data.named("valid_row").first().copied(), data.named("valid_col").first().copied());
                let valid = self.extents(ty, vr, vc)?;
                let spec = self.code.pops.len() as u32;
                self.code.pops.push(PopSpec { fifo, split: split(data)?, dst: self.reg(result), tile, valid });
                self.emit(Inst::Pop { spec });
            }
            Opcode::TFreeFromAic | Opcode::TFreeFromAiv => {
                let fifo = self.fifo(data, data.opcode == Opcode::TFreeFromAic)?;
                self.emit(Inst::Free { fifo });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn fifo(&mut self, data: &OpData, to_vector: bool) -> Result<u32, Refused> {
        let name = FifoName { id: data.attrs.int("id").ok_or("no id")?, to_vector };
        let at = self.code.fifos.iter().position(|&f| f == name).unwrap_or_else(|| {
            self.code.fifos.push(name);
            self.code.fifos.len() - 1
        });
        Ok(at as u32)
    }

    fn init_pipe(&mut self, data: &OpData) -> Result<(), Refused> {
        let positive = |name: &str, default: Option<i64>| {
            let v = data.attrs.int(name).or(default).ok_or(format!("no `{name}`"))?;
            usize::try_from(v).ok().filter(|&v| v > 0).ok_or(format!("`{name}` is {v}"))
        };
        let dir_mask = data.attrs.int("dir_mask").ok_or("no `dir_mask`")?;
        if !(1..=3).contains(&dir_mask) {
            return Err(format!("dir_mask {dir_mask}; supported: 1, 2, 3"));
        }
        // isa.md §1.7: eight slots one way, four a direction both ways; two local ones.
        let slot_num = positive("slot_num", Some(if dir_mask == 3 { 4 } else { 8 }))?;
        let gm = data.named("gm_slot_buffer").first().copied();
        if let Some(v) = gm {
            self.pointer_type(v)?;
        }
        let address = |d: &mut Self, group: &str| data.named(group).first().map(|&v| d.int(v));
        let spec = PipeSpec {
            id: data.attrs.int("id").ok_or("no id")?,
            dir_mask,
            slot_size: positive("slot_size", None)?,
            slot_num,
            local_slot_num: positive("local_slot_num", Some(2))?,
            gm: gm.map(|v| self.reg(v)),
            c2v: address(self, "c2v_consumer_buf"),
            v2c: address(self, "v2c_consumer_buf"),
        };
        let n = self.code.pipes.len() as u32;
        self.code.pipes.push(spec);
        self.emit(Inst::InitPipe { spec: n });
        Ok(())
    }

    fn reserve_buffer(&mut self, data: &OpData) -> Result<(), Refused> {
        let result = data.result().ok_or("no result")?;
        let name = data.attrs.word("name").ok_or("no name")?.to_owned();
        let size = data.attrs.int("size").and_then(|n| usize::try_from(n).ok()).ok_or("no size")?;
        let place = Self::slot_space(data.attrs.word("location"))?;
        let address = if self.code.placed {
            let base = data.attrs.int("base").ok_or("no base in a placed function")?;
            let capacity = self.arch.chip().capacity(place).physical;
            if usize::try_from(base).ok().is_none_or(|b| b + size > capacity) {
                return Err(format!("{size} bytes at {base} of {place}, which has {capacity}"));
            }
            base
        } else {
            self.reserve(size) as i64
        };
        // An i32 in the program.
        let reg = self.reg(result) as usize;
        self.code.scalars[reg] = address as u32 as u64;
        self.code.reserved.push(Reserved { name, address });
        Ok(())
    }
}

/// Uneven halves (3, 4) differ from even ones only where there is an odd row or column, which the first core gets.
fn split(data: &OpData) -> Result<Split, Refused> {
    match data.attrs.int("split") {
        None | Some(0) => Ok(Split::None),
        Some(1 | 3) => Ok(Split::Rows),
        Some(2 | 4) => Ok(Split::Cols),
        Some(other) => Err(format!("split {other}; supported: 0 to 4")),
    }
}
