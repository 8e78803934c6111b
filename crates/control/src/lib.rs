//! Decisions that could be otherwise, drawn from a seed.
//!
//! A compiler or scheduler that may choose freely (an order, an address, which ready task runs) asks a [`Control`]. The
//! same seed gives the same choices on every machine, so a difference found with one seed can be found again.

/// A stream of choices: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    state: u64,
}

impl Control {
    pub const fn new(seed: u64) -> Control {
        Control { state: seed }
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0. Uniform up to a bias of `n / 2^64`.
    pub const fn choose(&mut self, n: usize) -> usize {
        ((self.bits() as u128 * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        let mut control = Control::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| control.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn choices_are_in_range_and_all_occur() {
        let mut control = Control::new(7);
        let mut seen = [0; 5];
        for _ in 0..500 {
            seen[control.choose(5)] += 1;
        }
        assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
        assert_eq!(control.choose(0), 0);
    }
}
