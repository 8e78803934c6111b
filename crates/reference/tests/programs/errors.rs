//! Run errors: what happened, with its numbers, at the right line.

use diag::Kind;
use dtype::DType;

use crate::support::*;

#[test]
fn each_names_its_numbers_and_its_line() {
    let scope = |ops: &str| format!("%k = scope {{name = \"k\"}} : task {{\n{ops}\nyield\n}}\nreturn");
    let cases: &[(String, &str, &str, &str)] = &[
        (
            scope("%t = load %x offsets(#2, #4) {sizes = [2, 8]} : tile<2x8xf32>"),
            "out-of-bounds",
            "a load of [2, 8] at [2, 4] leaves a tensor of [4, 8]: axis 1 would end at 12",
            "%t = load",
        ),
        (
            scope("%t = load %x offsets(#-1, #0) {sizes = [2, 8]} : tile<2x8xf32>"),
            "out-of-bounds",
            "a load of [2, 8] at [-1, 0] leaves a tensor of [4, 8]: axis 0 would end at 1",
            "%t = load",
        ),
        (
            scope(
                "%t = load %x offsets(#0, #0) {sizes = [2, 8]} : tile<2x8xf32>
                 store %t, %x offsets(#3, #0) {sizes = [2, 8]}",
            ),
            "out-of-bounds",
            "a store of [2, 8] at [3, 0] leaves a tensor of [4, 8]: axis 0 would end at 5",
            "store %t",
        ),
        (
            "%s = tensor_slice %x offsets(#1, #1) {sizes = [2, 8]} : tensor<2x8xf32, strides [8, 1]>\nreturn"
                .to_owned(),
            "out-of-bounds",
            "a slice of [2, 8] at [1, 1] leaves a tensor of [4, 8]: axis 1 would end at 9",
            "%s = tensor_slice",
        ),
        (
            "%v = read %x indices(#4, #0) : f32\nreturn".to_owned(),
            "out-of-bounds",
            "a read of element [4, 0] of a tensor of [4, 8]",
            "%v = read",
        ),
        (
            "%v = div #7, #0 : index\nreturn".to_owned(),
            "division-by-zero",
            "integer division by zero: Div of 7 and 0 (index)",
            "%v = div",
        ),
        (
            "for #0, #7, #0 {kind = range} (%i: index) {\nyield\n}\nreturn".to_owned(),
            "zero-step",
            "a loop from 0 to 7 with step 0",
            "for ",
        ),
        (
            "%t = tensor_transpose %x {axis1 = 0, axis2 = 1} : tensor<8x4xf32, strides [1, 8]>
             %r = tensor_reshape %t : tensor<32xf32>
             return"
                .to_owned(),
            "not-packed",
            "a reshape of [8, 4] to [32]: the elements do not lie one after another (strides [1, 8])",
            "%r = tensor_reshape",
        ),
        (
            "%a = array_create : array<4xindex>\n%v = array_get %a, #4 : index\nreturn".to_owned(),
            "out-of-bounds",
            "element 4 of an array of 4",
            "%v = array_get",
        ),
        (
            scope("%t = load %x offsets(#0, #0) valid(#9) {sizes = [2, 8]} : tile<2x8xf32, valid 2x?>"),
            "bad-valid",
            "a valid extent of 9 on a tile of [2, 8]",
            "%t = load",
        ),
        (
            scope(
                "%t = load %x offsets(#0, #0) {sizes = [2, 8]} : tile<2x8xf32>
                 %e = textract %t, #1, #0 : tile<2x8xf32>",
            ),
            "out-of-bounds",
            "an extract of 2x8 at (1, 0) leaves a tile of [2, 8]",
            "%e = textract",
        ),
        (
            scope(
                "%t = load %x offsets(#0, #0) {sizes = [2, 8]} : tile<2x8xf32>
                 %e = textract %t, #1, #0 : tile<1x8xf32>
                 tinsert %t, #0, #1 outs(%e)",
            ),
            "out-of-bounds",
            "an insert of 2x8 at (0, 1) leaves a tile of [1, 8]",
            "tinsert",
        ),
        (
            "%k = scope blocks(#0) {name = \"k\"} : task (%b: index) {\nyield\n}\nreturn".to_owned(),
            "bad-launch",
            "a launch of 0 blocks",
            "%k = scope",
        ),
        (
            "%n = sub #0, #3 : index\n%y = tensor_create %n : tensor<?x4xf32>\nreturn".to_owned(),
            "bad-extent",
            "an extent of -3 elements",
            "%y = tensor_create",
        ),
    ];
    for (body, code, message, start) in cases {
        let x = f32s(&[4, 8], &ramp(32));
        let (error, line) = failure("%x: inout tensor<4x8xf32>", body, std::slice::from_ref(&x));
        assert_eq!((error.code, error.kind), (*code, Kind::Invalid), "{error:?}");
        assert!(error.message.contains(message), "{}", error.message);
        assert!(line.starts_with(start), "{line}");
        assert_eq!(get_f32(view(&x)), ramp(32), "{code}");
    }
}

#[test]
fn a_wrong_call_is_refused_before_anything_runs() {
    let body = "return";
    let params = "%x: in tensor<?x8xf32>, %n: in index";
    let good = f32s(&[4, 8], &ramp(32));
    let cases = [
        (vec![good.clone()], "takes 2 arguments, not 1"),
        (vec![f32s(&[8, 4], &ramp(32)), index(1)], "`x` is a tensor of f32 [?, 8], not of f32 [8, 4]"),
        (vec![i32s(&[1, 8], &[0; 8]), index(1)], "not of i32 [1, 8]"),
        (vec![good.clone(), good.clone()], "`n` has type Scalar(Index), not a tensor of f32"),
        (
            vec![good, memory::Arg::Scalar(dtype::Scalar::from_i64(DType::I32, 1))],
            "`n` has type Scalar(Index), not a scalar of i32",
        ),
    ];
    for (args, message) in cases {
        let error = attempt(params, body, &args, &PLAIN).expect_err("refused");
        assert_eq!(error.code, "argument-mismatch");
        assert!(error.message.contains(message), "{}", error.message);
    }
}

#[test]
fn what_this_level_does_not_have_is_named() {
    let body = "%k = scope {name = \"k\"} : task {
           %i = get_block_idx : i64
           yield
         }
         return";
    let (error, line) = failure("", body, &[]);
    assert_eq!((error.code, error.kind), ("not-tensor-level", Kind::Unsupported));
    assert!(error.message.contains("`get_block_idx`"), "{}", error.message);
    assert!(line.contains("get_block_idx"), "{line}");
}

#[test]
fn an_endless_loop_can_be_interrupted() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    for ops in [
        "for #0, #9223372036854775807, #1 {kind = range} (%i: index) {\nyield\n}",
        "while {\n%t = cmp #1, #1 {predicate = eq} : i1\ncondition %t\n}, {\nyield\n}",
        "%k = scope blocks(#4294967295) {name = \"k\"} : task (%b: index) {\nyield\n}",
    ] {
        let program = parse(&text("", &format!("{ops}\nreturn")));
        let interrupt = AtomicBool::new(false);
        let error = std::thread::scope(|s| {
            let run = s.spawn(|| reference::run_until(&program, &[], &PLAIN, None, &interrupt).map_err(Box::new));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!run.is_finished(), "{ops}");
            interrupt.store(true, Relaxed);
            run.join().expect("no panic").expect_err("interrupted")
        });
        assert_eq!(error.code, "interrupted");
    }
}
