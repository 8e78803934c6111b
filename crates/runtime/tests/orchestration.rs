//! Tasks, edges, and what the orchestration itself does.

mod common;

use common::*;
use memory::{Arg, Returned};
use runtime::Options;
use trace::Cause;

/// One task kind: `out[j] = out[j] * a + in[i]`-like updates of single elements, so that order shows.
const BUMP: &str = r#"
func @bump kernel(vector)(%src: in ptr<i32>, %dst: inout ptr<i32>, %i: in index, %j: in index) {
  %three = const {value = 3} : i32
  %a = load_scalar %src, %i : i32
  %b = load_scalar %dst, %j : i32
  %m = mul %b, %three : i32
  %s = add %m, %a : i32
  store_scalar %s, %dst, %j
  return
}
"#;

fn program(body: &str, params: &str) -> String {
    format!("program \"p\" a2a3 tile entry @main\n{BUMP}\nfunc @main orchestration({params}) {{\n{body}\n}}\n")
}

fn bump(src: &str, dst: &str, i: &str, j: &str, n: usize) -> String {
    format!(
        "  %t{n} = submit args({src}, {dst}, {i}, {j}) {{kernels = [@bump], name = \"bump\", \
         directions = \"in,inout,scalar,scalar\"}} : task\n"
    )
}

fn consts(n: usize) -> String {
    (0..n).map(|i| format!("  %c{i} = const {{value = {i}}} : index\n")).collect()
}

#[test]
fn edges_are_those_of_conflicting_bytes() {
    let mut body = consts(8);
    body += &bump("%x", "%y", "%c0", "%c1", 0);
    body += &bump("%x", "%y", "%c0", "%c2", 1); // nothing in common with 0 that is written
    body += &bump("%y", "%x", "%c1", "%c5", 2); // reads what 0 wrote
    body += &bump("%x", "%y", "%c1", "%c2", 3); // rewrites what 1 wrote
    body += &bump("%y", "%x", "%c7", "%c0", 4); // writes what 0 and 1 read
    body += "  return";
    let compiled = compile(&program(&body, "%x: inout tensor<8xi32>, %y: inout tensor<8xi32>"));
    for options in schedules() {
        let (x, y) = (ints(&[8], |i| i as i32 + 1), ints(&[8], |i| 10 * i as i32));
        let report = compiled.run(&tensors(&[&x, &y]), &options).unwrap();
        let edges: Vec<(u32, u32, Cause)> = report.edges.iter().map(|e| (e.from, e.to, e.cause)).collect();
        let expected = [
            (0, 2, Cause::ReadAfterWrite),
            (1, 3, Cause::ReadAfterWrite),
            (0, 4, Cause::WriteAfterRead),
            (1, 4, Cause::WriteAfterRead),
        ];
        assert_eq!(edges, expected);
        assert_eq!(report.tasks.len(), 5);
        assert_eq!(read_i32(&x), [73, 2, 3, 4, 5, 49, 7, 8], "{options:?}");
    }
}

