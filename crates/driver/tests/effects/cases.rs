//! Operands for every instruction: element types, shapes, valid regions and layouts. What a combination lacks to be legal
//! the verifier, the decoder or the instruction says; those are counted as refused.

use chip::{Arch, Space};
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Layout, Opcode, TileType, Type, infer};

use super::instruction::{Case, Contents, Operand};

/// Physical and valid extent of the matrix that an instruction works on, in rows and blocks of 32 bytes; the valid one
/// as what is missing from the physical one.
struct Shape {
    rows: u64,
    blocks: u64,
    missing: [u64; 2],
}

/// `missing`: more than there are is all of them.
const ALL: u64 = u64::MAX;
const SHAPES: [Shape; 7] = [
    Shape { rows: 1, blocks: 1, missing: [0, 0] },
    Shape { rows: 5, blocks: 2, missing: [0, 0] },
    Shape { rows: 5, blocks: 3, missing: [2, 3] },
    Shape { rows: 32, blocks: 2, missing: [13, 1] },
    Shape { rows: 32, blocks: 2, missing: [0, 0] },
    Shape { rows: 32, blocks: 2, missing: [ALL, 0] },
    Shape { rows: 32, blocks: 2, missing: [0, ALL] },
];
/// The element types of tiles: `index` is an i64, and a boolean is of scalars.
const TYPES: [DType; 11] = [
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::F32,
    DType::I64,
    DType::U64,
];

fn tile(dtype: DType, shape: [u64; 2], valid: [u64; 2], space: Space, layout: Layout) -> TileType {
    TileType {
        space: Some(space),
        layout,
        ..TileType::value(dtype, shape.to_vec()).with_valid(valid.map(Dim::Static).to_vec())
    }
}

/// In Vec; a column is column-major.
fn vec(dtype: DType, shape: [u64; 2], valid: [u64; 2]) -> TileType {
    tile(dtype, shape, valid, Space::Vec, Layout::of(Space::Vec, Arch::A2a3, &shape))
}

fn numbers(ty: TileType) -> Operand {
    Operand::Tile(ty, Contents::Numbers)
}

/// The operands of an instruction on Vec tiles: groups, attributes, and the destination if it does not follow from them.
struct Operands {
    groups: Vec<Vec<Operand>>,
    attrs: Attrs,
    dest: Option<TileType>,
}

/// All cases of an instruction.
pub(crate) fn of(opcode: Opcode) -> Vec<Case> {
    let arch = if opcode == Opcode::TRandom { Arch::A5 } else { Arch::A2a3 };
    let mut cases = Vec::new();
    for dtype in TYPES {
        for shape in &SHAPES {
            let cols = shape.blocks * 32 / dtype.size() as u64;
            let valid = [shape.rows.saturating_sub(shape.missing[0]), cols.saturating_sub(shape.missing[1])];
            let made = on_vec(opcode, dtype, [shape.rows, cols], valid);
            cases.extend(made.into_iter().flat_map(|o| variants(arch, opcode, o)));
        }
        let square = on_vec(opcode, dtype, [32, 32], [19, 21]);
        cases.extend(square.into_iter().flat_map(|o| layouts(arch, opcode, o)));
    }
    cases.extend(super::movement::of(opcode));
    cases
}

fn case(arch: Arch, opcode: Opcode, operands: &Operands) -> Option<Case> {
    let dest = operands.dest.clone().or_else(|| inferred(opcode, operands));
    let form = opcode.info().form;
    (dest.is_some() || form == ir::info::Form::Results(1)).then(|| Case {
        arch,
        opcode,
        groups: operands.groups.clone(),
        dest: dest.map(numbers),
        attrs: operands.attrs.clone(),
        dynamic: false,
        windows: false,
    })
}

/// Static, with valid extents at run time, on windows of larger tiles; and what runs over the destination, into one that
/// is smaller than its sources.
fn variants(arch: Arch, opcode: Opcode, operands: Operands) -> Vec<Case> {
    let Some(plain) = case(arch, opcode, &operands) else { return Vec::new() };
    let mut cases = vec![
        Case { dynamic: true, ..plain.clone() },
        Case { windows: true, ..plain.clone() },
        Case { dynamic: true, windows: true, ..plain.clone() },
    ];
    let narrow = plain.dest.clone().and_then(|d| match d {
        Operand::Tile(ty, contents) => {
            let less: Vec<u64> = ty.valid.iter().filter_map(|d| d.known()).map(|n| n / 2).collect();
            Some(Operand::Tile(ty.with_valid(less.into_iter().map(Dim::Static).collect()), contents))
        }
        _ => None,
    });
    cases.push(Case { dynamic: true, dest: narrow, ..plain.clone() });
    cases.push(plain);
    cases
}

