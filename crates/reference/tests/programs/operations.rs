//! Every operation on tiles: a program of one scope that loads its operands, does it, and stores what it makes.

use dtype::{DType, Profile};
use memory::Arg;
use reference::Options;

use crate::cases::indexed::{self, Indexed};
use crate::cases::{self, Case, Expect, Tile};
use crate::support::*;

const BACKGROUND: u8 = 0x55;

fn argument(tile: &Tile, background: u8) -> Arg {
    let dtype: DType = tile.dtype.parse().expect("an element type");
    tensor(dtype, &tile.shape, &tile.bytes(background))
}

fn check(case: &Case, definedness: bool) {
    let text = case.tensor_program();
    let program = parse(&text);
    if let Err(e) = ir::verify::verify(&program) {
        panic!("{e:#?}\n{text}");
    }
    let mut args: Vec<Arg> = case.tiles().map(|t| argument(t, 0)).collect();
    args.push(argument(&Tile { data: Vec::new(), ..case.result().clone() }, BACKGROUND));
    let profile = if case.arch == "a5" { Profile::A5 } else { Profile::A2a3 };
    let done = reference::run(&program, &args, &Options { profile, definedness }, None);
    let bytes = view(args.last().unwrap()).to_vec().unwrap();
    match (&case.expect, done) {
        (Expect::Tile(tile), Ok(outcome)) => {
            assert_eq!(bytes, tile.bytes(BACKGROUND), "{}\n{text}", case.name);
            let defined = outcome.defined.last().unwrap();
            let whole = vec![1; (tile.shape[0] * tile.shape[1]) as usize];
            assert_eq!(*defined, definedness.then_some(whole), "{}: what is made of defined data is", case.name);
        }
        (Expect::Error(message, _), Err(e)) => {
            assert!(e.message.contains(message), "{}: {e:?}", case.name);
            let line = e.primary.as_ref().map_or(0, |label| label.span.line as usize);
            let line = text.lines().nth(line.wrapping_sub(1)).unwrap_or("").trim();
            assert!(line.starts_with(&format!("%r = {}", case.opcode())), "{}: the error is at `{line}`", case.name);
            assert!(bytes.iter().all(|&b| b == BACKGROUND), "{}: memory changed", case.name);
        }
        (_, done) => panic!("{}: {done:?}\n{text}", case.name),
    }
}

#[test]
fn results_and_faults_of_every_case() {
    for case in cases::all() {
        for definedness in [false, true] {
            check(&case, definedness);
        }
    }
}

fn transfer(case: &Indexed, definedness: bool) {
    let text = case.tensor_program();
    let program = parse(&text);
    if let Err(e) = ir::verify::verify(&program) {
        panic!("{e:#?}\n{text}");
    }
    let arguments = case.arguments(BACKGROUND).into_iter();
    let args: Vec<Arg> =
        arguments.map(|(dtype, shape, bytes)| tensor(dtype.parse().unwrap(), &shape, &bytes)).collect();
    let done = reference::run(&program, &args, &Options { profile: Profile::A2a3, definedness }, None);
    match (&case.expect, done) {
        (Expect::Tile(_), Ok(outcome)) => {
            let elements = view(args.last().unwrap()).elements() as usize;
            assert_eq!(*outcome.defined.last().unwrap(), definedness.then(|| vec![1; elements]), "{}", case.name);
        }
        (Expect::Error(message, _), Err(e)) => {
            assert!(e.message.contains(message), "{}: {e:?}", case.name);
            let line = e.primary.as_ref().map_or(0, |label| label.span.line as usize);
            let line = text.lines().nth(line.wrapping_sub(1)).unwrap_or("").trim();
            assert!(line.starts_with(case.operation()[0]), "{}: the error is at `{line}`", case.name);
        }
        (_, done) => panic!("{}: {done:?}\n{text}", case.name),
    }
    let bytes = view(args.last().unwrap()).to_vec().unwrap();
    assert_eq!(bytes, case.after(BACKGROUND), "{}\n{text}", case.name);
}

#[test]
fn indexed_transfers_with_every_policy() {
    for case in indexed::all() {
        transfer(&case, false);
        transfer(&case, true);
    }
}

#[test]
fn a_part_holds_for_tiles_of_any_rank() {
    let x = f32s(&[2, 3, 4], &ramp(24));
    let o = f32s(&[2, 3, 4], &[-1.0; 24]);
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0, #0) {sizes = [2, 3, 4]} : tile<2x3x4xf32>
           %p = load %x offsets(#0, #0, #0) {sizes = [2, 3, 4]} : tile<2x3x4xf32, valid 2x2x3>
           %u = tpartmul %p, %t : tile<2x3x4xf32>
           store %u, %o offsets(#0, #0, #0) {sizes = [2, 3, 4]}
           yield
         }
         return";
    run("%x: in tensor<2x3x4xf32>, %o: inout tensor<2x3x4xf32>", body, &[x, o.clone()]);
    let expected: Vec<f32> =
        (0..24).map(|i| if i / 4 % 3 < 2 && i % 4 < 3 { (i * i) as f32 } else { i as f32 }).collect();
    assert_eq!(get_f32(view(&o)), expected);
}

#[test]
fn an_undefined_operand_counts_where_it_is_valid() {
    let params = "%x: in tensor<2x8xf32>, %o: inout tensor<2x8xf32>";
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [2, 8]} : tile<2x8xf32>
           %u = tile_create : tile<2x8xf32, valid 1x3>
           %r = tpartadd %t, %u : tile<2x8xf32>
           store %r, %o offsets(#0, #0) {sizes = [2, 8]}
           yield
         }
         return";
    let outcome = run(params, body, &[f32s(&[2, 8], &ramp(16)), f32s(&[2, 8], &[0.0; 16])]);
    let expected: Vec<u8> = (0..16).map(|i| (i >= 3) as u8).collect();
    assert_eq!(outcome.defined[1], Some(expected));
}

