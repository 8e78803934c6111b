//! A position in text, and the small pieces every grammar needs: blanks, words, numbers, strings.
//!
//! Types such as `128x256xf32` do not split into tokens independently of context, so there is no lexer: parsers read
//! from a [`Cursor`] directly.

use diag::{Diagnostic, FileId, Span};

/// Where parsing failed and why. Offsets are bytes of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    pub code: &'static str,
    pub message: String,
    pub start: usize,
    pub end: usize,
    pub help: Option<String>,
}

pub type Result<T> = std::result::Result<T, SyntaxError>;

/// Reads text from left to right. Every reading method skips blanks and `//` comments first; line ends are blanks only
/// if the grammar does not give them a meaning.
#[derive(Clone, Debug)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
    /// Where the last piece ended, before blanks.
    consumed: usize,
    lines_matter: bool,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str, lines_matter: bool) -> Cursor<'t> {
        Cursor { text, at: 0, consumed: 0, lines_matter }
    }

    /// The byte offset.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The offset after the last piece read, without the blanks that were skipped since.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// Goes back (or forward) to an offset that [`Cursor::offset`] gave.
    pub fn seek(&mut self, offset: usize) {
        self.at = offset;
    }

    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The text between two offsets.
    pub fn slice(&self, start: usize, end: usize) -> &'t str {
        &self.text[start..end]
    }

    fn skip(&mut self, lines: bool) {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            match rest.chars().next() {
                Some('\n') if !lines => return,
                Some(c) if c.is_ascii_whitespace() => self.at += 1,
                _ => return,
            }
        }
    }

    pub fn blank(&mut self) {
        self.skip(!self.lines_matter);
    }

    /// Skips line ends too, whatever the grammar.
    pub fn blank_lines(&mut self) {
        self.skip(true);
    }

    /// The next character after blanks.
    pub fn peek(&mut self) -> Option<char> {
        self.blank();
        self.rest().chars().next()
    }

    /// Whether nothing follows on this line (or at all).
    pub fn at_line_end(&mut self) -> bool {
        self.skip(false);
        self.rest().is_empty() || self.rest().starts_with('\n')
    }

    pub fn at_end(&mut self) -> bool {
        self.blank_lines();
        self.rest().is_empty()
    }

    /// Takes `literal` if it comes next; a literal that ends in a letter must end a word.
    pub fn eat(&mut self, literal: &str) -> bool {
        self.blank();
        let Some(after) = self.rest().strip_prefix(literal) else {
            return false;
        };
        let is_word = literal.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if is_word && after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            return false;
        }
        self.at += literal.len();
        self.consumed = self.at;
        true
    }

    pub fn expect(&mut self, literal: &str) -> Result<()> {
        if self.eat(literal) { Ok(()) } else { Err(self.unexpected(&format!("`{literal}`"))) }
    }

    /// Characters while `keep` holds, without skipping blanks first.
    pub fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += len;
        if len > 0 {
            self.consumed = self.at;
        }
        &rest[..len]
    }

    /// `[A-Za-z_][A-Za-z0-9_.]*`
    pub fn word(&mut self) -> Option<&'t str> {
        self.blank();
        if !self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        Some(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
    }

    pub fn expect_word(&mut self, what: &str) -> Result<&'t str> {
        match self.word() {
            Some(word) => Ok(word),
            None => Err(self.unexpected(what)),
        }
    }

    /// An unsigned decimal number.
    pub fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N> {
        self.blank();
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.unexpected(what));
        }
        digits.parse().map_err(|_| self.error_from(start, "number-range", format!("`{digits}` is too large")))
    }

    /// A signed decimal integer.
    pub fn integer(&mut self, what: &str) -> Result<i64> {
        self.blank();
        let start = self.at;
        let negative = self.rest().starts_with('-');
        self.at += usize::from(negative);
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            self.at = start;
            return Err(self.unexpected(what));
        }
        let literal = self.slice(start, self.at);
        literal.parse().map_err(|_| self.error_from(start, "number-range", format!("`{literal}` is too large")))
    }

    /// A string in double quotes. Escapes: `\"`, `\\`, `\n`, `\r`, `\t`, `\u{hex}`.
    pub fn string(&mut self) -> Result<String> {
        self.blank();
        let start = self.at;
        if !self.rest().starts_with('"') {
            return Err(self.unexpected("a string in double quotes"));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(self.error_from(start, "syntax", "this string has no end".into()));
            };
            self.at += c.len_utf8();
            match c {
                '"' => {
                    self.consumed = self.at;
                    return Ok(out);
                }
                '\n' => return Err(self.error_from(start, "syntax", "this string has no end on its line".into())),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        let c = self.rest().chars().next().unwrap_or('\n');
        self.at += if c == '\n' { 0 } else { c.len_utf8() };
        let escaped = match c {
            '"' | '\\' => Some(c),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' if self.rest().starts_with('{') => {
                self.at += 1;
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let closed = self.rest().starts_with('}');
                self.at += usize::from(closed);
                u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).filter(|_| closed)
            }
            _ => None,
        };
        escaped.ok_or_else(|| self.error_from(start, "syntax", "this is not an escape of a string".into()))
    }

    /// `expected` was not found here.
    pub fn unexpected(&mut self, expected: &str) -> SyntaxError {
        self.blank();
        let rest = self.rest();
        let len = match rest.chars().next() {
            None => 0,
            Some(c) if c.is_alphanumeric() || c == '_' || c == '%' || c == '@' => {
                let tail = &rest[c.len_utf8()..];
                let end = tail.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(tail.len());
                c.len_utf8() + end
            }
            Some(c) => c.len_utf8(),
        };
        let found = match &rest[..len] {
            "" => "the end of the text".to_owned(),
            "\n" => "the end of the line".to_owned(),
            found => format!("`{found}`"),
        };
        SyntaxError {
            code: "syntax",
            message: format!("expected {expected}, found {found}"),
            start: self.at,
            end: self.at + len,
            help: None,
        }
    }

    /// An error about the text from `start` to here.
    pub fn error_from(&self, start: usize, code: &'static str, message: String) -> SyntaxError {
        SyntaxError { code, message, start, end: self.at, help: None }
    }
}

/// Turns offsets of a text into lines and columns.
#[derive(Clone, Debug)]
pub struct Places<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Places<'t> {
    pub fn new(text: &'t str) -> Places<'t> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Places { text, starts }
    }

    fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|&s| s <= offset);
        let start = self.starts[line - 1];
        let col = self.text.get(start..offset).map_or(0, |row| row.chars().count());
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(col).unwrap_or(u32::MAX - 1) + 1)
    }

    pub fn span(&self, file: FileId, start: usize, end: usize) -> Span {
        let ((line, col), (end_line, end_col)) = (self.place(start), self.place(end.max(start)));
        Span { file, line, col, end_line, end_col }
    }
}

impl SyntaxError {
    pub fn help(mut self, help: impl Into<String>) -> SyntaxError {
        self.help = Some(help.into());
        self
    }

    /// As a diagnostic whose span points into `text` as file `file`.
    pub fn diagnostic(&self, text: &str, file: FileId) -> Diagnostic {
        let span = Places::new(text).span(file, self.start, self.end);
        let mut d = Diagnostic::error(self.code, self.message.clone()).at(Some(span), "here");
        d.help.clone_from(&self.help);
        d
    }
}
