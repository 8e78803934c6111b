//! Over which elements an operation goes, as far as that is known before the program runs.
//!
//! Two operations can be one loop only if they have the same number of rows and of valid columns. Where both are
//! constants that is plain. Where they are values of the program, equal values have equal *symbols*: a constant is its
//! number, an integer operation is named by what it computes and the symbols it computes it from, anything else (an
//! argument, a loop's index, a scalar from memory) is itself. Equal symbols mean equal numbers on every run; different
//! symbols mean nothing. Extents come from where they are stated, which is the `alloc_tile` or `subview` of the
//! destination (of the source, for a reduction), and are never concluded from two tiles meeting in an operation: a
//! program whose operands differ is wrong, but not ours to make wronger. A tile whose valid extents are restated along
//! the way (`set_validshape`) has no known ones.

use std::collections::BTreeMap;

use dtype::DType;
use ir::effects::{Effects, Extent, TileBox};
use ir::{Dim, Function, Op, Opcode as C, Value};

/// What an extent is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Symbol(u32);

/// Rows and valid columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Domain {
    pub(super) rows: Symbol,
    pub(super) cols: Symbol,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Meaning {
    Number(i64),
    Value(Value),
    /// Predicate of a comparison, type of the result, operands.
    Computed(C, Option<String>, Option<DType>, Vec<Symbol>),
}

pub(super) struct Domains<'f> {
    func: &'f Function,
    /// Whether extents that are no constants may be known to be equal.
    inference: bool,
    symbols: BTreeMap<Meaning, Symbol>,
    numbers: Vec<Option<i64>>,
    of_value: BTreeMap<Value, Symbol>,
}

impl<'f> Domains<'f> {
    pub(super) fn new(func: &'f Function, inference: bool) -> Domains<'f> {
        Domains { func, inference, symbols: BTreeMap::new(), numbers: Vec::new(), of_value: BTreeMap::new() }
    }

    /// `None` if the domain of this operation is not known.
    pub(super) fn of(&mut self, op: Op, effects: &Effects) -> Option<Domain> {
        let data = &self.func.ops[op];
        let elements = match data.opcode.info().domain {
            ir::info::Domain::Destination => effects.write.as_ref()?.elements?,
            ir::info::Domain::Source => effects.reads.iter().find(|r| r.operand == "source")?.elements?,
            _ => return None,
        };
        if !self.inference && !self.all_the_same(op) {
            return None;
        }
        let TileBox { rows, cols } = elements;
        Some(Domain { rows: self.extent(rows)?, cols: self.extent(cols)? })
    }

    /// The constant that a symbol is, if it is one.
    fn number(&self, symbol: Symbol) -> Option<i64> {
        self.numbers.get(symbol.0 as usize).copied().flatten()
    }

    /// Whether all tiles of an operation have the same valid extents, as constants of their types.
    fn all_the_same(&self, op: Op) -> bool {
        let data = &self.func.ops[op];
        let mut tiles = data.operands.iter().chain(&data.dests).filter_map(|&v| self.func.ty(v).as_tile());
        let Some(first) = tiles.next() else { return false };
        first.valid.iter().all(|d| matches!(d, Dim::Static(_))) && tiles.all(|t| t.valid == first.valid)
    }

    fn extent(&mut self, extent: Extent) -> Option<Symbol> {
        match extent {
            Extent::Static(n) => Some(self.symbol(Meaning::Number(i64::try_from(n).ok()?))),
            Extent::Dynamic(value) => Some(self.value(value, 0)),
            Extent::Unknown => None,
        }
    }

    fn symbol(&mut self, meaning: Meaning) -> Symbol {
        if let Some(&known) = self.symbols.get(&meaning) {
            return known;
        }
        let symbol = Symbol(self.numbers.len() as u32);
        self.numbers.push(match meaning {
            Meaning::Number(n) => Some(n),
            _ => None,
        });
        self.symbols.insert(meaning, symbol);
        symbol
    }

    fn value(&mut self, value: Value, depth: usize) -> Symbol {
        /// Longer chains of arithmetic are themselves.
        const MAX_DEPTH: usize = 64;
        if let Some(&known) = self.of_value.get(&value) {
            return known;
        }
        let func = self.func;
        let def = func.def_op(value).map(|op| &func.ops[op]);
        let meaning = match def {
            _ if let Some(n) = func.const_int(value) => Meaning::Number(n),
            Some(def) if depth < MAX_DEPTH && is_arithmetic(def.opcode) => {
                let operands: Vec<Symbol> = def.operands.iter().map(|&v| self.value(v, depth + 1)).collect();
                let small = |n: &i64| (0..=i64::from(i32::MAX)).contains(n);
                match (def.opcode, &operands[..]) {
                    // Whatever the integer types, so small a number stays what it is.
                    (C::ScalarCast, &[from]) if self.wide(value) && self.number(from).as_ref().is_some_and(small) => {
                        self.of_value.insert(value, from);
                        return from;
                    }
                    _ => {
                        let predicate = def.attrs.word("predicate").map(str::to_owned);
                        Meaning::Computed(def.opcode, predicate, func.ty(value).as_scalar(), operands)
                    }
                }
            }
            _ => Meaning::Value(value),
        };
        let symbol = self.symbol(meaning);
        self.of_value.insert(value, symbol);
        symbol
    }

    /// Holds every number of 31 bits.
    fn wide(&self, value: Value) -> bool {
        self.func.ty(value).as_scalar().is_some_and(|d| d.is_int() && d.size() >= 4)
    }
}

/// Operations whose result depends on nothing but their operands.
pub(super) fn is_arithmetic(opcode: C) -> bool {
    matches!(
        opcode,
        C::ScalarAdd
            | C::ScalarSub
            | C::ScalarMul
            | C::ScalarDiv
            | C::ScalarRem
            | C::ScalarMin
            | C::ScalarMax
            | C::ScalarAnd
            | C::ScalarOr
            | C::ScalarXor
            | C::ScalarShl
            | C::ScalarShr
            | C::ScalarCmp
            | C::ScalarNot
            | C::ScalarNeg
            | C::ScalarCast
            | C::Select
    )
}
