//! Each rule holds and is broken, and the historical faults of upstream's insertion (`7_2_n` in names: item n of the list
//! of fixed bugs) are found.
//!
//! Kernels are written in a few words a line, translated by [`Script`]: `load x a` copies global memory x to tile a,
//! `store a x` back, `add a b c` makes c = a + b, `set MTE2 V 0`, `wait MTE2 V 0`, `barrier V`; `for {` goes round as often
//! as a run-time number says, `for 3 {` three times. Tiles a, b, c have addresses of their own; `a2` is another name for
//! the bytes of a, `left` and `right` are the halves of c.

use std::fmt::Write;

use super::check;
use crate::testing;

const TILE: &str = "!pto.tile_buf<vec, 16x64xf32>";
const HALF: &str = "!pto.tile_buf<vec, 16x32xf32>";
const INTS: &str = "!pto.tile_buf<vec, 1x32xi32>";
const PART: &str = "!pto.partition_tensor_view<16x64xf32>";
const HALF_PART: &str = "!pto.partition_tensor_view<16x32xf32>";

fn tile(name: &str) -> &'static str {
    match name {
        "left" | "right" => HALF,
        "ints" | "ints2" => INTS,
        _ => TILE,
    }
}

/// Text of the kernel's operations.
fn translate(script: &str) -> String {
    let mut out = String::new();
    for (number, line) in script.lines().map(str::trim).filter(|l| !l.is_empty()).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let part = |name: &str| if tile(name) == HALF { HALF_PART } else { PART };
        let text = match words[..] {
            ["load", from, to] => {
                let (p, t) = (part(to), tile(to));
                let half = if t == HALF { "h" } else { "" };
                format!("pto.tload ins(%p{half}{from} : {p}) outs(%{to} : {t})")
            }
            ["store", from, to] => format!("pto.tstore ins(%{from} : {TILE}) outs(%p{to} : {PART})"),
            ["add", a, b, c] => {
                let t = tile(a);
                format!("pto.tadd ins(%{a}, %{b} : {t}, {t}) outs(%{c} : {t})")
            }
            ["tci", to] => format!("pto.tci ins(%seven : i32) outs(%{to} : {INTS})"),
            ["read", from] => format!("%r{number} = pto.tgetval ins(%{from}, %c0 : {TILE}, index) outs : f32"),
            ["put", to] => format!("pto.store_scalar %half, %{to}[%c0] : !pto.ptr<f32>, f32"),
            ["tput", from, ref stages @ ..] => {
                let names = stages.iter().map(|s| format!("%{s}")).collect::<Vec<_>>().join(", ");
                let types = vec![TILE; stages.len()].join(", ");
                format!("pto.comm.tput(%pz, %p{from}, buf({names}) : {PART}, {PART}, {types})")
            }
            [kind @ ("set" | "wait"), from, to, id] => {
                format!("pto.{kind}_flag[<PIPE_{from}>, <PIPE_{to}>, <EVENT_ID{id}>]")
            }
            ["set", from, to] => format!("pto.set_flag_dyn [#pto.pipe<PIPE_{from}>, #pto.pipe<PIPE_{to}>, %n]"),
            ["barrier", pipe] => format!("pto.barrier <PIPE_{pipe}>"),
            ["fence", scope] => format!("pto.fence.barrier_all #pto.fence_scope<{scope}>"),
            ["syncall"] => {
                "pto.syncall() mode = #pto.sync_all_mode<hard>, core_type = #pto.sync_core_type<aiv_only>".into()
            }
            ["get", what, id] => format!("pto.get_buf[#pto.pipe_event_type<{what}>, {id}]"),
            ["rls", what, id] => format!("pto.rls_buf[#pto.pipe_event_type<{what}>, {id}]"),
            ["for", "{"] => format!("scf.for %i{number} = %c0 to %n step %c1 {{"),
            ["for", turns, "{"] => format!("scf.for %i{number} = %c0 to %c{turns} step %c1 {{"),
            ["while", "{"] => format!(
                "%w{number} = scf.while (%k{number} = %c0) : (index) -> index {{
                 %t{number} = arith.cmpi slt, %k{number}, %n : index
                 scf.condition(%t{number}) %k{number} : index
                 }} do {{
                 ^bb0(%j{number}: index):"
            ),
            ["again"] => "scf.yield %c1 : index".to_owned(),
            ["if", "{"] => "scf.if %cond {".to_owned(),
            ["}", "else", "{"] => "} else {".to_owned(),
            ["}"] => "}".to_owned(),
            _ => panic!("no such line: {line}"),
        };
        writeln!(out, "{text}").expect("a string grows");
    }
    out
}

