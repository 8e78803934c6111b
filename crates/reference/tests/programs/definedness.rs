//! Undefined data: it may flow, and it may not decide.

use diag::Kind;

use crate::support::*;

/// A program whose scope has a fully undefined 1x8 tile `%u` and ends with `ops`.
fn with_undefined(ops: &str) -> String {
    format!(
        "%k = scope {{name = \"k\"}} : task {{
           %u = tile_create : tile<1x8xf32>
           %d = load %x offsets(#0, #0) {{sizes = [1, 8]}} : tile<1x8xf32>
           {ops}
           yield
         }}
         return"
    )
}

const XO: &str = "%x: in tensor<1x8xf32>, %o: inout tensor<1x8xf32>";

fn mask_of(ops: &str) -> Vec<u8> {
    let body = with_undefined(ops);
    let outcome = run(XO, &body, &[f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[0.0; 8])]);
    outcome.defined[1].clone().expect("written")
}

#[test]
fn it_flows_element_by_element_through_arithmetic() {
    let ops = "%one = const {value = 1.0} : f32
           tsetval #0, #3, %one outs(%u)
           %s = tadd %u, %d : tile<1x8xf32>
           store %s, %o offsets(#0, #0) {sizes = [1, 8]}";
    assert_eq!(mask_of(ops), [0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn a_reduction_over_it_is_undefined_as_a_whole() {
    let ops = "%one = const {value = 1.0} : f32
           tsetval #0, #3, %one outs(%u)
           %m = trowmax %u : tile<1x1xf32>
           store %m, %o offsets(#0, #5) {sizes = [1, 1]}";
    assert_eq!(mask_of(ops), [1, 1, 1, 1, 1, 0, 1, 1]);
}

#[test]
fn it_flows_through_scalars_and_back() {
    let ops = "%g = tgetval %u, #0, #2 : f32
           %two = const {value = 2.0} : f32
           %h = mul %g, %two : f32
           %a = tadds %d, %h : tile<1x8xf32>
           %e = textract %a, #0, #0 : tile<1x4xf32>
           store %e, %o offsets(#0, #4) {sizes = [1, 4]}
           write %o indices(#0, #1) value(%g)
           write %o indices(#0, #2) value(%two)";
    assert_eq!(mask_of(ops), [1, 0, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn a_branch_an_index_and_a_host_read_are_findings() {
    let cases = [
        (
            "%g = tgetval %u, #0, #2 : f32
             %z = const {value = 0.0} : f32
             %c = cmp %g, %z {predicate = gt} : i1
             if %c {
               yield
             }, {
               yield
             }",
            "undefined-branch",
            "if %c",
        ),
        (
            "%g = tgetval %u, #0, #2 : f32
             %i = cast %g : index
             %e = load %x offsets(#0, %i) {sizes = [1, 1]} : tile<1x1xf32>",
            "undefined-index",
            "%e = load",
        ),
        (
            "%g = tgetval %u, #0, #2 : f32
             %i = cast %g : index
             for #0, %i, #1 {kind = range} (%j: index) {
               yield
             }",
            "undefined-branch",
            "for ",
        ),
        (
            "%g = tgetval %u, #0, #2 : f32
             %i = cast %g : index
             %e = read %x indices(#0, %i) : f32",
            "undefined-index",
            "%e = read",
        ),
        ("store %u, %o offsets(#0, #0) {sizes = [1, 8], atomic = add}", "undefined-atomic", "store %u"),
    ];
    for (ops, code, start) in cases {
        let args = [f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[0.0; 8])];
        let (error, line) = failure(XO, &with_undefined(ops), &args);
        assert_eq!((error.code, error.kind), (code, Kind::Finding), "{error:?}");
        assert!(line.starts_with(start), "{line}");
        // Undefined contents read as zero when nobody looks.
        assert!(attempt(XO, &with_undefined(ops), &args, &PLAIN).is_ok());
    }
    let body = "%y = tensor_create : tensor<4xf32>
         %v = read %y indices(#1) : f32
         return";
    let (error, line) = failure("", body, &[]);
    assert_eq!((error.code, error.kind), ("undefined-read", Kind::Finding));
    assert!(line.starts_with("%v = read"), "{line}");
}

#[test]
fn the_outside_of_a_valid_region_is_undefined() {
    let ops = "%p = load %x offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32, valid 1x3>
           %q = set_validshape %p, #1, #5 : tile<1x8xf32, valid ?x?>
           store %q, %o offsets(#0, #0) {sizes = [1, 8]}";
    assert_eq!(mask_of(ops), [1, 1, 1, 0, 0, 1, 1, 1]);
}

#[test]
fn a_matmul_is_defined_where_its_row_and_column_are() {
    let body = "%k = scope {name = \"k\"} : task {
           %a = tile_create : tile<2x2xf32>
           %r = load %x offsets(#0, #0) {sizes = [1, 2]} : tile<1x2xf32>
           tinsert %r, #1, #0 outs(%a)
           %b = load %x offsets(#0, #0) {sizes = [2, 2]} : tile<2x2xf32>
           %c = tmatmul %a, %b : tile<2x2xf32>
           store %c, %o offsets(#0, #0) {sizes = [2, 2]}
           yield
         }
         return";
    let args = [f32s(&[2, 2], &ramp(4)), f32s(&[2, 2], &[0.0; 4])];
    let outcome = run("%x: in tensor<2x2xf32>, %o: out tensor<2x2xf32>", body, &args);
    assert_eq!(outcome.defined[1], Some(vec![0, 0, 1, 1]));
    assert_eq!(get_f32(view(&args[1])), [0.0, 0.0, 2.0, 3.0]);
}

#[test]
fn it_moves_through_global_memory() {
    let body = "%y = tensor_create : tensor<1x8xf32>
         %k = scope {name = \"k\"} : task {
           %d = load %x offsets(#0, #0) {sizes = [1, 4]} : tile<1x4xf32>
           store %d, %y offsets(#0, #2) {sizes = [1, 4]}
           yield
         }
         %l = scope {name = \"l\"} : task {
           %t = load %y offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
           store %t, %o offsets(#0, #0) {sizes = [1, 8]}
           yield
         }
         return";
    let outcome = run(XO, body, &[f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[1.0; 8])]);
    assert_eq!(outcome.defined, [None, Some(vec![0, 0, 1, 1, 1, 1, 0, 0])]);
}
