//! Crossings, the FIFOs that carry them, and when slots are given back.
//!
//! A FIFO has one direction. A crossing holds its slot from the pop to its *free*: the last operation of the pop's block
//! that uses the tile, or later if a tile popped before it is still held then. Two crossings may use one FIFO unless one
//! of them is in a region that runs while the other, outside of it, is held: its free would return the other's slot.
//!
//! The least number of slots: with at most h tiles of a FIFO held at once, h would do for a FIFO that returns slots one by
//! one. One that returns them in halves (`spec/isa.md` §1.7: the producer waits before every half, the consumer signals
//! after every half) also never blocks for good if h ≤ 1, or if half the slots are at least h − 1 and there are four:
//! to push number i it needs the first i − n/2 slots back, and the consumer has given back i + 1 − h.

use chip::{Arch, Core, Space};
use diag::Diagnostic;
use dtype::DType;
use ir::{Block, Function, Op, Opcode, TileType, Value};

use super::sides::{Side, Sides};
use super::slice::Slice;

/// A place where something goes from one core to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Crossing {
    /// The move; for a token, the operation that it follows.
    pub(super) op: Op,
    pub(super) to: Core,
    pub(super) what: What,
    /// The tile as the consumer pops it.
    pub(super) popped: TileType,
    /// Set by [`pipes`]: which of [`Pipes::pipes`].
    pub(super) pipe: usize,
    /// Set by [`pipes`]: the slot is given back after this operation, which is in the block of `op`.
    pub(super) free_after: Op,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A tile; `copied`: the consumer copies it out of the slot into `dest` at once.
    Value { source: Value, dest: Value, copied: bool },
    /// Nothing but the order.
    Token,
}

/// A FIFO.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pipe {
    pub(super) id: i64,
    pub(super) to: Core,
    pub(super) slot_size: u64,
    pub(super) slot_num: u64,
    /// A2/A3: slots in the consumer's buffer.
    pub(super) local_slot_num: u64,
}

impl Pipe {
    /// The buffer that tiles are popped into.
    pub(super) fn location(&self) -> Space {
        if self.to == Core::Vector { Space::Vec } else { Space::Mat }
    }

    pub(super) fn ring_bytes(&self) -> u64 {
        self.slot_size * self.slot_num
    }
}

#[derive(Clone, Default, Debug)]
pub(super) struct Pipes {
    pub(super) pipes: Vec<Pipe>,
}

impl Pipes {
    /// Bytes of all rings of a block in global memory.
    pub(super) fn ring_bytes(&self) -> u64 {
        self.pipes.iter().map(Pipe::ring_bytes).sum()
    }
}

/// Local slots of a FIFO through global memory, unless more tiles are held at once.
const LOCAL_SLOTS: u64 = 2;

impl Crossing {
    pub(super) fn token(op: Op, to: Core, arch: Arch) -> Crossing {
        let space = if to == Core::Vector { Space::Vec } else { Space::Mat };
        let popped = TileType::buffer(DType::F32, 16, 16, space, arch);
        Crossing { op, to, what: What::Token, popped, pipe: 0, free_after: op }
    }
}

/// The crossings of values, in program order.
pub(super) fn values(func: &Function, sides: &Sides) -> Result<Vec<Crossing>, Vec<Diagnostic>> {
    let mut crossings = Vec::new();
    let mut errors = Vec::new();
    for op in func.walk() {
        let Side::Crossing { to } = sides.of(op) else { continue };
        let data = &func.ops[op];
        let (source, dest) = (data.operands[0], data.dests[0]);
        let Some(popped) = func.ty(dest).as_tile().cloned() else { continue };
        let last = last_use(func, op, dest);
        if last.is_none() && to == Core::Cube {
            let message = format!(
                "`{}`: a value of the vector core is moved into a matmul operand that something else writes or uses too",
                func.name
            );
            let error = Diagnostic::unsupported("core-crossing", message).at(data.span, "moved here");
            errors.push(error.note("the cube core takes such a value from its FIFO slot; it cannot copy within mat"));
        }
        let what = What::Value { source, dest, copied: last.is_none() };
        crossings.push(Crossing { op, to, what, popped, pipe: 0, free_after: last.unwrap_or(op) });
    }
    if errors.is_empty() { Ok(crossings) } else { Err(errors) }
}

