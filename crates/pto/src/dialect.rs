//! What an operation of the op table is called in messages about the text.

/// `pto.tadd` of `tadd`, `scf.for` of `for`. One of our scalar operations stands for several of `arith`, by type; what they
/// have in common is its name.
pub fn dialect_name(op: &'static str) -> String {
    let scalar = [
        "const", "add", "sub", "mul", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr", "cmp", "not",
        "neg", "cast", "select",
    ];
    match op {
        "for" | "if" | "while" | "yield" | "condition" => format!("scf.{op}"),
        "call" | "return" => format!("func.{op}"),
        "const" => "arith.constant".to_owned(),
        _ if scalar.contains(&op) => format!("arith.{op}"),
        "array_create" => "pto.declare_local_array".to_owned(),
        "array_get" => "pto.local_array_get".to_owned(),
        "array_set" => "pto.local_array_set".to_owned(),
        _ => format!("pto.{op}"),
    }
}

#[cfg(test)]
mod tests {
    use super::dialect_name;

    #[test]
    fn by_dialect() {
        let names = ["tadd", "for", "const", "add", "return", "alloc_tile", "array_get"].map(dialect_name);
        let expected = [
            "pto.tadd",
            "scf.for",
            "arith.constant",
            "arith.add",
            "func.return",
            "pto.alloc_tile",
            "pto.local_array_get",
        ];
        assert_eq!(names, expected);
    }
}
