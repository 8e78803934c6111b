//! Each rule on small kernels: what a pass may do, and what it may not.

use super::*;
use crate::testing::program;

/// A kernel of tiles `%a` to `%f` of 4 KiB each at their own addresses, `%a2` at that of `%a`, and boxes `%g`, `%h`, `%i` of
/// global memory.
fn kernel(body: &[&str]) -> Program {
    let mut text = String::from(
        "%c0 = arith.constant 0 : index
         %c1 = arith.constant 1 : index
         %c8 = arith.constant 8 : index
         %c16 = arith.constant 16 : index
         %c64 = arith.constant 64 : index
         %s = arith.constant 2.0 : f32
         %cond = arith.constant true
         %w0 = pto.make_tensor_view %arg0, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
         %w1 = pto.make_tensor_view %arg1, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
         %g = pto.partition_view %w0, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
         %h = pto.partition_view %w1, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
        ",
    );
    for (i, name) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
        text += &format!("%at{i} = arith.constant {} : i64\n%{name} = pto.alloc_tile addr = %at{i} : TILE\n", i * 4096);
    }
    text += "%a2 = pto.alloc_tile addr = %at0 : TILE\n";
    for line in body {
        text += &expand(line);
        text.push('\n');
    }
    program(&text.replace("TILE", "!pto.tile_buf<vec, 16x64xf32>"))
}

/// `load a g`, `store a h`, `tadd a b c` (into c), `tmuls a b`, `tabs a b`, or `.pto` as it is.
fn expand(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["load", t, g] => {
            format!("pto.tload ins(%{g} : !pto.partition_tensor_view<16x64xf32>) outs(%{t} : TILE)")
        }
        ["store", t, g] => {
            format!("pto.tstore ins(%{t} : TILE) outs(%{g} : !pto.partition_tensor_view<16x64xf32>)")
        }
        ["tadd", a, b, c, ref marks @ ..] => {
            format!("pto.tadd ins(%{a}, %{b} : TILE, TILE) outs(%{c} : TILE) {}", marks.join(" "))
        }
        ["tabs", a, b, ref marks @ ..] => {
            format!("pto.tabs ins(%{a} : TILE) outs(%{b} : TILE) {}", marks.join(" "))
        }
        ["tmuls", a, b] => format!("pto.tmuls ins(%{a}, %s : TILE, f32) outs(%{b} : TILE)"),
        _ => line.to_owned(),
    }
}

/// Rule, and the names of both operations.
fn judged(before: &[&str], after: &[&str]) -> Vec<(&'static str, &'static str, &'static str)> {
    let verdict = order(&kernel(before), &kernel(after));
    assert!(verdict.unsupported.is_empty(), "{:?}", verdict.unsupported);
    let name = |s: &Option<Site>| s.as_ref().map_or("", |s| s.name);
    verdict.findings.iter().map(|f| (f.rule, f.first.name, name(&f.second))).collect()
}

fn proved(before: &[&str], after: &[&str]) {
    assert_eq!(judged(before, after), [], "{before:?} became {after:?}");
}

#[test]
fn what_is_independent_may_change_places() {
    let kernel = ["load a g", "load b h", "tadd a b c", "tmuls a d", "tabs d d", "store c g", "store d h"];
    proved(&kernel, &kernel);
    proved(&kernel, &["load b h", "load a g", "tmuls a d", "tadd a b c", "tabs d d", "store c g", "store d h"]);
    proved(&kernel, &["load a g", "tmuls a d", "load b h", "tabs d d", "tadd a b c", "store c g", "store d h"]);
}

#[test]
fn a_reader_before_its_writer() {
    let found = judged(&["load a g", "tabs a b", "store b h"], &["load a g", "store b h", "tabs a b"]);
    assert_eq!(found, [("order-raw", "tstore", "tabs")]);
}

#[test]
fn a_write_before_the_reader_of_what_was_there() {
    let before = ["load a g", "load c g", "tabs a b", "tabs c a", "store b h", "store a g"];
    let after = ["load a g", "load c g", "tabs c a", "tabs a b", "store b h", "store a g"];
    assert_eq!(judged(&before, &after), [("order-war", "tabs", "tabs")]);
}

