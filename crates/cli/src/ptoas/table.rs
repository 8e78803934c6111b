//! The flags of `ptoas`: upstream's of version 0.60, and ours, which begin with `tw-`.

use crate::flags::Flag;
use crate::flags::Takes::{Switch, Value, Values};

const fn flag(name: &'static str, takes: crate::flags::Takes, help: &'static str) -> Flag {
    Flag { name, takes, help }
}

/// What this assembler does.
pub(super) const FLAGS: &[Flag] = &[
    flag("o", Value("FILE"), "where the output goes; `-`, the default, is the standard output"),
    flag("help", Switch, "prints this text"),
    flag("version", Switch, "prints the version of upstream's assembler that this one stands in for, and its own"),
    flag("pto-arch", Value("a2|a3|a5"), "the machine; else what the module says, else a3"),
    flag(
        "pto-level",
        Value("level1|level2|level3"),
        "what is decided already: at level3 every tile has its address (default level2)",
    ),
    flag("pto-backend", Value("emitc"), "the only one here"),
    flag("enable-insert-sync", Switch, "orders the pipes by flags and barriers"),
    flag("enable-bufid_sync", Switch, "orders the pipes by buffer tokens (a5)"),
    flag("enable-inject-barrier-all-sync", Switch, "puts a barrier of all pipes before everything that touches memory"),
    flag("enable-graph-sync-solver", Switch, "orders the pipes by flags and barriers, as --enable-insert-sync"),
    flag("graph-sync-solver-event-id-max", Value("N"), "how many flags a pair of pipes may use; 8 or more"),
    flag(
        "plan-memory-impl",
        Value("legacy|modern"),
        "which of upstream's planners: decides the default of the next flag",
    ),
    flag("plan-memory-order-by-size", Switch, "places the largest tiles first"),
    flag("enable-op-fusion", Switch, "brings vector operations together that can be one loop (a5; off unless asked)"),
    flag("enable-shape-inference", Switch, "fusion knows equal extents by inference, not only by equal numbers (on)"),
    flag("disable-infer-layout", Switch, "views keep the layouts that the text gives them"),
    flag("emit-pto-ir", Switch, "the output is `.pto` text, after all passes"),
    flag("emit-addptr-trace", Switch, "comments in C++ output, which there is none of yet"),
    flag("mlir-print-ir-after-all", Switch, "prints the program after every pass"),
    flag("mlir-print-ir-before-all", Switch, "prints the program before every pass"),
    flag("mlir-print-ir-after", Value("PASS,…"), "prints the program after these passes"),
    flag("mlir-print-ir-before", Value("PASS,…"), "prints the program before these passes"),
    flag("mlir-print-ir-module-scope", Switch, "prints whole modules, which is always so here"),
    flag("mlir-print-ir-tree-dir", Value("DIR"), "prints into files of a folder instead of the error stream"),
    flag("mlir-timing", Switch, "as --tw-stats"),
    flag("mlir-disable-threading", Switch, "which is always so here"),
    flag(
        "tw-verify",
        Values(&["BEFORE.pto", "AFTER.pto"]),
        "assembles nothing: judges what another tool made of a file",
    ),
    flag("tw-no-check", Switch, "passes are not judged"),
    flag("tw-stats", Switch, "prints what every pass and its checkers took"),
    flag("tw-seed", Value("N"), "of the choices of passes that could be otherwise (default 0)"),
];

/// Flags of upstream's other backend.
pub(super) const VENDOR: &[Flag] = &[
    flag("enable-vexpdif-fusion", Switch, ""),
    flag("enable-unroll-after-loop-fusion", Switch, ""),
    flag("enable-vfsim-costmodel-optimization", Switch, ""),
    flag("dump-vfsim-unroll-test", Switch, ""),
    flag("emit-vpto", Switch, ""),
    flag("emit-vpto-llvm-ir", Switch, ""),
    flag("vpto-print-ir", Switch, ""),
    flag("dump-vpto-ir", Switch, ""),
    flag("pto-print-seam-ir", Switch, ""),
    flag("pto-seam-ir-file", Value("FILE"), ""),
    flag("vpto-lowering-strategy", Value("S"), ""),
    flag("vpto-scheduler", Value("S"), ""),
    flag("enable-vpto-soft-postupdate", Switch, ""),
    flag("vpto-fix-vfsimt-size", Value("S"), ""),
    flag("cann-output-version", Value("V"), ""),
    flag("enable-bisheng-vec-misched", Switch, ""),
    flag("bisheng-vf-auto-sync", Value("S"), ""),
    flag("simt-fastmath", Switch, ""),
];

/// Flags that upstream takes and that mean nothing to its C++ backend, or are for who develops it.
pub(super) const WITHOUT_EFFECT: &[Flag] = &[
    flag("enable-tile-op-expand", Switch, ""),
    flag("enable-bufid-sync-debug", Switch, ""),
    flag("pto-insert-sync-debug", Value("N"), ""),
    flag("mlir-print-debuginfo", Switch, ""),
];

/// All of them.
pub(super) fn all() -> Vec<Flag> {
    [FLAGS, VENDOR, WITHOUT_EFFECT].concat()
}

/// The text of `--help`.
pub(super) fn help() -> String {
    let mut out = String::from(
        "ptoas assembles .pto kernel files: fuses, plans memory, orders pipes, and proves each step.\n\n\
         usage: ptoas [FLAGS] [FILE.pto]      `-`, the default, is the standard input\n\
         \x20      ptoas --tw-verify BEFORE.pto AFTER.pto\n\n\
         Switches also take =true and =false; values follow after = or a blank.\n\n",
    );
    for flag in FLAGS {
        let takes = match flag.takes {
            Switch => String::new(),
            Value(word) => format!(" {word}"),
            Values(words) => format!(" {}", words.join(" ")),
        };
        out += &format!("  {}{takes}\n        {}\n", crate::flags::spelled(flag), flag.help);
    }
    out += "\nIt exits with 0, or with 1 and no output if anything is wrong; --tw-verify with 0 if all is proved, 1 if\n\
            something is wrong, 4 if something is undecided.\n\
            Flags of upstream's VPTO backend are errors; see docs/assembler.md.\n";
    out
}
