//! `pl.func_attr({…})`: what a function says of itself to upstream's compiler. Nothing here depends on it, so it is
//! checked and dropped: it stands in the leading statements of a function, after the docstring; a key is given once, and
//! not one that is an option of the decorator; a bare name as value is a parameter.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::names::dotted;
use crate::value::Held;

/// What is said on the decorator only.
const OF_THE_DECORATOR: &[&str] = &["auto_scope", "external_source"];

/// The call that a statement is, if it is one of `func_attr`.
fn attributes(stmt: &Stmt) -> Option<&ast::ExprCall> {
    let Stmt::Expr(e) = stmt else { return None };
    let Expr::Call(call) = &*e.value else { return None };
    dotted(&call.func).is_some_and(|n| n == "func_attr" || n.ends_with(".func_attr")).then_some(call)
}

fn docstring(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(e) if e.value.is_string_literal_expr())
}

/// The key of an entry of the dictionary, if it is a literal.
fn key(item: &ast::DictItem) -> Option<&str> {
    item.key.as_ref()?.as_string_literal_expr().map(|s| s.value.to_str())
}

fn dictionary(call: &ast::ExprCall) -> Option<&ast::ExprDict> {
    match (&call.arguments.args[..], &call.arguments.keywords[..]) {
        ([Expr::Dict(dict)], []) => Some(dict),
        _ => None,
    }
}

pub(crate) fn func_attr(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let source = cx.environment.function(cx.frame().function);
    let parsed = cx.files.parse(source)?;
    let Some(def) = parsed.function(&source.name, source.line) else { return Ok(Held::None) };
    let leading: Vec<&ast::ExprCall> = def.body.iter().skip_while(|s| docstring(s)).map_while(attributes).collect();
    let Some(place) = leading.iter().position(|call| call.range() == args.at) else {
        let message = "`pl.func_attr` stands in the leading statements of a function, before everything else";
        return Err(cx.error("syntax", args.at, message).into());
    };
    let Some(dict) = dictionary(leading[place]) else {
        let message = "`pl.func_attr` takes one dictionary, written out: `pl.func_attr({\"key\": value})`";
        return Err(cx.error("syntax", args.at, message).into());
    };
    let mut taken: Vec<&str> =
        leading[..place].iter().filter_map(|c| dictionary(c)).flat_map(|d| d.items.iter().filter_map(key)).collect();
    for item in &dict.items {
        let at = item.key.as_ref().map_or(item.value.range(), Ranged::range);
        let wrong = match key(item) {
            None => Some("a key of `pl.func_attr` is a string, written out".to_owned()),
            Some(key) if taken.contains(&key) => Some(format!("the attribute `{key}` is given twice")),
            Some(key) if OF_THE_DECORATOR.contains(&key) => {
                Some(format!("`{key}` is an option of the decorator, not of `pl.func_attr`"))
            }
            Some(_) => None,
        };
        if let Some(message) = wrong {
            return Err(cx.error("syntax", at, message).into());
        }
        if let Expr::Name(name) = &item.value
            && !source.params.iter().any(|p| p.name == name.id.as_str())
        {
            let message =
                format!("a bare name in `pl.func_attr` is a parameter, and `{}` has no `{}`", source.name, name.id);
            return Err(cx.error("unknown-name", name.range(), message).into());
        }
        taken.extend(key(item));
    }
    Ok(Held::None)
}
