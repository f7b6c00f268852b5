// Memory windows. A bind is a work request; one of type 1 the library posts itself.
#include <cerrno>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  auto* mw = make<ibv_mw>();
  if (mw == nullptr) return fail(ENOMEM);
  MrKeys keys;
  if (const int error = call(Op::kAllocMw, AllocMw{pd->handle, static_cast<std::uint32_t>(type)}, keys); error != 0) {
    std::free(mw);
    return fail(error);
  }
  *mw = {pd->context, pd, keys.rkey, keys.handle, type};
  return mw;
}

int dealloc_mw(ibv_mw* mw) {
  if (const int error = destroy(Kind::kMw, mw->handle); error != 0) return error;
  std::free(mw);
  return 0;
}

// Addresses of a window are those of its region.
int write_bind(SendEntry& entry, const ibv_mw& mw, std::uint32_t rkey, const ibv_mw_bind_info& info) {
  constexpr unsigned int kKnown =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if ((info.mw_access_flags & ~kKnown) != 0) return EINVAL;
  if (info.length != 0 && (info.mr == nullptr || mw.pd->handle != info.mr->pd->handle)) return EINVAL;
  entry.rkey = rkey;
  entry.qkey = info.mr == nullptr ? 0 : info.mr->lkey;
  entry.remote_qpn = info.mw_access_flags;
  entry.remote_va = info.addr;
  entry.swap = info.length;
  return 0;
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  if (mw->type != IBV_MW_TYPE_1) return EINVAL;
  ibv_send_wr wr{};
  wr.wr_id = bind->wr_id;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = bind->send_flags;
  wr.bind_mw.mw = mw;
  wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  wr.bind_mw.bind_info = bind->bind_info;
  ibv_send_wr* bad = nullptr;
  const int error = post_send(qp, &wr, &bad);
  if (error == 0) mw->rkey = wr.bind_mw.rkey;
  return error;
}

}  // namespace weft::verbs
