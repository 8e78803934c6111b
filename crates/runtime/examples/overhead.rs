//! What the runtime and the executor cost beside arithmetic: per task, per tile instruction, per scalar instruction.
//!
//! `cargo run --release -p runtime --example overhead`

// A bench prints.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use dtype::{DType, Profile, Scalar};
use memory::{Arg, Buffer, View};
use runtime::{Compiled, Options};

const TEXT: &str = r#"
program "overhead" a2a3 tile entry @ENTRY

func @nothing kernel(vector)() {
  return
}

func @element kernel(vector)(%x: in ptr<f32>, %y: out ptr<f32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c8 = const {value = 8} : index
  %one = const {value = 1.0} : f32
  %vx = make_tensor_view %x shape(%c1, %c8) strides(%c8, %c1) : view<1x8xf32>
  %vy = make_tensor_view %y shape(%c1, %c8) strides(%c8, %c1) : view<1x8xf32>
  %px = partition_view %vx offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %py = partition_view %vy offsets(%c0, %c0) sizes(%c1, %c8) : part<1x8xf32>
  %t = alloc_tile : tile<1x8xf32, vec>
  tload %px outs(%t)
  tadds %t, %one outs(%t)
  tstore %t outs(%py)
  return
}

func @tiles kernel(vector)(%n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %one = const {value = 1.0} : f32
  %t = alloc_tile : tile<1x8xf32, vec>
  texpands %one outs(%t)
  for %c0, %n, %c1 {kind = range} (%i: index) {
    tadds %t, %one outs(%t)
    yield
  }
  return
}

func @transfers kernel(vector)(%x: in ptr<f32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c8 = const {value = 8} : index
  %c64 = const {value = 64} : index
  %vx = make_tensor_view %x shape(%c64, %c8) strides(%c8, %c1) : view<64x8xf32>
  %t = alloc_tile : tile<1x8xf32, vec>
  for %c0, %n, %c1 {kind = range} (%i: index) {
    %row = rem %i, %c64 : index
    %px = partition_view %vx offsets(%row, %c0) sizes(%c1, %c8) : part<1x8xf32>
    tload %px outs(%t)
    yield
  }
  return
}

func @scalars kernel(vector)(%x: inout ptr<i32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %zero = const {value = 0} : i32
  %s = for %c0, %n, %c1 init(%c0) {kind = range} : index (%i: index, %a: index) {
    %b = mul %a, %i : index
    %c = add %b, %i : index
    %d = sub %c, %c1 : index
    %lt = cmp %d, %i {predicate = lt} : i1
    %e = select %lt, %c, %d : index
    yield %e
  }
  %v = cast %s : i32
  store_scalar %v, %x, %c0
  return
}

func @empty orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  for %c0, %n, %c1 {kind = parallel} (%i: index) {
    %t = submit {kernels = [@nothing], name = "nothing", directions = ""} : task
    yield
  }
  return
}

func @rows orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  for %c0, %n, %c1 {kind = parallel} (%i: index) {
    %xs = tensor_slice %x offsets(%i, %c0) {sizes = [1, 8]} : tensor<1x8xf32>
    %ys = tensor_slice %y offsets(%i, %c0) {sizes = [1, 8]} : tensor<1x8xf32>
    %t = submit args(%xs, %ys) {kernels = [@element], name = "element", directions = "in,out"} : task
    yield
  }
  return
}

func @shared orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %xs = tensor_slice %x offsets(%c0, %c0) {sizes = [1, 8]} : tensor<1x8xf32>
  for %c0, %n, %c1 {kind = parallel} (%i: index) {
    %ys = tensor_slice %y offsets(%i, %c0) {sizes = [1, 8]} : tensor<1x8xf32>
    %t = submit args(%xs, %ys) {kernels = [@element], name = "element", directions = "in,out"} : task
    yield
  }
  return
}

