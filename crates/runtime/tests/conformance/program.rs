//! Random programs of tasks over views of a few tensors, as data and as `.tw` text.

use std::fmt::Write;

use control::Control;

/// Every tensor is `[ROWS, COLS]` of i32.
pub(crate) const ROWS: u64 = 6;
pub(crate) const COLS: u64 = 8;
pub(crate) const BYTES: usize = (ROWS * COLS) as usize * 4;
/// Parameters; other tensors are created.
pub(crate) const PARAMS: usize = 3;

/// A view of a tensor: element `(i, j)` is at element `start + i·rows.1 + j·cols.1`, for `i < rows.0`, `j < cols.0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct View {
    pub(crate) memory: usize,
    /// Elements of two bytes instead of four.
    pub(crate) short: bool,
    pub(crate) start: u64,
    /// (extent, stride); a view of one axis has the columns only.
    pub(crate) axes: Vec<(u64, u64)>,
}

impl View {
    pub(crate) fn size(&self) -> u64 {
        if self.short { 2 } else { 4 }
    }

    pub(crate) fn rows(&self) -> (u64, u64) {
        if self.axes.len() == 2 { self.axes[0] } else { (1, 0) }
    }

    pub(crate) fn cols(&self) -> (u64, u64) {
        self.axes[self.axes.len() - 1]
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) src: View,
    pub(crate) dst: View,
    /// Also reads what it writes: `inout`, not `out`.
    pub(crate) updates: bool,
    /// Of each block, of the first elements of the views.
    pub(crate) rows: u64,
    pub(crate) cols: u64,
    pub(crate) blocks: u64,
    pub(crate) addend: i32,
    pub(crate) manual: bool,
    pub(crate) no_dep: [bool; 2],
    /// Statements (tasks or dummies) that it depends on.
    pub(crate) deps: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Create {
        manual_dep: bool,
        init: i32,
    },
    Task(Task),
    Dummy(Vec<usize>),
    /// The task runs if the element is greater than the limit.
    If {
        memory: usize,
        at: (u64, u64),
        limit: i32,
        task: Task,
    },
    Write {
        memory: usize,
        at: (u64, u64),
        value: i32,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) statements: Vec<Statement>,
}

struct Generator {
    rng: Control,
    memories: usize,
    /// Statements that have a task id where what follows can name it.
    named: Vec<usize>,
    statements: Vec<Statement>,
}

pub(crate) fn generate(seed: u64) -> Program {
    let mut g = Generator { rng: Control::new(seed), memories: PARAMS, named: Vec::new(), statements: Vec::new() };
    for _ in 0..4 + g.below(10) {
        g.statement();
    }
    Program { statements: g.statements }
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.rng.choose(n as usize) as u64
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn statement(&mut self) {
        let statement = match self.below(16) {
            0 if self.memories < PARAMS + 2 => {
                self.memories += 1;
                Statement::Create { manual_dep: false, init: self.below(100) as i32 }
            }
            1 => Statement::Dummy(self.deps()),
            2 if self.chance(2) => {
                let (memory, at) = self.element();
                Statement::If { memory, at, limit: self.below(2000) as i32 - 500, task: self.task() }
            }
            3 => {
                let (memory, at) = self.element();
                Statement::Write { memory, at, value: self.below(1000) as i32 }
            }
            _ => Statement::Task(self.task()),
        };
        if matches!(statement, Statement::Dummy(_) | Statement::Task(_)) {
            self.named.push(self.statements.len());
        }
        self.statements.push(statement);
    }

    fn element(&mut self) -> (usize, (u64, u64)) {
        (self.memory(), (self.below(ROWS), self.below(COLS)))
    }

    fn memory(&mut self) -> usize {
        self.below(self.memories as u64) as usize
    }

    fn deps(&mut self) -> Vec<usize> {
        let mut deps: Vec<usize> = Vec::new();
        for _ in 0..self.below(3) {
            if !self.named.is_empty() {
                let at = self.below(self.named.len() as u64) as usize;
                deps.push(self.named[at]);
            }
        }
        deps.dedup();
        deps
    }

    fn span(&mut self, n: u64) -> (u64, u64) {
        let from = self.below(n);
        (from, 1 + self.below(n - from))
    }

    fn view(&mut self, memory: usize, short: bool) -> View {
        let cols = if short { 2 * COLS } else { COLS };
        let whole = View { memory, short, start: 0, axes: vec![(ROWS, cols), (cols, 1)] };
        if self.chance(3) {
            return whole;
        }
        if self.chance(4) {
            let (from, n) = self.span(ROWS * cols);
            return View { memory, short, start: from, axes: vec![(n, 1)] };
        }
        let ((r, h), (c, w)) = (self.span(ROWS), self.span(cols));
        let mut axes = vec![(h, cols), (w, 1)];
        if self.chance(6) {
            axes.reverse();
        }
        View { memory, short, start: r * cols + c, axes }
    }

    fn task(&mut self) -> Task {
        let (updates, manual, deps) = (self.chance(2), self.chance(6), self.deps());
        let addend = self.below(50) as i32;
        let no_dep = [false; 2];
        if self.chance(6) {
            // Blocks write rows of their own of one tensor and read another: they do not race.
            let (src, dst) = (self.memory(), self.memory());
            let src = if src == dst { (dst + 1) % PARAMS } else { src };
            let (src, dst) = (self.whole(src), self.whole(dst));
            let blocks = 2 + self.below(2);
            let (rows, cols) = (1 + self.below(ROWS / blocks), 1 + self.below(COLS));
            return Task { src, dst, updates, rows, cols, blocks, addend, manual, no_dep, deps };
        }
        let short = self.chance(5);
        let (src, dst) = (self.memory(), self.memory());
        let (src, dst) = (self.view(src, short), self.view(dst, short));
        let rows = 1 + self.below(src.rows().0.min(dst.rows().0));
        let cols = 1 + self.below(src.cols().0.min(dst.cols().0));
        Task { src, dst, updates, rows, cols, blocks: 1, addend, manual, no_dep, deps }
    }

    fn whole(&self, memory: usize) -> View {
        View { memory, short: false, start: 0, axes: vec![(ROWS, COLS), (COLS, 1)] }
    }
}

