//! The pipeline as data: which passes run on a kernel file, in which order, and what a session may choose.
//!
//! A pass is a function of a program; it draws what is free from [`control::Control`] and returns all its errors. It does
//! not judge its own work: the session (`driver`) runs the checkers of `check` over what a pass got and what it made.

use control::Control;
use diag::Diagnostic;
use ir::Program;

use crate::fuse::fuse;
use crate::{Limits, Options, columns, events, fifos, identity, layouts, place, scratch, sync, turns};

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
    /// FIFOs and reserved buffers become what a backend takes. Executors and checkers know the forms of kernel files best:
    /// for text that goes to other tools.
    pub backend_forms: bool,
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
            backend_forms: false,
            place: Options { limits: Limits::Assembler, ..Options::default() },
        }
    }
}

/// One step of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// Both ends of each FIFO agree.
    CheckFifos,
    /// FIFOs become values.
    LowerFifos,
    /// Events between endpoints become flags between pipes.
    LowerEvents,
    /// Views say which axis they run along.
    InferLayouts,
    /// Copies of columns become copies of rows (A5).
    MoveColumns,
    /// Scratch that the file left out is there.
    Scratch,
    /// Vector operations that can be one loop are brought together.
    Fuse,
    /// Tiles that have no address get one.
    Place,
    /// Reserved buffers are the numbers they are at.
    ResolveReserved,
    /// Copies of a tile to where it is already go.
    IdentityMoves,
    /// Flags, barriers or tokens order the pipes.
    InsertSync,
    /// One of several tiles is a tile at an address.
    ResolveTurns,
}

impl Pass {
    /// What messages, dumps and `--mlir-print-ir-after` call it.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::CheckFifos => "infer-validate-pipe-init",
            Pass::LowerFifos => "lower-frontend-pipe-ops",
            Pass::LowerEvents => "lowering-sync-to-pipe",
            Pass::InferLayouts => "infer-layout",
            Pass::MoveColumns => "a5-normalize-tmov",
            Pass::Scratch => "materialize-implicit-tmp",
            Pass::ResolveReserved => "resolve-reserved-buffers",
            Pass::IdentityMoves => "remove-identity-tmov",
            Pass::ResolveTurns => "resolve-buffer-select",
            Pass::Fuse => "op-fusion",
            Pass::Place => "plan-memory",
            Pass::InsertSync => "insert-sync",
        }
    }

    /// # Errors
    /// What of the program the pass cannot do, all of it.
    pub fn run(self, program: &mut Program, settings: &Settings, control: &mut Control) -> Result<(), Vec<Diagnostic>> {
        match self {
            Pass::CheckFifos => fifos::check_fifos(program)?,
            Pass::LowerFifos => fifos::lower_fifos(program)?,
            Pass::LowerEvents => events::lower_events(program),
            Pass::InferLayouts => layouts::infer_layouts(program)?,
            Pass::MoveColumns => columns::move_columns_as_rows(program),
            Pass::Scratch => scratch::materialize_scratch(program, settings.level)?,
            Pass::ResolveReserved => fifos::resolve_reserved(program)?,
            Pass::IdentityMoves => identity::remove_identity_moves(program),
            Pass::ResolveTurns => turns::resolve_turns(program)?,
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
    all.push(if settings.backend_forms { Pass::LowerFifos } else { Pass::CheckFifos });
    all.push(Pass::LowerEvents);
    if settings.layout_inference {
        all.push(Pass::InferLayouts);
    }
    all.push(Pass::MoveColumns);
    if settings.fusion && settings.level >= Level::Two {
        all.push(Pass::Fuse);
    }
    all.push(Pass::Scratch);
    if settings.level < Level::Three {
        all.push(Pass::Place);
    }
    if settings.backend_forms {
        all.push(Pass::ResolveReserved);
    }
    all.push(Pass::IdentityMoves);
    if settings.sync != Sync::Keep {
        all.push(Pass::InsertSync);
    }
    all.push(Pass::ResolveTurns);
    all
}
