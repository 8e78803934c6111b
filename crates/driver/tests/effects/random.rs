//! A seeded generator of operands.

use dtype::{DType, Scalar};

/// SplitMix64.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes()[..word.len()]);
        }
    }

    /// A float in (−4, 4); `None` for an integer type, where any bits will do.
    pub(crate) fn number(&mut self, dtype: DType) -> Option<u64> {
        if !dtype.is_float() {
            return None;
        }
        let unit = (self.next() >> 40) as f64 / (1u64 << 24) as f64;
        Some(Scalar::from_f64(dtype, (unit - 0.5) * 8.0).bits)
    }
}
