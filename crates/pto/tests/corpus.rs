//! Reads upstream's `.pto` files, where a checkout is at hand, and says of each what becomes of it.
//!
//! `TILEWRIGHT_UPSTREAM` names a folder with a checkout `PTOAS`; without it nothing is run, and the test says so. Of each
//! file, or part of one (`//--- name`): it parses, the verifier accepts it, and what is printed reads back as the same
//! functions and prints as the same text. An oracle that knows no operation counts mnemonics and names of attributes
//! in both texts: what it finds in only one of them was dropped, or invented.
//!
//! `cargo test --release -p pto --test corpus -- --nocapture` prints a table by folder and the reasons of refusals;
//! `TILEWRIGHT_CORPUS=text` keeps to files whose path has the text in it, and lists every one that fails.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use diag::{Diagnostic, Kind, Sources};
use ir::{Function, FunctionKind, Opcode, Program};

/// Files of a corpus that must get all the way, and how many; negative: how many must be refused as invalid.
const FLOORS: &[(&str, usize)] = &[("model kernels", 629), ("samples", 88), ("lit, valid", 461), ("lit, invalid", 263)];
/// Tests that must fail whose file is refused at the operation that the test names.
const NEGATIVES: usize = 173;

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "pto") {
            out.push(path);
        }
    }
}

/// One text to read, with what its file says about how.
struct Case {
    corpus: &'static str,
    folder: String,
    name: String,
    text: String,
    arch: Option<chip::Arch>,
}

fn cases(root: &Path) -> Vec<Case> {
    let mut out = Vec::new();
    for (folder, lit) in [("test/samples", false), ("test/lit/pto", true)] {
        let mut paths = Vec::new();
        files(&root.join(folder), &mut paths);
        for path in paths {
            let whole = std::fs::read_to_string(&path).expect("a text file");
            let name = path.strip_prefix(root.join(folder)).expect("below the folder").display().to_string();
            let kernel = name.contains("/kernels/");
            let top = if kernel { name.split('/').next().unwrap_or(folder) } else { folder };
            let runs: Vec<&str> = whole.lines().filter(|l| l.contains("RUN:")).collect();
            let negative = runs.iter().any(|l| l.split_whitespace().any(|w| w == "not"));
            let arch = runs.iter().find_map(|l| l.split("--pto-arch=").nth(1)?.split_whitespace().next()?.parse().ok());
            let corpus = match (kernel, lit, negative) {
                (true, ..) => "model kernels",
                (_, false, _) => "samples",
                (_, _, false) => "lit, valid",
                _ => "lit, invalid",
            };
            let mut parts: Vec<(String, String)> = vec![(name.clone(), String::new())];
            for line in whole.lines() {
                if let Some(part) = line.strip_prefix("//--- ") {
                    parts.push((format!("{name}:{part}"), String::new()));
                } else if let Some((_, text)) = parts.last_mut() {
                    *text += line;
                    text.push('\n');
                }
            }
            // What stands before the first part is the test's own.
            if parts.len() > 1 {
                parts.remove(0);
                parts.retain(|(part, _)| part.ends_with(".pto"));
            }
            for (name, text) in parts {
                let corpus =
                    if corpus == "lit, valid" && out_of_scope(&runs, &text) { "lit, out of scope" } else { corpus };
                out.push(Case { corpus, folder: top.to_owned(), name, text, arch });
            }
        }
    }
    out
}

/// Files of backends that are not ours: of micro-instructions (VPTO), of which none is an operation here.
fn out_of_scope(runs: &[&str], text: &str) -> bool {
    let flags = ["--emit-vpto", "--pto-backend=vpto", "--vpto", "--emit-llvm", "vmi"];
    let types = ["!pto.vreg", "!pto.mask<", "!pto.align"];
    runs.iter().any(|run| flags.iter().any(|f| run.contains(f))) || types.iter().any(|t| text.contains(t))
}

