//! Which names are read later: a backward pass over a function body.
//!
//! A name is *live* at a point if some path from there reads it before assigning it. Loops carry, branches merge, and
//! kernel scopes let escape, exactly the names that are live where they end; so temporaries cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use crate::loops::{leaves, yields};

pub(crate) type Names = BTreeSet<String>;

/// What is live around a compound statement or an assignment.
#[derive(Clone, Default, Debug)]
pub(crate) struct Live {
    /// After it.
    pub(crate) out: Rc<Names>,
    /// At the start of an iteration (loops; for `while` before the condition).
    pub(crate) iteration: Rc<Names>,
}

/// By the offset at which a statement starts.
#[derive(Default, Debug)]
pub(crate) struct Liveness {
    at: BTreeMap<u32, Live>,
}

impl Liveness {
    pub(crate) fn of(body: &[Stmt]) -> Liveness {
        let mut pass = Pass { result: Liveness::default(), loops: Vec::new() };
        pass.block(body, Names::new());
        pass.result
    }

    pub(crate) fn around(&self, stmt: impl Ranged) -> Live {
        self.at.get(&stmt.range().start().to_u32()).cloned().unwrap_or_default()
    }
}

struct Pass {
    result: Liveness,
    /// (live at `break`, live at `continue`) of the loops around.
    loops: Vec<(Names, Names)>,
}

impl Pass {
    fn block(&mut self, body: &[Stmt], mut live: Names) -> Names {
        for stmt in body.iter().rev() {
            live = self.stmt(stmt, live);
        }
        live
    }

    fn note(&mut self, stmt: &Stmt, out: &Names, iteration: &Names) {
        let live = Live { out: Rc::new(out.clone()), iteration: Rc::new(iteration.clone()) };
        self.result.at.insert(stmt.range().start().to_u32(), live);
    }

    fn stmt(&mut self, stmt: &Stmt, mut live: Names) -> Names {
        match stmt {
            Stmt::Assign(s) => {
                self.note(stmt, &live, &Names::new());
                for target in &s.targets {
                    kill(target, &mut live);
                }
                s.targets.iter().for_each(|t| reads(t, &mut live));
                reads(&s.value, &mut live);
            }
            Stmt::AnnAssign(s) => {
                self.note(stmt, &live, &Names::new());
                kill(&s.target, &mut live);
                reads(&s.target, &mut live);
                if let Some(value) = &s.value {
                    reads(value, &mut live);
                }
            }
            Stmt::AugAssign(s) => {
                self.note(stmt, &live, &Names::new());
                if let Expr::Name(n) = &*s.target {
                    live.insert(n.id.to_string());
                }
                reads(&s.target, &mut live);
                reads(&s.value, &mut live);
            }
            Stmt::For(s) => {
                let out = live;
                // Two rounds reach the fixpoint: what an iteration needs is also live at the end of the one before.
                let mut head = out.clone();
                // What the `yield_` at the end binds is bound by the loop, however often it runs.
                if has_init(&s.iter) {
                    for name in yields(&s.body) {
                        head.remove(&name);
                    }
                }
                for _ in 0..2 {
                    self.loops.push((out.clone(), head.clone()));
                    let mut start = self.block(&s.body, head.clone());
                    self.loops.pop();
                    kill(&s.target, &mut start);
                    head.extend(start);
                }
                let mut iteration = head.clone();
                kill(&s.target, &mut iteration);
                self.note(stmt, &out, &iteration);
                live = head;
                reads(&s.iter, &mut live);
            }
            Stmt::While(s) => {
                let out = live;
                let mut head = out.clone();
                reads(&s.test, &mut head);
                for _ in 0..2 {
                    self.loops.push((out.clone(), head.clone()));
                    let start = self.block(&s.body, head.clone());
                    self.loops.pop();
                    head.extend(start);
                }
                self.note(stmt, &out, &head);
                live = head;
            }
            Stmt::If(s) => {
                let out = live;
                // `break` and `continue` fall through as flags: what they keep alive is alive after this statement.
                let mut after = out.clone();
                if leaves(std::slice::from_ref(stmt))
                    && let Some((broken, continued)) = self.loops.last()
                {
                    after.extend(broken.iter().chain(continued).cloned());
                }
                self.note(stmt, &after, &after);
                live = self.block(&s.body, out.clone());
                let mut has_else = false;
                for clause in s.elif_else_clauses.iter() {
                    live.extend(self.block(&clause.body, out.clone()));
                    match &clause.test {
                        Some(test) => reads(test, &mut live),
                        None => has_else = true,
                    }
                }
                if !has_else {
                    live.extend(out);
                }
                reads(&s.test, &mut live);
            }
            Stmt::With(s) => {
                self.note(stmt, &live.clone(), &Names::new());
                live = self.block(&s.body, live);
                for item in &s.items {
                    // Bound when the task is submitted, so before the body as far as later reads are concerned.
                    if let Some(name) = &item.optional_vars {
                        kill(name, &mut live);
                    }
                    reads(&item.context_expr, &mut live);
                }
            }
            Stmt::Return(s) => {
                live = Names::new();
                if let Some(value) = &s.value {
                    reads(value, &mut live);
                }
            }
            Stmt::Break(_) => live = self.loops.last().map_or(live, |(b, _)| b.clone()),
            Stmt::Continue(_) => live = self.loops.last().map_or(live, |(_, c)| c.clone()),
            Stmt::Expr(s) => reads(&s.value, &mut live),
            // Unsupported statements: reported when executed. Everything they mention counts as read.
            _ => {
                let mut names = Mentions::default();
                names.visit_stmt(stmt);
                live.extend(names.0);
            }
        }
        live
    }
}

