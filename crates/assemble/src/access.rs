//! What an operation does to the roots: which it reads, which it overwrites, which it changes in part.
//!
//! A write *overwrites* a root if afterwards nothing that was in it before can be read: it covers every box of the root
//! that any operation of the function reads. (Elements outside a tile's valid region are undefined and mostly never
//! read, so this is less than all its bytes.) Everything unknown counts as reading all and overwriting nothing.

use ir::info::{Domain, Kind};
use ir::{Dim, Entity, Function, Op, OpData, Opcode, TileType, Value};

use crate::alias::Aliases;

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

/// An extent of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    Static(u64),
    /// The run-time value of an `alloc_tile`'s or `subview`'s `valid_row` or `valid_col`.
    Dynamic(Value),
    Unknown,
}

/// Origin-anchored elements of a tile: `rows × cols`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Box {
    rows: Extent,
    cols: Extent,
}

/// Part of a root's elements, in the root's own shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Region {
    Box(Box),
    Unknown,
}

/// The accesses of every operation, by its index.
pub(crate) fn accesses(func: &Function, aliases: &Aliases) -> Vec<Access> {
    let cx = Context { func, aliases };
    let ops = func.walk();
    let mut read: Vec<Vec<Region>> = vec![Vec::new(); aliases.roots.len()];
    let touched: Vec<(Op, Touched)> = ops.into_iter().map(|op| (op, cx.touched(op))).collect();
    for (_, t) in &touched {
        for &(value, region, _) in &t.reads {
            for root in cx.roots(value) {
                let region = cx.in_root(value, root, region);
                if !read[root].contains(&region) {
                    read[root].push(region);
                }
            }
        }
    }
    let mut all = vec![Access::default(); func.ops.len()];
    for (op, t) in touched {
        let access = &mut all[op.index()];
        if func.ops[op].opcode == Opcode::AllocTile {
            access.begins = aliases.view(func.ops[op].results[0]).and_then(|v| v.exactly());
        }
        for &(value, _, in_place) in &t.reads {
            access.reads.extend(cx.roots(value).into_iter().map(|root| Read { root, in_place }));
        }
        for &(value, region) in &t.writes {
            access.writes.extend(cx.roots(value));
            let Some(root) = aliases.view(value).and_then(|v| v.exactly()) else { continue };
            let written = cx.in_root(value, root, region);
            if read[root].iter().all(|&r| covers(&aliases.roots[root].ty, written, r)) {
                access.overwrites.push(root);
            }
        }
        for &value in &t.scratch {
            access.scratch.extend(cx.roots(value));
        }
    }
    all
}

/// What an operation does to tile values: boxes in the shapes of those values. `None`: some part.
#[derive(Default)]
struct Touched {
    reads: Vec<(Value, Option<Box>, bool)>,
    writes: Vec<(Value, Option<Box>)>,
    scratch: Vec<Value>,
}

struct Context<'a> {
    func: &'a Function,
    aliases: &'a Aliases,
}

impl<'a> Context<'a> {
    fn roots(&self, value: Value) -> Vec<usize> {
        self.aliases.view(value).map_or(Vec::new(), |v| v.roots.iter().copied().collect())
    }

    fn touched(&self, op: Op) -> Touched {
        let data = &self.func.ops[op];
        let info = data.opcode.info();
        let mut touched = Touched::default();
        let descriptor =
            matches!(data.opcode, Opcode::AllocTile | Opcode::Subview | Opcode::TReshape | Opcode::Bitcast);
        if descriptor || !data.regions.is_empty() || data.opcode.is_terminator() {
            return touched;
        }
        let dest = data.dest().filter(|&d| self.func.ty(d).as_tile().is_some());
        for (group, operand) in info.operands.iter().enumerate() {
            if operand.kind != Kind::Tile {
                continue;
            }
            for &value in data.group(group) {
                if operand.name == "tmp" {
                    touched.scratch.push(value);
                    continue;
                }
                let in_place =
                    info.in_place.contains(&operand.name) && dest.is_some_and(|d| self.same_elements(value, d));
                touched.reads.push((value, self.read_box(data, operand.name, value, dest), in_place));
            }
        }
        if let Some(dest) = dest {
            touched.writes.push((dest, self.written_box(data, dest)));
        }
        touched
    }

    /// Element (i, j) of both is at the same distance from the start of its root.
    fn same_elements(&self, a: Value, b: Value) -> bool {
        let whole = |v| self.aliases.view(v).is_some_and(|view| view.whole);
        let (Some(x), Some(y)) = (self.func.ty(a).as_tile(), self.func.ty(b).as_tile()) else { return false };
        whole(a) && whole(b) && x.dtype == y.dtype && x.shape == y.shape && x.layout == y.layout
    }

