//! One instruction as a placed kernel, and runs of it over scratchpads and global memory whose every byte the test chose.

use std::collections::BTreeMap;
use std::ops::Range;

use chip::{Arch, Core, Space};
use dtype::{DType, Profile, Scalar};
use ir::builder::NewOp;
use ir::{Attrs, Builder, Dim, Direction, Function, FunctionKind, Level, Op, Opcode, Program, TileType, Type, Value};
use machine::{Frame, Machine, Mode, Stop};
use memory::{Arg, Buffer, View};

/// An operand.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// A tile whose valid region is known; [`Case::dynamic`] hides it from the types.
    Tile(TileType, Contents),
    Scalar(Scalar),
    Part(Part),
}

/// What the valid region of an operand holds; everything else holds random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contents {
    /// Floats of ordinary size, any integers.
    Numbers,
    /// Multiples of `step`, less than `step · below`.
    Indices { below: u64, step: u64 },
}

/// A box of a packed matrix in global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) dtype: DType,
    pub(crate) view: [u64; 2],
    pub(crate) at: [u64; 2],
    pub(crate) size: [u64; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) arch: Arch,
    pub(crate) opcode: Opcode,
    pub(crate) groups: Vec<Vec<Operand>>,
    /// A tile or a box; none for an instruction whose result is a scalar.
    pub(crate) dest: Option<Operand>,
    pub(crate) attrs: Attrs,
    /// Valid extents are operands of the allocations.
    pub(crate) dynamic: bool,
    /// Tiles are windows of larger ones.
    pub(crate) windows: bool,
}

/// A verified kernel around one instruction.
pub(crate) struct Kernel {
    pub(crate) program: Program,
    pub(crate) op: Op,
    code: machine::Code,
    /// Tile operands in order, with what they hold.
    pub(crate) tiles: Vec<(Value, Contents)>,
    /// Box operands by parameter, then that of the destination or scalar result.
    pub(crate) parts: Vec<Part>,
    /// Of each scratchpad in use, up to some way behind the last tile.
    watched: Vec<Range<usize>>,
}

/// Why there is no kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Refused {
    Verifier,
    Decoder,
}

/// Every byte that a kernel can reach.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) pads: Vec<u8>,
    /// The parts of `pads` that count.
    pub(crate) watched: Vec<Range<usize>>,
    pub(crate) global: Vec<Vec<u8>>,
}

/// Where a tile is: as the machine's descriptor says.
pub(crate) struct Place {
    /// Byte addresses in [`Image::pads`] of element (r, c), by row.
    pub(crate) at: Vec<Vec<usize>>,
    pub(crate) size: usize,
}

impl Place {
    /// From the first byte to the last.
    pub(crate) fn span(&self) -> Range<usize> {
        let all = || self.at.iter().flatten().copied();
        let end = all().max().map_or(0, |last| last + self.size);
        all().min().unwrap_or(end)..end
    }
}

struct Maker<'a> {
    builder: Builder<'a>,
    dynamic: bool,
    windows: bool,
    next: BTreeMap<Space, u64>,
}

