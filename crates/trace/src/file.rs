//! A record as a file: lines of text, so that a checker in another process can judge a run.
//!
//! ```text
//! tilewright-record 1
//! memory START BYTES SIZE PARAM|- SHAPE NAME
//! task BLOCKS auto|manual KERNELS NAME
//! edge FROM TO CAUSE                      what the run obeyed
//! declared FROM TO CAUSE                  what the program declared
//! host AFTER ACCESS
//! stream TASK BLOCK cube|vector LANE KERNEL
//!  ACCESS                                 events of the stream above, each after a blank
//!  meet all|cube|vector
//!  push|pop ID to-vector|to-cube
//!  clean|invalidate OP REGION|-
//! ```
//!
//! An ACCESS is `read|write|atomic transfer|scalar OP REGION`, a REGION `START RUN` and `COUNT:STRIDE` per dimension. Lists have
//! commas between, `-` is none. A name ends the line; in it a backslash or a line's end is escaped. OP is the number of an operation
//! in its function (the writer's caller makes it one that survives printing the program: its place in program order).
//!
//! Lines of a task have no source positions: those are of the program beside it.

use std::fmt::Write;

use chip::Core;
use ir::{Entity, Op};

use crate::{
    Access, AccessKind, Cause, Edge, Event, Fifo, HostAccess, Meeting, Memory, Record, Region, Stream, Task, Via,
};

const HEAD: &str = "tilewright-record 1";

const CAUSES: [(Cause, &str); 4] = [
    (Cause::Explicit, "explicit"),
    (Cause::ReadAfterWrite, "raw"),
    (Cause::WriteAfterRead, "war"),
    (Cause::WriteAfterWrite, "waw"),
];
const KINDS: [(AccessKind, &str); 3] =
    [(AccessKind::Read, "read"), (AccessKind::Write, "write"), (AccessKind::Atomic, "atomic")];
const VIAS: [(Via, &str); 2] = [(Via::Transfer, "transfer"), (Via::Scalar, "scalar")];
const CORES: [(Core, &str); 2] = [(Core::Cube, "cube"), (Core::Vector, "vector")];
const MEETINGS: [(Meeting, &str); 3] = [(Meeting::All, "all"), (Meeting::Cube, "cube"), (Meeting::Vector, "vector")];
const WAYS: [(bool, &str); 2] = [(true, "to-vector"), (false, "to-cube")];
const MANUAL: [(bool, &str); 2] = [(false, "auto"), (true, "manual")];

/// The word of a value; every value is in its table.
fn word<T: PartialEq>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(v, _)| *v == value).map_or("?", |(_, w)| w)
}

fn escape(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

fn list<T: ToString>(items: &[T]) -> String {
    if items.is_empty() { "-".into() } else { items.iter().map(T::to_string).collect::<Vec<_>>().join(",") }
}

fn region(r: &Region) -> String {
    let dims: String = r.dims().iter().map(|(n, s)| format!(" {n}:{s}")).collect();
    format!("{} {}{dims}", r.start, r.run)
}

fn access(a: &Access) -> String {
    format!("{} {} {} {}", word(&KINDS, a.kind), word(&VIAS, a.via), a.op.index(), region(&a.region))
}

impl Record {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut out = format!("{HEAD}\n");
        let mut line = |text: String| {
            let _ = writeln!(out, "{text}");
        };
        for m in &self.memory {
            let param = m.param.map_or("-".into(), |p| p.to_string());
            let (shape, name) = (list(&m.shape), escape(&m.name));
            line(format!("memory {} {} {} {param} {shape} {name}", m.start, m.bytes, m.size));
        }
        for t in &self.tasks {
            let (manual, kernels) = (word(&MANUAL, t.manual), list(&t.kernels));
            line(format!("task {} {manual} {kernels} {}", t.blocks, escape(&t.name)));
        }
        for (name, edges) in [("edge", &self.edges), ("declared", &self.declared)] {
            for e in edges {
                line(format!("{name} {} {} {}", e.from, e.to, word(&CAUSES, e.cause)));
            }
        }
        for h in &self.host {
            line(format!("host {} {}", h.after, access(&h.access)));
        }
        for s in &self.streams {
            let core = word(&CORES, s.core);
            line(format!("stream {} {} {core} {} {}", s.task, s.block, s.lane, escape(&s.kernel)));
            for event in &s.events {
                let cache = |name: &str, op: &Op, r: &Option<Region>| {
                    format!(" {name} {} {}", op.index(), r.as_ref().map_or("-".into(), region))
                };
                line(match event {
                    Event::Access(a) => format!(" {}", access(a)),
                    Event::Meet(m) => format!(" meet {}", word(&MEETINGS, *m)),
                    Event::Push(f) => format!(" push {} {}", f.id, word(&WAYS, f.to_vector)),
                    Event::Pop(f) => format!(" pop {} {}", f.id, word(&WAYS, f.to_vector)),
                    Event::Clean { op, region } => cache("clean", op, region),
                    Event::Invalidate { op, region } => cache("invalidate", op, region),
                });
            }
        }
        out
    }

    /// Reads such a text. The error names the line.
    pub fn from_text(text: &str) -> Result<Record, String> {
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, HEAD)) => {}
            Some((_, other)) => return Err(format!("line 1: `{other}` is not `{HEAD}`")),
            None => return Err(format!("an empty file; a record starts with `{HEAD}`")),
        }
        let mut record = Record::default();
        for (n, text) in lines {
            let mut line = Line { rest: text };
            line.read_into(&mut record).map_err(|why| format!("line {}: {why}", n + 1))?;
        }
        record.closed()
    }

    /// Tasks that are named exist.
    fn closed(self) -> Result<Record, String> {
        let tasks = self.tasks.len() as u32;
        let edge = |e: &Edge| e.from < e.to && e.to < tasks;
        if let Some(e) = self.edges.iter().chain(&self.declared).find(|e| !edge(e)) {
            return Err(format!("an edge from task {} to task {} of {tasks}", e.from, e.to));
        }
        if let Some(s) = self.streams.iter().find(|s| s.task >= tasks) {
            return Err(format!("a stream of task {} of {tasks}", s.task));
        }
        if let Some(h) = self.host.iter().find(|h| h.after > tasks) {
            return Err(format!("an access of the orchestration after {} tasks of {tasks}", h.after));
        }
        Ok(self)
    }
}

