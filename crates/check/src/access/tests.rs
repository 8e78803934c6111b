use super::*;

fn program(text: &str) -> Program {
    crate::testing::program(text)
}

/// The accesses of each operation called `name`, as text.
fn shown(p: &Program, name: &str) -> Vec<String> {
    let f = crate::testing::kernel(p);
    let all = of_function(p, f);
    let func = &p.functions[f];
    let ops = all.ops.iter().filter(|o| func.ops[o.op].opcode.name() == name);
    ops.flat_map(|o| o.accesses.iter())
        .map(|a| {
            let bytes = match a.bytes {
                Footprint::Unknown => "?".to_owned(),
                Footprint::Box(b) if b.rows == 1 => format!("{}..{}", b.start, b.end()),
                Footprint::Box(b) => format!("{}+{}x{}/{}", b.start, b.rows, b.row_bytes, b.row_stride),
            };
            let memory = match a.memory {
                Memory::Space(s) => s.name().to_owned(),
                Memory::Root(v) | Memory::Slots(v) | Memory::Valid(v) => {
                    let kind = match a.memory {
                        Memory::Root(_) => "root",
                        Memory::Slots(_) => "slot",
                        _ => "valid",
                    };
                    format!("{kind} {}", func.values[v].name.clone().unwrap_or_default())
                }
                Memory::Global(v) => {
                    format!("global {}", v.and_then(|v| func.values[v].name.clone()).unwrap_or("any".into()))
                }
                Memory::Locals => "locals".into(),
            };
            format!("{} {:?}{} {memory} {bytes}", a.operand, a.kind, if a.must { "!" } else { "" })
        })
        .collect()
}

const TILE: &str = "!pto.tile_buf<vec, 16x64xf32>";

#[test]
fn placed_tiles_are_bytes_of_their_space_and_views_keep_the_pitch() {
    let p = program(&format!(
        "%a0 = arith.constant 0 : i64
         %a1 = arith.constant 4096 : i64
         %c0 = arith.constant 0 : index
         %c16 = arith.constant 16 : index
         %a = pto.alloc_tile addr = %a0 : {TILE}
         %b = pto.alloc_tile addr = %a1 : {TILE}
         %v = pto.subview %a[%c0, %c16] sizes [16, 32] : {TILE} -> !pto.tile_buf<vec, 16x32xf32>
         %w = pto.alloc_tile addr = %a1 : !pto.tile_buf<vec, 16x32xf32>
         pto.tadd ins(%a, %b : {TILE}, {TILE}) outs(%b : {TILE})
         pto.tadd ins(%v, %v : !pto.tile_buf<vec, 16x32xf32>, !pto.tile_buf<vec, 16x32xf32>) outs(%w : !pto.tile_buf<vec, 16x32xf32>)"
    ));
    assert_eq!(
        shown(&p, "tadd"),
        [
            "a Read vec 0..4096",
            "b Read vec 4096..8192",
            "dst Write! vec 4096..8192",
            "a Read vec 64+16x128/256",
            "b Read vec 64+16x128/256",
            "dst Write! vec 4096..6144",
        ]
    );
}

#[test]
fn a_window_at_a_run_time_offset_may_be_anywhere_in_its_parent() {
    let p = program(&format!(
        "%a0 = arith.constant 0 : i64
         %c0 = arith.constant 0 : index
         %c4 = arith.constant 4 : index
         %c1 = arith.constant 1 : index
         %a = pto.alloc_tile addr = %a0 : {TILE}
         scf.for %i = %c0 to %c4 step %c1 {{
           %v = pto.subview %a[%i, %c0] sizes [1, 64] : {TILE} -> !pto.tile_buf<vec, 1x64xf32>
           pto.texp ins(%v : !pto.tile_buf<vec, 1x64xf32>) outs(%v : !pto.tile_buf<vec, 1x64xf32>)
         }}"
    ));
    assert_eq!(shown(&p, "texp"), ["a Read vec 0..4096", "dst Write vec 0..4096"]);
}

#[test]
fn unplaced_tiles_have_memories_of_their_own_and_results_of_branches_several_places() {
    let p = program(&format!(
        "%c = arith.constant true
         %r = scf.if %c -> ({TILE}) {{
           %a = pto.alloc_tile : {TILE}
           scf.yield %a : {TILE}
         }} else {{
           %b = pto.alloc_tile : {TILE}
           scf.yield %b : {TILE}
         }}
         pto.tabs ins(%r : {TILE}) outs(%r : {TILE})"
    ));
    assert_eq!(
        shown(&p, "tabs"),
        ["a Read root a 0..4096", "a Read root b 0..4096", "dst Write root a 0..4096", "dst Write root b 0..4096"]
    );
}

