//! The tensor level as text of the language, which the front end reads back to a program that means the same.
//!
//! A program is one function here (helpers and kernels are spliced), so its text is one `@pl.function`, on its own or in a
//! `@pl.program` class. Every value gets a name of its own and every operation a line; what is carried or joined is
//! explicit (`init_values`, `pl.yield_`). Names are made from those that the user gave, so that printing what was read
//! from a printed text gives that text again.
//!
//! One thing the tensor level does not know: that two extents are the same dynamic dimension. Each gets a name of its own.
//!
//! What an operation is written as is in [`operation`] and [`indexed`]; one without a spelling is refused by name.

mod indexed;
mod operation;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use diag::Diagnostic;
use dtype::{DType, Scalar};
use ir::builder::const_scalar;
use ir::{Attr, Block, Dim, Direction, Function, Op, OpData, Opcode, Program, Type, Value};

use crate::cleanup::removable;

/// How a text is to look.
#[derive(Clone, Copy, Default, Debug)]
pub struct Style<'a> {
    /// The name of the `@pl.program` class around the function, if there is to be one.
    pub class: Option<&'a str>,
    /// Without the types of local values.
    pub concise: bool,
}

/// Names that the text uses itself, or that Python or the front end would take for something else.
const RESERVED: &[&str] = &[
    "pl", "self", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield", "None", "True", "False", "float",
];

type Res<T> = Result<T, Box<Diagnostic>>;

/// The text of a tensor-level program.
pub fn print(program: &Program, style: Style<'_>) -> Result<String, Box<Diagnostic>> {
    let func = &program.functions[program.entry];
    let mut printer = Printer {
        func,
        names: BTreeMap::new(),
        taken: RESERVED.iter().map(|s| (*s).to_owned()).collect(),
        used: used(func),
        out: String::new(),
        depth: 0,
        concise: style.concise,
    };
    printer.function(style.class)?;
    Ok(printer.out)
}

/// Values that something printed reads. What a branch yields to nobody is left out, and with it what only computes that:
/// the front end would not make it.
fn used(func: &Function) -> BTreeSet<Value> {
    let mut used = BTreeSet::new();
    // Users come after what they use, so one backward pass sees every chain.
    for op in func.walk().into_iter().rev() {
        let data = &func.ops[op];
        let parent = func.blocks[data.block].parent.map(|p| &func.ops[p]);
        match parent {
            Some(branch) if branch.opcode == Opcode::If && data.opcode == Opcode::Yield => {
                let wanted = branch.results.iter().zip(&data.operands).filter(|(r, _)| used.contains(*r));
                let wanted: Vec<Value> = wanted.map(|(_, &v)| v).collect();
                used.extend(wanted);
            }
            _ if removable(data.opcode) && !data.results.iter().any(|r| used.contains(r)) => {}
            _ => used.extend(data.operands.iter().chain(&data.dests)),
        }
    }
    used
}

