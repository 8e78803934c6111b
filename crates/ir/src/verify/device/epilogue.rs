//! FIFOs between the cores, beyond what [`fifo`](crate::verify::fifo) asks: splits, and the *epilogue* of a FIFO through the
//! fix pipe (`acc_push_epilogue`): which elements go in, which come out, and which scales are set in between.
//!
//! ```text
//! aic: aic_initialize_pipe {id, epilogue}   set_quant_scalar {id}   tpush_to_aiv {id}       elements by `Mode::from`
//! aiv: aiv_initialize_pipe {id, epilogue}                           tpop_from_aic {id}      elements by `Mode::to`
//! ```

use chip::{Arch, Core};
use dtype::DType;

use crate::entity::Op;
use crate::function::{Function, FunctionKind, OpData};
use crate::ops::Opcode as C;
use crate::types::{Major, TileType, Type};
use crate::verify::{Check, Cx, Fault, ensure};

/// What a mode of quantisation takes from Acc and makes; `None`: what it took.
struct Mode {
    name: &'static str,
    from: &'static [DType],
    to: Option<&'static [DType]>,
    scales: Scales,
    a5: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scales {
    None,
    Scalar,
    Vector,
}

const fn mode(name: &'static str, from: &'static [DType], to: &'static [DType], scales: Scales, a5: bool) -> Mode {
    Mode { name, from, to: Some(to), scales, a5 }
}

/// Flags of a function's FIFOs: two for each direction.
const FLAGS: i64 = 16;

const I: &[DType] = &[DType::I32];
const F: &[DType] = &[DType::F32];

const MODES: &[Mode] = &[
    Mode { name: "no_convert", from: &[DType::F32, DType::I32], to: None, scales: Scales::None, a5: false },
    mode("f32_f16", F, &[DType::F16], Scales::None, false),
    mode("f32_bf16", F, &[DType::BF16], Scales::None, false),
    mode("req8_scalar", I, &[DType::SI8, DType::U8], Scales::Scalar, false),
    mode("req8_vec", I, &[DType::SI8], Scales::Vector, false),
    mode("deqf16_scalar", I, &[DType::F16], Scales::Scalar, false),
    mode("deqf16_vec", I, &[DType::F16], Scales::Vector, false),
    mode("qf322b8_pre_scalar", F, &[DType::SI8, DType::U8], Scales::Scalar, false),
    mode("qf322b8_pre_vec", F, &[DType::SI8], Scales::Vector, false),
    mode("qf322f16_pre_scalar", F, &[DType::F16], Scales::Scalar, false),
    mode("qf322bf16_pre_scalar", F, &[DType::BF16], Scales::Scalar, false),
    mode("qf322hif8_pre_scalar", F, &[DType::HiF8], Scales::Scalar, true),
    mode("qf322fp8_pre_scalar", F, &[DType::F8E4M3], Scales::Scalar, true),
    mode("qs322bf16_pre_scalar", I, &[DType::BF16], Scales::Scalar, true),
    mode("qs322bf16_pre_vec", I, &[DType::BF16], Scales::Vector, true),
];

/// What an epilogue says.
struct Epilogue<'a> {
    text: &'a str,
    mode: &'static Mode,
    layout: &'a str,
}

fn init_of(f: &Function, id: Option<i64>) -> Option<&OpData> {
    f.walk().into_iter().map(|op| &f.ops[op]).find(|o| is_init(o.opcode) && o.attrs.int("id") == id)
}

fn is_init(opcode: C) -> bool {
    matches!(opcode, C::AicInitializePipe | C::AivInitializePipe)
}

/// The value of `name =` in the spelling of an attribute.
fn part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(name)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(value.len());
    value.get(..end)
}

