//! Kernels in Python files, and what the front end makes of them.
//!
//! * `cases/ir/*.py`: the tensor level of every entry, in the `.tw` file beside it (locations left out, as they are in the
//!   source).
//! * `cases/run/*.py`: every entry executed by the reference, on tensors filled with 0, 1, 2, …; its docstring says what
//!   is in some tensors then (`out == 1 2 3`, from the first element on).
//! * `cases/errors/*.py`: what every entry is refused with, or warned of, in the `.err` file beside it.
//!
//! Expected files are written anew with `UPDATE_EXPECT=1`; read the difference before committing it.

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use chip::Arch;
use dtype::{Profile, Scalar};
use frontend::{ArgSpec, Environment, Specialised};
use memory::{Arg, Buffer, View};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

fn read(path: &Path) -> (String, support::Module) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let module = support::Module::parse(&name, &text);
    (name, module)
}

fn compare(path: &Path, extension: &str, got: &str) -> Option<String> {
    let expected = path.with_extension(extension);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&expected, got).unwrap();
        return None;
    }
    let want = std::fs::read_to_string(&expected).unwrap_or_default();
    if want == got {
        return None;
    }
    let line = want
        .lines()
        .zip(got.lines())
        .position(|(a, b)| a != b)
        .unwrap_or(want.lines().count().min(got.lines().count()));
    let around = |text: &str| text.lines().skip(line.saturating_sub(2)).take(6).collect::<Vec<_>>().join("\n");
    Some(format!(
        "{} differs at line {}:\n--- expected\n{}\n--- got\n{}",
        expected.display(),
        line + 1,
        around(&want),
        around(got)
    ))
}

fn verified(done: &Specialised, name: &str) {
    if let Err(errors) = ir::verify::verify(&done.program) {
        let all: Vec<String> = errors.iter().map(|e| diag::render(e, &done.program.sources)).collect();
        panic!("{name}: {}\n{}", all.join("\n"), ir::text::print(&done.program));
    }
    let text = ir::text::print(&done.program);
    let back = ir::text::parse(&text, "round-trip.tw").unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}"));
    assert_eq!(ir::text::print(&back), text, "{name}: text does not read back");
}

/// The program's text without ` loc(…)`.
fn without_places(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|l| !l.starts_with("file ")) {
        let line = match line.rfind(" loc(") {
            Some(at) => &line[..at],
            None => line,
        };
        let _ = writeln!(out, "{line}");
    }
    out
}

