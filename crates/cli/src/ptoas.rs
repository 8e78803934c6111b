//! `ptoas`: assembles a kernel file, in place of upstream's tool of that name.
//!
//! The command line is [`options`] of the flags in [`table`]; the work is [`driver::assemble`]; what is left are streams:
//! the output, whole or not at all ([`crate::output`]), programs between passes ([`dump`]), and the error stream, where a
//! caller finds the first line with `error:`. Exit code 1 means that there is no output.

mod dump;
mod options;
mod stats;
mod table;
mod verify;

use std::ffi::OsString;
use std::io::{self, Read, Write};

use diag::{Diagnostic, Severity, Sources};
use driver::assemble::{Request, assemble, read};

use options::{Job, Options};
use table::help;

/// The version of upstream's assembler whose command line this is.
const UPSTREAM: &str = "0.60";

/// Runs the command; the result is its exit code.
pub fn main(arguments: &[OsString], stdout: &mut dyn Write, stderr: &mut dyn Write) -> u8 {
    let mut streams = Streams { stdout, stderr };
    let line: Vec<String> = arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    match options::read(&line) {
        Ok(Job::Help) => streams.say(&help()),
        Ok(Job::Version) => streams.say(&format!("ptoas {UPSTREAM} (Tilewright {})\n", env!("CARGO_PKG_VERSION"))),
        Ok(Job::Verify { before, after, arch }) => verify::verify(&before, &after, arch, &mut streams),
        Ok(Job::Assemble(options)) => run(&options, &mut streams),
        Err(errors) => {
            errors.iter().for_each(|e| streams.error(e));
            streams.note("`ptoas --help` lists the flags");
            1
        }
    }
}

struct Streams<'a> {
    stdout: &'a mut dyn Write,
    stderr: &'a mut dyn Write,
}

impl Streams<'_> {
    /// The answer to a question. A reader who has gone is no failure of ours to report.
    fn say(&mut self, text: &str) -> u8 {
        u8::from(self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()).is_err())
    }

    // There is no other place to say that the error stream is closed.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.stderr, "{text}");
    }

    fn error(&mut self, text: &str) {
        self.line(&format!("Error: {text}"));
    }

    fn warning(&mut self, text: &str) {
        self.line(&format!("Warning: {text}"));
    }

    fn note(&mut self, text: &str) {
        self.line(&format!("note: {text}"));
    }

    fn diagnostics(&mut self, all: &[Diagnostic], sources: &Sources) {
        for d in all {
            self.line(&diag::mlir::render(d, sources, &pto::dialect_name));
        }
    }
}

/// The text of a file, or of the standard input, and the name that messages have for it.
fn text(path: &str) -> Result<(String, String), String> {
    let bytes = if path == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|e| format!("cannot read '{path}': {e}"))?;
    let name = if path == "-" { "<stdin>" } else { path };
    // Bytecode is no text, and is refused by who knows its mark.
    if bytes.starts_with(b"PTOBC\0") {
        return Ok(("PTOBC\0".to_owned(), name.to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = 1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        format!("'{path}' is no text: line {line} is not UTF-8")
    })?;
    Ok((text, name.to_owned()))
}

fn run(options: &Options, streams: &mut Streams) -> u8 {
    for name in &options.without_effect {
        streams.warning(&format!("--{name} has no effect here"));
    }
    let (text, name) = match text(&options.input) {
        Ok(read) => read,
        Err(error) => {
            streams.error(&error);
            return 1;
        }
    };
    let start = std::time::Instant::now();
    let program = match read(&text, &name, options.arch) {
        Ok(program) => program,
        Err(failure) => {
            streams.diagnostics(&failure.errors, &failure.sources);
            streams.error("the file was not read");
            return 1;
        }
    };
    let reading = start.elapsed();
    let sources = program.sources.clone();
    let request = Request { check: options.check, seed: options.seed, ..Request::new(options.settings) };
    let done = assemble(program, &request);
    if !options.check {
        streams.warning("--tw-no-check: nothing is known of what the passes did");
    }
    streams.diagnostics(&done.warnings, &sources);
    streams.diagnostics(&done.errors, &sources);
    let printed = options.printing.print(&done.steps, streams.stderr);
    if options.stats {
        let text = stats::text(reading, &done);
        streams.line(&text);
    }
    if let Err((file, error)) = printed {
        streams.error(&format!("cannot write '{file}': {error}"));
        return 1;
    }
    let errors = done.errors.iter().filter(|d| d.severity == Severity::Error).count();
    if errors > 0 {
        let last = done.steps.last().map_or("input", |s| s.name);
        streams.error(&format!("no output: {errors} error{} (`{last}`)", if errors > 1 { "s" } else { "" }));
        return 1;
    }
    if !options.emit_ir {
        streams.error("C++ output is not there yet: all passes and their checks ran; --emit-pto-ir prints the program");
        return 1;
    }
    let Some(step) = done.steps.last() else { return 1 };
    if let Err(error) = crate::output::write(&options.output, &step.text(), streams.stdout) {
        streams.error(&format!("cannot write '{}': {error}", options.output));
        return 1;
    }
    0
}
