//! Which box of which view of global memory a load or store touches.
//!
//! A tile is a matrix: the last axis of its value by all others. `tload` and `tstore` flatten a box the same way, leading
//! axes into rows. Where the two matrices differ, because the tensor has axes of size 1 that the tile does not have or
//! has elsewhere, the access goes through a view of the tensor with its axes in another order (or one more of size 1).
//! A transposing load exchanges the two axes that the tile has.

use diag::Diagnostic;
use ir::{Function, Op, TileType};

use crate::Fail;
use crate::tile::flat;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// The axes of the view: which axis of the tensor, or `None` for an extra one of size 1.
    pub(crate) axes: Vec<Option<usize>>,
    /// The box's extents without regard to valid regions.
    pub(crate) sizes: Vec<u64>,
    /// Which axis of the tile has the valid extent of this axis of the view.
    pub(crate) tile_axis: Vec<Option<usize>>,
}

impl Access {
    fn new(axes: Vec<Option<usize>>, sizes: &[u64], of_tile: &[Option<usize>]) -> Access {
        let (sizes, tile_axis) = axes.iter().map(|a| a.map_or((1, None), |a| (sizes[a], of_tile[a]))).unzip();
        Access { axes, sizes, tile_axis }
    }

    fn matrix(&self) -> (u64, u64) {
        let last = self.sizes.len() - 1;
        (self.sizes[..last].iter().product(), self.sizes[last])
    }
}

/// The axes of a tensor as they are.
pub(crate) fn natural(rank: usize) -> Vec<Option<usize>> {
    (0..rank).map(Some).collect()
}

/// The box that `load` reads for a tile of this type, as it is or transposed.
pub(crate) fn load(f: &Function, op: Op, ty: &TileType, transposed: bool) -> Result<Access, Fail> {
    let data = &f.ops[op];
    let sizes: Vec<u64> = data.attrs.ints("sizes").unwrap_or(&[]).iter().map(|&n| n as u64).collect();
    let drop = data.attrs.ints("drop").unwrap_or(&[]);
    let is_dropped = |axis: usize| drop.contains(&(axis as i64));
    let kept: Vec<usize> = (0..sizes.len()).filter(|&a| !is_dropped(a)).collect();
    let mut of_tile = vec![None; sizes.len()];
    for (i, &axis) in kept.iter().enumerate() {
        of_tile[axis] = Some(i);
    }
    let dropped = (0..sizes.len()).filter(|&a| is_dropped(a)).map(Some);
    if transposed {
        let [i, j] = kept[..] else { return Err(unsupported(f, op, "a transposed operand of other than two axes")) };
        return Ok(Access::new(dropped.chain([Some(j), Some(i)]).collect(), &sizes, &of_tile));
    }
    let plain = Access::new(natural(sizes.len()), &sizes, &of_tile);
    if plain.matrix() == flat(ty) {
        return Ok(plain);
    }
    Ok(Access::new(dropped.chain(kept.into_iter().map(Some)).collect(), &sizes, &of_tile))
}

/// The box that `store` writes from a tile of this type.
pub(crate) fn store(f: &Function, op: Op, ty: &TileType) -> Result<Access, Fail> {
    let sizes: Vec<u64> = f.ops[op].attrs.ints("sizes").unwrap_or(&[]).iter().map(|&n| n as u64).collect();
    let (n, t) = (sizes.len(), ty.shape.len());
    let mut of_tile = vec![None; n];
    if n >= t && sizes[n - t..] == ty.shape[..] && sizes[..n - t].iter().all(|&s| s == 1) {
        for i in 0..t {
            of_tile[n - t + i] = Some(i);
        }
    } else {
        // Axis by axis in order, without regard to those of size 1.
        let big = |shape: &[u64]| (0..shape.len()).filter(|&i| shape[i] != 1).collect::<Vec<usize>>();
        let (tensor, tile) = (big(&sizes), big(&ty.shape));
        let equal = tensor.len() == tile.len() && tensor.iter().zip(&tile).all(|(&a, &b)| sizes[a] == ty.shape[b]);
        if !equal {
            return Err(unsupported(
                f,
                op,
                &format!("a store of a tile of shape {:?} to a box of {sizes:?}", ty.shape),
            ));
        }
        for (&axis, &i) in tensor.iter().zip(&tile) {
            of_tile[axis] = Some(i);
        }
        let cut = (0..t).any(|i| ty.shape[i] == 1 && ty.valid[i] != ir::Dim::Static(1));
        if cut {
            return Err(unsupported(f, op, "a store of an empty tile to a box of another shape"));
        }
    }
    let plain = Access::new(natural(n), &sizes, &of_tile);
    if plain.matrix() == flat(ty) {
        return Ok(plain);
    }
    // The tensor's axes that are the tile's leading ones, then the one that is its last (or one of size 1).
    let last_of = |i: usize| of_tile.iter().position(|&a| a == Some(i));
    let last = match last_of(t - 1) {
        Some(axis) => Some(axis),
        None => (0..n).find(|&a| sizes[a] == 1 && of_tile[a].is_none()),
    };
    let front = (0..n).filter(|&a| sizes[a] == 1 && of_tile[a].is_none() && Some(a) != last).map(Some);
    let middle = (0..n).filter(|&a| (sizes[a] != 1 || of_tile[a].is_some()) && Some(a) != last).map(Some);
    let access = Access::new(front.chain(middle).chain([last]).collect(), &sizes, &of_tile);
    if access.matrix() != flat(ty) || access.axes.len() > 5 {
        return Err(unsupported(f, op, &format!("a store of a tile of shape {:?} to a box of {sizes:?}", ty.shape)));
    }
    Ok(access)
}

fn unsupported(f: &Function, op: Op, what: &str) -> Fail {
    Box::new(Diagnostic::unsupported("access-shape", format!("{what} is not supported")).at(f.ops[op].span, "here"))
}
