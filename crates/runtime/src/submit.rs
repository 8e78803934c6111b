//! Submitting a task: its arguments, what it will touch, whom it must follow.

use std::collections::HashMap;
use std::rc::Rc;

use dtype::Scalar;
use machine::{Frame, Touch, whole_region};
use memory::{Arg, View};
use trace::{Cause, Region, Task};

use crate::host::{Source, Submit, Use};
use crate::orchestrator::{End, Orchestrator};
use crate::scheduler::Launch;

/// Footprints already computed. They are relative to the pointers, so a kernel submitted again with the same scalars (in
/// a loop over slices, say) costs a look-up.
#[derive(Default)]
pub(crate) struct Footprints {
    /// Key: kernels, blocks, scalar bits.
    known: HashMap<Vec<u64>, Rc<[Option<Vec<Touch>>]>>,
    key: Vec<u64>,
    frame: Frame,
}

/// Entries after which the memory is not worth it.
const MAX_FOOTPRINTS: usize = 1 << 14;

/// An access of a task, in absolute addresses.
struct Access {
    arg: usize,
    region: Region,
    write: bool,
}

impl Orchestrator<'_, '_> {
    pub(crate) fn submit(&mut self, s: &Submit) -> Result<u32, End> {
        let task = self.report.task_count;
        let blocks = match s.blocks {
            None => 1,
            Some(int) => {
                let n = self.int(int);
                u32::try_from(n).map_err(|_| self.error("blocks", format!("a task of {n} blocks")))?
            }
        };
        let mut args = Vec::with_capacity(s.args.len());
        for source in &s.args {
            args.push(match *source {
                Source::Tensor(reg) => Arg::Tensor(self.tensor(reg)?),
                Source::Scalar(reg, dtype) => Arg::Scalar(Scalar::new(dtype, self.frame.scalars[reg as usize])),
            });
        }
        for &k in &s.kernels {
            if let Err(why) = self.compiled.kernels[k].check(&args) {
                return Err(self.error("argument-mismatch", why));
            }
        }
        if !self.scheduler.wait_for_room(&mut self.worker, task) {
            return Err(End::Stopped);
        }
        let accesses = if blocks == 0 { Vec::new() } else { self.accesses(s, &args, blocks) };

        let mut before: Vec<(u32, Cause)> = self.deps(&s.deps).into_iter().map(|t| (t, Cause::Explicit)).collect();
        let scheduler = self.scheduler;
        for a in &accesses {
            let Arg::Tensor(view) = &args[a.arg] else { continue };
            let done = |t: u32| scheduler.is_done(t);
            self.history.conflicts(&view.buffer, &a.region, a.write, &done, &mut |t, cause| before.push((t, cause)));
        }
        for a in &accesses {
            if let Arg::Tensor(view) = &args[a.arg] {
                self.history.insert(&view.buffer, &a.region, a.write, task);
            }
        }
        before.sort_unstable();
        before.dedup_by_key(|b| b.0);
        let predecessors: Vec<u32> = before.iter().map(|b| b.0).filter(|&t| !scheduler.is_done(t)).collect();

        let kernels = &self.compiled.kernels;
        let codes: Vec<_> = s.kernels.iter().map(|&k| kernels[k].code(self.options.observe)).collect();
        let serial = blocks > 1 && codes.iter().any(|c| c.float_atomics);
        let record = || Task {
            name: s.name.to_string(),
            kernels: s.kernels.iter().map(|&k| kernels[k].name().to_owned()).collect(),
            blocks,
        };
        self.note(task, record, &before);
        let launch = Launch { task, name: s.name.clone(), codes, args, blocks, serial };
        if task > 0 || blocks > 1 {
            (self.spawn)();
        }
        self.scheduler.submit(launch, &predecessors);
        Ok(task)
    }

    /// What the task touches, workspace left out.
    fn accesses(&mut self, s: &Submit, args: &[Arg], blocks: u32) -> Vec<Access> {
        let interrupt = self.options.interrupt.as_deref();
        let f = &mut self.footprints;
        f.key.clear();
        f.key.extend(s.kernels.iter().map(|&k| k as u64));
        f.key.push(u64::MAX);
        f.key.push(blocks as u64);
        f.key.extend(args.iter().filter_map(|a| match a {
            Arg::Scalar(scalar) => Some(scalar.bits),
            Arg::Tensor(_) => None,
        }));
        let touches = match f.known.get(&f.key[..]) {
            Some(touches) => touches.clone(),
            None => {
                let kernels = &self.compiled.kernels;
                let found: Rc<[_]> = s
                    .kernels
                    .iter()
                    .map(|&k| kernels[k].footprint.touches(&mut f.frame, args, blocks, interrupt))
                    .collect();
                if f.known.len() < MAX_FOOTPRINTS {
                    f.known.insert(f.key.clone(), found.clone());
                }
                found
            }
        };
        let mut out: Vec<Access> = Vec::new();
        let mut add = |access: Access| {
            let known = |a: &Access| a.write == access.write && a.region == access.region;
            if !access.region.is_empty() && !out.iter().any(known) {
                out.push(access);
            }
        };
        // Pointers are the tensors, in order.
        let tensors: Vec<(usize, &View)> =
            args.iter().enumerate().filter_map(|(i, a)| a.tensor().map(|view| (i, view))).collect();
        for touches in touches.iter() {
            match touches {
                Some(touches) => {
                    for touch in touches {
                        let Some(&(arg, view)) = tensors.get(touch.param as usize) else { continue };
                        if s.uses[arg] == Use::Workspace {
                            continue;
                        }
                        let size = view.dtype.size() as i64;
                        let base = view.buffer.as_ptr().addr() as i64 + view.offset as i64 * size;
                        let region = touch.region.map_or_else(|| whole_region(view), |r| r.shifted(base));
                        add(Access { arg, region, write: touch.write });
                    }
                }
                None => {
                    for &(arg, view) in &tensors {
                        let (read, write) = match s.uses[arg] {
                            Use::In => (true, false),
                            Use::Out => (false, true),
                            Use::InOut => (true, true),
                            Use::Scalar | Use::Workspace => continue,
                        };
                        for write in [(read, false), (write, true)].into_iter().filter(|w| w.0).map(|w| w.1) {
                            add(Access { arg, region: whole_region(view), write });
                        }
                    }
                }
            }
        }
        out
    }
}
