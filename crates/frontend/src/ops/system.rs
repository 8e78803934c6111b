//! Scalars, tasks, arrays, blocks, and what happens at compile time only.

use diag::Diagnostic;
use dtype::scalar::BinaryOp;
use ir::{Attr, Attrs, Opcode, Type, Value};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Place, Res};
use crate::literals;
use crate::value::Held;

fn extreme(cx: &mut Cx<'_>, args: &Args<'_>, op: BinaryOp) -> Res<Held> {
    let (a, b) = (args.need("a"), args.need("b"));
    let (x, y) = (cx.eval(a)?, cx.eval(b)?);
    if x.is_literal_number() && y.is_literal_number() {
        let first = literals::compare(ruff_python_ast::CmpOp::LtE, &x, &y) == Some(op == BinaryOp::Min);
        return Ok(if first { x } else { y });
    }
    for (held, expr) in [(&x, a), (&y, b)] {
        if let Held::Ir(v) = held
            && (cx.tile(*v).is_some() || cx.tensor(*v).is_some())
        {
            let tiles = if op == BinaryOp::Min { "minimum" } else { "maximum" };
            let message = format!("`pl.{}` takes scalars, not {}", args.name, cx.describe(held));
            return Err(cx.error("wrong-argument", expr, message).help(format!("use `pl.{tiles}` for tiles")).into());
        }
    }
    cx.scalar_binary(op, &x, &y, args.at)
}

pub(crate) fn min(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    extreme(cx, args, BinaryOp::Min)
}

pub(crate) fn max(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    extreme(cx, args, BinaryOp::Max)
}

/// `pl.const(value, dtype)`: a literal of a stated type.
pub(crate) fn typed(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let expr = args.need("value");
    let held = cx.eval(expr)?;
    let dtype = cx.static_dtype(args.need("dtype"))?;
    let scalar = cx.adopt(&held, dtype, expr.range())?;
    Ok(Held::Ir(cx.constant(scalar)))
}

// Tasks and arrays.

