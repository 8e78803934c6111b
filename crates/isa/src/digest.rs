//! Digests of values (`docs/ir.md`, "Digests"): one number per value, equal for equal values wherever they lie.
//!
//! Hashed are the element type (`Index` counts as `I64`), the number of elements and their bytes in row-major order. The
//! extents themselves are not: a `[n, 1]` value that lies as a `[1, n]` row is the same value.

use dtype::DType;
use memory::View;

use crate::{Atomic, Order, OutOfRange, Tile};

/// Multiply-and-fold over words of eight bytes; not cryptographic.
struct Hasher {
    state: u64,
    /// Bytes that do not fill a word yet.
    tail: u64,
    bits: u32,
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher {
    fn new(dtype: DType, elements: u64) -> Hasher {
        let dtype = if dtype == DType::Index { DType::I64 } else { dtype };
        let mut h = Hasher { state: 0x243f_6a88_85a3_08d3, tail: 0, bits: 0 };
        h.word(dtype as u64 + 1);
        h.word(elements);
        h
    }

    fn word(&mut self, w: u64) {
        let product = (self.state ^ w) as u128 * (K as u128 | 1 << 64);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }

    fn bytes(&mut self, mut data: &[u8]) {
        while self.bits != 0 && !data.is_empty() {
            self.tail |= (data[0] as u64) << self.bits;
            self.bits += 8;
            data = &data[1..];
            if self.bits == 64 {
                let w = std::mem::take(&mut self.tail);
                self.bits = 0;
                self.word(w);
            }
        }
        let (words, rest) = data.as_chunks::<8>();
        for w in words {
            self.word(u64::from_le_bytes(*w));
        }
        for &b in rest {
            self.tail |= (b as u64) << self.bits;
            self.bits += 8;
        }
    }

    fn finish(mut self) -> u64 {
        let (tail, bits) = (self.tail, self.bits);
        self.word(tail);
        self.word(bits as u64);
        self.state ^ (self.state >> 29)
    }
}

/// The digest of a tile's valid region. That of a tile that does not lie in the arena is 0.
pub fn digest(mem: &[u8], tile: &Tile) -> u64 {
    let (rows, cols, size) = (tile.valid_rows, tile.valid_cols, tile.dtype.size());
    if tile.check_region("value", mem.len(), rows, cols).is_err() {
        return 0;
    }
    let mut h = Hasher::new(tile.dtype, rows as u64 * cols as u64);
    for r in 0..if cols == 0 { 0 } else { rows } {
        if tile.order == Order::RowMajor {
            let at = tile.byte_offset(r, 0);
            h.bytes(&mem[at..at + cols as usize * size]);
        } else {
            for c in 0..cols {
                let at = tile.byte_offset(r, c);
                h.bytes(&mem[at..at + size]);
            }
        }
    }
    h.finish()
}

/// The digest of what a view of global memory holds. That of a view that does not lie in its buffer is 0.
pub fn digest_view(view: &View) -> u64 {
    let mut h = Hasher::new(view.dtype, view.elements());
    let mut chunk = [0; 512];
    let mut ok = true;
    let walked = view.for_each_run(|offset, bytes| {
        let mut done = 0;
        while done < bytes {
            let n = chunk.len().min(bytes - done);
            ok &= view.buffer.read(offset + done, &mut chunk[..n]).is_ok();
            h.bytes(&chunk[..n]);
            done += n;
        }
    });
    if walked.is_err() || !ok { 0 } else { h.finish() }
}

/// The digest of a box that was just written: what it holds, and which bytes of its buffer it spans.
pub fn digest_store(view: &View) -> u64 {
    let mut h = Hasher::new(view.dtype, view.elements());
    h.word(digest_view(view));
    // An empty or misplaced box spans nothing.
    if let Ok(span) = view.extent() {
        h.word(span.start);
        h.word(span.end);
    }
    h.finish()
}

/// The digest of a scatter to global memory ([`scatter_view`](crate::scatter_view)): what it writes, which indices say where,
/// what becomes of those out of range and of what is there, and which bytes the view spans (not whether an index counts rows or
/// elements, which is the same where a row has one). Not what memory holds after it: other blocks may be writing elsewhere in the view.
pub fn digest_scatter(
    mem: &[u8],
    view: &View,
    src: &Tile,
    index: &Tile,
    out_of_range: OutOfRange,
    atomic: Option<Atomic>,
) -> u64 {
    let mut h = Hasher::new(view.dtype, view.elements());
    h.word(digest(mem, src));
    h.word(digest(mem, index));
    h.word(out_of_range as u64);
    h.word(atomic.map_or(0, |a| a as u64 + 1));
    if let Ok(span) = view.extent() {
        h.word(span.start);
        h.word(span.end);
    }
    h.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::Buffer;

    #[test]
    fn layout_and_place_do_not_matter_and_every_element_does() {
        let bytes: Vec<u8> = (0..32 * 24 * 2u32).map(|i| (i * 7 % 251) as u8).collect();
        let buffer = Buffer::from_bytes(&bytes);
        let view = View::new(buffer, DType::F16, &[4, 8, 24]).unwrap();
        let expected = digest_view(&view);
        for order in Order::ALL {
            let mut mem = vec![0; 8192];
            let tile = Tile::new(64, DType::F16, 48, 32, order, 512).with_valid(32, 24);
            crate::load(&mut mem, &tile, &view).unwrap();
            assert_eq!(digest(&mem, &tile), expected, "{order:?}");
            let last = tile.byte_offset(31, 23);
            mem[last] ^= 1;
            assert_ne!(digest(&mem, &tile), expected, "{order:?}");
        }
        let mut mem = vec![0; 8192];
        let tile = Tile::row_major(0, DType::BF16, 32, 24);
        let same_bits = View { dtype: DType::BF16, ..view.clone() };
        crate::load(&mut mem, &tile, &same_bits).unwrap();
        assert_ne!(digest(&mem, &tile), expected, "another type");
        let strided = View::strided(view.buffer.clone(), DType::F16, 0, &[32, 24], &[24, 1]).unwrap();
        assert_eq!(digest_view(&strided), expected);
    }

    #[test]
    fn short_runs_hash_as_one_long_one() {
        let bytes: Vec<u8> = (0..200).map(|i| i as u8).collect();
        let buffer = Buffer::from_bytes(&bytes);
        let whole = View::new(buffer.clone(), DType::U8, &[5, 7]).unwrap();
        // The same elements, 7 at a time, spread out.
        let mut spread = vec![0; 200];
        for r in 0..5 {
            spread[r * 20..r * 20 + 7].copy_from_slice(&bytes[r * 7..r * 7 + 7]);
        }
        let spread = View::strided(Buffer::from_bytes(&spread), DType::U8, 0, &[5, 7], &[20, 1]).unwrap();
        assert_eq!(digest_view(&whole), digest_view(&spread));
    }
}
