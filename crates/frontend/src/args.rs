//! Arguments of a call to the language, bound to a face's parameters.

use ruff_python_ast::{Arguments, Expr, ExprCall, Keyword};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Res};
use crate::faces::Face;
use crate::suggest::nearest;

/// Bound arguments. Expressions are not evaluated yet: some faces look at the syntax.
pub(crate) struct Args<'a> {
    pub(crate) name: &'static str,
    /// The call.
    pub(crate) at: TextRange,
    bound: Vec<(&'static str, &'a Expr)>,
    /// All positional arguments, for faces that take any number.
    pub(crate) positional: &'a [Expr],
}

impl<'a> Args<'a> {
    pub(crate) fn get(&self, parameter: &str) -> Option<&'a Expr> {
        self.bound.iter().find(|(n, _)| *n == parameter).map(|(_, e)| *e)
    }

    /// A required parameter: binding has checked that it is there.
    pub(crate) fn need(&self, parameter: &'static str) -> &'a Expr {
        self.get(parameter).expect("required parameters are bound")
    }
}

struct Parameter {
    /// Spellings; the first is the name handlers use.
    names: Vec<&'static str>,
    required: bool,
}

fn parameters(signature: &'static str) -> Vec<Parameter> {
    let parts = signature.split(',').map(str::trim).filter(|p| !p.is_empty() && *p != "...");
    parts
        .map(|part| {
            let required = !part.starts_with('~') && !part.contains('?');
            let names = part.split('|').map(|n| n.trim_matches(['~', '?', ' '])).collect();
            Parameter { names, required }
        })
        .collect()
}

impl Cx<'_> {
    /// The keywords of a call that are options of `face`, bound; the others, and all positional arguments but the first,
    /// belong to the kernel that is launched.
    pub(crate) fn launch_options<'a>(
        &self,
        face: &'static Face,
        call: &'a ExprCall,
    ) -> Res<(Args<'a>, Vec<&'a Keyword>)> {
        let parameters = parameters(face.signature);
        let (mut bound, mut rest): (Vec<(&'static str, &'a Expr)>, Vec<&'a Keyword>) = Default::default();
        for keyword in &call.arguments.keywords {
            let name = keyword.arg.as_ref().map(|n| n.as_str());
            match parameters.iter().find(|p| name.is_some_and(|n| p.names.contains(&n))) {
                Some(p) => bound.push((p.names[0], &keyword.value)),
                None => rest.push(keyword),
            }
        }
        for p in parameters.iter().filter(|p| p.required) {
            if bound.iter().all(|(n, _)| *n != p.names[0]) {
                let message = format!("`pl.{}` needs an argument `{}`", face.name, p.names[0]);
                return Err(self.error("wrong-argument", call, message).into());
            }
        }
        Ok((Args { name: face.name, at: call.range(), bound, positional: &[] }, rest))
    }

    pub(crate) fn bind_args<'a>(&self, face: &'static Face, arguments: &'a Arguments, at: TextRange) -> Res<Args<'a>> {
        let short = face.name;
        let any = face.signature == "...";
        let parameters = parameters(face.signature);
        let mut bound: Vec<(&'static str, &'a Expr)> = Vec::new();
        for (i, value) in arguments.args.iter().enumerate() {
            if let Expr::Starred(s) = value {
                let message = "unpacking arguments with `*` is not supported in a kernel";
                return Err(self.unsupported("unsupported-expression", s, message).into());
            }
            match parameters.get(i) {
                Some(p) => bound.push((p.names[0], value)),
                None if any => {}
                None => {
                    let takes = parameters.len();
                    let plural = if takes == 1 { "argument" } else { "arguments" };
                    let message = format!("`pl.{short}` takes at most {takes} {plural}");
                    return Err(self.error("wrong-argument", value, message).into());
                }
            }
        }
        for keyword in arguments.keywords.iter() {
            let Some(name) = &keyword.arg else {
                let message = "unpacking arguments with `**` is not supported in a kernel";
                return Err(self.unsupported("unsupported-expression", keyword.range(), message).into());
            };
            if any {
                continue;
            }
            match parameters.iter().find(|p| p.names.contains(&name.as_str())) {
                Some(p) if bound.iter().any(|(n, _)| *n == p.names[0]) => {
                    let message = format!("`pl.{short}` gets `{name}` twice");
                    return Err(self.error("wrong-argument", keyword.range(), message).into());
                }
                Some(p) => bound.push((p.names[0], &keyword.value)),
                None => {
                    let message = format!("`pl.{short}` has no argument `{name}`");
                    let diagnostic = self.error("wrong-argument", keyword.range(), message);
                    let all = parameters.iter().flat_map(|p| p.names.iter().copied());
                    let first: Vec<&str> = parameters.iter().map(|p| p.names[0]).collect();
                    return Err(match nearest(name, all) {
                        Some(close) => diagnostic.help(format!("did you mean `{close}`?")),
                        None => diagnostic.help(format!("its arguments are {}", first.join(", "))),
                    }
                    .into());
                }
            }
        }
        for p in &parameters {
            if p.required && bound.iter().all(|(n, _)| *n != p.names[0]) {
                let message = format!("`pl.{short}` needs an argument `{}`", p.names[0]);
                return Err(self.error("wrong-argument", at, message).into());
            }
        }
        Ok(Args { name: short, at, bound, positional: &arguments.args })
    }
}
