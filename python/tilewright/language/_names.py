"""Every name of the language that is an operation or a scope, by namespace.

A name is here if programs of the PyPTO stack use it, whether or not the front end compiles it yet: importing it and
mentioning it must work, and using what is not supported is the front end's error, at the user's line.
"""

# `pl.NAME`
TOP = """
at spmd scope manual_scope split_aiv cluster spmd_submit submit no_dep split auto_chunk cross_core_slot func_attr
range parallel pipeline unroll while_ cond yield_ static_assert static_print
create_tensor full slice assemble load store create_tile move create_l1 concat reshape transpose set_validshape fillpad
fillpad_expand fillpad_inplace arange ci view reinterpret_view expand_clone expands extract
read write const min max dim cast get_block_idx get_block_num get_subblock_idx dump_tag
add mul sub div neg recip exp log sqrt rsqrt abs maximum minimum maximums minimums cmp cmps fmod fmods rem rems
relu lrelu prelu sin cos and_ or_ xor not_ shl shr ands ors xors shls shrs addc subc addsc subsc sel sels tri random
part_add part_mul part_max part_min
row_expand row_expand_add row_expand_sub row_expand_mul row_expand_div row_expand_max row_expand_min row_expand_expdif
col_expand col_expand_add col_expand_sub col_expand_mul col_expand_div col_expand_max col_expand_min col_expand_expdif
row_sum row_max row_min row_prod row_argmax row_argmin col_sum col_max col_min col_prod col_argmax col_argmin
matmul matmul_acc matmul_bias matmul_mx matmul_mx_acc matmul_mx_bias gemv gemv_acc gemv_bias batch_matmul
batch_matmul_acc
sort32 mrgsort gather gather_row gatherb gather_mask gather_compare scatter scatter_update scatter_mask mgather mscatter
paged_gather aiv_shard aic_gather transpose_view
tpush_to_aiv tpush_to_aic tpop_from_aiv tpop_from_aic tfree_to_aiv tfree_to_aic tfree_from_aiv tfree_from_aic
reserve_buffer import_peer_buffer aic_initialize_pipe aiv_initialize_pipe
adds subs muls divs
""".split()

_SHARED = """
add mul sub div neg recip exp log sqrt rsqrt abs maximum minimum cmp fmod fmods cast slice full arange ci reshape
transpose set_validshape fillpad concat assemble read write
row_expand row_expand_add row_expand_sub row_expand_mul row_expand_div row_expand_max row_expand_min row_expand_expdif
col_expand col_expand_add col_expand_sub col_expand_mul col_expand_div col_expand_max col_expand_min col_expand_expdif
row_sum row_max row_min row_prod row_argmax row_argmin col_sum col_max col_min col_prod col_argmax col_argmin
matmul matmul_acc adds subs muls divs sin cos and_ or_ xor not_ shl shr expands gather scatter sort32 mrgsort
get_block_idx get_block_num get_subblock_idx fillpad_expand
""".split()

# `pl.tensor.NAME`
TENSOR = (
    _SHARED
    + """
create dim view reinterpret_view expand_clone scatter_update paged_gather gather_row batch_matmul part_add part_mul
part_max part_min random tri
""".split()
)

# `pl.tile.NAME`
TILE = (
    _SHARED
    + """
create load store move extract transpose_view fillpad_inplace relu lrelu prelu rem rems addc subc addsc subsc maximums
minimums cmps sel sels ands ors xors shls shrs gather_mask gather_compare gatherb scatter_mask mgather mscatter
batch_matmul batch_matmul_acc matmul_bias matmul_mx matmul_mx_acc matmul_mx_bias gemv gemv_acc gemv_bias tri random
part_add part_mul part_max part_min tpush_to_aiv tpush_to_aic tpop_from_aiv tpop_from_aic alloc
""".split()
)

# `pl.system.NAME`
SYSTEM = """
task_dummy task_invalid task_is_valid syncall cacheinvalid fence sync_set sync_wait set_ffts bar_v bar_m bar_all
sync_src sync_dst available_cluster_count available_aiv_count tpush_to_aiv tpush_to_aic tpop_from_aiv tpop_from_aic
tfree_to_aiv tfree_to_aic tfree_from_aiv tfree_from_aic reserve_buffer import_peer_buffer aic_initialize_pipe
aiv_initialize_pipe
""".split()

ARRAY = "create get_element update_element".split()
PREFETCH = "make_context async_prefetch session wait".split()

# `import pypto.language.distributed as pld`: `pld.NAME`
DISTRIBUTED_TOP = "alloc_window_buffer window world_size get_comm_ctx rank nranks".split()
DISTRIBUTED_TENSOR = """
put get remote_store remote_load allreduce allgather reduce_scatter all_to_all all_to_all_v broadcast barrier
""".split()
DISTRIBUTED_TILE = "remote_store remote_load put get".split()
DISTRIBUTED_SYSTEM = "notify wait defer_wait".split()
