//! Each rule on small kernels: plans that work, and plans that do not.

use super::*;
use crate::testing::{kernel_text, program, program_of, unverified};

const TILE: &str = "!pto.tile_buf<vec, 16x64xf32>";

/// A kernel with tiles of 4 KiB at these addresses, or without; its body is made of `.pto` with `TILE` for their type.
fn kernel(addresses: &[(&str, Option<u64>)], body: &str) -> Program {
    let mut text = String::from(
        "%c0 = arith.constant 0 : index
         %c1 = arith.constant 1 : index
         %c8 = arith.constant 8 : index
         %c16 = arith.constant 16 : index
         %c64 = arith.constant 64 : index
         %s = arith.constant 2.0 : f32
         %cond = arith.constant true
         %w = pto.make_tensor_view %arg0, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
         %g = pto.partition_view %w, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
        ",
    );
    for (name, address) in addresses {
        // In the body, where a `tile NAME` line stands; else at the start.
        if body.contains(&format!("tile {name}\n")) {
            continue;
        }
        text += &allocation(name, *address);
    }
    let mut body = body.to_owned();
    for (name, address) in addresses {
        body = body.replace(&format!("tile {name}\n"), &allocation(name, *address));
    }
    program(&(text + &body).replace("GM", "!pto.partition_tensor_view<16x64xf32>").replace("TILE", TILE))
}

fn allocation(name: &str, address: Option<u64>) -> String {
    match address {
        None => format!("%{name} = pto.alloc_tile : TILE\n"),
        Some(at) => {
            format!("%at_{name} = arith.constant {at} : i64\n%{name} = pto.alloc_tile addr = %at_{name} : TILE\n")
        }
    }
}

/// What is found when tiles of this body get these addresses.
fn planned(addresses: &[(&str, u64)], body: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    let (with, without): (Vec<_>, Vec<_>) = addresses.iter().map(|&(n, a)| ((n, Some(a)), (n, None))).unzip();
    let verdict = memory(&kernel(&without, body), &kernel(&with, body));
    assert!(verdict.unsupported.is_empty(), "{:?}", verdict.unsupported);
    let name = |s: &Option<Site>| s.as_ref().map_or("", |s| s.name);
    verdict.findings.iter().map(|f| (f.rule, f.first.name, name(&f.second))).collect()
}

fn rules(verdict: &Verdict) -> Vec<&'static str> {
    assert!(verdict.unsupported.is_empty(), "{:?}", verdict.unsupported);
    verdict.findings.iter().map(|f| f.rule).collect()
}

const CHAIN: &str = "pto.tload ins(%g : GM) outs(%a : TILE)
    pto.tabs ins(%a : TILE) outs(%b : TILE)
    pto.tneg ins(%b : TILE) outs(%c : TILE)
    pto.tadd ins(%b, %c : TILE, TILE) outs(%c : TILE)
    pto.tstore ins(%c : TILE) outs(%g : GM)";

#[test]
fn tiles_share_bytes_when_neither_is_needed_while_the_other_is() {
    assert_eq!(planned(&[("a", 0), ("b", 4096), ("c", 8192)], CHAIN), []);
    assert_eq!(planned(&[("a", 0), ("b", 4096), ("c", 0)], CHAIN), []);
    // In place, as the table allows.
    assert_eq!(planned(&[("a", 0), ("b", 0), ("c", 4096)], CHAIN), []);
    let found = planned(&[("a", 0), ("b", 4096), ("c", 4096)], CHAIN);
    assert_eq!(found, [("memory-overlap", "tadd", "tneg")]);
    // By a single row.
    let found = planned(&[("a", 0), ("b", 4096), ("c", 7936)], CHAIN);
    assert!(found.contains(&("memory-overlap", "tadd", "tneg")), "{found:?}");
}