#[test]
fn tensor_level() {
    let mut failures = Vec::new();
    for path in files("ir") {
        let (name, module) = read(&path);
        let mut got = String::new();
        for entry in module.entries() {
            let done = frontend::specialise(&module, entry, &module.args(entry), Arch::A2a3)
                .unwrap_or_else(|r| panic!("{name}: {}", diag::render(&r.errors[0], &r.sources)));
            verified(&done, &name);
            assert!(done.warnings.is_empty(), "{name}: {}", diag::render(&done.warnings[0], &done.program.sources));
            let _ = writeln!(got, "{}", without_places(&ir::text::print(&done.program)));
        }
        failures.extend(compare(&path, "tw", &got));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn errors() {
    let mut failures = Vec::new();
    for path in files("errors") {
        let (name, module) = read(&path);
        let mut got = String::new();
        for entry in module.entries() {
            let _ = writeln!(got, "=== {}", module.function(entry).name);
            match frontend::specialise(&module, entry, &module.args(entry), Arch::A2a3) {
                Ok(done) => {
                    verified(&done, &name);
                    for warning in &done.warnings {
                        let _ = writeln!(got, "{}", diag::render(warning, &done.program.sources));
                    }
                    if done.warnings.is_empty() {
                        let _ = writeln!(got, "accepted");
                    }
                }
                Err(rejected) => {
                    assert!(!rejected.errors.is_empty(), "{name}: refused without a reason");
                    for error in &rejected.errors {
                        let _ = writeln!(got, "{}", diag::render(error, &rejected.sources));
                    }
                }
            }
            got.push('\n');
        }
        assert!(!got.contains("accepted"), "{name}: a case without an error\n{got}");
        failures.extend(compare(&path, "err", &got));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn meaning() {
    let mut checked = 0;
    let mut failures = Vec::new();
    for path in files("run") {
        let (name, module) = read(&path);
        for entry in module.entries() {
            let function = module.function(entry);
            let place = format!("{name}:{}", function.name);
            let specs = module.args(entry);
            for arch in Arch::ALL {
                let done = match frontend::specialise(&module, entry, &specs, arch) {
                    Ok(done) => done,
                    Err(r) => {
                        failures.push(format!("{place}: {}", diag::render(&r.errors[0], &r.sources)));
                        break;
                    }
                };
                verified(&done, &place);
                let args: Vec<Arg> = specs.iter().map(filled).collect();
                let profile = if arch == Arch::A2a3 { Profile::A2a3 } else { Profile::A5 };
                let options = reference::Options { profile, definedness: false };
                if let Err(error) = reference::run(&done.program, &args, &options, None) {
                    let error = diag::render(&error, &done.program.sources);
                    failures.push(format!("{place}: {error}\n{}", ir::text::print(&done.program)));
                    break;
                }
                for line in module.doc(entry).lines() {
                    let Some((tensor, values)) = line.split_once("==") else { continue };
                    let index = function.params.iter().position(|p| p.name == tensor.trim()).expect("a parameter");
                    let view = args[index].tensor().expect("a tensor");
                    for (i, word) in values.split_whitespace().enumerate() {
                        let want: f64 = word.parse().expect("a number");
                        let mut rest = i as u64;
                        let mut at = vec![0; view.rank()];
                        for (axis, &n) in view.shape.iter().enumerate().rev() {
                            at[axis] = rest % n;
                            rest /= n;
                        }
                        let got = view.get(&at).unwrap().as_f64();
                        if got != want {
                            let text = ir::text::print(&done.program);
                            failures.push(format!("{place}: {} at {at:?} is {got}, not {want}\n{text}", tensor.trim()));
                            break;
                        }
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(checked > 0, "nothing was checked");
}

/// Operations without a spelling: rounding to integral values, which `pl.sin` and `pl.cos` are made of.
const NOT_PRINTED: &[&str] = &["tcvt"];

/// The tensor level printed as the language, read back: the same text again, the same results.
#[test]
fn printed_programs_mean_the_same() {
    let mut failures = Vec::new();
    let mut read_back = 0;
    let mut refused = std::collections::BTreeSet::new();
    for folder in ["ir", "run"] {
        for path in files(folder) {
            let (name, module) = read(&path);
            for entry in module.entries() {
                let specs = module.args(entry);
                let place = format!("{name}:{}", module.function(entry).name);
                let Ok(done) = frontend::specialise(&module, entry, &specs, Arch::A2a3) else { continue };
                let style =
                    frontend::Style { class: (read_back % 2 == 0).then_some("Printed"), concise: read_back % 3 == 0 };
                let text = match frontend::print(&done.program, style) {
                    Ok(text) => text,
                    Err(e) => {
                        if let Some(op) = NOT_PRINTED.iter().find(|op| e.message.contains(&format!("`{op}`"))) {
                            refused.insert(*op);
                            continue;
                        }
                        failures.push(format!("{place}: {}", e.message));
                        continue;
                    }
                };
                let back = support::Module::parse("printed.py", &text);
                let again = match frontend::specialise(&back, back.entries()[0], &specs, Arch::A2a3) {
                    Ok(again) => again,
                    Err(r) => {
                        failures.push(format!("{place}: {}\n{text}", diag::render(&r.errors[0], &r.sources)));
                        continue;
                    }
                };
                verified(&again, &place);
                let twice = frontend::print(&again.program, style).unwrap_or_else(|e| e.message.clone());
                if twice != text {
                    let line = text.lines().zip(twice.lines()).find(|(a, b)| a != b);
                    failures.push(format!("{place}: printed again, it differs: {line:?}\n{text}\n{twice}"));
                    continue;
                }
                let options = reference::Options { profile: Profile::A2a3, definedness: false };
                let results = [&done.program, &again.program].map(|program| {
                    let args: Vec<Arg> = specs.iter().map(filled).collect();
                    let ran = reference::run(program, &args, &options, None).is_ok();
                    let bytes: Vec<_> = args.iter().filter_map(|a| a.tensor()).map(|t| t.to_vec().unwrap()).collect();
                    (ran, bytes)
                });
                if results[0] != results[1] {
                    failures.push(format!("{place}: read back, it computes something else\n{text}"));
                }
                read_back += 1;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(read_back > 50, "{read_back} programs were read back");
    assert!(
        NOT_PRINTED.iter().all(|op| refused.contains(op)),
        "has a spelling, or no case: only {refused:?} are refused"
    );
}

fn filled(spec: &ArgSpec) -> Arg {
    match spec {
        ArgSpec::Tensor { dtype, shape } => {
            let elements: u64 = shape.iter().product();
            let view = View::new(Buffer::zeroed(elements as usize * dtype.size()), *dtype, shape).unwrap();
            let mut bytes = Vec::new();
            for i in 0..elements {
                bytes.extend_from_slice(&Scalar::from_i64(*dtype, i as i64).to_le_bytes()[..dtype.size()]);
            }
            view.write_all(&bytes).unwrap();
            Arg::Tensor(view)
        }
        ArgSpec::Scalar(s) => Arg::Scalar(*s),
        ArgSpec::Runtime(d) => Arg::Scalar(Scalar::from_i64(*d, 3)),
    }
}

/// Damaged sources: never a panic, and what is accepted is a valid program.
#[test]
fn damaged_sources() {
    let (mut accepted, mut refused) = (0, 0);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    for folder in ["ir", "run", "errors"] {
        for path in files(folder) {
            let text = std::fs::read_to_string(&path).unwrap();
            if ruff_python_parser::parse_module(&text).is_err() {
                continue;
            }
            let lines: Vec<&str> = text.lines().collect();
            let bodies: Vec<usize> =
                (0..lines.len()).filter(|&i| lines[i].starts_with("    ") && !lines[i].contains(": pl.")).collect();
            let words: Vec<&str> = text
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
                .filter(|w| !w.is_empty() && !["def", "import", "as"].contains(w))
                .collect();
            for _ in 0..40 {
                let mut damaged: Vec<String> = lines.iter().map(|l| (*l).to_owned()).collect();
                for _ in 0..=random(2) {
                    let at = bodies[random(bodies.len())];
                    let line = damaged[at].clone();
                    let spots: Vec<usize> = line.char_indices().map(|(i, _)| i).filter(|&i| i >= 4).collect();
                    if spots.is_empty() {
                        continue;
                    }
                    let spot = spots[random(spots.len())];
                    match random(5) {
                        // Another word in the place of one.
                        0 | 1 => {
                            let word = |c: char| c.is_alphanumeric() || c == '_';
                            let start = line[..spot].rfind(|c| !word(c)).map_or(0, |i| i + 1);
                            let end = line[spot..].find(|c| !word(c)).map_or(line.len(), |i| spot + i);
                            let new = words[random(words.len())];
                            if start < end && start >= 4 {
                                damaged[at] = format!("{}{new}{}", &line[..start], &line[end..]);
                            }
                        }
                        2 => damaged[at] = format!("{}pass", &line[..line.len() - line.trim_start().len()]),
                        3 => damaged[at] = format!("{}{}", &line[..spot], &line[(spot + 1).min(line.len())..]),
                        _ => damaged.swap(at, bodies[random(bodies.len())]),
                    }
                }
                let damaged = damaged.join("\n");
                if ruff_python_parser::parse_module(&damaged).is_err() {
                    continue;
                }
                let module = support::Module::parse("damaged.py", &damaged);
                for entry in module.entries() {
                    let args = module.args(entry);
                    let caught = std::panic::catch_unwind(|| frontend::specialise(&module, entry, &args, Arch::A5));
                    match caught {
                        Ok(Ok(done)) => {
                            if let Err(errors) = ir::verify::verify(&done.program) {
                                let error = diag::render(&errors[0], &done.program.sources);
                                panic!("{error}\n{damaged}\n{}", ir::text::print(&done.program));
                            }
                            accepted += 1;
                        }
                        Ok(Err(rejected)) => {
                            assert!(!rejected.errors.is_empty(), "refused without a reason:\n{damaged}");
                            rejected.errors.iter().for_each(|e| drop(diag::render(e, &rejected.sources)));
                            refused += 1;
                        }
                        Err(_) => panic!("a panic on:\n{damaged}"),
                    }
                }
            }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}
