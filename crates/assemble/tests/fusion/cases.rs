//! Fusion of small kernels: what is one group, what is not, and why.

use assemble::fuse::{Statistics, fuse};
use control::Control;
use ir::Program;
use ir::info::{GROUP_ID, LAST_USE};

use super::kernels::{STATE_UPDATE, program, text};
use super::order::disorder;
use super::sketch::kernel;

/// Fuses, holds the result to the order of what conflicts, pair by pair and by the checker, and to its marks.
fn fused(before: &Program) -> (Program, Statistics) {
    let mut after = before.clone();
    let found = fuse(&mut after, true, &mut Control::new(0));
    assert_eq!(disorder(before, &after), None);
    let verdict = check::order(before, &after);
    assert!(verdict.proved(), "{:#?}\n{}", verdict.diagnostics(), text(&after));
    ir::verify::verify(&after).unwrap_or_else(|e| panic!("{e:#?}"));
    (after, found)
}

/// Of each group, its members: the names of what they write.
fn groups(program: &Program) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (_, f) in program.functions.iter() {
        for op in f.walk() {
            let data = &f.ops[op];
            let Some(group) = data.attrs.int(GROUP_ID) else { continue };
            let name = data.dest().and_then(|d| f.values[d].name.clone()).unwrap_or_default();
            if group as usize == all.len() {
                all.push(name);
            } else if let Some(last) = all.last_mut() {
                *last += &format!(" {name}");
            }
        }
    }
    all
}

/// The last uses of the operation that writes `name`.
fn last_uses(program: &Program, name: &str) -> Vec<i64> {
    let (_, f) = program.functions.iter().nth(1).expect("the kernel");
    let writes = |&op: &ir::Op| f.ops[op].dest().and_then(|d| f.values[d].name.as_deref()) == Some(name);
    let mut ops = f.walk().into_iter().filter(writes);
    let marked = ops.find_map(|op| f.ops[op].attrs.ints(LAST_USE).map(<[i64]>::to_vec));
    marked.unwrap_or_else(|| panic!("{name} is not marked"))
}

#[test]
fn interleaved_chains_over_a_reused_offset_are_fused_and_stay_right() {
    let (after, found) = fused(&program(STATE_UPDATE));
    // The first sum is stored before offset 0 is loaded again: it cannot stand with the second chain.
    assert_eq!(groups(&after), ["dep k1", "g1 g2 g3 g4", "s1 s2 s3 s4"]);
    assert_eq!((found.groups, found.ops, found.inner), (3, 10, 6));
    assert_eq!(last_uses(&after, "k1"), [1, 0, 0], "`dep` is read again by the second chain");
    assert_eq!(last_uses(&after, "s4"), [1, 1, 0]);
}

#[test]
fn loads_come_first_where_a_group_needs_them() {
    let (after, found) = fused(&program(&kernel(
        "x @0 = load
         a @2048 = tadds x s
         y @4096 = load
         b @6144 = tadd a y
         store b",
    )));
    assert_eq!(groups(&after), ["a b"]);
    assert_eq!(found.inner, 1);
    assert_eq!(found.bytes, 5 * 2048);
    assert_eq!(found.bytes_saved, 2 * 2048, "`a` is neither stored nor loaded");
}

#[test]
fn what_has_to_stand_between_keeps_a_group_apart() {
    // `y` is loaded over `x`, which `a` reads, and `b` needs `y`.
    let (after, _) = fused(&program(&kernel(
        "x @0 = load
         a @2048 = tadds x s
         y @0 = load
         b @4096 = tadd a y
         store b",
    )));
    assert_eq!(groups(&after), [""; 0]);
}

#[test]
fn one_value_by_another_name_is_shared() {
    let (after, _) = fused(&program(&kernel(
        "x @0 = load
         a @2048 = tadds x s
         a2 @2048 = tmuls a s
         b @0 = tadd a2 a2
         store b",
    )));
    assert_eq!(groups(&after), ["a a2 b"]);
    let (after, _) = fused(&program(&kernel(
        "x @0 = load
         a @2048 = tadds x s
         %same = arith.constant 2048 : i64
         %alias = pto.alloc_tile addr = %same : !pto.tile_buf<vec, 8x64xf32>
         pto.tmuls ins(%alias, %s : !pto.tile_buf<vec, 8x64xf32>, f32) outs(%alias : !pto.tile_buf<vec, 8x64xf32>)
         store a",
    )));
    assert_eq!(groups(&after), ["a alias"], "by address");
}

