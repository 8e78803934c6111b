//! Footprints against a brute-force walk of the same loops, byte by byte.

use std::collections::BTreeSet;
use std::fmt::Write;

use chip::Arch;
use dtype::{DType, Profile, Scalar};
use machine::{Frame, Kernel, Touch};
use memory::{Arg, Buffer, View};

fn kernel(text: &str) -> Kernel {
    let program = ir::text::parse_located(text, "test.tw").unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    let func = &program.functions[program.entry];
    Kernel::new(func, Arch::A2a3, Profile::A2a3).unwrap_or_else(|e| panic!("{e:#?}\n{text}"))
}

fn tensor() -> Arg {
    Arg::Tensor(View::new(Buffer::zeroed(4096), DType::F32, &[1024]).unwrap())
}

fn touches(kernel: &Kernel, args: &[Arg], blocks: u32) -> Option<Vec<Touch>> {
    kernel.footprint.touches(&mut Frame::default(), args, blocks, None)
}

/// Bytes relative to the pointer, reads and writes.
fn bytes(touches: &[Touch]) -> [BTreeSet<i64>; 2] {
    let mut out = [BTreeSet::new(), BTreeSet::new()];
    for t in touches {
        let region = t.region.expect("an exact region");
        let mut set: BTreeSet<i64> = (region.start..region.start + region.run).collect();
        for &(n, s) in region.dims() {
            set = set.iter().flat_map(|&x| (0..n).map(move |i| x + i * s)).collect();
        }
        out[usize::from(t.write)].extend(set);
    }
    out
}

/// `for i in 0..a: for j in 0..b:` a load of `h × w` at (i·p + j·q + block·r, i·s + j·t) of a 64 × 64 matrix, and a store
/// at another such place if i ≥ c.
#[test]
fn loops_of_boxes_are_exact() {
    let mut regions = 0;
    for seed in 0..200 {
        let mut rng = control::Control::new(seed);
        let mut pick = |n: usize| rng.choose(n) as i64;
        let (a, b, c, blocks) = (1 + pick(4), 1 + pick(5), pick(4), 1 + pick(3));
        let (h, w) = (1 + pick(4), 1 + pick(8));
        let step: Vec<i64> = (0..10).map(|_| pick(4)).collect();
        let mut t = String::from(
            "program \"p\" a2a3 tile entry @k\nfunc @k kernel(vector)(%x: inout ptr<f32>, %a: in index, %b: in index) {\n",
        );
        for v in 0..65 {
            writeln!(t, "  %c{v} = const {{value = {v}}} : index").unwrap();
        }
        writeln!(
            t,
            "  %v = make_tensor_view %x shape(%c64, %c64) strides(%c64, %c1) : view<64x64xf32>
  %tile = alloc_tile : tile<4x8xf32, valid {h}x{w}, vec>
  %b64 = get_block_idx : i64
  %blk = cast %b64 : index
  for %c0, %a, %c1 {{kind = range}} (%i: index) {{
    for %c0, %b, %c1 {{kind = range}} (%j: index) {{"
        )
        .unwrap();
        for (name, at) in [("load", 0), ("store", 5)] {
            let n = |k: usize| format!("%c{}", step[at + k]);
            writeln!(
                t,
                "      %{name}0 = mul %i, {} : index
      %{name}1 = mul %j, {} : index
      %{name}2 = mul %blk, {} : index
      %{name}3 = add %{name}0, %{name}1 : index
      %{name}r = add %{name}3, %{name}2 : index
      %{name}4 = mul %i, {} : index
      %{name}5 = mul %j, {} : index
      %{name}c = add %{name}4, %{name}5 : index
      %{name}p = partition_view %v offsets(%{name}r, %{name}c) sizes(%c{h}, %c{w}) : part<{h}x{w}xf32>",
                n(0),
                n(1),
                n(2),
                n(3),
                n(4)
            )
            .unwrap();
        }
        writeln!(
            t,
            "      tload %loadp outs(%tile)
      %late = cmp %i, %c{c} {{predicate = ge}} : i1
      if %late {{
        tstore %tile outs(%storep)
        yield
      }}, {{
        yield
      }}
      yield
    }}
    yield
  }}
  return
}}"
        )
        .unwrap();
        let args = [tensor(), Arg::Scalar(Scalar::index(a)), Arg::Scalar(Scalar::index(b))];
        let found = touches(&kernel(&t), &args, blocks as u32).expect("a skeleton");
        let mut expected = [BTreeSet::new(), BTreeSet::new()];
        for (blk, i, j) in (0..blocks).flat_map(|k| (0..a).flat_map(move |i| (0..b).map(move |j| (k, i, j)))) {
            for (write, at) in [(0, 0), (1, 5)] {
                if write == 1 && i < c {
                    continue;
                }
                let s = &step[at..];
                let (r, q) = (i * s[0] + j * s[1] + blk * s[2], i * s[3] + j * s[4]);
                for (y, x) in (0..h).flat_map(|y| (0..w * 4).map(move |x| (y, x))) {
                    expected[write].insert(((r + y) * 64 + q) * 4 + x);
                }
            }
        }
        assert_eq!(bytes(&found), expected, "seed {seed}\n{t}");
        regions += found.len();
    }
    assert!(regions < 200 * 8, "{regions} regions: progressions no longer merge");
}

