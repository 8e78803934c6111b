//! Gathers from and scatters to global memory.

use super::*;

/// One transfer between a table in global memory and a tile.
#[derive(Clone, Debug)]
pub(crate) struct Indexed {
    pub(crate) name: &'static str,
    pub(crate) attrs: &'static str,
    pub(crate) table: Tile,
    pub(crate) indices: Tile,
    /// What is scattered; `None`: a gather.
    pub(crate) source: Option<Tile>,
    /// What is gathered, or the table afterwards.
    pub(crate) expect: Expect,
}

pub(crate) fn all() -> Vec<Indexed> {
    let mut out = gathers();
    out.extend(scatters());
    out
}

/// Row r is 10·r, 10·r + 1, …
fn numbered(rows: u64) -> Vec<f32> {
    (0..rows * 8).map(|i| (i / 8 * 10 + i % 8) as f32).collect()
}

fn table() -> Tile {
    f32([4, 8], &numbered(4))
}

fn rows(list: &[usize]) -> Vec<f32> {
    let all = numbered(4);
    list.iter().flat_map(|&r| all[r * 8..][..8].to_vec()).collect()
}

fn gather(name: &'static str, attrs: &'static str, indices: Tile, result: Tile) -> Indexed {
    Indexed { name, attrs, table: table(), indices, source: None, expect: Expect::Tile(result) }
}

fn gathers() -> Vec<Indexed> {
    let elem = |list: &[i32]| i32([1, 8], list);
    let out = |list: &[f32]| f32([1, 8], list);
    // In range: 0 to 31.
    let wild = elem(&[0, 31, 9, -1, 32, -33, 100, 8]);
    vec![
        gather("rows", "{mode = row}", elem(&[3, 0, 2, 2, 1, 0, 3, 3]), f32([8, 8], &rows(&[3, 0, 2, 2, 1, 0, 3, 3]))),
        gather("some rows", "{mode = row}", i32([1, 3], &[3, 0, 2]).within([1, 8]), {
            f32([3, 8], &rows(&[3, 0, 2])).within([8, 8])
        }),
        gather("rows or the nearest", "{mode = row, out_of_range = clamp}", elem(&[4, -1, 2, 9, 1, 0, -7, 3]), {
            f32([8, 8], &rows(&[3, 0, 2, 3, 1, 0, 0, 3]))
        }),
        gather("elements", "{mode = elem}", u32([2, 8], &(0..16).map(|i| 2 * i).collect::<Vec<_>>()), {
            f32([2, 8], &numbered(4).into_iter().step_by(2).collect::<Vec<_>>())
        }),
        gather("elements or the nearest", "{mode = elem, out_of_range = clamp}", wild.clone(), {
            out(&[0.0, 37.0, 11.0, 0.0, 37.0, 0.0, 37.0, 10.0])
        }),
        gather("elements or the remainder", "{mode = elem, out_of_range = wrap}", wild.clone(), {
            out(&[0.0, 37.0, 11.0, 37.0, 0.0, 37.0, 4.0, 10.0])
        }),
        gather("elements or zero", "{mode = elem, out_of_range = zero}", wild, {
            out(&[0.0, 37.0, 11.0, 0.0, 0.0, 0.0, 0.0, 10.0])
        }),
        Indexed {
            expect: Expect::Error("index 4 at (0, 2) is out of range: there are 4", f32([8, 8], &[0.0; 64])),
            ..gather("a row that there is not", "{mode = row}", elem(&[0, 1, 4, 3, 0, 0, 0, 0]), out(&[0.0; 8]))
        },
        Indexed {
            expect: Expect::Error("index -1 at (0, 0) is out of range: there are 32", f32([1, 8], &[0.0; 8])),
            ..gather("an element that there is not", "{mode = elem}", elem(&[-1, 1, 4, 3, 0, 0, 0, 0]), out(&[0.0; 8]))
        },
    ]
}

fn scatter(name: &'static str, attrs: &'static str, indices: Tile, source: Tile, writes: &[(usize, f32)]) -> Indexed {
    let mut after = numbered(4);
    for &(at, value) in writes {
        after[at] = value;
    }
    let expect = Expect::Tile(f32([4, 8], &after));
    Indexed { name, attrs, table: table(), indices, source: Some(source), expect }
}

