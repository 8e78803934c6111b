//! Loops, branches, scalars, arrays.

use dtype::{DType, Scalar};
use memory::{Arg, Returned};

use crate::support::*;

#[test]
fn a_loop_counts_up_and_down_and_not_at_all() {
    // sum of i over (lower, upper, step), and the number of trips
    for (lower, upper, step) in [(0, 10, 3), (10, 0, -4), (5, 5, 1), (5, 0, 1), (-3, 4, 2)] {
        let out = i32s(&[2], &[-1, -1]);
        let body = format!(
            "%s, %n = for #{lower}, #{upper}, #{step} init(#0, #0) {{kind = range}} : index, index (%i: index, %a: index, %b: index) {{
               %x = add %a, %i : index
               %y = add %b, #1 : index
               yield %x, %y
             }}
             %s32 = cast %s : i32
             %n32 = cast %n : i32
             write %o indices(#0) value(%s32)
             write %o indices(#1) value(%n32)
             return"
        );
        run("%o: out tensor<2xi32>", &body, std::slice::from_ref(&out));
        let (mut sum, mut trips, mut i) = (0, 0, lower);
        while if step > 0 { i < upper } else { i > upper } {
            (sum, trips, i) = (sum + i, trips + 1, i + step);
        }
        assert_eq!(get_i32(view(&out)), [sum, trips], "{lower} {upper} {step}");
    }
}

