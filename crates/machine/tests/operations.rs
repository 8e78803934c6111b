//! Every operation on tiles as a kernel: unplaced, placed, and on the bytes of an operand where the table allows it.

#[path = "../../../tests/operations/mod.rs"]
mod operations;

use std::sync::Arc;

use diag::Diagnostic;
use dtype::DType;
use ir::Opcode;
use machine::{Group, Kernel, Outcome};
use memory::{Arg, Buffer, View};
use operations::indexed::{self, Indexed};
use operations::{Case, Expect, Tile};

const BACKGROUND: u8 = 0x55;

fn tensor(tile: &Tile, background: u8) -> Arg {
    let dtype: DType = tile.dtype.parse().expect("an element type");
    Arg::Tensor(View::new(Buffer::from_bytes(&tile.bytes(background)), dtype, &tile.shape).expect("a tensor"))
}

/// Runs kernel `k` of a program; what the last argument holds then, and how it ended.
fn run(text: &str, args: &[Arg]) -> (Vec<u8>, Result<(), Diagnostic>) {
    let program = ir::text::parse_located(text, "case.tw").unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    if let Err(e) = ir::verify::verify(&program) {
        panic!("{e:#?}\n{text}");
    }
    let func = &program.functions[program.function("k").expect("the kernel")];
    let profile = if program.arch == chip::Arch::A5 { dtype::Profile::A5 } else { dtype::Profile::A2a3 };
    let kernel = Kernel::new(func, program.arch, profile).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    kernel.check(args).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut group = Group::new();
    group.start(program.arch.chip(), &[Arc::clone(&kernel.code)], args, 0, (0, 1));
    let done = group.run(None).map(|outcome| assert_eq!(outcome, Outcome::Done, "{text}"));
    (args.last().and_then(Arg::tensor).expect("a result").to_vec().expect("in bounds"), done)
}

fn check(case: &Case, text: &str) {
    let mut args: Vec<Arg> = case.tiles().map(|t| tensor(t, 0)).collect();
    args.push(tensor(&Tile { data: Vec::new(), ..case.result().clone() }, BACKGROUND));
    let (bytes, done) = run(text, &args);
    match (&case.expect, done) {
        (Expect::Tile(tile), Ok(())) => assert_eq!(bytes, tile.bytes(BACKGROUND), "{}\n{text}", case.name),
        (Expect::Error(message, _), Err(e)) => {
            assert!(e.message.contains(message), "{}: {e:?}", case.name);
            let line = e.primary.as_ref().map_or(0, |label| label.span.line as usize);
            let line = text.lines().nth(line.wrapping_sub(1)).unwrap_or("").trim();
            assert!(line.starts_with(case.opcode()), "{}: the error is at `{line}`", case.name);
            assert!(bytes.iter().all(|&b| b == BACKGROUND), "{}: memory changed", case.name);
        }
        (_, done) => panic!("{}: {done:?}\n{text}", case.name),
    }
}

#[test]
fn results_and_faults_of_every_case_wherever_the_tiles_lie() {
    let mut in_place = 0;
    for case in operations::all() {
        let info = Opcode::from_name(case.opcode()).expect("an operation").info();
        let names: Vec<&str> = info.operands.iter().map(|o| o.name).collect();
        for placed in [false, true] {
            check(&case, &case.kernel_program(placed, None));
            for operand in case.in_place(info.in_place, &names) {
                check(&case, &case.kernel_program(placed, Some(operand)));
                in_place += 1;
            }
        }
    }
    assert!(in_place >= 20, "{in_place}");
}

fn transfer(case: &Indexed, placed: bool) {
    let text = case.kernel_program(placed);
    let args: Vec<Arg> = case
        .arguments(BACKGROUND)
        .into_iter()
        .map(|(dtype, shape, bytes)| {
            Arg::Tensor(View::new(Buffer::from_bytes(&bytes), dtype.parse().unwrap(), &shape).unwrap())
        })
        .collect();
    let (bytes, done) = run(&text, &args);
    match (&case.expect, done) {
        (Expect::Tile(_), Ok(())) => {}
        (Expect::Error(message, _), Err(e)) => {
            assert!(e.message.contains(message), "{}: {e:?}", case.name);
            let line = e.primary.as_ref().map_or(0, |label| label.span.line as usize);
            let line = text.lines().nth(line.wrapping_sub(1)).unwrap_or("").trim();
            assert!(line.starts_with(case.operation()[1]), "{}: the error is at `{line}`", case.name);
        }
        (_, done) => panic!("{}: {done:?}\n{text}", case.name),
    }
    assert_eq!(bytes, case.after(BACKGROUND), "{}\n{text}", case.name);
}

#[test]
fn indexed_transfers_with_every_policy() {
    for case in indexed::all() {
        transfer(&case, false);
        transfer(&case, true);
    }
}

