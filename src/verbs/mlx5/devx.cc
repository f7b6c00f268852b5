// The part of libmlx5.so.1 that talks to a card's firmware (DevX). The simulated card has none.
#include <sys/types.h>

#include "verbs/mlx5/refuse_all.h"

// clang-format off
REFUSE_OBJECT(mlx5dv_devx_alloc_msi_vector)
REFUSE_OBJECT(mlx5dv_devx_alloc_uar)
REFUSE_OBJECT(mlx5dv_devx_create_cmd_comp)
REFUSE_OBJECT(mlx5dv_devx_create_eq)
REFUSE_OBJECT(mlx5dv_devx_create_event_channel)
REFUSE_OBJECT(mlx5dv_devx_obj_create)
REFUSE_OBJECT(mlx5dv_devx_umem_reg)
REFUSE_OBJECT(mlx5dv_devx_umem_reg_ex)
REFUSE_OBJECT(mlx5dv_dr_action_create_dest_devx_tir)

REFUSE_CALL(mlx5dv_devx_cq_modify)
REFUSE_CALL(mlx5dv_devx_cq_query)
REFUSE_CALL(mlx5dv_devx_destroy_eq)
REFUSE_CALL(mlx5dv_devx_free_msi_vector)
REFUSE_CALL(mlx5dv_devx_general_cmd)
REFUSE_CALL(mlx5dv_devx_get_async_cmd_comp)
REFUSE_CALL(mlx5dv_devx_ind_tbl_modify)
REFUSE_CALL(mlx5dv_devx_ind_tbl_query)
REFUSE_CALL(mlx5dv_devx_obj_destroy)
REFUSE_CALL(mlx5dv_devx_obj_modify)
REFUSE_CALL(mlx5dv_devx_obj_query)
REFUSE_CALL(mlx5dv_devx_obj_query_async)
REFUSE_CALL(mlx5dv_devx_qp_modify)
REFUSE_CALL(mlx5dv_devx_qp_query)
REFUSE_CALL(mlx5dv_devx_query_eqn)
REFUSE_CALL(mlx5dv_devx_srq_modify)
REFUSE_CALL(mlx5dv_devx_srq_query)
REFUSE_CALL(mlx5dv_devx_subscribe_devx_event)
REFUSE_CALL(mlx5dv_devx_subscribe_devx_event_fd)
REFUSE_CALL(mlx5dv_devx_umem_dereg)
REFUSE_CALL(mlx5dv_devx_wq_modify)
REFUSE_CALL(mlx5dv_devx_wq_query)

NOTHING_TO_END(mlx5dv_devx_destroy_cmd_comp)
NOTHING_TO_END(mlx5dv_devx_destroy_event_channel)
NOTHING_TO_END(mlx5dv_devx_free_uar)
// clang-format on

WEFT_MLX5 ssize_t mlx5dv_devx_get_event() {
  errno = EOPNOTSUPP;
  return -1;
}