#[test]
fn carried_values_change_places_at_once() {
    // Fibonacci: (a, b) = (b, a + b); then a plain exchange, twice nested.
    let out = i32s(&[4], &[0; 4]);
    let body = "%p, %q = for #0, #10, #1 init(#0, #1) {kind = range} : index, index (%i: index, %a: index, %b: index) {
           %c = add %a, %b : index
           yield %b, %c
         }
         %r, %t = for #0, #3, #1 init(%p, %q) {kind = range} : index, index (%j: index, %x: index, %y: index) {
           yield %y, %x
         }
         %p32 = cast %p : i32
         %q32 = cast %q : i32
         %r32 = cast %r : i32
         %t32 = cast %t : i32
         write %o indices(#0) value(%p32)
         write %o indices(#1) value(%q32)
         write %o indices(#2) value(%r32)
         write %o indices(#3) value(%t32)
         return";
    run("%o: out tensor<4xi32>", body, std::slice::from_ref(&out));
    assert_eq!(get_i32(view(&out)), [55, 89, 89, 55]);
}

#[test]
fn tiles_and_tensors_are_carried_too() {
    let (x, y, o) = (f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[100.0; 8]), f32s(&[1, 8], &[0.0; 8]));
    // Handles change places; then a tile accumulates what the first one names.
    let body = "%p, %q = for #0, #3, #1 init(%x, %y) {kind = range} : tensor<1x8xf32>, tensor<1x8xf32> (%i: index, %a: tensor<1x8xf32>, %b: tensor<1x8xf32>) {
           yield %b, %a
         }
         %s = scope {name = \"k\"} : task {
           %t = load %p offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
           %u = load %q offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
           %v, %w = for #0, #3, #1 init(%t, %u) {kind = range} : tile<1x8xf32>, tile<1x8xf32> (%j: index, %c: tile<1x8xf32>, %d: tile<1x8xf32>) {
             %e = tadd %c, %d : tile<1x8xf32>
             yield %d, %e
           }
           store %w, %o offsets(#0, #0) {sizes = [1, 8]}
           yield
         }
         return %o";
    let params = "%x: in tensor<1x8xf32>, %y: in tensor<1x8xf32>, %o: out tensor<1x8xf32>";
    let outcome = run(params, body, &[x, y, o.clone()]);
    // c, d = 100, i → i, 100 + i → 100 + i, 100 + 2i → 100 + 2i, 200 + 3i
    let expected: Vec<f32> = (0..8).map(|i| 200.0 + 3.0 * i as f32).collect();
    assert_eq!(get_f32(view(&o)), expected);
    assert!(matches!(outcome.returned[..], [Returned::Param(2)]));
    assert_eq!(outcome.tasks, 1);
}

#[test]
fn branches_give_values() {
    for flag in [3i64, 7] {
        let out = i32s(&[2], &[0, 0]);
        let body = "%c = cmp %n, #5 {predicate = lt} : i1
             %v, %w = if %c : index, index {
               %d = cmp %n, #3 {predicate = eq} : i1
               %e = if %d : index {
                 yield #1
               }, {
                 yield #2
               }
               yield %e, %n
             }, {
               yield %n, #40
             }
             %v32 = cast %v : i32
             %w32 = cast %w : i32
             write %o indices(#0) value(%v32)
             write %o indices(#1) value(%w32)
             return";
        run("%n: in index, %o: out tensor<2xi32>", body, &[index(flag), out.clone()]);
        assert_eq!(get_i32(view(&out)), if flag == 3 { [1, 3] } else { [7, 40] });
    }
}

#[test]
fn a_while_loop_is_euclid() {
    let out = i32s(&[1], &[0]);
    let body = "%g, %z = while init(%a, %b) : index, index (%x: index, %y: index) {
           %c = cmp %y, #0 {predicate = ne} : i1
           condition %c values(%x, %y)
         }, (%p: index, %q: index) {
           %r = rem %p, %q : index
           yield %q, %r
         }
         %g32 = cast %g : i32
         write %o indices(#0) value(%g32)
         return";
    let args = [index(1071), index(462), out.clone()];
    run("%a: in index, %b: in index, %o: out tensor<1xi32>", body, &args);
    assert_eq!(get_i32(view(&out)), [21]);
}

#[test]
fn scalars_truncate_wrap_and_round_in_their_type() {
    let out = i32s(&[6], &[0; 6]);
    let body = "%m7 = const {value = -7} : i32
         %two = const {value = 2} : i32
         %max = const {value = 2147483647} : i32
         %q = div %m7, %two : i32
         %r = rem %m7, %two : i32
         %w = add %max, %two : i32
         %f = const {value = 0.1} : f32
         %g = const {value = 0.2} : f32
         %h = add %f, %g : f32
         %k = const {value = 10000000.0} : f32
         %l = mul %h, %k : f32
         %i = cast %l : i32
         %less = cmp %m7, %two {predicate = lt} : i1
         %not = not %less : i1
         %s = select %not, %q, %max : i32
         %n = neg %two : i32
         write %o indices(#0) value(%q)
         write %o indices(#1) value(%r)
         write %o indices(#2) value(%w)
         write %o indices(#3) value(%i)
         write %o indices(#4) value(%s)
         write %o indices(#5) value(%n)
         return";
    run("%o: out tensor<6xi32>", body, std::slice::from_ref(&out));
    let product = (0.1f32 + 0.2f32) * 1e7f32;
    assert_eq!(get_i32(view(&out)), [-3, -1, i32::MIN + 1, product as i32, i32::MAX, -2]);
}

#[test]
fn arrays_are_changed_in_place() {
    let out = i32s(&[4], &[0; 4]);
    let body = "%a = array_create : array<4xindex>
         %b = for #0, #4, #1 init(%a) {kind = range} : array<4xindex> (%i: index, %c: array<4xindex>) {
           %v = mul %i, %i : index
           array_set %c, %i, %v
           yield %c
         }
         for #0, #4, #1 {kind = range} (%j: index) {
           %g = array_get %a, %j : index
           %w = cast %g : i32
           write %o indices(%j) value(%w)
           yield
         }
         return";
    run("%o: out tensor<4xi32>", body, std::slice::from_ref(&out));
    assert_eq!(get_i32(view(&out)), [0, 1, 4, 9]);
}

#[test]
fn narrow_integers_index_with_their_sign() {
    let x = i32s(&[3], &[-1, 2, 0]);
    let body = "%i = read %x indices(#0) : i32
         %v = read %x indices(%i) : i32
         return";
    let (error, line) = failure("%x: in tensor<3xi32>", body, &[x]);
    assert_eq!(error.code, "out-of-bounds");
    assert!(error.message.contains("element [-1] of a tensor of [3]"), "{}", error.message);
    assert!(line.starts_with("%v = read"), "{line}");
}

#[test]
fn scalar_arguments_are_values() {
    let out = i32s(&[1], &[0]);
    let body = "write %o indices(#0) value(%n)
         return";
    let args = [Arg::Scalar(Scalar::from_i64(DType::I32, -5)), out.clone()];
    run("%n: in i32, %o: out tensor<1xi32>", body, &args);
    assert_eq!(get_i32(view(&out)), [-5]);
}