const PLANNED: &str = r#"
program "p" a2a3 tile entry @k
func @k kernel(vector)(%order: in ptr<i32>, %x: in ptr<f32>, %out: out ptr<f32>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c4 = const {value = 4} : index
  %c8 = const {value = 8} : index
  %vx = make_tensor_view %x shape(%c4, %c8) strides(%c8, %c1) : view<4x8xf32>
  %vo = make_tensor_view %out shape(%c4, %c8) strides(%c8, %c1) : view<4x8xf32>
  %t = alloc_tile : tile<1x8xf32, vec>
  for %c0, %c4, %c1 {kind = range} (%i: index) {
    %o = load_scalar %order, %i : i32
    %row = cast %o : index
    %px = partition_view %vx offsets(%row, %c0) sizes(%c1, %c8) : part<1x8xf32>
    %po = partition_view %vo offsets(%i, %c0) sizes(%c1, %c8) : part<1x8xf32>
    tload %px outs(%t)
    tstore %t outs(%po)
    yield
  }
  return
}
"#;

#[test]
fn an_address_from_memory_makes_its_argument_count_as_a_whole_and_no_other() {
    let args = [Arg::Tensor(View::new(Buffer::zeroed(16), DType::I32, &[4]).unwrap()), tensor(), tensor()];
    let found = touches(&kernel(PLANNED), &args, 1).unwrap();
    let whole: Vec<_> = found.iter().filter(|t| t.region.is_none()).map(|t| (t.param, t.write)).collect();
    assert_eq!(whole, [(1, false)]);
    let exact: Vec<_> = found.iter().filter_map(|t| t.region.map(|r| (t.param, t.write, r.start, r.end()))).collect();
    assert_eq!(exact, [(0, false, 0, 16), (2, true, 0, 128)]);
}

/// Whatever the indices are: a gather reads the box it chooses from, and a scatter may read and write all of its own.
#[test]
fn an_indexed_transfer_touches_its_whole_box_and_no_more() {
    let text = PLANNED
        .replace("  %t = alloc_tile", "  %n = alloc_tile : tile<1x8xi32, vec>\n  %t = alloc_tile")
        .replace("offsets(%row, %c0)", "offsets(%i, %c0)")
        .replace("tload %px outs(%t)", "mgather %px, %n outs(%t) {mode = elem}")
        .replace("tstore %t outs(%po)", "mscatter %t, %n outs(%po) {mode = elem, out_of_range = skip}");
    let args = [Arg::Tensor(View::new(Buffer::zeroed(16), DType::I32, &[4]).unwrap()), tensor(), tensor()];
    let found = touches(&kernel(&text), &args, 1).expect("a skeleton");
    let exact: Vec<_> = found.iter().filter_map(|t| t.region.map(|r| (t.param, t.write, r.start, r.end()))).collect();
    assert_eq!(exact, [(0, false, 0, 16), (1, false, 0, 128), (2, true, 0, 128), (2, false, 0, 128)]);
    // Boxes at data-dependent places: the arguments as wholes.
    let text = text.replace("offsets(%i, %c0)", "offsets(%row, %c0)");
    let found = touches(&kernel(&text), &args, 1).expect("a skeleton");
    let whole: Vec<_> = found.iter().filter(|t| t.region.is_none()).map(|t| (t.param, t.write)).collect();
    assert_eq!(whole, [(1, false), (2, true), (2, false)]);
}

#[test]
fn control_that_depends_on_memory_has_no_skeleton_unless_it_does_not_matter() {
    let guard = "    %pos = cmp %row, %c1 {predicate = ge} : i1\n    if %pos {\n      tstore %t outs(%po)\n      yield\n    }, {\n      yield\n    }\n";
    let text = PLANNED.replace("    tstore %t outs(%po)\n", guard);
    assert!(!kernel(&text).footprint.is_known());
    // The same branch around arithmetic on tiles says nothing about accesses.
    let harmless = guard.replace("tstore %t outs(%po)", "tadd %t, %t outs(%t)") + "    tstore %t outs(%po)\n";
    assert!(kernel(&PLANNED.replace("    tstore %t outs(%po)\n", &harmless)).footprint.is_known());
}

#[test]
fn malformed_functions_are_errors() {
    let breaks = [
        ("tload %px outs(%t)", "tload %t outs(%px)"),
        ("tstore %t outs(%po)", "tadd %t, %i outs(%t)"),
        ("    yield\n  }", "    yield %c0\n  }"),
        ("load_scalar %order, %i", "load_scalar %i, %i"),
        ("  return\n", "  tadd %t, %t outs(%t)\n"),
    ];
    for (from, to) in breaks {
        let text = PLANNED.replace(from, to);
        assert_ne!(text, PLANNED);
        let program = ir::text::parse_located(&text, "test.tw").unwrap_or_else(|e| panic!("{e:#?}"));
        let func = &program.functions[program.entry];
        let errors = Kernel::new(func, Arch::A2a3, Profile::A2a3).err().unwrap_or_else(|| panic!("accepted: {to}"));
        assert_eq!(errors[0].code, "malformed-operation", "{errors:?}");
    }
}