#[test]
fn a_finding_names_the_bytes_and_the_tile() {
    let at = |b, c| [("a", Some(0)), ("b", b), ("c", c)];
    let before = kernel(&[("a", None), ("b", None), ("c", None)], CHAIN);
    let after = kernel(&at(Some(4096), Some(4096)), CHAIN);
    let verdict = memory(&before, &after);
    let finding = &verdict.findings[0];
    assert_eq!(finding.bytes, Some(Bytes { memory: "vec".into(), range: 4096..8192 }));
    assert!(finding.message.contains("its `%c`") && finding.message.contains("`tadd`"), "{}", finding.message);
}

#[test]
fn what_comes_around_a_loop_is_still_needed() {
    let body = "pto.texpands ins(%s : f32) outs(%a : TILE)
        scf.for %i = %c0 to %c8 step %c1 {
          pto.tabs ins(%a : TILE) outs(%b : TILE)
          pto.tneg ins(%b : TILE) outs(%c : TILE)
          pto.tstore ins(%c : TILE) outs(%g : GM)
        }";
    assert_eq!(planned(&[("a", 0), ("b", 4096), ("c", 4096)], body), []);
    // Nothing in a turn reads `%a` after `%c` is written; the next turn does.
    assert_eq!(planned(&[("a", 0), ("b", 4096), ("c", 0)], body), [("memory-overlap", "tabs", "tneg")]);
}

#[test]
fn tiles_of_one_turn_begin_each_turn_anew() {
    let body = "scf.for %i = %c0 to %c8 step %c1 {
          tile a
          tile b
          tile c
          pto.tload ins(%g : GM) outs(%a : TILE)
          pto.tabs ins(%a : TILE) outs(%b : TILE)
          pto.tneg ins(%b : TILE) outs(%c : TILE)
          pto.tstore ins(%c : TILE) outs(%g : GM)
        }
        ";
    assert_eq!(planned(&[("a", 0), ("b", 4096), ("c", 0)], body), []);
    assert_eq!(planned(&[("a", 0), ("b", 0), ("c", 0)], body), []);
}

#[test]
fn what_branches_leave_lives_on_in_their_result() {
    let body = "pto.tload ins(%g : GM) outs(%d : TILE)
        %r = scf.if %cond -> (TILE) {
          tile a
          pto.tabs ins(%d : TILE) outs(%a : TILE)
          scf.yield %a : TILE
        } else {
          tile b
          pto.tneg ins(%d : TILE) outs(%b : TILE)
          scf.yield %b : TILE
        }
        pto.texpands ins(%s : f32) outs(%c : TILE)
        pto.tadd ins(%r, %c : TILE, TILE) outs(%c : TILE)
        pto.tstore ins(%c : TILE) outs(%g : GM)
        ";
    // Both on the same bytes: only one of them is ever there.
    assert_eq!(planned(&[("d", 0), ("a", 4096), ("b", 4096), ("c", 0)], body), []);
    let found = planned(&[("d", 0), ("a", 4096), ("b", 8192), ("c", 8192)], body);
    assert_eq!(found, [("memory-overlap", "tadd", "texpands")]);
}

#[test]
fn a_window_lies_where_its_tile_does() {
    let body = "%v = pto.subview %a[%c8, %c0] sizes [8, 64] : TILE -> !pto.tile_buf<vec, 8x64xf32>
        pto.texpands ins(%s : f32) outs(%a : TILE)
        pto.tload ins(%g : GM) outs(%b : TILE)
        pto.tabs ins(%v : !pto.tile_buf<vec, 8x64xf32>) outs(%v : !pto.tile_buf<vec, 8x64xf32>)
        pto.tstore ins(%a : TILE) outs(%g : GM)
        pto.tstore ins(%b : TILE) outs(%g : GM)";
    assert_eq!(planned(&[("a", 0), ("b", 4096)], body), []);
    // The lower half of `%a`, where only the window looks.
    let found = planned(&[("a", 0), ("b", 2048)], body);
    assert!(found.contains(&("memory-overlap", "tabs", "tload")), "{found:?}");
}