fn epilogue(init: &OpData) -> Result<Option<Epilogue<'_>>, Fault> {
    let Some(text) = init.attrs.word("acc_push_epilogue") else { return Ok(None) };
    let quant = part(text, "quant").unwrap_or("no_convert");
    let fail = |message| Fault { code: "attribute-value", message };
    let Some(mode) = MODES.iter().find(|m| m.name == quant) else {
        return Err(fail(format!("the fix pipe has no quantisation `{quant}` for a FIFO")));
    };
    let relu = part(text, "relu").unwrap_or("no_relu");
    if !matches!(relu, "no_relu" | "normal_relu") {
        return Err(fail(format!("the fix pipe has no `{relu}` for a FIFO; it has no_relu and normal_relu")));
    }
    Ok(Some(Epilogue { text, mode, layout: part(text, "layout").unwrap_or("nz2nd") }))
}

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    match op.opcode {
        C::AicInitializePipe | C::AivInitializePipe => init(cx, op),
        C::InitL2lPipe | C::InitL2g2lPipe => value_init(cx, op),
        C::SetQuantScalar | C::SetQuantVector => scales(cx, op),
        C::TPushToAiv | C::TPushToAic | C::TPushViewToAiv | C::TPushViewToAic => {
            split(cx, op)?;
            push(cx, op)
        }
        C::TPopFromAic
        | C::TPopFromAiv
        | C::TPopViewFromAic
        | C::TPopViewFromAiv
        | C::TFreeFromAic
        | C::TFreeFromAiv
        | C::TFreeViewFromAic
        | C::TFreeViewFromAiv
        | C::TAllocToAiv
        | C::TAllocToAic
        | C::TPush
        | C::TPop
        | C::TFree
        | C::TAlloc => split(cx, op),
        _ => Ok(()),
    }
}

/// 0 none, 1 by rows, 2 by columns, 3 and 4 those of odd numbers.
fn split(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let split = op.attrs.int("split").unwrap_or(0);
    ensure!((0..=4).contains(&split), "fifo-split", "a split is 0 to 4, not {split}");
    let lane = op.opcode.info().group("subblock").is_some_and(|g| !op.group(g).is_empty());
    ensure!(!lane || split != 0, "fifo-split", "{name} without a split is not for one of two cores");
    if matches!(op.opcode, C::TPopFromAic | C::TPopFromAiv) {
        let given = op.named("valid_row").len() + op.named("valid_col").len();
        let dynamic = cx.output(op)?.valid.iter().filter(|d| d.known().is_none()).count();
        ensure!(given <= dynamic, "valid-operands", "{name} is given extents that its type has already");
    }
    agree(cx, op, split)?;
    let through = init_of(cx.function, op.attrs.int("id")).filter(|i| i.attrs.get("acc_push_epilogue").is_some());
    ensure!(through.is_none() || split == 0, "fifo-split", "what goes through the fix pipe is not split");
    Ok(())
}

/// All that use a FIFO split or none does, as its set-up says.
fn agree(cx: &Cx<'_>, op: &OpData, split: i64) -> Check {
    let id = op.attrs.int("id");
    let f = cx.function;
    let pipe = op.opcode.info().group("pipe").and_then(|g| op.group(g).first().copied());
    let same = |o: &OpData| match pipe {
        Some(pipe) => o.opcode.info().group("pipe").is_some_and(|g| o.group(g).first() == Some(&pipe)),
        None => id.is_some() && o.attrs.int("id") == id && o.attrs.get("split").is_some(),
    };
    let other = f
        .walk()
        .into_iter()
        .map(|o| &f.ops[o])
        .filter(|o| same(o))
        .find_map(|o| o.attrs.int("split").filter(|s| (*s == 0) != (split == 0)));
    ensure!(other.is_none(), "fifo-split", "one FIFO is split here ({split}), and there not ({})", other.unwrap_or(0));
    let init = match pipe {
        Some(pipe) => f.def_op(pipe).map(|o| &f.ops[o]),
        None => init_of(f, id),
    };
    if let Some(init) = init
        && init.attrs.get("nosplit").is_some()
    {
        let no = init.attrs.bool("nosplit");
        ensure!(
            no == (split == 0),
            "fifo-split",
            "the FIFO is set up with nosplit = {no}; this end has the split {split}"
        );
    }
    Ok(())
}

/// The buffer of a FIFO that is a value is reserved, unless its flags are given; and there are flags for it.
fn value_init(cx: &Cx<'_>, op: &OpData) -> Check {
    let f = cx.function;
    if op.attrs.get("flag_base").is_none()
        && let Some(&local) = op.named("local").first()
    {
        let from = f.def_op(local).map(|o| f.ops[o].opcode);
        let reserved = matches!(from, Some(C::ReserveBuffer | C::ImportReservedBuffer));
        ensure!(reserved, "fifo-init", "without flags of its own a FIFO's buffer is reserved, or imported");
    }
    let mut flags = 0;
    for o in f.walk() {
        let data = &f.ops[o];
        if matches!(data.opcode, C::InitL2lPipe | C::InitL2g2lPipe) {
            flags += if data.attrs.int("dir_mask") == Some(3) { 4 } else { 2 };
        }
        if std::ptr::eq(data, op) {
            break;
        }
    }
    ensure!(flags <= FLAGS, "fifo-init", "FIFOs need {flags} flags up to here; a function has {FLAGS}");
    Ok(())
}

