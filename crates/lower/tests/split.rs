//! The core split on small cluster functions.

use ir::Program;

/// A program: an orchestration that submits the cluster function `k`, whose body is given.
fn program(arch: &str, blocks: &str, body: &str) -> Program {
    let text = format!(
        r#"program "p" {arch} tile entry @main
func @main orchestration(%x: in tensor<64x64xf32>, %y: inout tensor<64x64xf32>, %n: in index) {{
  %task = submit args(%x, %y, %n) {blocks} {{kernels = [@k], name = "k", directions = "in,inout,scalar"}} : task
  return
}}
func @k cluster(%x: in ptr<f32>, %y: inout ptr<f32>, %n: in index) {{
  %0 = const {{value = 0}} : index
  %1 = const {{value = 1}} : index
  %64 = const {{value = 64}} : index
  %vx = make_tensor_view %x shape(%64, %64) strides(%64, %1) : view<64x64xf32>
  %vy = make_tensor_view %y shape(%64, %64) strides(%64, %1) : view<64x64xf32>
  %px = partition_view %vx offsets(%0, %0) sizes(%64, %64) : part<64x64xf32>
  %py = partition_view %vy offsets(%0, %0) sizes(%64, %64) : part<64x64xf32>
{body}
  return
}}
"#
    );
    let text = if arch == "a2a3" { text.replace("left, nz", "left, zz") } else { text };
    match ir::text::parse(&text, "test.tw") {
        Ok(program) => program,
        Err(errors) => panic!("{}", errors.iter().map(|e| format!("{e:?}\n")).collect::<String>()),
    }
}

const PRODUCT: &str = r#"
  %mx = alloc_tile : tile<64x64xf32, mat, nz>
  %l = alloc_tile : tile<64x64xf32, left, nz>
  %r = alloc_tile : tile<64x64xf32, right, zn>
  %acc = alloc_tile : tile<64x64xf32, acc, nz/1024>
  %v = alloc_tile : tile<64x64xf32, vec>
  %back = alloc_tile : tile<64x64xf32, mat, nz>
  %sum = alloc_tile : tile<64x64xf32, vec>
  tload %px outs(%mx)
  textract %mx, %0, %0 outs(%l)
  textract %mx, %0, %0 outs(%r)
  for %0, %n, %1 {kind = range} (%i: index) {
    tmatmul %l, %r outs(%acc)
    tmov %acc outs(%v)
    texp %v outs(%sum)
    tmov %sum outs(%back)
    textract %back, %0, %0 outs(%l)
    yield
  }
  tstore %sum outs(%py)
"#;

/// The text of a function after the split.
fn split(program: &mut Program) -> (String, String) {
    let cluster = program.function("k").expect("the cluster function");
    match lower::split::split(program, cluster) {
        Ok((cube, vector)) => {
            if let Err(errors) = ir::verify::verify(program) {
                panic!("{errors:#?}");
            }
            let text = |id| ir::text::print_function(&program.functions[id]);
            (text(cube), text(vector))
        }
        Err(errors) => panic!("{errors:?}"),
    }
}

/// The lines of a function from the first that starts with `from` on, without indentation.
fn lines<'t>(text: &'t str, from: &str) -> Vec<&'t str> {
    text.lines().map(str::trim).skip_while(|l| !l.starts_with(from)).collect()
}

#[test]
fn each_core_keeps_its_operations_and_the_moves_become_pushes_and_pops() {
    let (cube, vector) = split(&mut program("a5", "", PRODUCT));
    assert_eq!(
        lines(&cube, "tload"),
        [
            "tload %px outs(%mx)",
            "textract %mx, %2, %2 outs(%l)",
            "textract %mx, %2, %2 outs(%r)",
            "for %2, %n, %3 {kind = range} (%i: index) {",
            "tmatmul %l, %r outs(%acc)",
            "tpush_to_aiv %acc {id = 0, split = 0}",
            "%back = tpop_from_aiv {id = 1, split = 0} : tile<64x64xf32, mat, nz>",
            "textract %back, %2, %2 outs(%l)",
            "tfree_from_aiv {id = 1, split = 0}",
            "yield",
            "}",
            "return",
            "}",
        ]
    );
    assert_eq!(
        lines(&vector, "%sum = alloc_tile"),
        [
            "%sum = alloc_tile : tile<64x64xf32, vec>",
            "for %2, %n, %3 {kind = range} (%i: index) {",
            "%v = tpop_from_aic {id = 0, split = 0} : tile<64x64xf32, vec>",
            "texp %v outs(%sum)",
            "tfree_from_aic {id = 0, split = 0}",
            "tpush_to_aic %sum {id = 1, split = 0}",
            "yield",
            "}",
            "tstore %sum outs(%py)",
            "return",
            "}",
        ]
    );
}

