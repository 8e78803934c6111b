//! `ptoas` as others call it: a process with arguments, streams and an exit code.
//!
//! Each file `tests/ptoas/NAME.pto` is assembled as its first line says (`// RUN: FLAGS`), and what it prints and how it
//! exits is compared with `NAME.out`; `UPDATE_EXPECT=1` writes those.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

const PTOAS: &str = env!("CARGO_BIN_EXE_ptoas");
const KERNEL: &str = include_str!("ptoas/scale.pto");

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ptoas-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn run_in(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(PTOAS)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ptoas starts");
    // It may end without reading.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("ptoas ends")
}

fn run(args: &[&str], input: &str) -> (i32, String, String) {
    let out = run_in(&std::env::temp_dir(), args, input.as_bytes());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (out.status.code().expect("no signal"), text(out.stdout), text(out.stderr))
}

/// Without the last column of `--tw-stats`, which differs from run to run.
fn golden(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptoas");
    let text = std::fs::read_to_string(folder.join(format!("{name}.pto"))).expect("a file");
    let flags = text.lines().next().and_then(|l| l.strip_prefix("// RUN: ")).expect("a RUN line");
    let file = format!("{name}.pto");
    let args: Vec<&str> = flags.split_whitespace().map(|w| if w == "%s" { &file } else { w }).collect();
    let out = run_in(&folder, &args, b"");
    let found = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        out.status.code().expect("no signal"),
        String::from_utf8(out.stdout).expect("text"),
        String::from_utf8(out.stderr).expect("text")
    );
    let expected = folder.join(format!("{name}.out"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&expected, &found).expect("written");
    }
    let expected = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(found, expected, "{name}: UPDATE_EXPECT=1 writes what is found");
}

#[test]
fn what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptoas");
    let files = std::fs::read_dir(&folder).expect("a folder").map(|e| e.expect("a file").path());
    let mut names: Vec<String> = files
        .filter(|p| p.extension().is_some_and(|e| e == "pto"))
        .map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    names.iter().for_each(|name| golden(name));
}

#[test]
fn the_version_is_of_the_interface() {
    let (code, out, err) = run(&["--version"], "");
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("ptoas 0.60 (Tilewright "), "{out}");
    let (code, out, _) = run(&["--help"], "");
    assert_eq!(code, 0);
    assert!(out.contains("--enable-insert-sync") && out.contains("--tw-verify BEFORE.pto AFTER.pto"), "{out}");
}

#[test]
fn wrong_command_lines_say_what_is_wrong() {
    for (args, expected) in [
        (&["--pto-lvl=level3"][..], "Error: unknown flag '--pto-lvl=level3'; did you mean --pto-level?"),
        (&["--pto-arch=a4"], "Error: --pto-arch is a2, a3 or a5, not 'a4'"),
        (&["--pto-level", "level4"], "Error: --pto-level is level1, level2 or level3, not 'level4'"),
        (&["--pto-backend=vpto"], "Error: --pto-backend=vpto: this assembler has no VPTO backend"),
        (&["--emit-vpto"], "Error: --emit-vpto is about the VPTO backend"),
        (&["--vpto-scheduler=on"], "Error: --vpto-scheduler is about the VPTO backend"),
        (&["--enable-insert-sync", "--enable-graph-sync-solver"], "exclude each other"),
        (&["--plan-memory-impl=typo"], "Error: --plan-memory-impl is legacy or modern, not 'typo'"),
        (&["--graph-sync-solver-event-id-max=4"], "all 8 flags"),
        (&["--mlir-print-ir-after=nothing"], "Error: there is no pass 'nothing'"),
        (&["a.pto", "b.pto"], "Error: one file at a time: 'b.pto' is too many"),
        (&["--tw-verify", "a.pto"], "Error: --tw-verify needs AFTER.pto"),
        (
            &["--tw-verify", "a.pto", "b.pto", "--emit-pto-ir"],
            "--tw-verify assembles nothing; --emit-pto-ir is for that",
        ),
        (&["-o"], "Error: -o needs FILE"),
        (&["/nowhere/k.pto"], "Error: cannot read '/nowhere/k.pto'"),
    ] {
        let (code, out, err) = run(args, KERNEL);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
        assert!(err.starts_with("Error:"), "{args:?}: {err}");
    }
}