impl Maker<'_> {
    fn index(&mut self, n: u64) -> Value {
        self.builder.index(n as i64)
    }

    /// The address of `bytes` in a space, apart from all others.
    fn place(&mut self, space: Space, bytes: u64) -> u64 {
        let next = self.next.entry(space).or_insert(64);
        let at = *next;
        *next = (at + bytes).next_multiple_of(32) + 32;
        at
    }

    /// The tile, and its address if it is not a window.
    fn tile(&mut self, ty: &TileType, address: Option<u64>) -> (Value, u64) {
        let space = ty.space.expect("a buffer");
        let extents: Vec<u64> = ty.valid.iter().filter_map(|d| d.known()).collect();
        let mut shown = ty.clone();
        let (mut rows, mut cols) = (Vec::new(), Vec::new());
        if self.dynamic {
            shown.valid = vec![Dim::Dynamic; 2];
            rows.push(self.index(extents[0]));
            cols.push(self.index(extents[1]));
        }
        let mut whole = shown.clone();
        let skip = if ty.layout.slayout.is_some() { [16, 16] } else { [1, 32 / ty.dtype.size() as u64] };
        if self.windows {
            whole.shape = vec![ty.shape[0] + 2 * skip[0], ty.shape[1] + 2 * skip[1]];
            whole.valid = whole.shape.iter().map(|&n| Dim::Static(n)).collect();
        }
        let address = address.unwrap_or_else(|| self.place(space, whole.bytes()));
        let addr = self.builder.constant(Scalar::from_i64(DType::I64, address as i64));
        if !self.windows {
            let groups: [&[Value]; 3] = [&[addr], &rows, &cols];
            return (self.builder.result(Opcode::AllocTile, &groups, Type::Tile(shown), Attrs::default()), address);
        }
        let whole = self.builder.result(Opcode::AllocTile, &[&[addr], &[], &[]], Type::Tile(whole), Attrs::default());
        let (r, c) = (self.index(skip[0]), self.index(skip[1]));
        let sizes = ir::Attr::Ints(ty.shape.iter().map(|&n| n as i64).collect());
        let groups: [&[Value]; 5] = [&[whole], &[r], &[c], &rows, &cols];
        let attrs = ir::builder::attrs([("sizes", sizes)]);
        (self.builder.result(Opcode::Subview, &groups, Type::Tile(shown), attrs), address)
    }

    fn part(&mut self, ptr: Value, part: &Part) -> Value {
        let Part { dtype, view, at, size } = *part;
        let dims = |d: [u64; 2]| d.map(Dim::Static).to_vec();
        let (r, c, one) = (self.index(view[0]), self.index(view[1]), self.index(1));
        let ty = Type::View(ir::TensorType::packed(dtype, dims(view)));
        let whole = self.builder.result(Opcode::MakeTensorView, &[&[ptr], &[r, c], &[c, one]], ty, Attrs::default());
        let (at, size_values) = (at.map(|n| self.index(n)), size.map(|n| self.index(n)));
        let ty = Type::PartView { dtype, shape: dims(size) };
        self.builder.result(Opcode::PartitionView, &[&[whole], &at, &size_values], ty, Attrs::default())
    }
}

