//! The kernels that faults are put into: upstream's model kernels where a checkout is at hand, and our own always.

use std::path::{Path, PathBuf};

use chip::Arch;
use driver::exec;
use ir::{Opcode as C, Program};

use crate::unplaced::unplaced;

/// One entry of a program, before and after its tiles got addresses.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) entry: String,
    /// Every tile has storage of its own.
    pub(crate) unplaced: Option<Program>,
    /// Every tile has an address that the program came with.
    pub(crate) placed: Option<Program>,
}

/// Where to look for one.
pub(crate) enum Source {
    /// A file with addresses.
    File { path: PathBuf, name: String },
    /// A program that `lower` tests itself with.
    Program { path: PathBuf, name: String, arch: Arch },
}

/// Upstream's kernels first; nothing of them without `TILEWRIGHT_UPSTREAM`.
pub(crate) fn sources() -> Vec<Source> {
    let mut out = Vec::new();
    if let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS/test/samples")) {
        let mut paths = Vec::new();
        files(&root, "pto", &mut paths);
        paths.retain(|p| p.to_string_lossy().contains("/kernels/"));
        let short = |p: &Path| p.strip_prefix(&root).unwrap_or(p).display().to_string();
        out.extend(paths.into_iter().map(|path| Source::File { name: short(&path), path }));
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["tests/faults", "../../tests/fusion"] {
        let mut paths = Vec::new();
        files(&here.join(folder), "pto", &mut paths);
        out.extend(paths.into_iter().map(|path| Source::File { name: stem(&path), path }));
    }
    for folder in ["../lower/tests/programs", "../lower/tests/ops", "../assemble/tests/programs"] {
        let mut paths = Vec::new();
        files(&here.join(folder), "tw", &mut paths);
        for path in paths {
            out.extend(Arch::ALL.map(|arch| Source::Program { name: stem(&path), path: path.clone(), arch }));
        }
    }
    out
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |s| s.to_string_lossy().into_owned())
}

fn files(folder: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, extension, out);
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
}

/// The kernels of a source.
pub(crate) fn load(source: &Source) -> Vec<Kernel> {
    match source {
        Source::File { path, name } => {
            let text = std::fs::read_to_string(path).expect("a text file");
            let program = exec::load(&text, name, None).unwrap_or_else(|f| panic!("{name}: {}", f.render()));
            let entries = exec::entries(&program);
            let kernel = |entry: String| {
                let (name, addressed) = (name.clone(), is_addressed(&program));
                match addressed {
                    true => Kernel { name, entry, unplaced: unplaced(&program), placed: Some(program.clone()) },
                    false => Kernel { name, entry, unplaced: Some(program.clone()), placed: None },
                }
            };
            entries.into_iter().map(kernel).collect()
        }
        Source::Program { path, name, arch } => {
            let Some(program) = tile_level(path, *arch) else { return Vec::new() };
            let entries = exec::entries(&program);
            let name = |entry: &str| format!("{name} on {arch}, {entry}");
            let kernel =
                |entry: String| Kernel { name: name(&entry), entry, unplaced: Some(program.clone()), placed: None };
            entries.into_iter().map(kernel).collect()
        }
    }
}

fn is_addressed(program: &Program) -> bool {
    program
        .functions
        .iter()
        .any(|(_, f)| f.ops.iter().any(|(_, op)| op.opcode == C::AllocTile && !op.named("addr").is_empty()))
}

/// The tile level of a program; `None` if the machine has not all that it needs.
fn tile_level(path: &Path, arch: Arch) -> Option<Program> {
    let text = std::fs::read_to_string(path).expect("readable");
    let shown = path.display().to_string();
    let mut tensor = ir::text::parse_located(&text, &shown).unwrap_or_else(|e| panic!("{shown}: {e:?}"));
    tensor.arch = arch;
    let params = driver::params_of(&tensor, &[]);
    let compiled = driver::Program::from_ir(tensor, params, &driver::Options::new(arch)).ok()?;
    let tile = compiled.print("tile").expect("a program has a tile level");
    Some(ir::text::parse(&tile, &shown).unwrap_or_else(|e| panic!("{shown}: {e:?}")))
}
