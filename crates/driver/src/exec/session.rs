//! Memory and a simulated cluster, kept from run to run: what a run has written is put back before the next one.

use std::collections::BTreeMap;

use chip::Core;
use diag::Diagnostic;
use dtype::{DType, Scalar};
use machine::measure::{CHUNK, Chunks, Measure};
use machine::{Group, Lane, Order, SyncKind};
use memory::{Arg, Buffer, View};
use trace::ValueRecord;

use super::inputs::{Input, Inputs, Memory};
use super::kernel::{Coverage, Kernel, Source};

/// What is different of an argument after a run: its chunks that have changed, whole.
pub type Output = BTreeMap<u32, Box<[u8]>>;

/// What a run may do: bytes moved, and a price for each region of code entered.
pub(super) const BUDGET: u64 = 4 << 30;
/// Largest argument: more is a mistake in an address.
pub(super) const LIMIT: u64 = 64 << 30;

/// What a run has done.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// By parameter; empty for scalars. Contents are compared by comparing these: inputs are the same.
    pub outputs: Vec<Output>,
    pub coverage: Coverage,
    /// Why the run did not come to its end.
    pub trap: Option<Diagnostic>,
    /// Of an observed kernel: the digests, with the lane (core) of each.
    pub values: Vec<(usize, ValueRecord)>,
}

impl Outcome {
    /// Whether some argument is not what it was.
    pub fn changed(&self) -> bool {
        self.outputs.iter().any(|o| !o.is_empty())
    }

    /// A number for what an argument holds that it did not before.
    pub fn digest(&self, param: usize) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for (chunk, bytes) in self.outputs.get(param).into_iter().flatten() {
            for byte in chunk.to_le_bytes().iter().chain(bytes.iter()) {
                hash = (hash ^ *byte as u64).wrapping_mul(0x100_0000_01b3);
            }
        }
        hash
    }

    /// All bytes of an argument after the run, which were `before`.
    pub fn contents(&self, before: &Memory, param: usize) -> Vec<u8> {
        let mut out = before.to_vec();
        for (&chunk, bytes) in self.outputs.get(param).into_iter().flatten() {
            let at = chunk as usize * CHUNK;
            if let Some(part) = out.get_mut(at..) {
                let n = part.len().min(CHUNK);
                part[..n].copy_from_slice(&bytes[..n]);
            }
        }
        out
    }

    /// Whether both ran to the end, or stopped for the same reason, with the same bits.
    pub fn same(&self, other: &Outcome) -> bool {
        self.trap.as_ref().map(|t| t.code) == other.trap.as_ref().map(|t| t.code) && self.outputs == other.outputs
    }
}

/// Memory of one argument.
#[derive(Debug)]
struct Held {
    buffer: Buffer,
    /// Chunks that are not zero, or were written.
    used: Chunks,
    written: Chunks,
}

/// See the module.
#[derive(Default)]
pub struct Session {
    /// Which inputs are in memory.
    loaded: Option<u64>,
    held: Vec<Option<Held>>,
    groups: Vec<Group>,
    measures: Vec<Measure>,
    /// In which order the instructions of a core run. For kernels that order their pipes any order gives the same bits.
    pub order: Order,
}

impl Session {
    pub fn new() -> Session {
        Session::default()
    }

    /// A session whose runs have this order.
    pub fn ordered(order: Order) -> Session {
        Session { order, ..Session::default() }
    }

    /// Runs to the end, or to a trap. Parameters of kernel and inputs must fit.
    pub fn run(&mut self, kernel: &Kernel, inputs: &Inputs) -> Outcome {
        self.run_within(kernel, inputs, BUDGET, LIMIT)
    }

    pub(super) fn run_within(&mut self, kernel: &Kernel, inputs: &Inputs, budget: u64, limit: u64) -> Outcome {
        let mut outcome = Outcome {
            outputs: vec![Output::new(); inputs.args.len()],
            coverage: Coverage::default(),
            trap: None,
            values: Vec::new(),
        };
        if let Err(d) = kernel.accepts(inputs) {
            outcome.trap = Some(d);
            return outcome;
        }
        let args = match self.load(inputs) {
            Ok(args) => args,
            Err(e) => {
                outcome.trap = Some(Diagnostic::error("memory", e));
                return outcome;
            }
        };
        outcome.trap = self.execute(kernel, inputs, &args, (budget, limit), &mut outcome.values).err();
        outcome.coverage = kernel.coverage(&self.measures);
        self.collect(kernel, inputs, &mut outcome);
        outcome
    }

