//! Which core executes an operation of a cluster function.

use std::collections::BTreeMap;

use chip::{Core, Space};
use diag::Diagnostic;
use ir::{Function, Op, OpData, Opcode, Value};

/// What an operation is to the split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// A tile operation, or an effect, of this core; always kept there.
    On(Core),
    /// A move from one core's buffer to the other's; to the vector core or to the cube core.
    Crossing { to: Core },
    /// Kept on both cores.
    Both,
    /// Scalar code, descriptors, control flow: kept where it is needed.
    Wherever,
}

pub(super) struct Sides {
    sides: BTreeMap<Op, Side>,
}

impl Sides {
    pub(super) fn of(&self, op: Op) -> Side {
        self.sides.get(&op).copied().unwrap_or(Side::Wherever)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Op, Side)> {
        self.sides.iter().map(|(&op, &side)| (op, side))
    }
}

pub(super) fn assign(func: &Function) -> Result<Sides, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut sides = BTreeMap::new();
    for op in func.walk() {
        match side(func, &func.ops[op]) {
            Ok(side) => {
                sides.insert(op, side);
            }
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() { Ok(Sides { sides }) } else { Err(errors) }
}

/// The space of a tile value.
pub(super) fn space(func: &Function, value: Value) -> Option<Space> {
    func.ty(value).as_tile().and_then(|t| t.space)
}

fn side(func: &Function, data: &OpData) -> Result<Side, Box<Diagnostic>> {
    let refuse = |message: String| {
        let message = format!("`{}`: {message}", func.name);
        Err(Box::new(
            Diagnostic::unsupported("core-crossing", message).at(data.span, "in a scope with cube and vector work"),
        ))
    };
    match data.opcode {
        Opcode::SyncAll | Opcode::Return => return Ok(Side::Both),
        Opcode::StoreScalar => return Ok(Side::On(Core::Vector)),
        // They may fail, and then the program does, whoever needs the result.
        Opcode::LoadScalar | Opcode::ArrayGet => return Ok(Side::Wherever),
        Opcode::AllocTile | Opcode::Subview | Opcode::TReshape | Opcode::Bitcast => return Ok(Side::Wherever),
        Opcode::AicInitializePipe
        | Opcode::AivInitializePipe
        | Opcode::ReserveBuffer
        | Opcode::ImportReservedBuffer
        | Opcode::TPushToAiv
        | Opcode::TPopFromAic
        | Opcode::TFreeFromAic
        | Opcode::TPushToAic
        | Opcode::TPopFromAiv
        | Opcode::TFreeFromAiv => {
            return refuse(format!("{} is for kernels that are written for one core", data.opcode.name()));
        }
        _ => {}
    }
    if !data.regions.is_empty() || data.opcode.is_terminator() {
        return Ok(Side::Wherever);
    }
    let spaces: Vec<Space> = data.operands.iter().chain(&data.dests).filter_map(|&v| space(func, v)).collect();
    let Some(&first) = spaces.first() else { return Ok(Side::Wherever) };
    if spaces.iter().all(|s| s.core() == first.core()) {
        return Ok(Side::On(first.core()));
    }
    match (data.opcode, &spaces[..]) {
        (Opcode::TMov, [Space::Acc, Space::Vec]) => Ok(Side::Crossing { to: Core::Vector }),
        (Opcode::TMov, [Space::Vec, Space::Mat]) => Ok(Side::Crossing { to: Core::Cube }),
        _ => {
            let names: Vec<&str> = spaces.iter().map(|s| s.name()).collect();
            refuse(format!(
                "{} works on {}; between the cores there are only moves from acc to vec and from vec to mat",
                data.opcode.name(),
                names.join(", ")
            ))
        }
    }
}
