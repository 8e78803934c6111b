//! Effects are tested, not trusted: memory planning, scheduling and their checkers go by what the op table and
//! [`ir::effects`] declare. Every instruction with a pipe runs alone, as a placed kernel over random scratchpads and global
//! memory, with many element types, layouts and valid regions, and each time
//!
//! * every byte that it is not declared to read is made another: what it writes stays the same;
//! * every byte that it is not declared to write survives, and every one that it is declared to overwrite gets a value that
//!   does not depend on the old one;
//! * where the table allows it in place of an operand, it gives there what it gives elsewhere.
//!
//! The counts per instruction are printed (`cargo test --release -p driver --test effects -- --nocapture`).

// The figures are for whoever asks for them with `--nocapture`.
#![allow(clippy::print_stdout)]

#[path = "effects/cases.rs"]
mod cases;
#[path = "effects/instruction.rs"]
mod instruction;
#[path = "effects/model.rs"]
mod model;
#[path = "effects/movement.rs"]
mod movement;
#[path = "effects/random.rs"]
mod random;

use instruction::{Case, Operand, Refused};
use ir::Opcode;
use ir::effects::{Effects, Extent, TileBox};
use ir::info::{Levels, Pipe};
use ir::ops::TABLE;
use model::{Lie, Outcome, examine};
use random::Rng;

/// Instructions with a pipe that do not run alone, or touch no tile.
const ELSEWHERE: [(Opcode, &str); 10] = [
    (Opcode::TPushToAiv, "needs the other core at the other end: crates/lower/tests/split_random.rs"),
    (Opcode::TPopFromAic, "needs the other core at the other end"),
    (Opcode::TFreeFromAic, "moves no element"),
    (Opcode::TPushToAic, "needs the other core at the other end"),
    (Opcode::TPopFromAiv, "needs the other core at the other end"),
    (Opcode::TFreeFromAiv, "moves no element"),
    (Opcode::LoadScalar, "touches no tile: crates/machine/tests/footprints.rs"),
    (Opcode::CommTWait, "touches no tile: crates/driver/tests/exec.rs"),
    (Opcode::CacheInvalid, "touches no tile, and runs are coherent"),
    (Opcode::StoreScalar, "touches no tile; carries the result of `tgetval` here"),
];

#[derive(Default)]
struct Tally {
    held: u32,
    in_place: u32,
    verifier: u32,
    decoder: u32,
    fault: u32,
}

fn describe(case: &Case) -> String {
    let operand = |o: &Operand| match o {
        Operand::Tile(ty, _) => ty.to_string(),
        Operand::Scalar(s) => s.dtype.to_string(),
        Operand::Part(p) => format!("{}x{} at {:?} of {:?} {}", p.size[0], p.size[1], p.at, p.view, p.dtype),
    };
    let operands: Vec<String> = case.groups.iter().flatten().map(operand).collect();
    let dest = case.dest.as_ref().map(operand).unwrap_or_default();
    let Case { arch, dynamic, windows, attrs, .. } = case;
    let name = case.opcode.name();
    format!("{name} {} -> {dest}, {attrs:?}, {arch}, dynamic {dynamic}, windows {windows}", operands.join(", "))
}

fn all(opcode: Opcode, lie: Option<Lie<'_>>) -> (Tally, Vec<String>) {
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for (n, case) in cases::of(opcode).iter().enumerate() {
        let mut rng = Rng(n as u64);
        match examine(case, lie, &mut rng) {
            Ok(Outcome::Held { in_place }) => {
                tally.held += 1;
                tally.in_place += in_place;
            }
            Ok(Outcome::Refused(Refused::Verifier)) => tally.verifier += 1,
            Ok(Outcome::Refused(Refused::Decoder)) => tally.decoder += 1,
            Ok(Outcome::Fault) => tally.fault += 1,
            Err(why) => broken.push(format!("{}: {why}", describe(case))),
        }
    }
    (tally, broken)
}

