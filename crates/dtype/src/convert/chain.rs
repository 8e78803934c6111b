//! Which casts the machine has, and how the others are made of them.
//!
//! The native pairs are those of `dsl.md` §5.2. A pair without a native cast takes the chain that upstream's compiler
//! finds (`dsl.md` §0, "Casts"): an intermediate type may not lose what the destination can hold,
//!
//! * a float between, for a float destination, has at least its mantissa and exponent bits;
//! * a float between, for an integer destination, has at least as many mantissa bits as the integer has value bits;
//! * an integer between, never for a float destination; never unsigned for a signed one; never with fewer value bits;
//!
//! the shortest such chain, ties by the sum of the edges' costs (int → float of the same width 0, float → float 1, else 2).
//! Where upstream finds none and refuses (i8 → f32), we take the shortest chain in which every type between holds
//! *every value of the source*, so that the result is that of the last hop alone (semantics rule 10). Without one the
//! cast is refused.

use super::Profile;
use crate::DType::{self, *};

/// Native casts of A2/A3.
const A2A3: &[(DType, &[DType])] = &[
    (F32, &[F32, F16, BF16, I16, I32, I64]),
    (F16, &[F32, I32, I16, I8, U8]),
    (BF16, &[F32, I32]),
    (I16, &[F16, F32]),
    (I32, &[F32, F16, I16, I64]),
    (I64, &[F32, I32]),
    (I8, &[F16]),
    (U8, &[F16]),
];

/// Native casts of A5: no i32 → f16; more between integers.
const A5: &[(DType, &[DType])] = &[
    (F32, &[F32, F16, BF16, I16, I32, I64]),
    (F16, &[F32, I32, I16, I8, U8]),
    (BF16, &[F32, F16, I32]),
    (I16, &[F16, F32, U8, U32, I32]),
    (I32, &[F32, I16, U16, I64, U8]),
    (I64, &[F32, I32]),
    (I8, &[F16, I16, I32]),
    (U8, &[F16, U16]),
    (U32, &[U8, U16, I16]),
];

/// `Index` is the same as `I64` in memory.
fn plain(d: DType) -> DType {
    if d == Index { I64 } else { d }
}

fn successors(from: DType, profile: Profile) -> &'static [DType] {
    let table = match profile {
        Profile::A2a3 | Profile::CpuCompat => A2A3,
        Profile::A5 => A5,
    };
    table.iter().find(|(d, _)| *d == from).map_or(&[], |(_, to)| to)
}

/// Whether one instruction casts `from` to `to`. `f32 → f32` (round to integral) is one; other casts of a type to itself
/// are not.
pub fn native(from: DType, to: DType, profile: Profile) -> bool {
    successors(plain(from), profile).contains(&plain(to))
}

/// The native hops of a cast, the destination last: `[to]` for a native pair. `None` if the cast is refused: no chain
/// exists, or the two types are one (other than f32, which rounds to integral values).
pub fn chain(from: DType, to: DType, profile: Profile) -> Option<Vec<DType>> {
    let (source, destination) = (plain(from), plain(to));
    if native(source, destination, profile) {
        return Some(vec![to]);
    }
    if source == destination {
        return None;
    }
    let mut hops = shortest(source, destination, profile, |between| upstream_allows(between, destination))
        .or_else(|| shortest(source, destination, profile, |between| holds(between, source)))?;
    // The caller's spelling of the last type, which may be `Index`.
    *hops.last_mut()? = to;
    Some(hops)
}

/// The cheapest of the shortest chains whose intermediate types are all `allowed`. The graph has a dozen nodes: every
/// simple path is tried, in table order, which also settles equal costs.
fn shortest(from: DType, to: DType, profile: Profile, allowed: impl Fn(DType) -> bool) -> Option<Vec<DType>> {
    let mut best: Option<(usize, u32, Vec<DType>)> = None;
    let mut stack = vec![(from, Vec::<DType>::new(), 0)];
    while let Some((at, path, cost)) = stack.pop() {
        for &next in successors(at, profile).iter().rev() {
            let total = cost + edge_cost(at, next);
            let length = path.len() + 1;
            if next == to {
                if best.as_ref().is_none_or(|(l, c, _)| (length, total) <= (*l, *c)) {
                    let hops = path.iter().copied().chain([next]).collect();
                    best = Some((length, total, hops));
                }
            } else if next != from && !path.contains(&next) && allowed(next) && length < DType::ALL.len() {
                let hops = path.iter().copied().chain([next]).collect();
                stack.push((next, hops, total));
            }
        }
    }
    best.map(|(_, _, hops)| hops)
}

fn edge_cost(from: DType, to: DType) -> u32 {
    match (from.is_float(), to.is_float()) {
        (false, true) if from.size() == to.size() => 0,
        (true, true) => 1,
        _ => 2,
    }
}

/// (mantissa bits, exponent bits), the implicit bit not counted.
fn float_bits(d: DType) -> (u32, u32) {
    match d {
        F16 => (10, 5),
        BF16 => (7, 8),
        _ => (23, 8),
    }
}

fn value_bits(d: DType) -> u32 {
    d.bits() - d.is_signed_int() as u32
}

fn upstream_allows(between: DType, destination: DType) -> bool {
    match (between.is_float(), destination.is_float()) {
        (true, true) => {
            let ((m, e), (dm, de)) = (float_bits(between), float_bits(destination));
            m >= dm && e >= de
        }
        (true, false) => float_bits(between).0 >= value_bits(destination),
        (false, true) => false,
        (false, false) => {
            value_bits(between) >= value_bits(destination) && (between.is_signed_int() || !destination.is_signed_int())
        }
    }
}

/// Whether `between` represents every value of `source`.
fn holds(between: DType, source: DType) -> bool {
    match (between.is_float(), source.is_float()) {
        (true, true) => {
            let ((m, e), (sm, se)) = (float_bits(between), float_bits(source));
            m >= sm && e >= se
        }
        // The largest integer fits the exponent range of f16 up to 16 bits, which its mantissa excludes already.
        (true, false) => float_bits(between).0 + 1 >= value_bits(source),
        (false, true) => false,
        (false, false) => {
            value_bits(between) >= value_bits(source) && (between.is_signed_int() || !source.is_signed_int())
        }
    }
}