/// Each tile in turn in another layout.
fn layouts(arch: Arch, opcode: Opcode, operands: Operands) -> Vec<Case> {
    let Some(plain) = case(arch, opcode, &operands) else { return Vec::new() };
    let mut cases = vec![plain.clone()];
    for layout in [Layout::ROW_MAJOR, Layout::COL_MAJOR, Layout::NZ, Layout::ZN] {
        let mut change = |at: &dyn Fn(&mut Case) -> Option<&mut Operand>| {
            let mut other = plain.clone();
            if let Some(Operand::Tile(ty, _)) = at(&mut other)
                && ty.layout != layout
            {
                ty.layout = layout;
                cases.push(Case { dynamic: true, ..other.clone() });
                cases.push(other);
            }
        };
        for group in 0..plain.groups.len() {
            change(&|c| c.groups[group].first_mut());
        }
        change(&|c| c.dest.as_mut());
    }
    cases
}

/// The destination as a buffer, where it follows from the operands.
fn inferred(opcode: Opcode, operands: &Operands) -> Option<TileType> {
    let ty = |o: &Operand| match o {
        Operand::Tile(ty, _) => Type::Tile(ty.clone()),
        Operand::Scalar(s) => Type::Scalar(s.dtype),
        Operand::Part(p) => Type::PartView { dtype: p.dtype, shape: p.size.map(Dim::Static).to_vec() },
    };
    let types: Vec<Vec<Type>> = operands.groups.iter().map(|g| g.iter().map(ty).collect()).collect();
    let types: Vec<Vec<&Type>> = types.iter().map(|g| g.iter().collect()).collect();
    let ty = infer::result(opcode, &types, &operands.attrs).ok()?;
    let ty = ty.as_tile()?;
    let known = |i: usize| ty.valid[i].known();
    Some(vec(ty.dtype, [ty.shape[0], ty.shape[1]], [known(0)?, known(1)?]))
}

