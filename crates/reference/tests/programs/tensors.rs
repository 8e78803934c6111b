//! Handles of global memory: views, creation, results.

use memory::Returned;

use crate::support::*;

#[test]
fn views_of_views_write_through() {
    let x = f32s(&[4, 6], &[0.0; 24]);
    // Column 2..5 of rows 1..3, transposed, flattened row by row where it can be.
    let body = "%s = tensor_slice %x offsets(#1, #2) {sizes = [2, 3]} : tensor<2x3xf32, strides [6, 1]>
         %t = tensor_transpose %s {axis1 = 0, axis2 = 1} : tensor<3x2xf32, strides [1, 6]>
         %v = const {value = 5.0} : f32
         write %t indices(#2, #0) value(%v)
         %r = tensor_slice %x offsets(#3, #0) {sizes = [1, 6], drop = [0]} : tensor<6xf32>
         %q = tensor_reshape %r : tensor<2x3xf32>
         write %q indices(#1, #1) value(%v)
         %d = tensor_dim %t {axis = 0} : index
         %e = cast %d : f32
         write %x indices(#0, #0) value(%e)
         return %q, %x";
    let outcome = run("%x: inout tensor<4x6xf32>", body, std::slice::from_ref(&x));
    let mut expected = vec![0.0; 24];
    expected[6 + 4] = 5.0;
    expected[18 + 4] = 5.0;
    expected[0] = 3.0;
    assert_eq!(get_f32(view(&x)), expected);
    assert!(matches!(outcome.returned[1], Returned::Param(0)));
    assert_eq!(get_f32(result(&outcome, 0)), [0.0, 0.0, 0.0, 0.0, 5.0, 0.0]);
}

#[test]
fn dynamic_extents() {
    let x = f32s(&[6, 4], &ramp(24));
    let body = "%n = tensor_dim %x {axis = 0} : index
         %h = div %n, #2 : index
         %y = tensor_create %h {init = 1.5} : tensor<?x4xf32>
         %s = tensor_slice %x offsets(%h, #0) dims(%h) {sizes = [-1, 4]} : tensor<?x4xf32>
         %t = scope {name = \"k\"} : task {
           for #0, %h, #1 {kind = range} (%i: index) {
             %a = load %s offsets(%i, #0) {sizes = [1, 4], drop = [0]} : tile<4xf32>
             %b = load %y offsets(%i, #0) {sizes = [1, 4], drop = [0]} : tile<4xf32>
             %c = tadd %a, %b : tile<4xf32>
             store %c, %y offsets(%i, #0) {sizes = [1, 4]}
             yield
           }
           yield
         }
         return %y";
    let outcome = run("%x: in tensor<?x4xf32>", body, &[x]);
    let expected: Vec<f32> = (12..24).map(|i| i as f32 + 1.5).collect();
    assert_eq!(get_f32(result(&outcome, 0)), expected);
    assert_eq!(outcome.returned_defined, [Some(vec![1; 12])]);
    assert_eq!(outcome.defined, [None]);
}

#[test]
fn a_fresh_tensor_is_zero_and_undefined() {
    let body = "%y = tensor_create : tensor<2x4xf32>
         %v = const {value = 2.0} : f32
         write %y indices(#1, #3) value(%v)
         return %y";
    let outcome = run("", body, &[]);
    assert_eq!(get_f32(result(&outcome, 0)), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    assert_eq!(outcome.returned_defined, [Some(vec![0, 0, 0, 0, 0, 0, 0, 1])]);
}

#[test]
fn the_orchestration_reads_what_tasks_wrote_and_branches_on_it() {
    let (x, o) = (f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[0.0; 8]));
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
           %m = trowmax %t : tile<1x1xf32>
           store %m, %o offsets(#0, #3) {sizes = [1, 1]}
           yield
         }
         %v = read %o indices(#0, #3) : f32
         %six = const {value = 6.0} : f32
         %c = cmp %v, %six {predicate = gt} : i1
         if %c {
           %l = scope deps(%k) {name = \"l\"} : task {
             %a = load %x offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
             %u = tmuls %a, %v : tile<1x8xf32>
             store %u, %o offsets(#0, #0) {sizes = [1, 8]}
             yield
           }
           yield
         }, {
           yield
         }
         return";
    let outcome = run("%x: in tensor<1x8xf32>, %o: out tensor<1x8xf32>", body, &[x, o.clone()]);
    let expected: Vec<f32> = (0..8).map(|i| 7.0 * i as f32).collect();
    assert_eq!(get_f32(view(&o)), expected);
    assert_eq!(outcome.tasks, 2);
}

#[test]
fn tiles_load_from_strided_views() {
    let (x, o) = (f32s(&[4, 6], &ramp(24)), f32s(&[6, 4], &[0.0; 24]));
    let body = "%t = tensor_transpose %x {axis1 = 0, axis2 = 1} : tensor<6x4xf32, strides [1, 6]>
         %k = scope {name = \"k\"} : task {
           %a = load %t offsets(#2, #1) {sizes = [3, 2]} : tile<3x2xf32>
           store %a, %o offsets(#2, #1) {sizes = [3, 2]}
           yield
         }
         return";
    run("%x: in tensor<4x6xf32>, %o: out tensor<6x4xf32>", body, &[x, o.clone()]);
    let expected: Vec<f32> = (0..24)
        .map(|i| {
            let (r, c) = (i / 4, i % 4);
            if (2..5).contains(&r) && (1..3).contains(&c) { (c * 6 + r) as f32 } else { 0.0 }
        })
        .collect();
    assert_eq!(get_f32(view(&o)), expected);
}
