//! The interpreter loop.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dtype::scalar::{self, CmpOp};
use dtype::{DType, RoundMode, Scalar};
use isa::{Order, Tile};
use memory::{Dims, MemoryError};
use trace::{AccessKind, Event, Log, Meeting, Point, Region, ValueRecord, Via};

use crate::code::{Code, Extent, FifoName, Inst, LoopSpec, PipeSpec, PopSpec, SUBBLOCK_IDX, ShapeSpec, pointer};
use crate::fifo::Fifo;
use crate::footprint::Recorder;
use crate::frame::{Frame, ViewReg};
use crate::group::SyncKind;
use crate::log;
use crate::measure::Measure;

/// Why a frame is not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    Done,
    SyncAll(SyncKind),
    /// It pops (or pushes) this FIFO, which is empty (full).
    Wait {
        fifo: FifoName,
        push: bool,
    },
    /// The caller carries out this operation of the orchestration, then runs the frame again.
    Host(u32),
    Interrupted,
}

/// Why a run cannot go on; the instruction is the one before the frame's `pc`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trap {
    pub code: &'static str,
    pub message: String,
}

impl Trap {
    pub(crate) fn new(code: &'static str, message: String) -> Trap {
        Trap { code, message }
    }

    pub(crate) fn memory(e: MemoryError) -> Trap {
        let code = match e {
            MemoryError::OutOfBounds { .. } => "out-of-bounds",
            MemoryError::ReadOnly => "read-only",
            _ => "memory",
        };
        Trap { code, message: e.to_string() }
    }
}

impl From<isa::Fault> for Trap {
    fn from(fault: isa::Fault) -> Trap {
        match fault {
            isa::Fault::Memory(e) => Trap::memory(e),
            isa::Fault::OutOfBounds { .. } | isa::Fault::Index { .. } => Trap::new("out-of-bounds", fault.to_string()),
            _ => Trap::new("tile-fault", fault.to_string()),
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Trap {}

/// What the cores of a cluster have of the arena.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cluster {
    /// What slot addresses of the first vector core and of the cube core count from.
    pub slot_bases: [usize; 2],
    /// How far the second vector core's bytes are behind the first's.
    pub stride: usize,
    pub vector_cores: usize,
}

/// Everything outside its registers that a running frame can reach.
pub struct Machine<'a> {
    pub mem: &'a mut [u8],
    pub fifos: &'a mut Vec<Fifo>,
    /// The function on the other core of the cluster.
    pub peer: Option<&'a Code>,
    pub cluster: Cluster,
    pub interrupt: Option<&'a AtomicBool>,
    pub task: u32,
    pub block: u32,
    pub values: &'a mut Vec<ValueRecord>,
    /// Where this frame's accesses to global memory are noted, if somebody asked.
    pub log: Option<&'a mut Log>,
    pub(crate) recorder: Option<&'a mut Recorder>,
    pub(crate) measure: Option<&'a mut Measure>,
}

impl<'a> Machine<'a> {
    /// For an orchestration, which has no tiles.
    pub fn host(interrupt: Option<&'a AtomicBool>, nothing: &'a mut (Vec<Fifo>, Vec<ValueRecord>)) -> Machine<'a> {
        Machine {
            mem: &mut [],
            fifos: &mut nothing.0,
            peer: None,
            cluster: Cluster::default(),
            interrupt,
            task: 0,
            block: 0,
            values: &mut nothing.1,
            log: None,
            recorder: None,
            measure: None,
        }
    }
}

fn compare_ints(op: CmpOp, a: i64, b: i64) -> bool {
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Lt => a < b,
        CmpOp::Le => a <= b,
        CmpOp::Gt => a > b,
        CmpOp::Ge => a >= b,
    }
}

/// Iterations of a loop with these bounds.
fn trips(dtype: DType, lower: u64, upper: i64, step: i64) -> Result<u64, Trap> {
    let lower = Scalar::new(dtype, lower).as_i64().unwrap_or(0) as i128;
    let (upper, step) = (upper as i128, step as i128);
    if step == 0 {
        return Err(Trap::new("zero-step", "a loop whose step is 0".to_string()));
    }
    let span = if step > 0 { upper - lower } else { lower - upper };
    let step = step.abs();
    Ok(if span <= 0 { 0 } else { ((span + step - 1) / step) as u64 })
}

fn extent(what: &str, value: i64, max: u32) -> Result<u32, Trap> {
    u32::try_from(value)
        .ok()
        .filter(|&v| v <= max)
        .ok_or_else(|| Trap::new("valid-region", format!("{what} of {value}, where the tile has {max}")))
}

fn coordinate(what: &str, value: i64) -> Result<u32, Trap> {
    u32::try_from(value).map_err(|_| Trap::new("out-of-bounds", format!("{what} {value} of a tile")))
}

