//! The orchestration: the entry with each scope replaced by the submission of its kernel.

use std::collections::BTreeMap;

use ir::builder::{NewOp, attrs};
use ir::{Attr, Block, Builder, Function, FunctionKind, Op, Opcode, Origin, Type, Value};

use crate::captures::Arg;
use crate::kernel::Task;

pub(crate) fn rewrite(entry: &Function, tasks: &BTreeMap<Op, Task>) -> Function {
    let mut function = Function::new(entry.name.clone(), FunctionKind::Orchestration);
    let mut values = BTreeMap::new();
    for (param, &value) in entry.params.iter().zip(entry.param_values()) {
        let new = function.add_param(param.name.clone(), param.direction, entry.ty(value).clone());
        values.insert(value, new);
    }
    let mut cx = Rewrite { entry, tasks, values, b: Builder::new(&mut function) };
    cx.block(entry.body);
    function
}

struct Rewrite<'a> {
    entry: &'a Function,
    tasks: &'a BTreeMap<Op, Task>,
    values: BTreeMap<Value, Value>,
    b: Builder<'a>,
}

impl Rewrite<'_> {
    fn block(&mut self, block: Block) {
        for &op in &self.entry.blocks[block].ops {
            let data = &self.entry.ops[op];
            self.b.span = data.span;
            self.b.origin = Some(Origin { op, completes: false });
            if let Some(task) = self.tasks.get(&op) {
                self.submit(op, task);
            } else {
                self.copy(op);
            }
        }
    }

    fn map(&self, list: &[Value]) -> Vec<Value> {
        list.iter().map(|v| self.values[v]).collect()
    }

    fn copy(&mut self, op: Op) {
        let data = &self.entry.ops[op];
        let groups: Vec<Vec<Value>> = (0..data.segments.len()).map(|g| self.map(data.group(g))).collect();
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let results: Vec<Type> = data.results.iter().map(|&r| self.entry.ty(r).clone()).collect();
        let dests = self.map(&data.dests);
        let new = self.b.op(NewOp {
            opcode: data.opcode,
            groups: &groups,
            dests: &dests,
            results: &results,
            attrs: data.attrs.clone(),
        });
        self.bind(op, new);
        for &region in &data.regions {
            let args: Vec<(Type, Option<String>)> = self.entry.blocks[region]
                .args
                .iter()
                .map(|&a| (self.entry.ty(a).clone(), self.entry.values[a].name.clone()))
                .collect();
            let inner = self.b.add_region(new, &args);
            let inner_args = self.b.func.blocks[inner].args.clone();
            for (&old, new) in self.entry.blocks[region].args.iter().zip(inner_args) {
                self.values.insert(old, new);
            }
            let outer = self.b.switch_to(inner);
            self.block(region);
            self.b.switch_to(outer);
        }
    }

    fn bind(&mut self, op: Op, new: Op) {
        let results = self.b.func.ops[new].results.clone();
        for (&old, new) in self.entry.ops[op].results.iter().zip(results) {
            if let Some(name) = &self.entry.values[old].name {
                self.b.name(new, name);
            }
            self.values.insert(old, new);
        }
    }

    fn submit(&mut self, op: Op, task: &Task) {
        let data = &self.entry.ops[op];
        let mut args = Vec::new();
        for arg in &task.args {
            let value = match *arg {
                Arg::Tensor(v) | Arg::Scalar(v) => self.values[&v],
                Arg::Dim(v, axis) => self.shape(Opcode::TensorDim, v, axis),
                Arg::Stride(v, axis) => self.shape(Opcode::TensorStride, v, axis),
            };
            args.push(value);
        }
        let deps = self.map(data.named("deps"));
        let blocks = self.map(data.named("blocks"));
        let mut list = attrs([
            ("kernels", Attr::Symbols(vec![task.function.name.clone()])),
            ("name", Attr::Text(task.function.name.clone())),
            ("directions", Attr::Text(task.directions.join(","))),
        ]);
        for flag in ["sync_start", "manual"] {
            if data.attrs.bool(flag) {
                list.set(flag, Attr::Bool(true));
            }
        }
        let new = self.b.op(NewOp {
            opcode: Opcode::Submit,
            groups: &[&args, &deps, &blocks],
            dests: &[],
            results: &[Type::TaskId],
            attrs: list,
        });
        self.bind(op, new);
    }

    fn shape(&mut self, opcode: Opcode, tensor: Value, axis: usize) -> Value {
        let tensor = self.values[&tensor];
        self.b.result(opcode, &[&[tensor]], Type::INDEX, attrs([("axis", Attr::Int(axis as i64))]))
    }
}
