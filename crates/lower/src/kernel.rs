//! Writes the kernel function of one scope: its frame, control flow and scalars. Tile operations are in the submodules.

mod buffers;
mod copies;
mod gather;
mod generate;
mod global;
mod matmul;
mod ops;
mod pieces;
mod select;
mod sort;

use std::collections::{BTreeMap, BTreeSet};

use chip::{Arch, Core};
use diag::Diagnostic;
use dtype::{DType, Profile, Scalar};
use ir::builder::{NewOp, attrs, const_scalar};
use ir::{Attr, Block, Builder, Dim, Direction, Function, FunctionKind, Op, Opcode, Origin, TensorType, Type, Value};

use crate::captures::{Arg, captures, direction};
use crate::extent::Extent;
use crate::fill::Fills;
use crate::phi::{is_tensor, is_tile, joins, yielded};
use crate::spaces::{self, Detours, Spaces};
use crate::tile::Place;
use crate::uses::Uses;
use crate::webs::{self, Web, Webs};
use crate::{Choices, Fail, Options};

pub(crate) use buffers::Held;

/// A lowered scope.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) function: Function,
    /// What the submission passes, in the order of the parameters.
    pub(crate) args: Vec<Arg>,
    pub(crate) directions: Vec<&'static str>,
}

/// A captured tensor in the kernel: its address, and its extents and strides as indices.
#[derive(Clone, Debug)]
struct TensorParam {
    ty: TensorType,
    ptr: Value,
    dims: Vec<Extent>,
    strides: Vec<Extent>,
}

/// A view of a captured tensor, by the order of its axes.
type ViewKey = (Value, Vec<Option<usize>>);

pub(crate) struct Kernel<'a> {
    /// The entry.
    src: &'a Function,
    arch: Arch,
    profile: Profile,
    spaces: &'a Spaces,
    webs: &'a Webs,
    fills: &'a Fills,
    uses: &'a Uses,
    choices: &'a mut Choices,
    b: Builder<'a>,
    tensors: BTreeMap<Value, TensorParam>,
    /// Names of captured tensors inside the scope.
    aliases: BTreeMap<Value, Value>,
    scalars: BTreeMap<Value, Value>,
    views: BTreeMap<ViewKey, Value>,
    tiles: BTreeMap<(Value, Place), Held>,
    /// Buffers of webs that are allocated ahead of their values.
    roots: BTreeMap<Web, Value>,
    extents: BTreeMap<Value, Vec<Extent>>,
    /// Sums of products whose terms are known.
    products: BTreeMap<Value, Vec<matmul::Term>>,
    /// Loaded values with zeros outside their valid region.
    filled: BTreeSet<Value>,
    /// Literals that are visible here, innermost region last.
    literals: Vec<BTreeMap<(DType, u64), Value>>,
}

/// Lowers a scope to a kernel called `name`.
pub(crate) fn outline(
    src: &Function,
    scope: Op,
    name: String,
    arch: Arch,
    options: &Options,
    choices: &mut Choices,
) -> Result<Task, Vec<Diagnostic>> {
    outline_one(src, scope, name, arch, options, choices).map_err(|fail| vec![*fail])
}

