//! Each fault changes exactly what it says, on programs made by hand.
//!
//! Values of the programs have names, so that what a fault inserts is `%0`, `%1`, … and nothing else moves.

use std::collections::BTreeSet;

mod passes;

use check::mutate::{Fault, Mutation, Partner, Site, apply, sites};
use ir::Program;

const ENTRY: &str = "program \"p\" a5 tile entry @main

func @main orchestration(%x: in tensor<64x64xf32>, %y: inout tensor<64x64xf32>, %n: in index, %m: in index) {
  op0: %t = submit args(%x, %y, %n, %m) {kernels = [@k], name = \"k\", directions = \"in,inout,scalar,scalar\"} : task from op40
  op1: return
}
";

const VECTOR: &str = "
func @k kernel(vector)(%x: in ptr<f32>, %y: inout ptr<f32>, %n: in index, %m: in index) {
  %zero = const {value = 0} : index
  %one = const {value = 1} : index
  %eight = const {value = 8} : index
  %c64 = const {value = 64} : index
  %half = const {value = 0.5} : f32
  %vx = make_tensor_view %x shape(%c64, %c64) strides(%c64, %one) : view<64x64xf32> from op1
  %vy = make_tensor_view %y shape(%c64, %c64) strides(%c64, %one) : view<64x64xf32> from op1
  for %zero, %n, %one {kind = range} (%i: index) {
    %px = partition_view %vx offsets(%i, %zero) sizes(%eight, %c64) : part<8x64xf32> from op2
    %a = alloc_tile : tile<8x64xf32, vec> from op2
    tload %px outs(%a) from op2 done
    %b = alloc_tile : tile<8x64xf32, vec> from op3
    texpands %half outs(%b) from op3 done
    %c = alloc_tile : tile<8x64xf32, vec> from op4
    tsub %a, %b outs(%c) from op4 done
    %first = cmp %i, %m {predicate = lt} : i1 from op5
    if %first {
      tadds %c, %half outs(%c) from op6 done
      yield
    }, {
      tdivs %c, %half outs(%c) {reverse = true} from op7 done
      yield
    } from op5
    %h = alloc_tile : tile<8x64xf16, vec> from op8
    tcvt %c outs(%h) {mode = rint} from op8
    %q = alloc_tile : tile<8x64xi8, vec> from op8
    tcvt %h outs(%q) {mode = rint} from op8 done
    %v = alloc_tile valid_row(%m) : tile<8x64xf32, valid ?x64, vec> from op9
    tmov %c outs(%v) from op9 done
    tfillpad %v outs(%a) {pad = zero} from op10 done
    %p = partition_view %vy offsets(%eight, %zero) sizes(%eight, %c64) : part<8x64xf32> from op11
    tadd %a, %b outs(%b) from op12 done
    tstore %a outs(%p) from op11 done
    %k = sub %n, %m : index from op13
    %s = load_scalar %x, %k : f32 from op13
    store_scalar %half, %y, %k from op14 done
    syncall from op15
    yield
  } from op2
  return
}
";

/// What chooses by data.
const MOVES: &str = "program \"p\" a2a3 tile entry @main

func @main orchestration(%x: inout tensor<16x32xf32>, %y: in tensor<16x32xi32>) {
  op0: %t = submit args(%x, %y) {kernels = [@k], name = \"k\", directions = \"inout,in\"} : task
  op1: return
}

func @k kernel(vector)(%x: inout ptr<f32>, %y: in ptr<i32>) {
  %zero = const {value = 0} : index
  %one = const {value = 1} : index
  %c16 = const {value = 16} : index
  %c32 = const {value = 32} : index
  %three = const {value = 3} : i32
  %vx = make_tensor_view %x shape(%c16, %c32) strides(%c32, %one) : view<16x32xf32>
  %vy = make_tensor_view %y shape(%c16, %c32) strides(%c32, %one) : view<16x32xi32>
  %px = partition_view %vx offsets(%zero, %zero) sizes(%c16, %c32) : part<16x32xf32>
  %py = partition_view %vy offsets(%zero, %zero) sizes(%c16, %c32) : part<16x32xi32>
  %a = alloc_tile : tile<16x32xf32, vec>
  %b = alloc_tile : tile<16x32xf32, vec>
  %other = alloc_tile : tile<16x32xi32, vec>
  %i = alloc_tile : tile<16x32xi32, vec>
  %m = alloc_tile : tile<16x32xu8, vec>
  %h = alloc_tile : tile<16x16xf32, vec>
  tload %px outs(%a)
  tload %py outs(%i)
  tand %i, %i outs(%other)
  tgather %a, %i outs(%b)
  mgather %px, %i outs(%b) {mode = elem}
  tcmp %a, %b outs(%m) {predicate = lt}
  tcmps %i, %three outs(%m) {predicate = eq}
  tsel %m, %a, %b outs(%a)
  tgather.mask %a outs(%h) {pattern = 1}
  tpartmax %a, %b outs(%a)
  mscatter %a, %i outs(%px) {mode = elem, out_of_range = skip}
  return
}
";

const CUBE: &str = "program \"p\" a5 tile entry @main

func @main orchestration(%x: in tensor<64x64xbf16>, %y: inout tensor<64x64xf32>) {
  op0: %t = submit args(%x, %y) {kernels = [@k], name = \"k\", directions = \"in,inout\"} : task
  op1: return
}

func @k kernel(cube)(%x: in ptr<bf16>, %y: inout ptr<f32>) {
  %zero = const {value = 0} : index
  %one = const {value = 1} : index
  %c32 = const {value = 32} : index
  %c64 = const {value = 64} : index
  %vx = make_tensor_view %x shape(%c64, %c64) strides(%c64, %one) : view<64x64xbf16>
  %vy = make_tensor_view %y shape(%c64, %c64) strides(%c64, %one) : view<64x64xf32>
  %px = partition_view %vx offsets(%zero, %zero) sizes(%c64, %c64) : part<64x64xbf16>
  %m = alloc_tile : tile<64x64xbf16, mat, nz>
  tload %px outs(%m)
  %l = alloc_tile : tile<64x32xbf16, left, nz>
  %r = alloc_tile : tile<32x64xbf16, right, zn>
  %acc = alloc_tile : tile<64x64xf32, acc, nz/1024>
  textract %m, %zero, %zero outs(%l)
  textract %m, %zero, %zero outs(%r)
  tmatmul %l, %r outs(%acc)
  textract %m, %zero, %c32 outs(%l)
  textract %m, %c32, %zero outs(%r)
  tmatmul.acc %acc, %l, %r outs(%acc)
  %py = partition_view %vy offsets(%zero, %zero) sizes(%c64, %c64) : part<64x64xf32>
  tstore %acc outs(%py)
  return
}
";

fn parse(text: &str) -> Program {
    let program = ir::text::parse(text, "t.tw").unwrap_or_else(|e| panic!("{e:#?}"));
    if let Err(errors) = ir::verify::verify(&program) {
        panic!("{errors:#?}");
    }
    program
}

fn vector() -> Program {
    parse(&format!("{ENTRY}{VECTOR}"))
}

fn of(program: &Program, fault: Fault) -> Vec<Site> {
    sites(program).into_iter().filter(|s| s.fault == fault).collect()
}

/// What a mutation did, and the lines it took away and put in, trimmed.
struct Change {
    mutation: Mutation,
    gone: Vec<String>,
    new: Vec<String>,
}

fn change(program: &Program, site: &Site, seed: u64) -> Change {
    let mut mutant = program.clone();
    let mutation = apply(&mut mutant, site, seed);
    let lines = |p: &Program| -> Vec<String> { ir::text::print(p).lines().map(|l| l.trim().to_owned()).collect() };
    let (before, after) = (lines(program), lines(&mutant));
    assert_ne!(before, after, "{site:?} changed nothing");
    // The common start and end are what did not change.
    let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - start;
    let end = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let cut = |l: &[String]| l[start..l.len() - end].to_vec();
    Change { mutation, gone: cut(&before), new: cut(&after) }
}

/// The first site of a fault whose operation's text starts with `line`.
fn site(program: &Program, fault: Fault, line: &str) -> Site {
    let found = of(program, fault).into_iter().find(|s| {
        let func = &program.functions[s.function];
        ir::text::print_op(func, s.op).starts_with(line)
    });
    found.unwrap_or_else(|| panic!("no {} at {line}", fault.name()))
}

#[track_caller]
fn expect(program: &Program, fault: Fault, line: &str, gone: &[&str], new: &[&[&str]]) {
    let site = site(program, fault, line);
    let mut seen = BTreeSet::new();
    for seed in 0..64 {
        let c = change(program, &site, seed);
        assert_eq!(c.gone, gone, "{}", c.mutation.description);
        let which = new.iter().position(|n| c.new == *n);
        seen.insert(which.unwrap_or_else(|| panic!("seed {seed}: {:#?}", c.new)));
        assert!(c.mutation.rejected.is_none(), "{:?}", c.mutation.rejected);
        assert_eq!(c.mutation.what, fault.name());
        assert_eq!((c.mutation.function, c.mutation.op), (site.function, site.op));
        assert!(c.mutation.description.starts_with("@"), "{}", c.mutation.description);
    }
    assert_eq!(seen.len(), new.len(), "every variant occurs");
}

#[test]
fn wrong_offset_of_a_box() {
    // Rows 8..16 of 64: one row on or back, or a whole box.
    let add = |d: &str| {
        vec![
            format!("%0 = const {{value = {d}}} : index from op11"),
            "%1 = add %eight, %0 : index from op11".to_owned(),
            "%p = partition_view %vy offsets(%1, %zero) sizes(%eight, %c64) : part<8x64xf32> from op11".to_owned(),
        ]
    };
    let variants: Vec<Vec<String>> = ["1", "-1", "8", "-8"].iter().map(|d| add(d)).collect();
    let variants: Vec<Vec<&str>> = variants.iter().map(|v| v.iter().map(String::as_str).collect()).collect();
    let variants: Vec<&[&str]> = variants.iter().map(Vec::as_slice).collect();
    let gone = "%p = partition_view %vy offsets(%eight, %zero) sizes(%eight, %c64) : part<8x64xf32> from op11";
    expect(&vector(), Fault::WrongOffset, "%p = partition_view", &[gone], &variants);
}

#[test]
fn wrong_size_and_stride() {
    let p = vector();
    expect(
        &p,
        Fault::WrongSize,
        "%px = partition_view",
        &["%px = partition_view %vx offsets(%i, %zero) sizes(%eight, %c64) : part<8x64xf32> from op2"],
        &[&[
            "%0 = const {value = -1} : index from op2",
            "%1 = add %eight, %0 : index from op2",
            "%px = partition_view %vx offsets(%i, %zero) sizes(%1, %c64) : part<8x64xf32> from op2",
        ]],
    );
    expect(
        &p,
        Fault::WrongStride,
        "%vy = make_tensor_view",
        &["%vy = make_tensor_view %y shape(%c64, %c64) strides(%c64, %one) : view<64x64xf32> from op1"],
        &[&[
            "%0 = const {value = -1} : index from op1",
            "%1 = add %c64, %0 : index from op1",
            "%vy = make_tensor_view %y shape(%c64, %c64) strides(%1, %one) : view<64x64xf32> from op1",
        ]],
    );
}

#[test]
fn what_is_left_out() {
    let p = vector();
    for (fault, line) in [
        (Fault::DroppedStore, "tstore %a outs(%p) from op11 done"),
        (Fault::DroppedStore, "store_scalar %half, %y, %k from op14 done"),
        (Fault::DroppedLoad, "tload %px outs(%a) from op2 done"),
        (Fault::DroppedOperation, "texpands %half outs(%b) from op3 done"),
        (Fault::DroppedOperation, "tmov %c outs(%v) from op9 done"),
        (Fault::DroppedSync, "syncall from op15"),
    ] {
        let start: String = line.chars().take_while(|c| *c != ' ').collect();
        expect(&p, fault, &start, &[line], &[&[]]);
    }
}

#[test]
fn exchanged_operands() {
    let p = vector();
    expect(
        &p,
        Fault::SwappedOperands,
        "tsub",
        &["tsub %a, %b outs(%c) from op4 done"],
        &[&["tsub %b, %a outs(%c) from op4 done"]],
    );
    expect(
        &p,
        Fault::SwappedOperands,
        "%k = sub",
        &["%k = sub %n, %m : index from op13"],
        &[&["%k = sub %m, %n : index from op13"]],
    );
    expect(
        &p,
        Fault::SwappedOperands,
        "tdivs",
        &["tdivs %c, %half outs(%c) {reverse = true} from op7 done"],
        &[&["tdivs %c, %half outs(%c) {reverse = false} from op7 done"]],
    );
}

#[test]
fn another_operation_or_predicate() {
    let p = vector();
    expect(
        &p,
        Fault::WrongOperation,
        "tadd %a",
        &["tadd %a, %b outs(%b) from op12 done"],
        &[&["tsub %a, %b outs(%b) from op12 done"]],
    );
    expect(
        &p,
        Fault::WrongPredicate,
        "%first",
        &["%first = cmp %i, %m {predicate = lt} : i1 from op5"],
        &[&["%first = cmp %i, %m {predicate = le} : i1 from op5"]],
    );
}

#[test]
fn what_data_choose() {
    let p = parse(MOVES);
    expect(&p, Fault::WrongIndices, "tgather %a", &["tgather %a, %i outs(%b)"], &[&["tgather %a, %other outs(%b)"]]);
    let mscatter = "mscatter %a, %i outs(%px) {mode = elem, out_of_range = skip}";
    expect(&p, Fault::WrongIndices, "mscatter", &[mscatter], &[&[mscatter.replace("%i", "%other").as_str()]]);
    expect(&p, Fault::DroppedStore, "mscatter", &[mscatter], &[&[]]);
    expect(&p, Fault::DroppedLoad, "mgather", &["mgather %px, %i outs(%b) {mode = elem}"], &[&[]]);
    let pattern = |n: u32| format!("tgather.mask %a outs(%h) {{pattern = {n}}}");
    let (one, two) = (pattern(1), pattern(2));
    expect(&p, Fault::WrongPattern, "tgather.mask", &[&one], &[&[&two]]);
    expect(&p, Fault::SwappedOperands, "tsel", &["tsel %m, %a, %b outs(%a)"], &[&["tsel %m, %b, %a outs(%a)"]]);
    let compare = ["tcmp %a, %b outs(%m) {predicate = lt}", "tcmp %b, %a outs(%m) {predicate = lt}"];
    expect(&p, Fault::SwappedOperands, "tcmp %a", &compare[..1], &[&compare[1..]]);
    let compare = ["tcmp %a, %b outs(%m) {predicate = lt}", "tcmp %a, %b outs(%m) {predicate = le}"];
    expect(&p, Fault::WrongPredicate, "tcmp %a", &compare[..1], &[&compare[1..]]);
    let equal = ["tcmps %i, %three outs(%m) {predicate = eq}", "tcmps %i, %three outs(%m) {predicate = ne}"];
    expect(&p, Fault::WrongPredicate, "tcmps", &equal[..1], &[&equal[1..]]);
    expect(&p, Fault::WrongOperation, "tpartmax", &["tpartmax %a, %b outs(%a)"], &[&["tpartmin %a, %b outs(%a)"]]);
}

#[test]
fn every_sibling_takes_the_same_operands() {
    for p in [vector(), parse(MOVES)] {
        for site in of(&p, Fault::WrongOperation) {
            let mut mutant = p.clone();
            let before = p.functions[site.function].ops[site.op].opcode.info();
            apply(&mut mutant, &site, 0);
            let after = mutant.functions[site.function].ops[site.op].opcode.info();
            assert_ne!(before.name, after.name);
            assert_eq!(before.operands.len(), after.operands.len());
            assert!(before.operands.iter().zip(after.operands).all(|(a, b)| a.name == b.name && a.kind == b.kind));
        }
    }
}

#[test]
fn casts() {
    let p = vector();
    let line = |mode: &str| format!("tcvt %c outs(%h) {{mode = {mode}}} from op8");
    let modes = ["none", "round", "floor", "ceil", "trunc", "odd", "rint, saturate = true"].map(line);
    let variants: Vec<Vec<&str>> = modes.iter().map(|m| vec![m.as_str()]).collect();
    let variants: Vec<&[&str]> = variants.iter().map(Vec::as_slice).collect();
    expect(&p, Fault::WrongMode, "tcvt %c", &["tcvt %c outs(%h) {mode = rint} from op8"], &variants);
    expect(
        &p,
        Fault::ExtraHop,
        "tcvt %c",
        &["tcvt %c outs(%h) {mode = rint} from op8"],
        &[&[
            "%0 = alloc_tile : tile<8x64xbf16, vec> from op8",
            "%1 = alloc_tile : tile<8x64xf32, vec> from op8",
            "tcvt %c outs(%0) {mode = rint} from op8",
            "tcvt %0 outs(%1) {mode = rint} from op8",
            "tcvt %1 outs(%h) {mode = rint} from op8",
        ]],
    );
    expect(
        &p,
        Fault::WrongHop,
        "tcvt %c",
        &["%h = alloc_tile : tile<8x64xf16, vec> from op8"],
        &[&["%h = alloc_tile : tile<8x64xbf16, vec> from op8"]],
    );
    expect(
        &p,
        Fault::WrongPad,
        "tfillpad",
        &["tfillpad %v outs(%a) {pad = zero} from op10 done"],
        &[&["tfillpad %v outs(%a) {pad = max} from op10 done"], &["tfillpad %v outs(%a) {pad = min} from op10 done"]],
    );
}

#[test]
fn products() {
    let p = parse(CUBE);
    expect(
        &p,
        Fault::DroppedAccumulation,
        "tmatmul.acc",
        &["tmatmul.acc %acc, %l, %r outs(%acc)"],
        &[&["tmatmul %l, %r outs(%acc)"]],
    );
    let buffers = |k: u32| {
        [
            format!("%l = alloc_tile : tile<64x32xbf16, valid 64x{k}, left, nz>"),
            format!("%r = alloc_tile : tile<32x64xbf16, valid {k}x64, right, zn>"),
        ]
    };
    let (a, b) = (buffers(31), buffers(16));
    expect(
        &p,
        Fault::ShortContraction,
        "tmatmul ",
        &["%l = alloc_tile : tile<64x32xbf16, left, nz>", "%r = alloc_tile : tile<32x64xbf16, right, zn>"],
        &[&[&a[0], &a[1]], &[&b[0], &b[1]]],
    );
    expect(
        &p,
        Fault::ShiftedContraction,
        "textract %m, %zero, %c32",
        &["textract %m, %zero, %c32 outs(%l)"],
        &[
            &["%0 = const {value = -16} : index", "%1 = add %c32, %0 : index", "textract %m, %zero, %1 outs(%l)"],
            &["%0 = const {value = -32} : index", "%1 = add %c32, %0 : index", "textract %m, %zero, %1 outs(%l)"],
        ],
    );
    let windows = [
        "%0 = const {value = 0} : index",
        "%1 = const {value = 0} : index",
        "%2 = subview %l, %0, %1 {sizes = [64, 16]} : tile<64x16xbf16, left, nz>",
        "%3 = const {value = 0} : index",
        "%4 = const {value = 0} : index",
        "%5 = subview %r, %3, %4 {sizes = [16, 64]} : tile<16x64xbf16, right, zn>",
        "%6 = const {value = 0} : index",
        "%7 = const {value = 16} : index",
        "%8 = subview %l, %6, %7 {sizes = [64, 16]} : tile<64x16xbf16, left, nz>",
        "%9 = const {value = 16} : index",
        "%10 = const {value = 0} : index",
        "%11 = subview %r, %9, %10 {sizes = [16, 64]} : tile<16x64xbf16, right, zn>",
    ];
    let cut = |first: &'static str| [&windows[..], &[first, "tmatmul.acc %acc, %8, %11 outs(%acc)"]].concat();
    expect(&p, Fault::CutContraction, "tmatmul ", &["tmatmul %l, %r outs(%acc)"], &[&cut("tmatmul %2, %5 outs(%acc)")]);
    expect(
        &p,
        Fault::CutContraction,
        "tmatmul.acc",
        &["tmatmul.acc %acc, %l, %r outs(%acc)"],
        &[&cut("tmatmul.acc %acc, %2, %5 outs(%acc)")],
    );
}

#[test]
fn coalesced_tiles_of_an_unplaced_function() {
    let p = vector();
    let func = p.function("k").expect("the kernel");
    let f = &p.functions[func];
    let pairs: BTreeSet<(String, String)> = of(&p, Fault::CoalescedTiles)
        .iter()
        .map(|s| {
            let Some(Partner::Op(other)) = s.partner else { panic!("{s:?}") };
            let name = |op: ir::Op| f.values[f.ops[op].results[0]].name.clone().unwrap();
            (name(other), name(s.op))
        })
        .collect();
    // %a and %b, %b and %c, %a and %c are needed at once; %v has an extent of its own, %h and %q other types.
    let expected = [("a", "b"), ("a", "c"), ("b", "c")].map(|(x, y)| (x.to_owned(), y.to_owned()));
    assert_eq!(pairs, BTreeSet::from(expected));
    let site = of(&p, Fault::CoalescedTiles)[0];
    let c = change(&p, &site, 0);
    assert!(c.mutation.rejected.is_none(), "{:?}", c.mutation.rejected);
    assert_eq!(c.new[0], "texpands %half outs(%a) from op3 done");
    assert!(c.new.iter().all(|l| !l.contains("%b,") && !l.contains("%b)")), "{:?}", c.new);
}

#[test]
fn tiles_that_are_not_needed_at_once_are_left_alone() {
    // %b is written when %a is read for the last time; in a loop, what comes from outside is needed all the way.
    let body = "
  %a = alloc_tile : tile<8x64xf32, vec>
  %b = alloc_tile : tile<8x64xf32, vec>
  %keep = alloc_tile : tile<8x64xf32, vec>
  tload %px outs(%a)
  texp %a outs(%b)
  tload %px outs(%keep)
  tstore %b outs(%py)
  for %zero, %n, %one {kind = range} (%i: index) {
    %t = alloc_tile : tile<8x64xf32, vec>
    tadd %keep, %keep outs(%t)
    tstore %t outs(%py)
    %u = alloc_tile : tile<8x64xf32, vec>
    texp %t outs(%u)
    tstore %u outs(%py)
    yield
  }
";
    let p = parse(&small("", body));
    let func = p.function("k").expect("the kernel");
    let f = &p.functions[func];
    let name = |op: ir::Op| f.values[f.ops[op].results[0]].name.clone().unwrap();
    let pairs: Vec<(String, String)> = of(&p, Fault::CoalescedTiles)
        .iter()
        .map(|s| match s.partner {
            Some(Partner::Op(other)) => (name(other), name(s.op)),
            other => panic!("{other:?}"),
        })
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(pairs, [("b", "keep"), ("keep", "t"), ("keep", "u")]);
}

/// A vector kernel on 8x64 boxes of x and y.
fn small(properties: &str, body: &str) -> String {
    format!(
        "program \"p\" a5 tile entry @main

func @main orchestration(%x: in tensor<8x64xf32>, %y: inout tensor<8x64xf32>, %n: in index) {{
  op0: %t = submit args(%x, %y, %n) {{kernels = [@k], name = \"k\", directions = \"in,inout,scalar\"}} : task
  op1: return
}}

func @k kernel(vector){properties}(%x: in ptr<f32>, %y: inout ptr<f32>, %n: in index) {{
  %zero = const {{value = 0}} : index
  %one = const {{value = 1}} : index
  %eight = const {{value = 8}} : index
  %c64 = const {{value = 64}} : index
  %vx = make_tensor_view %x shape(%eight, %c64) strides(%c64, %one) : view<8x64xf32>
  %vy = make_tensor_view %y shape(%eight, %c64) strides(%c64, %one) : view<8x64xf32>
  %px = partition_view %vx offsets(%zero, %zero) sizes(%eight, %c64) : part<8x64xf32>
  %py = partition_view %vy offsets(%zero, %zero) sizes(%eight, %c64) : part<8x64xf32>
{body}
  return
}}
"
    )
}

#[test]
fn coalesced_tiles_of_a_placed_function() {
    let body = "
  %at0 = const {value = 0} : i64
  %at1 = const {value = 2048} : i64
  %a = alloc_tile addr(%at0) : tile<8x64xf32, vec>
  %b = alloc_tile addr(%at1) : tile<8x64xf32, vec>
  tload %px outs(%a)
  tload %px outs(%b)
  tsub %a, %b outs(%b)
  tstore %b outs(%py)
";
    expect(
        &parse(&small(" placed", body)),
        Fault::CoalescedTiles,
        "%b = alloc_tile",
        &["%b = alloc_tile addr(%at1) : tile<8x64xf32, vec>"],
        &[&["%0 = const {value = 0} : i64", "%b = alloc_tile addr(%0) : tile<8x64xf32, vec>"]],
    );
}

#[test]
fn loops_constants_extents_and_branches() {
    let p = vector();
    expect(
        &p,
        Fault::LoopBound,
        "for",
        &["for %zero, %n, %one {kind = range} (%i: index) {"],
        &[
            &["%0 = add %n, %one : index from op2", "for %zero, %0, %one {kind = range} (%i: index) {"],
            &["%0 = sub %n, %one : index from op2", "for %zero, %0, %one {kind = range} (%i: index) {"],
            &["%0 = add %zero, %one : index from op2", "for %0, %n, %one {kind = range} (%i: index) {"],
        ],
    );
    let add = |v: &'static str| {
        [format!("%0 = const {{value = {v}}} : f32 from op6"), "tadds %c, %0 outs(%c) from op6 done".to_owned()]
    };
    let variants = ["1.5", "-0.5", "1.0", "0.0"].map(add);
    let variants: Vec<Vec<&str>> = variants.iter().map(|v| v.iter().map(String::as_str).collect()).collect();
    let variants: Vec<&[&str]> = variants.iter().map(Vec::as_slice).collect();
    expect(&p, Fault::WrongConstant, "tadds", &["tadds %c, %half outs(%c) from op6 done"], &variants);
    let found: Vec<Vec<String>> = of(&p, Fault::ReducedValid)
        .iter()
        .filter(|s| ir::text::print_op(&p.functions[s.function], s.op).starts_with("%h = alloc_tile"))
        .map(|s| change(&p, s, 0).new)
        .collect();
    let less = |n: u32, operand: &str, valid: &str| {
        vec![
            format!("%0 = const {{value = {n}}} : index from op8"),
            format!("%h = alloc_tile {operand}(%0) : tile<8x64xf16, valid {valid}, vec> from op8"),
        ]
    };
    assert_eq!(found, [less(7, "valid_row", "?x64"), less(63, "valid_col", "8x?")]);
    expect(
        &p,
        Fault::ReducedValid,
        "%v = alloc_tile",
        &["%v = alloc_tile valid_row(%m) : tile<8x64xf32, valid ?x64, vec> from op9"],
        &[&[
            "%0 = const {value = -1} : index from op9",
            "%1 = add %m, %0 : index from op9",
            "%v = alloc_tile valid_row(%1) : tile<8x64xf32, valid ?x64, vec> from op9",
        ]],
    );
    let c = change(&p, &site_of(&p, Fault::SwappedBranches), 0);
    assert_eq!(c.gone.first().map(String::as_str), Some("tadds %c, %half outs(%c) from op6 done"));
    assert_eq!(c.new.first().map(String::as_str), Some("tdivs %c, %half outs(%c) {reverse = true} from op7 done"));
    assert!(c.mutation.rejected.is_none());
    assert_eq!(c.mutation.origin.map(ir::Entity::index), Some(5));
}

fn site_of(program: &Program, fault: Fault) -> Site {
    of(program, fault)[0]
}

#[test]
fn exchanged_arguments() {
    let p = vector();
    let pairs: Vec<(u32, Option<Partner>)> =
        of(&p, Fault::SwappedArguments).iter().map(|s| (s.operand, s.partner)).collect();
    assert_eq!(pairs, [(0, Some(Partner::Operand(1))), (2, Some(Partner::Operand(3)))]);
    let c = change(&p, &of(&p, Fault::SwappedArguments)[1], 0);
    assert_eq!(c.gone.len(), 1);
    assert!(c.new[0].contains("submit args(%x, %y, %m, %n)"), "{:?}", c.new);
    assert_eq!(c.mutation.origin.map(ir::Entity::index), Some(40));
}

/// A mixed kernel of a5: two pushes one way.
fn mixed(ids: (i64, i64)) -> Program {
    let second = |text: &str| if ids.0 == ids.1 { String::new() } else { text.to_owned() };
    let cube_fifo = second(
        "  %in1 = import_reserved_buffer {name = \"s1\", peer_func = [@v]} : i32
  aic_initialize_pipe c2v_consumer_buf(%in1) {id = 1, dir_mask = 1, slot_size = 1024, slot_num = 2, nosplit = true}
",
    );
    let vector_fifo = second(
        "  %in1 = reserve_buffer {name = \"s1\", size = 2048, location = vec, auto = true} : i32
  aiv_initialize_pipe c2v_consumer_buf(%in1) {id = 1, dir_mask = 1, slot_size = 1024, slot_num = 2, nosplit = true}
",
    );
    let (a, b) = ids;
    parse(&format!(
        "program \"p\" a5 tile entry @main

func @main orchestration(%x: in tensor<16x16xf32>, %y: inout tensor<16x16xf32>) {{
  op0: %t = submit args(%x, %y) {{kernels = [@c, @v], name = \"k\", directions = \"in,inout\"}} : task
  op1: return
}}

func @c kernel(cube)(%x: in ptr<f32>, %y: inout ptr<f32>) {{
  %in0 = import_reserved_buffer {{name = \"s0\", peer_func = [@v]}} : i32
  aic_initialize_pipe c2v_consumer_buf(%in0) {{id = 0, dir_mask = 1, slot_size = 1024, slot_num = 2, nosplit = true}}
{cube_fifo}  %acc = alloc_tile : tile<16x16xf32, acc, nz/1024>
  tpush_to_aiv %acc {{id = {a}, split = 0}}
  tpush_to_aiv %acc {{id = {b}, split = 0}}
  return
}}

func @v kernel(vector)(%x: in ptr<f32>, %y: inout ptr<f32>) {{
  %in0 = reserve_buffer {{name = \"s0\", size = 2048, location = vec, auto = true}} : i32
  aiv_initialize_pipe c2v_consumer_buf(%in0) {{id = 0, dir_mask = 1, slot_size = 1024, slot_num = 2, nosplit = true}}
{vector_fifo}  %sum = alloc_tile : tile<16x16xf32, vec>
  %p = tpop_from_aic {{id = {a}, split = 0}} : tile<16x16xf32, vec>
  %q = tpop_from_aic {{id = {b}, split = 0}} : tile<16x16xf32, vec>
  tsub %p, %q outs(%sum)
  tfree_from_aic {{id = {a}, split = 0}}
  tfree_from_aic {{id = {b}, split = 0}}
  return
}}
"
    ))
}

#[test]
fn fifos() {
    let p = mixed((0, 1));
    let push = "tpush_to_aiv %acc {id = 0, split = 0}";
    expect(&p, Fault::DroppedPush, "tpush_to_aiv", &[push], &[&[]]);
    expect(&p, Fault::DroppedFree, "tfree", &["tfree_from_aic {id = 0, split = 0}"], &[&[]]);
    let pop = |name: &str, id: u32| format!("%{name} = tpop_from_aic {{id = {id}, split = 0}} : tile<16x16xf32, vec>");
    let c = change(&p, &site_of(&p, Fault::SwappedPops), 0);
    assert_eq!(c.gone, [pop("p", 0), pop("q", 1)]);
    assert_eq!(c.new, [pop("p", 1), pop("q", 0)]);
    // One FIFO: the values change places.
    let c = change(&mixed((0, 0)), &site_of(&mixed((0, 0)), Fault::SwappedPops), 0);
    assert_eq!((c.gone, c.new), (vec!["tsub %p, %q outs(%sum)".to_owned()], vec!["tsub %q, %p outs(%sum)".to_owned()]));
}

#[test]
fn same_seed_same_mutant() {
    for program in [vector(), parse(CUBE), parse(MOVES), mixed((0, 1))] {
        let list = sites(&program);
        assert_eq!(list, sites(&program));
        for site in &list {
            let text = |seed| {
                let mut mutant = program.clone();
                let mutation = apply(&mut mutant, site, seed);
                (mutation.description, ir::text::print(&mutant))
            };
            assert_eq!(text(5), text(5));
        }
    }
}

#[test]
fn every_kind_has_a_site_and_a_name_and_few_are_refused() {
    let programs = [vector(), parse(CUBE), parse(MOVES), mixed((0, 1))];
    let (mut kinds, mut refused, mut total) = (BTreeSet::new(), Vec::new(), 0);
    for program in &programs {
        for site in sites(program) {
            kinds.insert(site.fault);
            total += 1;
            let mut mutant = program.clone();
            let mutation = apply(&mut mutant, &site, 1);
            if let Some(why) = mutation.rejected {
                refused.push((mutation.description, why.code));
            }
        }
    }
    assert_eq!(kinds, BTreeSet::from(Fault::ALL));
    let names: BTreeSet<&str> = Fault::ALL.iter().map(|f| f.name()).collect();
    assert_eq!(names.len(), Fault::ALL.len());
    assert!(total > 90, "{total}");
    // What the verifier refuses would never have reached an executor; that is a catch, but a cheap one.
    assert!(refused.len() * 4 < total, "{} of {total}: {refused:#?}", refused.len());
}