#[test]
fn the_same_bytes_in_another_shape_are_not_shared() {
    let (after, _) = fused(&program(&kernel(
        "x:8x64[8,32] @0 = load
         a:8x64[8,32] @2048 = tadds x s
         %at = arith.constant 2048 : i64
         %narrow = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 8x32xf32>
         %to = pto.alloc_tile addr = %a1 : !pto.tile_buf<vec, 8x32xf32>
         pto.tmuls ins(%narrow, %s : !pto.tile_buf<vec, 8x32xf32>, f32) outs(%to : !pto.tile_buf<vec, 8x32xf32>)
         store x",
    )));
    assert_eq!(groups(&after), [""; 0]);
}

#[test]
fn vectors_and_sums_of_a_group_come_from_and_go_outside() {
    let (after, _) = fused(&program(&kernel(
        "x @0 = load
         a @2048 = tadds x s
         r:8x1 @4096 = trowsum a
         b @2048 = trowexpandsub a r
         c @2048 = tmuls b s
         store c",
    )));
    assert_eq!(groups(&after), ["a r", "b c"]);
}

#[test]
fn a_loop_keeps_what_its_next_turn_reads() {
    let (after, _) = fused(&program(&kernel(
        "x @0 = load
         loop
         a @2048 = tadds x s
         b @4096 = tmuls a s
         store b
         end",
    )));
    assert_eq!(groups(&after), ["a b"]);
    assert_eq!(last_uses(&after, "a"), [0, 0], "`x` is read again by the next turn");
    assert_eq!(last_uses(&after, "b"), [1, 0]);
}

#[test]
fn another_name_of_its_bytes_keeps_an_operand() {
    let (after, _) = fused(&program(&kernel(
        "x @0 = load
         a @2048 = tadds x s
         b @4096 = tmuls a s
         store b
         %same = arith.constant 2048 : i64
         %alias = pto.alloc_tile addr = %same : !pto.tile_buf<vec, 8x64xf32>
         %w = pto.partition_view %qv, offsets = [%c8, %c0], sizes = [%c8, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x64xf32>
         pto.tstore ins(%alias : !pto.tile_buf<vec, 8x64xf32>) outs(%w : !pto.partition_tensor_view<8x64xf32>)",
    )));
    assert_eq!(last_uses(&after, "b"), [0, 0]);
    assert_eq!(last_uses(&after, "a"), [1, 0]);
}

#[test]
fn equal_arithmetic_makes_equal_extents() {
    let sketch = "%r1 = arith.index_cast %n : i32 to index
         %r2 = arith.index_cast %n : i32 to index
         %rows1 = arith.minsi %r1, %c8 : index
         %rows2 = arith.minsi %r2, %c8 : index
         x:8x64[%rows1,%c64] @0 = load
         a:8x64[%rows1,%c64] @2048 = tadds x s
         b:8x64[%OTHER,%c64] @4096 = tmuls a s
         store b";
    let same = program(&kernel(&sketch.replace("%OTHER", "%rows2")));
    assert_eq!(groups(&fused(&same).0), ["a b"]);
    let other = program(&kernel(&sketch.replace("%OTHER", "%r2")));
    assert_eq!(groups(&fused(&other).0), [""; 0], "another computation");
    let mut off = same.clone();
    assert_eq!(
        fuse(&mut off, false, &mut Control::new(0)).groups,
        0,
        "without inference only constants of types count"
    );
}

#[test]
fn a_group_is_no_larger_than_the_machine_has_parameters_for() {
    let mut sketch = String::from("x0 @0 = load\nacc @65536 = tadds x0 s\n");
    for i in 1..=20 {
        sketch += &format!(
            "x{i} @{} = load\nacc{i} @65536 = tadd acc{} x{i}\n",
            i * 2048,
            if i == 1 { String::new() } else { (i - 1).to_string() }
        );
    }
    sketch += "store acc20";
    let (after, found) = fused(&program(&kernel(&sketch)));
    let limit = chip::Arch::A5.chip().fusion.expect("A5 fuses").parameters;
    let members: Vec<usize> = groups(&after).iter().map(|g| g.split(' ').count()).collect();
    assert_eq!(found.ops, 21);
    // One input for each member, one more for what the group before made, and the result.
    assert!(members.len() == 2 && members[0] == limit - 1, "{members:?}");
}

#[test]
fn the_other_architecture_does_not_fuse() {
    let mut before = program(STATE_UPDATE);
    before.arch = chip::Arch::A2a3;
    assert_eq!(fuse(&mut before, true, &mut Control::new(0)), Statistics::default());
}
