//! What the decoder relies on: operand groups, kinds, regions and carried values as the op table says. The verifier of
//! crate `ir` checks more, and explains better; this keeps a program that did not pass it from anything but an error.

use ir::info::{Arity, Form, Kind, OpInfo};
use ir::{Block, Function, OpData, Opcode, Type, Value};

use crate::code::Class;

/// Why the operations of a function do not have the form that the table gives them.
pub(super) fn well_formed(func: &Function) -> Result<(), (ir::Op, String)> {
    if !ends(func, func.body) {
        return Err((ir::Entity::new(0), "a function without a terminator".to_string()));
    }
    for op in func.walk() {
        check(func, &func.ops[op]).map_err(|why| (op, why))?;
    }
    Ok(())
}

fn ends(func: &Function, block: Block) -> bool {
    func.blocks[block].ops.last().is_some_and(|&op| func.ops[op].opcode.is_terminator())
}

fn check(func: &Function, data: &OpData) -> Result<(), String> {
    let info = data.opcode.info();
    groups(func, data, info)?;
    let results = match info.form {
        Form::Results(n) => Some(n),
        Form::Dest | Form::Outs(..) | Form::Terminator => Some(0),
        Form::Tile | Form::Carried => None,
    };
    if results.is_some_and(|n| n != data.results.len()) {
        return Err(format!("{} results", data.results.len()));
    }
    match info.form {
        Form::Tile if data.dests.len() + data.results.len() != 1 => {
            return Err("neither one result nor one destination".to_string());
        }
        Form::Dest if data.dests.len() != 1 => return Err("not one destination".to_string()),
        _ => {}
    }
    for &dest in &data.dests {
        let to_memory = matches!(data.opcode, Opcode::TStore | Opcode::MScatter);
        let expected = if to_memory { Kind::PartView } else { Kind::Tile };
        if !fits(expected, func.ty(dest)) {
            return Err("a destination of the wrong kind".to_string());
        }
    }
    if let Some(&result) = data.results.first()
        && let Some(class) = result_class(data.opcode)
        && Class::of(func.ty(result)) != class
    {
        return Err("a result of the wrong kind".to_string());
    }
    if data.regions.len() != info.regions || data.regions.iter().any(|&r| !ends(func, r)) {
        return Err(format!("{} regions that end in a terminator, not {}", info.regions, data.regions.len()));
    }
    carried(func, data)
}

fn groups(func: &Function, data: &OpData, info: &OpInfo) -> Result<(), String> {
    let total: u32 = data.segments.iter().sum();
    if data.segments.len() != info.operands.len() || total as usize != data.operands.len() {
        return Err("operands that do not make the groups of the table".to_string());
    }
    for (i, operand) in info.operands.iter().enumerate() {
        let group = data.group(i);
        let count = match operand.arity {
            Arity::One => group.len() == 1,
            Arity::Optional => group.len() <= 1,
            Arity::Many => true,
        };
        if !count {
            return Err(format!("{} operands `{}`", group.len(), operand.name));
        }
        if let Some(v) = group.iter().find(|&&v| !fits(operand.kind, func.ty(v))) {
            return Err(format!("operand `{}` of type {}", operand.name, func.ty(*v)));
        }
    }
    Ok(())
}

fn fits(kind: Kind, ty: &Type) -> bool {
    match (kind, ty) {
        (Kind::Any, _) => true,
        (Kind::Scalar, Type::Scalar(_)) => true,
        (Kind::Int, Type::Scalar(d)) => d.is_int(),
        (Kind::Bool, Type::Scalar(d)) => *d == dtype::DType::Bool,
        (Kind::Task, Type::TaskId | Type::Array { .. }) => true,
        (Kind::Tile, Type::Tile(t)) => t.shape.len() == t.valid.len() && !t.shape.is_empty(),
        (Kind::Tensor, Type::Tensor(_)) => true,
        (Kind::Array, Type::Array { .. }) => true,
        (Kind::Ptr, Type::Ptr(_)) => true,
        (Kind::View, Type::View(_)) => true,
        (Kind::PartView, Type::PartView { .. }) => true,
        // Kinds that only operations have that nothing here executes.
        (Kind::Memory, ty) => kind.accepts(ty),
        _ => false,
    }
}

/// The register file of a result, where the operands do not say it.
fn result_class(opcode: Opcode) -> Option<Class> {
    use Opcode as C;
    Some(match opcode {
        C::AllocTile | C::Subview | C::TReshape | C::Bitcast | C::TPopFromAic | C::TPopFromAiv => Class::Tile,
        C::MakeTensorView | C::PartitionView => Class::View,
        C::TensorCreate | C::TensorSlice | C::TensorReshape | C::TensorBitcast | C::TensorTranspose => Class::Tensor,
        C::If | C::For | C::While => return None,
        _ => Class::Scalar,
    })
    .filter(|&class| class != Class::Scalar || !matches!(opcode.info().form, Form::Tile))
}

/// Values that move across the border of a region have one type on both sides.
fn carried(func: &Function, data: &OpData) -> Result<(), String> {
    let same = |what: &str, a: &[Value], b: &[Value]| {
        let class = |v: &Value| Class::of(func.ty(*v));
        let ok = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| class(a) == class(b));
        if ok { Ok(()) } else { Err(format!("{what} that do not match")) }
    };
    let end = |block: Block| match func.blocks[block].ops.last() {
        Some(&op) => &func.ops[op],
        None => data,
    };
    let args = |i: usize| &func.blocks[data.regions[i]].args[..];
    let ends_in = |i: usize, opcode: Opcode| {
        let last = end(data.regions[i]).opcode;
        if last == opcode { Ok(()) } else { Err(format!("a region that ends in `{}`", last.name())) }
    };
    match data.opcode {
        Opcode::For => {
            let (init, body) = (data.group(3), args(0));
            let Some((variable, body)) = body.split_first() else { return Err("no loop variable".to_string()) };
            same("loop variables", &[*variable], &data.group(0)[..1])?;
            ends_in(0, Opcode::Yield)?;
            same("carried values", body, init)?;
            same("results", body, &data.results)?;
            same("yielded values", body, &end(data.regions[0]).operands)
        }
        Opcode::If => (0..2).try_for_each(|i| {
            ends_in(i, Opcode::Yield)?;
            same("yielded values", &data.results, &end(data.regions[i]).operands)
        }),
        Opcode::While => {
            ends_in(0, Opcode::Condition)?;
            ends_in(1, Opcode::Yield)?;
            same("carried values", args(0), data.group(0))?;
            let forwarded = end(data.regions[0]).operands.get(1..).unwrap_or(&[]);
            same("forwarded values", args(1), forwarded)?;
            same("results", &data.results, forwarded)?;
            same("yielded values", args(0), &end(data.regions[1]).operands)
        }
        _ => Ok(()),
    }
}