/// Another shape of the same bytes.
pub(crate) fn reshape(src: &Tile, shape: &ShapeSpec) -> Result<Tile, Trap> {
    let refuse = |why: String| Err(Trap::new("reshape", why));
    let out = Tile { offset: src.offset, ..shape.tile };
    if src.byte_len() != out.byte_len() {
        return refuse(format!("{}x{} reshaped to {}x{}", src.rows, src.cols, out.rows, out.cols));
    }
    let packed = match src.order {
        Order::RowMajor => src.rows <= 1 || src.pitch == src.cols,
        Order::ColMajor => src.cols <= 1 || src.pitch == src.rows,
        _ => src.order == out.order && (src.rows, src.cols) == (out.rows, out.cols),
    };
    if !packed {
        return refuse("a tile that is not packed, or has boxes".to_string());
    }
    // Valid extents that no operand states follow from the source's when the valid elements are a prefix of it, or
    // (another element type) when every row or column keeps its bytes.
    let derived = || -> Result<(u32, u32), Trap> {
        if (src.rows, src.cols) == (out.rows, out.cols) {
            return Ok((src.valid_rows, src.valid_cols));
        }
        let recount = |n: u32| -> Result<u32, Trap> {
            let bytes = n as u64 * src.dtype.size() as u64;
            match bytes % out.dtype.size() as u64 {
                0 => Ok((bytes / out.dtype.size() as u64) as u32),
                _ => Err(Trap::new("reshape", format!("{n} valid elements of {} as {}", src.dtype, out.dtype))),
            }
        };
        match (src.order, out.order) {
            (Order::RowMajor, Order::RowMajor) if src.rows == out.rows => {
                return Ok((src.valid_rows, recount(src.valid_cols)?));
            }
            (Order::ColMajor, Order::ColMajor) if src.cols == out.cols => {
                return Ok((recount(src.valid_rows)?, src.valid_cols));
            }
            _ => {}
        }
        let (major, minor, pitch) = match src.order {
            Order::ColMajor => (src.valid_cols, src.valid_rows, src.rows),
            _ => (src.valid_rows, src.valid_cols, src.cols),
        };
        let prefix = if minor == pitch || major <= 1 { Some(major * minor) } else { None };
        let Some(n) = prefix else {
            return Err(Trap::new("reshape", "a valid region that is not a prefix of the tile".to_string()));
        };
        let n = recount(n)?;
        let width = if out.order == Order::ColMajor { out.rows } else { out.cols };
        let (major, minor) = match n {
            _ if width > 0 && n.is_multiple_of(width) => (n / width, width),
            _ if n < width => (1, n),
            _ => return Err(Trap::new("reshape", format!("{n} valid elements in rows of {width}"))),
        };
        Ok(if out.order == Order::ColMajor { (minor, major) } else { (major, minor) })
    };
    let known = |e: Extent| if let Extent::Known(n) = e { Some(n) } else { None };
    let (rows, cols) = match (known(shape.valid[0]), known(shape.valid[1])) {
        (Some(r), Some(c)) => (r, c),
        (r, c) => {
            let (dr, dc) = derived()?;
            (r.unwrap_or(dr), c.unwrap_or(dc))
        }
    };
    Ok(out.with_valid(rows, cols))
}

impl Frame {
    /// Runs until the function ends or something must happen elsewhere first.
    ///
    /// On a trap, `self.pc` is one past the instruction at fault, and the frame must not be run again.
    pub fn run(&mut self, code: &Code, m: &mut Machine<'_>) -> Result<Stop, Box<Trap>> {
        loop {
            // `None` is for single steps.
            if let Some(stop) = self.go(code, m, false).map_err(Box::new)? {
                return Ok(stop);
            }
        }
    }

    /// Runs one instruction; `None` if the next one may follow.
    pub(crate) fn step(&mut self, code: &Code, m: &mut Machine<'_>) -> Result<Option<Stop>, Box<Trap>> {
        self.go(code, m, true).map_err(Box::new)
    }

