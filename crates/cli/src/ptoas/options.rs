//! What a command line of `ptoas` asks for.

use assemble::Order;
use assemble::pass::{Level, Settings, Sync};
use chip::Arch;

use super::dump::Printing;
use super::table;
use crate::flags::{self, Flag, Given, spelled};

/// What to do.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Job {
    Help,
    Version,
    Assemble(Box<Options>),
    /// Judge `after`, made from `before`.
    Verify {
        before: String,
        after: String,
        arch: Option<Arch>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Options {
    pub input: String,
    pub output: String,
    /// Goes before what the module says.
    pub arch: Option<Arch>,
    pub settings: Settings,
    pub emit_ir: bool,
    pub check: bool,
    pub stats: bool,
    pub seed: u64,
    pub printing: Printing,
    /// Flags that do nothing here.
    pub without_effect: Vec<&'static str>,
}

/// Reads a command line.
///
/// # Errors
/// All that is wrong with it, in words.
pub(super) fn read(line: &[String]) -> Result<Job, Vec<String>> {
    let given = flags::parse(&table::all(), line)?;
    if given.switch("help") == Some(true) {
        return Ok(Job::Help);
    }
    if given.switch("version") == Some(true) {
        return Ok(Job::Version);
    }
    let mut reader = Reader { given: &given, errors: Vec::new() };
    let job = reader.job();
    if reader.errors.is_empty() { Ok(job) } else { Err(reader.errors) }
}

struct Reader<'a> {
    given: &'a Given,
    errors: Vec<String>,
}

impl Reader<'_> {
    fn job(&mut self) -> Job {
        self.vendor();
        let arch = self.arch();
        if let Some([before, after]) = self.given.values("tw-verify") {
            self.only_judges();
            return Job::Verify { before: before.clone(), after: after.clone(), arch };
        }
        if let [_, second, ..] = self.given.arguments.as_slice() {
            self.errors.push(format!("one file at a time: '{second}' is too many"));
        }
        let given = self.given;
        let has = |f: &&Flag| given.has(f.name);
        let options = Options {
            input: given.arguments.first().map_or("-", String::as_str).to_owned(),
            output: given.value("o").unwrap_or("-").to_owned(),
            arch,
            settings: self.settings(),
            emit_ir: self.on("emit-pto-ir"),
            check: !self.on("tw-no-check"),
            stats: self.on("tw-stats") || self.on("mlir-timing"),
            seed: self.number("tw-seed").unwrap_or(0),
            printing: self.printing(),
            without_effect: table::WITHOUT_EFFECT.iter().filter(has).map(|f| f.name).collect(),
        };
        Job::Assemble(Box::new(options))
    }

    fn on(&self, name: &str) -> bool {
        self.given.switch(name) == Some(true)
    }

    /// Flags that upstream's other backend has are known, and refused.
    fn vendor(&mut self) {
        for flag in table::VENDOR.iter().filter(|f| self.given.has(f.name)) {
            let message =
                "is about the VPTO backend, which this assembler has not; it makes `.pto` text, and C++ later";
            self.errors.push(format!("{} {message}", spelled(flag)));
        }
        match self.given.value("pto-backend") {
            None | Some("emitc") => {}
            Some("vpto") => {
                self.errors.push("--pto-backend=vpto: this assembler has no VPTO backend, only emitc".into())
            }
            Some(other) => self.errors.push(format!("--pto-backend is emitc, not '{other}'")),
        }
    }

    fn only_judges(&mut self) {
        let others = self.given.names().filter(|n| !["tw-verify", "pto-arch", "pto-backend"].contains(n));
        let others: Vec<String> =
            others.map(|n| format!("--{n}")).chain(self.given.arguments.iter().cloned()).collect();
        if !others.is_empty() {
            self.errors.push(format!("--tw-verify assembles nothing; {} is for that", others.join(", ")));
        }
    }

    fn arch(&mut self) -> Option<Arch> {
        match self.given.value("pto-arch")? {
            "a2" | "a3" => Some(Arch::A2a3),
            "a5" => Some(Arch::A5),
            other => {
                self.errors.push(format!("--pto-arch is a2, a3 or a5, not '{other}'"));
                None
            }
        }
    }

    fn settings(&mut self) -> Settings {
        let level = match self.given.value("pto-level").map(str::to_ascii_lowercase).as_deref() {
            None | Some("level2") => Level::Two,
            Some("level1") => Level::One,
            Some("level3") => Level::Three,
            Some(other) => {
                self.errors.push(format!("--pto-level is level1, level2 or level3, not '{other}'"));
                Level::Two
            }
        };
        let mut settings = Settings::new(level);
        settings.sync = self.sync();
        settings.fusion = self.on("enable-op-fusion");
        settings.shape_inference = self.given.switch("enable-shape-inference").unwrap_or(true);
        settings.layout_inference = !self.on("disable-infer-layout");
        let modern = match self.given.value("plan-memory-impl") {
            None | Some("legacy") => false,
            Some("modern") => true,
            Some(other) => {
                self.errors.push(format!("--plan-memory-impl is legacy or modern, not '{other}'"));
                false
            }
        };
        let by_size = self.given.switch("plan-memory-order-by-size").unwrap_or(modern);
        settings.place.order = if by_size { Order::Size } else { Order::Program };
        settings
    }

    fn sync(&mut self) -> Sync {
        let modes = [
            ("enable-insert-sync", Sync::Flags),
            ("enable-bufid_sync", Sync::Tokens),
            ("enable-inject-barrier-all-sync", Sync::BarrierAll),
            ("enable-graph-sync-solver", Sync::Flags),
        ];
        let asked: Vec<_> = modes.into_iter().filter(|(name, _)| self.on(name)).collect();
        if asked.len() > 1 {
            let names: Vec<String> = asked.iter().map(|(name, _)| format!("--{name}")).collect();
            self.errors.push(format!("{} exclude each other: pipes are ordered in one way", names.join(" and ")));
        }
        // Ours uses the eight flags that the device has for a pair of pipes, as few of them as it can.
        if let Some(n) = self.number("graph-sync-solver-event-id-max").filter(|n| *n < 8) {
            let message = format!("--graph-sync-solver-event-id-max={n}: all 8 flags of a pair of pipes are used here");
            self.errors.push(message);
        }
        asked.first().map_or(Sync::Keep, |(_, sync)| *sync)
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        let value = self.given.value(name)?;
        let number = value.parse().ok();
        if number.is_none() {
            self.errors.push(format!("--{name} is a number, not '{value}'"));
        }
        number
    }

    fn printing(&mut self) -> Printing {
        let list = |name: &str| -> Vec<String> {
            let value = self.given.value(name).unwrap_or("");
            value.split(',').filter(|p| !p.is_empty()).map(str::to_owned).collect()
        };
        let printing = Printing {
            after_all: self.on("mlir-print-ir-after-all"),
            before_all: self.on("mlir-print-ir-before-all"),
            after: list("mlir-print-ir-after"),
            before: list("mlir-print-ir-before"),
            folder: self.given.value("mlir-print-ir-tree-dir").map(str::to_owned),
        };
        self.errors.extend(printing.unknown().map(|p| format!("there is no pass '{p}'")));
        printing
    }
}