impl Kernel {
    /// The kernel of a case. The destination has the bytes of the tile operand with this number, if one is given. A
    /// program that the verifier would refuse can be asked for with `verify` false.
    pub(crate) fn new(case: &Case, in_place: Option<usize>, verify: bool) -> Result<Kernel, Refused> {
        let spaces = case.groups.iter().flatten().chain(&case.dest).filter_map(|o| match o {
            Operand::Tile(ty, _) => ty.space,
            _ => None,
        });
        let core = spaces.map(Space::core).next().unwrap_or(Core::Vector);
        let mut func = Function::new("k", FunctionKind::Kernel(core));
        func.properties.placed = true;
        let mut parts: Vec<Part> = Vec::new();
        let boxes = case.groups.iter().flatten().chain(&case.dest).filter_map(|o| match o {
            Operand::Part(p) => Some(*p),
            _ => None,
        });
        parts.extend(boxes);
        let scalar_result = case.opcode.info().form == ir::info::Form::Results(1);
        if scalar_result {
            let dtype = case.groups.iter().flatten().find_map(|o| match o {
                Operand::Tile(ty, _) => Some(ty.dtype),
                _ => None,
            });
            parts.push(Part { dtype: dtype.expect("a tile"), view: [1, 1], at: [0, 0], size: [1, 1] });
        }
        let mut pointers = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            pointers.push(func.add_param(format!("x{i}"), Direction::InOut, Type::Ptr(part.dtype)));
        }
        let builder = Builder::new(&mut func);
        let mut make = Maker { builder, dynamic: case.dynamic, windows: case.windows, next: BTreeMap::new() };
        let (mut tiles, mut addresses, mut pointer) = (Vec::new(), Vec::new(), pointers.iter());
        let mut groups: Vec<Vec<Value>> = Vec::new();
        for group in &case.groups {
            let mut values = Vec::new();
            for operand in group {
                values.push(match operand {
                    Operand::Scalar(s) => make.builder.constant(*s),
                    Operand::Tile(ty, contents) => {
                        let (value, address) = make.tile(ty, None);
                        tiles.push((value, *contents));
                        addresses.push(address);
                        value
                    }
                    Operand::Part(part) => {
                        let ptr = *pointer.next().expect("a pointer for each box");
                        make.part(ptr, part)
                    }
                });
            }
            groups.push(values);
        }
        let dest = match &case.dest {
            None => None,
            Some(Operand::Tile(ty, _)) => Some(make.tile(ty, in_place.map(|n| addresses[n])).0),
            Some(Operand::Part(part)) => {
                let ptr = *pointer.next().expect("a pointer for each box");
                Some(make.part(ptr, part))
            }
            Some(Operand::Scalar(_)) => unreachable!("no instruction has a scalar destination"),
        };
        let result = parts.last().filter(|_| scalar_result).map(|p| Type::Scalar(p.dtype));
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let (dests, results) = (dest.as_slice(), result.as_slice());
        let attrs = case.attrs.clone();
        let op = make.builder.op(NewOp { opcode: case.opcode, groups: &groups, dests, results, attrs });
        if scalar_result {
            let (value, ptr) = (make.builder.func.ops[op].results[0], pointers[pointers.len() - 1]);
            let zero = make.index(0);
            make.builder.effect(Opcode::StoreScalar, &[&[value], &[ptr], &[zero]], Attrs::default());
        }
        make.builder.effect(Opcode::Return, &[&[]], Attrs::default());
        let chip = case.arch.chip();
        let watched = |(&space, &next): (&Space, &u64)| {
            let base = machine::space::base(chip, space);
            base..base + (next as usize + 4096).min(chip.capacity(space).physical)
        };
        let watched = make.next.iter().map(watched).collect();
        Kernel::finish(case.arch, func, verify).map(|(program, code)| Kernel {
            program,
            op,
            code,
            tiles,
            parts,
            watched,
        })
    }

    fn finish(arch: Arch, func: Function, verify: bool) -> Result<(Program, machine::Code), Refused> {
        let mut entry = Function::new("main", FunctionKind::Orchestration);
        Builder::new(&mut entry).effect(Opcode::Return, &[&[]], Attrs::default());
        let mut functions = ir::Arena::default();
        let entry = functions.push(entry);
        let kernel = functions.push(func);
        let program = Program {
            name: "effects".to_owned(),
            arch,
            level: Level::Tile,
            functions,
            entry,
            sources: diag::Sources::default(),
        };
        if verify && ir::verify::verify(&program).is_err() {
            return Err(Refused::Verifier);
        }
        let profile = if arch == Arch::A5 { Profile::A5 } else { Profile::A2a3 };
        let code = machine::decode(&program.functions[kernel], arch, profile, Mode::Plain);
        code.map(|code| (program, code)).map_err(|_| Refused::Decoder)
    }

    pub(crate) fn func(&self) -> &Function {
        let (_, func) = self.program.functions.iter().nth(1).expect("the kernel");
        func
    }

    /// Zeros everywhere.
    pub(crate) fn zeros(&self) -> Image {
        let size = |p: &Part| (p.view[0] * p.view[1]) as usize * p.dtype.size();
        Image {
            pads: vec![0; self.watched.iter().map(|r| r.end).max().unwrap_or(0)],
            watched: self.watched.clone(),
            global: self.parts.iter().map(size).map(|n| vec![0; n]).collect(),
        }
    }

    /// Runs over `image`; where its tiles were. An error leaves the image in any state.
    pub(crate) fn run(&self, image: &mut Image) -> Result<Frame, String> {
        let args: Vec<Arg> = (self.parts.iter().zip(&image.global))
            .map(|(p, bytes)| Arg::Tensor(View::new(Buffer::from_bytes(bytes), p.dtype, &p.view).expect("a view")))
            .collect();
        let mut frame = Frame::default();
        frame.reset(&self.code, 0, (0, 1), 0);
        frame.bind(&self.code, &args);
        let mut nothing = Default::default();
        let mut machine = Machine::host(None, &mut nothing);
        machine.mem = &mut image.pads;
        match frame.run(&self.code, &mut machine) {
            Ok(Stop::Done) => {}
            Ok(other) => return Err(format!("stopped: {other:?}")),
            Err(trap) => return Err(trap.message),
        }
        for (arg, bytes) in args.iter().zip(&mut image.global) {
            *bytes = arg.tensor().expect("a tensor").buffer.to_vec();
        }
        Ok(frame)
    }

    /// Where a tile lay in a run.
    pub(crate) fn place(&self, frame: &Frame, value: Value) -> Place {
        let tile = frame.tiles[self.code.reg(value) as usize];
        let row = |r| (0..tile.cols).map(|c| tile.byte_offset(r, c)).collect();
        Place { at: (0..tile.rows).map(row).collect(), size: tile.dtype.size() }
    }
}
