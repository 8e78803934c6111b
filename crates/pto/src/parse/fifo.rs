//! FIFOs between cores, and what waits for all of them.

use ir::builder::attrs;
use ir::text::Result;
use ir::{Attr, Attrs, Op, Opcode as C, Type, Value};

use super::{Body, Item};

impl Body<'_, '_, '_> {
    pub(super) fn syncall(&mut self, start: usize) -> Result<Op> {
        let mut list = Attrs::default();
        let mut operands = Vec::new();
        if self.p.c.eat("(") && !self.p.c.eat(")") {
            operands = self.values()?;
            self.types_of(&operands)?;
            self.p.c.expect(")")?;
        }
        let mut soft = false;
        if self.p.c.eat("mode") {
            self.p.c.expect("=")?;
            soft = match self.p.enumeration()? {
                Item::Enum(mode) if mode == "hard" || mode == "soft" => mode == "soft",
                _ => return Err(self.p.c.error_from(start, "attribute-value", "a mode is hard or soft".into())),
            };
            self.p.c.eat(",");
        }
        if self.p.c.eat("core_type") {
            self.p.c.expect("=")?;
            if let Item::Enum(core) = self.p.enumeration()? {
                list.set("core_type", Attr::Word(core));
            }
        }
        match (soft, &operands[..]) {
            (false, []) => Ok(self.make(C::SyncAll, &[], &[], &[], list)),
            (true, [workspace, used @ ..]) if used.len() <= 1 => {
                Ok(self.make(C::SyncAllSoft, &[&[*workspace], used], &[], &[], list))
            }
            (_, found) => Err(self.operands(start, "pto.syncall", usize::from(soft), found.len())),
        }
    }

    pub(super) fn initialize(&mut self, opcode: C, start: usize) -> Result<Op> {
        let given = self.p.attributes()?;
        let names = ["id", "dir_mask", "slot_size", "slot_num", "local_slot_num"];
        given.only(&self.p.c, &[&names[..], &["nosplit", "acc_push_epilogue"]].concat())?;
        let mut list = Attrs::default();
        for name in names {
            // An absent id is the first.
            if let Some(v) = given.int(name).or((name == "id").then_some(0)) {
                list.set(name, Attr::Int(v));
            }
        }
        if let Some(v) = given.bool("nosplit") {
            list.set("nosplit", Attr::Bool(v));
        }
        if let Some(item) = given.get("acc_push_epilogue") {
            self.set_attr(opcode.info(), "acc_push_epilogue", item, &mut list, start)?;
        }
        let mut groups = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        let some = self.p.c.eat("(");
        while some && !self.p.c.eat(")") {
            let start = self.p.mark();
            let name = self.p.c.expect_word("an operand")?;
            let index = opcode.info().group(name);
            let Some(index) = index.filter(|&i| groups[i].is_empty()) else {
                let message = format!("the operand `{name}` is not supported, or given twice");
                return Err(self.p.c.error_from(start, "unsupported-op", message));
            };
            self.p.c.expect("=")?;
            let value = self.value()?;
            self.types_of(&[value])?;
            groups[index].push(value);
            if !self.p.c.eat(",") {
                self.p.c.expect(")")?;
                break;
            }
        }
        let [gm, c2v, v2c, tensor] = &groups;
        Ok(self.make(opcode, &[gm, c2v, v2c, tensor], &[], &[], list))
    }

    pub(super) fn reserve(&mut self, start: usize) -> Result<Op> {
        let given = self.p.attributes()?;
        given.only(&self.p.c, &["name", "size", "location", "auto", "base"])?;
        let (Some(name), Some(size)) = (given.word("name"), given.int("size")) else {
            return Err(self.p.c.error_from(start, "syntax", "pto.reserve_buffer needs a name and a size".into()));
        };
        let mut list = attrs([
            ("name", Attr::Text(name.to_owned())),
            ("size", Attr::Int(size)),
            ("location", Attr::Word(given.word("location").unwrap_or("vec").to_owned())),
            ("auto", Attr::Bool(given.bool("auto").unwrap_or(true))),
        ]);
        if let Some(base) = given.int("base") {
            list.set("base", Attr::Int(base));
        }
        let ty = self.arrow()?;
        Ok(self.make(C::ReserveBuffer, &[], &[], &[ty], list))
    }

    pub(super) fn import(&mut self, start: usize) -> Result<Op> {
        let given = self.p.attributes()?;
        given.only(&self.p.c, &["name", "peer_func"])?;
        let (Some(name), Some(Item::Symbol(peer))) = (given.word("name"), given.get("peer_func")) else {
            let message = "pto.import_reserved_buffer needs a name and a peer function";
            return Err(self.p.c.error_from(start, "syntax", message.into()));
        };
        let list = attrs([("name", Attr::Text(name.to_owned())), ("peer_func", Attr::Symbols(vec![peer.clone()]))]);
        let ty = self.arrow()?;
        Ok(self.make(C::ImportReservedBuffer, &[], &[], &[ty], list))
    }

    /// `{id = 0, split = 0}`; an absent one is 0.
    pub(super) fn fifo(&mut self) -> Result<Attrs> {
        let given = self.p.attributes()?;
        given.only(&self.p.c, &["id", "split"])?;
        let int = |name| Attr::Int(given.int(name).unwrap_or(0));
        Ok(attrs([("id", int("id")), ("split", int("split"))]))
    }

    /// `aiv_subblockid(%i)`, in brackets of its own or not.
    fn subblock(&mut self) -> Result<Vec<Value>> {
        let mut ahead = self.p.c.clone();
        let bracket = ahead.eat("(") && ahead.eat("aiv_subblockid");
        if bracket {
            self.p.c.expect("(")?;
        }
        if !self.p.c.eat("aiv_subblockid") {
            return Ok(Vec::new());
        }
        self.p.c.expect("(")?;
        let value = self.value()?;
        self.p.c.expect(")")?;
        if bracket {
            self.p.c.expect(")")?;
        }
        Ok(vec![value])
    }

    pub(super) fn push(&mut self, opcode: C) -> Result<Op> {
        self.p.c.expect("(")?;
        let tile = self.value()?;
        self.types_of(&[tile])?;
        self.p.c.expect(")")?;
        let list = self.fifo()?;
        let subblock = self.subblock()?;
        if matches!(self.f.ty(tile), Type::View(_)) && subblock.is_empty() {
            let opcode = if opcode == C::TPushToAiv { C::TPushViewToAiv } else { C::TPushViewToAic };
            return Ok(self.make(opcode, &[&[tile]], &[], &[], list));
        }
        Ok(self.make(opcode, &[&[tile], &subblock], &[], &[], list))
    }

    pub(super) fn pop(&mut self, opcode: C) -> Result<Op> {
        let start = self.p.mark();
        // Before the attributes; `valid` after them says the same.
        let mut given = if self.p.c.eat("(") { self.values()? } else { Vec::new() };
        if !given.is_empty() {
            self.p.c.expect(")")?;
        }
        let list = self.fifo()?;
        if given.is_empty() && self.p.c.eat("valid") {
            given = self.values()?;
        }
        let subblock = self.subblock()?;
        let ty = self.arrow()?;
        if matches!(ty, Type::View(_)) && subblock.is_empty() && given.is_empty() {
            let opcode = if opcode == C::TPopFromAic { C::TPopViewFromAic } else { C::TPopViewFromAiv };
            return Ok(self.make(opcode, &[], &[], &[ty], list));
        }
        if let Some(t) = ty.as_tile()
            && !given.is_empty()
            && t.valid.iter().all(|d| d.known().is_some())
        {
            let message = format!("pto.{} is given extents that its type has already", opcode.name());
            return Err(self.p.c.error_from(start, "valid-operands", message));
        }
        let (row, col) = self.extents(&given, &ty)?;
        Ok(self.make(opcode, &[&row, &col, &subblock], &[], &[ty], list))
    }
}
