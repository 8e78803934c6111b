//! Which bytes of global memory a task will touch, found before it runs by running the kernel's *scalar skeleton*: control
//! flow, scalars and views, with every access recorded instead of done.
//!
//! [`Plan`] decides what the skeleton is: the accesses, the control flow around them, and what those compute with. A value
//! that comes from memory or from a tile is *data*. If control flow around an access depends on data there is no skeleton,
//! and every pointer argument counts as a whole, by its direction. If only the address of an access does, the argument that
//! it goes through counts as a whole.
//!
//! [`Recorder`] keeps accesses per place in the code, and merges arithmetic progressions of equal boxes as they come: a
//! loop over tiles becomes one region.

use std::sync::atomic::AtomicBool;

use ir::{Block, Def, Entity, Function, Op, Opcode, Value};
use trace::Region;

use crate::code::{Code, ParamKind, Site};
use crate::exec::{Machine, Stop, Trap};
use crate::frame::Frame;

/// Accesses that one run of a skeleton may record before it gives up and lets arguments count as a whole.
const MAX_TOUCHES: usize = 1 << 20;
/// Regions that a task may have.
const MAX_REGIONS: usize = 4096;

/// Something that a task touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Pointer parameter, numbered among the pointers.
    pub param: u32,
    pub write: bool,
    /// Bytes, relative to the address that the pointer holds; `None` for the whole argument.
    pub region: Option<Region>,
}

/// What of a function a skeleton needs.
#[derive(Debug)]
pub(crate) struct Plan {
    live: Vec<bool>,
    params: Vec<Option<u32>>,
    whole: Vec<bool>,
    /// Control flow around accesses depends on data, or an access goes who knows where.
    opaque: bool,
}

impl Plan {
    pub(crate) fn new(func: &Function) -> Plan {
        let ops = func.walk();
        let data = from_memory(func, &ops);
        let mut plan = Plan {
            live: vec![false; func.ops.len()],
            params: vec![None; func.ops.len()],
            whole: vec![false; func.ops.len()],
            opaque: false,
        };
        let mut needed = vec![false; func.values.len()];
        for &op in &ops {
            let Some(address) = access(func, op) else { continue };
            let i = op.index();
            plan.live[i] = true;
            plan.params[i] = root(func, address[0]);
            plan.whole[i] = address.iter().any(|v| data[v.index()]);
            if plan.whole[i] {
                plan.opaque |= plan.params[i].is_none();
            } else {
                address.iter().for_each(|v| needed[v.index()] = true);
            }
        }
        // Nobody has said which bytes these touch.
        let comm = |op: &Op| {
            matches!(
                func.ops[*op].opcode,
                Opcode::CommTPut | Opcode::CommTGet | Opcode::CommTNotify | Opcode::CommTWait | Opcode::CommTTest
            )
        };
        plan.opaque |= ops.iter().any(comm);
        plan.slice(func, &ops, &mut needed);
        // What is needed and not data depends on nothing that is data, so only decisions can be in the way.
        plan.opaque |=
            ops.iter().any(|&op| plan.live[op.index()] && deciders(func, op).iter().any(|v| data[v.index()]));
        plan
    }

    pub(crate) fn is_live(&self, op: Op) -> bool {
        self.live[op.index()]
    }

    /// The pointer that an access goes through.
    pub(crate) fn param(&self, op: Op) -> Option<u32> {
        self.params[op.index()]
    }

    /// Whether the address of an access depends on data.
    pub(crate) fn is_whole(&self, op: Op) -> bool {
        self.whole[op.index()]
    }

