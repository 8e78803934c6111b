//! Attributes: the compile-time part of an operation.

use dtype::DType;

/// The value of an attribute. Enumerations of the language (rounding modes, pads, loop kinds) are [`Attr::Word`]s; the
/// op table lists the words that are legal.
#[derive(Clone, PartialEq, Debug)]
pub enum Attr {
    Bool(bool),
    Int(i64),
    /// Compared by bits, printed so that it reads back exactly.
    Float(f64),
    Word(String),
    Text(String),
    Type(DType),
    Ints(Vec<i64>),
    /// Names of functions (kernels of a submission).
    Symbols(Vec<String>),
}

/// Attributes in insertion order; few per operation, so a list is the right map.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Attrs(Vec<(&'static str, Attr)>);

impl Attrs {
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, a)| a)
    }

    pub fn set(&mut self, name: &'static str, value: Attr) {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, a)) => *a = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(n, _)| *n != name);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Attr)> {
        self.0.iter().map(|(n, a)| (*n, a))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Attr::Int(v)) => Some(*v),
            _ => None,
        }
    }

    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Attr::Bool(true)))
    }

    /// A word or a text.
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Attr::Word(s) | Attr::Text(s)) => Some(s),
            _ => None,
        }
    }

    pub fn dtype(&self, name: &str) -> Option<DType> {
        match self.get(name) {
            Some(Attr::Type(d)) => Some(*d),
            _ => None,
        }
    }

    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.get(name) {
            Some(Attr::Ints(v)) => Some(v),
            _ => None,
        }
    }

    pub fn symbols(&self, name: &str) -> Option<&[String]> {
        match self.get(name) {
            Some(Attr::Symbols(v)) => Some(v),
            _ => None,
        }
    }
}
