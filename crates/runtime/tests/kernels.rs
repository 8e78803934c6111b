//! Whole programs: numbers computed independently, on every schedule.

mod common;

use common::*;
use memory::Returned;

const HELLO: &str = r#"
program "hello" a2a3 tile entry @main

func @add kernel(vector)(%x: in ptr<f32>, %y: in ptr<f32>, %out: out ptr<f32>, %k: in f32) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c16 = const {value = 16} : index
  %c64 = const {value = 64} : index
  %vx = make_tensor_view %x shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %vy = make_tensor_view %y shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %vo = make_tensor_view %out shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %px = partition_view %vx offsets(%c0, %c0) sizes(%c16, %c64) : part<16x64xf32>
  %py = partition_view %vy offsets(%c0, %c0) sizes(%c16, %c64) : part<16x64xf32>
  %po = partition_view %vo offsets(%c0, %c0) sizes(%c16, %c64) : part<16x64xf32>
  %tx = alloc_tile : tile<16x64xf32, vec>
  %ty = alloc_tile : tile<16x64xf32, vec>
  tload %px outs(%tx) from op7 done
  tload %py outs(%ty) from op8 done
  tadd %tx, %ty outs(%tx) from op9 done
  tmuls %tx, %k outs(%tx) from op10 done
  tstore %tx outs(%po) from op11 done
  return
}

func @main orchestration(%x: in tensor<64x64xf32>, %y: in tensor<64x64xf32>, %out: out tensor<64x64xf32>) {
  %c0 = const {value = 0} : index
  %c16 = const {value = 16} : index
  %c64 = const {value = 64} : index
  %k = const {value = 0.5} : f32
  for %c0, %c64, %c16 {kind = parallel} (%i: index) {
    %xs = tensor_slice %x offsets(%i, %c0) {sizes = [16, 64]} : tensor<16x64xf32>
    %ys = tensor_slice %y offsets(%i, %c0) {sizes = [16, 64]} : tensor<16x64xf32>
    %os = tensor_slice %out offsets(%i, %c0) {sizes = [16, 64]} : tensor<16x64xf32>
    %t = submit args(%xs, %ys, %os, %k) {kernels = [@add], name = "add", directions = "in,in,out,scalar"} : task
    yield
  }
  return %out
}
"#;

#[test]
fn elementwise_tiles_in_a_parallel_loop() {
    let program = compile(HELLO);
    for options in schedules() {
        let (x, y) = (f32s(&[64, 64], |i| i as f32), f32s(&[64, 64], |i| (i % 7) as f32));
        let out = f32s(&[64, 64], |_| -1.0);
        let report = program.run(&tensors(&[&x, &y, &out]), &options).unwrap();
        let expected: Vec<f32> = (0..4096).map(|i| (i as f32 + (i % 7) as f32) * 0.5).collect();
        assert_eq!(read_f32(&out), expected);
        assert_eq!(report.task_count, 4);
        assert_eq!(report.edges, []);
        assert!(matches!(report.returned[..], [Returned::Param(2)]));
    }
}

#[test]
fn observed_runs_report_each_completed_value() {
    let program = compile(HELLO);
    let (x, y, out) = (f32s(&[64, 64], |i| i as f32), f32s(&[64, 64], |_| 1.0), f32s(&[64, 64], |_| 0.0));
    let options = runtime::Options { threads: 2, observe: true, ..Default::default() };
    let report = program.run(&tensors(&[&x, &y, &out]), &options).unwrap();
    // Five points a task, by task, block, operation.
    let points: Vec<(u32, usize, u32)> =
        report.values.iter().map(|r| (r.point.task, ir::Entity::index(r.point.op), r.point.nth)).collect();
    let expected: Vec<_> = (0..4).flat_map(|t| (7..12).map(move |op| (t, op, 0))).collect();
    assert_eq!(points, expected);
    // A load of what a store of other bytes with the same values wrote has the same digest.
    let stored = &report.values[4];
    let row = out.slice(&[0, 0], &[16, 64]).unwrap();
    assert_eq!(stored.digest, isa::digest_store(&row));
    assert_eq!(report.values[3].digest, isa::digest_view(&row), "the product, and what it was stored as");
    assert_ne!(report.values[2].digest, report.values[3].digest, "the sum, before it was halved");
}

