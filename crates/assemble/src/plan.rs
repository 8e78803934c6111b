//! The memory plan as data: what [`crate::place`] writes into the program, and why.

use chip::Space;
use diag::Diagnostic;
use ir::{Attr, Entity, FuncId, Function, FunctionKind, Op, Opcode, Program, Value};

use crate::access::accesses;
use crate::alias::Aliases;
use crate::pack::{Bounds, align_up, pack};
use crate::{Limits, Options, interference, liveness, report, usage};

/// The plan of every kernel that has no addresses yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub functions: Vec<FunctionPlan>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionPlan {
    pub function: FuncId,
    /// In the order of their allocation.
    pub tiles: Vec<Tile>,
    pub reserved: Vec<Reserved>,
    /// The spaces that have tiles or reserved buffers.
    pub spaces: Vec<Used>,
}

/// How much of a space a function uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    pub space: Space,
    /// Bytes from its start to the end of what lies highest, in whole blocks.
    pub planned: u64,
    /// The most bytes, in whole blocks, that tiles that something writes have in use at one operation.
    pub least: u64,
}

/// Where a tile buffer lies, and when; several tiles of one allocation are one buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    /// The result of its `alloc_tile` or `alloc_multi_tile`.
    pub value: Value,
    pub op: Op,
    pub space: Space,
    /// Bytes from the start of the space.
    pub address: u64,
    pub bytes: u64,
    /// Where its bytes are in use.
    pub live: Vec<Live>,
}

/// Operations `first ..= last`, as positions in [`Function::walk`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Live {
    pub first: u32,
    pub last: u32,
}

/// A region of FIFO slots: in use during the whole function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The `reserve_buffer`.
    pub op: Op,
    pub space: Space,
    pub address: u64,
    pub bytes: u64,
}

/// Plans every unplaced kernel of a program at the tile level.
///
/// # Errors
/// `over-capacity` where the tiles that are live together exceed what [`Options::limits`] gives a buffer;
/// `reserved-buffer` for a `reserve_buffer` that has no place; `not-a-kernel` for a cluster function of the language, which
/// has to be split first; `partly-placed` for an `alloc_tile` with an address in an unplaced function.
pub fn plan(program: &Program, options: &Options) -> Result<Plan, Vec<Diagnostic>> {
    let mut functions = Vec::new();
    let mut errors = Vec::new();
    for (id, func) in program.functions.iter() {
        match func.kind {
            FunctionKind::Orchestration => continue,
            FunctionKind::Cluster if options.limits == Limits::Language => errors.push(Diagnostic::error(
                "not-a-kernel",
                format!("`{}` works on the buffers of two cores; it must be split before it is placed", func.name),
            )),
            // Of a kernel file a cluster function has sections, each of one core.
            _ if func.properties.placed => continue,
            _ => match function(program, id, func, options) {
                Ok(plan) => functions.push(plan),
                Err(found) => errors.extend(found),
            },
        }
    }
    if errors.is_empty() { Ok(Plan { functions }) } else { Err(errors) }
}