/// What an instruction takes beside a matrix of this type, shape and valid region. None if it is not one on Vec tiles.
fn on_vec(opcode: Opcode, dtype: DType, shape: [u64; 2], valid: [u64; 2]) -> Vec<Operands> {
    use Opcode::*;
    let ([rows, cols], [vr, vc]) = (shape, valid);
    let matrix = || numbers(vec(dtype, shape, valid));
    let scalar = |v: i64| Operand::Scalar(Scalar::from_i64(dtype, v));
    let index = |v: i64| Operand::Scalar(Scalar::index(v));
    let like = |d: DType| vec(d, shape, valid);
    let plain = |groups: Vec<Vec<Operand>>| Operands { groups, attrs: Attrs::default(), dest: None };
    let to = |groups: Vec<Vec<Operand>>, dest: TileType| Operands { dest: Some(dest), ..plain(groups) };
    let with = |o: Operands, list: Vec<(&'static str, Attr)>| Operands { attrs: attrs(list), ..o };
    let word = |name, w: &str| vec![(name, Attr::Word(w.to_owned()))];
    match opcode {
        TMatmul | TMatmulAcc | TMatmulBias | TLoad | TStore | MGather | MScatter => Vec::new(),
        TConcat => [rows, rows + 2]
            .into_iter()
            .map(|r| to(vec![vec![matrix()], vec![matrix()]], vec(dtype, [r, 2 * cols], [r, 2 * cols])))
            .collect(),
        TColExpandExpDif | TRowExpandExpDif => {
            by_name(opcode, dtype, shape, valid).into_iter().map(|groups| to(groups, like(dtype))).collect()
        }
        TMov => vec![to(vec![vec![matrix()]], like(dtype))],
        TExtract | TInsert => [(0, 0), (2, 8)]
            .into_iter()
            .map(|(r, c)| {
                let large = vec(dtype, [rows + 2, cols + 32], [rows + 2, cols + 32]);
                let (source, dest) = match opcode {
                    TExtract => (numbers(large), like(dtype)),
                    _ => (matrix(), large),
                };
                to(vec![vec![source], vec![index(r)], vec![index(c)]], dest)
            })
            .map(|mut o| {
                if opcode == TExtract {
                    o.groups.push(Vec::new());
                }
                o
            })
            .collect(),
        TGetVal | TSetVal if vr == 0 || vc == 0 => Vec::new(),
        TGetVal | TSetVal => [(0, 0), (vr - 1, vc - 1)]
            .into_iter()
            .map(|(r, c)| {
                let at = [vec![index(r as i64)], vec![index(c as i64)]];
                match opcode {
                    TGetVal => plain(std::iter::once(vec![matrix()]).chain(at).collect()),
                    _ => to(at.into_iter().chain([vec![scalar(3)]]).collect(), like(dtype)),
                }
            })
            .collect(),
        TCvt => TYPES
            .into_iter()
            .flat_map(|d| {
                [("rint", false), ("trunc", true), ("odd", false)].map(|(mode, saturate)| (d, mode, saturate))
            })
            .map(|(d, mode, saturate)| {
                let mut list = word("mode", mode);
                list.push(("saturate", Attr::Bool(saturate)));
                with(to(vec![vec![matrix()]], like(d)), list)
            })
            .collect(),
        TCmp => ["lt", "ne"]
            .into_iter()
            .map(|p| with(plain(vec![vec![matrix()], vec![matrix()]]), word("predicate", p)))
            .collect(),
        TCmpS => ["ge", "eq"]
            .into_iter()
            .map(|p| with(plain(vec![vec![matrix()], vec![scalar(1)]]), word("predicate", p)))
            .collect(),
        TExpandS => vec![
            to(vec![vec![scalar(3)], vec![]], like(dtype)),
            to(vec![vec![scalar(3)], vec![index(vr as i64 / 2), index(vc as i64 / 2)]], like(dtype)),
        ],
        TCi => [false, true]
            .into_iter()
            .map(|d| with(to(vec![vec![scalar(5)]], like(dtype)), vec![("descending", Attr::Bool(d))]))
            .collect(),
        TTri => [false, true]
            .into_iter()
            .flat_map(|upper| [-1, 2].map(|d| (upper, d)))
            .map(|(u, d)| with(to(vec![vec![index(d)], vec![]], like(dtype)), vec![("upper", Attr::Bool(u))]))
            .collect(),
        TRandom => {
            let words = || (1..=6).map(|v| vec![Operand::Scalar(Scalar::from_i64(DType::I32, v))]).collect();
            let rounds = |n| vec![("rounds", Attr::Int(n))];
            vec![with(to(words(), like(dtype)), rounds(7)), with(to(words(), like(dtype)), rounds(10))]
        }
        TFillPad => ["zero", "max", "min"]
            .into_iter()
            .flat_map(|pad| [shape, [rows + 3, cols + 32]].map(|s| (pad, s)))
            .map(|(pad, s)| with(to(vec![vec![matrix()]], vec(dtype, s, s)), word("pad", pad)))
            .collect(),
        TRowExpand => vec![to(vec![vec![numbers(vec(dtype, [rows, 1], [vr, 1]))]], like(dtype))],
        TColExpand => vec![to(vec![vec![numbers(vec(dtype, [1, cols], [1, vc]))]], like(dtype))],
        TGather => [DType::I32, DType::U32, DType::I16]
            .into_iter()
            .map(|d| {
                let below = rows * cols;
                let indices = Operand::Tile(like(d), Contents::Indices { below, step: 1 });
                plain(vec![vec![matrix()], vec![indices], vec![numbers(like(dtype))]])
            })
            .collect(),
        TGatherB => {
            let blocks = (cols * dtype.size() as u64 / 32, 32 / dtype.size() as u64);
            let (below, step) = (rows * blocks.0, 32);
            // A row of offsets is a block, too: eight of them.
            let offsets = vec(DType::U32, [rows, 8], [vr, vc.div_ceil(blocks.1).min(8)]);
            let offsets = Operand::Tile(offsets, Contents::Indices { below, step });
            vec![plain(vec![vec![matrix()], vec![offsets]])]
        }
        TScatter => {
            let index = match dtype.size() {
                4 => DType::I32,
                _ => DType::U16,
            };
            let dest = [rows + 1, cols];
            let indices = Operand::Tile(like(index), Contents::Indices { below: dest[0] * dest[1], step: 1 });
            let part = [rows.max(2) - 1, cols];
            vec![
                to(vec![vec![matrix()], vec![indices.clone()]], vec(dtype, dest, dest)),
                to(vec![vec![matrix()], vec![indices]], vec(dtype, dest, part)),
            ]
        }
        TGatherMask | TScatterMask => (1..=7)
            .map(|pattern| {
                let period = infer::pattern_period(pattern).expect("a pattern");
                let wide = vec(dtype, [rows, cols * period], [vr, vc * period]);
                let narrow = like(dtype);
                let (source, dest) = if opcode == TGatherMask { (wide, narrow) } else { (narrow, wide) };
                with(to(vec![vec![numbers(source)]], dest), vec![("pattern", Attr::Int(pattern))])
            })
            .collect(),
        TSort32 => {
            let shape = [rows, cols.next_multiple_of(32)];
            let source = numbers(vec(dtype, shape, valid));
            let idx = numbers(vec(DType::U32, shape, valid));
            vec![plain(vec![vec![source], vec![idx], vec![numbers(vec(dtype, shape, valid))]])]
        }
        TMrgSort => {
            let record = infer::record_elements(dtype).unwrap_or(1);
            let source = numbers(vec(dtype, [rows, cols * 4], [vr, vc / record * record * 4]));
            let lengths = [record, 2 * record];
            lengths.map(|n| plain(vec![vec![source.clone()], vec![index(n as i64)], vec![matrix()]])).into()
        }
        TMrgSortLists => [(2, false), (3, false), (4, true)]
            .into_iter()
            .map(|(lists, exhausted)| {
                let record = infer::record_elements(dtype).unwrap_or(1);
                let width = vc / record * record;
                let list = || numbers(vec(dtype, [1, cols], [1, width]));
                let total = [1, cols * lists];
                let groups = vec![(0..lists).map(|_| list()).collect(), Vec::new()];
                let dest = vec(dtype, total, [1, width * lists]);
                with(to(groups, dest), vec![("exhausted", Attr::Bool(exhausted))])
            })
            .collect(),
        TPartAdd | TPartMul | TPartMax | TPartMin => {
            let whole = numbers(vec(dtype, shape, shape));
            vec![plain(vec![vec![matrix()], vec![whole.clone()]]), plain(vec![vec![whole], vec![matrix()]])]
        }
        _ => by_name(opcode, dtype, shape, valid).into_iter().map(plain).collect(),
    }
    .into_iter()
    .flat_map(|o| reversed(opcode, o))
    .collect()
}

/// `tdivs` both ways round.
fn reversed(opcode: Opcode, operands: Operands) -> Vec<Operands> {
    if opcode != Opcode::TDivS {
        return vec![operands];
    }
    let other = Operands {
        groups: operands.groups.clone(),
        attrs: attrs([("reverse", Attr::Bool(true))]),
        dest: operands.dest.clone(),
    };
    vec![operands, other]
}

/// The regular instructions: what an operand is follows from its name in the table.
fn by_name(opcode: Opcode, dtype: DType, shape: [u64; 2], valid: [u64; 2]) -> Option<Vec<Vec<Operand>>> {
    let ([rows, cols], [vr, vc]) = (shape, valid);
    let group = |name: &str| {
        Some(match name {
            "a" | "b" | "slope" | "source" | "tmp" => numbers(vec(dtype, shape, valid)),
            "s" => Operand::Scalar(Scalar::from_i64(dtype, 3)),
            "mask" => {
                let columns = infer::mask_columns(cols);
                numbers(vec(DType::U8, [rows, columns], [vr, columns]))
            }
            "v" if opcode.name().starts_with("trowexpand") => numbers(vec(dtype, [rows, 1], [vr, 1])),
            "v" => numbers(vec(dtype, [1, cols], [1, vc])),
            _ => return None,
        })
    };
    opcode.info().operands.iter().map(|o| group(o.name).map(|o| vec![o])).collect()
}
