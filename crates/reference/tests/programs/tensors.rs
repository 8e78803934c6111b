//! Handles of global memory: views, creation, results.

use memory::Returned;

use dtype::DType;

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

#[test]
fn a_bit_cast_is_another_view_of_the_same_bytes() {
    // The second half of each row, as pairs of halves; one of them is written, and every element knows what of it is defined.
    let body = "%y = tensor_create : tensor<2x4xf32>
         %z = tensor_bitcast %y : tensor<2x8xi16>
         %k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [2, 3]} : tile<2x3xi16>
           store %t, %z offsets(#0, #2) {sizes = [2, 3]}
           yield
         }
         %w = tensor_bitcast %z : tensor<2x4xi32>
         return %w, %z";
    let bytes: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
    let outcome = run("%x: in tensor<2x3xi16>", body, &[tensor(DType::I16, &[2, 3], &bytes)]);
    assert_eq!(get_i32(result(&outcome, 0)), [0, 0x2_0001, 3, 0, 0, 0x5_0004, 6, 0]);
    assert_eq!(outcome.returned_defined[0], Some(vec![0, 1, 0, 0, 0, 1, 0, 0]));
    assert_eq!(outcome.returned_defined[1], Some(vec![0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]));
    assert_eq!(*result(&outcome, 1).shape, [2, 8]);
    // Half an element is no element for the host.
    let read = "%v = read %w indices(#0, #2) : i32\n         return %w";
    let (error, line) =
        failure("%x: in tensor<2x3xi16>", &body.replace("return %w, %z", read), &[tensor(DType::I16, &[2, 3], &bytes)]);
    assert_eq!(error.code, "undefined-read");
    assert!(line.starts_with("%v = read"), "{line}");
}

#[test]
fn a_parameter_as_another_type_is_a_tensor_of_its_own_when_returned() {
    let x = f32s(&[1, 2], &[1.0, -2.0]);
    let body = "%z = tensor_bitcast %x : tensor<1x2xi32>\n         return %z";
    let outcome = run("%x: in tensor<1x2xf32>", body, &[x]);
    assert_eq!(get_i32(result(&outcome, 0)), [0x3f80_0000, 0xc000_0000u32 as i32]);
}

#[test]
fn a_bit_cast_takes_dynamic_extents_and_refuses_others() {
    let params = "%x: in tensor<?x4xf32>, %n: in index";
    let body = "%z = tensor_bitcast %x dims(%n) : tensor<?x8xi16>\n         return %z";
    let args = |n| [f32s(&[3, 4], &ramp(12)), index(n)];
    assert_eq!(*result(&run(params, body, &args(3)), 0).shape, [3, 8]);
    let (error, line) = failure(params, body, &args(2));
    assert_eq!(error.code, "bad-reshape");
    assert!(error.message.contains("makes [3, 8], not [2, 8]"), "{}", error.message);
    assert!(line.starts_with("%z = tensor_bitcast"), "{line}");
}

#[test]
fn ids_of_tasks_and_joins_are_valid_and_others_not() {
    let body = "%i = task_invalid : task
         %a = array_create : array<2xtask>
         %k = scope {name = \"k\"} : task {
           yield
         }
         %d = task_dummy deps(%k) : task
         array_set %a, #1, %k
         %e0 = array_get %a, #0 : task
         %e1 = array_get %a, #1 : task
         %v0 = task_is_valid %i : i1
         %v1 = task_is_valid %k : i1
         %v2 = task_is_valid %d : i1
         %v3 = task_is_valid %e0 : i1
         %v4 = task_is_valid %e1 : i1
         %n0 = cast %v0 : i32
         %n1 = cast %v1 : i32
         %n2 = cast %v2 : i32
         %n3 = cast %v3 : i32
         %n4 = cast %v4 : i32
         write %o indices(#0) value(%n0)
         write %o indices(#1) value(%n1)
         write %o indices(#2) value(%n2)
         write %o indices(#3) value(%n3)
         write %o indices(#4) value(%n4)
         return";
    let o = i32s(&[5], &[-1; 5]);
    run("%o: inout tensor<5xi32>", body, std::slice::from_ref(&o));
    assert_eq!(get_i32(view(&o)), [0, 1, 1, 0, 1]);
}
