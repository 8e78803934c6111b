//! What made-up memory holds: element `i` of an argument is a function of the seed, the argument and `i`, so that any part
//! of it can be made at any time.

use dtype::{DType, Scalar};
use machine::measure::CHUNK;

/// How the elements of an argument are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    pub seed: u64,
    /// Integers are from `low` up to and without `high`; floats do not ask.
    pub low: i64,
    pub high: i64,
    pub pattern: Pattern,
}

/// How integers go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Each by itself.
    Apart,
    /// Blocks of sixteen, some of which count up, some are each by itself, some are -1: tables of rows in use.
    Runs,
    /// One of sixteen; the others are -1: mappings of which little is in use.
    Rare,
}

/// Elements of a block.
const RUN: u64 = 16;

/// SplitMix64's finaliser: neighbouring numbers become unrelated ones.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Fill {
    /// Zeros.
    pub const NOTHING: Fill = Fill { seed: 0, low: 0, high: 1, pattern: Pattern::Apart };

    fn bits(&self, element: u64) -> u64 {
        mix(self.seed ^ element.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Three of four are positive: what takes roots and logarithms shall mostly get numbers of which there are some.
    fn float(&self, element: u64) -> f64 {
        let unit = (self.bits(element) >> 40) as f64 / (1u64 << 24) as f64;
        unit * 2.0 - 0.5
    }

    /// Integers of a few bits are what kernels multiply; of 32 and more, what they count and address with.
    fn int(&self, dtype: DType, element: u64) -> i64 {
        let (low, high) = match dtype {
            DType::I8 | DType::I16 => (-8, 9),
            DType::U8 | DType::U16 => (0, 16),
            DType::Bool => (0, 2),
            _ => (self.low, self.high),
        };
        let width = high.saturating_sub(low).max(1) as u64;
        let one = |element| low + ((self.bits(element) as u128 * width as u128) >> 64) as i64;
        let block = element / RUN;
        match (self.pattern, mix(self.bits(block)) % RUN) {
            _ if dtype.size() < 4 => one(element),
            (Pattern::Apart, _) => one(element),
            (Pattern::Rare, place) if element % RUN != place => -1,
            (Pattern::Rare, _) => one(element),
            (Pattern::Runs, 0..8) => one(block * RUN) + (element % RUN) as i64,
            (Pattern::Runs, 8..13) => {
                if self.bits(element).is_multiple_of(4) {
                    -1
                } else {
                    one(element)
                }
            }
            (Pattern::Runs, _) => -1,
        }
    }

    pub fn element(&self, dtype: DType, element: u64) -> Scalar {
        if dtype.is_float() {
            Scalar::from_f64(dtype, self.float(element))
        } else {
            Scalar::from_i64(dtype, self.int(dtype, element))
        }
    }

    /// The bytes of a chunk of an array of `dtype`.
    pub fn chunk(&self, dtype: DType, chunk: u32) -> Box<[u8]> {
        let mut bytes = vec![0; CHUNK].into_boxed_slice();
        if *self == Fill::NOTHING {
            return bytes;
        }
        let size = dtype.size();
        let first = chunk as u64 * (CHUNK / size) as u64;
        for (element, out) in (first..).zip(bytes.chunks_exact_mut(size)) {
            out.copy_from_slice(&self.element(dtype, element).to_le_bytes()[..size]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_its_elements() {
        let fill = Fill { seed: 3, low: -2, high: 5, pattern: Pattern::Runs };
        for dtype in DType::ALL {
            let size = dtype.size();
            let bytes = fill.chunk(dtype, 7);
            let at = 7 * CHUNK / size + 5;
            let bits = fill.element(dtype, at as u64).to_le_bytes();
            assert_eq!(bytes[5 * size..6 * size], bits[..size], "{dtype}");
        }
    }

    #[test]
    fn numbers_are_where_they_should_be() {
        let fill = Fill { seed: 9, low: -2, high: 5, pattern: Pattern::Apart };
        let ints: Vec<i64> = (0..1000).filter_map(|i| fill.element(DType::I32, i).as_i64()).collect();
        assert_eq!((ints.iter().min(), ints.iter().max()), (Some(&-2), Some(&4)));
        let floats: Vec<f64> = (0..1000).map(|i| fill.element(DType::F32, i).as_f64()).collect();
        let rare = Fill { pattern: Pattern::Rare, low: 0, ..fill };
        assert_eq!((0..160).filter(|&i| rare.element(DType::I64, i).as_i64() != Some(-1)).count(), 10);
        let runs = Fill { pattern: Pattern::Runs, low: 0, high: 1000, ..fill };
        let run = |b: i64| (0..16).map(|i| runs.element(DType::I32, (b * 16 + i) as u64).as_i64()).collect::<Vec<_>>();
        let counts = |r: &[Option<i64>]| r.windows(2).all(|w| w[0].map(|x| x + 1) == w[1]);
        let up = (0..64).filter(|&b| counts(&run(b))).count();
        assert!((16..48).contains(&up), "{up}");
        assert!(floats.iter().all(|x| (-0.5..1.5).contains(x)));
        let negative = floats.iter().filter(|x| **x < 0.0).count();
        assert!((150..350).contains(&negative), "{negative}");
        assert_ne!(Fill { seed: 8, ..fill }.chunk(DType::BF16, 0), fill.chunk(DType::BF16, 0));
    }
}
