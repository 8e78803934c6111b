//! Which bytes operations touch, and which pairs conflict: small `.pto` texts, each with the pairs that do.

use assemble::bytes::Bytes;
use chip::Arch;
use ir::{Function, Op, Opcode};

const HEAD: &str = "module attributes {pto.target_arch = \"a5\"} {
  func.func @k(%p: !pto.ptr<f32>, %q: !pto.ptr<f32>, %n: index) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
    %c0 = arith.constant 0 : i64
    %c64 = arith.constant 64 : i64
    %c1024 = arith.constant 1024 : i64
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i8 = arith.constant 8 : index
    %i64 = arith.constant 64 : index
    %z = arith.constant 0.0 : f32
";

fn parse(body: &str) -> Function {
    let text = format!("{HEAD}{body}\n    return\n  }}\n}}\n");
    let mut sources = diag::Sources::default();
    let read = pto::parse(&text, "k.pto", &mut sources);
    read.unwrap_or_else(|errors| panic!("{}\n{errors:?}", text)).remove(0)
}

/// The operations that touch memory or order something, in program order, and the pairs of them that conflict.
fn conflicts(body: &str) -> Vec<(usize, usize)> {
    let func = parse(body);
    let bytes = Bytes::new(Arch::A5, &func);
    let touching = |op: &Op| {
        let t = bytes.of(*op);
        t.fence || t.sets_shape || t.places().next().is_some()
    };
    let ops: Vec<Op> = func.walk().into_iter().filter(touching).collect();
    let mut found = Vec::new();
    for (i, &a) in ops.iter().enumerate() {
        for (j, &b) in ops.iter().enumerate().skip(i + 1) {
            assert_eq!(bytes.conflict(a, b), bytes.conflict(b, a), "conflict is symmetric");
            if bytes.conflict(a, b) {
                found.push((i, j));
            }
        }
    }
    found
}

const F32: &str = "!pto.tile_buf<vec, 8x64xf32>";

#[test]
fn tiles_with_one_address_are_the_same_bytes() {
    let found = conflicts(&format!(
        "%a = pto.alloc_tile addr = %c0 : {F32}
         %b = pto.alloc_tile addr = %c0 : {F32}
         %c = pto.alloc_tile addr = %c1024 : {F32}
         %d = pto.alloc_tile addr = %c64 : !pto.tile_buf<vec, 1x8xf32>
         pto.texpands ins(%z : f32) outs(%a : {F32})
         pto.texpands ins(%z : f32) outs(%b : {F32})
         pto.texpands ins(%z : f32) outs(%c : {F32})
         pto.texpands ins(%z : f32) outs(%d : !pto.tile_buf<vec, 1x8xf32>)"
    ));
    // 8 rows of 256 bytes reach to 2048.
    assert_eq!(found, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]);
}

#[test]
fn tiles_without_addresses_are_apart() {
    let found = conflicts(&format!(
        "%a = pto.alloc_tile : {F32}
         %b = pto.alloc_tile : {F32}
         pto.texpands ins(%z : f32) outs(%a : {F32})
         pto.texpands ins(%z : f32) outs(%b : {F32})
         pto.tadd ins(%a, %a : {F32}, {F32}) outs(%b : {F32})"
    ));
    assert_eq!(found, [(0, 2), (1, 2)]);
}

