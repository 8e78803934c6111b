//! The operations of an orchestration, with their operands resolved.

use diag::{Diagnostic, Span};
use dtype::{DType, Scalar};
use ir::{Attr, Dim, Entity, Function, Op, OpData, Opcode, Program, Type, Value};
use machine::{Code, Kernel};

/// An integer register and its type, which says how to widen it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int {
    pub(crate) reg: u32,
    pub(crate) dtype: DType,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    Known(u64),
    In(Int),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Dep {
    Task(u32),
    Array(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Tensor(u32),
    Scalar(u32, DType),
}

/// What the kernels of a task do to an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    In,
    Out,
    InOut,
    Scalar,
    Workspace,
}

#[derive(Clone, Debug)]
pub(crate) struct Submit {
    pub(crate) dst: Option<u32>,
    pub(crate) name: std::sync::Arc<str>,
    /// Cube before vector.
    pub(crate) kernels: Vec<usize>,
    pub(crate) args: Vec<Source>,
    pub(crate) uses: Vec<Use>,
    pub(crate) deps: Vec<Dep>,
    pub(crate) blocks: Option<Int>,
    /// Blocks that may be resident at once, if all must be.
    pub(crate) resident: Option<u32>,
    /// The program says by `deps` alone what it follows.
    pub(crate) manual: bool,
    /// Arguments that the program opted out of tracking.
    pub(crate) no_dep: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Tensor registers, and the parameter that a value is.
    Return(Vec<(u32, Option<usize>)>),
    TaskInvalid {
        dst: u32,
    },
    /// Whether the id in register `task` is that of a task or join.
    TaskIsValid {
        dst: u32,
        task: u32,
    },
    TaskDummy {
        dst: u32,
        deps: Vec<Dep>,
    },
    Create {
        dst: u32,
        dtype: DType,
        shape: Vec<Extent>,
        init: Option<Scalar>,
        manual_dep: bool,
    },
    Slice {
        dst: u32,
        src: u32,
        offsets: Vec<Int>,
        sizes: Vec<Extent>,
        drop: Vec<usize>,
    },
    Reshape {
        dst: u32,
        src: u32,
        shape: Vec<Extent>,
    },
    Bitcast {
        dst: u32,
        src: u32,
        dtype: DType,
        shape: Vec<Extent>,
    },
    Transpose {
        dst: u32,
        src: u32,
        axes: (usize, usize),
    },
    Dim {
        dst: u32,
        src: u32,
        axis: usize,
    },
    Stride {
        dst: u32,
        src: u32,
        axis: usize,
    },
    Read {
        dst: u32,
        src: u32,
        indices: Vec<Int>,
    },
    Write {
        dst: u32,
        indices: Vec<Int>,
        value: u32,
        dtype: DType,
    },
    Submit(Box<Submit>),
}

#[derive(Clone, Debug)]
pub(crate) struct HostOp {
    pub(crate) op: Op,
    /// The user's name for its result.
    pub(crate) name: Option<String>,
    pub(crate) action: Action,
    pub(crate) span: Option<Span>,
}

