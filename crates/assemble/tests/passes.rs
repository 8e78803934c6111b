//! The passes of a kernel file, each on a text that shows what it does: what comes out passes the verifier, prints and
//! reads back.

use assemble::pass::{Level, Pass, Settings, Sync, passes};
use assemble::{Limits, Options, level_rules};
use chip::Arch;
use control::Control;
use diag::{Diagnostic, Sources};
use ir::{Attrs, Builder, Function, FunctionKind, Opcode, Program};

fn read(text: &str, arch: Arch) -> Program {
    program(text, arch, |text, sources| pto::parse_for(text, Some(arch), sources))
}

type Parsed = Result<Vec<Function>, Vec<Diagnostic>>;

fn program(text: &str, arch: Arch, parse: impl Fn(&str, &mut Sources) -> Parsed) -> Program {
    let mut sources = Sources::default();
    let kernels = parse(text, &mut sources).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    Builder::new(&mut main).effect(Opcode::Return, &[&[]], Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

/// As [`read`], every operation at the place where it stands.
fn located(text: &str, arch: Arch) -> Program {
    program(text, arch, |text, sources| pto::parse_located(text, "k.pto", Some(arch), sources))
}

fn print(program: &Program) -> String {
    let ids: Vec<_> = program.functions.keys().filter(|id| *id != program.entry).collect();
    pto::print(program, &ids)
}

fn run(program: &mut Program, pass: Pass, settings: &Settings) -> Result<(), Vec<Diagnostic>> {
    pass.run(program, settings, &mut Control::new(0))?;
    ir::verify::assembler(program).unwrap_or_else(|e| panic!("{}: {e:#?}\n{}", pass.name(), print(program)));
    let text = print(program);
    assert_eq!(print(&read(&text, program.arch)), text, "{}", pass.name());
    Ok(())
}

fn after(text: &str, arch: Arch, level: Level, all: &[Pass]) -> String {
    let mut program = located(text, arch);
    let settings = Settings::new(level);
    for &pass in all {
        run(&mut program, pass, &settings).unwrap_or_else(|e| panic!("{}: {e:#?}", pass.name()));
    }
    print(&program)
}

fn codes(errors: &[Diagnostic]) -> Vec<(&'static str, u32)> {
    errors.iter().map(|e| (e.code, e.primary.as_ref().map_or(0, |l| l.span.line))).collect()
}

/// A vector kernel around these lines.
fn kernel(body: &str) -> String {
    format!("module {{\n  func.func @k(%p: !pto.ptr<f32>, %n: index) {{\n{body}\n    return\n  }}\n}}\n")
}

fn has(text: &str, wanted: &[&str]) {
    let mut rest = text;
    for line in wanted {
        match rest.find(line) {
            Some(at) => rest = &rest[at + line.len()..],
            None => panic!("no `{line}` in order in\n{text}"),
        }
    }
}

const TILE: &str = "!pto.tile_buf<vec, 8x16xf32>";

#[test]
fn levels_decide_who_gives_addresses() {
    let unplaced = kernel(&format!("    %t = pto.alloc_tile : {TILE}"));
    let placed = kernel(&format!("    %a = arith.constant 64 : i64\n    %t = pto.alloc_tile addr = %a : {TILE}"));
    for (text, level, expected) in [
        (&unplaced, Level::Two, None),
        (&unplaced, Level::Three, Some(("level-address", 3))),
        (&placed, Level::One, Some(("level-address", 4))),
        (&placed, Level::Two, Some(("level-address", 4))),
        (&placed, Level::Three, None),
    ] {
        let found = level_rules(&located(text, Arch::A5), &Settings::new(level)).err().unwrap_or_default();
        assert_eq!(codes(&found), expected.into_iter().collect::<Vec<_>>(), "{level:?}");
    }
}

#[test]
fn levels_decide_about_reserved_buffers_and_steps_are_positive() {
    let reserve = |rest: &str| {
        kernel(&format!(
            "    %b = pto.reserve_buffer {{name = \"s\", size = 512, location = #pto.address_space<vec>, {rest}}} -> i32"
        ))
    };
    for (rest, level, expected) in [
        ("auto = true", Level::Two, None),
        ("auto = true", Level::Three, Some("level-reserve")),
        ("auto = true, base = 0", Level::One, Some("level-reserve")),
        ("auto = false", Level::Two, Some("level-reserve")),
        ("auto = false, base = 512", Level::Three, None),
        ("auto = false, base = 32", Level::Three, Some("reserve-base")),
        ("auto = false, base = 262144", Level::Three, Some("reserve-base")),
    ] {
        let found = level_rules(&located(&reserve(rest), Arch::A5), &Settings::new(level)).err().unwrap_or_default();
        let found: Vec<_> = found.iter().map(|e| e.code).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{rest} at {level:?}");
    }
    for (step, fits) in [(1, true), (0, false), (-2, false)] {
        let text = kernel(&format!(
            "    %c = arith.constant 0 : index\n    %s = arith.constant {step} : index\n    scf.for %i = %c to %n step %s {{\n    }}"
        ));
        let found = level_rules(&located(&text, Arch::A5), &Settings::new(Level::Two)).err().unwrap_or_default();
        assert_eq!(codes(&found), if fits { vec![] } else { vec![("loop-step", 5)] }, "{step}");
    }
}

#[test]
fn hints_for_the_end_and_addresses_of_tiles_are_checked() {
    for (hint, fits) in [("barrier-all", true), ("mte3_to_s_event0", true), ("whenever", false)] {
        let text = format!(
            "module {{\n  func.func @k() attributes {{pto.auto_sync_tail_hint = \"{hint}\"}} {{\n    return\n  }}\n}}\n"
        );
        let found = level_rules(&located(&text, Arch::A5), &Settings::new(Level::Three)).err().unwrap_or_default();
        assert_eq!(found.len(), usize::from(!fits), "{hint}");
        assert!(found.iter().all(|e| e.code == "tail-hint"));
    }
    let text = kernel(&format!(
        "    %a = arith.constant 64 : i64\n    %t = pto.alloc_tile addr = %a : {TILE}\n    %u = pto.tassign %t, %a : {TILE} -> {TILE}"
    ));
    let program = located(&text, Arch::A5);
    let mut settings = Settings::new(Level::Three);
    assert!(level_rules(&program, &settings).is_ok());
    settings.sync = Sync::Flags;
    assert_eq!(codes(&level_rules(&program, &settings).expect_err("synced")), [("level-assign", 5)]);
}

#[test]
fn events_become_flags_and_a5_needs_no_vector_barriers() {
    let event = |name: &str, from: &str, to: &str| {
        format!("    pto.{name} [#pto.pipe_event_type<{from}>, #pto.pipe_event_type<{to}>, #pto.event<EVENT_ID2>]\n")
    };
    let text = kernel(
        &[
            event("record_event", "TLOAD", "TVEC"),
            event("wait_event", "TLOAD", "TVEC"),
            event("record_event", "TVEC", "TVECWAIT_EVENT"),
            event("wait_event", "TVEC", "TVECWAIT_EVENT"),
            "    pto.barrier <PIPE_V>\n    pto.barrier <PIPE_ALL>".into(),
        ]
        .concat(),
    );
    let a3 = after(&text, Arch::A2a3, Level::Three, &[Pass::LowerEvents]);
    has(
        &a3,
        &["pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID2>]", "pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID2>]"],
    );
    assert_eq!(a3.matches("pto.barrier <PIPE_V>").count(), 2, "{a3}");
    let a5 = after(&text, Arch::A5, Level::Three, &[Pass::LowerEvents]);
    assert!(!a5.contains("PIPE_V>\n") && a5.contains("pto.barrier <PIPE_ALL>"), "{a5}");
    assert!(!a5.contains("event_type") && !a3.contains("event_type"));
}

fn view(shape: [i64; 2], strides: [i64; 2], layout: &str) -> String {
    let [r, c] = shape;
    kernel(&format!(
        "    %r = arith.constant {r} : index\n    %c = arith.constant {c} : index\n    %x = arith.constant {} : index\n    \
         %y = arith.constant {} : index\n    \
         %v = pto.make_tensor_view %p, shape = [%r, %c], strides = [%x, %y]{layout} : !pto.tensor_view<{r}x{c}xf32>",
        strides[0], strides[1]
    ))
}

#[test]
fn layouts_follow_from_strides() {
    for (shape, strides, expected) in [
        ([8, 16], [16, 1], "nd"),
        ([8, 16], [1, 8], "dn"),
        ([8, 1], [1, 1], "dn"),
        ([1, 16], [16, 1], "nd"),
        // Neither rows nor columns are packed.
        ([8, 16], [64, 2], "nd"),
    ] {
        let out = after(&view(shape, strides, ""), Arch::A5, Level::Two, &[Pass::InferLayouts]);
        let wanted = format!("{{layout = #pto.layout<{expected}>, pto.inferred_layout = true}}");
        assert!(out.contains(&wanted), "{shape:?} {strides:?}\n{out}");
    }
    // A stated one stays, if it can be so.
    let both = view([8, 1], [1, 1], " {layout = #pto.layout<nd>}");
    let out = after(&both, Arch::A5, Level::Two, &[Pass::InferLayouts]);
    assert!(out.contains("{layout = #pto.layout<nd>}"), "{out}");
    let mut wrong = located(&view([8, 16], [16, 1], " {layout = #pto.layout<dn>}"), Arch::A5);
    let errors = run(&mut wrong, Pass::InferLayouts, &Settings::new(Level::Two)).expect_err("columns");
    assert_eq!(codes(&errors), [("view-layout", 7)]);
}

#[test]
fn a_column_is_what_its_tiles_are() {
    let text = view([1, 8], [8, 1], "").replace(
        "    return",
        "    %z = arith.constant 0 : index\n    \
         %b = pto.partition_view %v, offsets = [%z, %z], sizes = [%r, %c] : !pto.tensor_view<1x8xf32> -> !pto.partition_tensor_view<1x8xf32>\n    \
         %t = pto.alloc_tile : !pto.tile_buf<vec, 8x8xf32, valid=1x8, blayout=col_major>\n    \
         pto.tload ins(%b : !pto.partition_tensor_view<1x8xf32>) outs(%t : !pto.tile_buf<vec, 8x8xf32, valid=1x8, blayout=col_major>)\n    return",
    );
    let out = after(&text, Arch::A5, Level::Two, &[Pass::InferLayouts]);
    assert!(out.contains("#pto.layout<dn>, pto.inferred_layout"), "{out}");
}

#[test]
fn copies_of_columns_go_by_rows_and_keep_their_extents() {
    let ty = "!pto.tile_buf<vec, 16x1xf32, valid=?x?, blayout=col_major>";
    let text = kernel(&format!(
        "    %one = arith.constant 1 : index\n    \
         %s = pto.alloc_tile valid_row = %n valid_col = %one : {ty}\n    \
         %d = pto.alloc_tile valid_row = %n valid_col = %one : {ty}\n    \
         pto.tmov ins(%s : {ty}) outs(%d : {ty})"
    ));
    let out = after(&text, Arch::A5, Level::Two, &[Pass::MoveColumns]);
    let row = "!pto.tile_buf<vec, 1x16xf32, valid=?x?>";
    has(&out, &["pto.treshape", row, "pto.treshape", row, "pto.tmov ins(", row]);
    let a3 = after(&text, Arch::A2a3, Level::Two, &[Pass::MoveColumns]);
    assert!(!a3.contains("treshape"), "{a3}");
}

#[test]
fn scratch_is_made_where_someone_plans_and_demanded_elsewhere() {
    let (column, addr) = ("!pto.tile_buf<vec, 8x1xf32, blayout=col_major>", " addr = %a");
    let body = |addr: &str| {
        kernel(&format!(
            "    %a = arith.constant 0 : i64\n    %s = pto.alloc_tile{addr} : {TILE}\n    %d = pto.alloc_tile{addr} : {column}\n    \
             pto.trowmax ins(%s : {TILE}) outs(%d : {column})"
        ))
    };
    let a3 = after(&body(""), Arch::A2a3, Level::Two, &[Pass::Scratch]);
    has(&a3, &[&format!("pto.alloc_tile : {TILE}"), &format!("pto.alloc_tile : {TILE}"), "pto.trowmax ins(", ", "]);
    let a5 = after(&body(""), Arch::A5, Level::Two, &[Pass::Scratch, Pass::Place]);
    assert!(a5.contains("!pto.tile_buf<vec, 1x8xf32>"), "{a5}");
    let mut a3 = located(&body(addr), Arch::A2a3);
    let errors = run(&mut a3, Pass::Scratch, &Settings::new(Level::Three)).expect_err("nobody plans");
    assert_eq!(codes(&errors), [("scratch-needed", 6)]);
    let a5 = after(&body(addr), Arch::A5, Level::Three, &[Pass::Scratch]);
    assert!(!a5.contains("1x8xf32"), "{a5}");
}

#[test]
fn several_tiles_become_tiles_at_addresses() {
    let several = "!pto.multi_tile_buf<vec, 8x16xf32, count=3>";
    let text = kernel(&format!(
        "    %z = arith.constant 0 : index\n    %two = arith.constant 2 : index\n    %m = pto.alloc_multi_tile : {several}\n    \
         %o = pto.alloc_tile : {TILE}\n    %x = pto.multi_tile_get %m[%two] : {several} -> {TILE}\n    \
         %y = pto.multi_tile_get %m[%n] : {several} -> {TILE}\n    \
         pto.tadd ins(%x, %y : {TILE}, {TILE}) outs(%o : {TILE})\n    \
         pto.tadd ins(%o, %y : {TILE}, {TILE}) outs(%x : {TILE})\n    \
         pto.tadd ins(%o, %x : {TILE}, {TILE}) outs(%o : {TILE})"
    ));
    let mut program = read(&text, Arch::A5);
    let options = Options { limits: Limits::Assembler, ..Options::default() };
    let plan = assemble::plan(&program, &options).expect("fits");
    let [several, one] = &plan.functions[0].tiles[..] else { panic!("{plan:?}") };
    assert_eq!((several.bytes, one.bytes), (1536, 512));
    assert!(one.address >= several.address + 1536 || one.address + 512 <= several.address);
    for pass in [Pass::Place, Pass::ResolveTurns] {
        run(&mut program, pass, &Settings::new(Level::Two)).expect("resolved");
    }
    let out = print(&program);
    assert!(!out.contains("multi_tile"), "{out}");
    assert_eq!(out.matches("arith.select").count(), 2, "{out}");
    has(&out, &[&format!("arith.constant {} : i64", several.address + 1024), "pto.alloc_tile addr = "]);
}

#[test]
fn a_move_to_where_a_tile_is_goes_unless_its_destination_is_used() {
    let text = |more: &str, other: u64| {
        kernel(&format!(
            "    %a = arith.constant 256 : i64\n    %b = arith.constant {other} : i64\n    %c = arith.constant 2048 : i64\n    \
             %s = pto.alloc_tile addr = %a : {TILE}\n    %d = pto.alloc_tile addr = %b : {TILE}\n    \
             %o = pto.alloc_tile addr = %c : {TILE}\n    pto.tmov ins(%s : {TILE}) outs(%d : {TILE})\n{more}"
        ))
    };
    let used = format!("    pto.tmov ins(%d : {TILE}) outs(%o : {TILE})");
    for (text, moves) in [(text("", 256), 0), (text("", 288), 1), (text(&used, 256), 2), (text("", 1024), 1)] {
        let out = after(&text, Arch::A5, Level::Three, &[Pass::IdentityMoves]);
        assert_eq!(out.matches("pto.tmov").count(), moves, "{out}");
    }
}

const FIFO: &str = r#"module {
  func.func @c(%n: index) attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
    %b = pto.import_reserved_buffer {name = "slots", peer_func = @v} -> i32
    pto.aic_initialize_pipe {id = 3, dir_mask = 1, slot_size = 1024} (c2v_consumer_buf = %b : i32)
    %t = pto.alloc_tile : !pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>
    pto.tpush_to_aiv(%t : !pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>) {id = 3, split = 1}
    return
  }
  func.func @v(%n: index) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
    %b = pto.reserve_buffer {name = "slots", size = 8192, location = #pto.address_space<vec>, auto = true} -> i32
    pto.aiv_initialize_pipe {id = 3, dir_mask = 1, slot_size = 1024} (c2v_consumer_buf = %b : i32)
    %t = pto.tpop_from_aic {id = 3, split = 1} -> !pto.tile_buf<vec, 8x16xf32>
    pto.tfree_from_aic {id = 3, split = 1}
    return
  }
}
"#;

