//! Tile operations: values, valid regions, handles.

use dtype::{DType, Profile};

use crate::support::*;

const XO: &str = "%x: in tensor<4x8xf32>, %o: inout tensor<4x8xf32>";

/// Runs `ops`, which make tile `%r` from tile `%t` = the whole of x, and stores it.
fn whole(ops: &str, x: &[f32], o: &memory::Arg) {
    let body = format!(
        "%k = scope {{name = \"k\"}} : task {{
           %t = load %x offsets(#0, #0) {{sizes = [4, 8]}} : tile<4x8xf32>
           {ops}
           store %r, %o offsets(#0, #0) {{sizes = [4, 8]}}
           yield
         }}
         return"
    );
    run(XO, &body, &[f32s(&[4, 8], x), o.clone()]);
}

#[test]
fn elementwise_with_tiles_and_scalars() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%s = const {value = 3.0} : f32
           %a = tmuls %t, %s : tile<4x8xf32>
           %b = tsub %a, %t : tile<4x8xf32>
           %c = tadds %b, %s : tile<4x8xf32>
           %d = tdivs %c, %s {reverse = true} : tile<4x8xf32>
           %e = tneg %d : tile<4x8xf32>
           %r = tabs %e : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let expected: Vec<f32> = ramp(32).iter().map(|v| 3.0 / (v * 3.0 - v + 3.0)).collect();
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn a_padding_of_an_inner_axis_pads_each_matrix() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%a = textract %t, #0, #0 : tile<2x8xf32>
           %b = treshape %a : tile<2x1x8xf32>
           %c = tfillpad %b {pad = zero} : tile<2x2x8xf32>
           %r = treshape %c : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let x = ramp(32);
    let zeros = [0.0; 8];
    assert_eq!(get_f32(view(&o)), [&x[..8], &zeros, &x[8..16], &zeros].concat());
}