/// `c = a · b` for 32×64 times 64×32, K in two steps of 32 with a carried accumulator; unplaced or placed.
fn gemm(arch: &str, placed: bool) -> String {
    let at = |address: u64| match placed {
        true => format!(" addr(%a{address})"),
        false => String::new(),
    };
    let left = if arch == "a5" { "nz" } else { "zz" };
    let (word, consts) = match placed {
        true => (
            " placed",
            "%a0 = const {value = 0} : i64\n  %a4096 = const {value = 4096} : i64\n  %a8192 = const {value = 8192} : i64\n",
        ),
        false => ("", ""),
    };
    format!(
        r#"
program "gemm" {arch} tile entry @main

func @gemm kernel(cube){word}(%a: in ptr<f32>, %b: in ptr<f32>, %c: out ptr<f32>) {{
  {consts}
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %c2 = const {{value = 2}} : index
  %c32 = const {{value = 32}} : index
  %c64 = const {{value = 64}} : index
  %va = make_tensor_view %a shape(%c32, %c64) strides(%c64, %c1) : view<32x64xf32>
  %vb = make_tensor_view %b shape(%c64, %c32) strides(%c32, %c1) : view<64x32xf32>
  %vc = make_tensor_view %c shape(%c32, %c32) strides(%c32, %c1) : view<32x32xf32>
  %acc = alloc_tile{a0} : tile<32x32xf32, acc, nz/1024>
  %ma = alloc_tile{a0} : tile<32x32xf32, mat, nz>
  %mb = alloc_tile{a4096} : tile<32x32xf32, mat, nz>
  %l = alloc_tile{a0} : tile<32x32xf32, left, {left}>
  %r = alloc_tile{a8192} : tile<32x32xf32, right, zn>
  %last = for %c0, %c2, %c1 init(%c0) {{kind = range}} : index (%k: index, %carry: index) {{
    %k0 = mul %k, %c32 : index
    %pa = partition_view %va offsets(%c0, %k0) sizes(%c32, %c32) : part<32x32xf32>
    %pb = partition_view %vb offsets(%k0, %c0) sizes(%c32, %c32) : part<32x32xf32>
    tload %pa outs(%ma)
    tload %pb outs(%mb)
    textract %ma, %c0, %c0 outs(%l)
    textract %mb, %c0, %c0 outs(%r)
    %first = cmp %k, %c0 {{predicate = eq}} : i1
    if %first {{
      tmatmul %l, %r outs(%acc)
      yield
    }}, {{
      tmatmul.acc %acc, %l, %r outs(%acc)
      yield
    }}
    %next = add %carry, %c1 : index
    yield %next
  }}
  %rows = mul %last, %c1 : index
  %full = cmp %rows, %c2 {{predicate = eq}} : i1
  if %full {{
    %pc = partition_view %vc offsets(%c0, %c0) sizes(%c32, %c32) : part<32x32xf32>
    tstore %acc outs(%pc)
    yield
  }}, {{
    yield
  }}
  return
}}

func @main orchestration(%a: in tensor<32x64xf32>, %b: in tensor<64x32xf32>, %c: out tensor<32x32xf32>) {{
  %t = submit args(%a, %b, %c) {{kernels = [@gemm], name = "gemm", directions = "in,in,out"}} : task
  return
}}
"#,
        a0 = at(0),
        a4096 = at(4096),
        a8192 = at(8192),
    )
}

#[test]
fn matmul_through_every_buffer_of_the_cube() {
    let (a, b) = (|i: usize| (i % 13) as f32 * 0.37 - 1.0, |i: usize| (i % 11) as f32 * 0.21 + 0.1);
    let mut expected = vec![0f32; 1024];
    for m in 0..32 {
        for n in 0..32 {
            for k in 0..64 {
                expected[m * 32 + n] = a(m * 64 + k).mul_add(b(k * 32 + n), expected[m * 32 + n]);
            }
        }
    }
    for arch in ["a2a3", "a5"] {
        for placed in [false, true] {
            let program = compile(&gemm(arch, placed));
            let (va, vb, vc) = (f32s(&[32, 64], a), f32s(&[64, 32], b), f32s(&[32, 32], |_| f32::NAN));
            run(&program, &tensors(&[&va, &vb, &vc]));
            assert_eq!(read_f32(&vc), expected, "{arch} placed {placed}");
        }
    }
}

#[test]
fn a_tile_beyond_its_scratchpad_traps() {
    // Left has 64 KiB.
    let text = gemm("a2a3", true).replace("%a0 = const {value = 0}", "%a0 = const {value = 61568}");
    let text = text.replace("%acc = alloc_tile addr(%a0)", "%acc = alloc_tile addr(%a4096)");
    let program = compile(&text);
    let (a, b, c) = (f32s(&[32, 64], |_| 0.), f32s(&[64, 32], |_| 0.), f32s(&[32, 32], |_| 0.));
    let error = fails(&program, &tensors(&[&a, &b, &c]), 1);
    assert_eq!(error.code, "out-of-bounds");
    assert!(error.message.contains("4096 bytes at address 61568 of left, which has 65536 bytes"), "{}", error.message);
    assert!(error.notes.iter().any(|n| n.contains("task 0 `gemm`")), "{:?}", error.notes);
    assert!(error.notes.iter().any(|n| n.contains("cube core, kernel `gemm`")), "{:?}", error.notes);
    assert!(error.primary.is_some());
}

const SCALARS: &str = r#"
program "scalars" a5 tile entry @main

func @collatz kernel(vector)(%x: in ptr<i32>, %out: out ptr<i32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %one = const {value = 1} : i32
  %two = const {value = 2} : i32
  %three = const {value = 3} : i32
  %zero = const {value = 0} : i32
  for %c0, %n, %c1 {kind = range} (%i: index) {
    %start = load_scalar %x, %i : i32
    %last, %steps = while %start, %zero : i32, i32 (%v: i32, %s: i32) {
      %more = cmp %v, %one {predicate = gt} : i1
      condition %more values(%v, %s)
    }, (%v2: i32, %s2: i32) {
      %r = rem %v2, %two : i32
      %odd = cmp %r, %one {predicate = eq} : i1
      %nv, %ns = if %odd : i32, i32 {
        %m = mul %v2, %three : i32
        %p = add %m, %one : i32
        %ps = add %s2, %one : i32
        yield %p, %ps
      }, {
        %h = div %v2, %two : i32
        %hs = add %s2, %one : i32
        yield %h, %hs
      }
      yield %nv, %ns
    }
    store_scalar %steps, %out, %i
    yield
  }
  return
}

