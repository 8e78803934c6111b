//! Expressions.

use ir::{Attrs, Opcode, Type};
use ruff_python_ast::{self as ast, BoolOp, Expr, Number};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Fail, Res};
use crate::value::Held;

/// Element types that the language knows and this model does not have.
const UNSUPPORTED_DTYPES: &[&str] = &["FP64", "FP8E4M3FN", "FP8E5M2", "FP8E8M0", "FP4", "HF8", "HF4", "INT4", "UINT4"];

/// Expressions in expressions (and in the helpers they call): beyond, the host's stack is at risk.
const DEEPEST: usize = 200;

/// What an expression is that kernels cannot have anywhere.
pub(crate) fn unsupported_expression(expr: &Expr) -> Option<&'static str> {
    Some(match expr {
        Expr::Lambda(_) => "a lambda",
        Expr::Named(_) => "an assignment expression (`:=`)",
        Expr::Dict(_) | Expr::DictComp(_) => "a dictionary",
        Expr::Set(_) | Expr::SetComp(_) => "a set",
        Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => "a coroutine expression",
        _ => return None,
    })
}

impl Cx<'_> {
    pub(crate) fn eval(&mut self, expr: &Expr) -> Res<Held> {
        let at = expr.range();
        if self.depth >= DEEPEST {
            return Err(self.unsupported("too-deep", at, "the expression is nested too deeply").into());
        }
        self.depth += 1;
        let result = self.at(at, |cx| cx.eval_here(expr, at));
        self.depth -= 1;
        result
    }

    fn eval_here(&mut self, expr: &Expr, at: TextRange) -> Res<Held> {
        match expr {
            Expr::Name(name) => self.name(name),
            Expr::Attribute(attribute) => self.attribute(attribute),
            Expr::NumberLiteral(n) => match &n.value {
                Number::Int(i) => match i.as_i64() {
                    Some(v) => Ok(Held::Int(v)),
                    None => Err(self.error("literal-arithmetic", at, "the integer does not fit in 64 bits").into()),
                },
                Number::Float(v) => Ok(Held::Float(*v)),
                Number::Complex { .. } => Err(self.no_expression("a complex number", at)),
            },
            Expr::BooleanLiteral(b) => Ok(Held::Bool(b.value)),
            Expr::NoneLiteral(_) => Ok(Held::None),
            Expr::StringLiteral(s) => Ok(Held::Str(s.value.to_str().to_owned())),
            Expr::Tuple(t) => self.eval_all(&t.elts).map(Held::Tuple),
            Expr::List(t) => self.eval_all(&t.elts).map(Held::Tuple),
            Expr::UnaryOp(u) => {
                let operand = self.eval(&u.operand)?;
                self.unary(u.op, &operand, at)
            }
            Expr::BinOp(b) => {
                let left = self.eval(&b.left)?;
                let right = self.eval(&b.right)?;
                self.binary(b.op, &left, &right, at)
            }
            Expr::BoolOp(b) => self.bool_op(b),
            Expr::Compare(c) => self.comparison(c),
            Expr::If(i) => self.ternary(i),
            Expr::Subscript(s) => self.subscript(s),
            Expr::Call(c) => self.call(c),
            Expr::ListComp(c) => self.comprehension(&c.elt, &c.generators, at),
            Expr::Generator(c) => self.comprehension(&c.elt, &c.generators, at),
            Expr::FString(f) => self.f_string(f),
            Expr::Starred(_) => Err(self.no_expression("an unpacking `*`", at)),
            Expr::EllipsisLiteral(_) => Err(self.no_expression("`...`", at)),
            Expr::Slice(_) => Err(self.no_expression("a slice outside `[…]`", at)),
            other => Err(self.no_expression(unsupported_expression(other).unwrap_or("this expression"), at)),
        }
    }

    /// An f-string of compile-time values; others are shown as what they are.
    fn f_string(&mut self, f: &ast::ExprFString) -> Res<Held> {
        let mut text = String::new();
        for part in f.value.iter() {
            let elements = match part {
                ast::FStringPart::Literal(literal) => {
                    text.push_str(&literal.value);
                    continue;
                }
                ast::FStringPart::FString(f) => &f.elements,
            };
            for element in elements {
                match element {
                    ast::InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                    ast::InterpolatedStringElement::Interpolation(i) => {
                        if i.format_spec.is_some() {
                            return Err(self.no_expression("a format in an f-string", i.range));
                        }
                        let held = self.eval(&i.expression)?;
                        match held {
                            Held::Int(v) => text.push_str(&v.to_string()),
                            Held::Float(v) => text.push_str(&format!("{v:?}")),
                            Held::Str(s) => text.push_str(&s),
                            other => text.push_str(&self.describe(&other)),
                        }
                    }
                }
            }
        }
        Ok(Held::Str(text))
    }

    fn no_expression(&self, what: &str, at: TextRange) -> Fail {
        let message = format!("{what} is not supported in a kernel");
        self.unsupported("unsupported-expression", at, message)
            .help("bodies are compiled, not executed: literals, names, arithmetic, comparisons, subscripts and calls are supported")
            .into()
    }

    fn eval_all(&mut self, exprs: &[Expr]) -> Res<Vec<Held>> {
        exprs.iter().map(|e| self.eval(e)).collect()
    }

    /// `and`, `or`: decided at compile time as far as possible; run-time operands are all evaluated (they are pure).
    fn bool_op(&mut self, b: &ast::ExprBoolOp) -> Res<Held> {
        let (absorbing, opcode) = match b.op {
            BoolOp::And => (false, Opcode::ScalarAnd),
            BoolOp::Or => (true, Opcode::ScalarOr),
        };
        let mut result: Option<ir::Value> = None;
        for operand in &b.values {
            let held = self.eval(operand)?;
            match self.condition(held, operand.range())? {
                Held::Bool(known) if known == absorbing && result.is_none() => return Ok(Held::Bool(absorbing)),
                Held::Bool(known) if known != absorbing => {}
                held => {
                    let value = self.scalar(&held, None, operand.range())?;
                    result = Some(match result {
                        None => value,
                        Some(before) => self.pure(opcode, &[before, value], Type::BOOL, Attrs::default()),
                    });
                }
            }
        }
        Ok(result.map_or(Held::Bool(!absorbing), Held::Ir))
    }

    fn comparison(&mut self, c: &ast::ExprCompare) -> Res<Held> {
        let mut left = self.eval(&c.left)?;
        let mut result = Held::Bool(true);
        for (op, right) in c.ops.iter().zip(c.comparators.iter()) {
            let right = self.eval(right)?;
            let one = self.compare(*op, &left, &right, c.range())?;
            result = match (result, one) {
                (Held::Bool(false), _) => return Ok(Held::Bool(false)),
                (Held::Bool(true), one) => one,
                (so_far, Held::Bool(true)) => so_far,
                (so_far, one) => {
                    let x = self.scalar(&so_far, None, c.range())?;
                    let y = self.scalar(&one, None, c.range())?;
                    Held::Ir(self.pure(Opcode::ScalarAnd, &[x, y], Type::BOOL, Attrs::default()))
                }
            };
            left = right;
        }
        Ok(result)
    }

    fn ternary(&mut self, i: &ast::ExprIf) -> Res<Held> {
        let test = self.eval(&i.test)?;
        match self.condition(test, i.test.range())? {
            Held::Bool(true) => self.eval(&i.body),
            Held::Bool(false) => self.eval(&i.orelse),
            test => {
                let (a, b) = (self.eval(&i.body)?, self.eval(&i.orelse)?);
                let want = |cx: &Self, h: &Held| match h {
                    Held::Ir(v) => cx.ty(*v).as_scalar(),
                    _ => None,
                };
                let dtype = want(self, &a).or(want(self, &b));
                let condition = self.scalar(&test, None, i.test.range())?;
                let x = self.scalar(&a, dtype, i.body.range())?;
                let dtype = dtype.or(self.ty(x).as_scalar());
                let y = match dtype {
                    Some(d) => self.scalar_of(&b, d, i.orelse.range())?,
                    None => self.scalar(&b, None, i.orelse.range())?,
                };
                let ty = self.ty(x).clone();
                Ok(Held::Ir(self.pure(Opcode::Select, &[condition, x, y], ty, Attrs::default())))
            }
        }
    }

    /// `[… for i in <compile-time sequence> if …]`: unrolled.
    fn comprehension(&mut self, element: &Expr, generators: &[ast::Comprehension], at: TextRange) -> Res<Held> {
        let [generator] = generators else {
            return Err(self.no_expression("a comprehension with several `for`", at));
        };
        let Expr::Name(target) = &generator.target else {
            return Err(self.no_expression("a comprehension over several names", at));
        };
        let Held::Tuple(items) = self.eval(&generator.iter)? else {
            let message = "a comprehension runs over a sequence known at compile time";
            return Err(self.unsupported("unsupported-expression", &generator.iter, message).into());
        };
        let name = target.id.to_string();
        let before = self.frame().names.get(&name).cloned();
        let mut result = Vec::new();
        let mut run = |cx: &mut Self| -> Res<()> {
            for item in &items {
                cx.bind(&name, item.clone(), None);
                let mut keep = true;
                for test in &generator.ifs {
                    let held = cx.eval(test)?;
                    match cx.condition(held, test.range())? {
                        Held::Bool(known) => keep &= known,
                        _ => return Err(cx.no_expression("a run-time condition in a comprehension", test.range())),
                    }
                }
                if keep {
                    result.push(cx.eval(element)?);
                }
            }
            Ok(())
        };
        let outcome = run(self);
        match before {
            Some(binding) => self.frame_mut().names.insert(name, binding),
            None => self.frame_mut().names.remove(&name),
        };
        outcome.map(|()| Held::Tuple(result))
    }

    /// An integer known at compile time.
    pub(crate) fn static_int(&mut self, expr: &Expr) -> Res<i64> {
        let held = self.eval(expr)?;
        match self.known_int(&held) {
            Some(v) => Ok(v),
            None => Err(self.not_a(&held, "an integer known at compile time", expr.range())),
        }
    }

    pub(crate) fn static_bool(&mut self, expr: &Expr) -> Res<bool> {
        let held = self.eval(expr)?;
        match self.condition(held, expr.range())? {
            Held::Bool(known) => Ok(known),
            held => Err(self.not_a(&held, "a truth known at compile time", expr.range())),
        }
    }

    pub(crate) fn static_dtype(&mut self, expr: &Expr) -> Res<dtype::DType> {
        match self.eval(expr)? {
            Held::DType(d) => Ok(d),
            Held::Language(name) if UNSUPPORTED_DTYPES.contains(&name.as_str()) => {
                let message = format!("{name} elements are not supported");
                let all: Vec<&str> = dtype::DType::ALL.iter().map(|d| d.language_name()).collect();
                let help = format!("supported are {}", all.join(", "));
                Err(self.unsupported("unsupported-dtype", expr, message).help(help).into())
            }
            other => Err(self.not_a(&other, "a dtype", expr.range())),
        }
    }

    /// The elements of a list or tuple.
    pub(crate) fn sequence(&mut self, expr: &Expr) -> Res<Vec<Held>> {
        match self.eval(expr)? {
            Held::Tuple(items) => Ok(items),
            other => Err(self.not_a(&other, "a list", expr.range())),
        }
    }
}