fn kernel(name: &str, ty: &str, direction: &str, body: &str) -> String {
    format!(
        "func @{name} kernel(vector)(%src: in ptr<{ty}>, %dst: {direction} ptr<{ty}>, %rows: in index, %cols: in index, \
         %srow: in index, %scol: in index, %drow: in index, %dcol: in index, %k: in {ty}) {{
  %c0 = const {{value = 0}} : index
  %c1 = const {{value = 1}} : index
  %f = const {{value = 3}} : {ty}
  %b64 = get_block_idx : i64
  %b = cast %b64 : index
  %first = mul %b, %rows : index
  %last = add %first, %rows : index
  for %first, %last, %c1 {{kind = range}} (%i: index) {{
    %si = mul %i, %srow : index
    %di = mul %i, %drow : index
    for %c0, %cols, %c1 {{kind = range}} (%j: index) {{
      %sj = mul %j, %scol : index
      %dj = mul %j, %dcol : index
      %s = add %si, %sj : index
      %d = add %di, %dj : index
      %x = load_scalar %src, %s : {ty}
{body}
      %r = add %y, %k : {ty}
      store_scalar %r, %dst, %d
      yield
    }}
    yield
  }}
  return
}}
"
    )
}

fn kernels() -> String {
    let mut text = String::new();
    for (suffix, ty) in [("", "i32"), ("16", "i16")] {
        let update = format!(
            "      %o = load_scalar %dst, %d : {ty}\n      %m = mul %o, %f : {ty}\n      %y = add %m, %x : {ty}"
        );
        text += &kernel(&format!("update{suffix}"), ty, "inout", &update);
        text += &kernel(&format!("fill{suffix}"), ty, "out", &format!("      %y = mul %x, %f : {ty}"));
    }
    text
}

/// The text of a program, statement by statement.
struct Printer {
    out: String,
    names: usize,
    memories: usize,
}

impl Program {
    /// Created tensors are returned.
    pub(crate) fn text(&self) -> String {
        let params: Vec<String> = (0..PARAMS).map(|m| format!("%m{m}: inout tensor<{ROWS}x{COLS}xi32>")).collect();
        let mut p = Printer { out: String::new(), names: 0, memories: PARAMS };
        for k in 0..=ROWS * 2 * COLS {
            p.line(format!("%c{k} = const {{value = {k}}} : index"));
        }
        for (n, statement) in self.statements.iter().enumerate() {
            p.statement(n, statement);
        }
        let created: Vec<String> = (PARAMS..p.memories).map(|m| format!("%m{m}")).collect();
        format!(
            "program \"p\" a2a3 tile entry @main\n{}\nfunc @main orchestration({}) {{\n{}  return {}\n}}\n",
            kernels(),
            params.join(", "),
            p.out,
            created.join(", ")
        )
    }
}