/// Random programs against their meaning, executed one task after the other.
#[test]
fn random_task_graphs_give_the_sequential_result() {
    for seed in 0..12u64 {
        let mut rng = control::Control::new(seed + 100);
        let (mut body, tasks) = (consts(6), 60);
        let mut memory = [[0i32; 6], [0; 6], [0; 6]];
        for (t, row) in memory.iter_mut().enumerate() {
            *row = std::array::from_fn(|i| (7 * t + i) as i32);
        }
        let start = memory;
        let mut expected_edges = Vec::new();
        let mut touched: Vec<[(usize, usize, bool); 3]> = Vec::new();
        for n in 0..tasks {
            let (s, d) = (rng.choose(3), rng.choose(3));
            let (i, j) = (rng.choose(6), rng.choose(6));
            body += &bump(&format!("%m{s}"), &format!("%m{d}"), &format!("%c{i}"), &format!("%c{j}"), n);
            memory[d][j] = memory[d][j].wrapping_mul(3).wrapping_add(memory[s][i]);
            let mine = [(s, i, false), (d, j, false), (d, j, true)];
            for (k, other) in touched.iter().enumerate() {
                let conflict =
                    |a: &(usize, usize, bool), b: &(usize, usize, bool)| (a.0, a.1) == (b.0, b.1) && (a.2 || b.2);
                if other.iter().any(|a| mine.iter().any(|b| conflict(a, b))) {
                    expected_edges.push((k as u32, n as u32));
                }
            }
            touched.push(mine);
        }
        body += "  return";
        let params = "%m0: inout tensor<6xi32>, %m1: inout tensor<6xi32>, %m2: inout tensor<6xi32>";
        let compiled = compile(&program(&body, params));
        let mut edges = None;
        for options in schedules() {
            let views: Vec<_> = start.iter().map(|row| ints(&[6], |i| row[i])).collect();
            let report = compiled.run(&tensors(&views.iter().collect::<Vec<_>>()), &options).unwrap();
            for (view, row) in views.iter().zip(&memory) {
                assert_eq!(read_i32(view), row, "seed {seed}, {options:?}");
            }
            // No edge that no conflict explains; every conflict ordered by a path; the same edges on every schedule.
            let got: Vec<(u32, u32)> = report.edges.iter().map(|e| (e.from, e.to)).collect();
            assert!(got.iter().all(|e| expected_edges.contains(e)), "a false edge");
            let mut reach: Vec<Vec<bool>> = Vec::new();
            for to in 0..tasks as u32 {
                let mut before = vec![false; tasks];
                for &(from, _) in got.iter().filter(|e| e.1 == to) {
                    before[from as usize] = true;
                    before.iter_mut().zip(&reach[from as usize]).for_each(|(b, r)| *b |= r);
                }
                reach.push(before);
            }
            assert!(expected_edges.iter().all(|&(a, b)| reach[b as usize][a as usize]), "a lost edge");
            assert_eq!(edges.get_or_insert(report.edges.clone()), &report.edges);
        }
    }
}

#[test]
fn the_orchestration_reads_what_tasks_wrote_and_branches_on_it() {
    let body = consts(3)
        + &bump("%x", "%y", "%c0", "%c0", 0)
        + &bump("%x", "%y", "%c0", "%c0", 1)
        + r#"
  %v = read %y, indices(%c0) : i32
  %limit = const {value = 50} : i32
  %big = cmp %v, %limit {predicate = gt} : i1
  if %big {
    %u = submit args(%x, %y, %c1, %c1) {kernels = [@bump], name = "big", directions = "in,inout,scalar,scalar"} : task
    yield
  }, {
    %w = submit args(%x, %y, %c2, %c2) {kernels = [@bump], name = "small", directions = "in,inout,scalar,scalar"} : task
    yield
  }
  %nine = const {value = 9} : i32
  write %x, indices(%c0), %nine
  %fresh = tensor_create {init = 5} : tensor<4xi32>
  %s = submit args(%x, %fresh, %c0, %c2) {kernels = [@bump], name = "last", directions = "in,inout,scalar,scalar"} : task
  return %fresh, %x
"#;
    let body = body
        .replace("read %y, indices(%c0)", "read %y indices(%c0)")
        .replace("write %x, indices(%c0), %nine", "write tensor(%x) indices(%c0) value(%nine)");
    let compiled = compile(&program(&body, "%x: inout tensor<3xi32>, %y: inout tensor<3xi32>"));
    for options in schedules() {
        for (x0, y0, name) in [(10, 2, "big"), (1, 2, "small")] {
            let (x, y) = (ints(&[3], |i| x0 + i as i32), ints(&[3], |_| y0));
            let report = compiled.run(&tensors(&[&x, &y]), &options).unwrap();
            assert_eq!(report.tasks[2].name, name);
            let v = (y0 * 3 + x0) * 3 + x0;
            let expected = if name == "big" { [v, y0 * 3 + x0 + 1, y0] } else { [v, y0, y0 * 3 + x0 + 2] };
            assert_eq!(read_i32(&y), expected, "{options:?}");
            let [Returned::Tensor(fresh), Returned::Param(0)] = &report.returned[..] else {
                panic!("{:?}", report.returned)
            };
            assert_eq!(read_i32(fresh), [5, 5, 24, 5], "the task saw the 9 that was written before it");
        }
    }
}

