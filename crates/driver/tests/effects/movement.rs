//! Operands of what moves between spaces and global memory, and of matrix products.

use chip::{Arch, Space};
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Layout, Opcode, TileType};

use super::instruction::{Case, Contents, Operand, Part};

const ELEMENTS: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::I8, DType::I32];
/// Valid regions of a tile of 32 × 64.
const VALID: [[u64; 2]; 4] = [[32, 64], [19, 37], [0, 64], [32, 0]];

fn tile(arch: Arch, space: Space, dtype: DType, shape: [u64; 2], valid: [u64; 2]) -> TileType {
    TileType {
        space: Some(space),
        layout: Layout::of(space, arch, &shape),
        ..TileType::value(dtype, shape.to_vec()).with_valid(valid.map(Dim::Static).to_vec())
    }
}

fn operand(ty: TileType) -> Operand {
    Operand::Tile(ty, Contents::Numbers)
}

/// A box of that size inside a matrix.
fn part(dtype: DType, size: [u64; 2]) -> Operand {
    Operand::Part(Part { dtype, view: [size[0] + 3, size[1] + 5], at: [1, 2], size })
}

pub(crate) fn of(opcode: Opcode) -> Vec<Case> {
    let mut cases = Vec::new();
    for arch in [Arch::A2a3, Arch::A5] {
        let mut add = |groups: Vec<Vec<Operand>>, dest: Operand, attrs: Attrs| {
            let case = Case { arch, opcode, groups, dest: Some(dest), attrs, dynamic: false, windows: false };
            cases.push(Case { dynamic: true, ..case.clone() });
            cases.push(case);
        };
        match opcode {
            Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias => products(arch, opcode, &mut add),
            Opcode::TMov => between(arch, opcode, &mut add),
            Opcode::TExtract | Opcode::TInsert => between(arch, opcode, &mut add),
            Opcode::TExpandS => {
                for valid in VALID {
                    let three = Operand::Scalar(Scalar::from_i64(DType::F16, 3));
                    let dest = tile(arch, Space::Mat, DType::F16, [32, 64], valid);
                    add(vec![vec![three], vec![]], operand(dest), Attrs::default());
                }
            }
            Opcode::TLoad | Opcode::TStore => transfers(arch, opcode, &mut add),
            Opcode::MGather | Opcode::MScatter => indexed(arch, opcode, &mut add),
            _ => {}
        }
    }
    cases
}

type Add<'a> = &'a mut dyn FnMut(Vec<Vec<Operand>>, Operand, Attrs);

fn products(arch: Arch, opcode: Opcode, add: Add<'_>) {
    for dtype in ELEMENTS {
        for [m, k, n, k_rhs] in
            [[32, 64, 32, 64], [19, 37, 21, 37], [19, 37, 21, 64], [0, 64, 32, 64], [32, 0, 32, 0], [32, 64, 0, 64]]
        {
            let to = ir::infer::accumulator(dtype).unwrap_or(DType::I32);
            let lhs = operand(tile(arch, Space::Left, dtype, [32, 64], [m, k]));
            let rhs = operand(tile(arch, Space::Right, dtype, [64, 32], [k_rhs, n]));
            let acc = operand(tile(arch, Space::Acc, to, [32, 32], [m, n]));
            let groups = match opcode {
                Opcode::TMatmul => vec![vec![lhs], vec![rhs]],
                Opcode::TMatmulAcc => vec![vec![acc.clone()], vec![lhs], vec![rhs]],
                _ => vec![vec![lhs], vec![rhs], vec![operand(tile(arch, Space::Bias, to, [1, 32], [1, n]))]],
            };
            add(groups, acc, Attrs::default());
        }
    }
}