#[test]
fn two_writes_in_the_other_order() {
    let before = ["load c g", "tabs c a", "tmuls c a", "store a h"];
    let after = ["load c g", "tmuls c a", "tabs c a", "store a h"];
    assert_eq!(judged(&before, &after), [("order-waw", "tstore", "tabs")]);
}

#[test]
fn addresses_count_and_not_names() {
    // `%a` and `%a2` are one buffer.
    let before = ["load a g", "tabs a b", "load a2 h", "tabs a2 c", "store b g", "store c h"];
    let after = ["load a g", "load a2 h", "tabs a b", "tabs a2 c", "store b g", "store c h"];
    assert_eq!(judged(&before, &after), [("order-war", "tabs", "tload")]);
    // As long as the bytes are the same, it does not matter which name they go by.
    proved(&["load a g", "tabs a b", "store b h"], &["load a g", "tabs a2 b", "store b h"]);
}

#[test]
fn the_published_failure_is_rejected_with_both_operations() {
    // {P, A, B, C} sunk below the store of A and the load that reuses its bytes.
    let before = [
        "tmuls f b", // P
        "load a g",
        "tadd a b a2", // A: the loaded tile and its own are one buffer
        "store a2 h",  // X
        "load a g",
        "tadd a b c", // B
        "tadd c b d", // C
        "store d h",
    ];
    let after =
        ["load a g", "store a2 h", "load a g", "tmuls f b", "tadd a b a2", "tadd a b c", "tadd c b d", "store d h"];
    let verdict = order(&kernel(&before), &kernel(&after));
    let shown: Vec<_> =
        verdict.findings.iter().map(|f| (f.rule, f.first.name, f.second.as_ref().map_or("", |s| s.name))).collect();
    assert!(shown.contains(&("order-raw", "tstore", "tadd")), "{shown:?}");
    assert!(
        shown.contains(&("order-war", "tadd", "tload")) || shown.contains(&("order-waw", "tadd", "tadd")),
        "{shown:?}"
    );
    let store = verdict.findings.iter().find(|f| f.first.name == "tstore").expect("the store");
    let bytes = store.bytes.as_ref().expect("bytes");
    assert_eq!((bytes.memory.as_str(), bytes.range.clone()), ("vec", 0..4096));
    assert!(store.message.contains("before `tadd`"), "{}", store.message);
}

