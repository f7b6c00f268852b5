// Multicast groups of programs: ibv_attach_mcast, ibv_detach_mcast.
#include "nic/multicast.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

#include "live/verbs/service.h"
#include "wire/ipv6.h"

namespace weft::live {

using verbs::Op;

bool VerbsService::is_multicast(Op op) {
  return op == Op::kAttachMulticast || op == Op::kDetachMulticast || op == Op::kBlockOwnMulticast;
}

Reply VerbsService::multicast(Process& process, const Request& request) {
  verbs::Handle handle{};
  verbs::Multicast ask{};
  const bool blocks = request.op == Op::kBlockOwnMulticast;
  if (blocks ? !request.read(handle) : !request.read(ask)) return Reply::failed(EINVAL);
  auto qp = process.qps.find(blocks ? handle.handle : ask.qp);
  if (qp == process.qps.end() || qp->second->type != IBV_QPT_UD) return Reply::failed(EINVAL);
  nic::Device& nic = *device(qp->second->device);
  const std::uint32_t qpn = qp->second->qpn;
  if (blocks) {
    nic::MulticastPort::block_own(nic, qpn);
    return {};
  }
  nic::GroupGid group;
  std::copy_n(ask.gid, group.size(), group.begin());
  if (!wire::is_multicast(group)) return Reply::failed(EINVAL);
  // Attached twice is attached, as in the kernel (ib_uverbs_attach_mcast).
  if (request.op == Op::kAttachMulticast) nic::MulticastPort::attach(nic, qpn, group);
  if (request.op == Op::kDetachMulticast && !nic::MulticastPort::detach(nic, qpn, group)) return Reply::failed(EINVAL);
  return {};
}

}  // namespace weft::live
