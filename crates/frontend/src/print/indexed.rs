//! Masks, gathers, scatters and sorts, and what makes tiles of numbers or takes bytes for another type.

use ir::ops::PREDICATES;
use ir::{OpData, Opcode, Type, Value};

use super::{Printer, Res, dtype_text};

/// `, name=True` of a flag that is set.
pub(super) fn flag(data: &OpData, name: &str) -> String {
    if data.attrs.bool(name) { format!(", {name}=True") } else { String::new() }
}

/// `, parameter="word"` of an attribute that is there.
fn word(data: &OpData, attribute: &str, parameter: &str) -> String {
    data.attrs.word(attribute).map_or(String::new(), |w| format!(", {parameter}=\"{w}\""))
}

impl Printer<'_> {
    /// `pl.mscatter(…)`: it changes the tensor, and its value is that tensor.
    pub(super) fn scatter(&self, data: &OpData) -> Res<String> {
        let operands = self.values(&[data.named("tile")[0], data.named("indices")[0], data.named("tensor")[0]])?;
        let mode = word(data, "mode", "coalesce");
        let (policy, atomic) = (word(data, "out_of_range", "scatter_oob"), word(data, "atomic", "atomic"));
        Ok(format!("pl.mscatter({operands}{mode}{policy}{atomic})"))
    }

    pub(super) fn indexed_expression(&self, data: &OpData, result: Value) -> Res<Option<String>> {
        use Opcode as C;
        let operands = || self.values(&data.operands);
        let Some(dtype) = self.func.ty(result).element().map(dtype_text) else { return Ok(None) };
        // Both kinds of views of bytes: of tensors, and of tiles.
        if matches!(data.opcode, C::TensorBitcast | C::Bitcast) {
            return Ok(Some(format!("pl.reinterpret_view({}, {dtype})", self.value(data.operands[0])?)));
        }
        let Type::Tile(tile) = self.func.ty(result) else { return Ok(None) };
        let shape = &tile.shape;
        let predicate = || {
            let word = data.attrs.word("predicate");
            PREDICATES.iter().position(|p| Some(*p) == word).unwrap_or(0)
        };
        let pattern = || data.attrs.int("pattern").unwrap_or(0);
        Ok(Some(match data.opcode {
            C::TCmp => format!("pl.tile.cmp({}, {})", operands()?, predicate()),
            C::TCmpS => {
                let (tile, number) = (self.value(data.operands[0])?, self.number(data.operands[1])?);
                format!("pl.cmps({tile}, {number}, {})", predicate())
            }
            C::TSel => format!("pl.sel({})", operands()?),
            C::TSelS => {
                let (tiles, number) = (self.values(&data.operands[..2])?, self.number(data.operands[2])?);
                format!("pl.sel({tiles}, {number})")
            }
            C::TGather => format!("pl.tile.gather({})", operands()?),
            C::TGatherB => format!("pl.gatherb({})", operands()?),
            C::TGatherMask => {
                let source = data.operands[0];
                let retyped = self.func.ty(source).element() != Some(tile.dtype);
                let output = if retyped { format!(", output_dtype={dtype}") } else { String::new() };
                format!("pl.gather_mask({}, {}{output})", self.value(source)?, pattern())
            }
            C::Gather => {
                let (mode, policy) = (word(data, "mode", "coalesce"), word(data, "out_of_range", "gather_oob"));
                format!("pl.mgather({}{mode}{policy})", operands()?)
            }
            C::TScatter => format!("pl.tile.scatter({}, {shape:?})", operands()?),
            C::TScatterMask => format!("pl.scatter_mask({}, {})", operands()?, pattern()),
            C::TSort32 => format!("pl.sort32({})", operands()?),
            C::TMrgSort => {
                let (source, run) = (self.value(data.operands[0])?, self.number(data.operands[1])?);
                format!("pl.mrgsort({source}, block_len={run})")
            }
            C::TMrgSortLists => format!("pl.mrgsort({}{})", operands()?, flag(data, "exhausted")),
            C::TTri => {
                let valid = self.extents(tile, data.named("valid"))?;
                let valid = valid.map_or(String::new(), |v| format!(", valid_shape=[{}]", v.join(", ")));
                let diagonal = self.number(data.operands[0])?;
                format!("pl.tri({diagonal}, {shape:?}, dtype={dtype}{valid}{})", flag(data, "upper"))
            }
            C::TRandom => {
                let rounds = data.attrs.int("rounds").map_or(String::new(), |n| format!(", rounds={n}"));
                format!("pl.random({}, {shape:?}, {dtype}{rounds})", operands()?)
            }
            _ => return Ok(None),
        }))
    }

    /// Values, one after the other.
    pub(super) fn values(&self, values: &[Value]) -> Res<String> {
        Ok(values.iter().map(|&v| self.value(v)).collect::<Res<Vec<_>>>()?.join(", "))
    }
}
