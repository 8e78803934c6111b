//! Handles of global memory, and which bytes of it are defined.
//!
//! A handle is a view of an argument's memory or of a tensor that the program created. With definedness, each of these has
//! a shadow of one byte per byte: the same view over the shadow addresses the same elements.

use std::rc::Rc;

use diag::Diagnostic;
use dtype::{DType, Scalar};
use ir::{Dim, Function, Type};
use memory::{Arg, Buffer, Dims, Returned, View};

use crate::code::{TensorKind, TensorOp};
use crate::machine::{Frame, Machine};
use crate::problem::{Problem, Result};

/// A handle.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) view: View,
    /// Number in [`Globals`]; arguments come first, by their position.
    pub(crate) global: u32,
}

struct Global {
    shadow: Option<Buffer>,
    written: bool,
}

/// Every range of global memory that the program can reach.
pub(crate) struct Globals {
    track: bool,
    list: Vec<Global>,
}

impl Globals {
    pub(crate) fn new(definedness: bool) -> Globals {
        Globals { track: definedness, list: Vec::new() }
    }

    /// Checks the arguments against the parameters and registers their memory, all of it defined.
    pub(crate) fn bind(&mut self, func: &Function, args: &[Arg]) -> std::result::Result<(), Box<Diagnostic>> {
        let wrong = |what: String| Err(Box::new(Diagnostic::error("argument-mismatch", what)));
        if args.len() != func.params.len() {
            return wrong(format!("`{}` takes {} arguments, not {}", func.name, func.params.len(), args.len()));
        }
        for ((param, &value), arg) in func.params.iter().zip(func.param_values()).zip(args) {
            let mut shadow = None;
            match (func.ty(value), arg) {
                (Type::Scalar(expected), Arg::Scalar(s)) if *expected == s.dtype => {}
                (Type::Tensor(ty), Arg::Tensor(view)) => {
                    let same_shape = ty.rank() == view.rank()
                        && ty.shape.iter().zip(view.shape.iter()).all(|(d, &n)| d.known().is_none_or(|d| d == n));
                    if ty.dtype != view.dtype || !same_shape {
                        let expected: Vec<String> = ty.shape.iter().map(Dim::to_string).collect();
                        return wrong(format!(
                            "parameter `{}` is a tensor of {} [{}], not of {} {:?}",
                            param.name,
                            ty.dtype,
                            expected.join(", "),
                            view.dtype,
                            view.shape
                        ));
                    }
                    if let Err(e) = view.extent() {
                        return wrong(format!("the tensor for parameter `{}` is damaged: {e}", param.name));
                    }
                    if self.track {
                        let buffer = Buffer::zeroed(view.buffer.len());
                        if let Err(e) = buffer.fill(0, buffer.len(), 1) {
                            return wrong(e.to_string());
                        }
                        shadow = Some(buffer);
                    }
                }
                (expected, arg) => {
                    let kind = match arg {
                        Arg::Tensor(view) => format!("a tensor of {}", view.dtype),
                        Arg::Scalar(s) => format!("a scalar of {}", s.dtype),
                    };
                    return wrong(format!("parameter `{}` has type {expected:?}, not {kind}", param.name));
                }
            }
            self.list.push(Global { shadow, written: false });
        }
        Ok(())
    }

    /// A fresh packed tensor of zeros.
    fn create(&mut self, dtype: DType, shape: &[u64], init: Option<Scalar>) -> Result<Tensor> {
        let bytes = shape.iter().try_fold(dtype.size() as u64, |n, &d| n.checked_mul(d));
        // More than any host has; a smaller lie is caught by the allocator.
        let Some(bytes) = bytes.filter(|&n| n < 1 << 46) else {
            return Err(Problem::error("bad-extent", format!("a tensor of {dtype} {shape:?} is too large")));
        };
        let view = View::new(Buffer::zeroed(bytes as usize), dtype, shape)?;
        let shadow = self.track.then(|| Buffer::zeroed(bytes as usize));
        if let Some(value) = init {
            if value.bits != 0 {
                let element = &value.to_le_bytes()[..dtype.size()];
                view.buffer.write(0, &element.repeat(view.elements() as usize))?;
            }
            if let Some(shadow) = &shadow {
                shadow.fill(0, shadow.len(), 1)?;
            }
        }
        self.list.push(Global { shadow, written: true });
        Ok(Tensor { view, global: self.list.len() as u32 - 1 })
    }

