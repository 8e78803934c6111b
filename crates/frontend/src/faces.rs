//! The faces of the language: every callable name, its parameters, and what it becomes.
//!
//! `pl.add`, `pl.tensor.add` and `pl.tile.add` are one face. A signature lists parameters in order; `a|b` are two
//! spellings of one, `?` marks optional ones, `~` optional ones that are accepted and change nothing here (hints to
//! upstream's scheduler and allocator).

use ir::Opcode;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::ops::{elementwise::Binary, matrix, memory, shape, system};
use crate::value::Held;

pub(crate) struct Face {
    pub(crate) name: &'static str,
    pub(crate) signature: &'static str,
    pub(crate) meaning: Meaning,
}

type Handler = for<'c, 'e, 'a> fn(&'c mut Cx<'e>, &Args<'a>) -> Res<Held>;

#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// Two tiles, or a tile and a number, with NumPy's broadcasting.
    Binary(&'static Binary),
    /// One tile; integers are converted to f32 first where `floats`.
    Unary {
        op: Opcode,
        floats: bool,
    },
    Reduce(Opcode),
    /// A matrix and a vector along its rows (`[M, 1]`) or columns (`[1, N]`).
    Expand(Opcode),
    /// `exp(x − v)` with the subtraction `Opcode`.
    ExpandExp(Opcode),
    /// A vector repeated to the shape of the first argument.
    Repeat(Opcode),
    Op(Handler),
    /// A call of a kernel as a task with options, which gives back the task's id too.
    Launch,
    /// Legal as the iterator of a `for` or the item of a `with` only.
    Statement(&'static str),
    /// Known to the language, not supported here yet.
    Unsupported,
}

use crate::ops::elementwise::{ADD, DIV, MAXIMUM, MINIMUM, MUL, SUB};
use Meaning::{Expand, ExpandExp, Launch, Op, Reduce, Repeat, Statement, Unary, Unsupported};

const fn face(name: &'static str, signature: &'static str, meaning: Meaning) -> Face {
    Face { name, signature, meaning }
}

const AT: &str =
    "level?, role?, optimizations?, deps?, ~no_dep_args, ~dumps, ~allow_early_resolve, name_hint?, ~windowize";
const SPMD: &str = "core_num|n, sync_start?, name_hint?, optimizations?, deps?, ~allow_early_resolve, predicate?, ~dumps, ~no_dep_args";

const SUBMIT: &str = "deps?, name_hint?, optimizations?, predicate?, ~dumps, ~allow_early_resolve, ~no_dep_args";
const SPMD_SUBMIT: &str = "core_num|n, sync_start?, deps?, name_hint?, optimizations?, predicate?, ~dumps, ~allow_early_resolve, ~no_dep_args";

pub(crate) static FACES: &[Face] = &[
    // Elementwise.
    face("add", "a|lhs|x, b|rhs|y", Meaning::Binary(&ADD)),
    face("sub", "a|lhs|x, b|rhs|y", Meaning::Binary(&SUB)),
    face("mul", "a|lhs|x, b|rhs|y", Meaning::Binary(&MUL)),
    face("div", "a|lhs|x, b|rhs|y, ~high_precision", Meaning::Binary(&DIV)),
    face("maximum", "a|lhs|x, b|rhs|y", Meaning::Binary(&MAXIMUM)),
    face("minimum", "a|lhs|x, b|rhs|y", Meaning::Binary(&MINIMUM)),
    face("adds", "a|lhs|x, b|rhs|s", Meaning::Binary(&ADD)),
    face("subs", "a|lhs|x, b|rhs|s", Meaning::Binary(&SUB)),
    face("muls", "a|lhs|x, b|rhs|s", Meaning::Binary(&MUL)),
    face("divs", "a|lhs|x, b|rhs|s", Meaning::Binary(&DIV)),
    face("maximums", "a|lhs|x, b|rhs|s", Meaning::Binary(&MAXIMUM)),
    face("minimums", "a|lhs|x, b|rhs|s", Meaning::Binary(&MINIMUM)),
    face("exp", "x|a|src", Unary { op: Opcode::TExp, floats: true }),
    face("log", "x|a|src, ~high_precision", Unary { op: Opcode::TLog, floats: true }),
    face("sqrt", "x|a|src", Unary { op: Opcode::TSqrt, floats: true }),
    face("rsqrt", "x|a|src, ~tmp, ~high_precision", Unary { op: Opcode::TRsqrt, floats: true }),
    face("recip", "x|a|src, ~high_precision", Unary { op: Opcode::TRecip, floats: true }),
    face("abs", "x|a|src", Unary { op: Opcode::TAbs, floats: false }),
    face("neg", "x|a|src", Unary { op: Opcode::TNeg, floats: false }),
    face("relu", "x|a|src", Unary { op: Opcode::TRelu, floats: false }),
    face("cast", "x|a|src|input, target_type|dtype, mode?, saturate?", Op(shape::cast)),
    // Reductions.
    face("row_sum", "x|a|src, ~tmp", Reduce(Opcode::TRowSum)),
    face("row_max", "x|a|src, ~tmp", Reduce(Opcode::TRowMax)),
    face("row_min", "x|a|src, ~tmp", Reduce(Opcode::TRowMin)),
    face("col_sum", "x|a|src, ~tmp", Reduce(Opcode::TColSum)),
    face("col_max", "x|a|src, ~tmp", Reduce(Opcode::TColMax)),
    face("col_min", "x|a|src, ~tmp", Reduce(Opcode::TColMin)),
    // Broadcasts.
    face("row_expand", "target|x, v|row_vec", Repeat(Opcode::TRowExpand)),
    face("row_expand_add", "x|target, v|row_vec", Expand(Opcode::TRowExpandAdd)),
    face("row_expand_sub", "x|target, v|row_vec", Expand(Opcode::TRowExpandSub)),
    face("row_expand_mul", "x|target, v|row_vec", Expand(Opcode::TRowExpandMul)),
    face("row_expand_div", "x|target, v|row_vec", Expand(Opcode::TRowExpandDiv)),
    face("row_expand_max", "x|target, v|row_vec", Expand(Opcode::TRowExpandMax)),
    face("row_expand_min", "x|target, v|row_vec", Expand(Opcode::TRowExpandMin)),
    face("row_expand_expdif", "x|target, v|row_vec", ExpandExp(Opcode::TRowExpandSub)),
    face("col_expand", "target|x, v|col_vec", Repeat(Opcode::TColExpand)),
    face("col_expand_add", "x|target, v|col_vec", Expand(Opcode::TColExpandAdd)),
    face("col_expand_sub", "x|target, v|col_vec", Expand(Opcode::TColExpandSub)),
    face("col_expand_mul", "x|target, v|col_vec", Expand(Opcode::TColExpandMul)),
    face("col_expand_div", "x|target, v|col_vec", Expand(Opcode::TColExpandDiv)),
    face("col_expand_max", "x|target, v|col_vec", Expand(Opcode::TColExpandMax)),
    face("col_expand_min", "x|target, v|col_vec", Expand(Opcode::TColExpandMin)),
    face("col_expand_expdif", "x|target, v|col_vec", ExpandExp(Opcode::TColExpandSub)),
    face("expands", "target|x, scalar|value|s", Op(shape::expands)),
    // Matrix.
    face("matmul", "lhs|a, rhs|b, out_dtype?, a_trans?, b_trans?, ~c_matrix_nz", Op(matrix::matmul)),
    face("matmul_acc", "acc, lhs|a, rhs|b, a_trans?, b_trans?, init_cond?", Op(matrix::matmul_acc)),
    // Moving and shaping.
    face(
        "slice",
        "x|tensor|tile|src|input, shape|shapes|sizes, offset|offsets, valid_shape?, drop_dims?, ~pad_value, clamp?",
        Op(memory::slice),
    ),
    face(
        "load",
        "tensor|x|src, offsets|offset, shapes|shape, valid_shape?|valid_shapes, ~target_memory, clamp?, ~transpose",
        Op(memory::load),
    ),
    face("store", "tile|x|src, offsets|offset, tensor|dst|target|output_tensor, ~shapes, atomic?", Op(memory::store)),
    face("assemble", "target|dst|x, source|src, offset|offsets, atomic?", Op(memory::assemble)),
    face("extract", "src|x, row, col, shape, ~target_memory", Op(memory::extract)),
    face("move", "tile|x|src, ~target_memory, ~blayout, ~slayout", Op(memory::copy)),
    face("create_tensor", "shape|shapes, dtype, ~layout, ~manual_dep, init_value?", Op(memory::create)),
    face(
        "create",
        "shape|shapes, dtype, ~layout, ~manual_dep, init_value?, ~target_memory, ~transpose, ~flat_layout",
        Op(memory::create),
    ),
    face("create_tile", "shape|shapes, dtype, ~target_memory, ~transpose, ~flat_layout", Op(memory::create_tile)),
    face("full", "shape|shapes, dtype, value", Op(shape::full)),
    face("arange", "start, shape, dtype?, descending?", Op(shape::arange)),
    face("ci", "start, shape, dtype?, descending?", Op(shape::arange)),
    face("reshape", "x|tensor|tile|src, shape|new_shape", Op(shape::reshape)),
    face("transpose", "x|tensor|tile|src, axis1, axis2", Op(shape::transpose)),
    face("fillpad", "x|tensor|tile|src, pad_value?", Op(shape::fillpad)),
    face("set_validshape", "x|tensor|tile|src, rows|valid_rows, cols|valid_cols", Op(shape::set_validshape)),
    face("concat", "a|x, b|y", Op(shape::concat)),
    face("dim", "x|tensor, axis", Op(memory::dim)),
    // Scalars.
    face("read", "x|tensor|tile|src, idx|indices|offset|offsets", Op(memory::read)),
    face("write", "x|tensor|tile|dst, idx|indices|offset|offsets, value|scalar", Op(memory::write)),
    face("getval", "x|tile|src, idx|indices|offset", Op(memory::read)),
    face("setval", "x|tile|dst, idx|indices|offset, value", Op(memory::write)),
    face("min", "a|x, b|y", Op(system::min)),
    face("max", "a|x, b|y", Op(system::max)),
    face("const", "value, dtype", Op(system::typed)),
    // Tasks, blocks, cores.
    face("array.create", "extent|size|n|length, dtype|element", Op(system::array_create)),
    face("array.get_element", "array, index", Op(system::array_get)),
    face("array.update_element", "array, index, value", Op(system::array_set)),
    face("system.task_dummy", "deps?", Op(system::task_dummy)),
    face("system.task_invalid", "", Op(system::task_invalid)),
    face("get_block_idx", "", Op(system::block_index)),
    face("get_block_num", "", Op(system::block_num)),
    face("get_subblock_idx", "", Op(system::subblock_index)),
    face("system.syncall", "core_type?, mode?, ~gm_workspace, ~used_cores", Op(system::syncall)),
    face("system.available_cluster_count", "", Op(system::cluster_count)),
    face("system.available_aiv_count", "", Op(system::vector_count)),
    face("system.fence", "", Op(system::nothing)),
    face("system.bar_v", "", Op(system::nothing)),
    face("system.bar_m", "", Op(system::nothing)),
    face("system.bar_all", "", Op(system::nothing)),
    face("no_dep", "x", Op(system::same)),
    face("yield_", "...", Op(system::yielded)),
    face("static_assert", "condition|cond, message?", Op(system::static_assert)),
    face("static_print", "...", Op(system::static_print)),
    face("dump_tag", "...", Op(system::nothing)),
    face("dynamic", "name", Op(system::dynamic)),
    face("split", "mode, slot_num?", Statement("optimizations")),
    face("cross_core_slot", "slot_num", Statement("optimizations")),
    // Statements.
    face("range", "...", Statement("for")),
    face("parallel", "...", Statement("for")),
    face("pipeline", "...", Statement("for")),
    face("unroll", "...", Statement("for")),
    face("while_", "init_values", Statement("for")),
    face("cond", "condition", Statement("for")),
    face("at", AT, Statement("with")),
    face("spmd", SPMD, Statement("with")),
    face("scope", "mode?, ~name_hint", Statement("with")),
    face("manual_scope", "~name_hint", Statement("with")),
    face("cluster", "~name_hint", Statement("with")),
    face("submit", SUBMIT, Launch),
    face("spmd_submit", SPMD_SUBMIT, Launch),
    face("func_attr", "...", Op(system::nothing)),
    // Known, not supported.
    face("split_aiv", "...", Unsupported),
    face("aiv_shard", "...", Unsupported),
    face("aic_gather", "...", Unsupported),
    face("gather", "...", Unsupported),
    face("gather_row", "...", Unsupported),
    face("gatherb", "...", Unsupported),
    face("mgather", "...", Unsupported),
    face("mscatter", "...", Unsupported),
    face("paged_gather", "...", Unsupported),
    face("scatter", "...", Unsupported),
    face("scatter_update", "...", Unsupported),
    face("create_l1", "...", Unsupported),
    face("sort32", "...", Unsupported),
    face("mrgsort", "...", Unsupported),
    face("cmp", "...", Unsupported),
    face("cmps", "...", Unsupported),
    face("sel", "...", Unsupported),
    face("sels", "...", Unsupported),
    face("fmod", "...", Unsupported),
    face("fmods", "...", Unsupported),
    face("rem", "...", Unsupported),
    face("rems", "...", Unsupported),
    face("sin", "...", Unsupported),
    face("cos", "...", Unsupported),
    face("and_", "...", Unsupported),
    face("or_", "...", Unsupported),
    face("xor_", "...", Unsupported),
    face("not_", "...", Unsupported),
    face("shl", "...", Unsupported),
    face("shr", "...", Unsupported),
    face("ands", "...", Unsupported),
    face("ors", "...", Unsupported),
    face("xors", "...", Unsupported),
    face("shls", "...", Unsupported),
    face("shrs", "...", Unsupported),
    face("lrelu", "...", Unsupported),
    face("prelu", "...", Unsupported),
    face("addc", "...", Unsupported),
    face("subc", "...", Unsupported),
    face("addsc", "...", Unsupported),
    face("subsc", "...", Unsupported),
    face("part_add", "...", Unsupported),
    face("part_mul", "...", Unsupported),
    face("part_max", "...", Unsupported),
    face("part_min", "...", Unsupported),
    face("row_prod", "...", Unsupported),
    face("col_prod", "...", Unsupported),
    face("row_argmax", "...", Unsupported),
    face("row_argmin", "...", Unsupported),
    face("col_argmax", "...", Unsupported),
    face("col_argmin", "...", Unsupported),
    face("expand_clone", "...", Unsupported),
    face("fillpad_expand", "...", Unsupported),
    face("fillpad_inplace", "...", Unsupported),
    face("batch_matmul", "...", Unsupported),
    face("batch_matmul_acc", "...", Unsupported),
    face("matmul_bias", "...", Unsupported),
    face("matmul_mx", "...", Unsupported),
    face("matmul_mx_acc", "...", Unsupported),
    face("matmul_mx_bias", "...", Unsupported),
    face("gemv", "...", Unsupported),
    face("gemv_acc", "...", Unsupported),
    face("gemv_bias", "...", Unsupported),
    face("reinterpret_view", "...", Unsupported),
    face("view", "...", Unsupported),
    face("transpose_view", "...", Unsupported),
    face("random", "...", Unsupported),
    face("tri", "...", Unsupported),
    face("gather_mask", "...", Unsupported),
    face("gather_compare", "...", Unsupported),
    face("scatter_mask", "...", Unsupported),
    face("system.task_is_valid", "...", Unsupported),
    face("system.cacheinvalid", "...", Unsupported),
    face("system.sync_set", "...", Unsupported),
    face("system.sync_wait", "...", Unsupported),
    face("system.set_ffts", "...", Unsupported),
    face("system.sync_src", "...", Unsupported),
    face("system.sync_dst", "...", Unsupported),
    face("prefetch.make_context", "...", Op(system::nothing)),
    face("prefetch.async_prefetch", "...", Op(system::nothing)),
    face("prefetch.session", "...", Op(system::nothing)),
    face("prefetch.wait", "...", Op(system::nothing)),
    face("reserve_buffer", "...", Unsupported),
    face("import_peer_buffer", "...", Unsupported),
    face("aic_initialize_pipe", "...", Unsupported),
    face("aiv_initialize_pipe", "...", Unsupported),
    face("tpush_to_aiv", "...", Unsupported),
    face("tpush_to_aic", "...", Unsupported),
    face("tpop_from_aiv", "...", Unsupported),
    face("tpop_from_aic", "...", Unsupported),
    face("tfree_to_aiv", "...", Unsupported),
    face("tfree_to_aic", "...", Unsupported),
];

/// The face of a canonical name (`add`, `tensor.add`, `system.syncall`).
pub(crate) fn find(canonical: &str) -> Option<&'static Face> {
    let exact = |name: &str| FACES.iter().find(|f| f.name == name || f.name.rsplit('.').next() == Some(name));
    if let Some(face) = FACES.iter().find(|f| f.name == canonical) {
        return Some(face);
    }
    match canonical.split_once('.') {
        Some(("tensor" | "tile" | "system" | "block" | "scalar" | "array", name)) => exact(name),
        Some(_) => None,
        None => exact(canonical),
    }
}

