//! Every operation on tiles, written at the tensor level, through all levels: the reference, the lowered and the placed program
//! agree with each other and with the result worked out by hand, and fail alike.

#[path = "../../../tests/operations/mod.rs"]
mod operations;

use chip::Arch;
use driver::{Checks, Options, Program, RunOptions};
use memory::{Arg, Buffer, View};
use operations::{Expect, Tile, indexed};

const BACKGROUND: u8 = 0x55;

fn argument((dtype, shape, bytes): (&str, [u64; 2], Vec<u8>)) -> Arg {
    let dtype = dtype.parse().expect("an element type");
    Arg::Tensor(View::new(Buffer::from_bytes(&bytes), dtype, &shape).expect("a tensor"))
}

/// Runs a program with and without the other levels; the last argument is then `after`.
fn check(name: &str, text: &str, args: &[(&str, [u64; 2], Vec<u8>)], expect: &Expect, after: &[u8]) {
    let tensor = ir::text::parse_located(text, "case.tw").unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let arch: Arch = tensor.arch;
    let params = driver::params_of(&tensor, &[]);
    let program = Program::from_ir(tensor, params, &Options::new(arch));
    let program = program.unwrap_or_else(|e| panic!("{name}: {}\n{text}", e.render()));
    for checks in [Checks::LEVELS, Checks::NONE] {
        let args: Vec<Arg> = args.iter().cloned().map(argument).collect();
        let done = program.run(&args, &RunOptions { checks, ..RunOptions::default() });
        match (expect, done) {
            (Expect::Tile(_), Ok(report)) => {
                let compared = report.levels.map(|l| (l.levels, l.undefined));
                assert_eq!(compared, checks.levels.then(|| (vec!["tile", "machine"], 0)), "{name}");
            }
            (Expect::Error(message, _), Err(e)) => {
                let text = e.render();
                assert!(text.contains(message), "{name}: {text}");
                assert!(!text.contains("levels-differ"), "{name}: {text}");
            }
            (_, done) => panic!("{name}: {:?}\n{text}", done.map_err(|e| e.render()).map(|_| "no error")),
        }
        let last = args.last().and_then(Arg::tensor).expect("a result");
        assert_eq!(last.to_vec().expect("in bounds"), after, "{name}, {checks:?}\n{text}");
    }
}

#[test]
fn every_case_through_every_level() {
    for case in operations::all() {
        let given = |tile: &Tile, background| (tile.dtype, tile.shape, tile.bytes(background));
        let mut args: Vec<_> = case.tiles().map(|t| given(t, 0)).collect();
        let result = case.result();
        let unwritten = given(&Tile { data: Vec::new(), ..result.clone() }, BACKGROUND);
        let after = match &case.expect {
            Expect::Tile(tile) => tile.bytes(BACKGROUND),
            Expect::Error(..) => unwritten.2.clone(),
        };
        args.push(unwritten);
        check(case.name, &case.tensor_program(), &args, &case.expect, &after);
    }
}

#[test]
fn indexed_transfers_through_every_level() {
    for case in indexed::all() {
        check(case.name, &case.tensor_program(), &case.arguments(BACKGROUND), &case.expect, &case.after(BACKGROUND));
    }
}

/// The halves of the words of a tensor, as a task sees them; and which of two ids is one decides what the next task does.
#[test]
fn casts_of_tensors_and_validity_of_task_ids() {
    let text = "program \"t\" a2a3 tensor entry @main

func @main orchestration(%x: in tensor<4x8xf32>, %o: inout tensor<4x16xi16>) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %one = const {value = 1} : i16
  %two = const {value = 2} : i16
  %z = tensor_bitcast %x : tensor<4x16xi16>
  %i = task_invalid : task
  %k = scope {name = \"k\"} : task {
    %t = load %z offsets(%c0, %c0) {sizes = [4, 16]} : tile<4x16xi16>
    %r = tadds %t, %one : tile<4x16xi16>
    store %r, %o offsets(%c0, %c0) {sizes = [4, 16]}
    yield
  }
  %v = task_is_valid %k : i1
  %w = task_is_valid %i : i1
  %n = select %v, %one, %two : i16
  %m = select %w, %one, %two : i16
  write %o indices(%c0, %c0) value(%n)
  write %o indices(%c0, %c1) value(%m)
  return
}
";
    let words: Vec<u32> = (0..32).map(|i| i * 0x0001_0203).collect();
    let x: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut after: Vec<i16> = words.iter().flat_map(|w| [*w as i16 + 1, (w >> 16) as i16 + 1]).collect();
    (after[0], after[1]) = (1, 2);
    let args = [("f32", [4, 8], x), ("i16", [4, 16], vec![0; 128])];
    let result = Tile { dtype: "i16", shape: [4, 16], valid: [4, 16], data: Vec::new() };
    let after: Vec<u8> = after.iter().flat_map(|v| v.to_le_bytes()).collect();
    check("casts", text, &args, &Expect::Tile(result), &after);
}