#[test]
fn explicit_dependencies_arrays_and_joins() {
    let body = consts(6)
        + r#"
  %none = task_invalid : task
  %ids = array_create : array<3xtask>
  for %c0, %c2, %c1 {kind = range} (%i: index) {
    %t = submit args(%x, %y, %i, %i) {kernels = [@bump], name = "a", directions = "in,inout,scalar,scalar"} : task
    array_set %ids, %i, %t
    yield
  }
  %b = submit args(%x, %y, %c3, %c3) deps(%ids, %none) {kernels = [@bump], name = "b", directions = "in,inout,scalar,scalar"} : task
  %j = task_dummy %b, %ids : task
  %c = submit args(%x, %y, %c4, %c4) deps(%j) {kernels = [@bump], name = "c", directions = "in,inout,scalar,scalar"} : task
  return
"#;
    let compiled = compile(&program(&body, "%x: in tensor<6xi32>, %y: inout tensor<6xi32>"));
    for options in schedules() {
        let (x, y) = (ints(&[6], |i| i as i32), ints(&[6], |_| 1));
        let report = compiled.run(&tensors(&[&x, &y]), &options).unwrap();
        let edges: Vec<(u32, u32, Cause)> = report.edges.iter().map(|e| (e.from, e.to, e.cause)).collect();
        let e = Cause::Explicit;
        assert_eq!(edges, [(0, 2, e), (1, 2, e), (0, 3, e), (1, 3, e), (2, 3, e)]);
        assert_eq!(read_i32(&y), [3, 4, 1, 6, 7, 1]);
    }
}

#[test]
fn views_of_views_reach_the_same_bytes() {
    let body = consts(5)
        + r#"
  %n = tensor_dim %x {axis = 0} : index
  %half = div %n, %c2 : index
  %col = tensor_slice %x offsets(%c0, %c1) dims(%half) {sizes = [-1, 1], drop = [1]} : tensor<?xi32, strides [4]>
  %stride = tensor_stride %col {axis = 0} : index
  %t = tensor_transpose %x {axis1 = 0, axis2 = 1} : tensor<4x?xi32, strides [1, 4]>
  %row = tensor_slice %t offsets(%c1, %c1) {sizes = [1, 1], drop = [0]} : tensor<1xi32, strides [4]>
  %flat = tensor_reshape %x dims(%all) : tensor<?xi32>
  %a = submit args(%flat, %col, %c0, %stride) {kernels = [@bump], name = "a", directions = "in,inout,scalar,scalar"} : task
  %b = submit args(%flat, %row, %c3, %c0) {kernels = [@bump], name = "b", directions = "in,inout,scalar,scalar"} : task
  return %col
"#;
    let body = body.replace("  %flat", "  %all = mul %n, %c4 : index\n  %flat");
    let compiled = compile(&program(&body, "%x: inout tensor<?x4xi32>"));
    for options in schedules() {
        let x = ints(&[4, 4], |i| i as i32);
        let report = compiled.run(&[Arg::Tensor(x.clone())], &options).unwrap();
        // `a` bumps element (1, 1) through the column, `b` the same one through the transposed row.
        let mut expected: Vec<i32> = (0..16).collect();
        expected[5] = (5 * 3) * 3 + 3;
        assert_eq!(read_i32(&x), expected, "{options:?}");
        assert_eq!(report.edges.len(), 1);
        let [Returned::Tensor(col)] = &report.returned[..] else { panic!() };
        assert_eq!(read_i32(col), [1, 48]);
    }
}

