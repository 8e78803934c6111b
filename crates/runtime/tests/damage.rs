//! Programs damaged at random: whatever still parses either runs or ends in an error that says why. Nothing panics, nothing
//! hangs.

#![allow(clippy::result_large_err)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use control::Control;
use memory::Arg;
use runtime::{Compiled, Options};

const BASE: &str = r#"
program "p" a5 tile entry @main

func @cube kernel(cube)(%a: in ptr<f32>, %o: out ptr<f32>, %s: inout ptr<i32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c2 = const {value = 2} : index
  %c16 = const {value = 16} : index
  %mine = reserve_buffer {name = "v2c", size = 2048, location = mat, auto = true} : i32
  %peer = import_reserved_buffer {name = "c2v", peer_func = [@vec]} : i32
  aic_initialize_pipe c2v_consumer_buf(%peer) v2c_consumer_buf(%mine) {id = 0, dir_mask = 3, slot_size = 1024, slot_num = 2}
  %va = make_tensor_view %a shape(%c16, %c16) strides(%c16, %c1) : view<16x16xf32>
  %vo = make_tensor_view %o shape(%c16, %c16) strides(%c16, %c1) : view<16x16xf32>
  %ma = alloc_tile : tile<16x16xf32, mat, nz>
  %l = alloc_tile : tile<16x16xf32, left, nz>
  %r = alloc_tile : tile<16x16xf32, right, zn>
  %acc = alloc_tile : tile<16x16xf32, acc, nz/1024>
  %pa = partition_view %va offsets(%c0, %c0) sizes(%c16, %c16) : part<16x16xf32>
  %po = partition_view %vo offsets(%c0, %c0) sizes(%c16, %c16) : part<16x16xf32>
  for %c0, %n, %c1 {kind = range} (%i: index) {
    tload %pa outs(%ma)
    textract %ma, %c0, %c0 outs(%l)
    textract %ma, %c0, %c0 outs(%r)
    tmatmul %l, %r outs(%acc)
    tpush_to_aiv %acc {id = 0, split = 0}
    %back = tpop_from_aiv {id = 0, split = 0} : tile<16x16xf32, mat, nz>
    textract %back, %c0, %c0 outs(%l)
    tfree_from_aiv {id = 0, split = 0}
    tmatmul.acc %acc, %l, %r outs(%acc)
    tstore %acc outs(%po)
    yield
  }
  syncall
  return
}

func @vec kernel(vector)(%a: in ptr<f32>, %o: out ptr<f32>, %s: inout ptr<i32>, %n: in index) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c2 = const {value = 2} : index
  %two = const {value = 2} : i32
  %one = const {value = 1.5} : f32
  %mine = reserve_buffer {name = "c2v", size = 2048, location = vec, auto = true} : i32
  %peer = import_reserved_buffer {name = "v2c", peer_func = [@cube]} : i32
  aiv_initialize_pipe c2v_consumer_buf(%mine) v2c_consumer_buf(%peer) {id = 0, dir_mask = 3, slot_size = 1024, slot_num = 2}
  %sum = alloc_tile : tile<16x16xf32, vec>
  %m = alloc_tile valid_row(%n) : tile<16x1xf32, valid ?x1, vec, dn>
  %list = array_create : array<4xi32>
  %last = for %c0, %n, %c1 init(%two) {kind = range} : i32 (%i: index, %v: i32) {
    %t = tpop_from_aic {id = 0, split = 0} : tile<16x16xf32, vec>
    tadds %t, %one outs(%sum)
    tfree_from_aic {id = 0, split = 0}
    %w = subview %sum, %i, %c0 {sizes = [2, 16]} : tile<2x16xf32, vec>
    texp %w outs(%w)
    trowmax %sum outs(%m)
    %flat = treshape %m : tile<1x16xf32, valid 1x?, vec>
    tneg %flat outs(%flat)
    %x = tgetval %flat, %c0, %c1 : f32
    %xi = cast %x : i32
    array_set %list, %i, %xi
    %y = load_scalar %s, %i : i32
    %z = div %y, %two : i32
    %odd = cmp %z, %v {predicate = lt} : i1
    %next = if %odd : i32 {
      %p = mul %v, %two : i32
      yield %p
    }, {
      yield %z
    }
    tpush_to_aic %sum {id = 0, split = 0}
    yield %next
  }
  store_scalar %last, %s, %c1
  syncall
  return
}

