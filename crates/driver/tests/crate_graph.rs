//! The crate graph is part of the design: which crate may know which. Read from `cargo metadata`, so that an edge
//! cannot be added without this list saying why it may be there.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Bottom first: a crate may depend only on crates above it in this list.
const ORDER: [&str; 19] = [
    "dtype",
    "diag",
    "control",
    "chip",
    "memory",
    "isa",
    "ir",
    "pto",
    "frontend",
    "reference",
    "lower",
    "assemble",
    "trace",
    "check",
    "machine",
    "runtime",
    "driver",
    "cli",
    "python",
];

/// What a crate may know of ours, where that is narrower than [`ORDER`].
const ONLY: [(&str, &[&str]); 8] = [
    ("dtype", &[]),
    ("diag", &[]),
    ("control", &[]),
    ("isa", &["dtype", "memory", "chip"]),
    // The right answer shares only the instructions with what it judges.
    ("reference", &["dtype", "diag", "chip", "memory", "isa", "ir"]),
    ("check", &["diag", "chip", "ir", "trace", "control", "dtype"]),
    ("lower", &["dtype", "diag", "control", "chip", "ir"]),
    ("assemble", &["dtype", "diag", "control", "chip", "ir"]),
];

/// Crates from the registry that only one crate of ours may know.
const OWNED: [(&str, &str); 2] = [("ruff_python_parser", "frontend"), ("pyo3", "python")];

fn graph() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut graph = BTreeMap::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("name").to_owned();
        let deps = package["dependencies"].as_array().expect("dependencies").iter();
        // Development dependencies are of tests, and tests may compare anything.
        let deps = deps.filter(|d| d["kind"].is_null()).map(|d| d["name"].as_str().expect("name").to_owned());
        graph.insert(name, deps.collect());
    }
    graph
}

#[test]
fn crates_depend_only_on_crates_below_them() {
    for (name, deps) in graph() {
        let Some(at) = ORDER.iter().position(|n| *n == name) else {
            panic!("crate {name} has no place in the order");
        };
        for dep in &deps {
            if let Some(below) = ORDER.iter().position(|n| n == dep) {
                assert!(below < at, "{name} must not depend on {dep}");
            }
        }
    }
}

#[test]
fn narrow_crates_stay_narrow() {
    let graph = graph();
    let ours: BTreeSet<&str> = ORDER.into_iter().collect();
    for (name, allowed) in ONLY {
        for dep in graph[name].iter().filter(|d| ours.contains(d.as_str())) {
            assert!(allowed.contains(&dep.as_str()), "{name} must not depend on {dep}");
        }
    }
}

#[test]
fn the_reference_cannot_reach_what_it_judges() {
    let graph = graph();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut todo = vec!["reference"];
    while let Some(name) = todo.pop() {
        if reached.insert(name) {
            todo.extend(graph.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    for forbidden in ["lower", "assemble", "machine", "runtime", "trace"] {
        assert!(!reached.contains(forbidden), "reference reaches {forbidden}");
    }
}

#[test]
fn one_crate_knows_python_syntax_and_one_the_interpreter() {
    for (name, deps) in graph() {
        for (library, owner) in OWNED {
            assert!(name == owner || !deps.iter().any(|d| d == library), "only {owner} may depend on {library}");
        }
    }
}

#[test]
fn unsafe_code_is_allowed_in_three_crates() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ORDER {
        let root = crates.join(name).join("src/lib.rs");
        let Ok(text) = std::fs::read_to_string(&root) else { continue };
        if text.contains("allow(unsafe_code)") {
            assert!(["isa", "memory", "python"].contains(&name), "{name} must not allow unsafe code");
        }
    }
}
