//! Element types by architecture, as a table: what the device has instructions for.

use chip::Arch;
use dtype::DType::{self, BF16, F16, F32, I8, I16, I32};

use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::verify::{Check, Cx, Fault, ensure};

/// Operations, the operand or destination that is looked at, and its element types on A2/A3 and on A5. Unsigned integers
/// count as signed ones of their width.
struct Row {
    ops: &'static [C],
    of: Of,
    a2a3: &'static [DType],
    a5: &'static [DType],
}

#[derive(Clone, Copy)]
enum Of {
    Group(&'static str),
    Dest,
}

const ARITHMETIC: &[DType] = &[I32, I16, F16, F32];
const ARITHMETIC_A5: &[DType] = &[I32, I16, F16, F32, I8, BF16];
const FLOATS: &[DType] = &[F16, F32];
const ANY_WIDTH: &[DType] = &[I8, I16, I32, F16, BF16, F32];

const GATHERED_A5: &[DType] = &[I8, I16, I32, F16, F32, DType::F8E4M3, DType::F8E5M2, DType::HiF8];

const ROWS: &[Row] = &[
    Row { ops: &[C::TAdd, C::TSub, C::TMax, C::TMin], of: Of::Dest, a2a3: ARITHMETIC, a5: ARITHMETIC_A5 },
    Row { ops: &[C::TMul], of: Of::Dest, a2a3: ARITHMETIC, a5: &[I32, I16, F16, F32, BF16] },
    Row {
        ops: &[C::TAddS, C::TSubS, C::TMulS, C::TDivS, C::TMaxS, C::TMinS],
        of: Of::Dest,
        a2a3: ARITHMETIC,
        a5: ARITHMETIC_A5,
    },
    Row { ops: &[C::TDiv, C::TFmod, C::TRem, C::TRemS, C::TFmodS], of: Of::Dest, a2a3: ARITHMETIC, a5: ARITHMETIC },
    Row {
        ops: &[C::TExp, C::TLog, C::TSqrt, C::TRsqrt, C::TRecip, C::TLRelu, C::TPRelu],
        of: Of::Dest,
        a2a3: FLOATS,
        a5: FLOATS,
    },
    Row { ops: &[C::TColExpandDiv, C::TRowExpandDiv], of: Of::Dest, a2a3: FLOATS, a5: FLOATS },
    Row { ops: &[C::TSel, C::TSelS], of: Of::Dest, a2a3: &[I16, I32, F16, BF16, F32], a5: ANY_WIDTH },
    Row {
        ops: &[C::TRowSum, C::TRowMax, C::TRowMin, C::TRowProd],
        of: Of::Group("source"),
        a2a3: ARITHMETIC,
        a5: ARITHMETIC,
    },
    Row {
        ops: &[C::TColSum, C::TColMax, C::TColMin, C::TColProd],
        of: Of::Group("source"),
        a2a3: ARITHMETIC,
        a5: ARITHMETIC_A5,
    },
    Row { ops: &[C::TRowArgMax, C::TRowArgMin], of: Of::Group("source"), a2a3: ARITHMETIC, a5: ARITHMETIC },
    Row { ops: &[C::TColArgMax, C::TColArgMin], of: Of::Group("source"), a2a3: ANY_WIDTH, a5: ANY_WIDTH },
    Row { ops: &[C::TGather], of: Of::Dest, a2a3: ARITHMETIC, a5: GATHERED_A5 },
    Row { ops: &[C::TGather], of: Of::Group("indices"), a2a3: &[I32], a5: &[I32, I16] },
];

/// The signed integer of the same width.
fn signed(dtype: DType) -> DType {
    match dtype {
        DType::U8 | DType::SI8 => I8,
        DType::U16 => I16,
        DType::U32 => I32,
        other => other,
    }
}

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    let arch = cx.program.arch;
    for row in ROWS.iter().filter(|row| row.ops.contains(&op.opcode)) {
        let value = match row.of {
            Of::Dest => op.dest(),
            Of::Group(name) => op.opcode.info().group(name).and_then(|g| op.group(g).first().copied()),
        };
        let Some(dtype) = value.and_then(|v| cx.ty(v).element()) else { continue };
        let legal = if arch == Arch::A5 { row.a5 } else { row.a2a3 };
        ensure!(
            legal.contains(&signed(dtype)),
            "element-types",
            "{} on {arch} takes {}, not {dtype}",
            op.opcode.name(),
            legal.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
        );
    }
    match op.opcode {
        C::TCvt => conversion(cx, op),
        C::TGatherCmp if arch == Arch::A2a3 => {
            let source = cx.tile(op.named("source")[0])?.dtype;
            let equal = op.attrs.word("cmpMode").unwrap_or("eq") == "eq";
            ensure!(
                FLOATS.contains(&source) || (source == I32 && equal),
                "element-types",
                "a gather by comparison on {arch} takes f16 and f32, and i32 where it asks for equal ones; not {source}"
            );
            Ok(())
        }
        C::TPrefetch if arch == Arch::A2a3 => {
            for value in op.operands.iter().chain(&op.dests) {
                let stored = cx.ty(*value).element().is_some_and(|d| !d.is_computed());
                ensure!(!stored, "element-types", "{arch} has no {}", cx.ty(*value));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Conversions from and to the formats of 8 bits and less.
fn conversion(cx: &Cx<'_>, op: &OpData) -> Check {
    let (from, to) = (cx.tile(op.operands[0])?.dtype, cx.output(op)?.dtype);
    if from.is_computed() && to.is_computed() {
        return Ok(());
    }
    let arch = cx.program.arch;
    ensure!(arch == Arch::A5, "element-types", "{arch} has no conversion from {from} to {to}");
    let narrow = |d: DType| d.is_f8() || d == DType::HiF8;
    let fits = (from == F32 && narrow(to))
        || (narrow(from) && to == F32)
        || (from == F16 && to == DType::HiF8)
        || (from == BF16 && to.is_f4())
        || (from.is_f4() && to == BF16);
    if fits {
        return Ok(());
    }
    Err(Fault { code: "element-types", message: format!("{arch} has no conversion from {from} to {to}") })
}