#[test]
fn slots_are_in_the_consumers_buffer_on_a5() {
    let mut program = program("a5", "", PRODUCT);
    let (cube, vector) = split(&mut program);
    let setup = |text: &str| -> Vec<String> {
        text.lines().map(str::trim).filter(|l| l.contains("_pipe") || l.contains("reserve")).map(String::from).collect()
    };
    assert_eq!(
        setup(&cube),
        [
            "%0 = import_reserved_buffer {name = \"c2v_slots_0\", peer_func = [@k_aiv]} : i32",
            "aic_initialize_pipe c2v_consumer_buf(%0) {id = 0, dir_mask = 1, slot_size = 16384, slot_num = 4, nosplit = true}",
            "%1 = reserve_buffer {name = \"v2c_slots_1\", size = 65536, location = mat, auto = true} : i32",
            "aic_initialize_pipe v2c_consumer_buf(%1) {id = 1, dir_mask = 2, slot_size = 16384, slot_num = 4, nosplit = true}",
        ]
    );
    assert_eq!(
        setup(&vector),
        [
            "%0 = reserve_buffer {name = \"c2v_slots_0\", size = 65536, location = vec, auto = true} : i32",
            "aiv_initialize_pipe c2v_consumer_buf(%0) {id = 0, dir_mask = 1, slot_size = 16384, slot_num = 4, nosplit = true}",
            "%1 = import_reserved_buffer {name = \"v2c_slots_1\", peer_func = [@k_aic]} : i32",
            "aiv_initialize_pipe v2c_consumer_buf(%1) {id = 1, dir_mask = 2, slot_size = 16384, slot_num = 4, nosplit = true}",
        ]
    );
    let main = ir::text::print_function(&program.functions[program.entry]);
    assert!(main.contains("submit args(%x, %y, %n) {kernels = [@k_aic, @k_aiv], name = \"k\","), "{main}");
    assert!(!main.contains("tensor_create"), "{main}");
}

#[test]
fn slots_are_in_a_workspace_on_a2a3() {
    let mut program = program("a2a3", "blocks(%n)", PRODUCT);
    let (cube, vector) = split(&mut program);
    let main = ir::text::print_function(&program.functions[program.entry]);
    // 16 KiB, four slots, two directions; for each block.
    for line in [
        "%0 = const {value = 131072} : index",
        "%1 = mul %n, %0 : index",
        "%workspace = tensor_create %1 : tensor<?xu8>",
        "submit args(%x, %y, %workspace, %n) blocks(%n) {kernels = [@k_aic, @k_aiv], name = \"k\", \
         directions = \"in,inout,workspace,scalar\"}",
    ] {
        assert!(main.contains(line), "no `{line}` in {main}");
    }
    for text in [&cube, &vector] {
        assert!(
            text.contains("(%x: in ptr<f32>, %y: inout ptr<f32>, %workspace: inout ptr<u8>, %n: in index)"),
            "{text}"
        );
        let rings: Vec<&str> = text.lines().filter(|l| l.contains("addptr") || l.contains("_pipe")).collect();
        assert_eq!(rings.len(), 4, "{text}");
        assert!(rings[1].contains("dir_mask = 1, slot_size = 16384, slot_num = 4, local_slot_num = 2"), "{text}");
        assert!(rings[3].contains("dir_mask = 2, slot_size = 16384, slot_num = 4, local_slot_num = 2"), "{text}");
    }
    // Only the consumer has slots of its own.
    let reserved =
        |text: &str| text.lines().filter(|l| l.contains("reserve_buffer")).map(str::trim).collect::<Vec<_>>().join("");
    assert_eq!(
        reserved(&vector),
        "%6 = reserve_buffer {name = \"c2v_slots_0\", size = 32768, location = vec, auto = true} : i32"
    );
    assert_eq!(
        reserved(&cube),
        "%9 = reserve_buffer {name = \"v2c_slots_1\", size = 32768, location = mat, auto = true} : i32"
    );
}