    /// The shadow of `view`, which is a view of global memory number `global`.
    pub(crate) fn shadow(&self, global: u32, view: &View) -> Option<View> {
        let buffer = self.list[global as usize].shadow.clone()?;
        Some(View { buffer, ..view.clone() })
    }

    pub(crate) fn written(&mut self, global: u32) {
        self.list[global as usize].written = true;
    }

    /// One byte per element of `view`.
    fn mask(&self, global: u32, view: &View) -> Result<Option<Vec<u8>>> {
        let Some(shadow) = self.shadow(global, view) else {
            return Ok(None);
        };
        let size = view.dtype.size();
        Ok(Some(shadow.to_vec()?.chunks_exact(size).map(|bytes| bytes.iter().all(|&b| b == 1) as u8).collect()))
    }

    pub(crate) fn outcome(&self, args: &[Arg], results: &[Rc<Tensor>], tasks: u32) -> Result<crate::Outcome> {
        let (mut defined, mut returned, mut returned_defined) = (Vec::new(), Vec::new(), Vec::new());
        for (index, arg) in args.iter().enumerate() {
            defined.push(match arg {
                Arg::Tensor(view) if self.list[index].written => self.mask(index as u32, view)?,
                _ => None,
            });
        }
        for result in results {
            let whole = |view: &View| {
                view.dtype == result.view.dtype
                    && view.offset == result.view.offset
                    && view.shape == result.view.shape
                    && view.strides == result.view.strides
            };
            match args.get(result.global as usize) {
                Some(Arg::Tensor(view)) if whole(view) => {
                    returned.push(Returned::Param(result.global as usize));
                    returned_defined.push(None);
                }
                _ => {
                    returned.push(Returned::Tensor(result.view.clone()));
                    returned_defined.push(self.mask(result.global, &result.view)?);
                }
            }
        }
        Ok(crate::Outcome { returned, defined, returned_defined, tasks })
    }
}