#[test]
fn errors_of_the_orchestration_have_their_line() {
    let cases = [
        ("%v = read %x indices(%c5) : i32", "out-of-bounds"),
        ("%v = tensor_slice %x offsets(%c5) {sizes = [2]} : tensor<2xi32>", "tensor-shape"),
        ("%d = div %c1, %c0 : index", "division-by-zero"),
        ("for %c1, %c5, %c0 {kind = range} (%i: index) {\n    yield\n  }", "zero-step"),
        ("%big = tensor_create dims(%huge) : tensor<?xi32>", "tensor-shape"),
        ("%n = tensor_create dims(%neg) : tensor<?xi32>", "tensor-shape"),
        ("%ids = array_create : array<3xi64>\n  %e = array_get %ids, %c5 : i64", "out-of-bounds"),
    ];
    for (line, code) in cases {
        let body = consts(6)
            + "  %huge = const {value = 4611686018427387904} : index\n  %neg = const {value = -1} : index\n"
            + &bump("%x", "%x", "%c0", "%c0", 0)
            + "  "
            + line
            + "\n  return";
        let compiled = compile(&program(&body, "%x: inout tensor<5xi32>"));
        for threads in [1, 2] {
            let x = ints(&[5], |i| i as i32 + 1);
            let error = fails(&compiled, &[Arg::Tensor(x.clone())], threads);
            assert_eq!(error.code, code, "{error:?}");
            assert!(error.primary.is_some(), "{error:?}");
            assert_eq!(read_i32(&x)[0], 4, "tasks before the error are done");
        }
    }
}

#[test]
fn the_first_failure_in_program_order_is_reported_and_the_session_stays_usable() {
    let mut body = consts(9);
    for n in 0..40 {
        let j = if n == 17 { "%c8" } else { "%c0" };
        body += &bump("%x", "%y", j, &format!("%c{}", n % 8), n);
    }
    body += &bump("%x", "%y", "%c8", "%c8", 40);
    body += "  return";
    let compiled = compile(&program(&body, "%x: in tensor<?xi32>, %y: inout tensor<8xi32>"));
    for options in schedules() {
        let (x, y) = (ints(&[8], |i| i as i32), ints(&[8], |_| 0));
        let error = compiled.run(&tensors(&[&x, &y]), &options).unwrap_err();
        assert_eq!(error.code, "out-of-bounds");
        assert!(error.notes.iter().any(|n| n == "task 17 `bump`"), "{:?}", error.notes);
        let (x, y) = (ints(&[9], |i| i as i32), ints(&[8], |_| 0));
        let error = compiled.run(&tensors(&[&x, &y]), &options).unwrap_err();
        assert!(error.notes.iter().any(|n| n == "task 40 `bump`"), "{:?}", error.notes);
    }
}

#[test]
fn arguments_are_checked_before_anything_runs() {
    let body = consts(2) + &bump("%x", "%x", "%c0", "%c0", 0) + "  return";
    let compiled = compile(&program(&body, "%x: inout tensor<5xi32>, %k: in f32"));
    let x = ints(&[5], |_| 1);
    let k = Arg::Scalar(dtype::Scalar::f32(0.0));
    let bad = [
        vec![Arg::Tensor(x.clone())],
        vec![Arg::Tensor(ints(&[4], |_| 1)), k.clone()],
        vec![Arg::Tensor(f32s(&[5], |_| 1.)), k.clone()],
        vec![Arg::Tensor(x.clone()), index(1)],
        vec![k.clone(), k.clone()],
    ];
    for args in &bad {
        assert_eq!(fails(&compiled, args, 1).code, "argument-mismatch");
    }
    assert_eq!(read_i32(&x), [1; 5]);
}