    fn go(&mut self, code: &Code, m: &mut Machine<'_>, single: bool) -> Result<Option<Stop>, Trap> {
        let fuel = &mut 0u32;
        let profile = code.profile;
        loop {
            let inst = &code.insts[self.pc as usize];
            self.pc += 1;
            macro_rules! s {
                ($r:expr) => {
                    self.scalars[*$r as usize]
                };
            }
            macro_rules! t {
                ($r:expr) => {
                    &self.tiles[*$r as usize]
                };
            }
            macro_rules! sc {
                ($d:expr, $r:expr) => {
                    Scalar { dtype: *$d, bits: self.scalars[*$r as usize] }
                };
            }
            macro_rules! note {
                ($region:expr, $kind:expr, $via:expr) => {
                    if let Some(log) = &mut m.log {
                        if let Some(op) = code.ops[self.pc as usize - 1] {
                            log.access(op, $kind, $via, $region);
                        }
                    }
                };
            }
            match inst {
                Inst::Jump(to) => {
                    if *to < self.pc && self.interrupted(m, fuel) {
                        self.pc -= 1;
                        return Ok(Some(Stop::Interrupted));
                    }
                    self.pc = *to;
                }
                Inst::Unless { condition, to } => {
                    if s!(condition) == 0 {
                        self.pc = *to;
                    }
                }
                Inst::Enter { spec } => {
                    let l = &code.loops[*spec as usize];
                    let lower = self.scalars[l.lower as usize];
                    let n = trips(l.dtype, lower, self.int(l.upper), self.int(l.step))?;
                    self.scalars[l.counter as usize] = n;
                    self.scalars[l.variable as usize] = lower;
                    self.pc = if n == 0 { l.exit } else { l.body };
                }
                Inst::Next { spec } => {
                    let l = &code.loops[*spec as usize];
                    if self.next_iteration(l) {
                        self.pc = l.body;
                        if self.interrupted(m, fuel) {
                            // Enough of a step back: an interrupted frame is not resumed.
                            return Ok(Some(Stop::Interrupted));
                        }
                    }
                }
                Inst::End => {
                    self.pc -= 1;
                    return Ok(Some(Stop::Done));
                }
                Inst::Host(n) => return Ok(Some(Stop::Host(*n))),
                Inst::Trap(n) => return Err(Trap::new("out-of-bounds", code.traps[*n as usize].clone())),

                Inst::Move { dst, src } => s!(dst) = s!(src),
                Inst::AddI { dst, a, b } => s!(dst) = s!(a).wrapping_add(s!(b)),
                Inst::SubI { dst, a, b } => s!(dst) = s!(a).wrapping_sub(s!(b)),
                Inst::MulI { dst, a, b } => s!(dst) = s!(a).wrapping_mul(s!(b)),
                Inst::CmpI { op, dst, a, b } => s!(dst) = compare_ints(*op, s!(a) as i64, s!(b) as i64) as u64,
                Inst::Binary { op, dtype, dst, a, b } => {
                    s!(dst) = scalar::binary(*op, sc!(dtype, a), sc!(dtype, b)).map_err(scalar_trap)?.bits;
                }
                Inst::Compare { op, dtype, dst, a, b } => {
                    s!(dst) = scalar::compare(*op, sc!(dtype, a), sc!(dtype, b)).map_err(scalar_trap)?.bits;
                }
                Inst::Cast { from, to, dst, a } => s!(dst) = scalar::cast(sc!(from, a), *to).bits,
                Inst::Neg { dtype, dst, a } => s!(dst) = scalar::neg(sc!(dtype, a)).map_err(scalar_trap)?.bits,
                Inst::Not { dtype, dst, a } => s!(dst) = scalar::not(sc!(dtype, a)).map_err(scalar_trap)?.bits,
                Inst::Select { dst, condition, a, b } => s!(dst) = if s!(condition) != 0 { s!(a) } else { s!(b) },
                Inst::ArrayNew { dst, len } => {
                    self.arrays.push(vec![0; *len as usize]);
                    s!(dst) = self.arrays.len() as u64 - 1;
                }
                Inst::ArrayGet { dst, array, index } => {
                    let (at, len) = self.array_index(*array, *index)?;
                    let array = &self.arrays[s!(array) as usize];
                    debug_assert!(at < len);
                    s!(dst) = array[at];
                }
                Inst::ArraySet { array, index, value } => {
                    let (at, _) = self.array_index(*array, *index)?;
                    let (array, value) = (s!(array) as usize, s!(value));
                    self.arrays[array][at] = value;
                }

                Inst::MoveTile { dst, src } => self.tiles[*dst as usize] = *t!(src),
                Inst::MoveView { dst, src } => self.views[*dst as usize] = self.views[*src as usize],
                Inst::MoveTensor { dst, src } => self.tensors[*dst as usize] = self.tensors[*src as usize].clone(),
                Inst::Alloc { spec } => self.alloc(code, *spec)?,
                Inst::SetValid { dst, rows, cols } => {
                    let tile = *t!(dst);
                    let rows = rows.map_or(Ok(tile.valid_rows), |r| extent("valid rows", self.int(r), tile.rows))?;
                    let cols = cols.map_or(Ok(tile.valid_cols), |r| extent("valid columns", self.int(r), tile.cols))?;
                    self.tiles[*dst as usize] = tile.with_valid(rows, cols);
                }
                Inst::Subview { spec } => self.subview(code, *spec)?,
                Inst::Reshape { dst, src, shape } => {
                    self.tiles[*dst as usize] = reshape(t!(src), &code.shapes[*shape as usize])?;
                }
                Inst::MakeView { spec } => self.make_view(code, *spec)?,
                Inst::Partition { spec } => self.partition(code, *spec)?,
                Inst::AddPtr { dst, ptr, offset } => {
                    s!(dst) = pointer::add(s!(ptr), self.int(*offset)).ok_or_else(|| {
                        Trap::new("out-of-bounds", format!("an address {} elements further on", self.int(*offset)))
                    })?;
                }

                Inst::Load { dst, view } => {
                    let view = self.resolve(*view)?;
                    let view = &self.pointers[view].view;
                    isa::load(m.mem, t!(dst), view)?;
                    note!(log::transferred(view, t!(dst)), AccessKind::Read, Via::Transfer);
                }
                Inst::Store { view, src } => {
                    let view = self.resolve(*view)?;
                    let view = &self.pointers[view].view;
                    isa::store(view, m.mem, t!(src), true)?;
                    note!(log::transferred(view, t!(src)), AccessKind::Write, Via::Transfer);
                }
                Inst::AtomicStore { view, src } => {
                    let view = self.resolve(*view)?;
                    let view = &self.pointers[view].view;
                    atomic_add(view, m.mem, t!(src))?;
                    note!(log::transferred(view, t!(src)), AccessKind::Atomic, Via::Transfer);
                }
                Inst::GatherView { mode, out_of_range, dst, view, index } => {
                    let view = self.resolve(*view)?;
                    let view = &self.pointers[view].view;
                    isa::gather_view(m.mem, t!(dst), view, t!(index), *mode, *out_of_range)?;
                    note!(log::whole(view), AccessKind::Read, Via::Transfer);
                }
                Inst::ScatterView { mode, out_of_range, atomic, view, src, index } => {
                    let view = self.resolve(*view)?;
                    let view = &self.pointers[view].view;
                    isa::scatter_view(m.mem, view, t!(src), t!(index), *mode, *out_of_range, *atomic)?;
                    let kind = if atomic.is_some() { AccessKind::Atomic } else { AccessKind::Write };
                    note!(log::whole(view), kind, Via::Transfer);
                }
                Inst::LoadScalar { dtype, dst, ptr, offset } => {
                    let (param, at) = self.address(*ptr, *offset, *dtype)?;
                    let buffer = &self.pointers[param].view.buffer;
                    let value = buffer.get(at, *dtype).map_err(Trap::memory)?;
                    note!(log::scalar(buffer, at, *dtype), AccessKind::Read, Via::Scalar);
                    s!(dst) = value.bits;
                }
                Inst::StoreScalar { dtype, ptr, offset, value } => {
                    let (param, at) = self.address(*ptr, *offset, *dtype)?;
                    let buffer = &self.pointers[param].view.buffer;
                    buffer.set(at, sc!(dtype, value)).map_err(Trap::memory)?;
                    note!(log::scalar(buffer, at, *dtype), AccessKind::Write, Via::Scalar);
                }

                Inst::Copy { dst, src } => isa::copy(m.mem, t!(dst), t!(src))?,
                Inst::Narrow { dst, src } => {
                    isa::convert(m.mem, t!(dst), t!(src), RoundMode::Rint, false, profile)?;
                }
                Inst::Extract { dst, src, row, col } => {
                    let (r, c) = (coordinate("row", self.int(*row))?, coordinate("column", self.int(*col))?);
                    let d = *t!(dst);
                    let part = window(t!(src), r, c, d.valid_rows, d.valid_cols)?;
                    isa::copy(m.mem, &d, &part)?;
                }
                Inst::Insert { dst, src, row, col } => {
                    let (r, c) = (coordinate("row", self.int(*row))?, coordinate("column", self.int(*col))?);
                    let s = *t!(src);
                    let part = window(t!(dst), r, c, s.valid_rows, s.valid_cols)?;
                    isa::copy(m.mem, &part, &s)?;
                }
                Inst::Get { dst, src, row, col } => {
                    let (r, c) = (coordinate("row", self.int(*row))?, coordinate("column", self.int(*col))?);
                    s!(dst) = isa::get(m.mem, t!(src), r, c)?.bits;
                }
                Inst::Set { dtype, dst, row, col, value } => {
                    let (r, c) = (coordinate("row", self.int(*row))?, coordinate("column", self.int(*col))?);
                    isa::set(m.mem, t!(dst), r, c, sc!(dtype, value))?;
                }
                Inst::TileBinary { op, dst, a, b } => isa::binary(m.mem, *op, t!(dst), t!(a), t!(b))?,
                Inst::Part { op, dst, a, b } => isa::part(m.mem, *op, t!(dst), t!(a), t!(b))?,
                Inst::TileScalar { op, dtype, reversed, dst, a, s } => {
                    isa::binary_scalar(m.mem, *op, t!(dst), t!(a), sc!(dtype, s), *reversed)?;
                }
                Inst::Unary { op, dst, a } => isa::unary(m.mem, *op, t!(dst), t!(a))?,
                Inst::Convert { mode, saturate, dst, src } => {
                    isa::convert(m.mem, t!(dst), t!(src), *mode, *saturate, profile)?;
                }
                Inst::Fill { dtype, dst, s } => isa::fill(m.mem, t!(dst), sc!(dtype, s))?,
                Inst::Iota { dtype, descending, dst, start } => {
                    isa::iota(m.mem, t!(dst), sc!(dtype, start), *descending)?;
                }
                Inst::Triangle { upper, dst, diagonal } => {
                    isa::triangle(m.mem, t!(dst), self.int(*diagonal), *upper)?;
                }
                Inst::Random { spec } => {
                    let s = &code.randoms[*spec as usize];
                    let word = |r: u32| self.scalars[r as usize] as u32;
                    isa::random(m.mem, t!(&s.dst), s.key.map(word), s.counter.map(word), s.rounds)?;
                }
                Inst::Mask { predicate, dst, a, b } => isa::compare(m.mem, *predicate, t!(dst), t!(a), t!(b))?,
                Inst::MaskScalar { predicate, dtype, dst, a, s } => {
                    isa::compare_scalar(m.mem, *predicate, t!(dst), t!(a), sc!(dtype, s))?;
                }
                Inst::Choose { dst, mask, a, b } => isa::select(m.mem, t!(dst), t!(mask), t!(a), t!(b))?,
                Inst::ChooseScalar { dtype, dst, mask, a, s } => {
                    isa::select_scalar(m.mem, t!(dst), t!(mask), t!(a), sc!(dtype, s))?;
                }
                Inst::Gather { dst, src, index } => isa::gather(m.mem, t!(dst), t!(src), t!(index))?,
                Inst::GatherMask { pattern, dst, src } => isa::gather_mask(m.mem, *pattern, t!(dst), t!(src))?,
                Inst::GatherBlocks { dst, src, offsets } => {
                    isa::gather_blocks(m.mem, t!(dst), t!(src), t!(offsets))?;
                }
                Inst::Scatter { dst, src, index } => isa::scatter(m.mem, t!(dst), t!(src), t!(index))?,
                Inst::ScatterMask { pattern, dst, src } => isa::scatter_mask(m.mem, *pattern, t!(dst), t!(src))?,
                Inst::Sort { dst, src, idx } => isa::sort32(m.mem, t!(dst), t!(src), t!(idx))?,
                Inst::MergeRuns { dst, src, length } => {
                    let length = self.int(*length);
                    let length = u32::try_from(length)
                        .map_err(|_| Trap::new("tile-fault", format!("a merge of runs of {length} columns")))?;
                    isa::merge_sort(m.mem, t!(dst), t!(src), length)?;
                }
                Inst::MergeLists { spec } => {
                    let s = &code.merges[*spec as usize];
                    let lists: Vec<&Tile> = s.lists.iter().map(|r| t!(r)).collect();
                    isa::merge_lists(m.mem, t!(&s.dst), &lists, s.exhausted)?;
                }
                Inst::FillPad { pad, dst, src } => isa::fill_pad(m.mem, t!(dst), t!(src), *pad)?,
                Inst::RowReduce { op, dst, src } => isa::row_reduce(m.mem, *op, t!(dst), t!(src), profile)?,
                Inst::ColReduce { op, dst, src } => isa::col_reduce(m.mem, *op, t!(dst), t!(src), profile)?,
                Inst::RowArg { arg, dst, src } => isa::arg_reduce_rows(m.mem, *arg, t!(dst), t!(src))?,
                Inst::ColArg { arg, dst, src } => isa::arg_reduce_cols(m.mem, *arg, t!(dst), t!(src))?,
                Inst::RowExpand { op, dst, a, v } => {
                    isa::row_expand(m.mem, *op, t!(dst), op.is_some().then(|| t!(a)), t!(v))?;
                }
                Inst::ColExpand { op, dst, a, v } => {
                    isa::col_expand(m.mem, *op, t!(dst), op.is_some().then(|| t!(a)), t!(v))?;
                }
                Inst::Matmul { dst, lhs, rhs } => {
                    isa::matmul(m.mem, t!(dst), t!(lhs), t!(rhs), isa::Init::Zero, profile)?;
                }
                Inst::MatmulAcc { dst, acc, lhs, rhs } => {
                    if *t!(dst) != *t!(acc) {
                        isa::copy(m.mem, t!(dst), t!(acc))?;
                    }
                    isa::matmul(m.mem, t!(dst), t!(lhs), t!(rhs), isa::Init::Accumulate, profile)?;
                }
                Inst::MatmulBias { dst, lhs, rhs, bias } => {
                    let start = isa::Init::Bias(*t!(bias));
                    isa::matmul(m.mem, t!(dst), t!(lhs), t!(rhs), start, profile)?;
                }
                Inst::Transfer { spec } => {
                    let s = code.transfers[*spec as usize];
                    // Both may be parts of one argument: the source is set aside.
                    let from = self.resolve(s.from)?;
                    let from = self.pointers[from].view.clone();
                    let to = self.resolve(s.to)?;
                    transfer(m.mem, &from, &self.pointers[to].view, t!(&s.staging), s.add)?;
                }
                Inst::Notify { add, view, value } => {
                    let view = self.resolve(*view)?;
                    let value = sc!(&DType::I32, value);
                    each_element(&self.pointers[view].view, |v, at| match add {
                        true => v.buffer.fetch_add(at, value).map(|_| ()).map_err(Trap::memory),
                        false => v.buffer.set(at, value).map_err(Trap::memory),
                    })?;
                }
                Inst::Await { op, dst, view, value } => {
                    let view = self.resolve(*view)?;
                    let value = Scalar::new(DType::I32, s!(value)).as_i64().unwrap_or(0);
                    let mut holds = true;
                    each_element(&self.pointers[view].view, |v, at| {
                        let word = v.buffer.get(at, DType::I32).map_err(Trap::memory)?;
                        holds &= compare_ints(*op, word.as_i64().unwrap_or(0), value);
                        Ok(())
                    })?;
                    match dst {
                        Some(dst) => s!(dst) = holds as u64,
                        None if holds => {}
                        None => {
                            let what = "waits for a signal of another rank, and there is none".to_string();
                            return Err(Trap::new("signal", what));
                        }
                    }
                }
                Inst::Concat { dst, a, b } => {
                    let (d, a, b) = (*t!(dst), *t!(a), *t!(b));
                    let left = window(&d, 0, 0, a.valid_rows, a.valid_cols)?;
                    let right = window(&d, 0, a.valid_cols, b.valid_rows, b.valid_cols)?;
                    isa::copy(m.mem, &left, &a)?;
                    isa::copy(m.mem, &right, &b)?;
                }
                Inst::Transpose { dst, src } => isa::transpose(m.mem, t!(dst), t!(src))?,

                // Here all instructions are in program order.
                Inst::SetFlag { .. }
                | Inst::WaitFlag { .. }
                | Inst::Barrier(_)
                | Inst::GetToken { .. }
                | Inst::FreeToken { .. }
                | Inst::UnknownOrder(_) => {}
                Inst::SyncAll(kind) => {
                    if let Some(log) = &mut m.log {
                        log.event(Event::Meet(match kind {
                            SyncKind::All => Meeting::All,
                            SyncKind::Cube => Meeting::Cube,
                            SyncKind::Vector => Meeting::Vector,
                        }));
                    }
                    return Ok(Some(Stop::SyncAll(*kind)));
                }
                Inst::InitPipe { spec } => self.init_pipe(&code.pipes[*spec as usize], m)?,
                Inst::Push { fifo, split, src } => {
                    let name = code.fifos[*fifo as usize];
                    let core = self.scalars[SUBBLOCK_IDX as usize] as usize;
                    match find(m.fifos, name) {
                        Some(fifo) if fifo.can_push(core) => {
                            fifo.push(m.mem, t!(src), *split, core)?;
                            if let Some(log) = &mut m.log {
                                log.event(Event::Push(name.into()));
                            }
                        }
                        Some(_) => {
                            self.pc -= 1;
                            return Ok(Some(Stop::Wait { fifo: name, push: true }));
                        }
                        None => return Err(unknown_fifo(name)),
                    }
                }
                Inst::Pop { spec } => {
                    let spec = &code.pops[*spec as usize];
                    let name = code.fifos[spec.fifo as usize];
                    let valid = self.pop_extents(spec)?;
                    let core = self.scalars[SUBBLOCK_IDX as usize] as usize;
                    match find(m.fifos, name) {
                        Some(fifo) if fifo.can_pop(core) => {
                            self.tiles[spec.dst as usize] = fifo.pop(m.mem, spec, valid, core)?;
                            if let Some(log) = &mut m.log {
                                log.event(Event::Pop(name.into()));
                            }
                        }
                        Some(_) => {
                            self.pc -= 1;
                            return Ok(Some(Stop::Wait { fifo: name, push: false }));
                        }
                        None => return Err(unknown_fifo(name)),
                    }
                }
                Inst::Free { fifo } => {
                    let name = code.fifos[*fifo as usize];
                    let core = self.scalars[SUBBLOCK_IDX as usize] as usize;
                    find(m.fifos, name).ok_or_else(|| unknown_fifo(name))?.free(core)?;
                }
                Inst::Import { dst, name } => {
                    let name = &code.imports[*name as usize];
                    let address =
                        m.peer.and_then(|p| p.reserved.iter().find(|r| r.name == *name)).ok_or_else(|| {
                            Trap::new("fifo-buffer", format!("the peer function reserves no buffer `{name}`"))
                        })?;
                    s!(dst) = address.address as u32 as u64;
                }

                Inst::ObserveTile { point, tile } => {
                    let digest = isa::digest(m.mem, t!(tile));
                    self.observe(code, m, *point, digest);
                }
                Inst::ObserveView { point, view } => {
                    let view = self.resolve(*view)?;
                    let digest = isa::digest_store(&self.pointers[view].view);
                    self.observe(code, m, *point, digest);
                }
                Inst::ObserveScatter { point, out_of_range, atomic, view, src, index } => {
                    let view = self.resolve(*view)?;
                    let view = &self.pointers[view].view;
                    let digest = isa::digest_scatter(m.mem, view, t!(src), t!(index), *out_of_range, *atomic);
                    self.observe(code, m, *point, digest);
                }
                Inst::ObserveScalar { point, dtype, ptr, offset } => {
                    let (param, at) = self.address(*ptr, *offset, *dtype)?;
                    let mut view = self.pointers[param].view.clone();
                    view.dtype = *dtype;
                    view.offset = (at / dtype.size()) as u64;
                    view.shape = Dims::new(&[1]).map_err(Trap::memory)?;
                    view.strides = Dims::new(&[1]).map_err(Trap::memory)?;
                    let digest = isa::digest_store(&view);
                    self.observe(code, m, *point, digest);
                }

                Inst::EnterRegion { block } => {
                    if let Some(measure) = &mut m.measure {
                        measure.enter(*block)?;
                    }
                }
                Inst::Reach { view } => {
                    if let Some(measure) = &mut m.measure {
                        let v = &self.views[*view as usize];
                        let size = v.dtype.size() as i64;
                        let dims = v.shape.iter().zip(v.strides.iter());
                        let dims = dims.map(|(&n, &s)| (n as i64, s.saturating_mul(size)));
                        measure.reach(v.param as usize, v.offset.saturating_mul(size), size, dims)?;
                    }
                }
                Inst::TouchView { site, view } => {
                    if let Some(measure) = &mut m.measure {
                        let v = &self.views[*view as usize];
                        let s = &code.sites[*site as usize];
                        let mut dims = [(1, 0); memory::MAX_RANK];
                        for (dim, (&n, &t)) in dims.iter_mut().zip(v.shape.iter().zip(v.strides.iter())) {
                            *dim = (n as i64, t.saturating_mul(s.size));
                        }
                        let dims = &dims[..v.shape.len()];
                        measure.touch(v.param as usize, s.write, v.offset.saturating_mul(s.size), s.size, dims)?;
                    }
                    if let Some(recorder) = &mut m.recorder {
                        let v = &self.views[*view as usize];
                        let size = code.sites[*site as usize].size;
                        let dims = v.shape.iter().zip(v.strides.iter()).map(|(&n, &s)| (n as i64, s * size));
                        recorder.touch(*site, v.param, Region::strided(v.offset * size, size, dims))?;
                    }
                }
                Inst::TouchScalar { site, ptr, offset } => {
                    if let Some(measure) = &mut m.measure {
                        let s = &code.sites[*site as usize];
                        let p = s!(ptr);
                        let at = pointer::offset(p).saturating_add(self.int(*offset)).saturating_mul(s.size);
                        measure.touch(pointer::param(p), s.write, at, s.size, &[])?;
                    }
                    if let Some(recorder) = &mut m.recorder {
                        let p = s!(ptr);
                        let size = code.sites[*site as usize].size;
                        let at = pointer::offset(p).saturating_add(self.int(*offset)).saturating_mul(size);
                        recorder.touch(*site, pointer::param(p) as u32, Region::bytes(at, size))?;
                    }
                }
            }
            if single {
                return Ok(None);
            }
        }
    }

