//! Blocks of a launch, and `syncall`.

use crate::support::*;

#[test]
fn each_block_has_its_index_and_they_run_in_order() {
    let o = i32s(&[6], &[0; 6]);
    // A cursor in memory: each block takes the next place, so the order is visible.
    let body = "%k = scope blocks(#5) {name = \"k\"} : task (%b: index) {
           %n = read %o indices(#5) : i32
           %i = cast %n : index
           %v = cast %b : i32
           %count = get_block_num : index
           %m = cast %count : i32
           %w = mul %v, %m : i32
           write %o indices(%i) value(%w)
           %one = const {value = 1} : i32
           %next = add %n, %one : i32
           write %o indices(#5) value(%next)
           yield
         }
         return";
    let outcome = run("%o: inout tensor<6xi32>", body, std::slice::from_ref(&o));
    assert_eq!(get_i32(view(&o)), [0, 5, 10, 15, 20, 5]);
    assert_eq!(outcome.tasks, 1);
}

#[test]
fn behind_a_syncall_every_block_sees_what_all_stored() {
    // Phase 1: block b stores its row sum. Phase 2: block b adds up all sums, in a loop with a second syncall inside.
    let (x, s, o) = (f32s(&[4, 8], &ramp(32)), f32s(&[1, 4], &[0.0; 4]), f32s(&[4, 1], &[0.0; 4]));
    let body = "%k = scope blocks(#4) {name = \"k\"} : task (%b: index) {
           %t = load %x offsets(%b, #0) {sizes = [1, 8]} : tile<1x8xf32>
           %r = trowsum %t : tile<1x1xf32>
           store %r, %s offsets(#0, %b) {sizes = [1, 1]}
           syncall
           for #0, #2, #1 {kind = range} (%i: index) {
             %u = load %s offsets(#0, #0) {sizes = [1, 4]} : tile<1x4xf32>
             %v = trowsum %u : tile<1x1xf32>
             store %v, %o offsets(%b, #0) {sizes = [1, 1]}
             syncall
             %w = load %o offsets(%b, #0) {sizes = [1, 1]} : tile<1x1xf32>
             store %w, %s offsets(#0, %b) {sizes = [1, 1]}
             syncall
             yield
           }
           yield
         }
         return";
    let params = "%x: in tensor<4x8xf32>, %s: inout tensor<1x4xf32>, %o: inout tensor<4x1xf32>";
    run(params, body, &[x, s.clone(), o.clone()]);
    let total: f32 = (0..32).sum::<i32>() as f32;
    assert_eq!(get_f32(view(&o)), [4.0 * total; 4]);
    assert_eq!(get_f32(view(&s)), [4.0 * total; 4]);
}

#[test]
fn a_block_that_never_arrives_is_an_error() {
    let body = "%k = scope blocks(#3) {name = \"k\"} : task (%b: index) {
           %c = cmp %b, #1 {predicate = ne} : i1
           if %c {
             syncall
             yield
           }, {
             yield
           }
           yield
         }
         return";
    let (error, line) = failure("", body, &[]);
    assert_eq!(error.code, "deadlock");
    assert!(
        error.message.contains("block 0 of 3 waits at a `syncall` that block 1 never reaches"),
        "{}",
        error.message
    );
    assert_eq!(line, "syncall");
}

#[test]
fn scopes_in_loops_capture_the_loop_variable() {
    let (x, o) = (f32s(&[4, 8], &ramp(32)), f32s(&[4, 8], &[0.0; 32]));
    let body = "for #0, #4, #1 {kind = parallel} (%i: index) {
           %j = sub #3, %i : index
           %k = scope {name = \"k\"} : task {
             %t = load %x offsets(%i, #0) {sizes = [1, 8]} : tile<1x8xf32>
             store %t, %o offsets(%j, #0) {sizes = [1, 8]}
             yield
           }
           yield
         }
         return";
    let outcome = run("%x: in tensor<4x8xf32>, %o: out tensor<4x8xf32>", body, &[x, o.clone()]);
    let expected: Vec<f32> = (0..32).map(|i| ((3 - i / 8) * 8 + i % 8) as f32).collect();
    assert_eq!(get_f32(view(&o)), expected);
    assert_eq!(outcome.tasks, 4);
}