#[test]
fn an_interrupt_ends_the_run() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let forever = r#"program "p" a2a3 tile entry @main
func @spin kernel(vector)(%x: inout ptr<i32>) {
  %t = const {value = true} : i1
  while {
    condition %t
  }, {
    yield
  }
  return
}
func @main orchestration(%x: inout tensor<5xi32>) {
  %a = submit args(%x) {kernels = [@spin], name = "spin", directions = "inout"} : task
  return
}
"#;
    let compiled = compile(forever);
    for threads in [1, 2] {
        let flag = Arc::new(AtomicBool::new(false));
        let options = runtime::Options { threads, interrupt: Some(flag.clone()), ..runtime::Options::default() };
        let x = ints(&[5], |_| 1);
        let error = std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                flag.store(true, Ordering::Relaxed);
            });
            compiled.run(&[Arg::Tensor(x)], &options).unwrap_err()
        });
        assert_eq!(error.code, "interrupted");
    }
}

/// Threads stay with the program: many short runs, also at once, and after errors.
#[test]
fn runs_share_a_program() {
    let body = consts(8)
        + &(0..20).map(|n| bump("%x", "%y", "%c0", &format!("%c{}", n % 7), n)).collect::<String>()
        + "  %v = read %x indices(%i) : i32\n  return";
    let compiled = compile(&program(&body, "%x: in tensor<8xi32>, %y: inout tensor<8xi32>, %i: in index"));
    std::thread::scope(|scope| {
        for caller in 0..3u64 {
            let compiled = &compiled;
            scope.spawn(move || {
                for seed in 0..100 {
                    let (x, y) = (ints(&[8], |_| 1), ints(&[8], |_| 0));
                    let options = Options { threads: 2, seed: seed * caller, ..Options::default() };
                    let mut args = tensors(&[&x, &y]);
                    args.push(index(if seed % 10 == 9 { 8 } else { 0 }));
                    let result = compiled.run(&args, &options);
                    assert_eq!(result.is_err(), seed % 10 == 9);
                    // Elements 0 to 5 three times, element 6 twice, the last not at all.
                    assert_eq!(read_i32(&y), [13, 13, 13, 13, 13, 13, 4, 0]);
                }
            });
        }
    });
}

/// Launches whose blocks meet at `syncall`, among single tasks on the same and on other bytes.
const TURN: &str = r#"
func @turn kernel(vector)(%x: inout ptr<i32>, %y: inout ptr<i32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %five = const {value = 5} : i32
  %b64 = get_block_idx : i64
  %n64 = get_block_num : i64
  %b = cast %b64 : index
  %n = cast %n64 : index
  %v = load_scalar %x, %b : i32
  %w = mul %v, %five : i32
  syncall
  %b1 = add %b, %c1 : index
  %to = rem %b1, %n : index
  store_scalar %w, %x, %to
  syncall
  %sum = for %c0, %n, %c1 init(%v) {kind = range} : i32 (%i: index, %a: i32) {
    %e = load_scalar %x, %i : i32
    %s = add %a, %e : i32
    yield %s
  }
  store_scalar %sum, %y, %b
  return
}
"#;

