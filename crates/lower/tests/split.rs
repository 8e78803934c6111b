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