fn text(arch: &str, script: &str) -> String {
    let body = translate(script);
    let mut views = String::new();
    for p in ["x", "y", "z"] {
        write!(
            views,
            "%v{p} = pto.make_tensor_view %{p}, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
             %p{p} = pto.partition_view %v{p}, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> {PART}
             %ph{p} = pto.partition_view %v{p}, offsets = [%c0, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> {HALF_PART}
            "
        )
        .expect("a string grows");
    }
    format!(
        "module attributes {{pto.target_arch = \"{arch}\"}} {{
         func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %n: index) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry}} {{
         %c0 = arith.constant 0 : index
         %c1 = arith.constant 1 : index
         %c3 = arith.constant 3 : index
         %c16 = arith.constant 16 : index
         %c32 = arith.constant 32 : index
         %c64 = arith.constant 64 : index
         %seven = arith.constant 7 : i32
         %half = arith.constant 0.5 : f32
         %a0 = arith.constant 0 : i64
         %a1 = arith.constant 4096 : i64
         %a2x = arith.constant 8192 : i64
         %a3 = arith.constant 12288 : i64
         %cond = arith.cmpi slt, %c0, %n : index
         {views}
         %a = pto.alloc_tile addr = %a0 : {TILE}
         %a2 = pto.alloc_tile addr = %a0 : {TILE}
         %b = pto.alloc_tile addr = %a1 : {TILE}
         %c = pto.alloc_tile addr = %a2x : {TILE}
         %ints = pto.alloc_tile addr = %a3 : {INTS}
         %ints2 = pto.alloc_tile addr = %a3 : {INTS}
         %left = pto.subview %c[%c0, %c0] sizes [16, 32] : {TILE} -> {HALF}
         %right = pto.subview %c[%c0, %c32] sizes [16, 32] : {TILE} -> {HALF}
         {body}
         return
         }}
         }}"
    )
}

/// Each finding as `rule: first operation / second operation`.
fn findings(arch: &str, script: &str) -> Vec<String> {
    let program = testing::program_of(&text(arch, script));
    let verdict = check(&program, testing::kernel(&program));
    assert!(verdict.unsupported.is_empty(), "{:?}", verdict.unsupported);
    let shown = |f: &crate::Finding| {
        let second = f.second.as_ref().map_or(String::new(), |s| format!(" / {}", s.name));
        format!("{}: {}{second}", f.rule, f.first.name)
    };
    verdict.findings.iter().map(shown).collect()
}

#[track_caller]
fn proved(arch: &str, script: &str) {
    assert_eq!(findings(arch, script), [""; 0], "{script}");
}

#[track_caller]
fn found(arch: &str, script: &str, expected: &[&str]) {
    assert_eq!(findings(arch, script), expected, "{script}");
}

const CHAIN: &str = "
    load x a
    set MTE2 V 0
    wait MTE2 V 0
    add a a b
    set V MTE3 0
    wait V MTE3 0
    store b y";