    #[inline]
    fn next_iteration(&mut self, l: &LoopSpec) -> bool {
        let left = self.scalars[l.counter as usize] - 1;
        self.scalars[l.counter as usize] = left;
        if left == 0 {
            return false;
        }
        let (v, step) = (self.scalars[l.variable as usize], self.scalars[l.step as usize]);
        let next = v.wrapping_add(step);
        self.scalars[l.variable as usize] = if l.dtype.size() == 8 { next } else { Scalar::new(l.dtype, next).bits };
        true
    }

    #[inline]
    fn interrupted(&self, m: &Machine<'_>, fuel: &mut u32) -> bool {
        *fuel = fuel.wrapping_add(1);
        *fuel & 0xff == 0 && m.interrupt.is_some_and(|i| i.load(Relaxed))
    }

    fn array_index(&self, array: u32, index: u32) -> Result<(usize, usize), Trap> {
        let len = self.arrays.get(self.scalars[array as usize] as usize).map_or(0, Vec::len);
        let at = self.int(index);
        match usize::try_from(at) {
            Ok(at) if at < len => Ok((at, len)),
            _ => Err(Trap::new("out-of-bounds", format!("element {at} of an array of {len}"))),
        }
    }

    fn alloc(&mut self, code: &Code, spec: u32) -> Result<(), Trap> {
        let a = &code.allocs[spec as usize];
        let mut tile = a.tile;
        if let Some((reg, base, size)) = a.addr {
            let at = self.int(reg);
            match usize::try_from(at) {
                Ok(at) if at.saturating_add(a.bytes) <= size => {
                    tile.offset = base + at + if code.based[a.dst as usize] { self.base } else { 0 };
                }
                _ => {
                    let n = a.bytes;
                    let what = format!("a tile of {n} bytes at address {at} of a scratchpad of {size} bytes");
                    return Err(Trap::new("out-of-bounds", what));
                }
            }
        } else if code.based[a.dst as usize] {
            tile.offset += self.base;
        }
        if let Some(r) = a.rows {
            tile.valid_rows = extent("valid rows", self.int(r), tile.rows)?;
        }
        if let Some(c) = a.cols {
            tile.valid_cols = extent("valid columns", self.int(c), tile.cols)?;
        }
        self.tiles[a.dst as usize] = tile;
        Ok(())
    }