fn outline_one(
    src: &Function,
    scope: Op,
    name: String,
    arch: Arch,
    options: &Options,
    choices: &mut Choices,
) -> Result<Task, Fail> {
    let region = src.ops[scope].regions[0];
    let captured = captures(src, scope)?;
    let aliases = aliases(src, scope, &captured.args)?;
    let tile_joins = joins(src, region, is_tile);
    let uses = Uses::new(src, region);
    let fills = Fills::find(src, region, &tile_joins);
    let mut detours = Detours::default();
    let (spaces, webs) = loop {
        let spaces = spaces::assign(src, region, &tile_joins, &uses, arch, &detours)?;
        match webs::build(src, region, &tile_joins, &spaces, &fills, arch, choices) {
            Ok(webs) => match &webs.crowd {
                Some(values) if detours.thin(src, &tile_joins, values) => {}
                _ => break (spaces, webs),
            },
            // Each time takes a new way around, of which there are finitely many.
            Err(webs::Refusal::Copy(conflict)) => detours.avoid(src, &tile_joins, &uses, &spaces, conflict)?,
            Err(webs::Refusal::Fail(fail)) => return Err(fail),
        }
    };
    let kind = match (spaces.cube, spaces.vector) {
        (true, true) => FunctionKind::Cluster,
        (true, false) => FunctionKind::Kernel(Core::Cube),
        _ => FunctionKind::Kernel(Core::Vector),
    };
    let mut function = Function::new(name, kind);
    let mut directions = Vec::new();
    let mut names = Vec::new();
    for arg in &captured.args {
        let (wish, dir, ty) = match *arg {
            Arg::Tensor(v) => {
                let Type::Tensor(t) = src.ty(v) else { continue };
                let dir = direction(src, scope, |x| aliases.get(&x) == Some(&v));
                (hint(src, v), dir, Type::Ptr(t.dtype))
            }
            Arg::Dim(v, axis) => (format!("{}_dim{axis}", hint(src, v)), Direction::In, Type::INDEX),
            Arg::Stride(v, axis) => (format!("{}_stride{axis}", hint(src, v)), Direction::In, Type::INDEX),
            Arg::Scalar(v) => (hint(src, v), Direction::In, src.ty(v).clone()),
        };
        let is_tensor = matches!(ty, Type::Ptr(_));
        function.add_param(crate::unique(&wish, &mut names), dir, ty);
        directions.push(match dir {
            _ if !is_tensor => "scalar",
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        });
    }
    let mut kernel = Kernel {
        src,
        arch,
        profile: options.profile,
        spaces: &spaces,
        webs: &webs,
        fills: &fills,
        uses: &uses,
        choices,
        b: Builder::new(&mut function),
        tensors: BTreeMap::new(),
        aliases,
        scalars: BTreeMap::new(),
        views: BTreeMap::new(),
        tiles: BTreeMap::new(),
        roots: BTreeMap::new(),
        extents: BTreeMap::new(),
        products: BTreeMap::new(),
        filled: BTreeSet::new(),
        literals: vec![BTreeMap::new()],
    };
    kernel.frame(scope, &captured.args, &captured.consts)?;
    kernel.body(region)?;
    kernel.b.effect(Opcode::Return, &[&[]], attrs([]));
    Ok(Task { function, args: captured.args, directions })
}

/// The user's name of a value, as a parameter name.
fn hint(f: &Function, value: Value) -> String {
    f.values[value].name.clone().unwrap_or_else(|| "arg".to_owned())
}

/// Which captured tensor each tensor name of a scope stands for.
fn aliases(f: &Function, scope: Op, args: &[Arg]) -> Result<BTreeMap<Value, Value>, Fail> {
    let mut of = BTreeMap::new();
    for arg in args {
        if let Arg::Tensor(v) = *arg {
            of.insert(v, v);
        }
    }
    let joins = joins(f, f.ops[scope].regions[0], is_tensor);
    let edges: Vec<(Value, Value, Op)> = joins
        .edges
        .iter()
        .map(|e| (e.target, e.source, e.at))
        .chain(joins.same.iter().map(|&(a, b)| (b, a, scope)))
        .collect();
    // Names of names settle in as many rounds as there are edges.
    for _ in 0..=edges.len() {
        for &(target, source, _) in &edges {
            if let (Some(&t), None) = (of.get(&source), of.get(&target)) {
                of.insert(target, t);
            }
        }
    }
    for (target, source, at) in edges {
        if of.get(&target) != of.get(&source) {
            return Err(Box::new(
                Diagnostic::unsupported(
                    "tensor-choice",
                    "a kernel scope cannot choose between tensors at run time; choose outside, or between offsets",
                )
                .at(f.ops[at].span, "here"),
            ));
        }
    }
    Ok(of)
}