func @main orchestration(%x: in tensor<?xi32>, %out: out tensor<?xi32>) {
  %n = tensor_dim %x {axis = 0} : index
  %t = submit args(%x, %out, %n) {kernels = [@collatz], name = "collatz", directions = "in,out,scalar"} : task
  return
}
"#;

#[test]
fn loops_branches_and_carried_scalars() {
    let program = compile(SCALARS);
    let (x, out) = (ints(&[50], |i| i as i32 + 1), ints(&[50], |_| -1));
    run(&program, &tensors(&[&x, &out]));
    let steps = |mut v: i32| {
        let mut n = 0;
        while v > 1 {
            v = if v % 2 == 1 { 3 * v + 1 } else { v / 2 };
            n += 1;
        }
        n
    };
    assert_eq!(read_i32(&out), (1..=50).map(steps).collect::<Vec<_>>());
}

/// Carried values that change places each time: all are moved at once.
const SWAP: &str = r#"
program "swap" a5 tile entry @main

func @fib kernel(vector)(%out: out ptr<i64>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c2 = const {value = 2} : index
  %zero = const {value = 0} : i64
  %one = const {value = 1} : i64
  %array = array_create : array<2xi64>
  %a, %b = for %c0, %n, %c1 init(%zero, %one) {kind = range} : i64, i64 (%i: index, %p: i64, %q: i64) {
    %s = add %p, %q : i64
    yield %q, %s
  }
  %x, %y = for %n, %c0, %m1 init(%a, %b) {kind = range} : i64, i64 (%j: index, %u: i64, %v: i64) {
    yield %v, %u
  }
  array_set %array, %c0, %x
  array_set %array, %c1, %y
  for %c0, %c2, %c1 {kind = range} (%k: index) {
    %e = array_get %array, %k : i64
    store_scalar %e, %out, %k
    yield
  }
  return
}

func @main orchestration(%out: out tensor<2xi64>, %n: in index) {
  %t = submit args(%out, %n) {kernels = [@fib], name = "fib", directions = "out,scalar"} : task
  return
}
"#;

#[test]
fn values_that_swap_and_loops_that_count_down() {
    let text = SWAP.replace("  %c2 = const", "  %m1 = const {value = -1} : index\n  %c2 = const");
    let program = compile(&text);
    for (n, expected) in [(0, [0i64, 1]), (1, [1, 1]), (7, [21, 13]), (8, [21, 34])] {
        let bytes = memory::Buffer::zeroed(16);
        let out = memory::View::new(bytes, dtype::DType::I64, &[2]).unwrap();
        run(&program, &[memory::Arg::Tensor(out.clone()), index(n)]);
        let got = [0, 1].map(|i| out.get(&[i]).unwrap().as_i64().unwrap());
        assert_eq!(got, expected, "n = {n}");
    }
}

