//! Reading on after an error in an operation, so that all of a text's errors are reported at once.
//!
//! The text of the operation is skipped, up to a line that begins another, brackets included; operations in a region
//! that it opens are read as if they stood beside it. Its results have no values, so later uses of undefined names are
//! consequences and are skipped likewise. A text with errors gives no functions, so nothing is made of what was read in
//! between.

use ir::text::{Result, SyntaxError};

use super::{Body, MAX_DEPTH};

/// More errors than this are not collected.
const MAX_ERRORS: usize = 100;

impl Body<'_, '_, '_> {
    /// Goes on behind the operation at `start`, which ended in `error`; gives the error back if it ends the parse.
    pub(super) fn recover(&mut self, start: usize, error: SyntaxError) -> Result<()> {
        // Names of a region that was left in its middle stay, too.
        let consequence = self.blind && matches!(error.code, "undefined-value" | "redefined-value");
        // What ends too early, or is too deep, has nothing after it; and a text of errors is no text of operations.
        let ends = self.p.c.at_end() || self.depth >= MAX_DEPTH;
        if !consequence && (ends || self.p.skipped.len() >= MAX_ERRORS) {
            return Err(error);
        }
        if !consequence {
            self.p.skipped.push(error);
        }
        self.blind = true;
        self.p.c.seek(start);
        self.skip()
    }

    /// To the end of the operation.
    fn skip(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            let rest = self.p.c.rest();
            let Some(next) = rest.chars().next() else { return Ok(()) };
            let mut length = next.len_utf8();
            match next {
                '"' => {
                    let string = &rest[1..];
                    let end = string.char_indices().scan(false, |escaped, (i, c)| {
                        let ends = c == '"' && !*escaped;
                        *escaped = c == '\\' && !*escaped;
                        Some((i, ends))
                    });
                    length = end.into_iter().find(|(_, ends)| *ends).map_or(rest.len(), |(i, _)| i + 2);
                }
                '/' if rest.starts_with("//") => length = rest.find('\n').unwrap_or(rest.len()),
                '{' if opens_region(rest) => {
                    self.p.c.seek(self.p.c.offset() + 1);
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(self.p.c.unexpected("fewer nested regions"));
                    }
                    self.operations()?;
                    self.depth -= 1;
                    self.p.c.expect("}")?;
                    continue;
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                // The end of the region around.
                '}' => return Ok(()),
                '\n' if depth == 0 && begins_something(&rest[1..]) => return Ok(()),
                _ => {}
            }
            self.p.c.seek(self.p.c.offset() + length);
        }
    }
}

/// Whether nothing but a comment follows the brace on its line.
fn opens_region(rest: &str) -> bool {
    let line = rest[1..].split('\n').next().unwrap_or("").trim();
    line.is_empty() || line.starts_with("//")
}

/// Whether text from the start of a line is not the rest of an operation: a result, an operation's name, a closing brace.
fn begins_something(text: &str) -> bool {
    let mut text = text.trim_start();
    while let Some(comment) = text.strip_prefix("//") {
        text = comment.find('\n').map_or("", |end| comment[end..].trim_start());
    }
    let word = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).next().unwrap_or("");
    text.is_empty() || text.starts_with(['%', '}', '^', '#', '"']) || word.contains('.') || word == "return"
}
