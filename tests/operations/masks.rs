//! Comparisons and selections.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    let a = [1.0, 2.0, 3.0, f32::NAN, 0.0, -0.0, f32::INFINITY, 5.0];
    let b = [1.0, 3.0, 2.0, f32::NAN, -0.0, 0.0, f32::INFINITY, 4.0];
    let pair = || vec![f32([1, 8], &a).into(), f32([1, 8], &b).into()];
    let mut out = Vec::new();
    // Bit c belongs to column c.
    for (name, attrs, byte) in [
        ("cmp eq", "{predicate = eq}", 0b0111_0001),
        ("cmp ne", "{predicate = ne}", 0b1000_1110),
        ("cmp lt", "{predicate = lt}", 0b0000_0010),
        ("cmp le", "{predicate = le}", 0b0111_0011),
        ("cmp gt", "{predicate = gt}", 0b1000_0100),
        ("cmp ge", "{predicate = ge}", 0b1111_0101),
    ] {
        out.push(case(name, "tcmp $0, $1", pair(), mask(&[&[byte]])).attrs(attrs));
    }
    let n: Vec<i32> = (0..32).collect();
    let rising: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let falling: Vec<f32> = rising.iter().map(|v| -v).collect();
    let chosen = |i: usize| if i.is_multiple_of(2) == (i < 8) { rising[i] } else { falling[i] };
    let both = || -> Vec<Operand> {
        vec![mask(&[&[0b0101_0101], &[0b1010_1010]]).into(), f32([2, 8], &rising).into(), f32([2, 8], &falling).into()]
    };
    let few = f32([1, 5], &[1.0, 2.0, 3.0, 4.0, 5.0]).within([2, 8]);
    let more = f32([2, 6], &[-1.0; 12]).within([2, 8]);
    out.extend([
        // 20 columns: bits of the last byte that belong to none are 0, and so are the bytes after it.
        case(
            "cmps of a part",
            "tcmps $0, $1",
            vec![i32([1, 20], &n[..20]).within([2, 32]).into(), scalar("i32", 9)],
            Tile { shape: [2, 32], ..mask(&[&[0, 0b1111_1110, 0b0000_1111]]) },
        )
        .attrs("{predicate = ge}"),
        case("cmp where both are valid", "tcmp $0, $1", vec![few.clone().into(), more.clone().into()], {
            Tile { shape: [2, 32], ..mask(&[&[0b0001_1111]]) }
        })
        .attrs("{predicate = gt}"),
        case(
            "cmp of unsigned",
            "tcmps $0, $1",
            vec![u32([1, 8], &[0, 1, !0, 1 << 31, 7, 8, 9, 10]).into(), scalar("u32", 8)],
            mask(&[&[0b1100_1100]]),
        )
        .attrs("{predicate = gt}"),
        case("sel", "tsel $0, $1, $2", both(), f32([2, 8], &(0..16).map(chosen).collect::<Vec<_>>())),
        case(
            "sel where both are valid",
            "tsel $0, $1, $2",
            vec![mask(&[&[0b0000_1001], &[0]]).into(), few.into(), more.into()],
            f32([1, 5], &[1.0, -1.0, -1.0, 4.0, -1.0]).within([2, 8]),
        ),
        case(
            "sels",
            "tsels $0, $1, $2",
            vec![mask(&[&[0b1100_0001]]).into(), i32([1, 8], &n[..8]).into(), scalar("i32", -1)],
            i32([1, 8], &[0, -1, -1, -1, -1, -1, 6, 7]),
        ),
        case(
            "cmp of nothing",
            "tcmps $0, $1",
            vec![f32([0, 8], &[]).within([2, 8]).into(), scalar("f32", "1.0")],
            u8([0, 32], &[]).within([2, 32]),
        )
        .attrs("{predicate = ne}"),
    ]);
    out
}

/// A mask of up to 256 columns: rows of their first bytes.
fn mask(rows: &[&[u8]]) -> Tile {
    let mut bytes = vec![0; rows.len() * 32];
    for (to, from) in bytes.chunks_mut(32).zip(rows) {
        to[..from.len()].copy_from_slice(from);
    }
    u8([rows.len() as u64, 32], &bytes)
}