/// The names of a function's operations in the order of its text, without literals and terminators.
fn names(text: &str) -> Vec<&str> {
    let lines = text.lines().skip(1).map(str::trim);
    let names = lines.map(|l| l.split_once(" = ").filter(|(v, _)| v.starts_with('%')).map_or(l, |(_, op)| op));
    let names = names.map(|l| l.split(' ').next().unwrap_or(""));
    names.filter(|n| !["const", "}", "},", "", "yield", "return", "condition"].contains(n)).collect()
}

/// The names after the last `alloc_tile`, `make_tensor_view` or `partition_view`.
fn work(text: &str) -> Vec<&str> {
    let setup = ["alloc_tile", "make_tensor_view", "partition_view"];
    names(text).into_iter().filter(|n| !setup.contains(n) && !n.ends_with("_pipe") && !n.ends_with("_buffer")).collect()
}

fn refused(mut program: Program) -> diag::Diagnostic {
    let cluster = program.function("k").expect("the cluster function");
    let before = ir::text::print(&program);
    let mut errors = lower::split::split(&mut program, cluster).expect_err("refused");
    assert_eq!(ir::text::print(&program), before, "a refused program is unchanged");
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors.remove(0)
}

const TILES: &str = r#"
  %m = alloc_tile : tile<64x64xf32, mat, nz>
  %l = alloc_tile : tile<64x64xf32, left, nz>
  %r = alloc_tile : tile<64x64xf32, right, zn>
  %acc = alloc_tile : tile<64x64xf32, acc, nz/1024>
  %v = alloc_tile : tile<64x64xf32, vec>
  %w = alloc_tile : tile<64x64xf32, vec>
"#;

fn with_tiles(arch: &str, body: &str) -> Program {
    program(arch, "", &format!("{TILES}{body}"))
}

#[test]
fn conditions_are_computed_on_both_cores_and_carried_scalars_where_they_are_used() {
    let (cube, vector) = split(&mut with_tiles(
        "a5",
        r#"
  %sum, %last = for %0, %n, %1 init(%0, %0) {kind = range} : index, index (%i: index, %a: index, %b: index) {
    %odd = cmp %b, %i {predicate = lt} : i1
    if %odd {
      tmatmul %l, %r outs(%acc)
      tmov %acc outs(%v)
      tstore %v outs(%py)
      yield
    }, {
      yield
    }
    %next = add %a, %i : index
    yield values(%next, %i)
  }
  %cell = tgetval %v, %0, %0 : f32
  tadds %v, %cell outs(%w)
  %q = partition_view %vy offsets(%0, %0) sizes(%64, %64) : part<64x64xf32>
  tstore %w outs(%q)
"#,
    ));
    assert_eq!(work(&cube), ["for", "cmp", "if", "tmatmul", "tpush_to_aiv"]);
    // `%v` is used after the branch too, so the slot is copied.
    assert_eq!(
        work(&vector),
        ["for", "cmp", "if", "tpop_from_aic", "tmov", "tfree_from_aic", "tstore", "tgetval", "tadds", "tstore"]
    );
    for text in [&cube, &vector] {
        assert!(text.contains("{kind = range} : index (%i: index, %b: index) {"), "{text}");
    }
}

#[test]
fn slots_come_back_in_the_order_of_the_pops() {
    let (_, vector) = split(&mut with_tiles(
        "a5",
        r#"
  %u = alloc_tile : tile<64x64xf32, vec>
  tmatmul %l, %r outs(%acc)
  tmov %acc outs(%v)
  tmov %acc outs(%u)
  texp %u outs(%w)
  tadd %v, %w outs(%w)
  tstore %w outs(%py)
"#,
    ));
    let expected = ["tpop_from_aic", "tpop_from_aic", "texp", "tadd", "tfree_from_aic", "tfree_from_aic", "tstore"];
    assert_eq!(work(&vector), expected);
}

#[test]
fn a_crossing_while_an_outer_slot_is_held_has_its_own_fifo() {
    let (_, vector) = split(&mut with_tiles(
        "a5",
        r#"
  %u = alloc_tile : tile<64x64xf32, vec>
  tmatmul %l, %r outs(%acc)
  tmov %acc outs(%v)
  for %0, %n, %1 {kind = range} (%i: index) {
    tmatmul %l, %r outs(%acc)
    tmov %acc outs(%u)
    tadd %u, %v outs(%w)
    tstore %w outs(%py)
    yield
  }
"#,
    ));
    let ids: Vec<&str> = lines(&vector, "%v = tpop").into_iter().filter(|l| l.contains("id = ")).collect();
    assert_eq!(
        ids,
        [
            "%v = tpop_from_aic {id = 0, split = 0} : tile<64x64xf32, vec>",
            "%u = tpop_from_aic {id = 1, split = 0} : tile<64x64xf32, vec>",
            "tfree_from_aic {id = 1, split = 0}",
            "tfree_from_aic {id = 0, split = 0}",
        ]
    );
}

