//! Runs the text files under `tests/filetests`.
//!
//! A file holds cases between lines of `// ----`. What stands before the first such line is a preamble for every case
//! that has no `program` line of its own. A case names its errors where they are: `// error[code]: part of the message`
//! (the message is optional) at the end of the line that the error points at. A case without errors must be accepted.
//!
//! * `parser/*.tw` are parsed, printed, and parsed again;
//! * `kernels/*.tw` are verified, written as `.pto`, and read back, to the same operations and the same text;
//! * `pto/*.pto` are parsed, printed, and parsed again;
//! * `assembler/*.pto` are parsed and verified by the rules of the assembler;
//! * `verifier/*.tw` are parsed and verified.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diag::{Diagnostic, Kind, Sources};
use ir::{Function, FunctionKind, Opcode, Program};

struct Case {
    /// `file:line` of its first line.
    place: String,
    text: String,
    /// Lines of the preamble before its own.
    before: usize,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests").join(name)
}

fn cases(name: &str, extension: &str) -> Vec<Case> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(name))
        .expect("the folder of file tests")
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text file");
        let mut parts: Vec<(usize, String)> = vec![(1, String::new())];
        for (i, line) in text.lines().enumerate() {
            if line.starts_with("// ----") {
                parts.push((i + 2, String::new()));
            } else if let Some((_, part)) = parts.last_mut() {
                *part += line;
                part.push('\n');
            }
        }
        let (_, preamble) = parts.remove(0);
        for (line, part) in parts {
            let own = part.lines().any(|l| l.starts_with("program ") || l.starts_with("module"));
            let text = if own { part } else { format!("{preamble}{part}") };
            let before = if own { 0 } else { preamble.lines().count() };
            cases.push(Case { place: format!("{}:{line}", file.display()), text, before });
        }
    }
    assert!(!cases.is_empty(), "no cases in {name}");
    cases
}

/// Line, code and message part of each expected error.
fn expected(text: &str) -> Vec<(usize, String, String)> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for note in line.split("// error[").skip(1) {
            let (code, rest) = note.split_once(']').expect("`]` after the code of an expected error");
            let message = rest.trim_start_matches(':').trim();
            out.push((i + 1, code.to_owned(), message.to_owned()));
        }
    }
    out
}

/// What differs from the expected errors, each on its line.
fn compare(case: &Case, errors: &[Diagnostic]) -> Vec<String> {
    let mut wanted = expected(&case.text);
    let mut wrong = Vec::new();
    for e in errors {
        let line = e.primary.as_ref().map_or(0, |l| l.span.line as usize);
        let fits = |(l, code, message): &(usize, String, String)| {
            *l == line && code == e.code && e.message.contains(message.as_str())
        };
        match wanted.iter().position(fits) {
            Some(i) => drop(wanted.remove(i)),
            None => wrong.push(format!(
                "{}, its line {}: unexpected error [{}] {} {:?}",
                case.place,
                line.saturating_sub(case.before),
                e.code,
                e.message,
                e.notes
            )),
        }
    }
    for (line, code, message) in wanted {
        wrong.push(format!("{}, its line {}: no error [{code}] {message}", case.place, line - case.before));
    }
    wrong
}

fn verified(case: &Case) -> Vec<Diagnostic> {
    match ir::text::parse_located(&case.text, "case.tw") {
        Ok(program) => ir::verify::verify(&program).err().unwrap_or_default(),
        Err(errors) => errors,
    }
}

