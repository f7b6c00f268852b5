// Stands in for rdma-core's libefa.so.1, which perftest and libfabric link to: no device here is an EFA.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>

#pragma GCC visibility push(default)
#include <infiniband/efadv.h>
#pragma GCC visibility pop

#include "verbs/refuse.h"

using weft::verbs::refuse;

int efadv_query_device(ibv_context*, efadv_device_attr*, std::uint32_t) {
  return EOPNOTSUPP;
}

int efadv_query_ah(ibv_ah*, efadv_ah_attr*, std::uint32_t) {
  return EOPNOTSUPP;
}

ibv_qp* efadv_create_qp_ex(ibv_context*, ibv_qp_init_attr_ex*, efadv_qp_init_attr*, std::uint32_t) {
  return refuse();
}

ibv_qp* efadv_create_driver_qp(ibv_pd*, ibv_qp_init_attr*, std::uint32_t) {
  return refuse();
}

ibv_cq_ex* efadv_create_cq(ibv_context*, ibv_cq_init_attr_ex*, efadv_cq_init_attr*, std::uint32_t) {
  return refuse();
}

efadv_cq* efadv_cq_from_ibv_cq_ex(ibv_cq_ex*) {
  return refuse();
}
