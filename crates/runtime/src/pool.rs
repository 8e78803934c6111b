//! Threads that outlive a run, so that a short run does not pay for starting them.
//!
//! They start with the first run that has something for them, and end with the program they belong to. A run ends when its
//! work is done, not when each thread has noticed: a late one finds the run closed and goes to the next. A process that forks
//! leaves them behind; the child notices and starts its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use machine::Group;

use crate::scheduler::Scheduler;

struct Job {
    scheduler: Arc<Scheduler>,
    index: usize,
}

#[derive(Debug)]
struct Thread {
    jobs: Sender<Job>,
    handle: JoinHandle<()>,
}

/// What runs of a program leave to the next one.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    /// The process that the threads live in.
    process: u32,
    threads: Vec<Thread>,
    /// Of calling threads.
    groups: Vec<Box<Group>>,
}

/// Threads at work for one run.
pub(crate) struct Crew<'a> {
    pool: &'a Pool,
    threads: Vec<Thread>,
}

fn life(jobs: Receiver<Job>) {
    let mut groups = Vec::new();
    while let Ok(job) = jobs.recv() {
        groups = job.scheduler.work(job.index, groups);
    }
}

impl Pool {
    pub(crate) fn crew(&self) -> Crew<'_> {
        Crew { pool: self, threads: Vec::new() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Groups of an earlier calling thread.
    pub(crate) fn take_groups(&self) -> Vec<Box<Group>> {
        std::mem::take(&mut self.idle().groups)
    }

    pub(crate) fn give_groups(&self, groups: Vec<Box<Group>>) {
        self.idle().groups = groups;
    }
}

impl Crew<'_> {
    /// Lets `count` threads work for a run. Fewer if the host refuses to start them; the calling thread works too.
    pub(crate) fn start(&mut self, scheduler: &Arc<Scheduler>, count: usize) {
        let mut threads = {
            let mut idle = self.pool.idle();
            let process = std::process::id();
            if idle.process != process {
                // Handles of threads that this process does not have.
                std::mem::take(&mut idle.threads).into_iter().for_each(std::mem::forget);
                idle.process = process;
            }
            let keep = idle.threads.len().saturating_sub(count);
            idle.threads.split_off(keep)
        };
        while threads.len() < count {
            let (jobs, receiver) = channel();
            match std::thread::Builder::new().name("tilewright".into()).spawn(move || life(receiver)) {
                Ok(handle) => threads.push(Thread { jobs, handle }),
                Err(_) => break,
            }
        }
        for (i, thread) in threads.iter().enumerate() {
            let job = Job { scheduler: scheduler.clone(), index: i + 1 };
            // A thread ends only with its pool.
            let _ = thread.jobs.send(job);
        }
        self.threads = threads;
    }

    /// Gives the threads back. The run must have been closed: a thread that the host has not let run since then, or has yet to
    /// see its job, finds nothing to do there. Waiting for it would cost a run of microseconds a time slice.
    pub(crate) fn dismiss(mut self) {
        self.pool.idle().threads.append(&mut self.threads);
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let here = self.process == std::process::id();
        for thread in self.threads.drain(..) {
            drop(thread.jobs);
            if here {
                let _ = thread.handle.join();
            }
        }
    }
}
