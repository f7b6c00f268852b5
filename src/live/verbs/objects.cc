// Devices of a node as a program sees them, and the end of verbs objects.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/verbs/service.h"
#include "nic/device_control.h"
#include "nic/queues/shared_receives.h"

namespace weft::live {

namespace {

void forget_events(Process& process, std::uint32_t device, verbs::Kind kind, std::uint32_t handle) {
  if (auto channel = process.async.find(device); channel != process.async.end()) channel->second->forget(kind, handle);
}

void copy_text(char* to, std::size_t room, const std::string& text) {
  std::size_t size = std::min(room - 1, text.size());
  std::memcpy(to, text.data(), size);
  to[size] = 0;
}

// How mlx5 reports an Ethernet rate: lanes and the InfiniBand speed that comes nearest.
struct Speed {
  std::int64_t rate_bps;
  std::uint8_t speed, width;
};
constexpr Speed kSpeeds[] = {{10'000'000'000, 4, 1},    {25'000'000'000, 32, 1},  {40'000'000'000, 4, 2},
                             {50'000'000'000, 64, 1},   {100'000'000'000, 32, 2}, {200'000'000'000, 64, 2},
                             {400'000'000'000, 128, 2}, {800'000'000'000, 128, 4}};

constexpr std::uint8_t kSdr = 1, kQdr = 4;

std::uint32_t ibv_mtu_of(std::uint32_t mtu_B) {
  std::uint32_t code = 1;
  while (code < 5 && (128u << (code + 1)) <= mtu_B) ++code;
  return code;
}

}  // namespace

bool is_link_up(lab::World& world, std::uint32_t port, Time_ps now_ps) {
  if (!nic::DeviceControl(*world.device(port)).is_up()) return false;
  for (const lab::WorldLink& link : world.links()) {
    const bool at_port = link.from == port || link.to == port;
    if (at_port && link.wrapper && link.wrapper->faults().holds_link_down(now_ps)) return false;
  }
  return true;
}

void describe_link(const lab::World& world, std::uint32_t port, bool up, verbs::DeviceInfo& info) {
  info.port_state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  info.phys_state = up ? 5 : 3;  // link up, disabled
  // Without a link mlx5 says 40 Gb/s; others ask the interface, which does not know, and take the lowest (Linux:
  // mlx5_query_port_roce, ib_get_eth_speed).
  const bool mlx5 = std::string_view(info.name).starts_with("mlx5");
  info.active_speed = mlx5 ? kQdr : kSdr;
  info.active_width = mlx5 ? 2 : 1;
  for (const Speed& each : kSpeeds) {
    if (!up || (each.rate_bps > world.rate_bps(port) && &each != kSpeeds)) break;
    info.active_speed = each.speed;
    info.active_width = each.width;
  }
}

lab::PortRef VerbsService::port_ref(std::uint32_t index) const {
  const auto& nics = world_.lab().hosts[host_].nics;
  for (std::uint32_t nic = 0; nic < nics.size(); ++nic) {
    for (std::uint32_t port = 0; port < nics[nic].ports.size(); ++port) {
      lab::PortRef ref{host_, nic, port};
      if (world_.port_id(ref) == node_.host().device(index).port_id()) return ref;
    }
  }
  return {host_, 0, 0};
}

verbs::DeviceInfo VerbsService::describe(std::uint32_t index) const {
  nic::Device& nic = node_.host().device(index);
  const nic::NicModel& model = nic.model();
  lab::PortRef ref = port_ref(index);
  const fabric::PortAddress& address = world_.book()[nic.port_id()];
  verbs::DeviceInfo info{};
  copy_text(info.name, sizeof(info.name), nic.name());
  copy_text(info.firmware, sizeof(info.firmware), model.firmware);
  copy_text(info.netdev, sizeof(info.netdev), world_.lab().hosts[host_].nics[ref.nic].ports[ref.port].name);
  char pci[16];
  std::snprintf(pci, sizeof(pci), "0000:%02x:00.%x", 1 + ref.nic, ref.port & 7);
  copy_text(info.pci_address, sizeof(info.pci_address), pci);
  auto eui = link_local(address.mac);
  for (std::size_t i = 8; i < 16; ++i) info.node_guid = info.node_guid << 8 | eui[i];
  if (model.driver == "mlx5") info.node_guid ^= std::uint64_t{2} << 56;  // it does not flip the bit
  info.system_guid = info.node_guid;
  unsigned vendor = 0x15b3, part = 0;
  std::sscanf(model.pci_id.c_str(), "%x:%x", &vendor, &part);
  info.vendor_id = model.driver == "mlx5" ? 0x02c9 : vendor;  // the OUI of Mellanox, as mlx5 reports it
  info.vendor_part_id = part;
  info.max_qp = kMaxQp;
  info.max_qp_wr = kMaxQpWr;
  info.max_sge = kMaxSge;
  info.max_cq = kMaxCq;
  info.max_cqe = kMaxCqe;
  info.max_mr = kMaxMr;
  info.max_pd = kMaxPd;
  info.max_srq = 65536;
  info.max_srq_wr = 32767;
  info.max_ah = kMaxAh;
  info.max_mcast_grp = kMaxGroups;
  info.max_rd_atomic = model.max_rd_atomic;
  info.max_inline_B = model.max_inline_B;
  info.max_mr_size = UINT64_MAX;
  info.active_mtu = ibv_mtu_of(world_.endpoint(ref, 0).active_mtu_B);
  info.max_mtu = 5;
  describe_link(world_, nic.port_id(), is_link_up(world_, nic.port_id(), node_.now_ps()), info);
  info.max_msg_B = 1u << 30;
  // As on a Linux host: link-local first, then the address, each as RoCE v1 and v2. Index 3 is v2 of the address.
  info.gid_count = 4;
  auto local = link_local(address.mac);
  for (std::uint32_t i = 0; i < info.gid_count; ++i) {
    std::memcpy(info.gids[i].raw, i < 2 ? local.data() : address.ip.data(), 16);
    info.gids[i].type = i % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
  }
  info.max_dm_B = model.driver == "mlx5" ? kMaxDm_B : 0;
  info.pcie_generation = model.pcie_generation;
  info.pcie_lanes = model.pcie_lanes;
  return info;
}

Reply VerbsService::list_devices() const {
  Reply reply;
  for (std::uint32_t i = 0; i < node_.host().device_count(); ++i) {
    Reply one = Reply::of(describe(i));
    reply.body.insert(reply.body.end(), one.body.begin(), one.body.end());
  }
  return reply;
}

std::optional<std::uint32_t> VerbsService::port_of_gid(const std::uint8_t* gid) const {
  const AddressIndex::Owner* owner = addresses_.find(gid);
  return owner == nullptr ? std::nullopt : std::optional(owner->port);
}

Reply VerbsService::arm_cq(Process& process, const Request& request, Time_ps now_ps) {
  verbs::ArmCq ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  auto found = process.cqs.find(ask.cq);
  if (found == process.cqs.end()) return Reply::failed(EINVAL);
  CompletionRing& cq = *found->second;
  cq.armed = ask.solicited_only != 0 ? CompletionRing::Armed::kSolicited : CompletionRing::Armed::kAny;
  ++cq.arm;
  cq.held = 0;
  if (auto channel = process.channels.find(cq.channel); channel != process.channels.end() && cq.unpolled() != 0) {
    std::vector<std::uint32_t>& unpolled = channel->second->unpolled;
    if (std::find(unpolled.begin(), unpolled.end(), cq.handle) == unpolled.end()) unpolled.push_back(cq.handle);
    node_.retry_waits(process, now_ps);  // of another thread
    node_.announce_unpolled_later(cq, now_ps);
  }
  return {};
}

void VerbsService::destroy_queue(Process& process, PostQueue& queue) {
  process.doorbells[queue.ring.info.doorbell] = nullptr;
  process.free_doorbells.push_back(queue.ring.info.doorbell);
  node_.close(queue);
}

void VerbsService::forget_work(VerbsQp& qp) {
  if (qp.has_send) node_.renew(qp.send);
  if (qp.has_receive) {
    node_.renew(qp.receive);
    return;
  }
  // A receive that it has taken from an SRQ and not used has no owner: only its slot is released.
  const nic::Responder& held = device(qp.device)->qp(qp.qpn).resp;
  for (std::uint32_t i = held.head; i != held.tail; ++i) node_.end_shared(held.receives[i & held.mask].wr_id);
}

void VerbsService::destroy_qp(Process& process, VerbsQp& qp) {
  forget_events(process, qp.device, verbs::Kind::kQp, qp.handle);
  forget_work(qp);
  device(qp.device)->destroy_qp(qp.qpn);
  process.qp_by_number.erase({qp.device, qp.qpn});
  if (qp.has_send) destroy_queue(process, qp.send);
  if (qp.has_receive) destroy_queue(process, qp.receive);
}

bool VerbsService::destroy_srq(Process& process, VerbsSrq& srq) {
  if (!nic::SharedReceives(*device(srq.device)).destroy(srq.nic_srq)) return false;
  forget_events(process, srq.device, verbs::Kind::kSrq, srq.handle);
  destroy_queue(process, srq.receive);
  process.srqs.erase(srq.handle);
  return true;
}

void VerbsService::destroy_cq(Process& process, CompletionRing& cq) {
  forget_events(process, cq.device, verbs::Kind::kCq, cq.handle);
  if (auto channel = process.channels.find(cq.channel); channel != process.channels.end())
    channel->second->forget(cq.handle);
  node_.unwatch(cq);
  device(cq.device)->destroy_cq(cq.nic_cq);
}

Process& VerbsService::holder_of(Process& caller, verbs::Kind kind, std::uint32_t handle) const {
  const auto holds = [&](const Process& each) {
    switch (kind) {
      case verbs::Kind::kPd:
        return each.pds.contains(handle);
      case verbs::Kind::kMr:
        return each.mrs.contains(handle);
      case verbs::Kind::kChannel:
        return each.channels.contains(handle);
      case verbs::Kind::kCq:
        return each.cqs.contains(handle);
      case verbs::Kind::kSrq:
        return each.srqs.contains(handle);
      case verbs::Kind::kQp:
        return each.qps.contains(handle);
      case verbs::Kind::kAh:
        return each.ahs.contains(handle);
      case verbs::Kind::kMw:
        return each.mws.contains(handle);
      case verbs::Kind::kDm:
        return each.dms.contains(handle);
      case verbs::Kind::kXrcd:
        return each.xrcds.contains(handle);
    }
    return false;
  };
  if (holds(caller)) return caller;
  for (const auto& each : node_.processes) {
    if (each->last_handle == caller.last_handle && !each->gone && holds(*each)) return *each;
  }
  return caller;
}

// All that share the file have it, and it is in use by what any of them has made in it.
Reply VerbsService::dealloc_pd(Process& caller, std::uint32_t handle) const {
  if (!caller.pds.contains(handle)) return Reply::failed(EINVAL);
  const auto in_use = [&](const auto& objects) {
    return std::any_of(objects.begin(), objects.end(), [&](const auto& each) { return each.second->pd == handle; });
  };
  std::vector<Process*> sharers;
  for (const auto& each : node_.processes) {
    if (each->last_handle == caller.last_handle && !each->gone) sharers.push_back(each.get());
  }
  for (const Process* each : sharers) {
    if (in_use(each->qps) || in_use(each->mrs) || in_use(each->srqs) ||
        std::any_of(each->mws.begin(), each->mws.end(), [&](const auto& mw) { return mw.second.pd == handle; }))
      return Reply::failed(EBUSY);
  }
  for (Process* each : sharers) each->pds.erase(handle);
  return Reply::of(verbs::Destroyed{});
}

Reply VerbsService::destroy(Process& caller, const Request& request) {
  verbs::Destroy ask;
  if (!request.read(ask)) return Reply::failed(EINVAL);
  const std::uint32_t h = ask.handle;
  Process& process = holder_of(caller, ask.kind, h);
  const Reply well = Reply::of(verbs::Destroyed{});
  auto uses = [&](auto test) {
    return std::any_of(process.qps.begin(), process.qps.end(), [&](const auto& each) { return test(*each.second); });
  };
  switch (ask.kind) {
    case verbs::Kind::kPd:
      return dealloc_pd(caller, h);
    case verbs::Kind::kMr: {
      auto found = process.mrs.find(h);
      if (found == process.mrs.end()) return Reply::failed(EINVAL);
      if (!device(found->second->device)->memory().remove(found->second->key)) return Reply::failed(EBUSY);
      ++process.ranges_ended;
      process.mrs.erase(found);
      // The memory is the program's alone when the call returns: what was written to it is there by then.
      process.settle_writes(kNever_ps);
      return well;
    }
    case verbs::Kind::kChannel: {
      for (const auto& [handle, cq] : process.cqs) {
        if (cq->channel == h) return Reply::failed(EBUSY);
      }
      return process.channels.erase(h) == 1 ? well : Reply::failed(EINVAL);
    }
    case verbs::Kind::kCq: {
      auto found = process.cqs.find(h);
      if (found == process.cqs.end()) return Reply::failed(EINVAL);
      bool shared =
          std::any_of(process.srqs.begin(), process.srqs.end(), [&](const auto& each) { return each.second->cq == h; });
      if (shared || uses([&](const VerbsQp& qp) { return qp.send_cq == h || qp.receive_cq == h; }))
        return Reply::failed(EBUSY);
      destroy_cq(process, *found->second);
      Reply reply = Reply::of(found->second->fetched);
      process.cqs.erase(found);
      return reply;
    }
    case verbs::Kind::kQp: {
      auto found = process.qps.find(h);
      if (found == process.qps.end()) return Reply::failed(EINVAL);
      destroy_qp(process, *found->second);
      process.settle_writes(kNever_ps);
      Reply reply = Reply::of(found->second->fetched);
      process.qps.erase(found);
      return reply;
    }
    case verbs::Kind::kSrq: {
      auto found = process.srqs.find(h);
      if (found == process.srqs.end()) return Reply::failed(EINVAL);
      Reply reply = Reply::of(found->second->fetched);
      return destroy_srq(process, *found->second) ? reply : Reply::failed(EBUSY);
    }
    case verbs::Kind::kAh:
      return process.ahs.erase(h) == 1 ? well : Reply::failed(EINVAL);
    case verbs::Kind::kMw: {
      auto found = process.mws.find(h);
      if (found == process.mws.end()) return Reply::failed(EINVAL);
      destroy_mw(found->second);
      process.mws.erase(found);
      return well;
    }
    case verbs::Kind::kDm: {
      auto found = process.dms.find(h);
      if (found == process.dms.end()) return Reply::failed(EINVAL);
      for (const auto& [handle, mr] : process.mrs) {
        if (mr->inside == found->second.bytes) return Reply::failed(EBUSY);
      }
      process.dms.erase(found);
      return well;
    }
    case verbs::Kind::kXrcd:
      return close_xrcd(process, h);
    default:
      return Reply::failed(EINVAL);
  }
}

void VerbsService::forget(Process& process) {
  for (auto& [handle, qp] : process.qps) destroy_qp(process, *qp);
  process.qps.clear();
  for (auto& [handle, srq] : process.srqs) {
    nic::SharedReceives(*device(srq->device)).destroy(srq->nic_srq);
    destroy_queue(process, srq->receive);
  }
  process.srqs.clear();
  for (auto& [handle, cq] : process.cqs) destroy_cq(process, *cq);
  process.cqs.clear();
  for (auto& [handle, mw] : process.mws) destroy_mw(mw);
  process.mws.clear();
  for (auto& [handle, mr] : process.mrs) device(mr->device)->memory().remove_with_windows(mr->key);
  process.mrs.clear();
  process.dms.clear();
  process.xrcds.clear();
  process.channels.clear();
  process.async.clear();
  process.ahs.clear();
  process.pds.clear();
  process.writes.clear();
}

}  // namespace weft::live
