//! Every operation on tiles, written at the tensor level, through all levels: the reference, the lowered and the placed program
//! agree with each other and with the result worked out by hand, and fail alike.

#[path = "../../../tests/operations/mod.rs"]
mod operations;

use chip::Arch;
use driver::{Options, Program, RunOptions};
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
    let program =
        Program::from_ir(tensor, params, &Options::new(arch)).unwrap_or_else(|e| panic!("{name}: {}\n{text}", e.render()));
    for check_levels in [true, false] {
        let args: Vec<Arg> = args.iter().cloned().map(argument).collect();
        let done = program.run(&args, &RunOptions { check_levels, ..RunOptions::default() });
        match (expect, done) {
            (Expect::Tile(_), Ok(report)) => {
                let compared = report.levels.map(|l| (l.levels, l.undefined));
                assert_eq!(compared, check_levels.then(|| (vec!["tile", "machine"], 0)), "{name}");
            }
            (Expect::Error(message, _), Err(e)) => {
                let text = e.render();
                assert!(text.contains(message), "{name}: {text}");
                assert!(!text.contains("levels-differ"), "{name}: {text}");
            }
            (_, done) => panic!("{name}: {:?}\n{text}", done.map_err(|e| e.render()).map(|_| "no error")),
        }
        let last = args.last().and_then(Arg::tensor).expect("a result");
        assert_eq!(last.to_vec().expect("in bounds"), after, "{name}, levels {check_levels}\n{text}");
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
