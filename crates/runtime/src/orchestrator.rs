//! The calling thread: runs the orchestration, submits tasks, helps to run them where it has to wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use diag::{Diagnostic, Span};
use dtype::{DType, Scalar};
use machine::{Frame, Machine, Stop};
use memory::{Arg, Buffer, Dims, MemoryError, Returned, View};
use trace::{Access, AccessKind, Cause, Edge, HostAccess, Memory, Region, Task, Via};

use crate::history::History;
use crate::host::{Action, Dep, Extent, HostOp, Int};
use crate::scheduler::{Scheduler, Worker};
use crate::submit::Footprints;
use crate::upstream::TensorMap;
use crate::{Compiled, Deps, Options, Report, interrupted};

/// The most bytes a fresh tensor may have: beyond any host.
const MAX_TENSOR: u64 = 1 << 46;

pub(crate) fn run(compiled: &Compiled, args: &[Arg], options: &Options, threads: usize) -> Result<Report, Diagnostic> {
    let record = options.record || options.observe || options.accesses;
    let scheduler = Arc::new(Scheduler::new(compiled.arch.chip(), options, threads));
    let mut crew = compiled.pool.crew();
    let mut started = threads == 1;
    let mut spawn = || {
        if !std::mem::replace(&mut started, true) {
            crew.start(&scheduler, threads - 1);
        }
    };
    let mut o = Orchestrator {
        compiled,
        options,
        scheduler: &scheduler,
        worker: Worker::with(compiled.pool.take_groups()),
        history: History::new(record),
        declared: History::new(true),
        tensors: TensorMap::default(),
        footprints: Footprints::default(),
        record,
        spawn: &mut spawn,
        args,
        report: Report::default(),
        joins: Vec::new(),
        created: Vec::new(),
        frame: Frame::default(),
        span: None,
        op: None,
    };
    // Workers wait for the end of the run, and use the caller's memory: nothing may leave before `close`.
    let ran = catch_unwind(AssertUnwindSafe(|| o.run())).unwrap_or_else(|_| {
        let d = Diagnostic::error("internal", "the simulator failed in the orchestration");
        Err(d.at(o.span, "while it ran this"))
    });
    o.share();
    let values = scheduler.finish(&mut o.worker);
    let mut report = std::mem::take(&mut o.report);
    compiled.pool.give_groups(std::mem::take(&mut o.worker.groups));
    drop(o);
    scheduler.close();
    crew.dismiss();
    // A task that failed comes before wherever the orchestration was.
    let (values, streams) = values?;
    (report.values, report.streams) = (values, streams);
    ran?;
    report.values.sort_unstable_by_key(|r| r.point);
    for edges in [&mut report.edges, &mut report.declared] {
        edges.sort_unstable_by_key(|e| (e.to, e.from, e.cause));
        edges.dedup_by_key(|e| (e.to, e.from));
    }
    report.streams.sort_by_key(|s| (s.task, s.block, s.core, s.lane));
    Ok(report)
}

/// Tasks that a task id stands for: id 0 is none; `n + 1` is task `n`; `JOIN | k` is join `k`.
const JOIN: u64 = 1 << 32;

pub(crate) struct Orchestrator<'a, 'b> {
    pub(crate) compiled: &'a Compiled,
    pub(crate) options: &'a Options,
    pub(crate) scheduler: &'a Scheduler,
    pub(crate) worker: Worker,
    pub(crate) history: History,
    /// Of the tasks that the program leaves the order of to the runtime; only if accesses are recorded.
    pub(crate) declared: History,
    pub(crate) tensors: TensorMap,
    pub(crate) footprints: Footprints,
    pub(crate) record: bool,
    pub(crate) spawn: &'b mut dyn FnMut(),
    args: &'a [Arg],
    pub(crate) report: Report,
    /// Tasks that each `task_dummy` waits for.
    joins: Vec<Vec<u32>>,
    /// Recording runs keep what they make: an address used twice would look like a conflict.
    created: Vec<Buffer>,
    pub(crate) frame: Frame,
    /// Where the orchestration is.
    pub(crate) span: Option<Span>,
    op: Option<&'a HostOp>,
}

/// Why the orchestration ends early: its own error, or one of a task, which [`Scheduler::finish`] reports.
pub(crate) enum End {
    Error(Diagnostic),
    Stopped,
}

impl From<Diagnostic> for End {
    fn from(d: Diagnostic) -> End {
        End::Error(d)
    }
}

