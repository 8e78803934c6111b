//! Where in global memory a pointer or a view points: a parameter of the function, and bytes from there on.
//!
//! Different pointer parameters are taken to point into different tensors, as upstream's assembler takes them: a kernel
//! that gets one tensor twice has to order its accesses itself. What is not derived from one parameter may point anywhere.

use ir::{Entity, Function, Opcode as C, Type, Value};

use super::{ByteBox, Footprint, Memory, Place};

/// An address: the parameter it is derived from, and its distance in bytes if known.
#[derive(Clone, Copy)]
struct Base {
    memory: Memory,
    offset: Option<i64>,
}

const ANYWHERE: Base = Base { memory: Memory::Anywhere, offset: None };

/// Longer chains of pointers are followed no further.
const MAX_CHAIN: usize = 64;

/// The bytes of the element `index` behind a pointer.
pub(super) fn element(func: &Function, ptr: Value, index: Value) -> Place {
    let base = pointer(func, ptr, 0);
    let size = func.ty(ptr).element().map_or(1, |d| d.size() as i64);
    let at = base.offset.zip(func.const_int(index)).and_then(|(o, i)| o.checked_add(i.checked_mul(size)?));
    let bytes = match at {
        Some(at) => Footprint::Box(ByteBox::run(shifted(at), size as u64)),
        None => Footprint::Any,
    };
    Place { memory: base.memory, bytes, handle: ptr }
}

/// The bytes that a pointer or view is of.
pub(super) fn region(func: &Function, value: Value) -> Place {
    match func.ty(value) {
        Type::View(_) | Type::PartView { .. } => view(func, value),
        _ => Place { memory: pointer(func, value, 0).memory, bytes: Footprint::Any, handle: value },
    }
}

fn view(func: &Function, value: Value) -> Place {
    let any = |memory| Place { memory, bytes: Footprint::Any, handle: value };
    let Some(op) = func.def_op(value) else {
        let own = func.param_values().contains(&value);
        return any(if own { Memory::Global(value) } else { Memory::Anywhere });
    };
    let data = &func.ops[op];
    match data.opcode {
        C::MakeTensorView => {
            let base = pointer(func, data.named("ptr")[0], 0);
            let zeros = vec![Some(0); data.named("shape").len()];
            let bytes = boxed(func, base, value, &zeros, data.named("shape"), data.named("strides"));
            Place { memory: base.memory, bytes, handle: value }
        }
        C::PartitionView => {
            let whole = data.named("view")[0];
            let made = func.def_op(whole).map(|op| &func.ops[op]).filter(|d| d.opcode == C::MakeTensorView);
            let Some(made) = made else { return any(view(func, whole).memory) };
            let base = pointer(func, made.named("ptr")[0], 0);
            let offsets: Vec<Option<i64>> = data.named("offsets").iter().map(|&v| func.const_int(v)).collect();
            let bytes = boxed(func, base, value, &offsets, data.named("sizes"), made.named("strides"));
            Place { memory: base.memory, bytes, handle: value }
        }
        // Slots of a FIFO in global memory: those of one FIFO are not told apart.
        C::TAllocToAiv | C::TAllocToAic | C::TPopViewFromAic | C::TPopViewFromAiv => {
            any(Memory::Slots(data.attrs.int("id").unwrap_or(0)))
        }
        C::DeclareGlobal => any(Memory::Slots(value.index() as i64)),
        _ => any(Memory::Anywhere),
    }
}

/// Bytes of a box in a strided view, as rows if its last axis lies together.
fn boxed(
    func: &Function,
    base: Base,
    value: Value,
    offsets: &[Option<i64>],
    sizes: &[Value],
    strides: &[Value],
) -> Footprint {
    let known = || {
        let size = func.ty(value).element()?.size() as i64;
        let mut start = base.offset?;
        let mut axes = Vec::new();
        for ((&offset, &extent), &stride) in offsets.iter().zip(sizes).zip(strides) {
            let (stride, extent) = (func.const_int(stride)?.checked_mul(size)?, func.const_int(extent)?);
            start = start.checked_add(offset?.checked_mul(stride)?)?;
            if extent <= 0 || stride < 0 {
                return Some(ByteBox::run(0, 0)).filter(|_| extent <= 0);
            }
            if extent > 1 {
                axes.push((stride as u64, extent as u64));
            }
        }
        axes.sort_unstable();
        let (start, mut width, mut rows, mut pitch) = (shifted(start), size as u64, 1, 0);
        for (stride, extent) in axes {
            if rows == 1 && stride <= width {
                width = width.max(stride.checked_mul(extent - 1)?.checked_add(width)?);
            } else if rows == 1 {
                (rows, pitch) = (extent, stride);
            } else {
                // A third axis with gaps: everything from the first byte to the last.
                let end = pitch.checked_mul(rows - 1)?.checked_add(width)?;
                (width, rows, pitch) = (stride.checked_mul(extent - 1)?.checked_add(end)?, 1, 0);
            }
        }
        Some(ByteBox::new(start, rows, pitch, width))
    };
    known().map_or(Footprint::Any, Footprint::Box)
}

/// Distances from a parameter may be negative; boxes count from far below it.
fn shifted(offset: i64) -> u64 {
    (1u64 << 62).wrapping_add(offset as u64)
}

fn pointer(func: &Function, value: Value, depth: usize) -> Base {
    if func.param_values().contains(&value) {
        return Base { memory: Memory::Global(value), offset: Some(0) };
    }
    let Some(op) = func.def_op(value).filter(|_| depth < MAX_CHAIN) else { return ANYWHERE };
    let data = &func.ops[op];
    match data.opcode {
        C::AddPtr => {
            let base = pointer(func, data.named("ptr")[0], depth + 1);
            let size = func.ty(value).element().map_or(1, |d| d.size() as i64);
            let by = func.const_int(data.named("offset")[0]).and_then(|v| v.checked_mul(size));
            Base { offset: base.offset.zip(by).and_then(|(o, b)| o.checked_add(b)), ..base }
        }
        C::CastPtr if matches!(func.ty(data.named("value")[0]), Type::Ptr(_)) => {
            pointer(func, data.named("value")[0], depth + 1)
        }
        C::CastPtr | C::IntToPtr => integer(func, data.named("value")[0], depth + 1),
        _ => ANYWHERE,
    }
}

/// An address kept in an integer: of the one parameter that it is computed from.
fn integer(func: &Function, value: Value, depth: usize) -> Base {
    let Some(op) = func.def_op(value).filter(|_| depth < MAX_CHAIN) else { return ANYWHERE };
    let data = &func.ops[op];
    match data.opcode {
        C::PtrToInt => Base { offset: None, ..pointer(func, data.named("ptr")[0], depth + 1) },
        C::CastPtr => Base { offset: None, ..pointer(func, data.named("value")[0], depth + 1) },
        C::ScalarAdd => {
            let sides = [data.named("a")[0], data.named("b")[0]];
            let mut bases = sides.iter().map(|&v| integer(func, v, depth + 1)).filter(|b| b.memory != Memory::Anywhere);
            match (bases.next(), bases.next()) {
                (Some(base), None) => Base { offset: None, ..base },
                _ => ANYWHERE,
            }
        }
        _ => ANYWHERE,
    }
}