impl<const DEFINED: bool> Machine<'_, DEFINED> {
    /// Signed values of scalars that decide a place or an extent.
    pub(crate) fn places(&self, frame: &Frame, slots: &[u32], what: &str) -> Result<Dims<i64>> {
        let mut out = Dims::default();
        for &slot in slots {
            if DEFINED && frame.undefined[slot as usize] {
                return Err(Problem::undefined("undefined-index", format!("{what} is undefined")));
            }
            out.push(frame.int(slot))?;
        }
        Ok(out)
    }

    /// The extents of a type at run time.
    pub(crate) fn extents(&self, frame: &Frame, shape: &[Dim], dims: &[u32]) -> Result<Dims<u64>> {
        let given = self.places(frame, dims, "an extent")?;
        let mut given = given.iter();
        let mut out = Dims::default();
        for dim in shape {
            out.push(match dim {
                Dim::Static(n) => *n,
                Dim::Dynamic => match given.next() {
                    Some(&n) => u64::try_from(n)
                        .map_err(|_| Problem::error("bad-extent", format!("an extent of {n} elements")))?,
                    None => return Err(Problem::error("malformed-ir", "a dynamic extent without a value".to_owned())),
                },
            })?;
        }
        Ok(out)
    }

    pub(crate) fn tensor_op(&mut self, op: &TensorOp, frame: &mut Frame) -> Result<()> {
        match &op.kind {
            TensorKind::Read { dtype, host } => self.read(op, frame, *dtype, *host),
            TensorKind::Write { dtype } => self.write(op, frame, *dtype),
            TensorKind::Dim(axis) => {
                let tensor = frame.tensor(op.tensor)?;
                let Some(&extent) = tensor.view.shape.get(*axis) else {
                    let rank = tensor.view.rank();
                    return Err(Problem::error("malformed-ir", format!("axis {axis} of a tensor of rank {rank}")));
                };
                frame.scalars[op.dst as usize] = extent;
                if DEFINED {
                    frame.undefined[op.dst as usize] = false;
                }
                Ok(())
            }
            TensorKind::Create { dtype, shape, init } => {
                let shape = self.extents(frame, shape, &op.dims)?;
                let tensor = self.globals.create(*dtype, &shape, *init)?;
                frame.set_tensor(op.dst, tensor);
                Ok(())
            }
            TensorKind::Slice { sizes, drop } => {
                let declared: Vec<Dim> =
                    sizes.iter().map(|&n| u64::try_from(n).map_or(Dim::Dynamic, Dim::Static)).collect();
                let sizes = self.extents(frame, &declared, &op.dims)?;
                let offsets = self.places(frame, &op.at, "an offset of a slice")?;
                let tensor = frame.tensor(op.tensor)?;
                let axes: Vec<(usize, u64)> =
                    (0..sizes.len()).filter(|axis| !drop.contains(axis)).map(|axis| (axis, sizes[axis])).collect();
                let mut existing = sizes;
                if let (Some(&first @ 0..), true) = (offsets.first(), ends_with_buffer(&tensor.view)) {
                    // What would follow the last row is no row of anything: only an access to it is wrong.
                    let rows = tensor.view.shape[0].saturating_sub(first as u64);
                    existing[0] = if rows > 0 { sizes[0].min(rows) } else { sizes[0] };
                }
                let view = window(&tensor.view, &offsets, &existing, &axes, "a slice")?;
                let tensor = Tensor { view, global: tensor.global };
                frame.set_tensor(op.dst, tensor);
                Ok(())
            }
            TensorKind::Reshape { shape } => {
                let shape = self.extents(frame, shape, &op.dims)?;
                let tensor = frame.tensor(op.tensor)?;
                let elements = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
                if elements != Some(tensor.view.elements()) {
                    let message = format!("a reshape of {:?} to {shape:?}: the numbers differ", tensor.view.shape);
                    return Err(Problem::error("bad-reshape", message));
                }
                if !tensor.view.is_contiguous() {
                    let (from, strides) = (tensor.view.shape, tensor.view.strides);
                    let message = format!(
                        "a reshape of {from:?} to {shape:?}: the elements do not lie one after another (strides {strides:?})"
                    );
                    return Err(Problem::error("not-packed", message));
                }
                let tensor = Tensor { view: tensor.view.reshape(&shape)?, global: tensor.global };
                frame.set_tensor(op.dst, tensor);
                Ok(())
            }
            TensorKind::Bitcast { dtype, shape } => {
                let shape = self.extents(frame, shape, &op.dims)?;
                let tensor = frame.tensor(op.tensor)?;
                let view = tensor.view.bitcast(*dtype)?;
                if view.shape != shape {
                    let (from, dims) = (tensor.view.dtype, &tensor.view.shape);
                    let message =
                        format!("a bit cast of {from} {dims:?} to {dtype} makes {:?}, not {shape:?}", view.shape);
                    return Err(Problem::error("bad-reshape", message));
                }
                let tensor = Tensor { view, global: tensor.global };
                frame.set_tensor(op.dst, tensor);
                Ok(())
            }
            TensorKind::Transpose(a, b) => {
                let tensor = frame.tensor(op.tensor)?;
                let tensor = Tensor { view: tensor.view.transpose(*a, *b)?, global: tensor.global };
                frame.set_tensor(op.dst, tensor);
                Ok(())
            }
        }
    }

    /// Byte offset of the element that an access names.
    fn element(&self, op: &TensorOp, frame: &Frame, tensor: &Tensor, what: &str) -> Result<usize> {
        let view = &tensor.view;
        if op.at.len() != view.rank() {
            let message = format!("{} indices for a tensor of rank {}", op.at.len(), view.rank());
            return Err(Problem::error("malformed-ir", message));
        }
        let mut at = view.offset as i64;
        for (axis, &slot) in op.at.iter().enumerate() {
            if DEFINED && frame.undefined[slot as usize] {
                return Err(Problem::undefined("undefined-index", format!("an index of {what} is undefined")));
            }
            let index = frame.int(slot);
            if index < 0 || index as u64 >= view.shape[axis] {
                let index: Vec<i64> = op.at.iter().map(|&slot| frame.int(slot)).collect();
                let message = format!("{what} of element {index:?} of a tensor of {:?}", view.shape);
                return Err(Problem::error("out-of-bounds", message));
            }
            at += index * view.strides[axis];
        }
        Ok(at as usize * view.dtype.size())
    }

    fn read(&mut self, op: &TensorOp, frame: &mut Frame, dtype: DType, host: bool) -> Result<()> {
        let tensor = frame.tensor(op.tensor)?;
        let at = self.element(op, frame, tensor, "a read")?;
        let value = tensor.view.buffer.get(at, tensor.view.dtype)?;
        let mut undefined = false;
        if DEFINED {
            if let Some(shadow) = &self.globals.list[tensor.global as usize].shadow {
                // Every byte: another type may have written a part of the element.
                let mut bytes = [0; 8];
                let bytes = &mut bytes[..tensor.view.dtype.size()];
                shadow.read(at, bytes)?;
                undefined = bytes.contains(&0);
            }
            if undefined && host {
                let message = "the orchestration reads an element that nothing has written".to_owned();
                return Err(Problem::undefined("undefined-read", message));
            }
        }
        // `Index` and `I64` are one in memory.
        frame.scalars[op.dst as usize] = Scalar::new(dtype, value.bits).bits;
        if DEFINED {
            frame.undefined[op.dst as usize] = undefined;
        }
        Ok(())
    }

    fn write(&mut self, op: &TensorOp, frame: &mut Frame, dtype: DType) -> Result<()> {
        let tensor = frame.tensor(op.tensor)?.clone();
        let at = self.element(op, frame, &tensor, "a write")?;
        let element = tensor.view.dtype;
        if element.size() != dtype.size() || element.is_float() != dtype.is_float() {
            return Err(Problem::error("malformed-ir", format!("a {dtype} written to a tensor of {element}")));
        }
        tensor.view.buffer.set(at, frame.scalar(op.dst, element))?;
        self.globals.written(tensor.global);
        if DEFINED {
            let defined = !frame.undefined[op.dst as usize] as u8;
            if let Some(shadow) = &self.globals.list[tensor.global as usize].shadow {
                shadow.fill(at, element.size(), defined)?;
            }
        }
        if self.observed() {
            let offset = (at / element.size()) as u64;
            let (shape, strides) = (Dims::new(&[1])?, Dims::new(&[1])?);
            let view = View { offset, shape, strides, ..tensor.view.clone() };
            self.report(op.op, frame, isa::digest_store(&view));
        }
        Ok(())
    }
}

