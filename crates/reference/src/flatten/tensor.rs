//! Operations on handles of global memory.

use dtype::Scalar;
use ir::{Attr, Opcode};

use super::{Flattener, Result};
use crate::code::{Instr, Slot, TensorKind, TensorOp};

impl Flattener<'_> {
    /// Whether the current operation is one of these; if so it has been emitted.
    pub(super) fn tensor_op(&mut self) -> Result<bool> {
        let data = self.data();
        let (mut tensor, mut at, mut dims) = (0, Vec::new(), Vec::new());
        let dst;
        if let Some(group) = data.opcode.info().group("tensor") {
            let unrelated = matches!(data.opcode, Opcode::Load | Opcode::Store | Opcode::Gather | Opcode::Scatter);
            if let ([value], false) = (data.group(group), unrelated) {
                tensor = self.tensor(*value)?;
            }
        }
        let kind = match data.opcode {
            Opcode::TensorCreate => {
                dims = self.indices(data.named("dims"))?;
                let result = self.one_result()?;
                let Some(ty) = self.func.ty(result).as_tensor() else {
                    return Err(self.malformed("a tensor that is none"));
                };
                let init = match data.attrs.get("init") {
                    None => None,
                    Some(Attr::Int(v)) => Some(Scalar::from_i64(ty.dtype, *v)),
                    Some(Attr::Float(v)) => Some(Scalar::from_f64(ty.dtype, *v)),
                    Some(Attr::Bool(v)) => Some(Scalar::from_i64(ty.dtype, *v as i64)),
                    Some(other) => return Err(self.malformed(format!("an initial value of {other:?}"))),
                };
                let (dtype, shape) = (ty.dtype, ty.shape.clone());
                dst = self.tensor_result()?;
                TensorKind::Create { dtype, shape, init }
            }
            Opcode::TensorSlice => {
                at = self.indices(data.named("offsets"))?;
                dims = self.indices(data.named("dims"))?;
                dst = self.tensor_result()?;
                TensorKind::Slice { sizes: self.sizes()?, drop: self.dropped() }
            }
            Opcode::TensorReshape | Opcode::TensorBitcast => {
                dims = self.indices(data.named("dims"))?;
                let result = self.one_result()?;
                let Some(ty) = self.func.ty(result).as_tensor() else {
                    return Err(self.malformed("a tensor that is none"));
                };
                let (dtype, shape) = (ty.dtype, ty.shape.clone());
                dst = self.tensor_result()?;
                match data.opcode {
                    Opcode::TensorReshape => TensorKind::Reshape { shape },
                    _ => TensorKind::Bitcast { dtype, shape },
                }
            }
            Opcode::TensorTranspose => {
                let (a, b) = (self.axis("axis1")?, self.axis("axis2")?);
                dst = self.tensor_result()?;
                TensorKind::Transpose(a, b)
            }
            Opcode::TensorDim => {
                let axis = self.axis("axis")?;
                dst = self.scalar_result()?;
                TensorKind::Dim(axis)
            }
            Opcode::Read => {
                at = self.indices(data.named("indices"))?;
                let dtype = self.dtype(self.one_result()?)?;
                dst = self.scalar_result()?;
                TensorKind::Read { dtype, host: !self.in_scope }
            }
            Opcode::Write => {
                at = self.indices(data.named("indices"))?;
                let value = self.operand("value")?;
                let dtype = self.dtype(value)?;
                dst = self.scalar(value)?;
                TensorKind::Write { dtype }
            }
            _ => return Ok(false),
        };
        self.body.tensor_ops.push(TensorOp { op: self.op, kind, tensor, at, dims, dst });
        let number = self.body.tensor_ops.len() as u32 - 1;
        self.emit(Instr::Tensor(number));
        Ok(true)
    }

    pub(super) fn sizes(&self) -> Result<Vec<i64>> {
        match self.data().attrs.ints("sizes") {
            Some(sizes) => Ok(sizes.to_vec()),
            None => Err(self.malformed("`sizes` is missing")),
        }
    }

    /// Axes that the result does not have.
    pub(super) fn dropped(&self) -> Vec<usize> {
        self.data().attrs.ints("drop").unwrap_or(&[]).iter().map(|&axis| axis as usize).collect()
    }

    fn axis(&self, name: &str) -> Result<usize> {
        match self.data().attrs.int(name).map(usize::try_from) {
            Some(Ok(axis)) => Ok(axis),
            other => Err(self.malformed(format!("`{name}` is {other:?}, no axis"))),
        }
    }

    fn tensor_result(&mut self) -> Result<u32> {
        match self.define(self.one_result()?)? {
            Slot::Tensor(s) => Ok(s),
            other => Err(self.malformed(format!("a tensor result was expected, not {other:?}"))),
        }
    }
}