impl Kernel<'_> {
    /// Parameters, literals of the surroundings, and the views of all tensors, at the top of the body.
    fn frame(&mut self, scope: Op, args: &[Arg], consts: &[Value]) -> Result<(), Fail> {
        let src = self.src;
        self.b.span = src.ops[scope].span;
        self.b.origin = Some(Origin { op: scope, completes: false });
        let params = self.b.func.param_values().to_vec();
        let mut shapes: BTreeMap<(Value, bool, usize), Value> = BTreeMap::new();
        for (arg, &param) in args.iter().zip(&params) {
            match *arg {
                Arg::Tensor(_) => {}
                Arg::Dim(v, axis) => {
                    shapes.insert((v, true, axis), param);
                }
                Arg::Stride(v, axis) => {
                    shapes.insert((v, false, axis), param);
                }
                Arg::Scalar(v) => {
                    self.scalars.insert(v, param);
                }
            }
        }
        for (arg, &ptr) in args.iter().zip(&params) {
            let Arg::Tensor(v) = *arg else { continue };
            let Type::Tensor(ty) = src.ty(v) else { continue };
            let known = |is_dim: bool, axis: usize, dim: Dim| match dim {
                Dim::Static(n) => Extent::Static(n),
                Dim::Dynamic => Extent::Dynamic(shapes[&(v, is_dim, axis)]),
            };
            let dims = ty.shape.iter().enumerate().map(|(i, &d)| known(true, i, d)).collect();
            let strides = ty.strides.iter().enumerate().map(|(i, &d)| known(false, i, d)).collect();
            self.tensors.insert(v, TensorParam { ty: ty.clone(), ptr, dims, strides });
        }
        for &value in consts {
            if let Some(scalar) = const_scalar(src, value) {
                let new = self.literal(scalar);
                self.scalars.insert(value, new);
            }
        }
        let region = src.ops[scope].regions[0];
        if let Some(&block) = src.blocks[region].args.first() {
            let index = self.launch_index(Opcode::GetBlockIdx);
            self.scalars.insert(block, index);
        }
        self.views(region)
    }

    /// The operations of a region, without its terminator.
    fn body(&mut self, block: Block) -> Result<(), Fail> {
        let src = self.src;
        for &op in &src.blocks[block].ops {
            let data = &src.ops[op];
            if data.opcode.is_terminator() {
                continue;
            }
            self.b.span = data.span;
            self.b.origin = Some(Origin { op, completes: false });
            self.allocate(op)?;
            match data.opcode {
                Opcode::For => self.for_(op)?,
                Opcode::If => self.if_(op)?,
                Opcode::While => self.while_(op)?,
                _ => self.op(op)?,
            }
        }
        Ok(())
    }

    fn for_(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let body = data.regions[0];
        let (iv, names) = (src.blocks[body].args[0], &src.blocks[body].args[1..]);
        self.assign(names, data.named("init"))?;
        let init = self.carried(names, data.named("init"))?;
        let bounds = [data.named("lower")[0], data.named("upper")[0], data.named("step")[0]];
        let bounds = bounds.map(|v| self.scalars[&v]);
        let types = self.carried_types(names);
        let new = self.b.op(NewOp {
            opcode: Opcode::For,
            groups: &[&bounds[..1], &bounds[1..2], &bounds[2..], &init],
            dests: &[],
            results: &types,
            attrs: data.attrs.clone(),
        });
        let mut args = vec![(src.ty(iv).clone(), src.values[iv].name.clone())];
        args.extend(types.into_iter().map(|t| (t, None)));
        let (outer, args) = self.enter(new, &args);
        self.scalars.insert(iv, args[0]);
        self.bind(names, &args[1..])?;
        self.body(body)?;
        self.at(op);
        self.assign(names, yielded(src, body))?;
        let next = self.carried(names, yielded(src, body))?;
        self.b.effect(Opcode::Yield, &[&next], attrs([]));
        self.leave(outer);
        let results = self.b.func.ops[new].results.clone();
        self.bind(&data.results, &results)
    }

    fn if_(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let condition = self.scalars[&data.named("condition")[0]];
        let types = self.carried_types(&data.results);
        let new = self.b.op(NewOp {
            opcode: Opcode::If,
            groups: &[&[condition]],
            dests: &[],
            results: &types,
            attrs: data.attrs.clone(),
        });
        for &branch in &data.regions {
            let (outer, _) = self.enter(new, &[]);
            self.body(branch)?;
            self.at(op);
            self.assign(&data.results, yielded(src, branch))?;
            let values = self.carried(&data.results, yielded(src, branch))?;
            self.b.effect(Opcode::Yield, &[&values], attrs([]));
            self.leave(outer);
        }
        let results = self.b.func.ops[new].results.clone();
        self.bind(&data.results, &results)
    }

    fn while_(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let (test, body) = (data.regions[0], data.regions[1]);
        let (names, inner) = (&src.blocks[test].args, &src.blocks[body].args);
        self.assign(names, data.named("init"))?;
        let init = self.carried(names, data.named("init"))?;
        let (types, inner_types) = (self.carried_types(names), self.carried_types(inner));
        let new = self.b.op(NewOp {
            opcode: Opcode::While,
            groups: &[&init],
            dests: &[],
            results: &inner_types,
            attrs: data.attrs.clone(),
        });
        let unnamed = |types: Vec<Type>| types.into_iter().map(|t| (t, None)).collect::<Vec<_>>();
        let (outer, args) = self.enter(new, &unnamed(types));
        self.bind(names, &args)?;
        self.body(test)?;
        self.at(op);
        let end = *src.blocks[test].ops.last().ok_or_else(|| self.internal("a region without an end"))?;
        let condition = self.scalars[&src.ops[end].named("condition")[0]];
        self.assign(&data.results, yielded(src, test))?;
        let forwarded = self.carried(inner, yielded(src, test))?;
        self.b.effect(Opcode::Condition, &[&[condition], &forwarded], attrs([]));
        self.leave(outer);
        let (outer, args) = self.enter(new, &unnamed(inner_types));
        self.bind(inner, &args)?;
        self.body(body)?;
        self.at(op);
        self.assign(names, yielded(src, body))?;
        let next = self.carried(names, yielded(src, body))?;
        self.b.effect(Opcode::Yield, &[&next], attrs([]));
        self.leave(outer);
        let results = self.b.func.ops[new].results.clone();
        self.bind(&data.results, &results)
    }

    fn at(&mut self, op: Op) {
        self.b.span = self.src.ops[op].span;
        self.b.origin = Some(Origin { op, completes: false });
    }

    fn enter(&mut self, op: Op, args: &[(Type, Option<String>)]) -> (Block, Vec<Value>) {
        let inner = self.b.add_region(op, args);
        self.literals.push(BTreeMap::new());
        (self.b.switch_to(inner), self.b.func.blocks[inner].args.clone())
    }

    fn leave(&mut self, outer: Block) {
        self.b.switch_to(outer);
        self.literals.pop();
    }

    /// What a join carries in registers for these names: scalars, and the dynamic extents of tiles. The tiles stay in their
    /// buffers, and a tensor is one tensor throughout.
    fn carried_types(&self, names: &[Value]) -> Vec<Type> {
        let mut types = Vec::new();
        for &name in names {
            match self.src.ty(name) {
                Type::Tile(t) => {
                    types.extend(t.valid.iter().filter(|d| **d == Dim::Dynamic).map(|_| Type::INDEX));
                }
                Type::Tensor(_) => {}
                other => types.push(other.clone()),
            }
        }
        types
    }

    fn carried(&mut self, names: &[Value], values: &[Value]) -> Result<Vec<Value>, Fail> {
        let src = self.src;
        let mut out = Vec::new();
        for (&name, &value) in names.iter().zip(values) {
            match src.ty(name) {
                Type::Tile(t) => {
                    for (i, dim) in t.valid.iter().enumerate() {
                        if *dim == Dim::Dynamic {
                            let extent = self.extents(value)?[i];
                            out.push(self.extent_value(extent));
                        }
                    }
                }
                Type::Tensor(_) => {}
                _ => out.push(self.scalars[&value]),
            }
        }
        Ok(out)
    }

    /// Gives joined names their meaning where control flow has brought `values`.
    fn bind(&mut self, names: &[Value], values: &[Value]) -> Result<(), Fail> {
        let src = self.src;
        let mut values = values.iter().copied();
        let mut next = || values.next();
        for &name in names {
            match src.ty(name) {
                Type::Tile(t) => {
                    let mut extents = Vec::new();
                    for dim in &t.valid {
                        extents.push(match dim {
                            Dim::Static(n) => Extent::Static(*n),
                            Dim::Dynamic => Extent::Dynamic(next().ok_or_else(|| self.internal("a lost extent"))?),
                        });
                    }
                    self.extents.insert(name, extents);
                    self.define(name)?;
                    self.cross(name)?;
                }
                Type::Tensor(_) => {}
                _ => {
                    let value = next().ok_or_else(|| self.internal("a lost value"))?;
                    if let Some(hint) = &src.values[name].name {
                        self.b.name(value, hint);
                    }
                    self.scalars.insert(name, value);
                }
            }
        }
        Ok(())
    }

    /// A scalar operation means the same in a kernel.
    fn copy_scalar(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        if data.opcode == Opcode::Const {
            let scalar = const_scalar(src, data.results[0]).ok_or_else(|| self.internal("a literal without value"))?;
            let value = self.literal(scalar);
            self.scalars.insert(data.results[0], value);
            return Ok(());
        }
        let groups: Vec<Vec<Value>> =
            (0..data.segments.len()).map(|g| data.group(g).iter().map(|v| self.scalars[v]).collect()).collect();
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let results: Vec<Type> = data.results.iter().map(|&r| src.ty(r).clone()).collect();
        let attrs = data.attrs.clone();
        let new = self.b.op(NewOp { opcode: data.opcode, groups: &groups, dests: &[], results: &results, attrs });
        for (i, &r) in data.results.iter().enumerate() {
            let value = self.b.func.ops[new].results[i];
            if let Some(name) = &src.values[r].name {
                self.b.name(value, name);
            }
            self.scalars.insert(r, value);
        }
        Ok(())
    }

    /// Block index, block count and the like: i64 on the machine, index in the language.
    fn launch_index(&mut self, opcode: Opcode) -> Value {
        let raw = self.b.result(opcode, &[], Type::Scalar(DType::I64), attrs([]));
        self.b.result(Opcode::ScalarCast, &[&[raw]], Type::INDEX, attrs([]))
    }

    fn literal(&mut self, scalar: Scalar) -> Value {
        let key = (scalar.dtype, scalar.bits);
        if let Some(&value) = self.literals.iter().find_map(|m| m.get(&key)) {
            return value;
        }
        let value = self.b.constant(scalar);
        if let Some(map) = self.literals.last_mut() {
            map.insert(key, value);
        }
        value
    }

    fn index(&mut self, value: i64) -> Value {
        self.literal(Scalar::index(value))
    }

    /// An integer scalar of the scope as an index.
    fn scalar_index(&mut self, value: Value) -> Value {
        let new = self.scalars[&value];
        match self.src.ty(value).as_scalar() {
            Some(DType::Index) => new,
            _ => self.b.result(Opcode::ScalarCast, &[&[new]], Type::INDEX, attrs([])),
        }
    }

    /// `a op b` on indices; literals are folded.
    fn arith(&mut self, opcode: Opcode, a: Value, b: Value) -> Value {
        if let (Some(x), Some(y)) = (self.b.func.const_int(a), self.b.func.const_int(b)) {
            let folded = match opcode {
                Opcode::ScalarAdd => x.checked_add(y),
                Opcode::ScalarSub => x.checked_sub(y),
                Opcode::ScalarMul => x.checked_mul(y),
                Opcode::ScalarMin => Some(x.min(y)),
                Opcode::ScalarMax => Some(x.max(y)),
                _ => None,
            };
            if let Some(n) = folded {
                return self.index(n);
            }
        }
        let neutral = |v: Value, n: i64| self.b.func.const_int(v) == Some(n);
        match opcode {
            Opcode::ScalarAdd if neutral(a, 0) => return b,
            Opcode::ScalarAdd | Opcode::ScalarSub if neutral(b, 0) => return a,
            Opcode::ScalarMul if neutral(a, 1) => return b,
            Opcode::ScalarMul if neutral(b, 1) => return a,
            Opcode::ScalarMin | Opcode::ScalarMax if a == b => return a,
            _ => {}
        }
        self.b.result(opcode, &[&[a], &[b]], Type::INDEX, attrs([]))
    }

    fn extent_value(&mut self, extent: Extent) -> Value {
        match extent {
            Extent::Static(n) => self.index(n as i64),
            Extent::Dynamic(v) => v,
        }
    }

    fn extents(&self, value: Value) -> Result<Vec<Extent>, Fail> {
        self.extents.get(&value).cloned().ok_or_else(|| self.internal("a tile without extents"))
    }

    /// Marks an operation as the one after which the value of its tensor-level operation is whole.
    fn complete(&mut self, op: Op) {
        if let Some(origin) = &mut self.b.func.ops[op].origin {
            origin.completes = true;
        }
    }

    fn fail(&self, code: &'static str, message: impl Into<String>) -> Fail {
        Box::new(Diagnostic::unsupported(code, message).at(self.b.span, "here"))
    }

    /// A state that a verified program cannot cause.
    fn internal(&self, what: &str) -> Fail {
        let message = format!("lowering met {what}; this is a fault of the compiler, not of the program");
        Box::new(Diagnostic::error("internal", message).at(self.b.span, "here"))
    }
}

/// The `sizes` of a window.
fn sizes(rows: u64, cols: u64) -> (&'static str, Attr) {
    ("sizes", Attr::Ints(vec![rows as i64, cols as i64]))
}
