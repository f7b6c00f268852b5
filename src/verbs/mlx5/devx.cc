// The part of libmlx5.so.1 that talks to a card's firmware (DevX). The simulated card has none.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>

#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#pragma GCC visibility pop

#include "verbs/refuse.h"

using weft::verbs::refuse;

int mlx5dv_devx_general_cmd(ibv_context*, const void*, std::size_t, void*, std::size_t) {
  return EOPNOTSUPP;
}

mlx5dv_devx_obj* mlx5dv_devx_obj_create(ibv_context*, const void*, std::size_t, void*, std::size_t) {
  return refuse();
}

int mlx5dv_devx_obj_query(mlx5dv_devx_obj*, const void*, std::size_t, void*, std::size_t) {
  return EOPNOTSUPP;
}

int mlx5dv_devx_obj_modify(mlx5dv_devx_obj*, const void*, std::size_t, void*, std::size_t) {
  return EOPNOTSUPP;
}

int mlx5dv_devx_obj_destroy(mlx5dv_devx_obj*) {
  return EOPNOTSUPP;
}

int mlx5dv_devx_qp_query(ibv_qp*, const void*, std::size_t, void*, std::size_t) {
  return EOPNOTSUPP;
}

int mlx5dv_devx_qp_modify(ibv_qp*, const void*, std::size_t, void*, std::size_t) {
  return EOPNOTSUPP;
}

mlx5dv_devx_umem* mlx5dv_devx_umem_reg(ibv_context*, void*, std::size_t, std::uint32_t) {
  return refuse();
}

int mlx5dv_devx_umem_dereg(mlx5dv_devx_umem*) {
  return EOPNOTSUPP;
}

mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(ibv_context*, std::uint32_t) {
  return refuse();
}

void mlx5dv_devx_free_uar(mlx5dv_devx_uar*) {}

mlx5dv_devx_event_channel* mlx5dv_devx_create_event_channel(ibv_context*, mlx5dv_devx_create_event_channel_flags) {
  return refuse();
}

void mlx5dv_devx_destroy_event_channel(mlx5dv_devx_event_channel*) {}

int mlx5dv_devx_subscribe_devx_event(mlx5dv_devx_event_channel*, mlx5dv_devx_obj*, std::uint16_t, std::uint16_t[],
                                     std::uint64_t) {
  return EOPNOTSUPP;
}

ssize_t mlx5dv_devx_get_event(mlx5dv_devx_event_channel*, mlx5dv_devx_async_event_hdr*, std::size_t) {
  errno = EOPNOTSUPP;
  return -1;
}