/// `out = (a · b + 1) · c`: cube to vector, back to the cube, `n` times over.
fn mixed(arch: &str) -> String {
    let a2a3 = arch == "a2a3";
    let left = if a2a3 { "zz" } else { "nz" };
    let gm_param = if a2a3 { ", %ws: inout ptr<f32>" } else { "" };
    let gm_operand = if a2a3 { "gm_slot_buffer(%ring) " } else { "" };
    // Two slots a direction of 1024 bytes: 1024 floats a block.
    let ring = if a2a3 {
        "%per = const {value = 1024} : i64\n  %skip = mul %blk, %per : i64\n  %ring = addptr %ws, %skip : ptr<f32>"
    } else {
        ""
    };
    let (create, arg, dir) =
        if a2a3 { ("%ws = tensor_create : tensor<4096xf32>", ", %ws", ",workspace") } else { ("", "", "") };
    let attrs = "{id = 0, dir_mask = 3, slot_size = 1024, slot_num = 2, local_slot_num = 2}";
    format!(
        r#"
program "mixed" {arch} tile entry @main

func @k_aic kernel(cube)(%a: in ptr<f32>, %b: in ptr<f32>, %c: in ptr<f32>, %o: out ptr<f32>, %n: in index{gm_param}) {{
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %c16 = const {{value = 16}} : index
  %blk = get_block_idx : i64
  %bi = cast %blk : index
  {ring}
  %mine = reserve_buffer {{name = "v2c", size = 2048, location = mat, auto = true}} : i32
  %peer = import_reserved_buffer {{name = "c2v", peer_func = [@k_aiv]}} : i32
  aic_initialize_pipe {gm_operand}c2v_consumer_buf(%peer) v2c_consumer_buf(%mine) {attrs}
  %rows = mul %n, %c16 : index
  %blocks = get_block_num : i64
  %nb = cast %blocks : index
  %all = mul %rows, %nb : index
  %va = make_tensor_view %a shape(%all, %c16) strides(%c16, %c1) : view<?x16xf32>
  %vb = make_tensor_view %b shape(%c16, %c16) strides(%c16, %c1) : view<16x16xf32>
  %vc = make_tensor_view %c shape(%c16, %c16) strides(%c16, %c1) : view<16x16xf32>
  %vo = make_tensor_view %o shape(%all, %c16) strides(%c16, %c1) : view<?x16xf32>
  %ma = alloc_tile : tile<16x16xf32, mat, nz>
  %l = alloc_tile : tile<16x16xf32, left, {left}>
  %r = alloc_tile : tile<16x16xf32, right, zn>
  %acc = alloc_tile : tile<16x16xf32, acc, nz/1024>
  %start = mul %bi, %rows : index
  for %c0, %n, %c1 {{kind = range}} (%i: index) {{
    %i16 = mul %i, %c16 : index
    %r0 = add %start, %i16 : index
    %pa = partition_view %va offsets(%r0, %c0) sizes(%c16, %c16) : part<16x16xf32>
    %pb = partition_view %vb offsets(%c0, %c0) sizes(%c16, %c16) : part<16x16xf32>
    %pc = partition_view %vc offsets(%c0, %c0) sizes(%c16, %c16) : part<16x16xf32>
    %po = partition_view %vo offsets(%r0, %c0) sizes(%c16, %c16) : part<16x16xf32>
    tload %pa outs(%ma)
    textract %ma, %c0, %c0 outs(%l)
    tload %pb outs(%ma)
    textract %ma, %c0, %c0 outs(%r)
    tmatmul %l, %r outs(%acc)
    tpush_to_aiv %acc {{id = 0, split = 0}}
    %back = tpop_from_aiv {{id = 0, split = 0}} : tile<16x16xf32, mat, nz>
    textract %back, %c0, %c0 outs(%l)
    tfree_from_aiv {{id = 0, split = 0}}
    tload %pc outs(%ma)
    textract %ma, %c0, %c0 outs(%r)
    tmatmul %l, %r outs(%acc)
    tstore %acc outs(%po)
    yield
  }}
  return
}}

func @k_aiv kernel(vector)(%a: in ptr<f32>, %b: in ptr<f32>, %c: in ptr<f32>, %o: out ptr<f32>, %n: in index{gm_param}) {{
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %one = const {{value = 1.0}} : f32
  %blk = get_block_idx : i64
  {ring}
  %mine = reserve_buffer {{name = "c2v", size = 2048, location = vec, auto = true}} : i32
  %peer = import_reserved_buffer {{name = "v2c", peer_func = [@k_aic]}} : i32
  aiv_initialize_pipe {gm_operand}c2v_consumer_buf(%mine) v2c_consumer_buf(%peer) {attrs}
  %sum = alloc_tile : tile<16x16xf32, vec>
  for %c0, %n, %c1 {{kind = range}} (%i: index) {{
    %t = tpop_from_aic {{id = 0, split = 0}} : tile<16x16xf32, vec>
    tadds %t, %one outs(%sum)
    tfree_from_aic {{id = 0, split = 0}}
    tpush_to_aic %sum {{id = 0, split = 0}}
    yield
  }}
  return
}}

func @main orchestration(%a: in tensor<?x16xf32>, %b: in tensor<16x16xf32>, %c: in tensor<16x16xf32>, %o: out tensor<?x16xf32>, %n: in index, %blocks: in index) {{
  {create}
  %t = submit args(%a, %b, %c, %o, %n{arg}) blocks(%blocks) {{kernels = [@k_aiv, @k_aic], name = "mixed", directions = "in,in,in,out,scalar{dir}"}} : task
  return
}}
"#
    )
}

#[test]
fn mixed_kernels_exchange_tiles_through_fifos() {
    let (a, b, c) = (|i: usize| (i % 7) as f32, |i: usize| (i % 5) as f32 - 2.0, |i: usize| (i % 3) as f32);
    let (n, blocks) = (5usize, 3usize);
    let rows = 16 * n * blocks;
    let mul = |x: &[f32], y: &[f32]| -> Vec<f32> {
        (0..rows * 16).map(|i| (0..16).map(|k| x[i / 16 * 16 + k] * y[k * 16 + i % 16]).sum()).collect()
    };
    // Small integers: every order of summation is exact.
    let fill = |n: usize, f: &dyn Fn(usize) -> f32| (0..n).map(f).collect::<Vec<f32>>();
    let mut middle = mul(&fill(rows * 16, &a), &fill(256, &b));
    middle.iter_mut().for_each(|v| *v += 1.0);
    let expected = mul(&middle, &fill(256, &c));
    for arch in ["a2a3", "a5"] {
        let program = compile(&mixed(arch));
        for options in schedules() {
            let va = f32s(&[rows as u64, 16], a);
            let (vb, vc) = (f32s(&[16, 16], b), f32s(&[16, 16], c));
            let out = f32s(&[rows as u64, 16], |_| f32::NAN);
            let mut args = tensors(&[&va, &vb, &vc, &out]);
            args.extend([index(n as i64), index(blocks as i64)]);
            program.run(&args, &options).unwrap();
            assert_eq!(read_f32(&out), expected, "{arch} {options:?}");
        }
    }
}

