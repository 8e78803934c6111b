//! Judges where tiles lie.
//!
//! With the version before placement ([`memory`]): every byte that an operation reads has the origin that it had when each
//! tile had storage of its own, on every path, back edges included ([`crate::reach`]). So two tiles may share bytes as
//! long as neither needs them while the other has them. What was undefined before may be anything.
//!
//! By itself a placed function ([`placement`]; a level-3 file has no version before) is judged by rules about single
//! operations and buffers:
//!
//! * `memory-capacity`: a tile ends within its buffer.
//! * `memory-alignment`: a tile starts at a multiple of 32 bytes; so does each of several.
//! * `memory-reserved`: no tile lies on the slots that a `reserve_buffer` keeps.
//! * `memory-scratch`: scratch shares no byte with anything else of its operation.
//! * `memory-in-place`: a result shares bytes with an operand only where no element is overwritten before it is read.
//! * `memory-overlap` (with a version before): another tile's write comes between a write and a read of it.
//!
//! **In place.** A planner may use what the op table allows: the same elements of the same bytes. Who placed a file by
//! hand (or by another planner) goes further, and is right as long as the result never *overtakes* the operand: operations
//! that take element by element, in the order of the bytes, may write an element where it, or one before it, was. That is
//! how a conversion to a narrower type works on the spot. Operands that are read more than once (a vector for all rows,
//! indices, a mask) may not be touched at all.

use chip::{BLOCK_BYTES, Space};
use diag::Diagnostic;
use ir::info::Domain;
use ir::{Function, FunctionKind, Major, Op, OpData, Opaque, Opcode as C, Program, Type};

use crate::access::{Access, ByteBox, Footprint, FunctionAccesses, Kind, Memory};
use crate::correspond::Mode;
use crate::difference::{Difference, Versions, accesses};
use crate::reach::{Def, Reach};
use crate::verdict::{Bytes, Finding, Site, Verdict, memory_name, on_line};

/// Whether the plan of every kernel of `after` keeps what `before` means, where `before` had no addresses; and whether it
/// is sound in itself.
pub fn memory(before: &Program, after: &Program) -> Verdict {
    let mut verdict = Verdict::default();
    for (_, func) in after.functions.iter().filter(|(_, f)| is_kernel(f)) {
        match before.function(&func.name).map(|id| &before.functions[id]) {
            Some(old) => verdict.add(memory_of(after.arch, old, func)),
            None => verdict.unsupported.push(Diagnostic::unsupported(
                "memory-no-partner",
                format!("`{}` has no function of its name to be compared with", func.name),
            )),
        }
    }
    verdict
}

/// As [`memory`], of one function.
pub fn memory_of(arch: chip::Arch, before: &Function, after: &Function) -> Verdict {
    let (old, new) = (accesses(arch, before), accesses(arch, after));
    let strict = !crate::order::is_placed(before);
    let mut verdict = Checker { arch, func: after, accesses: &new, strict }.verdict();
    if !strict {
        return verdict;
    }
    let versions = Versions::new(Mode::Placed, (before, &old), (after, &new));
    let (b, a) = versions.reach(Mode::Placed);
    let found = versions.differences(&b, &a);
    for &op in found.lost.iter().chain(found.passes_on.iter().map(|(b, _)| b)) {
        let name = before.ops[op].opcode.name();
        let d = Diagnostic::unsupported(
            "memory-other-operations",
            format!("`{name}`{} is not what it was: a plan of memory only gives addresses", on_line(before, op)),
        );
        verdict.unsupported.push(d.at(before.ops[op].span, "this operation"));
    }
    let report = Report { versions: &versions, before: &b, after: &a };
    let mut last = None;
    for difference in &found.reads {
        let finding = report.finding(difference);
        let key = (difference.reader.1, finding.second.as_ref().map(|s| s.op));
        if last != Some(key) {
            verdict.findings.push(finding);
        }
        last = Some(key);
    }
    verdict
}

/// Whether the addresses of every placed kernel are sound in themselves.
pub fn placement(program: &Program) -> Verdict {
    let mut verdict = Verdict::default();
    for (_, func) in program.functions.iter().filter(|(_, f)| is_kernel(f)) {
        verdict.add(placement_of(program.arch, func));
    }
    verdict
}

/// As [`placement`], of one function.
pub fn placement_of(arch: chip::Arch, func: &Function) -> Verdict {
    Checker { arch, func, accesses: &accesses(arch, func), strict: false }.verdict()
}

fn is_kernel(func: &Function) -> bool {
    matches!(func.kind, FunctionKind::Kernel(_) | FunctionKind::Helper)
}

struct Checker<'a> {
    arch: chip::Arch,
    func: &'a Function,
    accesses: &'a FunctionAccesses,
    /// The plan was made from tiles without addresses: in place only as the op table says.
    strict: bool,
}

