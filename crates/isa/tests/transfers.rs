//! Transfers between tiles in any order and strided global views, element by element.

mod common;

use common::{Rng, tiers};
use dtype::{DType, Scalar};
use isa::{Order, Tile, load, store};
use memory::{Buffer, View};

/// A view of `rank` dimensions over a fresh buffer of random bytes: dense, with gaps, or with two dimensions exchanged.
fn view(rng: &mut Rng, dtype: DType, rank: usize) -> View {
    let shape: Vec<u64> = (0..rank).map(|_| 1 + rng.below(5)).collect();
    let gap: Vec<u64> = shape.iter().map(|d| d + rng.below(2)).collect();
    let total = gap.iter().product::<u64>() as usize * dtype.size();
    let mut bytes = vec![0; total];
    rng.fill(&mut bytes);
    let whole = View::new(Buffer::from_bytes(&bytes), dtype, &gap).unwrap();
    let part = whole.slice(&vec![0; rank], &shape).unwrap();
    if rank > 1 && rng.below(2) == 0 {
        part.transpose(rng.below(rank as u64) as usize, rank - 1).unwrap()
    } else {
        part
    }
}

fn matrix(view: &View) -> (u32, u32) {
    let cols = view.shape.last().copied().unwrap_or(1);
    ((view.elements() / cols) as u32, cols as u32)
}

fn index(view: &View, row: u32, col: u32) -> Vec<u64> {
    let mut index = vec![0; view.rank()];
    let mut rest = row as u64;
    for k in (0..view.rank().saturating_sub(1)).rev() {
        index[k] = rest % view.shape[k];
        rest /= view.shape[k];
    }
    if let Some(last) = index.last_mut() {
        *last = col as u64;
    }
    index
}

#[test]
fn loads_and_stores_in_every_order() {
    let mut rng = Rng::new(1);
    for dtype in DType::ALL {
        for order in Order::ALL {
            for rank in 0..=5 {
                for _ in 0..4 {
                    let gm = view(&mut rng, dtype, rank);
                    let (rows, cols) = matrix(&gm);
                    let (ir, ic) = Tile::new(0, dtype, 1, 1, order, 512).inner_box();
                    let up = |n: u32, step: u32| n.div_ceil(step) * step;
                    let (r, c) = (1 + rng.below(rows as u64) as u32, 1 + rng.below(cols as u64) as u32);
                    let tile = Tile::new(64, dtype, up(rows, ir), up(cols, ic), order, 512).with_valid(r, c);
                    let mut before = vec![0; 64 + tile.byte_len() + 8];
                    rng.fill(&mut before);
                    tiers(|tier| {
                        let mut got = before.clone();
                        load(&mut got, &tile, &gm).unwrap();
                        let mut want = before.clone();
                        for i in 0..r {
                            for j in 0..c {
                                isa::set(&mut want, &tile, i, j, gm.get(&index(&gm, i, j)).unwrap()).unwrap();
                            }
                        }
                        assert!(got == want, "{tier:?} load {dtype} {order:?} {gm:?}");
                        // And back, over other contents.
                        let out = View { buffer: Buffer::from_bytes(&gm.buffer.to_vec()), ..gm.clone() };
                        let reference = View { buffer: Buffer::from_bytes(&gm.buffer.to_vec()), ..gm.clone() };
                        store(&out, &before, &tile, false).unwrap();
                        for i in 0..r {
                            for j in 0..c {
                                let v = isa::get(&before, &tile, i, j).unwrap();
                                reference.set(&index(&gm, i, j), v).unwrap();
                            }
                        }
                        assert!(out.buffer.to_vec() == reference.buffer.to_vec(), "{tier:?} store {dtype} {order:?}");
                    });
                }
            }
        }
    }
}

#[test]
fn the_accumulator_narrows_to_nearest_even_when_asked() {
    let mut rng = Rng::new(2);
    for to in [DType::F16, DType::BF16] {
        let acc = Tile::new(0, DType::F32, 32, 48, Order::Nz, 1024).with_valid(19, 37);
        let mut mem = vec![0; acc.byte_len()];
        for e in mem.chunks_exact_mut(4) {
            let x = if rng.below(4) == 0 { f32::from_bits(rng.next() as u32) } else { rng.normal() };
            e.copy_from_slice(&x.to_le_bytes());
        }
        tiers(|tier| {
            let gm = View::new(Buffer::zeroed(19 * 37 * 2), to, &[19, 37]).unwrap();
            assert!(store(&gm, &mem, &acc, false).is_err(), "narrowing without leave");
            store(&gm, &mem, &acc, true).unwrap();
            for r in 0..19 {
                for c in 0..37 {
                    let x = isa::get(&mem, &acc, r, c).unwrap();
                    let want = Scalar::from_f64(to, x.as_f64());
                    assert_eq!(gm.get(&[r as u64, c as u64]).unwrap(), want, "{tier:?} {x:?}");
                }
            }
        });
    }
    let gm = View::new(Buffer::zeroed(64), DType::I16, &[4, 4]).unwrap();
    let acc = Tile::row_major(0, DType::F32, 4, 4);
    assert!(store(&gm, &[0; 64], &acc, true).is_err());
}

#[test]
fn refusals() {
    let gm = View::new(Buffer::zeroed(64), DType::F32, &[4, 4]).unwrap();
    let tile = Tile::row_major(0, DType::F32, 5, 4);
    let mut mem = vec![3; 128];
    assert!(load(&mut mem, &tile, &gm).is_err(), "more rows than the view");
    assert!(store(&gm, &mem, &tile, false).is_err());
    let fits = tile.with_valid(4, 4);
    let frozen = View { buffer: gm.buffer.read_only(), ..gm.clone() };
    assert!(store(&frozen, &mem, &fits, false).is_err());
    let outside = View { offset: 1, ..gm.clone() };
    assert!(load(&mut mem, &fits, &outside).is_err());
    assert!(mem.iter().all(|&b| b == 3) && gm.buffer.to_vec() == [0; 64]);
    load(&mut mem, &tile.with_valid(0, 4), &gm).unwrap();
    assert!(mem.iter().all(|&b| b == 3), "an empty transfer moves nothing");
}
