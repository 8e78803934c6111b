//! An entry of a kernel file, ready to run: which functions it is, on which cores, and with which parameters.

use std::sync::Arc;

use chip::{Arch, Core};
use diag::{Diagnostic, Sources, Span};
use dtype::{DType, Profile};
use ir::{Entity, FuncId, Function, FunctionKind, Op, OpData, Opcode, Program};
use machine::measure::Measure;
use machine::{Code, Mode};

use super::inputs::{Input, Inputs};
use crate::compile::Failure;

/// What compilers of kernels call the parameters that the launch itself gives.
const BLOCK_INDEX: &str = "__pypto_spmd_block_idx";
const BLOCK_COUNT: &str = "__pypto_spmd_block_num";
const SUBBLOCK_INDEX: &str = "__pypto_spmd_subblock_idx";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    Pointer(DType),
    Scalar(DType),
}

/// A parameter that inputs are needed for. The functions of a group share those of one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    pub name: String,
    pub kind: ParamKind,
}

/// Where an argument of a function comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Param(usize),
    BlockIndex(DType),
    BlockCount(DType),
    SubblockIndex(DType),
}

/// What one core runs.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) code: Arc<Code>,
    pub(super) subblock: u32,
    pub(super) args: Vec<Source>,
    /// The function, counted among those of the kernel.
    pub(super) function: usize,
}

impl Lane {
    /// The parameters that the pointers of the function are.
    pub(super) fn pointers(&self) -> impl Iterator<Item = usize> + '_ {
        let pointers = self.code.params.iter().zip(&self.args);
        pointers.filter_map(|(kind, source)| match (kind, source) {
            (machine::code::ParamKind::Pointer(..), Source::Param(n)) => Some(*n),
            _ => None,
        })
    }
}

/// Tile operations that a run came to, of those that there are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    pub reached: usize,
    /// That some arguments could lead to.
    pub total: usize,
    /// Behind conditions that never hold.
    pub dead: usize,
}

impl Coverage {
    /// From 0 to 1; of nothing it is all.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.reached as f64 / self.total as f64 }
    }
}

/// An entry of a kernel file, decoded for measured runs.
#[derive(Debug)]
pub struct Kernel {
    pub name: String,
    pub arch: Arch,
    pub params: Vec<Param>,
    pub(super) lanes: Vec<Lane>,
    pub(super) functions: Vec<Function>,
    /// By function and block: how many tile operations, and whether nothing can come there.
    blocks: Vec<Vec<(usize, bool)>>,
    pub(super) sources: Sources,
    /// Constants of its scalar code: what its branches may compare with.
    pub(super) constants: Vec<i64>,
}

