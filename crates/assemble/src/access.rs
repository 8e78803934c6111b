//! What an operation does to the roots: which it reads, which it overwrites, which it changes in part. What it does to
//! tiles is [`ir::effects`]; here tiles become the buffers that they may be.
//!
//! A write *overwrites* a root if afterwards nothing that was in it before can be read: it covers every box of the root
//! that any operation of the function reads. (Elements outside a tile's valid region are undefined and mostly never
//! read, so this is less than all its bytes.) Everything unknown counts as reading all and overwriting nothing.

use chip::Arch;
use ir::effects::{self, Extent, TileBox};
use ir::{Entity, Function, OpData, Opcode, TileType, Value};

use crate::alias::Aliases;
use crate::apart;

/// What one operation does.
#[derive(Clone, Default, Debug)]
pub(crate) struct Access {
    /// The root that begins to exist here.
    pub(crate) begins: Option<usize>,
    pub(crate) reads: Vec<Read>,
    /// Roots that are written, in part or whole.
    pub(crate) writes: Vec<usize>,
    /// Those of them whose old contents are gone.
    pub(crate) overwrites: Vec<usize>,
    /// Roots the device may use as scratch: written while the operands are read and results written.
    pub(crate) scratch: Vec<usize>,
}

/// A root that an operation reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub(crate) root: usize,
    /// The destination may have the same address ([`ir::info::OpInfo::in_place`]); in any other way they must be apart.
    pub(crate) in_place: bool,
}

/// Part of a root's elements, in the root's own shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Region {
    Box(TileBox),
    Unknown,
}

/// The accesses of every operation, by its index.
pub(crate) fn accesses(func: &Function, arch: Arch, aliases: &Aliases) -> Vec<Access> {
    let cx = Context { func, aliases };
    let mut read: Vec<Vec<Region>> = vec![Vec::new(); aliases.roots.len()];
    let effects = effects::of_function(func);
    for (_, e) in &effects {
        for r in &e.reads {
            for root in cx.roots(r.value) {
                let region = cx.in_root(r.value, root, r.elements);
                if !read[root].contains(&region) {
                    read[root].push(region);
                }
            }
        }
    }
    let tables: Vec<Value> = func
        .walk()
        .into_iter()
        .filter(|&op| func.ops[op].opcode == Opcode::SetQuantVector)
        .flat_map(|op| func.ops[op].operands.clone())
        .collect();
    let mut all = vec![Access::default(); func.ops.len()];
    for (op, e) in effects {
        let access = &mut all[op.index()];
        let data = &func.ops[op];
        if matches!(data.opcode, Opcode::AllocTile | Opcode::AllocTiles) {
            access.begins = data.result().and_then(|r| cx.roots(r).first().copied());
        }
        for r in &e.reads {
            let in_place = r.in_place
                && !apart::from_result(data.opcode, r.operand)
                && e.write.as_ref().is_some_and(|w| cx.same_elements(r.value, w.value));
            access.reads.extend(cx.roots(r.value).into_iter().map(|root| Read { root, in_place }));
        }
        if !moves_bytes(data) {
            continue;
        }
        // Operands that are tiles where the table does not say so (slots, arguments of calls): read, and never in place.
        for &value in &data.operands {
            let known = e.reads.iter().any(|r| r.value == value) || e.scratch.contains(&value);
            if !known {
                access.reads.extend(cx.roots(value).into_iter().map(|root| Read { root, in_place: false }));
            }
        }
        // A push may quantise by a table that was named before.
        if matches!(data.opcode, Opcode::TPushToAiv | Opcode::TPushToAic | Opcode::TPush) {
            for &table in &tables {
                access.reads.extend(cx.roots(table).into_iter().map(|root| Read { root, in_place: false }));
            }
        }
        // Further results: some of their elements are written.
        for &value in data.dests.iter().skip(1) {
            access.writes.extend(cx.roots(value));
        }
        // What an operation that nobody has tested writes it may read too, or use as scratch.
        if !data.opcode.info().runs {
            for &value in &data.dests {
                access.reads.extend(cx.roots(value).into_iter().map(|root| Read { root, in_place: false }));
            }
        }
        if let Some(w) = &e.write {
            access.writes.extend(cx.roots(w.value));
            if let Some(root) = aliases.view(w.value).and_then(|v| v.exactly()) {
                let written = cx.in_root(w.value, root, w.elements);
                if read[root].iter().all(|&r| covers(&aliases.roots[root].ty, written, r)) {
                    access.overwrites.push(root);
                }
            }
        }
        if !apart::ignores_scratch(data, arch) {
            for &value in &e.scratch {
                access.scratch.extend(cx.roots(value));
            }
        }
    }
    all
}

/// False for descriptors, control flow and terminators.
fn moves_bytes(data: &OpData) -> bool {
    use Opcode as C;
    let descriptor = matches!(
        data.opcode,
        C::AllocTile
            | C::AllocTiles
            | C::TilesGet
            | C::Subview
            | C::TReshape
            | C::Bitcast
            | C::Select
            | C::SetValidShape
            | C::GetValidShape
            | C::TileValidRows
            | C::TileValidCols
            | C::TileAddr
    );
    !descriptor && data.regions.is_empty() && !data.opcode.is_terminator()
}

struct Context<'a> {
    func: &'a Function,
    aliases: &'a Aliases,
}

impl Context<'_> {
    fn roots(&self, value: Value) -> Vec<usize> {
        self.aliases.view(value).map_or(Vec::new(), |v| v.roots.iter().copied().collect())
    }

    /// Element (i, j) of both is at the same distance from the start of its root.
    fn same_elements(&self, a: Value, b: Value) -> bool {
        let whole = |v| self.aliases.view(v).is_some_and(|view| view.whole);
        let (Some(x), Some(y)) = (self.func.ty(a).as_tile(), self.func.ty(b).as_tile()) else { return false };
        whole(a) && whole(b) && x.dtype == y.dtype && x.shape == y.shape && x.layout == y.layout
    }

    /// A box of `value` as a region of `root`.
    fn in_root(&self, value: Value, root: usize, of_value: Option<TileBox>) -> Region {
        let whole = self.aliases.view(value).is_some_and(|v| v.whole);
        let (Some(of_value), true, Some(ty)) = (of_value, whole, self.func.ty(value).as_tile()) else {
            return Region::Unknown;
        };
        of_value.reshaped(ty, &self.aliases.roots[root].ty).map_or(Region::Unknown, Region::Box)
    }
}

/// Whether writing `written` of a root leaves nothing of `read` as it was.
fn covers(root: &TileType, written: Region, read: Region) -> bool {
    let Region::Box(written) = written else { return false };
    let along = |written: Extent, read: Extent, size: u64| match (written, read) {
        (Extent::Static(w), _) if w >= size => true,
        (Extent::Static(w), Extent::Static(r)) => w >= r,
        (Extent::Dynamic(w), Extent::Dynamic(r)) => w == r,
        _ => false,
    };
    match read {
        Region::Box(read) => along(written.rows, read.rows, root.rows()) && along(written.cols, read.cols, root.cols()),
        Region::Unknown => written == TileBox::whole(root),
    }
}
