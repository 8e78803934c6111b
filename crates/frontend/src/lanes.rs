//! `for lane in pl.split_aiv(2, mode=…)`: what each of a cluster's two vector cores does.
//!
//! The region is one body per lane, in ascending order (semantics rule 22). Lanes share nothing but memory: each starts
//! from what the surroundings hold, and a name that the lanes leave different is a name of one lane, not of what follows.
//! `pl.aiv_shard(x)` is a lane's part of a product: half of its rows or columns, or all of it in mode `NONE`.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use crate::args::Args;
use crate::cx::{Cx, Lane, Res};
use crate::liveness::{assigned, targets};
use crate::stmt::Flow;
use crate::value::Held;

/// Lanes of a cluster.
const LANES: i64 = 2;

impl Cx<'_> {
    pub(crate) fn lanes(&mut self, s: &ast::StmtFor, call: &ast::ExprCall) -> Res<Flow> {
        let at = call.range();
        let face = crate::faces::find("split_aiv").expect("it is in the table");
        let args = self.bind_args(face, &call.arguments, at)?;
        if !self.in_scope() {
            let message = "`pl.split_aiv` belongs into a kernel scope";
            return Err(self.error("wrong-level", at, message).into());
        }
        if self.lane.is_some() {
            return Err(self.error("wrong-place", at, "a `pl.split_aiv` in another").into());
        }
        let count = self.static_int(args.need("n"))?;
        if count != LANES {
            let message = format!("a cluster has {LANES} vector cores: `pl.split_aiv` takes {LANES}, not {count}");
            return Err(self.error("wrong-argument", args.need("n"), message).into());
        }
        let axis = match self.eval(args.need("mode"))? {
            Held::Language(name) if name == "SplitMode.NONE" => None,
            Held::Language(name) if name == "SplitMode.UP_DOWN" => Some(0),
            Held::Language(name) if name == "SplitMode.LEFT_RIGHT" => Some(1),
            other => return Err(self.not_a(&other, "a `pl.SplitMode`", args.need("mode").range())),
        };
        let Expr::Name(variable) = &*s.target else {
            return Err(self.error("wrong-argument", &*s.target, "`pl.split_aiv` binds one name").into());
        };
        let changed = targets(&s.body);
        let own: Vec<String> = assigned(&s.body).into_iter().collect();
        for name in &changed {
            if let Some(Held::Ir(v)) = self.frame().names.get(name).map(|b| b.held.clone())
                && self.tile(v).is_some()
            {
                let message =
                    format!("a lane changes the tile `{name}` of its surroundings, which the lanes do not share");
                return Err(self
                    .unsupported("unsupported-lanes", &*s.iter, message)
                    .help("make it in the lane")
                    .into());
            }
        }
        let before = self.frame().names.clone();
        let mut after = Vec::new();
        for number in 0..LANES {
            let errors = self.errors.len();
            self.frame_mut().names = before.clone();
            self.bind(variable.id.as_str(), Held::Int(number), self.span_of(variable));
            self.lane = Some(Lane { number, axis });
            let place = self.place;
            self.frame_mut().loops.push((place, "split_aiv"));
            let flow = self.block(&s.body);
            self.frame_mut().loops.pop();
            self.lane = None;
            if let Flow::Return(_) = flow {
                return Err(self.error("wrong-place", at, "`return` in a lane").into());
            }
            // The same mistake in both lanes is one mistake.
            if self.errors.len() > errors {
                break;
            }
            after.push(self.frame().names.clone());
        }
        let ([first, .., last] | [first @ last]) = &after[..] else { return Ok(Flow::Next) };
        let held = |names: &crate::value::Table, name: &String| names.get(name).map(|b| b.held.clone());
        let apart: Vec<&String> = own.iter().filter(|n| held(first, n) != held(last, n)).collect();
        for name in apart {
            let why = format!("each lane of `pl.split_aiv` has its own `{name}`");
            self.bind(name, Held::Unset(why), None);
        }
        Ok(Flow::Next)
    }
}

/// `pl.aiv_shard(x)`: this lane's part of it. Of an odd extent the first lane has one more.
pub(crate) fn shard(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let Some(Lane { number, axis }) = cx.lane else {
        let message = "`pl.aiv_shard` belongs into a `pl.split_aiv`";
        return Err(cx.error("wrong-place", args.at, message).into());
    };
    let tile = cx.raw_operand(args.name, &held, x.range())?;
    let Some(axis) = axis else { return Ok(held) };
    let shape = cx.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
    let [rows, cols] = shape[..] else {
        let message = format!("a lane's part of a tile of rank {} is not supported", shape.len());
        return Err(cx.unsupported("unsupported-rank", x, message).into());
    };
    let mut sizes = [rows, cols];
    let larger = sizes[axis].div_ceil(LANES as u64);
    let mut offsets = [0, 0];
    if number == 0 {
        sizes[axis] = larger;
    } else {
        offsets[axis] = larger as i64;
        sizes[axis] -= larger;
    }
    if sizes[axis] == 0 {
        let message = format!("{shape:?} has nothing for the second lane along axis {axis}");
        return Err(cx.error("shape-mismatch", x, message).into());
    }
    let [row, col] = offsets.map(Held::Int);
    let language = cx.program.language.get(&tile).copied();
    let part = cx.extract_window(tile, &row, &col, sizes, args.at)?;
    if let Some(language) = language {
        cx.program.language.insert(part, language);
    }
    Ok(Held::Ir(part))
}