/// The script without its lines that start so.
fn without(script: &str, starts: &[&str]) -> String {
    script.lines().filter(|l| !starts.iter().any(|s| l.trim().starts_with(s))).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_chain_of_flags_orders_what_it_connects() {
    proved("a3", CHAIN);
    proved("a5", CHAIN);
    found("a3", &without(CHAIN, &["set MTE2", "wait MTE2"]), &["sync-missing: tadd / tload"]);
    found("a3", &without(CHAIN, &["set V", "wait V"]), &["sync-missing: tstore / tadd"]);
    // A flag of other pipes is none.
    found("a3", &CHAIN.replace("MTE2 V", "MTE2 MTE3"), &["sync-missing: tadd / tload"]);
}

#[test]
fn a_finding_names_both_operations_their_pipes_and_the_bytes() {
    let program = testing::program_of(&text("a3", &without(CHAIN, &["set V", "wait V"])));
    let verdict = check(&program, testing::kernel(&program));
    let finding = &verdict.findings[0];
    assert_eq!(finding.message, "`tstore` reads bytes that `tadd` writes, and nothing makes PIPE_MTE3 wait for PIPE_V");
    assert_eq!(finding.first.role, "reads `%b`, on PIPE_MTE3");
    assert_eq!(finding.second.as_ref().map(|s| s.role.as_str()), Some("writes `%b`, on PIPE_V"));
    assert_eq!(finding.bytes.as_ref().map(|b| (b.memory.as_str(), b.range.clone())), Some(("vec", 4096..8192)));
    assert_eq!(
        finding.help.as_deref(),
        Some("after `tadd`: `set_flag` from PIPE_V to PIPE_MTE3; before `tstore`: its `wait_flag`")
    );
}

#[test]
fn order_is_transitive_through_other_pipes_and_the_scalar_unit() {
    // MTE2 → V → MTE3: the store may read what the load wrote.
    let through = |end: &str| format!("{}\n{end}", CHAIN);
    proved("a3", &through("store a z"));
    // What the scalar unit has waited for has ended before anything it issues later starts.
    proved("a3", "load x a\n set MTE2 S 0\n wait MTE2 S 0\n add a a b");
    proved("a3", "load x a\n set MTE2 S 0\n wait MTE2 S 0\n read a");
    // But what it did itself, others must wait for.
    found("a3", "tci ints\n set V S 0\n wait V S 0\n add ints ints ints", &["sync-missing: tadd / tci"]);
    // A set before the producer says nothing of it.
    found("a3", "set MTE2 V 0\n load x a\n wait MTE2 V 0\n add a a b", &["sync-missing: tadd / tload"]);
}

#[test]
fn anti_and_output_dependences_count() {
    found("a5", "store a y\n load x a", &["sync-missing: tload / tstore"]);
    proved("a5", "store a y\n set MTE3 MTE2 0\n wait MTE3 MTE2 0\n load x a");
    found("a5", "load x a\n add b b a", &["sync-missing: tadd / tload"]);
    proved("a5", "store a y\n add a a b");
    proved("a5", "load x a\n load x b");
}

#[test]
fn global_memory_is_shared_by_pipes() {
    found("a5", "store a y\n load y b", &["sync-missing: tload / tstore"]);
    found("a5", "put y\n load y b", &["sync-missing: tload / store_scalar"]);
    proved("a5", "put y\n set S MTE2 0\n wait S MTE2 0\n load y b");
    proved("a5", "store a y\n load x b");
    proved("a5", "store a y\n barrier ALL\n load y b");
    proved("a5", "store a y\n fence gm\n load y b");
    // Which accesses a fence orders is its scope.
    found("a5", "store a y\n fence local_memory\n load y b", &["sync-missing: tload / tstore"]);
    found("a5", "store a y\n fence gm\n load x a", &["sync-missing: tload / tstore"]);
    proved("a5", "store a y\n fence local_memory\n load x a");
}

#[test]
fn a_pipe_needs_barriers_unless_it_keeps_its_order() {
    found("a3", "add a a b\n add b b c", &["sync-barrier: tadd / tadd"]);
    proved("a3", "add a a b\n barrier V\n add b b c");
    proved("a5", "add a a b\n add b b c");
    found("a5", "load x a\n load y a", &["sync-barrier: tload / tload"]);
    proved("a5", "load x a\n barrier MTE2\n load y a");
    found("a3", "for {\n add a a b\n }", &["sync-barrier: tadd / tadd"]);
    proved("a3", "for {\n barrier V\n add a a b\n }");
    // A barrier of one pipe is none of another.
    found("a3", "add a a b\n barrier MTE2\n add b b c", &["sync-barrier: tadd / tadd"]);
}

/// Loads and computes by turns, guarded in both directions.
const LOOP: &str = "
    set V MTE2 0
    for {
    wait V MTE2 0
    load x a
    set MTE2 V 0
    wait MTE2 V 0
    add a a b
    set V MTE2 0
    }
    wait V MTE2 0";

#[test]
fn loops_are_proved_for_every_two_turns() {
    proved("a5", LOOP);
    found("a5", &without(LOOP, &["set V", "wait V"]), &["sync-barrier: tload / tload", "sync-missing: tload / tadd"]);
    found(
        "a5",
        &without(LOOP, &["set MTE2", "wait MTE2"]),
        // As if it waited, V then says the same to MTE2.
        &["sync-missing: tadd / tload"],
    );
    // The first wait has no set.
    let primed = LOOP.replacen("set V MTE2 0", "", 1);
    assert!(findings("a5", &primed).contains(&"sync-order-deadlock: wait_flag / set_flag".to_owned()));
    // The last set has no wait.
    let drained = LOOP.rsplit_once("wait").map(|(head, _)| head).expect("a wait");
    found("a5", drained, &["sync-unpaired-set: set_flag"]);
    // A loop that is known to be gone round is left behind a turn only.
    proved("a5", &CHAIN.replace("set MTE2 V 0", "for 3 {\n barrier MTE2\n load x a\n }\n set MTE2 V 0"));
}

#[test]
fn while_loops_are_loops() {
    let script = LOOP.replace("for {", "while {").replace("}", "again\n }");
    proved("a5", &script);
    found(
        "a5",
        &without(&script, &["set V", "wait V"]),
        &["sync-barrier: tload / tload", "sync-missing: tload / tadd"],
    );
}

#[test]
fn flags_are_lowered_as_often_as_raised_on_every_path() {
    found("a5", "set V MTE2 0", &["sync-unpaired-set: set_flag"]);
    found("a5", "wait V MTE2 0", &["sync-unpaired-wait: wait_flag"]);
    found("a5", "set V MTE2 0\n wait V MTE2 0\n wait V MTE2 0", &["sync-unpaired-wait: wait_flag / set_flag"]);
    found("a5", "if {\n set V MTE2 0\n } else {\n }\n wait V MTE2 0", &["sync-unpaired-set: set_flag / if"]);
    found("a5", "set V MTE2 0\n if {\n wait V MTE2 0\n } else {\n }", &["sync-unpaired-wait: wait_flag / set_flag"]);
    proved("a5", "if {\n set V MTE2 0\n } else {\n set V MTE2 0\n }\n wait V MTE2 0");
    proved("a5", "set V MTE2 0\n if {\n wait V MTE2 0\n } else {\n wait V MTE2 0\n }");
    found("a5", "for {\n set V MTE2 0\n }\n barrier ALL", &["sync-unpaired-set: set_flag / for"]);
}

#[test]
fn a_wait_before_its_set_never_ends() {
    found(
        "a5",
        "wait MTE2 V 0\n load x a\n set MTE2 V 0\n add b b b\n wait MTE2 V 0",
        &["sync-order-deadlock: wait_flag / set_flag"],
    );
}

#[test]
fn two_open_intervals_need_two_events() {
    let both =
        "load x a\n set MTE2 V 0\n load x b\n set MTE2 V 1\n wait MTE2 V 0\n add a a a\n wait MTE2 V 1\n add b b b";
    proved("a5", both);
    let one = both.replace("V 1", "V 0");
    assert!(findings("a5", &one).contains(&"sync-id-collision: set_flag / set_flag".to_owned()));
}

const TOKENS: &str = "
    for {
    get TLOAD 3
    load x a
    rls TLOAD 3
    get TVEC 3
    get TVEC 4
    add a a b
    rls TVEC 4
    rls TVEC 3
    get TSTORE_VEC 4
    barrier MTE3
    store b y
    rls TSTORE_VEC 4
    }";

#[test]
fn tokens_order_the_pipes_that_take_them_by_turns() {
    proved("a5", TOKENS);
    // A pipe does not wait for itself.
    let twice = "get TLOAD 0\n load x a\n rls TLOAD 0\n get TLOAD 0\n load y a\n rls TLOAD 0";
    found("a5", twice, &["sync-barrier: tload / tload"]);
    let dropped = without(TOKENS, &["get TVEC 4", "rls TVEC 4"]);
    found("a5", &dropped, &["sync-missing: tadd / tstore", "sync-missing: tstore / tadd"]);
    found("a5", "get TLOAD 0\n get TLOAD 0\n rls TLOAD 0", &["sync-token: get_buf / get_buf"]);
    found("a5", "get TLOAD 0\n get TVEC 0\n rls TVEC 0", &["sync-token: get_buf / get_buf"]);
    found("a5", "rls TLOAD 0", &["sync-token: rls_buf"]);
    found("a5", "get TLOAD 0", &["sync-token: get_buf"]);
    found("a5", "get TLOAD 0\n if {\n rls TLOAD 0\n } else {\n }\n barrier ALL", &["sync-token: get_buf / if"]);
}

#[test]
fn a_syncall_waits_for_other_blocks_not_for_own_stores() {
    found("a5", "store a y\n syncall", &["sync-drain: syncall / tstore"]);
    proved("a5", "store a y\n barrier ALL\n syncall");
    proved("a5", "store a y\n set MTE3 S 0\n wait MTE3 S 0\n syncall");
    proved("a5", "load x a\n syncall");
}

#[test]
fn what_is_known_at_run_time_only_is_not_judged() {
    let program = testing::program_of(&text("a5", "load x a\n set MTE2 V\n add a a b"));
    let verdict = check(&program, testing::kernel(&program));
    assert!(verdict.findings.is_empty());
    let said: Vec<&str> = verdict.unsupported.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "order between pipes cannot be judged at `set_flag_dyn`: its event is known at run time only; constant events are supported"
        ]
    );
}

