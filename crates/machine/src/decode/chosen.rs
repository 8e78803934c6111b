//! Instructions in which data choose what is read or written: masks, gathers, scatters, sorts.

use ir::{OpData, Opcode};
use isa::{Pattern, Predicate};

use super::{Decoder, Refused};
use crate::code::{Inst, MergeSpec, RandomSpec, Reg};

impl<'a> Decoder<'a> {
    /// The instruction, if the operation is one of these.
    pub(super) fn chosen(&mut self, data: &'a OpData, dst: Reg) -> Result<Option<Inst>, Refused> {
        use Opcode as C;
        let r = |d: &Self, group: usize| d.reg(data.group(group)[0]);
        Ok(Some(match data.opcode {
            C::TCmp => Inst::Mask { predicate: predicate(data)?, dst, a: r(self, 0), b: r(self, 1) },
            C::TCmpS => {
                let dtype = self.element(data.group(1)[0])?;
                Inst::MaskScalar { predicate: predicate(data)?, dtype, dst, a: r(self, 0), s: r(self, 1) }
            }
            C::TSel => Inst::Choose { dst, mask: r(self, 0), a: r(self, 1), b: r(self, 2) },
            C::TSelS => {
                let dtype = self.element(data.group(2)[0])?;
                Inst::ChooseScalar { dtype, dst, mask: r(self, 0), a: r(self, 1), s: r(self, 2) }
            }
            C::TGather => Inst::Gather { dst, src: r(self, 0), index: r(self, 1) },
            C::TGatherMask => Inst::GatherMask { pattern: pattern(data)?, dst, src: r(self, 0) },
            C::TGatherB => Inst::GatherBlocks { dst, src: r(self, 0), offsets: r(self, 1) },
            C::TScatter => Inst::Scatter { dst, src: r(self, 0), index: r(self, 1) },
            C::TScatterMask => Inst::ScatterMask { pattern: pattern(data)?, dst, src: r(self, 0) },
            C::TSort32 => Inst::Sort { dst, src: r(self, 0), idx: r(self, 1) },
            C::TMrgSort => {
                let length = self.int(data.named("block_len")[0]);
                Inst::MergeRuns { dst, src: r(self, 0), length }
            }
            C::TMrgSortLists => {
                let lists = data.named("lists").iter().map(|&v| self.reg(v)).collect();
                let spec = self.code.merges.len() as u32;
                self.code.merges.push(MergeSpec { dst, lists, exhausted: data.attrs.bool("exhausted") });
                Inst::MergeLists { spec }
            }
            C::TTri => {
                let diagonal = self.int(data.named("diagonal")[0]);
                Inst::Triangle { upper: data.attrs.bool("upper"), dst, diagonal }
            }
            C::TRandom => {
                let rounds = data.attrs.int("rounds").unwrap_or(10);
                let rounds = u32::try_from(rounds).map_err(|_| format!("{rounds} rounds"))?;
                let mut word = |name: &str| self.int(data.named(name)[0]);
                let (key, counter) = (["key0", "key1"].map(&mut word), ["c0", "c1", "c2", "c3"].map(&mut word));
                let spec = self.code.randoms.len() as u32;
                self.code.randoms.push(RandomSpec { dst, key, counter, rounds });
                Inst::Random { spec }
            }
            _ => return Ok(None),
        }))
    }
}

fn predicate(data: &OpData) -> Result<Predicate, Refused> {
    Ok(match data.attrs.word("predicate") {
        Some("eq") => Predicate::Eq,
        Some("ne") => Predicate::Ne,
        Some("lt") => Predicate::Lt,
        Some("le") => Predicate::Le,
        Some("gt") => Predicate::Gt,
        Some("ge") => Predicate::Ge,
        other => return Err(format!("unknown predicate {other:?}")),
    })
}

fn pattern(data: &OpData) -> Result<Pattern, Refused> {
    let code = data.attrs.int("pattern");
    code.and_then(Pattern::from_code).ok_or_else(|| format!("pattern {code:?}; supported: 1 to 7"))
}