#[test]
fn windows_that_do_not_meet_are_apart() {
    let view = "!pto.tile_buf<vec, 8x8xf32>";
    let found = conflicts(&format!(
        "%a = pto.alloc_tile addr = %c0 : {F32}
         %l = pto.subview %a[%i0, %i0] sizes [8, 8] : {F32} -> {view}
         %r = pto.subview %a[%i0, %i8] sizes [8, 8] : {F32} -> {view}
         %d = pto.subview %a[%i0, %n] sizes [8, 8] : {F32} -> {view}
         pto.texpands ins(%z : f32) outs(%l : {view})
         pto.texpands ins(%z : f32) outs(%r : {view})
         pto.texpands ins(%z : f32) outs(%d : {view})
         pto.tadds ins(%a, %z : {F32}, f32) outs(%a : {F32})"
    ));
    // A window at a place that is not known may be anywhere in its tile.
    assert_eq!(found, [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
}

#[test]
fn carried_tiles_are_all_that_they_may_be() {
    let found = conflicts(
        "%a = pto.alloc_tile addr = %c0 : !pto.tile_buf<vec, 1x8xf32>
         %b = pto.alloc_tile addr = %c64 : !pto.tile_buf<vec, 1x8xf32>
         %c = pto.alloc_tile addr = %c1024 : !pto.tile_buf<vec, 1x8xf32>
         pto.texpands ins(%z : f32) outs(%a : !pto.tile_buf<vec, 1x8xf32>)
         pto.texpands ins(%z : f32) outs(%b : !pto.tile_buf<vec, 1x8xf32>)
         pto.texpands ins(%z : f32) outs(%c : !pto.tile_buf<vec, 1x8xf32>)
         %x:2 = scf.for %i = %i0 to %n step %i1 iter_args(%s = %a, %t = %b) -> (!pto.tile_buf<vec, 1x8xf32>, !pto.tile_buf<vec, 1x8xf32>) {
           pto.texpands ins(%z : f32) outs(%s : !pto.tile_buf<vec, 1x8xf32>)
           scf.yield %t, %s : !pto.tile_buf<vec, 1x8xf32>, !pto.tile_buf<vec, 1x8xf32>
         }"
    );
    assert_eq!(found, [(0, 3), (1, 3)]);
}

#[test]
fn global_memory_is_told_apart_by_parameter_and_known_offsets() {
    let found = conflicts(
        "pto.store_scalar %z, %p[%i0] : !pto.ptr<f32>, f32
         pto.store_scalar %z, %p[%i1] : !pto.ptr<f32>, f32
         pto.store_scalar %z, %q[%i0] : !pto.ptr<f32>, f32
         pto.store_scalar %z, %p[%n] : !pto.ptr<f32>, f32
         %a = pto.addptr %p, %i1 : !pto.ptr<f32> -> !pto.ptr<f32>
         pto.store_scalar %z, %a[%i0] : !pto.ptr<f32>, f32",
    );
    assert_eq!(found, [(0, 3), (1, 3), (1, 4), (3, 4)]);
}

#[test]
fn columns_of_a_view_are_apart() {
    let found = conflicts(
        "%v = pto.make_tensor_view %p, shape = [%i8, %i64], strides = [%i64, %i1] : !pto.tensor_view<?x?xf32>
         %w = pto.partition_view %v, offsets = [%i0, %i0], sizes = [%i8, %i8] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x8xf32>
         %x = pto.partition_view %v, offsets = [%i0, %i8], sizes = [%i8, %i8] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x8xf32>
         %a = pto.alloc_tile addr = %c0 : !pto.tile_buf<vec, 8x8xf32>
         pto.tstore ins(%a : !pto.tile_buf<vec, 8x8xf32>) outs(%w : !pto.partition_tensor_view<8x8xf32>)
         pto.tstore ins(%a : !pto.tile_buf<vec, 8x8xf32>) outs(%x : !pto.partition_tensor_view<8x8xf32>)
         pto.store_scalar %z, %p[%i8] : !pto.ptr<f32>, f32"
    );
    assert_eq!(found, [(1, 2)]);
}

#[test]
fn a_new_valid_shape_is_ordered_with_uses_of_its_tile_only() {
    let dynamic = "!pto.tile_buf<vec, 8x64xf32, valid=?x?>";
    let found = conflicts(&format!(
        "%a = pto.alloc_tile addr = %c0 valid_row = %n valid_col = %n : {dynamic}
         %b = pto.alloc_tile addr = %c0 valid_row = %n valid_col = %n : {dynamic}
         %c = pto.alloc_tile addr = %c0 valid_row = %n valid_col = %n : {dynamic}
         pto.tadds ins(%a, %z : {dynamic}, f32) outs(%a : {dynamic})
         pto.set_validshape %a, %i1, %i1 : {dynamic}
         pto.texp ins(%b : {dynamic}) outs(%c : {dynamic})"
    ));
    assert_eq!(found, [(0, 1), (0, 2)]);
}

#[test]
fn a_barrier_orders_everything_and_descriptors_nothing() {
    let body = format!(
        "%a = pto.alloc_tile addr = %c0 : {F32}
         pto.texpands ins(%z : f32) outs(%a : {F32})
         pto.barrier <PIPE_ALL>
         %b = pto.alloc_tile addr = %c1024 : {F32}"
    );
    let func = parse(&body);
    let bytes = Bytes::new(Arch::A5, &func);
    let find = |opcode| func.walk().into_iter().find(|&op| func.ops[op].opcode == opcode).expect("an operation");
    assert!(bytes.conflict(find(Opcode::TExpandS), find(Opcode::Barrier)));
    assert!(!bytes.conflict(find(Opcode::AllocTile), find(Opcode::Barrier)));
    assert!(!bytes.conflict(find(Opcode::AllocTile), find(Opcode::TExpandS)));
}
