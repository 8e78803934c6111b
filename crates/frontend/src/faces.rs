//! The faces of the language: every callable name, its parameters, and what it becomes.
//!
//! `pl.add`, `pl.tensor.add` and `pl.tile.add` are one face. A signature lists parameters in order; `a|b` are two
//! spellings of one, `?` marks optional ones, `~` optional ones that are accepted and change nothing here (hints to
//! upstream's scheduler and allocator).

use ir::Opcode;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::lanes;
use crate::ops::{
    attributes, binary::Binary, gather, generate, masks, matrix, memory, scatter, shape, sort, system, trig, views,
};
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
    /// A two-operand operation on the first two arguments, then the third is added (`isa.md` §2.2: a − b + c).
    Chain(&'static Binary),
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

use crate::ops::binary::{
    ADD, AND, DIV, FMOD, MAXIMUM, MINIMUM, MUL, OR, PART_ADD, PART_MAX, PART_MIN, PART_MUL, PRELU, REM, SHL, SHR, SUB,
    XOR,
};
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
    face("fmod", "a|lhs|x, b|rhs|y", Meaning::Binary(&FMOD)),
    face("fmods", "a|lhs|x, b|rhs|s|scalar", Meaning::Binary(&FMOD)),
    face("rem", "a|lhs|x, b|rhs|y, ~tmp", Meaning::Binary(&REM)),
    face("rems", "a|lhs|x, b|rhs|s|scalar, ~tmp", Meaning::Binary(&REM)),
    face("and_", "a|lhs|x, b|rhs|y", Meaning::Binary(&AND)),
    face("ands", "a|lhs|x, b|rhs|s|scalar", Meaning::Binary(&AND)),
    face("or_", "a|lhs|x, b|rhs|y", Meaning::Binary(&OR)),
    face("ors", "a|lhs|x, b|rhs|s|scalar", Meaning::Binary(&OR)),
    face("xor", "a|lhs|x, b|rhs|y, ~tmp", Meaning::Binary(&XOR)),
    face("xors", "a|lhs|x, b|rhs|s|scalar, ~tmp", Meaning::Binary(&XOR)),
    face("shl", "a|lhs|x, b|rhs|y", Meaning::Binary(&SHL)),
    face("shls", "a|lhs|x, b|rhs|s|scalar", Meaning::Binary(&SHL)),
    face("shr", "a|lhs|x, b|rhs|y", Meaning::Binary(&SHR)),
    face("shrs", "a|lhs|x, b|rhs|s|scalar", Meaning::Binary(&SHR)),
    face("not_", "x|a|src", Unary { op: Opcode::TNot, floats: false }),
    face("lrelu", "a|x|src, b|s|slope|scalar", Meaning::Binary(&PRELU)),
    face("prelu", "a|x|src, b|slope, ~tmp", Meaning::Binary(&PRELU)),
    face("part_add", "a|lhs|x, b|rhs|y", Meaning::Binary(&PART_ADD)),
    face("part_mul", "a|lhs|x, b|rhs|y", Meaning::Binary(&PART_MUL)),
    face("part_max", "a|lhs|x, b|rhs|y", Meaning::Binary(&PART_MAX)),
    face("part_min", "a|lhs|x, b|rhs|y", Meaning::Binary(&PART_MIN)),
    face("addc", "a|lhs|x, b|rhs|y, c", Meaning::Chain(&ADD)),
    face("addsc", "a|lhs|x, b|s|scalar, c", Meaning::Chain(&ADD)),
    face("subc", "a|lhs|x, b|rhs|y, c", Meaning::Chain(&SUB)),
    face("subsc", "a|lhs|x, b|s|scalar, c", Meaning::Chain(&SUB)),
    face("sin", "x|a|src", Op(trig::sin)),
    face("cos", "x|a|src", Op(trig::cos)),
    // Comparisons.
    face("cmp", "a|lhs|x, b|rhs|y, cmp_type|mode", Op(masks::cmp)),
    face("tile.cmp", "a|lhs|x, b|rhs|y, cmp_type|mode", Op(masks::packed)),
    face("cmps", "a|lhs|x, b|rhs|s|scalar, cmp_type|mode", Op(masks::packed)),
    face("sel", "mask, a|lhs|x, b|rhs|y, ~tmp", Op(masks::sel)),
    face("sels", "mask, a|src|x, tmp, b|scalar|s", Op(masks::sel)),
    face("cast", "x|a|src|input, target_type|dtype, mode?, saturate?", Op(shape::cast)),
    // Reductions.
    face("row_sum", "x|a|src, ~tmp", Reduce(Opcode::TRowSum)),
    face("row_max", "x|a|src, ~tmp", Reduce(Opcode::TRowMax)),
    face("row_min", "x|a|src, ~tmp", Reduce(Opcode::TRowMin)),
    face("col_sum", "x|a|src, ~tmp", Reduce(Opcode::TColSum)),
    face("col_max", "x|a|src, ~tmp", Reduce(Opcode::TColMax)),
    face("col_min", "x|a|src, ~tmp", Reduce(Opcode::TColMin)),
    face("row_prod", "x|a|src, ~tmp", Reduce(Opcode::TRowProd)),
    face("col_prod", "x|a|src, ~tmp", Reduce(Opcode::TColProd)),
    face("row_argmax", "x|a|src, ~tmp", Reduce(Opcode::TRowArgMax)),
    face("row_argmin", "x|a|src, ~tmp", Reduce(Opcode::TRowArgMin)),
    face("col_argmax", "x|a|src, ~tmp", Reduce(Opcode::TColArgMax)),
    face("col_argmin", "x|a|src, ~tmp", Reduce(Opcode::TColArgMin)),
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
    face("expands", "target|x, scalar|value|s", Op(generate::expands)),
    // Matrix.
    face("matmul", "lhs|a, rhs|b, out_dtype?, a_trans?, b_trans?, ~c_matrix_nz", Op(matrix::matmul)),
    face("matmul_acc", "acc, lhs|a, rhs|b, a_trans?, b_trans?, init_cond?", Op(matrix::matmul_acc)),
    face("matmul_bias", "lhs|a, rhs|b, bias, a_trans?, b_trans?", Op(matrix::matmul_bias)),
    face("gemv", "lhs|a, rhs|b, a_trans?, b_trans?, ~acc_phase", Op(matrix::gemv)),
    face("gemv_acc", "acc, lhs|a, rhs|b, a_trans?, b_trans?, init_cond?, ~acc_phase", Op(matrix::matmul_acc)),
    face("gemv_bias", "lhs|a, rhs|b, bias, a_trans?, b_trans?, ~acc_phase", Op(matrix::matmul_bias)),
    face("batch_matmul", "lhs|a, rhs|b, out_dtype?, a_trans?, b_trans?", Op(matrix::batch_matmul)),
    face("batch_matmul_acc", "acc, lhs|a, rhs|b, a_trans?, b_trans?, init_cond?", Op(matrix::matmul_acc)),
    // Gathers, scatters, sorts.
    face(
        "gather",
        "x|input|src|tensor, dim?, index?|indices, mask_pattern?, output_dtype?, kvalue?, cmp_mode?, out_cols?, offset?, count_dtype?",
        Op(gather::gather),
    ),
    face("tile.gather", "x|src|tile, indices?|index, ~tmp, mask_pattern?, output_dtype?", Op(gather::flat)),
    face("gather_mask", "x|src|tile, mask_pattern, output_dtype?", Op(gather::mask)),
    face(
        "gather_compare",
        "x|src|tile, kvalue, ~tmp, cmp_mode?, out_cols?, offset?, count_dtype?",
        Op(gather::compare),
    ),
    face("gatherb", "src|x|tile, offsets|offset", Op(gather::blocks)),
    face("mgather", "tensor|src|table, indices|idx|index, coalesce?|mode, gather_oob?", Op(gather::from_memory)),
    face(
        "gather_row",
        "acc|dst, src|tensor, dst_offset|dst_offsets, src_offset|src_offsets, shape|shapes, transpose?, valid_shape?",
        Op(gather::row),
    ),
    face("scatter", "x|input|src_tile, dim?, index?|indices, src?, mask_pattern?, dst?", Op(scatter::scatter)),
    face("tile.scatter", "src|x|tile, indices|index, shape|shapes", Op(scatter::flat)),
    face("scatter_mask", "x|src|tile, mask_pattern, dst?", Op(scatter::mask)),
    face("scatter_update", "input|x|tensor, dim, index|indices, src", Op(scatter::update)),
    face(
        "mscatter",
        "tile|src|x, indices|idx|index, tensor|dst|output_tensor, coalesce?|mode, scatter_oob?, atomic?|scatter_atomic_op",
        Op(scatter::to_memory),
    ),
    face("sort32", "src|x|values, idx|index|indices, ~tmp", Op(sort::sort32)),
    face("mrgsort", "src0|src|x, src1?, src2?, src3?, block_len?, exhausted?, ~tmp, ~executed", Op(sort::mrgsort)),
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
    face("full", "shape|shapes, dtype, value", Op(generate::full)),
    face("arange", "start, shape, dtype?, descending?", Op(generate::arange)),
    face("ci", "start, shape, dtype?, descending?", Op(generate::arange)),
    face("create_l1", "shape|shapes, dtype, ~transpose", Op(memory::create_tile)),
    face("tri", "diagonal, shape|shapes, valid_shape?, dtype, upper?", Op(generate::tri)),
    face(
        "random",
        "key0, key1, counter0|c0, counter1|c1, counter2|c2, counter3|c3, shape|shapes, dtype, rounds?",
        Op(generate::random),
    ),
    face("view", "x|tensor|src, shape?|new_shape, layout?", Op(views::view)),
    face("reinterpret_view", "x|tensor|tile|src, dtype, shape?", Op(views::reinterpret)),
    face("transpose_view", "x|tile|src", Op(views::transpose_view)),
    face("expand_clone", "x|src, target", Op(shape::expand_clone)),
    face("fillpad_expand", "x|tensor|tile|src, shape|shapes, pad_value?", Op(shape::fillpad_expand)),
    face("fillpad_inplace", "x|tensor|tile|src, pad_value?", Op(shape::fillpad)),
    face("reshape", "x|tensor|tile|src, shape|new_shape", Op(views::reshape)),
    face("transpose", "x|tensor|tile|src, axis1, axis2", Op(views::transpose)),
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
    face("system.task_is_valid", "task|tid|task_id", Op(system::task_is_valid)),
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
    face("system.cacheinvalid", "...", Op(system::nothing)),
    face("system.sync_set", "...", Op(system::nothing)),
    face("system.sync_wait", "...", Op(system::nothing)),
    face("system.set_ffts", "...", Op(system::nothing)),
    face("system.sync_src", "...", Op(system::nothing)),
    face("system.sync_dst", "...", Op(system::nothing)),
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
    face("split_aiv", "n|lanes, mode", Statement("for")),
    face("aiv_shard", "x|tile|src", Op(lanes::shard)),
    face("cond", "condition", Statement("for")),
    face("at", AT, Statement("with")),
    face("spmd", SPMD, Statement("with")),
    face("scope", "mode?, ~name_hint", Statement("with")),
    face("manual_scope", "~name_hint", Statement("with")),
    face("cluster", "~name_hint", Statement("with")),
    face("submit", SUBMIT, Launch),
    face("spmd_submit", SPMD_SUBMIT, Launch),
    face("func_attr", "...", Op(attributes::func_attr)),
    // Known, not supported.
    face("aic_gather", "...", Unsupported),
    face("paged_gather", "...", Unsupported),
    face("matmul_mx", "...", Unsupported),
    face("matmul_mx_acc", "...", Unsupported),
    face("matmul_mx_bias", "...", Unsupported),
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

/// Every supported name with its parameters (see the head of this file), for the op manual.
pub fn signatures() -> impl Iterator<Item = (&'static str, &'static str)> {
    FACES.iter().filter(|f| !matches!(f.meaning, Unsupported)).map(|f| (f.name, f.signature))
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
