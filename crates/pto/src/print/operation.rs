//! One operation without regions, after its results.

use dtype::{DType, Scalar};
use ir::builder::const_scalar;
use ir::{OpData, Opcode as C, Pad, Value};

use super::{Printer, quoted, symbol};
use crate::format::{self, Piece};
use crate::types::element_name;

impl Printer<'_> {
    /// An operation without regions, after its results.
    pub(super) fn text(&self, op: &OpData) -> String {
        let a = op.operands.first().copied();
        let all = &op.operands;
        let one = |group: &str| op.named(group)[0];
        match op.opcode {
            C::Yield => format!("scf.yield {} : {}", self.list(all), self.types(all)),
            C::Condition => {
                let values = op.named("values");
                let condition = self.v(one("condition"));
                match values {
                    [] => format!("scf.condition({condition})"),
                    values => format!("scf.condition({condition}) {} : {}", self.list(values), self.types(values)),
                }
            }
            C::Return if all.is_empty() => "return".to_owned(),
            C::Return => format!("return {} : {}", self.list(all), self.types(all)),
            C::Call => {
                let callee = op.attrs.symbols("callee").and_then(|s| s.first()).map_or("", String::as_str);
                let results = match &op.results[..] {
                    [one] => self.ty(*one),
                    several => format!("({})", self.types(several)),
                };
                let (args, types) = (self.list(all), self.types(all));
                format!("func.call @{}({args}) : ({types}) -> {results}", symbol(callee))
            }
            C::Const => self.constant(op),
            C::ScalarCmp => self.compare(op),
            C::ScalarNeg => format!("arith.negf {} : {}", self.list(all), self.types(&all[..1])),
            C::ScalarCast => self.cast(op),
            C::Select => format!("arith.select {} : {}", self.list(all), self.types(&all[1..2])),
            opcode if opcode.scalar_binary().is_some() => {
                let dtype = self.f.ty(all[0]).as_scalar().unwrap_or(DType::Index);
                format!("arith.{} {} : {}", arith_name(opcode, dtype), self.list(all), element_name(dtype))
            }
            C::CountsConst => {
                let list: Vec<String> = op.attrs.ints("value").unwrap_or(&[]).iter().map(i64::to_string).collect();
                format!("arith.constant dense<[{}]> : {}", list.join(", "), self.types(&op.results))
            }
            C::Reinterpret => format!(
                "builtin.unrealized_conversion_cast {} : {} to {}",
                self.list(all),
                self.types(all),
                self.types(&op.results)
            ),
            C::Branch => format!("cf.br {}", self.successor(op.attrs.int("target"), op.named("values"))),
            C::BranchIf => {
                let values = op.named("values");
                let taken = op.attrs.int("taken").and_then(|n| usize::try_from(n).ok()).unwrap_or(0).min(values.len());
                let (yes, no) = values.split_at(taken);
                format!(
                    "cf.cond_br {}, {}, {}",
                    self.v(one("condition")),
                    self.successor(op.attrs.int("target"), yes),
                    self.successor(op.attrs.int("other"), no)
                )
            }
            C::SimtLaunch => {
                let callee = op.attrs.symbols("callee").and_then(|s| s.first()).map_or("", String::as_str);
                let (grid, args) = (op.named("grid"), op.named("args"));
                format!(
                    "pto.simt_launch @{}<<<{}>>>({}) : ({}) -> ()",
                    symbol(callee),
                    self.list(grid),
                    self.list(args),
                    self.types(args)
                )
            }
            C::ArrayGetAt => {
                let array = one("array");
                format!(
                    "pto.local_array_get {}[{}] : {} -> {}",
                    self.v(array),
                    self.list(op.named("indices")),
                    self.ty(array),
                    self.types(&op.results)
                )
            }
            C::ArraySetAt => {
                let [array, value] = [one("array"), one("value")];
                format!(
                    "pto.local_array_set {}[{}], {} : {}, {}",
                    self.v(array),
                    self.list(op.named("indices")),
                    self.v(value),
                    self.ty(array),
                    self.ty(value)
                )
            }
            C::MGatherStaged => self.dps("mgather", all, "", op),
            C::ArrayCreate => format!("pto.declare_local_array -> {}", self.types(&op.results)),
            C::ArrayGet => {
                let [array, index] = [one("array"), one("index")];
                format!(
                    "pto.local_array_get {}[{}] : {} -> {}",
                    self.v(array),
                    self.v(index),
                    self.ty(array),
                    self.types(&op.results)
                )
            }
            C::ArraySet => {
                let [array, index, value] = [one("array"), one("index"), one("value")];
                format!(
                    "pto.local_array_set {}[{}], {} : {}, {}",
                    self.v(array),
                    self.v(index),
                    self.v(value),
                    self.ty(array),
                    self.ty(value)
                )
            }
            C::MakeTensorView => format!(
                "pto.make_tensor_view {}, shape = [{}], strides = [{}]{} : {}",
                self.v(one("ptr")),
                self.list(op.named("shape")),
                self.list(op.named("strides")),
                braces(
                    ["layout", "pto.inferred_layout"]
                        .iter()
                        .filter_map(|n| { Some(format!("{n} = {}", format::attr(op.opcode, n, op.attrs.get(n)?))) })
                ),
                self.types(&op.results)
            ),
            C::PartitionView => format!(
                "pto.partition_view {}, offsets = [{}], sizes = [{}] : {} -> {}",
                self.v(one("view")),
                self.list(op.named("offsets")),
                self.list(op.named("sizes")),
                self.ty(one("view")),
                self.types(&op.results)
            ),
            C::AddPtr => format!(
                "pto.addptr {}, {} : {} -> {}",
                self.v(one("ptr")),
                self.v(one("offset")),
                self.ty(one("ptr")),
                self.types(&op.results)
            ),
            C::LoadScalar => format!(
                "pto.load_scalar {}[{}] : {} -> {}",
                self.v(one("ptr")),
                self.v(one("offset")),
                self.ty(one("ptr")),
                self.types(&op.results)
            ),
            C::StoreScalar => format!(
                "pto.store_scalar {}, {}[{}] : {}, {}",
                self.v(one("value")),
                self.v(one("ptr")),
                self.v(one("offset")),
                self.ty(one("ptr")),
                self.ty(one("value"))
            ),
            C::AllocTile => {
                let mut text = "pto.alloc_tile".to_owned();
                for name in ["addr", "valid_row", "valid_col"] {
                    if let Some(&v) = op.named(name).first() {
                        text += &format!(" {name} = {}", self.v(v));
                    }
                }
                format!("{text} : {}", self.types(&op.results))
            }
            C::Subview => {
                let sizes: Vec<String> = op.attrs.ints("sizes").unwrap_or(&[]).iter().map(i64::to_string).collect();
                let mut text = format!(
                    "pto.subview {}[{}, {}] sizes [{}]",
                    self.v(one("tile")),
                    self.v(one("row")),
                    self.v(one("col")),
                    sizes.join(", ")
                );
                if let (Some(&r), Some(&c)) = (op.named("valid_row").first(), op.named("valid_col").first()) {
                    text += &format!(" valid [{}, {}]", self.v(r), self.v(c));
                }
                format!("{text} : {} -> {}", self.ty(one("tile")), self.types(&op.results))
            }
            C::TReshape | C::Bitcast => {
                let name = op.opcode.name();
                format!("pto.{name} {} : {} -> {}", self.list(all), self.types(all), self.types(&op.results))
            }
            C::SetValidShape => {
                let tile = one("tile");
                format!("pto.set_validshape {} : {}", self.list(all), self.ty(tile))
            }
            C::TGetVal => {
                let [t, index] = [one("source"), one("col")];
                format!(
                    "pto.tgetval ins({}, {} : {}, index) outs : {}",
                    self.v(t),
                    self.v(index),
                    self.ty(t),
                    self.types(&op.results)
                )
            }
            C::TSetVal => self.dps("tsetval", &[one("col"), one("value")], "", op),
            C::TDivS if op.attrs.bool("reverse") => self.dps("tdivs", &[one("s"), one("a")], "", op),
            C::TCvt => {
                let mode = op.attrs.word("mode").unwrap_or("rint").to_uppercase();
                let mut attrs = format!(" {{rmode = #pto<round_mode {mode}>");
                if op.attrs.get("saturate").is_some() {
                    let on = if op.attrs.bool("saturate") { "ON" } else { "OFF" };
                    attrs += &format!(", satmode = #pto<saturation_mode {on}>");
                }
                self.dps("tcvt", all, &format!("{attrs}}}"), op)
            }
            C::TCmp | C::TCmpS => {
                let predicate = op.attrs.word("predicate").unwrap_or("eq");
                self.dps(op.opcode.name(), all, &format!(" {{cmpMode = #pto<cmp {predicate}>}}"), op)
            }
            // The scratch stands before the scalar.
            C::TSelS => {
                let ins = ["mask", "a", "tmp", "s"].iter().flat_map(|name| op.named(name).to_vec()).collect::<Vec<_>>();
                self.dps("tsels", &ins, "", op)
            }
            C::TTri => {
                let upper = if op.attrs.bool("upper") { " {upperOrLower = 1 : i32}" } else { "" };
                self.dps("ttri", &self.front(op), upper, op)
            }
            C::TRandom => {
                let rounds = op.attrs.int("rounds").map(|n| format!(" {{rounds = {n} : i32}}")).unwrap_or_default();
                self.dps("trandom", all, &rounds, op)
            }
            C::TGatherMask | C::TScatterMask => {
                let name = if op.opcode == C::TGatherMask { "tgather" } else { "tscatter" };
                let pattern = op.attrs.int("pattern").and_then(pattern_name).unwrap_or("?");
                let marks: Vec<String> = marks(op).collect();
                format!(
                    "pto.{name} ins({}, {{maskPattern = #pto.mask_pattern<{pattern}>}} : {}, \"{}\") outs({} : {}){}",
                    self.list(all),
                    self.types(all),
                    op.attrs.word("axis").unwrap_or("row"),
                    self.list(&op.dests),
                    self.types(&op.dests),
                    if marks.is_empty() { String::new() } else { format!(" {{{}}}", marks.join(", ")) }
                )
            }
            C::TMrgSortLists => {
                let scratch = if op.named("tmp").is_empty() { " no_tmp" } else { "" };
                let inner = format!("{scratch} {{exhausted = {}}}", op.attrs.bool("exhausted"));
                self.dps("tmrgsort", all, &inner, op)
            }
            // With a scratch it stands inside.
            C::TColSum if all.len() == 2 => {
                let binary = op.attrs.bool("isBinary");
                self.dps("tcolsum", all, &format!(" {{isBinary = {binary}}}"), op)
            }
            C::TMrgSortCounted => {
                let scratch = if op.named("tmp").is_empty() { " no_tmp" } else { "" };
                let inner = format!("{scratch} {{exhausted = {}}}", op.attrs.bool("exhausted"));
                self.dps("tmrgsort", all, &inner, op)
            }
            C::TGatherCmp => self.dps("tgather", all, "", op),
            C::TStoreFix | C::TMovFix | C::TExtractFix | C::TInsertFix => self.fixed(op),
            C::SyncAllSoft => {
                let core = op.attrs.get("core_type");
                let core = core
                    .map_or(String::new(), |c| format!(", core_type = {}", format::attr(op.opcode, "core_type", c)));
                format!("pto.syncall({} : {}) mode = #pto.sync_all_mode<soft>{core}", self.list(all), self.types(all))
            }
            C::TPushViewToAiv | C::TPushViewToAic | C::TFreeViewFromAic | C::TFreeViewFromAiv => {
                let name = op.opcode.name().trim_end_matches(".view");
                format!("pto.{name}({} : {}) {}", self.list(all), self.types(all), fifo(op))
            }
            C::TPopViewFromAic | C::TPopViewFromAiv => {
                let name = op.opcode.name().trim_end_matches(".view");
                format!("pto.{name} {} -> {}", fifo(op), self.types(&op.results))
            }
            C::GetSubblockNum | C::GetBlockIdx | C::GetBlockNum | C::GetSubblockIdx => {
                format!("pto.{} -> {}", op.opcode.name(), self.types(&op.results))
            }
            C::SyncAll => {
                let core = op.attrs.word("core_type");
                let core = core.map_or(String::new(), |c| format!(", core_type = #pto.sync_core_type<{c}>"));
                format!("pto.syncall mode = #pto.sync_all_mode<hard>{core}")
            }
            C::AicInitializePipe | C::AivInitializePipe => {
                let names = ["id", "dir_mask", "slot_size", "slot_num", "local_slot_num"];
                let mut attrs: Vec<String> =
                    names.iter().filter_map(|n| op.attrs.int(n).map(|v| format!("{n} = {v}"))).collect();
                if op.attrs.get("nosplit").is_some() {
                    attrs.push(format!("nosplit = {}", op.attrs.bool("nosplit")));
                }
                if let Some(epilogue) = op.attrs.get("acc_push_epilogue") {
                    let text = format::attr(op.opcode, "acc_push_epilogue", epilogue);
                    attrs.push(format!("acc_push_epilogue = {text}"));
                }
                let groups = ["gm_slot_buffer", "gm_slot_tensor", "c2v_consumer_buf", "v2c_consumer_buf"];
                let operands: Vec<String> = groups
                    .iter()
                    .filter_map(|n| op.named(n).first().map(|&v| format!("{n} = {} : {}", self.v(v), self.ty(v))))
                    .collect();
                format!("pto.{} {{{}}} ({})", op.opcode.name(), attrs.join(", "), operands.join(", "))
            }
            C::ReserveBuffer => {
                let mut attrs = vec![
                    format!("name = {}", quoted(op.attrs.word("name").unwrap_or(""))),
                    format!("size = {}", op.attrs.int("size").unwrap_or(0)),
                    format!("location = #pto.address_space<{}>", op.attrs.word("location").unwrap_or("vec")),
                    format!("auto = {}", op.attrs.bool("auto")),
                ];
                attrs.extend(op.attrs.int("base").map(|b| format!("base = {b}")));
                format!("pto.reserve_buffer {{{}}} -> {}", attrs.join(", "), self.types(&op.results))
            }
            C::ImportReservedBuffer => format!(
                "pto.import_reserved_buffer {{name = {}, peer_func = @{}}} -> {}",
                quoted(op.attrs.word("name").unwrap_or("")),
                symbol(op.attrs.symbols("peer_func").and_then(|s| s.first()).map_or("", String::as_str)),
                self.types(&op.results)
            ),
            C::TPushToAiv | C::TPushToAic => {
                let tile = &[one("source")];
                format!(
                    "pto.{}({} : {}) {}{}",
                    op.opcode.name(),
                    self.list(tile),
                    self.types(tile),
                    fifo(op),
                    self.subblock(op)
                )
            }
            C::TPopFromAic | C::TPopFromAiv => {
                let extents = [op.named("valid_row"), op.named("valid_col")].concat();
                let valid = if extents.len() == 2 { format!("({})", self.list(&extents)) } else { String::new() };
                let subblock = self.subblock(op);
                format!("pto.{}{valid} {}{subblock} -> {}", op.opcode.name(), fifo(op), self.types(&op.results))
            }
            C::TFreeFromAic | C::TFreeFromAiv => format!("pto.{} {}", op.opcode.name(), fifo(op)),
            opcode if let Some(pieces) = format::format(opcode) => {
                let mut out = format!("pto.{}", opcode.name());
                self.pieces(op, &pieces, &format::shown(&pieces), &mut out);
                out
            }
            _ if op.dest().is_some() => self.dps(op.opcode.name(), &self.front(op), "", op),
            // Not an operation of kernels; shown, and refused by the parser.
            _ => format!("tw.{} {}", op.opcode.name(), a.map_or(String::new(), |_| self.list(all))),
        }
    }

    /// A block to go to, with its arguments.
    fn successor(&self, target: Option<i64>, values: &[Value]) -> String {
        let label = format!("^bb{}", target.unwrap_or(0));
        if values.is_empty() { label } else { format!("{label}({} : {})", self.list(values), self.types(values)) }
    }

    /// Which vector core of the cluster an end of a FIFO is for, if it is said.
    fn subblock(&self, op: &OpData) -> String {
        op.named("subblock").first().map(|&v| format!(" aiv_subblockid({})", self.v(v))).unwrap_or_default()
    }

    /// What the fix pipe quantises on the way: the table after the types, a scalar among the operands.
    fn fixed(&self, op: &OpData) -> String {
        let name = op.opcode.name().trim_end_matches(".fix");
        let info = op.opcode.info();
        let front: Vec<Value> = (0..info.operands.len())
            .filter(|&g| !matches!(info.operands[g].name, "fp" | "quant"))
            .flat_map(|g| op.group(g).to_vec())
            .collect();
        let mut ins = format!("{} : {}", self.list(&front), self.types(&front));
        if let Some(&fp) = op.named("fp").first() {
            let between = if op.opcode == C::TMovFix { ", " } else { " fp " };
            ins += &format!("{between}{} : {}", self.v(fp), self.ty(fp));
        }
        if let Some(&quant) = op.named("quant").first() {
            ins = match op.opcode {
                C::TInsertFix => format!("{ins} pre_quant {} : {}", self.v(quant), self.ty(quant)),
                _ => format!("{}, {} : {}, {}", self.list(&front), self.v(quant), self.types(&front), self.ty(quant)),
            };
        }
        let mut text = format!("pto.{name} ins({ins}) outs({} : {})", self.list(&op.dests), self.types(&op.dests));
        let rest = op.attrs.iter().map(|(n, v)| format!("{n} = {}", format::attr(op.opcode, n, v)));
        let rest: Vec<String> = rest.collect();
        if !rest.is_empty() {
            text += &format!(" {{{}}}", rest.join(", "));
        }
        text
    }

    /// An operation by its format.
    fn pieces(&self, op: &OpData, pieces: &[Piece], shown: &[&str], out: &mut String) {
        let values = |names: &[&str]| -> Vec<Value> { names.iter().flat_map(|n| op.named(n).to_vec()).collect() };
        for piece in pieces {
            match piece {
                Piece::Literal(text) => format::join(out, text),
                Piece::Operands(names) => format::join(out, &self.list(&values(names))),
                Piece::Types(names) => format::join(out, &self.types(&values(names))),
                Piece::Attr(name) => {
                    let text = op.attrs.get(name).map(|value| format::attr(op.opcode, name, value)).unwrap_or_default();
                    format::join(out, &text);
                }
                Piece::Dict => {
                    let rest = op.attrs.iter().filter(|(name, _)| !shown.contains(name));
                    let rest: Vec<String> = rest
                        .map(|(name, value)| format!("{name} = {}", format::attr(op.opcode, name, value)))
                        .collect();
                    if !rest.is_empty() {
                        format::join(out, &format!("{{{}}}", rest.join(", ")));
                    }
                }
                Piece::Results => format::join(out, &self.types(&op.results)),
                Piece::Optional(name, inner) if format::present(op, name) => self.pieces(op, inner, shown, out),
                Piece::Optional(..) => {}
            }
        }
    }

    /// Operands without stated extents.
    fn front(&self, op: &OpData) -> Vec<Value> {
        let info = op.opcode.info();
        (0..info.operands.len())
            .filter(|&i| info.operands[i].name != "valid")
            .flat_map(|i| op.group(i).to_vec())
            .collect()
    }

    /// `pto.name ins(… attrs : …) outs(… : …)`.
    fn dps(&self, name: &str, ins: &[Value], inner: &str, op: &OpData) -> String {
        let mut text = format!(
            "pto.{name} ins({}{inner} : {}) outs({} : {})",
            self.list(ins),
            self.types(ins),
            self.list(&op.dests),
            self.types(&op.dests)
        );
        let mut attrs = Vec::new();
        match op.opcode {
            C::TStore if op.attrs.word("atomic").is_some() => {
                attrs.push("atomicType = #pto<atomic_type atomic_add>".to_owned());
            }
            C::MGather | C::MGatherStaged | C::MScatter => {
                let (order, combine) = match op.opcode {
                    C::MGather | C::MGatherStaged => ("gatherOob = #pto<gather_oob", None),
                    _ => ("scatterOob = #pto<scatter_oob", op.attrs.word("atomic")),
                };
                attrs.push(format!("coalesce = #pto<coalesce {}>", op.attrs.word("mode").unwrap_or("elem")));
                attrs.extend(op.attrs.word("out_of_range").map(|word| format!("{order} {word}>")));
                attrs.extend(combine.map(|word| format!("scatterAtomicOp = #pto<scatter_atomic_op {word}>")));
            }
            C::TCi if op.attrs.get("descending").is_some() => {
                attrs.push(format!("descending = {}", op.attrs.bool("descending")));
            }
            C::TFillPad => {
                let typed = op.dest().and_then(|d| self.f.ty(d).as_tile()).map(|t| t.pad);
                let pad = op.attrs.word("pad").unwrap_or("zero");
                if typed.map(pad_word) != Some(pad) {
                    attrs.push(format!("tw.pad = \"{pad}\""));
                }
            }
            _ => {}
        }
        for name in
            format::plain(op.opcode).filter(|name| !inner.contains(name) && !matches!(*name, "mode" | "out_of_range"))
        {
            attrs.extend(op.attrs.get(name).map(|v| format!("{name} = {}", format::attr(op.opcode, name, v))));
        }
        attrs.extend(marks(op));
        if !attrs.is_empty() {
            text += &format!(" {{{}}}", attrs.join(", "));
        }
        // Extents that are not the destination's own have no form upstream.
        if let Some(group) = op.opcode.info().group("valid")
            && !op.group(group).is_empty()
        {
            text += &format!(" tw.valid [{}]", self.list(op.group(group)));
        }
        text
    }

    fn constant(&self, op: &OpData) -> String {
        let scalar = op.result().and_then(|r| const_scalar(self.f, r)).unwrap_or(Scalar::index(0));
        let name = element_name(scalar.dtype);
        match scalar.dtype {
            DType::Bool => format!("arith.constant {}", scalar.is_true()),
            d if d.is_float() => match op.attrs.get("value") {
                Some(ir::Attr::Float(v)) if v.is_finite() => format!("arith.constant {} : {name}", float(*v)),
                _ if scalar.as_f64().is_finite() => format!("arith.constant {} : {name}", float(scalar.as_f64())),
                _ => format!("arith.constant {:#X} : {name}", scalar.bits).replacen("0X", "0x", 1),
            },
            _ => format!("arith.constant {scalar} : {name}"),
        }
    }

    fn compare(&self, op: &OpData) -> String {
        let dtype = self.f.ty(op.operands[0]).as_scalar().unwrap_or(DType::Index);
        let word = op.attrs.word("predicate").unwrap_or("eq");
        let equality = matches!(word, "eq" | "ne");
        let (name, predicate) = if dtype.is_float() {
            ("cmpf", if word == "ne" { "une".to_owned() } else { format!("o{word}") })
        } else if equality {
            ("cmpi", word.to_owned())
        } else if dtype.is_signed_int() {
            ("cmpi", format!("s{word}"))
        } else {
            ("cmpi", format!("u{word}"))
        };
        format!("arith.{name} {predicate}, {} : {}", self.list(&op.operands), element_name(dtype))
    }

    fn cast(&self, op: &OpData) -> String {
        let from = self.f.ty(op.operands[0]).as_scalar().unwrap_or(DType::Index);
        let to = op.result().and_then(|r| self.f.ty(r).as_scalar()).unwrap_or(DType::Index);
        let name = cast_name(from, to);
        format!("{name} {} : {} to {}", self.list(&op.operands), element_name(from), element_name(to))
    }
}

