//! A kernel function, ready to run.

use std::sync::{Arc, OnceLock};

use chip::{Arch, Core};
use diag::Diagnostic;
use dtype::{DType, Profile};
use ir::{Direction, Function};
use trace::Region;

use crate::code::{Code, Mode, ParamKind};
use crate::decode::decode;
use crate::footprint::Footprint;

/// A decoded kernel and what the runtime asks about it.
#[derive(Debug)]
pub struct Kernel {
    pub code: Arc<Code>,
    observed: OnceLock<Arc<Code>>,
    pub footprint: Footprint,
    /// Directions of all parameters.
    pub directions: Vec<Direction>,
    func: Function,
    arch: Arch,
    profile: Profile,
}

impl Kernel {
    pub fn new(func: &Function, arch: Arch, profile: Profile) -> Result<Kernel, Vec<Diagnostic>> {
        let code = Arc::new(decode(func, arch, profile, Mode::Plain)?);
        let footprint = Footprint::new(func, arch, profile);
        let directions = func.params.iter().map(|p| p.direction).collect();
        Ok(Kernel { code, observed: OnceLock::new(), footprint, directions, func: func.clone(), arch, profile })
    }

    pub fn name(&self) -> &str {
        &self.func.name
    }

    pub fn core(&self) -> Option<Core> {
        self.code.core
    }

    /// The code for a run; the observed one is decoded when first asked for.
    pub fn code(&self, observe: bool) -> Arc<Code> {
        if !observe {
            return self.code.clone();
        }
        self.observed
            .get_or_init(|| match decode(&self.func, self.arch, self.profile, Mode::Observed) {
                Ok(code) => Arc::new(code),
                // What decodes plainly decodes observed.
                Err(_) => self.code.clone(),
            })
            .clone()
    }

    /// Why these arguments do not fit the parameters, if they do not.
    pub fn check(&self, args: &[memory::Arg]) -> Result<(), String> {
        let index = |d: DType| if d == DType::Index { DType::I64 } else { d };
        if args.len() != self.code.params.len() {
            return Err(format!("`{}` takes {} arguments, not {}", self.name(), self.code.params.len(), args.len()));
        }
        for (i, (kind, arg)) in self.code.params.iter().zip(args).enumerate() {
            let name = &self.func.params[i].name;
            let ok = match (kind, arg) {
                (ParamKind::Pointer(_, d), memory::Arg::Tensor(view)) => index(*d) == index(view.dtype),
                (ParamKind::Scalar(d, _), memory::Arg::Scalar(s)) => index(*d) == index(s.dtype),
                _ => false,
            };
            if !ok {
                return Err(format!("argument `{name}` of `{}` has another type", self.name()));
            }
        }
        Ok(())
    }
}

/// The bytes of a whole view, as absolute addresses; not those beyond its buffer.
pub fn whole_region(view: &memory::View) -> Region {
    let view = view.inside();
    let size = view.dtype.size() as i64;
    let start = view.buffer.as_ptr().addr() as i64 + view.offset as i64 * size;
    Region::strided(start, size, view.shape.iter().zip(view.strides.iter()).map(|(&n, &s)| (n as i64, s * size)))
}