fn scatters() -> Vec<Indexed> {
    let eight = || f32([1, 8], &[100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0]);
    let elem = |list: &[i32]| i32([1, 8], list);
    let wild = elem(&[0, 31, 9, -1, 32, -33, 100, 9]);
    let two = f32([2, 8], &(0..16).map(|i| 200.0 + i as f32).collect::<Vec<_>>()).within([8, 8]);
    let row_writes: Vec<(usize, f32)> =
        (0..8).flat_map(|c| [(24 + c, 200.0 + c as f32), (8 + c, 208.0 + c as f32)]).collect();
    vec![
        scatter("to rows", "{mode = row}", i32([1, 2], &[3, 1]).within([1, 8]), two.clone(), &row_writes),
        // The last of equals wins.
        scatter(
            "to elements",
            "{mode = elem}",
            elem(&[5, 6, 5, 8, 31, 8, 7, 0]),
            eight(),
            &[(5, 102.0), (6, 101.0), (8, 105.0), (31, 104.0), (7, 106.0), (0, 107.0)],
        ),
        scatter(
            "to elements in range",
            "{mode = elem, out_of_range = skip}",
            wild.clone(),
            eight(),
            &[(0, 100.0), (31, 101.0), (9, 107.0)],
        ),
        scatter(
            "to the nearest",
            "{mode = elem, out_of_range = clamp}",
            wild.clone(),
            eight(),
            &[(0, 105.0), (31, 106.0), (9, 107.0)],
        ),
        scatter(
            "to the remainder",
            "{mode = elem, out_of_range = wrap}",
            wild,
            eight(),
            &[(0, 104.0), (31, 105.0), (4, 106.0), (9, 107.0)],
        ),
        // 5 is at place 5, 10 at place 8.
        scatter(
            "sums",
            "{mode = elem, atomic = add}",
            elem(&[5, 6, 5, 8, 31, 8, 7, 0]),
            eight(),
            &[
                (5, 5.0 + 100.0 + 102.0),
                (6, 6.0 + 101.0),
                (8, 10.0 + 103.0 + 105.0),
                (31, 37.0 + 104.0),
                (7, 7.0 + 106.0),
                (0, 107.0),
            ],
        ),
        scatter(
            "the larger",
            "{mode = elem, atomic = max}",
            elem(&[0, 1, 2, 3, 4, 5, 6, 7]),
            f32([1, 8], &[-1.0, 3.0, 2.0, 9.0, 0.0, 5.5, -6.0, 70.0]),
            &[(1, 3.0), (3, 9.0), (5, 5.5), (7, 70.0)],
        ),
        scatter(
            "the smaller",
            "{mode = elem, atomic = min}",
            elem(&[0, 1, 2, 3, 4, 5, 6, 7]),
            f32([1, 8], &[-1.0, 3.0, 2.0, 9.0, 0.0, 5.5, -6.0, 70.0]),
            &[(0, -1.0), (4, 0.0), (6, -6.0)],
        ),
        scatter("nothing", "{mode = elem}", i32([0, 8], &[]).within([1, 8]), f32([0, 8], &[]).within([1, 8]), &[]),
        Indexed {
            expect: Expect::Error("index 32 at (0, 7) is out of range: there are 32", table()),
            ..scatter(
                "to an element that there is not",
                "{mode = elem}",
                elem(&[0, 1, 2, 3, 4, 5, 6, 32]),
                eight(),
                &[],
            )
        },
        Indexed {
            expect: Expect::Error("index -1 at (0, 1) is out of range: there are 4", table()),
            ..scatter("to a row that there is not", "{mode = row}", i32([1, 2], &[3, -1]).within([1, 8]), two, &[])
        },
    ]
}

impl Indexed {
    fn result(&self) -> &Tile {
        match &self.expect {
            Expect::Tile(tile) | Expect::Error(_, tile) => tile,
        }
    }

    /// The arguments of [`Indexed::tensor_program`] and of the kernel's task, the one that is written last.
    pub(crate) fn arguments(&self, background: u8) -> Vec<(&'static str, [u64; 2], Vec<u8>)> {
        let given = |tile: &Tile| (tile.dtype, tile.shape, tile.bytes(0));
        let mut out = vec![given(&self.indices)];
        match &self.source {
            Some(source) => out.extend([given(source), given(&self.table)]),
            None => {
                let (result, empty) = (self.result(), Vec::new());
                let unwritten = Tile { data: empty, ..result.clone() };
                out.extend([given(&self.table), (result.dtype, result.shape, unwritten.bytes(background))]);
            }
        }
        out
    }

    /// What the last argument holds at the end.
    pub(crate) fn after(&self, background: u8) -> Vec<u8> {
        match (&self.expect, &self.source) {
            (Expect::Tile(tile), _) => tile.bytes(background),
            (Expect::Error(..), Some(_)) => self.table.bytes(0),
            (Expect::Error(_, tile), None) => Tile { data: Vec::new(), ..tile.clone() }.bytes(background),
        }
    }

