//! Everything that a function and its helpers use and this front end does not support, found without specialising.
//!
//! A compile reports what it comes across: it does not look into what depends on a value it could not make, into the
//! branch not taken, or at shapes that nobody gave. The survey reads the source instead, name by name: calls of the
//! language that are not supported, and statements and expressions that kernels cannot have. What is refused for its
//! types, shapes or place only is not seen here. The two together are `tilewright supports`.

use std::collections::BTreeSet;
use std::rc::Rc;

use diag::{Diagnostic, Sources};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use crate::expr::unsupported_expression;
use crate::faces::{self, Meaning};
use crate::liveness::{Names, assigned};
use crate::names::dotted;
use crate::source::{Files, Parsed};
use crate::stmt::unsupported_statement;
use crate::{Environment, FunctionId, FunctionKind, Known};

/// What the function and every helper it calls use that is not supported, in order of the source, and the files that the
/// places are in.
pub fn survey(environment: &dyn Environment, entry: FunctionId) -> (Vec<Diagnostic>, Sources) {
    let mut files = Files::default();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut todo = vec![entry];
    while let Some(id) = todo.pop() {
        if !seen.insert(id) {
            continue;
        }
        let source = environment.function(id);
        let parsed = match files.parse(source) {
            Ok(parsed) => parsed,
            Err(error) => {
                found.push(*error);
                continue;
            }
        };
        let Some(def) = parsed.function(&source.name, source.line) else { continue };
        let mut locals: Names = assigned(&def.body).into_iter().collect();
        locals.extend(source.params.iter().map(|p| p.name.clone()));
        let mut walk = Walk { environment, id, parsed: parsed.clone(), locals, found: &mut found, helpers: Vec::new() };
        walk.visit_body(&def.body);
        todo.extend(walk.helpers);
        // Those that are called as `self.f(…)`, or launched.
        todo.extend(crate::callees(environment, id).unwrap_or_default());
    }
    found.sort_by_key(|d| d.primary.as_ref().map(|l| l.span));
    found.dedup();
    (found, files.sources)
}

struct Walk<'a> {
    environment: &'a dyn Environment,
    id: FunctionId,
    parsed: Rc<Parsed>,
    /// Names that are not the module's.
    locals: Names,
    found: &'a mut Vec<Diagnostic>,
    helpers: Vec<FunctionId>,
}

impl Walk<'_> {
    fn refuse(&mut self, at: impl ruff_text_size::Ranged, code: &'static str, message: String) {
        self.found.push(Diagnostic::unsupported(code, message).at(Some(self.parsed.span(at)), ""));
    }

    /// What a dotted name means, if it starts in the module.
    fn meaning(&self, name: &Expr) -> Option<Known> {
        let path = dotted(name)?;
        let parts: Vec<&str> = path.split('.').collect();
        if self.locals.contains(parts[0]) {
            return None;
        }
        self.environment.lookup(self.id, &parts)
    }

    fn call(&mut self, call: &ast::ExprCall) {
        match self.meaning(&call.func) {
            Some(Known::Language(name)) if !name.starts_with("builtins.") => {
                let supported = faces::find(&name).is_some_and(|f| !matches!(f.meaning, Meaning::Unsupported));
                if !supported {
                    let text = self.parsed.text(&*call.func).split_whitespace().collect::<String>();
                    self.refuse(&*call.func, "unsupported-op", format!("`{text}` is not supported"));
                }
            }
            Some(Known::Function(id)) if self.environment.function(id).kind != FunctionKind::Entry => {
                self.helpers.push(id);
            }
            Some(Known::Other(what)) if what.starts_with("@pl.") => {
                let text = self.parsed.text(&*call.func).to_owned();
                self.refuse(&*call.func, "unsupported-function", format!("`{text}` is a {what}"));
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Some((message, _)) = unsupported_statement(stmt) {
            self.refuse(stmt, "unsupported-statement", message);
            return;
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(what) = unsupported_expression(expr) {
            self.refuse(expr, "unsupported-expression", format!("{what} is not supported in a kernel"));
            return;
        }
        if let Expr::Call(call) = expr {
            self.call(call);
        }
        visitor::walk_expr(self, expr);
    }

    // Not executed: types are the host's, and were evaluated by it.
    fn visit_annotation(&mut self, _: &'a Expr) {}
}