#[test]
fn history_7_2_1_and_2_tiles_of_two_names_at_one_address() {
    found("a3", "store a y\n add b b a2", &["sync-missing: tadd / tstore"]);
    proved("a3", "store a y\n set MTE3 V 0\n wait MTE3 V 0\n add b b a2");
}

#[test]
fn history_7_2_3_a_store_of_the_turn_before_reads_what_is_rewritten() {
    let guarded = "
        set MTE3 V 0
        for {
        wait MTE3 V 0
        add b b a
        set V MTE3 0
        wait V MTE3 0
        barrier MTE3
        store a y
        set MTE3 V 0
        }
        wait MTE3 V 0";
    proved("a5", guarded);
    found("a5", &without(guarded, &["set MTE3", "wait MTE3"]), &["sync-missing: tadd / tstore"]);
}

#[test]
fn history_7_2_4_and_11_a_pair_of_the_same_pipes_covers_only_what_is_before_its_set() {
    let script = "load x a\n set MTE2 V 0\n load x b\n wait MTE2 V 0\n add a a c\n add b b c";
    found("a5", script, &["sync-missing: tadd / tload"]);
    proved("a5", &script.replace("add b b c", "").replace("load x b", ""));
}

#[test]
fn history_7_2_6_a_pair_in_a_loop_of_no_turns_orders_nothing_behind_it() {
    let inside = "load x a\n for {\n set MTE2 V 0\n wait MTE2 V 0\n }\n add a a b";
    found("a5", inside, &["sync-missing: tadd / tload"]);
    proved("a5", &inside.replace("for {", "for 3 {"));
    // A wait that was moved into the loop.
    let moved = "load x a\n set MTE2 V 0\n for {\n wait MTE2 V 0\n add a a b\n }";
    assert!(findings("a5", moved).contains(&"sync-unpaired-wait: wait_flag / set_flag".to_owned()));
}