#[test]
fn a_product_starts_from_its_bias_in_every_transposition() {
    let (m, k, n) = (3usize, 5usize, 4usize);
    let a: Vec<f32> = (0..m * k).map(|i| i as f32 - 6.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i * i % 11) as f32).collect();
    let s: Vec<f32> = (0..n).map(|i| 100.0 * i as f32).collect();
    let turn = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
        (0..rows * cols).map(|i| x[(i % rows) * cols + i / rows]).collect()
    };
    let expected: Vec<f32> =
        (0..m * n).map(|i| s[i % n] + (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum::<f32>()).collect();
    for (ta, tb) in [(false, false), (true, false), (false, true)] {
        let (ra, ca) = if ta { (k, m) } else { (m, k) };
        let (rb, cb) = if tb { (n, k) } else { (k, n) };
        let (av, bv) = (if ta { turn(&a, m, k) } else { a.clone() }, if tb { turn(&b, k, n) } else { b.clone() });
        let args = [
            f32s(&[ra as u64, ca as u64], &av),
            f32s(&[rb as u64, cb as u64], &bv),
            f32s(&[1, n as u64], &s),
            f32s(&[m as u64, n as u64], &vec![0.0; m * n]),
        ];
        let params = format!(
            "%a: in tensor<{ra}x{ca}xf32>, %b: in tensor<{rb}x{cb}xf32>, %s: in tensor<1x{n}xf32>, %o: out tensor<{m}x{n}xf32>"
        );
        let body = format!(
            "%k = scope {{name = \"k\"}} : task {{
               %p = load %a offsets(#0, #0) {{sizes = [{ra}, {ca}]}} : tile<{ra}x{ca}xf32>
               %q = load %b offsets(#0, #0) {{sizes = [{rb}, {cb}]}} : tile<{rb}x{cb}xf32>
               %t = load %s offsets(#0, #0) {{sizes = [1, {n}]}} : tile<1x{n}xf32>
               %c = tmatmul.bias %p, %q, %t {{a_trans = {ta}, b_trans = {tb}}} : tile<{m}x{n}xf32>
               store %c, %o offsets(#0, #0) {{sizes = [{m}, {n}]}}
               yield
             }}
             return"
        );
        let outcome = run(&params, &body, &args);
        assert_eq!(get_f32(view(&args[3])), expected, "{ta} {tb}");
        assert_eq!(outcome.defined[3], Some(vec![1; m * n]));
    }
}

#[test]
fn an_undefined_bias_makes_its_column_undefined() {
    let body = "%k = scope {name = \"k\"} : task {
           %a = load %x offsets(#0, #0) {sizes = [2, 2]} : tile<2x2xf32>
           %s = tile_create : tile<1x2xf32>
           %one = const {value = 1.0} : f32
           tsetval #0, #1, %one outs(%s)
           %c = tmatmul.bias %a, %a, %s : tile<2x2xf32>
           store %c, %o offsets(#0, #0) {sizes = [2, 2]}
           yield
         }
         return";
    let args = [f32s(&[2, 2], &ramp(4)), f32s(&[2, 2], &[0.0; 4])];
    let outcome = run("%x: in tensor<2x2xf32>, %o: out tensor<2x2xf32>", body, &args);
    assert_eq!(outcome.defined[1], Some(vec![0, 1, 0, 1]));
    assert_eq!(get_f32(view(&args[1])), [2.0, 4.0, 6.0, 12.0]);
}

#[test]
fn the_larger_of_parts_is_the_profiles() {
    let body = "%k = scope {name = \"k\"} : task {
           %a = load %x offsets(#0, #0) {sizes = [1, 4]} : tile<1x4xf32>
           %b = load %y offsets(#0, #0) {sizes = [1, 4]} : tile<1x4xf32, valid 1x3>
           %r = tpartmax %a, %b : tile<1x4xf32>
           store %r, %o offsets(#0, #0) {sizes = [1, 4]}
           yield
         }
         return";
    let params = "%x: in tensor<1x4xf32>, %y: in tensor<1x4xf32>, %o: out tensor<1x4xf32>";
    let x = [1.0, f32::NAN, 2.0, 5.0];
    let y = [f32::NAN, 1.0, 3.0, 9.0];
    for (profile, expected) in
        [(Profile::A2a3, [f32::NAN, f32::NAN, 3.0, 5.0]), (Profile::CpuCompat, [1.0, f32::NAN, 3.0, 5.0])]
    {
        let args = [f32s(&[1, 4], &x), f32s(&[1, 4], &y), f32s(&[1, 4], &[0.0; 4])];
        attempt(params, body, &args, &Options { profile, definedness: true }).expect("it runs");
        // C++ takes the second only if the first is less.
        assert_eq!(
            get_f32(view(&args[2])).into_iter().map(f32::to_bits).collect::<Vec<_>>(),
            expected.map(f32::to_bits),
            "{profile}"
        );
    }
}
