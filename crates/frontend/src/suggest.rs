//! "Did you mean": the nearest of some names.

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    let best = candidates.into_iter().map(|c| (distance(name, c), c)).min_by_key(|(d, _)| *d)?;
    (best.0 <= limit).then_some(best.1)
}

/// Edits (insert, delete, replace, exchange of neighbours) between two names.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(a[i - 1] != b[j - 1]);
                let mut d = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    d = d.min(rows[i - 2][j - 2] + 1);
                }
                d
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        assert_eq!(nearest("addd", ["sub", "add"]), Some("add"));
        assert_eq!(nearest("matmlu", ["matmul", "mul"]), Some("matmul"));
        assert_eq!(nearest("convolve", ["add", "matmul"]), None);
    }
}