#[test]
fn softmax_of_rows() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let x: Vec<f32> = (0..32).map(|i| ((i * 7) % 13) as f32 * 0.5).collect();
    let ops = "%m = trowmax %t : tile<4x1xf32>
           %d = trowexpandsub %t, %m : tile<4x8xf32>
           %e = texp %d : tile<4x8xf32>
           %s = trowsum %e : tile<4x1xf32>
           %r = trowexpanddiv %e, %s : tile<4x8xf32>";
    whole(ops, &x, &o);
    for (row, got) in x.chunks(8).zip(get_f32(view(&o)).chunks(8)) {
        let m = row.iter().copied().fold(f32::MIN, f32::max);
        let total: f64 = row.iter().map(|&v| ((v - m) as f64).exp()).sum();
        for (&v, &g) in row.iter().zip(got) {
            assert!((((v - m) as f64).exp() / total - (g as f64)).abs() < 1e-6, "{v} {g}");
        }
        assert!((got.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn columns_reduce_and_broadcast() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%s = tcolsum %t : tile<1x8xf32>
           %m = tcolmin %t : tile<1x8xf32>
           %a = tcolexpandadd %t, %s : tile<4x8xf32>
           %b = tcolexpand %m : tile<4x8xf32>
           %r = tadd %a, %b : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let expected: Vec<f32> = (0..32).map(|i| (i + (4 * (i % 8) + 48) + i % 8) as f32).collect();
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn a_row_of_numbers_broadcasts_down_and_a_column_across() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%f = trowmin %t : tile<4x1xf32>
           %r = trowexpand %f : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let expected: Vec<f32> = (0..32).map(|i| (i / 8 * 8) as f32).collect();
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn matmul_in_every_transposition() {
    let (m, k, n) = (3usize, 5usize, 4usize);
    let a: Vec<f32> = (0..m * k).map(|i| i as f32 - 6.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i * i % 11) as f32).collect();
    let turn = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
        (0..rows * cols).map(|i| x[(i % rows) * cols + i / rows]).collect()
    };
    let product: Vec<f32> =
        (0..m * n).map(|i| (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum::<f32>()).collect();
    for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
        let (ra, ca) = if ta { (k, m) } else { (m, k) };
        let (rb, cb) = if tb { (n, k) } else { (k, n) };
        let (av, bv) = (if ta { turn(&a, m, k) } else { a.clone() }, if tb { turn(&b, k, n) } else { b.clone() });
        let args = [
            f32s(&[ra as u64, ca as u64], &av),
            f32s(&[rb as u64, cb as u64], &bv),
            f32s(&[m as u64, n as u64], &vec![0.0; m * n]),
        ];
        let params = format!("%a: in tensor<{ra}x{ca}xf32>, %b: in tensor<{rb}x{cb}xf32>, %o: out tensor<{m}x{n}xf32>");
        let body = format!(
            "%k = scope {{name = \"k\"}} : task {{
               %p = load %a offsets(#0, #0) {{sizes = [{ra}, {ca}]}} : tile<{ra}x{ca}xf32>
               %q = load %b offsets(#0, #0) {{sizes = [{rb}, {cb}]}} : tile<{rb}x{cb}xf32>
               %c = tmatmul %p, %q {{a_trans = {ta}, b_trans = {tb}}} : tile<{m}x{n}xf32>
               %d = tmatmul.acc %c, %p, %q {{a_trans = {ta}, b_trans = {tb}}} : tile<{m}x{n}xf32>
               store %d, %o offsets(#0, #0) {{sizes = [{m}, {n}]}}
               yield
             }}
             return"
        );
        run(&params, &body, &args);
        let expected: Vec<f32> = product.iter().map(|v| 2.0 * v).collect();
        assert_eq!(get_f32(view(&args[2])), expected, "{ta} {tb}");
    }
}

#[test]
fn casts_go_hop_by_hop() {
    // f32 → i8 has no native hop: A2/A3 goes through f16, where 2049.0 is a tie to 2048 and keeps its low byte.
    let x = [2049.0, -3.5, 2.5, 127.0];
    let args = [f32s(&[1, 4], &x), tensor(DType::I8, &[1, 4], &[0; 4])];
    let params = "%x: in tensor<1x4xf32>, %o: out tensor<1x4xi8>";
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [1, 4]} : tile<1x4xf32>
           %r = tcvt %t {mode = rint} : tile<1x4xi8>
           store %r, %o offsets(#0, #0) {sizes = [1, 4]}
           yield
         }
         return";
    run(params, body, &args);
    let hops = dtype::convert::chain(DType::F32, DType::I8, Profile::A2a3).expect("a chain");
    assert!(hops.len() > 1, "{hops:?}");
    let expected: Vec<u8> = x
        .iter()
        .map(|v| {
            let (mut bits, mut from) = (v.to_bits() as u64, DType::F32);
            for &to in &hops {
                bits = dtype::convert::convert(bits, from, to, dtype::RoundMode::Rint, false, Profile::A2a3);
                from = to;
            }
            bits as u8
        })
        .collect();
    assert_eq!(view(&args[1]).to_vec().unwrap(), expected);
    assert_eq!(expected[1] as i8, -4);
    assert_eq!(expected[2], 2);
}

#[test]
fn a_valid_region_limits_loads_stores_and_reductions() {
    let o = f32s(&[4, 8], &[-1.0; 32]);
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#1, #2) valid(%r, %c) {sizes = [4, 8]} : tile<4x8xf32, valid ?x?>
           %s = trowsum %t : tile<4x1xf32, valid ?x1>
           %u = trowexpandadd %t, %s : tile<4x8xf32, valid ?x?>
           store %u, %o offsets(#0, #0) {sizes = [4, 8]}
           yield
         }
         return";
    let params = "%x: in tensor<4x8xf32>, %r: in index, %c: in index, %o: inout tensor<4x8xf32>";
    let outcome = run(params, body, &[f32s(&[4, 8], &ramp(32)), index(3), index(5), o.clone()]);
    let mut expected = vec![-1.0; 32];
    for r in 0..3 {
        let row: Vec<f32> = (0..5).map(|c| ((r + 1) * 8 + c + 2) as f32).collect();
        for c in 0..5 {
            expected[r * 8 + c] = row[c] + row.iter().sum::<f32>();
        }
    }
    assert_eq!(get_f32(view(&o)), expected);
    // What the program did not write is the caller's, and defined.
    assert_eq!(outcome.defined[3], Some(vec![1; 32]));
    // Nothing valid: nothing happens, wherever the box is.
    let untouched = f32s(&[4, 8], &[-1.0; 32]);
    run(params, body, &[f32s(&[4, 8], &ramp(32)), index(0), index(5), untouched.clone()]);
    assert_eq!(get_f32(view(&untouched)), [-1.0; 32]);
}

#[test]
fn a_pad_fills_what_is_not_valid() {
    let o = f32s(&[4, 8], &[9.0; 32]);
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) valid(%c) {sizes = [4, 8]} : tile<4x8xf32, valid 2x?>
           %u = tfillpad %t {pad = min} : tile<4x8xf32>
           store %u, %o offsets(#0, #0) {sizes = [4, 8]}
           yield
         }
         return";
    let params = "%x: in tensor<4x8xf32>, %c: in index, %o: out tensor<4x8xf32>";
    let outcome = run(params, body, &[f32s(&[4, 8], &ramp(32)), index(3), o.clone()]);
    let expected: Vec<f32> =
        (0..32).map(|i| if i / 8 < 2 && i % 8 < 3 { i as f32 } else { f32::NEG_INFINITY }).collect();
    assert_eq!(get_f32(view(&o)), expected);
    assert_eq!(outcome.defined[2], Some(vec![1; 32]));
}