#[test]
fn what_was_never_written_may_be_anything() {
    let body = "pto.tload ins(%g : GM) outs(%b : TILE)
        pto.tstore ins(%b : TILE) outs(%g : GM)
        pto.tabs ins(%a : TILE) outs(%a : TILE)
        pto.tstore ins(%a : TILE) outs(%g : GM)";
    assert_eq!(planned(&[("a", 0), ("b", 0)], body), []);
}

#[test]
fn addresses_are_aligned_and_within_the_buffer() {
    // The verifier says the same of tiles: a program that was made otherwise has to be judged as well.
    let at = |address: u64| {
        let text = format!("%at = arith.constant {address} : i64\n%a = pto.alloc_tile addr = %at : {TILE}");
        placement(&unverified(&kernel_text(&text)))
    };
    assert_eq!(rules(&at(0)), Vec::<&str>::new());
    let capacity = chip::Arch::A5.chip().capacity(Space::Vec).assembler as u64;
    assert_eq!(rules(&at(capacity - 4096)), Vec::<&str>::new());
    assert_eq!(rules(&at(capacity - 4064)), ["memory-capacity"]);
    assert_eq!(rules(&at(48)), ["memory-alignment"]);
}

#[test]
fn tiles_stay_off_the_slots_of_a_fifo() {
    let text = |at: u64| {
        program_of(&format!(
            "module attributes {{pto.target_arch = \"a5\"}} {{
             func.func @k() attributes {{pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry}} {{
             %b = pto.reserve_buffer {{name = \"f\", size = 8192, location = #pto.address_space<vec>, auto = false, base = 4096}} -> i32
             pto.aiv_initialize_pipe {{id = 0, dir_mask = 1, slot_size = 1024}} (c2v_consumer_buf = %b : i32)
             %at = arith.constant {at} : i64
             %t = pto.alloc_tile addr = %at : {TILE}
             return
             }} }}"
        ))
    };
    assert_eq!(rules(&placement(&text(0))), Vec::<&str>::new());
    assert_eq!(rules(&placement(&text(12288))), Vec::<&str>::new());
    assert_eq!(rules(&placement(&text(32))), ["memory-reserved"]);
}

#[test]
fn scratch_is_of_its_own() {
    let body = "pto.trowsum ins(%a, %b : TILE, TILE) outs(%r : !pto.tile_buf<vec, 16x1xf32, blayout=col_major>)";
    let at = |tmp: u64, result: u64| {
        let text = format!(
            "%at_r = arith.constant {result} : i64\n%r = pto.alloc_tile addr = %at_r : !pto.tile_buf<vec, 16x1xf32, blayout=col_major>\n{body}"
        );
        rules(&placement(&kernel(&[("a", Some(0)), ("b", Some(tmp))], &text)))
    };
    assert_eq!(at(4096, 8192), Vec::<&str>::new());
    assert_eq!(at(0, 8192), ["memory-scratch"]);
    assert_eq!(at(4096, 8160), ["memory-scratch"]);
}

