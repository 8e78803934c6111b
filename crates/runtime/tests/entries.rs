//! One test per entry of the list of bugs that task runtimes of this kind had (`docs/runtime.md` has the table). The name
//! of a test starts with the entry's.

mod common;

use common::*;
use memory::{Arg, Buffer, View};
use runtime::{Deps, Options};

/// `dst[j] = dst[j] * 3 + src[i]`, `dst[j] = src[i] + 1` without reading `dst`, and one element per block.
const KERNELS: &str = r#"
func @bump kernel(vector)(%src: in ptr<i32>, %dst: inout ptr<i32>, %i: in index, %j: in index) {
  %three = const {value = 3} : i32
  %a = load_scalar %src, %i : i32
  %b = load_scalar %dst, %j : i32
  %m = mul %b, %three : i32
  %s = add %m, %a : i32
  store_scalar %s, %dst, %j
  return
}
func @fill kernel(vector)(%src: in ptr<i32>, %dst: out ptr<i32>, %i: in index, %j: in index) {
  %one = const {value = 1} : i32
  %a = load_scalar %src, %i : i32
  %s = add %a, %one : i32
  store_scalar %s, %dst, %j
  return
}
func @blocks kernel(vector)(%dst: inout ptr<i32>) {
  %one = const {value = 1} : i32
  %b64 = get_block_idx : i64
  %b = cast %b64 : index
  %a = load_scalar %dst, %b : i32
  %s = add %a, %one : i32
  store_scalar %s, %dst, %b
  return
}
"#;

fn program(params: &str, body: &str) -> runtime::Compiled {
    let consts: String = (0..8).map(|i| format!("  %c{i} = const {{value = {i}}} : index\n")).collect();
    compile(&format!(
        "program \"p\" a2a3 tile entry @main\n{KERNELS}\nfunc @main orchestration({params}) {{\n{consts}{body}\n}}\n"
    ))
}

fn submit(name: &str, kernel: &str, args: &str, more: &str) -> String {
    let direction = if kernel == "fill" { "out" } else { "inout" };
    format!(
        "  %{name} = submit args({args}) {{kernels = [@{kernel}], name = \"{name}\", directions = \"in,{direction},scalar,scalar\"{more}}} : task\n"
    )
}

const XYZ: &str = "%x: inout tensor<8xi32>, %y: inout tensor<8xi32>, %z: inout tensor<8xi32>";

fn xyz() -> [View; 3] {
    [ints(&[8], |i| i as i32 + 1), ints(&[8], |i| 10 * i as i32), ints(&[8], |_| 7)]
}

fn args(views: &[View]) -> Vec<Arg> {
    views.iter().cloned().map(Arg::Tensor).collect()
}

fn edges(compiled: &runtime::Compiled, deps: Deps, args: &[Arg]) -> Vec<(u32, u32)> {
    let options = Options { threads: 1, record: true, deps, ..Options::default() };
    let report = compiled.run(args, &options).unwrap_or_else(|e| panic!("{e:#?}"));
    report.edges.iter().map(|e| (e.from, e.to)).collect()
}

#[test]
fn a1_scalars_of_the_orchestration_between_tasks() {
    let body = "  %v0 = const {value = 5} : i32
  write tensor(%x) indices(%c0) value(%v0)
"
    .to_owned()
        + &submit("a", "fill", "%x, %y, %c0, %c1", "")
        + "  %got = read %y indices(%c1) : i32
  %more = add %got, %v0 : i32
  write tensor(%x) indices(%c0) value(%more)
" + &submit("b", "bump", "%x, %z, %c0, %c2", "")
        + "  return";
    let compiled = program(XYZ, &body);
    for deps in [Deps::Sound, Deps::Upstream] {
        for seed in 0..250 {
            let views = xyz();
            let options = Options { threads: 1 + seed as usize % 4, seed, deps, ..Options::default() };
            compiled.run(&args(&views), &options).unwrap_or_else(|e| panic!("{e:#?}"));
            assert_eq!((read_i32(&views[0])[0], read_i32(&views[1])[1], read_i32(&views[2])[2]), (11, 6, 7 * 3 + 11));
        }
    }
}

