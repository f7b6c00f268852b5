// Calls that programs link to and that have nothing behind them here: ECE.
#include "verbs/rdmacm/objects.h"

using weft::verbs::cm::result;

int rdma_set_local_ece(rdma_cm_id*, ibv_ece*) {
  return result(EOPNOTSUPP);
}
int rdma_get_remote_ece(rdma_cm_id*, ibv_ece*) {
  return result(EOPNOTSUPP);
}