#[test]
fn both_cores_must_mean_the_same_slots() {
    // One core a slot further: in global memory, and in the consumer's buffer.
    let a2a3 = mixed("a2a3").replacen("%skip = mul %blk, %per : i64", "%skip = add %blk, %per : i64", 1);
    let a5 = mixed("a5").replacen(
        "aiv_initialize_pipe c2v_consumer_buf(%mine)",
        "%d = const {value = 1024} : i32\n  %off = add %mine, %d : i32\n  aiv_initialize_pipe c2v_consumer_buf(%off)",
        1,
    );
    for (text, message) in [(a2a3, "two slot buffers in global memory"), (a5, "two slot buffers of the consumer")] {
        let program = compile(&text);
        let (va, vb) = (f32s(&[16, 16], |_| 1.0), f32s(&[16, 16], |_| 1.0));
        let out = f32s(&[16, 16], |_| 0.0);
        let mut args = tensors(&[&va, &vb, &vb, &out]);
        args.extend([index(1), index(1)]);
        let error = program.run(&args, &runtime::Options::default()).unwrap_err();
        assert_eq!(error.code, "fifo-setup");
        assert!(error.message.contains(message), "{}", error.message);
    }
}

#[test]
fn a_deadlock_says_who_waits_for_whom() {
    // The vector core frees before it pops for the last time, and pops once too often.
    let text = mixed("a5").replace("tpush_to_aic %sum {id = 0, split = 0}\n", "");
    let program = compile(&text);
    let (a, b) = (f32s(&[80, 16], |_| 1.), f32s(&[16, 16], |_| 1.));
    let mut args = tensors(&[&a, &b, &b, &a.clone()]);
    args.extend([index(5), index(1)]);
    let error = fails(&program, &args, 2);
    assert_eq!(error.code, "fifo-deadlock");
    let notes = error.notes.join("; ");
    assert!(notes.contains("the cube core waits for the other core to push, from vector to cube"), "{notes}");
    assert!(notes.contains("the vector core waits for the other core to push, from cube to vector"), "{notes}");
    assert!(error.primary.is_some() && error.secondary.len() == 1);

    let text = mixed("a5").replace("    tfree_from_aic {id = 0, split = 0}\n", "");
    let error = fails(&compile(&text), &args, 1);
    assert!(error.code.starts_with("fifo-"), "{error:?}");
}

const PHASES: &str = r#"
program "phases" a2a3 tile entry @main

func @phases kernel(vector)(%buf: inout ptr<i32>, %out: out ptr<i32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %zero = const {value = 0} : i32
  %one = const {value = 1} : i32
  %b64 = get_block_idx : i64
  %n64 = get_block_num : i64
  %b = cast %b64 : index
  %n = cast %n64 : index
  %v = cast %b64 : i32
  %v1 = add %v, %one : i32
  store_scalar %v1, %buf, %b
  syncall
  %s = for %c0, %n, %c1 init(%zero) {kind = range} : i32 (%i: index, %acc: i32) {
    %x = load_scalar %buf, %i : i32
    %sum = add %acc, %x : i32
    yield %sum
  }
  syncall
  store_scalar %s, %buf, %b
  syncall
  %last = sub %n, %c1 : index
  %left = sub %last, %b : index
  %y = load_scalar %buf, %left : i32
  %r = add %y, %v : i32
  store_scalar %r, %out, %b
  return
}

func @main orchestration(%out: out tensor<?xi32>, %n: in index) {
  %buf = tensor_create dims(%n) : tensor<?xi32>
  %t = submit args(%buf, %out) blocks(%n) {kernels = [@phases], name = "phases", directions = "inout,out", sync_start = true} : task
  return
}
"#;

#[test]
fn syncall_joins_every_block_of_a_launch() {
    let program = compile(PHASES);
    for options in schedules() {
        let out = ints(&[40], |_| -1);
        program.run(&[memory::Arg::Tensor(out.clone()), index(40)], &options).unwrap();
        assert_eq!(read_i32(&out), (0..40).map(|b| 820 + b).collect::<Vec<_>>(), "{options:?}");
    }
}

#[test]
fn blocks_that_must_start_together_must_fit_the_machine() {
    let program = compile(PHASES);
    let (fits, too_many) = (ints(&[48], |_| -1), ints(&[49], |_| -1));
    run(&program, &[memory::Arg::Tensor(fits), index(48)]);
    let error = fails(&program, &[memory::Arg::Tensor(too_many.clone()), index(49)], 1);
    assert_eq!(error.code, "sync-start");
    assert!(error.message.contains("49 blocks") && error.message.contains("48 vector cores"), "{}", error.message);
    assert_eq!(read_i32(&too_many), [-1; 49]);
}

#[test]
fn a_block_that_ends_early_leaves_the_others_at_syncall() {
    let text = PHASES.replace(
        "  syncall\n  %last",
        "  %first = cmp %b, %c0 {predicate = eq} : i1\n  if %first {\n    yield\n  }, {\n    syncall\n    yield\n  }\n  %last",
    );
    let program = compile(&text);
    for threads in [1, 2] {
        let out = ints(&[4], |_| -1);
        let error = fails(&program, &[memory::Arg::Tensor(out), index(4)], threads);
        assert_eq!(error.code, "syncall-deadlock");
        assert!(error.message.contains("3 of 4 blocks wait at `syncall`"), "{}", error.message);
        assert!(error.notes.iter().any(|n| n.contains("[1, 2, 3]")), "{:?}", error.notes);
    }
}

const ATOMIC: &str = r#"
program "atomic" a2a3 tile entry @main

