//! Remainders, bits, leaky ReLU, parts, and other types of the same bytes.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    let mut out = remainders();
    out.extend(bits());
    out.extend(relus());
    out.extend(parts());
    out.extend(casts());
    out
}

fn remainders() -> Vec<Case> {
    let a = [5.5, -5.5, 5.5, -5.5, 7.0, 0.0, 1.0, -1.0];
    let b = [2.0, 2.0, -2.0, -2.0, 0.5, 3.0, 4.0, 4.0];
    let by_divisor = [1.5, 0.5, -0.5, -1.5, 0.0, 0.0, 1.0, 3.0];
    let by_dividend = [1.5, -1.5, 1.5, -1.5, 0.0, 0.0, 1.0, -1.0];
    let n = [7, -7, 7, -7, 6, -6, 1, -1];
    let m = [3, 3, -3, -3, 3, 3, 5, 5];
    let row = [1, 8];
    vec![
        case("rem", "trem $0, $1", vec![f32(row, &a).into(), f32(row, &b).into()], f32(row, &by_divisor)),
        case(
            "rem of integers",
            "trem $0, $1",
            vec![i32(row, &n).into(), i32(row, &m).into()],
            i32(row, &[1, 2, -2, -1, 0, 0, 1, 4]),
        ),
        case(
            "rems",
            "trems $0, $1",
            vec![f32(row, &a).into(), scalar("f32", "-2.0")],
            f32(row, &[-0.5, -1.5, -0.5, -1.5, -1.0, 0.0, -1.0, -1.0]),
        ),
        case("fmod", "tfmod $0, $1", vec![f32(row, &a).into(), f32(row, &b).into()], f32(row, &by_dividend)),
        case(
            "fmod of integers",
            "tfmod $0, $1",
            vec![i32(row, &n).into(), i32(row, &m).into()],
            i32(row, &[1, -1, 1, -1, 0, 0, 1, -1]),
        ),
        case(
            "fmods",
            "tfmods $0, $1",
            vec![i32(row, &n).into(), scalar("i32", -3)],
            i32(row, &[1, -1, 1, -1, 0, 0, 1, -1]),
        ),
    ]
}

fn bits() -> Vec<Case> {
    let row = [1, 8];
    let a = [0b1100, -1, 0, i32::MIN, 0x0f0f, 7, 1, -2];
    let b = [0b1010, 0x55, -1, -1, 0x00ff, 8, 1, 3];
    let pair = || vec![i32(row, &a).into(), i32(row, &b).into()];
    let each = |f: fn(i32, i32) -> i32| -> Vec<i32> { a.iter().zip(b).map(|(&a, b)| f(a, b)).collect() };
    let with = |f: fn(i32) -> i32| -> Vec<i32> { a.iter().map(|&a| f(a)).collect() };
    let ragged = |data: &[i16]| i16([2, 3], data).within([4, 16]);
    let values = [1, 1, 1, -1, 3, 5, 1, -8];
    let counts = [0, 31, 32, 1, -1, 2, 4, 40];
    let words = [0x8000_0000u32, 0xff, 0xff, 1, 2, 3, 0xffff_ffff, 8];
    let by = [31u32, 4, 32, 0, 1, 1, 28, 3];
    vec![
        case("and", "tand $0, $1", pair(), i32(row, &each(|a, b| a & b))),
        case("or", "tor $0, $1", pair(), i32(row, &each(|a, b| a | b))),
        case("xor", "txor $0, $1", pair(), i32(row, &each(|a, b| a ^ b))),
        case("ands", "tands $0, $1", vec![i32(row, &a).into(), scalar("i32", 6)], i32(row, &with(|a| a & 6))),
        case("ors", "tors $0, $1", vec![i32(row, &a).into(), scalar("i32", 6)], i32(row, &with(|a| a | 6))),
        case("xors", "txors $0, $1", vec![i32(row, &a).into(), scalar("i32", -1)], i32(row, &with(|a| !a))),
        case("not", "tnot $0", vec![i32(row, &a).into()], i32(row, &with(|a| -a.wrapping_add(1)))),
        case(
            "and of a part",
            "tand $0, $1",
            vec![ragged(&[1, 2, 3, 4, 5, 6]).into(), ragged(&[3, 3, 3, -1, -1, 0]).into()],
            ragged(&[1, 2, 3, 4, 5, 0]),
        ),
        case(
            "shl",
            "tshl $0, $1",
            vec![i32(row, &values).into(), i32(row, &counts).into()],
            i32(row, &[1, i32::MIN, 0, -2, 0, 20, 16, 0]),
        ),
        case(
            "shr",
            "tshr $0, $1",
            vec![i32(row, &values).into(), i32(row, &counts).into()],
            i32(row, &[1, 0, 0, -1, 0, 1, 0, -1]),
        ),
        case(
            "shr of unsigned",
            "tshr $0, $1",
            vec![u32(row, &words).into(), u32(row, &by).into()],
            u32(row, &[1, 0xf, 0, 1, 1, 1, 0xf, 1]),
        ),
        case(
            "shls",
            "tshls $0, $1",
            vec![u32(row, &words).into(), scalar("u32", 1)],
            u32(row, &[0, 0x1fe, 0x1fe, 2, 4, 6, 0xffff_fffe, 16]),
        ),
        case(
            "shrs",
            "tshrs $0, $1",
            vec![i32(row, &values).into(), scalar("i32", 2)],
            i32(row, &[0, 0, 0, -1, 0, 1, 0, -2]),
        ),
    ]
}

