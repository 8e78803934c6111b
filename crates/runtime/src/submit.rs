//! Submitting a task: its arguments, what it will touch, whom it must follow.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use dtype::Scalar;
use machine::{Code, Frame, Touch, whole_region};
use memory::Arg;
use trace::{Cause, Edge, Region, Task};

use crate::Deps;
use crate::host::{Source, Submit, Use};
use crate::orchestrator::{End, Orchestrator};
use crate::scheduler::Launch;
use crate::upstream::Argument;

/// Tasks submitted after which other threads start to help. A run of fewer waits for its end soon.
const FEW_TASKS: u32 = 8;

/// What is known of a kernel with these scalars. Footprints are relative to the pointers, so a kernel submitted again (in a
/// loop over slices, say) costs a look-up.
struct Known {
    codes: Arc<[Arc<Code>]>,
    /// Per kernel.
    touches: Vec<Option<Vec<Touch>>>,
}

#[derive(Default)]
pub(crate) struct Footprints {
    /// Key: kernels, blocks, scalar bits.
    known: HashMap<Vec<u64>, Rc<Known>, BuildHasherDefault<Words>>,
    key: Vec<u64>,
    frame: Frame,
    /// Scratch of one submission.
    accesses: Vec<Access>,
    before: Vec<(u32, Cause)>,
    predecessors: Vec<u32>,
}

/// Hashes a key of a few words by a multiplication each: who chooses the keys is the program, which could slow down nobody
/// but itself.
#[derive(Default)]
struct Words(u64);

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // 2^64 over the golden ratio; the fold brings the high bits, which depend on all others, down.
        let product = (self.0.rotate_left(5) ^ word) as u128 * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Entries after which the memory is not worth it.
const MAX_FOOTPRINTS: usize = 1 << 14;

/// An access of a task, in absolute addresses.
struct Access {
    /// Position of the argument.
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
                u32::try_from(n).ok().filter(|&n| n <= chip::MAX_BLOCKS).ok_or_else(|| {
                    self.error("blocks", format!("a task of {n} blocks; at most {} are supported", chip::MAX_BLOCKS))
                })?
            }
        };
        if let Some(capacity) = s.resident.filter(|&n| blocks > n) {
            let cores = if capacity == self.compiled.arch.chip().clusters { "clusters" } else { "vector cores" };
            return Err(self.error(
                "sync-start",
                format!("{blocks} blocks that must start together; {} has {capacity} {cores}", self.compiled.arch),
            ));
        }
        let mut args = Vec::with_capacity(s.args.len());
        for source in &s.args {
            args.push(match *source {
                Source::Tensor(reg) => Arg::Tensor(self.tensor(reg)?.clone()),
                Source::Scalar(reg, dtype) => Arg::Scalar(Scalar::new(dtype, self.frame.scalars[reg as usize])),
            });
        }
        for &k in &s.kernels {
            if let Err(why) = self.compiled.kernels[k].check(&args) {
                return Err(self.error("argument-mismatch", why));
            }
        }
        if !self.scheduler.has_room(task) {
            self.share();
            if !self.scheduler.wait_for_room(&mut self.worker, task) {
                return Err(End::Stopped);
            }
        }
        let known = self.known(s, &args, blocks);
        self.footprints.accesses.clear();
        if blocks > 0 {
            accesses(s, &args, &known.touches, &mut self.footprints.accesses);
        }
        let scheduler = self.scheduler;
        let done = |t: u32| scheduler.is_done(t);
        let mut before = std::mem::take(&mut self.footprints.before);
        before.clear();
        before.extend(self.deps(&s.deps).into_iter().map(|t| (t, Cause::Explicit)));
        match self.options.deps {
            Deps::Sound => {
                for a in &self.footprints.accesses {
                    self.history.conflicts(&a.region, a.write, &done, &mut |t, cause| before.push((t, cause)));
                }
            }
            // Nothing leaves the history because of a later write then: that need not come later.
            Deps::Upstream if !s.manual => {
                let gone = |t: u32| !self.record && done(t);
                self.tensors.submit(task, arguments(s, &args), &gone, &mut |from| {
                    before.push((from, Cause::ReadAfterWrite));
                });
            }
            Deps::Upstream => {}
        }
        for a in &self.footprints.accesses {
            self.history.insert(&a.region, a.write, task, &done);
        }
        if self.options.accesses {
            self.declare(task, s, &args, &before);
        }
        before.sort_unstable();
        before.dedup_by_key(|b| b.0);
        let mut predecessors = std::mem::take(&mut self.footprints.predecessors);
        predecessors.clear();
        predecessors.extend(before.iter().map(|b| b.0).filter(|&t| !done(t)));

        let kernels = &self.compiled.kernels;
        let task_span = self.span;
        let record = || Task {
            name: s.name.to_string(),
            kernels: s.kernels.iter().map(|&k| kernels[k].name().to_owned()).collect(),
            blocks,
            manual: s.manual,
            span: task_span,
        };
        self.note(task, record, &before);
        let serial = blocks > 1 && known.codes.iter().any(|c| c.float_atomics);
        let launch = Launch { task, name: s.name.clone(), codes: known.codes.clone(), args, blocks, serial };
        self.scheduler.submit(launch, &predecessors);
        self.footprints.before = before;
        self.footprints.predecessors = predecessors;
        if task >= FEW_TASKS {
            (self.spawn)();
        }
        if self.scheduler.is_flooded() && !self.scheduler.drain(&mut self.worker) {
            return Err(End::Stopped);
        }
        Ok(task)
    }

    /// Notes the edges that the program declared: its `deps`, and what follows from the accesses that it did not opt out of
    /// tracking. (What the run obeys beyond these is this runtime's own care, semantics rule 18.) With upstream's edges: those.
    fn declare(&mut self, task: u32, s: &Submit, args: &[Arg], before: &[(u32, Cause)]) {
        let report = &mut self.report;
        let obeyed = self.options.deps == Deps::Upstream;
        let declared = before.iter().filter(|b| obeyed || b.1 == Cause::Explicit);
        report.declared.extend(declared.map(|&(from, cause)| Edge { from, to: task, cause }));
        if s.manual || obeyed {
            return;
        }
        let tensors = &self.tensors;
        let is_out = |at: usize| {
            s.no_dep.contains(&at) || args.get(at).and_then(Arg::tensor).is_some_and(|view| tensors.is_manual(view))
        };
        let tracked = || self.footprints.accesses.iter().filter(|a| !is_out(a.arg));
        for a in tracked() {
            self.declared.conflicts(&a.region, a.write, &|_| false, &mut |from, cause| {
                report.declared.push(Edge { from, to: task, cause });
            });
        }
        for a in tracked() {
            self.declared.insert(&a.region, a.write, task, &|_| false);
        }
    }

    fn known(&mut self, s: &Submit, args: &[Arg], blocks: u32) -> Rc<Known> {
        let f = &mut self.footprints;
        f.key.clear();
        f.key.extend(s.kernels.iter().map(|&k| k as u64));
        f.key.push(u64::MAX);
        f.key.push(blocks as u64);
        f.key.extend(args.iter().filter_map(|a| match a {
            Arg::Scalar(scalar) => Some(scalar.bits),
            Arg::Tensor(_) => None,
        }));
        if let Some(known) = f.known.get(&f.key[..]) {
            return known.clone();
        }
        let (kernels, interrupt) = (&self.compiled.kernels, self.options.interrupt.as_deref());
        let codes = s.kernels.iter().map(|&k| kernels[k].code(self.options.observe)).collect();
        let touches = s.kernels.iter().map(|&k| kernels[k].footprint.touches(&mut f.frame, args, blocks, interrupt));
        let known = Rc::new(Known { codes, touches: touches.collect() });
        if f.known.len() < MAX_FOOTPRINTS {
            f.known.insert(f.key.clone(), known.clone());
        }
        known
    }
}

