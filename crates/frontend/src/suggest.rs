//! "Did you mean": the nearest of some names.

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    let best = candidates.into_iter().map(|c| (distance(name, c), c)).min_by_key(|(d, _)| *d)?;
    (best.0 <= limit).then_some(best.1)
}

/// What there is instead of an operation that other array languages have and this one has not.
pub(crate) fn instead_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "sum" => "`pl.row_sum` and `pl.col_sum` add along one axis",
        "mean" => "add with `pl.row_sum`, then multiply by one over the number of columns",
        "amax" | "reduce_max" => "`pl.row_max` and `pl.col_max` reduce along one axis",
        "amin" | "reduce_min" => "`pl.row_min` and `pl.col_min` reduce along one axis",
        "where" | "select" => {
            "`pl.cmp` compares; choose with `pl.sel`, or by arithmetic with `pl.maximum` and `pl.mul`"
        }
        "softmax" => "`pl.row_max`, `pl.row_expand_sub`, `pl.exp`, `pl.row_sum` and `pl.row_expand_div` make one",
        "tanh" => "with `e = pl.exp(pl.mul(x, 2.0))` it is `pl.div(pl.sub(e, 1.0), pl.add(e, 1.0))`",
        "sigmoid" => "it is `pl.recip(pl.add(pl.exp(pl.neg(x)), 1.0))`",
        "silu" | "gelu" => "build it from `pl.exp`, `pl.recip` and `pl.mul`",
        "zeros" | "ones" | "zeros_like" | "ones_like" | "full_like" => {
            "`pl.full(shape, dtype, value)` makes a constant tile"
        }
        "pow" | "power" | "square" => "multiply: `pl.mul(x, x)`",
        "dot" | "mm" | "bmm" => "`pl.matmul` multiplies matrices",
        "clip" | "clamp" => "`pl.maximum` and `pl.minimum` take a number as their second argument",
        "empty" => "`pl.create_tensor(shape, dtype)` makes a tensor, or a tile in a kernel scope",
        "astype" | "to" => "`pl.cast(x, dtype)` converts",
        _ => return None,
    })
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
