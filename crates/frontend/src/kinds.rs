//! Whether a value in a scope is a *tile* or a *tensor* to the language.
//!
//! Both are tiles here, and all operations but `pl.cmp` mean the same on either. Tiles come from `pl.load`,
//! `pl.create_tile`, and everything that is spelled `pl.tile.…`; what is computed of a tile is one.

use std::collections::BTreeSet;

use ir::{Def, Opcode, Value};

use crate::cx::Cx;
use crate::value::Held;

/// Operations of the language that give tiles, whatever they are spelled like.
const GIVE_TILES: &[&str] = &["load", "create_tile", "create_l1", "move", "mgather", "gatherb"];

impl Cx<'_> {
    /// Notes what an operation gave, by its canonical name.
    pub(crate) fn note_kind(&mut self, canonical: &str, result: &Held) {
        let gives = canonical.starts_with("tile.") || GIVE_TILES.contains(&canonical);
        match result {
            Held::Ir(v) if gives && self.tile(*v).is_some() => {
                self.program.tiles.insert(*v);
            }
            _ => {}
        }
    }

    pub(crate) fn is_tile_kind(&self, value: Value) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![value];
        while let Some(v) = waiting.pop() {
            if self.program.tiles.contains(&v) {
                return true;
            }
            if self.tile(v).is_none() || !seen.insert(v) {
                continue;
            }
            let func = &self.program.func;
            match func.values[v].def {
                // A carried value is what goes into the loop.
                Def::Arg(block, index) => {
                    let parent = func.blocks[block].parent.map(|op| &func.ops[op]);
                    let skip = parent.is_some_and(|op| op.opcode == Opcode::For) as usize;
                    let init = parent
                        .filter(|op| matches!(op.opcode, Opcode::For | Opcode::While))
                        .and_then(|op| op.named("init").get((index as usize).checked_sub(skip)?));
                    waiting.extend(init);
                }
                Def::Result(op, index) => {
                    let data = &func.ops[op];
                    match data.opcode {
                        Opcode::For | Opcode::While => waiting.extend(data.named("init").get(index as usize)),
                        Opcode::If => waiting.extend(data.regions.iter().filter_map(|&region| {
                            let last = *func.blocks[region].ops.last()?;
                            func.ops[last].operands.get(index as usize)
                        })),
                        _ => waiting.extend(&data.operands),
                    }
                }
            }
        }
        false
    }
}