#[test]
fn history_7_2_6_an_early_if_may_skip_the_pair() {
    let script = "load x a\n if {\n set MTE2 V 0\n wait MTE2 V 0\n } else {\n }\n add a a b";
    found("a5", script, &["sync-missing: tadd / tload"]);
    proved("a5", &script.replace("} else {", "} else {\n set MTE2 V 0\n wait MTE2 V 0"));
}

#[test]
fn history_7_2_7_and_8_nested_loops_carry_their_guards_inwards_and_outwards() {
    let nested = "
        set V MTE2 0
        for {
        for {
        wait V MTE2 0
        load x a
        set MTE2 V 0
        wait MTE2 V 0
        add a a b
        set V MTE2 0
        }
        }
        wait V MTE2 0";
    proved("a5", nested);
    // The guard of the inner loop alone: the next outer turn loads over what is still read.
    let inner = "
        for {
        for {
        barrier MTE2
        load x a
        set MTE2 V 0
        wait MTE2 V 0
        add a a b
        }
        }";
    found("a5", inner, &["sync-missing: tload / tadd"]);
    let branches = "
        set V MTE2 0
        for {
        wait V MTE2 0
        load x a
        set MTE2 V 0
        if {
        wait MTE2 V 0
        add a a b
        } else {
        wait MTE2 V 0
        add a a c
        }
        set V MTE2 0
        }
        wait V MTE2 0";
    proved("a5", branches);
    let lost = branches.replacen("wait MTE2 V 0\n        add a a c", "add a a c", 1);
    assert!(findings("a5", &lost).contains(&"sync-missing: tadd / tload".to_owned()));
}