/// Whether a loop's iterator has `init_values`.
fn has_init(iter: &Expr) -> bool {
    let Expr::Call(call) = iter else { return false };
    call.arguments.keywords.iter().any(|k| k.arg.as_ref().is_some_and(|a| a == "init_values"))
}

/// Removes what an assignment target binds.
fn kill(target: &Expr, live: &mut Names) {
    match target {
        Expr::Name(n) => {
            live.remove(n.id.as_str());
        }
        Expr::Tuple(t) => t.elts.iter().for_each(|e| kill(e, live)),
        Expr::List(t) => t.elts.iter().for_each(|e| kill(e, live)),
        Expr::Starred(s) => kill(&s.value, live),
        _ => {}
    }
}

#[derive(Default)]
struct Mentions(Names);

impl<'a> Visitor<'a> for Mentions {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(n) if n.ctx == ast::ExprContext::Load => {
                self.0.insert(n.id.to_string());
            }
            _ => walk_expr(self, expr),
        }
    }
}

fn reads(expr: &Expr, live: &mut Names) {
    let mut names = Mentions::default();
    names.visit_expr(expr);
    live.extend(names.0);
}

/// The names that statements bind, in order of first binding: assignments, loop variables, `as`.
pub(crate) fn assigned(body: &[Stmt]) -> Vec<String> {
    #[derive(Default)]
    struct Bound(Vec<String>);
    impl Bound {
        fn bind(&mut self, target: &Expr) {
            match target {
                Expr::Name(n) if self.0.iter().any(|x| x == n.id.as_str()) => {}
                Expr::Name(n) => self.0.push(n.id.to_string()),
                Expr::Tuple(t) => t.elts.iter().for_each(|e| self.bind(e)),
                Expr::List(t) => t.elts.iter().for_each(|e| self.bind(e)),
                Expr::Starred(s) => self.bind(&s.value),
                _ => {}
            }
        }
    }
    impl<'a> Visitor<'a> for Bound {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::Assign(s) => s.targets.iter().for_each(|t| self.bind(t)),
                Stmt::AnnAssign(s) => self.bind(&s.target),
                Stmt::AugAssign(s) => self.bind(&s.target),
                Stmt::For(s) => self.bind(&s.target),
                Stmt::With(s) => s.items.iter().filter_map(|i| i.optional_vars.as_ref()).for_each(|v| self.bind(v)),
                _ => {}
            }
            walk_stmt(self, stmt);
        }
    }
    let mut bound = Bound::default();
    body.iter().for_each(|s| bound.visit_stmt(s));
    bound.0
}

