//! Calls of helpers, replaced by what the helpers do: the machine has no call.

use std::collections::BTreeMap;

use diag::Diagnostic;
use ir::{Block, Def, Function, FunctionKind, Op, OpData, Opcode, Program, Value, ValueData};

/// Helpers call helpers; the verifier knows that they do not recur, and this holds where it was not asked.
const MAX_DEPTH: usize = 16;

/// The function without calls.
///
/// # Errors
/// A call of what is no helper in this program, or of one with loops or branches.
pub(super) fn inlined(program: &Program, f: &Function) -> Result<Function, Diagnostic> {
    let mut out = f.clone();
    for _ in 0..MAX_DEPTH {
        let calls: Vec<Op> = out.walk().into_iter().filter(|&op| out.ops[op].opcode == Opcode::Call).collect();
        if calls.is_empty() {
            return Ok(out);
        }
        for call in calls {
            expand(program, &mut out, call)?;
        }
    }
    Err(Diagnostic::unsupported("call-depth", format!("`{}` calls deeper than {MAX_DEPTH} helpers", f.name)))
}

fn expand(program: &Program, f: &mut Function, call: Op) -> Result<(), Diagnostic> {
    let data = f.ops[call].clone();
    let refuse = |why: String| Diagnostic::unsupported("call", why).at(data.span, "called here");
    let name = data.attrs.symbols("callee").and_then(|names| names.first()).cloned().unwrap_or_default();
    let callee = program.function(&name).map(|id| &program.functions[id]);
    let callee = callee.filter(|c| c.kind == FunctionKind::Helper);
    let Some(callee) = callee else { return Err(refuse(format!("`{name}` is no helper function of this file"))) };
    let params = callee.param_values();
    if params.len() != data.operands.len() {
        return Err(refuse(format!("`{name}` takes {} arguments, not {}", params.len(), data.operands.len())));
    }
    let mut values: BTreeMap<Value, Value> = params.iter().copied().zip(data.operands.iter().copied()).collect();
    let mut body = Vec::new();
    for &op in &callee.blocks[callee.body].ops {
        let inner = &callee.ops[op];
        if !inner.regions.is_empty() {
            return Err(refuse(format!("`{name}` has loops or branches; helpers without them are supported")));
        }
        if inner.opcode.is_terminator() {
            let returned: Vec<Value> = inner.operands.iter().filter_map(|v| values.get(v).copied()).collect();
            replace(f, &data.results, &returned);
            break;
        }
        body.push(copy(f, callee, inner, data.block, &mut values));
    }
    let ops = &mut f.blocks[data.block].ops;
    let at = ops.iter().position(|&op| op == call).unwrap_or(ops.len());
    ops.splice(at..(at + 1).min(ops.len()), body);
    Ok(())
}

fn copy(f: &mut Function, callee: &Function, inner: &OpData, block: Block, values: &mut BTreeMap<Value, Value>) -> Op {
    let mapped = |list: &[Value]| list.iter().filter_map(|v| values.get(v).copied()).collect::<Vec<_>>();
    let (operands, dests) = (mapped(&inner.operands), mapped(&inner.dests));
    let op = f.ops.push(OpData { operands, dests, results: Vec::new(), block, ..inner.clone() });
    for (n, &result) in inner.results.iter().enumerate() {
        let ValueData { ty, name, .. } = callee.values[result].clone();
        let value = f.values.push(ValueData { ty, def: Def::Result(op, n as u32), name });
        f.ops[op].results.push(value);
        values.insert(result, value);
    }
    op
}

/// Uses of `old` become uses of `new`.
fn replace(f: &mut Function, old: &[Value], new: &[Value]) {
    let map: BTreeMap<Value, Value> = old.iter().copied().zip(new.iter().copied()).collect();
    for op in f.walk() {
        let data = &mut f.ops[op];
        for v in data.operands.iter_mut().chain(&mut data.dests) {
            *v = map.get(v).copied().unwrap_or(*v);
        }
    }
}