func @main orchestration(%a: in tensor<16x16xf32>, %o: out tensor<16x16xf32>, %s: inout tensor<4xi32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c2 = const {value = 2} : index
  %c3 = const {value = 3} : index
  %ids = array_create : array<3xtask>
  %none = task_invalid : task
  for %c0, %c3, %c1 {kind = range} (%i: index) {
    %row = tensor_slice %a offsets(%i, %c0) {sizes = [2, 16]} : tensor<2x16xf32>
    %flat = tensor_reshape %row : tensor<32xf32>
    %turn = tensor_transpose %row {axis1 = 0, axis2 = 1} : tensor<16x2xf32, strides [1, 16]>
    %v = read %s indices(%i) : i32
    %w = cast %v : index
    %t = submit args(%a, %o, %s, %c2) deps(%none) blocks(%c1) {kernels = [@cube, @vec], name = "mixed", directions = "in,out,inout,scalar"} : task
    array_set %ids, %i, %t
    %j = task_dummy %ids : task
    yield
  }
  %fresh = tensor_create {init = 5} : tensor<4xi32>
  return %fresh
}
"#;

fn words(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = None;
    for (i, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_ascii_alphanumeric() || "_%.-".contains(c);
        match (inside, start) {
            (true, None) => start = Some(i),
            (false, Some(s)) => {
                out.push((s, i));
                start = None;
            }
            _ => {}
        }
    }
    out
}

#[test]
fn damaged_programs_end_in_errors_or_results() {
    let (mut parsed, mut decoded, mut ran) = (0, 0, 0);
    let words = words(BASE);
    let mut rng = control::Control::new(1);
    let lines: Vec<&str> = BASE.lines().collect();
    for _ in 0..8000 {
        let text = damage(&mut rng, &words, &lines);
        let Ok(program) = ir::text::parse(&text, "damaged.tw") else { continue };
        parsed += 1;
        let Ok(compiled) = Compiled::new(&program, dtype::Profile::A5) else { continue };
        decoded += 1;
        let flag = Arc::new(AtomicBool::new(false));
        let options = Options { threads: 1 + rng.choose(2), interrupt: Some(flag.clone()), ..Options::default() };
        let args = [f32s(&[16, 16], |i| (i % 5) as f32), f32s(&[16, 16], |_| 0.), ints(&[4], |i| i as i32 + 1)];
        let args: Vec<Arg> = args.into_iter().map(Arg::Tensor).collect();
        let (done, watch) = std::sync::mpsc::channel::<()>();
        let result = std::thread::scope(|s| {
            s.spawn(move || {
                // Loops without end are possible, and only then is this long.
                if watch.recv_timeout(Duration::from_secs(2)).is_err() {
                    flag.store(true, Ordering::Relaxed);
                }
            });
            let result = compiled.run(&args, &options);
            let _ = done.send(());
            result
        });
        match result {
            Ok(_) => ran += 1,
            Err(e) => assert_ne!(e.code, "internal", "{e:?}\n{text}"),
        }
    }
    assert!(
        parsed > 1200 && decoded > 800 && (300..decoded - 100).contains(&ran),
        "{parsed} parsed, {decoded} decoded, {ran} ran"
    );
}

/// One to three of: a word replaced by another word of the text, by a number, a line dropped, doubled, or moved.
fn damage(rng: &mut Control, words: &[(usize, usize)], lines: &[&str]) -> String {
    let mut text = BASE.to_owned();
    if rng.choose(3) == 0 {
        let mut lines = lines.to_vec();
        let at = 4 + rng.choose(lines.len() - 4);
        match rng.choose(3) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at]),
            _ => {
                let line = lines.remove(at);
                lines.insert(4 + rng.choose(lines.len() - 4), line);
            }
        }
        return lines.join("\n");
    }
    let mut edits: Vec<usize> = (0..1 + rng.choose(2)).map(|_| 8 + rng.choose(words.len() - 8)).collect();
    edits.sort_unstable();
    edits.dedup();
    for &at in edits.iter().rev() {
        let (start, end) = words[at];
        let old = &BASE[start..end];
        // Mostly something of the same sort, which parses more often.
        let sort = |w: &str| (w.starts_with('%'), w.starts_with(|c: char| c.is_ascii_digit()));
        let new = match rng.choose(4) {
            0 if sort(old).1 => ["-1", "0", "3", "17", "9223372036854775807", "-9223372036854775808"][rng.choose(6)],
            _ => {
                let (s, e) = words[rng.choose(words.len())];
                let mut new = &BASE[s..e];
                for _ in 0..50 {
                    if sort(new) == sort(old) {
                        break;
                    }
                    let (s, e) = words[rng.choose(words.len())];
                    new = &BASE[s..e];
                }
                new
            }
        };
        text.replace_range(start..end, new);
    }
    text
}
