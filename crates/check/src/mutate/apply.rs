//! Making a fault.

use control::Control;
use dtype::DType;
use ir::builder::{attrs, const_scalar, detach};
use ir::{Attr, Dim, Function, Op, Opcode, Program, Type, Value};

use super::edit::{Before, alloc, exchange_uses, operand, replace_uses, tile, tile_mut};
use super::sites::{SIBLINGS, exchanged, others_of};
use super::{Fault, Mutation, Partner, Site, verdict};

/// Makes the fault. `site` must come from [`super::sites`] of this very program; `seed` decides what the fault leaves open
/// (by how much, which way).
pub fn apply(program: &mut Program, site: &Site, seed: u64) -> Mutation {
    let func = &mut program.functions[site.function];
    let before = ir::text::print_op(func, site.op);
    let (name, origin) = (func.name.clone(), func.ops[site.op].origin.map(|o| o.op));
    let mut change = Change { func, site, op: site.op, control: Control::new(seed) };
    let how = change.make();
    Mutation {
        what: site.fault.name(),
        function: site.function,
        op: site.op,
        origin,
        description: format!("@{name}: `{before}`: {how}"),
        rejected: verdict(program),
    }
}

struct Change<'a> {
    func: &'a mut Function,
    site: &'a Site,
    op: Op,
    control: Control,
}