/// The mask patterns, from 1; the digits are those of the last column first.
pub(crate) const PATTERNS: [&str; 7] = ["P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"];

fn pattern_name(pattern: i64) -> Option<&'static str> {
    PATTERNS.get(usize::try_from(pattern).ok()?.checked_sub(1)?).copied()
}

pub(crate) fn pad_word(pad: Pad) -> &'static str {
    match pad {
        Pad::Null => "null",
        Pad::Zero => "zero",
        Pad::Max => "max",
        Pad::Min => "min",
    }
}

/// A dictionary, if there is anything in it.
fn braces(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { String::new() } else { format!(" {{{}}}", items.join(", ")) }
}

/// What fusion says of an operation.
fn marks(op: &OpData) -> impl Iterator<Item = String> {
    let names = op.opcode.info().marks().iter().map(|mark| mark.name);
    names.filter_map(|n| Some(format!("{n} = {}", format::attr(op.opcode, n, op.attrs.get(n)?))))
}

fn fifo(op: &OpData) -> String {
    let names = ["id", "split"];
    let attrs: Vec<String> = names.iter().filter_map(|n| op.attrs.int(n).map(|v| format!("{n} = {v}"))).collect();
    format!("{{{}}}", attrs.join(", "))
}

/// Shortest digits that read back to the same double, with the point that the grammar demands.
fn float(v: f64) -> String {
    let text = format!("{v:?}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}

fn arith_name(opcode: C, dtype: DType) -> String {
    let kind = if dtype.is_float() {
        'f'
    } else if dtype.is_signed_int() {
        's'
    } else {
        'u'
    };
    let base = match opcode {
        C::ScalarAdd => "add",
        C::ScalarSub => "sub",
        C::ScalarMul => "mul",
        C::ScalarDiv => "div",
        C::ScalarRem => "rem",
        C::ScalarMin => "min",
        C::ScalarMax => "max",
        C::ScalarAnd => "and",
        C::ScalarOr => "or",
        C::ScalarXor => "xor",
        C::ScalarShl => "shl",
        _ => "shr",
    };
    match (opcode, kind) {
        (C::ScalarMin, 'f') => "minimumf".to_owned(),
        (C::ScalarMax, 'f') => "maximumf".to_owned(),
        (_, 'f') => format!("{base}f"),
        (C::ScalarDiv | C::ScalarRem | C::ScalarMin | C::ScalarMax | C::ScalarShr, kind) => format!("{base}{kind}i"),
        _ => format!("{base}i"),
    }
}

/// The operation that converts `from` to `to`; both keep their signedness in their types.
fn cast_name(from: DType, to: DType) -> &'static str {
    let signed = from.is_signed_int();
    if from == DType::Index || to == DType::Index {
        let unsigned = if from == DType::Index { !to.is_signed_int() } else { !signed };
        return if unsigned { "arith.index_castui" } else { "arith.index_cast" };
    }
    match (from.is_float(), to.is_float()) {
        (true, true) if to.size() < from.size() => "arith.truncf",
        (true, true) => "arith.extf",
        (true, false) if to.is_signed_int() => "arith.fptosi",
        (true, false) => "arith.fptoui",
        (false, true) if signed => "arith.sitofp",
        (false, true) => "arith.uitofp",
        (false, false) => {
            let (a, b) = (bits(from), bits(to));
            match (a.cmp(&b), signed) {
                (std::cmp::Ordering::Greater, _) => "arith.trunci",
                (std::cmp::Ordering::Less, true) => "arith.extsi",
                (std::cmp::Ordering::Less, false) => "arith.extui",
                // Between signed and unsigned: the same bits.
                (std::cmp::Ordering::Equal, _) => "builtin.unrealized_conversion_cast",
            }
        }
    }
}

fn bits(dtype: DType) -> u32 {
    if dtype == DType::Bool { 1 } else { dtype.bits() }
}