    /// The valid region that a pop states.
    pub(crate) fn pop_extents(&self, spec: &PopSpec) -> Result<(u32, u32), Trap> {
        let one = |stated: Extent, size: u32, otherwise: u32| match stated {
            Extent::In(reg) => extent("a valid extent", self.int(reg), size),
            Extent::Known(_) | Extent::Derived => Ok(otherwise),
        };
        let tile = &spec.tile;
        Ok((one(spec.valid[0], tile.rows, tile.valid_rows)?, one(spec.valid[1], tile.cols, tile.valid_cols)?))
    }

    fn subview(&mut self, code: &Code, spec: u32) -> Result<(), Trap> {
        let s = &code.subviews[spec as usize];
        let src = self.tiles[s.src as usize];
        let (r, c) = (coordinate("row", self.int(s.row))?, coordinate("column", self.int(s.col))?);
        let mut part = window(&src, r, c, s.rows, s.cols)?;
        let mut valid = [src.valid_rows.saturating_sub(r).min(s.rows), src.valid_cols.saturating_sub(c).min(s.cols)];
        for (i, max) in [(0, s.rows), (1, s.cols)] {
            match s.valid[i] {
                Extent::Known(n) => valid[i] = n,
                Extent::In(reg) => valid[i] = extent("a valid extent", self.int(reg), max)?,
                Extent::Derived => {}
            }
        }
        part = part.with_valid(valid[0], valid[1]);
        self.tiles[s.dst as usize] = part;
        Ok(())
    }