func @add kernel(vector)(%x: in ptr<f32>, %out: inout ptr<f32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c8 = const {value = 8} : index
  %b64 = get_block_idx : i64
  %n64 = get_block_num : i64
  %b = cast %b64 : index
  %n = cast %n64 : index
  %vx = make_tensor_view %x shape(%n, %c8) strides(%c8, %c1) : view<?x8xf32>
  %vo = make_tensor_view %out shape(%c1, %c8) strides(%c8, %c1) : view<1x8xf32>
  %px = partition_view %vx offsets(%b, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %po = partition_view %vo offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %t = alloc_tile : tile<1x8xf32, vec>
  tload %px outs(%t)
  tstore %t outs(%po) {atomic = add}
  return
}

func @main orchestration(%x: in tensor<?x8xf32>, %out: inout tensor<1x8xf32>) {
  %n = tensor_dim %x {axis = 0} : index
  %t = submit args(%x, %out) blocks(%n) {kernels = [@add], name = "add", directions = "in,inout"} : task
  return
}
"#;

#[test]
fn float_atomics_commit_in_block_order() {
    let program = compile(ATOMIC);
    // Sums that depend on their order.
    let x = |i: usize| [1e8f32, 1.0, -1e8, 3.5, 1e-3][i % 5] * (1 + i % 9) as f32;
    let mut expected = [0.25f32; 8];
    (0..64 * 8).for_each(|i| expected[i % 8] += x(i));
    for options in schedules() {
        let (vx, out) = (f32s(&[64, 8], x), f32s(&[1, 8], |_| 0.25));
        program.run(&tensors(&[&vx, &out]), &options).unwrap();
        assert_eq!(read_f32(&out), expected, "{options:?}");
    }
}

/// Block b's cube stores b·16; after the barrier its vector core copies what the next block's cube stored.
const MEETING: &str = r#"
program "meeting" a5 tile entry @main

func @cube kernel(cube)(%x: in ptr<f32>, %mid: inout ptr<f32>, %out: out ptr<f32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c16 = const {value = 16} : index
  %b64 = get_block_idx : i64
  %b = cast %b64 : index
  %n64 = get_block_num : i64
  %n = cast %n64 : index
  %rows = mul %n, %c16 : index
  %r = mul %b, %c16 : index
  %vx = make_tensor_view %x shape(%rows, %c16) strides(%c16, %c1) : view<?x16xf32>
  %vm = make_tensor_view %mid shape(%rows, %c16) strides(%c16, %c1) : view<?x16xf32>
  %px = partition_view %vx offsets(%r, %c0) sizes(%c16, %c16) : part<16x16xf32>
  %pm = partition_view %vm offsets(%r, %c0) sizes(%c16, %c16) : part<16x16xf32>
  %m = alloc_tile : tile<16x16xf32, mat, nz>
  %l = alloc_tile : tile<16x16xf32, left, nz>
  %rt = alloc_tile : tile<16x16xf32, right, zn>
  %acc = alloc_tile : tile<16x16xf32, acc, nz/1024>
  tload %px outs(%m)
  textract %m, %c0, %c0 outs(%l)
  textract %m, %c0, %c0 outs(%rt)
  tmatmul %l, %rt outs(%acc)
  tstore %acc outs(%pm)
  syncall {core_type = mix}
  return
}

func @vector kernel(vector)(%x: in ptr<f32>, %mid: inout ptr<f32>, %out: out ptr<f32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c16 = const {value = 16} : index
  %b64 = get_block_idx : i64
  %b = cast %b64 : index
  %n64 = get_block_num : i64
  %n = cast %n64 : index
  %rows = mul %n, %c16 : index
  %b1 = add %b, %c1 : index
  %next = rem %b1, %n : index
  %from = mul %next, %c16 : index
  %to = mul %b, %c16 : index
  %vm = make_tensor_view %mid shape(%rows, %c16) strides(%c16, %c1) : view<?x16xf32>
  %vo = make_tensor_view %out shape(%rows, %c16) strides(%c16, %c1) : view<?x16xf32>
  %pm = partition_view %vm offsets(%from, %c0) sizes(%c16, %c16) : part<16x16xf32>
  %po = partition_view %vo offsets(%to, %c0) sizes(%c16, %c16) : part<16x16xf32>
  %t = alloc_tile : tile<16x16xf32, vec>
  syncall {core_type = mix}
  tload %pm outs(%t)
  tstore %t outs(%po)
  syncall {core_type = aiv_only}
  return
}

func @main orchestration(%x: in tensor<?x16xf32>, %out: out tensor<?x16xf32>, %n: in index) {
  %c16 = const {value = 16} : index
  %rows = tensor_dim %x {axis = 0} : index
  %mid = tensor_create dims(%rows) : tensor<?x16xf32>
  %t = submit args(%x, %mid, %out) blocks(%n) {kernels = [@cube, @vector], name = "meeting", directions = "in,inout,out"} : task
  return
}
"#;

#[test]
fn both_cores_of_every_block_meet_at_a_mixed_syncall() {
    let program = compile(MEETING);
    let n = 6;
    // Block b's operand is 2b times the identity, its square 4b² times.
    let x = |i: usize| if i / 16 % 16 == i % 16 { 2.0 * (i / 256) as f32 } else { 0.0 };
    let square = |b: usize, i: usize| if i / 16 == i % 16 { 4.0 * (b * b) as f32 } else { 0.0 };
    let expected: Vec<f32> = (0..n).flat_map(|b| (0..256).map(move |i| square((b + 1) % n, i))).collect();
    for options in schedules() {
        let (vx, out) = (f32s(&[16 * n as u64, 16], x), f32s(&[16 * n as u64, 16], |_| -1.0));
        program.run(&[memory::Arg::Tensor(vx), memory::Arg::Tensor(out.clone()), index(n as i64)], &options).unwrap();
        assert_eq!(read_f32(&out), expected, "{options:?}");
    }
}

const RAGGED: &str = r#"
program "ragged" a2a3 tile entry @main

func @sums kernel(vector)(%x: in ptr<f32>, %out: out ptr<f32>, %back: out ptr<f32>, %n: in index, %w: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c16 = const {value = 16} : index
  %c64 = const {value = 64} : index
  %half = const {value = 0.5} : f32
  %vx = make_tensor_view %x shape(%n, %w) strides(%w, %c1) : view<?x?xf32>
  %vo = make_tensor_view %out shape(%c16, %c1) strides(%c1, %c1) : view<16x1xf32, strides [1, 1]>
  %vb = make_tensor_view %back shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %px = partition_view %vx offsets(%c0, %c0) sizes(%n, %w) : part<?x?xf32>
  %po = partition_view %vo offsets(%c0, %c0) sizes(%n, %c1) : part<?x1xf32>
  %t = alloc_tile valid_row(%n) valid_col(%w) : tile<16x64xf32, valid ?x?, vec>
  %s = alloc_tile valid_row(%n) : tile<16x1xf32, valid ?x1, vec, dn>
  tload %px outs(%t)
  trowsum %t outs(%s)
  %flat = treshape %s : tile<1x16xf32, valid 1x?, vec>
  tmuls %flat, %half outs(%flat)
  tstore %s outs(%po)
  for %c0, %n, %c1 {kind = range} (%i: index) {
    %last = sub %n, %c1 : index
    %from = sub %last, %i : index
    %row = subview %t, %from, %c0 valid_col(%w) {sizes = [1, 64]} : tile<1x64xf32, valid 1x?, vec>
    %pb = partition_view %vb offsets(%i, %c0) sizes(%c1, %w) : part<1x?xf32>
    tstore %row outs(%pb)
    yield
  }
  return
}

func @main orchestration(%x: in tensor<?x?xf32>, %out: inout tensor<16x1xf32>, %back: inout tensor<16x64xf32>) {
  %n = tensor_dim %x {axis = 0} : index
  %w = tensor_dim %x {axis = 1} : index
  %t = submit args(%x, %out, %back, %n, %w) {kernels = [@sums], name = "sums", directions = "in,out,out,scalar,scalar"} : task
  return
}
"#;

#[test]
fn dynamic_valid_regions_windows_and_reshapes() {
    let program = compile(RAGGED);
    for (n, w) in [(16usize, 64usize), (7, 33), (1, 1), (0, 64), (5, 0)] {
        let x = |i: usize| (i % 17) as f32;
        let (vx, out, back) = (f32s(&[n as u64, w as u64], x), f32s(&[16, 1], |_| -1.0), f32s(&[16, 64], |_| -1.0));
        run(&program, &tensors(&[&vx, &out, &back]));
        let sums: Vec<f32> =
            (0..16).map(|r| if r < n { (0..w).map(|c| x(r * w + c)).sum::<f32>() * 0.5 } else { -1.0 }).collect();
        assert_eq!(read_f32(&out), sums, "{n}x{w}");
        let rows: Vec<f32> =
            (0..1024).map(|i| if i / 64 < n && i % 64 < w { x((n - 1 - i / 64) * w + i % 64) } else { -1.0 }).collect();
        assert_eq!(read_f32(&back), rows, "{n}x{w}");
    }
    let wide = f32s(&[3, 65], |_| 0.0);
    let (out, back) = (f32s(&[16, 1], |_| 0.0), f32s(&[16, 64], |_| 0.0));
    let error = fails(&program, &tensors(&[&wide, &out, &back]), 1);
    assert_eq!(error.code, "valid-region");
    assert!(error.message.contains("65, where the tile has 64"), "{}", error.message);
}

/// Placed tiles over each other, at an address computed at run time; scratchpads read as zero at the start of each block.
const PLACED: &str = r#"
program "placed" a2a3 tile entry @main

func @k kernel(vector) placed(%out: out ptr<f32>, %at: in i64) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c8 = const {value = 8} : index
  %zero = const {value = 0} : i64
  %one = const {value = 1.0} : f32
  %vo = make_tensor_view %out shape(%c1, %c8) strides(%c8, %c1) : view<1x8xf32>
  %po = partition_view %vo offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %all = alloc_tile addr(%zero) : tile<1x16xf32, vec>
  %part = alloc_tile addr(%at) : tile<1x8xf32, vec>
  tadds %all, %one outs(%all)
  tadd %part, %part outs(%part)
  tstore %part outs(%po)
  return
}