impl Printer {
    fn line(&mut self, text: String) {
        let _ = writeln!(self.out, "  {text}");
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    fn value(&mut self, value: i32, ty: &str) -> String {
        let name = self.fresh();
        self.line(format!("{name} = const {{value = {value}}} : {ty}"));
        name
    }

    fn view(&mut self, view: &View) -> String {
        let (ty, cols) = if view.short { ("i16", 2 * COLS) } else { ("i32", COLS) };
        let mut name = format!("%m{}", view.memory);
        if view.short {
            let new = self.fresh();
            self.line(format!("{new} = tensor_bitcast {name} : tensor<{ROWS}x{cols}xi16>"));
            name = new;
        }
        if let [(n, _)] = view.axes[..] {
            let (flat, part) = (self.fresh(), self.fresh());
            self.line(format!("{flat} = tensor_reshape {name} : tensor<{}x{ty}>", ROWS * cols));
            let start = view.start;
            self.line(format!("{part} = tensor_slice {flat} offsets(%c{start}) {{sizes = [{n}]}} : tensor<{n}x{ty}>"));
            return part;
        }
        let turned = view.axes[0].1 == 1;
        let (h, w) = if turned { (view.cols().0, view.rows().0) } else { (view.rows().0, view.cols().0) };
        let (r, c) = (view.start / cols, view.start % cols);
        if (h, w) != (ROWS, cols) {
            let new = self.fresh();
            self.line(format!(
                "{new} = tensor_slice {name} offsets(%c{r}, %c{c}) {{sizes = [{h}, {w}]}} : tensor<{h}x{w}x{ty}, strides [{cols}, 1]>"
            ));
            name = new;
        }
        if turned {
            let new = self.fresh();
            self.line(format!(
                "{new} = tensor_transpose {name} {{axis1 = 0, axis2 = 1}} : tensor<{w}x{h}x{ty}, strides [1, {cols}]>"
            ));
            name = new;
        }
        name
    }

    fn task(&mut self, name: &str, t: &Task) {
        let (src, dst) = (self.view(&t.src), self.view(&t.dst));
        let ty = if t.dst.short { "i16" } else { "i32" };
        let addend = self.value(t.addend, ty);
        let blocks = if t.blocks > 1 { format!(" blocks(%c{})", t.blocks) } else { String::new() };
        let deps: Vec<String> = t.deps.iter().map(|d| format!("%t{d}")).collect();
        let deps = if deps.is_empty() { String::new() } else { format!(" deps({})", deps.join(", ")) };
        let kernel = format!("{}{}", if t.updates { "update" } else { "fill" }, if t.dst.short { "16" } else { "" });
        let direction = if t.updates { "inout" } else { "out" };
        let no_dep: Vec<String> = (0..2).filter(|&i| t.no_dep[i]).map(|i| i.to_string()).collect();
        let mut flags = if t.manual { ", manual = true".to_owned() } else { String::new() };
        if !no_dep.is_empty() {
            let _ = write!(flags, ", no_dep = [{}]", no_dep.join(", "));
        }
        let numbers = [t.rows, t.cols, t.src.rows().1, t.src.cols().1, t.dst.rows().1, t.dst.cols().1];
        let numbers: Vec<String> = numbers.iter().map(|n| format!("%c{n}")).collect();
        self.line(format!(
            "{name} = submit args({src}, {dst}, {}, {addend}){deps}{blocks} {{kernels = [@{kernel}], name = \"{kernel}\", \
             directions = \"in,{direction},scalar,scalar,scalar,scalar,scalar,scalar,scalar\"{flags}}} : task",
            numbers.join(", ")
        ));
    }

    fn statement(&mut self, n: usize, statement: &Statement) {
        match statement {
            Statement::Create { manual_dep, init } => {
                let flag = if *manual_dep { ", manual_dep = true" } else { "" };
                let m = self.memories;
                self.memories += 1;
                self.line(format!("%m{m} = tensor_create {{init = {init}{flag}}} : tensor<{ROWS}x{COLS}xi32>"));
            }
            Statement::Task(t) => self.task(&format!("%t{n}"), t),
            Statement::Dummy(deps) => {
                let deps: Vec<String> = deps.iter().map(|d| format!("%t{d}")).collect();
                self.line(format!("%t{n} = task_dummy {} : task", deps.join(", ")));
            }
            Statement::If { memory, at, limit, task } => {
                let (v, p) = (self.fresh(), self.fresh());
                let limit = self.value(*limit, "i32");
                self.line(format!("{v} = read %m{memory} indices(%c{}, %c{}) : i32", at.0, at.1));
                self.line(format!("{p} = cmp {v}, {limit} {{predicate = gt}} : i1"));
                self.line(format!("if {p} {{"));
                self.task(&format!("%t{n}"), task);
                self.line("yield\n  }, {\n    yield\n  }".to_owned());
            }
            Statement::Write { memory, at, value } => {
                let value = self.value(*value, "i32");
                self.line(format!("write tensor(%m{memory}) indices(%c{}, %c{}) value({value})", at.0, at.1));
            }
        }
    }
}
