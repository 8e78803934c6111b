//! Diagnostics as MLIR tools write them: `FILE:LINE:COL: error: 'dialect.op' op MESSAGE`, the line and a caret, then notes
//! with places of their own. Programs that call an assembler look for these shapes; what is in them is ours.
//!
//! A diagnostic without a place is the driver's own, and has the form of those: `Error: MESSAGE`.

use crate::{Diagnostic, Label, Severity, Sources};

/// Renders without colours; the text ends without a newline. `dialect` gives an operation of the op table the name that
/// it has in the text.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, dialect: &dyn Fn(&'static str) -> String) -> String {
    let subject = diagnostic.op.map_or(String::new(), |op| format!("'{}' op ", dialect(op)));
    let Diagnostic { severity, code, message, primary, secondary, notes, help, .. } = diagnostic;
    let mut lines = Vec::new();
    let place = primary.as_ref().map(|label| sources.place(label.span));
    let start = match &place {
        Some(place) => format!("{place}: {}", word(*severity)),
        None => driver_word(*severity).to_owned(),
    };
    lines.push(format!("{start}: {subject}{message} [{code}]"));
    lines.extend(primary.iter().filter_map(|label| excerpt(label, sources)));
    for label in secondary {
        lines.push(format!("{}: note: {}", sources.place(label.span), label.text));
        lines.extend(excerpt(&Label { text: String::new(), ..label.clone() }, sources));
    }
    let note = |text: &str| match &place {
        Some(place) => format!("{place}: note: {text}"),
        None => format!("note: {text}"),
    };
    lines.extend(notes.iter().map(|n| note(n)));
    lines.extend(help.iter().map(|h| note(&format!("help: {h}"))));
    lines.join("\n")
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

const fn driver_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Note",
    }
}

/// The line of a label, and carets under it with what the label says.
fn excerpt(label: &Label, sources: &Sources) -> Option<String> {
    let span = label.span;
    let first = sources.get(span.file)?.first_line;
    let text = sources.text(span.file)?;
    let line = text.lines().nth(span.line.checked_sub(first)? as usize)?;
    let length = line.chars().count() as u32;
    let start = span.col.saturating_sub(1).min(length);
    let end = if span.end_line > span.line { length } else { span.end_col.saturating_sub(1).min(length) };
    // Tabs stay tabs, so that the caret is under its column however wide they are.
    let blank: String = line.chars().take(start as usize).map(|c| if c == '\t' { c } else { ' ' }).collect();
    let more = "~".repeat(end.saturating_sub(start + 1) as usize);
    let caret = format!("{blank}^{more} {}", label.text);
    Some(format!("{line}\n{}", caret.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceFile, Span};

    fn shown(d: &Diagnostic, sources: &Sources) -> String {
        render(d, sources, &|op| format!("pto.{op}"))
    }

    #[test]
    fn an_error_its_line_and_its_notes() {
        let mut sources = Sources::default();
        let text = Some("module {\n\tpto.tadd ins(%a)\n".into());
        let file = sources.add(SourceFile { path: "k.pto".into(), text, first_line: 1 });
        let span = |line, col, end_col| Some(Span { file, line, col, end_line: line, end_col });
        let d = Diagnostic::error("arity", "it takes two tiles")
            .about("tadd")
            .at(span(2, 2, 10), "here")
            .also(span(1, 1, 7), "in this module")
            .note("in @k")
            .help("add one");
        let expected = "k.pto:2:2: error: 'pto.tadd' op it takes two tiles [arity]\n\tpto.tadd ins(%a)\n\t^~~~~~~~ here\n\
                        k.pto:1:1: note: in this module\nmodule {\n^~~~~~\n\
                        k.pto:2:2: note: in @k\nk.pto:2:2: note: help: add one";
        assert_eq!(shown(&d, &sources), expected);
    }

    #[test]
    fn what_has_no_place_is_the_drivers() {
        let d = Diagnostic::error("flags", "they exclude each other").note("one of them");
        assert_eq!(shown(&d, &Sources::default()), "Error: they exclude each other [flags]\nnote: one of them");
        let d = Diagnostic::warning("level", "ignored");
        assert_eq!(shown(&d, &Sources::default()), "Warning: ignored [level]");
    }

    #[test]
    fn a_place_without_its_text_or_beyond_it() {
        let mut sources = Sources::default();
        let away = sources.by_path("/nowhere/k.py");
        let d = Diagnostic::error("x", "m").at(Some(Span::point(away, 3, 4)), "here");
        assert_eq!(shown(&d, &sources), "/nowhere/k.py:3:4: error: m [x]");
        let file = sources.add(SourceFile { path: "s".into(), text: Some("a\n".into()), first_line: 1 });
        for (line, col) in [(1, 90), (7, 1), (0, 0)] {
            let d = Diagnostic::error("x", "m").at(Some(Span::point(file, line, col)), "");
            assert!(shown(&d, &sources).starts_with(&format!("s:{line}:{col}: error: m [x]")));
        }
    }
}
