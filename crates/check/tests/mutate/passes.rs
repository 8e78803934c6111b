//! Each fault of a pass changes what it says, in a kernel that has a place for every one.

use check::mutate::passes::{Fault, apply, believe_all, scribble, sites};
use ir::Program;

const KERNEL: &str = "program \"p\" a5 tile entry @main

func @main orchestration(%x: in tensor<64x64xf32>, %y: inout tensor<64x64xf32>, %n: in index) {
  %t = submit args(%x, %y, %n) {kernels = [@k], name = \"k\", directions = \"in,inout,scalar\"} : task
  return
}

func @k kernel(vector) placed(%x: in ptr<f32>, %y: inout ptr<f32>, %n: in index) {
  %zero = const {value = 0} : index
  %one = const {value = 1} : index
  %four = const {value = 4} : index
  %eight = const {value = 8} : index
  %c64 = const {value = 64} : index
  %half = const {value = 0.5} : f32
  %at0 = const {value = 0} : i64
  %at1 = const {value = 2048} : i64
  %at2 = const {value = 4096} : i64
  %at3 = const {value = 6144} : i64
  %at4 = const {value = 8192} : i64
  %vx = make_tensor_view %x shape(%c64, %c64) strides(%c64, %one) : view<64x64xf32>
  %vy = make_tensor_view %y shape(%c64, %c64) strides(%c64, %one) : view<64x64xf32>
  %px = partition_view %vx offsets(%zero, %zero) sizes(%eight, %c64) : part<8x64xf32>
  %py = partition_view %vy offsets(%zero, %zero) sizes(%eight, %c64) : part<8x64xf32>
  %a = alloc_tile addr(%at0) : tile<8x64xf32, vec>
  %b = alloc_tile addr(%at1) : tile<8x64xf32, vec>
  %c = alloc_tile addr(%at2) : tile<8x64xf32, vec>
  %d = alloc_tile addr(%at0) : tile<8x64xf32, vec>
  %tmp = alloc_tile addr(%at3) : tile<8x64xf32, vec>
  %sum = alloc_tile addr(%at4) : tile<8x1xf32, vec, dn>
  get_buf {source = TLOAD, buffer = 0}
  tload %px outs(%a)
  rls_buf {source = TLOAD, buffer = 0}
  set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}
  set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID1}
  wait_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}
  wait_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID1}
  tmuls %a, %half outs(%b) {pto.last_use = [0, 0]}
  barrier {pipe = PIPE_V}
  tadd %a, %b outs(%c) {pto.last_use = [1, 1, 0]}
  tmuls %c, %half outs(%d)
  trowsum %c tmp(%tmp) outs(%sum)
  %w = subview %c, %four, %zero {sizes = [4, 64]} : tile<4x64xf32, vec>
  set_flag {from = PIPE_V, to = PIPE_MTE2, event = EVENT_ID0}
  %r = for %zero, %n, %one init(%d) {kind = range} : tile<8x64xf32, vec> (%i: index, %s: tile<8x64xf32, vec>) {
    wait_flag {from = PIPE_V, to = PIPE_MTE2, event = EVENT_ID0}
    tload %px outs(%b)
    tadd %s, %b outs(%s)
    set_flag {from = PIPE_V, to = PIPE_MTE2, event = EVENT_ID0}
    yield %s
  }
  wait_flag {from = PIPE_V, to = PIPE_MTE2, event = EVENT_ID0}
  tadds %c, %half outs(%c)
  tadd %r, %c outs(%c)
  tstore %c outs(%py)
  return
}
";

