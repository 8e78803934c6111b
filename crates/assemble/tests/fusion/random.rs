//! Random kernels: addresses that overlap, reshaped and shifted tiles, loops and branches. Whatever fusion makes of them
//! keeps the order of what conflicts, pair by pair, and finds in each byte what it found before.

use std::fmt::Write;

use assemble::fuse::fuse;
use control::Control;

use super::kernels::{program, text};
use super::order::disorder;
use super::sketch::kernel;

const SHAPES: &[&str] = &["8x64", "8x64", "8x64", "8x64", "8x32", "16x32", "8x64[8,32]", "8x64[%r,%c64]"];
const BINARY: &[&str] = &["tadd", "tsub", "tmul", "tmax"];
const SCALAR: &[&str] = &["tadds", "tmuls", "tmaxs"];
const UNARY: &[&str] = &["texp", "tneg", "tabs"];

struct Source<'c> {
    control: &'c mut Control,
    out: String,
    /// Tiles that may be named here: name and shape.
    tiles: Vec<(String, &'static str)>,
    named: usize,
    /// Tiles have addresses.
    placed: bool,
}

impl Source<'_> {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.control.choose(from.len())]
    }

    /// A new tile somewhere in a few kilobytes, mostly where others are.
    fn tile(&mut self, shape: &'static str) -> String {
        self.named += 1;
        let name = format!("t{}", self.named);
        self.tiles.push((name.clone(), shape));
        if !self.placed {
            return format!("{name}:{shape} @ =");
        }
        let at = self.pick(&[0, 2048, 2048, 4096, 4096, 6144, 8192, 10240, 1024, 3072, 2080]);
        format!("{name}:{shape} @{at} =")
    }

    fn operand(&mut self, shape: &str) -> Option<String> {
        let fit: Vec<String> = self.tiles.iter().filter(|(_, s)| *s == shape).map(|(n, _)| n.clone()).collect();
        // Mostly what was made last.
        let back = self.control.choose(fit.len().min(4)) + 1;
        fit.len().checked_sub(back).map(|i| fit[i].clone())
    }

    fn statements(&mut self, count: usize, depth: usize) {
        let outer = self.tiles.len();
        for _ in 0..count {
            self.statement(depth);
        }
        self.tiles.truncate(outer.max(if depth == 0 { self.tiles.len() } else { 0 }));
    }

    fn statement(&mut self, depth: usize) {
        let shape = self.pick(SHAPES);
        let kind = self.control.choose(12);
        let (a, b) = (self.operand(shape), self.operand(shape));
        let line = match (kind, a, b) {
            (0, ..) if depth < 2 => {
                self.out += "loop\n";
                let count = 2 + self.control.choose(6);
                self.statements(count, depth + 1);
                "end".to_owned()
            }
            (1 | 2, Some(a), _) => format!("store {a}"),
            (3..=6, Some(a), Some(b)) => {
                let op = self.pick(BINARY);
                format!("{} {op} {a} {b}", self.tile(shape))
            }
            (7 | 8, Some(a), _) => {
                let op = self.pick(SCALAR);
                format!("{} {op} {a} s", self.tile(shape))
            }
            (9, Some(a), _) => {
                let op = self.pick(UNARY);
                format!("{} {op} {a}", self.tile(shape))
            }
            (10, Some(a), _) if shape == "8x64" => {
                let sum = self.tile("8x1");
                writeln!(self.out, "{sum} trowmax {a}").expect("a string");
                let (Some(a), Some(v)) = (self.operand("8x64"), self.operand("8x1")) else { return };
                format!("{} trowexpandmul {a} {v}", self.tile("8x64"))
            }
            _ => format!("{} load", self.tile(shape)),
        };
        writeln!(self.out, "{line}").expect("a string");
    }
}

#[test]
fn random_kernels_keep_their_order() {
    let (mut grouped, mut moved) = (0, 0);
    for seed in 0..100 {
        let mut control = Control::new(seed);
        let mut source =
            Source { control: &mut control, out: String::new(), tiles: Vec::new(), named: 0, placed: seed % 3 != 0 };
        source.out += "%r0 = arith.index_cast %n : i32 to index\n%r = arith.minsi %r0, %c8 : index\n";
        source.statements(40, 0);
        let before = program(&kernel(&source.out));
        let mut after = before.clone();
        let found = fuse(&mut after, true, &mut Control::new(seed));
        grouped += found.ops;
        let orders = before.functions.iter().zip(after.functions.iter());
        moved += orders.filter(|((_, f), (_, g))| f.walk() != g.walk()).count();
        assert_eq!(disorder(&before, &after), None, "seed {seed}\n{}\n{}", text(&before), text(&after));
        let verdict = check::order(&before, &after);
        assert!(verdict.proved(), "seed {seed}: {:#?}\n{}", verdict.diagnostics(), text(&after));
    }
    assert!(grouped > 500 && moved > 50, "{grouped} operations in groups, {moved} kernels reordered");
}