#[test]
fn fifos_become_values_for_a_backend() {
    let mut settings = Settings::new(Level::Two);
    settings.backend_forms = true;
    let mut program = read(FIFO, Arch::A5);
    for pass in passes(&settings) {
        run(&mut program, pass, &settings).unwrap_or_else(|e| panic!("{e:#?}"));
    }
    let out = print(&program);
    for gone in ["initialize_pipe", "_to_aiv", "_from_aic", "reserve"] {
        assert!(!out.contains(gone), "{gone}\n{out}");
    }
    assert_eq!(out.matches("pto.initialize_l2l_pipe").count(), 2, "{out}");
    assert_eq!(out.matches("flag_base = 0").count(), 2, "{out}");
    assert_eq!(out.matches("nosplit = false").count(), 2, "{out}");
    assert_eq!(out.matches("slot_num = 8").count(), 2, "{out}");
    has(&out, &["pto.tpush(", "pto.declare_tile", "pto.tpop(", "pto.tfree("]);
}

#[test]
fn ends_of_a_fifo_agree_on_splits_and_flags_are_counted() {
    let mut settings = Settings::new(Level::Two);
    settings.backend_forms = true;
    let stated = FIFO.replacen("slot_size = 1024}", "slot_size = 1024, nosplit = true}", 1);
    let errors = run(&mut located(&stated, Arch::A5), Pass::LowerFifos, &settings).expect_err("it splits");
    assert_eq!(codes(&errors), [("fifo-split", 6)]);
    let line = "    pto.aiv_initialize_pipe {id = 3, dir_mask = 1, slot_size = 1024} (c2v_consumer_buf = %b : i32)\n";
    let more: String = (4..12).map(|id| line.replace("id = 3", &format!("id = {id}"))).collect();
    let many = FIFO.replace(line, &format!("{line}{more}"));
    let errors = run(&mut located(&many, Arch::A5), Pass::LowerFifos, &settings).expect_err("18 flags");
    assert_eq!(errors.iter().map(|e| e.code).collect::<Vec<_>>(), ["fifo-flags"]);
}

