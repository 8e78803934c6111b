//! A program as a folder: everything needed to run it, as text.
//!
//! ```text
//! compiled_meta.json              format version, platform, profile, parameters
//! passes_dump/00_frontend.tw      the tensor level
//! passes_dump/01_after_lower.tw   the tile level, whole
//! orchestration/NAME.tw           the orchestration of the machine level
//! ptoas/UNIT.pto                  the kernels of each kind of task, placed
//! ```
//!
//! Loading parses and verifies all of it: a folder that is incomplete or damaged is an error that names the file.

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

const FORMAT: u32 = 1;
const META: &str = "compiled_meta.json";
const TENSOR: &str = "passes_dump/00_frontend.tw";
/// Characters of a file's name, without its ending.
const MAX_NAME: usize = 100;
const TILE: &str = "passes_dump/01_after_lower.tw";

#[derive(Serialize, Deserialize)]
struct Meta {
    format: u32,
    name: String,
    arch: String,
    profile: String,
    params: Vec<MetaParam>,
    /// Files of `ptoas/`, in the order of the kernels they hold.
    units: Vec<String>,
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
    /// Writes the folder, creating it if needed.
    pub fn save(&self, dir: &Path) -> io::Result<()> {
        for sub in ["passes_dump", "orchestration", "ptoas"] {
            fs::create_dir_all(dir.join(sub))?;
        }
        fs::write(dir.join(TENSOR), ir::text::print(&self.tensor))?;
        fs::write(dir.join(TILE), ir::text::print(&self.tile))?;
        fs::write(dir.join(orchestration_path(self.name())), ir::text::print(&orchestration(&self.machine)))?;
        let mut units = Vec::new();
        for (name, kernels) in units_of(&self.machine) {
            fs::write(dir.join("ptoas").join(format!("{name}.pto")), pto::print(&self.machine, &kernels))?;
            units.push(name);
        }
        let meta = Meta {
            format: FORMAT,
            name: self.name().to_owned(),
            arch: self.options.arch.name().to_owned(),
            profile: self.options.profile.to_string(),
            params: self.params.iter().map(MetaParam::of).collect(),
            units,
        };
        let text = serde_json::to_string_pretty(&meta).map_err(io::Error::other)?;
        fs::write(dir.join(META), text + "\n")
    }

    /// Reads back what [`Program::save`] wrote.
    pub fn load(dir: &Path) -> Result<Program, Failure> {
        let folder = Folder { dir };
        let path = dir.join(META);
        let meta: Meta = serde_json::from_str(&folder.read(META)?)
            .map_err(|e| damaged(&path, &format!("is not a description of a compiled program: {e}")))?;
        if meta.format != FORMAT {
            return Err(damaged(&path, &format!("has format {}, and this version reads {FORMAT}", meta.format)));
        }
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
            let name = format!("ptoas/{unit}.pto");
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
        Program::from_levels(tensor, tile, machine, params, &Options { arch, profile })
    }
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
    use super::file_name;

    #[test]
    fn a_name_never_leaves_the_folder() {
        assert_eq!(file_name("../../escaped"), "______escaped");
        assert_eq!(file_name("add_scalar"), "add_scalar");
        assert_eq!(file_name(&"n".repeat(300)).len(), super::MAX_NAME);
        assert_eq!(file_name(&file_name("a/b é")), file_name("a/b é"), "loading compares with this");
    }
}
