//! What a kernel file may say at its level (`spec/pto-assembly.md` §3.2): who decides addresses, and what only the highest
//! level has. These are rules about a file and the flags it is assembled with, so they stand before the pipeline and not
//! in the verifier, which knows no flags.

use chip::Space;
use diag::Diagnostic;
use ir::{Function, OpData, Opcode as C, Program};

use crate::pass::{Level, Settings, Sync};

/// The rules: the code of their errors, and what they say.
pub const RULES: &[(&str, &str)] = &[
    ("level-address", "at level 3 every tile has an address, below it none has"),
    (
        "level-reserve",
        "at level 3 a reserved buffer has a base and is not left to the planner; below it the planner decides",
    ),
    ("reserve-base", "the base of a reserved buffer is a multiple of 256 bytes, and the buffer fits its space"),
    ("level-assign", "only at level 3, and only where the file orders its pipes itself, a tile gets another address"),
    ("loop-step", "a loop of a kernel file counts up: its step is not a literal of zero or less"),
    ("tail-hint", "the hint for the end of a function is one of those that exist"),
];

/// All breaches, in program order.
///
/// # Errors
/// Every operation and function that breaks one of [`RULES`].
pub fn level_rules(program: &Program, settings: &Settings) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for (id, func) in program.functions.iter() {
        if id == program.entry && !func.is_kernel() {
            continue;
        }
        if let Some(error) = tail_hint(func) {
            errors.push(error);
        }
        for op in func.walk() {
            let data = &func.ops[op];
            if let Err((code, message)) = rule(program, func, data, settings) {
                errors.push(Diagnostic::error(code, message).at(data.span, "this operation"));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

type Breach = (&'static str, String);

fn rule(program: &Program, func: &Function, op: &OpData, settings: &Settings) -> Result<(), Breach> {
    let top = settings.level == Level::Three;
    let name = op.opcode.name();
    match op.opcode {
        C::AllocTile | C::AllocTiles => {
            let given = !op.named("addr").is_empty();
            match (top, given) {
                (true, false) => {
                    Err(("level-address", format!("{name} needs an 'addr' at level 3: nobody plans for it")))
                }
                (false, true) => Err((
                    "level-address",
                    format!("{name} has an 'addr', which level {} leaves to the planner", number(settings.level)),
                )),
                _ => Ok(()),
            }
        }
        C::ReserveBuffer => reserve(program, op, settings),
        C::TAssign if !top => Err(("level-assign", format!("{name} gives a tile an address; that is for level 3"))),
        C::TAssign if settings.sync != Sync::Keep => Err((
            "level-assign",
            format!("{name} moves a tile where synchronisation cannot follow; leave it out or write the flags"),
        )),
        C::For => match func.const_int(op.named("step")[0]) {
            Some(step) if step <= 0 => Err(("loop-step", format!("a step of {step} never reaches the upper bound"))),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn number(level: Level) -> u8 {
    match level {
        Level::One => 1,
        Level::Two => 2,
        Level::Three => 3,
    }
}

fn reserve(program: &Program, op: &OpData, settings: &Settings) -> Result<(), Breach> {
    let name = op.attrs.word("name").unwrap_or("?");
    let (auto, base) = (op.attrs.bool("auto"), op.attrs.int("base"));
    if settings.level < Level::Three {
        let level = number(settings.level);
        return match (auto, base) {
            (true, None) => Ok(()),
            (true, Some(base)) => Err((
                "level-reserve",
                format!("`{name}` has the base {base}, which level {level} leaves to the planner"),
            )),
            (false, _) => {
                Err(("level-reserve", format!("`{name}` is not auto, but level {level} has nobody else to place it")))
            }
        };
    }
    let Some(base) = base.filter(|_| !auto) else {
        return Err(("level-reserve", format!("at level 3 `{name}` needs a base, and 'auto = false'")));
    };
    let size = op.attrs.int("size").unwrap_or(0);
    let Some(space) = op.attrs.word("location").and_then(|w| w.parse::<Space>().ok()) else { return Ok(()) };
    let capacity = program.arch.chip().capacity(space).assembler as i64;
    if base < 0 || base % 256 != 0 {
        return Err(("reserve-base", format!("the base {base} of `{name}` is not a multiple of 256 bytes")));
    }
    if base.checked_add(size).is_none_or(|end| end > capacity) {
        return Err(("reserve-base", format!("{size} bytes from {base} on leave {space}, which has {capacity}")));
    }
    Ok(())
}

/// How a function may end, by the names of its attribute.
pub const TAIL_HINTS: [&str; 7] = [
    "barrier-all",
    "barrier_all",
    "default",
    "mte3-to-s-event0",
    "mte3_to_s_event0",
    "setwait-mte3-to-s-event0",
    "setwait_mte3_to_s_event0",
];

fn tail_hint(func: &Function) -> Option<Diagnostic> {
    let (_, hint) = func.attributes.iter().find(|(name, _)| name == "pto.auto_sync_tail_hint")?;
    let hint = hint.trim_matches('"');
    if TAIL_HINTS.contains(&hint) {
        return None;
    }
    let message =
        format!("@{} is to end as '{hint}'; there is 'barrier-all' ('default') and 'mte3-to-s-event0'", func.name);
    // A function has no place of its own: that of its first operation.
    let span = func.walk().first().and_then(|&op| func.ops[op].span);
    Some(Diagnostic::error("tail-hint", message).at(span, "the function begins here"))
}