#[test]
fn every_spelling_and_the_streams() {
    let expected = run(&["--emit-pto-ir", "--pto-level=level3", "--pto-arch=a5"], KERNEL);
    assert_eq!(expected.0, 0, "{}", expected.2);
    for args in [
        &["-", "-emit-pto-ir", "-pto-level", "level3", "--pto-arch", "a5", "-o", "-"][..],
        &["--emit-pto-ir=true", "--pto-level", "LEVEL3", "-pto-arch=a5", "--o=-", "--", "-"],
    ] {
        assert_eq!(run(args, KERNEL), expected, "{args:?}");
    }
}

#[test]
fn an_explicit_machine_goes_before_the_modules() {
    let named = |args: &[&str]| {
        let (_, out, err) = run(&[&["--emit-pto-ir", "--pto-level=level3"], args].concat(), KERNEL);
        assert!(!out.is_empty(), "{err}");
        out.contains("pto.target_arch = \"a5\"")
    };
    assert!(!named(&[]));
    assert!(named(&["--pto-arch=a5"]));
}

#[test]
fn without_emit_there_is_no_output_and_an_error() {
    let folder = folder("cpp");
    let (code, out, err) =
        run(&["-", "-o", folder.join("k.cpp").to_str().expect("text"), "--pto-level=level3"], KERNEL);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("Error: C++ output is not there yet"), "{err}");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_failure_leaves_the_old_output() {
    let folder = folder("partial");
    let file = folder.join("out.pto");
    std::fs::write(&file, "old").expect("written");
    let broken = KERNEL.replace("pto.tmuls", "pto.tmulz");
    let args = ["-", "--emit-pto-ir", "--pto-level=level3", "-o", file.to_str().expect("text")];
    assert_eq!(run(&args, &broken).0, 1);
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "old");
    let (code, _, err) = run(&args, KERNEL);
    assert_eq!(code, 0, "{err}");
    assert!(std::fs::read_to_string(&file).expect("there").contains("pto.tmuls"));
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
    let away = folder.join("away/out.pto");
    let (code, _, err) = run(&["-", "--emit-pto-ir", "--pto-level=level3", "-o", away.to_str().expect("text")], KERNEL);
    assert_eq!(code, 1);
    assert!(err.contains("Error: cannot write"), "{err}");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn bytecode_and_what_is_no_text_are_refused() {
    let out = run_in(&std::env::temp_dir(), &["--emit-pto-ir"], b"PTOBC\0\0\0\0\0\xff\xfe");
    let err = String::from_utf8(out.stderr).expect("text");
    assert_eq!(out.status.code(), Some(1));
    assert!(err.contains("bytecode") && err.contains("ptobc decode"), "{err}");
    let out = run_in(&std::env::temp_dir(), &["--emit-pto-ir"], b"module {\n\xff}");
    let err = String::from_utf8(out.stderr).expect("text");
    assert_eq!(out.status.code(), Some(1));
    assert!(err.contains("line 2 is not UTF-8"), "{err}");
}

