//! Programs at three levels: the reference, kernels with storage for every tile, and kernels in the bytes of the plan
//! give the same bits, at every point of comparison and in memory.

mod common;

use std::path::Path;

use chip::Arch;
use common::{Outcome, compare};
use ir::Program;

fn parse(path: &str, arch: Arch) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).expect("the program is there");
    let mut program = ir::text::parse(&text, "test.tw").unwrap_or_else(|e| panic!("{}: {e:#?}", path.display()));
    program.arch = arch;
    program
}

#[test]
fn programs_give_the_same_bits_at_every_level() {
    for path in [
        "tests/programs/mixed.tw",
        "tests/programs/blocks.tw",
        "tests/programs/exchange.tw",
        "../lower/tests/programs/hello.tw",
        "../lower/tests/programs/softmax.tw",
        "../lower/tests/programs/gemm.tw",
    ] {
        for arch in Arch::ALL {
            match compare(path, &parse(path, arch)) {
                Outcome::Same(compared) => assert!(compared > 10, "{path}: only {compared} points compared"),
                Outcome::Refused(code) => panic!("{path}: {code}"),
            }
        }
    }
}