/// What is left of a line.
struct Line<'a> {
    rest: &'a str,
}

impl<'a> Line<'a> {
    fn word(&mut self) -> Result<&'a str, String> {
        let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        self.rest = rest;
        if word.is_empty() { Err("the line ends too soon".into()) } else { Ok(word) }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
    }

    fn one_of<T: Copy>(&mut self, table: &[(T, &str)]) -> Result<T, String> {
        let word = self.word()?;
        let known = || table.iter().map(|(_, w)| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        table
            .iter()
            .find(|(_, w)| *w == word)
            .map(|(v, _)| *v)
            .ok_or_else(|| format!("`{word}` is none of {}", known()))
    }

    fn list<T: std::str::FromStr>(&mut self) -> Result<Vec<T>, String> {
        match self.word()? {
            "-" => Ok(Vec::new()),
            word => word.split(',').map(|w| w.parse().map_err(|_| format!("`{w}` in a list"))).collect(),
        }
    }

    /// All that is left.
    fn name(&mut self) -> String {
        unescape(std::mem::take(&mut self.rest))
    }

    fn region(&mut self) -> Result<Region, String> {
        let (start, run): (i64, i64) = (self.number()?, self.number()?);
        let mut dims = Vec::new();
        while !self.rest.is_empty() {
            let word = self.word()?;
            let pair = word.split_once(':').and_then(|(n, s)| Some((n.parse().ok()?, s.parse().ok()?)));
            dims.push(pair.ok_or_else(|| format!("`{word}` is not COUNT:STRIDE"))?);
        }
        // Far from where sums could overflow.
        const MOST: i64 = 1 << 60;
        let reach = dims.iter().try_fold(run, |sum: i64, &(n, s): &(i64, i64)| sum.checked_add(n.checked_mul(s)?));
        let fits = run > 0 && dims.iter().all(|&(n, s)| n > 0 && s > 0) && reach.is_some_and(|r| r < MOST);
        if !fits || !(0..MOST).contains(&start) {
            return Err("a region that no memory holds".into());
        }
        Ok(Region::strided(start, run, dims))
    }

    fn op(&mut self) -> Result<Op, String> {
        let n: u32 = self.number()?;
        Ok(Op::new(n as usize))
    }

    fn access(&mut self, kind: AccessKind) -> Result<Access, String> {
        let via = self.one_of(&VIAS)?;
        Ok(Access { kind, via, op: self.op()?, region: self.region()? })
    }

    fn edge(&mut self) -> Result<Edge, String> {
        Ok(Edge { from: self.number()?, to: self.number()?, cause: self.one_of(&CAUSES)? })
    }

    fn read_into(&mut self, record: &mut Record) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix(' ') {
            self.rest = rest;
            let event = self.event()?;
            let stream = record.streams.last_mut().ok_or("an event before any stream")?;
            stream.events.push(event);
            return self.end();
        }
        match self.word()? {
            "memory" => {
                let (start, bytes, size) = (self.number()?, self.number()?, self.number()?);
                let param = match self.word()? {
                    "-" => None,
                    word => Some(word.parse().map_err(|_| format!("`{word}` is not a parameter's number"))?),
                };
                let shape = self.list()?;
                record.memory.push(Memory { name: self.name(), param, start, bytes, size, shape });
            }
            "task" => {
                let (blocks, manual, kernels) = (self.number()?, self.one_of(&MANUAL)?, self.list()?);
                record.tasks.push(Task { name: self.name(), kernels, blocks, manual, span: None });
            }
            "edge" => record.edges.push(self.edge()?),
            "declared" => record.declared.push(self.edge()?),
            "host" => {
                let after = self.number()?;
                let kind = self.one_of(&KINDS)?;
                record.host.push(HostAccess { after, access: self.access(kind)? });
            }
            "stream" => {
                let (task, block, core, lane) = (self.number()?, self.number()?, self.one_of(&CORES)?, self.number()?);
                record.streams.push(Stream { task, block, core, lane, kernel: self.name(), events: Vec::new() });
            }
            other => return Err(format!("`{other}` begins no line of a record")),
        }
        self.end()
    }

    fn event(&mut self) -> Result<Event, String> {
        let word = self.word()?;
        if let Some(&(kind, _)) = KINDS.iter().find(|(_, w)| *w == word) {
            return Ok(Event::Access(self.access(kind)?));
        }
        Ok(match word {
            "meet" => Event::Meet(self.one_of(&MEETINGS)?),
            "push" | "pop" => {
                let fifo = Fifo { id: self.number()?, to_vector: self.one_of(&WAYS)? };
                if word == "push" { Event::Push(fifo) } else { Event::Pop(fifo) }
            }
            "clean" | "invalidate" => {
                let op = self.op()?;
                let region = match self.rest {
                    "-" => {
                        self.rest = "";
                        None
                    }
                    _ => Some(self.region()?),
                };
                if word == "clean" { Event::Clean { op, region } } else { Event::Invalidate { op, region } }
            }
            other => return Err(format!("`{other}` is no event")),
        })
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("`{}` is too much", self.rest)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        let region = Region::strided(1000, 8, [(4, 64), (2, 1024)]);
        let access = |kind, via| Access { op: Op::new(3), kind, via, region };
        let fifo = Fifo { id: -1, to_vector: true };
        Record {
            memory: vec![
                Memory { name: "x".into(), param: Some(0), start: 1000, bytes: 4096, size: 4, shape: vec![16, 64] },
                Memory { name: "two\nlines\\".into(), param: None, start: 9000, bytes: 4, size: 4, shape: vec![] },
            ],
            tasks: vec![
                Task { name: "a b".into(), kernels: vec!["k".into(), "l".into()], blocks: 2, manual: true, span: None },
                Task { name: String::new(), kernels: vec!["k".into()], blocks: 1, manual: false, span: None },
            ],
            edges: CAUSES.iter().map(|&(cause, _)| Edge { from: 0, to: 1, cause }).collect(),
            declared: vec![Edge { from: 0, to: 1, cause: Cause::Explicit }],
            streams: vec![Stream {
                task: 1,
                block: 0,
                core: Core::Vector,
                lane: 1,
                kernel: "k".into(),
                events: vec![
                    Event::Access(access(AccessKind::Atomic, Via::Transfer)),
                    Event::Meet(Meeting::Cube),
                    Event::Push(fifo),
                    Event::Pop(Fifo { to_vector: false, ..fifo }),
                    Event::Clean { op: Op::new(1), region: None },
                    Event::Invalidate { op: Op::new(2), region: Some(region) },
                ],
            }],
            host: vec![HostAccess { after: 2, access: access(AccessKind::Read, Via::Scalar) }],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = sample();
        let text = record.to_text();
        assert_eq!(Record::from_text(&text), Ok(record), "{text}");
        assert_eq!(Record::from_text(&Record::default().to_text()), Ok(Record::default()));
    }

    /// Every line cut at every place, and every word replaced: an error that names the line, or another record; no panic.
    #[test]
    fn damage_is_an_error() {
        let text = sample().to_text();
        let lines: Vec<&str> = text.lines().collect();
        let mut refused = 0;
        for n in 0..lines.len() {
            let with = |line: &str| {
                let mut all = lines.clone();
                all[n] = line;
                Record::from_text(&all.join("\n"))
            };
            for cut in 0..lines[n].len() {
                refused += usize::from(with(&lines[n][..cut]).is_err());
            }
            for bad in ["x", "-1", "99999999999999999999", "4000000000000000000:4000000000000000000"] {
                let words: Vec<&str> = lines[n].split(' ').collect();
                for k in 0..words.len() {
                    let mut words = words.clone();
                    words[k] = bad;
                    refused += usize::from(with(&words.join(" ")).is_err());
                }
            }
        }
        assert!(refused > 400, "{refused}");
        let error = Record::from_text(&text.replace("meet cube", "meet cubes")).expect_err("no such meeting");
        assert!(error.starts_with("line ") && error.ends_with("`cubes` is none of `all`, `cube`, `vector`"), "{error}");
        assert!(Record::from_text("").is_err() && Record::from_text("{}").is_err());
        assert!(Record::from_text(&format!("{HEAD}\nedge 0 1 raw")).is_err(), "tasks that do not exist");
    }
}