    /// Live operations, backwards from what is needed, to a fixed point (loops carry needs around).
    fn slice(&mut self, func: &Function, ops: &[Op], needed: &mut [bool]) {
        loop {
            let before = (count(needed), count(&self.live));
            let arrays = ops.iter().any(|&op| func.ops[op].opcode == Opcode::ArrayGet && self.live[op.index()]);
            for &op in ops.iter().rev() {
                let o = &func.ops[op];
                if o.opcode.is_terminator() {
                    continue;
                }
                let live = self.live[op.index()]
                    || o.results.iter().any(|v| needed[v.index()])
                    || (arrays && o.opcode == Opcode::ArraySet)
                    || o.regions.iter().any(|&b| func.blocks[b].ops.iter().any(|i| self.live[i.index()]));
                self.live[op.index()] = live;
                if !live || access(func, op).is_some() {
                    continue;
                }
                deciders(func, op).iter().for_each(|v| needed[v.index()] = true);
                if o.regions.is_empty() {
                    o.operands.iter().for_each(|v| needed[v.index()] = true);
                }
                for web in carried(func, op) {
                    if web.sinks.iter().any(|v| needed[v.index()]) {
                        web.sinks.iter().chain(&web.sources).for_each(|v| needed[v.index()] = true);
                    }
                }
            }
            if before == (count(needed), count(&self.live)) {
                return;
            }
        }
    }
}

fn count(flags: &[bool]) -> usize {
    flags.iter().filter(|&&f| f).count()
}

/// The values that say where an operation accesses global memory; the first leads to the pointer.
fn access(func: &Function, op: Op) -> Option<Vec<Value>> {
    let o = &func.ops[op];
    match o.opcode {
        // Of gathers and scatters it is the box: which elements of it are accessed, nobody knows before.
        Opcode::TLoad | Opcode::MGather => Some(vec![o.named("source")[0]]),
        Opcode::TStore | Opcode::MScatter => o.dest().map(|v| vec![v]),
        Opcode::LoadScalar | Opcode::StoreScalar => Some(vec![o.named("ptr")[0], o.named("offset")[0]]),
        _ => None,
    }
}

/// The pointer parameter behind a pointer or view, numbered among the pointers.
fn root(func: &Function, mut value: Value) -> Option<u32> {
    loop {
        match func.values[value].def {
            Def::Arg(block, i) if block == func.body => {
                let before = &func.param_values()[..i as usize];
                return Some(before.iter().filter(|&&v| matches!(func.ty(v), ir::Type::Ptr(_))).count() as u32);
            }
            Def::Arg(..) => return None,
            Def::Result(op, _) => {
                let o = &func.ops[op];
                value = match o.opcode {
                    Opcode::PartitionView | Opcode::MakeTensorView | Opcode::AddPtr => o.group(0)[0],
                    _ => return None,
                };
            }
        }
    }
}

fn terminator(func: &Function, block: Block) -> &[Value] {
    match func.blocks[block].ops.last() {
        Some(&op) => &func.ops[op].operands,
        None => &[],
    }
}

