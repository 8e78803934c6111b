//! A program as a folder: everything needed to run it, as text.
//!
//! ```text
//! compiled_meta.json              format version, platform, profile, parameters, digests of the files
//! passes_dump/00_frontend.tw      the tensor level
//! passes_dump/01_after_lower.tw   the tile level, whole
//! passes_dump/02_after_place.tw   the machine level, whole: to be read; nothing is loaded from it
//! orchestration/NAME.tw           the orchestration of the machine level
//! ptoas/UNIT.pto                  the kernels of each kind of task, placed
//! report/memory.txt               where the tiles of each kernel lie
//! ```
//!
//! What runs is `orchestration/` and `ptoas/`: edit them and load the folder again. The tensor and tile level are what
//! `check levels` compares with, so it tells whether an edit changed the meaning. Loading parses and verifies all of it: a
//! folder that is incomplete or damaged is an error that names the file. What was edited since the compile ([`edits`], by
//! contents) is a warning of the loaded program that says what the edit does, or that it does nothing.

mod memory;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chip::Arch;
use diag::{Diagnostic, Sources};
use dtype::{DType, Scalar};
use ir::{Arena, Direction, Opcode};
use serde::{Deserialize, Serialize};

use crate::compile::{Failure, Options};
use crate::run::{Program, ProgramParam, ProgramParamKind};

const FORMAT: u32 = 2;
const META: &str = "compiled_meta.json";
const TENSOR: &str = "passes_dump/00_frontend.tw";
const TILE: &str = "passes_dump/01_after_lower.tw";
const MACHINE: &str = "passes_dump/02_after_place.tw";
const MEMORY: &str = "report/memory.txt";
/// Characters of a file's name, without its ending.
const MAX_NAME: usize = 100;

#[derive(Serialize, Deserialize)]
struct Meta {
    format: u32,
    name: String,
    arch: String,
    profile: String,
    params: Vec<MetaParam>,
    /// Files of `ptoas/`, in the order of the kernels they hold.
    units: Vec<String>,
    /// Every other file of the program and a digest of what was written. An edit is seen by what a file holds; its time
    /// changes when a folder is copied, and need not when it is edited.
    files: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct MetaParam {
    name: String,
    direction: String,
    dtype: String,
    /// `null` for a scalar; `null` extents are known only at run time.
    shape: Option<Vec<Option<u64>>>,
    /// The bits of a scalar that the program was specialised for.
    constant: Option<u64>,
}

impl Program {
    /// Writes the folder, creating it if needed. Files that an earlier program left in it are replaced or removed.
    pub fn save(&self, dir: &Path) -> io::Result<()> {
        let mut files = BTreeMap::from([
            (TENSOR.to_owned(), ir::text::print(&self.tensor)),
            (TILE.to_owned(), ir::text::print(&self.tile)),
            (MACHINE.to_owned(), ir::text::print(&self.machine)),
            (orchestration_path(self.name()), ir::text::print(&orchestration(&self.machine))),
            (MEMORY.to_owned(), memory::report(&self.machine)),
        ]);
        let mut units = Vec::new();
        for (name, kernels) in units_of(&self.machine) {
            files.insert(unit_path(&name), pto::print(&self.machine, &kernels));
            units.push(name);
        }
        if let Ok(before) = meta_of(dir) {
            for old in before.files.keys().filter(|f| !files.contains_key(*f) && is_inside(f)) {
                match fs::remove_file(dir.join(old)) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                    _ => {}
                }
            }
        }
        for (name, text) in &files {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap_or(dir))?;
            fs::write(path, text)?;
        }
        let meta = Meta {
            format: FORMAT,
            name: self.name().to_owned(),
            arch: self.options.arch.name().to_owned(),
            profile: self.options.profile.to_string(),
            params: self.params.iter().map(MetaParam::of).collect(),
            units,
            files: files.into_iter().map(|(name, text)| (name, digest(text.as_bytes()))).collect(),
        };
        let text = serde_json::to_string_pretty(&meta).map_err(io::Error::other)?;
        fs::write(dir.join(META), text + "\n")
    }

    /// Reads back what [`Program::save`] wrote.
    pub fn load(dir: &Path) -> Result<Program, Failure> {
        let folder = Folder { dir };
        let path = dir.join(META);
        let meta = meta_of(dir)?;
        let notices = notices(dir, &meta)?;
        let arch: Arch =
            meta.arch.parse().map_err(|()| damaged(&path, &format!("names the platform {:?}", meta.arch)))?;
        let profile =
            meta.profile.parse().map_err(|_| damaged(&path, &format!("names the profile {:?}", meta.profile)))?;
        let params = meta
            .params
            .iter()
            .map(MetaParam::read)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| damaged(&path, "has a parameter that is not understood"))?;
        let tensor = folder.program(TENSOR)?;
        let tile = folder.program(TILE)?;
        let mut machine = folder.program(&orchestration_path(&meta.name))?;
        for unit in &meta.units {
            if *unit != file_name(unit) {
                return Err(damaged(&path, &format!("names the unit {unit:?}, which is not a file of the folder")));
            }
            let name = unit_path(unit);
            let text = folder.read(&name)?;
            let shown = dir.join(&name).display().to_string();
            let functions =
                pto::parse(&text, &shown, &mut machine.sources).map_err(|errors| failure_of(errors, &text, &shown))?;
            for function in functions {
                machine.functions.push(function);
            }
        }
        for (name, program) in [(TENSOR, &tensor), (TILE, &tile), ("ptoas", &machine)] {
            ir::verify::verify(program).map_err(|mut errors| {
                for e in &mut errors {
                    e.notes.push(format!("in {}", dir.join(name).display()));
                }
                Failure { errors, sources: program.sources.clone() }
            })?;
        }
        let mut program = Program::from_levels(tensor, tile, machine, params, &Options { arch, profile })?;
        program.warnings = notices;
        Ok(program)
    }
}