#[test]
fn boxes_of_global_memory_are_compared_where_their_addresses_differ_by_a_constant() {
    let text = |second: &str| {
        program(&format!(
            "%a0 = arith.constant 0 : i64
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c4 = arith.constant 4 : index
             %c64 = arith.constant 64 : index
             %c128 = arith.constant 128 : index
             %w = pto.make_tensor_view %arg0, shape = [%c64, %c128], strides = [%c128, %c1] : !pto.tensor_view<?x?xf32>
             %t = pto.alloc_tile addr = %a0 : !pto.tile_buf<vec, 4x64xf32>
             scf.for %i = %c0 to %c4 step %c4 {{
               %j = arith.addi %i, %c1 : index
               %p = pto.partition_view %w, offsets = [%i, %c0], sizes = [%c4, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<4x64xf32>
               %q = pto.partition_view %w, offsets = {second}, sizes = [%c4, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<4x64xf32>
               pto.tload ins(%p : !pto.partition_tensor_view<4x64xf32>) outs(%t : !pto.tile_buf<vec, 4x64xf32>)
               pto.tstore ins(%t : !pto.tile_buf<vec, 4x64xf32>) outs(%q : !pto.partition_tensor_view<4x64xf32>)
             }}"
        ))
    };
    for (second, meet) in [("[%i, %c64]", false), ("[%j, %c0]", true), ("[%j, %c64]", false), ("[%c0, %c64]", true)] {
        let p = text(second);
        let f = crate::testing::kernel(&p);
        let all = of_function(&p, f);
        let global: Vec<&Access> =
            all.ops.iter().flat_map(|o| &o.accesses).filter(|a| matches!(a.memory, Memory::Global(_))).collect();
        assert_eq!(global.len(), 2, "{second}");
        assert_eq!(global[0].overlaps(global[1]), meet, "{second}: {:?} {:?}", global[0].bytes, global[1].bytes);
        assert!(global[0].overlaps_later(global[1]), "{second}: in another turn of the loop");
    }
}

#[test]
fn strided_boxes_meet_only_in_their_rows() {
    let left = ByteBox::strided(0, 16, 256, 128);
    let right = ByteBox::strided(128, 16, 256, 128);
    assert!(!left.meets(&right));
    assert!(left.meets(&ByteBox::strided(120, 16, 256, 16)));
    assert!(right.meets(&ByteBox::range(0, 4096)));
    assert!(!ByteBox::range(4096, 64).meets(&right));
    assert!(!left.meets(&ByteBox::range(128, 128)));
    assert!(left.meets(&ByteBox::range(255, 2)));
    assert!(!left.meets(&ByteBox::range(0, 0)));
}

#[test]
fn slots_of_a_fifo_are_given_up_by_every_free() {
    let p = crate::testing::program_of(
        "func.func @k() attributes {pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry} {
           %b = pto.reserve_buffer {name = \"f\", size = 8192, location = #pto.address_space<vec>, auto = false, base = 1024} -> i32
           pto.aiv_initialize_pipe {id = 0, dir_mask = 1, slot_size = 1024} (c2v_consumer_buf = %b : i32)
           %t = pto.tpop_from_aic {id = 0, split = 0} -> !pto.tile_buf<vec, 4x64xf32>
           pto.tabs ins(%t : !pto.tile_buf<vec, 4x64xf32>) outs(%t : !pto.tile_buf<vec, 4x64xf32>)
           pto.tfree_from_aic {id = 0, split = 0}
           return
         }",
    );
    assert_eq!(shown(&p, "tpop_from_aic"), ["slot Write! slot t ?"]);
    assert_eq!(shown(&p, "tabs"), ["a Read slot t 0..1024", "dst Write! slot t 0..1024"]);
    assert_eq!(shown(&p, "tfree_from_aic"), ["slot Write slot t ?"]);
    let all = of_function(&p, crate::testing::kernel(&p));
    assert_eq!(all.slots.values().collect::<Vec<_>>(), [&(Space::Vec, 1024, 8192)]);
}

#[test]
fn changed_extents_are_read_by_every_use_of_the_allocation() {
    let tile = "!pto.tile_buf<vec, 4x64xf32, valid=?x?>";
    let p = program(&format!(
        "%c4 = arith.constant 4 : index
         %t = pto.alloc_tile valid_row = %c4 valid_col = %c4 : {tile}
         pto.set_validshape %t, %c4, %c4 : {tile}
         pto.tabs ins(%t : {tile}) outs(%t : {tile})"
    ));
    assert_eq!(shown(&p, "set_validshape"), ["valid Write! valid t ?"]);
    assert!(shown(&p, "tabs").contains(&"valid Read valid t ?".to_owned()));
}
