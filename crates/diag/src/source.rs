//! Where text came from. Spans are lines and columns, not byte offsets: they survive a trip through IR text, where only
//! `file:line:col` is written, and stay meaningful when the file itself is not at hand.

use std::sync::Arc;

/// A file of a [`Sources`] table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// A range of a source file. Lines and columns count from 1, columns in characters; the end is exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Span {
    pub file: FileId,
    pub line: u32,
    pub col: u32,
    pub end_line: u32,
    pub end_col: u32,
}

impl Span {
    /// A one-character span, as read back from `file:line:col`.
    pub fn point(file: FileId, line: u32, col: u32) -> Span {
        Span { file, line, col, end_line: line, end_col: col + 1 }
    }
}

#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As shown to the user.
    pub path: String,
    /// `None` when only the name is known (IR read back from an artifact).
    pub text: Option<Arc<str>>,
    /// The line number, in the file on disk, of the first line of `text`.
    pub first_line: u32,
}

/// The files that spans point into. Cheap to clone.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.push(file);
        FileId(self.files.len() as u32 - 1)
    }

    /// The id of the file called `path`, added without text if it is new.
    pub fn by_path(&mut self, path: &str) -> FileId {
        match self.files.iter().position(|f| f.path == path) {
            Some(i) => FileId(i as u32),
            None => self.add(SourceFile { path: path.to_owned(), text: None, first_line: 1 }),
        }
    }

    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// The text of a file, read from disk if it is not at hand.
    pub fn text(&self, id: FileId) -> Option<Arc<str>> {
        let file = self.get(id)?;
        file.text.clone().or_else(|| Some(std::fs::read_to_string(&file.path).ok()?.into()))
    }

    /// `file:line:col` of a span.
    pub fn place(&self, span: Span) -> String {
        let path = self.get(span.file).map_or("?", |f| f.path.as_str());
        format!("{path}:{}:{}", span.line, span.col)
    }
}