#[test]
fn launches_with_barriers_among_many_tasks() {
    for seed in 0..6u64 {
        let mut rng = control::Control::new(seed);
        let mut body = consts(6);
        let mut memory: Vec<Vec<i32>> = (0..3).map(|t| (0..6).map(|i| 7 * t + i).collect()).collect();
        let start = memory.clone();
        for n in 0..80 {
            let (s, d) = (rng.choose(3), rng.choose(3));
            if rng.choose(4) == 0 && s != d {
                let blocks = 1 + rng.choose(5);
                body += &format!(
                    "  %t{n} = submit args(%m{s}, %m{d}) blocks(%c{blocks}) {{kernels = [@turn], name = \"turn\", \
                     directions = \"inout,inout\"}} : task\n"
                );
                let before = memory[s].clone();
                for b in 0..blocks {
                    memory[s][(b + 1) % blocks] = before[b].wrapping_mul(5);
                }
                let sum = memory[s][..blocks].iter().fold(0i32, |a, &v| a.wrapping_add(v));
                for b in 0..blocks {
                    memory[d][b] = before[b].wrapping_add(sum);
                }
            } else {
                let (i, j) = (rng.choose(6), rng.choose(6));
                body += &bump(&format!("%m{s}"), &format!("%m{d}"), &format!("%c{i}"), &format!("%c{j}"), n);
                memory[d][j] = memory[d][j].wrapping_mul(3).wrapping_add(memory[s][i]);
            }
        }
        body += "  return";
        let params = "%m0: inout tensor<6xi32>, %m1: inout tensor<6xi32>, %m2: inout tensor<6xi32>";
        let text = program(&body, params).replace("\nfunc @main", &format!("\n{TURN}\nfunc @main"));
        let compiled = compile(&text);
        for (threads, order) in (0..40).map(|i| ([1, 2, 4, 8][i % 4], i as u64 / 2)) {
            let views: Vec<_> = start.iter().map(|row| ints(&[6], |i| row[i])).collect();
            let options = Options { threads, seed: order, ..Options::default() };
            compiled.run(&tensors(&views.iter().collect::<Vec<_>>()), &options).unwrap();
            for (view, row) in views.iter().zip(&memory) {
                assert_eq!(&read_i32(view), row, "seed {seed}, {options:?}");
            }
        }
    }
}

#[test]
fn a_bit_cast_is_the_same_bytes_and_orders_tasks_by_them() {
    let mut body = consts(6);
    body += "  %z = tensor_bitcast %y : tensor<4xi32>\n";
    body += &bump("%x", "%z", "%c0", "%c1", 0);
    body += &bump("%z", "%x", "%c1", "%c3", 1);
    body += "  return %z";
    let compiled = compile(&program(&body, "%x: inout tensor<4xi32>, %y: inout tensor<4xf32>"));
    for options in schedules() {
        let (x, y) = (ints(&[4], |i| i as i32 + 1), f32s(&[4], |_| 0.0));
        let report = compiled.run(&tensors(&[&x, &y]), &options).unwrap();
        let edges: Vec<_> = report.edges.iter().map(|e| (e.from, e.to, e.cause)).collect();
        assert_eq!(edges, [(0, 1, Cause::ReadAfterWrite)]);
        assert_eq!(read_i32(&x), [1, 2, 3, 13]);
        let Returned::Tensor(z) = &report.returned[0] else { panic!("another type is another tensor") };
        assert_eq!(read_i32(z), [0, 1, 0, 0]);
        assert_eq!(read_f32(&y)[1], f32::from_bits(1));
    }
}

#[test]
fn ids_of_tasks_and_joins_are_valid_and_others_not() {
    let mut body = consts(6);
    body += &bump("%x", "%x", "%c0", "%c1", 0);
    body += "  %i = task_invalid : task
  %a = array_create : array<2xtask>
  %d = task_dummy deps(%t0) : task
  array_set %a, %c1, %t0
  %e0 = array_get %a, %c0 : task
  %e1 = array_get %a, %c1 : task\n";
    for (k, task) in ["%i", "%t0", "%d", "%e0", "%e1"].iter().enumerate() {
        body += &format!("  %v{k} = task_is_valid {task} : i1\n  %n{k} = cast %v{k} : i32\n");
        body += &format!("  write %o indices(%c{k}) value(%n{k})\n");
    }
    body += "  return";
    let compiled = compile(&program(&body, "%x: inout tensor<2xi32>, %o: inout tensor<5xi32>"));
    for options in schedules() {
        let (x, o) = (ints(&[2], |_| 0), ints(&[5], |_| -1));
        compiled.run(&tensors(&[&x, &o]), &options).unwrap();
        assert_eq!(read_i32(&o), [0, 1, 1, 0, 1]);
    }
}
