//! Views against a naive model: a map from index to byte offset.

use std::sync::Arc;

use dtype::scalar::BinaryOp;
use dtype::{DType, Scalar};
use memory::{Buffer, Dims, MemoryError, View};

fn numbered(n: usize) -> Buffer {
    let bytes: Vec<u8> = (0..n as u16).flat_map(|v| v.to_le_bytes()).collect();
    Buffer::from_bytes(&bytes)
}

fn words(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect()
}

/// Every element, through `get`.
fn elements(view: &View) -> Vec<u16> {
    let mut out = Vec::new();
    let mut index = vec![0u64; view.rank()];
    if view.elements() == 0 {
        return out;
    }
    loop {
        out.push(view.get(&index).unwrap().bits as u16);
        let mut k = view.rank();
        loop {
            if k == 0 {
                return out;
            }
            k -= 1;
            index[k] += 1;
            if index[k] < view.shape[k] {
                break;
            }
            index[k] = 0;
        }
    }
}

#[test]
fn slices_transposes_and_reshapes() {
    let view = View::new(numbered(24), DType::U16, &[2, 3, 4]).unwrap();
    assert!(view.is_contiguous());
    assert_eq!(view.get(&[1, 2, 3]).unwrap(), Scalar::new(DType::U16, 23));
    let part = view.slice(&[0, 1, 1], &[2, 2, 2]).unwrap();
    assert_eq!(elements(&part), [5, 6, 9, 10, 17, 18, 21, 22]);
    assert_eq!(words(&part.to_vec().unwrap()), elements(&part));
    assert!(!part.is_contiguous());
    assert!(part.reshape(&[8]).is_err());
    let turned = view.transpose(0, 2).unwrap();
    assert_eq!(*turned.shape, [4, 3, 2]);
    assert_eq!(elements(&turned)[..4], [0, 12, 4, 16]);
    assert_eq!(words(&turned.to_vec().unwrap()), elements(&turned));
    let flat = view.reshape(&[6, 4]).unwrap();
    assert_eq!(elements(&flat.slice(&[5, 0], &[1, 4]).unwrap()), [20, 21, 22, 23]);
    assert!(view.reshape(&[5, 5]).is_err());
    assert!(view.transpose(0, 3).is_err());
}

#[test]
fn negative_and_zero_strides() {
    let backwards = View::strided(numbered(8), DType::U16, 7, &[4], &[-2]).unwrap();
    assert_eq!(elements(&backwards), [7, 5, 3, 1]);
    assert_eq!(words(&backwards.to_vec().unwrap()), [7, 5, 3, 1]);
    let repeated = View::strided(numbered(8), DType::U16, 2, &[2, 3], &[0, 1]).unwrap();
    assert_eq!(elements(&repeated), [2, 3, 4, 2, 3, 4]);
    assert!(View::strided(numbered(8), DType::U16, 5, &[4], &[-2]).is_err());
    // The stride of an extent of 1 means nothing, however large.
    let lone = View::strided(numbered(8), DType::U16, 0, &[1, 2, 2], &[i64::MAX, 4, 2]).unwrap();
    assert_eq!(words(&lone.to_vec().unwrap()), [0, 2, 4, 6]);
}

#[test]
fn bounds_and_permissions() {
    let buffer = numbered(8);
    assert!(matches!(buffer.read(15, &mut [0; 2]), Err(MemoryError::OutOfBounds { .. })));
    assert!(buffer.read(usize::MAX, &mut [0; 2]).is_err());
    assert!(buffer.read(16, &mut []).is_ok());
    assert!(View::new(buffer.clone(), DType::U16, &[9]).is_err());
    assert!(View::new(buffer.clone(), DType::U16, &[u64::MAX, u64::MAX]).is_err());
    assert!(View::new(buffer.clone(), DType::U16, &[1; 9]).is_err());
    let view = View::new(buffer.clone(), DType::U16, &[8]).unwrap();
    assert!(view.get(&[8]).is_err() && view.get(&[0, 0]).is_err());
    assert!(view.slice(&[7], &[2]).is_err() && view.slice(&[u64::MAX], &[2]).is_err());
    assert_eq!(view.slice(&[8], &[0]).unwrap().elements(), 0);
    assert!(view.set(&[0], Scalar::new(DType::I32, 1)).is_err());
    let frozen = buffer.read_only();
    assert_eq!(frozen.write(0, &[1]), Err(MemoryError::ReadOnly));
    assert_eq!(frozen.get(2, DType::U16).unwrap().bits, 1);
    // A descriptor built by hand is checked like any other.
    let wrong = View { strides: Dims::new(&[1, 1]).unwrap(), ..view };
    assert!(wrong.extent().is_err() && wrong.to_vec().is_err());
}

