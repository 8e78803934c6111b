//! Tile descriptors: where tiles lie, windows and other shapes of them, and which bytes a block must find zeroed.

use std::collections::BTreeMap;

use chip::Space;
use ir::effects::{Effects, TileBox};
use ir::{Block, Entity, Op, OpData, Opcode, Value};
use isa::Tile;

use super::{Decoder, Refused};
use crate::code::{AllocSpec, Extent, Inst, ShapeSpec, SubviewSpec};
use crate::exec::reshape;
use crate::space;

/// Alignment of an unplaced tile: a cache line.
const ALIGN: usize = 64;

impl<'a> Decoder<'a> {
    pub(super) fn alloc_op(&mut self, op: Op, data: &'a OpData) -> Result<bool, Refused> {
        match data.opcode {
            Opcode::AllocTile => self.alloc_tile(op, data)?,
            Opcode::Subview => self.subview(data)?,
            Opcode::TReshape | Opcode::Bitcast => self.reshape(data)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn alloc_tile(&mut self, op: Op, data: &'a OpData) -> Result<(), Refused> {
        let result = data.result().ok_or("no result")?;
        let ty = self.tile_type(result)?;
        if ty.shape.len() != 2 {
            return Err(format!("a tile buffer of rank {}; buffers have rank 2", ty.shape.len()));
        }
        let where_ = ty.space.ok_or("a tile without a space")?;
        let mut tile = space::descriptor(ty).ok_or("a tile of more than 2^32 rows or columns")?;
        let bytes = tile.byte_len().max(ty.bytes() as usize);
        let (row, col) = (data.named("valid_row").first().copied(), data.named("valid_col").first().copied());
        let valid = self.extents(ty, row, col)?;
        let addr = data.named("addr").first().copied();
        let placed = self.code.placed;
        let mut dynamic = None;
        if placed {
            let chip = self.arch.chip();
            let (base, size) = (space::base(chip, where_), chip.capacity(where_).physical);
            let addr = addr.ok_or("no address in a placed function")?;
            match self.func.const_int(addr) {
                Some(a) => match usize::try_from(a).ok().filter(|a| a + bytes <= size) {
                    Some(a) => tile.offset = base + a,
                    None => {
                        let n = self.code.traps.len() as u32;
                        self.code.traps.push(format!(
                            "a tile of {bytes} bytes at address {a} of {where_}, which has {size} bytes on {}",
                            self.arch
                        ));
                        self.emit(Inst::Trap(n));
                    }
                },
                None => dynamic = Some((self.int(addr), base, size)),
            }
        } else {
            if addr.is_some() {
                return Err("an address in an unplaced function".into());
            }
            tile.offset = self.reserve(bytes);
        }
        match dynamic {
            // Anything of the scratchpad may be meant.
            Some((_, base, size)) => self.sites.push((op, base..base + size)),
            None => self.sites.push((op, tile.offset..tile.offset + bytes)),
        }
        let dst = self.reg(result);
        self.code.tiles[dst as usize] = tile;
        // Each vector core has a Vec of its own: where, the frame's base says.
        self.code.based[dst as usize] = !placed || where_ == Space::Vec;
        let extent = |e: Extent| match e {
            Extent::In(reg) => Ok(Some(reg)),
            Extent::Known(_) => Ok(None),
            Extent::Derived => Err("a dynamic valid extent without an operand".to_string()),
        };
        let (rows, cols) = (extent(valid[0])?, extent(valid[1])?);
        if dynamic.is_none() && rows.is_none() && cols.is_none() {
            self.known[result.index()] = Some(tile);
            return Ok(());
        }
        let spec = self.code.allocs.len() as u32;
        self.code.allocs.push(AllocSpec { dst, addr: dynamic, bytes, rows, cols, tile });
        self.emit(Inst::Alloc { spec });
        Ok(())
    }

    /// `bytes` of this function's storage.
    pub(super) fn reserve(&mut self, bytes: usize) -> usize {
        let at = self.storage.next_multiple_of(ALIGN);
        self.storage = at + bytes;
        at
    }

    fn subview(&mut self, data: &'a OpData) -> Result<(), Refused> {
        let (result, source) = (data.result().ok_or("no result")?, data.named("tile")[0]);
        let ty = self.tile_type(result)?;
        let (row, col) = (data.named("row")[0], data.named("col")[0]);
        let (vr, vc) = (data.named("valid_row").first().copied(), data.named("valid_col").first().copied());
        let valid = self.extents(ty, vr, vc)?;
        let (rows, cols) = (ty.rows() as u32, ty.cols() as u32);
        let dst = self.reg(result);
        if let (Some(tile), Some(r), Some(c), Extent::Known(vr), Extent::Known(vc)) =
            (self.known[source.index()], self.func.const_int(row), self.func.const_int(col), valid[0], valid[1])
            && let (Ok(r), Ok(c)) = (u32::try_from(r), u32::try_from(c))
            && let Ok(part) = tile.part(r, c, rows, cols)
        {
            self.preset(result, source, part.with_valid(vr, vc));
            return Ok(());
        }
        let spec = self.code.subviews.len() as u32;
        let (row, col) = (self.int(row), self.int(col));
        self.code.subviews.push(SubviewSpec { dst, src: self.reg(source), row, col, rows, cols, valid });
        self.emit(Inst::Subview { spec });
        Ok(())
    }

    fn reshape(&mut self, data: &'a OpData) -> Result<(), Refused> {
        let (result, source) = (data.result().ok_or("no result")?, data.named("source")[0]);
        let tile = space::descriptor(self.tile_type(result)?).ok_or("a tile of more than 2^32 rows or columns")?;
        let valid = self.extents(self.tile_type(result)?, None, None)?;
        let shape = ShapeSpec { tile, valid };
        if let Some(known) = self.known[source.index()] {
            let out = reshape(&known, &shape).map_err(|e| e.to_string())?;
            self.preset(result, source, out);
            return Ok(());
        }
        let n = self.code.shapes.len() as u32;
        self.code.shapes.push(shape);
        let (dst, src) = (self.reg(result), self.reg(source));
        self.emit(Inst::Reshape { dst, src, shape: n });
        Ok(())
    }

    /// A descriptor that needs no instruction.
    fn preset(&mut self, result: Value, source: Value, tile: Tile) {
        let (dst, src) = (self.reg(result) as usize, self.reg(source) as usize);
        self.code.tiles[dst] = tile;
        self.code.based[dst] = self.code.based[src];
        self.known[result.index()] = Some(tile);
    }

    /// Which bytes a block must find zeroed: those of tiles that are not seen to be written whole before any other use
    /// (semantics rule 4, last sentence).
    pub(super) fn clear_ranges(&mut self) {
        let effects = ir::effects::of_function(self.func).into_iter().collect();
        let mut ranges: Vec<_> = std::mem::take(&mut self.sites)
            .into_iter()
            .filter(|(op, _)| !self.written_first(*op, &effects))
            .map(|(_, range)| range)
            .collect();
        ranges.sort_by_key(|r| r.start);
        for range in ranges {
            match self.code.clear.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.code.clear.push(range),
            }
        }
    }

    /// The first use in program order overwrites the whole tile, and stands in a block around all other uses.
    fn written_first(&self, alloc: Op, effects: &BTreeMap<Op, Effects>) -> bool {
        let f = self.func;
        let Some(value) = f.ops[alloc].result() else { return false };
        let Some(ty) = f.ty(value).as_tile() else { return false };
        let users = f.users(value);
        let Some(first) = users.first() else { return true };
        let write = effects.get(first).and_then(|e| e.write.as_ref());
        let whole = write.is_some_and(|w| w.value == value && w.elements == Some(TileBox::whole(ty)));
        let data = &f.ops[*first];
        whole
            && !data.operands.contains(&value)
            && users.iter().all(|&user| self.encloses(data.block, f.ops[user].block))
    }

    fn encloses(&self, outer: Block, mut inner: Block) -> bool {
        loop {
            if inner == outer {
                return true;
            }
            match self.func.blocks[inner].parent {
                Some(op) => inner = self.func.ops[op].block,
                None => return false,
            }
        }
    }

    /// The space of FIFO slots that are popped by `core`.
    pub(super) fn slot_space(location: Option<&str>) -> Result<Space, Refused> {
        match location {
            Some("vec") => Ok(Space::Vec),
            Some("mat") => Ok(Space::Mat),
            other => Err(format!("unknown location {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use chip::Arch;
    use dtype::Profile;

    use crate::code::Mode;

    /// Whether the accumulator of a product must be found zeroed, for a left operand of this valid extent.
    fn accumulator_is_cleared(k: &str, extent: &str) -> bool {
        let text = format!(
            "program \"p\" a5 tile entry @k\nfunc @k kernel(cube)(%n: in index) {{\n  \
             %l = alloc_tile {extent} : tile<16x32xbf16, valid 16x{k}, left, nz>\n  \
             %r = alloc_tile : tile<32x16xbf16, right, zn>\n  %c = alloc_tile : tile<16x16xf32, acc, nz/1024>\n  \
             tmatmul %l, %r outs(%c)\n  return\n}}\n"
        );
        let program = ir::text::parse_located(&text, "test.tw").unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
        let func = &program.functions[program.entry];
        let code = crate::decode::decode(func, Arch::A5, Profile::A5, Mode::Plain).expect("a kernel");
        // Left and right are never written here, so all of theirs is.
        let cleared: usize = code.clear.iter().map(|r| r.len()).sum();
        match cleared {
            2048 => false,
            3072 => true,
            other => panic!("{other} bytes are cleared"),
        }
    }

    #[test]
    fn a_product_of_no_terms_writes_nothing() {
        assert!(!accumulator_is_cleared("32", ""));
        assert!(accumulator_is_cleared("0", ""));
        assert!(accumulator_is_cleared("?", "valid_col(%n)"));
    }
}
