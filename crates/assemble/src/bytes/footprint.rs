//! Sets of bytes in one memory: rows of equal length at equal distances, and whether two such sets meet.

/// `rows` runs of `width` bytes, the first at `start`, each `pitch` behind the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteBox {
    pub start: u64,
    pub rows: u64,
    pub pitch: u64,
    pub width: u64,
}

/// Which bytes of a memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Footprint {
    Box(ByteBox),
    /// Not known: any of them.
    Any,
}

/// More rows than these are not compared one by one.
const MAX_ROWS: u64 = 64;

impl ByteBox {
    /// `bytes` bytes from `start` on.
    pub fn run(start: u64, bytes: u64) -> ByteBox {
        ByteBox { start, rows: 1, pitch: bytes, width: bytes }
    }

    /// As few rows as describe it: rows without gaps are one.
    pub fn new(start: u64, rows: u64, pitch: u64, width: u64) -> ByteBox {
        if rows == 0 || width == 0 {
            ByteBox::run(start, 0)
        } else if rows == 1 || pitch == width {
            ByteBox::run(start, width.saturating_mul(rows))
        } else {
            ByteBox { start, rows, pitch, width }
        }
    }

    /// The end of the last row.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.pitch.saturating_mul(self.rows - 1)).saturating_add(self.width)
    }

    /// Exact for boxes of one pitch that do not run over it, and for few rows; else whether the hulls meet.
    pub fn overlaps(&self, other: &ByteBox) -> bool {
        if self.width == 0 || other.width == 0 || self.end() <= other.start || other.end() <= self.start {
            return false;
        }
        let (few, many) = if self.rows <= other.rows { (self, other) } else { (other, self) };
        if many.rows == 1 {
            return true;
        }
        if few.rows > MAX_ROWS {
            return few.pitch != many.pitch || few.meets_in_grid(many);
        }
        (0..few.rows).any(|row| many.meets_run(few.start + row * few.pitch, few.width))
    }

    /// Both lie in a grid of rows of `pitch` bytes: they meet if they do along rows and along columns.
    fn meets_in_grid(&self, other: &ByteBox) -> bool {
        let place = |b: &ByteBox| (b.start / b.pitch, b.start % b.pitch);
        let ((r, c), (s, d)) = (place(self), place(other));
        if c + self.width > self.pitch || d + other.width > other.pitch {
            return true;
        }
        r < s + other.rows && s < r + self.rows && c < d + other.width && d < c + self.width
    }

    /// Whether one of the rows has a byte of `start .. start + width`.
    fn meets_run(&self, start: u64, width: u64) -> bool {
        // The first row that ends behind `start`.
        let row = match start.checked_sub(self.start + self.width) {
            Some(gap) => gap / self.pitch + 1,
            None => 0,
        };
        row < self.rows && self.start + row * self.pitch < start + width
    }
}

impl Footprint {
    pub fn overlaps(&self, other: &Footprint) -> bool {
        match (self, other) {
            (Footprint::Box(a), Footprint::Box(b)) => a.overlaps(b),
            (Footprint::Box(b), Footprint::Any) | (Footprint::Any, Footprint::Box(b)) => b.width > 0,
            (Footprint::Any, Footprint::Any) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(b: &ByteBox) -> Vec<u64> {
        (0..b.rows).flat_map(|r| (0..b.width).map(move |i| b.start + r * b.pitch + i)).collect()
    }

    #[test]
    fn boxes_meet_if_they_have_a_byte_in_common() {
        let mut boxes = vec![];
        for start in [0, 3, 8, 11, 17] {
            for (rows, pitch, width) in [(1, 4, 4), (2, 8, 3), (3, 8, 4), (3, 8, 8), (4, 5, 2), (2, 16, 8)] {
                boxes.push(ByteBox::new(start, rows, pitch, width));
            }
        }
        for a in &boxes {
            for b in &boxes {
                let common = bytes(a).iter().any(|x| bytes(b).contains(x));
                assert_eq!(a.overlaps(b), common, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn tall_columns_of_one_grid_do_not_meet() {
        let column = |c: u64| ByteBox::new(c * 64, 1000, 1024, 64);
        assert!(!column(1).overlaps(&column(2)));
        assert!(column(1).overlaps(&ByteBox::new(100, 1000, 1024, 64)));
        assert!(!ByteBox::new(0, 100, 64, 0).overlaps(&column(0)));
    }
}