#[test]
fn writes_reach_the_owner() {
    let mut owner = vec![0u8; 64];
    // SAFETY: `owner` outlives the buffer and is not touched while it lives.
    #[allow(unsafe_code)]
    let buffer = unsafe { Buffer::borrowed(owner.as_mut_ptr(), owner.len(), true, Arc::new(())) };
    let view = View::strided(buffer.clone(), DType::F32, 1, &[2, 2], &[4, 1]).unwrap();
    let values: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    view.write_all(&values).unwrap();
    assert!(view.write_all(&values[..12]).is_err());
    view.set(&[1, 1], Scalar::f32(9.0)).unwrap();
    drop((view, buffer));
    let word = |k: usize| f32::from_le_bytes(owner[4 * k..4 * k + 4].try_into().unwrap());
    assert_eq!([word(0), word(1), word(2), word(3), word(5), word(6)], [0.0, 1.0, 2.0, 0.0, 3.0, 9.0]);
}

#[test]
fn copies_between_views_overlap_safely() {
    let buffer = numbered(8);
    let whole = View::new(buffer.clone(), DType::U16, &[8]).unwrap();
    whole.slice(&[1], &[7]).unwrap().copy_from(&whole.slice(&[0], &[7]).unwrap()).unwrap();
    assert_eq!(words(&buffer.to_vec()), [0, 0, 1, 2, 3, 4, 5, 6]);
    let back = View::strided(buffer.clone(), DType::U16, 7, &[8], &[-1]).unwrap();
    whole.copy_from(&back).unwrap();
    assert_eq!(words(&buffer.to_vec()), [6, 5, 4, 3, 2, 1, 0, 0]);
    assert!(whole.copy_from(&whole.slice(&[0], &[7]).unwrap()).is_err());
}

#[test]
fn the_allocation_lives_as_long_as_its_last_handle() {
    let buffer = Buffer::zeroed(1 << 20);
    assert_eq!(buffer.as_ptr().addr() % 64, 0);
    let part = buffer.sub(1 << 19, 16).unwrap();
    assert!(buffer.overlaps(&part) && !buffer.sub(0, 16).unwrap().overlaps(&part));
    drop(buffer);
    part.write(0, &[7; 16]).unwrap();
    assert_eq!(part.to_vec(), [7; 16]);
    assert!(part.sub(10, 7).is_err());
    assert_eq!(Buffer::zeroed(0).to_vec(), []);
}

#[test]
fn atomic_additions_from_many_threads() {
    let buffer = Buffer::zeroed(64);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..1000 {
                    buffer.fetch_add(0, Scalar::from_i64(DType::I32, 1)).unwrap();
                    buffer.fetch_add(4, Scalar::f32(1.0)).unwrap();
                    buffer.fetch_add(10, Scalar::from_i64(DType::F16, 1)).unwrap();
                    buffer.fetch_add(12, Scalar::from_i64(DType::I8, 1)).unwrap();
                }
            });
        }
    });
    assert_eq!(buffer.get(0, DType::I32).unwrap(), Scalar::from_i64(DType::I32, 4000));
    assert_eq!(buffer.get(4, DType::F32).unwrap(), Scalar::f32(4000.0));
    assert_eq!(buffer.get(10, DType::F16).unwrap(), Scalar::from_i64(DType::F16, 2048), "2048 + 1 ties to even");
    assert_eq!(buffer.get(12, DType::I8).unwrap(), Scalar::from_i64(DType::I8, 4000));
    assert!(buffer.fetch_add(1, Scalar::f32(1.0)).is_err());
    let small = Scalar::from_i64(DType::I32, -5);
    assert_eq!(buffer.fetch(BinaryOp::Min, 0, small).unwrap(), Scalar::from_i64(DType::I32, 4000));
    assert_eq!(buffer.fetch(BinaryOp::Max, 0, Scalar::from_i64(DType::I32, -9)).unwrap(), small);
    assert_eq!(buffer.get(0, DType::I32).unwrap(), small);
}

