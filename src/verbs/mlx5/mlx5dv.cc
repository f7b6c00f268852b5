// Stands in for rdma-core's libmlx5.so.1, which perftest and UCX link to. That library writes to the registers of a
// real card; here a card ends at the verbs, so that every direct way answers "not supported" and programs take the
// plain one.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>

#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

#include "verbs/refuse.h"

using weft::verbs::refuse;

bool mlx5dv_is_supported(ibv_device*) {
  return false;
}

ibv_context* mlx5dv_open_device(ibv_device*, mlx5dv_context_attr*) {
  return refuse();
}

int mlx5dv_init_obj(mlx5dv_obj*, std::uint64_t) {
  return EOPNOTSUPP;
}

ibv_cq_ex* mlx5dv_create_cq(ibv_context*, ibv_cq_init_attr_ex*, mlx5dv_cq_init_attr*) {
  return refuse();
}

ibv_qp* mlx5dv_create_qp(ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*) {
  return refuse();
}

mlx5dv_qp_ex* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex*) {
  return nullptr;
}

mlx5dv_mkey* mlx5dv_create_mkey(mlx5dv_mkey_init_attr*) {
  return refuse();
}

int mlx5dv_destroy_mkey(mlx5dv_mkey*) {
  return EOPNOTSUPP;
}

int mlx5dv_crypto_login(ibv_context*, mlx5dv_crypto_login_attr*) {
  return EOPNOTSUPP;
}

mlx5dv_dek* mlx5dv_dek_create(ibv_context*, mlx5dv_dek_init_attr*) {
  return refuse();
}

int mlx5dv_dek_destroy(mlx5dv_dek*) {
  return EOPNOTSUPP;
}