/// Two lists of four records; the merge ends with the first, whose last value is the 3.
#[test]
fn a_merge_that_ends_with_a_list_leaves_the_rest_alone() {
    let case = operations::all().into_iter().find(|c| c.opcode() == "tmrgsort.lists").expect("the case");
    let text =
        case.kernel_program(false, None).replace("  tmrgsort.lists", "  texpands %fill outs(%r)\n  tmrgsort.lists");
    let text = text.replace("outs(%r) \n  tstore", "outs(%r) {exhausted = true}\n  tstore");
    let text = text.replacen("  %c0 =", "  %fill = const {value = -7.0} : f32\n  %c0 =", 1);
    let row = |values: [f32; 4]| -> Vec<u8> {
        values.iter().zip(0u32..).flat_map(|(v, i)| [v.to_bits(), i]).flat_map(u32::to_le_bytes).collect()
    };
    let arg = |bytes: &[u8], n: u64| Arg::Tensor(View::new(Buffer::from_bytes(bytes), DType::F32, &[1, n]).unwrap());
    let args = [arg(&row([9.0, 6.0, 5.0, 3.0]), 8), arg(&row([8.0, 4.0, 2.0, 1.0]), 8), arg(&[0; 64], 16)];
    let (bytes, done) = run(&text, &args);
    done.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    let values: Vec<f32> = words.iter().step_by(2).map(|&w| f32::from_bits(w)).collect();
    assert_eq!(values, [9.0, 8.0, 6.0, 5.0, 4.0, 3.0, -7.0, -7.0]);
    assert_eq!(words[1..12].iter().step_by(2).copied().collect::<Vec<_>>(), [0, 0, 1, 2, 1, 3]);
}

/// `c = a · b + bias` with small integers: 16×16 times 16×16, of which 5 rows, 7 of k and 9 columns are valid.
#[test]
fn a_product_starts_from_its_bias() {
    for placed in [false, true] {
        let at = |address: u64| if placed { format!(" addr(%a{address})") } else { String::new() };
        let word = if placed { " placed" } else { "" };
        let text = format!(
            "program \"bias\" a5 tile entry @main
func @k kernel(cube){word}(%a: in ptr<f32>, %b: in ptr<f32>, %s: in ptr<f32>, %c: inout ptr<f32>) {{
  %a0 = const {{value = 0}} : i64
  %a1024 = const {{value = 1024}} : i64
  %a2048 = const {{value = 2048}} : i64
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %c5 = const {{value = 5}} : index
  %c7 = const {{value = 7}} : index
  %c9 = const {{value = 9}} : index
  %va = make_tensor_view %a shape(%c5, %c7) strides(%c7, %c1) : view<5x7xf32>
  %vb = make_tensor_view %b shape(%c7, %c9) strides(%c9, %c1) : view<7x9xf32>
  %vs = make_tensor_view %s shape(%c1, %c9) strides(%c9, %c1) : view<1x9xf32>
  %vc = make_tensor_view %c shape(%c5, %c9) strides(%c9, %c1) : view<5x9xf32>
  %pa = partition_view %va offsets(%c0, %c0) sizes(%c5, %c7) : part<5x7xf32>
  %pb = partition_view %vb offsets(%c0, %c0) sizes(%c7, %c9) : part<7x9xf32>
  %ps = partition_view %vs offsets(%c0, %c0) sizes(%c1, %c9) : part<1x9xf32>
  %pc = partition_view %vc offsets(%c0, %c0) sizes(%c5, %c9) : part<5x9xf32>
  %ma = alloc_tile{0} : tile<16x16xf32, valid 5x7, mat, nz>
  %mb = alloc_tile{1} : tile<16x16xf32, valid 7x9, mat, nz>
  %ms = alloc_tile{2} : tile<16x16xf32, valid 1x9, mat, nz>
  %l = alloc_tile{0} : tile<16x16xf32, valid 5x7, left, nz>
  %r = alloc_tile{0} : tile<16x16xf32, valid 7x9, right, zn>
  %t = alloc_tile{0} : tile<1x16xf32, valid 1x9, bias>
  %acc = alloc_tile{0} : tile<16x16xf32, valid 5x9, acc, nz/1024>
  tload %pa outs(%ma)
  tload %pb outs(%mb)
  tload %ps outs(%ms)
  tmov %ma outs(%l)
  tmov %mb outs(%r)
  tmov %ms outs(%t)
  tmatmul.bias %l, %r, %t outs(%acc)
  tstore %acc outs(%pc)
  return
}}

func @main orchestration(%a: in tensor<5x7xf32>, %b: in tensor<7x9xf32>, %s: in tensor<1x9xf32>, %c: inout tensor<5x9xf32>) {{
  %t = submit args(%a, %b, %s, %c) {{kernels = [@k], name = \"k\", directions = \"in,in,in,inout\"}} : task
  return
}}
",
            at(0),
            at(1024),
            at(2048)
        );
        let a: Vec<f32> = (0..35).map(|i| (i % 6) as f32 - 2.0).collect();
        let b: Vec<f32> = (0..63).map(|i| (i % 5) as f32).collect();
        let s: Vec<f32> = (0..9).map(|i| 10.0 * i as f32).collect();
        let arg = |shape: &[u64], data: &[f32]| {
            let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
            Arg::Tensor(View::new(Buffer::from_bytes(&bytes), DType::F32, shape).unwrap())
        };
        let args = [arg(&[5, 7], &a), arg(&[7, 9], &b), arg(&[1, 9], &s), arg(&[5, 9], &[0.0; 45])];
        let (bytes, done) = run(&text, &args);
        done.unwrap_or_else(|e| panic!("{e:?}"));
        let got: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        let expected: Vec<f32> =
            (0..45).map(|i| s[i % 9] + (0..7).map(|p| a[i / 9 * 7 + p] * b[p * 9 + i % 9]).sum::<f32>()).collect();
        assert_eq!(got, expected);
    }
}
