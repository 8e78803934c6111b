//! What a program that only moves memory loses against the host: x + 1 over 64 MB, in tiles of 64 KB, by the blocks of one
//! task, against triads over as many bytes by as many threads.
//!
//! `cargo run --release -p runtime --example stream`. The medians of ten rounds, in which the two take turns.

// A bench prints.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use dtype::{DType, Profile};
use memory::{Arg, Buffer, View};
use runtime::{Compiled, Options};

const ELEMENTS: usize = 16 << 20;
/// Elements of a tile: 16 rows of 1024.
const TILE: usize = 16 << 10;
const BLOCKS: usize = 64;

const TEXT: &str = r#"
program "stream" a2a3 tile entry @main

func @add_one kernel(vector)(%x: in ptr<f32>, %y: out ptr<f32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c16 = const {value = 16} : index
  %c1024 = const {value = 1024} : index
  %rows = const {value = 16384} : index
  %one = const {value = 1.0} : f32
  %b = get_block_idx : i64
  %block = cast %b : index
  %first = mul %block, %c16 : index
  %vx = make_tensor_view %x shape(%rows, %c1024) strides(%c1024, %c1) : view<16384x1024xf32>
  %vy = make_tensor_view %y shape(%rows, %c1024) strides(%c1024, %c1) : view<16384x1024xf32>
  %t = alloc_tile : tile<16x1024xf32, vec>
  for %c0, %c16, %c1 {kind = range} (%i: index) {
    %tile = add %first, %i : index
    %row = mul %tile, %c16 : index
    %px = partition_view %vx offsets(%row, %c0) sizes(%c16, %c1024) : part<16x1024xf32>
    %py = partition_view %vy offsets(%row, %c0) sizes(%c16, %c1024) : part<16x1024xf32>
    tload %px outs(%t)
    tadds %t, %one outs(%t)
    tstore %t outs(%py)
    yield
  }
  return
}

func @main orchestration(%x: in tensor<16384x1024xf32>, %y: out tensor<16384x1024xf32>) {
  %blocks = const {value = 64} : index
  %t = submit args(%x, %y) blocks(%blocks) {kernels = [@add_one], name = "add_one", directions = "in,out"} : task
  return
}
"#;

/// Seconds of a[i] = b[i] + 3·c[i], each thread on its share.
fn triad(threads: usize, a: &mut [f32], b: &[f32], c: &[f32]) -> f64 {
    let share = a.len().div_ceil(threads);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for ((a, b), c) in a.chunks_mut(share).zip(b.chunks(share)).zip(c.chunks(share)) {
            scope.spawn(move || a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = *b + 3.0 * *c));
        }
    });
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    assert_eq!(ELEMENTS, 16 * BLOCKS * TILE, "the text above");
    let program = ir::text::parse(TEXT, "stream.tw").expect("the text above parses");
    let compiled = Compiled::new(&program, Profile::A2a3).expect("and runs");
    let view = || {
        let buffer = Buffer::zeroed(4 * ELEMENTS);
        View::new(buffer, DType::F32, &[16384, 1024]).expect("a packed view of its own buffer")
    };
    let (x, y) = (view(), view());
    x.buffer.fill(0, 4 * ELEMENTS, 0x3f).expect("inside");
    let args = [Arg::Tensor(x), Arg::Tensor(y)];
    let (mut a, b, c) = (vec![0f32; ELEMENTS], vec![1f32; ELEMENTS], vec![2f32; ELEMENTS]);
    println!("{:<32} {:>8} {:>10} {:>10} {:>10}", "what", "threads", "GB/s", "triad", "share");
    for threads in 1..=std::thread::available_parallelism().map_or(1, |n| n.get()) {
        let (mut ours, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..11 {
            reference.push(triad(threads, &mut a, &b, &c));
            let start = Instant::now();
            compiled.run(&args, &Options { threads, ..Options::default() }).expect("a run without errors");
            ours.push(start.elapsed().as_secs_f64());
        }
        // The first round touches the pages.
        let (ours, reference) = (median(ours.split_off(1)), median(reference.split_off(1)));
        let (rate, limit) = (8.0 * ELEMENTS as f64 / ours / 1e9, 12.0 * ELEMENTS as f64 / reference / 1e9);
        println!(
            "{:<32} {threads:>8} {rate:>10.1} {limit:>10.1} {:>8.0} %",
            "x + 1 over 64 MB, tiles of 64 KB",
            rate / limit * 100.0
        );
    }
}
