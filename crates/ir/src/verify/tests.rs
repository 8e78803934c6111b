//! Rules that text cannot break, and that nothing panics. The other rules: `tests/filetests/verifier`.

use diag::Sources;
use dtype::DType;

use super::verify;
use crate::attr::{Attr, Attrs};
use crate::builder::Builder;
use crate::function::{Def, Direction, Function, FunctionKind, Level, Program};
use crate::ops::Opcode;
use crate::text::tests::{Generator, Random};
use crate::types::Type;

/// `x + x`, returned nowhere.
fn adds(change: impl FnOnce(&mut Function)) -> Vec<&'static str> {
    let mut f = Function::new("main", FunctionKind::Orchestration);
    let x = f.add_param("x", Direction::In, Type::Scalar(DType::F32));
    let mut b = Builder::new(&mut f);
    b.infer(Opcode::ScalarAdd, &[&[x], &[x]], Attrs::default()).expect("adds");
    b.effect(Opcode::Return, &[&[]], Attrs::default());
    change(&mut f);
    let mut functions = crate::Arena::default();
    let entry = functions.push(f);
    let (arch, level, sources) = (chip::Arch::A5, Level::Tensor, Sources::default());
    let program = Program { name: "p".into(), arch, level, functions, entry, sources };
    verify(&program).err().unwrap_or_default().iter().map(|d| d.code).collect()
}

#[test]
fn what_text_cannot_break() {
    assert!(adds(|_| {}).is_empty());
    let add = |f: &Function| f.blocks[f.body].ops[0];
    assert_eq!(
        adds(|f| {
            let (op, body) = (add(f), f.body);
            f.blocks[body].ops.insert(0, op);
        }),
        ["bookkeeping"]
    );
    assert_eq!(
        adds(|f| {
            let (op, block) = (add(f), f.add_block());
            f.ops[op].block = block;
        }),
        ["bookkeeping"]
    );
    assert_eq!(
        adds(|f| {
            let (op, body) = (add(f), f.body);
            let result = f.ops[op].results[0];
            f.values[result].def = Def::Arg(body, 7);
        }),
        ["bookkeeping"]
    );
    assert_eq!(
        adds(|f| {
            let op = add(f);
            f.ops[op].segments = vec![1];
        }),
        ["segments"]
    );
    assert_eq!(
        adds(|f| {
            let op = add(f);
            f.ops[op].attrs.set("mode", Attr::Bool(true));
        }),
        ["attribute-unknown"]
    );
}

#[test]
fn every_code_is_a_rule_and_nothing_panics() {
    let mut errors = 0;
    for seed in 0..800 {
        let program = Generator::program(seed);
        for e in verify(&program).err().unwrap_or_default() {
            assert!(super::RULES.iter().any(|(id, _)| *id == e.code), "{} is no rule", e.code);
            errors += 1;
        }
    }
    assert!(errors > 500, "random programs break rules: {errors}");
}

/// Valid programs with single operands exchanged: closer to valid than random ones.
#[test]
fn exchanged_operands_do_not_panic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/verifier");
    let mut r = Random(1);
    let mut runs = 0;
    for file in ["buffers.tw", "fifo.tw", "tensor.tw", "types.tw", "submit.tw", "structure.tw"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a file of cases");
        let mut parts = text.split("// ----\n");
        let preamble = parts.next().unwrap_or("");
        for part in parts {
            let text = if part.contains("\nprogram ") { part.to_owned() } else { format!("{preamble}{part}") };
            let Ok(program) = crate::text::parse(&text, "x") else { continue };
            for _ in 0..200 {
                let mut program = program.clone();
                let ids: Vec<_> = program.functions.keys().collect();
                let f = &mut program.functions[ids[r.below(ids.len())]];
                let ops = f.walk();
                let op = ops[r.below(ops.len())];
                let values: Vec<_> = f.values.keys().collect();
                if values.is_empty() {
                    continue;
                }
                let value = values[r.below(values.len())];
                let data = &mut f.ops[op];
                let n = data.operands.len();
                if n > 0 {
                    data.operands[r.below(n)] = value;
                } else if !data.dests.is_empty() {
                    data.dests[0] = value;
                }
                runs += 1;
                let _ = verify(&program);
            }
        }
    }
    assert!(runs > 2000, "{runs}");
}