fn function(
    program: &Program,
    id: FuncId,
    func: &Function,
    options: &Options,
) -> Result<FunctionPlan, Vec<Diagnostic>> {
    let aliases = Aliases::new(func);
    if !aliases.roots.is_empty() && func.walk().iter().any(|&op| func.ops[op].opcode == Opcode::Blocks) {
        let message = format!("`{}` jumps between blocks; tiles are planned in loops and branches only", func.name);
        return Err(vec![Diagnostic::unsupported("unstructured", message).at(func.span, "this function")]);
    }
    if let Some(root) = aliases.roots.iter().find(|r| !func.ops[r.op].named("addr").is_empty()) {
        let message = format!("an address in `{}`, whose tiles have none otherwise", func.name);
        return Err(vec![Diagnostic::error("partly-placed", message).at(func.ops[root.op].span, "this tile")]);
    }
    let roots = &aliases.roots;
    let chip = program.arch.chip();
    let align = |space| options.limits.alignment(space);
    let accesses = accesses(func, program.arch, &aliases);
    let mut related = interference::Gathering::new(roots);
    let mut used = usage::Gathering::new(func, roots, &accesses, align);
    liveness::visit(func, &accesses, &mut |op, live| {
        let access = &accesses[op.index()];
        used.see(op, access, live);
        if func.ops[op].regions.is_empty() {
            related.see(op, access, live);
        }
    });
    let (interference, usage) = (related.done(), used.done());
    let facts = report::Facts {
        program,
        func,
        aliases: &aliases,
        accesses: &accesses,
        usage: &usage,
        interference: &interference,
    };
    let mut errors = Vec::new();
    let mut addresses = vec![0; roots.len()];
    let mut reserved = Vec::new();
    let mut spaces = Vec::new();
    for space in Space::ALL {
        let (capacity, align) = (options.limits.capacity(chip, space), align(space));
        let floor = match reserve(func, space, align, &mut reserved) {
            Ok(floor) => floor,
            Err(found) => {
                errors.extend(found);
                continue;
            }
        };
        let bounds = Bounds { floor, capacity, align };
        let packing = pack(roots, &interference, space, bounds, options.order);
        if packing.height == 0 && packing.addresses.is_empty() {
            continue;
        }
        let (peak, live) = report::fullest(&facts, space, align);
        let least = floor.saturating_add(live);
        if packing.height > capacity {
            errors.push(report::over_capacity(&facts, space, bounds, packing.height, peak, least));
        }
        spaces.push(Used { space, planned: align_up(packing.height, align), least });
        for (root, address) in packing.addresses {
            addresses[root] = address;
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let tiles = roots.iter().zip(addresses).zip(usage.live);
    let tiles = tiles.map(|((root, address), live)| Tile {
        value: root.value,
        op: root.op,
        space: root.space,
        address,
        bytes: root.bytes,
        live,
    });
    Ok(FunctionPlan { function: id, tiles: tiles.collect(), reserved, spaces })
}

/// Gives the slot regions of `space` their bytes, from 0 up; returns the first byte that is free for tiles.
///
/// A region with a base keeps it. Tiles lie above all regions: they hold slots during the whole function.
fn reserve(func: &Function, space: Space, align: u64, reserved: &mut Vec<Reserved>) -> Result<u64, Vec<Diagnostic>> {
    let mut top = 0;
    let mut here: Vec<Reserved> = Vec::new();
    let ops: Vec<Op> = func.walk().into_iter().filter(|&op| func.ops[op].opcode == Opcode::ReserveBuffer).collect();
    let fixed = |op: &Op| func.ops[*op].attrs.int("base").is_some();
    let (given, free): (Vec<Op>, Vec<Op>) = ops.into_iter().partition(fixed);
    for op in given.into_iter().chain(free) {
        let data = &func.ops[op];
        if data.attrs.word("location") != Some(space.name()) {
            continue;
        }
        let name = data.attrs.word("name").unwrap_or("?");
        let bad = |why: &str| {
            let message = format!("the reserved buffer `{name}` of `{}` {why}", func.name);
            vec![Diagnostic::error("reserved-buffer", message).at(data.span, "reserved here")]
        };
        let bytes = data.attrs.int("size").and_then(|n| u64::try_from(n).ok()).ok_or_else(|| bad("has no size"))?;
        let address = match data.attrs.int("base") {
            Some(base) => u64::try_from(base).map_err(|_| bad("has a negative base"))?,
            None => align_up(top, align),
        };
        let end = address.checked_add(bytes).ok_or_else(|| bad("is too large"))?;
        if here.iter().any(|r| address < r.address + r.bytes && r.address < end) {
            return Err(bad("overlaps another one"));
        }
        here.push(Reserved { op, space, address, bytes });
        top = top.max(end);
    }
    reserved.append(&mut here);
    Ok(top)
}

/// Writes a plan into its program.
pub(crate) fn apply(program: &mut Program, plan: &Plan) {
    for function in &plan.functions {
        let func = &mut program.functions[function.function];
        for reserved in &function.reserved {
            let attrs = &mut func.ops[reserved.op].attrs;
            attrs.set("base", Attr::Int(reserved.address as i64));
            // What has a base was not left to the planner, for whoever reads it next.
            attrs.set("auto", Attr::Bool(false));
        }
        let mut addresses: Vec<u64> = function.tiles.iter().map(|t| t.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let constants = constants(func, &addresses);
        for tile in &function.tiles {
            let Ok(i) = addresses.binary_search(&tile.address) else { continue };
            let data = &mut func.ops[tile.op];
            data.operands.insert(0, constants[i]);
            data.segments[0] = 1;
        }
        func.properties.placed = true;
    }
}

/// One i64 literal for each address, at the top of the function.
fn constants(func: &mut Function, addresses: &[u64]) -> Vec<Value> {
    let body = func.body;
    let rest = std::mem::take(&mut func.blocks[body].ops);
    let mut builder = ir::Builder::new(func);
    let values = addresses
        .iter()
        .map(|&address| builder.constant(dtype::Scalar::from_i64(dtype::DType::I64, address as i64)))
        .collect();
    func.blocks[body].ops.extend(rest);
    values
}
