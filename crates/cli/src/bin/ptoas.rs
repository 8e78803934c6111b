//! `ptoas`, the assembler for `.pto` kernel files. What it does is in [`cli::ptoas`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    ExitCode::from(cli::ptoas::main(&arguments, &mut std::io::stdout().lock(), &mut std::io::stderr().lock()))
}
