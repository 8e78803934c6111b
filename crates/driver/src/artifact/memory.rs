//! `report/memory.txt`: how full each kernel makes each buffer, and where its tiles lie, from the placed program itself.

use std::collections::BTreeMap;
use std::fmt::Write;

use chip::Space;
use ir::{Function, FunctionKind, Opcode, Program, Value};

pub(super) fn report(machine: &Program) -> String {
    let mut text = format!("{} on {}: bytes of each buffer, by kernel\n", machine.name, machine.arch);
    for (_, function) in machine.functions.iter() {
        if !matches!(function.kind, FunctionKind::Orchestration) {
            kernel(&mut text, machine, function);
        }
    }
    text
}

fn kernel(text: &mut String, machine: &Program, function: &Function) {
    let mut spaces: BTreeMap<Space, Vec<(u64, u64, String)>> = BTreeMap::new();
    for op in function.walk() {
        let op = &function.ops[op];
        if op.opcode != Opcode::AllocTile {
            continue;
        }
        let Some((tile, &value)) = op.results.first().and_then(|v| Some((function.ty(*v).as_tile()?, v))) else {
            continue;
        };
        let (Some(space), Some(address)) = (tile.space, op.named("addr").first().and_then(|&a| constant(function, a)))
        else {
            continue;
        };
        let shape: Vec<String> = tile.shape.iter().map(u64::to_string).collect();
        let name = function.values[value].name.clone().unwrap_or_else(|| "(unnamed)".into());
        let place = op.span.map_or(String::new(), |s| format!("  {}", machine.sources.place(s)));
        let what = format!("{name}  {}×{}{place}", shape.join("×"), tile.dtype);
        spaces.entry(space).or_default().push((address, tile.bytes(), what));
    }
    let _ = write!(text, "\n{}\n", function.name);
    for (space, mut tiles) in spaces {
        tiles.sort();
        let used = tiles.iter().map(|(address, bytes, _)| address + bytes).max().unwrap_or(0);
        let budget = machine.arch.chip().capacity(space).language as u64;
        let percent = used * 100 / budget.max(1);
        let _ = writeln!(text, "  {space}: {used} of {budget} ({percent} %)");
        for (address, bytes, what) in tiles {
            let _ = writeln!(text, "    {address:#08x} + {bytes:<8} {what}");
        }
    }
}

fn constant(function: &Function, value: Value) -> Option<u64> {
    let op = &function.ops[function.def_op(value)?];
    op.attrs.int("value").filter(|_| op.opcode == Opcode::Const).and_then(|n| u64::try_from(n).ok())
}