impl Cx<'_> {
    /// Task ids of `deps=[…]`: ids, arrays, elements; `None` is nothing.
    pub(crate) fn dependencies(&mut self, expr: &Expr) -> Res<Vec<Value>> {
        let held = self.eval(expr)?;
        let mut out = Vec::new();
        self.collect_tasks(&held, expr.range(), &mut out)?;
        Ok(out)
    }

    fn collect_tasks(&mut self, held: &Held, at: TextRange, out: &mut Vec<Value>) -> Res<()> {
        match held {
            Held::None => Ok(()),
            Held::Tuple(items) => items.iter().try_for_each(|i| self.collect_tasks(i, at, out)),
            Held::Ir(v) => match self.ty(*v) {
                Type::TaskId => {
                    out.push(*v);
                    Ok(())
                }
                Type::Array { element, .. } if **element == Type::TaskId => {
                    out.push(*v);
                    Ok(())
                }
                _ => Err(self.not_a(held, "a task id or an array of task ids", at)),
            },
            _ => Err(self.not_a(held, "a task id or an array of task ids", at)),
        }
    }

    /// Something as a task id: `None` is the invalid one.
    pub(crate) fn task(&mut self, held: &Held, at: TextRange) -> Res<Value> {
        match held {
            Held::None => Ok(self.pure(Opcode::TaskInvalid, &[], Type::TaskId, Attrs::default())),
            Held::Ir(v) if *self.ty(*v) == Type::TaskId => Ok(*v),
            _ => Err(self.not_a(held, "a task id", at)),
        }
    }

    fn orchestration_only(&self, args: &Args<'_>) -> Res<()> {
        if self.in_scope() {
            let message = format!("`pl.{}` belongs to the orchestration, not into a kernel scope", args.name);
            return Err(self.error("wrong-level", args.at, message).into());
        }
        Ok(())
    }

    fn scope_only(&self, args: &Args<'_>) -> Res<()> {
        if !self.in_scope() {
            let message = format!("`pl.{}` belongs into a kernel scope", args.name);
            let help = "put it inside `with pl.at(…):` or `for i in pl.spmd(…):`";
            return Err(self.error("wrong-level", args.at, message).help(help).into());
        }
        Ok(())
    }

    /// An element of an array.
    pub(crate) fn array_element(&mut self, array: Value, index: &Held, at: TextRange) -> Res<Held> {
        let Type::Array { element, len } = self.ty(array).clone() else {
            return Err(self.not_a(&Held::Ir(array), "an array", at));
        };
        self.check_index(index, len, at)?;
        let index = self.as_index(index, at)?;
        Ok(Held::Ir(self.result(Opcode::ArrayGet, &[&[array], &[index]], *element, Attrs::default())))
    }

    pub(crate) fn set_array_element(&mut self, array: Value, index: &Held, value: &Held, at: TextRange) -> Res<()> {
        let Type::Array { element, len } = self.ty(array).clone() else {
            return Err(self.not_a(&Held::Ir(array), "an array", at));
        };
        self.check_index(index, len, at)?;
        let index = self.as_index(index, at)?;
        let value = match *element {
            Type::Scalar(d) => self.scalar_of(value, d, at)?,
            _ => self.task(value, at)?,
        };
        self.effect(Opcode::ArraySet, &[&[array], &[index], &[value]], Attrs::default());
        Ok(())
    }

    fn check_index(&self, index: &Held, len: u64, at: TextRange) -> Res<()> {
        match self.known_int(index) {
            Some(i) if !(0..len as i64).contains(&i) => {
                Err(self.error("out-of-bounds", at, format!("index {i} of an array of {len}")).into())
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn array_create(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let extent = args.need("extent");
    let len = cx.static_int(extent)?;
    let Some(len) = u64::try_from(len).ok().filter(|&n| n > 0 && n <= ir::MAX_ARRAY) else {
        let message = format!("an array has 1 to {} elements, not {len}", ir::MAX_ARRAY);
        return Err(cx.error("wrong-argument", extent, message).into());
    };
    let expr = args.need("dtype");
    let element = match cx.eval(expr)? {
        Held::DType(d) if !d.is_float() => Type::Scalar(d),
        Held::Language(name) if name == "TASK_ID" => Type::TaskId,
        other => return Err(cx.not_a(&other, "an integer dtype or `pl.TASK_ID`", expr.range())),
    };
    if element == Type::TaskId {
        cx.orchestration_only(args)?;
    }
    let ty = Type::Array { element: Box::new(element), len };
    Ok(Held::Ir(cx.result(Opcode::ArrayCreate, &[], ty, Attrs::default())))
}

fn array(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Value> {
    let expr = args.need("array");
    match cx.eval(expr)? {
        Held::Ir(v) if matches!(cx.ty(v), Type::Array { .. }) => Ok(v),
        other => Err(cx.not_a(&other, "an array", expr.range())),
    }
}

pub(crate) fn array_get(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let array = array(cx, args)?;
    let index = cx.eval(args.need("index"))?;
    cx.array_element(array, &index, args.at)
}

pub(crate) fn array_set(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let array = array(cx, args)?;
    let (index, value) = (cx.eval(args.need("index"))?, cx.eval(args.need("value"))?);
    cx.set_array_element(array, &index, &value, args.at)?;
    Ok(Held::Ir(array))
}

pub(crate) fn task_dummy(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.orchestration_only(args)?;
    let deps = args.get("deps").map(|e| cx.dependencies(e)).transpose()?.unwrap_or_default();
    Ok(Held::Ir(cx.result(Opcode::TaskDummy, &[&deps], Type::TaskId, Attrs::default())))
}

pub(crate) fn task_is_valid(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.orchestration_only(args)?;
    let expr = args.need("task");
    let held = cx.eval(expr)?;
    let task = cx.task(&held, expr.range())?;
    Ok(Held::Ir(cx.result(Opcode::TaskIsValid, &[&[task]], Type::BOOL, Attrs::default())))
}

pub(crate) fn task_invalid(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.orchestration_only(args)?;
    cx.task(&Held::None, args.at).map(Held::Ir)
}

// Blocks and cores.

pub(crate) fn block_index(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.scope_only(args)?;
    match cx.place {
        Place::Scope(scope) => Ok(scope.block_index.map_or(Held::Int(0), Held::Ir)),
        Place::Orchestration => Ok(Held::Int(0)),
    }
}

pub(crate) fn block_num(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.scope_only(args)?;
    match cx.place {
        Place::Scope(scope) if scope.block_index.is_none() => Ok(Held::Int(1)),
        _ => Ok(Held::Ir(cx.pure(Opcode::GetBlockNum, &[], Type::INDEX, Attrs::default()))),
    }
}

pub(crate) fn subblock_index(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.scope_only(args)?;
    if let Some(lane) = cx.lane {
        return Ok(Held::Int(lane.number));
    }
    Ok(Held::Ir(cx.pure(Opcode::GetSubblockIdx, &[], Type::INDEX, Attrs::default())))
}

pub(crate) fn syncall(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.scope_only(args)?;
    if cx.lane.is_some() {
        let message = "`pl.system.syncall` in a lane of `pl.split_aiv` is not supported: lanes run one after the other";
        return Err(cx.unsupported("unsupported-lanes", args.at, message).help("put it between two regions").into());
    }
    let mut attributes = Attrs::default();
    if let Some(expr) = args.get("core_type") {
        match cx.eval(expr)? {
            Held::Str(word) if ["aiv_only", "aic_only", "mix"].contains(&word.as_str()) => {
                attributes.set("core_type", Attr::Word(word));
            }
            other => return Err(cx.not_a(&other, "\"mix\", \"aiv_only\" or \"aic_only\"", expr.range())),
        }
    }
    cx.effect(Opcode::SyncAll, &[], attributes);
    Ok(Held::None)
}

pub(crate) fn cluster_count(cx: &mut Cx<'_>, _: &Args<'_>) -> Res<Held> {
    Ok(Held::Int(i64::from(cx.arch.chip().clusters)))
}

pub(crate) fn vector_count(cx: &mut Cx<'_>, _: &Args<'_>) -> Res<Held> {
    Ok(Held::Int(i64::from(cx.arch.chip().vector_cores())))
}

// Compile time only.

pub(crate) fn nothing(_: &mut Cx<'_>, _: &Args<'_>) -> Res<Held> {
    Ok(Held::None)
}

pub(crate) fn same(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    cx.eval(args.need("x"))
}

/// `pl.yield_(…)`: its values; loops look at the statement.
pub(crate) fn yielded(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let mut values = Vec::new();
    for expr in args.positional {
        values.push(cx.eval(expr)?);
    }
    Ok(if values.len() == 1 { values.remove(0) } else { Held::Tuple(values) })
}

pub(crate) fn static_assert(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let expr = args.need("condition");
    if cx.static_bool(expr)? {
        return Ok(Held::None);
    }
    let message = match args.get("message").map(|m| cx.eval(m)).transpose()? {
        Some(Held::Str(text)) => format!("static assertion failed: {text}"),
        _ => format!("static assertion failed: `{}`", cx.text(expr)),
    };
    Err(cx.error("static-assert", expr, message).into())
}

pub(crate) fn static_print(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let mut parts = Vec::new();
    for expr in args.positional {
        let held = cx.eval(expr)?;
        parts.push(match held {
            Held::Str(text) => text,
            other => format!("{} = {}", cx.text(expr), cx.describe(&other)),
        });
    }
    let mut note = Diagnostic::warning("static-print", parts.join(" ")).at(cx.span_of(args.at), "");
    note.severity = diag::Severity::Note;
    cx.warn(note);
    Ok(Held::None)
}

pub(crate) fn dynamic(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let expr = args.need("name");
    match cx.eval(expr)? {
        // One made in a body is bound by `bind_dynamic`; the name alone tells it apart.
        Held::Str(name) => {
            let id =
                name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
            Ok(Held::Dynamic { name, id })
        }
        other => Err(cx.not_a(&other, "a name", expr.range())),
    }
}