/// The values that decide how often and which regions of an operation run.
fn deciders(func: &Function, op: Op) -> Vec<Value> {
    let o = &func.ops[op];
    match o.opcode {
        Opcode::For => o.operands[..3].to_vec(),
        Opcode::If => o.operands[..1].to_vec(),
        Opcode::While => o.regions.first().and_then(|&b| terminator(func, b).first().copied()).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Values that get theirs from others across the border of a region.
struct Web {
    sinks: Vec<Value>,
    sources: Vec<Value>,
}

fn carried(func: &Function, op: Op) -> Vec<Web> {
    let o = &func.ops[op];
    let at = |values: &[Value], i: usize| values.get(i).copied();
    let web = |sinks: &[Option<Value>], sources: &[Option<Value>]| Web {
        sinks: sinks.iter().flatten().copied().collect(),
        sources: sources.iter().flatten().copied().collect(),
    };
    let args = |i: usize| &func.blocks[o.regions[i]].args[..];
    match o.opcode {
        Opcode::For => (0..o.results.len())
            .map(|i| {
                let sources = [at(&o.operands[3..], i), at(terminator(func, o.regions[0]), i)];
                web(&[at(&o.results, i), at(args(0), i + 1)], &sources)
            })
            .collect(),
        Opcode::If => (0..o.results.len())
            .map(|i| {
                let sources: Vec<_> = o.regions.iter().map(|&b| at(terminator(func, b), i)).collect();
                web(&[at(&o.results, i)], &sources)
            })
            .collect(),
        Opcode::While => {
            let before = (0..args(0).len())
                .map(|i| web(&[at(args(0), i)], &[at(&o.operands, i), at(terminator(func, o.regions[1]), i)]));
            let after = (0..o.results.len())
                .map(|i| web(&[at(&o.results, i), at(args(1), i)], &[at(terminator(func, o.regions[0]), i + 1)]));
            before.chain(after).collect()
        }
        _ => Vec::new(),
    }
}

/// Which scalars, pointers and views depend on what was read from memory or a tile.
fn from_memory(func: &Function, ops: &[Op]) -> Vec<bool> {
    let mut data = vec![false; func.values.len()];
    // One flag for the contents of all arrays.
    let mut arrays = false;
    loop {
        let before = (count(&data), arrays);
        for &op in ops {
            let o = &func.ops[op];
            let any = o.operands.iter().any(|v| data[v.index()]);
            let decided = deciders(func, op).iter().any(|v| data[v.index()]);
            match o.opcode {
                Opcode::LoadScalar | Opcode::TGetVal => o.results.iter().for_each(|v| data[v.index()] = true),
                Opcode::ArrayGet => o.results.iter().for_each(|v| data[v.index()] |= any || arrays),
                Opcode::ArraySet => arrays |= any,
                _ if o.regions.is_empty() => o.results.iter().for_each(|v| data[v.index()] |= any),
                _ => {
                    if o.opcode == Opcode::For && decided {
                        data[func.blocks[o.regions[0]].args[0].index()] = true;
                    }
                    o.results.iter().for_each(|v| data[v.index()] |= decided);
                    for web in carried(func, op) {
                        if web.sources.iter().any(|v| data[v.index()]) {
                            web.sinks.iter().for_each(|v| data[v.index()] = true);
                        }
                    }
                }
            }
        }
        if before == (count(&data), arrays) {
            return data;
        }
    }
}

/// Accesses of a running skeleton.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    sites: Vec<Log>,
    touches: usize,
}

/// What one place in the code has accessed: finished regions, and a progression that may go on.
#[derive(Debug, Default)]
struct Log {
    done: Vec<(u32, Region)>,
    open: Option<Progression>,
}

#[derive(Clone, Copy, Debug)]
struct Progression {
    param: u32,
    first: Region,
    stride: i64,
    count: i64,
}

impl Progression {
    fn new(param: u32, first: Region) -> Progression {
        Progression { param, first, stride: 0, count: 1 }
    }

    /// Whether the region is the next of the progression, or one of it.
    fn take(&mut self, param: u32, region: &Region) -> bool {
        if param != self.param || !region.same_shape(&self.first) {
            return false;
        }
        let step = region.start - self.first.start;
        if step == 0 {
            return true;
        }
        if self.count == 1 {
            self.stride = step;
        }
        if step == self.stride * self.count {
            self.count += 1;
            return true;
        }
        step % self.stride == 0 && (0..self.count).contains(&(step / self.stride))
    }

    /// The union, or all members if there is no such region.
    fn close(&self, out: &mut Vec<(u32, Region)>) {
        match self.first.repeated(self.count, self.stride) {
            Some(region) => out.push((self.param, region)),
            None => out.extend((0..self.count).map(|i| (self.param, self.first.shifted(i * self.stride)))),
        }
    }
}

impl Log {
    fn touch(&mut self, param: u32, region: Region) {
        if let Some(open) = &mut self.open {
            if open.take(param, &region) {
                return;
            }
            open.close(&mut self.done);
        }
        self.open = Some(Progression::new(param, region));
    }

    fn finish(mut self) -> Vec<(u32, Region)> {
        if let Some(open) = self.open.take() {
            open.close(&mut self.done);
        }
        // Progressions of progressions: one pass per loop level.
        loop {
            let before = self.done.len();
            let mut log = Log::default();
            self.done.iter().for_each(|&(param, region)| log.touch(param, region));
            if let Some(open) = log.open.take() {
                open.close(&mut log.done);
            }
            self.done = log.done;
            if self.done.len() >= before {
                return self.done;
            }
        }
    }
}

impl Recorder {
    fn new(sites: usize) -> Recorder {
        Recorder { sites: (0..sites).map(|_| Log::default()).collect(), touches: 0 }
    }

    /// An error after too many of them.
    pub(crate) fn touch(&mut self, site: u32, param: u32, region: Region) -> Result<(), Trap> {
        self.touches += 1;
        if self.touches > MAX_TOUCHES {
            return Err(Trap::new("footprint", format!("more than {MAX_TOUCHES} accesses")));
        }
        if !region.is_empty() {
            self.sites[site as usize].touch(param, region);
        }
        Ok(())
    }

    fn finish(self, sites: &[Site]) -> Option<Vec<Touch>> {
        let mut out: Vec<Touch> = Vec::new();
        for (log, site) in self.sites.into_iter().zip(sites) {
            if site.whole {
                out.push(Touch { param: site.param?, write: site.write, region: None });
            }
            for (param, region) in log.finish() {
                let same = |t: &Touch| (t.param, t.write) == (param, site.write);
                if !out.iter().any(|t| same(t) && t.region.is_some_and(|r| r.covers(&region))) {
                    out.push(Touch { param, write: site.write, region: Some(region) });
                }
            }
        }
        (out.len() <= MAX_REGIONS).then_some(out)
    }
}

/// A kernel's skeleton.
#[derive(Debug)]
pub struct Footprint {
    /// `None`: every argument counts as a whole.
    code: Option<Code>,
}

impl Footprint {
    /// Of a function that decodes.
    pub(crate) fn new(func: &Function, arch: chip::Arch, profile: dtype::Profile) -> Footprint {
        if Plan::new(func).opaque {
            return Footprint { code: None };
        }
        Footprint { code: crate::decode::decode(func, arch, profile, crate::code::Mode::Footprint).ok() }
    }

    /// Whether accesses can be found before a task runs at all.
    pub fn is_known(&self) -> bool {
        self.code.is_some()
    }

    /// What `blocks` blocks touch with these arguments, of which only the scalars count. `None`: it cannot be said (the
    /// run itself will fail, or there are too many regions); every argument counts as a whole, by its direction.
    pub fn touches(
        &self,
        frame: &mut Frame,
        args: &[memory::Arg],
        blocks: u32,
        interrupt: Option<&AtomicBool>,
    ) -> Option<Vec<Touch>> {
        let code = self.code.as_ref()?;
        let mut recorder = Recorder::new(code.sites.len());
        for block in 0..if code.uses_block { blocks } else { blocks.min(1) } {
            frame.reset(code, 0, (block, blocks), 0);
            frame.bind_scalars(code, args);
            let mut machine = Machine {
                mem: &mut [],
                fifos: &mut Vec::new(),
                peer: None,
                cluster: crate::exec::Cluster::default(),
                interrupt,
                task: 0,
                block,
                values: &mut Vec::new(),
                log: None,
                measure: None,
                recorder: Some(&mut recorder),
            };
            match frame.run(code, &mut machine) {
                Ok(Stop::Done) => {}
                _ => return None,
            }
        }
        recorder.finish(&code.sites)
    }

    /// The parameter that pointer number `n` is.
    pub fn parameter(code: &Code, n: u32) -> Option<usize> {
        code.params.iter().position(|p| matches!(p, ParamKind::Pointer(k, _) if *k == n))
    }
}
