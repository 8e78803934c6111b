//! Arguments of a program against its parameters.

use diag::Diagnostic;
use dtype::DType;
use ir::{Dim, Function, Type};
use memory::Arg;

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    ty: Type,
}

pub(crate) fn params(entry: &Function) -> Vec<Param> {
    let types = entry.param_values().iter().map(|&v| entry.ty(v).clone());
    entry.params.iter().zip(types).map(|(p, ty)| Param { name: p.name.clone(), ty }).collect()
}

fn same(a: DType, b: DType) -> bool {
    let plain = |d: DType| if d == DType::Index { DType::I64 } else { d };
    plain(a) == plain(b)
}

pub(crate) fn check(params: &[Param], args: &[Arg]) -> Result<(), Diagnostic> {
    let error = |message: String| Err(Diagnostic::error("argument-mismatch", message));
    if params.len() != args.len() {
        return error(format!("the program takes {} arguments, not {}", params.len(), args.len()));
    }
    for (param, arg) in params.iter().zip(args) {
        let name = &param.name;
        match (&param.ty, arg) {
            (Type::Scalar(d), Arg::Scalar(s)) => {
                if !same(*d, s.dtype) {
                    return error(format!("argument `{name}` is a {}, the program takes a {d}", s.dtype));
                }
            }
            (Type::Tensor(t), Arg::Tensor(view)) => {
                let fits = t.shape.len() == view.rank()
                    && t.shape.iter().zip(view.shape.iter()).all(|(d, &n)| match d {
                        Dim::Static(k) => *k == n,
                        Dim::Dynamic => true,
                    });
                if !same(t.dtype, view.dtype) || !fits {
                    let shape: Vec<String> = t.shape.iter().map(|d| d.to_string()).collect();
                    let shape = shape.join(", ");
                    return error(format!(
                        "argument `{name}` is a {} tensor of shape {:?}, the program takes {} of [{shape}]",
                        view.dtype, view.shape, t.dtype
                    ));
                }
                // A known stride is compiled into the kernels; that of a single element is arbitrary.
                for (axis, (s, (&got, &n))) in
                    t.strides.iter().zip(view.strides.iter().zip(view.shape.iter())).enumerate()
                {
                    if let Dim::Static(k) = s
                        && n > 1
                        && i64::try_from(*k) != Ok(got)
                    {
                        return error(format!(
                            "argument `{name}` has stride {got} along axis {axis}, the program takes {k}"
                        ));
                    }
                }
                if let Err(e) = view.extent() {
                    return error(format!("argument `{name}`: {e}"));
                }
            }
            (Type::Scalar(_), _) => return error(format!("argument `{name}` must be a scalar")),
            (Type::Tensor(_), _) => return error(format!("argument `{name}` must be a tensor")),
            _ => return error(format!("parameter `{name}` cannot be passed from outside")),
        }
    }
    Ok(())
}