#[test]
fn processes_that_write_one_file_leave_a_whole_one() {
    let folder = folder("parallel");
    let file = folder.join("out.pto");
    std::fs::write(folder.join("k.pto"), KERNEL).expect("written");
    let args = ["k.pto", "--emit-pto-ir", "--pto-level=level3", "--enable-insert-sync", "-o", "out.pto"];
    let expected = run_in(&folder, &args, b"");
    assert!(expected.status.success(), "{}", String::from_utf8_lossy(&expected.stderr));
    let expected = std::fs::read(&file).expect("written");
    let start = || Command::new(PTOAS).args(args).current_dir(&folder).spawn().expect("ptoas starts");
    let children: Vec<_> = (0..24).map(|_| start()).collect();
    for mut child in children {
        // At every moment there is a whole file.
        assert_eq!(std::fs::read(&file).expect("there"), expected);
        assert!(child.wait().expect("ptoas ends").success());
    }
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 2);
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn programs_between_passes() {
    let folder = folder("dump");
    let dumps = folder.join("dumps");
    let tree = format!("--mlir-print-ir-tree-dir={}", dumps.display());
    let args = ["--emit-pto-ir", "--pto-level=level3", "--enable-insert-sync", "--mlir-print-ir-after-all"];
    let (code, _, err) = run(&[&args[..], &["--mlir-print-ir-module-scope", &tree]].concat(), KERNEL);
    assert_eq!(code, 0, "{err}");
    let files: Vec<_> = std::fs::read_dir(dumps.join("builtin_module_no-symbol-name"))
        .expect("a folder")
        .map(|e| e.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(files.iter().any(|f| f.ends_with("_pto-insert-sync.mlir")), "{files:?}");
    let (code, _, err) = run(&args, KERNEL);
    assert_eq!(code, 0);
    assert!(err.contains("IR Dump After insert-sync (pto-insert-sync)") && err.contains("pto.set_flag"), "{err}");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn what_another_tool_made_is_judged() {
    let folder = folder("verify");
    let place = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("text").to_owned()
    };
    let before = place("before.pto", KERNEL);
    let (code, out, err) = run(&["--tw-verify", &before, &before], "");
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "order: proved\nmemory: proved\n");
    // The store goes before the operation that makes what it stores.
    let mut lines: Vec<&str> = KERNEL.lines().collect();
    let at = |lines: &[&str], op: &str| lines.iter().position(|l| l.contains(op)).expect("there");
    let store = lines.remove(at(&lines, "pto.tstore"));
    lines.insert(at(&lines, "pto.tmuls"), store);
    let after = place("after.pto", &lines.join("\n"));
    let (code, _, err) = run(&["--tw-verify", &before, &after], "");
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("rror: 'pto.tstore' op") && err.contains("[order-raw]") && err.contains("`tmuls`"), "{err}");
    let (code, _, err) = run(&["--tw-verify", &before, "/nowhere.pto"], "");
    assert_eq!(code, 1);
    assert!(err.contains("cannot read '/nowhere.pto'"), "{err}");
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn it_says_what_was_not_checked_and_what_took_how_long() {
    let args = ["--emit-pto-ir", "--pto-level=level3", "--enable-insert-sync"];
    let (code, _, err) = run(&[&args[..], &["--tw-no-check"]].concat(), KERNEL);
    assert_eq!(code, 0);
    assert!(err.contains("Warning: --tw-no-check"), "{err}");
    let (code, _, err) = run(&[&args[..], &["--tw-stats"]].concat(), KERNEL);
    assert_eq!(code, 0);
    for word in ["insert-sync", "checked: order", "checked: sync", "checkers"] {
        assert!(err.contains(word), "{word}: {err}");
    }
    let (code, _, err) = run(&[&args[..], &["--pto-insert-sync-debug=2"]].concat(), KERNEL);
    assert_eq!(code, 0);
    assert!(err.contains("Warning: --pto-insert-sync-debug has no effect"), "{err}");
}

/// Prints how long a process takes; times are no test's business.
#[test]
#[allow(clippy::print_stdout, reason = "the figure is what it is for")]
fn start_time() {
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            let done = Command::new(PTOAS).arg("--version").output().expect("ptoas starts");
            assert!(done.status.success());
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("ptoas --version: {:.2} ms a process (median of {}), fastest {:.2}", times[10], times.len(), times[0]);
}
