//! Tensor-level programs in `programs/*.tw` and `ops/*.tw`, lowered on both architectures; on one if they say a5.

use std::path::Path;

use chip::Arch;
use dtype::Profile;
use ir::info::{Form, Levels};
use ir::{Level, Program};

pub fn parse(name: &str, arch: Arch) -> Program {
    let mut program = read(&format!("programs/{name}"));
    program.arch = arch;
    program
}

fn read(path: &str) -> Program {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path);
    let text = std::fs::read_to_string(&file).expect("the program is there");
    ir::text::parse(&text, path).unwrap_or_else(|e| panic!("{path}: {e:#?}"))
}

fn lowered(name: &str, arch: Arch) -> Program {
    lower_on(name, parse(name, arch), arch)
}

fn lower_on(name: &str, mut source: Program, arch: Arch) -> Program {
    source.arch = arch;
    let profile = match arch {
        Arch::A2a3 => Profile::A2a3,
        Arch::A5 => Profile::A5,
    };
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
    for folder in ["programs", "ops"] {
        for name in names(folder) {
            let source = read(&name);
            let archs: &[Arch] = if source.arch == Arch::A5 { &[Arch::A5] } else { &Arch::ALL };
            for &arch in archs {
                lower_on(&name, source.clone(), arch);
            }
        }
    }
}

/// The programs of a folder, with its name before theirs.
fn names(folder: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(path).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|e| e.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|n| n.ends_with(".tw"))
        .map(|n| format!("{folder}/{n}"))
        .collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    names
}

/// Tile operations of scopes, without those that only other operations of lowering's own make.
#[test]
fn the_programs_have_every_operation_of_scopes() {
    let mut seen = std::collections::BTreeSet::new();
    for folder in ["programs", "ops"] {
        for name in names(folder) {
            let source = read(&name);
            let f = &source.functions[source.entry];
            seen.extend(f.walk().into_iter().map(|op| f.ops[op].opcode));
        }
    }
    let tile = |info: &&ir::info::OpInfo| info.levels.contains(Levels::SCOPE) && info.form == Form::Tile;
    let missing: Vec<_> = ir::ops::TABLE.iter().filter(tile).map(|i| i.opcode).filter(|o| !seen.contains(o)).collect();
    assert_eq!(missing, []);
}

#[test]
fn zeros_go_where_an_operation_may_read_or_leave_what_nothing_wrote() {
    let fills = |program: &str, kernel: &str| {
        let p = lower_on(program, read(program), Arch::A2a3);
        ops(&p, kernel).into_iter().filter(|&n| n == "texpands").count()
    };
    // What is gathered from, and two scatters that may place nothing.
    assert_eq!(fills("ops/gathers.tw", "flat"), 3);
    assert_eq!(fills("ops/gathers.tw", "patterns"), 0);
    // Two masks that are shorter than what they select; scratch is nobody's.
    assert_eq!(fills("ops/masks.tw", "floats"), 2);
    // Fewer indices than values.
    assert_eq!(fills("ops/sorts.tw", "rows"), 1);
    // A merge that stops early.
    assert_eq!(fills("ops/sorts.tw", "lists"), 1);
    assert_eq!(fills("ops/elementwise.tw", "floats"), 0);
}

#[test]
fn what_a_scatter_reaches_is_read_and_written() {
    let p = lower_on("memory", read("ops/memory.tw"), Arch::A5);
    let directions = |kernel: &str| -> Vec<ir::Direction> {
        let f = &p.functions[p.function(kernel).expect("the kernel")];
        f.params.iter().filter(|q| ["x", "y", "z", "w", "v"].contains(&&*q.name)).map(|q| q.direction).collect()
    };
    use ir::Direction::{In, InOut, Out};
    assert_eq!(directions("gather"), [In, Out]);
    assert_eq!(directions("scatter"), [In, InOut, InOut, InOut]);
}

#[test]
fn a_cast_of_bytes_shares_the_buffer() {
    let p = lower_on("bitcasts", read("ops/bitcasts.tw"), Arch::A2a3);
    let names = ops(&p, "tiles");
    let count = |name: &str| names.iter().filter(|&&n| n == name).count();
    // The one copy is of a cast's reshape, whose first name is wanted again.
    assert_eq!((count("bitcast"), count("tmov"), count("alloc_tile")), (6, 1, 5), "{names:?}");
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
    assert!(seen >= 11);
}