#[test]
fn tokens_keep_the_order_of_accesses_to_global_memory() {
    // The vector core writes what the cube core reads before, and again in the next turn.
    let body = r#"
  tload %px outs(%w)
  for %0, %n, %1 {kind = range} (%i: index) {
    tload %py outs(%m)
    textract %m, %0, %0 outs(%l)
    tstore %w outs(%py)
    yield
  }
"#;
    let (cube, vector) = split(&mut with_tiles("a5", body));
    assert_eq!(work(&cube), ["for", "tload", "tpush_to_aiv", "textract", "tpop_from_aiv", "tfree_from_aiv"]);
    assert_eq!(work(&vector), ["tload", "for", "tpop_from_aic", "tfree_from_aic", "tstore", "tpush_to_aic"]);
    // Another tensor needs no order.
    let (cube, vector) = split(&mut with_tiles("a5", &body.replace("tload %py", "tload %px")));
    assert_eq!(work(&cube), ["for", "tload", "textract"]);
    assert_eq!(work(&vector), ["tload", "for", "tstore"]);
}

#[test]
fn a_scalar_of_the_vector_core_that_the_cube_core_needs_is_refused() {
    let error = refused(with_tiles(
        "a5",
        r#"
  tload %px outs(%v)
  %cell = tgetval %v, %0, %0 : f32
  %zero = const {value = 0.0} : f32
  %go = cmp %cell, %zero {predicate = gt} : i1
  if %go {
    tmatmul %l, %r outs(%acc)
    yield
  }, {
    yield
  }
  tmov %acc outs(%w)
  tstore %w outs(%py)
"#,
    ));
    assert_eq!((error.code, error.kind), ("scalar-across-cores", diag::Kind::Unsupported));
    assert_eq!(error.message, "`k`: the cube core needs a scalar that tgetval reads from a tile of the vector core");
}

#[test]
fn other_ways_between_the_cores_are_refused() {
    let error = refused(with_tiles("a5", "  tinsert %v, %0, %0 outs(%m)\n"));
    assert_eq!((error.code, error.kind), ("core-crossing", diag::Kind::Unsupported));
    assert!(error.message.contains("tinsert works on vec, mat"), "{}", error.message);
}

/// Two large tiles that are needed together, from the cube core to the vector core or back.
const LARGE: &str = r#"
  %big = alloc_tile : tile<128x128xf32, SOURCE>
  %one = alloc_tile : tile<128x128xf32, DEST>
  %two = alloc_tile : tile<128x128xf32, DEST>
  tmov %big outs(%one)
  tmov %big outs(%two)
"#;

#[test]
fn large_tiles_that_are_needed_together_are_copied_out_of_one_slot() {
    let body = LARGE.replace("SOURCE", "acc, nz/1024").replace("DEST", "vec");
    let uses = r#"
  %sum = alloc_tile : tile<128x128xf32, vec>
  tadd %one, %two outs(%sum)
  texp %one outs(%sum)
"#;
    let (_, vector) = split(&mut program("a5", "", &format!("{body}{uses}")));
    let turn = ["tpop_from_aic", "tmov", "tfree_from_aic"];
    assert_eq!(work(&vector), [&turn[..], &turn[..], &["tadd", "texp"]].concat());
    assert!(vector.contains("size = 65536, location = vec"), "{vector}");
}

#[test]
fn slots_beyond_the_consumers_buffer_are_over_capacity() {
    let body = LARGE.replace("SOURCE", "vec").replace("DEST", "mat, nz").replace("128x128", "128x512");
    let uses = r#"
  %x0 = alloc_tile : tile<64x64xf32, left, nz>
  textract %two, %0, %0 outs(%x0)
  textract %one, %0, %0 outs(%x0)
"#;
    let error = refused(program("a5", "", &format!("{body}{uses}")));
    assert_eq!(error.code, "over-capacity");
    assert_eq!(
        error.message,
        "`k` needs 1048576 bytes of mat for 4 slots of 262144 bytes between its cores; a5 has 524288"
    );
}