#[test]
fn blocks_that_jump_are_not_planned() {
    let text = kernel(&format!("    %t = pto.alloc_tile : {TILE}\n    cf.br ^bb1\n  ^bb1:"));
    let errors = assemble::plan(&located(&text, Arch::A5), &Options::default()).expect_err("refused");
    assert_eq!(codes(&errors), [("unstructured", 2)]);
}

#[test]
fn thousands_of_tiles_are_planned() {
    // Each is made, loaded, combined with the one before, and stored.
    let count = 4000;
    let mut body = format!(
        "    %z = arith.constant 0 : index\n    %r = arith.constant 8 : index\n    %c = arith.constant 16 : index\n    %one = arith.constant 1 : index\n    \
         %v = pto.make_tensor_view %p, shape = [%r, %c], strides = [%c, %one] : !pto.tensor_view<8x16xf32>\n    \
         %b = pto.partition_view %v, offsets = [%z, %z], sizes = [%r, %c] : !pto.tensor_view<8x16xf32> -> !pto.partition_tensor_view<8x16xf32>\n    \
         %t0 = pto.alloc_tile : {TILE}\n    pto.tload ins(%b : !pto.partition_tensor_view<8x16xf32>) outs(%t0 : {TILE})\n"
    );
    for i in 1..count {
        let before = i - 1;
        body += &format!(
            "    %t{i} = pto.alloc_tile : {TILE}\n    pto.tload ins(%b : !pto.partition_tensor_view<8x16xf32>) outs(%t{i} : {TILE})\n    \
             pto.tadd ins(%t{i}, %t{before} : {TILE}, {TILE}) outs(%t{i} : {TILE})\n"
        );
    }
    body += &format!("    pto.tstore ins(%t{} : {TILE}) outs(%b : !pto.partition_tensor_view<8x16xf32>)", count - 1);
    let program = read(&kernel(&body), Arch::A5);
    let options = Options { limits: Limits::Assembler, ..Options::default() };
    let plan = assemble::plan(&program, &options).expect("fits");
    let function = &plan.functions[0];
    assert_eq!(function.tiles.len(), count);
    assert_eq!(function.spaces.iter().map(|u| (u.planned, u.least)).collect::<Vec<_>>(), [(1024, 1024)]);
}