#[test]
fn a2_war_on_a_loop_carried_buffer() {
    let body = submit("w0", "bump", "%x, %y, %c0, %c0", "")
        + &submit("r0", "bump", "%y, %z, %c0, %c0", "")
        + &submit("w1", "bump", "%x, %y, %c0, %c0", "")
        + "  return";
    let compiled = program(XYZ, &body);
    // The second writer follows the first through the reader, or beside it.
    assert_eq!(edges(&compiled, Deps::Sound, &args(&xyz())), [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(edges(&compiled, Deps::Upstream, &args(&xyz())), [(0, 1), (0, 2)]);
}

/// Two arguments at different addresses of one memory: upstream sees two tensors.
#[test]
fn a3_two_views_of_one_memory_as_two_arguments() {
    let body = submit("w", "bump", "%x, %y, %c0, %c4", "") + &submit("r", "bump", "%z, %x, %c0, %c1", "") + "  return";
    let compiled = program(XYZ, &body);
    let memory = Buffer::zeroed(64);
    let part = |at: usize| View::new(memory.sub(at, 32).expect("inside"), dtype::DType::I32, &[8]).expect("fits");
    // y[4..] is z[0..].
    let views = [ints(&[8], |i| i as i32 + 1), part(0), part(16)];
    assert_eq!(edges(&compiled, Deps::Upstream, &args(&views)), []);
    memory.fill(0, 64, 0).expect("inside");
    let views = [ints(&[8], |i| i as i32 + 1), part(0), part(16)];
    assert_eq!(edges(&compiled, Deps::Sound, &args(&views)), [(0, 1)]);
    assert_eq!(read_i32(&views[0])[1], 2 * 3 + 1);
}

/// A write tagged `out` follows no earlier one; whoever reads then follows both.
#[test]
fn a4_out_where_inout_was_needed() {
    let body = submit("w0", "fill", "%x, %y, %c0, %c0", "")
        + &submit("w1", "fill", "%x, %y, %c1, %c0", "")
        + &submit("r", "bump", "%y, %z, %c0, %c0", "")
        + "  return";
    let compiled = program(XYZ, &body);
    assert_eq!(edges(&compiled, Deps::Upstream, &args(&xyz())), [(0, 2), (1, 2)]);
    let sound = edges(&compiled, Deps::Sound, &args(&xyz()));
    assert!(sound.contains(&(0, 1)) && sound.contains(&(1, 2)), "{sound:?}");
}

#[test]
fn a5_writes_in_a_manual_scope() {
    let body = submit("w", "bump", "%x, %y, %c0, %c0", ", manual = true")
        + &submit("r", "bump", "%y, %z, %c0, %c0", "")
        + "  return";
    let compiled = program(XYZ, &body);
    assert_eq!(edges(&compiled, Deps::Sound, &args(&xyz())), [(0, 1)]);
    assert_eq!(edges(&compiled, Deps::Upstream, &args(&xyz())), []);
    let options = Options { threads: 1, accesses: true, ..Options::default() };
    let report = compiled.run(&args(&xyz()), &options).unwrap_or_else(|e| panic!("{e:#?}"));
    assert_eq!(report.declared, []);
}

/// One launch that reads and writes the same scratch does not wait for itself, nor for more than what came before.
#[test]
fn a6_a_launch_over_its_own_scratch() {
    let body = "  %many = const {value = 200} : index
  %s = tensor_create : tensor<200xi32>
  %a = submit args(%s) blocks(%many) {kernels = [@blocks], name = \"a\", directions = \"inout\"} : task
  %b = submit args(%s) blocks(%many) {kernels = [@blocks], name = \"b\", directions = \"inout\"} : task
  return %s";
    let compiled = program("%x: in tensor<8xi32>", body);
    for options in schedules() {
        let report = compiled.run(&args(&xyz()[..1]), &options).unwrap_or_else(|e| panic!("{e:#?}"));
        let memory::Returned::Tensor(s) = &report.returned[0] else { panic!("a new tensor") };
        assert_eq!(read_i32(s), [2; 200]);
    }
}

/// The end of an older writer does not make its successor forgotten.
#[test]
fn a8_an_older_writer_ends_and_the_newer_one_counts() {
    let body = submit("w0", "fill", "%x, %y, %c0, %c0", "")
        + "  %seen = read %y indices(%c0) : i32\n"
        + &submit("w1", "bump", "%x, %y, %c3, %c0", "")
        + "  %t = read %x indices(%c7) : i32\n"
        + &submit("r", "bump", "%y, %z, %c0, %c0", "")
        + "  return";
    let compiled = program(XYZ, &body);
    for deps in [Deps::Sound, Deps::Upstream] {
        for options in schedules() {
            let views = xyz();
            compiled.run(&args(&views), &Options { deps, ..options }).unwrap_or_else(|e| panic!("{e:#?}"));
            assert_eq!(read_i32(&views[2])[0], 7 * 3 + (2 * 3 + 4));
        }
    }
}

fn long_chain(tasks: u32, manual: bool) -> runtime::Compiled {
    let more = if manual { ", manual = true" } else { "" };
    let deps = if manual { " deps(%before)" } else { "" };
    let body = format!(
        "  %n = const {{value = {tasks}}} : index
  %none = task_invalid : task
  %first = submit args(%x, %y, %c0, %c0) {{kernels = [@bump], name = \"first\", directions = \"in,inout,scalar,scalar\"}} : task
  %last = for %c1, %n, %c1 init(%first) {{kind = range}} : task (%i: index, %before: task) {{
    %t = submit args(%x, %y, %c0, %c0){deps} {{kernels = [@bump], name = \"t\", directions = \"in,inout,scalar,scalar\"{more}}} : task
    yield %t
  }}
  %z0 = submit args(%y, %z, %c0, %c0) deps(%first, %last) {{kernels = [@bump], name = \"z\", directions = \"in,inout,scalar,scalar\"}} : task
  return"
    );
    program(XYZ, &body)
}

fn chained(tasks: u32) -> i32 {
    (0..tasks).fold(0i32, |v, _| v.wrapping_mul(3).wrapping_add(1))
}

/// More tasks than may be in flight: what is kept of a task must be of that task.
#[test]
fn a9_b1_more_tasks_than_slots_and_a_dependency_on_one_long_gone() {
    let compiled = long_chain(20_000, false);
    for (threads, deps) in [(1, Deps::Sound), (3, Deps::Sound), (2, Deps::Upstream)] {
        let views = xyz();
        let options = Options { threads, deps, ..Options::default() };
        compiled.run(&args(&views), &options).unwrap_or_else(|e| panic!("{e:#?}"));
        let y = chained(20_000);
        assert_eq!((read_i32(&views[1])[0], read_i32(&views[2])[0]), (y, y.wrapping_add(21)));
    }
}

#[test]
fn b8_sixty_five_thousand_tasks_in_one_manual_scope() {
    let compiled = long_chain(65_792, true);
    for deps in [Deps::Sound, Deps::Upstream] {
        let views = xyz();
        compiled
            .run(&args(&views), &Options { threads: 2, deps, ..Options::default() })
            .unwrap_or_else(|e| panic!("{e:#?}"));
        assert_eq!(read_i32(&views[1])[0], chained(65_792));
    }
}

/// Also with upstream's edges, which do not know of the reader, the orchestration's write waits for it.
#[test]
fn a14_a_scalar_write_waits_for_readers() {
    let body = submit("p", "bump", "%x, %y, %c0, %c0", "")
        + &submit("c", "bump", "%y, %z, %c0, %c0", "")
        + "  %nine = const {value = 900} : i32
  write tensor(%y) indices(%c0) value(%nine)
  return";
    let compiled = program(XYZ, &body);
    for deps in [Deps::Sound, Deps::Upstream] {
        for options in schedules() {
            let views = xyz();
            compiled.run(&args(&views), &Options { deps, ..options }).unwrap_or_else(|e| panic!("{e:#?}"));
            assert_eq!((read_i32(&views[1])[0], read_i32(&views[2])[0]), (900, 22));
        }
    }
}

#[test]
fn a14c_c5_c13_every_block_once_beyond_15_bits() {
    for blocks in [1u64, 65, 109, 32_767, 32_768, 40_000] {
        let body = format!(
            "  %n = const {{value = {blocks}}} : index
  %a = submit args(%d) blocks(%n) {{kernels = [@blocks], name = \"a\", directions = \"inout\"}} : task
  return"
        );
        let compiled = program(&format!("%d: inout tensor<{blocks}xi32>"), &body);
        for threads in [1, 3] {
            let d = ints(&[blocks], |i| i as i32);
            let options = Options { threads, seed: 9, ..Options::default() };
            compiled.run(&tensors(&[&d]), &options).unwrap_or_else(|e| panic!("{e:#?}"));
            assert!(
                read_i32(&d).iter().enumerate().all(|(i, &v)| v == i as i32 + 1),
                "{blocks} blocks, {threads} threads"
            );
        }
    }
}

/// The same program again and again, on more threads than the host has.
#[test]
fn a18_c3_soak_of_an_oversubscribed_host() {
    let mut body = String::new();
    for k in 0..24 {
        let (s, d) = (["%x", "%y", "%z"][k % 3], ["%y", "%z", "%x"][(k / 2) % 3]);
        body += &submit(&format!("t{k}"), "bump", &format!("{s}, {d}, %c{}, %c{}", k % 8, (5 * k) % 8), "");
    }
    let compiled = program(XYZ, &(body + "  return"));
    let mut expected = None;
    for seed in 0..200 {
        let views = xyz();
        let options = Options { threads: 10, seed, ..Options::default() };
        compiled.run(&args(&views), &options).unwrap_or_else(|e| panic!("{e:#?}"));
        let got: Vec<Vec<i32>> = views.iter().map(read_i32).collect();
        assert_eq!(expected.get_or_insert(got.clone()), &got, "seed {seed}");
    }
}

/// What is submitted after its producer has ended runs, once.
#[test]
fn c9_a_consumer_that_comes_late() {
    let body = submit("p", "bump", "%x, %y, %c0, %c0", "")
        + "  %v = read %y indices(%c0) : i32\n"
        + &submit("c", "bump", "%y, %z, %c0, %c0", "")
        + "  return";
    let compiled = program(XYZ, &body);
    for options in schedules() {
        let views = xyz();
        let report = compiled.run(&args(&views), &options).unwrap_or_else(|e| panic!("{e:#?}"));
        assert_eq!(report.task_count, 2);
        assert_eq!(read_i32(&views[2])[0], 22);
    }
}

#[test]
fn c11_more_ready_tasks_than_any_queue() {
    let body = "  %n = const {value = 30000} : index
  for %c0, %n, %c1 {kind = range} (%i: index) {
    %t = submit args(%x, %d, %c3, %i) {kernels = [@fill], name = \"t\", directions = \"in,out,scalar,scalar\"} : task
    yield
  }
  return";
    let compiled = program("%x: in tensor<8xi32>, %d: inout tensor<30000xi32>", body);
    for threads in [1, 4] {
        let (x, d) = (ints(&[8], |i| i as i32), ints(&[30_000], |_| 0));
        let options = Options { threads, seed: threads as u64 - 1, ..Options::default() };
        compiled.run(&tensors(&[&x, &d]), &options).unwrap_or_else(|e| panic!("{e:#?}"));
        assert!(read_i32(&d).iter().all(|&v| v == 4));
    }
}

/// Joins of joins: each follows all behind it, and whoever follows a join waits once for each.
#[test]
fn c19_dummy_tasks_of_dummy_tasks() {
    let body = submit("a", "bump", "%x, %y, %c0, %c0", "")
        + &submit("b", "bump", "%x, %y, %c1, %c1", "")
        + "  %none = task_dummy : task
  %j = task_dummy %a, %b, %none : task
  %k = task_dummy %j, %j, %a : task
  %c = submit args(%x, %z, %c0, %c0) deps(%k, %j) {kernels = [@bump], name = \"c\", directions = \"in,inout,scalar,scalar\"} : task
  %d = submit args(%x, %z, %c0, %c1) deps(%none) {kernels = [@bump], name = \"d\", directions = \"in,inout,scalar,scalar\"} : task
  return";
    let compiled = program(XYZ, &body);
    assert_eq!(edges(&compiled, Deps::Sound, &args(&xyz())), [(0, 2), (1, 2)]);
    // By views, not elements, `a` and `b`, and `c` and `d`, modify one tensor.
    assert_eq!(edges(&compiled, Deps::Upstream, &args(&xyz())), [(0, 1), (0, 2), (1, 2), (2, 3)]);
}