func @chain orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %xs = tensor_slice %x offsets(%c0, %c0) {sizes = [1, 8]} : tensor<1x8xf32>
  for %c0, %n, %c1 {kind = parallel} (%i: index) {
    %t = submit args(%xs, %xs) {kernels = [@element], name = "element", directions = "in,out"} : task
    yield
  }
  return
}

func @one_tiles orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %t = submit args(%n) {kernels = [@tiles], name = "tiles", directions = "scalar"} : task
  return
}

func @one_transfers orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %t = submit args(%x, %n) {kernels = [@transfers], name = "transfers", directions = "in,scalar"} : task
  return
}

func @one_scalars orchestration(%x: inout tensor<?x8xf32>, %y: inout tensor<?x8xf32>, %s: inout tensor<1xi32>, %n: in index) {
  %t = submit args(%s, %n) {kernels = [@scalars], name = "scalars", directions = "inout,scalar"} : task
  return
}
"#;

/// Nanoseconds that the calling thread has computed, where the host says: on a busy machine the wall clock says little.
fn computed() -> Option<f64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

fn main() {
    let only = std::env::args().nth(1);
    let view = |dtype: DType, shape: &[u64]| {
        let bytes = shape.iter().product::<u64>() as usize * dtype.size();
        View::new(Buffer::zeroed(bytes), dtype, shape).expect("a packed view of its own buffer")
    };
    let count = 50_000u64;
    let (x, y, s) = (view(DType::F32, &[count, 8]), view(DType::F32, &[count, 8]), view(DType::I32, &[1]));
    println!("{:<44} {:>8} {:>12} {:>22}", "what", "threads", "ns each", "of the calling thread");
    let cases: [(&str, &str, u64, f64); 7] = [
        ("empty task", "empty", count, 1.0),
        ("task: load, add, store of one row of 8", "rows", count, 1.0),
        ("task: reads a row that all read", "shared", count, 1.0),
        ("task: the same row again and again", "chain", count, 1.0),
        ("tile instruction on 8 elements, in a loop", "one_tiles", 1_000_000, 1.0),
        ("partition and load of 8 elements, in a loop", "one_transfers", 1_000_000, 1.0),
        ("scalar instruction", "one_scalars", 4_000_000, 7.0),
    ];
    for (what, entry, n, per) in cases {
        if only.as_deref().is_some_and(|o| o != entry) {
            continue;
        }
        let program = ir::text::parse(&TEXT.replace("ENTRY", entry), "overhead.tw").expect("the text above parses");
        let compiled = Compiled::new(&program, Profile::A2a3).expect("and runs");
        let args = [
            Arg::Tensor(x.clone()),
            Arg::Tensor(y.clone()),
            Arg::Tensor(s.clone()),
            Arg::Scalar(Scalar::index(n as i64)),
        ];
        for threads in if entry.starts_with("one") { 1..2 } else { 1..3 } {
            let (mut wall, mut own) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..5 {
                let (start, before) = (Instant::now(), computed());
                compiled.run(&args, &Options { threads, ..Options::default() }).expect("a run without errors");
                wall = wall.min(start.elapsed().as_secs_f64() * 1e9 / n as f64 / per);
                if let (Some(a), Some(b)) = (before, computed()) {
                    own = own.min((b - a) / n as f64 / per);
                }
            }
            println!("{what:<44} {threads:>8} {wall:>12.1} {own:>22.1}");
        }
    }
    let start = Instant::now();
    let (threads, runs) = (2, 2000);
    let program = ir::text::parse(&TEXT.replace("ENTRY", "rows"), "overhead.tw").expect("the text above parses");
    let compiled = Compiled::new(&program, Profile::A2a3).expect("and runs");
    let args = [Arg::Tensor(x), Arg::Tensor(y), Arg::Tensor(s), Arg::Scalar(Scalar::index(2))];
    for _ in 0..runs {
        compiled.run(&args, &Options { threads, ..Options::default() }).expect("a run without errors");
    }
    let each = start.elapsed().as_secs_f64() * 1e9 / runs as f64;
    println!("{:<44} {threads:>8} {each:>12.1}", "a whole run of two tasks");
}