    fn make_view(&mut self, code: &Code, spec: u32) -> Result<(), Trap> {
        let s = &code.make_views[spec as usize];
        let p = self.scalars[s.ptr as usize];
        let mut view = ViewReg {
            param: pointer::param(p) as u32,
            dtype: s.dtype,
            offset: pointer::offset(p),
            ..ViewReg::default()
        };
        for (&n, &t) in s.shape.iter().zip(&s.strides) {
            let (n, t) = (self.int(n), self.int(t));
            let n = u64::try_from(n).map_err(|_| Trap::new("view-shape", format!("a view with an extent of {n}")))?;
            view.shape.push(n).map_err(Trap::memory)?;
            view.strides.push(t).map_err(Trap::memory)?;
        }
        self.views[s.dst as usize] = view;
        Ok(())
    }

    fn partition(&mut self, code: &Code, spec: u32) -> Result<(), Trap> {
        let s = &code.partitions[spec as usize];
        let mut view = self.views[s.view as usize];
        if s.offsets.len() != view.shape.len() || s.sizes.len() != view.shape.len() {
            let (a, b, n) = (s.offsets.len(), s.sizes.len(), view.shape.len());
            return Err(Trap::new("view-shape", format!("{a} offsets and {b} sizes for a view of rank {n}")));
        }
        for k in 0..view.shape.len() {
            let (at, n) = (self.scalars[s.offsets[k] as usize] as i64, self.scalars[s.sizes[k] as usize] as i64);
            let extent = view.shape[k];
            let inside = at >= 0 && n >= 0 && at.checked_add(n).is_some_and(|end| end as u64 <= extent);
            if !inside {
                let what = format!("elements {at}..{} along axis {k} of a view of {extent}", at.saturating_add(n));
                return Err(Trap::new("out-of-bounds", what));
            }
            view.offset = view.offset.wrapping_add(at.wrapping_mul(view.strides[k]));
            view.shape[k] = n as u64;
        }
        self.views[s.dst as usize] = view;
        Ok(())
    }

