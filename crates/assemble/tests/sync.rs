//! Where flags, barriers and tokens go: small `.pto` texts, and what the pass makes of them.

use assemble::pass::Sync;
use assemble::sync::insert;
use chip::Arch;
use control::Control;
use ir::{Block, Function, FunctionKind, Opcode, Program};

const F32: &str = "!pto.tile_buf<vec, 8x64xf32>";
const BOX: &str = "!pto.partition_tensor_view<8x64xf32>";

fn text(arch: Arch, core: &str, body: &str) -> String {
    format!(
        "module attributes {{pto.target_arch = \"{}\"}} {{
  func.func @k(%p: !pto.ptr<f32>, %q: !pto.ptr<f32>, %n: index, %on: i1) attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<{core}>}} {{
    %a0 = arith.constant 0 : i64
    %a2k = arith.constant 2048 : i64
    %a4k = arith.constant 4096 : i64
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i8 = arith.constant 8 : index
    %i64 = arith.constant 64 : index
    %z = arith.constant 0.0 : f32
    %vp = pto.make_tensor_view %p, shape = [%i8, %i64], strides = [%i64, %i1] : !pto.tensor_view<?x?xf32>
    %vq = pto.make_tensor_view %q, shape = [%i8, %i64], strides = [%i64, %i1] : !pto.tensor_view<?x?xf32>
    %bp = pto.partition_view %vp, offsets = [%i0, %i0], sizes = [%i8, %i64] : !pto.tensor_view<?x?xf32> -> {BOX}
    %bq = pto.partition_view %vq, offsets = [%i0, %i0], sizes = [%i8, %i64] : !pto.tensor_view<?x?xf32> -> {BOX}
    %x = pto.alloc_tile addr = %a0 : {F32}
    %y = pto.alloc_tile addr = %a2k : {F32}
    %w = pto.alloc_tile addr = %a4k : {F32}
{body}
    return
  }}
}}
",
        arch.target_name()
    )
}