/// Whether all that would follow in the first dimension lies beyond the buffer.
fn ends_with_buffer(view: &View) -> bool {
    let (Some(&rows), Some(&stride)) = (view.shape.first(), view.strides.first()) else { return false };
    let next = (view.offset as i128 + rows as i128 * stride as i128) * view.dtype.size() as i128;
    stride > 0 && view.strides.iter().all(|&s| s >= 0) && next >= view.buffer.len() as i128
}

/// The view of a box: its dimensions are `axes` of the source (with the extent used of each), starting at `offsets`.
/// `sizes` is what must lie inside the source: the box itself, or the part of it that is accessed.
pub(crate) fn window(view: &View, offsets: &[i64], sizes: &[u64], axes: &[(usize, u64)], what: &str) -> Result<View> {
    if offsets.len() != view.rank() || sizes.len() != view.rank() {
        let message = format!(
            "{what} with {} offsets and {} sizes of a tensor of rank {}",
            offsets.len(),
            sizes.len(),
            view.rank()
        );
        return Err(Problem::error("malformed-ir", message));
    }
    let (mut shape, mut strides) = (Dims::default(), Dims::default());
    for &(axis, extent) in axes {
        shape.push(extent)?;
        strides.push(view.strides[axis])?;
    }
    // A box without elements reaches nothing, wherever it is.
    if sizes.contains(&0) || shape.contains(&0) {
        return Ok(View { shape, strides, ..view.clone() });
    }
    let mut start = view.offset as i64;
    for (axis, (&offset, &size)) in offsets.iter().zip(sizes).enumerate() {
        let inside =
            u64::try_from(offset).ok().and_then(|o| o.checked_add(size)).is_some_and(|e| e <= view.shape[axis]);
        if !inside {
            let message = format!(
                "{what} of {sizes:?} at {offsets:?} leaves a tensor of {:?}: axis {axis} would end at {}",
                view.shape,
                offset as i128 + size as i128
            );
            return Err(Problem::error("out-of-bounds", message));
        }
        start += offset * view.strides[axis];
    }
    Ok(View { offset: start as u64, shape, strides, ..view.clone() })
}
