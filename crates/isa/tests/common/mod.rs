//! What the tests of this crate share: a seeded generator, arenas, and runs on every tier.
#![allow(dead_code)]

pub(crate) mod tiles;

use std::io::Write;

use isa::{Tier, Tile, tier};

/// SplitMix64.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Roughly normal.
    pub(crate) fn normal(&mut self) -> f32 {
        let u = |r: &mut Rng| (r.next() >> 40) as f32 / (1u64 << 24) as f32;
        u(self) + u(self) + u(self) + u(self) - 2.0
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for b in bytes {
            *b = self.next() as u8;
        }
    }
}

/// Zeroed bytes that hold all tiles.
pub(crate) fn arena_for(tiles: &[Tile]) -> Vec<u8> {
    vec![0; tiles.iter().map(|t| t.offset + t.byte_len()).max().unwrap_or(0)]
}

pub(crate) fn bits_of(mem: &[u8], t: &Tile, r: u32, c: u32) -> u64 {
    isa::get(mem, t, r, c).unwrap().bits
}

/// Runs `f` once per tier; a tier that the host lacks is reported on standard error as not run.
pub(crate) fn tiers(f: impl Fn(Tier)) {
    for t in Tier::ALL {
        if tier::with(t, || f(t)).is_none() {
            static ONCE: std::sync::Once = std::sync::Once::new();
            // Past the harness's capture, which would hide it when the test passes.
            ONCE.call_once(|| {
                let _ = writeln!(std::io::stderr(), "not run: tier {t:?}, which this host lacks");
            });
        }
    }
}

/// `f` must fail, on memory that it leaves as it was.
pub(crate) fn refused<R: std::fmt::Debug>(mem: &[u8], f: impl FnOnce(&mut [u8]) -> Result<R, isa::Fault>) -> String {
    let mut after = mem.to_vec();
    let fault = f(&mut after).unwrap_err();
    assert!(after == mem, "{fault}: a refused instruction changed memory");
    fault.to_string()
}

/// An integer element as a number.
pub(crate) fn integer(s: dtype::Scalar) -> i128 {
    if s.dtype == dtype::DType::U64 { s.bits as i128 } else { s.as_i64().unwrap() as i128 }
}