#[test]
fn a_result_may_follow_its_operand_and_not_overtake_it() {
    let tile = |rows: u64, cols: u64, ty: &str| format!("!pto.tile_buf<vec, {rows}x{cols}x{ty}>");
    let convert = |from: &str, to: &str, at: u64| {
        let (x, y) = (tile(16, 64, from), tile(16, 64, to));
        rules(&placement(&program(&format!(
            "%p = arith.constant 4096 : i64
             %q = arith.constant {at} : i64
             %a = pto.alloc_tile addr = %p : {x}
             %b = pto.alloc_tile addr = %q : {y}
             pto.tcvt ins(%a {{rmode = #pto<round_mode RINT>}} : {x}) outs(%b : {y})"
        ))))
    };
    assert_eq!(convert("f32", "f16", 4096), Vec::<&str>::new());
    assert_eq!(convert("f16", "f32", 4096), ["memory-in-place"]);
    // In front of it, and behind it.
    assert_eq!(convert("f32", "f16", 4064), Vec::<&str>::new());
    assert_eq!(convert("f32", "f16", 4128), ["memory-in-place"]);
    let add = |at: u64| {
        rules(&placement(&kernel(
            &[("a", Some(4096)), ("b", Some(16384)), ("c", Some(at))],
            "pto.tadd ins(%a, %b : TILE, TILE) outs(%c : TILE)",
        )))
    };
    assert_eq!(add(4096), Vec::<&str>::new());
    assert_eq!(add(4352), ["memory-in-place"]);
    // A planner's own choice has to be one of the table's.
    let body = "pto.texpands ins(%s : f32) outs(%a : TILE)
        pto.texpands ins(%s : f32) outs(%b : TILE)
        pto.tadd ins(%a, %b : TILE, TILE) outs(%c : TILE)
        pto.tstore ins(%c : TILE) outs(%g : GM)";
    assert_eq!(planned(&[("a", 4096), ("b", 16384), ("c", 3840)], body), [("memory-in-place", "tadd", "")]);
}

#[test]
fn a_vector_for_all_rows_is_not_overwritten() {
    let vector = "!pto.tile_buf<vec, 16x1xf32, blayout=col_major>";
    let at = |address: u64| {
        rules(&placement(&kernel(
            &[("a", Some(0)), ("b", Some(4096))],
            &format!(
                "%at = arith.constant {address} : i64
                 %v = pto.alloc_tile addr = %at : {vector}
                 pto.trowexpandmul ins(%a, %v : TILE, {vector}) outs(%b : TILE)"
            ),
        )))
    };
    assert_eq!(at(8192), Vec::<&str>::new());
    assert_eq!(at(4096), ["memory-in-place"]);
}

#[test]
fn several_tiles_in_turn_are_apart() {
    let multi = "!pto.multi_tile_buf<vec, 16x64xf32, count=2>";
    let text = |first: u64, other: u64, placed: bool| {
        let addr = |at: &str| if placed { format!("addr = %{at} ") } else { String::new() };
        program(&format!(
            "%c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c16 = arith.constant 16 : index
             %c64 = arith.constant 64 : index
             %p = arith.constant {first} : i64
             %q = arith.constant {other} : i64
             %w = pto.make_tensor_view %arg0, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
             %g = pto.partition_view %w, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x64xf32>
             %m = pto.alloc_multi_tile {}: {multi}
             %o = pto.alloc_tile {}: {TILE}
             %x = pto.multi_tile_get %m[%c0] : {multi} -> {TILE}
             %y = pto.multi_tile_get %m[%c1] : {multi} -> {TILE}
             pto.tload ins(%g : !pto.partition_tensor_view<16x64xf32>) outs(%x : {TILE})
             pto.tload ins(%g : !pto.partition_tensor_view<16x64xf32>) outs(%y : {TILE})
             pto.tload ins(%g : !pto.partition_tensor_view<16x64xf32>) outs(%o : {TILE})
             pto.tstore ins(%x : {TILE}) outs(%g : !pto.partition_tensor_view<16x64xf32>)
             pto.tstore ins(%y : {TILE}) outs(%g : !pto.partition_tensor_view<16x64xf32>)
             pto.tstore ins(%o : {TILE}) outs(%g : !pto.partition_tensor_view<16x64xf32>)",
            addr("p"),
            addr("q"),
        ))
    };
    let before = text(0, 0, false);
    assert_eq!(rules(&memory(&before, &text(0, 8192, true))), Vec::<&str>::new());
    // On the second of them.
    assert_eq!(rules(&memory(&before, &text(0, 4096, true))), ["memory-overlap"]);
}

#[test]
fn an_address_that_only_a_run_knows_is_not_judged() {
    let p = unverified(&kernel_text(&format!(
        "%c0 = arith.constant 0 : index
         %a = pto.load_scalar %arg2[%c0] : !pto.ptr<i32> -> i32
         %b = arith.extsi %a : i32 to i64
         %t = pto.alloc_tile addr = %b : {TILE}"
    )));
    let verdict = placement(&p);
    assert_eq!(verdict.unsupported.iter().map(|d| d.code).collect::<Vec<_>>(), ["memory-address"]);
}