impl Change<'_> {
    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.control.choose(list.len())].clone()
    }

    /// Makes the change and says what it is.
    fn make(&mut self) -> String {
        match self.site.fault {
            Fault::WrongOffset => self.offset(),
            Fault::ShiftedContraction => self.offset(),
            Fault::WrongSize => self.add("the size", -1),
            Fault::WrongStride => self.add("the stride", -1),
            Fault::DroppedStore
            | Fault::DroppedLoad
            | Fault::DroppedOperation
            | Fault::DroppedSync
            | Fault::DroppedPush
            | Fault::DroppedFree => {
                detach(self.func, self.op);
                "left out".to_owned()
            }
            Fault::SwappedOperands => self.swap_operands(),
            Fault::WrongOperation => self.sibling(),
            Fault::WrongPredicate => self.predicate(),
            Fault::WrongIndices => self.indices(),
            Fault::WrongPattern => {
                let old = self.data().attrs.int("pattern");
                let others: Vec<i64> = others_of(old).into_iter().filter(|&p| Some(p) != old).collect();
                let new = self.pick(&others);
                self.func.ops[self.op].attrs.set("pattern", Attr::Int(new));
                format!("takes the columns of pattern {new}")
            }
            Fault::WrongMode => self.mode(),
            Fault::ExtraHop => self.extra_hop(),
            Fault::WrongHop => self.wrong_hop(),
            Fault::DroppedAccumulation => {
                let data = &mut self.func.ops[self.op];
                let (start, what) = match data.opcode {
                    Opcode::TMatmulBias => (2, "bias"),
                    _ => (0, "accumulator"),
                };
                data.opcode = Opcode::TMatmul;
                data.operands.remove(start);
                data.segments.remove(start);
                format!("starts from zero instead of the {what}")
            }
            Fault::ShortContraction => self.short_contraction(),
            Fault::CutContraction => self.cut_contraction(),
            Fault::CoalescedTiles => self.coalesce(),
            Fault::LoopBound => self.loop_bound(),
            Fault::WrongConstant => self.constant(),
            Fault::SwappedPops => self.swap_pops(),
            Fault::SwappedArguments => {
                let Some(Partner::Operand(other)) = self.site.partner else {
                    unreachable!("an exchange of arguments has two");
                };
                self.func.ops[self.op].operands.swap(self.site.operand as usize, other as usize);
                format!("arguments {} and {other} exchanged", self.site.operand)
            }
            Fault::WrongPad => {
                let old = self.func.ops[self.op].attrs.word("pad").unwrap_or_default().to_owned();
                let others: Vec<&str> = ir::ops::PADS.iter().copied().filter(|p| *p != old).collect();
                let new = self.pick(&others);
                self.func.ops[self.op].attrs.set("pad", Attr::Word(new.to_owned()));
                format!("pads with {new} instead of {old}")
            }
            Fault::ReducedValid => self.reduce_valid(),
            Fault::SwappedBranches => {
                self.func.ops[self.op].regions.swap(0, 1);
                "branches exchanged".to_owned()
            }
        }
    }

    fn data(&self) -> &ir::OpData {
        &self.func.ops[self.op]
    }

    fn add(&mut self, what: &str, delta: i64) -> String {
        let at = self.site.operand as usize;
        let old = self.func.ops[self.op].operands[at];
        let new = Before::new(self.func, self.op).plus(old, delta);
        self.func.ops[self.op].operands[at] = new;
        let (by, word) = (delta.unsigned_abs(), if delta < 0 { "less" } else { "more" });
        format!("{what} (operand {at}) is {by} {word}")
    }

    fn offset(&mut self) -> String {
        let deltas = super::shift::deltas(self.func, self.op, self.site.operand);
        let delta = self.pick(&deltas);
        self.add("the offset", delta)
    }

    fn swap_operands(&mut self) -> String {
        let data = &mut self.func.ops[self.op];
        if data.opcode == Opcode::TDivS {
            let reverse = data.attrs.bool("reverse");
            data.attrs.set("reverse", Attr::Bool(!reverse));
        } else {
            let first = exchanged(data.opcode);
            data.operands.swap(first, first + 1);
        }
        "operands exchanged".to_owned()
    }

    fn sibling(&mut self) -> String {
        let data = &mut self.func.ops[self.op];
        let Some((_, to)) = SIBLINGS.iter().find(|(from, _)| *from == data.opcode) else {
            unreachable!("{} has no sibling", data.opcode.name());
        };
        data.opcode = *to;
        format!("is {}", to.name())
    }

    fn predicate(&mut self) -> String {
        let data = &mut self.func.ops[self.op];
        let new = match data.attrs.word("predicate") {
            Some("lt") => "le",
            Some("le") => "lt",
            Some("gt") => "ge",
            Some("ge") => "gt",
            Some("eq") => "ne",
            _ => "eq",
        };
        data.attrs.set("predicate", Attr::Word(new.to_owned()));
        format!("compares by {new}")
    }

    fn indices(&mut self) -> String {
        let Some(Partner::Op(other)) = self.site.partner else {
            unreachable!("indices of another tile need it");
        };
        let text = ir::text::print_op(self.func, other);
        self.func.ops[self.op].operands[self.site.operand as usize] = self.func.ops[other].results[0];
        format!("takes its indices from `{text}`")
    }

    fn mode(&mut self) -> String {
        let old = self.data().attrs.word("mode").unwrap_or_default().to_owned();
        let mut choices: Vec<Option<&str>> = ir::ops::ROUND_MODES.iter().map(|&m| Some(m)).collect();
        choices.retain(|m| *m != Some(old.as_str()));
        choices.push(None);
        let choice = self.pick(&choices);
        let attrs = &mut self.func.ops[self.op].attrs;
        match choice {
            Some(mode) => {
                attrs.set("mode", Attr::Word(mode.to_owned()));
                format!("rounds by {mode} instead of {old}")
            }
            None => {
                let saturate = !attrs.bool("saturate");
                attrs.set("saturate", Attr::Bool(saturate));
                format!("saturation is {}", if saturate { "on" } else { "off" })
            }
        }
    }

    /// Like `of`, of another element type.
    fn buffer_like(&mut self, of: Value, dtype: DType) -> Value {
        let Some(from) = alloc(self.func, of) else {
            unreachable!("the source of an extra hop is a buffer of its own");
        };
        let mut ty = self.func.ty(of).clone();
        if let Type::Tile(t) = &mut ty {
            t.dtype = dtype;
        }
        let data = &self.func.ops[from];
        let (row, col) = (data.named("valid_row").to_vec(), data.named("valid_col").to_vec());
        Before::new(self.func, self.op).value(Opcode::AllocTile, &[&[], &row, &col], ty, ir::Attrs::default())
    }

    fn extra_hop(&mut self) -> String {
        let source = self.data().operands[0];
        let narrow = self.buffer_like(source, DType::BF16);
        let wide = self.buffer_like(source, DType::F32);
        let rint = || attrs([("mode", Attr::Word("rint".to_owned()))]);
        let mut before = Before::new(self.func, self.op);
        before.dest(Opcode::TCvt, &[&[source]], narrow, rint());
        before.dest(Opcode::TCvt, &[&[narrow]], wide, rint());
        self.func.ops[self.op].operands[0] = wide;
        "takes a detour through bf16".to_owned()
    }

    fn wrong_hop(&mut self) -> String {
        let dest = self.data().dests[0];
        let Some(t) = tile_mut(self.func, dest) else {
            unreachable!("a conversion makes a tile");
        };
        t.dtype = if t.dtype == DType::F16 { DType::BF16 } else { DType::F16 };
        format!("goes through {}", t.dtype)
    }

    /// The operands of a product, and its k.
    fn contraction(&self) -> (Value, Value, u64) {
        let data = self.data();
        let (lhs, rhs) = (data.named("lhs")[0], data.named("rhs")[0]);
        let k = tile(self.func, lhs).and_then(|t| t.valid[1].known()).unwrap_or(0);
        (lhs, rhs, k)
    }

    fn short_contraction(&mut self) -> String {
        let (lhs, rhs, k) = self.contraction();
        let mut cuts = vec![1];
        cuts.extend([16, k / 2].into_iter().filter(|&n| n > 1 && n < k));
        let cut = self.pick(&cuts);
        for (value, axis) in [(lhs, 1), (rhs, 0)] {
            if let Some(t) = tile_mut(self.func, value) {
                t.valid[axis] = Dim::Static(k - cut);
            }
        }
        format!("contracts {} of {k}", k - cut)
    }

    fn cut_contraction(&mut self) -> String {
        let (lhs, rhs, k) = self.contraction();
        let dest = self.data().dests[0];
        let (Some(lt), Some(rt)) = (tile(self.func, lhs).cloned(), tile(self.func, rhs).cloned()) else {
            unreachable!("the operands of a product are tiles");
        };
        let (m, n) = (lt.shape[0], rt.shape[1]);
        let accumulates = self.data().opcode == Opcode::TMatmulAcc;
        let mut before = Before::new(self.func, self.op);
        let (l0, r0) = (before.window(lhs, &lt, (0, 0), (m, 16)), before.window(rhs, &rt, (0, 0), (16, n)));
        let (l1, r1) = (before.window(lhs, &lt, (0, 16), (m, k - 16)), before.window(rhs, &rt, (16, 0), (k - 16, n)));
        if accumulates {
            before.dest(Opcode::TMatmulAcc, &[&[dest], &[l0], &[r0]], dest, ir::Attrs::default());
        } else {
            before.dest(Opcode::TMatmul, &[&[l0], &[r0]], dest, ir::Attrs::default());
        }
        let data = &mut self.func.ops[self.op];
        data.opcode = Opcode::TMatmulAcc;
        data.operands = vec![dest, l1, r1];
        data.segments = vec![1, 1, 1];
        format!("k is cut into 16 and {}", k - 16)
    }

    fn coalesce(&mut self) -> String {
        let Some(Partner::Op(other)) = self.site.partner else {
            unreachable!("coalescing takes two tiles");
        };
        let text = ir::text::print_op(self.func, other);
        if self.func.properties.placed {
            let address = self.func.ops[other].named("addr").to_vec();
            let Some(at) = operand(self.data(), "addr") else {
                unreachable!("tiles of a placed function have addresses");
            };
            let ty = self.func.ty(address[0]).clone();
            // The other's address may be defined after this one; a literal can be made again here.
            let address = match self.func.const_int(address[0]) {
                Some(v) => Before::new(self.func, self.op).constant(&ty, Attr::Int(v)),
                None => address[0],
            };
            self.func.ops[self.op].operands[at as usize] = address;
        } else {
            let (this, that) = (self.data().results[0], self.func.ops[other].results[0]);
            replace_uses(self.func, this, that);
        }
        format!("lies on the bytes of `{text}`")
    }

    fn loop_bound(&mut self) -> String {
        let data = self.data();
        let [lower, upper, step] = ["lower", "upper", "step"].map(|g| operand(data, g).unwrap_or(0) as usize);
        let (operand, opcode, how) = self.pick(&[
            (upper, Opcode::ScalarAdd, "runs one step further"),
            (upper, Opcode::ScalarSub, "stops one step early"),
            (lower, Opcode::ScalarAdd, "starts one step late"),
        ]);
        let data = self.data();
        let (old, step) = (data.operands[operand], data.operands[step]);
        let ty = self.func.ty(old).clone();
        let new = Before::new(self.func, self.op).value(opcode, &[&[old], &[step]], ty, ir::Attrs::default());
        self.func.ops[self.op].operands[operand] = new;
        how.to_owned()
    }

    fn constant(&mut self) -> String {
        let at = self.site.operand as usize;
        let old = self.data().operands[at];
        let Some(value) = const_scalar(self.func, old) else {
            unreachable!("the operand is a literal");
        };
        let new = match value.as_i64() {
            _ if value.dtype == DType::Bool => Attr::Bool(!value.is_true()),
            Some(v) => Attr::Int(v.wrapping_add(1)),
            None => {
                let v = value.as_f64();
                // Infinities and NaN have no neighbours that differ.
                let mut choices = if v.is_finite() { vec![v + 1.0] } else { vec![0.0] };
                if v != 0.0 && v.is_finite() {
                    choices.extend([-v, 2.0 * v, 0.0]);
                }
                Attr::Float(self.pick(&choices))
            }
        };
        let text = format!("{new:?}");
        let ty = self.func.ty(old).clone();
        let new = Before::new(self.func, self.op).constant(&ty, new);
        self.func.ops[self.op].operands[at] = new;
        format!("the constant {value} is {text}")
    }

    fn swap_pops(&mut self) -> String {
        let Some(Partner::Op(other)) = self.site.partner else {
            unreachable!("an exchange of pops takes two");
        };
        let (a, b) = (self.data().attrs.int("id"), self.func.ops[other].attrs.int("id"));
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                self.func.ops[self.op].attrs.set("id", Attr::Int(b));
                self.func.ops[other].attrs.set("id", Attr::Int(a));
                format!("pops FIFO {b}, and the next pop FIFO {a}")
            }
            _ => {
                let (x, y) = (self.data().results[0], self.func.ops[other].results[0]);
                exchange_uses(self.func, x, y);
                "its value and that of the next pop exchanged".to_owned()
            }
        }
    }

    fn reduce_valid(&mut self) -> String {
        let axis = self.site.operand as usize;
        let (result, group) = (self.data().results[0], if axis == 0 { "valid_row" } else { "valid_col" });
        let was = tile_mut(self.func, result).map(|t| std::mem::replace(&mut t.valid[axis], Dim::Dynamic));
        match was {
            // Decided at run time now: a smaller literal would contradict the types of what is made from the tile.
            Some(Dim::Static(n)) => {
                let less = Before::new(self.func, self.op).constant(&Type::INDEX, Attr::Int(n as i64 - 1));
                let index = self.data().opcode.info().group(group).unwrap_or(0);
                let data = &mut self.func.ops[self.op];
                let at: u32 = data.segments[..index].iter().sum();
                data.operands.insert(at as usize, less);
                data.segments[index] += 1;
            }
            _ => {
                let Some(at) = operand(self.data(), group) else {
                    unreachable!("a dynamic valid extent has an operand");
                };
                let old = self.data().operands[at as usize];
                let new = Before::new(self.func, self.op).plus(old, -1);
                self.func.ops[self.op].operands[at as usize] = new;
            }
        }
        format!("one {} less is valid", if axis == 0 { "row" } else { "column" })
    }
}