fn relus() -> Vec<Case> {
    let row = [1, 8];
    let a = [1.0, -2.0, 0.0, -0.0, 8.0, -8.0, f32::INFINITY, f32::NEG_INFINITY];
    let slope = [9.0, 0.5, 2.0, 2.0, 0.0, -1.0, 0.5, 0.5];
    vec![
        case(
            "prelu",
            "tprelu $0, $1",
            vec![f32(row, &a).into(), f32(row, &slope).into()],
            f32(row, &[1.0, -1.0, 0.0, -0.0, 8.0, 8.0, f32::INFINITY, f32::NEG_INFINITY]),
        ),
        case(
            "lrelu",
            "tlrelu $0, $1",
            vec![f32(row, &a).into(), scalar("f32", "0.25")],
            f32(row, &[1.0, -0.5, 0.0, -0.0, 8.0, -2.0, f32::INFINITY, f32::NEG_INFINITY]),
        ),
        // f16: -2, 1, -4 and 0.5 by the slope 0.5.
        case(
            "lrelu of halves in a part",
            "tlrelu $0, $1",
            vec![f16([1, 4], &[0xc000, 0x3c00, 0xc400, 0x3800]).within([2, 16]).into(), scalar("f16", "0.5")],
            f16([1, 4], &[0xbc00, 0x3c00, 0xc000, 0x3800]).within([2, 16]),
        ),
        case("relu of nothing", "tlrelu $0, $1", vec![nothing().into(), scalar("f32", "0.25")], nothing()),
    ]
}

/// A tile of which nothing is valid.
fn nothing() -> Tile {
    f32([0, 8], &[]).within([2, 8])
}

fn parts() -> Vec<Case> {
    let large: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let small = [100.0, -1.0, 3.0, 0.5, 2.0, 40.0];
    let whole = || f32([4, 8], &large);
    let part = || f32([2, 3], &small).within([4, 8]);
    let combined = |f: fn(f32, f32) -> f32| -> Tile {
        let value = |i: usize| match (i / 8, i % 8) {
            (r @ 0..2, c @ 0..3) => f(large[i], small[r * 3 + c]),
            _ => large[i],
        };
        f32([4, 8], &(0..32).map(value).collect::<Vec<_>>())
    };
    vec![
        case("partadd", "tpartadd $0, $1", vec![whole().into(), part().into()], combined(|a, b| a + b)),
        case("partmul", "tpartmul $0, $1", vec![part().into(), whole().into()], combined(|a, b| a * b)),
        case("partmax", "tpartmax $0, $1", vec![whole().into(), part().into()], combined(f32::max)),
        case("partmin", "tpartmin $0, $1", vec![part().into(), whole().into()], combined(f32::min)),
        case("partadd of equals", "tpartadd $0, $1", vec![part().into(), part().into()], {
            f32([2, 3], &small.map(|v| v + v)).within([4, 8])
        }),
        case(
            "partadd with nothing",
            "tpartadd $0, $1",
            vec![nothing().into(), f32([2, 8], &large[..16]).into()],
            f32([2, 8], &large[..16]),
        ),
    ]
}

fn casts() -> Vec<Case> {
    let row = f32([1, 8], &[1.0, -2.0, 0.5, 0.0, f32::NAN, 3.0, 4.0, -0.0]);
    let bits = row.data.iter().flat_map(|b| [(b & 0xffff) as u16, (b >> 16) as u16]).collect::<Vec<_>>();
    let words: Vec<u32> = row.data.iter().map(|&b| b as u32).collect();
    vec![
        case("bitcast", "bitcast $0", vec![row.clone().into()], u32([1, 8], &words)),
        case(
            "bitcast to halves",
            "bitcast $0",
            vec![row.clone().into()],
            i16([1, 16], &bits.iter().map(|&b| b as i16).collect::<Vec<_>>()),
        ),
        case("bitcast to another shape", "bitcast $0", vec![u16([1, 16], &bits).into()], row.clone()),
    ]
}
