//! How fast the reference interprets: scalar operations, and what a tile operation costs beyond its arithmetic.
//!
//! `cargo run --release -p reference --example reference_rates`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use dtype::{DType, Profile};
use memory::{Arg, Buffer, View};
use reference::{Options, run};

const SCALARS: &str = "program \"s\" a2a3 tensor entry @main
func @main orchestration(%o: out tensor<1xindex>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c7 = const {value = 7} : index
  %n = const {value = 5000000} : index
  %s = for %c0, %n, %c1 init(%c0) {kind = range} : index (%i: index, %a: index) {
    %b = mul %a, %c7 : index
    %c = add %b, %i : index
    %d = rem %c, %n : index
    %e = cmp %d, %i {predicate = lt} : i1
    %f = select %e, %d, %i : index
    yield %f
  }
  write %o indices(%c0) value(%s)
  return
}";

/// `size`×`size` tiles, `n` operations.
fn tiles(size: usize, n: usize, op: &str) -> String {
    format!(
        "program \"t\" a2a3 tensor entry @main
func @main orchestration(%x: in tensor<{size}x{size}xf32>) {{
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %n = const {{value = {n}}} : index
  %k = scope {{name = \"k\"}} : task {{
    %t = load %x offsets(%c0, %c0) {{sizes = [{size}, {size}]}} : tile<{size}x{size}xf32>
    %s = for %c0, %n, %c1 init(%t) {{kind = range}} : tile<{size}x{size}xf32> (%i: index, %a: tile<{size}x{size}xf32>) {{
      %b = {op} : tile<{size}x{size}xf32>
      yield %b
    }}
    yield
  }}
  return
}}"
    )
}

fn time(text: &str, args: &[Arg], definedness: bool) -> f64 {
    let program = ir::text::parse(text, "rates.tw").expect("the program parses");
    let options = Options { profile: Profile::A2a3, definedness };
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        run(&program, args, &options, None).expect("the program runs");
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn zeros(dtype: DType, shape: &[u64]) -> Arg {
    let bytes = shape.iter().product::<u64>() as usize * dtype.size();
    Arg::Tensor(View::new(Buffer::zeroed(bytes), dtype, shape).expect("a tensor"))
}

fn main() {
    for definedness in [false, true] {
        println!("definedness {definedness}");
        let t = time(SCALARS, &[zeros(DType::Index, &[1])], definedness);
        println!("  scalar operations      {:8.1} M/s", 5.0 * 5.0 / t);
        for (size, n) in [(8, 200_000), (64, 20_000)] {
            let t = time(&tiles(size, n, "tadd %a, %t"), &[zeros(DType::F32, &[size as u64; 2])], definedness);
            println!("  tadd {size:3}x{size:<3} f32        {:8.0} ns", t / n as f64 * 1e9);
        }
        let n = if definedness { 100 } else { 1000 };
        let t = time(&tiles(128, n, "tmatmul %a, %t"), &[zeros(DType::F32, &[128; 2])], definedness);
        println!("  tmatmul 128x128x128    {:8.1} GF/s", 2.0 * 128f64.powi(3) * n as f64 / t / 1e9);
    }
}