#[test]
fn a_bit_cast_has_the_same_bytes() {
    let view = View::new(numbered(24), DType::U16, &[2, 3, 4]).unwrap();
    let wide = view.bitcast(DType::U32).unwrap();
    assert_eq!((&wide.shape[..], &wide.strides[..]), (&[2, 3, 2][..], &[6, 2, 1][..]));
    assert_eq!(wide.to_vec().unwrap(), view.to_vec().unwrap());
    assert_eq!(wide.bitcast(DType::U8).unwrap().shape[..], [2, 3, 8]);
    assert_eq!(*wide.bitcast(DType::U8).unwrap().bitcast(DType::U16).unwrap().strides, *view.strides);
    // Parts of rows that begin and end at whole elements.
    let part = view.slice(&[1, 1, 2], &[1, 2, 2]).unwrap();
    let cast = part.bitcast(DType::I32).unwrap();
    assert_eq!(cast.to_vec().unwrap(), part.to_vec().unwrap());
    assert_eq!((&cast.shape[..], cast.offset), (&[1, 2, 1][..], 9));
    for (offsets, sizes) in [([0, 0, 1], [2, 3, 2]), ([0, 0, 0], [2, 3, 3])] {
        let error = view.slice(&offsets, &sizes).unwrap().bitcast(DType::U32).unwrap_err();
        assert!(error.to_string().contains("no whole number"), "{error}");
    }
    let turned = view.transpose(1, 2).unwrap();
    assert!(turned.bitcast(DType::U32).unwrap_err().to_string().contains("one after another"));
    assert_eq!(elements(&turned.bitcast(DType::I16).unwrap()), elements(&turned));
    let odd = View::strided(numbered(24), DType::U16, 0, &[2, 2], &[5, 1]).unwrap();
    assert!(odd.bitcast(DType::U32).unwrap_err().to_string().contains("not every row"));
}

#[test]
fn a_slice_may_overhang_the_end_of_its_buffer_only() {
    let view = View::new(numbered(24), DType::U16, &[6, 4]).unwrap();
    assert!(view.slice(&[4, 0], &[4, 4]).is_err());
    let over = view.overhanging(&[4, 0], &[4, 4]).unwrap();
    assert_eq!(over.shape[..], [4, 4]);
    assert_eq!(over.inside().shape[..], [2, 4]);
    assert_eq!(over.get(&[1, 3]).unwrap(), Scalar::new(DType::U16, 23));
    assert!(
        over.get(&[2, 0]).is_err() && over.to_vec().is_err() && over.set(&[3, 0], Scalar::new(DType::U16, 0)).is_err()
    );
    // A part of it that exists is like any other view.
    assert_eq!(elements(&over.slice(&[0, 2], &[2, 2]).unwrap()), [18, 19, 22, 23]);
    assert_eq!(elements(&over.overhanging(&[1, 0], &[1, 4]).unwrap()), [20, 21, 22, 23]);
    // What would be elements of another row, or of what follows, is not given out.
    assert!(view.overhanging(&[0, 2], &[6, 4]).is_err());
    assert!(view.slice(&[0, 0], &[3, 4]).unwrap().overhanging(&[2, 0], &[2, 4]).is_err());
    assert!(view.slice(&[0, 1], &[6, 2]).unwrap().overhanging(&[5, 0], &[2, 2]).is_ok());
    assert!(view.overhanging(&[6, 0], &[1, 4]).is_err() && view.overhanging(&[5, 0], &[u64::MAX, 4]).is_err());
}