#[test]
fn a_back_edge_is_a_path() {
    let turn = |body: &[&'static str]| -> Vec<&'static str> {
        let mut all = vec!["load a g", "load b h", "scf.for %i = %c0 to %c8 step %c1 {"];
        all.extend(body);
        all.extend(["}", "store c h"]);
        all
    };
    // `%a` is read at the start of a turn and written at its end.
    let before = turn(&["tadd a b c", "tabs b a"]);
    proved(&before, &before);
    let found = judged(&before, &turn(&["tabs b a", "tadd a b c"]));
    assert_eq!(found, [("order-war", "tadd", "tabs")]);
    // Nobody read `%c` in the loop: its own writes may pass others.
    proved(&turn(&["tadd a b c", "tabs b d"]), &turn(&["tabs b d", "tadd a b c"]));
    // What comes around is another operation's.
    let before = turn(&["tadd a b c", "tabs b a", "tmuls b a"]);
    let after = turn(&["tadd a b c", "tmuls b a", "tabs b a"]);
    assert!(
        judged(&before, &after).iter().any(|f| f.0 == "order-waw" && f.1 == "tadd"),
        "{:?}",
        judged(&before, &after)
    );
}

#[test]
fn a_first_turn_that_finds_nothing_excuses_no_later_one() {
    // `%u` has no contents in the first turn; afterwards it has those of the turn before.
    let body = |inner: &str| {
        program(
            &format!(
                "%c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c8 = arith.constant 8 : index
             %s = arith.constant 2.0 : f32
             %t = pto.alloc_tile : TILE
             %u = pto.alloc_tile : TILE
             pto.texpands ins(%s : f32) outs(%t : TILE)
             scf.for %i = %c0 to %c8 step %c1 {{ {inner} }}"
            )
            .replace("TILE", "!pto.tile_buf<vec, 16x64xf32>"),
        )
    };
    let t = "!pto.tile_buf<vec, 16x64xf32>";
    let read = format!("pto.tadd ins(%t, %u : {t}, {t}) outs(%t : {t})");
    let write = format!("pto.tabs ins(%t : {t}) outs(%u : {t})");
    let (before, after) = (body(&format!("{read}\n{write}")), body(&format!("{write}\n{read}")));
    assert!(order(&before, &before).proved());
    assert!(!order(&before, &after).proved());
}

#[test]
fn branches_are_told_apart() {
    let branch = |first: &'static str, second: &'static str| {
        vec!["load b g", "load a g", "scf.if %cond {", first, "} else {", second, "}", "store a h"]
    };
    let before = branch("tabs b a", "tmuls b a");
    proved(&before, &before);
    // Both writes are there, each on the other path.
    let found = judged(&before, &branch("tmuls b a", "tabs b a"));
    assert!(found.iter().any(|f| f.1 == "tstore"), "{found:?}");
}

#[test]
fn a_window_whose_offset_was_dropped() {
    let with = |offset: &str| {
        let view = format!("%v = pto.subview %a[%{offset}, %c0] sizes [8, 64] : TILE -> !pto.tile_buf<vec, 8x64xf32>");
        kernel(&[
            "load a g",
            &view,
            "pto.tabs ins(%v : !pto.tile_buf<vec, 8x64xf32>) outs(%v : !pto.tile_buf<vec, 8x64xf32>)",
            "store a h",
        ])
    };
    assert!(order(&with("c8"), &with("c8")).proved());
    let verdict = order(&with("c8"), &with("c0"));
    assert!(verdict.findings.iter().any(|f| f.first.name == "tstore"), "{:?}", verdict.findings);
}

#[test]
fn an_operation_that_is_gone_or_changed() {
    assert_eq!(
        judged(&["load a g", "tabs a b", "store b h"], &["load a g", "store b h"]),
        [("order-lost", "tstore", "tabs")]
    );
    assert_eq!(
        judged(&["load a g", "tabs a b", "store b h"], &["load a g", "tmuls a b", "store b h"]),
        [("order-lost", "tstore", "tabs")]
    );
    // Of what nobody reads nothing is missed.
    proved(&["load a g", "tabs a b", "store a h"], &["load a g", "store a h"]);
    assert_eq!(judged(&["load a g", "store a h"], &["load a g"]), [("order-lost", "tstore", "")]);
    assert_eq!(judged(&["load a g"], &["load a g", "store a h"]), [("order-effect", "tstore", "")]);
}

#[test]
fn a_copy_of_a_tile_onto_itself_is_nothing() {
    let mov = "pto.tmov ins(%a : TILE) outs(%a2 : TILE)";
    proved(&["load a g", mov, "store a2 h"], &["load a g", "store a2 h"]);
    let mov = "pto.tmov ins(%a : TILE) outs(%b : TILE)";
    assert_eq!(judged(&["load a g", mov, "store b h"], &["load a g", "store b h"]), [("order-lost", "tstore", "tmov")]);
}

#[test]
fn stores_to_one_tensor_keep_their_order() {
    let before = ["load a g", "load b h", "store a g", "store b g"];
    let found = judged(&before, &["load a g", "load b h", "store b g", "store a g"]);
    assert!(!found.is_empty());
    // Of two tensors they need not.
    let before = ["load a g", "load b h", "store a h", "store b g"];
    proved(&before, &["load a g", "load b h", "store b g", "store a h"]);
}

#[test]
fn synchronisation_may_be_added_and_is_not_passed() {
    let plain = ["load a g", "tabs a b", "store b h"];
    let synced = ["load a g", "pto.barrier <PIPE_ALL>", "tabs a b", "store b h"];
    proved(&plain, &synced);
    let moved = ["load a g", "tabs a b", "pto.barrier <PIPE_ALL>", "store b h"];
    let found = judged(&synced, &moved);
    assert!(found.iter().any(|f| f.0 == "order-effect"), "{found:?}");
    assert_eq!(judged(&synced, &plain).first().map(|f| (f.0, f.1)), Some(("order-lost", "barrier")));
}

#[test]
fn scalar_code_may_be_shared_or_made_anew_but_not_changed() {
    proved(
        &[
            "load a g",
            "%x = arith.constant 3.0 : f32",
            "pto.tadds ins(%a, %x : TILE, f32) outs(%b : TILE)",
            "store b h",
        ],
        &[
            "%y = arith.constant 3.0 : f32",
            "%z = arith.constant 3.0 : f32",
            "load a g",
            "pto.tadds ins(%a, %z : TILE, f32) outs(%b : TILE)",
            "store b h",
        ],
    );
    let found = judged(
        &[
            "load a g",
            "%x = arith.constant 3.0 : f32",
            "pto.tadds ins(%a, %x : TILE, f32) outs(%b : TILE)",
            "store b h",
        ],
        &[
            "load a g",
            "%x = arith.constant 4.0 : f32",
            "pto.tadds ins(%a, %x : TILE, f32) outs(%b : TILE)",
            "store b h",
        ],
    );
    assert_eq!(found, [("order-lost", "tstore", "tadds")]);
}

const FIRST: &str = "{pto.fusion.group_id = 0 : i64, pto.fusion.order = 0 : i64}";
const SECOND: &str = "{pto.fusion.group_id = 0 : i64, pto.fusion.order = 1 : i64}";

fn marked(body: &[&str]) -> Vec<(&'static str, &'static str, &'static str)> {
    judged(body, body)
}

#[test]
fn members_of_a_group_follow_each_other() {
    let (one, two) = (format!("tabs a b {FIRST}"), format!("tabs b c {SECOND}"));
    assert_eq!(marked(&["load a g", &one, &two, "store c h"]), []);
    assert_eq!(marked(&["load a g", &one, "load d h", &two, "store c h"]), [("order-group", "tabs", "tload")]);
    let again = format!("tabs b c {FIRST}");
    assert_eq!(marked(&["load a g", &one, &again, "store c h"]), [("order-group", "tabs", "")]);
    let inner = ["load a g", &one, "scf.if %cond {", &two, "}", "store b h"];
    assert_eq!(marked(&inner), [("order-group", "tabs", "tabs")]);
}

#[test]
fn the_last_use_of_bytes_is_the_last_on_all_paths() {
    let last = "{pto.last_use = array<i64: 1, 0>}";
    let abs = format!("tabs a b {last}");
    assert_eq!(marked(&["load a g", &abs, "store b h"]), []);
    // Read again, under another name.
    assert_eq!(marked(&["load a g", &abs, "store a2 h"]), [("order-last-use", "tabs", "tstore")]);
    // Overwritten before that.
    assert_eq!(marked(&["load a g", &abs, "load a2 h", "store a2 h"]), []);
    // In place: what is read afterwards is the result.
    let place = format!("tabs a a2 {last}");
    assert_eq!(marked(&["load a g", &place, "store a h"]), []);
    // In the next turn.
    let turn = ["load a g", "scf.for %i = %c0 to %c8 step %c1 {", &abs, "}", "store b h"];
    assert_eq!(marked(&turn), [("order-last-use", "tabs", "tabs")]);
    let turn = ["scf.for %i = %c0 to %c8 step %c1 {", "load a g", &abs, "}", "store b h"];
    assert_eq!(marked(&turn), []);
    // On one path.
    let branch = ["load a g", &abs, "scf.if %cond {", "store a h", "}", "store b h"];
    assert_eq!(marked(&branch), [("order-last-use", "tabs", "tstore")]);
}

#[test]
fn tiles_that_were_taken_out_do_not_make_a_function_placed() {
    let mut program = kernel(&[]);
    let id = crate::testing::kernel(&program);
    let func = &mut program.functions[id];
    assert!(is_placed(func));
    for op in func.walk() {
        if func.ops[op].opcode == ir::Opcode::AllocTile {
            ir::builder::detach(func, op);
        }
    }
    assert!(!is_placed(func));
}
