//! Kernels of `.pto` files, run: inputs made up and given, groups with two vector cores, comparison, refusals.

use std::collections::BTreeMap;

use chip::Arch;
use driver::exec::{self, Against, Given, Input, Inputs, Kernel, Level, Memory, Request, Session, Settings};
use dtype::{DType, Profile, Scalar};
use ir::Program;

const V: &str = "attributes {pto.kernel_kind = #pto.kernel_kind<vector>}";
const C: &str = "attributes {pto.kernel_kind = #pto.kernel_kind<cube>}";

fn tile(loc: &str, dtype: &str, rows: u32, cols: u32) -> String {
    let layout = match loc {
        "mat" => ", blayout=col_major, slayout=row_major",
        "left" => ", blayout=col_major, slayout=row_major",
        "right" => ", slayout=col_major",
        "acc" => ", blayout=col_major, slayout=row_major, fractal=1024",
        _ => "",
    };
    format!("!pto.tile_buf<{loc}, {rows}x{cols}x{dtype}{layout}>")
}

/// `z = (x + y) * s`, rows of 16 elements, `n` of them, in place of `u`'s bytes.
fn kernel(scale: &str, address: u32) -> String {
    let t = tile("vec", "f32", 1, 16);
    format!(
        "module attributes {{pto.target_arch = \"a5\"}} {{
  func.func @scaled(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %n: index) {V} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %a0 = arith.constant 0 : i64
    %a1 = arith.constant {address} : i64
    %s = arith.constant {scale} : f32
    %vx = pto.make_tensor_view %x, shape = [%n, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %vy = pto.make_tensor_view %y, shape = [%n, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %vz = pto.make_tensor_view %z, shape = [%n, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %tx = pto.alloc_tile addr = %a0 : {t}
    %ty = pto.alloc_tile addr = %a1 : {t}
    scf.for %i = %c0 to %n step %c1 {{
      %px = pto.partition_view %vx, offsets = [%i, %c0], sizes = [%c1, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x16xf32>
      %py = pto.partition_view %vy, offsets = [%i, %c0], sizes = [%c1, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x16xf32>
      %pz = pto.partition_view %vz, offsets = [%i, %c0], sizes = [%c1, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x16xf32>
      pto.tload ins(%px : !pto.partition_tensor_view<1x16xf32>) outs(%tx : {t})
      pto.tload ins(%py : !pto.partition_tensor_view<1x16xf32>) outs(%ty : {t})
      pto.tadd ins(%tx, %ty : {t}, {t}) outs(%tx : {t})
      pto.tmuls ins(%tx, %s : {t}, f32) outs(%tx : {t})
      pto.tstore ins(%tx : {t}) outs(%pz : !pto.partition_tensor_view<1x16xf32>)
    }}
    return
  }}
}}
"
    )
}

fn load(text: &str) -> Program {
    exec::load(text, "k.pto", None).unwrap_or_else(|f| panic!("{}\n{text}", f.render()))
}

fn decoded(text: &str, entry: &str) -> Kernel {
    Kernel::new(&load(text), entry, Profile::A5).unwrap_or_else(|f| panic!("{}", f.render()))
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn memory(values: &[f32]) -> Input {
    Input::Memory(Memory::from_bytes(DType::F32, &floats(values)))
}

fn after(inputs: &Inputs, outcome: &exec::Outcome, param: usize) -> Vec<f32> {
    let Input::Memory(m) = &inputs.args[param] else { panic!("no memory") };
    let bytes = outcome.contents(m, param);
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
fn given_arguments_give_the_numbers() {
    let k = decoded(&kernel("2.0", 64), "scaled");
    let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let inputs = Inputs::new(vec![memory(&x), memory(&[0.5; 32]), memory(&[9.0; 32]), Input::Scalar(Scalar::index(2))]);
    let mut session = Session::new();
    for _ in 0..2 {
        let outcome = session.run(&k, &inputs);
        assert_eq!(outcome.trap, None);
        let wanted: Vec<f32> = x.iter().map(|v| (v + 0.5) * 2.0).collect();
        assert_eq!(after(&inputs, &outcome, 2), wanted);
        assert!(outcome.outputs[0].is_empty() && outcome.outputs[1].is_empty());
        assert_eq!((outcome.coverage.reached, outcome.coverage.total), (5, 5));
    }
}

#[test]
fn made_up_arguments_follow_from_the_seed_alone() {
    let k = decoded(&kernel("2.0", 64), "scaled");
    let (a, b, c) = (k.prepare(5), k.prepare(5), k.prepare(6));
    assert!(a.is_good() && a.inputs == b.inputs && a.outcome.same(&b.outcome));
    assert!(c.inputs != a.inputs && c.outcome.digest(2) != a.outcome.digest(2));
    // As large as the views, and no larger.
    let (Input::Memory(x), Input::Scalar(n)) = (&a.inputs.args[0], &a.inputs.args[3]) else { panic!() };
    assert_eq!(x.len as i64, n.as_i64().unwrap_or(0) * 64);
    // Sessions that hold something else do not matter.
    let mut session = Session::new();
    let first = session.run(&k, &a.inputs);
    session.run(&k, &c.inputs);
    assert!(session.run(&k, &a.inputs).same(&first));
}

#[test]
fn a_trap_names_the_operation_and_its_place() {
    let k = decoded(&kernel("2.0", 64), "scaled");
    let inputs =
        Inputs::new(vec![memory(&[0.0; 32]), memory(&[0.5; 16]), memory(&[9.0; 32]), Input::Scalar(Scalar::index(2))]);
    let trap = exec::run(&k, &inputs).trap.expect("the second row of y is not there");
    assert_eq!(trap.code, "out-of-bounds");
    assert!(trap.notes.iter().any(|n| n == "in `tload` to `%ty` of `scaled`"), "{trap:?}");
}

fn request(text: &str) -> Request {
    Request {
        text: text.to_owned(),
        path: "k.pto".to_owned(),
        arch: None,
        profile: None,
        entry: None,
        seed: 3,
        given: BTreeMap::new(),
        passes: None,
        against: Against::Nothing,
    }
}

#[test]
fn wrong_requests_say_what_is_wrong() {
    let text = kernel("2.0", 64);
    let why = |r: Request| r.run().err().map(|f| f.errors[0].clone()).expect("an error");
    let missing = why(Request { entry: Some("other".into()), ..request(&text) });
    assert!(missing.code == "no-entry" && missing.notes[0].contains("scaled"), "{missing:?}");
    let given = |name: &str, g: Given| Request { given: BTreeMap::from([(name.to_owned(), g)]), ..request(&text) };
    let array = |dtype| Given::Array { dtype, bytes: vec![0; 64] };
    assert!(why(given("w", Given::Int(1))).message.contains("no parameter `w`"));
    assert!(why(given("x", array(DType::I32))).message.contains("elements of f32, not i32"));
    assert!(why(given("x", Given::Int(1))).message.contains("takes an array"));
    assert!(why(given("n", Given::Float(1.5))).message.contains("takes a index"));
    // One row is given, and two are asked for.
    let mut short = given("x", array(DType::F32));
    short.given.insert("n".into(), Given::Int(2));
    assert_eq!(why(short).code, "out-of-bounds");
    let f = request("func.func @k() {").run().expect_err("no text");
    assert!(!f.errors.is_empty());
}

#[test]
fn a_comparison_names_the_first_operation_that_differs() {
    let (text, same, other) = (kernel("2.0", 64), kernel("2.0", 4096), kernel("3.0", 64));
    let against = |t: &str| Request { against: Against::File(t.to_owned(), "o.pto".into()), ..request(&text) };
    assert!(against(&same).run().expect("runs").difference.is_none());
    let difference = against(&other).run().expect("runs").difference.expect("another factor");
    assert_eq!(difference.args[0].0, "z");
    let note = &difference.finding.notes[0];
    assert!(note.contains("`tmuls` to `%tx`") && note.contains("execution 1"), "{note}");
}

#[test]
fn passes_keep_the_bits() {
    // Without addresses: the planner gives some, and flags order the pipes.
    let text = kernel("2.0", 64).replace("addr = %a0 ", "").replace("addr = %a1 ", "");
    let settings = Settings { sync: exec::Sync::Flags, ..Settings::new(Level::Two) };
    let answer = Request { passes: Some(settings), against: Against::Passes, ..request(&text) }.run().expect("runs");
    assert!(answer.difference.is_none() && answer.prepared.is_good());
    let after = exec::assembled(&load(&text), &settings, 3).expect("assembles");
    let f = &after.functions[after.function("scaled").expect("the kernel")];
    assert!(f.properties.placed && f.walk().into_iter().any(|op| f.ops[op].opcode == ir::Opcode::SetFlag));
}

/// A cube core that pushes an accumulator of 32x16, and two vector cores that get a half each, add their number and
/// store it; then the way back, through a matrix buffer.
fn group(split: u32) -> String {
    let (rows, cols) = if split == 1 { (16, 16) } else { (32, 8) };
    let (half, acc) = (tile("vec", "f32", rows, cols), tile("acc", "f32", 32, 16));
    let (l1, left, right) = (tile("mat", "f32", 32, 16), tile("left", "f32", 32, 16), tile("right", "f32", 16, 16));
    let l1b = tile("mat", "f32", 16, 16);
    let at = if split == 1 { "offsets = [%o, %c0]" } else { "offsets = [%c0, %o]" };
    format!(
        "module attributes {{pto.target_arch = \"a5\"}} {{
  func.func @g_aic(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %z: !pto.ptr<f32>) {C} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %i0 = arith.constant 0 : i32
    %p0 = arith.constant 0 : i64
    %p1 = arith.constant 4096 : i64
    %slots = pto.import_reserved_buffer {{name = \"s\", peer_func = @g_aiv}} -> i32
    pto.aic_initialize_pipe {{id = 0, dir_mask = 1, slot_size = 2048, slot_num = 2}} (c2v_consumer_buf = %slots : i32, v2c_consumer_buf = %i0 : i32)
    %va = pto.make_tensor_view %a, shape = [%c32, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %vb = pto.make_tensor_view %b, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %pa = pto.partition_view %va, offsets = [%c0, %c0], sizes = [%c32, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x16xf32>
    %pb = pto.partition_view %vb, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x16xf32>
    %ma = pto.alloc_tile addr = %p0 : {l1}
    %mb = pto.alloc_tile addr = %p1 : {l1b}
    pto.tload ins(%pa : !pto.partition_tensor_view<32x16xf32>) outs(%ma : {l1})
    pto.tload ins(%pb : !pto.partition_tensor_view<16x16xf32>) outs(%mb : {l1b})
    %l = pto.alloc_tile addr = %p0 : {left}
    %r = pto.alloc_tile addr = %p0 : {right}
    pto.tmov ins(%ma : {l1}) outs(%l : {left})
    pto.tmov ins(%mb : {l1b}) outs(%r : {right})
    %acc = pto.alloc_tile addr = %p0 : {acc}
    pto.tmatmul ins(%l, %r : {left}, {right}) outs(%acc : {acc})
    scf.for %i = %c0 to %c16 step %c1 {{
      pto.tpush_to_aiv(%acc : {acc}) {{id = 0, split = {split}}}
    }}
    return
  }}
  func.func @g_aiv(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %z: !pto.ptr<f32>, %__pypto_spmd_subblock_idx: i32) {V} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %cr = arith.constant {rows} : index
    %cc = arith.constant {cols} : index
    %step = arith.constant {step} : index
    %i0 = arith.constant 0 : i32
    %p = arith.constant 8192 : i64
    %one = arith.constant 1.0 : f32
    %slots = pto.reserve_buffer {{name = \"s\", size = 4096, location = #pto.address_space<vec>, auto = false, base = 0}} -> i32
    pto.aiv_initialize_pipe {{id = 0, dir_mask = 1, slot_size = 2048, slot_num = 2}} (c2v_consumer_buf = %slots : i32, v2c_consumer_buf = %i0 : i32)
    %s = arith.index_cast %__pypto_spmd_subblock_idx : i32 to index
    %o = arith.muli %s, %step : index
    %vz = pto.make_tensor_view %z, shape = [%c32, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %pz = pto.partition_view %vz, {at}, sizes = [%cr, %cc] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<{rows}x{cols}xf32>
    %sum = pto.alloc_tile addr = %p : {half}
    %zero = arith.constant 0.0 : f32
    pto.texpands ins(%zero : f32) outs(%sum : {half})
    scf.for %i = %c0 to %c16 step %c1 {{
      %t = pto.tpop_from_aic {{id = 0, split = {split}}} -> {half}
      pto.tadd ins(%sum, %t : {half}, {half}) outs(%sum : {half})
      pto.tfree_from_aic {{id = 0, split = {split}}}
    }}
    pto.tstore ins(%sum : {half}) outs(%pz : !pto.partition_tensor_view<{rows}x{cols}xf32>)
    return
  }}
}}
",
        step = if split == 1 { 16 } else { 8 },
    )
}

#[test]
fn two_vector_cores_share_what_the_cube_core_pushes() {
    for split in [1, 2] {
        let k = decoded(&group(split), "g");
        assert_eq!(k.cores(), (1, 2));
        let a: Vec<f32> = (0..512).map(|i| (i % 7) as f32).collect();
        let b: Vec<f32> = (0..256).map(|i| (i % 5) as f32).collect();
        let inputs = Inputs::new(vec![memory(&a), memory(&b), memory(&[0.0; 512])]);
        let outcome = exec::run(&k, &inputs);
        assert_eq!(outcome.trap, None, "split {split}");
        let product = |i: usize| (0..16).map(|n| a[i / 16 * 16 + n] * b[n * 16 + i % 16]).sum::<f32>() * 16.0;
        assert_eq!(after(&inputs, &outcome, 2), (0..512).map(product).collect::<Vec<f32>>(), "split {split}");
    }
}

#[test]
fn half_a_group_waits_for_ever_and_says_so() {
    let k = decoded(&group(1), "g_aiv");
    let inputs = Inputs::new(vec![memory(&[0.0; 512]), memory(&[0.0; 256]), memory(&[0.0; 512])]);
    let trap = exec::run(&k, &inputs).trap.expect("nobody pushes");
    assert!(trap.code == "fifo-deadlock" || trap.code == "fifo-setup", "{trap:?}");
}

#[test]
fn one_rank_puts_to_itself_and_waits_for_nobody() {
    let t = tile("vec", "f32", 1, 8);
    let text = |count: u32| {
        format!(
            "module attributes {{pto.target_arch = \"a5\"}} {{
  func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %sig: !pto.ptr<i32>, %ctx: !pto.ptr<i64>) {V} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c24 = arith.constant 24 : index
    %p = arith.constant 0 : i64
    %one = arith.constant 1 : i32
    %count = arith.constant {count} : i32
    %stage = pto.alloc_tile addr = %p : {t}
    %off = func.call @Offset(%ctx, %c1) : (!pto.ptr<i64>, index) -> index
    %peer = pto.addptr %y, %off : !pto.ptr<f32> -> !pto.ptr<f32>
    %vx = pto.make_tensor_view %x, shape = [%c1, %c24], strides = [%c24, %c1] : !pto.tensor_view<?x?xf32>
    %vy = pto.make_tensor_view %peer, shape = [%c1, %c24], strides = [%c24, %c1] : !pto.tensor_view<?x?xf32>
    %vs = pto.make_tensor_view %sig, shape = [%c1], strides = [%c1] : !pto.tensor_view<?xi32>
    %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c1, %c24] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x24xf32>
    %py = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c1, %c24] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x24xf32>
    %ps = pto.partition_view %vs, offsets = [%c0], sizes = [%c1] : !pto.tensor_view<?xi32> -> !pto.partition_tensor_view<1xi32>
    pto.comm.tput(%py, %px, buf(%stage) : !pto.partition_tensor_view<1x24xf32>, !pto.partition_tensor_view<1x24xf32>, {t}) {{atomicType = #pto<atomic_type atomic_none>}}
    pto.comm.tnotify(%ps, %one : !pto.partition_tensor_view<1xi32>, i32) {{notifyOp = #pto<notify_op atomic_add>}}
    pto.comm.twait(%ps, %count : !pto.partition_tensor_view<1xi32>, i32) {{cmp = #pto<wait_cmp ge>}}
    return
  }}
  func.func private @Offset(%ctx: !pto.ptr<i64>, %peer: index) -> index {{
    %v = pto.load_scalar %ctx[%peer] : !pto.ptr<i64> -> i64
    %r = arith.index_cast %v : i64 to index
    return %r : index
  }}
}}
"
        )
    };
    let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let ints = |values: &[i64], d: DType| {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..d.size()].to_vec()).collect();
        Input::Memory(Memory::from_bytes(d, &bytes))
    };
    let inputs = |sig: i64| {
        let ctx = ints(&[0, 8], DType::I64);
        Inputs::new(vec![memory(&x), memory(&[0.0; 32]), ints(&[sig], DType::I32), ctx])
    };
    let i = inputs(1);
    let outcome = exec::run(&decoded(&text(2), "k"), &i);
    assert_eq!(outcome.trap, None);
    // Eight elements further on, as the helper says.
    assert_eq!(after(&i, &outcome, 1)[8..], x[..]);
    let trap = exec::run(&decoded(&text(3), "k"), &i).trap.expect("a signal that never comes");
    assert_eq!(trap.code, "signal");
}

#[test]
fn what_does_not_run_is_refused_by_name() {
    let text = format!("func.func @k() {V} {{\n  pto.trap\n  return\n}}");
    let program = exec::load(&text, "k.pto", Some(Arch::A5)).unwrap_or_else(|f| panic!("{}", f.render()));
    let f = Kernel::new(&program, "k", Profile::A5).expect_err("a trap");
    assert!(f.errors[0].message.starts_with("`trap`"), "{:?}", f.errors[0]);
}