struct Printer<'p> {
    func: &'p Function,
    names: BTreeMap<Value, String>,
    taken: BTreeSet<String>,
    used: BTreeSet<Value>,
    out: String,
    depth: usize,
    concise: bool,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = self.depth * 4);
    }

    /// A name for something, near to `hint` and not taken.
    fn fresh(&mut self, hint: &str) -> String {
        let mut name = hint.to_owned();
        let mut count = 0;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = format!("{hint}_{count}");
        }
        name
    }

    /// Names a value where it is defined.
    fn define(&mut self, value: Value) -> String {
        let data = &self.func.values[value];
        let identifier = |name: &&String| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
        };
        let hint = match (data.name.as_ref().filter(identifier), &data.ty) {
            (Some(name), _) => name.as_str(),
            (None, Type::Tile(_)) => "t",
            (None, Type::Tensor(_)) => "x",
            (None, Type::TaskId) => "tid",
            (None, Type::Array { .. }) => "array",
            _ => "n",
        };
        let name = self.fresh(hint);
        self.names.insert(value, name.clone());
        name
    }

    /// A value as an expression: its name, or the literal that it is.
    fn value(&self, value: Value) -> Res<String> {
        if let Some(name) = self.names.get(&value) {
            return Ok(name.clone());
        }
        if let Some(literal) = const_scalar(self.func, value) {
            let text = literal_text(literal);
            // A bare integer is an index, a bare float an FP32; where that does not matter [`Printer::number`] is asked.
            let own = matches!(literal.dtype, DType::Bool | DType::Index);
            return Ok(if own { text } else { format!("pl.const({text}, {})", dtype_text(literal.dtype)) });
        }
        // Conditions of `while` are one expression: what they compute has no line of its own.
        let Some(op) = self.func.def_op(value) else {
            return Err(Box::new(Diagnostic::error("internal", "a value without a name")));
        };
        match self.func.ops[op].opcode {
            Opcode::TaskInvalid => Ok("pl.system.task_invalid()".into()),
            _ => self.expression(&self.func.ops[op]).map(|text| format!("({text})")),
        }
    }

    /// A value whose type is that of the operation it stands in.
    fn number(&self, value: Value) -> Res<String> {
        match const_scalar(self.func, value) {
            Some(literal) => Ok(literal_text(literal)),
            None => self.value(value),
        }
    }

    /// A value that must keep its type: a literal is a typed one.
    fn typed(&self, value: Value) -> Res<String> {
        match const_scalar(self.func, value) {
            Some(literal) if literal.dtype != DType::Bool => {
                Ok(format!("pl.const({}, {})", literal_text(literal), dtype_text(literal.dtype)))
            }
            _ => self.value(value),
        }
    }

    fn list(&self, values: &[Value]) -> Res<String> {
        let items = values.iter().map(|&v| self.number(v)).collect::<Res<Vec<_>>>()?;
        Ok(format!("[{}]", items.join(", ")))
    }

    fn function(&mut self, class: Option<&str>) -> Res<()> {
        let func = self.func;
        self.line("import tilewright.language as pl");
        self.line("");
        let mut params = Vec::new();
        let mut extents = Vec::new();
        for (param, &value) in func.params.iter().zip(func.param_values()) {
            let name = self.define(value);
            let ty = match func.ty(value) {
                Type::Tensor(t) => {
                    let mut dims = Vec::new();
                    for (axis, dim) in t.shape.iter().enumerate() {
                        dims.push(match dim {
                            Dim::Static(n) => n.to_string(),
                            Dim::Dynamic => {
                                let extent = self.fresh(&format!("{}_{axis}", name.to_ascii_uppercase()));
                                extents.push(extent.clone());
                                extent
                            }
                        });
                    }
                    format!("pl.Tensor[[{}], {}]", dims.join(", "), dtype_text(t.dtype))
                }
                Type::Scalar(d) => format!("pl.Scalar[{}]", dtype_text(*d)),
                _ => return Err(unsupported("a parameter that is neither a tensor nor a scalar")),
            };
            let ty = match param.direction {
                Direction::In => ty,
                Direction::Out => format!("pl.Out[{ty}]"),
                Direction::InOut => format!("pl.InOut[{ty}]"),
            };
            params.push(format!("{name}: {ty}"));
        }
        for extent in &extents {
            self.line(&format!("{extent} = pl.dynamic(\"{extent}\")"));
        }
        if !extents.is_empty() {
            self.line("");
        }
        self.line("");
        if let Some(class) = class {
            self.line("@pl.program");
            self.line(&format!("class {class}:"));
            self.depth += 1;
            params.insert(0, "self".into());
        }
        self.line("@pl.function(type=pl.FunctionType.Orchestration)");
        self.line(&format!("def {}({}):", func.name, params.join(", ")));
        self.body(func.body)
    }

    /// The operations of a region, one level deeper; `pass` if there are none.
    fn body(&mut self, block: Block) -> Res<()> {
        self.depth += 1;
        let before = self.out.len();
        for &op in &self.func.blocks[block].ops {
            self.operation(op)?;
        }
        if self.out.len() == before {
            self.line("pass");
        }
        self.depth -= 1;
        Ok(())
    }

    fn operation(&mut self, op: Op) -> Res<()> {
        let data = &self.func.ops[op];
        match data.opcode {
            Opcode::Const | Opcode::TaskInvalid => Ok(()),
            opcode if removable(opcode) && !data.results.iter().any(|r| self.used.contains(r)) => Ok(()),
            Opcode::Scope => self.scope(data),
            Opcode::For => self.for_loop(data),
            Opcode::While => self.while_loop(data),
            Opcode::If => {
                let condition = self.value(data.operands[0])?;
                self.line(&format!("if {condition}:"));
                // The front end joins names in their order.
                let mut results = Vec::new();
                for (i, &result) in data.results.iter().enumerate() {
                    if self.used.contains(&result) {
                        results.push((self.define(result), i));
                    }
                }
                results.sort();
                self.region(data.regions[0], &results)?;
                let other = &self.func.blocks[data.regions[1]].ops;
                let empty = other.iter().all(|&o| matches!(self.func.ops[o].opcode, Opcode::Yield | Opcode::Const));
                if !results.is_empty() || !empty {
                    self.line("else:");
                    self.region(data.regions[1], &results)?;
                }
                Ok(())
            }
            // Written by what they end.
            Opcode::Yield | Opcode::Condition => Ok(()),
            Opcode::Return => {
                let values = data.operands.iter().map(|&v| self.value(v)).collect::<Res<Vec<_>>>()?;
                if !values.is_empty() {
                    self.line(&format!("return {}", values.join(", ")));
                }
                Ok(())
            }
            _ => self.statement(data),
        }
    }

    /// A region that ends in a `yield`: of what goes to each of these names.
    fn region(&mut self, block: Block, results: &[(String, usize)]) -> Res<()> {
        self.depth += 1;
        let before = self.out.len();
        for &op in &self.func.blocks[block].ops {
            self.operation(op)?;
        }
        let last = self.func.blocks[block].ops.last().map(|&op| &self.func.ops[op]);
        if let (Some(end), false) = (last, results.is_empty()) {
            let values = results.iter().map(|(_, i)| self.typed(end.operands[*i])).collect::<Res<Vec<_>>>()?;
            let names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
            self.line(&format!("{} = pl.yield_({})", names.join(", "), values.join(", ")));
        }
        if self.out.len() == before {
            self.line("pass");
        }
        self.depth -= 1;
        Ok(())
    }

    fn scope(&mut self, data: &OpData) -> Res<()> {
        if !data.attrs.bool("manual") {
            return self.task(data);
        }
        self.line("with pl.manual_scope():");
        self.depth += 1;
        let printed = self.task(data);
        self.depth -= 1;
        printed
    }

    fn task(&mut self, data: &OpData) -> Res<()> {
        let task = data.results[0];
        let bound = self.used.contains(&task).then(|| self.define(task));
        let mut options = Vec::new();
        let name = match data.attrs.get("name") {
            Some(Attr::Text(name)) => name.as_str(),
            _ => "",
        };
        options.push(format!("name_hint=\"{name}\""));
        let deps = data.named("deps");
        if !deps.is_empty() {
            let items = deps.iter().map(|&v| self.value(v)).collect::<Res<Vec<_>>>()?;
            options.push(format!("deps=[{}]", items.join(", ")));
        }
        if data.attrs.bool("sync_start") {
            options.push("sync_start=True".into());
        }
        let slots = data.attrs.int("slot_num");
        match data.attrs.word("split") {
            Some(split) => {
                let slots = slots.map_or(String::new(), |n| format!(", slot_num={n}"));
                options.push(format!("optimizations=[pl.split(pl.SplitMode.{}{slots})]", split.to_ascii_uppercase()));
            }
            None => {
                options.extend(slots.map(|n| format!("optimizations=[pl.cross_core_slot(slot_num={n})]")));
            }
        }
        let options = options.join(", ");
        let suffix = bound.as_ref().map_or(String::new(), |name| format!(" as {name}"));
        let region = data.regions[0];
        let Some(&blocks) = data.named("blocks").first() else {
            self.line(&format!("with pl.at(level=pl.Level.CORE_GROUP, {options}){suffix}:"));
            return self.body(region);
        };
        let blocks = self.number(blocks)?;
        let index = self.func.blocks[region].args[0];
        let index = self.define(index);
        match bound {
            None => {
                self.line(&format!("for {index} in pl.spmd({blocks}, {options}):"));
                self.body(region)
            }
            Some(_) => {
                self.line(&format!("with pl.spmd({blocks}, {options}){suffix}:"));
                self.depth += 1;
                self.line(&format!("{index} = pl.tile.get_block_idx()"));
                self.depth -= 1;
                self.body(region)
            }
        }
    }

    /// `(a, b)` and `(x, y)` of carried values.
    fn carried(&mut self, args: &[Value], init: &[Value]) -> Res<(String, String)> {
        let init = init.iter().map(|&v| self.typed(v)).collect::<Res<Vec<_>>>()?;
        let names: Vec<String> = args.iter().map(|&a| self.define(a)).collect();
        Ok((tuple(&names), tuple(&init)))
    }

    fn for_loop(&mut self, data: &OpData) -> Res<()> {
        let region = data.regions[0];
        let [lower, upper, step] = [data.operands[0], data.operands[1], data.operands[2]];
        let init = data.named("init");
        let (variable, args) = match self.func.blocks[region].args.split_first() {
            Some((&variable, args)) => (variable, args.to_vec()),
            None => return Err(unsupported("a loop without a variable")),
        };
        let bounds = [self.number(lower)?, self.number(upper)?, self.number(step)?];
        let mut inside = match bounds.each_ref().map(String::as_str) {
            ["0", upper, "1"] => upper.to_owned(),
            [lower, upper, "1"] => format!("{lower}, {upper}"),
            all => all.join(", "),
        };
        let kind = data.attrs.word("kind").unwrap_or("range");
        if let Some(stage) = data.attrs.int("stage") {
            let _ = write!(inside, ", stage={stage}");
        }
        let variable = self.define(variable);
        if init.is_empty() {
            self.line(&format!("for {variable} in pl.{kind}({inside}):"));
            return self.body(region);
        }
        let (names, values) = self.carried(&args, init)?;
        self.line(&format!("for {variable}, {names} in pl.{kind}({inside}, init_values={values}):"));
        let results = data.results.iter().enumerate().map(|(i, &r)| (self.define(r), i)).collect::<Vec<_>>();
        self.region(region, &results)
    }

    fn while_loop(&mut self, data: &OpData) -> Res<()> {
        let [test, body] = [data.regions[0], data.regions[1]];
        let init = data.named("init");
        let args = self.func.blocks[body].args.clone();
        let Some(end) = self.func.blocks[test].ops.last().map(|&op| &self.func.ops[op]) else {
            return Err(unsupported("a `while` without a condition"));
        };
        if init.is_empty() {
            let condition = self.value(end.operands[0])?;
            self.line(&format!("while {condition}:"));
            return self.body(body);
        }
        if end.operands[1..] != self.func.blocks[test].args[..] {
            return Err(unsupported("a `while` whose condition changes what it carries"));
        }
        let (names, values) = self.carried(&args, init)?;
        // In the condition the carried values have the same names.
        for (&arg, &own) in self.func.blocks[test].args.iter().zip(&args) {
            let name = self.names[&own].clone();
            self.names.insert(arg, name);
        }
        let condition = self.value(end.operands[0])?;
        self.line(&format!("for {names} in pl.while_(init_values={values}):"));
        self.depth += 1;
        self.line(&format!("pl.cond({condition})"));
        self.depth -= 1;
        let results = data.results.iter().enumerate().map(|(i, &r)| (self.define(r), i)).collect::<Vec<_>>();
        self.region(body, &results)
    }

    /// `x = …` of an operation with one result, or a call for its effect.
    fn statement(&mut self, data: &OpData) -> Res<()> {
        if let Some(text) = self.effect(data)? {
            self.line(&text);
            return Ok(());
        }
        let text = self.expression(data)?;
        let result = data.results[0];
        let ty = match self.func.ty(result) {
            _ if self.concise => None,
            Type::Scalar(d) => Some(format!("pl.Scalar[{}]", dtype_text(*d))),
            Type::Tile(t) => Some(format!("pl.Tile[{:?}, {}]", t.shape, dtype_text(t.dtype))),
            Type::Tensor(t) => t.static_shape().map(|s| format!("pl.Tensor[{s:?}, {}]", dtype_text(t.dtype))),
            _ => None,
        };
        let ty = ty.map_or(String::new(), |t| format!(": {t}"));
        // A tile that is made partly valid is made, and then narrowed.
        if let Some(region) = self.made_region(data)? {
            let whole = self.fresh("t");
            self.line(&format!("{whole}{ty} = {text}"));
            let name = self.define(result);
            self.line(&format!("{name}{ty} = pl.set_validshape({whole}, {region})"));
            return Ok(());
        }
        let name = self.define(result);
        self.line(&format!("{name}{ty} = {text}"));
        Ok(())
    }
}

fn tuple(items: &[String]) -> String {
    match items {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}

fn unsupported(what: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::unsupported("not-printable", format!("{what} has no spelling in the language")))
}

fn dtype_text(dtype: DType) -> String {
    format!("pl.{}", dtype.language_name())
}

/// A literal as Python writes it.
fn literal_text(literal: Scalar) -> String {
    match literal.dtype {
        DType::Bool => (if literal.is_true() { "True" } else { "False" }).into(),
        d if d.is_float() => float_text(literal.as_f64()),
        DType::U64 => literal.bits.to_string(),
        _ => literal.as_i64().unwrap_or(0).to_string(),
    }
}

fn float_text(v: f64) -> String {
    if v.is_nan() {
        "float(\"nan\")".into()
    } else if v.is_infinite() {
        format!("float(\"{}inf\")", if v < 0.0 { "-" } else { "" })
    } else {
        format!("{v:?}")
    }
}

/// A number of an attribute.
fn attr_text(attr: &Attr) -> Option<String> {
    match attr {
        Attr::Int(v) => Some(v.to_string()),
        Attr::Float(v) => Some(float_text(*v)),
        Attr::Bool(v) => Some((if *v { "True" } else { "False" }).into()),
        _ => None,
    }
}