/// `tmov`, `textract` and `tinsert` of the cube core.
fn between(arch: Arch, opcode: Opcode, add: Add<'_>) {
    use Space::{Acc, Bias, Left, Mat, Right};
    let index = |v: i64| vec![Operand::Scalar(Scalar::index(v))];
    for dtype in ELEMENTS {
        for valid in VALID {
            for (from, to) in [(Mat, Left), (Mat, Right), (Mat, Bias), (Acc, Mat)] {
                for narrow in [DType::F16, DType::BF16, dtype] {
                    let shape = if to == Bias { [1, 64] } else { [32, 64] };
                    let valid = [valid[0].min(shape[0]), valid[1]];
                    let large = [64, 128];
                    let (outer, inner) = match opcode {
                        Opcode::TMov if to == Bias => ([32, 64], shape),
                        Opcode::TMov => (shape, shape),
                        _ => (large, shape),
                    };
                    let (source, dest) = match opcode {
                        Opcode::TInsert => {
                            (tile(arch, from, dtype, inner, valid), tile(arch, to, narrow, outer, outer))
                        }
                        Opcode::TMov => (tile(arch, from, dtype, outer, valid), tile(arch, to, narrow, inner, valid)),
                        _ => (tile(arch, from, dtype, outer, outer), tile(arch, to, narrow, inner, valid)),
                    };
                    let mut groups = vec![vec![operand(source)]];
                    if opcode != Opcode::TMov {
                        groups.extend([index(16), index(32)]);
                    }
                    if opcode == Opcode::TExtract {
                        groups.push(Vec::new());
                    }
                    add(groups, operand(dest), Attrs::default());
                }
            }
        }
    }
}

fn transfers(arch: Arch, opcode: Opcode, add: Add<'_>) {
    let layouts = [Layout::ROW_MAJOR, Layout::COL_MAJOR, Layout::NZ, Layout::ZN, Layout::ACC];
    for dtype in ELEMENTS.into_iter().chain([DType::U16, DType::I64]) {
        for valid in VALID {
            for space in [Space::Vec, Space::Mat, Space::Acc] {
                for layout in layouts {
                    let buffer = TileType { layout, ..tile(arch, space, dtype, [32, 64], valid) };
                    if opcode == Opcode::TLoad {
                        add(vec![vec![part(dtype, valid)]], operand(buffer), Attrs::default());
                        continue;
                    }
                    for to in [dtype, DType::F16, DType::BF16] {
                        let groups = || vec![vec![operand(buffer.clone())]];
                        add(groups(), part(to, valid), Attrs::default());
                        let atomic = attrs([("atomic", Attr::Word("add".to_owned()))]);
                        add(groups(), part(to, valid), atomic);
                    }
                }
            }
        }
    }
}

fn indexed(arch: Arch, opcode: Opcode, add: Add<'_>) {
    let policies: &[Option<&str>] = match opcode {
        Opcode::MGather => &[None, Some("clamp"), Some("wrap"), Some("zero")],
        _ => &[None, Some("skip"), Some("clamp"), Some("wrap")],
    };
    let atomics: &[Option<&str>] = if opcode == Opcode::MGather { &[None] } else { &[None, Some("add"), Some("max")] };
    for dtype in [DType::F32, DType::F16, DType::I32, DType::I8, DType::I16] {
        for (mode, n) in [("row", 8), ("row", 5), ("elem", 8), ("elem", 5), ("elem", 0)] {
            for &policy in policies {
                for &atomic in atomics {
                    let memory = Part { dtype, view: [12, 37], at: [1, 2], size: [9, 32] };
                    let (indices, shape, valid) = match mode {
                        "row" => (([1, 8], [1, n]), [8, 32], [n, 32]),
                        _ => (([4, 32], [3, n]), [4, 32], [3, n]),
                    };
                    let rows = if mode == "row" { 9 } else { 9 * 32 };
                    // Some out of range, where that is not an error.
                    let below = if policy.is_some() { rows + 5 } else { rows };
                    let index = tile(arch, Space::Vec, DType::I32, indices.0, indices.1);
                    let index = Operand::Tile(index, Contents::Indices { below, step: 1 });
                    let mut list = vec![("mode", Attr::Word(mode.to_owned()))];
                    list.extend(policy.map(|p| ("out_of_range", Attr::Word(p.to_owned()))));
                    list.extend(atomic.map(|a| ("atomic", Attr::Word(a.to_owned()))));
                    let data = operand(tile(arch, Space::Vec, dtype, shape, valid));
                    match opcode {
                        Opcode::MGather => add(vec![vec![Operand::Part(memory)], vec![index]], data, attrs(list)),
                        _ => add(vec![vec![data], vec![index]], Operand::Part(memory), attrs(list)),
                    }
                }
            }
        }
    }
}