/// By kind: how many sites, and what the first fault is, with seed 1.
const EXPECTED: &[(&str, usize, &str)] = &[
    ("prefix-jump", 3, "@k: `tload %px outs(%a)`: it and 0 before it go to their reader"),
    (
        "sunk-producer",
        9,
        "@k: `tload %px outs(%a)`: goes behind `tmuls %a, %half outs(%b) {pto.last_use = [0, 0]}`, with both results on one address",
    ),
    ("alias-reordered", 2, "@k: `tmuls %c, %half outs(%d)`: goes before `tload %px outs(%a)`"),
    ("swapped-neighbours", 9, "@k: `rls_buf {source = TLOAD, buffer = 0}`: goes before `tload %px outs(%a)`"),
    ("dropped-store", 1, "@k: `tstore %c outs(%py)`: left out"),
    ("dropped-operation", 9, "@k: `tload %px outs(%a)`: left out"),
    (
        "early-last-use",
        1,
        "@k: `tmuls %a, %half outs(%b) {pto.last_use = [0, 0]}`: tile 0 is said to be used last here",
    ),
    (
        "dropped-offset",
        1,
        "@k: `%w = subview %c, %four, %zero {sizes = [4, 64]} : tile<4x64xf32, vec>`: offset (operand 1) is 0",
    ),
    (
        "coalesced-tiles",
        4,
        "@k: `%b = alloc_tile addr(%at1) : tile<8x64xf32, vec>`: lies on the bytes of `%a = alloc_tile addr(%at0) : tile<8x64xf32, vec>`",
    ),
    (
        "lost-phi",
        2,
        "@k: `%b = alloc_tile addr(%at1) : tile<8x64xf32, vec>`: lies on the bytes of `%d = alloc_tile addr(%at0) : tile<8x64xf32, vec>`",
    ),
    (
        "shared-scratch",
        2,
        "@k: `%tmp = alloc_tile addr(%at3) : tile<8x64xf32, vec>`: lies on the bytes of `%c = alloc_tile addr(%at2) : tile<8x64xf32, vec>`",
    ),
    (
        "in-place",
        5,
        "@k: `%b = alloc_tile addr(%at1) : tile<8x64xf32, vec>`: lies on the bytes of `%a = alloc_tile addr(%at0) : tile<8x64xf32, vec>`",
    ),
    ("wrong-address", 6, "@k: `%a = alloc_tile addr(%at0) : tile<8x64xf32, vec>`: lies at 4672, not at 0"),
    ("shifted-address", 6, "@k: `%b = alloc_tile addr(%at1) : tile<8x64xf32, vec>`: lies at 2016, not at 2048"),
    (
        "dropped-pair",
        3,
        "@k: `set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: left out, with its partner",
    ),
    ("dropped-set", 4, "@k: `set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: left out"),
    ("dropped-wait", 4, "@k: `wait_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: left out"),
    ("dropped-barrier", 1, "@k: `barrier {pipe = PIPE_V}`: left out"),
    ("wrong-pipe", 4, "@k: `set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: `to` is PIPE_M"),
    (
        "event-collision",
        2,
        "@k: `set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: event is EVENT_ID1, which is another's",
    ),
    (
        "wait-in-loop",
        2,
        "@k: `wait_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: stands in the loop behind it",
    ),
    (
        "wait-before-set",
        3,
        "@k: `set_flag {from = PIPE_MTE2, to = PIPE_V, event = EVENT_ID0}`: its wait stands before it",
    ),
    (
        "dropped-guard",
        1,
        "@k: `set_flag {from = PIPE_V, to = PIPE_MTE2, event = EVENT_ID0}`: left out, with its partners in the loop and behind",
    ),
    ("dropped-token", 1, "@k: `get_buf {source = TLOAD, buffer = 0}`: left out, with its partner"),
    ("dropped-release", 1, "@k: `rls_buf {source = TLOAD, buffer = 0}`: left out"),
];

fn parsed() -> Program {
    let program = ir::text::parse(KERNEL, "k.tw").unwrap_or_else(|e| panic!("{e:#?}"));
    ir::verify::verify(&program).unwrap_or_else(|e| panic!("{e:#?}"));
    program
}

#[test]
fn every_fault_is_what_it_says() {
    let program = parsed();
    let all = sites(&program);
    let mut found = Vec::new();
    for fault in Fault::ALL {
        let of: Vec<_> = all.iter().filter(|s| s.fault == fault).collect();
        let mut made = of.iter().filter_map(|site| {
            let mut mutant = program.clone();
            let mutation = apply(&mut mutant, site, 1)?;
            let mut again = program.clone();
            apply(&mut again, site, 1);
            assert_eq!(ir::text::print(&again), ir::text::print(&mutant), "the same seed, the same mutant");
            assert_ne!(ir::text::print(&program), ir::text::print(&mutant), "{site:?} changed nothing");
            assert_eq!((mutation.what, mutation.op), (fault.name(), site.op));
            Some(mutation)
        });
        let first = made.next().map_or_else(String::new, |m| m.description);
        made.for_each(drop);
        found.push((fault.name(), of.len(), first));
    }
    let lines = |list: &mut dyn Iterator<Item = (&str, usize, &str)>| {
        list.map(|(name, sites, first)| format!("    ({name:?}, {sites}, {first:?}),\n")).collect::<String>()
    };
    let found = lines(&mut found.iter().map(|(name, sites, first)| (*name, *sites, first.as_str())));
    assert_eq!(found, lines(&mut EXPECTED.iter().copied()), "found:\n{found}");
}

#[test]
fn machines_that_use_their_freedom_overwrite_what_nobody_may_need() {
    let lines =
        |program: &Program| -> Vec<String> { ir::text::print(program).lines().map(|l| l.trim().to_owned()).collect() };
    let filled = |program: &Program| {
        let lines = lines(program);
        let of_tile = |l: &&String| l.starts_with("texpands") && !l.contains("%half");
        let tile = |l: &String| l.split("outs(").nth(1).and_then(|l| l.split(')').next()).map(str::to_owned);
        lines.iter().filter(of_tile).filter_map(tile).collect::<Vec<_>>()
    };
    // `%a` and `%b` are marked in the sum, whose result lies elsewhere.
    let mut program = parsed();
    assert_eq!(believe_all(&mut program), 2);
    assert_eq!(filled(&program), ["%a", "%b"]);
    let mut program = parsed();
    assert_eq!(scribble(&mut program), 1);
    assert_eq!(filled(&program), ["%tmp", "%tmp"]);
    let text = lines(&program);
    let sum = text.iter().position(|l| l.starts_with("trowsum")).expect("it is there");
    assert!(text[sum - 1].starts_with("texpands") && text[sum + 2].starts_with("texpands"), "{text:#?}");
}