/// Where the buffer of the consumer is reserved: the function and the name.
fn buffer<'a>(cx: &Cx<'a>, f: &'a Function, init: &OpData) -> Option<(&'a str, &'a str)> {
    let value = *init.named("c2v_consumer_buf").first()?;
    let op = &f.ops[f.def_op(value)?];
    let name = op.attrs.word("name")?;
    match op.opcode {
        C::ReserveBuffer => Some((f.name.as_str(), name)),
        C::ImportReservedBuffer => {
            let peer = op.attrs.symbols("peer_func")?.first()?;
            let peer = &cx.program.functions[cx.program.function(peer)?];
            Some((peer.name.as_str(), name))
        }
        _ => None,
    }
}

/// The other end of a FIFO: the set-up elsewhere that names the same buffer.
fn peer<'a>(cx: &Cx<'a>, init: &OpData) -> Option<(&'a Function, &'a OpData)> {
    let mine = buffer(cx, cx.function, init)?;
    let other = if init.opcode == C::AicInitializePipe { C::AivInitializePipe } else { C::AicInitializePipe };
    cx.program.functions.iter().find_map(|(_, f)| {
        let found =
            f.walk().into_iter().map(|op| &f.ops[op]).find(|o| o.opcode == other && buffer(cx, f, o) == Some(mine))?;
        Some((f, found))
    })
}

fn init(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    if cx.program.arch == Arch::A5 {
        ensure!(op.attrs.get("local_slot_num").is_none(), "fifo-init", "slots are all local on {}", cx.program.arch);
    }
    let Some(own) = epilogue(op)? else {
        if let Some((_, other)) = peer(cx, op)
            && other.attrs.get("acc_push_epilogue").is_some()
        {
            let message = format!("{name} has no epilogue; its other end has one");
            return Err(Fault { code: "epilogue", message });
        }
        return Ok(());
    };
    ensure!(
        op.attrs.int("dir_mask") == Some(1),
        "epilogue",
        "the fix pipe goes from the cube to the vector core alone"
    );
    let device = cx.function.attributes.iter().any(|(n, v)| n == "module pto.device-spec" && v.contains("950"));
    ensure!(
        !own.mode.a5 || cx.program.arch == Arch::A5 || device,
        "architecture",
        "`{}` is of a5 alone",
        own.mode.name
    );
    ensure!(
        buffer(cx, cx.function, op).is_some(),
        "epilogue",
        "the consumer's buffer of a FIFO through the fix pipe is reserved, or imported"
    );
    let Some((f, other)) = peer(cx, op) else {
        let message = format!("{name}: there is no other end of this FIFO through the fix pipe");
        return Err(Fault { code: "epilogue", message });
    };
    let Some(theirs) = epilogue(other).unwrap_or(None) else {
        return Err(Fault { code: "epilogue", message: format!("{name} has an epilogue; its other end has none") });
    };
    let same = ["layout", "quant", "relu"].iter().all(|p| part(own.text, p) == part(theirs.text, p));
    ensure!(same, "epilogue", "{name} says {}; its other end says {}", own.text, theirs.text);
    if op.opcode == C::AivInitializePipe { consumer(cx, op, &own, f) } else { Ok(()) }
}