/// Last components of all names, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FACES.iter().filter(|f| !matches!(f.meaning, Unsupported)).map(|f| f.name.rsplit('.').next().unwrap_or(f.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_operation_are_one_face() {
        for name in ["add", "tensor.add", "tile.add"] {
            assert_eq!(find(name).map(|f| f.name), Some("add"), "{name}");
        }
        assert_eq!(find("system.syncall").map(|f| f.name), Some("system.syncall"));
        assert_eq!(find("tile.get_block_idx").map(|f| f.name), Some("get_block_idx"));
        assert!(find("nothing").is_none());
    }

    /// `docs/language.md` lists what is supported and what is not yet, by name.
    #[test]
    fn the_manual_lists_every_face() {
        let manual = include_str!("../../../docs/language.md");
        let (supported, refused) = manual.split_once("## Refused by name").expect("two parts");
        let listed =
            |part: &str, name: &str| part.contains(&format!("`{name}`")) || part.contains(&format!("`pl.{name}`"));
        for face in FACES {
            let (right, wrong) = match face.meaning {
                Unsupported => (refused, supported),
                _ => (supported, refused),
            };
            assert!(listed(right, face.name), "`{}` is missing", face.name);
            assert!(!listed(wrong, face.name), "`{}` is in the wrong part", face.name);
        }
    }

    #[test]
    fn names_are_unique() {
        for (i, face) in FACES.iter().enumerate() {
            assert!(FACES[..i].iter().all(|f| f.name != face.name), "{}", face.name);
        }
    }
}