/// Files of the folder that are not what was written there when the program was compiled.
pub fn edits(dir: &Path) -> Result<Vec<String>, Failure> {
    edits_of(dir, &meta_of(dir)?)
}

fn edits_of(dir: &Path, meta: &Meta) -> Result<Vec<String>, Failure> {
    let folder = Folder { dir };
    let mut edited = Vec::new();
    for (name, written) in &meta.files {
        if !is_inside(name) {
            return Err(damaged(&dir.join(META), &format!("names the file {name:?}, which is not one of the folder")));
        }
        let only_to_read = name == MACHINE || name == MEMORY;
        if only_to_read && !dir.join(name).exists() {
            continue;
        }
        if digest(folder.read(name)?.as_bytes()) != *written {
            edited.push(name.clone());
        }
    }
    Ok(edited)
}

/// What to say about the folder's edited files, and about files in `ptoas/` that the program does not have.
fn notices(dir: &Path, meta: &Meta) -> Result<Vec<Diagnostic>, Failure> {
    let mut notices = Vec::new();
    let mut say = |name: &str, what: &str, help: &str| {
        let notice = Diagnostic::warning("edited-artifact", format!("{} {what}", dir.join(name).display()));
        notices.push(notice.help(help));
    };
    for name in edits_of(dir, meta)? {
        if name == MEMORY {
            continue;
        }
        if name == MACHINE {
            say(&name, "was edited, which changes nothing: it is only a dump", "edit ptoas/ or orchestration/");
        } else if name.starts_with("passes_dump/") {
            let what = "was edited after the compile; this changes only what `check levels` compares with";
            say(&name, what, "what runs is ptoas/ and orchestration/: edit those, or the kernel's source");
        } else {
            let what = "was edited after the compile; the edited text was verified, and is what runs";
            say(&name, what, "`--check levels` compares it with the program as it was compiled");
        }
    }
    for entry in fs::read_dir(dir.join("ptoas")).into_iter().flatten().flatten() {
        let name = format!("ptoas/{}", entry.file_name().to_string_lossy());
        if name.ends_with(".pto") && !meta.files.contains_key(&name) {
            say(&name, "is no part of this program and is not run", "its tasks' files are named in compiled_meta.json");
        }
    }
    notices.sort_by(|a, b| a.message.cmp(&b.message));
    Ok(notices)
}

fn meta_of(dir: &Path) -> Result<Meta, Failure> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let path = dir.join(META);
    let text = Folder { dir }.read(META)?;
    let wrong = |e| damaged(&path, &format!("is not a description of a compiled program: {e}"));
    let version: Version = serde_json::from_str(&text).map_err(wrong)?;
    if version.format != FORMAT {
        return Err(damaged(&path, &format!("has format {}, and this version reads {FORMAT}", version.format)));
    }
    serde_json::from_str(&text).map_err(wrong)
}

/// FNV-1a, 64 bits: tells an edit from none; nobody is kept from forging one.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// A path of `compiled_meta.json` that stays in the folder.
fn is_inside(name: &str) -> bool {
    Path::new(name).components().all(|c| matches!(c, std::path::Component::Normal(_)))
}

struct Folder<'a> {
    dir: &'a Path,
}