fn program(text: &str, arch: Arch) -> Program {
    let mut sources = diag::Sources::default();
    let kernels = pto::parse(text, "k.pto", &mut sources).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    ir::Builder::new(&mut main).effect(Opcode::Return, &[&[]], ir::Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "k".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

/// The operations that do something, in words; regions are indented.
fn outline(func: &Function, block: Block, depth: usize, out: &mut Vec<String>) {
    for &op in &func.blocks[block].ops {
        let data = &func.ops[op];
        let word = |name: &str| data.attrs.word(name).unwrap_or("?").replace("PIPE_", "");
        let line = match data.opcode {
            Opcode::SetFlag | Opcode::WaitFlag => {
                let event = word("event").replace("EVENT_ID", "");
                let name = if data.opcode == Opcode::SetFlag { "set" } else { "wait" };
                format!("{name} {} {} {event}", word("from"), word("to"))
            }
            Opcode::Barrier => format!("barrier {}", word("pipe")),
            Opcode::GetBuf | Opcode::RlsBuf => {
                let name = if data.opcode == Opcode::GetBuf { "get" } else { "rls" };
                format!("{name} {} {}", word("source"), data.attrs.int("buffer").expect("a token"))
            }
            opcode if opcode.info().pipe != ir::info::Pipe::None || !data.regions.is_empty() => {
                opcode.name().to_owned()
            }
            _ => continue,
        };
        out.push(format!("{}{line}", "  ".repeat(depth)));
        for (i, &region) in data.regions.iter().enumerate() {
            if i > 0 {
                out.push(format!("{}else", "  ".repeat(depth)));
            }
            outline(func, region, depth + 1, out);
        }
    }
}

/// A seed with which the first event and the first token are 0.
fn seed() -> u64 {
    (0..).find(|&s| Control::new(s).choose(32) == 0).expect("one of them")
}

fn synced_on(arch: Arch, core: &str, mode: Sync, body: &str) -> Vec<String> {
    let mut program = program(&text(arch, core, body), arch);
    insert(&mut program, mode, &mut Control::new(seed())).expect("nothing is wrong with it");
    ir::verify::verify(&program).expect("what the pass made is legal");
    let kernel = program.functions.iter().find(|(id, _)| *id != program.entry).expect("a kernel").1;
    assert!(kernel.properties.synced);
    let mut out = Vec::new();
    outline(kernel, kernel.body, 0, &mut out);
    out
}

fn synced(body: &str) -> Vec<String> {
    synced_on(Arch::A5, "vector", Sync::Flags, body)
}

fn load(tile: &str) -> String {
    format!("pto.tload ins(%bp : {BOX}) outs({tile} : {F32})\n")
}

fn store(tile: &str) -> String {
    format!("pto.tstore ins({tile} : {F32}) outs(%bq : {BOX})\n")
}

fn exp(from: &str, to: &str) -> String {
    format!("pto.texp ins({from} : {F32}) outs({to} : {F32})\n")
}

fn turns(body: &str) -> String {
    format!("scf.for %i = %i0 to %n step %i1 {{\n{body}}}\n")
}

fn when(then: &str, otherwise: &str) -> String {
    format!("scf.if %on {{\n{then}}} else {{\n{otherwise}}}\n")
}

#[test]
fn a_chain_of_three_pipes() {
    let found = synced(&(load("%x") + &exp("%x", "%y") + &store("%y")));
    let expected =
        ["tload", "set MTE2 V 0", "wait MTE2 V 0", "texp", "set V MTE3 0", "wait V MTE3 0", "tstore", "barrier ALL"];
    assert_eq!(found, expected);
}

#[test]
fn the_last_of_several_loads_speaks_for_all() {
    let found = synced(&(load("%x") + &load("%y") + &format!("pto.tadd ins(%x, %y : {F32}, {F32}) outs(%w : {F32})")));
    assert_eq!(found, ["tload", "tload", "set MTE2 V 0", "wait MTE2 V 0", "tadd", "barrier ALL"]);
}

#[test]
fn what_one_waits_for_the_next_need_not() {
    // The second load overwrites what the vector unit read, which ended before the store began.
    let found = synced(&(load("%x") + &exp("%x", "%x") + &store("%x") + &load("%x")));
    let expected = [
        "tload",
        "set MTE2 V 0",
        "wait MTE2 V 0",
        "texp",
        "set V MTE3 0",
        "wait V MTE3 0",
        "tstore",
        "set MTE3 MTE2 0",
        "wait MTE3 MTE2 0",
        "tload",
        "barrier ALL",
    ];
    assert_eq!(found, expected);
}

#[test]
fn turns_of_a_loop_wait_for_each_other() {
    let found = synced(&turns(&(load("%x") + &exp("%x", "%y") + &store("%y"))));
    let expected = [
        "set V MTE2 0",
        "set MTE3 V 0",
        "for",
        "  wait V MTE2 0",
        "  tload",
        "  set MTE2 V 0",
        "  wait MTE2 V 0",
        "  wait MTE3 V 0",
        "  texp",
        "  set V MTE3 0",
        "  set V MTE2 0",
        "  wait V MTE3 0",
        // The stores of two turns write the same bytes: the chain back to the next one orders them.
        "  tstore",
        "  set MTE3 V 0",
        "wait V MTE2 0",
        "wait MTE3 V 0",
        "barrier ALL",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_source_outside_of_a_loop_is_waited_for_once() {
    let found = synced(&(load("%x") + &turns(&exp("%x", "%y")) + &store("%y")));
    let expected = [
        "tload",
        "set MTE2 V 0",
        "wait MTE2 V 0",
        "for",
        "  texp",
        "set V MTE3 0",
        "wait V MTE3 0",
        "tstore",
        "barrier ALL",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_loop_of_no_turns_tells_nothing() {
    // Were the wait in the loop taken for all paths, the store could start before the load has ended.
    let found = synced(&(load("%x") + &turns(&exp("%x", "%y")) + &store("%x")));
    let expected = [
        "tload",
        "set MTE2 V 0",
        "wait MTE2 V 0",
        "for",
        "  texp",
        "set MTE2 MTE3 0",
        "wait MTE2 MTE3 0",
        "tstore",
        "barrier ALL",
    ];
    let mut found = found;
    // The set may stand anywhere behind the load.
    let at = found.iter().position(|l| l == "set MTE2 MTE3 0").expect("a set");
    let set = found.remove(at);
    let wait = found.iter().position(|l| l == "wait MTE2 MTE3 0").expect("a wait");
    assert!(at <= wait);
    found.insert(wait, set);
    assert_eq!(found, expected);
}

#[test]
fn branches_are_passed_by_set_and_wait_alike() {
    let found = synced(&(load("%x") + &when(&exp("%x", "%y"), &load("%y")) + &store("%y")));
    let expected = [
        "tload",
        "set MTE2 V 0",
        "wait MTE2 V 0",
        "if",
        "  texp",
        "else",
        "  tload",
        "set MTE2 MTE3 0",
        "set V MTE3 0",
    ];
    assert_eq!(found[..7], expected[..7]);
    let mut rest: Vec<&str> = found[7..9].iter().map(String::as_str).collect();
    rest.sort_unstable();
    assert_eq!(rest, expected[7..]);
    assert_eq!(found[found.len() - 2..], ["tstore", "barrier ALL"]);
    let count = |word: &str| found.iter().filter(|l| l.trim_start().starts_with(word)).count();
    assert_eq!((count("set"), count("wait")), (3, 3));
}

#[test]
fn one_pipe_needs_barriers_on_a3_only_where_bytes_meet() {
    let body = exp("%x", "%y") + &exp("%y", "%w") + &exp("%x", "%x");
    assert_eq!(synced(&body), ["texp", "texp", "texp", "barrier ALL"]);
    let found = synced_on(Arch::A2a3, "vector", Sync::Flags, &body);
    // The third reads and writes what the first only read, and the barrier in between has ended that.
    assert_eq!(found, ["texp", "barrier V", "texp", "texp", "barrier ALL"]);
}

#[test]
fn windows_that_do_not_meet_need_no_barrier() {
    let view = "!pto.tile_buf<vec, 8x8xf32>";
    let narrow = "!pto.partition_tensor_view<8x8xf32>";
    let body = format!(
        "%l = pto.subview %x[%i0, %i0] sizes [8, 8] : {F32} -> {view}
         %r = pto.subview %x[%i0, %i8] sizes [8, 8] : {F32} -> {view}
         %b = pto.partition_view %vp, offsets = [%i0, %i0], sizes = [%i8, %i8] : !pto.tensor_view<?x?xf32> -> {narrow}
         pto.tload ins(%b : {narrow}) outs(%l : {view})
         pto.tload ins(%b : {narrow}) outs(%r : {view})\n"
    );
    assert_eq!(synced(&body), ["tload", "tload", "barrier ALL"]);
    let again = body + &format!("pto.tload ins(%b : {narrow}) outs(%r : {view})");
    assert_eq!(synced(&again), ["tload", "tload", "barrier MTE2", "tload", "barrier ALL"]);
}

#[test]
fn scalars_read_from_tiles_and_memory_wait() {
    let body = exp("%x", "%y")
        + &format!("%v = pto.tgetval ins(%y, %i0 : {F32}, index) outs : f32\n")
        + "pto.store_scalar %v, %q[%i0] : !pto.ptr<f32>, f32\n"
        + &format!("pto.tload ins(%bq : {BOX}) outs(%x : {F32})\n");
    let expected = [
        "texp",
        "set V S 0",
        "wait V S 0",
        "tgetval",
        "store_scalar",
        "set S MTE2 0",
        "wait S MTE2 0",
        "tload",
        "barrier ALL",
    ];
    assert_eq!(synced(&body), expected);
}

#[test]
fn events_run_out_and_flags_are_merged() {
    // Nine loads, and nine readers behind all of them, each of one: nine flags would be up at once.
    let small = "!pto.tile_buf<vec, 1x64xf32>";
    let row = "!pto.partition_tensor_view<1x64xf32>";
    let mut body = format!(
        "%b = pto.partition_view %vp, offsets = [%i0, %i0], sizes = [%i1, %i64] : !pto.tensor_view<?x?xf32> -> {row}\n"
    );
    for i in 0..9 {
        body += &format!("%c{i} = arith.constant {} : i64\n%t{i} = pto.alloc_tile addr = %c{i} : {small}\n", i * 256);
        body += &format!("pto.tload ins(%b : {row}) outs(%t{i} : {small})\n");
    }
    for i in 0..9 {
        body += &format!("pto.texp ins(%t{i} : {small}) outs(%t{i} : {small})\n");
    }
    let found = synced(&body);
    let sets = found.iter().filter(|l| l.starts_with("set")).count();
    let waits = found.iter().filter(|l| l.starts_with("wait")).count();
    assert_eq!((sets, waits), (8, 8));
    assert_eq!(found.iter().filter(|l| l.starts_with("barrier")).count(), 1);
    // Each event is waited for before it is set again.
    let mut up = std::collections::BTreeSet::new();
    for line in &found {
        match line.split_once(' ') {
            Some(("set", flag)) => assert!(up.insert(flag.to_owned()), "{flag} is up"),
            Some(("wait", flag)) => assert!(up.remove(flag), "{flag} is not up"),
            _ => {}
        }
    }
    assert!(up.is_empty());
}

#[test]
fn a_fused_group_is_one_step() {
    let body = load("%x")
        + &load("%y")
        + &format!(
            "pto.texp ins(%x : {F32}) outs(%w : {F32}) {{pto.fusion.group_id = 0 : i64, pto.fusion.order = 0 : i64}}\n"
        )
        + &format!(
            "pto.tadd ins(%w, %y : {F32}, {F32}) outs(%w : {F32}) {{pto.fusion.group_id = 0 : i64, pto.fusion.order = 1 : i64}}\n"
        )
        + &store("%w");
    let expected = [
        "tload",
        "tload",
        "set MTE2 V 0",
        "wait MTE2 V 0",
        "texp",
        "tadd",
        "set V MTE3 0",
        "wait V MTE3 0",
        "tstore",
        "barrier ALL",
    ];
    assert_eq!(synced(&body), expected);
    // Alone, the first would not wait for the second load.
    let alone = load("%x") + &load("%y") + &exp("%x", "%w") + &exp("%y", "%y");
    assert_eq!(synced(&alone).iter().filter(|l| l.starts_with("wait")).count(), 2);
}

#[test]
fn barriers_of_the_author_count() {
    let body = load("%x") + "pto.barrier <PIPE_ALL>\n" + &exp("%x", "%y");
    assert_eq!(synced(&body), ["tload", "barrier ALL", "texp", "barrier ALL"]);
}

#[test]
fn flags_of_the_author_are_left_alone() {
    let body = load("%x")
        + "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]\npto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]\n"
        + &exp("%x", "%y");
    assert_eq!(synced(&body), ["tload", "set MTE2 V 3", "wait MTE2 V 3", "texp"]);
}

#[test]
fn what_a_while_loop_does_is_fenced() {
    let body = load("%x")
        + &format!(
            "scf.while : () -> () {{
               %c = arith.cmpi eq, %i0, %n : index
               scf.condition(%c)
             }} do {{
               {}{}
               scf.yield
             }}\n",
            exp("%x", "%y"),
            load("%x")
        );
    let expected = [
        "tload",
        "while",
        "  barrier ALL",
        "else",
        "  barrier ALL",
        "  texp",
        "  set V MTE2 0",
        "  wait V MTE2 0",
        "  tload",
        "barrier ALL",
    ];
    let found = synced(&body);
    let without: Vec<&String> = found.iter().filter(|l| !l.contains("MTE2 V")).collect();
    assert_eq!(without, expected.iter().collect::<Vec<_>>());
}

#[test]
fn barrier_all_stands_before_everything() {
    let found = synced_on(Arch::A2a3, "vector", Sync::BarrierAll, &(load("%x") + &turns(&exp("%x", "%y"))));
    assert_eq!(found, ["barrier ALL", "tload", "for", "  barrier ALL", "  texp", "barrier ALL"]);
}

#[test]
fn tokens_are_held_by_those_that_contend() {
    let found = synced_on(Arch::A5, "vector", Sync::Tokens, &turns(&(load("%x") + &exp("%x", "%y") + &store("%y"))));
    let expected = [
        "for",
        "  get TLOAD 0",
        "  tload",
        "  rls TLOAD 0",
        "  get TVEC 0",
        "  get TVEC 1",
        "  texp",
        "  rls TVEC 1",
        "  rls TVEC 0",
        "  get TSTORE_VEC 1",
        "  barrier MTE3",
        "  tstore",
        "  rls TSTORE_VEC 1",
        "barrier ALL",
    ];
    let mut found = found;
    // The token and the barrier of the store are independent.
    let barrier = found.iter().position(|l| l == "  barrier MTE3").expect("two stores to the same bytes");
    let get = found.iter().position(|l| l == "  get TSTORE_VEC 1").expect("a token");
    if barrier < get {
        found.swap(barrier, get);
    }
    let load = found.iter().position(|l| l == "  barrier MTE2").expect("two loads to the same bytes");
    found.remove(load);
    assert_eq!(found, expected);
}

#[test]
fn tokens_are_of_a5() {
    let mut program = program(&text(Arch::A2a3, "vector", &load("%x")), Arch::A2a3);
    let errors = insert(&mut program, Sync::Tokens, &mut Control::new(0)).expect_err("no tokens here");
    assert_eq!(errors[0].code, "sync-tokens-arch");
}

#[test]
fn a_function_may_say_how_it_ends() {
    let hinted = |hint: &str| {
        let text = text(Arch::A5, "vector", &(load("%x") + &exp("%x", "%y") + &store("%y")));
        text.replace("{pto.entry,", &format!("{{pto.entry, pto.auto_sync_tail_hint = \"{hint}\","))
    };
    let mut short = program(&hinted("mte3-to-s-event0"), Arch::A5);
    insert(&mut short, Sync::Flags, &mut Control::new(seed())).expect("a hint that is known");
    let kernel = short.functions.iter().find(|(id, _)| *id != short.entry).expect("a kernel").1;
    let mut out = Vec::new();
    outline(kernel, kernel.body, 0, &mut out);
    assert_eq!(out[out.len() - 3..], ["tstore", "set MTE3 S 0", "wait MTE3 S 0"]);
    let errors = insert(&mut program(&hinted("later"), Arch::A5), Sync::Flags, &mut Control::new(0))
        .expect_err("a hint that is not");
    assert_eq!(errors[0].code, "sync-tail-hint");
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let body = turns(&(load("%x") + &exp("%x", "%y") + &store("%y")));
    let print = |seed: u64| {
        let mut program = program(&text(Arch::A5, "vector", &body), Arch::A5);
        insert(&mut program, Sync::Flags, &mut Control::new(seed)).expect("nothing is wrong with it");
        let ids: Vec<_> = program.functions.keys().filter(|id| *id != program.entry).collect();
        pto::print(&program, &ids)
    };
    assert_eq!(print(1), print(1));
    let distinct: std::collections::BTreeSet<String> = (0..32).map(print).collect();
    assert_eq!(distinct.len(), 8, "which event is the first is free");
}