/// What a task touches in absolute addresses, workspace left out.
fn accesses(s: &Submit, args: &[Arg], touches: &[Option<Vec<Touch>>], out: &mut Vec<Access>) {
    let mut add = |arg: usize, region: Region, write: bool| {
        if !region.is_empty() && !out.iter().any(|a| a.arg == arg && a.write == write && a.region == region) {
            out.push(Access { arg, region, write });
        }
    };
    // Pointers are the tensors, in order.
    for touches in touches {
        match touches {
            Some(touches) => {
                for touch in touches {
                    let Some(Argument { at, view, used, .. }) = arguments(s, args).nth(touch.param as usize) else {
                        continue;
                    };
                    if used == Use::Workspace {
                        continue;
                    }
                    let size = view.dtype.size() as i64;
                    let base = view.buffer.as_ptr().addr() as i64 + view.offset as i64 * size;
                    add(at, touch.region.map_or_else(|| whole_region(view), |r| r.shifted(base)), touch.write);
                }
            }
            None => {
                for Argument { at, view, used, .. } in arguments(s, args) {
                    if matches!(used, Use::In | Use::InOut) {
                        add(at, whole_region(view), false);
                    }
                    if matches!(used, Use::Out | Use::InOut) {
                        add(at, whole_region(view), true);
                    }
                }
            }
        }
    }
}

/// The tensors among the arguments.
fn arguments<'a>(s: &'a Submit, args: &'a [Arg]) -> impl Iterator<Item = Argument<'a>> + Clone {
    args.iter().zip(&s.uses).enumerate().filter_map(|(at, (arg, &used))| {
        Some(Argument { at, view: arg.tensor()?, used, no_dep: s.no_dep.contains(&at) })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn keys_that_differ_in_one_small_word_spread() {
        let hasher = BuildHasherDefault::<Words>::default();
        for at in 0..4 {
            let hash = |k: u64| {
                let mut key = [3, u64::MAX, 1, 0];
                key[at] = k * 64;
                hasher.hash_one(&key[..])
            };
            let hashes: BTreeSet<u64> = (0..4096).map(hash).collect();
            assert_eq!(hashes.len(), 4096);
            // What a table looks at: the low bits choose the bucket, the high ones tell its members apart.
            let low: BTreeSet<u64> = hashes.iter().map(|h| h & 4095).collect();
            let high: BTreeSet<u64> = hashes.iter().map(|h| h >> 57).collect();
            assert!(low.len() > 2048 && high.len() == 128, "word {at}: {} and {}", low.len(), high.len());
        }
    }
}