    /// What the last run has measured, by lane.
    pub(super) fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Inputs in memory, whatever was there.
    fn load(&mut self, inputs: &Inputs) -> Result<Vec<Arg>, String> {
        let again = self.loaded == Some(inputs.id());
        self.loaded = None;
        self.held.resize_with(inputs.args.len().max(self.held.len()), || None);
        for (held, input) in self.held.iter_mut().zip(&inputs.args) {
            match input {
                Input::Scalar(_) => *held = None,
                Input::Memory(m) => hold(held, m, again)?,
            }
        }
        self.loaded = Some(inputs.id());
        let mut args = Vec::with_capacity(inputs.args.len());
        for (held, input) in self.held.iter().zip(&inputs.args) {
            args.push(match (held, input) {
                (Some(held), Input::Memory(m)) => {
                    let elements = (held.buffer.len() / m.dtype.size()) as u64;
                    Arg::Tensor(view(&held.buffer, m.dtype, elements)?)
                }
                (_, Input::Scalar(s)) => Arg::Scalar(*s),
                (None, Input::Memory(m)) => Arg::Tensor(view(&Buffer::zeroed(0), m.dtype, 0)?),
            });
        }
        Ok(args)
    }

    fn execute(
        &mut self,
        kernel: &Kernel,
        inputs: &Inputs,
        args: &[Arg],
        (budget, limit): (u64, u64),
        values: &mut Vec<(usize, ValueRecord)>,
    ) -> Result<(), Diagnostic> {
        let chip = kernel.arch.chip();
        self.measures.resize_with(kernel.lanes.len(), Measure::default);
        for (m, lane) in self.measures.iter_mut().zip(&kernel.lanes) {
            m.reset(lane.code.blocks, lane.code.pointers as usize, budget, limit);
        }
        let blocks = inputs.run_blocks.max(1) as usize;
        self.groups.resize_with(blocks.max(self.groups.len()), Group::new);
        let groups = &mut self.groups[..blocks];
        for (n, group) in groups.iter_mut().enumerate() {
            let block = inputs.first_block + n as u32;
            let bound: Vec<Vec<Arg>> = kernel.lanes.iter().map(|l| bind(l, args, block, inputs.blocks)).collect();
            let lanes = kernel.lanes.iter().zip(&bound);
            let lanes: Vec<Lane<'_>> =
                lanes.map(|(l, args)| Lane { code: &l.code, args, subblock: l.subblock }).collect();
            group.order = self.order;
            group.start_lanes(chip, &lanes, 0, (block, inputs.blocks));
        }
        let mut turn = Turn { measures: &mut self.measures, values };
        let result = turn.all(groups, kernel);
        groups.iter_mut().for_each(Group::forget);
        result
    }

    /// What has changed, and must be put back before the next run.
    fn collect(&mut self, kernel: &Kernel, inputs: &Inputs, outcome: &mut Outcome) {
        for (lane, m) in kernel.lanes.iter().zip(&self.measures) {
            for (param, used) in lane.pointers().zip(&m.pointers) {
                if let Some(Some(held)) = self.held.get_mut(param) {
                    used.written.iter().for_each(|chunk| {
                        held.used.insert(chunk);
                        held.written.insert(chunk);
                    });
                }
            }
        }
        for ((held, input), output) in self.held.iter().zip(&inputs.args).zip(&mut outcome.outputs) {
            let (Some(held), Input::Memory(m)) = (held, input) else { continue };
            for chunk in held.written.iter() {
                let at = chunk as usize * CHUNK;
                let n = held.buffer.len().saturating_sub(at).min(CHUNK);
                let mut now = vec![0; CHUNK].into_boxed_slice();
                if n == 0 || held.buffer.read(at, &mut now[..n]).is_err() {
                    continue;
                }
                let same = match m.chunks.get(&chunk) {
                    Some(before) => before[..n] == now[..n],
                    None => now.iter().all(|&b| b == 0),
                };
                if !same {
                    output.insert(chunk, now);
                }
            }
        }
    }
}