    /// What the line of the operation begins with, at the tensor level and in a kernel.
    pub(crate) fn operation(&self) -> [&'static str; 2] {
        if self.source.is_some() { ["scatter ", "mscatter "] } else { ["%r = gather ", "mgather "] }
    }

    fn params(&self, kind: &str) -> String {
        let names =
            if self.source.is_some() { ["%i: in", "%s: in", "%x: inout"] } else { ["%i: in", "%x: in", "%o: inout"] };
        let tensor = |(name, (dtype, [r, c], _)): (&str, (&str, [u64; 2], Vec<u8>))| match kind {
            "ptr" => format!("{name} ptr<{dtype}>"),
            _ => format!("{name} tensor<{r}x{c}x{dtype}>"),
        };
        names.into_iter().zip(self.arguments(0)).map(tensor).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn tensor_program(&self) -> String {
        let load = |to: &str, from: &str, tile: &Tile| {
            let [r, c] = tile.shape;
            format!("    {to} = load {from} offsets(%c0, %c0) {{sizes = [{r}, {c}]}} : {}\n", tile.ty(""))
        };
        let mut body = load("%n", "%i", &self.indices);
        match &self.source {
            Some(source) => {
                body += &load("%t", "%s", source);
                writeln!(body, "    scatter %t, %n, %x {}", self.attrs).unwrap();
            }
            None => {
                let result = self.result();
                let [r, c] = result.shape;
                writeln!(body, "    %r = gather %x, %n {} : {}", self.attrs, result.ty("")).unwrap();
                writeln!(body, "    store %r, %o offsets(%c0, %c0) {{sizes = [{r}, {c}]}}").unwrap();
            }
        }
        format!(
            "program \"indexed\" a2a3 tensor entry @main\n\nfunc @main orchestration({}) {{\n  %c0 = const {{value = 0}} : index\n  \
             %k = scope {{name = \"k\"}} : task {{\n{body}    yield\n  }}\n  return\n}}\n",
            self.params("tensor")
        )
    }

    pub(crate) fn kernel_program(&self, placed: bool) -> String {
        let mut address = 0;
        let mut text = String::new();
        let mut extents = vec![0, 1];
        let mut part = |text: &mut String, name: &str, tile: &Tile| {
            let ([r, c], [vr, vc], d) = (tile.shape, tile.valid, tile.dtype);
            extents.extend([r, c, vr, vc]);
            writeln!(
                text,
                "  %v{name} = make_tensor_view %{name} shape(%c{r}, %c{c}) strides(%c{c}, %c1) : view<{r}x{c}x{d}>"
            )
            .unwrap();
            writeln!(
                text,
                "  %p{name} = partition_view %v{name} offsets(%c0, %c0) sizes(%c{vr}, %c{vc}) : part<{vr}x{vc}x{d}>"
            )
            .unwrap();
        };
        let mut buffer = |text: &mut String, name: &str, tile: &Tile| {
            let at = if placed { format!(" addr(%a{address})") } else { String::new() };
            writeln!(text, "  %a{address} = const {{value = {address}}} : i64").unwrap();
            address += 1024;
            writeln!(text, "  {name} = alloc_tile{at} : {}", tile.buffer()).unwrap();
        };
        part(&mut text, "i", &self.indices);
        buffer(&mut text, "%n", &self.indices);
        writeln!(text, "  tload %pi outs(%n)").unwrap();
        part(&mut text, "x", &self.table);
        match &self.source {
            Some(source) => {
                part(&mut text, "s", source);
                buffer(&mut text, "%t", source);
                writeln!(text, "  tload %ps outs(%t)\n  mscatter %t, %n outs(%px) {}", self.attrs).unwrap();
            }
            None => {
                part(&mut text, "o", self.result());
                buffer(&mut text, "%r", self.result());
                writeln!(text, "  mgather %px, %n outs(%r) {}\n  tstore %r outs(%po)", self.attrs).unwrap();
            }
        }
        extents.sort_unstable();
        extents.dedup();
        let consts: String = extents.iter().map(|n| format!("  %c{n} = const {{value = {n}}} : index\n")).collect();
        let word = if placed { " placed" } else { "" };
        let (args, directions) = match self.source {
            Some(_) => ("%i, %s, %x", "in,in,inout"),
            None => ("%i, %x, %o", "in,in,inout"),
        };
        format!(
            "program \"indexed\" a2a3 tile entry @main\n\nfunc @k kernel(vector){word}({}) {{\n{consts}{text}  return\n}}\n\n\
             func @main orchestration({}) {{\n  %t = submit args({args}) {{kernels = [@k], name = \"k\", directions = \
             \"{directions}\"}} : task\n  return\n}}\n",
            self.params("ptr"),
            self.params("tensor")
        )
    }
}