func @main orchestration(%out: out tensor<2x8xf32>, %at: in i64) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c2 = const {value = 2} : index
  for %c0, %c2, %c1 {kind = range} (%i: index) {
    %row = tensor_slice %out offsets(%i, %c0) {sizes = [1, 8]} : tensor<1x8xf32>
    %t = submit args(%row, %at) {kernels = [@k], name = "k", directions = "out,scalar"} : task
    yield
  }
  return
}
"#;

#[test]
fn placed_tiles_share_bytes_and_blocks_start_with_zeros() {
    let program = compile(PLACED);
    let at = |v: i64| memory::Arg::Scalar(dtype::Scalar::new(dtype::DType::I64, v as u64));
    for (address, expected) in [(32, 2.0), (64, 0.0)] {
        let out = f32s(&[2, 8], |_| -1.0);
        run(&program, &[memory::Arg::Tensor(out.clone()), at(address)]);
        assert_eq!(read_f32(&out), [expected; 16], "address {address}: the second block as the first");
    }
    let out = f32s(&[2, 8], |_| -1.0);
    let error = fails(&program, &[memory::Arg::Tensor(out), at(192 << 10)], 2);
    assert_eq!(error.code, "out-of-bounds");
    assert!(error.notes.iter().any(|n| n.contains("task 0")), "{:?}", error.notes);
}

