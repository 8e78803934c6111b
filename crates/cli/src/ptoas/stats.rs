//! `--tw-stats`: what every step took, and which part of it was for proving.

use std::time::Duration;

use driver::assemble::Assembled;

fn micros(time: Duration) -> String {
    format!("{:9.1} us", time.as_secs_f64() * 1e6)
}

/// A table, a line a step and a line a checker.
pub(super) fn text(reading: Duration, done: &Assembled) -> String {
    let mut out = format!("{:<28}{}\n", "read", micros(reading));
    for step in &done.steps {
        let name = if step.name == "input" { "verify" } else { step.name };
        out += &format!("{name:<28}{}\n", micros(step.time));
        for check in &step.checks {
            let answer = match (check.verdict.findings.len(), check.verdict.unsupported.len()) {
                (0, 0) => "proved".to_owned(),
                (0, n) => format!("{n} undecided"),
                (n, _) => format!("{n} found"),
            };
            out += &format!("  {:<26}{}  {answer}\n", format!("checked: {}", check.checker), micros(check.time));
        }
    }
    let (passes, checks) = done.times();
    let all = reading + passes + checks;
    let share = 100.0 * checks.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
    out + &format!("{:<28}{}  checkers {share:.0} %", "all", micros(all))
}
