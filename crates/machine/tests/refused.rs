//! What no executor gives a meaning to is refused by its name, all of it at once.

use chip::Arch;
use dtype::Profile;
use machine::Kernel;

fn refusals(body: &str) -> Vec<(String, String)> {
    let text = format!(
        "program \"p\" a2a3 tile entry @k\nfunc @k kernel(vector)() {{\n  %a = alloc_tile : tile<8x16xf32, vec>\n{body}\n  return\n}}\n"
    );
    let program = ir::text::parse_located(&text, "test.tw").unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    match Kernel::new(&program.functions[program.entry], Arch::A2a3, Profile::A2a3) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|e| (e.code.to_string(), e.message)).collect(),
    }
}

#[test]
fn operations_that_are_only_text() {
    let found = refusals("  tpow %a, %a outs(%a)\n  trap");
    let wanted = ["`tpow`", "`trap`"];
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for ((code, message), name) in found.iter().zip(wanted) {
        assert!(code == "unsupported-operation" && message.starts_with(name), "{code}: {message}");
    }
}

#[test]
fn attributes_that_are_only_text() {
    assert_eq!(refusals("  texp %a outs(%a)"), []);
    let found = refusals("  texp %a outs(%a) {precisionType = high_precision}");
    assert!(found.len() == 1 && found[0].1.starts_with("`texp` with `precisionType`"), "{found:?}");
}
