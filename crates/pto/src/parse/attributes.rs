//! Attribute dictionaries: `{name = value, unit, …}`.

use ir::text::{Cursor, Result};

use super::Parser;

/// The value of an attribute, as far as any operation here looks.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Item {
    Unit,
    Bool(bool),
    Int(i64),
    Text(String),
    /// `#pto<round_mode RINT>`, `#pto.layout<nd>`, `<PIPE_V>`, or a bare keyword: its last word.
    Enum(String),
    Symbol(String),
    /// `[1, 2]` or `array<i64: 1, 2>`
    Ints(Vec<i64>),
    /// Anything else that has brackets around it, as it is.
    Spelled(String),
}

#[derive(Clone, Debug)]
struct Given {
    name: String,
    item: Item,
    /// Where the name stands.
    start: usize,
    /// The value as it is written.
    text: String,
}

/// In order, each name once.
#[derive(Clone, Default, Debug)]
pub(super) struct Attributes(Vec<Given>);

impl Attributes {
    pub(super) fn get(&self, name: &str) -> Option<&Item> {
        self.0.iter().find(|g| g.name == name).map(|g| &g.item)
    }

    /// Those of these names, with their values as they are written.
    pub(super) fn texts<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = (String, String)> + 'a {
        let known = self.0.iter().filter(|g| names.contains(&g.name.as_str()));
        known.map(|g| (g.name.clone(), g.text.clone()))
    }

    /// An error if there is an attribute of another name.
    pub(super) fn only(&self, c: &Cursor<'_>, names: &[&str]) -> Result<()> {
        match self.0.iter().find(|g| !names.contains(&g.name.as_str())) {
            None => Ok(()),
            Some(Given { name, start, .. }) => {
                let mut e =
                    c.error_from(*start, "unsupported-attribute", format!("the attribute `{name}` is not supported"));
                e.end = start + name.len();
                Err(if names.is_empty() { e } else { e.help(format!("supported are {}", names.join(", "))) })
            }
        }
    }

    pub(super) fn extend(&mut self, other: Attributes) {
        self.0.extend(other.0);
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Item::Int(v)) => Some(*v),
            _ => None,
        }
    }

    /// True for `name` alone, too.
    pub(super) fn bool(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(Item::Bool(v)) => Some(*v),
            Some(Item::Unit) => Some(true),
            _ => None,
        }
    }

    pub(super) fn word(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Item::Enum(word) | Item::Text(word)) => Some(word),
            _ => None,
        }
    }
}

impl Parser<'_, '_> {
    pub(super) fn attributes(&mut self) -> Result<Attributes> {
        let mut list = Attributes::default();
        self.c.expect("{")?;
        if self.c.eat("}") {
            return Ok(list);
        }
        loop {
            let start = self.mark();
            let name = match self.c.peek() {
                Some('"') => self.c.string()?,
                _ => self.c.expect_word("the name of an attribute")?.to_owned(),
            };
            if list.get(&name).is_some() {
                return Err(self.c.error_from(start, "syntax", format!("the attribute `{name}` is given twice")));
            }
            let (mut item, mut text) = (Item::Unit, String::new());
            if self.c.eat("=") {
                let from = self.mark();
                item = self.item()?;
                text = self.c.slice(from, self.c.consumed()).to_owned();
            }
            list.0.push(Given { name, item, start, text });
            if !self.c.eat(",") {
                break;
            }
        }
        self.c.expect("}")?;
        Ok(list)
    }

    pub(super) fn item(&mut self) -> Result<Item> {
        let start = self.mark();
        match self.c.peek() {
            Some('"') => Ok(Item::Text(self.c.string()?)),
            Some('@') => {
                self.c.expect("@")?;
                Ok(Item::Symbol(self.symbol_text()?))
            }
            Some('#' | '<') => {
                let simple = self.enumeration();
                simple.or_else(|_| {
                    self.c.seek(start);
                    self.spelled()
                })
            }
            Some('[') => {
                self.c.expect("[")?;
                if self.c.peek().is_some_and(|c| c == ']' || c == '-' || c.is_ascii_digit()) {
                    return self.integers("]");
                }
                self.c.seek(start);
                self.spelled()
            }
            Some(c) if c.is_ascii_digit() || c == '-' => {
                let value = self.c.integer("a number")?;
                if self.c.eat(":") {
                    self.c.expect_word("the type of a number")?;
                }
                Ok(Item::Int(value))
            }
            _ => match self.c.word() {
                Some("true") => Ok(Item::Bool(true)),
                Some("false") => Ok(Item::Bool(false)),
                Some("array") => {
                    self.c.expect("<")?;
                    self.c.expect_word("the type of the numbers")?;
                    if !self.c.eat(":") {
                        self.c.expect(">")?;
                        return Ok(Item::Ints(Vec::new()));
                    }
                    self.integers(">")
                }
                Some(word) => Ok(Item::Enum(word.to_owned())),
                None => Err(self.c.error_from(
                    start,
                    "unsupported-attribute",
                    "this kind of attribute is not supported".into(),
                )),
            },
        }
    }

    /// Text up to the end of the bracket that it opens.
    fn spelled(&mut self) -> Result<Item> {
        let start = self.mark();
        let mut depth = 0_usize;
        loop {
            let Some(c) = self.c.peek() else { return Err(self.c.unexpected("the end of an attribute")) };
            match c {
                '"' => drop(self.c.string()?),
                '<' | '[' | '{' | '(' | '>' | ']' | '}' | ')' => {
                    self.c.expect(c.encode_utf8(&mut [0; 4]))?;
                    depth = if "<[{(".contains(c) { depth + 1 } else { depth.saturating_sub(1) };
                    if depth == 0 {
                        return Ok(Item::Spelled(self.c.slice(start, self.c.consumed()).to_owned()));
                    }
                }
                c => self.c.seek(self.c.offset() + c.len_utf8()),
            }
        }
    }

    /// Integers with commas, up to `end`.
    fn integers(&mut self, end: &str) -> Result<Item> {
        let mut list = Vec::new();
        while !self.c.eat(end) {
            if !list.is_empty() {
                self.c.expect(",")?;
            }
            list.push(self.c.integer("a number")?);
            if self.c.eat(":") {
                self.c.expect_word("the type of a number")?;
            }
        }
        Ok(Item::Ints(list))
    }

    /// `#pto<kind value>`, `#pto.kind<value>` or `<value>`: the value.
    pub(super) fn enumeration(&mut self) -> Result<Item> {
        if self.c.eat("#") {
            self.c.expect_word("the kind of an attribute")?;
        }
        self.c.expect("<")?;
        let mut word = self.c.expect_word("a value")?;
        if self.c.peek() != Some('>') {
            word = self.c.expect_word("a value")?;
        }
        self.c.expect(">")?;
        Ok(Item::Enum(word.to_owned()))
    }
}
