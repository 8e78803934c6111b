//! Eight inputs of one kernel, and whether two versions of it do the same on all of them.

use driver::exec::{Input, Inputs, Kernel, Order, Outcome, Session};
use ir::{Opcode as C, Program};

/// On how many inputs a mutant has to show that it is another program.
pub(crate) const INPUTS: u64 = 8;

/// Inputs, what the kernel makes of them, and a session that has each in memory.
pub(crate) struct Trials {
    trials: Vec<(Inputs, Outcome, Session)>,
    /// Parameters that hold the slots of FIFOs: no outputs, and a tile may be passed of which nothing is defined.
    slots: Vec<usize>,
}

impl Trials {
    /// From inputs that lead through most of the kernel: the same, then others of the same kind. Other integers may lead
    /// nowhere; where they do, only the floats are others.
    pub(crate) fn new(program: &Program, kernel: &Kernel, inputs: &Inputs) -> Trials {
        let slots = slots(program);
        let of_kernel = kernel.params.iter().enumerate();
        let slots = of_kernel.filter(|(_, p)| slots.contains(&p.name)).map(|(n, _)| n).collect();
        let mut trials = Vec::new();
        for n in 0..INPUTS {
            let mut session = Session::new();
            let mut other = vary(inputs, n, true);
            let mut outcome = session.run(kernel, &other);
            if outcome.trap.is_some() || !outcome.changed() {
                other = vary(inputs, n, false);
                outcome = session.run(kernel, &other);
            }
            trials.push((other, outcome, session));
        }
        Trials { trials, slots }
    }

    /// The first input on which another version does something else, in program order.
    pub(crate) fn differs(&mut self, kernel: &Kernel) -> Option<usize> {
        self.differs_in(kernel, Order::Program)
    }

    /// The same in some order of its pipes.
    pub(crate) fn differs_in(&mut self, kernel: &Kernel, order: Order) -> Option<usize> {
        let slots = &self.slots;
        let same = |a: &Outcome, b: &Outcome| {
            let stops = |o: &Outcome| o.trap.as_ref().map(|t| t.code);
            let mut outputs = a.outputs.iter().zip(&b.outputs).enumerate();
            stops(a) == stops(b) && outputs.all(|(n, (x, y))| slots.contains(&n) || x == y)
        };
        self.trials.iter_mut().position(|(inputs, right, session)| {
            session.order = order;
            !same(&session.run(kernel, inputs), right)
        })
    }
}

fn vary(inputs: &Inputs, n: u64, integers: bool) -> Inputs {
    let mut out = inputs.clone();
    if n == 0 {
        return out;
    }
    for input in &mut out.args {
        let Input::Memory(m) = input else { continue };
        if m.dtype.is_float() || integers {
            m.fill.seed = m.fill.seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for (&chunk, bytes) in &mut m.chunks {
                *bytes = m.fill.chunk(m.dtype, chunk).into();
            }
        }
    }
    out.changed();
    out
}

/// The names of parameters that FIFOs have their slots in.
fn slots(program: &Program) -> Vec<String> {
    let mut names = Vec::new();
    for (_, func) in program.functions.iter() {
        for op in func.walk() {
            let data = &func.ops[op];
            let Some(group) = data.opcode.info().group("gm_slot_buffer") else { continue };
            let mut pointer = data.group(group).first().copied();
            while let Some(op) = pointer.and_then(|v| func.def_op(v)) {
                pointer = (func.ops[op].opcode == C::AddPtr).then(|| func.ops[op].operands[0]);
            }
            let param = pointer.and_then(|v| func.param_values().iter().position(|p| *p == v));
            names.extend(param.map(|n| func.params[n].name.clone()));
        }
    }
    names
}