#[test]
fn tiles_of_many_dimensions_with_a_partly_valid_middle() {
    let x = f32s(&[2, 3, 4], &ramp(24));
    let o = f32s(&[2, 3, 4], &[-1.0; 24]);
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0, #0) valid(%m) {sizes = [2, 3, 4]} : tile<2x3x4xf32, valid 2x?x3>
           %s = trowsum %t : tile<2x3x1xf32, valid 2x?x1>
           %u = trowexpandmul %t, %s : tile<2x3x4xf32, valid 2x?x3>
           %v = tmov %u : tile<2x3x4xf32, valid 2x?x3>
           store %v, %o offsets(#0, #0, #0) {sizes = [2, 3, 4]}
           yield
         }
         return";
    let params = "%x: in tensor<2x3x4xf32>, %m: in index, %o: inout tensor<2x3x4xf32>";
    run(params, body, &[x, index(2), o.clone()]);
    let mut expected = vec![-1.0; 24];
    for a in 0..2 {
        for b in 0..2 {
            let row: Vec<f32> = (0..3).map(|c| (a * 12 + b * 4 + c) as f32).collect();
            for c in 0..3 {
                expected[a * 12 + b * 4 + c] = row[c] * row.iter().sum::<f32>();
            }
        }
    }
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn an_insert_shows_under_every_name() {
    // %u is another name for the carried tile; %m is a copy taken before the insert.
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%m = tmov %t : tile<4x8xf32>
           %z = const {value = 100.0} : f32
           %p = texpands %z : tile<2x3xf32>
           %u = for #0, #2, #1 init(%t) {kind = range} : tile<4x8xf32> (%i: index, %c: tile<4x8xf32>) {
             %row = mul %i, #2 : index
             tinsert %p, %row, #4 outs(%c)
             yield %c
           }
           tsetval #3, #0, %z outs(%u)
           %r = tadd %t, %m : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let changed = |i: usize| (4..7).contains(&(i % 8)) || i == 24;
    let expected: Vec<f32> = (0..32).map(|i| i as f32 + if changed(i) { 100.0 } else { i as f32 }).collect();
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn an_extract_is_a_copy_and_a_reshape_too() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%e = textract %t, #1, #2 : tile<2x4xf32>
           %z = const {value = -5.0} : f32
           %h = treshape %e : tile<1x8xf32>
           tsetval #0, #0, %z outs(%e)
           %g = tgetval %e, #0, #0 : f32
           %w = textract %t, #0, #0 valid(#3) : tile<4x8xf32, valid 4x?>
           tinsert %h, #0, #0 outs(%t)
           tsetval #1, #0, %g outs(%t)
           tsetval #1, #2, %z outs(%t)
           %r = tmov %t : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let mut expected = ramp(32);
    expected[..8].copy_from_slice(&[10.0, 11.0, 12.0, 13.0, 18.0, 19.0, 20.0, 21.0]);
    expected[8] = -5.0;
    expected[10] = -5.0;
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn a_valid_shape_is_another_view_of_the_same_tile() {
    let o = f32s(&[4, 8], &[0.0; 32]);
    let ops = "%s = set_validshape %t, #2, #3 : tile<4x8xf32, valid ?x?>
           %m = trowmax %s : tile<4x1xf32, valid ?x1>
           %q = set_validshape %s, #4, #8 : tile<4x8xf32, valid ?x?>
           tinsert %m, #0, #7 outs(%q)
           %r = tmov %t : tile<4x8xf32>";
    whole(ops, &ramp(32), &o);
    let mut expected = ramp(32);
    (expected[7], expected[15]) = (2.0, 10.0);
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn integers_ramps_and_transposes() {
    let (x, o) = (i32s(&[2, 3], &[1, 2, 3, 4, 5, 6]), i32s(&[3, 2], &[0; 6]));
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [2, 3]} : tile<2x3xi32>
           %s = const {value = 5} : i32
           %d = tci %s {descending = true} : tile<1x3xi32>
           %u = tcolexpandmul %t, %d : tile<2x3xi32>
           %v = ttrans %u : tile<3x2xi32>
           store %v, %o offsets(#0, #0) {sizes = [3, 2]}
           yield
         }
         return";
    run("%x: in tensor<2x3xi32>, %o: out tensor<3x2xi32>", body, &[x, o.clone()]);
    assert_eq!(get_i32(view(&o)), [5, 20, 8, 20, 9, 18]);
}

#[test]
fn fresh_tiles_are_zero_and_stay_so_outside_what_is_written() {
    let o = f32s(&[4, 8], &[7.0; 32]);
    let body = "%k = scope {name = \"k\"} : task {
           %a = load %x offsets(#0, #0) {sizes = [4, 8]} : tile<4x8xf32>
           %b = texp %a : tile<4x8xf32>
           yield
         }
         %l = scope {name = \"l\"} : task {
           %c = tile_create : tile<4x8xf32>
           %t = load %x offsets(#0, #0) {sizes = [1, 8]} : tile<1x8xf32>
           tinsert %t, #2, #0 outs(%c)
           store %c, %o offsets(#0, #0) {sizes = [4, 8]}
           yield
         }
         return";
    let outcome = run(XO, body, &[f32s(&[4, 8], &ramp(32)), o.clone()]);
    let expected: Vec<f32> = (0..32).map(|i| if i / 8 == 2 { (i % 8) as f32 } else { 0.0 }).collect();
    assert_eq!(get_f32(view(&o)), expected);
    let mask: Vec<u8> = (0..32).map(|i| (i / 8 == 2) as u8).collect();
    assert_eq!(outcome.defined, [None, Some(mask)]);
    assert_eq!(outcome.tasks, 2);
}

#[test]
fn an_atomic_add_adds_to_what_is_there() {
    let o = f32s(&[4, 8], &ramp(32));
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [2, 8]} : tile<2x8xf32>
           store %t, %o offsets(#1, #0) {sizes = [2, 8], atomic = add}
           yield
         }
         return";
    run(XO, body, &[f32s(&[4, 8], &[0.5; 32]), o.clone()]);
    let expected: Vec<f32> = (0..32).map(|i| i as f32 + if (8..24).contains(&i) { 0.5 } else { 0.0 }).collect();
    assert_eq!(get_f32(view(&o)), expected);
}