#[test]
fn history_7_2_9_an_event_shared_by_overlapping_lifetimes() {
    let shared = "
        add a a b
        set V MTE2 0
        add c c c
        set V MTE2 0
        wait V MTE2 0
        load x b
        wait V MTE2 0
        load x c";
    assert!(findings("a5", shared).contains(&"sync-id-collision: set_flag / set_flag".to_owned()));
}

#[test]
fn history_7_2_10_the_pipes_of_the_cube_core() {
    let text = |arch: &str, sync: [&str; 4]| {
        let (mat, left, right, acc) = match arch {
            "a3" => (
                "!pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>",
                "!pto.tile_buf<left, 16x16xf16, blayout=row_major, slayout=row_major>",
                "!pto.tile_buf<right, 16x16xf16, blayout=row_major, slayout=col_major>",
                "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>",
            ),
            _ => (
                "!pto.tile_buf<mat, 16x16xf16, blayout=col_major, slayout=row_major>",
                "!pto.tile_buf<left, 16x16xf16, blayout=col_major, slayout=row_major>",
                "!pto.tile_buf<right, 16x16xf16, blayout=row_major, slayout=col_major>",
                "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>",
            ),
        };
        let part = |t: &str| format!("!pto.partition_tensor_view<16x16x{t}>");
        format!(
            "module attributes {{pto.target_arch = \"{arch}\"}} {{
             func.func @k(%x: !pto.ptr<f16>, %y: !pto.ptr<f32>) attributes {{pto.kernel_kind = #pto.kernel_kind<cube>, pto.entry}} {{
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c16 = arith.constant 16 : index
             %a0 = arith.constant 0 : i64
             %vx = pto.make_tensor_view %x, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf16>
             %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<?x?xf16> -> {f16}
             %vy = pto.make_tensor_view %y, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
             %py = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<?x?xf32> -> {f32}
             %m = pto.alloc_tile addr = %a0 : {mat}
             %l = pto.alloc_tile addr = %a0 : {left}
             %r = pto.alloc_tile addr = %a0 : {right}
             %c = pto.alloc_tile addr = %a0 : {acc}
             pto.tload ins(%px : {f16}) outs(%m : {mat})
             {}
             pto.tmov ins(%m : {mat}) outs(%l : {left})
             pto.tmov ins(%m : {mat}) outs(%r : {right})
             {}
             pto.tmatmul ins(%l, %r : {left}, {right}) outs(%c : {acc})
             {}
             pto.tmatmul.acc ins(%c, %l, %r : {acc}, {left}, {right}) outs(%c : {acc})
             {}
             pto.tstore ins(%c : {acc}) outs(%py : {f32})
             return
             }}
             }}",
            sync[0], sync[1], sync[2], sync[3],
            f16 = part("f16"),
            f32 = part("f32"),
        )
    };
    let pair = |from: &str, to: &str| {
        format!(
            "pto.set_flag[<PIPE_{from}>, <PIPE_{to}>, <EVENT_ID0>]\n pto.wait_flag[<PIPE_{from}>, <PIPE_{to}>, <EVENT_ID0>]"
        )
    };
    let all = [pair("MTE2", "MTE1"), pair("MTE1", "M"), "pto.barrier <PIPE_M>".to_owned(), pair("M", "FIX")];
    let verdict = |arch: &str, dropped: Option<usize>| {
        let sync = std::array::from_fn(|i| if Some(i) == dropped { "" } else { all[i].as_str() });
        let program = testing::program_of(&text(arch, sync));
        let verdict = check(&program, testing::kernel(&program));
        assert!(verdict.unsupported.is_empty());
        verdict.findings.iter().map(|f| format!("{}: {}", f.rule, f.first.name)).collect::<Vec<_>>()
    };
    for arch in ["a3", "a5"] {
        assert_eq!(verdict(arch, None), [""; 0]);
        assert_eq!(verdict(arch, Some(0)), ["sync-missing: tmov"]);
        assert_eq!(verdict(arch, Some(1)), ["sync-missing: tmatmul"]);
        assert_eq!(verdict(arch, Some(3)), ["sync-missing: tstore"]);
    }
    // On A5 products of one accumulator keep their order without a barrier.
    assert_eq!(verdict("a3", Some(2)), ["sync-barrier: tmatmul.acc"]);
    assert_eq!(verdict("a5", Some(2)), [""; 0]);
}