impl Checker<'_> {
    fn verdict(&self) -> Verdict {
        let mut out = Verdict::default();
        let reserved = self.reserved();
        for o in &self.accesses.ops {
            let data = &self.func.ops[o.op];
            if matches!(data.opcode, C::AllocTile | C::AllocTiles | C::TAssign) {
                self.allocation(o.op, data, &reserved, &mut out);
            }
            self.operands(o.op, data, &o.accesses, &mut out);
        }
        out
    }

    /// What `reserve_buffer`s keep, where that is known.
    fn reserved(&self) -> Vec<(Op, Space, ByteBox)> {
        let mut out = Vec::new();
        for o in &self.accesses.ops {
            let data = &self.func.ops[o.op];
            let number = |name| data.attrs.int(name).and_then(|n| u64::try_from(n).ok());
            let space = data.attrs.word("location").and_then(|w| w.parse().ok());
            if data.opcode == C::ReserveBuffer
                && let (Some(base), Some(size), Some(space)) = (number("base"), number("size"), space)
            {
                out.push((o.op, space, ByteBox::range(base, size)));
            }
        }
        out
    }

    fn finding(&self, rule: &'static str, op: Op, role: &str, message: String) -> Finding {
        Finding { rule, message, first: Site::new(self.func, op, role), second: None, bytes: None, help: None }
    }

    fn allocation(&self, op: Op, data: &OpData, reserved: &[(Op, Space, ByteBox)], out: &mut Verdict) {
        let func = self.func;
        let Some(result) = data.result() else { return };
        let (tile, count) = match func.ty(result) {
            Type::Tile(tile) => (tile, 1),
            Type::Opaque(Opaque::Tiles { tile, count }) => (tile, *count),
            _ => return,
        };
        let (Some(space), Some(&addr)) = (tile.space, data.named("addr").first()) else { return };
        let Some(start) = func.const_int(addr).and_then(|n| u64::try_from(n).ok()) else {
            let message = "the address of this tile is not a constant: what it overlaps is not known";
            let d = Diagnostic::unsupported("memory-address", message);
            out.unsupported.push(d.at(data.span, format!("in `{}`", func.name)));
            return;
        };
        let name = func.values[result].name.as_deref().map_or("a tile".to_owned(), |n| format!("`%{n}`"));
        let bytes = tile.bytes().saturating_mul(count);
        let end = start.saturating_add(bytes);
        let place = Some(Bytes { memory: space.name().to_owned(), range: start..end });
        let block = BLOCK_BYTES as u64;
        if !start.is_multiple_of(block) || (count > 1 && !tile.bytes().is_multiple_of(block)) {
            let message = if start.is_multiple_of(block) {
                format!("the tiles of {name} are {} bytes apart, which is no multiple of {block}", tile.bytes())
            } else {
                format!("{name} starts at byte {start} of {space}, which is no multiple of {block}")
            };
            let finding = self.finding("memory-alignment", op, "is not aligned", message);
            out.findings.push(Finding { bytes: place.clone(), ..finding });
        }
        let capacity = self.arch.chip().capacity(space).assembler as u64;
        if end > capacity {
            let message = format!("{name} ends at byte {end} of {space}, which has {capacity} on {}", self.arch);
            let finding = self.finding("memory-capacity", op, "is too far back", message);
            out.findings.push(Finding { bytes: place.clone(), ..finding });
        }
        let own = ByteBox::range(start, bytes);
        if let Some((reserve, _, kept)) = reserved.iter().find(|(_, s, kept)| *s == space && own.meets(kept)) {
            let range = start.max(kept.start)..end.min(kept.end());
            let message = format!("{name} lies on bytes {}..{} of {space}, which a FIFO has", range.start, range.end);
            let finding = self.finding("memory-reserved", op, "lies on them", message);
            let second = Some(Site::new(func, *reserve, "keeps them"));
            out.findings.push(Finding { second, bytes: Some(Bytes { range, memory: space.name().into() }), ..finding });
        }
    }

    /// What the operands of one operation share.
    fn operands(&self, op: Op, data: &OpData, accesses: &[Access], out: &mut Verdict) {
        let tiles = |a: &&Access| matches!(a.memory, Memory::Space(_) | Memory::Root(_) | Memory::Slots(_));
        let tiles: Vec<&Access> = accesses.iter().filter(tiles).collect();
        for (i, w) in tiles.iter().enumerate().filter(|(_, w)| w.writes()) {
            for (j, r) in tiles.iter().enumerate() {
                // Two places of one tile are on different paths.
                let later = r.writes() && w.writes() && j <= i;
                if i == j || later || (w.value == r.value && r.writes()) || !w.overlaps(r) {
                    continue;
                }
                let scratch = w.kind == Kind::Scratch || r.kind == Kind::Scratch;
                let (Footprint::Box(x), Footprint::Box(y)) = (w.bytes, r.bytes) else {
                    let d = Diagnostic::unsupported(
                        "memory-address",
                        format!("`{}` has operands at addresses that are not known", data.opcode.name()),
                    );
                    out.unsupported.push(d.at(data.span, format!("in `{}`", self.func.name)));
                    return;
                };
                if !scratch && !r.writes() && self.in_place(data, w, r) {
                    continue;
                }
                // Somewhere in a buffer: that they meet is only possible.
                if self.spread(w) || self.spread(r) {
                    let d = Diagnostic::unsupported(
                        "memory-offset",
                        format!(
                            "`{}` has `{}` and `{}` in one buffer, at an offset known at run time only",
                            data.opcode.name(),
                            w.operand,
                            r.operand
                        ),
                    );
                    out.unsupported.push(d.at(data.span, format!("in `{}`", self.func.name)));
                    return;
                }
                let range = x.start.max(y.start)..x.end().min(y.end());
                let name = data.opcode.name();
                let (rule, message) = if scratch {
                    let (s, other) = if w.kind == Kind::Scratch { (w, r) } else { (r, w) };
                    let text = format!("the scratch `{}` of `{name}` shares bytes with `{}`", s.operand, other.operand);
                    ("memory-scratch", text)
                } else if r.writes() {
                    ("memory-in-place", format!("two results of `{name}` share bytes"))
                } else {
                    let text = format!("`{name}` overwrites `{}` before it has read all of it", r.operand);
                    ("memory-in-place", text)
                };
                let message = format!("{message}{}", on_line(self.func, op));
                let memory = memory_name(self.func, w.memory);
                let finding = self.finding(rule, op, "has both", message);
                out.findings.push(Finding { bytes: Some(Bytes { memory, range }), ..finding });
            }
        }
    }

    /// Whether an access is somewhere in a range that is larger than its tile.
    fn spread(&self, a: &Access) -> bool {
        let tile = a.value.and_then(|v| self.func.ty(v).as_tile());
        let Footprint::Box(b) = a.bytes else { return true };
        tile.is_some_and(|t| b.rows == 1 && b.row_bytes > t.bytes())
    }

    /// Whether writing `w` never destroys what of `r` is still to be read.
    fn in_place(&self, data: &OpData, w: &Access, r: &Access) -> bool {
        let (Some(x), Some(y)) = (self.lines(w), self.lines(r)) else {
            // Boxes: as a whole.
            return r.in_place && w.bytes == r.bytes;
        };
        // Fewer rows or columns valid on one side make no difference.
        let same = !self.spread(r)
            && x.start == y.start
            && x.size == y.size
            && x.by_row == y.by_row
            && (x.pitch == y.pitch || x.count <= 1 || y.count <= 1);
        if r.in_place && same {
            return true;
        }
        // A copy onto itself.
        if matches!(data.opcode, C::TMov | C::TExtract) && w.bytes == r.bytes && x.size == y.size {
            return true;
        }
        if self.strict || x.by_row != y.by_row {
            return false;
        }
        match walk(data, r.operand) {
            Walk::Elements => !overtakes(&x, &y),
            // Column by column: the first row is as good as all of it.
            Walk::Columns => x.by_row && !overtakes(&x, &Lines { count: 1, ..y }),
            Walk::Unknown => false,
        }
    }

    /// The rows (or columns, if column-major) of an access to a tile without boxes, if it is known where they are.
    fn lines(&self, a: &Access) -> Option<Lines> {
        let tile = self.func.ty(a.value?).as_tile()?;
        let Footprint::Box(b) = a.bytes else { return None };
        if tile.layout.slayout.is_some() {
            return None;
        }
        let by_row = tile.layout.blayout == Major::Row;
        let size = tile.dtype.size() as u64;
        let (count, line) = if by_row { (tile.rows(), tile.cols() * size) } else { (tile.cols(), tile.rows() * size) };
        if self.spread(a) {
            // One line at a run-time offset: at the least one, or further on, where nothing can overtake it that does not
            // here.
            let lowest = Lines { start: b.start, count, pitch: line, bytes: line, size, by_row };
            return (count == 1 && !a.writes()).then_some(lowest);
        }
        if b.rows == 1 && b.row_bytes > line && line > 0 {
            // Lines without gaps are one run of bytes.
            let count = b.row_bytes / line;
            return Some(Lines { start: b.start, count, pitch: line, bytes: line, size, by_row });
        }
        Some(Lines { start: b.start, count: b.rows, pitch: b.row_stride, bytes: b.row_bytes, size, by_row })
    }
}

