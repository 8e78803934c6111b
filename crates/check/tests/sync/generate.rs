//! Kernels made at random: transfers and vector operations on few tiles, in loops and branches.

use std::collections::BTreeMap;
use std::fmt::Write;

use assemble::pass::Sync;
use control::Control;

use crate::faults::Fault;
use crate::{Tally, kernels, read, trace, try_fault};

const TILE: &str = "!pto.tile_buf<vec, 16x64xf32>";
const PART: &str = "!pto.partition_tensor_view<16x64xf32>";

fn body(control: &mut Control, depth: usize, next: &mut usize, out: &mut String) {
    for _ in 0..1 + control.choose(4) {
        *next += 1;
        let number = *next;
        let mut tile = || ["a", "b", "c", "d"][control.choose(4)];
        let (a, b, c) = (tile(), tile(), tile());
        let memory = ["x", "y", "z"][control.choose(3)];
        let line = match control.choose(if depth < 3 { 8 } else { 5 }) {
            0 | 1 => format!("pto.tload ins(%p{memory} : {PART}) outs(%{a} : {TILE})"),
            2 => format!("pto.tstore ins(%{a} : {TILE}) outs(%p{memory} : {PART})"),
            3 | 4 => format!("pto.tadd ins(%{a}, %{b} : {TILE}, {TILE}) outs(%{c} : {TILE})"),
            5 => {
                writeln!(out, "%q{number} = arith.cmpi slt, %c{}, %n : index\nscf.if %q{number} {{", control.choose(2))
                    .expect("a string grows");
                body(control, depth + 1, next, out);
                out.push_str("} else {\n");
                if control.choose(2) == 1 {
                    body(control, depth + 1, next, out);
                }
                "}".to_owned()
            }
            _ => {
                let upper = ["n", "c1", "c2"][control.choose(3)];
                writeln!(out, "scf.for %i{number} = %c0 to %{upper} step %c1 {{").expect("a string grows");
                body(control, depth + 1, next, out);
                "}".to_owned()
            }
        };
        writeln!(out, "{line}").expect("a string grows");
    }
}

fn kernel(control: &mut Control) -> String {
    let arch = ["a3", "a5"][control.choose(2)];
    let mut ops = String::new();
    body(control, 0, &mut 0, &mut ops);
    let mut head = String::new();
    for (i, name) in ["0", "1", "2", "16", "64"].iter().enumerate() {
        writeln!(head, "%c{name} = arith.constant {name} : index\n%a{i} = arith.constant {} : i64", i * 4096)
            .expect("a string grows");
    }
    for p in ["x", "y", "z"] {
        writeln!(
            head,
            "%v{p} = pto.make_tensor_view %{p}, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
             %p{p} = pto.partition_view %v{p}, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> {PART}"
        )
        .expect("a string grows");
    }
    // One of them shares the bytes of another.
    for (i, t) in ["a", "b", "c", "d"].iter().enumerate() {
        writeln!(head, "%{t} = pto.alloc_tile addr = %a{} : {TILE}", i % 3).expect("a string grows");
    }
    format!(
        "module attributes {{pto.target_arch = \"{arch}\"}} {{
         func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %n: index) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry}} {{
         {head}{ops}return
         }}
         }}"
    )
}

/// What is inserted is proved; every fault that an execution shows is found.
#[test]
fn random_kernels_against_executions() {
    let mut tally: BTreeMap<Fault, Tally> = BTreeMap::new();
    for seed in 0..150 {
        let mut control = Control::new(seed);
        let text = kernel(&mut control);
        let bare = read(&text);
        for mode in [Sync::Flags, Sync::Tokens, Sync::BarrierAll] {
            if mode == Sync::Tokens && bare.arch != chip::Arch::A5 {
                continue;
            }
            let mut program = bare.clone();
            assemble::sync::insert(&mut program, mode, &mut control).unwrap_or_else(|e| panic!("{e:?}"));
            for id in kernels(&program) {
                let printed = || pto::print(&program, &[id]);
                let verdict = check::sync::check(&program, id);
                assert!(verdict.proved(), "seed {seed}, {mode:?}: {:#?}\n{}", verdict.findings, printed());
                assert_eq!(trace::hazard(&program, id, 4, &mut control), None, "seed {seed}\n{}", printed());
                for fault in Fault::ALL {
                    try_fault(&program, id, fault, &mut control, &mut tally);
                }
                // Without any order: what an execution shows, the checker says.
                let unordered = trace::hazard(&bare, id, 6, &mut control);
                let said = check::sync::check(&bare, id);
                assert!(unordered.is_none() || !said.findings.is_empty(), "seed {seed}\n{text}");
            }
        }
    }
    assert_eq!(tally.len(), Fault::ALL.len(), "every fault has been made");
}
