//! Gathers and scatters inside the core.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    let mut out = gathers();
    out.extend(patterns());
    out.extend(blocks());
    out.extend(scatters());
    out
}

/// 0, 10, 20, …
fn tens(n: u64) -> Vec<f32> {
    (0..n).map(|i| 10.0 * i as f32).collect()
}

fn gathers() -> Vec<Case> {
    let table = || f32([2, 8], &tens(16));
    let gather = "tgather $0, $1";
    let halves: Vec<u16> = (0..16).map(|i| 0x3f80 + i).collect();
    let reversed: Vec<u16> = halves.iter().rev().copied().collect();
    let descending: Vec<i16> = (0..16).rev().collect();
    vec![
        case("gather", gather, vec![table().into(), u32([1, 8], &[15, 0, 7, 8, 1, 1, 2, 3]).into()], {
            f32([1, 8], &[150.0, 0.0, 70.0, 80.0, 10.0, 10.0, 20.0, 30.0])
        }),
        case(
            "gather of a part of the indices",
            gather,
            vec![table().into(), i32([2, 2], &[3, 9, 0, 14]).within([2, 8]).into()],
            f32([2, 2], &[30.0, 90.0, 0.0, 140.0]).within([2, 8]),
        ),
        // Element (1, 2) of the table is number 8 + 2, however little of it is valid.
        case(
            "gather from a part",
            gather,
            vec![
                f32([2, 3], &[0.0, 1.0, 2.0, 8.0, 9.0, 10.0]).within([2, 8]).into(),
                u32([1, 8], &[10, 2, 9, 1, 8, 0, 0, 0]).into(),
            ],
            f32([1, 8], &[10.0, 2.0, 9.0, 1.0, 8.0, 0.0, 0.0, 0.0]),
        ),
        case("gather of halves", gather, vec![bf16([1, 16], &halves).into(), i16([1, 16], &descending).into()], {
            bf16([1, 16], &reversed)
        }),
        case("gather of nothing", gather, vec![table().into(), i32([0, 8], &[]).within([2, 8]).into()], {
            f32([0, 8], &[]).within([2, 8])
        }),
        Case::fails(
            "gather beyond the end",
            gather,
            vec![table().into(), u32([1, 8], &[0, 1, 2, 16, 4, 5, 6, 7]).into()],
            "index 16 at (0, 3) is out of range: there are 16",
            f32([1, 8], &[0.0; 8]),
        ),
        Case::fails(
            "gather before the start",
            gather,
            vec![table().into(), i32([1, 8], &[0, 1, 2, 3, 4, 5, -6, 7]).into()],
            "index -6 at (0, 6) is out of range",
            f32([1, 8], &[0.0; 8]),
        ),
    ]
}

const PATTERNS: [(&str, u64, u64); 7] = [
    ("{pattern = 1}", 2, 0),
    ("{pattern = 2}", 2, 1),
    ("{pattern = 3}", 4, 0),
    ("{pattern = 4}", 4, 1),
    ("{pattern = 5}", 4, 2),
    ("{pattern = 6}", 4, 3),
    ("{pattern = 7}", 1, 0),
];

fn patterns() -> Vec<Case> {
    let mut out = Vec::new();
    for (attrs, period, lane) in PATTERNS {
        let wide: Vec<i32> = (0..64).collect();
        let taken: Vec<i32> = wide.iter().copied().filter(|v| *v as u64 % period == lane).collect();
        let narrow = 32 / period;
        let spread: Vec<i32> = wide.iter().map(|&v| if v as u64 % period == lane { v } else { 0 }).collect();
        out.push(
            case("gather by a pattern", "tgather.mask $0", vec![i32([2, 32], &wide).into()], i32([2, narrow], &taken))
                .attrs(attrs),
        );
        out.push(
            case(
                "scatter by a pattern",
                "tscatter.mask $0",
                vec![i32([2, narrow], &taken).into()],
                i32([2, 32], &spread),
            )
            .attrs(attrs),
        );
    }
    let bits: Vec<u32> = tens(16).iter().map(|v| v.to_bits()).collect();
    let odd: Vec<u32> = bits.iter().copied().skip(1).step_by(2).collect();
    out.push(
        case(
            "gather by a pattern moves bits",
            "tgather.mask $0",
            vec![f32([1, 16], &tens(16)).into()],
            u32([1, 8], &odd),
        )
        .attrs("{pattern = 2}"),
    );
    let part = |shape, data: &[f32]| f32(shape, data).within([2, 16]);
    out.push(
        case("gather by a pattern of a part", "tgather.mask $0", vec![part([1, 4], &[1.0, 2.0, 3.0, 4.0]).into()], {
            f32([1, 2], &[1.0, 3.0]).within([2, 8])
        })
        .attrs("{pattern = 1}"),
    );
    out.push(
        case(
            "scatter by a pattern of a part",
            "tscatter.mask $0",
            vec![f32([1, 2], &[1.0, 3.0]).within([2, 8]).into()],
            part([1, 4], &[0.0, 1.0, 0.0, 3.0]),
        )
        .attrs("{pattern = 2}"),
    );
    out
}

fn blocks() -> Vec<Case> {
    let table = || f32([3, 8], &tens(24));
    let gather = "tgatherb $0, $1";
    let offsets = [64, 0, 32, 64, 64, 0, 0, 32];
    let expected: Vec<f32> = offsets.iter().flat_map(|o| (0..8).map(move |c| 10.0 * (o / 4 + c) as f32)).collect();
    vec![
        case("gather of blocks", gather, vec![table().into(), u32([1, 8], &offsets).into()], f32([1, 64], &expected)),
        case(
            "gather of some blocks",
            gather,
            vec![table().into(), u32([2, 1], &[32, 0]).within([2, 8]).into()],
            f32([2, 8], &[&expected[16..24], &expected[8..16]].concat()).within([2, 64]),
        ),
        Case::fails(
            "gather of a block beyond the end",
            gather,
            vec![table().into(), u32([1, 8], &[0, 96, 0, 0, 0, 0, 0, 0]).into()],
            "index 96 at (0, 1) is out of range",
            f32([1, 64], &[0.0; 64]),
        ),
        Case::fails(
            "gather of what is no block",
            gather,
            vec![table().into(), u32([1, 8], &[0, 0, 16, 0, 0, 0, 0, 0]).into()],
            "not a multiple of 32",
            f32([1, 64], &[0.0; 64]),
        ),
    ]
}

fn scatters() -> Vec<Case> {
    let scatter = "tscatter $0, $1";
    let values = || i32([1, 8], &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut expected = [0; 16];
    for (at, value) in [(15, 1), (0, 3), (3, 4), (4, 5), (9, 8)] {
        expected[at] = value;
    }
    let mut few = [0; 16];
    (few[8], few[2]) = (7, 9);
    vec![
        // 2 goes to 0 before 3 does, and 6 and 7 to 9 before 8.
        case("scatter", scatter, vec![values().into(), i32([1, 8], &[15, 0, 0, 3, 4, 9, 9, 9]).into()], {
            i32([2, 8], &expected)
        }),
        case(
            "scatter of a part",
            scatter,
            vec![i32([1, 2], &[7, 9]).within([1, 8]).into(), u32([1, 2], &[8, 2]).within([1, 8]).into()],
            i32([2, 8], &few),
        ),
        Case::fails(
            "scatter beyond the end",
            scatter,
            vec![values().into(), i32([1, 8], &[0, 1, 2, 3, 4, 5, 6, 16]).into()],
            "index 16 at (0, 7) is out of range: there are 16",
            i32([2, 8], &[0; 16]),
        ),
    ]
}