/// Lines of elements, in the order in which an operation takes them.
#[derive(Clone, Copy, Debug)]
struct Lines {
    start: u64,
    count: u64,
    /// From one line to the next.
    pitch: u64,
    /// Of one line.
    bytes: u64,
    /// Of one element.
    size: u64,
    by_row: bool,
}

/// Whether writing element after element of `w` overwrites one of `r` that comes later. All distances are linear in line and
/// column, so the corners decide.
fn overtakes(w: &Lines, r: &Lines) -> bool {
    let count = w.count.min(r.count);
    let columns = (w.bytes / w.size.max(1)).min(r.bytes / r.size.max(1));
    if count == 0 || columns == 0 {
        return false;
    }
    let end = |line: u64, column: u64| w.start + line * w.pitch + (column + 1) * w.size;
    let next = |line: u64, column: u64| r.start + line * r.pitch + column * r.size;
    let mut ahead = false;
    for line in [0, count - 1] {
        if columns > 1 {
            for column in [0, columns - 2] {
                ahead |= end(line, column) > next(line, column + 1);
            }
        }
        if line + 1 < count {
            ahead |= end(line, columns - 1) > next(line + 1, 0);
        }
    }
    // The last but one line, at its end.
    if count > 1 {
        ahead |= end(count - 2, columns - 1) > next(count - 1, 0);
    }
    ahead
}

