// Objects of another process cannot be taken over: in the world they belong to the process that made them.
#include <cerrno>

#include "verbs/ibverbs/objects.h"

using weft::verbs::fail;

ibv_context* ibv_import_device(int) {
  return fail(EOPNOTSUPP);
}

ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) {
  return fail(EOPNOTSUPP);
}

void ibv_unimport_pd(ibv_pd*) {}

ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) {
  return fail(EOPNOTSUPP);
}

void ibv_unimport_mr(ibv_mr*) {}

ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) {
  return fail(EOPNOTSUPP);
}

void ibv_unimport_dm(ibv_dm*) {}
