// Stands in for rdma-core's libmlx5.so.1, which perftest, UCX and pyverbs link to. That library writes to the registers
// of a real card; here a card ends at the verbs, so that every direct way answers "not supported" and programs take the
// plain one.
#include "verbs/mlx5/refuse_all.h"

WEFT_MLX5 bool mlx5dv_is_supported() {
  return false;
}

WEFT_MLX5 void* mlx5dv_qp_ex_from_ibv_qp_ex() {
  return nullptr;
}

// In two versions; the first is what programs from before rdma-core 14 ask for.
WEFT_MLX5 __attribute__((symver("mlx5dv_init_obj@MLX5_1.0"))) int init_obj_1_0() {
  return EOPNOTSUPP;
}
WEFT_MLX5 __attribute__((symver("mlx5dv_init_obj@@MLX5_1.2"))) int init_obj_1_2() {
  return EOPNOTSUPP;
}

// clang-format off
REFUSE_OBJECT(mlx5dv_alloc_dm)
REFUSE_OBJECT(mlx5dv_alloc_var)
REFUSE_OBJECT(mlx5dv_create_cq)
REFUSE_OBJECT(mlx5dv_create_mkey)
REFUSE_OBJECT(mlx5dv_create_qp)
REFUSE_OBJECT(mlx5dv_create_wq)
REFUSE_OBJECT(mlx5dv_crypto_login_create)
REFUSE_OBJECT(mlx5dv_dek_create)
REFUSE_OBJECT(mlx5dv_dm_map_op_addr)
REFUSE_OBJECT(mlx5dv_get_vfio_device_list)
REFUSE_OBJECT(mlx5dv_open_device)
REFUSE_OBJECT(mlx5dv_pp_alloc)
REFUSE_OBJECT(mlx5dv_sched_leaf_create)
REFUSE_OBJECT(mlx5dv_sched_node_create)

REFUSE_CALL(_mlx5dv_mkey_check)
REFUSE_CALL(_mlx5dv_query_port)
REFUSE_CALL(mlx5dv_crypto_login)
REFUSE_CALL(mlx5dv_crypto_login_destroy)
REFUSE_CALL(mlx5dv_crypto_login_query)
REFUSE_CALL(mlx5dv_crypto_login_query_state)
REFUSE_CALL(mlx5dv_crypto_logout)
REFUSE_CALL(mlx5dv_dci_stream_id_reset)
REFUSE_CALL(mlx5dv_dek_destroy)
REFUSE_CALL(mlx5dv_dek_query)
REFUSE_CALL(mlx5dv_destroy_mkey)
REFUSE_CALL(mlx5dv_get_clock_info)
REFUSE_CALL(mlx5dv_map_ah_to_qp)
REFUSE_CALL(mlx5dv_modify_qp_lag_port)
REFUSE_CALL(mlx5dv_modify_qp_sched_elem)
REFUSE_CALL(mlx5dv_modify_qp_udp_sport)
REFUSE_CALL(mlx5dv_qp_cancel_posted_send_wrs)
REFUSE_CALL(mlx5dv_query_qp_lag_port)
REFUSE_CALL(mlx5dv_reserved_qpn_alloc)
REFUSE_CALL(mlx5dv_reserved_qpn_dealloc)
REFUSE_CALL(mlx5dv_sched_leaf_destroy)
REFUSE_CALL(mlx5dv_sched_leaf_modify)
REFUSE_CALL(mlx5dv_sched_node_destroy)
REFUSE_CALL(mlx5dv_sched_node_modify)
REFUSE_CALL(mlx5dv_set_context_attr)
REFUSE_CALL(mlx5dv_vfio_get_events_fd)
REFUSE_CALL(mlx5dv_vfio_process_events)

NOTHING_TO_END(mlx5dv_free_var)
NOTHING_TO_END(mlx5dv_pp_free)
// clang-format on