/// The memory of an argument, in `held`. `again`: it held this before, and only what was written is not it any more.
fn hold(held: &mut Option<Held>, m: &Memory, again: bool) -> Result<(), String> {
    let fits = held.as_ref().is_some_and(|h| h.buffer.len() == m.len);
    let h = match held {
        Some(h) if fits => h,
        _ => held.insert(Held { buffer: room(m.len)?, used: Chunks::default(), written: Chunks::default() }),
    };
    let put = |h: &Held, chunk: u32, bytes: &[u8]| {
        let at = chunk as usize * CHUNK;
        let n = m.len.saturating_sub(at).min(CHUNK);
        if n == 0 { Ok(()) } else { h.buffer.write(at, &bytes[..n]).map_err(|e| e.to_string()) }
    };
    if again && fits {
        for chunk in h.written.iter() {
            put(h, chunk, m.chunks.get(&chunk).map_or(&[0; CHUNK][..], |c| c))?;
        }
        h.written.clear();
        return Ok(());
    }
    for chunk in h.used.iter().filter(|c| !m.chunks.contains_key(c)) {
        put(h, chunk, &[0; CHUNK])?;
    }
    h.used.clear();
    h.written.clear();
    for (&chunk, bytes) in &m.chunks {
        h.used.insert(chunk);
        put(h, chunk, bytes)?;
    }
    Ok(())
}

fn view(buffer: &Buffer, dtype: DType, elements: u64) -> Result<View, String> {
    View::new(buffer.clone(), dtype, &[elements]).map_err(|e| e.to_string())
}

/// Zeroed memory; an error, and no abort, if there is no room.
fn room(len: usize) -> Result<Buffer, String> {
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| format!("no room for an argument of {len} bytes"))?;
    Ok(Buffer::zeroed(len))
}

/// The arguments of what one core runs.
fn bind(lane: &super::kernel::Lane, args: &[Arg], block: u32, blocks: u32) -> Vec<Arg> {
    let scalar = |d, n: u32| Arg::Scalar(Scalar::from_i64(d, n as i64));
    let one = |source: &Source| match *source {
        Source::Param(n) => args[n].clone(),
        Source::BlockIndex(d) => scalar(d, block),
        Source::BlockCount(d) => scalar(d, blocks),
        Source::SubblockIndex(d) => scalar(d, lane.subblock),
    };
    lane.args.iter().map(one).collect()
}

/// Blocks that take turns on one host thread, each on a cluster of its own.
struct Turn<'a> {
    measures: &'a mut Vec<Measure>,
    values: &'a mut Vec<(usize, ValueRecord)>,
}

impl Turn<'_> {
    fn all(&mut self, groups: &mut [Group], kernel: &Kernel) -> Result<(), Diagnostic> {
        let mut done = vec![false; groups.len()];
        loop {
            for (group, done) in groups.iter_mut().zip(&mut done).filter(|(_, done)| !**done) {
                std::mem::swap(&mut group.measures, self.measures);
                let result = group.run(None);
                std::mem::swap(&mut group.measures, self.measures);
                self.values.extend(group.take_values());
                *done = result.map_err(|d| kernel.name_operation(d, group))? != machine::Outcome::Parked;
            }
            if done.iter().all(|&d| d) {
                return Ok(());
            }
            release(groups, &done, kernel)?;
        }
    }
}

/// Every block stands at a `syncall` or has ended: those whose peers are all there go on.
fn release(groups: &mut [Group], done: &[bool], kernel: &Kernel) -> Result<(), Diagnostic> {
    let (cubes, vectors) = kernel.cores();
    let blocks = groups.len();
    let standing: Vec<(Core, SyncKind)> =
        groups.iter().zip(done).filter(|(_, d)| !**d).flat_map(|(g, _)| g.standing()).collect();
    let count = |kind, core| standing.iter().filter(|&&s| s == (core, kind)).count();
    let wanted = [
        (SyncKind::Cube, (cubes * blocks, 0)),
        (SyncKind::Vector, (0, vectors * blocks)),
        (SyncKind::All, (cubes * blocks, vectors * blocks)),
    ];
    let met =
        wanted.into_iter().find(|&(kind, n)| n != (0, 0) && (count(kind, Core::Cube), count(kind, Core::Vector)) == n);
    match met {
        Some((kind, _)) => {
            groups.iter_mut().for_each(|g| g.release(kind));
            Ok(())
        }
        None => {
            let message = format!("{} cores wait at `syncall` and no other can come", standing.len());
            Err(Diagnostic::error("syncall-deadlock", message))
        }
    }
}