    /// Points the scratch view of the register's parameter at what the register describes; its number.
    fn resolve(&mut self, reg: u32) -> Result<usize, Trap> {
        let v = &self.views[reg as usize];
        let p = &mut self.pointers[v.param as usize];
        let at = p.base.wrapping_add(v.offset);
        p.view.dtype = v.dtype;
        p.view.shape = v.shape;
        p.view.strides = v.strides;
        p.view.offset = if v.shape.contains(&0) {
            0
        } else {
            u64::try_from(at).map_err(|_| {
                Trap::new("out-of-bounds", format!("an access {} elements before an argument", at.unsigned_abs()))
            })?
        };
        Ok(v.param as usize)
    }

    /// Byte offset of a scalar in its parameter's buffer.
    fn address(&self, ptr: u32, offset: u32, dtype: DType) -> Result<(usize, usize), Trap> {
        let (param, at) = self.element(ptr, offset);
        let byte = usize::try_from(at * dtype.size() as i128)
            .map_err(|_| Trap::new("out-of-bounds", format!("element {} of an argument", self.int(offset))))?;
        Ok((param, byte))
    }

    fn observe(&mut self, code: &Code, m: &mut Machine<'_>, point: u32, digest: u64) {
        let nth = self.reached[point as usize];
        self.reached[point as usize] += 1;
        let point = Point { task: m.task, block: m.block, op: code.points[point as usize], nth };
        m.values.push(ValueRecord { point, digest });
    }

    fn init_pipe(&mut self, spec: &PipeSpec, m: &mut Machine<'_>) -> Result<(), Trap> {
        for (bit, to_vector) in [(1, true), (2, false)] {
            if spec.dir_mask & bit == 0 {
                continue;
            }
            let name = FifoName { id: spec.id, to_vector };
            if find(m.fifos, name).is_none() {
                m.fifos.push(Fifo::new(name, spec.clone(), m.cluster));
            }
            let Some(fifo) = find(m.fifos, name) else { continue };
            let shape = |s: &PipeSpec| (s.dir_mask, s.slot_size, s.slot_num);
            if shape(&fifo.spec) != shape(spec) {
                return Err(Trap::new("fifo-setup", format!("the cores set up FIFO {} differently", spec.id)));
            }
            // The consumer's count of local slots is the one that matters; the larger is never wrong for the other.
            fifo.spec.local_slot_num = fifo.spec.local_slot_num.max(spec.local_slot_num);
            if let Some(reg) = if to_vector { spec.c2v } else { spec.v2c } {
                let base = m.cluster.slot_bases[usize::from(!to_vector)];
                let slots = base + self.scalars[reg as usize] as u32 as usize;
                if fifo.slots.is_some_and(|other| other != slots) {
                    let message = format!("the cores give FIFO {} two slot buffers of the consumer", spec.id);
                    return Err(Trap::new("fifo-setup", message));
                }
                fifo.slots = Some(slots);
            }
            if let Some(reg) = spec.gm {
                let p = self.scalars[reg as usize];
                let pointer = &self.pointers[pointer::param(p)];
                let size = pointer.view.dtype.size() as i64;
                // The ring of the other direction lies behind this one's.
                let skip = if spec.dir_mask == 3 && !to_vector { spec.slot_size * spec.slot_num } else { 0 };
                let at = (pointer.base + pointer::offset(p)) * size + skip as i64;
                if let Some(measure) = &mut m.measure {
                    let size = (spec.slot_size * spec.slot_num) as i64;
                    measure.touch(pointer::param(p), true, at, size, &[])?;
                }
                let mut ring = pointer.view.clone();
                ring.dtype = DType::U8;
                ring.offset = u64::try_from(at)
                    .map_err(|_| Trap::new("out-of-bounds", "a slot buffer before its argument".to_string()))?;
                let place = |v: &memory::View| (v.buffer.as_ptr(), v.offset);
                if fifo.ring.as_ref().is_some_and(|other| place(other) != place(&ring)) {
                    let message = format!("the cores give FIFO {} two slot buffers in global memory", spec.id);
                    return Err(Trap::new("fifo-setup", message));
                }
                fifo.ring = Some(ring);
            }
        }
        Ok(())
    }
}