/// Lets the vector core copy large tiles out of their slots at once, where holding several would take more than half of
/// its buffer: a FIFO whose tiles are copied needs one slot. (The cube core cannot copy within mat.)
pub(super) fn copy_large(func: &Function, arch: Arch, crossings: &mut [Crossing]) {
    let half = arch.chip().capacity(Space::Vec).language as u64 / 2;
    let members: Vec<usize> = (0..crossings.len()).filter(|&i| crossings[i].to == Core::Vector).collect();
    for pipe in group(func, crossings, &members) {
        let mut tried = crossings.to_vec();
        delay(func, &mut tried, &pipe);
        let held = held(func, &tried, &pipe);
        if held < 2 || least(held) * slot_size(func, crossings, &pipe) <= half {
            continue;
        }
        for &i in &pipe {
            let crossing = &mut crossings[i];
            if let What::Value { copied, .. } = &mut crossing.what {
                *copied = true;
                crossing.free_after = crossing.op;
            }
        }
    }
}

/// The position of the operation of `block` that is `op` or contains it.
pub(super) fn position_in(func: &Function, block: Block, mut op: Op) -> Option<usize> {
    while func.ops[op].block != block {
        op = func.blocks[func.ops[op].block].parent?;
    }
    func.blocks[block].ops.iter().position(|&o| o == op)
}

/// The last operation in the block of the move `op` that uses the tile `dest`, the move itself if none does.
///
/// `None` if a slot cannot stand for the tile: it is part of another tile, has other writers, is used before the move or
/// outside the move's block, or is carried.
fn last_use(func: &Function, op: Op, dest: Value) -> Option<Op> {
    let alloc = func.def_op(dest)?;
    if func.ops[alloc].opcode != Opcode::AllocTile {
        return None;
    }
    let block = func.ops[op].block;
    let at = position_in(func, block, op)?;
    let mut last = at;
    let mut names = vec![dest];
    while let Some(name) = names.pop() {
        for user in func.users(name) {
            if user == op {
                continue;
            }
            let data = &func.ops[user];
            if data.dests.contains(&name) || data.opcode.is_terminator() || !data.regions.is_empty() {
                return None;
            }
            let position = position_in(func, block, user)?;
            if position <= at {
                return None;
            }
            last = last.max(position);
            if matches!(data.opcode, Opcode::Subview | Opcode::TReshape | Opcode::Bitcast) {
                names.extend(&data.results);
            }
        }
    }
    func.blocks[block].ops.get(last).copied()
}

/// Assigns FIFOs and frees.
pub(super) fn pipes(
    func: &Function,
    arch: Arch,
    crossings: &mut [Crossing],
    slices: &[Slice; 2],
    slot_num: Option<u64>,
) -> Result<Pipes, Vec<Diagnostic>> {
    sort(func, crossings);
    let both = [Core::Cube, Core::Vector].iter().all(|&to| crossings.iter().any(|c| c.to == to));
    let usual = slot_num.unwrap_or(if both { 4 } else { 8 });
    let mut result = Pipes::default();
    for to in [Core::Vector, Core::Cube] {
        let members: Vec<usize> = (0..crossings.len()).filter(|&i| crossings[i].to == to).collect();
        for pipe in group(func, crossings, &members) {
            delay(func, crossings, &pipe);
            let number = result.pipes.len();
            for &i in &pipe {
                crossings[i].pipe = number;
            }
            result.pipes.push(Pipe {
                id: number as i64,
                to,
                slot_size: slot_size(func, crossings, &pipe),
                slot_num: least(held(func, crossings, &pipe)),
                local_slot_num: held(func, crossings, &pipe),
            });
        }
    }
    grow(func, arch, &mut result, slices, usual);
    let errors = over_capacity(func, arch, &result, crossings);
    if errors.is_empty() { Ok(result) } else { Err(errors) }
}

/// Program order; a value before the tokens that follow the same operation.
fn sort(func: &Function, crossings: &mut [Crossing]) {
    let order = func.walk();
    let key = |c: &Crossing| (order.iter().position(|&o| o == c.op), matches!(c.what, What::Token), c.to);
    crossings.sort_by_cached_key(key);
}

/// The larger of each tile as it is pushed and as it is popped (their padding differs), rounded up to the alignment of
/// the consumer's buffer.
fn slot_size(func: &Function, crossings: &[Crossing], pipe: &[usize]) -> u64 {
    let bytes = |c: &Crossing| {
        let pushed = match c.what {
            What::Value { source, .. } => func.ty(source).as_tile().map_or(0, TileType::bytes),
            What::Token => 0,
        };
        let align = chip::alignment(c.popped.space.unwrap_or(Space::Vec)) as u64;
        c.popped.bytes().max(pushed).next_multiple_of(align)
    };
    pipe.iter().map(|&i| bytes(&crossings[i])).max().unwrap_or(0)
}

/// Divides crossings of one direction into FIFOs: each goes to the first where it is in nobody's way.
fn group(func: &Function, crossings: &mut [Crossing], members: &[usize]) -> Vec<Vec<usize>> {
    let mut pipes: Vec<Vec<usize>> = Vec::new();
    for &i in members {
        let fits = |pipe: &Vec<usize>| {
            let mut tried = crossings.to_vec();
            let with: Vec<usize> = pipe.iter().copied().chain([i]).collect();
            delay(func, &mut tried, &with);
            with.iter().all(|&a| with.iter().all(|&b| !inside(func, &tried[a], &tried[b])))
        };
        match pipes.iter().position(fits) {
            Some(p) => pipes[p].push(i),
            None => pipes.push(vec![i]),
        }
    }
    pipes
}