pub(crate) fn decode(
    program: &Program,
    func: &Function,
    code: &Code,
    index: &[Option<usize>],
    kernels: &[Kernel],
) -> Result<Vec<HostOp>, Vec<Diagnostic>> {
    let cx = Context { program, func, code, index, kernels };
    let mut errors = Vec::new();
    let mut out = Vec::new();
    for &op in &code.hosts {
        let data = &func.ops[op];
        match cx.action(op) {
            Ok(action) => {
                let name = data.result().and_then(|v| func.values[v].name.clone());
                out.push(HostOp { op, name, action, span: data.span });
            }
            Err(why) => errors.push(
                Diagnostic::unsupported("orchestration-operation", format!("`{}`: {why}", data.opcode.name()))
                    .at(data.span, "does not run here"),
            ),
        }
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

struct Context<'a> {
    program: &'a Program,
    func: &'a Function,
    code: &'a Code,
    index: &'a [Option<usize>],
    kernels: &'a [Kernel],
}

impl Context<'_> {
    fn int(&self, v: Value) -> Result<Int, String> {
        let dtype = self.func.ty(v).as_scalar().ok_or("an operand that is not an integer")?;
        Ok(Int { reg: self.code.reg(v), dtype })
    }

    fn ints(&self, values: &[Value]) -> Result<Vec<Int>, String> {
        values.iter().map(|&v| self.int(v)).collect()
    }

    fn deps(&self, values: &[Value]) -> Result<Vec<Dep>, String> {
        values
            .iter()
            .map(|&v| match self.func.ty(v) {
                Type::TaskId => Ok(Dep::Task(self.code.reg(v))),
                Type::Array { element, .. } if **element == Type::TaskId => Ok(Dep::Array(self.code.reg(v))),
                _ => Err("a dependency that is not a task".to_string()),
            })
            .collect()
    }

    /// The extents of a tensor type, the dynamic ones from `dims`.
    fn extents(&self, ty: &Type, dims: &[Value]) -> Result<(DType, Vec<Extent>), String> {
        let Type::Tensor(t) = ty else { return Err("a result that is not a tensor".into()) };
        let mut dims = dims.iter();
        let shape = t
            .shape
            .iter()
            .map(|d| match d {
                Dim::Static(n) => Ok(Extent::Known(*n)),
                Dim::Dynamic => {
                    let v = dims.next().ok_or("fewer dims than dynamic extents")?;
                    Ok(Extent::In(self.int(*v)?))
                }
            })
            .collect::<Result<_, String>>()?;
        Ok((t.dtype, shape))
    }

    fn action(&self, op: Op) -> Result<Action, String> {
        let o = &self.func.ops[op];
        let reg = |v: Value| self.code.reg(v);
        let dst = || o.result().map(reg).ok_or("no result".to_string());
        let axis =
            |name: &str| o.attrs.int(name).and_then(|a| usize::try_from(a).ok()).ok_or(format!("no valid `{name}`"));
        Ok(match o.opcode {
            Opcode::Return => {
                let params = self.func.param_values();
                let one = |&v: &Value| match self.func.ty(v) {
                    Type::Tensor(_) => Ok((reg(v), params.iter().position(|&p| p == v))),
                    _ => Err("a value that is not a tensor".to_string()),
                };
                Action::Return(o.operands.iter().map(one).collect::<Result<_, _>>()?)
            }
            Opcode::TaskInvalid => Action::TaskInvalid { dst: dst()? },
            Opcode::TaskIsValid => match (self.func.ty(o.named("task")[0]), reg(o.named("task")[0])) {
                (Type::TaskId, task) => Action::TaskIsValid { dst: dst()?, task },
                (ty, _) => return Err(format!("an operand of type {ty}, not a task id")),
            },
            Opcode::TaskDummy => Action::TaskDummy { dst: dst()?, deps: self.deps(o.named("deps"))? },
            Opcode::TensorCreate => {
                let result = o.result().ok_or("no result")?;
                let (dtype, shape) = self.extents(self.func.ty(result), o.named("dims"))?;
                let init = match o.attrs.get("init") {
                    None => None,
                    Some(Attr::Int(v)) => Some(Scalar::from_i64(dtype, *v)),
                    Some(Attr::Bool(v)) => Some(Scalar::from_i64(dtype, *v as i64)),
                    Some(Attr::Float(v)) => Some(Scalar::from_f64(dtype, *v)),
                    Some(_) => return Err("an `init` that is not a number".into()),
                };
                Action::Create { dst: reg(result), dtype, shape, init, manual_dep: o.attrs.bool("manual_dep") }
            }
            Opcode::TensorSlice => {
                let mut dims = o.named("dims").iter();
                let sizes = o
                    .attrs
                    .ints("sizes")
                    .ok_or("no sizes")?
                    .iter()
                    .map(|&n| match u64::try_from(n) {
                        Ok(n) => Ok(Extent::Known(n)),
                        Err(_) => Ok(Extent::In(self.int(*dims.next().ok_or("fewer dims than sizes of -1")?)?)),
                    })
                    .collect::<Result<_, String>>()?;
                let drop = o.attrs.ints("drop").unwrap_or(&[]);
                let drop = drop.iter().map(|&d| usize::try_from(d).map_err(|_| "a negative axis".to_string()));
                Action::Slice {
                    dst: dst()?,
                    src: reg(o.named("tensor")[0]),
                    offsets: self.ints(o.named("offsets"))?,
                    sizes,
                    drop: drop.collect::<Result<_, _>>()?,
                }
            }
            Opcode::TensorReshape => {
                let result = o.result().ok_or("no result")?;
                let (_, shape) = self.extents(self.func.ty(result), o.named("dims"))?;
                Action::Reshape { dst: reg(result), src: reg(o.named("tensor")[0]), shape }
            }
            Opcode::TensorBitcast => {
                let result = o.result().ok_or("no result")?;
                let (dtype, shape) = self.extents(self.func.ty(result), o.named("dims"))?;
                Action::Bitcast { dst: reg(result), src: reg(o.named("tensor")[0]), dtype, shape }
            }
            Opcode::TensorTranspose => {
                let axes = (axis("axis1")?, axis("axis2")?);
                Action::Transpose { dst: dst()?, src: reg(o.named("tensor")[0]), axes }
            }
            Opcode::TensorDim => Action::Dim { dst: dst()?, src: reg(o.named("tensor")[0]), axis: axis("axis")? },
            Opcode::TensorStride => Action::Stride { dst: dst()?, src: reg(o.named("tensor")[0]), axis: axis("axis")? },
            Opcode::Read => {
                Action::Read { dst: dst()?, src: reg(o.named("tensor")[0]), indices: self.ints(o.named("indices"))? }
            }
            Opcode::Write => {
                let value = o.named("value")[0];
                Action::Write {
                    dst: reg(o.named("tensor")[0]),
                    indices: self.ints(o.named("indices"))?,
                    value: reg(value),
                    dtype: self.func.ty(value).as_scalar().ok_or("a value that is not a scalar")?,
                }
            }
            Opcode::Submit => Action::Submit(Box::new(self.submit(o)?)),
            other => return Err(format!("{} is not an operation of an orchestration", other.name())),
        })
    }

    fn submit(&self, o: &OpData) -> Result<Submit, String> {
        let names = o.attrs.symbols("kernels").ok_or("no kernels")?;
        let mut kernels = Vec::new();
        for name in names {
            let id = self.program.function(name).ok_or(format!("no function `{name}`"))?;
            kernels.push(self.index[id.index()].ok_or(format!("`{name}` is not a kernel"))?);
        }
        let core = |k: &usize| self.kernels[*k].core();
        kernels.sort_by_key(|k| core(k) == Some(chip::Core::Vector));
        match kernels.len() {
            1 => {}
            2 if core(&kernels[0]) != core(&kernels[1]) => {}
            n => return Err(format!("{n} kernels; a task has one, or a cube and a vector kernel")),
        }
        if kernels.len() == 2 && self.kernels[kernels[0]].code.placed != self.kernels[kernels[1]].code.placed {
            return Err("one kernel is placed and the other is not".into());
        }
        let args: Vec<Source> = o
            .named("args")
            .iter()
            .map(|&v| match self.func.ty(v) {
                Type::Tensor(_) => Ok(Source::Tensor(self.code.reg(v))),
                Type::Scalar(d) => Ok(Source::Scalar(self.code.reg(v), *d)),
                _ => Err("an argument that is neither a tensor nor a scalar".to_string()),
            })
            .collect::<Result<_, _>>()?;
        let uses: Vec<Use> = o
            .attrs
            .word("directions")
            .ok_or("no directions")?
            .split(',')
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .map(|w| {
                Ok(match w {
                    "in" => Use::In,
                    "out" => Use::Out,
                    "inout" => Use::InOut,
                    "scalar" => Use::Scalar,
                    "workspace" => Use::Workspace,
                    other => return Err(format!("unknown direction `{other}`")),
                })
            })
            .collect::<Result<_, String>>()?;
        if uses.len() != args.len() {
            return Err(format!("{} directions for {} arguments", uses.len(), args.len()));
        }
        // Cube and mixed tasks take a cluster a block, vector tasks a vector core (runtime.md §1.11).
        let chip = self.program.arch.chip();
        let vector = kernels.iter().all(|k| core(k) == Some(chip::Core::Vector));
        let capacity = if vector { chip.vector_cores() } else { chip.clusters };
        let no_dep = o.attrs.ints("no_dep").unwrap_or(&[]);
        let position = |&i: &i64| usize::try_from(i).ok().filter(|&i| i < args.len()).ok_or(format!("no argument {i}"));
        Ok(Submit {
            no_dep: no_dep.iter().map(position).collect::<Result<_, _>>()?,
            manual: o.attrs.bool("manual"),
            resident: o.attrs.bool("sync_start").then_some(capacity),
            dst: o.result().map(|v| self.code.reg(v)),
            name: o.attrs.word("name").unwrap_or("").into(),
            kernels,
            args,
            uses,
            deps: self.deps(o.named("deps"))?,
            blocks: o.named("blocks").first().map(|&v| self.int(v)).transpose()?,
        })
    }
}