impl Folder<'_> {
    fn read(&self, name: &str) -> Result<String, Failure> {
        let path = self.dir.join(name);
        fs::read_to_string(&path).map_err(|e| damaged(&path, &format!("cannot be read: {e}")))
    }

    fn program(&self, name: &str) -> Result<ir::Program, Failure> {
        let text = self.read(name)?;
        let shown = self.dir.join(name).display().to_string();
        ir::text::parse(&text, &shown).map_err(|errors| failure_of(errors, &text, &shown))
    }
}

fn damaged(path: &Path, what: &str) -> Failure {
    let error = Diagnostic::error("damaged-artifact", format!("{} {what}", path.display()))
        .help("compile the program again, or name the folder that `.compile()` wrote");
    Failure::new(error, &Sources::default())
}

/// Errors of a parser, whose spans point into one file: the first of its table.
fn failure_of(errors: Vec<Diagnostic>, text: &str, shown: &str) -> Failure {
    let mut sources = Sources::default();
    sources.add(diag::SourceFile { path: shown.to_owned(), text: Some(text.into()), first_line: 1 });
    Failure { errors, sources }
}

fn orchestration_path(name: &str) -> String {
    let file: PathBuf = Path::new("orchestration").join(format!("{}.tw", file_name(name)));
    file.display().to_string()
}

fn unit_path(unit: &str) -> String {
    format!("ptoas/{unit}.pto")
}

/// A name of the program's as the name of a file in the folder, whatever it contains.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().take(MAX_NAME).map(plain).collect()
}

/// The program without its kernels.
fn orchestration(machine: &ir::Program) -> ir::Program {
    let mut functions = Arena::default();
    let entry = functions.push(machine.functions[machine.entry].clone());
    ir::Program { functions, entry, ..machine.clone() }
}

/// The kernels submitted together, by the name of their task, in order of first submission.
fn units_of(machine: &ir::Program) -> Vec<(String, Vec<ir::FuncId>)> {
    let entry = &machine.functions[machine.entry];
    let mut units: Vec<(String, Vec<ir::FuncId>)> = Vec::new();
    for op in entry.walk() {
        let op = &entry.ops[op];
        if op.opcode != Opcode::Submit {
            continue;
        }
        let symbols = op.attrs.symbols("kernels").unwrap_or_default();
        let kernels: Vec<_> = symbols.iter().filter_map(|s| machine.function(s)).collect();
        if kernels.is_empty() || units.iter().any(|(_, k)| *k == kernels) {
            continue;
        }
        let base = file_name(op.attrs.word("name").unwrap_or("kernel"));
        let taken = units.iter().filter(|(n, _)| *n == base || n.starts_with(&format!("{base}_"))).count();
        units.push((if taken == 0 { base } else { format!("{base}_{taken}") }, kernels));
    }
    units
}

impl MetaParam {
    fn of(param: &ProgramParam) -> MetaParam {
        let direction = match param.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        let (dtype, shape, constant) = match &param.kind {
            ProgramParamKind::Tensor { dtype, shape } => (*dtype, Some(shape.clone()), None),
            ProgramParamKind::Scalar { dtype, constant } => (*dtype, None, constant.map(|c| c.bits)),
        };
        MetaParam {
            name: param.name.clone(),
            direction: direction.to_owned(),
            dtype: dtype.name().to_owned(),
            shape,
            constant,
        }
    }

    fn read(&self) -> Option<ProgramParam> {
        let direction = match self.direction.as_str() {
            "in" => Direction::In,
            "out" => Direction::Out,
            "inout" => Direction::InOut,
            _ => return None,
        };
        let dtype: DType = self.dtype.parse().ok()?;
        let kind = match &self.shape {
            Some(shape) => ProgramParamKind::Tensor { dtype, shape: shape.clone() },
            None => ProgramParamKind::Scalar { dtype, constant: self.constant.map(|bits| Scalar::new(dtype, bits)) },
        };
        Some(ProgramParam { name: self.name.clone(), direction, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::{digest, file_name, is_inside};

    #[test]
    fn the_digest_is_the_published_function() {
        // Test vectors of FNV-1a.
        assert_eq!(digest(b""), "cbf29ce484222325");
        assert_eq!(digest(b"foobar"), "85944171f73967e8");
    }

    #[test]
    fn a_name_never_leaves_the_folder() {
        assert!(is_inside("ptoas/a.pto") && !is_inside("../a.pto") && !is_inside("/a.pto") && !is_inside("a/../../b"));
        assert_eq!(file_name("../../escaped"), "______escaped");
        assert_eq!(file_name("add_scalar"), "add_scalar");
        assert_eq!(file_name(&"n".repeat(300)).len(), super::MAX_NAME);
        assert_eq!(file_name(&file_name("a/b é")), file_name("a/b é"), "loading compares with this");
    }
}
