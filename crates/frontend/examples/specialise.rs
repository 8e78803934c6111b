//! Prints the tensor level of kernels in Python files, or the errors: `specialise FILE.py…`. For work on the front end;
//! module constants that this tool's small evaluator does not know are unknown names.

#[path = "../tests/support/mod.rs"]
mod support;

#[allow(clippy::print_stdout)]
fn main() {
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let module = support::Module::parse(&path, &text);
        for (entry, arch) in module.entries().into_iter().flat_map(|e| chip::Arch::ALL.map(|a| (e, a))) {
            match frontend::specialise(&module, entry, &module.args(entry), arch) {
                Ok(done) => {
                    for warning in &done.warnings {
                        println!("{}", diag::render(warning, &done.program.sources));
                    }
                    if arch == chip::Arch::A2a3 {
                        print!("{}", ir::text::print(&done.program));
                    }
                    if let Err(errors) = ir::verify::verify(&done.program) {
                        for error in errors {
                            println!("VERIFIER {}", diag::render(&error, &done.program.sources));
                        }
                    }
                }
                Err(rejected) => {
                    for error in &rejected.errors {
                        println!("{}\n", diag::render(error, &rejected.sources));
                    }
                }
            }
        }
    }
}
