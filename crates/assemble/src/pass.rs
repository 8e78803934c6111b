//! The pipeline as data: which passes run on a kernel file, in which order, and what a session may choose.
//!
//! A pass is a function of a program; it draws what is free from [`control::Control`] and returns all its errors. It does
//! not judge its own work: the session (`driver`) runs the checkers of `check` over what a pass got and what it made.

use control::Control;
use diag::Diagnostic;
use ir::Program;

use crate::Options;
use crate::fuse::fuse;
use crate::place;
use crate::sync;

/// How much of a kernel file has been decided by who wrote it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// As [`Level::Two`], and never fused.
    One,
    /// Tiles have no addresses: the planner gives them.
    Two,
    /// Every tile has an address.
    Three,
}

/// How the order between pipes is made explicit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Sync {
    /// Left as written.
    #[default]
    Keep,
    /// `set_flag` and `wait_flag` pairs, and barriers within a pipe.
    Flags,
    /// Buffer tokens (A5).
    Tokens,
    /// A barrier of all pipes before every operation that touches memory.
    BarrierAll,
}

/// What a session asks of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub level: Level,
    pub sync: Sync,
    /// Groups and schedules vector operations (A5).
    pub fusion: bool,
    /// Fusion knows equal extents by inference, not only by equal constants.
    pub shape_inference: bool,
    pub layout_inference: bool,
    pub place: Options,
}

impl Settings {
    pub fn new(level: Level) -> Settings {
        Settings {
            level,
            sync: Sync::Keep,
            fusion: false,
            shape_inference: true,
            layout_inference: true,
            place: Options::default(),
        }
    }
}

/// One step of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// Vector operations that can be one loop are brought together.
    Fuse,
    /// Tiles that have no address get one.
    Place,
    /// Flags, barriers or tokens order the pipes.
    InsertSync,
}

impl Pass {
    /// What messages, dumps and `--mlir-print-ir-after` call it.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::Fuse => "op-fusion",
            Pass::Place => "plan-memory",
            Pass::InsertSync => "insert-sync",
        }
    }

    /// # Errors
    /// What of the program the pass cannot do, all of it.
    pub fn run(self, program: &mut Program, settings: &Settings, control: &mut Control) -> Result<(), Vec<Diagnostic>> {
        match self {
            Pass::Fuse => {
                fuse(program, settings.shape_inference, control);
            }
            Pass::Place => *program = place(program, &settings.place)?,
            Pass::InsertSync => {
                sync::insert(program, settings.sync, control)?;
            }
        }
        Ok(())
    }
}

/// The passes of a kernel file, in order.
pub fn passes(settings: &Settings) -> Vec<Pass> {
    let mut all = Vec::new();
    if settings.fusion && settings.level >= Level::Two {
        all.push(Pass::Fuse);
    }
    if settings.level < Level::Three {
        all.push(Pass::Place);
    }
    if settings.sync != Sync::Keep {
        all.push(Pass::InsertSync);
    }
    all
}