/// What can be run of a program: groups of a cube and a vector part by their common name, other kernels by their own.
pub fn entries(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, f) in program.functions.iter() {
        if !matches!(f.kind, FunctionKind::Kernel(_) | FunctionKind::Cluster) {
            continue;
        }
        let group = [("_aic", "_aiv"), ("_aiv", "_aic")].into_iter().find_map(|(own, other)| {
            let name = f.name.strip_suffix(own)?;
            program.function(&format!("{name}{other}")).map(|_| name)
        });
        let name = group.unwrap_or(&f.name).to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether an operation does something to tiles.
fn works_on_tiles(f: &Function, op: &OpData) -> bool {
    use Opcode as C;
    let descriptor = matches!(op.opcode, C::AllocTile | C::Subview | C::TReshape | C::Bitcast | C::SetValidShape);
    let tile = |v: &ir::Value| f.ty(*v).as_tile().is_some();
    !descriptor
        && op.regions.is_empty()
        && !op.opcode.is_terminator()
        && (op.operands.iter().any(tile) || op.dests.iter().any(tile) || op.results.iter().any(tile))
}

/// By block: its tile operations, and whether it is dead.
fn tile_operations(f: &Function) -> Vec<(usize, bool)> {
    let mut blocks: Vec<(usize, bool)> = super::dead::blocks(f).into_iter().map(|dead| (0, dead)).collect();
    for op in f.walk() {
        let op = &f.ops[op];
        if works_on_tiles(f, op) {
            blocks[op.block.index()].0 += 1;
        }
    }
    blocks
}

impl Kernel {
    /// Decodes an entry (see [`entries`]) or a single function.
    ///
    /// # Errors
    /// There is no such entry, or something of it does not run on this machine.
    pub fn new(program: &Program, entry: &str, profile: Profile) -> Result<Kernel, Failure> {
        Kernel::decode(program, entry, profile, Mode::Measured { digests: false })
    }

    /// As [`Kernel::new`]; runs yield a digest of what each tile operation made.
    ///
    /// # Errors
    /// As [`Kernel::new`].
    pub fn observed(program: &Program, entry: &str, profile: Profile) -> Result<Kernel, Failure> {
        Kernel::decode(program, entry, profile, Mode::Measured { digests: true })
    }

    fn decode(program: &Program, entry: &str, profile: Profile, mode: Mode) -> Result<Kernel, Failure> {
        let fail = |errors| Failure { errors, sources: program.sources.clone() };
        let ids = functions(program, entry).map_err(|e| fail(vec![e]))?;
        let mut kernel = Kernel {
            name: entry.to_owned(),
            arch: program.arch,
            params: Vec::new(),
            lanes: Vec::new(),
            functions: Vec::new(),
            blocks: Vec::new(),
            sources: program.sources.clone(),
            constants: Vec::new(),
        };
        let two = ids.iter().any(|&id| second_core(&program.functions[id]));
        for id in ids {
            let f = &super::inline::inlined(program, &program.functions[id]).map_err(|e| fail(vec![e]))?;
            let code = machine::decode(f, program.arch, profile, mode).map_err(fail)?;
            let args = kernel.arguments(f).map_err(|e| fail(vec![e]))?;
            let code = Arc::new(code);
            let cores = if two && code.core == Some(Core::Vector) { 2 } else { 1 };
            for subblock in 0..cores {
                let function = kernel.functions.len();
                kernel.lanes.push(Lane { code: code.clone(), subblock, args: args.clone(), function });
            }
            for op in f.walk() {
                let value = f.ops[op].result().and_then(|v| f.const_int(v));
                if let Some(n) = value.filter(|n| !kernel.constants.contains(n)) {
                    kernel.constants.push(n);
                }
            }
            kernel.blocks.push(tile_operations(f));
            kernel.functions.push(f.clone());
        }
        Ok(kernel)
    }

    /// Where the arguments of a function come from; parameters that are new are added.
    fn arguments(&mut self, f: &Function) -> Result<Vec<Source>, Diagnostic> {
        let mut args = Vec::new();
        for (param, &value) in f.params.iter().zip(f.param_values()) {
            let kind = match f.ty(value) {
                ir::Type::Ptr(d) => ParamKind::Pointer(*d),
                ir::Type::Scalar(d) => ParamKind::Scalar(*d),
                other => {
                    let message = format!("parameter `{}` of `{}` is {other}", param.name, f.name);
                    let d = Diagnostic::unsupported("kernel-parameter", message);
                    return Err(d.note("supported: pointers to global memory, and scalars"));
                }
            };
            let by_launch = match (kind, param.name.as_str()) {
                (ParamKind::Scalar(d), BLOCK_INDEX) => Some(Source::BlockIndex(d)),
                (ParamKind::Scalar(d), BLOCK_COUNT) => Some(Source::BlockCount(d)),
                (ParamKind::Scalar(d), SUBBLOCK_INDEX) => Some(Source::SubblockIndex(d)),
                _ => None,
            };
            args.push(match by_launch {
                Some(source) => source,
                None => Source::Param(self.param(f, &param.name, kind)?),
            });
        }
        Ok(args)
    }

    fn param(&mut self, f: &Function, name: &str, kind: ParamKind) -> Result<usize, Diagnostic> {
        match self.params.iter().position(|p| p.name == name) {
            Some(n) if self.params[n].kind == kind => Ok(n),
            Some(_) => {
                let message = format!("parameter `{name}` of `{}` has another type in the other function", f.name);
                Err(Diagnostic::error("kernel-parameter", message))
            }
            None => {
                self.params.push(Param { name: name.to_owned(), kind });
                Ok(self.params.len() - 1)
            }
        }
    }

    /// Tile operations reached, of all functions, each once whatever number of cores runs it.
    pub(super) fn coverage(&self, measures: &[Measure]) -> Coverage {
        let mut coverage = Coverage::default();
        for (n, blocks) in self.blocks.iter().enumerate() {
            let mut reached = vec![false; blocks.len()];
            for (_, m) in self.lanes.iter().zip(measures).filter(|(lane, _)| lane.function == n) {
                reached.iter_mut().zip(&m.reached).for_each(|(a, b)| *a |= b);
            }
            for (&(count, dead), reached) in blocks.iter().zip(reached) {
                match dead {
                    true => coverage.dead += count,
                    false => coverage.total += count,
                }
                coverage.reached += if reached && !dead { count } else { 0 };
            }
        }
        coverage
    }

    /// What a digest was taken of: function, operation, span.
    pub(super) fn operation(&self, lane: usize, op: Op) -> Option<(&Function, &OpData, Option<Span>)> {
        let f = self.functions.get(self.lanes.get(lane)?.function)?;
        let data = f.ops.get(op)?;
        Some((f, data, data.span))
    }

    /// Says which operation a group stopped at: not every file has places to point at.
    pub(super) fn name_operation(&self, d: Diagnostic, group: &machine::Group) -> Diagnostic {
        let Some((f, op, _)) = group.stopped().and_then(|(lane, op)| self.operation(lane, op)) else { return d };
        let named = op.dest().or(op.output()).and_then(|v| f.values[v].name.as_ref());
        let name = op.opcode.name();
        d.note(match named {
            Some(value) => format!("in `{name}` to `%{value}` of `{}`", f.name),
            None => format!("in `{name}` of `{}`", f.name),
        })
    }

    /// Which vector core a lane is.
    pub(super) fn subblock(&self, lane: usize) -> u32 {
        self.lanes.get(lane).map_or(0, |l| l.subblock)
    }

    /// # Errors
    /// The inputs are not those of these parameters.
    pub(super) fn accepts(&self, inputs: &Inputs) -> Result<(), Diagnostic> {
        if self.params.len() != inputs.args.len() {
            let (n, m) = (self.params.len(), inputs.args.len());
            return Err(Diagnostic::error("wrong-argument", format!("`{}` takes {n} arguments, not {m}", self.name)));
        }
        for (param, input) in self.params.iter().zip(&inputs.args) {
            let (given, right) = match (param.kind, input) {
                (ParamKind::Pointer(d), Input::Memory(m)) => (format!("memory of {}", m.dtype), d == m.dtype),
                (ParamKind::Scalar(d), Input::Scalar(s)) => (format!("a scalar of {}", s.dtype), d == s.dtype),
                (_, Input::Memory(m)) => (format!("memory of {}", m.dtype), false),
                (_, Input::Scalar(s)) => (format!("a scalar of {}", s.dtype), false),
            };
            if !right {
                let wanted = match param.kind {
                    ParamKind::Pointer(d) => format!("memory of {d}"),
                    ParamKind::Scalar(d) => format!("a scalar of {d}"),
                };
                let message = format!("parameter `{}` of `{}` takes {wanted}, not {given}", param.name, self.name);
                return Err(Diagnostic::error("wrong-argument", message));
            }
        }
        Ok(())
    }

    /// Where the text of the file lies in messages.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// How many cores run: cube, vector.
    pub fn cores(&self) -> (usize, usize) {
        let cube = self.lanes.iter().filter(|l| l.code.core == Some(Core::Cube)).count();
        (cube, self.lanes.len() - cube)
    }
}

/// The functions of an entry, cube first.
fn functions(program: &Program, entry: &str) -> Result<Vec<FuncId>, Diagnostic> {
    let part = |suffix: &str| program.function(&format!("{entry}{suffix}"));
    if let (Some(cube), Some(vector)) = (part("_aic"), part("_aiv")) {
        return Ok(vec![cube, vector]);
    }
    let names = entries(program);
    match program.function(entry).filter(|&id| id != program.entry) {
        Some(id) => Ok(vec![id]),
        None => {
            let message = format!("there is no kernel `{entry}`");
            let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Err(Diagnostic::error("no-entry", message).note(format!("kernels here: {list}")))
        }
    }
}

/// Whether a vector kernel is for two cores: it asks which one it is, or gets halves of tiles.
fn second_core(f: &Function) -> bool {
    let asks = f.params.iter().any(|p| p.name == SUBBLOCK_INDEX);
    f.kind == FunctionKind::Kernel(Core::Vector)
        && (asks
            || f.walk().into_iter().any(|op| {
                let op = &f.ops[op];
                op.opcode == Opcode::GetSubblockIdx || op.attrs.int("split").is_some_and(|n| n != 0)
            }))
}
