//! Sorts and merges of records.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    // 7 · 23 = 1 modulo 32: value v stands at place 23 · v.
    let scattered: Vec<f32> = (0..32).map(|i| (i * 7 % 32) as f32).collect();
    let places: Vec<u32> = (0..32).collect();
    let sorted: Vec<(u32, u32)> = (0..32).rev().map(|v| ((v as f32).to_bits(), v * 23 % 32)).collect();
    // The bits of positive halves are in the order of their values.
    let halves: Vec<u16> = (0..32).map(|i| 0x3c00 + i * 7 % 32).collect();
    let half_records: Vec<u64> = (0..32u64).rev().flat_map(|v| [0x3c00 + v, 0, v * 23 % 32, 0]).collect();
    let ties = [0.0, 1.0, -0.0, 0.0, 1.0, f32::NEG_INFINITY, -1.0, 1.0];
    let short: Vec<(u32, u32)> =
        [(1.0f32, 1), (1.0, 4), (1.0, 7), (0.0, 0), (0.0, 3), (-0.0, 2), (-1.0, 6), (f32::NEG_INFINITY, 5)]
            .map(|(v, i)| (v.to_bits(), 100 + i))
            .into_iter()
            .chain([(u32::MAX, 0); 24])
            .collect();
    let hundreds: Vec<u32> = (100..108).collect();
    let runs = numbers(&[(9, 0), (1, 1), (8, 2), (2, 3), (7, 4), (3, 5), (6, 6), (4, 7)]);
    let merged = numbers(&[(9, 0), (8, 2), (7, 4), (6, 6), (4, 7), (3, 5), (2, 3), (1, 1)]);
    let one = numbers(&[(8, 0), (5, 1), (5, 2), (1, 3)]);
    let other = numbers(&[(9, 10), (5, 11), (2, 12), (1, 13)]);
    let both = numbers(&[(9, 10), (8, 0), (5, 1), (5, 2), (5, 11), (2, 12), (1, 3), (1, 13)]);
    vec![
        case(
            "sort",
            "tsort32 $0, $1",
            vec![f32([1, 32], &scattered).into(), u32([1, 32], &places).into()],
            records(&sorted),
        ),
        case("sort of halves", "tsort32 $0, $1", vec![f16([1, 32], &halves).into(), u32([1, 32], &places).into()], {
            Tile::new("f16", [1, 128], half_records)
        }),
        case(
            "sort of a short group with ties",
            "tsort32 $0, $1",
            vec![f32([1, 8], &ties).within([1, 32]).into(), u32([1, 8], &hundreds).within([1, 32]).into()],
            records(&short),
        ),
        case("merge of runs", "tmrgsort $0, $1", vec![runs.clone().into(), scalar("i32", 4)], merged),
        Case::fails(
            "merge of runs of no length",
            "tmrgsort $0, $1",
            vec![runs.clone().into(), scalar("i32", 3)],
            "3 is not a positive multiple of 2",
            runs,
        ),
        case("merge of lists", "tmrgsort.lists lists($0, $1)", vec![one.into(), other.into()], both),
    ]
}

/// A row of records of value and index.
fn records(list: &[(u32, u32)]) -> Tile {
    let words = list.iter().flat_map(|&(value, index)| [value as u64, index as u64]).collect();
    Tile::new("f32", [1, 2 * list.len() as u64], words)
}

fn numbers(list: &[(u32, u32)]) -> Tile {
    records(&list.iter().map(|&(value, index)| ((value as f32).to_bits(), index)).collect::<Vec<_>>())
}
