//! The checker of order between pipes, against an oracle that executes ([`trace`]) and against faults put into correct
//! programs ([`faults`]): programs made at random, and upstream's model kernels where a checkout is at hand.

mod corpus;
mod faults;
mod generate;
mod trace;

use std::collections::BTreeMap;

use control::Control;
use diag::Sources;
use faults::Fault;
use ir::{FuncId, Function, FunctionKind, Opcode as C, Program};

fn read(text: &str) -> Program {
    let arch = if text.contains("pto.target_arch = \"a5\"") { chip::Arch::A5 } else { chip::Arch::A2a3 };
    let mut sources = Sources::default();
    let kernels = pto::parse_for(text, Some(arch), &mut sources).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    ir::Builder::new(&mut main).effect(C::Return, &[&[]], ir::Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

fn kernels(program: &Program) -> Vec<FuncId> {
    program.functions.iter().filter(|(_, f)| f.is_kernel()).map(|(id, _)| id).collect()
}

/// What became of faults of one kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    made: usize,
    found: usize,
    /// Not found, and no execution shows a difference.
    covered: usize,
}

/// Puts a fault into a proved function. What the checker says nothing about must be no hazard in any execution.
fn try_fault(program: &Program, id: FuncId, fault: Fault, control: &mut Control, tally: &mut BTreeMap<Fault, Tally>) {
    let mut mutant = program.clone();
    if !faults::inject(&mut mutant.functions[id], fault, control) {
        return;
    }
    let entry = tally.entry(fault).or_default();
    entry.made += 1;
    if !check::sync::check(&mutant, id).findings.is_empty() {
        entry.found += 1;
        return;
    }
    entry.covered += 1;
    let text = || pto::print(&mutant, &[id]);
    assert!(!fault.unpairs(), "{fault:?} is not seen:\n{}", text());
    if trace::understands(&mutant.functions[id]) {
        let hazard = trace::hazard(&mutant, id, 12, control);
        assert_eq!(hazard, None, "{fault:?}: an execution has a hazard that the checker does not see:\n{}", text());
    }
}
