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
    let source = parse(name, arch);
    ir::verify::verify(&source).unwrap_or_else(|e| panic!("{name} itself: {e:#?}"));
    let program = lower::lower(&source, &lower::Options { profile }).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
    ir::verify::verify(&program).unwrap_or_else(|e| panic!("{name}: {e:#?}\n{}", ir::text::print(&program)));
    program
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
            "make_tensor_view",
            "make_tensor_view",
            "partition_view",
            "alloc_tile",
            "tload",
            "alloc_tile",
            "tadds",
            "partition_view",
            "tstore",
            "partition_view",
            "alloc_tile",
            "tload",
            "alloc_tile",
            "tadd",
            "partition_view",
            "tstore",
            "return",
        ]
    );
}

#[test]
fn a_partly_valid_tile_stays_so_through_reductions_and_broadcasts() {
    let p = lowered("softmax.tw", Arch::A5);
    let names = ops(&p, "softmax_rows");
    let position = |name: &str| names.iter().position(|&n| n == name).unwrap_or_else(|| panic!("no {name}"));
    assert!(position("trowmax") < position("trowexpandsub"));
    // The reciprocal of the column runs on rows: its operand and its destination are reshaped.
    assert_eq!(names.iter().filter(|&&n| n == "treshape").count(), 2);
    let f = &p.functions[p.function("softmax_rows").expect("the kernel")];
    for op in f.walk() {
        let Some(tile) = f.ops[op].dest().and_then(|d| f.ty(d).as_tile().cloned()) else { continue };
        assert_eq!(tile.valid.iter().filter(|d| **d == ir::Dim::Dynamic).count(), 1, "{}", f.ops[op].opcode.name());
    }
}

#[test]
fn an_accumulator_is_one_buffer_through_loop_and_branch() {
    for arch in Arch::ALL {
        let p = lowered("gemm.tw", arch);
        let f = &p.functions[p.function("gemm_tile").expect("the kernel")];
        let sums: Vec<_> = f
            .walk()
            .into_iter()
            .filter(|&op| f.ops[op].opcode.name().starts_with("tmatmul"))
            .map(|op| f.ops[op].dests[0])
            .collect();
        // No zeros: the first iteration replaces them unseen.
        assert_eq!(sums.len(), 2);
        assert!(sums.iter().all(|&s| s == sums[0]));
        assert!(!ops(&p, "gemm_tile").contains(&"tmov"));
    }
}

#[test]
fn every_program_lowers_to_one_that_the_verifier_accepts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|e| e.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    for name in names.iter().filter(|n| n.ends_with(".tw")) {
        for arch in Arch::ALL {
            lowered(name, arch);
        }
    }
}

/// Each file in `refused` says in its first line how it is refused: `// code at line N: part of the message`.
#[test]
fn what_cannot_be_lowered_is_refused_by_name_at_its_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).expect("a program");
        let (code, rest) = text.lines().next().and_then(|l| l[3..].split_once(" at line ")).expect("the expectation");
        let (line, message) = rest.split_once(": ").expect("a message");
        let source = ir::text::parse(&text, &name).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
        ir::verify::verify(&source).unwrap_or_else(|e| panic!("{name} itself: {e:#?}"));
        let errors = match lower::lower(&source, &lower::Options { profile: Profile::A2a3 }) {
            Ok(_) => panic!("{name} was lowered"),
            Err(errors) => errors,
        };
        let [error] = &errors[..] else { panic!("{name}: {errors:#?}") };
        assert_eq!(error.code, code, "{name}: {}", error.message);
        assert!(error.message.contains(message), "{name}: {}", error.message);
        let at = error.primary.as_ref().map(|l| l.span.line.to_string());
        assert_eq!(at.as_deref(), Some(line), "{name}");
        seen += 1;
    }
    assert!(seen >= 10);
}