#[test]
fn history_7_2_12_a_barrier_counts_once_for_each_pair_it_stands_between() {
    let script = "add a a b\n barrier V\n add b b c\n barrier V\n add c c b";
    proved("a3", script);
    found("a3", "add a a b\n barrier V\n add b b c\n add c c b", &["sync-barrier: tadd / tadd"]);
}

#[test]
fn history_7_2_13_disjoint_windows_of_a_tile_need_no_barrier() {
    proved("a3", "load x left\n load x right");
    found("a3", "load x left\n load x left", &["sync-barrier: tload / tload"]);
    found("a3", "load x left\n load x c", &["sync-barrier: tload / tload"]);
    proved("a3", "load x a\n load x b");
}

#[test]
fn history_7_2_14_a_transfer_between_ranks_uses_two_pipes_and_their_events() {
    // The transfer reads what the store writes: MTE2 must wait, by an event that the transfer does not use itself.
    found("a5", "store a y\n tput y b", &["sync-missing: comm.tput / tstore"]);
    proved("a5", "store a y\n set MTE3 MTE2 1\n wait MTE3 MTE2 1\n tput y b");
    // Both phases are behind what MTE2 does next, and what waits for it.
    found("a5", "tput x b\n add a a b", &["sync-missing: tadd / comm.tput", "sync-missing: tadd / comm.tput"]);
    proved("a5", "tput x b\n set MTE2 V 0\n wait MTE2 V 0\n add a a b");
    proved("a5", "tput x b\n load x b".replace("load", "barrier MTE2\n load").as_str());
    // An event of its own in flight.
    let open = "set MTE3 MTE2 0\n tput x b\n wait MTE3 MTE2 0";
    assert!(findings("a5", open).contains(&"sync-id-collision: comm.tput / set_flag".to_owned()));
    proved("a5", &open.replace(" 0", " 1"));
    let two = open.replace(" 0", " 1").replace("tput x b", "tput x b c");
    assert!(findings("a5", &two).contains(&"sync-id-collision: comm.tput / set_flag".to_owned()));
}