/// An error that a test expects: which part of its file is read, for which architecture, and what is said.
struct Expected {
    file: String,
    text: String,
    arch: Option<chip::Arch>,
    /// The lines of the check that belong to this run.
    said: Vec<String>,
    /// Whether the driver alone can say so: of flags and levels, or of another tool.
    driver: bool,
}

/// The runs of a test that must fail, with what they must say.
fn expectations(root: &Path) -> Vec<Expected> {
    let mut out = Vec::new();
    let mut paths = Vec::new();
    files(&root.join("test/lit/pto"), &mut paths);
    for path in paths {
        let whole = std::fs::read_to_string(&path).expect("a text file");
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut parts: BTreeMap<&str, String> = BTreeMap::from([("", String::new())]);
        let mut part = "";
        for line in whole.lines() {
            if let Some(next) = line.strip_prefix("//--- ") {
                part = next;
                parts.insert(part, String::new());
            } else {
                // Lines before the first part count: a part is a file of its own.
                *parts.entry(part).or_default() += &format!("{line}\n");
            }
        }
        let mut run = String::new();
        for line in whole.lines() {
            let Some((_, command)) = line.split_once("RUN:") else { continue };
            run += command.trim_end_matches('\\');
            if command.ends_with('\\') {
                continue;
            }
            let command = std::mem::take(&mut run);
            if !command.split_whitespace().any(|w| w == "not") {
                continue;
            }
            let words: Vec<&str> = command.split_whitespace().collect();
            let after = |flag: &str| words.iter().find_map(|w| w.strip_prefix(flag));
            let prefix = after("--check-prefix=").or(after("--check-prefixes=")).unwrap_or("CHECK");
            let file = after("%t/").unwrap_or("");
            let check = |l: &str| {
                let (_, text) = l.split_once("//")?;
                let (label, said) = text.trim().split_once(':')?;
                let known = label.strip_prefix(prefix)?;
                matches!(known, "" | "-NEXT" | "-SAME" | "-DAG").then(|| said.trim().to_owned())
            };
            let said: Vec<String> = whole.lines().filter_map(check).collect();
            let level = said.iter().any(|s| {
                s.contains("Error:")
                    || s.contains("--pto-level")
                    || s.contains("PlanMemory")
                    || s.contains("requires --enable")
                    || s.contains("auto reserve_buffer")
            });
            let tools = ["pto-test-opt", "-o %t.o", "vpto"].iter().any(|w| command.contains(w));
            out.push(Expected {
                file: name.clone(),
                text: parts.get(file).cloned().unwrap_or_else(|| whole.clone()),
                arch: after("--pto-arch=").and_then(|a| a.parse().ok()),
                said,
                driver: level || tools,
            });
        }
    }
    out
}