impl Orchestrator<'_, '_> {
    fn run(&mut self) -> Result<(), Diagnostic> {
        match self.go() {
            Ok(()) => Ok(()),
            Err(End::Error(d)) => Err(d),
            // `finish` knows why; if it does not, the run was told to stop.
            Err(End::Stopped) => Err(interrupted()),
        }
    }

    fn go(&mut self) -> Result<(), End> {
        let code = &self.compiled.entry;
        let mut frame = std::mem::take(&mut self.frame);
        frame.reset(code, 0, (0, 1), 0);
        frame.bind(code, self.args);
        self.frame = frame;
        if self.options.accesses {
            let compiled = self.compiled;
            for (i, (arg, param)) in self.args.iter().zip(&compiled.params).enumerate() {
                if let Some(view) = arg.tensor() {
                    self.note_memory(&param.name, Some(i as u32), view);
                }
            }
        }
        let mut nothing = Default::default();
        loop {
            let mut machine = Machine::host(self.options.interrupt.as_deref(), &mut nothing);
            let stop = self.frame.run(code, &mut machine).map_err(|trap| {
                let span = code.span(self.frame.pc.saturating_sub(1));
                Diagnostic::error(trap.code, trap.message).at(span, "here").note("in the orchestration")
            })?;
            match stop {
                Stop::Done => return Ok(()),
                Stop::Host(n) => {
                    let op = &self.compiled.hosts[n as usize];
                    (self.span, self.op) = (op.span, Some(op));
                    self.act(&op.action)?;
                }
                _ => return Err(End::Stopped),
            }
            if self.options.interrupt.as_ref().is_some_and(|i| i.load(Ordering::Relaxed)) {
                return Err(End::Stopped);
            }
        }
    }

    /// An error at the operation being carried out.
    pub(crate) fn error(&self, code: &'static str, message: String) -> End {
        End::Error(Diagnostic::error(code, message).at(self.span, "here").note("in the orchestration"))
    }

    fn memory(&self, e: MemoryError) -> End {
        let code = match e {
            MemoryError::OutOfBounds { .. } => "out-of-bounds",
            MemoryError::ReadOnly => "read-only",
            _ => "tensor-shape",
        };
        self.error(code, e.to_string())
    }

    pub(crate) fn int(&self, int: Int) -> i64 {
        Scalar::new(int.dtype, self.frame.scalars[int.reg as usize]).as_i64().unwrap_or(0)
    }

    pub(crate) fn tensor(&self, reg: u32) -> Result<&View, End> {
        match &self.frame.tensors[reg as usize] {
            Some(view) => Ok(view),
            None => Err(self.error("internal", "a tensor that was never made".to_string())),
        }
    }

    fn unsigned(&self, what: &str, int: Int) -> Result<u64, End> {
        let v = self.int(int);
        u64::try_from(v).map_err(|_| self.error("tensor-shape", format!("{what} of {v}")))
    }

    fn extents(&self, shape: &[Extent]) -> Result<Dims<u64>, End> {
        let mut out = Dims::default();
        for e in shape {
            let n = match *e {
                Extent::Known(n) => n,
                Extent::In(int) => self.unsigned("an extent", int)?,
            };
            out.push(n).map_err(|e| self.memory(e))?;
        }
        Ok(out)
    }