#[test]
fn history_7_2_15_a_gather_reads_its_indices_on_the_scalar_unit() {
    let text = |sync: &str| {
        format!(
            "module attributes {{pto.target_arch = \"a3\"}} {{
             func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<i32>) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry}} {{
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c8 = arith.constant 8 : index
             %c64 = arith.constant 64 : index
             %a0 = arith.constant 0 : i64
             %a1 = arith.constant 4096 : i64
             %vx = pto.make_tensor_view %x, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
             %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c64, %c64] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<64x64xf32>
             %vy = pto.make_tensor_view %y, shape = [%c1, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xi32>
             %py = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c1, %c8] : !pto.tensor_view<?x?xi32> -> !pto.partition_tensor_view<1x8xi32>
             %i = pto.alloc_tile addr = %a0 : !pto.tile_buf<vec, 1x8xi32>
             %t = pto.alloc_tile addr = %a1 : !pto.tile_buf<vec, 8x64xf32>
             pto.tload ins(%py : !pto.partition_tensor_view<1x8xi32>) outs(%i : !pto.tile_buf<vec, 1x8xi32>)
             {sync}
             pto.mgather ins(%px, %i : !pto.partition_tensor_view<64x64xf32>, !pto.tile_buf<vec, 1x8xi32>) outs(%t : !pto.tile_buf<vec, 8x64xf32>) {{coalesce = #pto.coalesce<row>}}
             return
             }}
             }}"
        )
    };
    let rules = |sync: &str| {
        let program = testing::program_of(&text(sync));
        let verdict = check(&program, testing::kernel(&program));
        verdict.findings.iter().map(|f| format!("{}: {}", f.rule, f.first.name)).collect::<Vec<_>>()
    };
    assert_eq!(rules("pto.barrier <PIPE_MTE2>"), ["sync-missing: mgather"]);
    let pair = "pto.set_flag[<PIPE_MTE2>, <PIPE_S>, <EVENT_ID0>]\n pto.wait_flag[<PIPE_MTE2>, <PIPE_S>, <EVENT_ID0>]";
    assert_eq!(rules(pair), [""; 0]);
}

#[test]
fn history_7_2_16_tci_runs_on_the_scalar_unit() {
    found("a3", "tci ints\n add ints ints ints2", &["sync-missing: tadd / tci"]);
    proved("a3", "tci ints\n set S V 0\n wait S V 0\n add ints ints ints2");
    // Reading a tile on the scalar unit waits for what made it, and is waited for.
    found("a3", "add a a b\n read b", &["sync-missing: tgetval / tadd"]);
    proved("a3", "add a a b\n set V S 0\n wait V S 0\n read b");
    found("a5", "read b\n add a a b", &["sync-missing: tadd / tgetval"]);
}

#[test]
fn history_7_2_17_a_fence_of_global_memory_orders_every_pipe() {
    proved("a3", "store a y\n put z\n fence gm\n load z b\n set MTE2 S 0\n wait MTE2 S 0\n read b");
    found("a3", "store a y\n barrier FIX\n load y b", &["sync-missing: tload / tstore"]);
}

#[test]
fn a_helper_that_only_reads_is_a_read_of_its_arguments() {
    let rules = |callee: &str, sync: &str| {
        let program = testing::program_of(&format!(
            "module attributes {{pto.target_arch = \"a5\"}} {{
             func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry}} {{
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %c16 = arith.constant 16 : index
             %c64 = arith.constant 64 : index
             %a0 = arith.constant 0 : i64
             %vx = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
             %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> {PART}
             %a = pto.alloc_tile addr = %a0 : {TILE}
             pto.tstore ins(%a : {TILE}) outs(%px : {PART})
             {sync}
             %r = func.call @h(%{callee}) : (!pto.ptr<f32>) -> f32
             return
             }}
             func.func private @h(%p: !pto.ptr<f32>) -> f32 {{
             %c0 = arith.constant 0 : index
             %v = pto.load_scalar %p[%c0] : !pto.ptr<f32> -> f32
             return %v : f32
             }}
             }}"
        ));
        let verdict = check(&program, testing::kernel(&program));
        assert!(verdict.unsupported.is_empty());
        verdict.findings.iter().map(|f| format!("{}: {}", f.rule, f.first.name)).collect::<Vec<_>>()
    };
    assert_eq!(rules("x", ""), ["sync-missing: call"]);
    assert_eq!(rules("y", ""), [""; 0]);
    assert_eq!(rules("x", "pto.barrier <PIPE_ALL>"), [""; 0]);
}