/// The lines on which an error may be: those that the test states, or those of the operation that it names.
fn lines(expected: &Expected) -> Option<Vec<usize>> {
    let said = expected.said.join("\n");
    let named = said.split("'").find(|w| w.starts_with("pto.") || w.starts_with("scf.") || w.starts_with("func."))?;
    let mentions = |line: &str| {
        let code = line.split("//").next().unwrap_or("");
        code.match_indices(named).any(|(at, _)| {
            !code[at + named.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        })
    };
    // To the line before the next operation.
    let mut found = Vec::new();
    let mut inside = false;
    for (i, line) in expected.text.lines().enumerate() {
        let code = line.trim();
        let begins = ["%", "pto.", "}", "return", "func", "scf."].iter().any(|w| code.starts_with(w));
        inside = mentions(line) || (inside && !begins);
        if inside {
            found.push(i + 1);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The classes of `tests/upstream/ptoas_rules.toml`: words, and the rules that may answer.
fn classes() -> Vec<(Vec<String>, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/upstream/ptoas_rules.toml");
    let text = std::fs::read_to_string(path).expect("the table of classes");
    let list = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let mut out: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for line in text.lines() {
        if line.starts_with("says") {
            out.push((list(line), Vec::new()));
        } else if let (true, Some((_, rules))) = (line.starts_with("rules"), out.last_mut()) {
            *rules = list(line);
        }
    }
    out
}

/// Of every test that must fail: it is refused, on the line of the operation that the test names.
fn negatives(root: &Path, verbose: bool) -> (usize, usize, usize) {
    let classes = classes();
    let mut by_rule = [0, 0, 0];
    let mut by_file: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for expected in expectations(root) {
        let arch = expected.arch;
        let case =
            Case { corpus: "", folder: String::new(), name: expected.file.clone(), text: expected.text.clone(), arch };
        let mut errors = errors(&case);
        // What is not supported is refused, but not as wrong.
        errors.retain(|d| d.kind == Kind::Invalid);
        let refused = !errors.is_empty();
        let line = |d: &Diagnostic| d.primary.as_ref().map_or(0, |p| p.span.line as usize);
        let placed = match lines(&expected) {
            Some(wanted) => errors.iter().any(|d| {
                let ends = d.primary.as_ref().map_or(0, |p| p.span.end_line as usize);
                wanted.iter().any(|w| (line(d)..=ends.max(line(d))).contains(w))
            }),
            None => refused,
        };
        if placed && !expected.driver {
            let said = expected.said.join(" ");
            let class = classes.iter().find(|(words, _)| words.iter().all(|w| said.contains(w.as_str())));
            let answer = class.map(|(_, rules)| errors.iter().any(|d| rules.iter().any(|r| r == d.code)));
            by_rule[match answer {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            }] += 1;
            if verbose && answer != Some(true) {
                let found: Vec<&str> = errors.iter().map(|d| d.code).collect();
                println!("rule of {}: {:?}; found {found:?}", expected.file, expected.said.first());
            }
        }
        if verbose && !placed {
            let found: Vec<String> = errors.iter().map(|d| format!("{}:[{}] {}", line(d), d.code, d.message)).collect();
            println!(
                "negative {}{}: wanted {:?} of {:?}; found {found:?}",
                expected.file,
                if expected.driver { " (driver)" } else { "" },
                expected.said.first(),
                lines(&expected)
            );
        }
        let entry = by_file.entry(expected.file.clone()).or_insert((true, true));
        // What the driver says is its own tests' to see.
        entry.0 &= placed || expected.driver;
        entry.1 &= expected.driver;
    }
    let [right, other, unknown] = by_rule;
    println!("expected errors: {right} by a rule of their class, {other} by another, {unknown} of no class");
    let all = by_file.len();
    let driver = by_file.values().filter(|(_, driver)| *driver).count();
    let placed = by_file.values().filter(|(placed, driver)| *placed && !driver).count();
    (all, driver, placed)
}

fn host(kernels: Vec<Function>, sources: Sources, arch: chip::Arch) -> Program {
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    ir::Builder::new(&mut main).effect(Opcode::Return, &[&[]], ir::Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

fn kernels(program: &Program) -> String {
    let ids: Vec<_> = program.functions.iter().map(|(id, _)| id).filter(|id| *id != program.entry).collect();
    pto::print(program, &ids)
}

fn arch_of(case: &Case) -> chip::Arch {
    let named = || case.text.split("pto.target_arch = \"").nth(1)?.split('"').next()?.parse().ok();
    case.arch.or_else(named).unwrap_or(chip::Arch::A2a3)
}

/// An operation without its operands' names, for comparing a function with what came back.
fn outline(f: &Function) -> Vec<String> {
    let ops = f.walk().into_iter().map(|op| &f.ops[op]);
    ops.map(|op| {
        let types: Vec<String> = op.operands.iter().chain(&op.dests).map(|&v| f.ty(v).to_string()).collect();
        let place = op.span.map(|s| (s.line, s.col));
        format!("{} {types:?} {:?} {:?} {:?}", op.opcode.name(), op.segments, op.attrs, place)
    })
    .collect()
}

/// How often each mnemonic and each name of an attribute occurs, locations and comments left out.
fn words(text: &str) -> BTreeMap<String, i64> {
    let mut out = BTreeMap::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("");
        let line = line.split(" loc(").next().unwrap_or("");
        if line.starts_with('#') {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let before = rest[..at].chars().last();
            let end = rest[at..].find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).map(|e| at + e);
            let (word, after) = rest[at..].split_at(end.unwrap_or(rest.len()) - at);
            let attribute = after.starts_with(" =") && !matches!(before, Some('%'));
            let mnemonic = ["pto.", "scf.", "func.", "cf."].iter().any(|p| word.starts_with(p))
                && !matches!(before, Some('!' | '#' | '%' | '@' | '"'))
                && !attribute;
            if (attribute && !word.starts_with("tw.")) || mnemonic {
                *out.entry(word.to_owned()).or_insert(0) += 1;
            }
            rest = after;
            if matches!(before, Some('%' | '@' | '"')) {
                rest =
                    rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'));
            }
        }
    }
    out
}

/// Words whose number may differ: what may be left out, and what every module says.
const FREE: &[&str] = &["scf.yield", "pto.target_arch", "func.return", "func.func"];
/// Words that may be said where the text did not: what was inferred, or is what absence means.
const STATED: &[&str] =
    &["pto.kernel_kind", "id", "split", "exhausted", "auto", "location", "rmode", "func.call", "coalesce"];

fn dropped(before: &str, after: &str) -> Vec<String> {
    let (a, b) = (words(before), words(after));
    let mut out = Vec::new();
    for word in a.keys().chain(b.keys().filter(|w| !a.contains_key(*w))) {
        let (n, m) = (a.get(word).copied().unwrap_or(0), b.get(word).copied().unwrap_or(0));
        let settled = m > n && STATED.contains(&word.as_str());
        if n != m && !settled && !FREE.contains(&word.as_str()) {
            out.push(format!("{word}: {n} times, then {m}"));
        }
    }
    out
}

enum Outcome {
    /// All the way.
    Kept,
    Unparsed(Vec<Diagnostic>),
    Unverified(Vec<Diagnostic>),
    Changed(Vec<String>),
}

fn outcome(case: &Case) -> Outcome {
    let arch = arch_of(case);
    let mut sources = Sources::default();
    let functions = match pto::parse_for(&case.text, Some(arch), &mut sources) {
        Ok(functions) => functions,
        Err(errors) => return Outcome::Unparsed(errors),
    };
    let outlines: Vec<_> = functions.iter().map(outline).collect();
    let program = host(functions, sources, arch);
    if let Err(errors) = ir::verify::assembler(&program) {
        return Outcome::Unverified(errors);
    }
    let text = kernels(&program);
    let mut sources = program.sources.clone();
    let again = match pto::parse_for(&text, Some(arch), &mut sources) {
        Ok(again) => again,
        Err(errors) => return Outcome::Changed(vec![format!("does not read back: {}", errors[0].message)]),
    };
    let changed = |a: &[Vec<String>], b: &[Vec<String>]| {
        let pairs = a.iter().flatten().zip(b.iter().flatten());
        pairs.into_iter().find(|(a, b)| a != b).map(|(a, b)| format!("{a} became {b}"))
    };
    let back: Vec<_> = again.iter().map(outline).collect();
    if let Some(change) = changed(&outlines, &back) {
        return Outcome::Changed(vec![change]);
    }
    let again = host(again, sources, arch);
    if kernels(&again) != text {
        return Outcome::Changed(vec!["prints as another text".into()]);
    }
    let lost = dropped(&case.text, &text);
    if lost.is_empty() { Outcome::Kept } else { Outcome::Changed(lost) }
}

/// What is wrong with a file, with places in it.
fn errors(case: &Case) -> Vec<Diagnostic> {
    let arch = arch_of(case);
    let mut sources = Sources::default();
    match pto::parse_located(&case.text, "case.pto", Some(arch), &mut sources) {
        Ok(functions) => ir::verify::assembler(&host(functions, sources, arch)).err().unwrap_or_default(),
        Err(errors) => errors,
    }
}

/// Numbers and names out of a message, so that like ones count together.
fn reason(d: &Diagnostic) -> String {
    let mut out = format!("[{}] ", d.code);
    let mut digits = false;
    for c in d.message.chars() {
        if c.is_ascii_digit() {
            if !digits {
                out.push('#');
            }
            digits = true;
        } else {
            digits = false;
            out.push(c);
        }
    }
    out
}

#[test]
fn corpus() {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS")) else {
        println!("not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS");
        return;
    };
    let only = std::env::var("TILEWRIGHT_CORPUS").ok();
    let mut cases = cases(&root);
    assert!(!cases.is_empty(), "no files in {}", root.display());
    cases.retain(|c| only.as_ref().is_none_or(|o| c.name.contains(o) || c.corpus == o));
    // Files, parsed, verified, kept; refused as invalid.
    let mut table: BTreeMap<(&str, String), [usize; 5]> = BTreeMap::new();
    let mut reasons: BTreeMap<(&str, String), (usize, String)> = BTreeMap::new();
    for case in &cases {
        let row = table.entry((case.corpus, case.folder.clone())).or_default();
        row[0] += 1;
        let (steps, errors, stage) = match outcome(case) {
            Outcome::Kept => (3, Vec::new(), ""),
            Outcome::Changed(what) => (2, what, "changed"),
            Outcome::Unverified(e) => (1, e.iter().map(reason).collect(), "verifier"),
            Outcome::Unparsed(e) => {
                row[4] += usize::from(e.iter().any(|d| d.kind == Kind::Invalid));
                (0, e.iter().map(reason).collect(), "parser")
            }
        };
        row[4] += usize::from(stage == "verifier");
        row[1..=steps].iter_mut().for_each(|n| *n += 1);
        let mut errors: Vec<String> = errors;
        if only.is_some() {
            if stage == "changed" {
                errors.iter().for_each(|e| println!("{}: {stage}: {e}", case.name));
            }
            for d in self::errors(case) {
                let line = d.primary.as_ref().map_or(0, |p| p.span.line as usize);
                let text = case.text.lines().nth(line.wrapping_sub(1)).unwrap_or("").trim();
                println!("{}:{line}: {stage}: [{}] {}\n      {text}", case.name, d.code, d.message);
            }
            if errors.is_empty() && case.corpus == "lit, invalid" {
                println!("{}: accepted", case.name);
            }
        }
        errors.sort();
        errors.dedup();
        let corpus = if case.corpus == "lit, invalid" { continue } else { case.corpus };
        for e in errors {
            let entry = reasons.entry((corpus, format!("{stage}: {e}"))).or_insert((0, case.name.clone()));
            entry.0 += 1;
        }
    }
    let (all, driver, placed) = negatives(&root, only.as_ref().is_some_and(|o| o == "negative"));
    println!("negative files: {all}; the driver's alone: {driver}; refused at the operation that is named: {placed}");
    println!(
        "| corpus | folder | files | parsed | verified | round trip | refused as invalid |\n|---|---|---|---|---|---|---|"
    );
    let mut sums: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for ((corpus, folder), row) in &table {
        println!("| {corpus} | {folder} | {} |", row.map(|n| n.to_string()).join(" | "));
        let sum = sums.entry(corpus).or_default();
        sum.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
    for (corpus, sum) in &sums {
        println!("| {corpus} | all | {} |", sum.map(|n| n.to_string()).join(" | "));
    }
    let mut list: Vec<_> = reasons.into_iter().collect();
    list.sort_by_key(|(what, (n, _))| (what.0, std::cmp::Reverse(*n)));
    for ((corpus, what), (n, example)) in list {
        println!("{n:5} {corpus}: {what}   ({example})");
    }
    if only.is_some() {
        return;
    }
    assert!(placed >= NEGATIVES, "negative files: {placed}, once {NEGATIVES}");
    for (corpus, floor) in FLOORS {
        let sum = sums.get(corpus).copied().unwrap_or_default();
        let found = if *corpus == "lit, invalid" { sum[4] } else { sum[3] };
        assert!(found >= *floor, "{corpus}: {found}, once {floor}");
    }
}