#[test]
fn a_fifo_that_is_not_drained_is_an_error() {
    let text = mixed("a5").replace("    tfree_from_aiv {id = 0, split = 0}\n", "");
    let (a, b, out) = (f32s(&[16, 16], |_| 1.), f32s(&[16, 16], |_| 1.), f32s(&[16, 16], |_| 0.));
    let mut args = tensors(&[&a, &b, &b, &out]);
    args.extend([index(1), index(1)]);
    let error = fails(&compile(&text), &args, 1);
    assert_eq!(error.code, "fifo-unbalanced");
    assert!(error.message.contains("1 of 1 tiles popped from vector to cube (FIFO 0) were never freed"), "{error:?}");
}

/// Task 0 scatters rows of x to y by index, task 1 gathers from what it wrote; task 2 adds to y, in the order of its blocks.
#[test]
fn indexed_transfers_are_ordered_by_the_boxes_they_choose_from() {
    let kernel = |name: &str, params: &str, ops: &str| {
        format!(
            "func @{name} kernel(vector)(%n: in ptr<i32>, {params}) {{
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %c8 = const {{value = 8}} : index
  %vn = make_tensor_view %n shape(%c1, %c8) strides(%c8, %c1) : view<1x8xi32>
  %vs = make_tensor_view %s shape(%c1, %c8) strides(%c8, %c1) : view<1x8xf32>
  %vd = make_tensor_view %d shape(%c1, %c8) strides(%c8, %c1) : view<1x8xf32>
  %pn = partition_view %vn offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xi32>
  %ps = partition_view %vs offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %pd = partition_view %vd offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %i = alloc_tile : tile<1x8xi32, vec>
  %t = alloc_tile : tile<1x8xf32, vec>
  tload %pn outs(%i)
{ops}
  return
}}
"
        )
    };
    let text = format!(
        "program \"indexed\" a2a3 tile entry @main\n{}{}{}
func @main orchestration(%n: in tensor<1x8xi32>, %x: in tensor<1x8xf32>, %y: inout tensor<1x8xf32>, %z: inout tensor<1x8xf32>) {{
  %c4 = const {{value = 4}} : index
  %t0 = submit args(%n, %x, %y) {{kernels = [@put], name = \"put\", directions = \"in,in,inout\"}} : task
  %t1 = submit args(%n, %y, %z) {{kernels = [@get], name = \"get\", directions = \"in,in,out\"}} : task
  %t2 = submit args(%n, %x, %y) blocks(%c4) {{kernels = [@add], name = \"add\", directions = \"in,in,inout\"}} : task
  return
}}
",
        kernel("put", "%s: in ptr<f32>, %d: inout ptr<f32>", "  tload %ps outs(%t)\n  mscatter %t, %i outs(%pd) {mode = elem}"),
        kernel("get", "%s: in ptr<f32>, %d: out ptr<f32>", "  mgather %ps, %i outs(%t) {mode = elem}\n  tstore %t outs(%pd)"),
        kernel(
            "add",
            "%s: in ptr<f32>, %d: inout ptr<f32>",
            "  tload %ps outs(%t)\n  mscatter %t, %i outs(%pd) {mode = elem, atomic = add}"
        ),
    );
    let program = compile(&text);
    let order = [3, 0, 1, 2, 7, 6, 5, 4];
    for options in schedules() {
        let (n, x) = (ints(&[1, 8], |i| order[i]), f32s(&[1, 8], |i| 1.0 + i as f32 * 1e-3));
        let (y, z) = (f32s(&[1, 8], |_| 0.0), f32s(&[1, 8], |_| 0.0));
        let report = program.run(&tensors(&[&n, &x, &y, &z]), &options).unwrap();
        // What was put there comes back to where it was.
        assert_eq!(read_f32(&z), read_f32(&x));
        let mut expected = [0.0f32; 8];
        for (i, v) in read_f32(&x).into_iter().enumerate() {
            expected[order[i] as usize] = (0..4).fold(v, |sum, _| sum + v);
        }
        assert_eq!(read_f32(&y), expected);
        let edges: Vec<_> = report.edges.iter().map(|e| (e.from, e.to)).collect();
        assert!(edges.contains(&(0, 1)) && edges.contains(&(1, 2)), "{edges:?}");
    }
}