#[test]
fn verifier() {
    let wrong: Vec<String> = cases("verifier", "tw").iter().flat_map(|case| compare(case, &verified(case))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules that no text can break, because the parser makes them true; `ir` tests them on programs built by hand.
const BY_HAND: &[&str] = &["bookkeeping", "segments", "attribute-unknown"];

#[test]
fn every_rule_has_a_failing_case() {
    let mut seen: BTreeSet<String> = BY_HAND.iter().map(|&s| s.to_owned()).collect();
    for case in cases("verifier", "tw") {
        seen.extend(expected(&case.text).into_iter().map(|(_, code, _)| code));
    }
    for case in cases("assembler", "pto") {
        // The parser has rules of its own.
        let own = |code: &String| ir::verify::RULES.iter().any(|(id, _)| id == code);
        seen.extend(expected(&case.text).into_iter().map(|(_, code, _)| code).filter(own));
    }
    let missing: Vec<&str> = ir::verify::RULES.iter().map(|(id, _)| *id).filter(|id| !seen.contains(*id)).collect();
    assert!(missing.is_empty(), "no case breaks {missing:?}");
    let known: BTreeSet<&str> = ir::verify::RULES.iter().map(|(id, _)| *id).collect();
    let unknown: Vec<&String> = seen.iter().filter(|id| !known.contains(id.as_str())).collect();
    assert!(unknown.is_empty(), "not rules: {unknown:?}");
}

#[test]
fn parser() {
    let mut wrong = Vec::new();
    for case in cases("parser", "tw") {
        match ir::text::parse_located(&case.text, "case.tw") {
            Err(errors) => wrong.extend(compare(&case, &errors)),
            Ok(_) => {
                wrong.extend(compare(&case, &[]));
                let program = ir::text::parse(&case.text, "case.tw").expect("parsed before");
                let text = ir::text::print(&program);
                let again = ir::text::parse(&text, "again.tw").expect("its own text parses");
                assert_eq!(ir::text::print(&again), text, "{}", case.place);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The program with its kernels as they come back from `.pto`.
fn through_pto(program: &Program, place: &str) -> (String, Program) {
    let kernels: Vec<_> =
        program.functions.iter().filter(|(_, f)| f.kind != FunctionKind::Orchestration).map(|(id, _)| id).collect();
    let text = pto::print(program, &kernels);
    let mut back = program.clone();
    let functions = pto::parse(&text, "k.pto", &mut back.sources).unwrap_or_else(|e| panic!("{place}: {e:#?}\n{text}"));
    assert_eq!(functions.len(), kernels.len(), "{place}");
    for (id, function) in kernels.into_iter().zip(functions) {
        back.functions[id] = function;
    }
    (text, back)
}

fn kernels(program: &Program) -> String {
    let ids: Vec<_> =
        program.functions.iter().filter(|(_, f)| f.kind != FunctionKind::Orchestration).map(|(id, _)| id).collect();
    pto::print(program, &ids)
}

/// What an operation is, without its operands: for comparing a function with what came back.
fn outline(f: &Function, keep: impl Fn(Opcode) -> bool) -> Vec<String> {
    let ops = f.walk().into_iter().map(|op| &f.ops[op]).filter(|op| keep(op.opcode));
    ops.map(|op| {
        let place = op.span.map(|s| (s.line, s.col));
        format!("{} {:?} {:?} {:?}", op.opcode.name(), op.attrs, place, op.origin)
    })
    .collect()
}

#[test]
fn kernels_survive_pto() {
    let tile_ops = |o: Opcode| o.info().pipe != ir::info::Pipe::None || o == Opcode::AllocTile || o == Opcode::For;
    for case in cases("kernels", "tw") {
        let errors = verified(&case);
        assert!(errors.is_empty(), "{}: {errors:#?}", case.place);
        let program = ir::text::parse(&case.text, "case.tw").expect("parsed before");
        let (text, back) = through_pto(&program, &case.place);
        assert_eq!(kernels(&back), text, "{}", case.place);
        if let Err(errors) = ir::verify::verify(&back) {
            panic!("{}: {errors:#?}\n{text}", case.place);
        }
        for ((_, a), (_, b)) in program.functions.iter().zip(back.functions.iter()) {
            assert_eq!((a.kind, a.properties, &a.params), (b.kind, b.properties, &b.params), "{}", case.place);
            assert_eq!(outline(a, tile_ops), outline(b, tile_ops), "{}", case.place);
        }
    }
}

/// Every operation that the table allows in a kernel occurs in the files.
#[test]
fn kernels_have_every_operation() {
    let mut missing: BTreeSet<&str> = ir::ops::TABLE
        .iter()
        .filter(|i| i.levels.contains(ir::info::Levels::KERNEL))
        .map(|i| i.name)
        // The language level's only: handles do not reach kernels.
        .filter(|n| *n != "scope" && *n != "tensor_dim")
        .collect();
    let mut seen = |f: &Function| {
        for op in f.walk() {
            missing.remove(f.ops[op].opcode.name());
        }
    };
    for case in cases("kernels", "tw") {
        let program = ir::text::parse(&case.text, "case.tw").expect("parses");
        program.functions.iter().for_each(|(_, f)| seen(f));
    }
    for case in cases("pto", "pto") {
        let functions = pto::parse(&case.text, "case.pto", &mut Sources::default()).unwrap_or_default();
        functions.iter().for_each(&mut seen);
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// What the assembler demands, at the places of the operations in the text.
#[test]
fn assembler() {
    let mut wrong = Vec::new();
    for case in cases("assembler", "pto") {
        let mut sources = Sources::default();
        let errors = match pto::parse_located(&case.text, "case.pto", None, &mut sources) {
            Err(errors) => errors,
            Ok(functions) => ir::verify::assembler(&host(functions, sources, &case.text)).err().unwrap_or_default(),
        };
        wrong.extend(compare(&case, &errors));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pto() {
    let mut wrong = Vec::new();
    for case in cases("pto", "pto") {
        let mut sources = Sources::default();
        match pto::parse(&case.text, "case.pto", &mut sources) {
            Err(errors) => {
                for e in &errors {
                    let kind = if e.code.starts_with("unsupported") { Kind::Unsupported } else { Kind::Invalid };
                    assert_eq!(e.kind, kind, "{}: {}", case.place, e.code);
                }
                wrong.extend(compare(&case, &errors));
            }
            Ok(functions) => {
                wrong.extend(compare(&case, &[]));
                let program = host(functions, sources, &case.text);
                let text = kernels(&program);
                let (again, _) = through_pto(&program, &case.place);
                assert_eq!(again, text, "{}", case.place);
                // Forms that no program of ours has are the assembler's; its rules of use have cases of their own.
                if let Err(errors) = ir::verify::verify(&program).or_else(|_| ir::verify::assembler(&program)) {
                    panic!("{}: {errors:#?}", case.place);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A program around kernels.
fn host(kernels: Vec<Function>, sources: Sources, text: &str) -> Program {
    let mut main = Function::new("orchestration", FunctionKind::Orchestration);
    ir::Builder::new(&mut main).effect(Opcode::Return, &[&[]], ir::Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    let arch = if text.contains("\"a5\"") { chip::Arch::A5 } else { chip::Arch::A2a3 };
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

/// SplitMix64.
fn random(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % below as u64) as usize
}

/// Whatever the damage, the parser answers; and what it accepts prints, to a text that reads back.
#[test]
fn damaged_pto_does_not_panic() {
    let (mut accepted, mut refused) = (0, 0);
    for case in cases("kernels", "tw") {
        let program = ir::text::parse(&case.text, "case.tw").expect("parses");
        let text = kernels(&program);
        let mut try_text = |text: &str| {
            let mut sources = Sources::default();
            match pto::parse(text, "k.pto", &mut sources) {
                Ok(functions) => {
                    accepted += 1;
                    let program = host(functions, sources, text);
                    let _ = ir::verify::verify(&program);
                    through_pto(&program, text);
                }
                Err(_) => refused += 1,
            }
        };
        let cuts: Vec<usize> = (0..=text.len()).filter(|&i| text.is_char_boundary(i)).collect();
        cuts.iter().step_by(1 + cuts.len() / 200).for_each(|&cut| try_text(&text[..cut]));
        let mut state = text.len() as u64;
        for _ in 0..1500 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + random(&mut state, 2) {
                let at = random(&mut state, bytes.len());
                match random(&mut state, 3) {
                    0 => bytes[at] ^= 1 << random(&mut state, 8),
                    1 => bytes[at] = b"%@{}()<>x0?,:\"#! "[random(&mut state, 17)],
                    _ => drop(bytes.remove(at)),
                }
            }
            try_text(&String::from_utf8_lossy(&bytes));
        }
    }
    assert!(accepted > 50 && refused > 500, "{accepted} accepted, {refused} refused");
}

#[test]
fn bytecode_is_named() {
    let errors = pto::parse("PTOBC\0\0\0", "k.ptobc", &mut Sources::default()).expect_err("no text");
    assert!(errors.len() == 1 && errors[0].code == "unsupported-bytecode" && errors[0].kind == Kind::Unsupported);
}

#[test]
fn deep_pto_is_an_error() {
    for (open, text) in [("scf.if %c {\n", "func.func @f(%c: i1) {\n"), ("module {\n", "")] {
        let text = format!("{text}{}", open.repeat(100_000));
        assert!(pto::parse(&text, "k.pto", &mut Sources::default()).is_err());
    }
    let text = format!("func.func @f() {{ return loc{}", "(loc".repeat(100_000));
    assert!(pto::parse(&text, "k.pto", &mut Sources::default()).is_err());
}
