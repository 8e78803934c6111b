//! Products and places of extremes along rows and columns; triangles and random bits.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    let mut out = reductions();
    out.extend(generators());
    out
}

fn reductions() -> Vec<Case> {
    // Small integers: every order of the product is exact.
    let small: Vec<f32> = (0..64).map(|i| [1.0, -1.0, 2.0, 3.0, 1.0][i % 5]).collect();
    let rows: Vec<f32> = small.chunks(8).map(|row| row.iter().product()).collect();
    let columns: Vec<f32> = (0..8).map(|c| (0..8).map(|r| small[r * 8 + c]).product()).collect();
    let n = [3, -2, 5, 7, 1, 4];
    let mut tied = [0.0; 64];
    for (r, row) in tied.chunks_mut(8).enumerate() {
        // The largest twice, and the smallest twice.
        (row[r], row[(r + 3) % 8], row[(r + 1) % 8], row[(r + 6) % 8]) = (9.0, 9.0, -9.0, -9.0);
    }
    let first =
        |at: fn(i32) -> [i32; 2]| (0..8).map(|r| at(r).map(|c| c % 8).into_iter().min().unwrap()).collect::<Vec<_>>();
    let (largest, smallest) = (first(|r| [r, r + 3]), first(|r| [r + 1, r + 6]));
    let matrix = || f32([8, 8], &tied);
    // In column c the largest are in rows c and c − 3, the smallest in rows c − 1 and c − 6.
    let (top, bottom) = (first(|c| [c, c + 5]), first(|c| [c + 7, c + 2]));
    vec![
        case("row product", "trowprod $0", vec![f32([8, 8], &small).into()], f32([8, 1], &rows)),
        case("column product", "tcolprod $0", vec![f32([8, 8], &small).into()], f32([1, 8], &columns)),
        case("row product of a part", "trowprod $0", vec![i32([2, 3], &n).within([8, 8]).into()], {
            i32([2, 1], &[-30, 28]).within([8, 1])
        }),
        case("column product of a part", "tcolprod $0", vec![i32([2, 3], &n).within([8, 8]).into()], {
            i32([1, 3], &[21, -2, 20]).within([1, 8])
        }),
        case("place of the largest in a row", "trowargmax $0", vec![matrix().into()], i32([8, 1], &largest)),
        case("place of the smallest in a row", "trowargmin $0", vec![matrix().into()], i32([8, 1], &smallest)),
        case("place of the largest in a column", "tcolargmax $0", vec![matrix().into()], i32([1, 8], &top)),
        case("place of the smallest in a column", "tcolargmin $0", vec![matrix().into()], i32([1, 8], &bottom)),
        case("place in a part of a row", "trowargmax $0", vec![i32([2, 3], &n).within([8, 8]).into()], {
            i32([2, 1], &[2, 0]).within([8, 1])
        }),
        case("place in a part of a column", "tcolargmin $0", vec![i32([2, 3], &n).within([8, 8]).into()], {
            i32([1, 3], &[0, 0, 1]).within([1, 8])
        }),
    ]
}

fn generators() -> Vec<Case> {
    let triangle = |holds: fn(i64, i64) -> bool| -> Vec<i32> { (0..32).map(|i| holds(i / 8, i % 8) as i32).collect() };
    let floats: Vec<f32> = triangle(|i, j| j < i - 1).iter().map(|&v| 1.0 - v as f32).collect();
    let words = |words: [i64; 6]| -> Vec<Operand> { words.iter().map(|&w| scalar("u32", w)).collect() };
    let random = "trandom $0, $1, $2, $3, $4, $5";
    // Known answers of Philox-4x32 (Salmon et al., Random123), one block each.
    let zero = || words([0; 6]);
    let pi = || words([0xa409_3822, 0x299f_31d0, 0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]);
    let block = |words: [u32; 4]| u32([1, 4], &words).within([1, 8]);
    vec![
        case("lower triangle", "ttri $0", vec![scalar("i32", 1)], i32([4, 8], &triangle(|i, j| j <= i + 1))),
        case("upper triangle", "ttri $0", vec![scalar("index", -1)], f32([4, 8], &floats)).attrs("{upper = true}"),
        case("part of a triangle", "ttri $0", vec![scalar("i32", 0)], {
            i32([3, 2], &[1, 0, 1, 1, 1, 1]).within([4, 8])
        }),
        case("random", random, zero(), block([0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8])).on_a5(),
        case("random of seven rounds", random, zero(), block([0x5f6f_b709, 0x0d89_3f64, 0x4f12_1f81, 0x4f73_0a48]))
            .attrs("{rounds = 7}")
            .on_a5(),
        case("random with a key", random, pi(), block([0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]))
            .attrs("{rounds = 10}")
            .on_a5(),
    ]
}
