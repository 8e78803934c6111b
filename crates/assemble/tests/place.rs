//! What `place` does on small kernels.

use assemble::{FunctionPlan, Options, place, plan};
use chip::{Arch, Core, Space};
use diag::{FileId, Span};
use dtype::{DType, Scalar};
use ir::builder::{NewOp, attrs};
use ir::{
    Arena, Attr, Attrs, Block, Builder, Dim, Function, FunctionKind, Level, Opcode, Program, TileType, Type, Value,
};

/// A kernel on the vector core with one parameter: global memory that loads and stores touch.
struct Kernel {
    func: Function,
    gm: Value,
    block: Block,
    line: u32,
}

impl Kernel {
    fn new(core: Core) -> Kernel {
        let mut func = Function::new("k", FunctionKind::Kernel(core));
        let shape = vec![Dim::Dynamic, Dim::Dynamic];
        let ty = Type::PartView { dtype: DType::F32, shape };
        let gm = func.add_param("x", ir::Direction::InOut, ty);
        let block = func.body;
        Kernel { func, gm, block, line: 0 }
    }

    fn build<R>(&mut self, f: impl FnOnce(&mut Builder<'_>) -> R) -> R {
        self.line += 1;
        let line = self.line;
        let mut b = Builder::new(&mut self.func);
        b.switch_to(self.block);
        b.span = Some(Span::point(FileId(0), line, 1));
        f(&mut b)
    }

    fn tile(&mut self, rows: u64, cols: u64) -> Value {
        self.typed(TileType::buffer(DType::F32, rows, cols, Space::Vec, Arch::A2a3))
    }

    fn typed(&mut self, ty: TileType) -> Value {
        self.build(|b| b.alloc_tile(ty, None, None))
    }

    fn load(&mut self, dest: Value) {
        let gm = self.gm;
        self.build(|b| b.dest(Opcode::TLoad, &[&[gm]], dest, Attrs::default()));
    }

    fn store(&mut self, source: Value) {
        let gm = self.gm;
        self.build(|b| b.dest(Opcode::TStore, &[&[source]], gm, Attrs::default()));
    }

    fn op(&mut self, opcode: Opcode, operands: &[Value], dest: Value) {
        self.build(|b| {
            let mut groups: Vec<&[Value]> = operands.chunks(1).collect();
            groups.resize(opcode.info().operands.len(), &[]);
            b.dest(opcode, &groups, dest, Attrs::default())
        });
    }

    fn cvt(&mut self, source: Value, dest: Value) {
        let mode = attrs([("mode", Attr::Word("rint".into()))]);
        self.build(|b| b.dest(Opcode::TCvt, &[&[source]], dest, mode));
    }

    fn repeat(&mut self, body: impl FnOnce(&mut Kernel)) {
        let region = self.build(|b| {
            let (zero, four, one) = (b.index(0), b.index(4), b.index(1));
            let kind = attrs([("kind", Attr::Word("range".into()))]);
            let op = b.effect(Opcode::For, &[&[zero], &[four], &[one], &[]], kind);
            b.add_region(op, &[(Type::INDEX, None)])
        });
        self.inside(region, body);
    }

    fn choose(&mut self, then: impl FnOnce(&mut Kernel), other: impl FnOnce(&mut Kernel)) {
        let (a, b) = self.build(|b| {
            let condition = b.constant(Scalar::bool(true));
            let op = b.effect(Opcode::If, &[&[condition]], Attrs::default());
            (b.add_region(op, &[]), b.add_region(op, &[]))
        });
        self.inside(a, then);
        self.inside(b, other);
    }

    fn inside(&mut self, region: Block, body: impl FnOnce(&mut Kernel)) {
        let outside = std::mem::replace(&mut self.block, region);
        body(self);
        self.build(|b| b.effect(Opcode::Yield, &[&[]], Attrs::default()));
        self.block = outside;
    }

    fn program(mut self, arch: Arch) -> Program {
        self.build(|b| b.effect(Opcode::Return, &[&[]], Attrs::default()));
        let mut functions = Arena::default();
        let entry = functions.push(Function::new("main", FunctionKind::Orchestration));
        functions.push(self.func);
        Program { name: "p".into(), arch, level: Level::Tile, functions, entry, sources: Default::default() }
    }
}

fn planned(program: &Program) -> FunctionPlan {
    plan(program, &Options::default()).expect("fits").functions.remove(0)
}

fn address(plan: &FunctionPlan, tile: Value) -> u64 {
    plan.tiles.iter().find(|t| t.value == tile).expect("planned").address
}

fn apart(plan: &FunctionPlan, a: Value, b: Value) -> bool {
    let find = |v: Value| plan.tiles.iter().find(|t| t.value == v).expect("planned");
    let (a, b) = (find(a), find(b));
    a.address + a.bytes <= b.address || b.address + b.bytes <= a.address
}

#[test]
fn bytes_are_used_again_after_the_last_read() {
    let mut k = Kernel::new(Core::Vector);
    let (a, b) = (k.tile(64, 64), k.tile(64, 64));
    k.load(a);
    k.store(a);
    k.load(b);
    k.store(b);
    let plan = planned(&k.program(Arch::A2a3));
    assert_eq!((address(&plan, a), address(&plan, b)), (0, 0));
    assert_eq!(plan.tiles[0].live, [assemble::Live { first: 2, last: 3 }]);
}

#[test]
fn elementwise_runs_in_place_and_a_transposition_or_conversion_does_not() {
    let mut k = Kernel::new(Core::Vector);
    let (a, b, turned) = (k.tile(64, 64), k.tile(64, 64), k.tile(64, 64));
    let wide = k.typed(TileType::buffer(DType::I32, 64, 64, Space::Vec, Arch::A2a3));
    k.load(a);
    k.op(Opcode::TExp, &[a], b);
    k.op(Opcode::TTrans, &[b], turned);
    k.cvt(turned, wide);
    k.store(wide);
    let plan = planned(&k.program(Arch::A2a3));
    assert_eq!(address(&plan, a), address(&plan, b));
    assert!(apart(&plan, b, turned) && apart(&plan, turned, wide));
}

#[test]
fn the_vector_of_a_row_broadcast_is_kept_apart() {
    let mut k = Kernel::new(Core::Vector);
    let (a, v, d) = (k.tile(8, 8), k.tile(8, 1), k.tile(8, 8));
    k.load(a);
    k.op(Opcode::TRowMax, &[a], v);
    k.op(Opcode::TRowExpandSub, &[a, v], d);
    k.store(d);
    let plan = planned(&k.program(Arch::A2a3));
    assert_eq!(address(&plan, a), address(&plan, d));
    assert!(apart(&plan, v, d) && apart(&plan, a, v));
}

#[test]
fn scratch_is_apart_from_operands_and_results() {
    let mut k = Kernel::new(Core::Vector);
    let (a, tmp, v) = (k.tile(8, 8), k.tile(8, 8), k.tile(8, 1));
    k.load(a);
    k.op(Opcode::TRowMax, &[a, tmp], v);
    k.store(v);
    let plan = planned(&k.program(Arch::A2a3));
    assert!(apart(&plan, a, tmp) && apart(&plan, tmp, v) && apart(&plan, a, v));
}

#[test]
fn a_tile_carried_around_a_loop_keeps_its_bytes() {
    let mut k = Kernel::new(Core::Vector);
    let (sum, x, late) = (k.tile(64, 64), k.tile(64, 64), k.tile(64, 64));
    k.load(sum);
    k.repeat(|k| {
        k.load(x);
        k.op(Opcode::TAdd, &[sum, x], sum);
        k.load(late);
        k.store(late);
    });
    k.store(sum);
    let plan = planned(&k.program(Arch::A2a3));
    assert!(apart(&plan, sum, x) && apart(&plan, sum, late));
    assert_eq!(address(&plan, x), address(&plan, late));
}

#[test]
fn a_tile_written_first_in_a_branch_lives_for_the_whole_loop() {
    let mut k = Kernel::new(Core::Vector);
    let (kept, other) = (k.tile(64, 64), k.tile(64, 64));
    k.repeat(|k| {
        k.load(other);
        k.store(other);
        k.choose(|k| k.load(kept), |_| {});
        k.store(kept);
    });
    let plan = planned(&k.program(Arch::A2a3));
    assert!(apart(&plan, kept, other));
}

#[test]
fn a_tile_written_in_both_branches_does_not() {
    let mut k = Kernel::new(Core::Vector);
    let (kept, other) = (k.tile(64, 64), k.tile(64, 64));
    k.repeat(|k| {
        k.load(other);
        k.store(other);
        k.choose(|k| k.load(kept), |k| k.load(kept));
        k.store(kept);
    });
    let plan = planned(&k.program(Arch::A2a3));
    assert_eq!(address(&plan, kept), address(&plan, other));
}

#[test]
fn a_partial_first_write_lives_for_the_whole_loop_unless_the_tile_is_made_inside() {
    for inside in [false, true] {
        let mut k = Kernel::new(Core::Vector);
        let other = k.tile(64, 64);
        let mut kept = (!inside).then(|| k.tile(64, 64));
        k.repeat(|k| {
            k.load(other);
            k.store(other);
            let kept = *kept.get_or_insert_with(|| k.tile(64, 64));
            k.build(|b| {
                let (at, one) = (b.index(0), b.constant(Scalar::from_f64(DType::F32, 1.0)));
                b.dest(Opcode::TSetVal, &[&[at], &[at], &[one]], kept, Attrs::default());
            });
            k.store(kept);
        });
        let plan = planned(&k.program(Arch::A2a3));
        assert_eq!(apart(&plan, kept.expect("made"), other), !inside);
    }
}

#[test]
fn views_keep_their_root_alive() {
    let mut k = Kernel::new(Core::Vector);
    let (a, b) = (k.tile(8, 8), k.tile(8, 8));
    k.load(a);
    let flat = k.build(|b| {
        let ty = TileType::buffer(DType::F32, 1, 64, Space::Vec, Arch::A2a3);
        b.result(Opcode::TReshape, &[&[a]], Type::Tile(ty), Attrs::default())
    });
    k.load(b);
    k.store(b);
    k.store(flat);
    let plan = planned(&k.program(Arch::A2a3));
    assert!(apart(&plan, a, b));
}

#[test]
fn a_write_through_a_vector_view_overwrites() {
    // A column written through its row view in a loop needs no bytes before that.
    let mut k = Kernel::new(Core::Vector);
    let (v, other) = (k.tile(8, 1), k.tile(8, 1));
    let flat = k.build(|b| {
        let ty = TileType::buffer(DType::F32, 1, 8, Space::Vec, Arch::A2a3);
        b.result(Opcode::TReshape, &[&[v]], Type::Tile(ty), Attrs::default())
    });
    k.repeat(|k| {
        k.load(other);
        k.store(other);
        k.load(flat);
        k.store(v);
    });
    let plan = planned(&k.program(Arch::A2a3));
    assert_eq!(address(&plan, v), address(&plan, other));
}

#[test]
fn a_dynamic_valid_region_is_overwritten_by_the_same_region_only() {
    for same in [true, false] {
        let mut k = Kernel::new(Core::Vector);
        let other = k.tile(8, 8);
        let ty = TileType::buffer(DType::F32, 8, 8, Space::Vec, Arch::A2a3);
        let ty = ty.with_valid(vec![Dim::Dynamic, Dim::Static(8)]);
        let a = k.build(|b| {
            let n = b.index(5);
            b.alloc_tile(ty, Some(n), None)
        });
        let view = k.build(|b| {
            // Reads all eight rows: more than a load through `a` overwrites.
            let zero = b.index(0);
            let ty = TileType::buffer(DType::F32, 8, 8, Space::Vec, Arch::A2a3);
            let sizes = attrs([("sizes", Attr::Ints(vec![8, 8]))]);
            b.result(Opcode::Subview, &[&[a], &[zero], &[zero], &[], &[]], Type::Tile(ty), sizes)
        });
        k.repeat(|k| {
            k.load(other);
            k.store(other);
            k.load(a);
            k.store(if same { a } else { view });
        });
        let plan = planned(&k.program(Arch::A2a3));
        assert_eq!(apart(&plan, a, other), !same);
    }
}

#[test]
fn slots_are_apart_from_all_tiles_and_get_a_base() {
    let mut k = Kernel::new(Core::Vector);
    let a = k.tile(64, 64);
    k.load(a);
    k.store(a);
    let slots = k.build(|b| {
        let list = [
            ("name", Attr::Text("f".into())),
            ("size", Attr::Int(1000)),
            ("location", Attr::Word("vec".into())),
            ("auto", Attr::Bool(true)),
        ];
        b.op(NewOp {
            opcode: Opcode::ReserveBuffer,
            groups: &[],
            dests: &[],
            results: &[Type::Scalar(DType::I32)],
            attrs: attrs(list),
        })
    });
    let program = k.program(Arch::A5);
    assert_eq!(address(&planned(&program), a), 1024);
    let placed = place(&program, &Options::default()).expect("fits");
    let (_, func) = placed.functions.iter().nth(1).expect("kernel");
    assert!(func.properties.placed);
    assert_eq!(func.ops[slots].attrs.int("base"), Some(0));
    let alloc = &func.ops[func.def_op(a).expect("alloc")];
    assert_eq!(alloc.named("addr").iter().map(|&v| func.const_int(v)).collect::<Vec<_>>(), [Some(1024)]);
    assert_eq!(func.ty(alloc.named("addr")[0]), &Type::Scalar(DType::I64));
    // Placing again changes nothing.
    assert!(plan(&placed, &Options::default()).expect("nothing to do").functions.is_empty());
}

#[test]
fn capacity_is_exact() {
    let budget = Arch::A2a3.chip().capacity(Space::Vec).language as u64;
    for (extra, fits) in [(0, true), (1, false)] {
        let mut k = Kernel::new(Core::Vector);
        let (a, b) = (k.tile(budget / 1024 / 2, 256), k.tile((budget / 1024 / 2) + extra, 256));
        k.load(a);
        k.load(b);
        k.store(a);
        k.store(b);
        let program = k.program(Arch::A2a3);
        match place(&program, &Options::default()) {
            Ok(_) => assert!(fits),
            Err(errors) => {
                assert!(!fits);
                let [error] = &errors[..] else { panic!("{errors:?}") };
                assert_eq!(error.code, "over-capacity");
                assert_eq!(
                    error.message,
                    "VEC overflow, requires 1515520 bits while 1507328 bits available: `k` needs 189440 bytes of vec at once; a2a3 has 188416"
                );
                // The tiles that are live at the peak, largest first, with the line that made each.
                assert_eq!(error.primary.as_ref().map(|l| l.span.line), Some(4));
                assert_eq!(error.secondary.iter().map(|l| l.span.line).collect::<Vec<_>>(), [2, 1]);
                assert!(error.notes[0].starts_with("95232 bytes: a tile of 93×256 f32"), "{:?}", error.notes);
                assert!(error.notes[1].starts_with("94208 bytes: a tile of 92×256 f32"), "{:?}", error.notes);
            }
        }
    }
}

#[test]
fn cube_buffers_are_aligned_to_fractals() {
    let mut k = Kernel::new(Core::Cube);
    let cube = |space, dtype| TileType::buffer(dtype, 16, 16, space, Arch::A2a3);
    let (x, y) = (k.typed(cube(Space::Mat, DType::I8)), k.typed(cube(Space::Mat, DType::I8)));
    k.load(x);
    k.load(y);
    k.store(x);
    k.store(y);
    let plan = planned(&k.program(Arch::A2a3));
    assert_eq!((address(&plan, x), address(&plan, y)), (0, 512));
}

#[test]
fn an_address_in_an_unplaced_function_is_refused() {
    let mut k = Kernel::new(Core::Vector);
    let ty = TileType::buffer(DType::F32, 8, 8, Space::Vec, Arch::A2a3);
    k.build(|b| {
        let addr = b.constant(Scalar::from_i64(DType::I64, 64));
        b.result(Opcode::AllocTile, &[&[addr], &[], &[]], Type::Tile(ty), Attrs::default())
    });
    let errors = place(&k.program(Arch::A2a3), &Options::default()).expect_err("refused");
    assert_eq!(errors[0].code, "partly-placed");
}