/// What the consumer takes out.
fn consumer(cx: &Cx<'_>, op: &OpData, own: &Epilogue<'_>, producer: &Function) -> Check {
    let id = op.attrs.int("id");
    let f = cx.function;
    let ops = f.walk().into_iter().map(|o| &f.ops[o]);
    let pops: Vec<&TileType> = ops
        .filter(|o| o.opcode == C::TPopFromAic && o.attrs.int("id") == id)
        .filter_map(|o| o.result().and_then(|r| f.ty(r).as_tile()))
        .collect();
    let Some((first, rest)) = pops.split_first() else {
        return Err(Fault { code: "epilogue", message: "nothing is taken out of a FIFO through the fix pipe".into() });
    };
    ensure!(rest.iter().all(|t| t == first), "epilogue", "all that is taken out of a FIFO has one type, {first}");
    let entry =
        |init: &OpData| u64::try_from(init.attrs.int("slot_size").unwrap_or(0)).is_ok_and(|n| n >= first.bytes());
    ensure!(entry(op), "epilogue", "a slot of the FIFO does not hold {first}, of {} bytes", first.bytes());
    let other = producer.walk().into_iter().map(|o| &producer.ops[o]).find(|o| o.opcode == C::AicInitializePipe);
    if let Some((_, theirs)) = peer(cx, op).or(other.map(|o| (producer, o))) {
        ensure!(entry(theirs), "epilogue", "a slot at the producer does not hold {first}, of {} bytes", first.bytes());
    }
    let (nd, nz) = (first.layout.slayout.is_none(), first.layout.slayout == Some(Major::Row));
    let fits = match own.layout {
        "nz2nd" => nd && first.layout.blayout == Major::Row,
        "nz2dn" => nd && first.layout.blayout == Major::Col,
        _ => nz,
    };
    ensure!(fits, "epilogue", "a FIFO of layout {} does not give {first}", own.layout);
    match own.mode.to {
        Some(types) => ensure!(
            types.contains(&first.dtype),
            "epilogue",
            "`{}` makes {}, not {}",
            own.mode.name,
            types.iter().map(|d| d.name()).collect::<Vec<_>>().join(" or "),
            first.dtype
        ),
        None => {
            let theirs = peer(cx, op).and_then(|(_, init)| init.attrs.int("id"));
            let pushed = producer.walk().into_iter().map(|o| &producer.ops[o]).find_map(|o| {
                let this = o.opcode == C::TPushToAiv && o.attrs.int("id") == theirs;
                this.then(|| producer.ty(o.operands[0]).element()).flatten()
            });
            ensure!(
                pushed.is_none_or(|d| d == first.dtype),
                "epilogue",
                "what goes into the FIFO is not converted, and is not {}",
                first.dtype
            );
        }
    }
    Ok(())
}

/// A scale is for a FIFO that quantises by one.
fn scales(cx: &Cx<'_>, op: &OpData) -> Check {
    let id = op.attrs.int("id");
    let Some(init) = init_of(cx.function, id) else {
        return Err(Fault { code: "quant-state", message: format!("there is no FIFO {} here", id.unwrap_or(-1)) });
    };
    let wanted = if op.opcode == C::SetQuantScalar { Scales::Scalar } else { Scales::Vector };
    let found = epilogue(init).ok().flatten().map_or(Scales::None, |e| e.mode.scales);
    ensure!(found == wanted, "quant-state", "FIFO {} does not quantise by such scales", id.unwrap_or(-1));
    if op.opcode == C::SetQuantScalar {
        let ty = cx.ty(op.named("scale")[0]);
        ensure!(*ty == Type::Scalar(DType::F32), "operand-types", "a scale is f32, not {ty}");
        return Ok(());
    }
    let t = cx.tile(op.named("scales")[0])?;
    ensure!(t.space == Some(chip::Space::Scaling), "operand-space", "scales are in scaling; this is {t}");
    let a5 = cx.program.arch == Arch::A5;
    let fits = match t.dtype {
        DType::I64 | DType::U64 => !a5,
        DType::F16 | DType::BF16 | DType::F32 => a5,
        _ => false,
    };
    ensure!(fits, "element-types", "scales on {} are not {}", cx.program.arch, t.dtype);
    Ok(())
}

/// What is pushed is of the epilogue's types, and its scales are set before it in its block.
fn push(cx: &Cx<'_>, op: &OpData) -> Check {
    if op.opcode != C::TPushToAiv || cx.function.kind == FunctionKind::Kernel(Core::Vector) {
        return Ok(());
    }
    let id = op.attrs.int("id");
    let Some(init) = init_of(cx.function, id) else { return Ok(()) };
    let Ok(Some(own)) = epilogue(init) else { return Ok(()) };
    let t = cx.tile(op.operands[0])?;
    ensure!(
        own.mode.from.contains(&t.dtype),
        "epilogue",
        "`{}` takes {}, not {}",
        own.mode.name,
        own.mode.from.iter().map(|d| d.name()).collect::<Vec<_>>().join(" or "),
        t.dtype
    );
    let setter = match own.mode.scales {
        Scales::None => return Ok(()),
        Scales::Scalar => C::SetQuantScalar,
        Scales::Vector => C::SetQuantVector,
    };
    let f = cx.function;
    let sets = |o: &Op| f.ops[*o].opcode == setter && f.ops[*o].attrs.int("id") == id;
    let before = f.blocks[op.block].ops.iter().take_while(|o| !std::ptr::eq(&f.ops[**o], op)).any(sets);
    ensure!(before, "quant-state", "no scales of FIFO {} are set before this push, in its block", id.unwrap_or(-1));
    Ok(())
}