/// Operations that change a tile in place and give it back.
pub(crate) fn changes_in_place(operation: &str) -> bool {
    matches!(operation, "assemble" | "write" | "setval" | "gather_row")
}

/// The names whose tile may be changed in place: bases of subscript assignments, and arguments of calls that could do it
/// ([`changes_in_place`], and every call that is not an operation of the language). Semantics rule 14.
pub(crate) fn targets(body: &[Stmt]) -> Names {
    #[derive(Default)]
    struct Targets(Names);
    impl Targets {
        fn base(&mut self, target: &Expr) {
            match target {
                Expr::Subscript(s) => match &*s.value {
                    Expr::Name(n) => {
                        self.0.insert(n.id.to_string());
                    }
                    inner => self.base(inner),
                },
                Expr::Tuple(t) => t.elts.iter().for_each(|e| self.base(e)),
                _ => {}
            }
        }
    }
    impl<'a> Visitor<'a> for Targets {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::Assign(s) => s.targets.iter().for_each(|t| self.base(t)),
                Stmt::AugAssign(s) => self.base(&s.target),
                _ => {}
            }
            walk_stmt(self, stmt);
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr {
                let changes = match &*call.func {
                    Expr::Attribute(a) => changes_in_place(a.attr.as_str()),
                    _ => true,
                };
                if changes {
                    let values = call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|k| &k.value));
                    for value in values {
                        if let Expr::Name(n) = value {
                            self.0.insert(n.id.to_string());
                        }
                    }
                }
            }
            walk_expr(self, expr);
        }
    }
    let mut targets = Targets::default();
    body.iter().for_each(|s| targets.visit_stmt(s));
    targets.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Names {
        list.iter().map(|n| (*n).to_owned()).collect()
    }

    fn body(text: &str) -> ast::ModModule {
        ruff_python_parser::parse_module(text).expect("Python").into_syntax()
    }

    #[test]
    fn a_loop_carries_what_it_reads_before_writing() {
        let module = body("a = 0\nt = 1\nfor i in r:\n    t = i\n    a = a + t\nuse(a)\n");
        let live = Liveness::of(&module.body).around(&module.body[2]);
        assert_eq!(*live.out, names(&["a", "use"]));
        // `t` is written first in every iteration, and nobody reads it after.
        assert!(live.iteration.contains("a") && !live.iteration.contains("t"));
    }

    #[test]
    fn the_next_iteration_keeps_a_name_alive() {
        let module = body("for i in r:\n    if c:\n        x = 1\n    use(y)\n    y = 2\n");
        let liveness = Liveness::of(&module.body);
        let Stmt::For(f) = &module.body[0] else { panic!() };
        assert!(liveness.around(f).iteration.contains("y"));
        assert!(!liveness.around(&f.body[0]).out.contains("x"), "nobody reads x");
        assert!(liveness.around(&f.body[0]).out.contains("y"));
    }

    #[test]
    fn break_goes_to_what_follows_the_loop() {
        let module = body("while c:\n    if d:\n        x = 1\n        break\n    x = 2\n    x = 3\nuse(x)\n");
        let liveness = Liveness::of(&module.body);
        let Stmt::While(w) = &module.body[0] else { panic!() };
        let Stmt::If(i) = &w.body[0] else { panic!() };
        assert!(liveness.around(w).out.contains("x"));
        assert!(liveness.around(i).out.contains("x"), "the path that breaks keeps it");
    }

    #[test]
    fn names_that_may_change_in_place() {
        let module = body("x[0] = t\npl.assemble(u, v, [0])\npl.add(a, b)\nhelper(w)\n");
        let found = targets(&module.body);
        assert!(["x", "u", "v", "w"].iter().all(|n| found.contains(*n)));
        assert!(["t", "a", "b"].iter().all(|n| !found.contains(*n)));
    }
}