/// Whether `inner` is in a region that runs while `outer` is held.
fn inside(func: &Function, outer: &Crossing, inner: &Crossing) -> bool {
    let block = func.ops[outer.op].block;
    if func.ops[inner.op].block == block {
        return false;
    }
    let at = |op| position_in(func, block, op);
    match (at(outer.op), at(inner.op), at(outer.free_after)) {
        (Some(pop), Some(inner), Some(free)) => pop < inner && inner <= free,
        _ => false,
    }
}

/// Delays frees so that slots come back in the order of the pops.
fn delay(func: &Function, crossings: &mut [Crossing], pipe: &[usize]) {
    for (n, &i) in pipe.iter().enumerate() {
        let block = func.ops[crossings[i].op].block;
        for &earlier in &pipe[..n] {
            let earlier = crossings[earlier].free_after;
            if func.ops[earlier].block != block {
                continue;
            }
            if position_in(func, block, earlier) > position_in(func, block, crossings[i].free_after) {
                crossings[i].free_after = earlier;
            }
        }
    }
}

/// The most tiles of a FIFO that are held at once.
fn held(func: &Function, crossings: &[Crossing], pipe: &[usize]) -> u64 {
    let at_pop = |n: usize| {
        let c = &crossings[pipe[n]];
        let block = func.ops[c.op].block;
        let pop = position_in(func, block, c.op);
        let earlier = pipe[..n].iter().map(|&j| &crossings[j]);
        let still = earlier.filter(|e| func.ops[e.op].block == block && position_in(func, block, e.free_after) >= pop);
        1 + still.count() as u64
    };
    (0..pipe.len()).map(at_pop).max().unwrap_or(0)
}

fn least(held: u64) -> u64 {
    if held <= 1 { 1 } else { (2 * (held - 1)).max(4) }
}

/// Adds slots up to the usual number, while the consumer's buffer has room beside all of its tiles.
fn grow(func: &Function, arch: Arch, pipes: &mut Pipes, slices: &[Slice; 2], usual: u64) {
    for (core, space, slice) in [(Core::Cube, Space::Mat, &slices[0]), (Core::Vector, Space::Vec, &slices[1])] {
        let tiles: u64 = slice
            .ops
            .iter()
            .filter(|&&op| func.ops[op].opcode == Opcode::AllocTile)
            .filter_map(|&op| func.ty(func.ops[op].results[0]).as_tile())
            .filter(|t| t.space == Some(space))
            .map(TileType::bytes)
            .sum();
        let mut room = (arch.chip().capacity(space).language as u64).saturating_sub(tiles);
        let local = arch.chip().fifo_through_global_memory;
        let mine = || (0..pipes.pipes.len()).filter(|&i| pipes.pipes[i].to == core);
        for i in mine().collect::<Vec<_>>() {
            let pipe = &mut pipes.pipes[i];
            if local {
                // Slots in global memory cost nothing here.
                pipe.slot_num = pipe.slot_num.max(usual);
            }
            let (have, wish) =
                if local { (&mut pipe.local_slot_num, LOCAL_SLOTS) } else { (&mut pipe.slot_num, usual) };
            room = room.saturating_sub(*have * pipe.slot_size);
            while *have < wish && pipe.slot_size <= room {
                *have += 1;
                room -= pipe.slot_size;
            }
        }
    }
}

/// Slots that do not fit even into an empty buffer.
fn over_capacity(func: &Function, arch: Arch, pipes: &Pipes, crossings: &[Crossing]) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for (number, pipe) in pipes.pipes.iter().enumerate() {
        let slots = if arch.chip().fifo_through_global_memory { pipe.local_slot_num } else { pipe.slot_num };
        let (needs, space) = (slots * pipe.slot_size, pipe.location());
        let has = arch.chip().capacity(space).language as u64;
        if needs <= has {
            continue;
        }
        let widest = crossings.iter().filter(|c| c.pipe == number).max_by_key(|c| c.popped.bytes());
        let message = format!(
            "`{}` needs {needs} bytes of {space} for {slots} slots of {} bytes between its cores; {} has {has}",
            func.name,
            pipe.slot_size,
            arch.name()
        );
        let span = widest.and_then(|c| func.ops[c.op].span);
        errors.push(
            Diagnostic::error("over-capacity", message)
                .at(span, "the largest tile that crosses")
                .help("use smaller tiles, or values that are needed for a shorter time"),
        );
    }
    errors
}
