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

/// Runs `ops` with `%d` = 0, 1, … 7, `%i` = the indices and the undefined `%u`; the mask of `%o`.
fn chosen(indices: [i32; 8], ops: &str) -> Vec<u8> {
    let params = "%x: in tensor<1x8xf32>, %n: in tensor<1x8xi32>, %o: inout tensor<1x8xf32>";
    let ops = format!("%i = load %n offsets(#0, #0) {{sizes = [1, 8]}} : tile<1x8xi32>\n{ops}");
    let args = [f32s(&[1, 8], &ramp(8)), i32s(&[1, 8], &indices), f32s(&[1, 8], &[0.0; 8])];
    run(params, &with_undefined(&ops), &args).defined[2].clone().expect("written")
}

#[test]
fn what_is_chosen_is_as_defined_as_it_was_and_what_chose_it() {
    let store = "store %r, %o offsets(#0, #0) {sizes = [1, 8]}";
    let three = "%one = const {value = 1.0} : f32
           tsetval #0, #3, %one outs(%u)";
    // Elements of another tile, by index: place 3 alone is defined.
    let gather = format!("{three}\n%r = tgather %u, %i : tile<1x8xf32>\n{store}");
    assert_eq!(chosen([3, 0, 3, 3, 7, 1, 2, 3], &gather), [1, 0, 1, 1, 0, 0, 0, 1]);
    // Scattered: what nothing is written to is zero, and defined.
    let scatter = format!(
        "{three}
           %v = set_validshape %u, #1, #4 : tile<1x8xf32, valid ?x?>
           %w = tadd %v, %v : tile<1x8xf32, valid ?x?>
           %r = tscatter %w, %i : tile<1x8xf32>
           {store}"
    );
    assert_eq!(chosen([5, 2, 1, 7, 0, 0, 0, 0], &scatter), [1, 0, 0, 1, 1, 0, 1, 1]);
    // A mask of defined numbers: only the chosen side counts.
    let select = format!(
        "%four = const {{value = 4}} : i32
           %m = tcmps %i, %four {{predicate = lt}} : tile<1x32xu8>
           %r = tsel %m, %d, %u : tile<1x8xf32>
           {store}"
    );
    assert_eq!(chosen([0, 9, 1, 9, 2, 9, 3, 9], &select), [1, 0, 1, 0, 1, 0, 1, 0]);
    // One element of the byte is undefined: so is every bit of the mask.
    let undefined = format!(
        "{three}
           %m = tcmp %u, %d {{predicate = lt}} : tile<1x32xu8>
           %r = tsel %m, %d, %d : tile<1x8xf32>
           {store}"
    );
    assert_eq!(chosen([0; 8], &undefined), [0; 8]);
    // An undefined scalar is undefined where it is taken.
    let scalar = format!(
        "%four = const {{value = 4}} : i32
           %m = tcmps %i, %four {{predicate = ge}} : tile<1x32xu8>
           %g = tgetval %u, #0, #2 : f32
           %r = tsels %m, %d, %g : tile<1x8xf32>
           {store}"
    );
    assert_eq!(chosen([0, 9, 1, 9, 2, 9, 3, 9], &scalar), [0, 1, 0, 1, 0, 1, 0, 1]);
    let argument = format!(
        "{three}
           %p = trowargmax %u : tile<1x1xi32>
           %f = tcvt %p {{mode = rint}} : tile<1x1xf32>
           store %f, %o offsets(#0, #1) {{sizes = [1, 1]}}"
    );
    assert_eq!(chosen([0; 8], &argument), [1, 0, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn an_undefined_key_makes_all_that_it_is_sorted_with_undefined() {
    let body = |first: &str, ops: &str| {
        format!(
            "%k = scope {{name = \"k\"}} : task {{
               %a = load %x offsets(#0, #0) {{sizes = [1, 8]}} : tile<1x8xf32>
               {first}
               {ops}
               store %r, %o offsets(#0, #0) {{sizes = [1, 16]}}
               yield
             }}
             return"
        )
    };
    let params = "%x: in tensor<1x8xf32>, %o: inout tensor<1x16xf32>";
    let run = |first: &str, ops: &str| {
        let args = [f32s(&[1, 8], &[9.0, 0.0, 7.0, 0.0, 5.0, 0.0, 3.0, 0.0]), f32s(&[1, 16], &[0.0; 16])];
        run(params, &body(first, ops), &args).defined[1].clone().expect("written")
    };
    let merge = "%r = tmrgsort.lists lists(%a, %b) : tile<1x16xf32>";
    assert_eq!(run("%b = tmov %a : tile<1x8xf32>", merge), [1; 16]);
    assert_eq!(run("%b = tile_create : tile<1x8xf32>", merge), [0; 16]);
    // 9 9 7 7 5 5 3, and the first list is used up.
    let ends = "%r = tmrgsort.lists lists(%a, %b) {exhausted = true} : tile<1x16xf32>";
    let expected: Vec<u8> = (0..16).map(|i| (i < 14) as u8).collect();
    assert_eq!(run("%b = tmov %a : tile<1x8xf32>", ends), expected);
}

#[test]
fn an_undefined_index_of_a_gather_or_scatter_is_a_finding() {
    let cases = [
        ("%r = tgather %d, %w : tile<1x8xf32>", "%r = tgather"),
        ("%r = tscatter %d, %w : tile<1x8xf32>", "%r = tscatter"),
        ("%r = gather %x, %w {mode = elem} : tile<1x8xf32>", "%r = gather"),
        ("scatter %d, %w, %o {mode = elem}", "scatter %d"),
    ];
    for (ops, start) in cases {
        // Undefined beyond the third element; the fourth decides first.
        let ops = format!(
            "%w = tile_create : tile<1x8xi32>
               %zero = const {{value = 0}} : i32
               %z = texpands %zero : tile<1x3xi32>
               tinsert %z, #0, #0 outs(%w)
               {ops}"
        );
        let args = [f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[0.0; 8])];
        let (error, line) = failure(XO, &with_undefined(&ops), &args);
        assert_eq!((error.code, error.kind), ("undefined-index", Kind::Finding), "{error:?}");
        assert!(error.message.contains("index (0, 3)"), "{}", error.message);
        assert!(line.starts_with(start), "{line}");
        assert!(attempt(XO, &with_undefined(&ops), &args, &PLAIN).is_ok());
    }
}

#[test]
fn it_moves_through_global_memory_by_index() {
    let params = "%x: in tensor<1x8xf32>, %n: in tensor<1x8xi32>, %o: inout tensor<1x8xf32>";
    // Elements 2 and 5 of %y are written; the 2 is gathered to the places 0 and 3, and the 5 to place 6.
    let body = "%y = tensor_create : tensor<1x8xf32>
         %k = scope {name = \"k\"} : task {
           %d = load %x offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
           %s = load %n offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xi32, valid 1x2>
           %e = set_validshape %d, #1, #2 : tile<1x8xf32, valid ?x?>
           %f = textract %e, #0, #0 : tile<1x8xf32, valid 1x2>
           scatter %f, %s, %y {mode = elem}
           %i = load %n offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xi32>
           %r = gather %y, %i {mode = elem, out_of_range = zero} : tile<1x8xf32>
           store %r, %o offsets(#0, #0) {sizes = [1, 8]}
           yield
         }
         return";
    let args = [f32s(&[1, 8], &ramp(8)), i32s(&[1, 8], &[2, 5, 1, 2, 8, 0, 5, -1]), f32s(&[1, 8], &[1.0; 8])];
    let outcome = run(params, body, &args);
    assert_eq!(outcome.defined[2], Some(vec![1, 1, 0, 1, 1, 0, 1, 1]));
    assert_eq!(get_f32(view(&args[2])), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    // What is combined with an undefined element is undefined; an undefined operand of it is a finding.
    let add = body.replace("scatter %f, %s, %y {mode = elem}", "scatter %f, %s, %y {mode = elem, atomic = add}");
    assert_eq!(run(params, &add, &args).defined[2], Some(vec![0, 0, 0, 0, 1, 0, 0, 1]));
    let (error, _) = failure(
        XO,
        &with_undefined(
            "%zero = const {value = 0} : i32
           %i = texpands %zero : tile<1x8xi32>
           scatter %u, %i, %o {mode = elem, atomic = max}",
        ),
        &[f32s(&[1, 8], &ramp(8)), f32s(&[1, 8], &[0.0; 8])],
    );
    assert_eq!(error.code, "undefined-atomic");
}