    /// The tasks behind dependencies, invalid ids left out.
    pub(crate) fn deps(&self, deps: &[Dep]) -> Vec<u32> {
        let mut out = Vec::new();
        let mut add = |id: u64| match id {
            0 => {}
            id if id & JOIN != 0 => out.extend_from_slice(&self.joins[(id ^ JOIN) as usize]),
            id => out.push(id as u32 - 1),
        };
        for dep in deps {
            match *dep {
                Dep::Task(reg) => add(self.frame.scalars[reg as usize]),
                Dep::Array(reg) => {
                    let array = self.frame.arrays.get(self.frame.scalars[reg as usize] as usize);
                    array.into_iter().flatten().for_each(|&id| add(id));
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn act(&mut self, action: &Action) -> Result<(), End> {
        match action {
            Action::Return(values) => {
                for &(reg, param) in values {
                    let view = self.tensor(reg)?.clone();
                    let param =
                        param.or_else(|| self.args.iter().position(|a| a.tensor().is_some_and(|t| same(t, &view))));
                    self.report.returned.push(match param {
                        Some(i) => Returned::Param(i),
                        None => Returned::Tensor(view),
                    });
                }
            }
            Action::TaskInvalid { dst } => self.frame.scalars[*dst as usize] = 0,
            Action::TaskIsValid { dst, task } => {
                self.frame.scalars[*dst as usize] = (self.frame.scalars[*task as usize] != 0) as u64;
            }
            Action::TaskDummy { dst, deps } => {
                let tasks = self.deps(deps);
                self.joins.push(tasks);
                self.frame.scalars[*dst as usize] = JOIN | (self.joins.len() as u64 - 1);
            }
            Action::Create { dst, dtype, shape, init, manual_dep } => {
                let shape = self.extents(shape)?;
                let view = self.create(*dtype, &shape, *init)?;
                if *manual_dep || self.tensors.has_manual() || self.options.deps == Deps::Upstream {
                    self.tensors.created(&view, *manual_dep);
                }
                if self.record {
                    self.created.push(view.buffer.clone());
                }
                if self.options.accesses {
                    let name = self.op.and_then(|op| op.name.as_deref()).unwrap_or("a tensor of the program");
                    self.note_memory(name, None, &view);
                }
                self.frame.tensors[*dst as usize] = Some(view);
            }
            Action::Slice { dst, src, offsets, sizes, drop } => {
                let source = self.tensor(*src)?;
                let mut at = Dims::<u64>::default();
                for &o in offsets {
                    at.push(self.unsigned("a slice at an offset", o)?).map_err(|e| self.memory(e))?;
                }
                let sizes = self.extents(sizes)?;
                let mut view = source.overhanging(&at, &sizes).map_err(|e| self.memory(e))?;
                if !drop.is_empty() {
                    let (mut dims, mut strides) = (Dims::default(), Dims::default());
                    for k in (0..view.rank()).filter(|k| !drop.contains(k)) {
                        dims.push(view.shape[k]).map_err(|e| self.memory(e))?;
                        strides.push(view.strides[k]).map_err(|e| self.memory(e))?;
                    }
                    (view.shape, view.strides) = (dims, strides);
                }
                self.frame.tensors[*dst as usize] = Some(view);
            }
            Action::Reshape { dst, src, shape } => {
                let shape = self.extents(shape)?;
                let view = self.tensor(*src)?.reshape(&shape).map_err(|e| self.memory(e))?;
                self.frame.tensors[*dst as usize] = Some(view);
            }
            Action::Bitcast { dst, src, dtype, shape } => {
                let shape = self.extents(shape)?;
                let source = self.tensor(*src)?;
                let view = source.bitcast(*dtype).map_err(|e| self.memory(e))?;
                if view.shape[..] != shape[..] {
                    let (from, old) = (source.dtype, &source.shape);
                    let message =
                        format!("a bit cast of {from} {old:?} to {dtype} makes {:?}, not {shape:?}", view.shape);
                    return Err(self.error("tensor-shape", message));
                }
                self.frame.tensors[*dst as usize] = Some(view);
            }
            Action::Transpose { dst, src, axes } => {
                let view = self.tensor(*src)?.transpose(axes.0, axes.1).map_err(|e| self.memory(e))?;
                self.frame.tensors[*dst as usize] = Some(view);
            }
            Action::Dim { dst, src, axis } | Action::Stride { dst, src, axis } => {
                let view = self.tensor(*src)?;
                let value = match action {
                    Action::Dim { .. } => view.shape.get(*axis).map(|&n| n as i64),
                    _ => view.strides.get(*axis).copied(),
                };
                let value = value.ok_or_else(|| {
                    self.error("tensor-shape", format!("axis {axis} of a tensor of rank {}", view.rank()))
                })?;
                self.frame.scalars[*dst as usize] = value as u64;
            }
            Action::Read { dst, src, indices } => {
                let (view, at) = self.element(*src, indices)?;
                self.settle(&view, at, false)?;
                self.note_scalar(&view, at, AccessKind::Read);
                let value = view.buffer.get(at, view.dtype).map_err(|e| self.memory(e))?;
                self.frame.scalars[*dst as usize] = value.bits;
            }
            Action::Write { dst, indices, value, dtype } => {
                let (view, at) = self.element(*dst, indices)?;
                if !same_type(*dtype, view.dtype) {
                    let (a, b) = (dtype, view.dtype);
                    return Err(self.error("dtype-mismatch", format!("a {a} written to a tensor of {b}")));
                }
                self.settle(&view, at, true)?;
                self.note_scalar(&view, at, AccessKind::Write);
                let value = Scalar::new(view.dtype, self.frame.scalars[*value as usize]);
                view.buffer.set(at, value).map_err(|e| self.memory(e))?;
            }
            Action::Submit(submit) => {
                let task = self.submit(submit)?;
                if let Some(dst) = submit.dst {
                    self.frame.scalars[dst as usize] = task as u64 + 1;
                }
            }
        }
        Ok(())
    }

    fn create(&self, dtype: DType, shape: &[u64], init: Option<Scalar>) -> Result<View, End> {
        let elements = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        let bytes = elements.and_then(|n| n.checked_mul(dtype.size() as u64)).filter(|&n| n <= MAX_TENSOR);
        let too_big = || self.error("tensor-shape", format!("a tensor of shape {shape:?} does not fit this host"));
        let bytes = usize::try_from(bytes.ok_or_else(too_big)?).map_err(|_| too_big())?;
        // A refused allocation would end the process; ask first where it might be.
        if bytes > 1 << 28 && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            return Err(too_big());
        }
        let buffer = Buffer::zeroed(bytes);
        if let Some(value) = init.filter(|v| v.bits != 0) {
            let size = dtype.size();
            let pattern: Vec<u8> = value.to_le_bytes()[..size].repeat((4096 / size).min(bytes / size));
            let mut at = 0;
            while at < bytes {
                let n = pattern.len().min(bytes - at);
                buffer.write(at, &pattern[..n]).map_err(|e| self.memory(e))?;
                at += n;
            }
        }
        View::new(buffer, dtype, shape).map_err(|e| self.memory(e))
    }

    /// A tensor and the byte offset of one of its elements.
    fn element(&self, reg: u32, indices: &[Int]) -> Result<(View, usize), End> {
        let view = self.tensor(reg)?;
        let mut at = Vec::with_capacity(indices.len());
        for &i in indices {
            let v = self.int(i);
            let outside = |_| self.error("out-of-bounds", format!("element {v} of a tensor of shape {:?}", view.shape));
            at.push(u64::try_from(v).map_err(outside)?);
        }
        match view.byte_offset(&at) {
            Ok(byte) => Ok((view.clone(), byte)),
            Err(e) => Err(self.error("out-of-bounds", e.to_string())),
        }
    }

    /// Waits for every earlier task whose access to these bytes conflicts (semantics rule 19).
    fn settle(&mut self, view: &View, at: usize, write: bool) -> Result<(), End> {
        let start = view.buffer.as_ptr().addr() as i64 + at as i64;
        let region = Region::bytes(start, view.dtype.size() as i64);
        let mut tasks = Vec::new();
        let scheduler = self.scheduler;
        // A look, not a write: it must not make the history forget whom a later task must wait for. They are done then.
        self.history.look(&region, write, &mut |task| {
            if !scheduler.is_done(task) {
                tasks.push(task);
            }
        });
        if !tasks.is_empty() {
            self.share();
            if !self.scheduler.wait_for(&mut self.worker, &tasks) {
                return Err(End::Stopped);
            }
        }
        Ok(())
    }

    /// Notes a scalar access of the orchestration for the report.
    fn note_scalar(&mut self, view: &View, at: usize, kind: AccessKind) {
        if let (true, Some(op)) = (self.options.accesses, self.op) {
            let start = view.buffer.as_ptr().addr() as i64 + at as i64;
            let region = Region::bytes(start, view.dtype.size() as i64);
            let access = Access { op: op.op, kind, via: Via::Scalar, region };
            self.report.host.push(HostAccess { after: self.report.task_count, access });
        }
    }

    /// Notes global memory that the run can reach.
    fn note_memory(&mut self, name: &str, param: Option<u32>, view: &View) {
        let size = view.dtype.size() as i64;
        self.report.memory.push(Memory {
            name: name.to_owned(),
            param,
            start: view.buffer.as_ptr().addr() as i64 + view.offset as i64 * size,
            bytes: view.elements() as i64 * size,
            size,
            shape: view.shape.to_vec(),
        });
    }

    /// Lets other threads help, if there is something for two to do: before the calling thread waits.
    pub(crate) fn share(&mut self) {
        if self.scheduler.backlog() > 1 {
            (self.spawn)();
        }
    }

    /// Notes a task and its edges for the report.
    pub(crate) fn note(&mut self, task: u32, note: impl FnOnce() -> Task, edges: &[(u32, Cause)]) {
        self.report.task_count = task + 1;
        if self.record {
            self.report.tasks.push(note());
            self.report.edges.extend(edges.iter().map(|&(from, cause)| Edge { from, to: task, cause }));
        }
    }
}

fn same_type(a: DType, b: DType) -> bool {
    let plain = |d: DType| if d == DType::Index { DType::I64 } else { d };
    plain(a) == plain(b)
}

/// Whether two views are the same elements in the same shape.
fn same(a: &View, b: &View) -> bool {
    a.buffer.as_ptr() == b.buffer.as_ptr()
        && a.dtype == b.dtype
        && a.offset == b.offset
        && a.shape == b.shape
        && a.strides == b.strides
}
