//! Command lines in the way of LLVM's tools: `--f`, `--f=v`, `--f v`, each also with one dash; `-` is an argument, and `--`
//! ends the flags. A flag is given once. A flag that may be without a value never takes the next argument as one.
//!
//! The flags of a command are a table; what is not in it is an error with the nearest name that is. (`clap` knows
//! neither long names behind one dash nor switches with an optional `=true`.)

use std::collections::BTreeMap;

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Nothing, or `=true`, `=false`.
    Switch,
    /// A value, as `--f=v` or `--f v`; the word stands for it in help.
    Value(&'static str),
    /// As many values as there are words: `--f v w`. One of ours; LLVM has no such flags.
    Values(&'static [&'static str]),
}

/// A flag, without dashes.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    pub name: &'static str,
    pub takes: Takes,
    /// What it is for, for people; flags without are not listed.
    pub help: &'static str,
}

/// What a command line says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Given {
    flags: BTreeMap<&'static str, Vec<String>>,
    pub arguments: Vec<String>,
}

impl Given {
    /// Whether a flag is there, with whatever value.
    pub fn has(&self, name: &str) -> bool {
        self.flags.contains_key(name)
    }

    /// The flags that are there, by name.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.flags.keys().copied()
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.flags.get(name)?.first().map(String::as_str)
    }

    pub fn values(&self, name: &str) -> Option<&[String]> {
        self.flags.get(name).map(Vec::as_slice)
    }

    /// What a switch says, if it is there.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.value(name).map(|v| v == "true")
    }
}

/// Reads a command line. Errors are all there are, in order.
pub fn parse(table: &[Flag], line: &[String]) -> Result<Given, Vec<String>> {
    let mut given = Given::default();
    let mut errors = Vec::new();
    let mut rest = line.iter();
    let mut flags = true;
    while let Some(word) = rest.next() {
        let Some(body) = word.strip_prefix('-').filter(|b| flags && !b.is_empty()) else {
            given.arguments.push(word.clone());
            continue;
        };
        let body = body.strip_prefix('-').unwrap_or(body);
        if body.is_empty() {
            flags = false;
            continue;
        }
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let Some(flag) = table.iter().find(|f| f.name == name) else {
            errors.push(unknown(table, word, name));
            continue;
        };
        match values(flag, attached, &mut rest) {
            Ok(values) => {
                if given.flags.insert(flag.name, values).is_some() {
                    errors.push(format!("{} is given twice", spelled(flag)));
                }
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(given) } else { Err(errors) }
}

/// `--name`, or `-o`.
pub fn spelled(flag: &Flag) -> String {
    let dashes = if flag.name.len() == 1 { "-" } else { "--" };
    format!("{dashes}{}", flag.name)
}

fn values<'a>(
    flag: &Flag,
    attached: Option<String>,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<Vec<String>, String> {
    let words: &[&str] = match &flag.takes {
        Takes::Switch => {
            let value = match attached.as_deref() {
                None | Some("true" | "TRUE" | "True" | "1") => "true",
                Some("false" | "FALSE" | "False" | "0") => "false",
                Some(other) => return Err(format!("{} is true or false, not '{other}'", spelled(flag))),
            };
            return Ok(vec![value.to_owned()]);
        }
        Takes::Value(word) => std::slice::from_ref(word),
        Takes::Values(words) => words,
    };
    let more = rest.take(words.len()).cloned();
    let all: Vec<String> = attached.into_iter().chain(more).take(words.len()).collect();
    match words.get(all.len()) {
        None => Ok(all),
        Some(missing) => Err(format!("{} needs {missing}", spelled(flag))),
    }
}

fn unknown(table: &[Flag], word: &str, name: &str) -> String {
    let distances = table.iter().map(|f| (distance(f.name, name), f));
    let near = distances.filter(|(d, f)| *d <= f.name.len() / 3).min_by_key(|(d, _)| *d);
    let near = near.map_or(String::new(), |(_, f)| format!("; did you mean {}?", spelled(f)));
    format!("unknown flag '{word}'{near}")
}

/// Edits from one name to another (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().take(100).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        Flag { name: "o", takes: Takes::Value("F"), help: "" },
        Flag { name: "pto-arch", takes: Takes::Value("A"), help: "" },
        Flag { name: "enable-x", takes: Takes::Switch, help: "" },
        Flag { name: "pair", takes: Takes::Values(&["A", "B"]), help: "" },
    ];

    fn read(line: &str) -> Result<Given, Vec<String>> {
        parse(TABLE, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_spelling_of_a_value() {
        for line in ["--pto-arch=a5", "--pto-arch a5", "-pto-arch=a5", "-pto-arch a5"] {
            assert_eq!(read(line).unwrap().value("pto-arch"), Some("a5"), "{line}");
        }
        assert_eq!(read("--pto-arch=").unwrap().value("pto-arch"), Some(""));
        assert_eq!(read("--o=a=b").unwrap().value("o"), Some("a=b"));
        assert_eq!(read("--pair x y z").unwrap().values("pair").unwrap(), ["x", "y"]);
        assert_eq!(read("--pair=x y z").unwrap().arguments, ["z"]);
    }

    #[test]
    fn a_switch_takes_no_argument() {
        let given = read("--enable-x false").unwrap();
        assert_eq!((given.switch("enable-x"), given.arguments), (Some(true), vec!["false".to_owned()]));
        assert_eq!(read("-enable-x=false").unwrap().switch("enable-x"), Some(false));
        assert_eq!(read("").unwrap().switch("enable-x"), None);
        assert_eq!(read("--enable-x=maybe").unwrap_err(), ["--enable-x is true or false, not 'maybe'"]);
    }

    #[test]
    fn a_dash_is_an_argument_and_two_end_the_flags() {
        assert_eq!(read("- -o - -- --enable-x").unwrap().arguments, ["-", "--enable-x"]);
    }

    #[test]
    fn what_is_wrong_is_said_all_at_once() {
        let errors = read("--pto-arhc=a5 --nothing --enable-x --enable-x --pair a").unwrap_err();
        let expected = [
            "unknown flag '--pto-arhc=a5'; did you mean --pto-arch?",
            "unknown flag '--nothing'",
            "--enable-x is given twice",
            "--pair needs B",
        ];
        assert_eq!(errors, expected);
        assert_eq!(read("-o").unwrap_err(), ["-o needs F"]);
    }
}
