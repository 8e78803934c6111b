//! The state of one running function.

use dtype::DType;
use isa::Tile;
use memory::{Dims, View};

use crate::code::{Code, ParamKind, RESERVED, pointer};

/// A view of global memory, relative to a pointer parameter.
#[derive(Clone, Copy, Debug)]
pub struct ViewReg {
    pub param: u32,
    pub dtype: DType,
    /// Elements from the address that the parameter holds.
    pub offset: i64,
    pub shape: Dims<u64>,
    pub strides: Dims<i64>,
}

impl Default for ViewReg {
    fn default() -> ViewReg {
        ViewReg { param: 0, dtype: DType::F32, offset: 0, shape: Dims::default(), strides: Dims::default() }
    }
}

/// Registers and program counter. Made once per worker and kernel, reset for each block.
#[derive(Debug, Default)]
pub struct Frame {
    pub pc: u32,
    pub scalars: Vec<u64>,
    pub tiles: Vec<Tile>,
    pub views: Vec<ViewReg>,
    /// Tensor registers of an orchestration.
    pub tensors: Vec<Option<View>>,
    pub arrays: Vec<Vec<u64>>,
    /// One per pointer: the argument (its offset is where the pointer points), and a scratch view on the same buffer.
    pub(crate) pointers: Vec<Pointer>,
    /// First byte of this function's storage in the arena.
    pub(crate) base: usize,
    /// How often each observed point has been reached.
    pub(crate) reached: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    pub(crate) base: i64,
    pub(crate) view: View,
}

impl Frame {
    /// Back to the start of `code`. Arguments are set separately.
    pub fn reset(&mut self, code: &Code, base: usize, block: (u32, u32), subblock: u32) {
        self.pc = 0;
        self.base = base;
        self.scalars.clear();
        self.scalars.extend_from_slice(&code.scalars);
        self.scalars[..RESERVED as usize].copy_from_slice(&[block.0 as u64, block.1 as u64, subblock as u64]);
        self.tiles.clear();
        self.tiles.extend_from_slice(&code.tiles);
        if base != 0 {
            for (tile, &based) in self.tiles.iter_mut().zip(&code.based) {
                if based {
                    tile.offset += base;
                }
            }
        }
        self.views.resize(code.views as usize, ViewReg::default());
        self.tensors.clear();
        self.tensors.resize(code.tensors as usize, None);
        self.arrays.clear();
        self.reached.clear();
        self.reached.resize(code.points.len(), 0);
    }

    /// Binds arguments to the parameters of `code`, which they have been checked against.
    pub fn bind(&mut self, code: &Code, args: &[memory::Arg]) {
        self.pointers.clear();
        for (kind, arg) in code.params.iter().zip(args) {
            match (kind, arg) {
                (ParamKind::Scalar(_, reg), memory::Arg::Scalar(s)) => self.scalars[*reg as usize] = s.bits,
                (ParamKind::Tensor(_, reg), memory::Arg::Tensor(view)) => {
                    self.tensors[*reg as usize] = Some(view.clone());
                }
                (ParamKind::Pointer(..), memory::Arg::Tensor(view)) => {
                    self.pointers.push(Pointer { base: view.offset as i64, view: view.clone() });
                }
                _ => {}
            }
        }
    }

    /// Only the scalars; pointers stay symbolic (footprints).
    pub(crate) fn bind_scalars(&mut self, code: &Code, args: &[memory::Arg]) {
        for (kind, arg) in code.params.iter().zip(args) {
            if let (ParamKind::Scalar(_, reg), memory::Arg::Scalar(s)) = (kind, arg) {
                self.scalars[*reg as usize] = s.bits;
            }
        }
    }

    pub(crate) fn int(&self, reg: u32) -> i64 {
        self.scalars[reg as usize] as i64
    }

    /// The element that `pointer + offset` names, as an index into the argument's buffer.
    pub(crate) fn element(&self, ptr: u32, offset: u32) -> (usize, i128) {
        let p = self.scalars[ptr as usize];
        let param = pointer::param(p);
        (param, self.pointers[param].base as i128 + pointer::offset(p) as i128 + self.int(offset) as i128)
    }
}