fn find(fifos: &mut [Fifo], name: FifoName) -> Option<&mut Fifo> {
    fifos.iter_mut().find(|f| f.name == name)
}

fn unknown_fifo(name: FifoName) -> Trap {
    let way = if name.to_vector { "cube to vector" } else { "vector to cube" };
    Trap::new("fifo-setup", format!("FIFO {} from {way} is used before it is set up", name.id))
}

fn scalar_trap(e: scalar::ScalarError) -> Trap {
    let code = match e {
        scalar::ScalarError::DivisionByZero => "division-by-zero",
        _ => "scalar",
    };
    Trap::new(code, e.to_string())
}

/// A window of a tile; where boxes are concerned it must start at one.
fn window(tile: &Tile, row: u32, col: u32, rows: u32, cols: u32) -> Result<Tile, Trap> {
    if rows == 0 || cols == 0 {
        return Ok(Tile { rows, cols, valid_rows: rows, valid_cols: cols, ..*tile });
    }
    tile.part(row, col, rows, cols).map_err(|e| Trap::new("out-of-bounds", e.to_string()))
}

/// Calls `f` with the byte offset of each element, in row-major order.
fn each_element(view: &memory::View, mut f: impl FnMut(&memory::View, usize) -> Result<(), Trap>) -> Result<(), Trap> {
    let mut index = Dims::<u64>::new(&vec![0; view.rank()]).map_err(Trap::memory)?;
    for n in 0..view.elements() {
        let mut rest = n;
        for k in (0..view.rank()).rev() {
            index[k] = rest % view.shape[k];
            rest /= view.shape[k];
        }
        f(view, view.byte_offset(&index).map_err(Trap::memory)?)?;
    }
    Ok(())
}

/// Copies (or adds) a box to another of the same shape, a row's part after the other through the staging tile.
fn transfer(mem: &mut [u8], from: &memory::View, to: &memory::View, staging: &Tile, add: bool) -> Result<(), Trap> {
    if from.shape != to.shape {
        let (a, b) = (&from.shape, &to.shape);
        return Err(Trap::new("view-shape", format!("a box of {a:?} copied to one of {b:?}")));
    }
    let (cols, rank) = (from.shape.last().copied().unwrap_or(1), from.rank());
    let width = staging.cols as u64;
    if staging.rows == 0 || width == 0 {
        return Err(Trap::new("tile-fault", "a staging tile without elements".to_string()));
    }
    let rows = from.elements().checked_div(cols).unwrap_or(0);
    for row in 0..rows {
        let (mut offsets, mut rest) = (vec![0; rank], row);
        for k in (0..rank.saturating_sub(1)).rev() {
            offsets[k] = rest % from.shape[k];
            rest /= from.shape[k];
        }
        let mut col = 0;
        while col < cols {
            let n = width.min(cols - col);
            let mut sizes = vec![1; rank];
            if let (Some(at), Some(size)) = (offsets.last_mut(), sizes.last_mut()) {
                (*at, *size) = (col, n);
            }
            let part = |v: &memory::View| v.slice(&offsets, &sizes).map_err(Trap::memory);
            let tile = window(staging, 0, 0, 1, n as u32)?;
            isa::load(mem, &tile, &part(from)?)?;
            match add {
                true => atomic_add(&part(to)?, mem, &tile)?,
                false => isa::store(&part(to)?, mem, &tile, true)?,
            }
            col += n;
        }
    }
    Ok(())
}

/// Adds each element of the tile's valid region to global memory, row by row.
fn atomic_add(view: &memory::View, mem: &[u8], src: &Tile) -> Result<(), Trap> {
    let cols = view.shape.last().copied().unwrap_or(1);
    let rows = view.elements().checked_div(cols).unwrap_or(0);
    if src.valid_rows as u64 > rows || src.valid_cols as u64 > cols {
        let (r, c) = (src.valid_rows, src.valid_cols);
        return Err(Trap::new("tile-fault", format!("{r}x{c} elements added to a box of {rows}x{cols}")));
    }
    let mut index = Dims::<u64>::new(&vec![0; view.rank()]).map_err(Trap::memory)?;
    for r in 0..src.valid_rows {
        let mut rest = r as u64;
        for k in (0..view.rank().saturating_sub(1)).rev() {
            index[k] = rest % view.shape[k];
            rest /= view.shape[k];
        }
        for c in 0..src.valid_cols {
            if let Some(last) = index.last_mut() {
                *last = c as u64;
            }
            let value = scalar::cast(isa::get(mem, src, r, c)?, view.dtype);
            let at = view.byte_offset(&index).map_err(Trap::memory)?;
            view.buffer.fetch_add(at, value).map_err(Trap::memory)?;
        }
    }
    Ok(())
}
