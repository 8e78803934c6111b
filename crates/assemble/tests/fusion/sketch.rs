//! Kernels from a sketch, one operation a line:
//!
//! ```text
//! x @0 = load            a tile of 8 × 64 f32 at address 0, loaded
//! n:8x32 @512 = tadds x s   another shape; `s` is a scalar
//! store n
//! loop
//! end
//! ```
//!
//! A tile of valid extents that are values has them behind its shape: `x:8x64[%r,%c]`. Lines that begin with `%` are
//! taken as they are.

use std::collections::BTreeMap;
use std::fmt::Write;

const VIEW: &str = "!pto.tensor_view<?x?xf32>";

/// The text of an A5 kernel.
pub(crate) fn kernel(sketch: &str) -> String {
    let mut s = Sketch { out: String::new(), types: BTreeMap::new(), ids: 0 };
    s.head();
    for line in sketch.lines().map(str::trim).filter(|l| !l.is_empty()) {
        s.line(line);
    }
    s.out += "return\n}\n}\n";
    s.out
}

struct Sketch {
    out: String,
    types: BTreeMap<String, (String, [String; 2])>,
    ids: usize,
}

impl Sketch {
    fn head(&mut self) {
        self.out += "module attributes {pto.target_arch = \"a5\"} {\n";
        self.out += "func.func @k(%p: !pto.ptr<f32>, %q: !pto.ptr<f32>, %s: f32, %n: i32, %m: index) \
                     attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {\n";
        for n in [0, 1, 2, 4, 8, 16, 32, 64] {
            writeln!(self.out, "%c{n} = arith.constant {n} : index").expect("a string");
        }
        for p in ["p", "q"] {
            writeln!(
                self.out,
                "%{p}v = pto.make_tensor_view %{p}, shape = [%c64, %c64], strides = [%c64, %c1] : {VIEW}"
            )
            .expect("a string");
        }
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["loop"] => {
                self.ids += 1;
                writeln!(self.out, "scf.for %i{} = %c0 to %m step %c1 {{", self.ids).expect("a string");
            }
            ["end"] => self.out += "}\n",
            ["store", tile] => {
                let (ty, part) = self.part(tile, "q");
                let view = self.types[tile].1.join("x");
                writeln!(
                    self.out,
                    "pto.tstore ins(%{tile} : {ty}) outs({part} : !pto.partition_tensor_view<{view}xf32>)"
                )
                .expect("a string");
            }
            [tile, at, "=", "load"] => {
                let tile = self.alloc(tile, at);
                let (ty, part) = self.part(&tile, "p");
                let view = self.types[&tile].1.join("x");
                writeln!(
                    self.out,
                    "pto.tload ins({part} : !pto.partition_tensor_view<{view}xf32>) outs(%{tile} : {ty})"
                )
                .expect("a string");
            }
            [tile, at, "=", op, ref args @ ..] => {
                let tile = self.alloc(tile, at);
                let names: Vec<String> = args.iter().map(|a| format!("%{a}")).collect();
                let types: Vec<&str> =
                    args.iter().map(|a| self.types.get(*a).map_or("f32", |(ty, _)| ty.as_str())).collect();
                let ty = &self.types[&tile].0;
                let ins = format!("{} : {}", names.join(", "), types.join(", "));
                writeln!(self.out, "pto.{op} ins({ins}) outs(%{tile} : {ty})").expect("a string");
            }
            _ => writeln!(self.out, "{line}").expect("a string"),
        }
    }

    /// `name:8x64[%r,%c] @512`; without an address it is unplaced.
    fn alloc(&mut self, tile: &str, at: &str) -> String {
        let (name, rest) = tile.split_once(':').unwrap_or((tile, "8x64"));
        let (shape, valid) = rest.split_once('[').unwrap_or((rest, ""));
        let valid: Vec<&str> = valid.trim_end_matches(']').split(',').filter(|v| !v.is_empty()).collect();
        let (mut ty, mut extents) = (format!("!pto.tile_buf<vec, {shape}xf32"), String::new());
        let mut view: Vec<String> = shape.split('x').map(str::to_owned).collect();
        if let [rows, cols] = valid[..] {
            let known = |v: &str| v.parse::<u64>().is_ok();
            view = [rows, cols].map(|v| if known(v) { v.to_owned() } else { "?".to_owned() }).to_vec();
            ty += &format!(", valid={}", view.join("x"));
            for (key, v) in [("valid_row", rows), ("valid_col", cols)] {
                if !known(v) {
                    extents += &format!(" {key} = {v}");
                }
            }
        }
        if shape.ends_with("x1") {
            ty += ", blayout=col_major";
        }
        ty.push('>');
        let mut addr = String::new();
        if let Some(at) = at.strip_prefix('@').filter(|a| !a.is_empty()) {
            self.ids += 1;
            writeln!(self.out, "%a{} = arith.constant {at} : i64", self.ids).expect("a string");
            addr = format!(" addr = %a{}", self.ids);
        }
        writeln!(self.out, "%{name} = pto.alloc_tile{addr}{extents} : {ty}").expect("a string");
        let sizes = [0, 1].map(|i| match valid.get(i).filter(|v| v.starts_with('%')) {
            Some(v) => (*v).to_owned(),
            None => format!("%c{}", view[i]),
        });
        // Of a view: its extents as the type has them.
        self.types.insert(name.to_owned(), (ty, [view[0].clone(), view[1].clone()]));
        self.types.insert(format!("{name} sizes"), (sizes.join(", "), Default::default()));
        name.to_owned()
    }

    /// The type of a tile, and a box of `pointer`'s view in its size.
    fn part(&mut self, tile: &str, pointer: &str) -> (String, String) {
        self.ids += 1;
        let (ty, view) = self.types[tile].clone();
        let sizes = &self.types[&format!("{tile} sizes")].0;
        let part = format!("%b{}", self.ids);
        writeln!(
            self.out,
            "{part} = pto.partition_view %{pointer}v, offsets = [%c0, %c0], sizes = [{sizes}] : {VIEW} -> \
             !pto.partition_tensor_view<{}xf32>",
            view.join("x")
        )
        .expect("a string");
        (ty, part)
    }
}