#[test]
fn every_instruction_does_what_is_declared() {
    let mut broken = Vec::new();
    let mut silent = Vec::new();
    println!("instruction: ran, of these in place; refused by the verifier, the decoder, the instruction");
    for info in &TABLE {
        if info.pipe == Pipe::None || !info.levels.contains(Levels::KERNEL) {
            continue;
        }
        let elsewhere = ELSEWHERE.iter().find(|(opcode, _)| *opcode == info.opcode);
        if let Some((_, why)) = elsewhere {
            println!("{}: not here, {why}", info.name);
            continue;
        }
        if !info.runs {
            println!("{}: not here, no executor runs it", info.name);
            continue;
        }
        let (t, mut wrong) = all(info.opcode, None);
        println!("{}: {}, {}; {}, {}, {}", info.name, t.held, t.in_place, t.verifier, t.decoder, t.fault);
        let never = t.held < 10 || (!info.in_place.is_empty() && t.in_place < 10);
        if never && wrong.is_empty() {
            silent.push(info.name);
        }
        wrong.truncate(5);
        broken.append(&mut wrong);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(silent.is_empty(), "hardly ever run, or never in place: {}", silent.join(", "));
}

/// The reasons for which the instruction was found out.
fn caught(opcode: Opcode, lie: Lie<'_>) -> Vec<String> {
    all(opcode, Some(lie)).1
}

fn some(reasons: &[String], part: &str) {
    assert!(reasons.iter().any(|r| r.contains(part)), "none of {} says `{part}`: {:?}", reasons.len(), reasons.first());
}

const ONE: Extent = Extent::Static(1);

#[test]
fn a_read_that_is_not_declared_is_caught() {
    let no_b = |e: &mut Effects| e.reads.retain(|r| r.operand != "b");
    some(&caught(Opcode::TAdd, &no_b), "depends on what is not declared to be read");
    let one_column = |e: &mut Effects| {
        let read = &mut e.reads[0];
        read.elements = read.elements.map(|b| TileBox { cols: ONE, ..b });
    };
    some(&caught(Opcode::TRowSum, &one_column), "depends on what is not declared to be read");
    let no_acc = |e: &mut Effects| e.reads.retain(|r| r.operand != "acc");
    some(&caught(Opcode::TMatmulAcc, &no_acc), "depends on what is not declared to be read");
    // Indices that are not declared are any: the instruction refuses most.
    let no_indices = |e: &mut Effects| e.reads.retain(|r| r.operand != "indices");
    some(&caught(Opcode::TGather, &no_indices), "fails with these operands");
}

#[test]
fn a_write_that_is_not_declared_is_caught() {
    let one_row = |e: &mut Effects| {
        let write = e.write.as_mut().expect("a destination");
        write.elements = write.elements.map(|b| TileBox { rows: ONE, ..b });
    };
    some(&caught(Opcode::TExpandS, &one_row), "is not declared to be written");
    some(&caught(Opcode::TMatmul, &one_row), "is not declared to be written");
}

#[test]
fn a_write_that_does_not_happen_is_caught() {
    // A column more than there is room for in the valid region.
    let all = |e: &mut Effects| {
        let write = e.write.as_mut().expect("a destination");
        write.elements = Some(TileBox { rows: Extent::Static(u64::MAX), cols: Extent::Static(u64::MAX) });
    };
    some(&caught(Opcode::TAbs, &all), "depends on what is not declared to be read");
    some(&caught(Opcode::TInsert, &all), "depends on what is not declared to be read");
}

#[test]
fn in_place_where_it_is_not_legal_is_caught() {
    let anywhere = |e: &mut Effects| e.reads.iter_mut().for_each(|r| r.in_place = true);
    for opcode in [Opcode::TTrans, Opcode::TGather] {
        some(&caught(opcode, &anywhere), "depends on others of it");
    }
}
