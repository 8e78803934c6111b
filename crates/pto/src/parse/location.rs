//! Locations: `loc("k.py":3:5)`, of any nesting, and the origins that their names are.

use diag::Span;
use ir::text::Result;
use ir::{Entity, Op, Origin};

use super::{MAX_DEPTH, Parser, Place};

impl Parser<'_, '_> {
    /// An optional trailing location.
    pub(super) fn place(&mut self) -> Result<Place> {
        if self.c.eat("loc") { self.location(0) } else { Ok(Place::default()) }
    }

    /// After `loc`: `(…)`. Of several locations the first with a place counts.
    fn location(&mut self, depth: usize) -> Result<Place> {
        if depth > MAX_DEPTH / 4 {
            return Err(self.c.unexpected("fewer nested locations"));
        }
        self.c.expect("(")?;
        let place = self.location_body(depth)?;
        self.c.expect(")")?;
        Ok(place)
    }

    fn location_body(&mut self, depth: usize) -> Result<Place> {
        match self.c.peek() {
            Some('#') => {
                let start = self.mark();
                self.c.expect("#")?;
                let name = self.c.expect_word("the name of a location")?;
                let Some(&at) = self.aliases.get(name) else {
                    return Err(self.c.error_from(start, "syntax", format!("there is no location #{name}")));
                };
                let back = self.c.offset();
                self.c.seek(at);
                self.c.expect("loc")?;
                let place = self.location(depth + 1)?;
                self.c.seek(back);
                Ok(place)
            }
            Some('"') => {
                let text = self.c.string()?;
                if self.c.eat(":") {
                    let line = self.c.number("a line")?;
                    self.c.expect(":")?;
                    let col: u32 = self.c.number("a column")?;
                    if self.c.eat("to") {
                        self.c.eat(":");
                        self.c.number::<u32>("a line or column")?;
                        if self.c.eat(":") {
                            self.c.number::<u32>("a column")?;
                        }
                    }
                    let file = self.sources.by_path(&text);
                    let (end_line, end_col) = (line, col.saturating_add(1));
                    return Ok(Place { span: Some(Span { file, line, col, end_line, end_col }), origin: None });
                }
                let inner = if self.c.eat("(") {
                    let inner = self.location_body(depth + 1)?;
                    self.c.expect(")")?;
                    inner
                } else {
                    Place::default()
                };
                Ok(Place { origin: origin(&text).or(inner.origin), ..inner })
            }
            _ => match self.c.expect_word("a location")? {
                "unknown" => Ok(Place::default()),
                "loc" => self.location(depth + 1),
                "callsite" => {
                    self.c.expect("(")?;
                    let callee = self.location_body(depth + 1)?;
                    self.c.expect("at")?;
                    self.location_body(depth + 1)?;
                    self.c.expect(")")?;
                    Ok(callee)
                }
                "fused" => {
                    self.c.expect("[")?;
                    let mut first = self.location_body(depth + 1)?;
                    while self.c.eat(",") {
                        let next = self.location_body(depth + 1)?;
                        first = Place { span: first.span.or(next.span), origin: first.origin.or(next.origin) };
                    }
                    self.c.expect("]")?;
                    Ok(first)
                }
                word => {
                    let message = format!("`{word}` is not a location");
                    Err(self.c.error_from(self.c.offset(), "unsupported-location", message))
                }
            },
        }
    }
}

/// `op17`, or `op17!` where the operation completes the value.
fn origin(name: &str) -> Option<Origin> {
    let (number, completes) = match name.strip_suffix('!') {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let number: u32 = number.strip_prefix("op")?.parse().ok()?;
    Some(Origin { op: Op::new(number as usize), completes })
}
