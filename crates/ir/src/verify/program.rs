//! Rules about the whole program: entry, names, parameters.

use diag::Diagnostic;

use super::{Fault, Rules};
use crate::entity::FuncId;
use crate::function::{Function, FunctionKind, Level, Linkage, Program};
use crate::types::Type;

pub(super) fn check(program: &Program, rules: Rules) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    let mut fail = |function: Option<&Function>, code, message: String| {
        let first = function.and_then(|f| f.blocks[f.body].ops.first().map(|&op| &f.ops[op]));
        let span = function.and_then(|f| f.span).or(first.and_then(|op| op.span));
        errors.push(Diagnostic::error(code, message).at(span, "in this function"));
    };
    match program.functions.get(program.entry) {
        None => fail(None, "entry", "the program has no entry function".into()),
        Some(f) if f.kind != FunctionKind::Orchestration => {
            fail(Some(f), "entry", format!("the entry @{} is not an orchestration function", f.name));
        }
        Some(_) => {}
    }
    for (id, f) in program.functions.iter() {
        if id != program.entry && (program.level == Level::Tensor || f.kind == FunctionKind::Orchestration) {
            let only = match program.level {
                Level::Tensor => "its only function",
                Level::Tile => "its only orchestration function",
            };
            fail(Some(f), "entry", format!("@{} stands beside the entry, which is {only}", f.name));
        }
        // A declaration stands for the function of its name in another module.
        let declared =
            rules == Rules::Assembler && program.functions.iter().any(|(_, g)| g.name == f.name && g.is_declaration());
        if program.function(&f.name) != Some(id) && !declared {
            fail(Some(f), "function-name", format!("there are two functions @{}", f.name));
        }
        // Helpers of programs that are not exported have no linkage of their own.
        if rules == Rules::Assembler && f.linkage == Linkage::Entry && !f.results.is_empty() {
            fail(Some(f), "return-values", format!("@{} is an entry; it returns nothing", f.name));
        }
        if f.results.iter().any(|ty| matches!(ty, Type::Opaque(crate::types::Opaque::Struct(_)))) {
            fail(Some(f), "struct-field", format!("@{} cannot return a structure", f.name));
        }
        if let Err(fault) = params(f, rules) {
            fail(Some(f), fault.code, fault.message);
        }
    }
    errors
}

fn params(f: &Function, rules: Rules) -> super::Check {
    let values = f.param_values();
    super::ensure!(
        values.len() == f.params.len(),
        "function-params",
        "@{} has {} parameters and {} descriptions of them",
        f.name,
        values.len(),
        f.params.len()
    );
    for (param, &value) in f.params.iter().zip(values) {
        let ty = f.ty(value);
        let fits = match f.kind {
            FunctionKind::Orchestration => matches!(ty, Type::Tensor(_) | Type::Scalar(_) | Type::Array { .. }),
            // Only what the host passes is limited.
            _ if f.kind == FunctionKind::Helper || f.linkage != Linkage::Entry || rules == Rules::Assembler => {
                !matches!(ty, Type::Tensor(_) | Type::TaskId)
            }
            _ => matches!(ty, Type::Ptr(_) | Type::Scalar(_)),
        };
        super::ensure!(fits, "function-params", "parameter `{}` of @{} cannot be {ty}", param.name, f.name);
    }
    super::ensure!(
        f.results.is_empty() || f.kind == FunctionKind::Helper,
        "return-values",
        "@{} is not a helper; it returns nothing to a caller",
        f.name
    );
    Ok(())
}

/// A kernel by its name.
pub(super) fn kernel<'a>(program: &'a Program, name: &str) -> Result<(FuncId, &'a Function), Fault> {
    let found = program.function(name).map(|id| (id, &program.functions[id]));
    match found {
        Some((id, f)) if f.kind != FunctionKind::Orchestration => Ok((id, f)),
        Some(_) => Err(Fault { code: "submit", message: format!("@{name} is not a kernel") }),
        None => Err(Fault { code: "submit", message: format!("there is no function @{name}") }),
    }
}
