//! Runs the text files under `tests/filetests`.
//!
//! A file holds cases between lines of `// ----`. What stands before the first such line is a preamble for every case
//! that has no `program` line of its own. A case names its errors where they are: `// error[code]: part of the message`
//! (the message is optional) at the end of the line that the error points at. A case without errors must be accepted.
//!
//! * `parser/*.tw` are parsed, printed, and parsed again;
//! * `verifier/*.tw` are parsed and verified.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diag::Diagnostic;

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