/// In which order an operation takes an operand.
enum Walk {
    /// Every element once, row after row, each for the element of the result at its place.
    Elements,
    /// Every column once, for the element of the result in that column.
    Columns,
    Unknown,
}

fn walk(data: &OpData, operand: &str) -> Walk {
    let info = data.opcode.info();
    let pointwise = info.domain == Domain::Destination && (!info.in_place.is_empty() || data.opcode == C::TCvt);
    match (data.opcode, operand) {
        (C::TColExpandExpDif | C::TRowExpandExpDif, "a") => Walk::Elements,
        (C::TMov | C::TExtract, "source") => Walk::Elements,
        (C::TColSum | C::TColMax | C::TColMin | C::TColProd, "source") => Walk::Columns,
        (_, "a" | "b") if pointwise => Walk::Elements,
        _ => Walk::Unknown,
    }
}

struct Report<'a> {
    versions: &'a Versions<'a>,
    before: &'a Reach<'a>,
    after: &'a Reach<'a>,
}

impl Report<'_> {
    fn finding(&self, d: &Difference) -> Finding {
        let (before, after) = (self.versions.before, self.versions.after);
        let (rb, ra) = d.reader;
        let reader = format!("`{}`{}", after.ops[ra].opcode.name(), on_line(after, ra));
        let verb = if d.partial { "changes a part of them" } else { "reads them" };
        let first = Site::new(after, ra, verb);
        let bytes =
            d.memory.zip(d.bytes).map(|(m, (from, to))| Bytes { memory: memory_name(after, m), range: from..to });
        let what = match &bytes {
            Some(b) => format!("bytes {}..{} of {}", b.range.start, b.range.end, b.memory),
            None => "what it reads".to_owned(),
        };
        let (writer, other) = match d.contents {
            Some((expected, instead)) => (maker(self.before, expected), maker(self.after, instead)),
            None => (None, None),
        };
        let shown = |f: &Function, op: Op| format!("`{}`{}", f.ops[op].opcode.name(), on_line(f, op));
        let tile = |op: Op| after.ops[op].dest().and_then(|v| after.values[v].name.clone());
        let message = match (writer, other) {
            (Some(w), Some(o)) => format!(
                "{} overwrites {what}{}, which {reader} still needs from {}",
                shown(after, o),
                tile(o).map_or(String::new(), |t| format!(" (its `%{t}`)")),
                shown(before, w)
            ),
            _ => format!("{reader} does not find in {what} what it found when every tile had its own storage"),
        };
        let role = |o: Op| Site::new(after, o, "overwrites them");
        let second = other.map(role).or_else(|| Some(Site::new(before, rb, "was this")));
        let help = Some("the two tiles are needed at the same time: they must not share bytes".to_owned());
        Finding { rule: "memory-overlap", message, first, second, bytes, help }
    }
}

/// The operation behind contents, on some path.
pub(crate) fn maker(reach: &Reach, def: Def) -> Option<Op> {
    let mut def = def;
    for _ in 0..64 {
        match def {
            Def::Written(op) | Def::Junk(op) | Def::Changed(op, _) => return Some(op),
            Def::Initial | Def::Undefined => return None,
            Def::Branch(_, a, b) => {
                let first = reach.defs[a.def as usize];
                def = if matches!(first, Def::Initial | Def::Undefined) { reach.defs[b.def as usize] } else { first };
            }
            // Of a loop, what comes around.
            Def::Loop(_, entry, back) => {
                let next = reach.defs[back.def as usize];
                def = if next == def { reach.defs[entry.def as usize] } else { next };
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
