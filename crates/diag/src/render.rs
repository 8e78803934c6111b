//! The renderer: a [`Diagnostic`] and the [`Sources`] it points into, as text with the user's lines and carets.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::{Diagnostic, Label, Severity, SourceFile, Sources};

/// Renders without colours; the text ends without a newline.
pub fn render(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    // Files are read once, before snippets borrow their text.
    let labels: Vec<(bool, &Label)> =
        diagnostic.primary.iter().map(|l| (true, l)).chain(diagnostic.secondary.iter().map(|l| (false, l))).collect();
    let texts: Vec<(u32, Option<Text>)> = labels.iter().map(|(_, l)| (l.span.file.0, Text::load(sources, l))).collect();
    let mut group = Group::with_title(title);
    let mut plain = Vec::new();
    let mut shown: Vec<u32> = Vec::new();
    for (file, _) in &texts {
        if shown.contains(file) {
            continue;
        }
        shown.push(*file);
        let Some(text) = texts.iter().find(|(f, _)| f == file).and_then(|(_, t)| t.as_ref()) else {
            continue;
        };
        let mut snippet = Snippet::source(text.text.as_str()).path(text.path.as_str()).line_start(text.first_line);
        for (primary, label) in labels.iter().filter(|(_, l)| l.span.file.0 == *file) {
            let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            snippet = snippet.annotation(kind.span(text.range(label)).label(label.text.as_str()));
        }
        group = group.element(snippet);
    }
    for ((_, label), (_, text)) in labels.iter().zip(&texts) {
        if text.is_none() {
            plain.push(format!("{}: {}", sources.place(label.span), label.text));
        }
    }
    for text in &plain {
        group = group.element(Level::NOTE.message(text.as_str()));
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::plain().render(&[group])
}

/// The text of a file and where its lines start.
struct Text {
    path: String,
    text: String,
    first_line: usize,
    line_starts: Vec<usize>,
}

impl Text {
    fn load(sources: &Sources, label: &Label) -> Option<Text> {
        let SourceFile { path, first_line, .. } = sources.get(label.span.file)?;
        let text = sources.text(label.span.file)?.to_string();
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(text.char_indices().filter(|(_, c)| *c == '\n').map(|(i, _)| i + 1)).collect();
        let first_line = *first_line as usize;
        // A span outside the text (the file changed on disk) is shown as a place, without an excerpt.
        let line = (label.span.line as usize).checked_sub(first_line)?;
        (line < line_starts.len()).then_some(Text { path: path.clone(), text, first_line, line_starts })
    }

    fn byte(&self, line: u32, col: u32) -> usize {
        let Some(&start) = (line as usize).checked_sub(self.first_line).and_then(|l| self.line_starts.get(l)) else {
            return self.text.len();
        };
        let rest = &self.text[start..];
        let row = &rest[..rest.find('\n').unwrap_or(rest.len())];
        start + row.char_indices().nth(col.saturating_sub(1) as usize).map_or(row.len(), |(i, _)| i)
    }

    fn range(&self, label: &Label) -> std::ops::Range<usize> {
        let s = &label.span;
        let (start, end) = (self.byte(s.line, s.col), self.byte(s.end_line, s.end_col));
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn shows_the_line_a_caret_and_the_notes() {
        let mut sources = Sources::default();
        let file = sources.add(SourceFile {
            path: "k.py".into(),
            text: Some("a = 1\nb = pl.addd(a, a)\n".into()),
            first_line: 10,
        });
        let d = Diagnostic::error("unknown-op", "`pl.addd` is not an operation")
            .at(Some(Span { file, line: 11, col: 5, end_line: 11, end_col: 12 }), "not known")
            .help("did you mean `pl.add`?");
        let text = render(&d, &sources);
        assert!(text.starts_with("error[unknown-op]: `pl.addd` is not an operation"), "{text}");
        assert!(text.contains("--> k.py:11:5"), "{text}");
        assert!(text.contains("^^^^^^^ not known"), "{text}");
        assert!(text.contains("help: did you mean `pl.add`?"), "{text}");
    }

    #[test]
    fn a_span_without_its_file_is_still_placed() {
        let mut sources = Sources::default();
        let file = sources.by_path("/nowhere/k.py");
        let d = Diagnostic::error("x", "m").at(Some(Span::point(file, 3, 4)), "here");
        assert!(render(&d, &sources).contains("/nowhere/k.py:3:4: here"));
    }
}
