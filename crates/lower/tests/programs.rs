//! Tensor-level programs in `programs/*.tw`, lowered on both architectures.

use std::path::Path;

use chip::Arch;
use dtype::Profile;
use ir::{Level, Program};

pub fn parse(name: &str, arch: Arch) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let text = std::fs::read_to_string(&path).expect("the program is there");
    let mut program = ir::text::parse(&text, name).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
    program.arch = arch;
    program
}

fn lowered(name: &str, arch: Arch) -> Program {
    let profile = match arch {
        Arch::A2a3 => Profile::A2a3,
        Arch::A5 => Profile::A5,
    };
    lower::lower(&parse(name, arch), &lower::Options { profile }).unwrap_or_else(|e| panic!("{name}: {e:#?}"))
}

/// The operations of a kernel by name, in program order, without literals.
fn ops(program: &Program, kernel: &str) -> Vec<&'static str> {
    let id = program.function(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
    let f = &program.functions[id];
    f.walk().into_iter().map(|op| f.ops[op].opcode.name()).filter(|&n| n != "const").collect()
}

#[test]
fn hello_becomes_a_vector_kernel_with_one_submission() {
    let p = lowered("hello.tw", Arch::A2a3);
    assert_eq!(p.level, Level::Tile);
    assert_eq!(ops(&p, "hello"), ["for", "submit", "yield", "return"]);
    assert_eq!(
        ops(&p, "add_scalar"),
        [
            "make_tensor_view", "make_tensor_view", "partition_view", "alloc_tile", "tload", "alloc_tile", "tadds",
            "partition_view", "tstore", "partition_view", "alloc_tile", "tload", "alloc_tile", "tadd", "partition_view",
            "tstore", "return",
        ]
    );
}