    /// The elements of operand `value` that the operation reads.
    fn read_box(&self, data: &OpData, group: &str, value: Value, dest: Option<Value>) -> Option<Box> {
        let dest_box = dest.map(|d| self.valid(d));
        match (data.opcode, group) {
            (Opcode::TExtract, _) => self.window(data, dest_box?),
            (Opcode::TGetVal, _) => {
                let one = Extent::Static(1);
                self.window(data, Box { rows: one, cols: one })
            }
            (Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias, "rhs") => {
                Some(Box { rows: self.valid(data.named("lhs")[0]).cols, cols: self.valid(value).cols })
            }
            (Opcode::TMatmulAcc, "acc") => Some(self.product(data)),
            // Wherever the indices lead.
            (Opcode::TGather | Opcode::TGatherB, "source") => None,
            // One for a block, one for a row: not the destination's box.
            (Opcode::TGatherB, "offsets") | (Opcode::MGather, "indices") => Some(self.valid(value)),
            // Some of the bytes of each row.
            (Opcode::TSel | Opcode::TSelS, "mask") => {
                let columns = self.func.ty(value).as_tile()?.cols();
                Some(Box { rows: dest_box?.rows, cols: Extent::Static(columns) })
            }
            // As far as the operand that the operation runs over is valid.
            (Opcode::TCmp, "b") => Some(self.valid(data.named("a")[0])),
            (Opcode::TScatter, "indices") | (Opcode::TSort32, "idx") => Some(self.valid(data.named("source")[0])),
            (Opcode::MScatter, "indices") => None,
            (_, "v") => {
                let dest = dest_box?;
                let by_row = data.opcode.name().starts_with("trowexpand");
                Some(if by_row {
                    Box { cols: Extent::Static(1), ..dest }
                } else {
                    Box { rows: Extent::Static(1), ..dest }
                })
            }
            _ if data.opcode.info().domain == Domain::Destination => dest_box,
            _ => Some(self.valid(value)),
        }
    }

    /// The elements of `dest` that the operation certainly writes.
    fn written_box(&self, data: &OpData, dest: Value) -> Option<Box> {
        let one = Extent::Static(1);
        let source = || self.valid(data.named("source")[0]);
        match (data.opcode, data.opcode.info().domain) {
            (Opcode::TInsert | Opcode::TSetVal, _) => None,
            (Opcode::TCi, _) => Some(Box { rows: one, ..self.valid(dest) }),
            (Opcode::TRowSum | Opcode::TRowMax | Opcode::TRowMin, _) => Some(Box { cols: one, ..source() }),
            (Opcode::TColSum | Opcode::TColMax | Opcode::TColMin, _) => Some(Box { rows: one, ..source() }),
            (Opcode::TTrans, _) => Some(Box { rows: source().cols, cols: source().rows }),
            (_, Domain::Matmul) => Some(self.product(data)),
            (_, Domain::Destination) => Some(self.valid(dest)),
            (_, Domain::Whole) => self.func.ty(dest).as_tile().map(all),
            (_, Domain::Source | Domain::None) => None,
        }
    }

    /// The rows and columns of a matrix product.
    fn product(&self, data: &OpData) -> Box {
        Box { rows: self.valid(data.named("lhs")[0]).rows, cols: self.valid(data.named("rhs")[0]).cols }
    }

    /// The box that contains `size` elements from (`row`, `col`) on, where that is known.
    fn window(&self, data: &OpData, size: Box) -> Option<Box> {
        let end = |group: &str, extent: Extent| {
            let start = u64::try_from(self.func.const_int(data.named(group)[0])?).ok()?;
            match extent {
                Extent::Static(n) => Some(Extent::Static(start.checked_add(n)?)),
                dynamic if start == 0 => Some(dynamic),
                _ => None,
            }
        };
        Some(Box { rows: end("row", size.rows)?, cols: end("col", size.cols)? })
    }

    /// The valid region of a tile value of rank 2.
    fn valid(&self, value: Value) -> Box {
        let unknown = Box { rows: Extent::Unknown, cols: Extent::Unknown };
        let Some(ty) = self.func.ty(value).as_tile() else { return unknown };
        if ty.valid.len() != 2 {
            return unknown;
        }
        let def = self.func.def_op(value).map(|op| &self.func.ops[op]);
        if let Some(def) = def
            && def.opcode == Opcode::TReshape
            && ty.valid.contains(&Dim::Dynamic)
        {
            // A vector's valid elements are a prefix of it, as a row or as a column.
            let source = def.named("source")[0];
            let from = self.func.ty(source).as_tile();
            return from.and_then(|from| reshape(from, ty, self.valid(source))).unwrap_or(unknown);
        }
        let extent = |dim: Dim, group: &str| match (dim, def) {
            (Dim::Static(n), _) => Extent::Static(n),
            (Dim::Dynamic, Some(def)) if matches!(def.opcode, Opcode::AllocTile | Opcode::Subview) => {
                def.named(group).first().map_or(Extent::Unknown, |&v| Extent::Dynamic(v))
            }
            _ => Extent::Unknown,
        };
        Box { rows: extent(ty.valid[0], "valid_row"), cols: extent(ty.valid[1], "valid_col") }
    }

    /// A box of `value` as a region of `root`.
    fn in_root(&self, value: Value, root: usize, of_value: Option<Box>) -> Region {
        let whole = self.aliases.view(value).is_some_and(|v| v.whole);
        let (Some(of_value), true, Some(ty)) = (of_value, whole, self.func.ty(value).as_tile()) else {
            return Region::Unknown;
        };
        reshape(ty, &self.aliases.roots[root].ty, of_value).map_or(Region::Unknown, Region::Box)
    }
}

/// All elements.
fn all(ty: &TileType) -> Box {
    Box { rows: Extent::Static(ty.rows()), cols: Extent::Static(ty.cols()) }
}

/// A box of a tile, as a box of the same elements in another shape, if it is one.
fn reshape(from: &TileType, to: &TileType, of: Box) -> Option<Box> {
    if from.shape == to.shape {
        return Some(of);
    }
    if of == all(from) {
        return Some(all(to));
    }
    if from.dtype.size() != to.dtype.size() {
        return None;
    }
    let one = Extent::Static(1);
    let prefix = match from.shape[..] {
        [1, _] if of.rows == one => of.cols,
        [_, 1] if of.cols == one => of.rows,
        _ => return None,
    };
    match to.shape[..] {
        [1, _] => Some(Box { rows: one, cols: prefix }),
        [_, 1] => Some(Box { rows: prefix, cols: one }),
        _ => None,
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
        Region::Unknown => written == all(root),
    }
}
